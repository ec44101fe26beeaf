"""Classes under the constructors that other people's code knows.

A `Jaxpr` here is closed: it serves as JAX's `Jaxpr` and as its `ClosedJaxpr`.  So these names are
classes that construct in the order of arguments that is theirs, and otherwise stand for ours:
`isinstance` is true of the objects that staging makes, and their attributes are found.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, final

from ... import core
from ...core import NameStack, SourceInfo
from ...core.debug_info import unknown_function
from ...core.jaxpr import joined_effects
from ...util.messages import message


class StandsFor(type):
    """Metaclass of classes that construct objects of another class, `stands_for`."""

    stands_for: type

    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, cls.stands_for)

    def __subclasscheck__(cls, subclass: type) -> bool:
        return issubclass(subclass, cls.stands_for)

    def __getattr__(cls, name: str) -> Any:
        return getattr(cls.stands_for, name)


@final
class Jaxpr(metaclass=StandsFor):
    """A program, whose constants have no values yet.

    Args:
        constvars: variables of the constants.
        invars: variables of the arguments.
        outvars: variables or literals, the results.
        eqns: the equations.
        effects: those of the equations, if left out.
        debug_info: whose program it is.
        is_high: whether it has operands of types that users define; here the variables say so.
    """

    stands_for = core.Jaxpr

    def __new__(  # type: ignore[misc]
        cls,
        constvars: Sequence[Any],
        invars: Sequence[Any],
        outvars: Sequence[Any],
        eqns: Sequence[Any],
        effects: Any = core.no_effects,
        debug_info: Any = None,
        is_high: bool = False,
    ) -> core.Jaxpr:
        return core.Jaxpr(
            tuple(invars),
            tuple(outvars),
            tuple(eqns),
            constvars=tuple(constvars),
            effects=frozenset(effects) or joined_effects(eqns, (*invars, *constvars)),
            debug_info=debug_info or unknown_function,
        )


@final
class ClosedJaxpr(metaclass=StandsFor):
    """A program with the values of its constants.

    Args:
        jaxpr: the program.
        consts: one value for each of its `constvars`.
    """

    stands_for = core.Jaxpr

    def __new__(cls, jaxpr: core.Jaxpr, consts: Sequence[Any]) -> core.Jaxpr:  # type: ignore[misc]
        if len(consts) != len(jaxpr.constvars):
            raise ValueError(
                message(
                    "ClosedJaxpr, argument consts",
                    given=f"{len(consts)} values",
                    expected=f"{len(jaxpr.constvars)}, one for each of jaxpr.constvars",
                    fix="Pass the constants that the program was staged with.",
                )
            )
        return jaxpr.replace(consts=tuple(consts))


@final
class JaxprEqn(metaclass=StandsFor):
    """An equation, ``outvars = primitive[params] invars``.

    Args:
        invars, outvars, primitive, params: its parts.
        effs: its effects.
        source_info: where it comes from, or `None`.
        ctx: accepted for compatibility; equations depend on no configuration.
    """

    stands_for = core.Equation

    def __new__(  # type: ignore[misc]
        cls,
        invars: Sequence[Any],
        outvars: Sequence[Any],
        primitive: core.Primitive,
        params: dict[str, Any],
        effs: Any,
        source_info: SourceInfo | None,
        ctx: Any,
    ) -> core.Equation:
        info = source_info or SourceInfo(None, NameStack())
        return core.Equation(
            primitive,
            tuple(invars),
            tuple(outvars),
            dict(params),
            frozenset(effs),
            info.traceback,
            tuple(info.name_stack),
        )


@final
class DebugInfo(metaclass=StandsFor):
    """Whose program a jaxpr is.

    Args:
        traced_for: the transformation that traced it.
        func_src_info: name and place of the function, ``f at file.py:3``.
        arg_names: one path per argument, if they are known.
        result_paths: one path per result, if they are known, or a function that gives them.
    """

    stands_for = core.DebugInfo

    def __new__(  # type: ignore[misc]
        cls,
        traced_for: str,
        func_src_info: str,
        arg_names: Sequence[str] | None,
        result_paths: Sequence[str] | Callable[[], Sequence[str]] | None,
    ) -> core.DebugInfo:
        paths = result_paths() if callable(result_paths) else result_paths
        names = None if arg_names is None else (lambda: tuple(arg_names))
        return core.DebugInfo(
            traced_for, func_src_info, names, None if paths is None else tuple(paths)
        )
