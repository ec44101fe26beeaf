"""Tables of rules as other people's code knows them: `table[primitive] = rule`.

A primitive holds its own rules; a table is a view that sets them on the object and reads them from
it.  It maps each primitive that has the rule.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, MutableMapping
from typing import Any, final

from ..core import Primitive, known_primitives
from ..extend.core.rules import delete_rule, has_rule, set_rule


@final
class RuleTable(MutableMapping[Primitive, Callable[..., Any]]):
    """A view of one rule of all primitives.

    Args:
        kind: the rule.
        adopt: a rule of the user → the attributes that a primitive with the rule has.
        show: a primitive → its rule with the user's calling convention.
        has: whether a primitive has the rule.
    """

    def __init__(
        self,
        kind: str,
        adopt: Callable[[Any], Mapping[str, Any]] | None = None,
        show: Callable[[Primitive], Any] | None = None,
        has: Callable[[Primitive], bool] | None = None,
    ) -> None:
        self._kind = kind
        self._adopt = adopt or (lambda rule: {kind: rule})
        self._show = show or (lambda primitive: getattr(primitive, kind))
        self._has = has or (lambda primitive: has_rule(primitive, kind))

    def __getitem__(self, primitive: Primitive) -> Callable[..., Any]:
        if not self.__contains__(primitive):
            raise KeyError(primitive)
        return self._show(primitive)

    def __setitem__(self, primitive: Primitive, rule: Callable[..., Any]) -> None:
        for name, value in self._adopt(rule).items():
            set_rule(primitive, name, value)

    def __delitem__(self, primitive: Primitive) -> None:
        delete_rule(primitive, self._kind)

    def __contains__(self, primitive: object) -> bool:
        return isinstance(primitive, Primitive) and self._has(primitive)

    def __iter__(self) -> Iterator[Primitive]:
        return filter(self._has, known_primitives())

    def __len__(self) -> int:
        return sum(map(self._has, known_primitives()))

    def __repr__(self) -> str:
        return f"RuleTable({self._kind!r}, {len(self)} rules)"
