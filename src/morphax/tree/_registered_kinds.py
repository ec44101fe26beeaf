"""The kinds of node that users register: classes with flatten functions, and dataclasses.

The functions of a user may return anything; what they return is checked here, once, so that the
rest of the package can rely on tuples.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from operator import attrgetter
from typing import Any, final

from ..util.messages import message
from ._keypaths import GetAttrKey
from ._node import Node, NodeKind

Flatten = Callable[[Any], tuple[Iterable[Any], Any]]
Unflatten = Callable[[Any, Any], Any]


def _show(type_: type, data: Any, children: Sequence[str]) -> str:
    return f"CustomNode({type_.__name__}[{data}], [{', '.join(children)}])"


@final
class CustomKind(NodeKind):
    """A class registered with functions that flatten and unflatten its instances."""

    __slots__ = ("_flatten", "_flatten_with_keys", "_plain", "_unflatten")

    def __init__(
        self,
        type_: type,
        flatten: Flatten,
        unflatten: Unflatten,
        flatten_with_keys: Flatten | None = None,
    ) -> None:
        super().__init__(type_)
        self._flatten = flatten
        self._unflatten = unflatten
        self._flatten_with_keys = flatten_with_keys
        self._plain = Node(self, None, canonical=True)

    def functions(self) -> tuple[Any, ...]:
        return self._flatten, self._unflatten, self._flatten_with_keys

    def build(self, data: Any, children: Sequence[Any]) -> Any:
        return self._unflatten(data, tuple(children))

    def node(self, data: Any) -> Node:
        if data is None:
            return self._plain
        return Node(self, data, canonical=False)

    def expand(self, tree: Any) -> tuple[Sequence[Any], Node]:
        children, data = self._checked(self._flatten(tree), "flatten function", "children")
        return children, self.node(data)

    def expand_with_keys(self, tree: Any) -> tuple[Sequence[Hashable], Sequence[Any], Node]:
        if self._flatten_with_keys is None:
            return super().expand_with_keys(tree)
        pairs, data = self._checked(
            self._flatten_with_keys(tree), "flatten function with keys", "(key, child) pairs"
        )
        for pair in pairs:
            if type(pair) is not tuple or len(pair) != 2:
                raise self._wrong("flatten function with keys", pair, "(key, child) pairs")
        return [key for key, _ in pairs], [child for _, child in pairs], self.node(data)

    def _checked(self, result: Any, role: str, parts: str) -> tuple[tuple[Any, ...], Any]:
        if type(result) is not tuple or len(result) != 2:
            raise self._wrong(role, result, parts)
        children, data = result
        if type(children) is not tuple:
            if not isinstance(children, Iterable):
                raise self._wrong(role, result, parts)
            children = tuple(children)
        return children, data

    def _wrong(self, role: str, given: Any, parts: str) -> ValueError:
        return ValueError(
            message(
                f"{role} of the pytree class {self.type.__name__}",
                given=f"a result with {given!r}",
                expected=f"a tuple (children, auxiliary data), the first an iterable of {parts}",
                fix=f"Mend the {role} that was registered for {self.type.__qualname__}.",
            )
        )

    def show(self, data: Any, children: Sequence[str]) -> str:
        return _show(self.type, data, children)


@final
class DataclassKind(NodeKind):
    """A class whose `data` fields are children and whose `meta` fields are auxiliary data."""

    __slots__ = ("_data_values", "_fields", "_keys", "_meta", "_meta_values", "_plain")

    def __init__(self, type_: type, data: tuple[str, ...], meta: tuple[str, ...]) -> None:
        super().__init__(type_)
        self._fields = (*data, *meta)
        self._meta = meta
        self._keys = [GetAttrKey(name) for name in data]
        self._data_values = attributes_getter(data)
        self._meta_values = attributes_getter(meta)
        self._plain = Node(self, (), canonical=True)

    def build(self, data: tuple[Any, ...], children: Sequence[Any]) -> Any:
        return self.type(**dict(zip(self._fields, (*children, *data), strict=True)))

    def node(self, data: tuple[Any, ...]) -> Node:
        if not data:
            return self._plain
        return Node(self, data, canonical=False)

    def expand(self, tree: Any) -> tuple[Sequence[Any], Node]:
        return self._data_values(tree), self.node(self._meta_values(tree))

    def keys(self, data: Any, arity: int) -> Sequence[Hashable]:
        return self._keys

    def show(self, data: Any, children: Sequence[str]) -> str:
        return _show(self.type, data, children)


def attributes_getter(names: Sequence[str]) -> Callable[[Any], tuple[Any, ...]]:
    """The function from an object to the tuple of its attributes `names`."""
    match len(names):
        case 0:
            return lambda tree: ()
        case 1:
            (name,) = names
            return lambda tree: (getattr(tree, name),)
        case _:
            return attrgetter(*names)
