"""`jax.interpreters.ad`: rules of differentiation.

- A **jvp rule** takes primals, tangents and the parameters, and returns the result and its tangent
  (lists of them if the primitive has multiple results).  A tangent may be `Zero`, on both sides.
- A **transpose rule** takes the cotangent of the result (cotangents), the operands and the
  parameters; operands in which the operation is linear are `UndefinedPrimal`.  It returns one
  cotangent or `None` for each operand.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import Any

from .. import tree
from ..core import (
    Primitive,
    Transform,
    Zero,
    aval_of,
    current_name_stack,
    current_trace,
    is_undefined_primal,
    is_value,
    is_zero,
    new_trace,
    set_name_stack,
)
from ..core import UndefinedPrimal as UndefinedPrimal
from ..extend.core.rules import has_rule, set_rule
from ..lax.ground.families import sum_of_tangents
from ..lax.ground.linear_structure import add_any_p as add_jaxvals_p
from ..lax.ground.linear_structure import instantiate, zeros
from ..transforms.jvp import JVPTrace as JVPTrace
from ..transforms.jvp import JVPTracer as JVPTracer
from ..transforms.jvp import apply_rule
from ..transforms.linearize import PartialTrace
from .rule_table import RuleTable

__all__ = [
    "JVPTrace",
    "JVPTracer",
    "UndefinedPrimal",
    "Zero",
    "add_jaxvals",
    "add_jaxvals_p",
    "add_tangents",
    "defbilinear",
    "defjvp",
    "defjvp2",
    "deflinear",
    "deflinear2",
    "get_primitive_transpose",
    "instantiate_zeros",
    "is_undefined_primal",
    "jvp",
    "linearize",
    "primitive_jvps",
    "primitive_transposes",
    "zeros_like_aval",
]

JVPRule = Callable[..., tuple[Any, Any]]
TransposeRule = Callable[..., Sequence[Any]]


def _named_jvp(wanted: bool) -> AbstractContextManager[object]:
    names = current_name_stack()
    return set_name_stack((*names, Transform("jvp")) if wanted else names)


def _shown_jvp(primitive: Primitive) -> JVPRule:
    if not primitive.linear:
        return primitive.jvp

    def linear_jvp(primals: Sequence[Any], tangents: Sequence[Any], **params: Any) -> Any:
        outs, out_tangents = apply_rule(primitive, primals, tangents, params)
        return (outs, out_tangents) if primitive.multiple_results else (outs[0], out_tangents[0])

    return linear_jvp


primitive_jvps = RuleTable(
    "jvp",
    adopt=lambda rule: {"jvp": rule, "linear": False},
    show=_shown_jvp,
    has=lambda primitive: primitive.linear or has_rule(primitive, "jvp"),
)
primitive_transposes = RuleTable("transpose")


def get_primitive_transpose(p: Primitive) -> TransposeRule:
    """The transpose rule of a primitive; `NotImplementedError` if it has none."""
    if p not in primitive_transposes:
        raise NotImplementedError(f"the primitive {p} has no transpose rule")
    return primitive_transposes[p]


def defjvp(primitive: Primitive, *jvprules: Callable[..., Any] | None) -> None:
    """Set the jvp rule by one function per operand, `None` where the derivative is zero.

    Each takes the tangent of its operand, all operands and the parameters, and returns the tangent
    of the result that comes from it.
    """
    _set_jvp_by_operand(primitive, jvprules, lambda out, primals: primals)


def defjvp2(primitive: Primitive, *jvprules: Callable[..., Any] | None) -> None:
    """Like `defjvp`, but the functions take the result before the operands."""
    _set_jvp_by_operand(primitive, jvprules, lambda out, primals: (out, *primals))


def _set_jvp_by_operand(
    primitive: Primitive,
    rules: Sequence[Callable[..., Any] | None],
    seen: Callable[[Any, Sequence[Any]], Sequence[Any]],
) -> None:
    def jvp(primals: Sequence[Any], tangents: Sequence[Any], **params: Any) -> tuple[Any, Any]:
        out = primitive.bind(*primals, **params)
        terms = [
            rule(t, *seen(out, primals), **params)
            for rule, t in zip(rules, tangents, strict=True)
            if rule is not None and not is_zero(t)
        ]
        return out, sum_of_tangents([t for t in terms if not is_zero(t)], aval_of(out))

    primitive_jvps[primitive] = jvp


def deflinear(primitive: Primitive, transpose_rule: TransposeRule) -> None:
    """Declare a primitive linear in all its operands together.

    Args:
        primitive: the primitive; its derivative is itself.
        transpose_rule: cotangent(s) of the result(s), parameters → cotangents of the operands.
    """
    deflinear2(primitive, lambda ct, *operands, **params: transpose_rule(ct, **params))


def deflinear2(primitive: Primitive, transpose_rule: TransposeRule) -> None:
    """Like `deflinear`, but the rule takes the operands, `UndefinedPrimal`, after the cotangent."""
    set_rule(primitive, "linear", True)
    primitive_transposes[primitive] = transpose_rule


def defbilinear(
    prim: Primitive, lhs_rule: Callable[..., Any], rhs_rule: Callable[..., Any]
) -> None:
    """Declare a primitive of two operands linear in each.

    Args:
        prim: the primitive.
        lhs_rule: cotangent, left operand (`UndefinedPrimal`), right operand, parameters →
            cotangent of the left operand.
        rhs_rule: the same for the right operand, which then is the `UndefinedPrimal`.
    """

    def transpose(ct: Any, x: Any, y: Any, **params: Any) -> tuple[Any, Any]:
        if is_undefined_primal(x):
            return Zero(x.aval) if is_zero(ct) else lhs_rule(ct, x, y, **params), None
        return None, Zero(y.aval) if is_zero(ct) else rhs_rule(ct, x, y, **params)

    defjvp(
        prim,
        lambda t, x, y, **params: prim.bind(t, y, **params),
        lambda t, x, y, **params: prim.bind(x, t, **params),
    )
    primitive_transposes[prim] = transpose


def instantiate_zeros(tangent: Any) -> Any:
    """A tangent as a value: an array of zeros for `Zero`.

    Example:
        >>> import morphax as jax
        >>> from morphax.interpreters import ad
        >>> ad.instantiate_zeros(ad.Zero(jax.core.ShapedArray((2,), "float32")))
        Array([0., 0.], dtype=float32)
    """
    return instantiate(tangent)


def zeros_like_aval(aval: Any) -> Any:
    """Zeros of an aval.

    Example:
        >>> import morphax as jax
        >>> from morphax.interpreters import ad
        >>> ad.zeros_like_aval(jax.core.ShapedArray((2,), "int32"))
        Array([0, 0], dtype=int32)
    """
    return zeros(aval)


def add_tangents(x: Any, y: Any) -> Any:
    """The sum of two tangents, of which any may be `Zero`.

    Example:
        >>> import morphax as jax
        >>> from morphax.interpreters import ad
        >>> ad.add_tangents(ad.Zero(jax.core.ShapedArray((), "float32")), 2.0)
        2.0
    """
    if is_zero(x):
        return y
    return x if is_zero(y) else add_jaxvals_p.bind(x, y)


def add_jaxvals(x: Any, y: Any) -> Any:
    """The sum of two tangents that are values.

    Example:
        >>> import morphax.numpy as jnp
        >>> from morphax.interpreters import ad
        >>> ad.add_jaxvals(jnp.array([1.0, 2.0]), jnp.array([3.0, 4.0]))
        Array([4., 6.], dtype=float32)
    """
    return add_jaxvals_p.bind(x, y)


def jvp(
    fun: Any,
    primals: Sequence[Any],
    tangents: Sequence[Any],
    has_aux: bool = False,
    instantiate: bool | Sequence[bool] = True,
    transform_stack: bool = True,
) -> Any:
    """Results of a function of values, and their tangents.

    Args:
        fun: takes values, returns a sequence of them (with `has_aux`, and something besides); a
            `linear_util.WrappedFun` or any function.
        primals: the arguments.
        tangents: one for each, `Zero` where there is none.
        has_aux: whether `fun` returns a pair of results and something else.
        instantiate: whether (for each result) a tangent that is zero becomes an array.
        transform_stack: whether the names of scopes inside show the transformation.

    Returns:
        Results and tangents as lists; with `has_aux` also what the function returns besides.
    """
    call = getattr(fun, "call_wrapped", fun)
    trace = JVPTrace(current_trace())
    with new_trace(trace), _named_jvp(transform_stack):
        inputs = [
            p if is_zero(t) else JVPTracer(trace, p, t)
            for p, t in zip(primals, tangents, strict=True)
        ]
        result = call(*inputs)
        outs, aux = result if has_aux else (result, None)
        pairs = [trace.split(x) for x in outs]
        aux = tree.map(lambda x: trace.split(x)[0] if is_value(x) else x, aux)
    wanted = [instantiate] * len(pairs) if isinstance(instantiate, bool) else instantiate
    results = [p for p, _ in pairs]
    pushed = [instantiate_zeros(t) if on else t for (_, t), on in zip(pairs, wanted, strict=True)]
    return (results, pushed, aux) if has_aux else (results, pushed)


def linearize(
    traceable: Any, *primals: Any, has_aux: bool = False, is_vjp: bool = False
) -> tuple[Any, ...]:
    """Results of a function of values, and the linear program of their tangents.

    Args:
        traceable: takes values, returns a sequence of them (with `has_aux`, and something besides);
            a `linear_util.WrappedFun` or any function.
        *primals: the arguments.
        has_aux: whether `traceable` returns a pair of results and something else.
        is_vjp: accepted for compatibility; the program serves to be transposed, too.

    Returns:
        The results, which of their tangents are zero, the program that takes a tangent for each
        argument and gives the others, and the values of its `constvars`; with `has_aux` also what
        the function returns besides.

    Example:
        >>> import morphax.numpy as jnp
        >>> from morphax.interpreters import ad
        >>> (y,), zero, program, residuals = ad.linearize(lambda x: [x * x], jnp.float32(3.0))
        >>> y, zero, program
        (Array(9., dtype=float32), [False], { lambda a:f32[]; b:f32[]. let
            c:f32[] = mul b a
            d:f32[] = mul a b
            e:f32[] = add_any c d
          in (e,) })
    """
    trace = PartialTrace(current_trace())
    with new_trace(trace):
        tangents = [trace.new_argument(aval_of(p).to_tangent_aval()) for p in primals]
        results, pushed, *aux = jvp(traceable, primals, tangents, has_aux, instantiate=False)
        jaxpr, consts = trace.finish([t for t in pushed if not is_zero(t)])
    return tuple(results), [is_zero(t) for t in pushed], jaxpr, consts, *aux
