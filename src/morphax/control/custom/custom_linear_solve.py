"""`custom_linear_solve`: solve A x = b by a function of the user, differentiate by linear algebra.

From A x = b follow  A ẋ = ḃ − Ȧ x  (forward mode)  and  Aᵀ b̄ = x̄  (reverse mode), so derivatives
are solutions of systems with the same matrix or its transpose, whatever the solver does.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, final

from ... import tree
from ...core import (
    BatchAxes,
    Jaxpr,
    Operand,
    Param,
    Zero,
    apply_jaxpr,
    aval_of,
    frames_hidden,
    is_undefined_primal,
    is_zero,
)
from ...lax.elementwise.arithmetic import sub
from ...lax.ground.linear_structure import instantiate
from ...transforms.flattening import FlatFunction, check_callable, check_values
from ...transforms.jvp import jvp_jaxpr
from ...transforms.transposition import transpose_jaxpr
from ...util.messages import message
from ..closing import common_captures
from ..program_call import ProgramCall, linear_in_front
from .vector_functions import staged_on_vectors


class SolvePrograms(NamedTuple):
    """A and Aᵀ applied, A⁻¹ and A⁻ᵀ applied; each takes the constants, then a vector.

    `transpose_solve` is absent where the user gave none; the solvers may return further results.
    """

    matvec: Jaxpr
    vecmat: Jaxpr
    solve: Jaxpr
    transpose_solve: Jaxpr | None

    def transposed(self) -> SolvePrograms:
        """The same of the transpose of A."""
        if self.transpose_solve is None:
            raise TypeError(
                message(
                    "transpose (reverse-mode derivative) of lax.custom_linear_solve",
                    given="a call without transpose_solve",
                    expected="a solver of the transposed system",
                    fix="Pass transpose_solve, or symmetric=True if the matrix is symmetric.",
                )
            )
        return SolvePrograms(self.vecmat, self.matvec, self.transpose_solve, self.solve)


@final
class LinearSolve(ProgramCall):
    """Solve A x = b.

    Params:
        matvec, vecmat, solve, transpose_solve: see `SolvePrograms`.
        num_consts: leading operands, on which A depends; the others are b.
    """

    name = "custom_linear_solve"
    program = "solve"

    def printed_params(self, params: Mapping[str, Any]) -> dict[str, Any]:
        return {n: params[n] for n in SolvePrograms._fields if params[n] is not None}

    def jvp(
        self,
        primals: Sequence[Operand],
        tangents: Sequence[Operand],
        *,
        num_consts: int,
        **programs: Param,
    ) -> tuple[list[Any], list[Any]]:
        consts, given = primals[:num_consts], tangents[:num_consts]
        outs = self.bind(*primals, num_consts=num_consts, **programs)
        x, aux = outs[: len(primals) - num_consts], outs[len(primals) - num_consts :]
        right = tangents[num_consts:]
        active = tuple([not is_zero(t) for t in given])
        if any(active):
            everything = (True,) * len(x)
            mask = active + (False,) * len(x)
            fragment = jvp_jaxpr(programs["matvec"], mask, everything).jaxpr
            pushed = apply_jaxpr(fragment, *consts, *x, *[t for t in given if not is_zero(t)])
            right = list(map(sub, map(instantiate, right), pushed[len(x) :]))
        elif all(map(is_zero, right)):
            return outs, [Zero.from_primal_value(y) for y in outs]
        moved = self.bind(*consts, *map(instantiate, right), num_consts=num_consts, **programs)
        return outs, [*moved[: len(x)], *map(Zero.from_primal_value, aux)]

    def transpose(
        self, cts: Sequence[Operand], *operands: Operand, num_consts: int, **programs: Param
    ) -> list[Any]:
        consts, count = operands[:num_consts], len(operands) - num_consts
        assert not any(map(is_undefined_primal, consts)), "the solution is linear in b alone"
        other = SolvePrograms(**programs).transposed()._asdict()
        given = map(instantiate, cts[:count])
        results = self.bind(*consts, *given, num_consts=num_consts, **other)
        return [None] * num_consts + results[:count]

    def batch(
        self,
        axes: BatchAxes,
        operands: Sequence[Operand],
        dims: tuple[int | None, ...],
        **params: Param,
    ) -> tuple[list[Any], Sequence[int]]:
        return linear_in_front(self, axes, operands, dims, params, params["num_consts"])


linear_solve_p = LinearSolve()


@frames_hidden
def custom_linear_solve(
    matvec: Callable[[Any], Any],
    b: Any,
    solve: Callable[..., Any],
    transpose_solve: Callable[..., Any] | None = None,
    symmetric: bool = False,
    has_aux: bool = False,
) -> Any:
    """Solve A x = b by a function of yours; derivatives are solutions of linear systems too.

    Args:
        matvec: linear function x ↦ A x.
        b: the right-hand side, arrays or a tree; x has its structure and shapes.
        solve: (matvec, b) → x.
        transpose_solve: (x ↦ Aᵀ x, b) → solution of the transposed system; needed in reverse mode.
        symmetric: whether A = Aᵀ, so that `solve` serves for the transposed system too.
        has_aux: whether the solvers return pairs of solution and auxiliary data.

    Returns:
        x, or the pair of x and auxiliary data, which has no derivative.

    Raises:
        TypeError: a function returns another structure than that of `b`, or reverse mode meets a
            call without `transpose_solve`.
        ValueError: a function returns other shapes.

    Example:
        >>> import morphax as jax
        >>> import morphax.numpy as jnp
        >>> def halves(b):
        ...     return jax.lax.custom_linear_solve(
        ...         lambda x: 2.0 * x, b, lambda matvec, b: b / 2.0, symmetric=True
        ...     )
        >>> jax.grad(lambda b: halves(b).sum())(jnp.ones(2))
        Array([0.5, 0.5], dtype=float32)
    """
    for function in (matvec, solve, *([] if transpose_solve is None else [transpose_solve])):
        check_callable("lax.custom_linear_solve", function)
    if transpose_solve is None and symmetric:
        transpose_solve = solve
    leaves, structure = tree.flatten(b)
    check_values("lax.custom_linear_solve", lambda: ["b"] * len(leaves), leaves)
    avals = [aval_of(x) for x in leaves]

    def staged(
        name: str, function: Callable[..., Any], has_aux: bool = False
    ) -> tuple[Jaxpr, list[Any], FlatFunction]:
        operation = "custom_linear_solve"
        return staged_on_vectors(operation, name, function, structure, avals, has_aux)

    product, product_captures, _ = staged("matvec", matvec)
    vecmat = product if symmetric else _transposed(product, len(product_captures))

    def solver(
        name: str, function: Callable[..., Any], product: Jaxpr
    ) -> tuple[Jaxpr, list[Any], FlatFunction]:
        def apply(x: Any) -> Any:
            return structure.unflatten(apply_jaxpr(product, *product_captures, *tree.leaves(x)))

        return staged(name, lambda b: function(apply, b), has_aux)

    solved, solve_captures, flat = solver("solve", solve, product)
    programs, captures = [product, vecmat, solved], [product_captures] * 2 + [solve_captures]
    if transpose_solve is not None:
        other, other_captures, _ = solver("transpose_solve", transpose_solve, vecmat)
        programs, captures = [*programs, other], [*captures, other_captures]
    consts, closed = common_captures(programs, captures)
    named = SolvePrograms(*closed, *[None] * (4 - len(closed)))._asdict()
    outs = linear_solve_p.bind(*consts, *leaves, num_consts=len(consts), **named)
    x = structure.unflatten(outs[: len(leaves)])
    return (x, tree.unflatten(flat.aux, outs[len(leaves) :])) if has_aux else x


def _transposed(matvec: Jaxpr, num_consts: int) -> Jaxpr:
    count = len(matvec.invars) - num_consts
    linear = (False,) * num_consts + (True,) * count
    return transpose_jaxpr(matvec, linear, (True,) * len(matvec.outvars), True).jaxpr
