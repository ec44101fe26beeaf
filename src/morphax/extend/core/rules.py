"""Setting rules of user-defined primitives, one at a time.

A rule set on the object takes precedence over that of its class.  What was derived from an earlier
rule is remembered in many places, so replacing one empties all caches.
"""

from __future__ import annotations

import inspect
from typing import Any

from ...core import NoRule, Primitive
from ...util.memo import clear_all


def has_rule(primitive: Primitive, kind: str) -> bool:
    """Whether a primitive has the rule `kind`."""
    return not isinstance(_stated(primitive, kind), NoRule | None)


def set_rule(primitive: Primitive, kind: str, rule: Any) -> None:
    """Give `primitive` the rule `kind`."""
    if has_rule(primitive, kind):
        clear_all()
    setattr(primitive, kind, rule)


def delete_rule(primitive: Primitive, kind: str) -> None:
    """Take away a rule that was set; `KeyError` if none was."""
    if kind not in vars(primitive):
        raise KeyError(primitive)
    delattr(primitive, kind)
    clear_all()


def _stated(primitive: Primitive, kind: str) -> Any:
    return vars(primitive).get(kind, inspect.getattr_static(type(primitive), kind, None))
