"""Gradients and their matrices: `grad`, `value_and_grad`, `jacfwd`, `jacrev` and `hessian`."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .. import dtypes, tree
from ..core import aval_of
from ..lax.convert import convert
from ..lax.shape import reshape
from ..lax.slicing import slice_in_dim
from ..util.messages import message
from .derivatives import (
    as_output,
    cotangent_output,
    is_differentiable,
    linearize,
    linearized,
    prepare,
    pull_back,
    vjp,
)
from .flattening import argument_names, check_callable, function_label
from .vmap import vmap

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
        reduce_axes: accepted for compatibility.

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
    with_value = _value_and_grad("grad", fun, argnums, has_aux, holomorphic, allow_int)

    @functools.wraps(fun)
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

    @functools.wraps(fun)
    def value_and_gradient(*args: Any, **kwargs: Any) -> tuple[Any, Any]:
        positions, partial = _with_others_fixed(where, fun, argnums, args, kwargs)
        leaves, flat = prepare(where, partial, [args[i] for i in positions], has_aux)
        for i, x in enumerate(leaves):
            _check_input(where, partial, flat.in_tree, i, x, holomorphic, allow_int)
        outs, out_slots, in_slots, trace = linearized(
            flat, leaves, [is_differentiable(x) for x in leaves]
        )
        value = flat.out_tree.unflatten(outs)
        _check_scalar(where, fun, value, holomorphic)
        seed = as_output(_one_like(aval_of(outs[0])))
        results = pull_back(trace, out_slots, [seed])
        cts = [
            cotangent_output(results, slot, aval_of(x).to_tangent_aval())
            for slot, x in zip(in_slots, leaves, strict=True)
        ]
        gradients = flat.in_tree.unflatten(cts)[0]
        result = gradients[0] if isinstance(argnums, int) else gradients
        return ((value, flat.aux) if has_aux else value), result

    return value_and_gradient


def _one_like(aval: Any) -> Any:
    """The number 1 with dtype and weakness of `aval`."""
    return 1.0 if aval_of(1.0) is aval else np.ones((), aval.dtype)[()]


def check_argnums(where: str, argnums: Any) -> None:
    """Raise `TypeError` unless `argnums` is an int or a sequence of ints."""
    numbers = [argnums] if isinstance(argnums, (int, np.integer)) else argnums
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


def _with_others_fixed(
    where: str, fun: Callable[..., Any], argnums: Any, args: Sequence[Any], kwargs: dict[str, Any]
) -> tuple[list[int], Callable[..., Any]]:
    """Positions of the chosen arguments, and `fun` as a function of these."""
    numbers = [argnums] if isinstance(argnums, (int, np.integer)) else list(argnums)
    for n in numbers:
        if not -len(args) <= n < len(args):
            raise ValueError(
                message(
                    f"{where}, argument argnums",
                    given=f"argnums={argnums} with {len(args)} positional arguments",
                    expected="the numbers of positional arguments of the call",
                    fix=f"Pass the arguments of {function_label(fun)} positionally.",
                )
            )
    positions = [int(n) % len(args) for n in numbers]

    @functools.wraps(fun)
    def partial(*chosen: Any) -> Any:
        full = list(args)
        for position, value in zip(positions, chosen, strict=True):
            full[position] = value
        return fun(*full, **kwargs)

    return positions, partial


def _check_input(
    where: str,
    fun: Callable[..., Any],
    in_tree: Any,
    position: int,
    x: Any,
    holomorphic: bool,
    allow_int: bool,
) -> None:
    aval = aval_of(x)
    kind = np.complexfloating if holomorphic else np.inexact
    if dtypes.issubdtype(aval.dtype, kind):
        return
    if allow_int and not holomorphic:
        return
    raise TypeError(
        message(
            f"{where}, argument {argument_names(fun, in_tree)[position]}",
            given=f"{aval}",
            expected="a complex dtype" if holomorphic else "a floating or complex dtype",
            fix="Convert the argument, for instance 3 to 3.0, or pass allow_int=True for a "
            "gradient of dtype float0.",
        )
    )


def _check_scalar(where: str, fun: Callable[..., Any], value: Any, holomorphic: bool) -> None:
    leaves, structure = tree.flatten(value)
    aval = aval_of(leaves[0]) if len(leaves) == 1 and tree.structure(0) == structure else None
    kind = np.complexfloating if holomorphic else np.floating
    if aval is not None and aval.shape == () and dtypes.issubdtype(aval.dtype, kind):
        return
    shown = structure if aval is None else aval
    raise TypeError(
        message(
            f"{where}, result of {function_label(fun)}",
            given=f"{shown}",
            expected=f"a scalar of {'complex' if holomorphic else 'floating'} dtype",
            fix="Reduce the result, for instance with jnp.sum, or use jacrev or vjp; return other "
            "data with has_aux=True.",
        )
    )


def jacrev(
    fun: Callable[..., Any],
    argnums: ArgNums = 0,
    has_aux: bool = False,
    holomorphic: bool = False,
    allow_int: bool = False,
) -> Callable[..., Any]:
    """The Jacobian ∂f(x), one row of outputs at a time, in reverse mode.

    Returns:
        A function that returns a tree with the structure of f's result, at each leaf a tree with
        the structure of x, of arrays of shape ``(*output.shape, *input.shape)``.

    Example:
        >>> import morphax as jax
        >>> import morphax.numpy as jnp
        >>> jax.jacrev(lambda x: x * x)(jnp.array([1.0, 2.0]))
        Array([[2., 0.],
               [0., 4.]], dtype=float32)
    """
    check_callable("jacrev", fun)
    check_argnums("jacrev", argnums)

    @functools.wraps(fun)
    def jacobian(*args: Any, **kwargs: Any) -> Any:
        positions, partial = _with_others_fixed("jacrev", fun, argnums, args, kwargs)
        chosen = [args[i] for i in positions]
        leaves, in_tree = tree.flatten((tuple(chosen), {}))
        for i, x in enumerate(leaves):
            _check_input("jacrev", partial, in_tree, i, x, holomorphic, allow_int)
        value, pullback, *aux = vjp(partial, *chosen, has_aux=has_aux)
        rows = vmap(pullback)(_basis(value))
        result = _split_rows(value, rows if not isinstance(argnums, int) else rows[0])
        return (result, aux[0]) if has_aux else result

    return jacobian


def jacfwd(
    fun: Callable[..., Any],
    argnums: ArgNums = 0,
    has_aux: bool = False,
    holomorphic: bool = False,
) -> Callable[..., Any]:
    """The Jacobian ∂f(x), one column of inputs at a time, in forward mode.

    Returns:
        As `jacrev`.

    Example:
        >>> import morphax as jax
        >>> import morphax.numpy as jnp
        >>> jax.jacfwd(lambda x: x * x)(jnp.array([1.0, 2.0]))
        Array([[2., 0.],
               [0., 4.]], dtype=float32)
    """
    check_callable("jacfwd", fun)
    check_argnums("jacfwd", argnums)

    @functools.wraps(fun)
    def jacobian(*args: Any, **kwargs: Any) -> Any:
        positions, partial = _with_others_fixed("jacfwd", fun, argnums, args, kwargs)
        chosen = tuple(args[i] for i in positions)
        leaves, in_tree = tree.flatten((chosen, {}))
        for i, x in enumerate(leaves):
            _check_input("jacfwd", partial, in_tree, i, x, holomorphic, False)
        _, push, *aux = linearize(partial, *chosen, has_aux=has_aux)
        columns = vmap(push, out_axes=-1)(*_basis(chosen))
        example = chosen[0] if isinstance(argnums, int) else chosen
        result = tree.map(lambda stacked: _split_columns(example, stacked), columns)
        return (result, aux[0]) if has_aux else result

    return jacobian


def hessian(
    fun: Callable[..., Any],
    argnums: ArgNums = 0,
    has_aux: bool = False,
    holomorphic: bool = False,
) -> Callable[..., Any]:
    """The matrix of second derivatives, forward mode over reverse mode.

    Example:
        >>> import morphax as jax
        >>> jax.hessian(lambda x: x**3)(2.0)
        Array(12., dtype=float32, weak_type=True)
    """
    return jacfwd(
        jacrev(fun, argnums, has_aux=has_aux, holomorphic=holomorphic),
        argnums,
        has_aux=has_aux,
        holomorphic=holomorphic,
    )


def _basis(example: Any) -> Any:
    """The standard basis of the space of trees like `example`, stacked along a leading axis."""
    leaves, structure = tree.flatten(example)
    avals = [aval_of(x) for x in leaves]
    total = sum(a.size for a in avals)
    basis, start = [], 0
    for aval in avals:
        dtype = aval.to_tangent_aval().dtype
        block = np.zeros((total, aval.size), dtype)
        if dtype != dtypes.float0:
            block[np.arange(start, start + aval.size), np.arange(aval.size)] = 1
        stacked = block.reshape(total, *aval.shape)
        basis.append(convert(stacked, dtype, True) if aval.weak_type else stacked)
        start += aval.size
    return structure.unflatten(basis)


def _blocks(example: Any, stacked: Any, axis: int) -> list[Any]:
    """`stacked`, cut along `axis` into one block per leaf of `example`, in that leaf's shape."""
    avals = [aval_of(x) for x in tree.leaves(example)]
    bounds = np.cumsum([0, *[a.size for a in avals]])
    return [
        _unfolded(slice_in_dim(stacked, int(low), int(high), axis=axis), axis, aval.shape)
        for aval, low, high in zip(avals, bounds, bounds[1:], strict=False)
    ]


def _unfolded(x: Any, axis: int, shape: Sequence[int]) -> Any:
    """`x` with one axis unfolded to `shape`."""
    before, after = aval_of(x).shape[:axis], aval_of(x).shape[axis + 1 :]
    return reshape(x, (*before, *shape, *after))


def _split_rows(value: Any, rows: Any) -> Any:
    structure = tree.structure(value)
    leaves, row_structure = tree.flatten(rows)
    cut = [_blocks(value, leaf, 0) for leaf in leaves]
    return structure.unflatten([row_structure.unflatten(list(c)) for c in zip(*cut, strict=True)])


def _split_columns(example: Any, stacked: Any) -> Any:
    return tree.structure(example).unflatten(_blocks(example, stacked, aval_of(stacked).ndim - 1))
