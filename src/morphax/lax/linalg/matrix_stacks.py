"""The family of operations on each matrix of a stack: the rules that they share.

Operands have the shape `(..., m, n)`, or `(..., n)` where they are vectors, all with the same
leading axes.  An operation states what becomes of one matrix; the family does so for stacks, eager
and batched, and checks operands.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, ClassVar

import numpy as np

from ...core import AxisFlow, BatchAxes, Primitive, aval_of, like, not_linear, number_in
from ...core.dims import Dim, Shape
from ...errors import ShapeError
from ...util.messages import message
from ..contraction.dot import dot_general
from ..contraction.precision import Precision
from ..elementwise.arithmetic import add, mul
from ..elementwise.complex import conj
from ..ground.kinds import DtypeKind
from ..ground.linear_structure import batched_first, transpose_p
from .lapack import Memory, Plan, compiled

# What LAPACK computes in; narrower floats would have to be rounded at each step.
FACTORED = DtypeKind(
    ("float32", "float64", "complex64", "complex128"),
    (np.float32, np.float64, np.complex64, np.complex128),
)

# Places of rows and columns, as LAPACK gives them.
PLACES = DtypeKind(("int32",), (np.int32,))

# Shape and dtype of one result for one matrix of the stack.
Result = tuple[Shape, Any]


def real_products(aval: Any) -> int:
    """How many products of real numbers a product of two elements is."""
    return 4 if aval.dtype.kind == "c" else 1


class MatrixOperation(Primitive):
    """Operations on each matrix of a stack; a subclass defines `results` and `evaluate_one`."""

    ranks: ClassVar[tuple[int, ...]] = (2,)
    """Of the operands, without the axes of the stack."""

    places: ClassVar[tuple[int, ...]] = ()
    """Which operands are int32; the others are of one dtype that LAPACK computes in."""

    of_one_dtype = True
    transpose = not_linear()

    def results(self, dtype: Any, *shapes: Shape, **params: Any) -> list[Result]:
        """Shapes and dtypes of the results for one matrix; raises if operands do not fit."""
        raise AssertionError(f"{self.name} defines results")

    def evaluate_one(self, *matrices: Any, **params: Any) -> Any:
        """The result for one matrix, or the list of them, in NumPy."""
        raise AssertionError(f"{self.name} defines evaluate_one")

    def plan(self, plan: Plan, *operands: Memory, **params: Any) -> list[Memory] | None:
        """The results for a matrix with elements, by native code; None: there is no plan."""
        return None

    def size_by_loops(self, *avals: Any) -> int:
        """The elements of one matrix: how many there are matters to loops and library alike."""
        shape = avals[0].shape[avals[0].ndim - self.ranks[0] :]
        return real_products(avals[0]) * math.prod(shape)

    def abstract_eval(self, *avals: Any, **params: Any) -> Any:
        for position, (aval, rank) in enumerate(zip(avals, self.ranks, strict=True)):
            is_place = position in self.places
            (PLACES if is_place else FACTORED).check(f"linalg.{self.name}", position, aval)
            if aval.ndim < rank or (aval.dtype != avals[0].dtype and not is_place):
                raise unfit(self.name, avals, self.ranks)
        stacks = [a.shape[: a.ndim - rank] for a, rank in zip(avals, self.ranks, strict=True)]
        if any([stack != stacks[0] for stack in stacks]):
            raise unfit(self.name, avals, self.ranks)
        shapes = [a.shape[len(stacks[0]) :] for a in avals]
        results = self.results(avals[0].dtype, *shapes, **params)
        outs = [
            like(*avals, shape=(*stacks[0], *shape), dtype=dtype, weak_type=False)
            for shape, dtype in results
        ]
        return outs if self.multiple_results else outs[0]

    def axis_flow(self, *avals: Any, **params: Any) -> AxisFlow:
        """The axes of the stack go along; a matrix is whole."""
        stack = avals[0].ndim - self.ranks[0]
        shapes = [a.shape[stack:] for a in avals]
        results = self.results(avals[0].dtype, *shapes, **params)
        ranks = [*self.ranks, *[len(shape) for shape, _ in results]]
        labels = [(*range(stack), *[None] * rank) for rank in ranks]
        return AxisFlow(tuple(labels[: len(avals)]), tuple(labels[len(avals) :]))

    def kernel(self, *avals: Any, **params: Any) -> Callable[..., Any] | None:
        """Native code where there is a plan; else for one matrix; of stacks there is `evaluate`."""
        rank = avals[0].ndim - self.ranks[0]
        if compiled is not None and all([a.size for a in avals]):
            stack = avals[0].shape[:rank]
            plan = Plan(stack, [(a.shape[rank:], a.dtype) for a in avals])
            results = self.plan(plan, *plan.operands, **params)
            if results is not None:
                return plan.function(results, single=not self.multiple_results)
        if rank:
            return None
        of_one, in_rows = partial(self.evaluate_one, **params), np.ascontiguousarray
        if self.multiple_results:
            return lambda *matrices: list(map(in_rows, of_one(*matrices)))
        return lambda *matrices: in_rows(of_one(*matrices))

    def evaluate(self, *operands: Any, **params: Any) -> Any:
        kernel = self.kernel(*operands, **params)
        return self._one_by_one(*operands, **params) if kernel is None else kernel(*operands)

    def _one_by_one(self, *operands: Any, **params: Any) -> Any:
        stack = operands[0].shape[: operands[0].ndim - self.ranks[0]]
        shapes = [x.shape[len(stack) :] for x in operands]
        count = math.prod(stack)
        members = [
            np.ascontiguousarray(x).reshape(count, *shape)
            for x, shape in zip(operands, shapes, strict=True)
        ]
        results = self.results(operands[0].dtype, *shapes, **params)
        outs = [np.empty((*stack, *shape), dtype) for shape, dtype in results]
        places = [o.reshape(count, *shape) for o, (shape, _) in zip(outs, results, strict=True)]
        if not self.multiple_results:
            (place,) = places
            for i, matrices in enumerate(zip(*members, strict=True)):
                place[i] = self.evaluate_one(*matrices, **params)
            return outs[0]
        for i, matrices in enumerate(zip(*members, strict=True)):
            for place, one in zip(places, self.evaluate_one(*matrices, **params), strict=True):
                place[i] = one
        return outs

    def batch(
        self, axes: BatchAxes, operands: Sequence[Any], dims: Sequence[Any], **params: Any
    ) -> tuple[Any, Any]:
        moved = [batched_first(axes, x, d) for x, d in zip(operands, dims, strict=True)]
        out = self.bind(*moved, **params)
        return (out, [0] * len(out)) if self.multiple_results else (out, 0)


def unfit(name: str, avals: Sequence[Any], ranks: Sequence[int]) -> ShapeError:
    """The error for operands that are not stacks of one shape and dtype, of matrices or vectors."""
    kinds = {1: "a vector", 2: "a matrix"}
    return ShapeError(
        message(
            f"lax.linalg.{name}",
            given=" and ".join([a.str_short(short_dtypes=False) for a in avals]),
            expected=" and ".join([kinds[rank] for rank in ranks])
            + ", or stacks of them: of one shape, and one dtype",
            fix="Matrices are the last two axes; broadcast and convert the operands.",
        )
    )


def square(name: str, shape: Shape) -> Dim:
    """The size of a square matrix; refuses others."""
    rows, columns = shape
    if rows != columns:
        raise ShapeError(
            message(
                f"lax.linalg.{name}",
                given=f"matrices of shape {shape}",
                expected="square matrices: the last two axes have equal sizes",
                fix="Pass a square matrix, or a stack of them.",
            )
        )
    return rows


def adjoint(x: Any) -> Any:
    """The conjugate transpose of each matrix."""
    return conj(swapped(x)) if aval_of(x).dtype.kind == "c" else swapped(x)


def swapped(x: Any) -> Any:
    """The transpose of each matrix."""
    ndim = aval_of(x).ndim
    return transpose_p.bind(x, permutation=(*range(ndim - 2), ndim - 1, ndim - 2))


def product(x: Any, y: Any) -> Any:
    """The products of the matrices of two stacks of one shape, in full precision."""
    stack = tuple(range(aval_of(x).ndim - 2))
    axes = len(stack)
    numbers = (((axes + 1,), (axes,)), (stack, stack))
    return dot_general(x, y, numbers, precision=Precision.HIGHEST)


def symmetrized(name: str, x: Any) -> Any:
    """The Hermitian part (A + Aᴴ) / 2 of each matrix."""
    aval = aval_of(x)
    FACTORED.check(f"linalg.{name}", 0, aval)
    if aval.ndim < 2:
        raise unfit(name, [aval], (2,))
    square(name, aval.shape[-2:])
    return mul(add(x, adjoint(x)), number_in(0.5, aval.dtype))
