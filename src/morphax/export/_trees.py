"""Structures of arguments and results as plain data, and classes of users among them.

Lists, tuples, dictionaries with names for keys, `None` and leaves are known.  A class of the user
must be registered under a name, by which another process finds its own class.  Exported programs
and checkpoints (`morphax.experimental.array_serialization`) share the names.
"""

from __future__ import annotations

import base64
import json
from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple, TypeVar

from .. import tree
from ..tree import PyTreeDef, default_registry
from ..tree._registry import kinds
from ..util.messages import described, message
from ._refusal import refused

T = TypeVar("T")
_LEAF: Final = tree.structure(0)
_NONE: Final = tree.structure(None)


class _Registration(NamedTuple):
    """How nodes of a class are written and read."""

    nodetype: type
    name: str
    serialize_auxdata: Callable[[Any], bytes]
    deserialize_auxdata: Callable[[bytes], Any]
    from_children: Callable[[Any, Sequence[Any]], Any] | None


_by_type: dict[type, _Registration] = {}
_by_name: dict[str, _Registration] = {}


def register_pytree_node_serialization(
    nodetype: type[T],
    *,
    serialized_name: str,
    serialize_auxdata: Callable[[Any], bytes | bytearray],
    deserialize_auxdata: Callable[[bytes], Any],
    from_children: Callable[[Any, Sequence[Any]], Any] | None = None,
) -> type[T]:
    """Let exported functions have arguments and results of a class that is registered as a tree.

    Args:
        nodetype: the class; see `jax.tree_util.register_pytree_node`.
        serialized_name: by which another process finds its own class.
        serialize_auxdata: makes bytes of the data that flattening returns besides the children.
        deserialize_auxdata: its inverse.
        from_children: makes an instance of such data and of children, if that is not as in
            `register_pytree_node`.

    Returns:
        The class.

    Raises:
        ValueError: if the class is no tree, or class or name are registered already.

    Example:
        >>> import morphax as jax
        >>> from morphax import export
        >>> class Box:
        ...     def __init__(self, content):
        ...         self.content = content
        >>> _ = jax.tree_util.register_pytree_node(
        ...     Box, lambda box: ((box.content,), None), lambda _, children: Box(*children)
        ... )
        >>> _ = export.register_pytree_node_serialization(
        ...     Box,
        ...     serialized_name="example.Box",
        ...     serialize_auxdata=lambda data: b"",
        ...     deserialize_auxdata=lambda data: None,
        ... )
        >>> exported = export.export(jax.jit(lambda box: box.content + 1))(Box(1.0))
        >>> export.deserialize(exported.serialize()).call(Box(2.0))
        Array(3., dtype=float32, weak_type=True)
    """
    if from_children is None and kinds.get(nodetype) is None:
        raise ValueError(
            message(
                "export.register_pytree_node_serialization, argument nodetype",
                given=f"{nodetype!r}, which is no tree",
                expected="a class that is registered",
                fix="Call jax.tree_util.register_pytree_node for it first.",
            )
        )
    _add(
        _Registration(
            nodetype,
            serialized_name,
            lambda data: bytes(serialize_auxdata(data)),
            deserialize_auxdata,
            from_children,
        )
    )
    return nodetype


def register_namedtuple_serialization(nodetype: type[T], *, serialized_name: str) -> type[T]:
    """Let exported functions have arguments and results of a named tuple.

    Args:
        nodetype: the class; its fields are the same where it is read.
        serialized_name: by which another process finds its own class.

    Returns:
        The class, so that this may be a decorator.

    Raises:
        ValueError: if it is no named tuple, or class or name are registered already.

    Example:
        >>> import collections
        >>> import morphax as jax
        >>> from morphax import export
        >>> Point = collections.namedtuple("Point", "x y")
        >>> _ = export.register_namedtuple_serialization(Point, serialized_name="example.Point")
        >>> exported = export.export(jax.jit(lambda p: Point(p.y, p.x)))(Point(1.0, 2.0))
        >>> export.deserialize(exported.serialize()).call(Point(3.0, 4.0)).x
        Array(4., dtype=float32, weak_type=True)
    """
    fields = getattr(nodetype, "_fields", None)
    if not (isinstance(nodetype, type) and issubclass(nodetype, tuple) and fields is not None):
        raise ValueError(
            message(
                "export.register_namedtuple_serialization, argument nodetype",
                given=described(nodetype),
                expected="a named tuple",
                fix="Use register_pytree_node_serialization for other classes.",
            )
        )

    def read(data: bytes) -> Any:
        names = _names(data)
        if names != tuple(fields):
            raise ValueError(
                message(
                    f"reading of a tree, named tuple {serialized_name}",
                    given=f"the fields {', '.join(names)}",
                    expected=f"those of {nodetype!r}: {', '.join(fields)}",
                    fix="Register a class with the fields it had when it was exported.",
                )
            )
        return nodetype

    _add(
        _Registration(
            nodetype,
            serialized_name,
            lambda data: json.dumps(fields).encode(),
            read,
            lambda data, children: nodetype(*children),
        )
    )
    return nodetype


def _names(data: bytes) -> tuple[str, ...]:
    """Names that a node was written with, as a list of JSON."""
    try:
        names = json.loads(data)
    except ValueError:
        names = None
    if not isinstance(names, list) or not all([isinstance(name, str) for name in names]):
        raise refused(f"names of fields: {data!r:.80}")
    return tuple(names)


def _add(new: _Registration) -> None:
    for known, what in ((_by_type.get(new.nodetype), "class"), (_by_name.get(new.name), "name")):
        if known is not None:
            raise ValueError(
                message(
                    "registration of a class for exported programs",
                    given=f"{new.nodetype!r} as {new.name!r}",
                    expected=f"a {what} that is new; {known.nodetype!r} is {known.name!r} already",
                    fix="Register each class once, under a name of its own.",
                )
            )
    _by_type[new.nodetype] = _by_name[new.name] = new


def tree_as_data(structure: PyTreeDef, where: str) -> Any:
    """A structure as lists and strings."""
    if structure == _LEAF:
        return "*"
    found: Any = structure.node_data()
    kind, data = found
    if kind is type(None):
        return None
    children = [tree_as_data(child, where) for child in structure.children()]
    if kind in (tuple, list):
        return [kind.__name__, children]
    if kind is dict and all([isinstance(key, str) for key in data]):
        return ["dict", list(data), children]
    name, written = class_as_bytes(kind, data, where)
    return ["class", name, base64.b64encode(written).decode("ascii"), children]


def class_as_bytes(kind: type, data: Any, where: str) -> tuple[str, bytes]:
    """The name of a node's class and its data; `ValueError` if the class is not registered."""
    if kind in _by_type:
        known = _by_type[kind]
        return known.name, known.serialize_auxdata(data)
    raise ValueError(
        message(
            where,
            given=f"a tree with {kind.__name__}" + (f" of keys {data}" if kind is dict else ""),
            expected="tuples, lists, dictionaries with strings for keys, None, registered classes",
            fix="Register the class with export.register_pytree_node_serialization.",
        )
    )


def tree_of_data(data: Any) -> PyTreeDef:
    """The structure that `tree_as_data` has written; `ValueError` or `TypeError` if it is none."""
    if data == "*":
        return _LEAF
    if data is None:
        return _NONE
    if not isinstance(data, list) or not data or not isinstance(data[-1], list):
        raise refused(f"no structure: {data!r:.80}")
    children = [tree_of_data(child) for child in data[-1]]
    build = PyTreeDef.from_node_data_and_children
    match data[:-1]:
        case ["tuple"]:
            return build(default_registry, (tuple, None), children)
        case ["list"]:
            return build(default_registry, (list, None), children)
        case ["dict", list(keys)] if all([isinstance(key, str) for key in keys]):
            return build(default_registry, (dict, sorted(keys)), children)
        case ["class", str(name), str(text)]:
            return node_of_class(name, _decoded(text), children)
    raise refused(f"no structure: {data!r:.80}")


def _decoded(text: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except ValueError:
        raise refused(f"data of a class: {text!r:.80}") from None


def node_of_class(name: str, data: bytes, children: Sequence[PyTreeDef]) -> PyTreeDef:
    """A node of the class that is registered as `name`, with the data it was written with."""
    if name not in _by_name:
        raise ValueError(
            message(
                "reading of a tree",
                given=f"a tree with a class that is called {name!r}",
                expected=f"one of the registered names: {', '.join(_by_name) or 'there are none'}",
                fix="Call export.register_pytree_node_serialization for the class first.",
            )
        )
    known = _by_name[name]
    try:
        aux = known.deserialize_auxdata(data)
        if known.from_children is None:
            return PyTreeDef.from_node_data_and_children(
                default_registry, (known.nodetype, aux), children
            )
        leaves = iter(range(sum([child.num_leaves for child in children])))
        parts = [c.unflatten([next(leaves) for _ in range(c.num_leaves)]) for c in children]
        return tree.structure(known.from_children(aux, parts))
    except (TypeError, ValueError) as error:
        raise ValueError(
            message(
                "reading of a tree",
                given=f"a node {name!r} with the data {data!r:.80} and {len(children)} children: "
                f"{error}",
                expected=f"what a {known.nodetype!r} is made of",
                fix="Read it with the class as it was when it was written.",
            )
        ) from error


def _keys_as_bytes(keys: Sequence[Any]) -> bytes:
    if all([isinstance(key, str) for key in keys]):
        return json.dumps(keys).encode()
    raise ValueError(
        message(
            "export",
            given=f"an OrderedDict of keys {keys!r:.80}",
            expected="strings for keys",
            fix="Make them strings with str.",
        )
    )


_add(
    _Registration(
        OrderedDict,
        "collections.OrderedDict",
        _keys_as_bytes,
        _names,
        lambda keys, children: OrderedDict(zip(keys, children, strict=True)),
    )
)
