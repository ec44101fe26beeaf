"""What to say when a tree does not have the structure it should have.

Matching a tree with a structure is a hot path and only finds out *that* they differ.  This module
then walks both again, with key paths, to say *where* and *how*: the error names the place on both
sides, what stands there, and what is missing or too much.  It uses nothing but the public methods
of a structure.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import Any, NamedTuple, Protocol

from ..util.messages import message
from ._keypaths import keystr
from ._one_level import flatten_one_level, flatten_one_level_with_keys, is_tree_node


class Difference(NamedTuple):
    """What differs, in words that others match; what was expected and given, how to mend it."""

    kind: str
    expected: str
    given: str
    fix: str


class Structure(Protocol):
    """The part of `PyTreeDef` that is used here."""

    def children(self) -> Sequence[Structure]: ...

    def node_data(self) -> tuple[type, Any] | None: ...


def walk_together(
    structure: Structure, tree: Any
) -> Iterator[tuple[tuple[Any, ...], Structure, Any]]:
    """Path, structure and subtree at each node of both, in the order of flattening.

    A subtree is taken apart only after it was yielded: whoever iterates sees a mismatch, or an
    object that cannot be flattened, before the walk stumbles over it.
    """
    stack: list[tuple[tuple[Any, ...], Structure, Any]] = [((), structure, tree)]
    while stack:
        path, here, subtree = stack.pop()
        yield path, here, subtree
        if here.node_data() is not None:
            pairs, _ = flatten_one_level_with_keys(subtree)
            # Functions of a user, with and without keys, may disagree about the children.
            below = [
                ((*path, key), definition, child)
                for definition, (key, child) in zip(here.children(), pairs, strict=False)
            ]
            stack.extend(reversed(below))


def explain(
    structure: Structure,
    tree: Any,
    where: str,
    structure_name: str = "the structure",
    tree_name: str = "the tree",
) -> ValueError:
    """The error that describes the first place where `tree` differs from `structure`."""
    place = ""
    difference = Difference(
        "Custom node children mismatch",
        "flatten functions that agree with each other",
        "a node of a registered class whose children differ from one call to the next",
        "Make the functions registered for the class return the same children each time.",
    )
    for path, here, subtree in walk_together(structure, tree):
        if (found := _difference(here, subtree)) is not None:
            place, difference = keystr(path), found
            break
    kind, expected, given, fix = difference
    return ValueError(
        message(
            f"{where}, at key path {place}" if place else f"{where}, at the root",
            given=f"{kind}: {tree_name}{place} is {given}",
            expected=f"{expected}, like {structure_name}{place}",
            fix=fix,
        )
    )


def wrong_number_of_leaves(given: int, expected: int, structure: Structure) -> ValueError:
    """The error of building a tree from too few or too many leaves."""
    return ValueError(
        message(
            "unflattening of a tree",
            given=f"{given} {'leaf' if given == 1 else 'leaves'}",
            expected=f"{expected}, one for each * in {short(structure)}",
            fix="Pass as many leaves as tree.flatten returned with the structure.",
        )
    )


def note_path(error: Exception, structure: Structure, tree: Any, culprit: Any) -> None:
    """Add to `error` the key path of the node `culprit`, which could not be taken apart."""
    # Whatever a user's class does when it is flattened again must not hide the first error.
    with suppress(Exception):
        for path, _, subtree in walk_together(structure, tree):
            if subtree is culprit:
                add_path_note(error, path, culprit)
                return


def add_path_note(error: Exception, path: tuple[Any, ...], culprit: Any) -> None:
    """Add to `error` that it arose while `culprit`, at `path`, was being flattened."""
    shown = keystr(path[:20]) + ("..." if len(path) > 20 else "")
    place = f"at key path {shown}" if path else "at the root of the tree"
    error.add_note(f"while flattening an object of type {type(culprit).__name__} {place}")


def _difference(structure: Structure, subtree: Any) -> Difference | None:
    """How the roots differ, None if they do not."""
    node_data = structure.node_data()
    if node_data is None:
        return None
    type_, data = node_data
    arity = len(structure.children())
    expected = _describe(type_, data, arity)
    if not is_tree_node(type(subtree)):
        return Difference(
            _kind_of_type(type_), expected, _describe_leaf(subtree), _fix_of_type(type_)
        )
    children, found = flatten_one_level(subtree)
    given = _describe(type(subtree), found, len(children))
    if type(subtree) is not type_:
        return Difference(_kind_of_type(type_), expected, given, _fix_of_type(type_))
    if type_ is dict:
        return _difference_of_keys(expected, given, list(data), list(found))
    if arity != len(children):
        kind = f"{_KINDS.get(type_, 'Custom node')} arity mismatch"
        return Difference(kind, expected, given, "Give both the same number of children.")
    if found is not type_ and data != found:
        fix = "Give both the same auxiliary data (static fields)."
        return Difference("Mismatch custom node data", expected, given, fix)
    return None


def _difference_of_keys(
    expected: str, given: str, keys: list[Any], found: list[Any]
) -> Difference | None:
    if keys == found:
        return None
    missing = [key for key in keys if key not in found]
    unexpected = [key for key in found if key not in keys]
    changes = [
        f"{verb} {', '.join(map(repr, some))}"
        for verb, some in (("add the keys", missing), ("remove the keys", unexpected))
        if some
    ]
    text = " and ".join(changes) or "list the keys in the same order"
    return Difference("Dict key mismatch", expected, given, text[0].upper() + text[1:] + ".")


_KINDS: dict[type, str] = {tuple: "Tuple", list: "List"}


def _kind_of_type(type_: type) -> str:
    plain = type_ in (type(None), dict, list, tuple)
    name = "None" if type_ is type(None) else type_.__name__
    return f"Expected {name}" if plain else "Custom node type mismatch"


def _fix_of_type(type_: type) -> str:
    if type_ is type(None):
        return "Put None there too, or treat None as a leaf with is_leaf=lambda x: x is None."
    return "Put the same type of container there, or cut the first tree off above with is_leaf."


def _describe(type_: type, data: Any, arity: int) -> str:
    if type_ is type(None):
        return "None"
    if type_ is dict:
        return f"a dict with keys {list(data)!r}"
    name = f"{'an' if type_.__name__[0] in 'AEIOUaeiou' else 'a'} {type_.__name__}"
    if issubclass(type_, (tuple, list)) and (data is None or data is type_):
        return f"{name} of length {arity}"
    children = "1 child" if arity == 1 else f"{arity} children"
    return f"{name} with {children} and auxiliary data {short(data)}"


def _describe_leaf(leaf: Any) -> str:
    return f"a leaf of type {type(leaf).__name__}: {short(leaf)}"


def short(value: Any, limit: int = 80) -> str:
    """`repr(value)` on one line, cut off at `limit` characters."""
    text = " ".join(repr(value).split())
    return text if len(text) <= limit else text[: limit - 3] + "..."
