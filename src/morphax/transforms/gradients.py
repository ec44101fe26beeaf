"""Gradients of scalar functions: `grad` and `value_and_grad`."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any, final

import numpy as np

from .. import dtypes, tree
from ..core import Operand, ShapedArray, aval_of, frames_hidden_in, number_of
from ..tree import PyTreeDef
from ..util.messages import message
from .derivative_maps import cotangent_output
from .derivatives import (
    check_reduce_axes,
    is_differentiable,
    linearized,
    prepare,
)
from .flattening import (
    argument_names,
    as_output,
    check_callable,
    function_label,
    function_name,
    wraps,
)

ArgNums = int | Sequence[int]


def value_and_grad(
    fun: Callable[..., Any],
    argnums: ArgNums = 0,
    has_aux: bool = False,
    holomorphic: bool = False,
    allow_int: bool = False,
    reduce_axes: Any = (),
) -> Callable[..., tuple[Any, Any]]:
    """A function that returns f(x) and ∇f(x) from one pass.

    Args:
        fun: function whose result is a scalar of floating dtype.
        argnums: which positional arguments to differentiate; trees are allowed.
        has_aux: whether `fun` returns a pair of result and auxiliary data.
        holomorphic: promise that `fun` is holomorphic; arguments and result are complex.
        allow_int: accept integer arguments; their gradients are of dtype ``float0``.
        reduce_axes: must be empty.

    Returns:
        A function of the same arguments that returns ``(value, gradient)``, or
        ``((value, aux), gradient)``.  The gradient has the structure of the argument (a tuple of
        them if `argnums` is a sequence).

    Raises:
        TypeError: the result is not a scalar, or an argument or the result is not floating.

    Example:
        >>> import morphax as jax
        >>> jax.value_and_grad(lambda x: x**2)(3.0)
        (Array(9., dtype=float32, weak_type=True), Array(6., dtype=float32, weak_type=True))
    """
    check_reduce_axes("value_and_grad", reduce_axes)
    return _value_and_grad("value_and_grad", fun, argnums, has_aux, holomorphic, allow_int)


def grad(
    fun: Callable[..., Any],
    argnums: ArgNums = 0,
    has_aux: bool = False,
    holomorphic: bool = False,
    allow_int: bool = False,
    reduce_axes: Any = (),
) -> Callable[..., Any]:
    """A function that returns the gradient ∇f(x) of a scalar function.

    Arguments are those of `value_and_grad`.  Returns ``(gradient, aux)`` if `has_aux`.

    Example:
        >>> import morphax as jax
        >>> import morphax.numpy as jnp
        >>> jax.grad(jnp.tanh)(0.0)
        Array(1., dtype=float32, weak_type=True)
    """
    check_reduce_axes("grad", reduce_axes)
    with_value = _value_and_grad("grad", fun, argnums, has_aux, holomorphic, allow_int)

    @wraps(fun)
    @frames_hidden_in
    def gradient(*args: Any, **kwargs: Any) -> Any:
        value, result = with_value(*args, **kwargs)
        return (result, value[1]) if has_aux else result

    return gradient


def _value_and_grad(
    where: str,
    fun: Callable[..., Any],
    argnums: ArgNums,
    has_aux: bool,
    holomorphic: bool,
    allow_int: bool,
) -> Callable[..., tuple[Any, Any]]:
    check_callable(where, fun)
    check_argnums(where, argnums)

    @wraps(fun)
    @frames_hidden_in
    def value_and_gradient(*args: Any, **kwargs: Any) -> tuple[Any, Any]:
        chosen, partial = with_others_fixed(where, fun, argnums, args, kwargs)
        leaves, flat = prepare(where, partial, chosen, has_aux)
        kind = np.complexfloating if holomorphic else np.inexact
        check_inputs(where, partial, flat.in_tree, leaves, kind, allow_int and not holomorphic)
        outs, out_slots, in_slots, trace = linearized(
            flat, leaves, [is_differentiable(x) for x in leaves]
        )
        value = flat.out_tree.unflatten(outs)
        _check_scalar(where, fun, value, holomorphic)
        seed = as_output(_one_like(aval_of(outs[0])))
        results = trace.tape.pull_back([(out_slots[0], seed)])
        cts = [
            cotangent_output(results, slot, aval_of(x).to_tangent_aval())
            for slot, x in zip(in_slots, leaves, strict=True)
        ]
        gradients = flat.in_tree.unflatten(cts)[0]
        result = gradients[0] if is_single(argnums) else gradients
        return ((value, flat.aux) if has_aux else value), result

    return value_and_gradient


def _one_like(aval: ShapedArray) -> Any:
    """The number 1 with dtype and weakness of `aval`."""
    return 1.0 if aval_of(1.0) is aval else number_of(1, aval)


def is_single(argnums: ArgNums) -> bool:
    """Whether one argument is meant, not a tuple of them."""
    return isinstance(argnums, (int, np.integer))


def check_argnums(where: str, argnums: Any) -> None:
    """Raise `TypeError` unless `argnums` is an int or a sequence of ints."""
    numbers = [argnums] if is_single(argnums) else argnums
    if not isinstance(numbers, (list, tuple)) or not all(
        isinstance(n, (int, np.integer)) for n in numbers
    ):
        raise TypeError(
            message(
                f"{where}, argument argnums",
                given=f"{argnums!r}",
                expected="an int or a sequence of ints",
                fix="Number positional arguments from 0, such as argnums=(0, 1).",
            )
        )


def with_others_fixed(
    where: str, fun: Callable[..., Any], argnums: Any, args: Sequence[Any], kwargs: dict[str, Any]
) -> tuple[tuple[Any, ...], Callable[..., Any]]:
    """The chosen arguments, and `fun` as a function of these."""
    numbers = [argnums] if is_single(argnums) else list(argnums)
    within = all([-len(args) <= n < len(args) for n in numbers])
    positions = [int(n) % len(args) for n in numbers] if within else []
    if not within or len({*positions}) < len(positions):
        raise (ValueError if within else TypeError)(
            message(
                f"{where}, argument argnums",
                given=f"argnums={argnums} for {len(args)} positional argument(s)",
                expected="the numbers of positional arguments of the call, from 0, each once",
                fix=f"Pass the arguments of {function_label(fun)} positionally, counted from 0.",
            )
        )
    partial = _OthersFixed(fun, positions, tuple(args), kwargs)
    return tuple([args[i] for i in positions]), partial


@final
class _OthersFixed:
    """A function of some positional arguments of `fun`; its signature names them in errors."""

    __slots__ = ("__weakref__", "__wrapped__", "_args", "_kwargs", "_positions")

    def __init__(
        self,
        fun: Callable[..., Any],
        positions: Sequence[int],
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
    ) -> None:
        self.__wrapped__ = fun
        self._positions = positions
        self._args = args
        self._kwargs = kwargs

    def __call__(self, *chosen: Any) -> Any:
        full = list(self._args)
        for position, value in zip(self._positions, chosen, strict=True):
            full[position] = value
        return self.__wrapped__(*full, **self._kwargs)

    @property
    def __name__(self) -> str:
        return function_name(self.__wrapped__)

    @property
    def __signature__(self) -> inspect.Signature:
        signature = inspect.signature(self.__wrapped__)
        parameters = list(signature.parameters.values())
        if max(self._positions, default=0) >= len(parameters):
            raise ValueError("one of many positional arguments, which has no name")
        chosen = [parameters[i].replace(default=inspect.Parameter.empty) for i in self._positions]
        return signature.replace(parameters=chosen)


def check_inputs(
    where: str,
    fun: Callable[..., Any],
    in_tree: PyTreeDef,
    leaves: Sequence[Any],
    kind: Any,
    allow_int: bool = False,
) -> None:
    """Raise `TypeError`, naming the argument, unless all dtypes are of a kind (or no numbers)."""
    for position, x in enumerate(leaves):
        aval = aval_of(x)
        fits = is_differentiable(x) if aval.is_high else dtypes.issubdtype(aval.dtype, kind)
        if not fits and not (allow_int and not is_differentiable(x)):
            raise TypeError(
                message(
                    f"{where}, argument {argument_names(fun, in_tree)[position]}",
                    given=f"{aval}",
                    expected=f"a {KINDS[kind]} dtype",
                    fix=_FIX_INPUT[kind],
                )
            )


KINDS = {
    np.inexact: "floating or complex",
    np.floating: "floating",
    np.complexfloating: "complex",
}
_FIX_INPUT = {
    np.inexact: "Convert the argument, for instance 3 to 3.0, or pass allow_int=True for a "
    "gradient of dtype float0.",
    np.floating: "Convert the argument, for instance 3 to 3.0; for functions of complex arguments "
    "pass holomorphic=True or use jvp.",
    np.complexfloating: "Convert the argument with astype, or leave out holomorphic=True.",
}


def fix_of_output(kind: Any, aval: Any) -> str:
    """How to mend a function whose result is of another kind of dtype."""
    if kind is np.complexfloating:
        return "Convert the result with astype, or leave out holomorphic=True."
    if dtypes.issubdtype(aval.dtype, np.complexfloating):
        return "Pass holomorphic=True if the function is holomorphic, else use vjp."
    return (
        "Return a floating number: what rounds, counts or compares (astype(int), argmax, ==) has "
        "no derivative; use vjp for its zeros."
    )


def _check_scalar(where: str, fun: Callable[..., Any], value: Operand, holomorphic: bool) -> None:
    leaves, structure = tree.flatten(value)
    aval = aval_of(leaves[0]) if len(leaves) == 1 and tree.structure(0) == structure else None
    kind = np.complexfloating if holomorphic else np.floating
    is_scalar = aval is not None and aval.shape == ()
    if aval is not None and is_scalar and dtypes.issubdtype(aval.dtype, kind):
        return
    if value is None:
        fix = "Return the number to differentiate: a return statement may be missing."
    elif aval is None:
        fix = "Return the number to differentiate alone, or with other data and has_aux=True."
    elif is_scalar:
        fix = fix_of_output(kind, aval)
    else:
        fix = "Reduce the result, for instance with jnp.sum, or use jacrev or vjp."
    raise TypeError(
        message(
            f"{where}, result of {function_label(fun)}",
            given="None" if value is None else f"{structure if aval is None else aval}",
            expected=f"a scalar of {KINDS[kind]} dtype",
            fix=fix,
        )
    )
