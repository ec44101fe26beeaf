"""Named axes: which names collectives may refer to now, and the sizes of those axes."""

from __future__ import annotations

from collections.abc import Hashable

from ..util.contexts import replaced_attribute
from ..util.memo import memoize
from ..util.messages import message
from .jaxpr import Jaxpr, jaxprs_in_params
from .trace import _current

AxisEnv = tuple[tuple[Hashable, int], ...]


def axis_env() -> AxisEnv:
    """Names and sizes of the axes in scope, outermost first; part of trace-cache keys."""
    return _current.axis_env


def extended_axis_env(name: Hashable, size: int) -> replaced_attribute[AxisEnv]:
    """Context in which `name` is an axis of the given size."""
    return replaced_attribute(_current, "axis_env", (*_current.axis_env, (name, size)))


def axis_size(name: Hashable) -> int:
    """The size of the innermost axis called `name`."""
    for known, size in reversed(_current.axis_env):
        if known == name:
            return size
    known_names = [str(n) for n, _ in _current.axis_env]
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
