"""Masks of attention: which queries see which keys, written down only as far as they are asked for.

``mask[rows, columns]`` is an array of booleans.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, final

import numpy as np

from ......util.messages import described, message
from ......util.records import dataclass

Booleans = np.ndarray[Any, np.dtype[np.bool_]]


class Mask(ABC):
    """Which queries see which keys; ``|`` and ``&`` combine masks of one shape.

    Attributes:
        shape: how many queries and keys there are.
    """

    shape: tuple[int, ...]

    @abstractmethod
    def __getitem__(self, idx: Any) -> Booleans: ...

    def __bool__(self) -> bool:
        raise NotImplementedError(
            message(
                "truth of a mask of attention",
                given=f"{self!r}",
                expected="masks joined by | and &",
                fix="Write mask | other, not `mask or other`.",
            )
        )

    def __or__(self, other: Mask) -> Mask:
        return LogicalOr(self, _alike(self, other))

    def __and__(self, other: Mask) -> Mask:
        return LogicalAnd(self, _alike(self, other))


def _alike(mask: Mask, other: Mask) -> Mask:
    if mask.shape != other.shape:
        raise ValueError(
            message(
                "combination of masks",
                given=f"masks of shapes {mask.shape} and {other.shape}",
                expected="masks of one shape",
                fix="Make them for the same queries and keys.",
            )
        )
    return other


@final
@dataclass(frozen=True)
class LogicalOr(Mask):
    """What one of two masks allows."""

    left: Mask
    right: Mask

    @property
    def shape(self) -> tuple[int, ...]:  # type: ignore[override]
        return self.left.shape

    def __getitem__(self, idx: Any) -> Booleans:
        return self.left[idx] | self.right[idx]


@final
@dataclass(frozen=True)
class LogicalAnd(Mask):
    """What both of two masks allow."""

    left: Mask
    right: Mask

    @property
    def shape(self) -> tuple[int, ...]:  # type: ignore[override]
        return self.left.shape

    def __getitem__(self, idx: Any) -> Booleans:
        return self.left[idx] & self.right[idx]


class _ByPosition(Mask):
    """A mask that positions decide."""

    @abstractmethod
    def _sees(self, query: Any, key: Any) -> Booleans:
        """Whether a query sees a key."""

    def __getitem__(self, idx: Any) -> Booleans:
        rows, columns = idx
        query, key = np.arange(self.shape[0])[rows], np.arange(self.shape[1])[columns]
        return self._sees(query[:, None], key[None, :])


@final
@dataclass(frozen=True)
class CausalMask(_ByPosition):
    """Queries see the keys up to their own position, moved on by `offset`.

    Example:
        >>> import morphax.experimental.pallas.ops.tpu.splash_attention as splash
        >>> splash.CausalMask((3, 3))[:, :].astype(int)
        array([[1, 0, 0],
               [1, 1, 0],
               [1, 1, 1]])
    """

    shape: tuple[int, int]
    offset: int = 0
    shard_count: int = 1

    def _sees(self, query: Any, key: Any) -> Booleans:
        return query + self.offset >= key


@final
@dataclass(frozen=True)
class ChunkedCausalMask(_ByPosition):
    """Queries see the keys of their own chunk up to their position.

    Example:
        >>> import morphax.experimental.pallas.ops.tpu.splash_attention as splash
        >>> splash.splash_attention_mask.ChunkedCausalMask((4, 4), chunk_size=2)[:, :].astype(int)
        array([[1, 0, 0, 0],
               [1, 1, 0, 0],
               [0, 0, 1, 0],
               [0, 0, 1, 1]])
    """

    shape: tuple[int, int]
    chunk_size: int
    shard_count: int = 1

    def _sees(self, query: Any, key: Any) -> Booleans:
        return (query // self.chunk_size == key // self.chunk_size) & (query >= key)


@final
@dataclass(frozen=True)
class LocalMask(_ByPosition):
    """Queries see so many keys before and behind their position; `None` is all of them.

    Example:
        >>> import morphax.experimental.pallas.ops.tpu.splash_attention as splash
        >>> splash.LocalMask((4, 4), window_size=(1, 0), offset=0)[:, :].astype(int)
        array([[1, 0, 0, 0],
               [1, 1, 0, 0],
               [0, 1, 1, 0],
               [0, 0, 1, 1]])
    """

    shape: tuple[int, int]
    window_size: tuple[int | None, int | None]
    offset: int
    shard_count: int = 1

    def _sees(self, query: Any, key: Any) -> Booleans:
        before, behind = self.window_size
        sees = np.ones(np.broadcast_shapes(query.shape, key.shape), bool)
        if before is not None:
            sees &= query + self.offset - before <= key
        if behind is not None:
            sees &= query + self.offset + behind >= key
        return sees


@final
@dataclass(frozen=True)
class FullMask(_ByPosition):
    """Queries see all keys."""

    _shape: tuple[int, int]

    @property
    def shape(self) -> tuple[int, int]:  # type: ignore[override]
        return self._shape

    def _sees(self, query: Any, key: Any) -> Booleans:
        return np.ones(np.broadcast_shapes(query.shape, key.shape), bool)


@final
@dataclass(frozen=True, eq=False)
class NumpyMask(Mask):
    """A mask that is written down."""

    array: Booleans

    def __post_init__(self) -> None:
        if self.array.ndim != 2 or self.array.dtype != np.bool_:
            raise ValueError(
                message(
                    "NumpyMask, argument array",
                    given=described(self.array),
                    expected="an array of booleans with two axes, those of queries and keys",
                    fix="Convert it with array.astype(bool).",
                )
            )

    @property
    def shape(self) -> tuple[int, ...]:  # type: ignore[override]
        return self.array.shape

    def __getitem__(self, idx: Any) -> Booleans:
        return self.array[idx]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, NumpyMask) and np.array_equal(self.array, other.array)

    def __hash__(self) -> int:
        return hash((self.shape, self.array.tobytes()))


@final
@dataclass(frozen=True)
class MultiHeadMask(Mask):
    """A mask for each head, of shape (heads, queries, keys)."""

    masks: Sequence[Mask]

    def __post_init__(self) -> None:
        object.__setattr__(self, "masks", tuple(self.masks))
        shapes = {mask.shape for mask in self.masks}
        if len(shapes) != 1:
            raise ValueError(
                message(
                    "MultiHeadMask, argument masks",
                    given=f"masks of the shapes {sorted(shapes)}",
                    expected="at least one mask, and all of one shape",
                    fix="Give a mask for each head.",
                )
            )

    @property
    def shape(self) -> tuple[int, ...]:  # type: ignore[override]
        return (len(self.masks), *self.masks[0].shape)

    def __getitem__(self, idx: Any) -> Booleans:
        head, *rest = idx
        if isinstance(head, slice):
            return np.stack([mask[tuple(rest)] for mask in self.masks[head]])
        return self.masks[head][tuple(rest)]


_ALL = slice(None)


def make_causal_mask(shape: tuple[int, int], offset: int = 0) -> Booleans:
    """The array of a `CausalMask`.

    Example:
        >>> from morphax.experimental.pallas.ops.tpu.splash_attention import make_causal_mask
        >>> make_causal_mask((2, 3)).astype(int)
        array([[1, 0, 0],
               [1, 1, 0]])
    """
    return CausalMask(shape, offset)[_ALL, _ALL]


def make_local_attention_mask(
    shape: tuple[int, int], window_size: tuple[int | None, int | None], *, offset: int = 0
) -> Booleans:
    """The array of a `LocalMask`.

    Example:
        >>> import morphax.experimental.pallas.ops.tpu.splash_attention as splash
        >>> splash.make_local_attention_mask((4, 4), window_size=(1, 0)).astype(int)
        array([[1, 0, 0, 0],
               [1, 1, 0, 0],
               [0, 1, 1, 0],
               [0, 0, 1, 1]])
    """
    return LocalMask(shape, window_size, offset)[_ALL, _ALL]


def make_chunk_attention_mask(shape: tuple[int, int], chunk_size: int) -> Booleans:
    """The array of a `ChunkedCausalMask`.

    Example:
        >>> import morphax.experimental.pallas.ops.tpu.splash_attention as splash
        >>> splash.splash_attention_mask.make_chunk_attention_mask((4, 4), chunk_size=2).astype(int)
        array([[1, 0, 0, 0],
               [1, 1, 0, 0],
               [0, 0, 1, 0],
               [0, 0, 1, 1]])
    """
    return ChunkedCausalMask(shape, chunk_size)[_ALL, _ALL]


def make_random_mask(shape: tuple[int, int], sparsity: float, seed: int) -> Booleans:
    """An array of booleans of which a share of `sparsity` is false, drawn by NumPy's generator."""
    draws = np.random.RandomState(seed).binomial(1, 1 - sparsity, shape)
    return draws.astype(bool)
