"""What `custom_jvp` and `custom_vjp` share: their calls, which the current trace carries out."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Collection, Sequence
from inspect import CO_VARARGS, CO_VARKEYWORDS
from types import FunctionType
from typing import Any, ClassVar, NamedTuple

from ... import tree
from ...core import contents, current_trace, frames_hidden, presented, root_trace
from ...core.compile_time import trace_of
from ...lax.ground.axes import integer_tuple
from ...transforms.flattening import (
    FlatFunction,
    argument_names,
    check_values,
    debug_info,
    function_label,
    function_name,
)
from ...tree import PyTreeDef
from ...util.messages import message
from .custom_call import CustomCall
from .ruled_call import RuledCall


class BoundCall(NamedTuple):
    """A call of a function with custom rules, its arguments separated.

    Args:
        fixed: values of the arguments that are not differentiated, in the order of `nondiff`.
        leaves: leaves of the other arguments.
        flat: the function of these leaves.
    """

    fixed: tuple[Any, ...]
    leaves: list[Any]
    flat: FlatFunction


class HasRules:
    """A function whose derivative the user defines: base of `custom_jvp` and `custom_vjp`.

    Args:
        fun: function of arrays or trees.
        nondiff_argnums, nondiff_argnames: arguments that are Python values.
    """

    _where: ClassVar[str]
    _primitive: ClassVar[CustomCall]

    def __init__(
        self,
        fun: Callable[..., Any],
        nondiff_argnums: Sequence[int],
        nondiff_argnames: Sequence[str],
    ) -> None:
        functools.update_wrapper(self, fun)
        self.fun = fun
        self.nondiff_argnums = nondiff_positions(
            self._where, fun, nondiff_argnums, nondiff_argnames
        )
        self.nondiff_argnames = tuple(nondiff_argnames)
        self.symbolic_zeros = False

    def __getattr__(self, name: str) -> Any:
        # What a decorator below this one offers, as `def_vmap` of `custom_vmap`.
        if name.startswith("_") or "fun" not in self.__dict__:
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        return getattr(self.fun, name)

    @frames_hidden
    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        self._check_defined()
        call = bind_call(self._where, self.fun, self.nondiff_argnums, args, kwargs)
        trace = trace_of(call.leaves)
        if trace is root_trace() and trace is current_trace():
            # Nobody asks for the rule.
            outs: Sequence[Any] = call.flat(*call.leaves)
        else:
            flat = call.flat
            rule = self._rule(call.fixed, flat, function_label(self.fun))
            info = debug_info(self._primitive.name, flat.function, flat.in_tree)
            ruled = RuledCall(self._primitive, flat, rule, function_name(self.fun), info)
            outs = trace.process_custom_call(ruled, contents(call.leaves))
        return call.flat.out_tree.unflatten(presented(outs))

    def _check_defined(self) -> None:
        """Raise `AttributeError` unless the user has set the rule."""
        raise AssertionError(f"{self._where} defines _check_defined")

    def _rule(self, fixed: tuple[Any, ...], flat: FlatFunction, label: str) -> Any:
        """The user's rule as a function of leaves, for the parameter `rule_name`."""
        raise AssertionError(f"{self._where} defines _rule")


def bind_call(
    where: str,
    fun: Callable[..., Any],
    nondiff: Sequence[int],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
) -> BoundCall:
    """Separate the arguments of a call."""
    positional = positional_arguments(where, fun, args, kwargs)
    fixed = {i: positional[i] for i in nondiff if i < len(positional)}
    dynamic = tuple(x for i, x in enumerate(positional) if i not in fixed)
    function = _with_fixed(fun, len(positional), fixed) if fixed else fun
    leaves, in_tree = tree.flatten((dynamic, {}))
    named = f"{where} of {function_name(fun)}"
    check_values(named, lambda: argument_names(function, in_tree), leaves)
    return BoundCall(tuple(fixed.values()), leaves, FlatFunction(function, in_tree, where))


def _with_fixed(fun: Callable[..., Any], count: int, fixed: dict[int, Any]) -> Callable[..., Any]:
    """`fun` as a function of its other arguments, of `count` in all."""
    # The equation keeps the function, so that must not hold the operands.
    kept = tuple(fixed.items())

    @functools.wraps(fun)
    def of_dynamic(*values: Any) -> Any:
        given, known = iter(values), dict(kept)
        return fun(*[known[i] if i in known else next(given) for i in range(count)])

    of_dynamic.__dict__.pop("__wrapped__", None)
    of_dynamic.__signature__ = _without(fun, fixed)  # type: ignore[attr-defined]
    return of_dynamic


def _without(fun: Callable[..., Any], positions: Collection[int]) -> inspect.Signature:
    """The signature of `fun` without the parameters at some positions."""
    signature = inspect.signature(fun)
    kept = [p for i, p in enumerate(signature.parameters.values()) if i not in positions]
    return signature.replace(parameters=kept)


def positional_arguments(
    where: str, fun: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[Any, ...]:
    """All arguments by position, defaults filled in."""
    if not kwargs and _takes(fun, len(args)):
        return args
    try:
        bound = inspect.signature(fun).bind(*args, **kwargs)
    except ValueError:  # a callable without a signature
        return args
    by_name = (inspect.Parameter.KEYWORD_ONLY, inspect.Parameter.VAR_KEYWORD)
    parameters = bound.signature.parameters
    if only_by_name := sorted(n for n in bound.arguments if parameters[n].kind in by_name):
        raise TypeError(
            message(
                f"{where} of {function_label(fun)}",
                given=f"keyword-only arguments {only_by_name}",
                expected="arguments that can be passed by position",
                fix="Make them positional, or close over them.",
            )
        )
    bound.apply_defaults()
    return bound.args


def _takes(fun: Callable[..., Any], count: int) -> bool:
    """Whether it is seen at once that the parameters are so many positional ones."""
    if type(fun) is not FunctionType or fun.__dict__:
        return False
    code = fun.__code__
    has_others = code.co_kwonlyargcount or code.co_flags & (CO_VARARGS | CO_VARKEYWORDS)
    return code.co_argcount == count and not has_others


def nondiff_positions(
    where: str, fun: Callable[..., Any], argnums: Any, argnames: Any
) -> tuple[int, ...]:
    """Positions of the arguments that are not differentiated."""
    given = [argnums] if isinstance(argnums, int) else argnums
    argnums = integer_tuple(f"{where}, argument nondiff_argnums", given)
    argnames = [argnames] if isinstance(argnames, str) else argnames
    names = list(inspect.signature(fun).parameters) if argnames else []
    unknown = [n for n in argnames if n not in names]
    if unknown or any([n < 0 for n in argnums]):
        raise ValueError(
            message(
                f"{where} of {function_label(fun)}, nondiff_argnums and nondiff_argnames",
                given=f"nondiff_argnums={tuple(argnums)}, nondiff_argnames={tuple(argnames)}",
                expected="numbers of positional arguments, from 0, and names of arguments",
                fix="Name or number the arguments as the function declares them.",
            )
        )
    return tuple(sorted({*argnums, *[names.index(n) for n in argnames]}))


def flatten_like(where: str, value: Any, out_tree: PyTreeDef, what: str) -> list[Any]:
    """The leaves of a rule's result, which must have the structure of the function's."""
    leaves, given = tree.flatten(value)
    if given == out_tree:
        return leaves
    raise TypeError(
        message(
            where,
            given=f"{what} of structure {given}",
            expected=f"the structure {out_tree}",
            fix="Return from the rule what the function returns, leaf by leaf.",
        )
    )


def checked_result(where: str, result: Any, flat: FlatFunction) -> list[Any]:
    """The leaves of a rule's result, which must have the structure of the function's.

    The function itself need not have run; then there is nothing to compare.
    """
    leaves, structure = tree.flatten(result)
    if flat.out_tree is not None and flat.out_tree != structure:
        raise TypeError(
            message(
                where,
                given=f"a result of structure {structure}",
                expected=f"the structure of the function's result, {flat.out_tree}",
                fix="Return from the rule what the function returns.",
            )
        )
    flat.out_tree = structure
    return leaves
