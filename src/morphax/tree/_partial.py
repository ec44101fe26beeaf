"""`Partial`: a partial application whose arguments are leaves."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from ._registry import register_pytree_node


class Partial(functools.partial[Any]):
    """`functools.partial` as a node of trees: the arguments are children, the function is data.

    So a function that closes over arrays can be an argument of a transformed function.  Another
    partial application as `func` is kept whole: its arguments stay part of the function.

    Example:
        >>> import morphax as jax
        >>> add = jax.tree_util.Partial(lambda x, y: x + y, 1)
        >>> add(2)
        3
        >>> jax.tree.leaves(add)
        [1]
    """

    __module__ = "morphax.tree_util"

    def __new__(cls, /, func: Callable[..., Any], *args: Any, **kw: Any) -> Partial:
        if isinstance(func, functools.partial):
            func = _Opaque(func)
        return super().__new__(cls, func, *args, **kw)


class _Opaque:
    """A callable that `functools.partial` does not recognise as one of its own.

    It would merge the arguments of both otherwise.
    """

    __slots__ = ("function",)

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function

    def __call__(self, *args: Any, **kw: Any) -> Any:
        return self.function(*args, **kw)

    def __eq__(self, other: object) -> bool:
        return self.function == (other.function if isinstance(other, _Opaque) else other)

    def __hash__(self) -> int:
        return hash(self.function)

    def __repr__(self) -> str:
        return repr(self.function)


register_pytree_node(
    Partial,
    lambda partial: ((partial.args, partial.keywords), partial.func),
    lambda func, children: Partial(func, *children[0], **children[1]),
)
