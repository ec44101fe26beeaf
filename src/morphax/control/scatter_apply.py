"""Scatter with a function of the user: elements at many places are replaced by f of themselves."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, final

import numpy as np

from ..core import (
    Jaxpr,
    ShapedArray,
    Tracer,
    apply_jaxpr,
    aval_of,
    close,
    not_differentiable,
    not_linear,
    stage,
    stage_closed,
)
from ..engines.reference.kernel_program import kernel_program
from ..engines.reference.kernels import KernelCall
from ..lax.elementwise.selection import select_n
from ..lax.ground.axes import check_callable
from ..lax.ground.dimension_numbers import ScatterDimensionNumbers
from ..lax.ground.families import Elementwise
from ..lax.ground.linear_structure import zeros
from ..lax.indexing.scatter_rules import Scattering, elements, scatter_params, scattered
from ..lax.reduction.scalar_programs import on_elements
from ..util.memo import memoize
from ..util.messages import message
from .remembered import remembered

# Rounds: to make a program of kernels takes as long as some of them.
_OFTEN = 16


@final
class ScatterApply(Scattering):
    """Replace elements by what a program of one element makes of them, each time they are named."""

    name = "scatter"

    jvp = not_differentiable("gather the elements, apply the function, and scatter them instead")
    transpose = not_linear("the function need not be linear")

    def evaluate(
        self,
        x: Any,
        indices: Any,
        updates: Any,
        *,
        dimension_numbers: Any,
        mode: Any,
        update_jaxpr: Any,
        **_: Any,
    ) -> Any:
        def write(target: Any, rows: Any, updates: Any) -> None:
            places = elements(target, rows)
            if not places.size:
                return
            where, counts = np.unique(places, return_counts=True)
            flat = target.reshape(-1)
            flat[where] = _applied(update_jaxpr, flat[where], counts)

        return scattered(x, (indices, dimension_numbers, mode), updates, write, None)


def _applied(jaxpr: Jaxpr, values: Any, counts: Any) -> Any:
    """What comes of elements to which the program is applied so many times each."""
    if not all([isinstance(eqn.primitive, Elementwise) for eqn in jaxpr.eqns]):
        singly = [_repeated(jaxpr, *pair) for pair in zip(values, counts, strict=True)]
        return np.array(singly, values.dtype)
    most = int(counts.max())
    kernels = _round(jaxpr, ShapedArray(values.shape, values.dtype)) if most >= _OFTEN else None
    for number in range(most):
        if kernels is not None:
            values = kernels.function(counts <= number, values)
        else:
            (following,) = apply_jaxpr(jaxpr, values, values)
            values = np.where(counts <= number, values, _on_host(following))
    return values


@memoize
def _round(jaxpr: Jaxpr, aval: ShapedArray) -> KernelCall | None:
    """The kernels of one more application to the elements that are not done."""

    def once(is_done: Any, values: Any) -> list[Any]:
        return [select_n(is_done, *on_elements(jaxpr, [values, values]), values)]

    return kernel_program(stage_closed(once, [aval.update(dtype=np.dtype(bool)), aval]))


def _repeated(jaxpr: Jaxpr, value: Any, count: int) -> Any:
    for _ in range(count):
        value = _on_host(apply_jaxpr(jaxpr, value, value)[0])
    return value


def _on_host(x: Any) -> Any:
    return x.to_host() if hasattr(x, "to_host") else x


scatter_apply_p = ScatterApply()


def scatter_apply(
    operand: Any,
    scatter_indices: Any,
    func: Callable[[Any], Any],
    dimension_numbers: ScatterDimensionNumbers,
    *,
    update_shape: Sequence[int] = (),
    indices_are_sorted: bool = False,
    unique_indices: bool = False,
    mode: Any = None,
) -> Any:
    """`operand` with `func` applied to its elements at many places; see `scatter`.

    Args:
        operand: array of rank n.
        scatter_indices: integers (..., k), as for `scatter`.
        func: takes and returns a scalar; applied to an element each time that it is named.
        dimension_numbers: which axis is what.
        update_shape: the shape that updates would have.
        indices_are_sorted: as for `scatter`.
        unique_indices: as for `scatter`.
        mode: as for `scatter`.

    Raises:
        TypeError: if `func` refers to traced values, or its result has another dtype.

    Example:
        >>> import morphax as jax, morphax.numpy as jnp
        >>> elements = jax.lax.ScatterDimensionNumbers(
        ...     update_window_dims=(), inserted_window_dims=(0,), scatter_dims_to_operand_dims=(0,)
        ... )
        >>> x, where = jnp.array([1.0, 2.0, 3.0]), jnp.array([[0], [2], [2]])
        >>> jax.lax.scatter_apply(x, where, lambda v: 10 * v, elements, update_shape=(3,))
        Array([ 10.,   2., 300.], dtype=float32)
    """
    scalar = ShapedArray((), aval_of(operand).dtype)
    check_callable("lax.scatter_apply, argument func", func)
    program = _program(func, scalar)
    params = scatter_params(
        None, operand, dimension_numbers, indices_are_sorted, unique_indices, mode
    )
    updates = zeros(scalar.update(shape=tuple(update_shape)))
    return scatter_apply_p.bind(
        operand, scatter_indices, updates, **(params | {"update_jaxpr": program})
    )


def _program(func: Callable[[Any], Any], scalar: ShapedArray) -> Jaxpr:
    """The program of an element and its update, which is not used."""

    def trace() -> tuple[Jaxpr, list[Tracer]]:
        jaxpr, consts = stage(lambda old, new: [func(old)], [scalar, scalar])
        (out,) = jaxpr.out_avals
        if out.shape or out.dtype != scalar.dtype or any([isinstance(c, Tracer) for c in consts]):
            raise TypeError(
                message(
                    "lax.scatter_apply, argument func",
                    given=f"a function from {scalar.str_short()} to {out.str_short()}",
                    expected=f"a function to {scalar.str_short()} that refers to no traced value",
                    fix="Convert its result, and pass traced values through gather and scatter.",
                )
            )
        return close(jaxpr, consts), []

    return remembered((func,), ("lax.scatter_apply", scalar), trace)[0]
