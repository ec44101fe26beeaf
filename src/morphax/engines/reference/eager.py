"""Eager mode: the root trace, which computes at once.

An operation on arrays in host memory is evaluated by its NumPy rule; nothing is compiled.  A
primitive that NumPy would run hopelessly slowly, or that carries a program of its own, defines
`execute`, which takes and gives `Array`s and may compile.

Where a committed operand, or ``jax_default_device``, calls for a device other than the host, the
operation is compiled for that device, once per signature.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, final

import numpy as np

from ...array import Array
from ...array.colocation import placement_of
from ...core import Primitive, Trace, Tracer, aval_of, check_live, infer, install_root_trace
from ...util.messages import message
from ..devices import host_device, host_is_default
from ..xla.operation import run_operation


@final
class EvalTrace(Trace):
    """The trace at the bottom: evaluates every operation."""

    __slots__ = ()

    def process(self, primitive: Primitive, operands: Sequence[Any], params: dict[str, Any]) -> Any:
        avals = [x.aval if type(x) is Array else aval_of(x) for x in operands]
        out_avals, _ = infer(primitive, tuple(params.items()) if params else (), *avals)
        if primitive.execute is not None:
            return primitive.execute(*[as_array(x) for x in operands], **params)
        if not host_is_default():
            return _where_placed(primitive, operands, params, out_avals)
        inputs = []
        for x, aval in zip(operands, avals, strict=True):
            if type(x) is not Array:
                inputs.append(_host_operand(x, aval))
            elif x._committed:
                return _where_placed(primitive, operands, params, out_avals)
            else:
                inputs.append(x._host if x._host is not None else x.to_host())
        with np.errstate(all="ignore"):
            result = primitive.evaluate(*inputs, **params)
        if primitive.multiple_results:
            return [wrap(r, aval) for r, aval in zip(result, out_avals, strict=True)]
        return wrap(result, out_avals[0])

    def constant(self, value: Any) -> Array:
        return as_array(value)


def _where_placed(
    primitive: Primitive, operands: Sequence[Any], params: dict[str, Any], out_avals: Sequence[Any]
) -> Any:
    """Apply an operation on the device that its operands, or the configuration, call for."""
    arrays = [as_array(x) for x in operands]
    device, committed = placement_of(arrays, primitive.name)
    if device is host_device():
        with np.errstate(all="ignore"):
            result = primitive.evaluate(*[x.to_host() for x in arrays], **params)
        values = result if primitive.multiple_results else (result,)
        results = [
            Array(aval, np.asarray(value), None, device, committed)
            for value, aval in zip(values, out_avals, strict=True)
        ]
    else:
        results = run_operation(primitive, arrays, params, device, committed)
    return results if primitive.multiple_results else results[0]


def wrap(result: Any, aval: Any) -> Array:
    """The result of an `evaluate` rule as an `Array`."""
    if type(result) is not np.ndarray:
        result = np.asarray(result)
    return Array(aval, result)


def as_array(x: Any) -> Array:
    """An operand as an `Array`."""
    if type(x) is Array:
        return x
    _refuse_tracer(x)
    return Array.from_host(x)


def _host_operand(x: Any, aval: Any) -> Any:
    """An operand that is no `Array` as a NumPy array that nobody else writes to."""
    _refuse_tracer(x)
    # A result may be a view of its operand.
    return np.array(x, aval.dtype, order="C")


def _refuse_tracer(x: Any) -> None:
    if isinstance(x, Tracer):
        check_live(x)
        raise TypeError(
            message(
                "eager operation",
                given=f"{x.origin()}, outside its transformation",
                expected="concrete arrays",
                fix="Return the value from the transformed function.",
            )
        )


install_root_trace(EvalTrace(None))
