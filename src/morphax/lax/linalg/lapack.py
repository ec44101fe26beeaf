"""LAPACK and BLAS of SciPy, which eager mode calls: for one matrix, or by a plan in native code.

They read matrices by columns.  To them a matrix that lies by rows is its transpose, and a plan
copies it where a problem has no transposed twin.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache
from typing import Any, final

import numpy as np

from ...core.dims import Shape
from ...util.compiled import part
from ...util.library_threads import ALONE, allow_control_of_threads
from ...util.records import dataclass
from ...util.scipy_libraries import linear_algebra

_LETTER = {"f": "s", "d": "d", "F": "c", "D": "z"}

_OF_BLAS = frozenset({"trsm"})

_COMPLEX = {"orgqr": "ungqr", "ormqr": "unmqr", "sytrd": "hetrd", "syevd": "heevd"}

BLOCK = 64
"""Columns that LAPACK works on at once, at most: work space is this many times the size."""

_SMALL = 1 << 15
"""Bytes of a matrix, at most, that lies in the nearest cache while native code factorises it."""

_VECTOR = 64
"""Bytes of the longest vectors: rows of such a matrix begin so many bytes apart, or a multiple."""

compiled = part("lapack")
"""Plans; where it is None, each matrix is a call of `lapack`."""

_INT32 = np.dtype(np.int32)


@cache
def lapack(function: str, dtype: np.dtype[Any]) -> Callable[..., Any]:
    """SciPy's function for one matrix of a dtype: ``getrf`` is ``dgetrf`` for float64."""
    library = linear_algebra("_fblas" if function in _OF_BLAS else "_flapack")
    return getattr(library, _full_name(function, dtype))


@cache
def _routine(function: str, dtype: np.dtype[Any]) -> Any:
    """The address, in a capsule that is named by the declaration in C."""
    library = linear_algebra("cython_blas" if function in _OF_BLAS else "cython_lapack")
    return library.__pyx_capi__[_full_name(function, dtype)]


def _full_name(function: str, dtype: np.dtype[Any]) -> str:
    # What is orthogonal or symmetric for real matrices is unitary or Hermitian for complex ones.
    if dtype.kind == "c":
        function = _COMPLEX.get(function, function)
    return _LETTER[dtype.char] + function


def permutations(pivots: Any, rows: int, first: int) -> Any:
    """The orders of rows after exchanges, int32 of shape `(count, rows)`.

    Args:
        pivots: int32 of shape `(count, k)`: row i is exchanged with row ``pivots[i]``, one after
            another.
        rows: how many there are.
        first: the number of the first row, as `pivots` counts.
    """
    orders = np.tile(np.arange(rows, dtype=_INT32), (len(pivots), 1))
    for order, others in zip(orders, pivots - np.int32(first), strict=True):
        for i, other in enumerate(others.tolist()):
            order[i], order[other] = order[other], order[i]
    return orders


@final
@dataclass(frozen=True, slots=True)
class Memory:
    """Memory of a plan, of which each matrix of a stack has its own.

    Args:
        number: of the memory in its plan.
        shape: of the numbers of one matrix, by rows.
        dtype: of the numbers.
        before: bytes of the memory that come before.
    """

    number: int
    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    before: int = 0

    def __getitem__(self, start: int) -> Memory:
        """What comes after so many numbers."""
        return replace(self, before=self.before + start * self.dtype.itemsize)

    @property
    def size(self) -> int:
        """How many numbers there are."""
        return math.prod(self.shape)

    @property
    def place(self) -> tuple[int, int]:
        """Where it is, for native code."""
        return (self.number, self.before)


def _parts(x: Memory) -> tuple[int, int]:
    """How many real numbers make one number, and the bytes of each."""
    width = np.finfo(x.dtype).dtype.itemsize
    return x.dtype.itemsize // width, width


def _apart(x: Memory) -> int:
    """How many numbers lie between rows of a matrix that begin where vectors do."""
    numbers = _VECTOR // x.dtype.itemsize
    return -(-x.shape[1] // numbers) * numbers


def _bytes_in_rows(x: Memory) -> int:
    return x.shape[0] * _apart(x) * x.dtype.itemsize


@final
class Plan:
    """What is done for each matrix of a stack: calls of Fortran, and copies between them.

    A plan is made once for operands of one shape and dtype, and then run by native code; memory
    that it does not return is scratch memory.  What functions want of dtypes and sizes is for the
    caller to know.

    Args:
        stack: the leading axes of operands and results; none for one matrix.
        operands: shape without the leading axes, and dtype of each operand.  They are not written.
    """

    def __init__(self, stack: Shape, operands: Sequence[tuple[Shape, Any]]) -> None:
        self._stack = stack
        self._bytes: list[int] = []
        self._steps: list[tuple[Any, ...]] = []
        self.operands = [self.memory(np.dtype(dtype), *shape) for shape, dtype in operands]

    def memory(self, dtype: np.dtype[Any], *shape: int) -> Memory:
        """New memory."""
        new = Memory(len(self._bytes), shape, dtype)
        self._bytes.append(max(1, new.size) * dtype.itemsize)
        return new

    def info(self) -> Memory:
        """Memory for what a function tells of its success: 0, or what has failed."""
        return self.memory(_INT32)

    def call(
        self,
        function: str,
        dtype: np.dtype[Any],
        *arguments: int | str | Memory | np.ndarray[Any, Any],
    ) -> None:
        """Call the function of Fortran.

        Args:
            function: its name without the letter of the dtype.
            dtype: of the matrices.
            *arguments: a number, a letter, memory, or one number for all (an array without axes).
        """
        given = [a.place if isinstance(a, Memory) else a for a in arguments]
        self._steps.append(("call", _routine(function, dtype), *given))

    def copied(self, x: Memory) -> Memory:
        """A copy."""
        return self.copied_to(self.memory(x.dtype, *x.shape), x)

    def copied_to(self, to: Memory, x: Memory) -> Memory:
        """A copy in other memory, which is returned."""
        self._steps.append(("copy", x.place, to.place, x.size * x.dtype.itemsize))
        return to

    def transposed(self, x: Memory, rows: int | None = None, columns: int | None = None) -> Memory:
        """The transpose of a matrix, or of its first rows and columns."""
        rows, columns = rows or x.shape[0], columns or x.shape[1]
        return self.transposed_to(self.memory(x.dtype, columns, rows), x, rows, columns)

    def transposed_to(self, to: Memory, x: Memory, rows: int, columns: int) -> Memory:
        """The same in the first rows and columns of other memory, which is returned."""
        sizes = (rows, columns, x.shape[1], to.shape[1])
        self._steps.append(("transpose", x.place, to.place, *sizes, x.dtype.itemsize))
        return to

    def zero_below(self, x: Memory) -> None:
        """Zeros below the diagonal of a matrix by rows."""
        rows, columns = x.shape
        if rows > 1:
            # To LAPACK they are above it.
            zero = np.zeros((), x.dtype)
            self.call("laset", x.dtype, "U", columns, rows - 1, zero, zero, x[columns], columns)

    def zero_above(self, x: Memory) -> None:
        """Zeros above the diagonal of a matrix by rows."""
        rows, columns = x.shape
        if columns > 1:
            zero = np.zeros((), x.dtype)
            self.call("laset", x.dtype, "L", columns - 1, rows, zero, zero, x[1], columns)

    def rows_taken(self, x: Memory, order: Memory) -> Memory:
        """Row i is row ``order[i]`` of `x`."""
        return self._reordered("rows taken", x, order)

    def rows_placed(self, x: Memory, order: Memory) -> Memory:
        """Row ``order[i]`` is row i of `x`."""
        return self._reordered("rows placed", x, order)

    def _reordered(self, step: str, x: Memory, order: Memory) -> Memory:
        new = self.memory(x.dtype, *x.shape)
        rows, columns = x.shape
        width = columns * x.dtype.itemsize
        self._steps.append((step, x.place, new.place, order.place, rows, width))
        return new

    @staticmethod
    def is_small(*matrices: Memory) -> bool:
        """Whether factorisations by rows have a form for them: small and real."""
        return all([x.dtype.kind == "f" and _bytes_in_rows(x) <= _SMALL for x in matrices])

    def small_lu(self, a: Memory, found: Sequence[Memory], otherwise: Callable[[], None]) -> None:
        """Factors, pivots and order of an ordinary small matrix, by rows.

        Args:
            a: the matrix.
            found: memory for the results.
            otherwise: adds the steps that are taken where the matrix is not ordinary.
        """
        apart = _apart(a)
        spaces = (self.memory(a.dtype, a.shape[0], apart), self.memory(a.dtype, a.shape[0] + apart))
        self._small("lu", otherwise, (a, *found, *spaces), (*a.shape, apart, a.dtype.itemsize))

    def small_cholesky(self, a: Memory, found: Memory, otherwise: Callable[[], None]) -> None:
        """The lower factor of an ordinary small matrix, by rows; as `small_lu`."""
        apart = _apart(a)
        work = self.memory(a.dtype, a.shape[0], apart)
        self._small("cholesky", otherwise, (a, found, work), (a.shape[0], apart, a.dtype.itemsize))

    def small_qr(self, a: Memory, found: Sequence[Memory], otherwise: Callable[[], None]) -> None:
        """Q and R of an ordinary small matrix, by rows; as `small_lu`."""
        (rows, columns), q = a.shape, found[0]
        apart = (_apart(a), _apart(q))
        spare = rows + min(rows, columns) + max(apart)
        spaces = [self.memory(a.dtype, rows, x) for x in apart] + [self.memory(a.dtype, spare)]
        sizes = (rows, columns, q.shape[1], *apart, a.dtype.itemsize)
        self._small("qr", otherwise, (a, *found, *spaces), sizes)

    def _small(
        self,
        step: str,
        otherwise: Callable[[], None],
        memories: Sequence[Memory],
        sizes: Sequence[int],
    ) -> None:
        steps, self._steps = self._steps, []
        otherwise()
        steps.append((f"small {step}", self._steps, *[x.place for x in memories], *sizes))
        self._steps = steps

    def order(self, pivots: Memory, rows: int, first: int, to: Memory | None = None) -> Memory:
        """As `permutations`; rows beyond the last, or before the first, count as these."""
        to = to or self.memory(_INT32, rows)
        self._steps.append(("order", pivots.place, to.place, pivots.size, rows, first))
        return to

    def less_one(self, x: Memory) -> None:
        """Subtract 1 from integers."""
        self._steps.append(("less one", x.place, x.size))

    def zero_unless_finite(self, x: Memory) -> Memory:
        """Zeros in place of a matrix that is not finite; whether it is so, as `info` would tell."""
        flag = self.info()
        self._of_reals("zero unless finite", x, flag.place)
        return flag

    def nan_if(self, x: Memory, info: Memory) -> None:
        """NaN where `info` tells of a failure."""
        self._of_reals("nan if", x, info.place)

    def nan_after_pivot(self, x: Memory) -> None:
        """NaN in what a pivot that the library does not divide by has a part in, by columns."""
        columns, rows = x.shape
        parts, width = _parts(x)
        self._steps.append(("nan after pivot", x.place, rows, columns, parts, width))

    def nan_after_reflection(self, x: Memory, columns: int, taus: Memory) -> None:
        """NaN in what a reflection whose scalar is NaN has a part in.

        Args:
            x: what geqrf gives, by columns.
            columns: how many of them there are.
            taus: the scalars.
        """
        parts, width = _parts(x)
        sizes = (x.shape[1], columns, parts)
        step = ("nan after reflection", x.place, *sizes, taus.place, taus.size, width)
        self._steps.append(step)

    def fail_if_nan(self, x: Memory, info: Memory) -> None:
        """Let `info` tell of a failure where a square matrix has NaN on its diagonal."""
        parts, width = _parts(x)
        self._steps.append(("fail if nan", x.place, x.shape[0], parts, info.place, width))

    def in_units(self, x: Memory, limit: float) -> Memory:
        """Divide a matrix by its largest part if this is not between `limit` and its reciprocal.

        Returns:
            Memory of the divisor, else 1.
        """
        unit = self.memory(np.finfo(x.dtype).dtype)
        self._of_reals("in units", x, unit.place, limit)
        return unit

    def times(self, x: Memory, unit: Memory) -> None:
        """Multiply by a real number."""
        self._of_reals("times", x, unit.place)

    def conjugate(self, x: Memory) -> None:
        """Turn complex numbers into their conjugates."""
        self._of_reals("conjugate", x)

    def complex_of(self, real: Memory, imaginary: Memory) -> Memory:
        """Complex numbers of their parts."""
        new = self.memory(np.result_type(real.dtype, np.complex64), *real.shape)
        places = (real.place, imaginary.place, new.place)
        self._steps.append(("complex", *places, real.size, real.dtype.itemsize))
        return new

    def vectors_of(self, packed: Memory, imaginary: Memory) -> Memory:
        """Eigenvectors, complex, by rows, as the columns of a matrix.

        Args:
            packed: what LAPACK gives for real matrices, by columns: of a conjugate pair the real
                and the imaginary part.
            imaginary: parts of the eigenvalues.
        """
        new = self.memory(np.result_type(packed.dtype, np.complex64), *packed.shape)
        places = (packed.place, imaginary.place, new.place)
        self._steps.append(("vectors", *places, packed.shape[0], packed.dtype.itemsize))
        return new

    def _of_reals(self, step: str, x: Memory, *arguments: Any) -> None:
        """A step to which a complex number is two."""
        parts, width = _parts(x)
        self._steps.append((step, x.place, x.size * parts, *arguments, width))

    def function(self, results: Sequence[Memory], *, single: bool) -> Callable[..., Any]:
        """The plan as a function of arrays.

        Args:
            results: memory that is returned, no operands among it.
            single: whether its one result is returned, rather than a list of them.
        """
        assert compiled is not None
        described = [(x.number, [*self._stack, *x.shape], x.dtype) for x in results]
        count, given = math.prod(self._stack), len(self.operands)
        allow_control_of_threads()
        alone = all([x.size <= ALONE for x in self.operands])
        return compiled.plan(count, self._bytes, given, described, self._steps, single, alone)
