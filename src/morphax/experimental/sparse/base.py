"""What all sparse formats have in common: the class `JAXSparse`, and what is said of inefficiency.

A sparse array is a pytree whose leaves are arrays, of the stored elements and of their places; its
shape is static.  What its operators mean is in `operators`, for they need every format.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, ClassVar, Self

from ...core import DType, Operand, aval_of
from ...util.messages import message


class SparseEfficiencyError(ValueError):
    """The result would need far more memory than the operand."""


class SparseEfficiencyWarning(UserWarning):
    """The operation works, but not as fast as it could."""


class CuSparseEfficiencyWarning(SparseEfficiencyWarning):
    """An operation on a GPU that does not go to the vendor's library."""


def refused(kind: type, operation: str) -> NotImplementedError:
    """The error of a format that lacks an operation."""
    return NotImplementedError(
        message(
            f"{operation} of sparse arrays",
            given=f"an array of the format {kind.__name__}",
            expected="a format that has the operation",
            fix="Convert it to BCOO, which has most operations, or make it dense with todense().",
        )
    )


def _refusing(operation: str) -> Callable[..., Any]:
    def refuse(self: JAXSparse, *args: Any, **kwargs: Any) -> Any:
        raise refused(type(self), operation)

    return refuse


class JAXSparse(ABC):
    """A sparse array: stored elements, their places, and a shape.

    Args:
        args: arrays of the format.
        shape: of the array that they stand for.
    """

    data: Any
    shape: tuple[int, ...]
    # An array of NumPy to the left of an operator leaves it to this class.
    __array_ufunc__: None = None
    __hash__ = None  # type: ignore[assignment]
    # Counts of axes that `repr` tells where they are not 0.
    _told: ClassVar[tuple[str, ...]] = ()

    def __init__(self, args: Any, *, shape: Sequence[int]) -> None:
        self.shape = tuple(shape)

    @property
    def size(self) -> int:
        """The number of elements, stored or not."""
        return math.prod(self.shape)

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return len(self.shape)

    @property
    @abstractmethod
    def nse(self) -> int:
        """The number of stored elements (of each batch)."""

    @property
    @abstractmethod
    def dtype(self) -> DType:
        """The dtype of the elements."""

    @abstractmethod
    def todense(self) -> Operand:
        """The same numbers as a dense array."""

    @abstractmethod
    def transpose(self, axes: Sequence[int] | None = None) -> JAXSparse:
        """The axes permuted, reversed if `axes` is left out."""

    @abstractmethod
    def tree_flatten(self) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """The arrays, and all that is static."""

    @classmethod
    @abstractmethod
    def tree_unflatten(cls, aux_data: dict[str, Any], children: Sequence[Any]) -> Self:
        """The sparse array that `tree_flatten` took apart, with other leaves."""

    @property
    def T(self) -> JAXSparse:
        """The axes in reverse order."""
        return self.transpose()

    def block_until_ready(self) -> Self:
        """This array, when all that it holds has been computed."""
        for x in self.tree_flatten()[0]:
            x.block_until_ready()
        return self

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("len() of a sparse array without axes")
        return self.shape[0]

    def __repr__(self) -> str:
        try:
            text = f"{aval_of(self.data).dtype.name}{list(self.shape)}, nse={self.nse}"
            text += "".join([f", {n}={k}" for n in self._told if (k := getattr(self, n))])
        except (AttributeError, TypeError, IndexError):
            # Transformations put things into pytrees that are no arrays.
            text = "<invalid>"
        return f"{type(self).__name__}({text})"

    @classmethod
    def _empty(cls, *args: Any, **kwds: Any) -> JAXSparse:
        """A sparse array of zeros, with nothing stored."""
        raise refused(cls, "empty")

    @classmethod
    def _eye(cls, *args: Any, **kwds: Any) -> JAXSparse:
        """Ones along diagonal number k."""
        raise refused(cls, "eye")

    # Formats that have the operation define it, or have it installed by `operators`.
    __add__ = _refusing("+")
    __radd__ = _refusing("+")
    __sub__ = _refusing("-")
    __rsub__ = _refusing("-")
    __mul__ = _refusing("*")
    __rmul__ = _refusing("*")
    __matmul__ = _refusing("@")
    __rmatmul__ = _refusing("@")
    __neg__ = _refusing("unary -")
    __pos__ = _refusing("unary +")
    __getitem__ = _refusing("indexing")
    sum = _refusing("sum")
