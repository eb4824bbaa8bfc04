"""Exercise 10.4: experts choose in the prefix, tokens in the target. What is expected, and what else."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

Route = Callable[[Tensor, int, int], Tensor]


def best(likely: Tensor, room: int) -> Tensor:
    """(N, E) booleans: each expert takes the tokens that suit it best."""
    rank = likely.argsort(dim=0, descending=True).argsort(dim=0)
    return rank < room


def favourite(likely: Tensor) -> Tensor:
    """(N, E) booleans: each token takes its likeliest expert."""
    return likely == likely.amax(-1, keepdim=True)


def chosen(likely: Tensor, prefix_len: int, room: int) -> Tensor:
    """(T, E) booleans: who computes what."""
    return torch.cat([best(likely[:prefix_len], room), favourite(likely[prefix_len:])])


def mixed_route(likely: Tensor, prefix_len: int, room: int) -> Tensor:
    """What is expected of exercise 10.4."""
    return likely * chosen(likely, prefix_len, room)


def targets_compete(likely: Tensor, prefix_len: int, room: int) -> Tensor:
    """Experts choose among all, and then the targets choose for themselves."""
    taken = best(likely, room)
    return likely * torch.cat([taken[:prefix_len], favourite(likely[prefix_len:])])


def two_lots(likely: Tensor, prefix_len: int, room: int) -> Tensor:
    """Experts choose among the targets too."""
    return likely * torch.cat([best(likely[:prefix_len], room), best(likely[prefix_len:], room)])


def along_experts(likely: Tensor, prefix_len: int, room: int) -> Tensor:
    """Each prefix token takes its best experts."""
    of_prefix = best(likely[:prefix_len].T, room).T
    return likely * torch.cat([of_prefix, favourite(likely[prefix_len:])])


def the_other_way_round(likely: Tensor, prefix_len: int, room: int) -> Tensor:
    """Tokens choose in the prefix, experts in the target."""
    return likely * torch.cat([favourite(likely[:prefix_len]), best(likely[prefix_len:], room)])


def target_by_all(likely: Tensor, prefix_len: int, room: int) -> Tensor:
    """All experts compute each target."""
    return torch.cat([mixed_route(likely, prefix_len, room)[:prefix_len], likely[prefix_len:]])


def both_in_the_prefix(likely: Tensor, prefix_len: int, room: int) -> Tensor:
    """A prefix token also goes to its likeliest expert."""
    return likely * (favourite(likely) | chosen(likely, prefix_len, room))


def scaled(likely: Tensor, prefix_len: int, room: int) -> Tensor:
    """The factors of a token sum to 1."""
    gates = mixed_route(likely, prefix_len, room)
    total = gates.sum(-1, keepdim=True)
    return gates / total.masked_fill(total == 0, 1.0)


def without_limit(likely: Tensor, prefix_len: int, room: int) -> Tensor:
    """Stops where there is more room than prefix."""
    likely[:prefix_len].topk(room, dim=0)
    return mixed_route(likely, prefix_len, room)


def always_full(likely: Tensor, prefix_len: int, room: int) -> Tensor:
    """All that was likely in the prefix, as if there were always room."""
    return mixed_route(likely, prefix_len, prefix_len)


WRONG_ROUTES: list[tuple[str, Route]] = [
    (
        "experts choose among the targets too: a later one can take an earlier one's place",
        lambda likely, _, room: likely * best(likely, room),
    ),
    (
        "targets compete for the places of the prefix: a prefix token's place tells what comes",
        targets_compete,
    ),
    ("the targets have an expert choice of their own: inside it the later ones leak", two_lots),
    ("this is token choice throughout", lambda likely, *_: likely * favourite(likely)),
    ("each prefix token takes its best experts; here each expert takes its best tokens", along_experts),
    ("prefix and target are exchanged", the_other_way_round),
    ("all experts compute each target token: it has one, the likeliest", target_by_all),
    ("a prefix token goes to its own favourite besides: there only the experts choose", both_in_the_prefix),
    ("the factors of a token are scaled to sum to 1: they are the probabilities as they were", scaled),
    (
        "the factors are 1: an expert's output is multiplied by its probability",
        lambda *given: chosen(*given).float(),
    ),
    ("an expert can't take more tokens than the prefix has: there may be more room than that", without_limit),
    ("there is no limit in the prefix: every expert computes every token of it", always_full),
    (
        "token p is treated as prefix, and it is the first target",
        lambda likely, p, room: mixed_route(likely, p + 1, room),
    ),
    (
        "token p - 1 is treated as a target, and it is the last of the prefix",
        lambda likely, p, room: mixed_route(likely, max(p - 1, 0), room),
    ),
]
