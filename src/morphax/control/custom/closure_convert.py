"""`closure_convert` and `custom_gradient`: functions whose captured tracers become arguments.

A rule of `custom_vjp` must not close over values that are being differentiated or staged: it runs
when their trace is over.  Here the function is staged for given argument types and the tracers that
it captured are returned, to be passed back when it is called.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ... import dtypes, tree
from ...core import Jaxpr, Operand, Tracer, aval_of, close_open, eval_jaxpr, frames_hidden, stage
from ...transforms.derivatives import shape_aval
from ...transforms.flattening import FlatFunction, check_callable, debug_info
from ...util.messages import described, message
from .custom_vjp import custom_vjp


@frames_hidden
def closure_convert(
    fun: Callable[..., Any], *example_args: Any
) -> tuple[Callable[..., Any], list[Any]]:
    """A function without hidden differentiable inputs, and the values it used to close over.

    Args:
        fun: function of arrays or trees.
        *example_args: arguments of the types that it will be called with.

    Returns:
        ``(converted, values)`` such that ``converted(*args, *values)`` is ``fun(*args)``.  `values`
        are the captured tracers of floating or complex dtype.

    Example:
        >>> import morphax as jax
        >>> def f(x):
        ...     converted, values = jax.closure_convert(lambda y: x * y, 1.0)
        ...     return converted(3.0, *values)
        >>> jax.grad(f)(2.0)
        Array(3., dtype=float32, weak_type=True)
    """
    check_callable("closure_convert", fun)
    jaxpr, in_tree, out_tree, values = _converted("closure_convert", fun, example_args, _is_inexact)

    def converted(*arguments: Any) -> Any:
        args = arguments[: len(arguments) - len(values)]
        leaves, given = tree.flatten((args, {}))
        if given != in_tree:
            raise TypeError(
                message(
                    "the function of closure_convert",
                    given=f"arguments of structure {given}",
                    expected=f"the structure of the example, {in_tree}",
                    fix="Call it with arguments like the example's, and the values after them.",
                )
            )
        return out_tree.unflatten(eval_jaxpr(jaxpr, jaxpr.consts, *arguments[len(args) :], *leaves))

    return converted, values


def custom_gradient(fun: Callable[..., Any]) -> Callable[..., Any]:
    """Define the pullback together with the function, which returns both.

    Args:
        fun: returns ``(result, pullback)``; the pullback takes the cotangent of the result and
            returns those of the arguments: a tuple, or one cotangent if there is one argument.

    Example:
        >>> import morphax as jax
        >>> @jax.custom_gradient
        ... def square(x):
        ...     return x**2, lambda ct: 10 * ct * x
        >>> square(3.0), jax.grad(square)(3.0)
        (9.0, Array(30., dtype=float32, weak_type=True))
    """
    check_callable("custom_gradient", fun)

    @functools.wraps(fun)
    def value(*args: Any) -> Any:
        return _pair(fun, args)[0]

    def forward(*args: Any) -> tuple[Any, Any]:
        result, pullback = _pair(fun, args)
        jaxpr, _, out_tree, captured = _converted(
            "custom_gradient", pullback, (result,), lambda x: isinstance(x, Tracer)
        )

        def pull(*operands: Operand) -> Any:
            *values, ct = operands
            cts = out_tree.unflatten(eval_jaxpr(jaxpr, jaxpr.consts, *values, *tree.leaves(ct)))
            return (cts,) if len(args) == 1 and not _is_single(cts) else cts

        return result, tree.Partial(pull, *captured)

    rule = custom_vjp(value)
    rule.defvjp(forward, lambda pull, ct: pull(ct))
    return rule


def _pair(fun: Callable[..., Any], args: tuple[Any, ...]) -> Any:
    result = fun(*args)
    if isinstance(result, (tuple, list)) and len(result) == 2 and callable(result[1]):
        return result
    raise TypeError(
        message(
            "custom_gradient, result of fun",
            given=described(result),
            expected="a pair (result, pullback)",
            fix="Return the result and the function from its cotangent to those of the arguments.",
        )
    )


def _is_single(cts: Any) -> bool:
    return isinstance(cts, (tuple, list)) and len(cts) == 1


def _is_inexact(x: Operand) -> bool:
    return isinstance(x, Tracer) and bool(dtypes.issubdtype(aval_of(x).dtype, np.inexact))


def _converted(
    where: str, fun: Callable[..., Any], args: Sequence[Any], is_hoisted: Callable[[Any], bool]
) -> tuple[Jaxpr, Any, Any, list[Any]]:
    """The program of `fun` with hoisted constants as first operands; structures; the constants."""
    leaves, in_tree = tree.flatten((tuple(args), {}))
    flat = FlatFunction(fun, in_tree, where)
    jaxpr, consts = stage(flat, [shape_aval(x) for x in leaves], debug_info(where, fun, in_tree))
    pairs = list(zip(jaxpr.constvars, consts, strict=True))
    kept = [pair for pair in pairs if not is_hoisted(pair[1])]
    hoisted = [pair for pair in pairs if is_hoisted(pair[1])]
    program = jaxpr.replace(
        constvars=tuple(v for v, _ in kept), invars=(*[v for v, _ in hoisted], *jaxpr.invars)
    )
    program = close_open(program, [x for _, x in kept])
    return program, in_tree, flat.out_tree, [x for _, x in hoisted]
