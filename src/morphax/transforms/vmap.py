"""`vmap`: map a function over an axis of its arguments, without a loop."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from typing import Any

from .. import tree
from ..core import BatchAxes, aval_of, current_trace, extended_axis_env, new_trace
from ..util.messages import message
from .batching import BatchTrace, to_axis
from .flattening import FlatFunction, argument_names, check_callable, check_values, function_label


def vmap(
    fun: Callable[..., Any],
    in_axes: Any = 0,
    out_axes: Any = 0,
    axis_name: Any = None,
    axis_size: int | None = None,
    spmd_axis_name: Any = None,
    sum_match: bool = False,
) -> Callable[..., Any]:
    """Map `fun` over an axis of its arguments: one call on whole batches instead of many calls.

    Args:
        fun: function of arrays or trees, written for one member of a batch.
        in_axes: which axis of each positional argument to map over: an int, `None` (the argument
            is shared by all), or a tree prefix of the tuple of arguments.  Keyword arguments are
            mapped over axis 0.
        out_axes: where the mapped axis of each result goes, a tree prefix of the result.
        axis_name: name by which collectives such as `lax.psum` refer to the mapped axis.
        axis_size: size of the mapped axis, needed only if no argument is mapped.
        spmd_axis_name: mesh axis that the mapped axis is sharded over.
        sum_match: accepted for compatibility.

    Returns:
        The mapped function.

    Raises:
        ValueError: no argument is mapped, sizes of mapped axes differ, `in_axes` does not fit the
            arguments, or an unmapped result meets ``out_axes=None`` wrongly.

    Example:
        >>> import morphax as jax
        >>> import morphax.numpy as jnp
        >>> jax.vmap(jnp.dot, in_axes=(0, None))(jnp.eye(2), jnp.array([3.0, 4.0]))
        Array([3., 4.], dtype=float32)
    """
    check_callable("vmap", fun)
    if isinstance(in_axes, list):
        in_axes = tuple(in_axes)
    _check_axes("in_axes", in_axes)
    _check_axes("out_axes", out_axes)

    @functools.wraps(fun)
    def mapped(*args: Any, **kwargs: Any) -> Any:
        leaves, in_tree = tree.flatten((args, kwargs))
        names = functools.partial(argument_names, fun, in_tree)
        check_values("vmap", names, leaves)
        dims = _normalized(names, leaves, _leaf_axes(fun, in_axes, args, kwargs))
        axes = BatchAxes(_mapped_size(names, leaves, dims, axis_size), axis_name)
        trace = BatchTrace(current_trace(), axes)
        flat = FlatFunction(fun, in_tree, "vmap")
        named = extended_axis_env(axis_name, axes.size) if axis_name is not None else nullcontext()
        with named, new_trace(trace):
            inputs = [trace.wrap(x, d) for x, d in zip(leaves, dims, strict=True)]
            outs = [trace.split(x) for x in flat(*inputs)]
        placed = _result_axes(fun, out_axes, flat.out_tree)
        return flat.out_tree.unflatten(
            [
                _placed(axes, x, d, where, flat, i)
                for i, ((x, d), where) in enumerate(zip(outs, placed, strict=True))
            ]
        )

    return mapped


def _check_axes(name: str, axes: Any) -> None:
    for leaf in tree.leaves(axes):
        if type(leaf) is not int:
            raise TypeError(
                message(
                    f"vmap, argument {name}",
                    given=f"{axes!r}",
                    expected="an int, None, or a tree (tuples, lists, dicts) of these",
                    fix="Give one axis per argument, None for arguments that are not mapped.",
                )
            )


def _leaf_axes(
    fun: Callable[..., Any], in_axes: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> list[int | None]:
    """One axis per leaf of ``(args, kwargs)``."""
    if isinstance(in_axes, tuple) and len(in_axes) != len(args):
        raise ValueError(
            message(
                "vmap, argument in_axes",
                given=f"{len(in_axes)} axes, {in_axes}, for {len(args)} positional arguments "
                f"of {function_label(fun)}",
                expected="one axis (or tree of axes) per positional argument",
                fix="Use None for arguments that are not mapped.",
            )
        )
    prefix = (in_axes, 0) if kwargs else (in_axes, {})
    return _broadcast_axes("in_axes", prefix, (args, kwargs))


def _broadcast_axes(name: str, prefix: Any, full: Any) -> list[int | None]:
    try:
        return list(tree.broadcast_prefix(prefix, full, is_leaf=lambda x: x is None))
    except ValueError as error:
        raise ValueError(
            message(
                f"vmap, argument {name}",
                given=f"{prefix!r}; {error}",
                expected="a tree prefix of what it describes",
                fix=f"Give {name} the same containers, or a single axis for a whole subtree.",
            )
        ) from None


def _normalized(
    names: Callable[[], Sequence[str]], leaves: Sequence[Any], dims: Sequence[int | None]
) -> list[int | None]:
    """Axes counted from the front."""
    result: list[int | None] = []
    for i, (x, dim) in enumerate(zip(leaves, dims, strict=True)):
        ndim = aval_of(x).ndim if dim is not None else 0
        if dim is not None and not -ndim <= dim < ndim:
            raise ValueError(
                message(
                    f"vmap, argument {names()[i]}",
                    given=f"{aval_of(x)} mapped over axis {dim}",
                    expected=f"an axis of the array: it has {ndim}",
                    fix="Change in_axes for this argument, or use None to share it.",
                )
            )
        result.append(None if dim is None else dim % ndim)
    return result


def _mapped_size(
    names: Callable[[], Sequence[str]],
    leaves: Sequence[Any],
    dims: Sequence[int | None],
    axis_size: int | None,
) -> int:
    sizes = [
        (i, aval_of(x).shape[d])
        for i, (x, d) in enumerate(zip(leaves, dims, strict=True))
        if d is not None
    ]
    distinct = {n for _, n in sizes} | ({axis_size} if axis_size is not None else set())
    if len(distinct) == 1:
        return int(distinct.pop())
    if not distinct:
        raise ValueError(
            message(
                "vmap",
                given="no argument with a mapped axis",
                expected="at least one axis in in_axes that is not None, or axis_size",
                fix="Change in_axes, or pass axis_size.",
            )
        )
    found = ", ".join(f"{names()[i]} has size {n}" for i, n in sizes)
    asked = f", axis_size={axis_size}" if axis_size is not None else ""
    raise ValueError(
        message(
            "vmap",
            given=f"mapped axes of different sizes: {found}{asked}",
            expected="one size for all",
            fix="Check in_axes, or use None for arguments that are shared.",
        )
    )


def _result_axes(fun: Callable[..., Any], out_axes: Any, out_tree: Any) -> list[int | None]:
    example = out_tree.unflatten([0] * out_tree.num_leaves)
    return _broadcast_axes("out_axes", out_axes, example)


def _placed(
    axes: BatchAxes, x: Any, dim: int | None, where: int | None, flat: FlatFunction, position: int
) -> Any:
    """A result with its batch axis where `out_axes` wants it."""
    ndim = aval_of(x).ndim + (dim is None)
    if where is None and dim is None:
        return x if hasattr(x, "aval") else current_trace().constant(x)
    if where is None or not -ndim <= where < ndim:
        given = (
            "a result that differs between members of the batch"
            if where is None
            else (f"out_axes {where} for a batched result with {ndim} axes")
        )
        raise ValueError(
            message(
                f"vmap, argument out_axes, result number {position} "
                f"of {function_label(flat.function)}",
                given=given,
                expected="None only for results that are the same for all, or an existing axis",
                fix="Give the place of the mapped axis, such as out_axes=0.",
            )
        )
    return to_axis(axes, x, dim, where % ndim)
