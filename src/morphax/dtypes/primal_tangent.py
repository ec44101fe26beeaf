"""Dtypes whose tangents have another dtype: numbers in few bits with derivatives in many.

What is stored, such as the codes of quantised numbers, need not be what a gradient is made of.
Elements are those of one dtype, and can only be moved; the tangent space is that of another.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, ClassVar, final

import numpy as np

from .convert import dtype, short_name
from .extended import ExtendedDType


def _is_primal(self: PrimalTangentDType, other: Any) -> bool:
    return bool(self.primal_dtype == other)


@final
class PrimalTangentDType(ExtendedDType):
    """The dtype of arrays that are stored in one dtype and have tangents of another.

    Args:
        primal_dtype: of the elements.
        tangent_dtype: of tangents and cotangents.
        name: what to call it.

    `lax.convert_element_type` converts from and to `primal_dtype`, and to no other.
    """

    __slots__ = ("_name", "primal_dtype", "tangent_dtype")

    _rules: ClassVar[Any] = SimpleNamespace(
        convert_from=_is_primal,
        convert_to=lambda new, old: _is_primal(old, new),
        tangent_dtype=lambda dtype: dtype.tangent_dtype,
    )

    primal_dtype: np.dtype[Any]
    tangent_dtype: np.dtype[Any]

    def __init__(self, primal_dtype: Any, tangent_dtype: Any, name: str | None = None) -> None:
        self.primal_dtype, self.tangent_dtype = dtype(primal_dtype), dtype(tangent_dtype)
        pair = f"{short_name(self.primal_dtype)}/{short_name(self.tangent_dtype)}"
        self._name = f"PrimalTangentDType{{{pair}}}" if name is None else name

    @property
    def name(self) -> str:
        return self._name

    @property
    def physical_dtype(self) -> np.dtype[Any]:
        return self.primal_dtype

    def _key(self) -> tuple[Any, ...]:
        return self.primal_dtype, self.tangent_dtype, self._name

    def __eq__(self, other: object) -> bool:
        return isinstance(other, PrimalTangentDType) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def __reduce__(self) -> Any:
        return PrimalTangentDType, self._key()


def primal_tangent_dtype(
    primal_dtype: Any, tangent_dtype: Any, name: str | None = None
) -> ExtendedDType:
    """A dtype of elements of one dtype, whose tangents and cotangents are of another.

    Args:
        primal_dtype: of the elements, such as int8.
        tangent_dtype: of tangents, such as bfloat16.
        name: what printed programs call it.

    Raises:
        TypeError: one of them is no dtype.

    Example:
        >>> import numpy as np
        >>> import morphax as jax
        >>> from morphax.experimental import primal_tangent_dtype
        >>> code = primal_tangent_dtype(np.int8, np.float32)
        >>> x = jax.lax.convert_element_type(np.array([3, -1], np.int8), code)
        >>> x.dtype, jax.lax.convert_element_type(x, np.int8)
        (PrimalTangentDType{i8/f32}, Array([ 3, -1], dtype=int8))
    """
    return PrimalTangentDType(primal_dtype, tangent_dtype, name)
