"""`jit`: trace a function once per signature of its arguments, compile it, and call the result.

The signature is the structure of the arguments, their avals, the values of static arguments, and
what else tracing depends on (configuration and named axes).
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable, Sequence
from operator import attrgetter
from types import MethodType
from typing import Any, Final, final

import numpy as np

from ... import tree
from ...array import Array
from ...config import Config, state
from ...config import current as current_config
from ...core import AbstractRef, Jaxpr, aval_of, axis_env, hide_frames, stage_with_operands
from ...core.trace import _current as this_thread
from ...engines.build_events import TRACING, reported
from ...engines.reference.eager import EvalTrace, as_array
from ...engines.reference.key_reuse import check_program
from ...transforms.derivatives import shape_aval
from ...transforms.flattening import (
    FlatFunction,
    argument_names,
    check_avals,
    debug_info,
    function_label,
    function_name,
)
from ...util.parameter_keys import key_of
from ..chosen_arguments import Choice, StaticArguments, split_static
from ..remembered import Recall, may_be_rebuilt
from .compiled import Compiled
from .element_orders import element_orders
from .jit_options import (
    JitOptions,
    check_disjoint,
    check_function,
    check_hashable,
    donated_leaves,
    resolve,
)
from .lowered import Lowered
from .operands import only_arrays, put
from .program_cache import cache_of, compiled
from .recompiles import note_trace
from .shardings import checked_compiler_options, chosen_places
from .signature import Signature
from .spreading import ShardedFunction, spread_of
from .stages import BoundTraced, Traced

ToAval = Callable[[Any], Any]

_aval = attrgetter("aval")
_no_kwargs = tree.structure({})


@final
class PjitFunction:
    """What `jit` returns: call it like the function itself.

    It bears the name by which libraries know a jitted function.

    `__call__` is the twin of `native/calls.cpp`, which takes its place, and comes back to it with
    signatures that are new to it and with all calls that are not plain.
    """

    __slots__ = ("__dict__", "__weakref__", "_calls", "_static")

    def __init__(self, fun: Callable[..., Any], options: JitOptions) -> None:
        functools.update_wrapper(self, fun)
        self._fun = fun
        self._options = options
        self._static = options.static or None
        self._cache = cache_of(fun, options)
        # The table itself, which is never replaced: a call looks its signature up here.
        self._programs = self._cache.programs
        self._calls = self._cache.calls

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        config = current_config()
        try:
            if config.debugs_execution:
                return self._call_debugged(args, kwargs, config)
            # As `_find` does, whose frame would be one more where functions are nested.
            leaves, signature = self._signature_of(args, kwargs, config, aval_of)
            traced = self._known(signature) or self._traced(signature)
            return traced.apply(leaves)
        except Exception as error:
            hide_frames(error)
            raise

    def _call_debugged(self, args: tuple[Any, ...], kwargs: dict[str, Any], config: Config) -> Any:
        """A call under the options that watch execution, or forbid to compile."""
        if config.disable_jit:
            return self._fun(*args, **kwargs)
        leaves, traced = self._find(args, kwargs, config, aval_of)
        return traced.bind(leaves)

    def _find(
        self, args: tuple[Any, ...], kwargs: dict[str, Any], config: Config, to_aval: ToAval
    ) -> tuple[list[Any], Traced]:
        """The leaves of a call and the program for its signature, traced if it is new."""
        leaves, signature = self._signature_of(args, kwargs, config, to_aval)
        return leaves, self._known(signature) or self._traced(signature)

    def _signature_of(
        self, args: tuple[Any, ...], kwargs: dict[str, Any], config: Config, to_aval: ToAval
    ) -> tuple[list[Any], Signature]:
        static: StaticArguments | None = None
        static_key: tuple[Any, ...] | None = ()
        if self._static is not None:
            args, kwargs, static = split_static(self._static, args, kwargs)
            static_key = static.key
            if static_key is None:
                check_hashable(self._fun, static)
        leaves, args_tree = tree.flatten(args)
        kwargs_tree = _no_kwargs
        if kwargs:
            named, kwargs_tree = tree.flatten(kwargs)
            leaves += named
        if only_arrays(map(type, leaves)):
            avals = tuple(map(_aval, leaves))
        else:
            avals = self._avals_of_others(leaves, (args_tree, kwargs_tree), static, to_aval)
        scope, trace_key = key_of((args_tree, kwargs_tree, axis_env())), config.trace_key
        is_keyed = scope is not None and static_key is not None
        key = (avals, scope, static_key, trace_key) if is_keyed else None
        return leaves, Signature(avals, args_tree, kwargs_tree, static, key, static_key, trace_key)

    def _known(self, signature: Signature) -> Traced | None:
        """The program for a signature, if it has been traced."""
        key = signature.key
        if key is None:
            return None
        traced = self._programs.get(key) or self._cache.revived(key)
        if traced is not None:
            self._note_for_calls(signature, traced)
        return traced

    def _note_for_calls(self, signature: Signature, traced: Traced) -> None:
        """Tell the table of compiled calls, unless the program is not kept."""
        if self._calls is not None and signature.key in self._programs:
            avals, args_tree, kwargs_tree, _, _, static_key, trace_key = signature
            self._calls.add(avals, args_tree, kwargs_tree, static_key, trace_key, traced)

    def _avals_of_others(
        self,
        leaves: Sequence[Any],
        trees: tuple[Any, Any],
        static: StaticArguments | None,
        to_aval: ToAval,
    ) -> tuple[Any, ...]:
        """Avals of leaves among which are tracers, numbers, or what cannot be an argument."""
        try:
            return tuple([to_aval(x) for x in leaves])
        except (TypeError, OverflowError):
            complete = None if static is None else static.without_values().complete
            in_tree = tree.treedef_tuple(trees)
            check_avals(
                f"jit of {function_label(self._fun)}",
                lambda: argument_names(self._fun, in_tree, complete),
                leaves,
            )
            raise

    def _recalled(self, signature: Signature) -> tuple[Traced | None, Callable[[Traced], None]]:
        """The program for a signature that is new to this object, if not to its function.

        And what takes the program that is traced otherwise.
        """
        if signature.key is None or not may_be_rebuilt(self._fun):
            return None, lambda traced: None
        given = (signature.in_tree, signature.static, self._options.compiler_options)
        recall = Recall((self._fun,), ("jit", self._options, signature.avals), given)

        def keep(traced: Traced) -> None:
            recall.keep(traced.capturing([]), list(traced.captured))

        if recall.found is None:
            return None, keep
        traced, captured = recall.found
        return traced.capturing(captured), keep

    def _traced(self, signature: Signature) -> Traced:
        """The program for a new signature, which is kept."""
        traced, keep = self._recalled(signature)
        if traced is None:
            fun, options, in_tree, static = (
                self._fun,
                self._options,
                signature.in_tree,
                signature.static,
            )
            note_trace(fun, options, signature.avals, in_tree, static)
            flat = FlatFunction(fun, in_tree, "jit", complete=static and static.complete)
            info = debug_info("jit", fun, in_tree, static and static.without_values().complete)
            where = f"jit of {function_label(fun)}"
            sharded = options.shardings and ShardedFunction(flat, options.shardings, where)
            with reported(TRACING, function_name(fun)):
                jaxpr, captured = stage_with_operands(sharded or flat, signature.avals, info)
                check_program(jaxpr)
            traced = self._program(signature, jaxpr, captured, flat.out_tree, sharded)
            keep(traced)
        if traced.is_reusable and signature.key is not None:
            traced = self._cache.add(signature.key, traced)
        self._note_for_calls(signature, traced)
        return traced

    def _program(
        self,
        signature: Signature,
        jaxpr: Jaxpr,
        captured: list[Any],
        out_tree: tree.PyTreeDef,
        sharded: ShardedFunction | None,
    ) -> Traced:
        """A program that has been traced, with what the stages after it need."""
        options, avals, in_tree = self._options, signature.avals, signature.in_tree
        # Arrays of ours are aligned, and so go to XLA without a further copy at each call.
        owned = [as_array(c) if isinstance(c, np.ndarray) else c for c in jaxpr.consts]
        donated = donated_leaves(options.donated, in_tree, signature.static)
        params = {
            "name": function_name(self._fun),
            "donated_invars": (False,) * len(captured)
            + tuple([i in donated for i in range(len(avals))]),
            "keep_unused": options.keep_unused,
            "inline": options.inline,
            "compiler_options": options.compiler_options,
        }
        bound = jaxpr.is_high or any([type(aval) is AbstractRef for aval in jaxpr.in_avals])
        kind = BoundTraced if bound else Traced
        nothing = (None,) * len(avals), (None,) * len(jaxpr.outvars)
        wanted = (sharded.operands, sharded.results) if sharded else nothing
        return kind(
            jaxpr.in_avals[len(captured) :],
            {"jaxpr": jaxpr.replace(consts=tuple(owned)) if owned else jaxpr, **params},
            in_tree,
            out_tree,
            captured,
            device=options.device,
            spread=spread_of(jaxpr, *wanted, f"jit of {function_label(self._fun)}"),
            orders=element_orders(jaxpr, sharded.orders if sharded else ((), ())),
        )

    def trace(self, *args: Any, **kwargs: Any) -> Traced:
        """The jaxpr of the function for arguments like these.

        Args:
            *args: arrays, or anything with a shape and a dtype; and static arguments.
            **kwargs: the same, by name.

        Example:
            >>> import morphax as jax
            >>> jax.jit(lambda x: 2.0 * x).trace(1.0).jaxpr
            { lambda ; a:f32[]. let b:f32[] = mul 2.0:f32[] a in (b,) }
        """
        leaves, traced = self._find(args, kwargs, current_config(), shape_aval)
        # The function may be gone when an error of a later stage needs them.
        traced.name_arguments()
        return traced.where_bound(leaves)

    def lower(self, *args: Any, **kwargs: Any) -> Lowered:
        """The StableHLO module of the function for arguments like these; see `trace`."""
        return self.trace(*args, **kwargs).lower()

    def eval_shape(self, *args: Any, **kwargs: Any) -> Any:
        """Shapes and dtypes of the result for arguments like these; see `trace`."""
        _, traced = self._find(args, kwargs, current_config(), shape_aval)
        return traced.out_info

    def _cache_size(self) -> int:
        return len(self._cache)

    def clear_cache(self) -> None:
        """Forget the programs traced so far."""
        self._cache.clear()

    def __identity_state__(self) -> dict[str, Any]:
        return {"fun": self._fun, "options": self._options}

    def __get__(self, instance: object, owner: object = None) -> Any:
        return self if instance is None else MethodType(self, instance)

    def __reduce__(self) -> Any:
        return PjitFunction, (self._fun, self._options)

    @property
    def __signature__(self) -> inspect.Signature:
        """That of the function, also for those who do not follow `__wrapped__`."""
        return inspect.signature(self._fun)

    def __repr__(self) -> str:
        return f"<jit of {function_label(self._fun)}>"


if compiled is not None:
    compiled.install(
        PjitFunction,
        Compiled,
        Choice,
        Array,
        aval_of,
        put,
        _no_kwargs,
        state,
        this_thread,
        EvalTrace,
    )


class _Missing:
    """Tells a missing function from `None`."""

    def __repr__(self) -> str:
        return "..."


_MISSING: Final[Any] = _Missing()


def jit(
    fun: Callable[..., Any] = _MISSING,
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
        in_shardings: how arguments lie: a tree of shardings, `P` (over the current mesh) and
            `None` (as they are), a prefix of the tuple of arguments; all over the same devices,
            on which the program runs.
        out_shardings: how results lie, likewise; the compiler chooses where it is `None`.
        static_argnums: arguments, by position, that are Python values, not arrays; they must be
            hashable, and a new value means a new program.
        static_argnames: the same, by name.
        donate_argnums: arguments, by position, whose memory the results may take over; they
            cannot be used afterwards.
        donate_argnames: the same, by name.
        keep_unused: pass arguments to the program that it does not use.
        device: where to run; deprecated, put the arguments there instead.
        backend: the platform on which to run; deprecated too.
        inline: take up the equations of `fun` in programs that call it.
        compiler_options: XLA flags by name, for the outermost `jit` only; so "optimization_level"
            and "memory_fitting_level", which are a `jax.CompilerEffortLevel` or its name.

    Returns:
        A function of the same arguments, with the methods `trace`, `lower` and `eval_shape`.
        Without `fun`, a decorator.

    Raises:
        TypeError: an argument that is not static is not an array, or a sharding is none.
        ValueError: a static argument cannot be hashed, or arguments are chosen that `fun` has
            not; shardings do not fit, or an argument is committed to another one.
        RuntimeError: there is a `P` among the shardings, and no current mesh.

    Example:
        >>> import morphax as jax
        >>> @jax.jit
        ... def f(x, y):
        ...     return x * y + 1.0
        >>> f(2.0, 3.0)
        Array(7., dtype=float32, weak_type=True)
    """
    if fun is _MISSING:
        given = {k: v for k, v in locals().items() if k != "fun"}
        return functools.partial(jit, **given)
    check_function(fun)
    static = resolve(fun, static_argnums, static_argnames, "static")
    donated = resolve(fun, donate_argnums, donate_argnames, "donate")
    check_disjoint(fun, static, donated)
    options = JitOptions(
        static,
        donated,
        bool(keep_unused),
        bool(inline),
        *chosen_places(device, backend, in_shardings, out_shardings),
        checked_compiler_options(compiler_options),
    )
    return PjitFunction(fun, options)
