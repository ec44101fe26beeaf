"""Dataclasses as nodes: which fields are children and which belong to the structure."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

from ..util.messages import message
from ._registered_kinds import DataclassKind
from ._registry import register

Class = TypeVar("Class", bound=type)


def static(**kwargs: Any) -> Any:
    """A dataclass field that belongs to the structure of the tree, not to its leaves.

    Args:
        **kwargs: what `dataclasses.field` accepts.

    Example:
        >>> import dataclasses
        >>> import morphax as jax
        >>> @jax.tree_util.register_dataclass
        ... @dataclasses.dataclass
        ... class Layer:
        ...     weight: float
        ...     activation: str = jax.tree.static(default="relu")
        >>> jax.tree.leaves(Layer(0.5))
        [0.5]
    """
    metadata: Mapping[Any, Any] = kwargs.pop("metadata", None) or {}
    return dataclasses.field(metadata={"static": True, **metadata}, **kwargs)


def register_dataclass(
    nodetype: Class,
    data_fields: Sequence[str] | None = None,
    meta_fields: Sequence[str] | None = None,
    drop_fields: Sequence[str] = (),
) -> Class:
    """Make instances of a dataclass nodes of trees; also a class decorator.

    A tree is rebuilt by calling the class with the data and meta fields as keyword arguments.

    Args:
        nodetype: a dataclass, or a class whose constructor takes the fields as keywords.
        data_fields: names of the fields that are children.
        meta_fields: names of the fields that belong to the structure; values with a plain `==`.
            Without both lists, fields marked with `tree.static()` are meta, all others data.
        drop_fields: fields that are left to their defaults when a tree is rebuilt.

    Returns:
        `nodetype`.

    Raises:
        TypeError: if only one list is given, or none for a class that is no dataclass.
        ValueError: if the lists overlap or differ from the fields that the constructor takes.

    Example:
        >>> import dataclasses
        >>> import morphax as jax
        >>> @jax.tree_util.register_dataclass
        ... @dataclasses.dataclass
        ... class Point:
        ...     x: float
        ...     y: float
        >>> jax.tree.map(lambda v: v + 1, Point(1, 2))
        Point(x=2, y=3)
    """
    data, meta = _field_lists(nodetype, data_fields, meta_fields)
    _check_fields(nodetype, data, meta, drop_fields)
    register(DataclassKind(nodetype, data, meta))
    return nodetype


def _field_lists(
    nodetype: type, data_fields: Sequence[str] | None, meta_fields: Sequence[str] | None
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The names of the data and of the meta fields, read from the class if they are not given."""
    if data_fields is not None and meta_fields is not None:
        return tuple(data_fields), tuple(meta_fields)
    if data_fields is not None or meta_fields is not None:
        raise TypeError(
            message(
                "register_dataclass",
                given=f"data_fields={data_fields!r} and meta_fields={meta_fields!r}",
                expected="both lists of fields, or none",
                fix="Add the other list, empty if need be, or mark static fields in the class.",
            )
        )
    if not dataclasses.is_dataclass(nodetype):
        raise TypeError(
            message(
                "register_dataclass, argument nodetype",
                given=f"{nodetype!r}, which is not a dataclass",
                expected="a dataclass, where data_fields and meta_fields are not given",
                fix="Decorate the class with @dataclass first, or name its fields.",
            )
        )
    fields = dataclasses.fields(nodetype)
    is_static = {field.name: bool(field.metadata.get("static")) for field in fields}
    return (
        tuple(name for name in is_static if not is_static[name]),
        tuple(name for name in is_static if is_static[name]),
    )


def _check_fields(
    nodetype: type, data: tuple[str, ...], meta: tuple[str, ...], drop: Sequence[str]
) -> None:
    """Compare the lists with each other and with the parameters of the constructor."""
    if overlap := sorted(set(data) & set(meta)):
        raise ValueError(
            message(
                f"register_dataclass of {nodetype.__name__}",
                given=f"fields {overlap} both in data_fields and in meta_fields",
                expected="each field in one list",
                fix="Remove them from one of the lists.",
            )
        )
    if not dataclasses.is_dataclass(nodetype):
        return
    needed = {field.name for field in dataclasses.fields(nodetype) if field.init} - set(drop)
    listed = {*data, *meta}
    if listed != needed:
        raise ValueError(
            message(
                f"register_dataclass of {nodetype.__name__}",
                given=f"fields missing: {sorted(needed - listed)}, "
                f"unexpected: {sorted(listed - needed)}",
                expected="exactly the fields with init=True that are not in drop_fields",
                fix="List the missing fields as data, meta or dropped; drop the unexpected ones.",
            )
        )
