"""Named axes: which names collectives may refer to now, and the sizes of those axes."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import NamedTuple, final

from ..util.contexts import replaced_attribute
from ..util.memo import memoize
from ..util.messages import message
from .jaxpr import Jaxpr, jaxprs_in_params
from .trace import _current


@final
class NamedAxis(NamedTuple):
    """An axis that collectives may refer to.

    Args:
        name: of the axis.
        size: the number of members along it.
        in_types: whether types say along it which values vary between members: so they do of the
            axes of a mesh, but not under ``check_vma=False``, nor of those that `vmap` maps.
    """

    name: Hashable
    size: int
    in_types: bool = False


AxisEnv = tuple[NamedAxis, ...]


def axis_env() -> AxisEnv:
    """The axes in scope, outermost first; part of trace-cache keys."""
    return _current.axis_env


def extended_axis_env(name: Hashable, size: int) -> replaced_attribute[AxisEnv]:
    """Context in which `name` is an axis of the given size."""
    return with_axes([NamedAxis(name, size)])


def with_axes(axes: Iterable[NamedAxis]) -> replaced_attribute[AxisEnv]:
    """Context with further axes."""
    return replaced_attribute(_current, "axis_env", (*_current.axis_env, *axes))


def axis_size(name: Hashable) -> int:
    """The size of the innermost axis called `name`."""
    return named_axis(name).size


def axes_in_types(names: Iterable[Hashable]) -> frozenset[Hashable]:
    """Those of the axes along which types say what varies."""
    return frozenset([name for name in names if named_axis(name).in_types])


def all_in_types(names: Iterable[Hashable]) -> bool:
    """Whether types say along all of these axes what varies."""
    return all([named_axis(name).in_types for name in names])


def named_axis(name: Hashable) -> NamedAxis:
    """The innermost axis called `name`; `NameError` if there is none."""
    for axis in reversed(_current.axis_env):
        if axis.name == name:
            return axis
    known_names = [str(axis.name) for axis in _current.axis_env]
    raise NameError(
        message(
            "named axis",
            given=f"the axis name {name!r}",
            expected=f"one of the names in scope: {', '.join(known_names) or 'there are none'}",
            fix=f"Call the function under vmap(..., axis_name={name!r}) or shard_map.",
        )
    )


@memoize
def jaxpr_axis_names(jaxpr: Jaxpr) -> tuple[Hashable, ...]:
    """The axes that the operations of a program communicate over."""
    names: dict[Hashable, None] = {}
    for eqn in jaxpr.eqns:
        names.update(dict.fromkeys(eqn.primitive.axis_names(**eqn.params)))
        for inner in jaxprs_in_params(eqn.params):
            names.update(dict.fromkeys(jaxpr_axis_names(inner)))
    return tuple(names)
