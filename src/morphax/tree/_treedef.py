"""`PyTreeDef`: the structure of a tree, without its leaves.

A definition is a node and the definitions of its children; `LEAF` stands for any leaf.  Two facts
make it fast.  Definitions over canonical nodes are *interned*: the same structure is nearly always
the same object, so that comparing two of them is comparing pointers (equality falls back on a walk,
since the tables are emptied when they grow too large and data of registered classes are compared
with `==`).  And everything expensive (hash, order of building) is computed once and kept.

No function here recurses: trees may be as deep as memory allows.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Any, TypeVar, final

from ..util.messages import message
from ._core import twin
from ._mismatch import explain, note_path, short, wrong_number_of_leaves
from ._node import Node
from ._registry import kinds
from ._unflatten import Program, build, post_order

T = TypeVar("T")
_MAX_KNOWN = 4096


@final
class PyTreeDef:
    """The structure of a tree; it prints as the tree with `*` for each leaf.

    Made by `tree.structure` and `tree.flatten`; immutable and hashable.

    Example:
        >>> import morphax as jax
        >>> jax.tree.structure({"a": 1, "b": (2, None)})
        PyTreeDef({'a': *, 'b': (*, None)})
    """

    __slots__ = (
        "__weakref__",
        "_defs",
        "_flat",
        "_hash",
        "_node",
        "_num_leaves",
        "_num_nodes",
        "_program",
        "_shared",
    )

    def __init__(self, node: Node | None, defs: tuple[PyTreeDef, ...]) -> None:
        """Internal: use `treedef_of`, which interns."""
        self._node = node
        self._defs = defs
        self._hash: int | None = None
        self._program: Program | None = None
        if node is None:
            self._flat, self._shared = False, True
            self._num_leaves = self._num_nodes = 1
        else:
            num_leaves, num_nodes, flat, shared = 0, 1, True, node.canonical
            for child in defs:
                num_leaves += child._num_leaves
                num_nodes += child._num_nodes
                flat = flat and child._node is None
                shared = shared and child._shared
            self._num_leaves, self._num_nodes = num_leaves, num_nodes
            self._flat, self._shared = flat, shared

    @property
    def num_leaves(self) -> int:
        """The number of leaves."""
        return self._num_leaves

    @property
    def num_nodes(self) -> int:
        """The number of nodes, leaves included."""
        return self._num_nodes

    def children(self) -> list[PyTreeDef]:
        """The definitions of the root's children."""
        return list(self._defs)

    def node_data(self) -> tuple[type, Any] | None:
        """Type and auxiliary data of the root; None if it is a leaf."""
        if self._node is None:
            return None
        return self._node.kind.type, self._node.kind.public_data(self._node.data)

    def unflatten(self, leaves: Iterable[Any], /) -> Any:
        """The tree with this structure and these leaves, in the order of flattening."""
        return build_tree(self, leaves)

    def flatten_up_to(self, tree: Any) -> list[Any]:
        """The subtrees of `tree` that stand where this structure has its leaves.

        Raises:
            ValueError: if this structure is not a prefix of the structure of `tree`.

        Example:
            >>> import morphax as jax
            >>> jax.tree.structure((0, [0])).flatten_up_to(({"a": 1}, [(2, 3)]))
            [{'a': 1}, (2, 3)]
        """
        subtrees = match(self, tree)
        if subtrees is None:
            raise explain(self, tree, "PyTreeDef.flatten_up_to")
        return subtrees

    def compose(self, inner: PyTreeDef, /) -> PyTreeDef:
        """This structure with `inner` in the place of each leaf."""
        _check_is_treedef(inner, "PyTreeDef.compose")
        return _fold(self, lambda: inner, treedef_of)

    def walk(
        self,
        f_node: Callable[[Any, Any], Any],
        f_leaf: Callable[[Any], Any] | None,
        leaves: Iterable[Any],
        /,
    ) -> Any:
        """Reduce a tree with this structure, from the leaves to the root.

        Args:
            f_node: maps (results of the children as a tuple, auxiliary data) to a result.
            f_leaf: maps a leaf to a result; None leaves them as they are.
            leaves: the leaves, in the order of flattening.
        """
        supply = list(leaves)
        if len(supply) != self._num_leaves:
            raise wrong_number_of_leaves(len(supply), self._num_leaves, self)
        results = iter(supply if f_leaf is None else map(f_leaf, supply))

        def visit(node: Node, children: Sequence[Any]) -> Any:
            return f_node(tuple(children), node.kind.level_data(node.data))

        return _fold(self, lambda: next(results), visit)

    def from_iterable_tree(self, nested: Any, /) -> Any:
        """The tree with this structure, its leaves given by nested iterables of the same shape.

        Raises:
            ValueError: if an iterable has not as many elements as its node has children.
        """
        leaves: list[Any] = []
        stack = [(self, nested)]
        while stack:
            treedef, given = stack.pop()
            if treedef is LEAF:
                leaves.append(given)
                continue
            children = list(given)
            if len(children) != len(treedef._defs):
                raise ValueError(
                    message(
                        "PyTreeDef.from_iterable_tree",
                        given=f"{len(children)} elements for a node",
                        expected=f"{len(treedef._defs)}, since the node is {short(treedef)}",
                        fix="Nest the iterables like the structure.",
                    )
                )
            stack.extend(zip(reversed(treedef._defs), reversed(children), strict=True))
        return self.unflatten(leaves)

    @staticmethod
    def from_node_data_and_children(
        registry: Any, node_data: tuple[type, Any] | None, children: Iterable[PyTreeDef]
    ) -> PyTreeDef:
        """The inverse of `node_data` and `children`; `registry` is `default_registry`."""
        defs = tuple(children)
        for child in defs:
            _check_is_treedef(child, "PyTreeDef.from_node_data_and_children, argument children")
        node = None if node_data is None else _node_of(*node_data)
        arity = 0 if node is None else node.kind.arity(node.data)
        if arity is not None and arity != len(defs):
            raise ValueError(
                message(
                    "PyTreeDef.from_node_data_and_children",
                    given=f"{len(defs)} children for a node with data {node_data!r}",
                    expected="one child for each key of a dict, none for a leaf or None",
                    fix="Pass what node_data() and children() returned.",
                )
            )
        return LEAF if node is None else treedef_of(node, defs)

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if not isinstance(other, PyTreeDef):
            return NotImplemented
        return _equal(self, other)

    def __hash__(self) -> int:
        known = self._hash
        return _hash(self) if known is None else known

    def __repr__(self) -> str:
        text = _fold(self, lambda: "*", lambda node, texts: node.kind.show(node.data, texts))
        return f"PyTreeDef({text})"

    def __copy__(self) -> PyTreeDef:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> PyTreeDef:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        records = [
            (treedef._node.kind.type, treedef._node.data, len(treedef._defs))
            if treedef._node is not None
            else None
            for treedef in _nodes(self)
        ]
        return _restore, (records,)


LEAF = PyTreeDef(None, ())


@twin
def treedef_of(node: Node, defs: Sequence[PyTreeDef]) -> PyTreeDef:
    """The definition with this root and these children, interned if all its nodes are canonical.

    Others are not kept: each flattening may make them anew, with data that should not outlive it.
    """
    if not node.canonical:
        return PyTreeDef(node, tuple(defs))
    key = tuple(map(id, defs))
    treedef: PyTreeDef | None = node.known.get(key)
    if treedef is None:
        treedef = PyTreeDef(node, tuple(defs))
        if treedef._shared:
            # The value keeps the children alive, and with them the identities in the key.
            treedef = _remember(node, key, treedef)
    return treedef


@twin
def flat_treedef(node: Node, arity: int) -> PyTreeDef:
    """`treedef_of` a node whose children are all leaves."""
    treedef: PyTreeDef | None = node.known.get(arity)
    if treedef is None:
        treedef = treedef_of(node, (LEAF,) * arity)
        if treedef._shared:
            _remember(node, arity, treedef)
    return treedef


def _remember(node: Node, key: Hashable, treedef: PyTreeDef) -> PyTreeDef:
    if len(node.known) >= _MAX_KNOWN:
        node.known.clear()
    remembered: PyTreeDef = node.known.setdefault(key, treedef)
    return remembered


@twin
def match(treedef: PyTreeDef, tree: Any) -> list[Any] | None:
    """`PyTreeDef.flatten_up_to`, except that the result of a mismatch is None."""
    subtrees: list[Any] = []
    stack: list[tuple[PyTreeDef, Any]] = [(treedef, tree)]
    while stack:
        here, subtree = stack.pop()
        node = here._node
        if node is None:
            subtrees.append(subtree)
            continue
        kind = kinds[type(subtree)]
        if kind is None:
            return None
        try:
            children, found = kind.expand(subtree)
        except Exception as error:
            note_path(error, treedef, tree, subtree)
            raise
        if len(children) != len(here._defs) or not (found is node or node.same(found)):
            return None
        if here._flat:
            subtrees.extend(children)
        else:
            stack.extend(zip(reversed(here._defs), reversed(children), strict=True))
    return subtrees


def _fold(treedef: PyTreeDef, leaf: Callable[[], T], node: Callable[[Node, list[T]], T]) -> T:
    """Replace each leaf by `leaf()` and each node by `node(node, results of its children)`."""
    results: list[T] = []
    for here in _nodes(treedef):
        if here._node is None:
            results.append(leaf())
        else:
            start = len(results) - len(here._defs)
            children = results[start:]
            del results[start:]
            results.append(node(here._node, children))
    return results[0]


def _nodes(treedef: PyTreeDef) -> list[PyTreeDef]:
    """The definitions of all nodes and leaves, children before their parent."""
    return post_order(treedef, lambda here: here._defs)


@twin
def build_tree(treedef: PyTreeDef, leaves: Iterable[Any]) -> Any:
    """`PyTreeDef.unflatten`."""
    # A user's function must not change a list that is being read.
    leaves = tuple(leaves)
    if len(leaves) != treedef._num_leaves:
        raise wrong_number_of_leaves(len(leaves), treedef._num_leaves, treedef)
    node = treedef._node
    if node is not None and treedef._flat:
        return node.build(leaves)
    if treedef._program is None:
        treedef._program = _building_program(treedef)
    return build(treedef._program, leaves)


def _building_program(treedef: PyTreeDef) -> Program:
    order = post_order(treedef, lambda here: () if here._flat else here._defs)
    return [(len(here._defs), here._flat, here._node) for here in order]


@twin
def _equal(left: PyTreeDef, right: PyTreeDef) -> bool:
    if left._num_leaves != right._num_leaves or left._num_nodes != right._num_nodes:
        return False
    stack = [(left, right)]
    while stack:
        left, right = stack.pop()
        if left is right:
            continue
        if left._node is None or right._node is None or len(left._defs) != len(right._defs):
            return False
        if not left._node.same(right._node):
            return False
        stack.extend(zip(left._defs, right._defs, strict=True))
    return True


@twin
def _hash(treedef: PyTreeDef) -> int:
    """The hash of a definition, which it and the definitions in it remember."""
    result = 0
    # The walk stops at definitions whose hash is known: mostly those that are shared.
    for here in post_order(treedef, lambda here: here._defs if here._hash is None else ()):
        if here._hash is None:
            here._hash = _hash_from_children(here)
        result = here._hash
    return result


def _hash_from_children(treedef: PyTreeDef) -> int:
    node = treedef._node
    if node is None:
        return hash(PyTreeDef)
    return hash((node.kind, node.kind.hash_data(node.data), *[d._hash for d in treedef._defs]))


def _check_is_treedef(value: object, where: str) -> None:
    if not isinstance(value, PyTreeDef):
        raise TypeError(
            message(
                where,
                given=f"an object of type {type(value).__name__}",
                expected="a PyTreeDef",
                fix="Pass tree.structure(tree) instead of the tree.",
            )
        )


def _node_of(type_: type, data: Any) -> Node:
    """The node of an instance of `type_` with these data."""
    kind = kinds[type_]
    if kind is None:
        raise ValueError(
            message(
                "reconstruction of a PyTreeDef",
                given=f"a node of type {type_!r}, which is not registered",
                expected="types that are nodes of trees in this process",
                fix="Import or run the code that registers the class first.",
            )
        )
    return kind.node(data)


def _restore(records: list[tuple[type, Any, int] | None]) -> PyTreeDef:
    """The inverse of `PyTreeDef.__reduce__`."""
    defs: list[PyTreeDef] = []
    for record in records:
        if record is None:
            defs.append(LEAF)
        else:
            type_, data, arity = record
            start = len(defs) - arity
            children = defs[start:]
            del defs[start:]
            defs.append(treedef_of(_node_of(type_, data), children))
    return defs[0]
