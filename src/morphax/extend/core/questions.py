"""Avals of batches, programs inside programs and the current trace, for interpreters."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, final

import numpy as np

from ... import core
from ...array import Array
from ...config import current as current_config
from ...core import AbstractValue, ShapedArray, Trace
from ...core.leaks import check_leaks as raise_of_leaks
from ...dtypes.catalogue import SCALARS

array_types: set[type] = {np.ndarray, Array, *[dtype.type for dtype in SCALARS]}
"""Types of values that are arrays; Python scalars are operands too, but none of these."""


def mapped_aval(size: int, axis: int | None, aval: AbstractValue) -> AbstractValue:
    """The aval of one member of a batch of `size` along `axis` (`None`: the aval itself)."""
    if axis is None or not isinstance(aval, ShapedArray):
        return aval
    assert aval.shape[axis] == size, (size, axis, aval)
    return aval.update(shape=aval.shape[:axis] + aval.shape[axis + 1 :])


def unmapped_aval(
    size: int, axis: int | None, aval: AbstractValue, explicit_mesh_axis: Any = None
) -> AbstractValue:
    """The aval of a batch of `size` along `axis`, from that of one member."""
    if axis is None or not isinstance(aval, ShapedArray):
        return aval
    return aval.update(shape=(*aval.shape[:axis], size, *aval.shape[axis:]))


def jaxpr_as_fun(closed_jaxpr: core.Jaxpr, *args: Any) -> Callable[..., list[Any]]:
    """The function of arrays that a program computes, its first arguments given."""
    return partial(core.eval_jaxpr, closed_jaxpr, closed_jaxpr.consts, *args)


def subjaxprs(jaxpr: core.Jaxpr) -> Iterator[core.Jaxpr]:
    """The programs in the parameters of the equations of `jaxpr`."""
    for eqn in jaxpr.eqns:
        yield from core.jaxprs_in_params(eqn.params)


def call_impl(f: Any, *args: Any, **params: Any) -> Any:
    """The result of a `linear_util.WrappedFun`."""
    return f.call_wrapped(*args)


@final
class TraceTag:
    """A mark that the traces of one transformation share, equal only to itself."""


@final
class take_current_trace:
    """A context that hands over the current trace; inside, operations are computed at once."""

    __slots__ = ("_context",)

    def __enter__(self) -> Trace:
        trace = core.current_trace()
        self._context = core.set_current_trace(core.root_trace())
        self._context.__enter__()
        return trace

    def __exit__(self, *exc: object) -> None:
        self._context.__exit__(*exc)


@final
class set_current_trace(core.set_current_trace):
    """A context in which `bind` is interpreted by `trace`.

    Args:
        trace: the trace.
        check_leaks: whether the trace ends with the context: under ``jax_check_tracer_leaks``
            tracers of it that are still there are an error.
    """

    __slots__ = ("_ends",)

    def __init__(self, trace: Trace, check_leaks: bool = False) -> None:
        super().__init__(trace)
        self._ends = check_leaks

    def __exit__(self, *exc: object) -> None:
        super().__exit__(*exc)
        if self._ends and current_config().check_tracer_leaks:
            trace = self._trace
            # What refers to the trace by this name is taken for a tracer of it.
            del self._trace
            trace.invalidate()
            raise_of_leaks(trace)
