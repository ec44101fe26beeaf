"""What a program gave, and whether two results agree.

Types, integers, truth values, and the places of NaN and infinities must be the same.  Numbers that
were rounded may differ as much as they do when each value of the program is moved by a few units in
its last place; a decision that such a move changes is not compared.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

import morphax as jax
import morphax.numpy as jnp

from .errors import is_internal

_finfo: Any = jnp.finfo
Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Leaf:
    """One array of a result."""

    value: Array
    dtype: str
    weak: bool

    @property
    def rounded(self) -> bool:
        return self.value.dtype.kind in "fc"

    @property
    def epsilon(self) -> float:
        return float(_finfo(self.dtype).eps)

    def __str__(self) -> str:
        text = np.array2string(self.value, threshold=20, separator=", ").replace("\n", "")
        return f"{text} {self.dtype}{list(self.value.shape)}{' weak' if self.weak else ''}"


@dataclass(frozen=True)
class Failure:
    """An exception instead of a result."""

    name: str
    text: str
    internal: bool

    def __str__(self) -> str:
        return f"{self.name}: {self.text}"


Outcome = tuple[Leaf, ...] | Failure


def leaf_of(value: Any) -> Leaf:
    """The array as it is compared: floating types of fewer bits have exact counterparts."""
    array = jnp.asarray(value)
    numbers = np.asarray(array)
    if jnp.issubdtype(array.dtype, jnp.floating):
        numbers = numbers.astype(np.float64)
    elif jnp.issubdtype(array.dtype, jnp.complexfloating):
        numbers = numbers.astype(np.complex128)
    return Leaf(numbers, str(array.dtype), bool(getattr(array, "weak_type", False)))


def outcome(run: Callable[[], Any]) -> Outcome:
    """The leaves of a result, or the exception."""
    try:
        return tuple(map(leaf_of, jax.tree_util.tree_leaves(run())))
    except Exception as error:
        text = str(error).strip()
        return Failure(type(error).__name__, text[:400], is_internal(error))


@dataclass(frozen=True)
class Difference:
    """What two results differ in: a kind, which shrinking keeps, and an explanation."""

    kind: str
    text: str


def difference(found: Outcome, expected: Outcome, types: bool = True) -> Difference | None:
    """How two outcomes differ beyond a few units in the last place."""
    if isinstance(found, Failure) or isinstance(expected, Failure):
        return _error_difference(found, expected)
    if len(found) != len(expected):
        return Difference("type", f"{len(found)} results and {len(expected)}")
    for position, (one, other) in enumerate(zip(found, expected, strict=True)):
        if one.value.shape != other.value.shape or (types and _types(one) != _types(other)):
            return Difference("type", f"result {position}: {one} and {other}")
        if not np.all(_close(one, other)):
            return Difference("value", f"result {position}: {one} and {other}")
    return None


def _types(leaf: Leaf) -> tuple[str, bool]:
    return leaf.dtype, leaf.weak


def _error_difference(found: Outcome, expected: Outcome) -> Difference | None:
    names = [each.name if isinstance(each, Failure) else "a result" for each in (found, expected)]
    for each in (found, expected):
        if isinstance(each, Failure) and each.internal:
            return Difference(f"internal {each.name}", f"{each}")
    if names[0] == names[1]:
        return None
    text = " and ".join(
        str(each) if isinstance(each, Failure) else "a result" for each in (found, expected)
    )
    return Difference(f"error {names[0]}/{names[1]}", text)


def _close(one: Leaf, other: Leaf, slack: Array | float = 0.0) -> Array:
    """Where two leaves agree."""
    a, b = one.value, other.value
    if not one.rounded or not other.rounded:
        return np.asarray(a == b)
    epsilon = max(one.epsilon, other.epsilon)
    tiny = max(float(_finfo(leaf.dtype).tiny) for leaf in (one, other))
    with np.errstate(all="ignore"):
        near = np.abs(a - b) <= 16 * epsilon * np.abs(b) + 4 * tiny + slack
        # Where all cancels, what is left is the square of the rounding of numbers near 1.
        near |= (np.minimum(np.abs(a), np.abs(b)) == 0) & (np.abs(a - b) <= 64 * epsilon**2)
        near &= np.isfinite(a) & np.isfinite(b)
        # Which parts of a complex number are NaN is nobody's promise.
        return np.asarray(near | (a == b) | (np.isnan(a) & np.isnan(b)))


def moved_apart(
    found: Outcome, expected: Outcome, base: Outcome, moved: Sequence[Outcome], factor: float = 8.0
) -> Difference | None:
    """How two outcomes differ beyond what a few units in the last place of all values can do.

    `moved` are outcomes of the program with such noise, and `base` is that without it.
    """
    plain = difference(found, expected, types=False)
    if plain is None or plain.kind != "value":
        return plain
    samples = [each for each in moved if not isinstance(each, Failure)]
    if isinstance(found, Failure) or isinstance(expected, Failure) or isinstance(base, Failure):
        return plain
    samples = [each for each in samples if _shapes(each) == _shapes(base)]
    if len(samples) < len(moved):
        return None
    for position, (one, other, still) in enumerate(zip(found, expected, base, strict=True)):
        if one.value.shape != other.value.shape:
            return Difference("type", f"result {position}: {one} and {other}")
        noisy = [sample[position].value for sample in samples]
        slack, undecided = _spread(still.value, noisy)
        if not np.all(undecided | _close(one, other, factor * slack)):
            return Difference("value", f"result {position}: {one} and {other}")
    return None


def _shapes(leaves: tuple[Leaf, ...]) -> list[tuple[int, ...]]:
    return [leaf.value.shape for leaf in leaves]


def _spread(base: Array, noisy: Sequence[Array]) -> tuple[Array | float, Array]:
    """How far noise moves each number, and where it changes what cannot move a little."""
    undecided = np.zeros(base.shape, bool)
    slack = np.zeros(base.shape)
    with np.errstate(all="ignore"):
        for each in noisy:
            if base.dtype.kind not in "fc":
                undecided |= each != base
                continue
            undecided |= np.isfinite(each) != np.isfinite(base)
            undecided |= np.isnan(each) != np.isnan(base)
            moved = np.abs(each - base)
            slack = np.maximum(slack, np.where(np.isfinite(moved), moved, 0))
    return slack, undecided
