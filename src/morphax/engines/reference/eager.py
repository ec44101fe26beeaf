"""Eager mode: the root trace, which computes at once.

An operation on arrays in host memory is evaluated by its NumPy rule; nothing is compiled.  A
primitive that NumPy would run hopelessly slowly, or that carries a program of its own, defines
`execute`, which takes and gives `Array`s and may compile.

Where a committed operand, or ``jax_default_device``, calls for a place other than the host, the
engine for that place evaluates the operation (`engines.choice`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, final

import numpy as np

from ... import errors
from ...array import Array
from ...array.colocation import placement_of
from ...config import Config, state
from ...config import current as current_config
from ...core import (
    Equation,
    Primitive,
    ShapedArray,
    StagingTrace,
    StagingTracer,
    Tracer,
    Var,
    aval_of,
    check_live,
    install_root_trace,
    set_current_trace,
)
from ...core.staging import compiled as compiled_staging
from ...core.trace import Trace
from ...core.trace import _current as this_thread
from ...core.values import computed, host_value
from ...runtime import sharding
from ...runtime.devices import host_is_default
from ...runtime.transfer_guard import guard_transfer
from ...util.compiled import part, twin_in
from ...util.memo import MemoTable
from ...util.messages import message
from ...util.parameter_keys import params_key
from ..choice import engine_for, preferred_engines
from .float_errors import ignore_float_errors, restore_float_errors
from .kernels import KernelCall, application, applications, of_high_types
from .key_reuse import observed
from .nan_checks import bad_numbers, checked

compiled = part("replay")


@final
class EvalTrace(Trace):
    """The trace at the bottom: evaluates every operation."""

    __slots__ = ()

    def process(self, primitive: Primitive, operands: Sequence[Any], params: dict[str, Any]) -> Any:
        known = known_application(applications, primitive, operands, params)
        if known is not NotImplemented:
            return known
        config = current_config()
        if config.debugs_execution:
            return _debugged(self, primitive, operands, params)
        return self.compute(primitive, operands, params, config)

    def compute(
        self, primitive: Primitive, operands: Sequence[Any], params: dict[str, Any], config: Config
    ) -> Any:
        """`process`, whatever options of debugging are on."""
        if primitive.process_eval is not None:
            return primitive.process_eval(self, operands, params)
        if primitive.execute is not None:
            return self._execute(primitive, operands, params)
        avals: list[Any] = []
        inputs: list[Any] = []
        to_fetch: list[int] = []
        in_place = not preferred_engines and host_is_default(config)
        for x in operands:
            if type(x) is Array:
                avals.append(x.aval)
                if x._committed:
                    in_place = False
                if x._host is None:
                    to_fetch.append(len(inputs))
                inputs.append(x._host)
            else:
                avals.append(aval_of(x))
                to_fetch.append(len(inputs))
                inputs.append(x)
        if not in_place:
            return _where_placed(primitive, operands, params)
        call = application(primitive, params, tuple(avals))
        for i in to_fetch:
            inputs[i] = _host_operand(operands[i], avals[i])
        setting = ignore_float_errors()
        try:
            result = call.function(*inputs)
        finally:
            restore_float_errors(setting)
        if primitive.multiple_results:
            return list(map(wrap, result, call.avals))
        aval = call.avals[0]
        return Array(aval, result) if type(result) is np.ndarray else wrap(result, aval)

    def _execute(
        self, primitive: Primitive, operands: Sequence[Any], params: dict[str, Any]
    ) -> Any:
        """Apply an operation that takes and gives `Array`s, or values of high types."""
        call = application(primitive, params, tuple(map(aval_of, operands)))
        if call.function is of_high_types:
            with set_current_trace(self):
                return primitive.to_lojax(*operands, **params)
        assert primitive.execute is not None, "asked for by the caller"
        return primitive.execute(*map(as_array, operands), **params)

    def constant(self, value: Any) -> Array:
        return as_array(value)


@twin_in(compiled)
def known_application(
    table: MemoTable[KernelCall],
    primitive: Primitive,
    operands: Sequence[Any],
    params: dict[str, Any],
) -> Any:
    """The results of an operation that was applied before to Arrays like these.

    NotImplemented where it was not, or not of late, or where there is more to do than to call its
    kernel at home.
    """
    if not allow_short_ways(current_config()):
        return NotImplemented
    if any([type(x) is not Array or x._committed or x._host is None for x in operands]):
        return NotImplemented
    parameters = params_key(params)
    if parameters is None:
        return NotImplemented
    call = table.get((primitive, parameters, tuple([x.aval for x in operands])))
    if call is None or not call.is_plain:
        return NotImplemented
    return call([x._host for x in operands])


def allow_short_ways(config: Config) -> bool:
    """Whether nothing watches execution, and the host's memory is where it happens."""
    return not (preferred_engines or config.debugs_execution) and host_is_default(config)


def _debugged(
    trace: EvalTrace, primitive: Primitive, operands: Sequence[Any], params: dict[str, Any]
) -> Any:
    """Apply an operation under the options that watch execution."""
    config = current_config()
    if config.no_execution:
        raise RuntimeError(
            message(
                f"execution of {primitive.name}",
                given=f"operands {', '.join([str(aval_of(x)) for x in operands])}",
                expected="nothing to be executed, because jax_no_execution is on",
                fix="Trace and compile only, or leave the block of jax.no_execution.",
            )
        )
    if config.debug_key_reuse:
        return observed(trace, primitive, operands, params, config)
    bad = bad_numbers(config)
    if bad is None or primitive.process_eval is not None:
        return trace.compute(primitive, operands, params, config)
    return checked(trace, bad, primitive, operands, params)


def _where_placed(primitive: Primitive, operands: Sequence[Any], params: dict[str, Any]) -> Any:
    """Apply an operation where its operands, or the configuration, call for."""
    arrays = [as_array(x) for x in operands]
    place, committed = placement_of(arrays, primitive.name)
    engine = engine_for(None, place, operations=1)
    results = engine.evaluate(primitive, arrays, params, place, committed)
    return results if primitive.multiple_results else results[0]


def wrap(result: Any, aval: Any) -> Array:
    """The result of an `evaluate` rule as an `Array`, which it is if it lies on a mesh."""
    if type(result) is not np.ndarray:
        if type(result) is Array:
            return result
        result = np.asarray(result)
    return Array(aval, result)


def as_array(x: Any) -> Array:
    """An operand as an `Array`."""
    if type(x) is Array:
        return x
    _refuse_tracer(x)
    if type(x) is np.ndarray:
        guard_transfer("host_to_device", x)
    return Array.from_host(x)


class RunsOnArrays(Primitive):
    """Base of operations with several results whose meaning is `execute`."""

    lowers_key_data = True
    execute: Callable[..., list[Array]]

    def evaluate(self, *operands: Any, **params: Any) -> list[Any]:
        return [x.to_host() for x in self.execute(*map(as_array, operands), **params)]


def _host_operand(x: Any, aval: Any) -> Any:
    """An operand as a NumPy array that nobody else writes to."""
    if isinstance(x, np.generic):
        return np.asarray(x, aval.dtype)
    if type(x) is Array:
        return x.to_host()
    _refuse_tracer(x)
    if type(x) is np.ndarray:
        guard_transfer("host_to_device", x)
    # A result may be a view of its operand.
    try:
        return np.array(x, aval.dtype, order="C")
    except TypeError:
        return np.array(host_value(x, aval.dtype), order="C")


def _refuse_tracer(x: Any) -> None:
    if type(x) in computed:
        computed[type(x)](x)
    if isinstance(x, Tracer):
        check_live(x)
        raise errors.UnexpectedTracerError(
            message(
                "eager operation",
                given=f"{x.origin()}, outside its transformation",
                expected="concrete arrays",
                fix="Return the value from the transformed function; a function with custom "
                "derivative rules must take as an argument what is differentiated.",
            )
        )


install_root_trace(EvalTrace(None))

if compiled_staging is not None:
    compiled_staging.install(StagingTrace, StagingTracer, Equation, Var, state, this_thread)
if compiled is not None:
    compiled.install(
        Array,
        ShapedArray,
        KernelCall,
        aval_of,
        host_is_default,
        preferred_engines,
        ignore_float_errors,
        restore_float_errors,
        sharding,
        state,
        this_thread,
    )
