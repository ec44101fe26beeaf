"""`jit`: trace a function once per signature of its arguments, compile it, and call the result.

The signature is the structure of the arguments, their avals, the values of static arguments, and
what else tracing depends on (configuration and named axes).
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from types import MethodType
from typing import Any, final
from weakref import WeakKeyDictionary

from .. import tree
from ..config import current as current_config
from ..array import Array
from ..core import Jaxpr, aval_of, axis_env, current_trace, stage_with_operands
from ..engines.reference.eager import EvalTrace, as_array
from ..transforms.flattening import (
    FlatFunction,
    argument_names,
    check_values,
    debug_info,
    function_label,
    function_name,
)
from ..util.memo import on_clear
from ..util.messages import message
from .calls import compiled
from .jit_primitive import jit_p


@final
@dataclass(frozen=True, slots=True)
class JitOptions:
    """How a function is to be compiled; equal options share traced programs."""

    static_argnums: tuple[int, ...] = ()
    static_argnames: tuple[str, ...] = ()
    donate_argnums: tuple[int, ...] = ()
    donate_argnames: tuple[str, ...] = ()
    keep_unused: bool = False
    inline: bool = False
    compiler_options: tuple[tuple[str, Any], ...] = ()


@final
@dataclass(frozen=True, slots=True)
class Program:
    """A function traced for one signature.

    Args:
        jaxpr: what it computes; `captured` tracers come first among its operands.
        captured: tracers of outer traces that the function refers to.
        in_tree, out_tree: structures of the dynamic arguments and of the result.
        params: parameters of the `jit` equation.
        donated: positions of donated leaves.
    """

    jaxpr: Jaxpr
    captured: Sequence[Any]
    in_tree: Any
    out_tree: Any
    params: dict[str, Any]
    donated: tuple[int, ...]

    def __call__(self, leaves: Sequence[Any]) -> Any:
        """Run on leaves of this signature, in the current trace."""
        if type(current_trace()) is EvalTrace:
            arrays = [x if type(x) is Array else as_array(x) for x in leaves]
            results = self.executable(arrays)
            for position in self.donated:
                arrays[position].delete(f"donated to {self.params['name']}")
        else:
            results = jit_p.bind(*self.captured, *leaves, **self.params)
        return self.out_tree.unflatten(results)

    @property
    def executable(self) -> Callable[[Sequence[Array]], list[Array]]:
        params = self.params
        return compiled(
            self.jaxpr, params["name"], params["donated_invars"], params["compiler_options"]
        )


_programs: WeakKeyDictionary[Any, dict[JitOptions, dict[Any, Program]]] = WeakKeyDictionary()
on_clear(_programs.clear)


def _programs_of(fun: Callable[..., Any], options: JitOptions) -> dict[Any, Program]:
    """The traced programs of a function, shared by all its `jit` wrappers with equal options."""
    try:
        by_options = _programs.setdefault(fun, {})
    except TypeError:  # `fun` cannot be hashed or weakly referred to
        return {}
    return by_options.setdefault(options, {})


class JitFunction:
    """What `jit` returns: call it like the function itself."""

    def __init__(self, fun: Callable[..., Any], options: JitOptions) -> None:
        functools.update_wrapper(self, fun)
        self._fun = fun
        self._options = options
        self._has_static = bool(options.static_argnums or options.static_argnames)
        self._cache = _programs_of(fun, options)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        settings = current_config()
        if settings.disable_jit:
            return self._fun(*args, **kwargs)
        leaves, program = self._program(args, kwargs, settings)
        return program(leaves)

    def _program(
        self, args: tuple[Any, ...], kwargs: dict[str, Any], settings: Any
    ) -> tuple[list[Any], Program]:
        """The leaves of a call and the program for them, traced if it is new."""
        static: Any = None
        dynamic = (args, kwargs)
        if self._has_static:
            dynamic, static = self._split_static(args, kwargs)
        leaves, in_tree = tree.flatten(dynamic)
        try:
            avals = tuple([x.aval if type(x) is Array else aval_of(x) for x in leaves])
        except TypeError:
            check_values("jit", lambda: argument_names(self._fun, in_tree), leaves)
            raise
        key = (in_tree, avals, static, settings.trace_key, axis_env())
        program = self._cache.get(key)
        if program is None:
            program = self._trace(static, in_tree, avals)
            if not program.captured:
                self._cache[key] = program
        return leaves, program

    def _trace(self, static: Any, in_tree: Any, avals: tuple[Any, ...]) -> Program:
        fun = self._fun if static is None else _with_static(self._fun, static)
        flat = FlatFunction(fun, in_tree, "jit")
        jaxpr, captured = stage_with_operands(flat, avals, debug_info("jit", fun, in_tree))
        donated = self._donated_leaves(in_tree)
        offset = len(captured)
        params = {
            "name": function_name(self._fun),
            "jaxpr": jaxpr,
            "donated_invars": tuple([i - offset in donated for i in range(len(jaxpr.invars))]),
            "keep_unused": self._options.keep_unused,
            "inline": self._options.inline,
            "compiler_options": self._options.compiler_options,
        }
        return Program(jaxpr, captured, in_tree, flat.out_tree, params, tuple(sorted(donated)))

    def _split_static(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, Any]:
        options = self._options
        positions = {n % len(args) for n in options.static_argnums if -len(args) <= n < len(args)}
        dynamic = tuple([x for i, x in enumerate(args) if i not in positions])
        named = {k: v for k, v in kwargs.items() if k not in options.static_argnames}
        static = (
            tuple([(i, args[i]) for i in sorted(positions)]),
            tuple([(k, kwargs[k]) for k in sorted(kwargs.keys() - named.keys())]),
        )
        for name, value in (*static[0], *static[1]):
            _check_hashable(self._fun, name, value)
        return (dynamic, named), static

    def _donated_leaves(self, in_tree: Any) -> frozenset[int]:
        options = self._options
        if not (options.donate_argnums or options.donate_argnames):
            return frozenset()
        args, kwargs = in_tree.unflatten(range(in_tree.num_leaves))
        static = set(options.static_argnums)
        # Dynamic arguments lost their static neighbours: count positions as the user does.
        numbers = (i for i in range(len(args) + len(static)) if i not in static)
        chosen = [a for n, a in zip(numbers, args, strict=False) if n in options.donate_argnums]
        chosen += [v for k, v in kwargs.items() if k in options.donate_argnames]
        return frozenset(tree.leaves(chosen))

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        return self if instance is None else MethodType(self, instance)

    def __repr__(self) -> str:
        return f"<jit of {function_label(self._fun)}>"

    def clear_cache(self) -> None:
        """Forget the programs traced so far."""
        self._cache.clear()


def _check_hashable(fun: Callable[..., Any], name: Any, value: Any) -> None:
    try:
        hash(value)
    except TypeError:
        raise ValueError(
            message(
                f"jit of {function_label(fun)}, static argument {name}",
                given=f"{value!r:.80} of type {type(value).__name__}, which cannot be hashed",
                expected="static arguments that can be hashed and compared",
                fix="Pass a tuple instead of a list, or do not mark the argument static.",
            )
        ) from None


def _with_static(fun: Callable[..., Any], static: Any) -> Callable[..., Any]:
    """`fun` as a function of its dynamic arguments."""
    positional, named = static

    @functools.wraps(fun)
    def call(*args: Any, **kwargs: Any) -> Any:
        full = list(args)
        for position, value in positional:
            full.insert(position, value)
        return fun(*full, **dict(named), **kwargs)

    # Its own arguments are not those that the signature of `fun` shows.
    call.__dict__.pop("__wrapped__", None)
    return call


def jit(
    fun: Callable[..., Any] | None = None,
    /,
    *,
    in_shardings: Any = None,
    out_shardings: Any = None,
    static_argnums: int | Sequence[int] | None = None,
    static_argnames: str | Iterable[str] | None = None,
    donate_argnums: int | Sequence[int] | None = None,
    donate_argnames: str | Iterable[str] | None = None,
    keep_unused: bool = False,
    device: Any = None,
    backend: str | None = None,
    inline: bool = False,
    compiler_options: dict[str, Any] | None = None,
) -> Any:
    """Compile `fun` with XLA: it is traced once per signature of its arguments.

    Args:
        fun: pure function of arrays, trees of arrays, and static arguments.
        in_shardings, out_shardings: how arguments and results are laid out over devices.
        static_argnums, static_argnames: arguments that are Python values, not arrays; they must
            be hashable, and a new value means a new program.
        donate_argnums, donate_argnames: arguments whose memory the results may take over; they
            cannot be used afterwards.
        keep_unused: pass arguments to the program that it does not use.
        device, backend: where to run.
        inline: take up the equations of `fun` in programs that call it.
        compiler_options: XLA flags by name.

    Returns:
        A function of the same arguments.  Without `fun`, a decorator.

    Raises:
        TypeError: an argument that is not static is not an array.
        ValueError: a static argument cannot be hashed.

    Example:
        >>> import morphax as jax
        >>> @jax.jit
        ... def f(x, y):
        ...     return x * y + 1.0
        >>> f(2.0, 3.0)
        Array(7., dtype=float32, weak_type=True)
    """
    if fun is None:
        given = {k: v for k, v in locals().items() if k != "fun"}
        return functools.partial(jit, **given)
    if not callable(fun):
        raise TypeError(
            message(
                "jit, argument fun",
                given=f"{fun!r:.80} of type {type(fun).__name__}",
                expected="a callable",
                fix="Pass the function itself: jit(f), not jit(f(x)).",
            )
        )
    static = _both(fun, static_argnums, static_argnames)
    donated = _both(fun, donate_argnums, donate_argnames)
    options = tuple(sorted((compiler_options or {}).items()))
    return JitFunction(fun, JitOptions(*static, *donated, keep_unused, inline, options))


def _both(
    fun: Callable[..., Any], numbers: Any, names: Any
) -> tuple[tuple[int, ...], tuple[str, ...]]:
    """Arguments chosen by number or name, each in both ways as far as the signature tells."""
    given_numbers = _as_tuple(numbers, int)
    given_names = _as_tuple(names, str)
    if not (given_numbers or given_names):
        return (), ()
    try:
        parameters = list(inspect.signature(fun).parameters.values())
    except (TypeError, ValueError):
        return given_numbers, given_names
    positional = [
        p.name for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)
    ]
    if names is None:
        given_names = tuple([positional[n] for n in given_numbers if n < len(positional)])
    elif numbers is None:
        given_numbers = tuple([positional.index(n) for n in given_names if n in positional])
    return given_numbers, given_names


def _as_tuple(x: Any, item: type) -> tuple[Any, ...]:
    if x is None:
        return ()
    return (x,) if isinstance(x, item) else tuple(x)
