"""Python functions of trees as functions of the flat operands of an equation.

Leaves that are not arrays stay in Python: the function gets them back as they were.  Two flat
callbacks are equal if they call the very same function with the very same objects; equality of the
objects would not do, for equal objects may print differently.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import BuiltinMethodType, MethodType
from typing import Any, final

import numpy as np

from ... import tree
from ...array import Array
from ...core import Operand, ShapedArray, aval_of
from ...transforms.flattening import function_label
from ...tree import PyTreeDef
from ...util import host_memory
from ...util.messages import described, message
from ...util.parameter_keys import key_of


@final
class StaticLeaves(tuple[tuple[int, Any], ...]):
    """Positions and values of leaves that are not arrays, compared by identity."""

    __slots__ = ()

    def _identities(self) -> tuple[tuple[int, int], ...]:
        return tuple([(position, id(value)) for position, value in self])

    def __eq__(self, other: object) -> bool:
        if type(other) is not StaticLeaves:
            return NotImplemented
        return self._identities() == other._identities()

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return hash(self._identities())


def split_leaves(
    args: Sequence[Any], kwargs: Mapping[str, Any]
) -> tuple[list[Any], StaticLeaves, Any]:
    """The arrays among the leaves of ``(args, kwargs)``, the other leaves, and the structure."""
    leaves, in_tree = tree.flatten((tuple(args), dict(kwargs)))
    arrays, static = [], []
    for position, leaf in enumerate(leaves):
        if _is_operand(leaf):
            arrays.append(leaf)
        else:
            static.append((position, leaf))
    return arrays, StaticLeaves(static), in_tree


def joined_leaves(in_tree: PyTreeDef, static: StaticLeaves, operands: Sequence[Operand]) -> Any:
    """``(args, kwargs)`` from what `split_leaves` gave."""
    given, others = iter(operands), dict(static)
    leaves = [others[i] if i in others else next(given) for i in range(in_tree.num_leaves)]
    return in_tree.unflatten(leaves)


def _is_operand(leaf: object) -> bool:
    try:
        aval_of(leaf)
    except (TypeError, OverflowError):
        return False
    return True


@final
class FlatCallback:
    """`callback_func` of the trees that flat operands and static leaves make up.

    Args:
        callback_func: the user's function.
        in_tree: the structure of its ``(args, kwargs)``.
        static: leaves that are not operands.
        out_tree: the structure of its result, where the program uses that.
    """

    __slots__ = ("callback_func", "in_tree", "out_tree", "static")

    def __init__(
        self,
        callback_func: Callable[..., Any],
        in_tree: PyTreeDef,
        static: StaticLeaves | None = None,
        out_tree: PyTreeDef | None = None,
    ) -> None:
        self.callback_func = callback_func
        self.in_tree = in_tree
        self.static = StaticLeaves() if static is None else static
        self.out_tree = out_tree

    def __call__(self, *operands: Operand) -> Any:
        args, kwargs = joined_leaves(self.in_tree, self.static, operands)
        return self.callback_func(*args, **kwargs)

    def _key(self) -> tuple[Any, ...]:
        # Methods are objects made anew at each access.
        func = self.callback_func
        which = func if isinstance(func, (MethodType, BuiltinMethodType)) else id(func)
        return which, key_of((self.in_tree, self.out_tree)), self.static

    def __eq__(self, other: object) -> bool:
        if type(other) is not FlatCallback:
            return NotImplemented
        return self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def __repr__(self) -> str:
        # As it stands in the text of programs, which other people compare.
        return f"_FlatCallback(callback_func={self.callback_func}, in_tree={self.in_tree})"


def owned(values: Sequence[np.ndarray[Any, Any]], avals: Sequence[Any]) -> list[Array]:
    """Arrays with copies of what a program shows to a callback as operands of these avals."""
    return [
        Array(ShapedArray(aval.shape, aval.dtype), host_memory.aligned_copy(x))
        for x, aval in zip(values, avals, strict=True)
    ]


def checked_results(
    where: str, callback: FlatCallback, result: object, avals: Sequence[Any]
) -> list[np.ndarray[Any, Any]]:
    """The leaves of what a callback returned, if they are what the program was promised.

    Raises:
        TypeError: a leaf is no array or has another dtype.
        ValueError: the number of leaves or a shape is another.
    """
    leaves = tree.leaves(result)
    if len(leaves) != len(avals):
        raise ValueError(
            message(
                f"{where}, result of {function_label(callback.callback_func)}",
                given=f"a tree of {len(leaves)} arrays: {tree.structure(result)}",
                expected=f"{len(avals)} arrays, as in result_shape_dtypes: {callback.out_tree}",
                fix="Return what result_shape_dtypes says, or change it.",
            )
        )
    return [
        _checked_leaf(where, callback, position, leaf, aval)
        for position, (leaf, aval) in enumerate(zip(leaves, avals, strict=True))
    ]


def _checked_leaf(
    where: str, callback: FlatCallback, position: int, leaf: object, aval: ShapedArray
) -> np.ndarray[Any, Any]:
    try:
        given = aval_of(leaf)
    except (TypeError, OverflowError):
        given = None
    if given is not None and (given.shape, given.dtype) == (aval.shape, aval.dtype):
        return leaf.to_host() if type(leaf) is Array else np.asarray(leaf, aval.dtype)
    assert callback.out_tree is not None, "the structure says what is expected"
    numbered = callback.out_tree.unflatten(range(callback.out_tree.num_leaves))
    path, _ = tree.leaves_with_path(numbered)[position]
    is_shape = given is not None and given.shape != aval.shape
    raise (ValueError if is_shape else TypeError)(
        message(
            f"{where}, result{tree.keystr(path)} of {function_label(callback.callback_func)}",
            given=described(leaf) if given is None else str(given),
            expected=f"{aval.str_short(short_dtypes=False)}, as in result_shape_dtypes",
            fix="Return an array of that shape and dtype, or change result_shape_dtypes.",
        )
    )
