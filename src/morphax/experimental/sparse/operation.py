"""The family of sparse operations: each is a program of dense ones, and a primitive of its own.

A member says in `compute` what it means, in terms of gathers, scatters and dense products; both
engines carry that out.  It stays one equation in a jaxpr, which says what is meant instead of how,
and it has the rules that use its structure: linear in the stored elements, never differentiated
with respect to their places, and batched by one more batch axis of the format.

See docs/design/sparse.md.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, ClassVar

from ...control.calls import split_tangents
from ...core import (
    AbstractValue,
    BatchAxes,
    Jaxpr,
    Operand,
    Param,
    Primitive,
    Zero,
    apply_jaxpr,
    aval_of,
    is_undefined_primal,
    is_zero,
    stage_closed,
)
from ...engines.reference.eager import as_array
from ...engines.reference.replay import replayed
from ...engines.xla.stablehlo import Builder, Value
from ...lax.ground.families import sum_of_tangents
from ...lax.ground.linear_structure import moved_axis
from ...lax.shape.shape_operations import expand_dims, squeeze
from ...transforms.jvp import open_jvp
from ...transforms.transposition import backward_pass
from ...util.memo import memoize

_MOST_OPERANDS = 8


class SparseOperation(Primitive):
    """An operation that is the program `compute`, linear in each of the operands `linear_in`.

    All other operands are integers: places of elements.  Of several results the first is data, the
    others are places.
    """

    linear_in: ClassVar[tuple[int, ...]] = (0,)

    def compute(self, *operands: Operand, **params: Param) -> Any:
        """The result, or the sequence of results, by other operations."""
        raise AssertionError(f"{self.name} defines compute")

    def abstract_eval(self, *avals: AbstractValue, **params: Param) -> Any:
        results = _program(self, avals, tuple(params.items())).out_avals
        return list(results) if self.multiple_results else results[0]

    def execute(self, *operands: Operand, **params: Param) -> Any:
        results = _replayed(self, tuple(params.items()))(*operands)
        return list(map(as_array, results)) if self.multiple_results else as_array(results)

    def evaluate(self, *operands: Operand, **params: Param) -> Any:
        results = self.execute(*map(as_array, operands), **params)
        return [x.to_host() for x in results] if self.multiple_results else results.to_host()

    def lower(self, b: Builder, out: Any, *operands: Value, **params: Param) -> Any:
        avals = tuple([v.aval for v in operands])
        results = b.inline(_program(self, avals, tuple(params.items())), *operands)
        return results if self.multiple_results else results[0]

    def program_in_place(self, *avals: AbstractValue, **params: Param) -> Jaxpr:
        return _program(self, avals, tuple(params.items()))

    def jvp(
        self, primals: Sequence[Operand], tangents: Sequence[Operand], **params: Param
    ) -> tuple[Any, Any]:
        """The rule of products; places do not move."""
        out = self.bind(*primals, **params)
        terms = []
        for i in self.linear_in:
            if not is_zero(tangents[i]):
                moved = self.bind(*primals[:i], tangents[i], *primals[i + 1 :], **params)
                terms.append(moved[0] if self.multiple_results else moved)
        if not self.multiple_results:
            return out, sum_of_tangents(terms, aval_of(out))
        return out, [sum_of_tangents(terms, aval_of(out[0])), *map(no_tangent, out[1:])]

    def transpose(self, ct: Any, *operands: Any, **params: Param) -> list[Any]:
        """The program, transposed, where a member has no shorter way to say it."""
        avals = tuple([x.aval if is_undefined_primal(x) else aval_of(x) for x in operands])
        jaxpr = _program(self, avals, tuple(params.items()))
        return backward_pass(jaxpr, operands, ct if self.multiple_results else [ct])

    def batch(
        self,
        axes: BatchAxes,
        operands: Sequence[Operand],
        dims: Sequence[int | None],
        **params: Param,
    ) -> tuple[Any, Any]:
        """One more batch axis of the format, in front; of size 1 where nothing is mapped."""
        fronted = [in_front(x, d) for x, d in zip(operands, dims, strict=True)]
        results = self.bind(*fronted, **self.batched_params(axes.size, params))
        if not self.multiple_results:
            return without_padding(axes, results)
        pairs = [without_padding(axes, x) for x in results]
        return [x for x, _ in pairs], [d for _, d in pairs]

    def batched_params(self, size: int, params: dict[str, Param]) -> dict[str, Any]:
        """The parameters with one more batch axis of `size` in front."""
        raise AssertionError(f"{self.name} defines batched_params")


@memoize
def _replayed(
    operation: SparseOperation, params: tuple[tuple[str, Any], ...]
) -> Callable[..., Any]:
    """`compute`, whose kernels eager calls replay."""

    def compute(*operands: Operand) -> Any:
        return operation.compute(*operands, **dict(params))

    return replayed(_MOST_OPERANDS)(compute)


@memoize
def _program(
    operation: SparseOperation,
    avals: tuple[AbstractValue, ...],
    params: tuple[tuple[str, Any], ...],
) -> Jaxpr:
    """`compute` for operands of these avals."""
    function = partial(operation.compute, **dict(params))
    if operation.multiple_results:
        return stage_closed(function, avals)
    return stage_closed(lambda *operands: [function(*operands)], avals)


def program_jvp(
    operation: SparseOperation,
    primals: Sequence[Operand],
    tangents: Sequence[Operand],
    params: dict[str, Param],
) -> tuple[list[Any], list[Any]]:
    """The jvp of an operation of several results that is not linear: that of its program."""
    jaxpr = _program(operation, tuple(map(aval_of, primals)), tuple(params.items()))
    fragment = open_jvp(jaxpr, tuple([not is_zero(t) for t in tangents]))
    given = [t for t in tangents if not is_zero(t)]
    results = apply_jaxpr(fragment.jaxpr, *primals, *given)
    return split_tangents(results, fragment.out_active, jaxpr.out_avals)


def no_tangent(x: Operand) -> Zero:
    """The tangent of places."""
    return Zero(aval_of(x).to_tangent_aval())


def in_front(x: Operand, dim: int | None) -> Any:
    """An operand with its mapped axis in front, or an axis of size 1 if it has none."""
    return expand_dims(x, (0,)) if dim is None else moved_axis(x, dim, 0)


def without_padding(axes: BatchAxes, x: Operand) -> tuple[Any, int | None]:
    """A result with its batch axis; of size 1 for many members, it is the same for all."""
    if aval_of(x).shape[0] == axes.size:
        return x, 0
    return squeeze(x, (0,)), None
