"""Structures of trees as plain data, and futures of trees."""

from __future__ import annotations

import asyncio
import base64
from collections.abc import Generator, Mapping
from concurrent.futures import Future
from types import ModuleType as PickleModule  # noqa: F401  a public name of JAX
from typing import Any, final

from ...export import (
    register_pytree_node_serialization as register_pytree_node_serialization,
)
from ...tree import PyTreeDef
from ...util.messages import described, message
from ._tree_format import refused, tree_as_bytes, tree_of_bytes

__all__ = [
    "deserialize_pytreedef",
    "register_pytree_node_serialization",
    "serialize_pytreedef",
]

STRUCTURE_KEY = "__jax_pytreedef_repr"
LEAVES_KEY = "__jax_leaf_ids"


def serialize_pytreedef(node: PyTreeDef) -> dict[str, Any]:
    """The structure of a tree as data that JSON can hold.

    Args:
        node: the structure.

    Raises:
        TypeError: if it is no structure, or a dictionary has keys that are no strings.
        ValueError: if the class of a node is not registered by
            `register_pytree_node_serialization`.

    Example:
        >>> import morphax as jax
        >>> from morphax.experimental.array_serialization import pytree_serialization_utils as utils
        >>> data = utils.serialize_pytreedef(jax.tree.structure({"a": 1, "b": [2, None]}))
        >>> data["__jax_leaf_ids"]
        [0, 1]
        >>> utils.deserialize_pytreedef(data)
        PyTreeDef({'a': *, 'b': [*, None]})
    """
    where = "serialize_pytreedef"
    if not isinstance(node, PyTreeDef):
        raise TypeError(
            message(
                f"{where}, argument node",
                given=described(node),
                expected="the structure of a tree",
                fix="Pass jax.tree.structure(tree).",
            )
        )
    data = tree_as_bytes(node, where)
    # What cannot be read must not be written.
    tree_of_bytes(data)
    text = base64.b64encode(data).decode("ascii")
    return {STRUCTURE_KEY: text, LEAVES_KEY: list(range(node.num_leaves))}


def deserialize_pytreedef(pytreedef_repr: Mapping[str, Any]) -> PyTreeDef:
    """The structure that `serialize_pytreedef` has made data of.

    Args:
        pytreedef_repr: the data.

    Raises:
        ValueError: if they are damaged, or the class of a node is not registered.
    """
    text = pytreedef_repr.get(STRUCTURE_KEY) if isinstance(pytreedef_repr, Mapping) else None
    if not isinstance(text, str):
        raise refused(f"no text of the name {STRUCTURE_KEY}")
    try:
        data = base64.b64decode(text, validate=True)
    except ValueError:
        raise refused(f"{text:.80}, which is not base64") from None
    return tree_of_bytes(data)


@final
class PyTreeFuture(Future[Any]):
    """The result of an operation that goes on; it may be awaited.

    Args:
        future: the operation.

    Attributes:
        pytree: the tree with a `jax.ShapeDtypeStruct` for each array, known from the start.
    """

    def __init__(self, future: Future[Any]) -> None:
        super().__init__()
        self.pytree: Any = None
        self.set_running_or_notify_cancel()
        future.add_done_callback(self._end_as)

    def _end_as(self, future: Future[Any]) -> None:
        error = future.exception()
        if error is not None:
            self.set_exception(error)
        else:
            self.set_result(future.result())

    def __await__(self) -> Generator[Any, None, Any]:
        return asyncio.wrap_future(self).__await__()

    def __repr__(self) -> str:
        return f"PyTreeFuture(done={self.done()}, pytree={self.pytree})"
