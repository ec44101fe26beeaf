"""Eager mode: the root trace, which computes at once.

An operation on arrays in host memory is evaluated by its NumPy rule; nothing is compiled.  A primitive
that NumPy would run hopelessly slowly, or that carries a program of its own, defines `execute`,
which takes and gives `Array`s and may compile.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, final

import numpy as np

from ...array import Array
from ...core import Primitive, Trace, Tracer, aval_of, check_live, infer, install_root_trace
from ...util.messages import message


@final
class EvalTrace(Trace):
    """The trace at the bottom: evaluates every operation."""

    __slots__ = ()

    def process(
        self, primitive: Primitive, operands: Sequence[Any], params: dict[str, Any]
    ) -> Any:
        avals = [x.aval if type(x) is Array else aval_of(x) for x in operands]
        out_avals, _ = infer(primitive, tuple(params.items()) if params else (), *avals)
        if primitive.execute is not None:
            arrays = [as_array(x) for x in operands]
            return primitive.execute(*arrays, **params)
        inputs = [
            (x._host if x._host is not None else x.to_host())
            if type(x) is Array
            else _host_operand(x, aval)
            for x, aval in zip(operands, avals, strict=True)
        ]
        with np.errstate(all="ignore"):
            result = primitive.evaluate(*inputs, **params)
        if primitive.multiple_results:
            return [wrap(r, aval) for r, aval in zip(result, out_avals, strict=True)]
        return wrap(result, out_avals[0])

    def constant(self, value: Any) -> Array:
        return as_array(value)


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
    _refuse_tracer(x)
    return np.asarray(x, aval.dtype)


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
