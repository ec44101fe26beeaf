"""From functions of trees to functions of leaves, and what to call them in error text."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from typing import Any, final

from .. import tree
from ..core import DebugInfo, aval_of, is_value
from ..util.messages import message


@final
class FlatFunction:
    """A function of leaves that calls `function(*args, **kwargs)` and flattens what it returns.

    After a call, `out_tree` is the structure of the result, and `aux` what `split_aux` took off it.
    """

    __slots__ = ("aux", "function", "has_aux", "in_tree", "out_tree", "where")

    def __init__(
        self, function: Callable[..., Any], in_tree: Any, where: str, *, has_aux: bool = False
    ) -> None:
        self.function = function
        self.in_tree = in_tree
        self.where = where
        self.has_aux = has_aux
        self.out_tree: Any = None
        self.aux: Any = None

    def __call__(self, *leaves: Any) -> list[Any]:
        args, kwargs = self.in_tree.unflatten(leaves)
        result = self.function(*args, **kwargs)
        if self.has_aux:
            result, self.aux = self._split_aux(result)
        flat, self.out_tree = tree.flatten(result)
        for position, leaf in enumerate(flat):
            if not is_value(leaf):
                raise TypeError(self._not_an_array(result, position))
        return flat

    def _split_aux(self, result: Any) -> tuple[Any, Any]:
        if isinstance(result, tuple) and len(result) == 2:
            return result
        raise TypeError(
            message(
                f"{self.where} with has_aux=True",
                given=f"{function_label(self.function)} returned a {type(result).__name__}",
                expected="a pair (result, auxiliary data)",
                fix="Return a pair, or call without has_aux.",
            )
        )

    def _not_an_array(self, result: Any, position: int) -> str:
        path, leaf = tree.leaves_with_path(result)[position]
        return message(
            f"{self.where}, result{tree.keystr(path)} of {function_label(self.function)}",
            given=f"{leaf!r:.80} of type {type(leaf).__name__}",
            expected="arrays, Python scalars, or trees of them",
            fix="Return arrays; return other data from outside the transformed function.",
        )


def function_label(function: Callable[..., Any]) -> str:
    """``name at file:line`` of a callable."""
    inner = inspect.unwrap(function)
    while isinstance(inner, functools.partial):
        inner = inspect.unwrap(inner.func)
    code = getattr(inner, "__code__", None)
    name = function_name(function)
    return f"{name} at {code.co_filename}:{code.co_firstlineno}" if code else name


def function_name(function: Callable[..., Any]) -> str:
    """The name under which a callable appears in jaxprs."""
    while isinstance(function, functools.partial):
        function = function.func
    return getattr(function, "__name__", type(function).__name__)


def debug_info(transform: str, function: Callable[..., Any], in_tree: Any) -> DebugInfo:
    """Who is traced; argument names are worked out only if an error needs them."""
    return DebugInfo(
        transform, function_label(function), lambda: argument_names(function, in_tree)
    )


def argument_names(function: Callable[..., Any], in_tree: Any) -> Sequence[str]:
    """One path per leaf of ``(args, kwargs)``, such as ``params['w']``."""
    args, kwargs = in_tree.unflatten(range(in_tree.num_leaves))
    try:
        bound = inspect.signature(function).bind(*args, **kwargs).arguments
    except (TypeError, ValueError):
        bound = {f"args[{i}]": a for i, a in enumerate(args)} | dict(kwargs)
    names = [""] * in_tree.num_leaves
    for name, subtree in bound.items():
        for path, position in tree.leaves_with_path(subtree):
            names[position] = name + tree.keystr(path)
    return names


def check_values(where: str, names: Callable[[], Sequence[str]], leaves: Sequence[Any]) -> None:
    """Raise `TypeError`, naming the argument, if a leaf cannot be an operand."""
    for position, leaf in enumerate(leaves):
        if not is_value(leaf):
            raise TypeError(
                message(
                    f"{where}, argument {names()[position]}",
                    given=f"{leaf!r:.80} of type {type(leaf).__name__}",
                    expected="an array, a Python scalar, or a tree of them",
                    fix="Convert it with jnp.asarray, or mark it static "
                    "(static_argnums or static_argnames of jit).",
                )
            )


def avals_of(leaves: Sequence[Any]) -> tuple[Any, ...]:
    return tuple([aval_of(x) for x in leaves])
