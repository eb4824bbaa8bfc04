"""A layer of linear attention for a prefix LM, which goes on from a state of constant size, token by token.

Source: Katharopoulos et al. 2020 (arXiv:2006.16236), section 3.4; the forms are those of `linear_attention`.
"""

from __future__ import annotations

from torch import Tensor, nn

from prefixlm_teach.linear_arguments import check_linear_split, check_linear_state, check_linear_valid
from prefixlm_teach.linear_attention import causal_linear_attention, prefix_linear_attention
from prefixlm_teach.linear_state import LinearState
from prefixlm_teach.mask_arguments import check_heads, check_hidden


class PrefixLMLinearAttention(nn.Module):
    """Multi-head linear self-attention of a prefix LM, which can go on token by token from a state.

    Its weights have the names and shapes of `PrefixLMAttention`'s. It takes a split and not a mask: not
    every mask can be summed up.

    Args:
        d_model: d, the width of a token's vector.
        n_heads: H, the number of heads; each has d / H numbers.

    Raises:
        TypeError, ValueError: a size is not a whole number of at least 1, or H does not divide d.
    """

    def __init__(self, d_model: int, n_heads: int) -> None:
        super().__init__()
        check_heads(d_model, n_heads)
        self.d_model = d_model
        self.n_heads = n_heads
        self.q_proj = nn.Linear(d_model, d_model)
        self.k_proj = nn.Linear(d_model, d_model)
        self.v_proj = nn.Linear(d_model, d_model)
        self.out_proj = nn.Linear(d_model, d_model)

    def forward(self, x: Tensor, prefix_len: int | Tensor, *, valid: Tensor | None = None) -> Tensor:
        """Mix the tokens of each example.

        Args:
            x: (B, T, d) floats.
            prefix_len: p, an int or 0-d tensor for all examples, or (B,) for one split per example.
            valid: (B, T) booleans, False at padding, left or right.

        Returns:
            (B, T, d). A query that may see nothing gets the output bias alone.

        Raises:
            TypeError, ValueError: a kind, shape, dtype, device or range does not fit.
        """
        return self.prefill(x, prefix_len, valid=valid)[0]

    def prefill(
        self, x: Tensor, prefix_len: int | Tensor, *, valid: Tensor | None = None
    ) -> tuple[Tensor, LinearState]:
        """Return what `forward` returns, and the state that `decode` goes on from; arguments as there."""
        check_hidden("x", x, self.q_proj.weight)
        check_linear_split(prefix_len, valid, "x", x, *x.shape[:2])
        q, k, v = self._heads(x)
        mixed, state = prefix_linear_attention(q, k, v, prefix_len, valid=valid)
        return self._join(mixed), state

    def decode(
        self, x: Tensor, state: LinearState, *, valid: Tensor | None = None
    ) -> tuple[Tensor, LinearState]:
        """Read the next target tokens, one or several per example.

        Args:
            x: (B, N, d) floats.
            state: what `prefill`, or an earlier `decode`, returned; it stays as it is.
            valid: (B, N) booleans, False at padding, left or right.

        Returns:
            (B, N, d), the rows that a full pass would give, and the state after them, no larger than before.

        Raises:
            TypeError, ValueError: the state is not this layer's, or an argument is wrong as in `forward`.
        """
        check_hidden("x", x, self.q_proj.weight)
        d_head = self.d_model // self.n_heads
        check_linear_state(state, x, len(x), self.n_heads, d_head, d_head)
        check_linear_valid(valid, "x", x, *x.shape[:2])
        q, k, v = self._heads(x)
        mixed, after = causal_linear_attention(q, k, v, valid=valid, state=state)
        return self._join(mixed), after

    def _heads(self, x: Tensor) -> tuple[Tensor, ...]:
        projected = (layer(x) for layer in (self.q_proj, self.k_proj, self.v_proj))  # (B, T, d) each
        return tuple(
            y.unflatten(-1, (self.n_heads, -1)).transpose(1, 2) for y in projected
        )  # (B, H, T, d_head)

    def _join(self, mixed: Tensor) -> Tensor:
        out: Tensor = self.out_proj(mixed.transpose(1, 2).flatten(2))  # (B, T, d)
        return out
