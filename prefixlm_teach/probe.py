"""What can see what, measured on any model: move a token and watch which outputs move.

No weight and no mask is read. The model is a black box, ours or a stranger's; a model with another interface
is wrapped: `lambda tokens, prefix_len: theirs(tokens, prefix_attn_len=prefix_len).logits`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import product
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.modules.module import register_module_forward_hook

from prefixlm_teach.probe_arguments import (
    check_a_gradient,
    check_an_embedding,
    check_an_other_id,
    check_no_nan,
    check_output,
    check_probe,
    check_steady,
    check_vectors_of,
)

LogitsOf = Callable[[Tensor], Tensor]


def visibility(
    model: Callable[..., Tensor],
    tokens: Tensor,
    prefix_len: int | Tensor,
    *,
    valid: Tensor | None = None,
    how: str = "change",
    ids: Sequence[int] | None = None,
    embedding: nn.Module | None = None,
    tolerance: float = 0.0,
) -> Tensor:
    """Find out which tokens move which rows of the logits.

    By "change", each token is exchanged for a few others, and a row that differs from before by a single bit
    has seen it. Equal shapes run through equal arithmetic, and what a mask hides has a weight of exactly 0,
    so that nothing but sight moves a bit. By "gradient", a row has seen a token if the derivative of its
    logits by the token's embedding is not exactly 0.

    Neither can tell how much a row makes of what it sees, or in which layer. Change misses what is lost in
    rounding (use float64) and a token that changes nothing by chance; gradient misses what is chosen and not
    added up, such as an `argmax` or a rounding, and a derivative that is 0 by chance. A model that finds its
    padding or its prefix by looking for an id needs `ids` without it.

    Args:
        model: called as `model(tokens, prefix_len)`, and with `valid=valid` where that is given; returns
            (B, T, V) logits. It has to answer twice alike: call `model.eval()` first.
        tokens: (B, T) ids. A dozen tokens show everything: by change the model is called B * T times for
            each id.
        prefix_len: p, an int or 0-d tensor for all examples, or (B,) for one split per example.
        valid: (B, T) booleans, False at padding.
        how: "change" or "gradient".
        ids: by change: the ids that take each token's place; when left out, four from the middle of the
            vocabulary, as special ids stand at its ends. Several, since two ids may have equal embeddings.
        embedding: by gradient: the layer that turns ids into vectors; when left out, every `nn.Embedding`
            that is given the tokens.
        tolerance: what a number has to exceed to count as moved, for models whose arithmetic is not stable
            to the last bit, or that mask by a product and not by a weight of 0.

    Returns:
        (T, T) booleans for one example: row q of the logits moves with token k. For a batch (B, B, T, T):
        entry [a, b, q, k] says whether row q of example a moves with token k of example b. Rows at padding
        are False: they mean nothing.

    Raises:
        TypeError, ValueError: an argument has the wrong kind, shape or range; the model is in training mode,
            answers two equal calls differently, or returns NaN or no logits; by gradient, there is no
            embedding, or the gradient is NaN or missing.
    """
    check_probe(model, tokens, prefix_len, valid, how, ids, embedding, tolerance)
    given = {} if valid is None else {"valid": valid}
    real = torch.ones_like(tokens, dtype=torch.bool) if valid is None else valid

    def logits_of(tokens: Tensor) -> Tensor:
        logits = model(tokens, prefix_len, **given)
        check_output(logits, tokens, real)
        return logits

    with torch.no_grad():
        logits = logits_of(tokens)
        check_steady(differs(logits, logits_of(tokens), tolerance), real)
    if how == "change":
        V = logits.size(-1)
        others = [V * i // 5 for i in range(1, 5)] if ids is None else ids
        check_an_other_id(others, tokens)
        seen = by_change(logits_of, tokens, others, tolerance)
    else:
        layers = find_embeddings(logits_of, tokens, logits.size(-1)) if embedding is None else [embedding]
        seen = by_gradient(logits_of, tokens, layers, tolerance, real)
    seen &= real[:, None, :, None]
    return seen[0, 0] if len(tokens) == 1 else seen


def differs(before: Tensor, after: Tensor, tolerance: float) -> Tensor:
    """Return (B, T) booleans: which rows of two (B, T, V) logits differ by more than the tolerance."""
    close = (before == after) | ((before - after).abs() <= tolerance)  # the former for -inf on both sides
    return ~close.all(-1)


@torch.no_grad()
def by_change(logits_of: LogitsOf, tokens: Tensor, ids: Sequence[int], tolerance: float) -> Tensor:
    """Return the (B, B, T, T) booleans of `visibility`: exchange each token, see which rows move."""
    B, T = tokens.shape
    seen = torch.zeros(B, B, T, T, dtype=torch.bool, device=tokens.device)
    before = logits_of(tokens)
    for b, k, other in product(range(B), range(T), ids):
        changed = tokens.clone()
        changed[b, k] = other
        seen[:, b, :, k] |= differs(before, logits_of(changed), tolerance)
    return seen


@torch.enable_grad()
def by_gradient(
    logits_of: LogitsOf, tokens: Tensor, layers: Sequence[nn.Module], tolerance: float, real: Tensor
) -> Tensor:
    """Return the (B, B, T, T) booleans of `visibility`: ask each row how the embeddings would move it."""
    B, T = tokens.shape
    seen = torch.zeros(B, B, T, T, dtype=torch.bool, device=tokens.device)
    vectors: list[Tensor] = []  # what the layers returned, each time that one was called

    def cut(layer: nn.Module, args: Any, vector: Tensor) -> Tensor:
        check_vectors_of(vector, tokens)
        vectors.append(vector.detach().requires_grad_())
        return vectors[-1].clone()  # a model may work on it in place

    hooks = [layer.register_forward_hook(cut) for layer in layers]
    try:
        logits = logits_of(tokens)
    finally:
        for hook in hooks:
            hook.remove()
    check_a_gradient(logits, vectors)
    # A sum of all logits may stand still while each of them moves: sum them with weights.
    weights = torch.randn(logits.size(-1), generator=torch.Generator().manual_seed(0)).to(logits)
    for a, q in real.nonzero().tolist():
        gradients = torch.autograd.grad(
            logits[a, q] @ weights, vectors, retain_graph=True, materialize_grads=True
        )
        size = torch.stack([gradient.abs().amax(-1) for gradient in gradients]).amax(0)  # (B, T)
        check_no_nan(size, a, q)
        seen[a, :, q] = size > tolerance
    return seen


@torch.no_grad()
def find_embeddings(logits_of: LogitsOf, tokens: Tensor, vocab_size: int) -> list[nn.Module]:
    """Return each `nn.Embedding` to which a model gives the tokens, wherever it is."""
    found: set[nn.Module] = set()

    def look(layer: nn.Module, args: Any, vector: Any) -> None:
        if isinstance(layer, nn.Embedding) and args and args[0].shape == given.shape:
            found.update([layer] if bool((args[0] == given).all()) else [])

    hook = register_module_forward_hook(look)
    layers = []
    try:
        for given in (tokens, (tokens + 1) % vocab_size):  # twice: the first may look like positions
            found.clear()
            logits_of(given)
            layers.append(set(found))
    finally:
        hook.remove()
    both = layers[0] & layers[1]
    check_an_embedding(both)
    return list(both)
