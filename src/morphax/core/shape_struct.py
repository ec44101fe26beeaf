"""`ShapeDtypeStruct`: shape and dtype of an array, without the array."""

from __future__ import annotations

import math
from typing import Any, final

from .. import dtypes


@final
class ShapeDtypeStruct:
    """Stands for an array of which only shape, dtype and sharding matter.

    Args:
        shape: sizes of the axes.
        dtype: of the elements.
        sharding: layout over devices, if any.
        weak_type: whether the dtype yields to others in promotion.

    Example:
        >>> import morphax as jax
        >>> jax.ShapeDtypeStruct((2, 3), "float32")
        ShapeDtypeStruct(shape=(2, 3), dtype=float32)
    """

    __slots__ = ("dtype", "shape", "sharding", "vma", "weak_type")

    def __init__(
        self,
        shape: Any,
        dtype: Any,
        *,
        sharding: Any = None,
        weak_type: bool = False,
        vma: Any = None,
        is_ref: bool = False,
        manual_axis_type: Any = None,
    ) -> None:
        self.shape = tuple(shape)
        self.dtype = dtypes.dtype(dtype)
        self.sharding = sharding
        self.weak_type = weak_type
        self.vma = vma

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> int:
        return math.prod(self.shape)

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("len() of unsized object")
        return int(self.shape[0])

    def _fields(self) -> tuple[Any, ...]:
        return self.shape, self.dtype, self.sharding, self.weak_type, self.vma

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ShapeDtypeStruct) and self._fields() == other._fields()

    def __hash__(self) -> int:
        return hash((self.shape, self.dtype, self.weak_type))

    def update(self, **changes: Any) -> ShapeDtypeStruct:
        """The same structure with some fields changed."""
        names = ("shape", "dtype", "sharding", "weak_type", "vma")
        return ShapeDtypeStruct(**({n: getattr(self, n) for n in names} | changes))

    def __repr__(self) -> str:
        sharding = f", sharding={self.sharding}" if self.sharding is not None else ""
        weak = ", weak_type=True" if self.weak_type else ""
        return f"ShapeDtypeStruct(shape={self.shape}, dtype={self.dtype}{sharding}{weak})"
