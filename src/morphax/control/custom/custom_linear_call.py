"""`linear_call`: a linear function whose transpose the user defines."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, final

from ... import tree
from ...core import (
    BatchAxes,
    Jaxpr,
    Operand,
    Param,
    Zero,
    apply_jaxpr,
    aval_of,
    call_program,
    is_undefined_primal,
    is_zero,
    stage_closed,
    stage_discharged,
)
from ...lax.ground.linear_structure import instantiate, zeros
from ...transforms.flattening import FlatFunction, argument_names, check_values, debug_info
from ...transforms.jvp import jvp_jaxpr
from ...transforms.linearize import Linearization
from ...transforms.staged_linearization import linearize_jaxpr
from ...util.messages import message
from ..calls import split_tangents
from ..closing import common_captures
from ..program_call import ProgramCall, linear_in_front
from .vector_functions import check_like


@final
class LinearCall(ProgramCall):
    """Apply `callee`, which is linear in all but the first operands.

    Params:
        callee: residuals, linear operands → results.
        callee_transpose: residuals, cotangents of the results → those of the linear operands.
        num_res: how many operands are residuals.
    """

    name = "linear_call"
    program = "callee"

    def printed_params(self, params: Mapping[str, Any]) -> dict[str, Any]:
        return {name: params[name] for name in ("callee", "num_res")}

    def jvp(
        self, primals: Sequence[Operand], tangents: Sequence[Operand], **params: Param
    ) -> tuple[list[Any], list[Any]]:
        num_res, callee = params["num_res"], params["callee"]
        if all([is_zero(t) for t in tangents[:num_res]]):
            pushed = map(instantiate, tangents[num_res:])
            return self.bind(*primals, **params), self.bind(*primals[:num_res], *pushed, **params)
        fragment = jvp_jaxpr(callee, tuple([not is_zero(t) for t in tangents]))
        results = apply_jaxpr(fragment.jaxpr, *primals, *[t for t in tangents if not is_zero(t)])
        return split_tangents(results, fragment.out_active, callee.out_avals)

    def linearize(
        self, avals: Sequence[Any], active: tuple[bool, ...], params: dict[str, Param]
    ) -> Linearization:
        """The linear program is the call; a derivative by residuals goes through the function."""
        num_res, callee = params["num_res"], params["callee"]
        if any(active[:num_res]):
            return linearize_jaxpr(callee, active)
        forward = call_program(self, avals, params)
        forward = forward.replace(outvars=(*forward.outvars, *forward.invars[:num_res]))
        everything = [a.to_tangent_aval() for a in avals[num_res:]]
        given = [a for a, on in zip(everything, active[num_res:], strict=True) if on]

        def linear(*values: Operand) -> list[Any]:
            pushed = iter(values[num_res:])
            full = [
                next(pushed) if on else zeros(a)
                for a, on in zip(everything, active[num_res:], strict=True)
            ]
            return self.bind(*values[:num_res], *full, **params)

        jaxpr = stage_closed(linear, [*avals[:num_res], *given])
        return Linearization(forward, jaxpr, (True,) * len(callee.outvars), num_res)

    def transpose(
        self,
        cts: Sequence[Operand],
        *operands: Operand,
        callee: Jaxpr,
        callee_transpose: Jaxpr,
        num_res: int,
    ) -> list[Any]:
        residuals = operands[:num_res]
        if any(map(is_undefined_primal, residuals)):
            raise TypeError(
                message(
                    "transpose of linear_call",
                    given="a program that is linear in a residual argument",
                    expected="residual arguments that are known",
                    fix="Pass the argument among linear_args.",
                )
            )
        results = self.bind(
            *residuals,
            *map(instantiate, cts),
            callee=callee_transpose,
            callee_transpose=callee,
            num_res=num_res,
        )
        return [None] * num_res + results

    def batch(
        self,
        axes: BatchAxes,
        operands: Sequence[Operand],
        dims: tuple[int | None, ...],
        **params: Param,
    ) -> tuple[list[Any], Sequence[int]]:
        return linear_in_front(self, axes, operands, dims, params, params["num_res"])


linear_call_p = LinearCall()


def linear_call(
    fun: Callable[[Any, Any], Any],
    fun_transpose: Callable[[Any, Any], Any],
    residual_args: Any,
    linear_args: Any,
) -> Any:
    """Call a function that is linear in its second argument, and define its transpose.

    Args:
        fun: (residual_args, linear_args) → result, linear in the latter.
        fun_transpose: (residual_args, cotangent of the result) → cotangent of linear_args.
        residual_args: arrays or trees; a derivative with respect to them is that of `fun`.
        linear_args: arrays or trees.

    Raises:
        TypeError: `fun_transpose` returns another structure or dtypes than those of linear_args.
        ValueError: it returns other shapes.

    Example:
        >>> import morphax as jax
        >>> from morphax.custom_derivatives import linear_call
        >>> def halve(x):
        ...     return linear_call(lambda r, x: x / r, lambda r, ct: ct / r, 2.0, x)
        >>> jax.grad(halve)(3.0)
        Array(0.5, dtype=float32, weak_type=True)
    """
    residuals, (linear, lin_tree) = tree.leaves(residual_args), tree.flatten(linear_args)
    callee, flat = _staged("linear_call, fun", fun, residual_args, linear_args)
    example = flat.out_tree.unflatten([Zero(a.to_tangent_aval()) for a in callee[0].out_avals])
    transposed, flat_transpose = _staged(
        "linear_call, fun_transpose", fun_transpose, residual_args, example
    )
    check_like(
        "linear_call, result of fun_transpose",
        (flat_transpose.out_tree, transposed[0].out_avals),
        (lin_tree, [aval_of(x).to_tangent_aval() for x in linear]),
    )
    captured, (program, transpose) = common_captures(
        [callee[0], transposed[0]], [callee[1], transposed[1]]
    )
    outs = linear_call_p.bind(
        *captured,
        *residuals,
        *linear,
        callee=program,
        callee_transpose=transpose,
        num_res=len(captured) + len(residuals),
    )
    return flat.out_tree.unflatten(outs)


def _staged(
    where: str, fun: Callable[..., Any], residual_args: Any, linear_args: Any
) -> tuple[tuple[Jaxpr, list[Any]], FlatFunction]:
    leaves, in_tree = tree.flatten(((residual_args, linear_args), {}))
    check_values(where, lambda: argument_names(fun, in_tree), leaves)
    flat = FlatFunction(fun, in_tree, where)
    avals = [aval_of(x) for x in leaves]
    return stage_discharged(flat, avals, debug_info(where, fun, in_tree)), flat
