"""Reading with a cache: the prompt at once, its prefix in both directions, then token after token.

A token of the target is seen by nobody before it, so what the layers made of those before it stays true, and
can be kept. Within the prefix everybody sees everybody: one token more, and all of it is to be read again.

Sources: Shazeer 2019 (arXiv:1911.02150), section 2.4; for the state that linear attention keeps instead,
Katharopoulos et al. 2020 (arXiv:2006.16236), section 3.4.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import torch
from torch import Tensor, nn

from prefixlm_teach.attention import PrefixLMAttention, mix
from prefixlm_teach.cache import KeyValueCache
from prefixlm_teach.cache_arguments import check_decode, check_prefill
from prefixlm_teach.kernels import make_ready
from prefixlm_teach.linear_attention import exact
from prefixlm_teach.linear_kernels import LinearKernel
from prefixlm_teach.linear_model import LinearPrefixLM
from prefixlm_teach.linear_state import LinearState, empty_state
from prefixlm_teach.model import TinyPrefixLM
from prefixlm_teach.rotary import RotaryLinear
from prefixlm_teach.sight import ReadyKernel, Sight


@torch.no_grad()
def prefill(
    model: TinyPrefixLM,
    tokens: Tensor,
    prefix_len: int | Tensor | None = None,
    *,
    valid: Tensor | None = None,
    cache: KeyValueCache | None = None,
) -> tuple[Tensor, KeyValueCache]:
    """Read the prompts in one call; return their logits and what is kept of them.

    Args:
        model: the model, in eval mode.
        tokens: (B, T) ids of the prompts.
        prefix_len: p, an int or 0-d tensor for all examples, or (B,) for one split per example. The rest of
            a prompt is target: with 0 the model is causal. By default the whole prompt is prefix.
        valid: (B, T) booleans, False at padding, left or right.
        cache: nothing. A cache is refused: a prefix cannot be read in pieces.

    Returns:
        The (B, T, V) logits, as `model(tokens, prefix_len, valid=valid)` gives them, and the cache.

    Raises:
        TypeError, ValueError: `model` is another kind of model, or in training mode, a cache is given, or
            an argument has the wrong kind, shape, device or range.
    """
    check_prefill(model, tokens, prefix_len, valid, cache)
    if valid is None:
        valid = torch.ones_like(tokens, dtype=torch.bool)
    length = valid.sum(-1)
    p = length if prefix_len is None else torch.as_tensor(prefix_len).to(length).expand_as(length)
    mask = model._mask_for(tokens, p, valid, None)
    return read(model, tokens, valid, mask, empty_cache(model, p))


@torch.no_grad()
def decode(
    model: TinyPrefixLM,
    tokens: Tensor,
    cache: KeyValueCache,
    *,
    prefix_len: int | Tensor | None = None,
    valid: Tensor | None = None,
) -> tuple[Tensor, KeyValueCache]:
    """Read the next target tokens, one or several per example; return their logits and a longer cache.

    A token sees everything before it. `cache` itself stays as it is, so that one prompt can be continued in
    many ways.

    Args:
        model: the model that made the cache, with the same weights, in eval mode.
        tokens: (B, k) ids.
        cache: what `prefill`, or an earlier `decode`, returned.
        prefix_len: p, as in `prefill`. It can only be what it was: a prefix does not grow.
        valid: (B, k) booleans, False at padding, left or right. An example may have no new token at all.

    Returns:
        The (B, k, V) logits, row i about the token after the i-th new one, and the cache with the k columns.

    Raises:
        TypeError, ValueError: the cache is not this model's, or the model has changed its dtype or device,
            an example outgrows the model's positions, or an argument is wrong as in `prefill`.
    """
    check_decode(model, tokens, cache, prefix_len, valid)
    if valid is None:
        valid = torch.ones_like(tokens, dtype=torch.bool)
    seen = torch.cat([cache.valid, valid], dim=1)  # (B, S)
    k, S = tokens.size(1), seen.size(1)
    causal = torch.ones(k, S, dtype=torch.bool, device=seen.device).tril_(S - k)  # the last row sees all
    sight = sight_after(model, causal & seen[:, None, None, :], valid)
    return read(model, tokens, seen, make_ready(model.kernel, sight), cache)


def sight_after(model: TinyPrefixLM, mask: Tensor, valid: Tensor) -> Sight:
    """Return what new tokens see: by `mask`, (B, 1, k, S), of all keys; a state holds what came before.

    `valid` is (B, k) booleans, False where a new token is padding.
    """
    if isinstance(model, LinearPrefixLM):
        return Sight(valid.size(1), 0, valid)
    return Sight(mask.size(-1), mask=mask)


def empty_cache(model: TinyPrefixLM, prefix_len: Tensor) -> KeyValueCache:
    """Return a cache of no tokens, for as many examples as `prefix_len`, (B,) int64, has numbers."""
    attn: Any = model.blocks[0].attn
    B, H, d_head = len(prefix_len), attn.n_heads, attn.d_model // attn.n_heads
    none = model.token_emb.weight.new_zeros(B, H, 0, d_head)
    linear = isinstance(model, LinearPrefixLM)
    nothing = empty_state(exact(none), exact(none)) if linear else (none, none)
    layers = (nothing,) * len(model.blocks)
    return KeyValueCache(layers, prefix_len.new_zeros(B, 0, dtype=torch.bool), prefix_len)


def read(
    model: TinyPrefixLM, tokens: Tensor, seen: Tensor, mask: Tensor | ReadyKernel, cache: KeyValueCache
) -> tuple[Tensor, KeyValueCache]:
    """Run new tokens through the model; return their logits and the cache with them in it.

    Args:
        model: the model.
        tokens: (B, k) ids, of which nothing is in the cache.
        seen: (B, S) booleans, False at padding: the columns of the cache, then the k new ones.
        mask: (B, 1, k, S) booleans, True = may attend; or a kernel made ready for them.
        cache: of S - k columns.
    """
    blocks: Iterable[Any] = model.blocks
    positions = (seen.cumsum(-1) - 1).clamp(min=0)[:, -tokens.size(1) :]  # (B, k): 0 at the first real token
    h = model.layer_norm(model.token_emb(tokens) + model.pos_emb(positions))
    layers = []
    for block, past in zip(blocks, cache.layers, strict=True):
        mixed, kept = attend(block.attn, block.attn_norm(h), mask, positions, past)
        h = h + mixed
        h = h + block.ff(block.ff_norm(h))
        layers.append(kept)
    return model.output(h), KeyValueCache(tuple(layers), seen, cache.prefix_len)


def attend(
    attn: PrefixLMAttention,
    x: Tensor,
    mask: Tensor | ReadyKernel,
    positions: Tensor,
    past: tuple[Tensor, Tensor] | LinearState,
) -> tuple[Tensor, tuple[Tensor, Tensor] | LinearState]:
    """Do what `attn(x, mask)` does, with more keys than queries; return the output and what is kept of all.

    Args:
        attn: the layer.
        x: (B, k, d) floats, the new tokens.
        mask: (B, 1, k, S) booleans, True = may attend; or a kernel made ready for them.
        positions: (B, k) int64, of the new tokens.
        past: the keys and values of the tokens before them, (B, H, S - k, d_head) each, or their state.
    """
    q = attn.split_heads(project(attn.q_proj, x, positions))  # (B, H, k, d_head)
    k = attn.split_heads(project(attn.k_proj, x, positions))
    v = attn.split_heads(attn.v_proj(x))
    mixed, kept = mix_after(q, k, v, mask, past)
    return attn.out_proj(mixed.transpose(1, 2).flatten(2)), kept


def mix_after(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    mask: Tensor | ReadyKernel,
    past: tuple[Tensor, Tensor] | LinearState,
) -> tuple[Tensor, tuple[Tensor, Tensor] | LinearState]:
    """Mix the values of the past and of new tokens, `q`, `k` and `v` (B, H, k, d_head); the rest as there.

    Keys and values are kept in the dtype of the weights. Under autocast a layer makes them in another one,
    and a kernel is given all in that of the queries.
    """
    if isinstance(past, LinearState):
        assert isinstance(mask, LinearKernel)  # noqa: S101 - for the type checker
        return mask.read_on(q, k, v, past)
    k, v = torch.cat([past[0], k], dim=2), torch.cat([past[1], v], dim=2)  # (B, H, S, d_head)
    return mix(q, k.to(q.dtype), v.to(q.dtype), mask), (k, v)  # (B, H, k, d_head)


def project(layer: nn.Module, x: Tensor, positions: Tensor) -> Tensor:
    """Return `layer(x)`; a layer that rotates its output is told where the tokens stand."""
    y: Tensor = layer(x, positions) if isinstance(layer, RotaryLinear) else layer(x)
    return y
