"""`vmap`: map a function over an axis of its arguments, without a loop."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import replace
from typing import Any

import numpy as np

from .. import tree
from ..core import (
    AbstractSharding,
    BatchAxes,
    Operand,
    aval_of,
    current_trace,
    extended_axis_env,
    frames_hidden_in,
    new_trace,
)
from ..lax.reference.references import Ref
from ..lax.shape.resharding import resharded
from ..lax.shape.slicing import index_in_dim
from ..util.messages import message
from .batching import BatchTrace, SameAxis, to_axis
from .flattening import (
    FlatFunction,
    argument_names,
    as_output,
    check_callable,
    check_values,
    debug_info,
    function_label,
    wraps,
)
from .mapped_references import member_reference, write_back
from .vmappable import (
    from_member,
    is_axis_size,
    is_mappable,
    is_spec,
    is_vmappable,
    leaf_test,
    mapped_size,
    to_member,
)


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
        spmd_axis_name: of the axis of a mesh, or of several, over which constraints within `fun`
            split the mapped axis.
        sum_match: accepted for compatibility.

    Returns:
        The mapped function.

    Raises:
        ValueError: no argument is mapped, sizes of mapped axes differ, `in_axes` does not fit the
            arguments, or a result that differs between members meets ``out_axes=None``.
        TypeError: types say that mapped axes are split differently.

    Example:
        >>> import morphax as jax
        >>> import morphax.numpy as jnp
        >>> jax.vmap(jnp.dot, in_axes=(0, None))(jnp.eye(2), jnp.array([3.0, 4.0]))
        Array([3., 4.], dtype=float32)
    """
    check_callable("vmap", fun)
    if isinstance(in_axes, list):
        in_axes = tuple(in_axes)
    _check_in_axes(in_axes)
    _check_axes("out_axes", out_axes)
    axis_size = _checked_size(axis_size)
    _check_hashable("axis_name", axis_name)

    @wraps(fun)
    @frames_hidden_in
    def mapped(*args: Any, **kwargs: Any) -> Any:
        is_leaf = leaf_test()
        leaves, in_tree = tree.flatten((args, kwargs), is_leaf)
        names = functools.partial(argument_names, fun, in_tree)
        # Where nodes were taken for leaves, positions stand for them.
        whole = (args, kwargs) if is_leaf is None else in_tree.unflatten(range(len(leaves)))
        dims = _leaf_axes(fun, in_axes, *whole)
        # Leaves that are not mapped may be anything, functions for instance.
        needed = [
            0 if d is None or is_vmappable(x) else x for x, d in zip(leaves, dims, strict=True)
        ]
        check_values("vmap", names, needed)
        dims = _normalized(names, leaves, dims)
        axes = _mapped_axis(names, leaves, dims, axis_size, axis_name)
        if spmd_axis_name is not None:
            axes = _spmd_names(spmd_axis_name, axes)
        if axes.sharding is not None:
            leaves = [_split_along(x, d, axes) for x, d in zip(leaves, dims, strict=True)]
        whose = functools.partial(debug_info, "vmap", fun, in_tree)
        trace = BatchTrace(current_trace(), axes, whose)
        flat = FlatFunction(fun, in_tree, "vmap", accepts=is_mappable, is_leaf=is_leaf)
        named = extended_axis_env(axis_name, axes.size) if axis_name is not None else nullcontext()
        with named, new_trace(trace):
            members = [_member(trace, x, d) for x, d in zip(leaves, dims, strict=True)]
            outs = flat(*members)
        write_back(trace, leaves, members, dims)
        places = tree.flatten_axes("vmap, argument out_axes", flat.out_tree, out_axes, "out_axes")
        return flat.out_tree.unflatten(
            [
                _whole(trace, flat, position, x, where)
                for position, (x, where) in enumerate(zip(outs, places, strict=True))
            ]
        )

    return mapped


def _common_sharding(
    names: Callable[[], Sequence[str]], mapped: Sequence[tuple[int, int, Any]]
) -> AbstractSharding | None:
    """How the mapped axes, each an argument's number, axis and aval, are split over a mesh."""
    # What types leave open follows the others.
    shardings = {a.split.along(d) for _, d, a in mapped if a.split is not None}
    if not shardings:
        return None
    if len(shardings) == 1:
        return shardings.pop()
    found = [f"{names()[i]} along axis {d} of {aval}" for i, d, aval in mapped]
    raise ValueError(
        message(
            "vmap",
            given=f"mapped axes that are split differently: {', '.join(found)}",
            expected="mapped axes that are all split alike over the mesh",
            fix="Lay all mapped arguments out alike along the mapped axis.",
        )
    )


def _split_along(x: Any, dim: Any, axes: BatchAxes) -> Any:
    """A mapped argument whose type leaves open how it is split, split as the others are."""
    if dim is None or is_vmappable(x) or (aval := aval_of(x)).split is not None:
        return x
    assert axes.sharding is not None, "the mapped axis is split"
    whole = AbstractSharding(axes.sharding.mesh, ((),) * (aval.ndim - 1))
    return resharded(x, whole.with_axis(dim, axes.sharding))


def _spmd_names(given: Any, axes: BatchAxes) -> BatchAxes:
    """The mapped axis, over the axes of the mesh that `spmd_axis_name` names."""
    names = tuple(given) if isinstance(given, (tuple, list)) else (given,)
    typed = () if axes.sharding is None else axes.sharding.spec[0]
    if typed and typed != names:
        raise ValueError(
            message(
                "vmap, argument spmd_axis_name",
                given=f"{given!r:.80} for mapped axes split over {', '.join(map(str, typed))}",
                expected="the axes of the mesh that types name, or None",
                fix="Leave spmd_axis_name out: it is for axes of the type Auto.",
            )
        )
    return replace(axes, spmd_names=names)


def _check_in_axes(in_axes: object) -> None:
    if not (in_axes is None or isinstance(in_axes, (int, tuple)) or is_spec(in_axes)):
        raise TypeError(_axes_message("in_axes", in_axes, "an int, None, or a tuple with an entry"))
    _check_axes("in_axes", in_axes)


def _check_axes(name: str, axes: object) -> None:
    for leaf in tree.leaves(axes):
        if type(leaf) is not int and not is_spec(leaf):
            expected = "an int, None, or a tree (tuples, lists, dicts) of these, with an entry"
            raise TypeError(_axes_message(name, axes, expected))


def _axes_message(name: str, axes: object, expected: str) -> str:
    each = "positional argument" if name == "in_axes" else "result"
    return message(
        f"vmap, argument {name}",
        given=f"{axes!r}",
        expected=f"{expected} for each {each}",
        fix=f"Give one axis per {each}, None for those that are not mapped.",
    )


def _checked_size(axis_size: Any) -> Any:
    if axis_size is None or is_axis_size(axis_size):
        return axis_size
    if isinstance(axis_size, (int, np.integer)) and axis_size >= 0:
        return int(axis_size)
    kind = ValueError if isinstance(axis_size, (int, np.integer)) else TypeError
    raise kind(
        message(
            "vmap, argument axis_size",
            given=f"{axis_size!r}",
            expected="an int that is not negative, or None",
            fix="Leave it out if an argument is mapped.",
        )
    )


def _check_hashable(name: str, value: object) -> None:
    try:
        hash(value)
    except TypeError:
        raise TypeError(
            message(
                f"vmap, argument {name}",
                given=f"{value!r} of type {type(value).__name__}",
                expected="a name, such as a string, that can be hashed",
                fix="Pass a string, or a tuple of strings.",
            )
        ) from None


def _leaf_axes(
    fun: Callable[..., Any], in_axes: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> list[Any]:
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
    dims = tree.broadcast_prefix(
        in_axes,
        args,
        lambda x: x is None,
        where="vmap, argument in_axes",
        prefix_name="in_axes",
        full_name="args",
    )
    return dims + [0] * len(tree.leaves(kwargs)) if kwargs else dims


def _normalized(
    names: Callable[[], Sequence[str]], leaves: Sequence[Any], dims: Sequence[Any]
) -> list[Any]:
    """Axes counted from the front; specs as they are."""
    result: list[Any] = []
    for position, (x, dim) in enumerate(zip(leaves, dims, strict=True)):
        if dim is None or is_vmappable(x):
            result.append(dim)
            continue
        aval = aval_of(x)
        ndim = 0 if aval.is_high else aval.ndim
        if type(dim) is not int or not -ndim <= dim < ndim:
            raise ValueError(
                message(
                    f"vmap, argument {names()[position]}",
                    given=f"{aval} mapped over axis {dim!r}",
                    expected=f"an axis of the array, which has {ndim or 'none'}",
                    fix="Change in_axes for this argument, or use None to share it.",
                )
            )
        result.append(dim % ndim)
    return result


def _mapped_axis(
    names: Callable[[], Sequence[str]],
    leaves: Sequence[Any],
    dims: Sequence[Any],
    axis_size: Any,
    axis_name: Any,
) -> BatchAxes:
    sizes = [
        (i, d, aval_of(x))
        for i, (x, d) in enumerate(zip(leaves, dims, strict=True))
        if d is not None and not is_vmappable(x)
    ]
    distinct = {aval.shape[d] for _, d, aval in sizes}
    pairs = [(x, d) for x, d in zip(leaves, dims, strict=True) if is_vmappable(x)]
    others = [mapped_size(x, d) for x, d in pairs]
    distinct.update([size for size in others if size is not None])
    if axis_size is not None:
        distinct.add(axis_size)
    if len(distinct) == 1:
        if any([aval.is_on_mesh for _, _, aval in sizes]):
            return BatchAxes(distinct.pop(), axis_name, _common_sharding(names, sizes))
        return BatchAxes(distinct.pop(), axis_name)
    if not distinct:
        raise ValueError(
            message(
                "vmap",
                given="no argument with a mapped axis",
                expected="at least one axis in in_axes that is not None, or axis_size",
                fix="Change in_axes, or pass axis_size.",
            )
        )
    found = [f"{names()[i]} has size {aval.shape[d]} (axis {d} of {aval})" for i, d, aval in sizes]
    found += [f"{x!r} is mapped over axis {d}" for x, d in pairs]
    found += [f"axis_size={axis_size}"] if axis_size is not None else []
    raise ValueError(
        message(
            "vmap",
            given=f"vmap got inconsistent sizes for array axes to be mapped: {', '.join(found)}",
            expected="one size for all",
            fix="Check in_axes, or use None for arguments that are shared.",
        )
    )


def _member(trace: BatchTrace, x: Operand, axis: Any) -> Any:
    """What the user's function gets for a leaf."""
    if isinstance(x, Ref):
        return x if axis is None else member_reference(trace, x, axis)
    return to_member(trace, x, axis) if is_vmappable(x) else trace.new_argument(x, axis)


def _whole(trace: BatchTrace, flat: FlatFunction, position: int, x: Operand, where: Any) -> Any:
    """A result with its batch axis where `out_axes` wants it."""

    def place(size: Any, x: Operand, where: Any) -> Any:
        value, dim = trace.split(x)
        if where is None and dim is None:
            return as_output(value)
        if where is None and isinstance(same := trace.out_dim(x), SameAxis) and trace.axes.size:
            return index_in_dim(value, 0, same, keepdims=False)
        ndim = aval_of(value).ndim + (dim is None)
        if type(where) is not int or not -ndim <= where < ndim:
            raise ValueError(_misplaced(flat, position, where, ndim))
        return to_axis(trace.axes, value, dim, where % ndim)

    return from_member(place, trace.axes.size, x, where)


def _misplaced(flat: FlatFunction, position: int, where: Any, ndim: int) -> str:
    tagged = flat.out_tree.unflatten(range(flat.out_tree.num_leaves))
    path = tree.keystr(tree.leaves_with_path(tagged)[position][0])
    given = f"out_axes {where!r} for a batched result with {ndim} axes"
    if where is None:
        given = "vmap with out_axes None of a result that differs between members of the batch"
    return message(
        f"vmap, argument out_axes, result{path} of {function_label(flat.function)}",
        given=given,
        expected="None only for results that are the same for all, or an existing axis",
        fix="Give the place of the mapped axis, such as out_axes=0.",
    )
