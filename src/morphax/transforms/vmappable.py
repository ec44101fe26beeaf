"""Types of the user that `vmap` maps over as it maps over arrays.

A *vmappable* type holds arrays of which it alone knows the axes that are mapped.  It comes with a
type of *specs*, which stand in `in_axes` and `out_axes` where arrays have the number of an axis,
and with functions that take a whole to one member and back.  They see arrays and members only
through a function that is handed to them, which does the same for the parts.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, final

import numpy as np

from ..core import BatchAxes, is_value
from ..lax.shape.filling import iota
from ..util.records import dataclass
from .batching import BatchTrace


@final
@dataclass(frozen=True, slots=True)
class Vmappable:
    """How to map over one type; see `register_vmappable`."""

    data_type: type
    spec_type: type
    axis_size_type: type | None
    to_elt: Callable[..., Any]
    from_elt: Callable[..., Any]
    make_iota: Callable[[Any], Any] | None


_registered: dict[type, Vmappable] = {}


def register_vmappable(
    data_type: type,
    spec_type: type,
    axis_size_type: type | None,
    to_elt: Callable[..., Any],
    from_elt: Callable[..., Any],
    make_iota: Callable[[Any], Any] | None,
) -> None:
    """Let `vmap` map over objects of a type.

    Args:
        data_type: the type; to `vmap` its objects are leaves, also where it is a pytree.
        spec_type: the type of its specs.  If that is int, they are axes of its `shape`.
        axis_size_type: the type of sizes that `axis_size` may have, if not an int.
        to_elt: (part, index, whole, spec) → the object that stands for one member.
            ``part(x, axis_or_spec)`` is one member of an array or other vmappable in the whole, and
            ``index()`` the position of the member.
        from_elt: (whole, axis_size, member, spec) → the object with all members.
            ``whole(axis_size, x, axis_or_spec)`` is the array of all members.
        make_iota: size of `axis_size_type` → array of all positions.

    Example:
        >>> import morphax as jax, morphax.numpy as jnp
        >>> from dataclasses import dataclass
        >>> from morphax.interpreters.batching import register_vmappable, unregister_vmappable
        >>> @dataclass
        ... class Series:
        ...     values: jax.Array
        >>> @dataclass
        ... class Along:
        ...     axis: int
        >>> register_vmappable(
        ...     Series,
        ...     Along,
        ...     None,
        ...     lambda part, index, x, spec: Series(part(x.values, spec.axis)),
        ...     lambda whole, size, x, spec: Series(whole(size, x.values, spec.axis)),
        ...     None,
        ... )
        >>> double = jax.vmap(lambda s: Series(2 * s.values), (Along(0),), Along(0), axis_size=2)
        >>> double(Series(jnp.array([1.0, 2.0])))
        Series(values=Array([2., 4.], dtype=float32))
        >>> unregister_vmappable(Series)
    """
    _registered[data_type] = Vmappable(
        data_type, spec_type, axis_size_type, to_elt, from_elt, make_iota
    )


def unregister_vmappable(data_type: type) -> None:
    """Forget what was registered for a type, if anything was."""
    _registered.pop(data_type, None)


def is_vmappable(x: object) -> bool:
    """Whether `x` is of a registered type."""
    return type(x) in _registered


def leaf_test() -> Callable[[object], bool] | None:
    """What `vmap` asks of the nodes of its trees: objects of registered types are its leaves."""
    return is_vmappable if _registered else None


def mapped_size(x: Any, axis: Any) -> int | None:
    """The size of the mapped axis of a vmappable; `None` if its spec is no axis."""
    return int(x.shape[axis]) if type(axis) is int else None


def is_mappable(x: object) -> bool:
    """Whether `vmap` can map over `x`: an array, or of a registered type."""
    return is_value(x) or type(x) in _registered


def is_spec(axis: object) -> bool:
    """Whether `axis` is a spec of a registered type."""
    return bool(_registered) and type(axis) in {v.spec_type for v in _registered.values()}


def is_axis_size(size: object) -> bool:
    """Whether `size` is of the sizes of a registered type."""
    return type(size) in {v.axis_size_type for v in _registered.values()}


def to_member(trace: BatchTrace, x: Any, axis: Any) -> Any:
    """The object of the user's function that stands for one member of `x`."""
    index = cache(lambda: trace.wrap(positions(trace.axes), 0))

    def part(x: Any, axis: Any) -> Any:
        known = _registered.get(type(x))
        if known is not None:
            return known.to_elt(part, index, x, axis)
        return trace.wrap(x, axis)

    return part(x, axis)


def from_member(place: Callable[[Any, Any, Any], Any], size: Any, x: Any, axis: Any) -> Any:
    """The whole of a result that stands for one member.

    Args:
        place: (size, array of the member, axis) → the whole array.
        size: of the mapped axis.
        x: the result.
        axis: where `out_axes` wants the mapped axis, an axis or a spec.
    """
    known = _registered.get(type(x))
    if known is None:
        return place(size, x, axis)
    return known.from_elt(lambda n, part, where: from_member(place, n, part, where), size, x, axis)


def positions(axes: BatchAxes) -> Any:
    """The positions of all members, an int32 array."""
    for known in _registered.values():
        if known.make_iota is not None and type(axes.size) is known.axis_size_type:
            return known.make_iota(axes.size)
    return iota(np.int32, axes.size)
