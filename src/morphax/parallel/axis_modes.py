"""`auto_axes` and `explicit_axes`: functions within which other axes of the mesh are explicit.

The mesh stays; who says how arrays are split over some of its axes changes for the body of a
function.  Arguments and results are resharded on the way in and out, which moves no numbers where
they lie alike.
"""

from __future__ import annotations

import functools
from collections.abc import Hashable, Sequence
from typing import Any

from .. import tree
from ..core import AbstractMesh, AbstractSharding, AxisType, aval_of, is_value
from ..lax.ground.out_sharding import split_of
from ..lax.shape.resharding import resharded, without_types
from ..runtime.current_mesh import get_abstract_mesh, use_abstract_mesh
from ..runtime.named_sharding import NamedSharding
from ..util.messages import described, message


def auto_axes(
    f: Any = None, /, *, axes: str | tuple[str, ...] | None = None, out_sharding: Any = None
) -> Any:
    """`f`, in which the compiler splits over some axes of the mesh, and types do not speak of them.

    Args:
        f: a function of trees of arrays.
        axes: names of explicit axes of the mesh, all of them if left out.
        out_sharding: how the results are split in the end, a `jax.P` or a `jax.NamedSharding` or a
            tree of them that is a prefix of the result; it may be given at the call instead.

    Returns:
        A function of the same arguments.  Without `f`, a decorator.

    Raises:
        TypeError: at the call, if there is no `out_sharding`.
        ValueError: at the call, if there is no mesh, or it has no such explicit axes.

    Example:
        >>> import morphax as jax, morphax.numpy as jnp
        >>> with jax.set_mesh(jax.make_mesh((1,), ("x",))):
        ...     x = jnp.arange(4.0, out_sharding=jax.P("x"))
        ...     y = jax.sharding.auto_axes(jnp.cumsum, out_sharding=jax.P("x"))(x)
        >>> jax.typeof(y), y
        (ShapedArray(float32[4@x]), Array([0., 1., 3., 6.], dtype=float32))
    """
    if f is None:
        return functools.partial(auto_axes, axes=axes, out_sharding=out_sharding)
    given = out_sharding

    @functools.wraps(f)
    def wrapped(*args: Any, out_sharding: Any = None, **kwargs: Any) -> Any:
        wanted = given if out_sharding is None else out_sharding
        if wanted is None:
            raise _missing("auto_axes", "out_sharding")
        mesh = _mesh_of("auto_axes", (args, kwargs), wanted)
        names = _names("auto_axes", axes, mesh, AxisType.Explicit)
        inner = mesh.update_axis_types(dict.fromkeys(names, AxisType.Auto))
        args, kwargs = tree.map(lambda x: _without_types(x, names), (args, kwargs))
        with use_abstract_mesh(inner):
            result = f(*args, **kwargs)
        with use_abstract_mesh(mesh):
            return _all_split("auto_axes, argument out_sharding", result, wanted)

    return wrapped


def explicit_axes(
    f: Any = None, /, *, axes: str | tuple[str, ...] | None = None, in_sharding: Any = None
) -> Any:
    """`f`, in which types speak of some axes of the mesh over which the compiler splits elsewhere.

    Args:
        f: a function of trees of arrays.
        axes: names of axes of the mesh, all of them if left out.
        in_sharding: how the arguments are split within `f`, a `jax.P` or a `jax.NamedSharding` or
            a tree of them that is a prefix of the tuple of arguments; it may be given at the call.

    Returns:
        A function of the same arguments.  Without `f`, a decorator.

    Raises:
        TypeError: at the call, if there are arguments and no `in_sharding`.
        ValueError: at the call, if there is no mesh, or it has no such axes.

    Example:
        >>> import morphax as jax, morphax.numpy as jnp
        >>> auto = (jax.sharding.AxisType.Auto,)
        >>> with jax.set_mesh(jax.make_mesh((1,), ("x",), auto)):
        ...
        ...     @jax.sharding.explicit_axes(in_sharding=jax.P("x"))
        ...     def f(x):
        ...         print(jax.typeof(x))
        ...         return 2 * x
        ...
        ...     y = f(jnp.arange(4.0))
        float32[4@x]
    """
    if f is None:
        return functools.partial(explicit_axes, axes=axes, in_sharding=in_sharding)
    given = in_sharding

    @functools.wraps(f)
    def wrapped(*args: Any, in_sharding: Any = None, **kwargs: Any) -> Any:
        wanted = given if in_sharding is None else in_sharding
        if wanted is None and tree.leaves(args):
            raise _missing("explicit_axes", "in_sharding")
        mesh = _mesh_of("explicit_axes", (args, kwargs), wanted)
        names = _names("explicit_axes", axes, mesh, None)
        changed = [n for n in names if n not in mesh.explicit_axes]
        inner = mesh.update_axis_types(dict.fromkeys(names, AxisType.Explicit))
        with use_abstract_mesh(inner):
            args = _all_split("explicit_axes, argument in_sharding", args, wanted)
            result = f(*args, **kwargs)
        return tree.map(lambda x: _without_types(x, changed), result)

    return wrapped


def _missing(function: str, argument: str) -> TypeError:
    return TypeError(
        message(
            f"jax.sharding.{function}, argument {argument}",
            given="None, and none at the call",
            expected="how the arrays are split",
            fix=f"Pass {argument}=jax.P(...), with the function or at the call.",
        )
    )


def _mesh_of(function: str, arguments: Any, shardings: Any) -> AbstractMesh:
    """The current mesh, else that of the arguments, else of the shardings."""
    found = get_abstract_mesh()
    if not found.empty:
        return found
    for leaf in tree.leaves(arguments):
        split = aval_of(leaf).split if is_value(leaf) else None
        if split is not None:
            return split.mesh
    for leaf in tree.leaves(shardings):
        if isinstance(leaf, NamedSharding):
            return leaf.mesh.abstract_mesh
    raise ValueError(
        message(
            f"jax.sharding.{function}",
            given="a call while there is no current mesh",
            expected="a mesh",
            fix="Call it under `with jax.set_mesh(mesh):`.",
        )
    )


def _names(
    function: str, axes: Any, mesh: AbstractMesh, kind: AxisType | None
) -> tuple[Hashable, ...]:
    """The axes that change; `ValueError` unless the mesh has them, of this type if one is named."""
    known = mesh.axis_names if kind is None else mesh._axes_of(kind)
    if axes is None:
        return known
    names = tuple(axes) if isinstance(axes, (tuple, list, set, frozenset)) else (axes,)
    for name in names:
        if name not in mesh.axis_names:
            raise ValueError(
                message(
                    f"jax.sharding.{function}, argument axes",
                    given=described(name),
                    expected=f"names of axes of {mesh}",
                    fix=f"The axes are {', '.join(map(repr, mesh.axis_names))}.",
                )
            )
    return tuple([name for name in names if name in known])


def _all_split(where: str, values: Any, shardings: Any) -> Any:
    """A tree of arrays, split as a prefix of it says."""
    leaves, structure = tree.flatten(values)
    wanted = tree.broadcast_prefix(
        shardings,
        values,
        lambda x: x is None,
        where=where,
        prefix_name="shardings",
        full_name="arrays",
    )
    each = zip(leaves, wanted, strict=True)
    return structure.unflatten([resharded(x, split_of(where, s, aval_of(x))) for x, s in each])


def _without_types(x: Any, names: Sequence[Hashable]) -> Any:
    split: AbstractSharding | None = aval_of(x).split if is_value(x) else None
    return x if split is None else resharded(x, without_types(split, names))
