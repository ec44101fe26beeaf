"""From functions of trees to functions of leaves, and what to call them in error text."""

from __future__ import annotations

import functools
import inspect
import weakref
from collections.abc import Callable, Iterator, Sequence
from types import BuiltinFunctionType, CellType, CodeType, FunctionType
from typing import Any, TypeVar, final

from .. import tree
from ..core import (
    DebugInfo,
    HighTracer,
    Operand,
    aval_of,
    carries_aval,
    contents,
    current_trace,
    held_for_a_while,
    is_value,
    presented,
)
from ..lax.reference.references import Ref, as_references
from ..tree import PyTreeDef
from ..util.messages import described, message
from ..util.records import dataclass

Wrapper = TypeVar("Wrapper", bound=Callable[..., Any])
Complete = Callable[[tuple[Any, ...], dict[str, Any]], tuple[tuple[Any, ...], dict[str, Any]]]


@held_for_a_while
@final
class FlatFunction:
    """A function of leaves that calls `function(*args, **kwargs)` and flattens what it returns.

    After a call, `out_tree` is the structure of the result, and `aux` what `split_aux` took off it.
    `complete` adds the arguments that are no leaves: (args, kwargs) → (args, kwargs).  `accepts`
    tells which leaves may be results, `is_leaf` which nodes of the result are leaves.
    """

    __slots__ = (
        "accepts",
        "aux",
        "complete",
        "function",
        "has_aux",
        "in_tree",
        "is_leaf",
        "out_tree",
        "where",
    )

    def __init__(
        self,
        function: Callable[..., Any],
        in_tree: PyTreeDef,
        where: str,
        *,
        has_aux: bool = False,
        complete: Complete | None = None,
        accepts: Callable[[Any], bool] = is_value,
        is_leaf: Callable[[Any], bool] | None = None,
    ) -> None:
        self.accepts = accepts
        self.is_leaf = is_leaf
        self.function = function
        self.in_tree = in_tree
        self.where = where
        self.has_aux = has_aux
        self.complete = complete
        self.out_tree: Any = None
        self.aux: Any = None

    def __call__(self, *leaves: Operand) -> list[Any]:
        args, kwargs = self.in_tree.unflatten(as_references(leaves))
        if self.complete is not None:
            args, kwargs = self.complete(args, kwargs)
        result = self.function(*args, **kwargs)
        if self.has_aux:
            result, self.aux = self._split_aux(result)
        flat, self.out_tree = tree.flatten(result, self.is_leaf)
        for position, leaf in enumerate(flat):
            if not self.accepts(leaf):
                raise TypeError(self._not_an_array(result, position))
            if isinstance(leaf, Ref):
                raise ValueError(self._returned_reference(result, position))
            if type(leaf) is HighTracer and leaf.aval.has_qdd:
                raise TypeError(self._returned_mutable(result, position))
        return contents(flat)

    def _split_aux(self, result: object) -> tuple[Any, Any]:
        if isinstance(result, (tuple, list)) and len(result) == 2:
            return result[0], result[1]
        raise TypeError(
            message(
                f"{self.where} with has_aux=True",
                given=f"{function_label(self.function)} returned {described(result)}",
                expected="a pair (result, auxiliary data)",
                fix="Return a pair, or call without has_aux.",
            )
        )

    def _returned_mutable(self, result: object, position: int) -> str:
        path, leaf = tree.leaves_with_path(result)[position]
        return message(
            f"{self.where}, result{tree.keystr(path)} of {function_label(self.function)}",
            given=f"{leaf.origin()}, {leaf.aval}",
            expected="values that do not change in place",
            fix="Return what the value holds, or make it outside and pass it in.",
        )

    def _returned_reference(self, result: object, position: int) -> str:
        path, leaf = tree.leaves_with_path(result)[position]
        return message(
            f"{self.where}, result{tree.keystr(path)} of {function_label(self.function)}",
            given=f"{leaf.origin()}, {leaf.aval}",
            expected="arrays: references cannot be returned",
            fix="Return what the reference holds, ref[...], or make it outside and pass it in.",
        )

    def _not_an_array(self, result: object, position: int) -> str:
        path, leaf = tree.leaves_with_path(result)[position]
        return message(
            f"{self.where}, result{tree.keystr(path)} of {function_label(self.function)}",
            given=described(leaf),
            expected="arrays, Python scalars, or trees of them",
            fix="Return arrays; return other data from outside the transformed function.",
        )


def wraps(function: Callable[..., Any]) -> Callable[[Wrapper], Wrapper]:
    """`functools.wraps`, for callables whose attributes may be no names as well.

    An object that is called may say anything under ``__name__``; the names of a function are text.
    """

    def decorate(wrapper: Wrapper) -> Wrapper:
        try:
            functools.update_wrapper(wrapper, function)
        except TypeError:
            texts = ("__module__", "__name__", "__qualname__", "__doc__")
            given = [name for name in texts if isinstance(getattr(function, name, None), str)]
            functools.update_wrapper(wrapper, function, assigned=given)
        return wrapper

    return decorate


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


def debug_info(
    transform: str,
    function: Callable[..., Any],
    in_tree: PyTreeDef,
    complete: Complete | None = None,
) -> DebugInfo:
    """Who is traced; argument names are worked out only if an error needs them."""
    names = names_on_demand(function, in_tree, complete)
    return DebugInfo(transform, function_label(function), names)


def names_on_demand(
    function: Callable[..., Any], in_tree: PyTreeDef, complete: Complete | None = None
) -> Callable[[], Sequence[str]]:
    """What works out names of arguments when an error needs them; it holds `function` weakly."""
    return _NamesOnDemand(_weakly(function), in_tree, complete)


@final
@dataclass(frozen=True, slots=True)
class _NamesOnDemand:
    """Names of arguments; a jaxpr must not keep the user's function alive for their sake."""

    function: Callable[[], Callable[..., Any] | None]
    in_tree: Any
    complete: Complete | None

    def __call__(self) -> Sequence[str]:
        return argument_names(self.function(), self.in_tree, self.complete)


def _weakly(function: Callable[..., Any]) -> Callable[[], Callable[..., Any] | None]:
    """What gives the function, or one with its signature, without keeping its closure alive."""
    if type(function) is FunctionType and not hasattr(function, "__wrapped__"):
        return functools.partial(_shell, function.__code__, len(function.__defaults__ or ()))
    try:
        return weakref.ref(function)
    except TypeError:
        return lambda: function


def _shell(code: CodeType, num_defaults: int) -> Callable[..., Any]:
    """A function with the parameters of `code`, to be looked at, not called."""
    cells = tuple([CellType() for _ in code.co_freevars])
    shell = FunctionType(code, {}, code.co_name, (None,) * num_defaults, cells)
    keyword_only = code.co_varnames[code.co_argcount :][: code.co_kwonlyargcount]
    shell.__kwdefaults__ = dict.fromkeys(keyword_only)
    return shell


def argument_names(
    function: Callable[..., Any] | None, in_tree: PyTreeDef, complete: Complete | None = None
) -> Sequence[str]:
    """One path per leaf of ``(args, kwargs)``, such as ``params['w']``."""
    try:
        # Classes of users may want more of their leaves than to be kept.
        args, kwargs = in_tree.unflatten(range(in_tree.num_leaves))
        return _paths(function, in_tree.num_leaves, *(complete or _as_they_are)(args, kwargs))
    except Exception:
        return [f"leaf {i} of the arguments" for i in range(in_tree.num_leaves)]


def _as_they_are(args: Any, kwargs: Any) -> tuple[Any, Any]:
    return args, kwargs


def _paths(
    function: Callable[..., Any] | None, count: int, args: Any, kwargs: Any
) -> Sequence[str]:
    """Where the numbers up to `count` stand in the arguments."""
    try:
        bound = inspect.signature(function).bind(*args, **kwargs).arguments  # type: ignore[arg-type]
    except (TypeError, ValueError):
        bound = {f"args[{i}]": a for i, a in enumerate(args)} | dict(kwargs)
    names = [""] * count
    for name, subtree in bound.items():
        for path, position in tree.leaves_with_path(subtree):
            names[position] = name + tree.keystr(path)
    return names


def check_callable(where: str, fun: object) -> None:
    """Raise `TypeError` unless `fun` can be called."""
    if not callable(fun):
        raise TypeError(
            message(
                f"{where}, argument fun",
                given=described(fun),
                expected="a function: it should be a callable.",
                fix=f"Pass the function itself: {where}(f), not {where}(f(x)).",
            )
        )


def check_values(where: str, names: Callable[[], Sequence[str]], leaves: Sequence[Any]) -> None:
    """Raise `TypeError`, naming the argument, if a leaf cannot be an operand."""
    for position, leaf in enumerate(leaves):
        if not is_value(leaf):
            raise TypeError(_not_an_operand(f"{where}, argument {names()[position]}", leaf))


def check_avals(
    where: str,
    names: Callable[[], Sequence[str]],
    leaves: Sequence[Any],
    ask: Callable[[Any], Any] = aval_of,
) -> None:
    """Raise the error of the first leaf that has no aval, naming the argument."""
    for position, leaf in enumerate(leaves):
        try:
            ask(leaf)
        except OverflowError as error:
            error.add_note(f"in {where}, argument {names()[position]}")
            raise
        except TypeError:
            place = f"{where}, argument {names()[position]}"
            raise TypeError(_not_an_operand(place, leaf)) from None


def _not_an_operand(place: str, leaf: object) -> str:
    dtype = f" and dtype {leaf.dtype}" if hasattr(leaf, "dtype") else ""
    return message(
        place,
        given=f"{described(leaf)}{dtype}",
        expected="an array, a Python scalar, or a tree of them",
        fix=_fix_of_operand(leaf),
    )


def _fix_of_operand(leaf: object) -> str:
    static = "mark it static (static_argnums or static_argnames of jit)"
    if isinstance(leaf, (str, bytes, FunctionType, BuiltinFunctionType, type)):
        return f"Take it from outside of the function, or {static}."
    if hasattr(leaf, "dtype") or isinstance(leaf, Iterator):
        return f"Convert it with jnp.asarray, or {static}."
    return (
        "Make its class a node of trees, with jax.tree_util.register_dataclass or "
        f"register_pytree_node_class, or {static}."
    )


def avals_of(leaves: Sequence[Any]) -> tuple[Any, ...]:
    """The avals of values, in the same order."""
    return tuple([aval_of(x) for x in leaves])


def as_output(x: Operand) -> Any:
    """A result as an array or tracer."""
    if carries_aval(x):
        return presented((x,))[0]
    return x if aval_of(x).is_high else current_trace().constant(x)
