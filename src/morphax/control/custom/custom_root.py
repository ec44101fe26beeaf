"""`custom_root`: find x with f(x) = 0 by a function of the user, differentiate implicitly.

If f(x; a) = 0 holds along x(a) then  (∂f/∂x) ẋ = −(∂f/∂a) ȧ: a linear system at the solution, so
derivatives do not pass through the solver.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from ... import tree
from ...core import Jaxpr, Operand, Zero, apply_jaxpr, aval_of, frames_hidden
from ...lax.elementwise.arithmetic import neg
from ...transforms.derivative_maps import tangent_output
from ...transforms.derivatives import jvp, linearize
from ...transforms.flattening import check_callable, check_values
from ..closing import common_captures
from .custom_jvp import custom_jvp
from .vector_functions import staged_on_vectors


@frames_hidden
def custom_root(
    f: Callable[[Any], Any],
    initial_guess: Any,
    solve: Callable[[Callable[[Any], Any], Any], Any],
    tangent_solve: Callable[[Callable[[Any], Any], Any], Any],
    has_aux: bool = False,
) -> Any:
    """Find x with f(x) = 0 by a function of yours; derivatives are those of the implicit function.

    Args:
        f: function of arrays or trees whose result has the structure and shapes of its argument.
        initial_guess: where the solver starts; the derivative with respect to it is zero.
        solve: (f, initial_guess) → x.
        tangent_solve: (g, y) → solution u of g(u) = y, for linear g; itself linear in y.
        has_aux: whether `solve` returns a pair of x and auxiliary data.

    Returns:
        x, or the pair of x and auxiliary data, which has no derivative.

    Raises:
        TypeError: a function returns another structure than that of `initial_guess`.
        ValueError: a function returns other shapes.

    Example:
        >>> import morphax as jax
        >>> def newton(f, x):
        ...     return jax.lax.fori_loop(0, 20, lambda _, x: x - f(x) / jax.grad(f)(x), x)
        >>> def square_root(a):
        ...     return jax.lax.custom_root(
        ...         lambda x: x * x - a, 1.0, newton, lambda g, y: y / g(1.0)
        ...     )
        >>> jax.grad(square_root)(4.0)
        Array(0.25, dtype=float32, weak_type=True)
    """
    for given in (f, solve, tangent_solve):
        check_callable("lax.custom_root", given)
    leaves, structure = tree.flatten(initial_guess)
    check_values("lax.custom_root", lambda: ["initial_guess"] * len(leaves), leaves)
    avals = [aval_of(x) for x in leaves]
    count = len(leaves)
    staged = functools.partial(staged_on_vectors, "custom_root")
    program, captures, _ = staged("f", f, structure, avals)

    def function(x: Any) -> Any:
        return structure.unflatten(apply_jaxpr(program, *captures, *tree.leaves(x)))

    def linearized_and_solved(x: Any, y: Any) -> Any:
        return tangent_solve(linearize(function, x)[1], y)

    solver, solver_captures, flat = staged(
        "solve", lambda x: solve(function, x), structure, avals, has_aux=has_aux
    )
    tangents = [a.to_tangent_aval() for a in avals]
    implicit, implicit_captures, _ = staged(
        "tangent_solve", linearized_and_solved, structure, [*avals, *tangents]
    )
    consts, (program, solver, implicit) = common_captures(
        [program, solver, implicit], [captures, solver_captures, implicit_captures]
    )
    outs = _root(program, solver, implicit, len(consts), count)(*consts, *leaves)
    x = structure.unflatten(outs[:count])
    return (x, tree.unflatten(flat.aux, outs[count:])) if has_aux else x


def _root(program: Jaxpr, solver: Jaxpr, implicit: Jaxpr, num_consts: int, count: int) -> Any:
    """The solution as a function of constants and guess, with its derivative."""

    @custom_jvp
    def root(*operands: Operand) -> list[Any]:
        return apply_jaxpr(solver, *operands)

    def rule(
        primals: Sequence[Operand], tangents: Sequence[Operand]
    ) -> tuple[list[Any], list[Any]]:
        consts = primals[:num_consts]
        outs = root(*primals)
        x, aux = outs[:count], outs[count:]
        given = tuple([tangent_output(t) for t in tangents[:num_consts]])
        _, pushed = jvp(lambda *c: apply_jaxpr(program, *c, *x), consts, given)
        moved = apply_jaxpr(implicit, *consts, *x, *pushed)
        return outs, [*map(neg, moved), *map(Zero.from_primal_value, aux)]

    root.defjvp(rule, symbolic_zeros=True)
    return root
