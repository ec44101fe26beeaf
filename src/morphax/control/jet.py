"""`jet`: derivatives of higher order along a curve, by Taylor series instead of nested `jvp`.

The function is staged, and its program is evaluated on truncated Taylor series (`jet_programs`,
`transforms.taylor`).  Nesting `jvp` n times costs O(2^n) operations; the n coefficients of a series
cost O(n²) for most functions, O(n³) where a rule does not close.  A function with a `custom_jvp`
rule is differentiated by it; a `custom_vjp` rule says nothing about forward mode, so the function
itself is differentiated.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .. import dtypes, tree
from ..core import (
    DType,
    Operand,
    Param,
    Primitive,
    aval_of,
    carries_aval,
    constants_as_arguments,
    current_trace,
    frames_hidden,
    is_value,
    stage,
)
from ..lax.elementwise.arithmetic import add, div, mul
from ..lax.elementwise.convert import convert_element_type_p
from ..lax.elementwise.selection import scalar_like
from ..lax.ground.linear_structure import broadcast_to, instantiate, zeros
from ..transforms.flattening import FlatFunction, check_callable, debug_info
from ..transforms.taylor import Given, Series
from ..util.messages import described, message
from .jet_programs import jet_rules, run


@frames_hidden
def jet(
    fun: Callable[..., Any],
    primals: Sequence[Operand],
    series: Sequence[Sequence[Any]],
    factorial_scaled: bool = True,
    **_: Any,
) -> tuple[Any, Any]:
    """The derivatives of ``fun(x(t), …)`` at t = 0, up to the order to which those of x are given.

        x(t) = x0 + Σ x_k t^k / k!    ↦    f(x(t)) = y0 + Σ y_k t^k / k! + O(t^(n+1))

    Args:
        fun: function of arrays.
        primals: x0 for each argument.
        series: ``[x_1, …, x_n]`` for each argument; numbers stand for arrays of them.
        factorial_scaled: whether x_k and y_k are derivatives, as above; if not, they are the
            coefficients of t^k.
        **_: accepted for compatibility.

    Returns:
        y0, and a tree of the same structure with lists ``[y_1, …, y_n]``.

    Raises:
        ValueError: `primals` and `series` do not fit, or an argument is a tree.
        TypeError: a primal is no real or complex number.

    Example:
        >>> import morphax.numpy as jnp
        >>> from morphax.experimental.jet import jet
        >>> y0, (y1, y2, y3) = jet(jnp.exp, (0.0,), ([1.0, 0.0, 0.0],))
        >>> float(y1), float(y2), float(y3)
        (1.0, 1.0, 1.0)
    """
    check_callable("jet", fun)
    order = _check_arguments(primals, series)
    scale = [math.factorial(k) if factorial_scaled else 1 for k in range(order + 1)]
    operands = [
        Given([x, *[_divided(t, n) for t, n in zip(terms, scale[1:], strict=True)]])
        for x, terms in map(_conform, primals, series)
    ]
    in_tree = tree.structure((tuple(primals), {}))
    flat = FlatFunction(fun, in_tree, "jet")
    jaxpr, consts = stage(flat, [x.aval for x in operands], debug_info("jet", fun, in_tree))
    captured: list[Series] = [Given([x]) for x in consts]
    outs = run(constants_as_arguments(jaxpr), [*captured, *operands], order)
    values = [_seen(x.coefficient(0)) for x in outs]
    terms = [
        [_seen(_multiplied(instantiate(x.coefficient(k)), scale[k])) for k in range(1, order + 1)]
        for x in outs
    ]
    return flat.out_tree.unflatten(values), flat.out_tree.unflatten(terms)


def _check_arguments(primals: Sequence[Operand], series: Sequence[Sequence[Any]]) -> int:
    """The order, if primals and series fit."""
    for position, x in enumerate(primals):
        if not is_value(x):
            raise ValueError(
                message(
                    f"jet, primals[{position}]",
                    given=described(x),
                    expected="an array",
                    fix="Write a function of arrays that builds the tree itself.",
                )
            )
    orders = {len(terms) for terms in series}
    if len(primals) == len(series) and len(orders) == 1:
        return orders.pop()
    raise ValueError(
        message(
            "jet, argument series",
            given=f"{[len(terms) for terms in series]} terms for {len(primals)} primals",
            expected="the same number of terms for each primal",
            fix="Fill up with zeros: jet(f, (x, y), ([1.0, 0.0], [0.0, 0.0])).",
        )
    )


def _conform(primal: Operand, terms: Sequence[Any]) -> tuple[Any, list[Any]]:
    """A primal and its terms in one inexact dtype and the shape of the primal."""
    dtype, weak_type = dtypes.result_type(primal, *terms), aval_of(primal).weak_type
    if not dtypes.issubdtype(dtype, np.inexact):
        dtype = dtypes.canonicalize(np.dtype(np.float64))
    primal = _converted(primal, dtype, weak_type)
    shape = aval_of(primal).shape
    return primal, [broadcast_to(_converted(t, dtype, weak_type), shape) for t in terms]


def _converted(x: Operand, dtype: DType, weak_type: bool) -> Any:
    aval = aval_of(x)
    if aval.dtype == dtype and aval.weak_type == weak_type:
        return x
    return convert_element_type_p.bind(x, new_dtype=dtype, weak_type=weak_type, sharding=None)


def _seen(x: Operand) -> Any:
    """A result as user code may see it."""
    return x if carries_aval(x) else current_trace().constant(x)


def _divided(x: Operand, n: int) -> Any:
    return x if n == 1 else div(x, scalar_like(n, x))


def _multiplied(x: Operand, n: int) -> Any:
    return x if n == 1 else mul(x, scalar_like(n, x))


def deflinear(prim: Primitive) -> None:
    """Declare that a primitive is linear in all its operands together: y_k = f(x_k).

    Args:
        prim: a primitive that is not of morphax; those of morphax follow their jvp rules.

    Example:
        >>> import morphax.numpy as jnp
        >>> from morphax.experimental.jet import deflinear, jet
        >>> from morphax.extend.core import Primitive
        >>> double_p = Primitive("double")
        >>> _ = double_p.def_impl(lambda x: 2 * x), double_p.def_abstract_eval(lambda x: x)
        >>> deflinear(double_p)
        >>> [float(term) for term in jet(double_p.bind, (0.0,), ([1.0, 0.0, 0.0],))[1]]
        [2.0, 0.0, 0.0]
    """

    def rule(primals: Sequence[Operand], series: Sequence[Sequence[Any]], **params: Param) -> Any:
        outs = [prim.bind(*operands, **params) for operands in zip(*series, strict=True)]
        value = prim.bind(*primals, **params)
        return value, [list(t) for t in zip(*outs, strict=True)] if prim.multiple_results else outs

    jet_rules[prim] = rule


def defzero(prim: Primitive) -> None:
    """Declare that a primitive with one result is piecewise constant: y_k = 0.

    Args:
        prim: a primitive that is not of morphax.

    Example:
        >>> import morphax.numpy as jnp
        >>> from morphax.experimental.jet import defzero, jet
        >>> from morphax.extend.core import Primitive
        >>> step_p = Primitive("step")
        >>> _ = step_p.def_impl(jnp.sign), step_p.def_abstract_eval(lambda x: x)
        >>> defzero(step_p)
        >>> [float(term) for term in jet(step_p.bind, (0.0,), ([1.0, 0.0, 0.0],))[1]]
        [0.0, 0.0, 0.0]
    """

    def rule(primals: Sequence[Operand], series: Sequence[Sequence[Any]], **params: Param) -> Any:
        value = prim.bind(*primals, **params)
        zero = zeros(aval_of(value).to_tangent_aval())
        return value, [zero for _ in series[0]]

    jet_rules[prim] = rule


def def_comp(prim: Primitive, comp: Callable[..., Any], **kwargs: Any) -> None:
    """Declare that a primitive computes what a function of its operands does.

    Args:
        prim: a primitive that is not of morphax.
        comp: the function.
        **kwargs: for `jet`.

    Example:
        >>> import morphax.numpy as jnp
        >>> from morphax.experimental.jet import def_comp, jet
        >>> from morphax.extend.core import Primitive
        >>> sine_p = Primitive("sine")
        >>> _ = sine_p.def_impl(jnp.sin), sine_p.def_abstract_eval(lambda x: x)
        >>> def_comp(sine_p, jnp.sin)
        >>> [float(term) for term in jet(sine_p.bind, (0.0,), ([1.0, 0.0, 0.0],))[1]]
        [1.0, 0.0, -1.0]
    """

    def rule(primals: Sequence[Operand], series: Sequence[Sequence[Any]], **params: Param) -> Any:
        return jet(comp, primals, series, factorial_scaled=False, **kwargs)

    jet_rules[prim] = rule


def def_deriv(prim: Primitive, deriv: Callable[[Any], Any]) -> None:
    """Declare the derivative of an elementwise primitive of one operand: y' = deriv(x) x'.

    The coefficients follow from k y_k = Σ_{j=1…k} j x_j d_{k-j}, where d are those of deriv(x(t)).

    Args:
        prim: a primitive that is not of morphax.
        deriv: its derivative, a function of its operand.

    Example:
        >>> import morphax.numpy as jnp
        >>> from morphax.experimental.jet import def_deriv, jet
        >>> from morphax.extend.core import Primitive
        >>> sine_p = Primitive("sine")
        >>> _ = sine_p.def_impl(jnp.sin), sine_p.def_abstract_eval(lambda x: x)
        >>> def_deriv(sine_p, jnp.cos)
        >>> [float(term) for term in jet(sine_p.bind, (0.0,), ([1.0, 0.0, 0.0],))[1]]
        [1.0, 0.0, -1.0]
    """

    def rule(primals: Sequence[Operand], series: Sequence[Sequence[Any]], **params: Param) -> Any:
        (terms,) = series
        value = prim.bind(*primals, **params)
        first, others = jet(deriv, primals, [terms[:-1]], factorial_scaled=False)
        slopes = [first, *others]
        speeds = [_multiplied(x, j) for j, x in enumerate(terms, start=1)]
        return value, [
            _divided(functools.reduce(add, map(mul, speeds[:k], reversed(slopes[:k]))), k)
            for k in range(1, len(terms) + 1)
        ]

    jet_rules[prim] = rule
