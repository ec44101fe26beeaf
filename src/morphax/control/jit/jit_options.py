"""The options of `jit`, checked against the signature of the function, and what they do to a call.

Arguments are chosen by number or by name.  Each choice is completed from the signature as far as it
tells, so that an argument marked by number is found when it is passed by name, and the reverse.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Sequence
from itertools import accumulate
from operator import index
from typing import Any, final

from ...transforms.flattening import function_label
from ...util.messages import described, message
from ...util.records import dataclass
from ..chosen_arguments import Choice, StaticArguments, none_chosen
from .spreading import ShardingTree


@final
@dataclass(frozen=True, slots=True)
class JitOptions:
    """How a function is to be compiled; equal options share traced programs."""

    static: Choice = none_chosen
    donated: Choice = none_chosen
    keep_unused: bool = False
    inline: bool = False
    device: Any = None
    shardings: tuple[ShardingTree, ShardingTree] | None = None
    compiler_options: tuple[tuple[str, Any], ...] = ()


def check_function(fun: object) -> None:
    """Raise `TypeError` unless `fun` is a function that can be traced."""
    kind = None
    if not callable(fun):
        kind = described(fun)
    elif inspect.isgeneratorfunction(fun) or inspect.iscoroutinefunction(fun):
        kind = f"{function_label(fun)}, a generator or coroutine function"
    if kind is not None:
        raise TypeError(
            message(
                "jit, argument fun",
                given=kind,
                expected="a function that returns arrays",
                fix="Pass the function itself: jit(f), not jit(f(x)).",
            )
        )


def check_hashable(fun: Callable[..., Any], static: StaticArguments | None) -> None:
    """Raise `ValueError`, naming the argument, if a static argument cannot be hashed."""
    if static is None:
        return
    for place, value in (*static.positional, *static.named):
        try:
            hash(value)
        except TypeError as error:
            name = _parameter_name(fun, place) if isinstance(place, int) else place
            raise ValueError(
                message(
                    f"jit of {function_label(fun)}, static argument {name}",
                    given=f"{value!r:.80} of type {type(value).__name__}, which cannot be hashed",
                    expected="static arguments that can be hashed and compared",
                    fix="Do not mark an argument static that is an array, or a tree of arrays; "
                    "pass other data as tuples instead of lists, or as objects with __hash__ and "
                    "__eq__.",
                )
            ) from error


def _parameter_name(fun: Callable[..., Any], position: int) -> str:
    positional = _positional(_parameters(fun) or ())
    return positional[position].name if position < len(positional) else f"number {position}"


def donated_leaves(choice: Choice, in_tree: Any, static: StaticArguments | None) -> tuple[int, ...]:
    """Positions, among the leaves of a call, of those that belong to chosen arguments."""
    if not choice:
        return ()
    # Of structures, not of values: a user's class may make anything of its leaves.
    args_tree, kwargs_tree = in_tree.children()
    _, names = kwargs_tree.node_data()
    count, parts = len(args_tree.children()), [*args_tree.children(), *kwargs_tree.children()]
    ends = accumulate([part.num_leaves for part in parts])
    places = [range(end - part.num_leaves, end) for part, end in zip(parts, ends, strict=True)]
    args, kwargs = tuple(places[:count]), dict(zip(names, places[count:], strict=True))
    if static is not None:
        args, kwargs = static.without_values().complete(args, kwargs)
    chosen = [args[i] for i in sorted(choice.positions(len(args)))]
    chosen += [kwargs[name] for name in choice.names if name in kwargs]
    return tuple(sorted([place for places in chosen for place in places or ()]))


def resolve(fun: Callable[..., Any], numbers: Any, names: Any, what: str) -> Choice:
    """The arguments that `numbers` and `names` choose, checked; `what` is static or donate.

    Given numbers alone or names alone, the other is worked out from the signature.
    """
    chosen = Choice(_integers(numbers, what), _strings(names, what))
    parameters = _parameters(fun) if chosen else None
    if parameters is None:
        return chosen
    numbers_ = _counted(fun, chosen.numbers, parameters, what)
    _check_names(fun, chosen.names, parameters, what)
    return _completed(
        parameters,
        None if numbers is None else numbers_,
        None if names is None else chosen.names,
    )


def numbers_and_names(
    sig: inspect.Signature,
    argnums: int | Iterable[int] | None,
    argnames: str | Iterable[str] | None,
) -> tuple[tuple[int, ...], tuple[str, ...]]:
    """Arguments by number and by name: what is not given is worked out from the signature.

    Example:
        >>> import inspect
        >>> from morphax.control.jit.jit_options import numbers_and_names
        >>> numbers_and_names(inspect.signature(lambda a, b: a), 1, None)
        ((1,), ('b',))
    """
    choice = _completed(
        tuple(sig.parameters.values()),
        None if argnums is None else _integers(argnums, "static"),
        None if argnames is None else _strings(argnames, "static"),
    )
    return choice.numbers, choice.names


def _completed(
    parameters: Sequence[inspect.Parameter],
    numbers: tuple[int, ...] | None,
    names: tuple[str, ...] | None,
) -> Choice:
    positional = _positional(parameters)
    if names is None:
        by_name = {i: p.name for i, p in enumerate(positional) if p.kind is not p.POSITIONAL_ONLY}
        names = tuple([by_name[n] for n in numbers or () if n in by_name])
    if numbers is None:
        order = [p.name for p in positional]
        numbers = tuple([order.index(name) for name in names if name in order])
    return Choice(numbers, names)


def _integers(numbers: Any, what: str) -> tuple[int, ...]:
    try:
        return () if numbers is None else (index(numbers),)
    except TypeError:
        try:
            return tuple([index(n) for n in numbers])
        except TypeError:
            raise _wrong_kind(f"{what}_argnums", numbers, "an int or a sequence of ints") from None


def _strings(names: Any, what: str) -> tuple[str, ...]:
    if names is None:
        return ()
    is_list = isinstance(names, Iterable) and getattr(names, "ndim", True) and names != str(names)
    given = tuple(names) if is_list else (names,)
    if not all(isinstance(name, str) for name in given):
        raise _wrong_kind(f"{what}_argnames", names, "a str or a sequence of strs")
    return given


def _wrong_kind(argument: str, value: object, expected: str) -> TypeError:
    return TypeError(
        message(
            f"jit, argument {argument}",
            given=described(value),
            expected=expected,
            fix=f"Name the arguments of the function: {argument}=...",
        )
    )


def _parameters(fun: Callable[..., Any]) -> Sequence[inspect.Parameter] | None:
    try:
        return tuple(inspect.signature(fun).parameters.values())
    except (TypeError, ValueError):
        return None


def _positional(parameters: Sequence[inspect.Parameter]) -> list[inspect.Parameter]:
    return [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]


def _counted(
    fun: Callable[..., Any],
    numbers: tuple[int, ...],
    parameters: Sequence[inspect.Parameter],
    what: str,
) -> tuple[int, ...]:
    """`numbers`, checked and counted from the front, unless there may be any number of them."""
    if any(p.kind is p.VAR_POSITIONAL for p in parameters):
        return numbers
    count = len(_positional(parameters))
    for n in numbers:
        if not -count <= n < count:
            raise ValueError(
                message(
                    f"jit of {function_label(fun)}, argument {what}_argnums",
                    given=f"number {n}",
                    expected=f"numbers of its {count} positional arguments",
                    fix=f"Count from 0, or name keyword-only arguments in {what}_argnames.",
                )
            )
    return tuple([n % count for n in numbers])


def _check_names(
    fun: Callable[..., Any],
    names: tuple[str, ...],
    parameters: Sequence[inspect.Parameter],
    what: str,
) -> None:
    if any(p.kind is p.VAR_KEYWORD for p in parameters):
        return
    known = [p.name for p in parameters if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)]
    for name in names:
        if name not in known:
            raise ValueError(
                message(
                    f"jit of {function_label(fun)}, argument {what}_argnames",
                    given=f"the name {name!r}",
                    expected=f"names of arguments that can be passed by name: {', '.join(known)}",
                    fix=f"Give positional-only arguments by number in {what}_argnums.",
                )
            )


def check_disjoint(fun: Callable[..., Any], static: Choice, donated: Choice) -> None:
    """Raise `ValueError` if an argument is both static and donated."""
    both = [*set(static.names) & set(donated.names), *set(static.numbers) & set(donated.numbers)]
    if both:
        raise ValueError(
            message(
                f"jit of {function_label(fun)}, arguments static_argnums and donate_argnums",
                given=f"the argument {both[0]} as static and as donated",
                expected="donated arguments that are arrays",
                fix="Take it out of one of the two.",
            )
        )
