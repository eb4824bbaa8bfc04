"""What the notation page says of this handbook's masks and labels, and of other people's, is so."""

from pathlib import Path

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from prefixlm_teach import create_prefix_lm_mask, prefix_lm_labels, to_additive

PAGE = Path(__file__).resolve().parents[2] / "chapters" / "notation.md"
T, P = 7, 3
OURS = create_prefix_lm_mask(T, P)
CAUSAL = torch.ones(T, T, dtype=torch.bool).tril()
PREFIX = torch.arange(T) < P


def big_vision() -> Tensor:
    steps = torch.tensor([0] * P + [1] * (T - P)).cumsum(0)
    return steps[None, :] <= steps[:, None]


def megatron_deepspeed() -> Tensor:
    returned = torch.ones(T, T).tril()
    returned[:P, :P] = 1  # the prefix index is P: the first token that the prefix cannot see
    return ~(returned < 0.5)


def seqio() -> Tensor:
    split = P - 1  # of the text; the start token before it makes the prefix one longer
    visible = torch.arange(T) < split + 1
    return CAUSAL | (visible[:, None] & visible)


TRANSLATIONS = {
    "UniLM": lambda: torch.zeros(T, T).masked_fill(~OURS, -10000.0) == 0,
    "Megatron-DeepSpeed": megatron_deepspeed,
    "big_vision": big_vision,
    "T5X": lambda: CAUSAL | (PREFIX[:, None] & PREFIX),
    "seqio": seqio,
    "PaliGemma in Hugging Face": lambda: CAUSAL | (torch.where(PREFIX, 0, 1) == 0),
}


@pytest.mark.parametrize("where", TRANSLATIONS)
def test_a_translation_on_the_notation_page_gives_our_mask(where: str) -> None:
    assert where in PAGE.read_text(encoding="utf-8")
    assert torch.equal(TRANSLATIONS[where](), OURS)


def test_pytorch_reads_masks_as_the_notation_page_says() -> None:
    torch.manual_seed(0)
    q, k, v = torch.randn(3, 1, 1, T, 4)
    plain = F.scaled_dot_product_attention(q, k, v, attn_mask=OURS)
    torch.testing.assert_close(F.scaled_dot_product_attention(q, k, v, attn_mask=to_additive(OURS)), plain)
    assert not torch.allclose(F.scaled_dot_product_attention(q, k, v, attn_mask=OURS.float()), plain)
    both = F.scaled_dot_product_attention(q, k, v, attn_mask=OURS, is_causal=True)
    torch.testing.assert_close(both, F.scaled_dot_product_attention(q, k, v, is_causal=True))

    layer, x = nn.MultiheadAttention(4, 1, batch_first=True).eval(), torch.randn(1, T, 4)
    _, weights = layer(x, x, x, attn_mask=~OURS)
    assert torch.equal(weights[0] > 0, OURS)
    valid = torch.arange(T)[None] < 5
    _, weights = layer(x, x, x, key_padding_mask=~valid)
    assert torch.equal((weights > 0).any(1), valid)


def test_the_shift_is_what_the_notation_page_says() -> None:
    tokens = torch.arange(1, T + 1)[None]
    for p in range(T):
        s = max(p, 1)
        scored = (prefix_lm_labels(tokens, p)[0] != -100).nonzero().flatten().tolist()
        assert scored == list(range(s, T))
        assert [token - 1 for token in scored] == list(range(s - 1, T - 1))  # the rows that guess them
