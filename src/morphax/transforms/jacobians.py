"""Matrices of derivatives: `jacfwd`, `jacrev` and `hessian`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import accumulate
from typing import Any

import numpy as np

from .. import dtypes, tree
from ..core import Operand, aval_of, current_trace, frames_hidden_in, root_trace
from ..core.dims import Dim, is_static
from ..lax.elementwise.arithmetic import add
from ..lax.elementwise.comparison import eq
from ..lax.elementwise.convert import convert
from ..lax.ground.linear_structure import zeros
from ..lax.shape.filling import broadcasted_iota, size_value
from ..lax.shape.shape_operations import reshape
from ..lax.shape.slicing import slice_in_dim
from ..util.messages import message
from .derivatives import linearize, vjp
from .flattening import check_callable, function_label, wraps
from .gradients import (
    KINDS,
    ArgNums,
    check_argnums,
    check_inputs,
    fix_of_output,
    is_single,
    with_others_fixed,
)
from .vmap import vmap

# A program reads larger bases from memory more slowly than it computes them.
_MOST_IN_CONSTANTS = 1024


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

    @wraps(fun)
    @frames_hidden_in
    def jacobian(*args: Any, **kwargs: Any) -> Any:
        chosen, partial = with_others_fixed("jacrev", fun, argnums, args, kwargs)
        of_input, of_output = (
            (np.complexfloating,) * 2 if holomorphic else (np.inexact, np.floating)
        )
        _check_chosen("jacrev", partial, chosen, of_input, allow_int and not holomorphic)
        value, pullback, *aux = vjp(partial, *chosen, has_aux=has_aux)
        _check_outputs("jacrev", fun, value, of_output)
        rows = vmap(pullback)(_basis(value))
        result = _split_rows(value, rows[0] if is_single(argnums) else rows)
        return (result, aux[0]) if has_aux else result

    return jacobian


jacobian = jacrev


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

    @wraps(fun)
    @frames_hidden_in
    def jacobian(*args: Any, **kwargs: Any) -> Any:
        chosen, partial = with_others_fixed("jacfwd", fun, argnums, args, kwargs)
        kind = np.complexfloating if holomorphic else np.floating
        _check_chosen("jacfwd", partial, chosen, kind)
        value, push, *aux = linearize(partial, *chosen, has_aux=has_aux)
        if holomorphic:
            _check_outputs("jacfwd", fun, value, np.complexfloating)
        columns = vmap(push, out_axes=-1)(*_basis(chosen))
        example = chosen[0] if is_single(argnums) else chosen
        columns = tree.map(_zero_for_integers, value, columns)
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


def _zero_for_integers(value: Any, columns: Any) -> Any:
    """Columns for results that are integers: these do not move, and 0 is one of them."""
    dtype = aval_of(value).dtype
    if not dtypes.issubdtype(dtype, np.integer):
        return columns
    return zeros(aval_of(columns).update(dtype=dtype))


def _check_chosen(
    where: str, fun: Callable[..., Any], chosen: object, kind: Any, allow_int: bool = False
) -> None:
    leaves, in_tree = tree.flatten((chosen, {}))
    check_inputs(where, fun, in_tree, leaves, kind, allow_int)


def _check_outputs(where: str, fun: Callable[..., Any], value: object, kind: Any) -> None:
    for path, x in tree.leaves_with_path(value):
        aval = aval_of(x)
        if not dtypes.issubdtype(aval.dtype, kind):
            raise TypeError(
                message(
                    f"{where}, result{tree.keystr(path)} of {function_label(fun)}",
                    given=f"{aval}",
                    expected=f"a {KINDS[kind]} dtype",
                    fix=fix_of_output(kind, aval),
                )
            )


def _basis(example: Any) -> Any:
    """The standard basis of the space of trees like `example`, stacked along a leading axis."""
    leaves, structure = tree.flatten(example)
    avals = [aval_of(x) for x in leaves]
    total = sum(a.size for a in avals)
    basis, start = [], 0
    for aval in avals:
        dtype = aval.to_tangent_aval().dtype
        stacked = _block(total, start, aval, dtype)
        basis.append(convert(stacked, dtype, True) if aval.weak_type else stacked)
        start += aval.size
    return structure.unflatten(basis)


def _block(total: Dim, start: Dim, aval: Any, dtype: Any) -> Any:
    """Those of `total` vectors of a basis whose ones are in an array, which begins at `start`."""
    sizes_are_known = is_static((total, start, aval.size))
    is_kept = dtypes.canonicalize(dtype) == dtype  # a constant may be narrowed
    is_small = is_kept and _is_written_out(total * aval.size)
    if sizes_are_known and (dtype == dtypes.float0 or is_small):
        block = np.zeros((total, aval.size), dtype)
        if dtype != dtypes.float0:
            block[np.arange(start, start + aval.size), np.arange(aval.size)] = 1
        return block.reshape(total, *aval.shape)
    shape = (total, aval.size)
    rows, columns = (broadcasted_iota(np.int32, shape, axis) for axis in (0, 1))
    ones = eq(rows, add(columns, size_value(start, np.dtype(np.int32))))
    return reshape(convert(ones, dtype), (total, *aval.shape))


def _is_written_out(elements: int) -> bool:
    """Whether a block is an array, not a program: in eager mode, or where it is small."""
    return elements <= _MOST_IN_CONSTANTS or current_trace() is root_trace()


def _blocks(example: Any, stacked: Operand, axis: int) -> list[Any]:
    """`stacked`, cut along `axis` into one block per leaf of `example`, in that leaf's shape."""
    avals = [aval_of(x) for x in tree.leaves(example)]
    bounds = list(accumulate([a.size for a in avals], initial=0))
    return [
        _unfolded(slice_in_dim(stacked, low, high, axis=axis), axis, aval.shape)
        for aval, low, high in zip(avals, bounds, bounds[1:], strict=False)
    ]


def _unfolded(x: Operand, axis: int, shape: Sequence[int]) -> Any:
    """`x` with one axis unfolded to `shape`."""
    before, after = aval_of(x).shape[:axis], aval_of(x).shape[axis + 1 :]
    unfolded = (*before, *shape, *after)
    if aval_of(x).dtype == dtypes.float0:
        return np.zeros(unfolded, dtypes.float0)
    return reshape(x, unfolded)


def _split_rows(value: Operand, rows: Any) -> Any:
    structure = tree.structure(value)
    leaves, row_structure = tree.flatten(rows)
    cut = [_blocks(value, leaf, 0) for leaf in leaves]
    return structure.unflatten([row_structure.unflatten(list(c)) for c in zip(*cut, strict=True)])


def _split_columns(example: Any, stacked: Operand) -> Any:
    return tree.structure(example).unflatten(_blocks(example, stacked, aval_of(stacked).ndim - 1))
