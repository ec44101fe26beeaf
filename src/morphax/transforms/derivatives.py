"""Derivatives as functions and maps: `jvp`, `linearize`, `vjp` and `linear_transpose`.

Conventions for complex numbers: `vjp` and `grad` pull back without conjugation, so for real-valued
f of complex z = x + iy, ``grad(f)`` is ∂f/∂x − i ∂f/∂y.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .. import dtypes, tree
from ..array import Array
from ..core import (
    AbstractRef,
    Jaxpr,
    Operand,
    ShapedArray,
    UndefinedPrimal,
    aval_of,
    close_open,
    contents,
    current_trace,
    frames_hidden,
    is_value,
    new_trace,
    stage,
)
from ..lax.ground.linear_structure import instantiate
from ..lax.reference.references import Ref
from ..lax.shape.resharding import tied
from ..tree import PyTreeDef
from ..util.messages import described, message
from .derivative_maps import JVP, MapFacts, check_tangents, tangent_output
from .flattening import (
    FlatFunction,
    argument_names,
    as_output,
    avals_of,
    check_callable,
    check_values,
    debug_info,
    names_on_demand,
)
from .jvp import JVPTrace, JVPTracer
from .linearize import LinearizeTrace
from .pullback import VJP
from .saved_arguments import saveable_leaves
from .transposition import backward_pass


def prepare(
    where: str, function: Callable[..., Any], args: Sequence[Any], has_aux: bool
) -> tuple[list[Any], FlatFunction]:
    """The leaves of checked arguments, and the function of leaves."""
    check_callable(where, function)
    leaves, in_tree = tree.flatten((tuple(args), {}))
    check_values(where, lambda: argument_names(function, in_tree), leaves)
    leaves = [_owned(x) for x in contents(leaves)]
    _refuse_references(where, function, in_tree, leaves)
    return leaves, FlatFunction(function, in_tree, where, has_aux=has_aux)


def _refuse_references(
    where: str, function: Callable[..., Any], in_tree: PyTreeDef, leaves: Sequence[Any]
) -> None:
    for position, leaf in enumerate(leaves):
        if isinstance(leaf, Ref):
            name = argument_names(function, in_tree)[position]
            raise TypeError(
                message(
                    f"{where}, argument {name}",
                    given=f"a reference, {leaf.aval}",
                    expected="arrays to differentiate with respect to",
                    fix="Pass what the reference holds, ref[...], and make a reference inside; "
                    "or close over the reference.",
                )
            )


def _owned(x: Operand) -> Any:
    """A copy of the user's NumPy array, which may change while residuals refer to it."""
    return Array.from_host(x) if isinstance(x, np.ndarray) else x


def is_differentiable(x: Operand) -> bool:
    """Whether a value has a tangent space other than `float0`."""
    aval = aval_of(x)
    if aval.is_high:
        # What changes in place has no derivative; what does not says what its tangents are.
        return not aval.has_qdd
    return bool(dtypes.tangent_dtype(aval.dtype) != dtypes.float0)


@frames_hidden
def jvp(
    fun: Callable[..., Any], primals: Any, tangents: Any, has_aux: bool = False
) -> tuple[Any, ...]:
    """Push tangents forward: f(x) and ∂f(x) ẋ.

    Args:
        fun: function of arrays or trees.
        primals: tuple or list of its positional arguments x.
        tangents: the same structure, shapes and dtypes (``float0`` for integers) as `primals`.
        has_aux: whether `fun` returns a pair of result and auxiliary data.

    Returns:
        ``(f(x), ∂f(x) ẋ)``, and the auxiliary data third if `has_aux`.

    Raises:
        TypeError: structures or dtypes of primals and tangents differ.
        ValueError: shapes differ.

    Example:
        >>> import morphax as jax
        >>> import morphax.numpy as jnp
        >>> jax.jvp(jnp.square, (3.0,), (1.0,))
        (Array(9., dtype=float32, weak_type=True), Array(6., dtype=float32, weak_type=True))
    """
    for name, value in (("primals", primals), ("tangents", tangents)):
        if not isinstance(value, (tuple, list)):
            raise TypeError(
                message(
                    f"jvp, argument {name}",
                    given=described(value),
                    expected="a tuple or list with one item per argument of fun",
                    fix=f"Write jvp(f, (x,), (v,)): wrap {name} in a tuple.",
                )
            )
    leaves, flat = prepare("jvp", fun, primals, has_aux)
    tangent_leaves, tangent_tree = tree.flatten((tuple(tangents), {}))
    if tangent_tree != flat.in_tree:
        raise TypeError(
            message(
                "jvp, argument tangents",
                given=f"{tangent_tree}",
                expected=f"the structure of primals, {flat.in_tree}",
                fix="Give one tangent per leaf of primals.",
            )
        )
    names = functools.partial(argument_names, fun, flat.in_tree)
    avals = tangent_avals_of(leaves)
    check_tangents("jvp", names, tangent_leaves, avals)
    trace = JVPTrace(current_trace())
    inputs = [
        JVPTracer(trace, x, tied(t, aval)) if is_differentiable(x) else x
        for x, t, aval in zip(leaves, tangent_leaves, avals, strict=True)
    ]
    with new_trace(trace):
        pairs = [trace.split(out) for out in flat(*inputs)]
    outs = flat.out_tree.unflatten([as_output(p) for p, _ in pairs])
    out_tangents = flat.out_tree.unflatten([tangent_output(t) for _, t in pairs])
    return (
        (outs, out_tangents, _without_trace(trace, flat.aux)) if has_aux else (outs, out_tangents)
    )


def tangent_avals_of(leaves: Sequence[Any]) -> tuple[Any, ...]:
    """The avals of tangents of values."""
    return tuple([aval_of(x).to_tangent_aval() for x in leaves])


def _without_trace(trace: Any, aux: Any) -> Any:
    """Auxiliary data with primals in place of the tracers of `trace`."""
    return tree.map(lambda x: trace.split(x)[0], aux)


def linearized(
    flat: FlatFunction,
    leaves: Sequence[Any],
    differentiable: Sequence[bool],
    pushes: bool = False,
) -> tuple[list[Any], list[int | None], list[int | None], LinearizeTrace]:
    """Run a flat function; results, their slots, the slots of the operands, and the trace."""
    trace = LinearizeTrace(current_trace(), pushes)
    inputs = [
        trace.new_argument(x) if on else x for x, on in zip(leaves, differentiable, strict=True)
    ]
    with new_trace(trace):
        outs = [trace.split(x) for x in flat(*inputs)]
    in_slots = [trace.split(x)[1] for x in inputs]
    if flat.has_aux:
        flat.aux = _without_trace(trace, flat.aux)
    return [as_output(p) for p, _ in outs], [s for _, s in outs], in_slots, trace


@frames_hidden
def linearize(fun: Callable[..., Any], *primals: Any, has_aux: bool = False) -> tuple[Any, ...]:
    """f(x) and the linear map ẋ ↦ ∂f(x) ẋ, which can be applied many times.

    The map is also a tree, whose leaves are the residuals.

    Args:
        fun: function of arrays or trees.
        *primals: its arguments x.
        has_aux: whether `fun` returns a pair of result and auxiliary data.

    Returns:
        ``(f(x), f_jvp)``, and the auxiliary data third if `has_aux`.

    Example:
        >>> import morphax as jax
        >>> import morphax.numpy as jnp
        >>> y, f_jvp = jax.linearize(jnp.sin, 0.0)
        >>> f_jvp(2.0)
        Array(2., dtype=float32, weak_type=True)
    """
    out, facts, trace, flat, _ = _recorded("linearize", fun, primals, has_aux)
    f_jvp = JVP(trace.tape, facts, fun)
    return (out, f_jvp, flat.aux) if has_aux else (out, f_jvp)


def _recorded(
    where: str, fun: Callable[..., Any], primals: Sequence[Operand], has_aux: bool
) -> tuple[Any, MapFacts, LinearizeTrace, FlatFunction, list[Any]]:
    """Run a function; its result, the tape with what is known of its ends, and the arguments."""
    leaves, flat = prepare(where, fun, primals, has_aux)
    outs, out_slots, in_slots, trace = linearized(
        flat, leaves, [is_differentiable(x) for x in leaves], where == "linearize"
    )
    trace.tape.keep_entries_of([slot for slot in out_slots if slot is not None])
    facts = MapFacts(
        in_slots=tuple(in_slots),
        out_slots=tuple(out_slots),
        in_avals=tangent_avals_of(leaves),
        out_avals=tangent_avals_of(outs),
        in_tree=flat.in_tree,
        out_tree=flat.out_tree,
        in_names=names_on_demand(fun, flat.in_tree),
    )
    return flat.out_tree.unflatten(outs), facts, trace, flat, leaves


@frames_hidden
def vjp(
    fun: Callable[..., Any],
    *primals: Any,
    has_aux: bool = False,
    reduce_axes: Any = (),
    saveable_args: Any = True,
) -> tuple[Any, ...]:
    """f(x) and the map that pulls cotangents back: ȳ ↦ ∂f(x)ᵀ ȳ.

    Args:
        fun: function of arrays or trees.
        *primals: its arguments x.
        has_aux: whether `fun` returns a pair of result and auxiliary data.
        reduce_axes: must be empty.
        saveable_args: whether `f_vjp` may keep arguments that it needs: a bool, or a tuple with one
            for each argument, in which tuples may stand for trees.  Those that it may not keep are
            assigned to `f_vjp.args_res` before it is applied.

    Returns:
        ``(f(x), f_vjp)``, and the auxiliary data third if `has_aux`; `f_vjp` takes a cotangent with
        the structure of the result and returns one cotangent per argument, as a tuple.  It is also
        a tree, whose leaves are the residuals, and so may be returned from a jitted function:
        arguments, which `f_vjp.args_res` shows, and `f_vjp.opaque_residuals`.

    Example:
        >>> import morphax as jax
        >>> import morphax.numpy as jnp
        >>> y, f_vjp = jax.vjp(lambda x, y: x * y, 2.0, 3.0)
        >>> f_vjp(1.0)
        (Array(3., dtype=float32, weak_type=True), Array(2., dtype=float32, weak_type=True))
    """
    check_reduce_axes("vjp", reduce_axes)
    out, facts, trace, flat, leaves = _recorded("vjp", fun, primals, has_aux)
    saveable = None if saveable_args is True else saveable_leaves(saveable_args, facts.in_tree)
    f_vjp = VJP(trace.tape, facts, fun, leaves, saveable)
    return (out, f_vjp, flat.aux) if has_aux else (out, f_vjp)


def check_reduce_axes(where: str, reduce_axes: Any) -> None:
    """Raise `NotImplementedError` if the argument, which JAX has withdrawn, names an axis."""
    if not reduce_axes:
        return
    raise NotImplementedError(
        message(
            f"{where}, argument reduce_axes",
            given=f"reduce_axes={reduce_axes!r}",
            expected="an empty tuple",
            fix="Sum gradients yourself, by jax.lax.psum.",
        )
    )


@frames_hidden
def linear_transpose(fun: Callable[..., Any], *primals: Any, reduce_axes: Any = ()) -> Any:
    """The transpose of a function that is linear in all its arguments.

    Args:
        fun: linear function of arrays or trees.
        *primals: values, or anything with shape and dtype, of its arguments; values are not used.
        reduce_axes: must be empty.

    Returns:
        The function ȳ ↦ Aᵀ ȳ, which returns one cotangent per argument, as a tuple.

    Example:
        >>> import morphax as jax
        >>> jax.linear_transpose(lambda x: 3.0 * x, 1.0)(2.0)
        (Array(6., dtype=float32, weak_type=True),)
    """
    check_callable("linear_transpose", fun)
    check_reduce_axes("linear_transpose", reduce_axes)
    leaves, in_tree = tree.flatten((primals, {}))
    flat = FlatFunction(fun, in_tree, "linear_transpose")
    avals = [shape_aval(x) for x in leaves]
    jaxpr, consts = stage(flat, avals, debug_info("linear_transpose", fun, in_tree))
    program, out_tree = close_open(jaxpr, consts), flat.out_tree
    _check_one_kind([*avals, *program.out_avals])

    def transposed(cotangents: Any) -> Any:
        ct_leaves, ct_tree = tree.flatten(cotangents)
        if ct_tree != out_tree or avals_of(ct_leaves) != program.out_avals:
            _refuse_cotangents(cotangents, program, out_tree)
        results = backward_pass(program, [UndefinedPrimal(a) for a in avals], ct_leaves)
        return in_tree.unflatten([as_output(instantiate(ct)) for ct in results])[0]

    return transposed


def _check_one_kind(avals: Sequence[Any]) -> None:
    kinds = (np.inexact, np.integer)
    if any([all([dtypes.issubdtype(a.dtype, kind) for a in avals]) for kind in kinds]):
        return
    raise TypeError(
        message(
            "linear_transpose, arguments and result of fun",
            given=", ".join(map(str, avals)),
            expected="floating and complex dtypes only, or integer dtypes only",
            fix="Close over what is not a vector.",
        )
    )


def _refuse_cotangents(cotangents: Any, program: Jaxpr, out_tree: PyTreeDef) -> None:
    given = tree.map(lambda ct: str(aval_of(ct)), cotangents)
    expected = out_tree.unflatten([str(a) for a in program.out_avals])
    same = [a.str_short() for a in avals_of(tree.leaves(cotangents))] == [
        a.str_short() for a in program.out_avals
    ]
    if same and tree.structure(cotangents) == out_tree:
        return
    raise TypeError(
        message(
            "the transposed function of linear_transpose",
            given=f"{given}",
            expected=f"{expected}",
            fix="Give cotangents the structure, shapes and dtypes of the result of fun.",
        )
    )


def shape_aval(x: object) -> Any:
    """The aval of a value, or of anything that has a shape and a dtype."""
    if is_value(x) or not (hasattr(x, "shape") and hasattr(x, "dtype")):
        return aval_of(x)
    split: Any = getattr(x, "sharding", None)
    aval = ShapedArray(
        x.shape,
        dtypes.canonicalize(x.dtype),
        bool(getattr(x, "weak_type", False)),
        sharding=split.abstract(len(x.shape)) if hasattr(split, "abstract") else None,
    )
    return AbstractRef(aval) if getattr(x, "is_ref", False) else aval
