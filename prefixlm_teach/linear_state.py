"""What linear attention keeps of the tokens it has read: two sums, as large after many tokens as after one.

A token's key goes through a feature map and comes out positive. So every similarity of a query and a key is
positive, and what a query reads is a weighted mean of values. A map that could give a similarity below 0
could bring the weights' sum to 0, and the mean to anything.

Source: Katharopoulos et al. 2020 (arXiv:2006.16236), sections 3.2.1, 3.3 and 3.4.
"""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor


def elu_features(x: Tensor) -> Tensor:
    """Return elu(x) + 1: x + 1 above 0, exp(x) below it.

    Without the detour it stays above 0 where elu(x) itself is rounded to -1, in float32 from about -17 on.

    Args:
        x: floats of any shape; the result has their shape and dtype. No slope is 0, unlike relu's.
    """
    return x.clamp(max=0).exp() + x.relu()


def weighted_mean(total: Tensor, weight: Tensor) -> Tensor:
    """Return `total` (..., d_v) divided by `weight` (..., 1), and 0 where nothing has any weight."""
    return total / weight.masked_fill(weight == 0, 1.0)


@dataclass(frozen=True, eq=False)
class LinearState:
    """What is kept of the tokens read so far. It never changes: reading on makes a new one.

    Both are float64 where queries, keys and values are, and else float32: a sum over many tokens outgrows
    float16, and in bfloat16 it stands still after a few hundred.

    Attributes:
        memory: (B, H, d_k, d_v), the sum over tokens of each feature of the key times each number of the
            value.
        normaliser: (B, H, d_k), the sum of the features alone.
    """

    memory: Tensor
    normaliser: Tensor

    def add(self, features: Tensor, v: Tensor) -> LinearState:
        """Return the state after N more tokens, `features` (B, H, N, d_k) and `v` (B, H, N, d_v)."""
        return LinearState(self.memory + features.mT @ v, self.normaliser + features.sum(-2))

    def totals(self, features: Tensor) -> tuple[Tensor, Tensor]:
        """Return what queries find, (B, H, N, d_v), and its weight, (B, H, N, 1); features as in `add`."""
        return features @ self.memory, features @ self.normaliser[..., None]

    def read(self, features: Tensor) -> Tensor:
        """Return the (B, H, N, d_v) means of the values read so far, as the queries' features weigh them."""
        return weighted_mean(*self.totals(features))


def empty_state(k: Tensor, v: Tensor) -> LinearState:
    """Return the state before the first token, for keys like `k` (B, H, T, d_k), values like `v`."""
    B, H, _, d_k = k.shape
    return LinearState(v.new_zeros(B, H, d_k, v.size(-1)), v.new_zeros(B, H, d_k))
