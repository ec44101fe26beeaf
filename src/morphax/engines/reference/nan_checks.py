"""Find where a NaN or an infinity comes from: ``jax_debug_nans`` and ``jax_debug_infs``.

With either option on, the results of all that eager mode applies are checked.  A bad number of a
single operation names that operation.  One that comes out of a program (`jit`, `scan`, `cond`, …)
makes the program run again on the same operands, now one operation at a time, loops included.
There each bad value knows the operation that made it from good ones, and hands this on to what is
computed of it.  So the operation named is the one that the bad result stems from: a NaN that
`where` discards is nobody's fault.

Memory that was to be donated is kept, because the operands are needed a second time.  Side effects
of the program happen a second time.  See docs/design/diagnostics.md.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any, NamedTuple, TypeVar, final

import numpy as np

from ... import dtypes, tree
from ...array import Array
from ...config import Config, override
from ...config import current as current_config
from ...core import (
    Jaxpr,
    Primitive,
    Tracer,
    aval_of,
    current_name_stack,
    equation_source,
    jaxprs_in_params,
    new_trace,
    without_references,
)
from ...core.trace import Trace
from ...util.frames import UserFrame
from ...util.records import dataclass
from .nan_report import bad_result_text, bad_value_text

F = TypeVar("F", bound=Callable[..., Any])


class BadNumbers(NamedTuple):
    """What counts as bad: its name, the option, and a mask of it."""

    name: str
    option: str
    mask: Callable[[Any], Any]

    def among(self, x: Any) -> Any | None:
        """The mask of bad elements of an array, `None` if there are none."""
        if not isinstance(x, Array) or not dtypes.issubdtype(x.dtype, np.inexact):
            return None
        with np.errstate(all="ignore"):
            mask = self.mask(x.to_host())
        return mask if mask.any() else None


def bad_numbers(config: Config) -> BadNumbers | None:
    """What the options ask to be found."""
    if config.debug_nans and config.debug_infs:
        return BadNumbers("NaN or infinity", "jax_debug_nans", lambda x: ~np.isfinite(x))
    if config.debug_nans:
        return BadNumbers("NaN", "jax_debug_nans", np.isnan)
    return BadNumbers("infinity", "jax_debug_infs", np.isinf) if config.debug_infs else None


@final
@dataclass(frozen=True, slots=True)
class Cause:
    """What made a bad value.

    Args:
        operation: the primitive, `None` for an argument of the program.
        operands: its operands; for an argument, the argument itself.
        result: the bad value.
        source: the user's line.
        scopes: loop steps and named scopes, outermost first.
        position: of the argument.
    """

    operation: Primitive | None
    operands: Sequence[Any]
    result: Any
    source: UserFrame | None = None
    scopes: tuple[str, ...] = ()
    position: int = 0


@final
class WatchTracer(Tracer):
    """A concrete value, and where it comes from if it is bad."""

    __slots__ = ("cause", "value")

    def __init__(self, trace: WatchTrace, value: Any, cause: Cause | None) -> None:
        self._trace = trace
        self.value = value
        self.cause = cause
        self.aval = aval_of(value)

    def concrete(self) -> Any:
        return self.value


@final
class WatchTrace(Trace):
    """Applies operations in the parent, one at a time, and watches for bad results."""

    __slots__ = ("bad",)
    parent: Trace

    def __init__(self, parent: Trace, bad: BadNumbers) -> None:
        super().__init__(parent)
        self.bad = bad

    def process(self, primitive: Primitive, operands: Sequence[Any], params: dict[str, Any]) -> Any:
        if primitive.interpret is not None:
            return primitive.interpret(*operands, **params)
        program = called_program(params, [aval_of(x) for x in operands])
        if program is not None:
            return self.splice(without_references(program), operands)
        values = [x.value if type(x) is WatchTracer else x for x in operands]
        results = self.parent.process(primitive, values, params)
        if not primitive.multiple_results:
            return WatchTracer(self, results, self._cause(primitive, operands, values, results))
        return [WatchTracer(self, y, self._cause(primitive, operands, values, y)) for y in results]

    def argument(self, value: Any, position: int) -> WatchTracer:
        """An argument of the program that is watched."""
        bad = self.bad.among(value) is not None
        cause = Cause(None, [value], value, position=position) if bad else None
        return WatchTracer(self, value, cause)

    def _cause(
        self, primitive: Primitive, operands: Sequence[Any], values: Sequence[Any], result: Any
    ) -> Cause | None:
        mask = self.bad.among(result)
        if mask is None:
            return None
        suspects = [x for x in operands if type(x) is WatchTracer and x.cause is not None]
        if not suspects:
            return Cause(primitive, values, result, equation_source(), current_name_stack())
        place = np.unravel_index(int(np.argmax(mask)), mask.shape)
        # Of several bad operands, one that is bad in the same place.
        for x in suspects:
            theirs = self.bad.among(x.value)
            if theirs is not None and theirs.shape == mask.shape and theirs[place]:
                return x.cause
        return suspects[0].cause


def called_program(params: dict[str, Any], avals: Sequence[Any]) -> Jaxpr | None:
    """The program that an operation applies to its operands as they are, if it does."""
    programs = list(jaxprs_in_params(params))
    if len(programs) != 1:
        return None
    expected = [aval.strip_weak_type() for aval in programs[0].in_avals]
    return programs[0] if expected == [aval.strip_weak_type() for aval in avals] else None


def checked(
    trace: Trace,
    bad: BadNumbers,
    primitive: Primitive,
    operands: Sequence[Any],
    params: dict[str, Any],
) -> Any:
    """Apply an operation in eager mode.

    Raises:
        FloatingPointError: a result has a bad number; the text tells where it comes from.
    """
    if any(params.get("donated_invars", ())):
        params = params | {"donated_invars": (False,) * len(operands)}
    with override(debug_nans=False, debug_infs=False):
        result = trace.process(primitive, operands, params)
        results = result if primitive.multiple_results else [result]
        for position, y in enumerate(results):
            if bad.among(y) is not None:
                cause = _cause_of(trace, bad, primitive, operands, params, position)
                text = bad_result_text(bad, primitive, params, position, y, cause)
                raise FloatingPointError(text)
    return result


def _cause_of(
    trace: Trace,
    bad: BadNumbers,
    primitive: Primitive,
    operands: Sequence[Any],
    params: dict[str, Any],
    position: int,
) -> Cause | None:
    """Apply the operation again, watched; `None` if the result is good this time."""
    watch = WatchTrace(trace, bad)
    with new_trace(watch):
        arguments = [watch.argument(trace.constant(x), i) for i, x in enumerate(operands)]
        result = watch.process(primitive, arguments, params)
        y = result[position] if primitive.multiple_results else result
        return y.cause if type(y) is WatchTracer else None


def checked_as_one(function: F) -> F:
    """A function of arrays that may meet bad numbers on the way to good results.

    In eager mode its results are checked, not its steps.  Compiled, it needs no such care: there
    only what a result stems from counts.
    """

    @wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        config = current_config()
        bad = bad_numbers(config) if config.debugs_execution else None
        if bad is None:
            return function(*args, **kwargs)
        with override(debug_nans=False, debug_infs=False):
            result = function(*args, **kwargs)
        for leaf in tree.leaves(result):
            y = leaf.concrete() if isinstance(leaf, Tracer) else leaf
            if bad.among(y) is not None:
                raise FloatingPointError(bad_value_text(bad, function.__name__, y))
        return result

    return call  # type: ignore[return-value]
