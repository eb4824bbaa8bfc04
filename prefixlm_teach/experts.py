"""A mixture of experts: several feed-forward layers, and a router that says which of them computes a token.

A block with it, put in place of another, makes a model with experts: `model.blocks[1] = ExpertBlock(...)`.

Source: Fedus et al. 2021 (Switch Transformer, arXiv:2101.03961), sections 2.1, 2.2 and 2.4.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn

from prefixlm_teach.expert_arguments import (
    check_expert_input,
    check_experts,
    check_feed_forward,
    check_gates,
    check_model,
)
from prefixlm_teach.mask_arguments import check_heads, check_hidden
from prefixlm_teach.model import Block
from prefixlm_teach.read_arguments import check_read
from prefixlm_teach.routing import balance_loss, token_choice
from prefixlm_teach.sight import ReadyKernel, check_seen_fits, dense


class MixtureOfExperts(nn.Module):
    """Feed-forward layers of the size of a block's, each for the tokens that a router sends there.

    Args:
        d_model: d, the width.
        n_experts: E, the number of experts.
        route: called with (B, T, E) probabilities and `valid`; returns (B, T, E) factors of the experts'
            outputs, 0 where an expert does not compute a token: `token_choice`, `expert_choice`, or one of
            them with a capacity, by `functools.partial`.
        dropout: the rate of dropout after the experts, at least 0 and below 1.

    Raises:
        TypeError, ValueError: a size is not a whole number of at least 1, `dropout` is no rate, or `route`
            cannot be called.
    """

    def __init__(
        self,
        d_model: int,
        n_experts: int,
        route: Callable[[Tensor, Tensor | None], Tensor] = token_choice,
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        check_experts(d_model, n_experts, route, dropout)
        self.d_model = d_model
        self.route = route
        self.router = nn.Linear(d_model, n_experts, bias=False)
        self.experts = nn.ModuleList(
            nn.Sequential(nn.Linear(d_model, 4 * d_model), nn.GELU(), nn.Linear(4 * d_model, d_model))
            for _ in range(n_experts)
        )
        self.dropout = nn.Dropout(dropout)

    def probabilities(self, x: Tensor) -> Tensor:
        """Return how likely the router finds each expert for each token of `x` (B, T, d): (B, T, E).

        In float32 at least, since the choice hangs on small differences; each row sums to 1.
        """
        check_expert_input(x, None, self.router.weight)
        exact = torch.promote_types(x.dtype, torch.float32)
        with torch.autocast(x.device.type, enabled=False):
            return (x.to(exact) @ self.router.weight.to(exact).T).softmax(-1)

    def forward(self, x: Tensor, valid: Tensor | None = None) -> Tensor:
        """Send each token through its experts.

        Args:
            x: (B, T, d) floats.
            valid: (B, T) booleans, False at padding.

        Returns:
            (B, T, d): the sum of the outputs of a token's experts, each times its factor; 0 where a token has
            none.

        Raises:
            TypeError, ValueError: a kind, shape, dtype or device does not fit.
        """
        check_expert_input(x, valid, self.router.weight)
        gates = self.route(self.probabilities(x), valid)  # (B, T, E)
        check_gates(gates, x, len(self.experts))
        gates = gates.flatten(0, 1)
        flat = x.flatten(0, 1)  # (B * T, d)
        out = torch.zeros_like(flat)
        for gate, expert in zip(gates.T, self.experts, strict=True):
            rows = gate.nonzero().flatten()  # the tokens that this expert computes, and no others
            computed = gate[rows, None] * expert(flat[rows])
            out = out.index_add(0, rows, computed.to(out.dtype))
        mixed: Tensor = self.dropout(out).view_as(x)  # (B, T, d)
        return mixed

    def balance(self, x: Tensor, valid: Tensor | None = None) -> Tensor:
        """Return the 0-d `balance_loss` of the tokens' choices, and 0 where all is padding: nobody chose.

        Arguments and errors as `forward`.
        """
        check_expert_input(x, valid, self.router.weight)
        likely = self.probabilities(x)
        if valid is not None and not bool(valid.any()):
            return likely.new_zeros(())
        return balance_loss(likely, valid)


class ExpertBlock(Block):
    """A block with a mixture of experts in place of its feed-forward layer.

    It tells padding by the mask: a token that no query may see is none. No cache knows it, since experts may
    depend on other tokens.

    Args:
        d_model: d, the width.
        n_heads: H, the number of heads.
        experts: the mixture, of the same width.

    Raises:
        TypeError, ValueError: H does not divide d, or `experts` is something else, or of another width.
    """

    def __init__(self, d_model: int, n_heads: int, experts: MixtureOfExperts) -> None:
        check_heads(d_model, n_heads)
        check_feed_forward(experts, MixtureOfExperts, d_model)
        super().__init__(d_model, n_heads, dropout=0.0)
        del self.ff
        self.experts = experts

    def forward(self, h: Tensor, mask: Tensor | ReadyKernel, read: Tensor | None = None) -> Tensor:
        """Return (B, T, d) from `h` (B, T, d) under `mask`; arguments and errors as `PrefixLMAttention`.

        With `read`, (B, T) booleans, return (N, d): only the rows where it is True, example after example.
        All are computed even so, since experts may choose among them.
        """
        check_hidden("h", h, self.attn_norm.weight)
        check_seen_fits(mask, h)
        check_read(read, h)
        B, T, _ = h.shape
        seen = dense(mask.sight) if isinstance(mask, ReadyKernel) else mask
        valid = seen.any(-2).reshape(-1, T).expand(B, T)
        h = h + self.attn(self.attn_norm(h), mask)
        h = h + self.experts(self.ff_norm(h), valid)
        return h if read is None else h[read]


@contextmanager
def balance_losses(model: nn.Module) -> Iterator[list[Tensor]]:
    """Collect the balance loss of each mixture of experts that is called meanwhile.

        with balance_losses(model) as balance:
            logits = model(tokens, prefix_len)
        loss = compute_prefix_lm_loss(logits, tokens, prefix_len) + 0.01 * sum(balance)

    Args:
        model: any module; without a mixture of experts in it, the list stays empty.

    Yields:
        A list, to which each call adds a 0-d tensor; it is 0 for a batch of padding alone.

    Raises:
        TypeError: `model` is no module.
    """
    check_model(model)
    found: list[Tensor] = []

    def look(layer: MixtureOfExperts, args: Any, named: Any, out: Any) -> None:
        found.append(layer.balance(*args, **named))

    layers = [layer for layer in model.modules() if isinstance(layer, MixtureOfExperts)]
    hooks = [layer.register_forward_hook(look, with_kwargs=True) for layer in layers]
    try:
        yield found
    finally:
        for hook in hooks:
            hook.remove()
