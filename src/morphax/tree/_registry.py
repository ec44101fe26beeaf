"""The registry: which Python types are nodes of trees, and the functions that add to it.

A type is a node or a leaf for all trees alike.  Two tables answer the question that flattening
asks of every object: `kinds` maps a type to the kind of node that its instances are (None for a
leaf), and `leaf_types` holds the leaf types met so far, so that `are_leaf_types` tests all children
of a node in one call.  The compiled core reads `kinds` too.  A type is judged when it is first met;
registering it later overrides that, so that a class may be registered while a tree is being
flattened.

Reads take no lock: they are single dictionary operations.  Writes take one.
"""

from __future__ import annotations

import threading
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

from ..util.messages import message
from ._builtin_kinds import DictKind, NamedTupleKind, NoneKind, SequenceKind, sorted_keys
from ._keypaths import DictKey
from ._node import NodeKind
from ._registered_kinds import CustomKind, Flatten, Unflatten

T = TypeVar("T")
Class = TypeVar("Class", bound=type)

# Types of leaves are only remembered, so a program that makes classes without end may forget them.
_MAX_LEAF_TYPES = 1024
_lock = threading.Lock()

leaf_types: set[type] = set()
are_leaf_types = leaf_types.issuperset


class _Kinds(dict[type, NodeKind | None]):
    """The table from a type to the kind of its instances, None for a leaf."""

    def __missing__(self, type_: type) -> NodeKind | None:
        if issubclass(type_, tuple) and hasattr(type_, "_fields"):
            return add(NamedTupleKind(type_), overrides=())
        with _lock:
            if type_ in self:
                return self[type_]
            if len(leaf_types) >= _MAX_LEAF_TYPES:
                for forgotten in leaf_types:
                    del self[forgotten]
                leaf_types.clear()
            self[type_] = None
            leaf_types.add(type_)
        return None


kinds = _Kinds()


def add(kind: NodeKind, overrides: type | tuple[()] = NamedTupleKind) -> NodeKind:
    """Enter `kind`, unless its type has a kind already that is no instance of `overrides`.

    Returns:
        the kind that the type now has.
    """
    with _lock:
        present = kinds.get(kind.type)
        if present is not None and not isinstance(present, overrides):
            return present
        leaf_types.discard(kind.type)
        kinds[kind.type] = kind
    return kind


_registrations = 0


def number_of_registrations() -> int:
    """How many classes have been registered so far: what is a node may change with it."""
    return _registrations


def register(kind: NodeKind) -> None:
    """Enter the kind of a type that is not registered yet."""
    global _registrations
    _registrations += 1
    if add(kind) is not kind:
        raise ValueError(
            message(
                "registration of a pytree class",
                given=f"{kind.type}, which is registered already",
                expected="a class that is not registered, each class being one kind of node",
                fix="Remove the second registration, or register a subclass.",
            )
        )


def register_pytree_node(
    nodetype: type[T],
    flatten_func: Callable[[T], tuple[Any, Any]],
    unflatten_func: Callable[[Any, Any], T],
    flatten_with_keys_func: Callable[[T], tuple[Any, Any]] | None = None,
) -> None:
    """Make instances of a class nodes of trees.

    Args:
        nodetype: the class; its subclasses are not included.
        flatten_func: maps an instance to `(children, auxiliary data)`, the children an iterable,
            the data anything with a plain `==`.
        unflatten_func: maps `(auxiliary data, children)` back to an instance, `children` being a
            tuple of anything, not only of arrays.
        flatten_with_keys_func: like `flatten_func`, with `(key, child)` pairs for children.

    Raises:
        ValueError: if the class is registered already.

    Example:
        >>> import morphax as jax
        >>> class Interval:
        ...     def __init__(self, low, high):
        ...         self.low, self.high = low, high
        >>> jax.tree_util.register_pytree_node(
        ...     Interval, lambda i: ((i.low, i.high), None), lambda _, ends: Interval(*ends)
        ... )
        >>> jax.tree.leaves([Interval(1, 2), 3])
        [1, 2, 3]
    """
    for name, function in (("flatten_func", flatten_func), ("unflatten_func", unflatten_func)):
        if not callable(function):
            raise TypeError(
                message(
                    f"register_pytree_node, argument {name}",
                    given=repr(function),
                    expected="a function",
                    fix="Pass the functions that flatten and unflatten instances of the class.",
                )
            )
    register(CustomKind(nodetype, flatten_func, unflatten_func, flatten_with_keys_func))


def register_pytree_node_class(cls: Class) -> Class:
    """Class decorator: register a class through its own methods.

    The class has a method `tree_flatten()`, which returns `(children, auxiliary data)`, and a
    class method `tree_unflatten(auxiliary data, children)`.

    Example:
        >>> import morphax as jax
        >>> @jax.tree_util.register_pytree_node_class
        ... class Pair:
        ...     def __init__(self, x, y):
        ...         self.x, self.y = x, y
        ...
        ...     def tree_flatten(self):
        ...         return (self.x, self.y), None
        ...
        ...     @classmethod
        ...     def tree_unflatten(cls, _, children):
        ...         return cls(*children)
        >>> jax.tree.leaves(Pair(1, 2))
        [1, 2]
    """
    methods: Any = cls
    register_pytree_node(cls, methods.tree_flatten, methods.tree_unflatten)
    return cls


def register_pytree_with_keys(
    nodetype: type[T],
    flatten_with_keys: Callable[[T], tuple[Iterable[tuple[Any, Any]], Any]],
    unflatten_func: Callable[[Any, Any], T],
    flatten_func: Callable[[T], tuple[Any, Any]] | None = None,
) -> None:
    """Make instances of a class nodes of trees, with names for their children in key paths.

    Args:
        nodetype: the class; its subclasses are not included.
        flatten_with_keys: maps an instance to `((key, child), ...), auxiliary data`.
        unflatten_func: maps `(auxiliary data, children)` back to an instance.
        flatten_func: maps an instance to `(children, auxiliary data)`; worth giving if it is
            faster than `flatten_with_keys`.

    Example:
        >>> import morphax as jax
        >>> from morphax.tree_util import GetAttrKey
        >>> class Circle:
        ...     def __init__(self, radius):
        ...         self.radius = radius
        >>> jax.tree_util.register_pytree_with_keys(
        ...     Circle,
        ...     lambda c: (((GetAttrKey("radius"), c.radius),), None),
        ...     lambda _, children: Circle(*children),
        ... )
        >>> jax.tree.leaves_with_path(Circle(2.0))
        [((GetAttrKey(name='radius'),), 2.0)]
    """

    def flatten_without_keys(tree: T) -> tuple[Any, Any]:
        pairs, data = flatten_with_keys(tree)
        return [child for _, child in pairs], data

    register_pytree_node(
        nodetype, flatten_func or flatten_without_keys, unflatten_func, flatten_with_keys
    )


def register_pytree_with_keys_class(cls: Class) -> Class:
    """Class decorator: register a class, with keys, through its own methods.

    Like `register_pytree_node_class`; the class has a method `tree_flatten_with_keys()`, which
    returns `((key, child), ...), auxiliary data`, and `tree_flatten` only if it wants to.

    Example:
        >>> import morphax as jax
        >>> @jax.tree_util.register_pytree_with_keys_class
        ... class Box:
        ...     def __init__(self, content):
        ...         self.content = content
        ...
        ...     def tree_flatten_with_keys(self):
        ...         return ((jax.tree_util.GetAttrKey("content"), self.content),), None
        ...
        ...     @classmethod
        ...     def tree_unflatten(cls, auxiliary, children):
        ...         return cls(*children)
        >>> jax.tree.map_with_path(lambda path, x: jax.tree_util.keystr(path), Box(1.0)).content
        '.content'
    """
    methods: Any = cls
    register_pytree_with_keys(
        cls,
        methods.tree_flatten_with_keys,
        methods.tree_unflatten,
        getattr(cls, "tree_flatten", None),
    )
    return cls


def register_static(cls: Class) -> Class:
    """Class decorator: instances are nodes without children, data of the structure itself.

    Instances should have `==`: structures are equal only if their static parts are.

    Example:
        >>> import morphax as jax
        >>> @jax.tree_util.register_static
        ... class Mode(str):
        ...     pass
        >>> jax.tree.leaves((1, Mode("train")))
        [1]
    """
    register(CustomKind(cls, lambda tree: ((), tree), lambda data, _: data))
    return cls


def _mapping_functions(
    data_of: Callable[[Any], Any],
    keys_of: Callable[[Any], tuple[Any, ...]],
    unflatten: Unflatten,
) -> tuple[Flatten, Unflatten, Flatten]:
    """The flatten functions of a mapping type, from its auxiliary data and the keys in those."""

    def flatten(tree: Any) -> tuple[Any, Any]:
        data = data_of(tree)
        return tuple([tree[key] for key in keys_of(data)]), data

    def flatten_with_keys(tree: Any) -> tuple[Any, Any]:
        data = data_of(tree)
        return tuple([(DictKey(key), tree[key]) for key in keys_of(data)]), data

    return flatten, unflatten, flatten_with_keys


for _kind in (NoneKind(), SequenceKind(tuple), SequenceKind(list), DictKind()):
    register(_kind)
register_pytree_node(
    OrderedDict,
    *_mapping_functions(
        tuple,
        lambda keys: keys,
        lambda keys, children: OrderedDict(zip(keys, children, strict=True)),
    ),
)
register_pytree_node(
    defaultdict,
    *_mapping_functions(
        lambda tree: (tree.default_factory, sorted_keys(tree)),
        lambda data: data[1],
        lambda data, children: defaultdict(data[0], zip(data[1], children, strict=True)),
    ),
)
