"""Products with a matrix of derivatives, as programs that can be read and run.

Forward, a product is J ẋ = ∂f(x) ẋ; in reverse, Jᵀ ȳ.  Both are staged once, for the shapes alone;
the same program is read for its pattern and run, in one batch, on the vectors of all colours.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, final

import numpy as np

from ... import numpy as jnp
from ...core import Jaxpr, Operand, ShapedArray, apply_jaxpr, aval_of, jaxprs_in_params, stage_open
from ...lax.elementwise.convert import convert
from ...transforms.derivatives import jvp, vjp
from ...transforms.vmap import vmap
from ...util.records import dataclass
from .colouring import Reading
from .remembered import Dependence, dependence_of

Leaves = Sequence[Any]
Function = Callable[..., Sequence[Any]]


@final
@dataclass(frozen=True, eq=False)
class Products:
    """The program of products of a matrix, or of its transpose, with vectors.

    Args:
        program: the point, then a vector → the product, all of them as leaves.
        point: where the derivative is taken.
        transposed: whether it is Jᵀ that is multiplied.
        dependence: which elements of a product may depend on which of the vector.
    """

    program: Jaxpr
    point: Leaves
    transposed: bool
    dependence: Dependence

    @classmethod
    def of(cls, program: Jaxpr, point: Leaves, *, transposed: bool) -> Products:
        """With what the program shows of dependence."""
        active = [i >= len(point) for i in range(len(program.invars))]
        return cls(program, point, transposed, dependence_of(program, active))

    @property
    def vectors(self) -> Sequence[ShapedArray]:
        """Avals of the leaves of a vector."""
        return self.program.in_avals[len(self.point) :]

    @property
    def results(self) -> Sequence[ShapedArray]:
        """Avals of the leaves of a product."""
        return self.program.out_avals

    @property
    def rows_and_columns(self) -> tuple[Sequence[ShapedArray], Sequence[ShapedArray]]:
        """Avals of what the rows of J belong to, and of what its columns belong to."""
        ends = self.results, self.vectors
        return (ends[1], ends[0]) if self.transposed else ends

    def with_vector(self, vector: Leaves) -> list[Any]:
        """One product."""
        return apply_jaxpr(self.program, *self.point, *vector)

    def of_colours(self, reading: Reading) -> list[Any]:
        """The products with the sums of the unit vectors of each colour: one row per colour."""
        seeds, start = [], 0
        for aval in self.vectors:
            colours = reading.colours[start : start + aval.size].reshape(aval.shape)
            numbers = np.arange(reading.num_colours).reshape((-1,) + (1,) * aval.ndim)
            chosen = jnp.equal(jnp.asarray(colours), jnp.asarray(numbers))
            seeds.append(convert(chosen, aval.dtype, aval.weak_type))
            start += aval.size
        outs = vmap(lambda *vector: self.with_vector(vector))(*seeds)
        return [jnp.reshape(x, (reading.num_colours, -1)) for x in outs]


def forward_products(function: Function, point: Leaves) -> Products:
    """J ẋ, for a function of leaves."""
    avals = [aval_of(x) for x in point]

    def push(*operands: Operand) -> Sequence[Any]:
        primals, tangents = operands[: len(avals)], operands[len(avals) :]
        _, out = jvp(lambda *xs: tuple(function(*xs)), primals, tangents)
        return list(out)

    program = stage_open(push, [*avals, *map(_tangent, avals)])
    return Products.of(program, point, transposed=False)


def reverse_products(function: Function, point: Leaves, results: Sequence[Any]) -> Products:
    """Jᵀ ȳ, for a function of leaves with results of these avals."""
    avals = [aval_of(x) for x in point]

    def pull(*operands: Operand) -> Sequence[Any]:
        primals, cotangents = operands[: len(avals)], operands[len(avals) :]
        _, pullback = vjp(lambda *xs: tuple(function(*xs)), *primals)
        return list(pullback(tuple(cotangents)))

    program = stage_open(pull, [*avals, *map(_tangent, results)])
    return Products.of(program, point, transposed=True)


def _tangent(aval: ShapedArray) -> ShapedArray:
    return aval.to_tangent_aval()


def primitives_in(jaxpr: Jaxpr) -> set[Any]:
    """All operations that a program applies, those of its inner programs included."""
    found = {eqn.primitive for eqn in jaxpr.eqns}
    for eqn in jaxpr.eqns:
        for inner in jaxprs_in_params(eqn.params):
            found |= primitives_in(inner)
    return found
