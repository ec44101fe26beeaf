"""Functions of several operations, which eager mode replays.

What such a function applies depends on the avals of its operands, on its other arguments and on the
configuration.  At the second eager call of a signature it is staged; later calls run the kernels of
that program.  At the first call, under a transformation, where arrays are bound to a device, and
where execution is watched, the function itself runs.  See docs/design/eager-replay.md.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from inspect import unwrap
from typing import Any, TypeVar, final

import numpy as np

from ... import dtypes
from ...config import current as current_config
from ...core import (
    Calls,
    HasAval,
    Jaxpr,
    attributed_to,
    aval_of,
    call_or_recorded,
    current_trace,
    hide_frames,
    is_recording,
    recording,
    root_trace,
    set_current_trace,
    stage_closed,
)
from ...core.trace import Trace
from ...util.compiled import twin_in
from ...util.frames import NOWHERE
from ...util.host_memory import pooled
from ...util.memo import MemoTable, missing
from ..choice import preferred_engines
from .eager import allow_short_ways, compiled
from .kernel_program import kernel_program
from .kernels import KernelCall, are_large
from .placed_replay import PlacedPrograms, placed_program, where_placed
from .replay_signatures import (
    ARRAY,
    OPERAND,
    STATIC,
    Arguments,
    avals_of_signature,
    is_by_value,
    is_roots,
    itself,
    signature_of,
    with_operands,
    with_own_arrays,
)
from .transformed_replay import TransformedCalls

F = TypeVar("F", bound=Callable[..., Any])
_ROOT = root_trace()
# Elements of each operand, and the product of all whole numbers among the other arguments, up to
# which a first call is made operation by operation: what it makes in between is small then.
_FEW_ELEMENTS, _FEW = 1 << 12, 1 << 16
# Elements: what depends on no operand is kept with its program, so it should be small.
_LARGEST_KEPT = 1 << 14

Programs = MemoTable[KernelCall | None]


def replayed(
    operands: int,
    arrays: Sequence[str] = (),
    by_numpy: Callable[..., Any] | None = None,
    of_many: Callable[..., Any] | None = None,
) -> Callable[[F], F]:
    """Let eager calls of a function replay its kernels.

    Args:
        operands: how many leading parameters may be arrays, scalars, or lists and tuples with
            arrays among their members; of none, small results are kept.  The function must not look
            at numbers, and returns an array or a tuple of arrays.
        arrays: names of further parameters that may be arrays, or lists and tuples with arrays; if
            not they are static, as all others are.
        by_numpy: for a function whose program has loops, or is made for the compiler: (avals of the
            results and the operands, the other arguments by name) → a function of the
            operands in NumPy, of the same numbers; or None, where the program is to do it.
        of_many: the same, asked where an operand has many elements only.
    """

    def decorate(function: F) -> F:
        code = unwrap(function).__code__
        names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
        roles = dict.fromkeys(code.co_varnames[:operands], OPERAND)
        roles |= {name: ARRAY for name in arrays}
        assert set(arrays) <= set(names), "they are parameters"
        later = [roles.get(name, STATIC) for name in names[operands : code.co_argcount]]
        positions = (*[OPERAND] * operands, *later)
        programs: Programs = MemoTable(max_entries=1024)
        calls: Calls = MemoTable(max_entries=1024)
        replay = _Replay(function, by_numpy, of_many, names, positions, roles, programs)

        @functools.wraps(function)
        def call(*args: Any, **kwargs: Any) -> Any:
            try:
                result = known_result(programs, positions, roles, args, kwargs)
                if result is NotImplemented:
                    result = replay.new_result(args, kwargs)
                elif result is None and (trace := current_trace()) is _ROOT:
                    own = replay.with_own_arrays(args, kwargs)
                    if own is not None:
                        return call(*own[0], **own[1])
                    result = replay.placed_result(args, kwargs)
                elif result is None and trace.passes_numbers:
                    result = replay.transformed_result(call, trace, args, kwargs)
                if result is not None:
                    return result
                return call_or_recorded(calls, function, args, kwargs)
            except Exception as error:
                hide_frames(error)
                raise

        return call  # type: ignore[return-value]

    return decorate


@final
class _Replay:
    """A function that takes part, and what is known of calls of it."""

    def __init__(
        self,
        function: Callable[..., Any],
        by_numpy: Callable[..., Any] | None,
        of_many: Callable[..., Any] | None,
        names: Sequence[str],
        positions: tuple[int, ...],
        roles: dict[str, int],
        programs: Programs,
    ) -> None:
        self._function = function
        self._by_numpy = by_numpy
        self._of_many = of_many
        self._names = names
        self._parameters = positions, roles
        self._programs = programs
        self._placed_programs: PlacedPrograms = MemoTable(max_entries=1024)
        # Made when it is needed: there are hundreds of functions.
        self._transformed: TransformedCalls | None = None
        self._met: MemoTable[bool] = MemoTable(max_entries=1024)

    def new_result(self, args: Arguments, kwargs: dict[str, Any]) -> Any:
        """The result of a call of which no program is known yet; `None` if there is none."""
        inputs: list[Any] = []
        signature = signature_of(*self._parameters, args, kwargs, inputs)
        assert signature is not None, "only what can be replayed is looked for"
        key = signature, tuple(kwargs), current_config().trace_key
        program = self._programs[key]
        if program is missing:
            given = (*args, *kwargs.values())
            if self._by_numpy is None and _is_first(self._met, key, signature, given):
                with recording():
                    return self._function(*args, **kwargs)
            program = self._programs.add(key, self._made(signature, args, kwargs))
        return None if program is None else program(inputs)

    def _made(
        self, signature: Sequence[Any], args: Arguments, kwargs: dict[str, Any]
    ) -> KernelCall | None:
        """The program of a call, or NumPy's way; `None` if the function itself is to run."""
        avals = avals_of_signature(signature)
        staged = _staged(self._function, signature, args, kwargs)
        if staged is None:
            return None
        jaxpr, collect = staged
        if not avals and sum([aval.size for aval in jaxpr.out_avals]) > _LARGEST_KEPT:
            return None
        is_of_many = _are_many([*avals, *jaxpr.out_avals])
        make = self._by_numpy or (self._of_many if is_of_many else None)
        by_hand = make and _by_hand(
            make, self._names, self._parameters[0], jaxpr, signature, args, kwargs
        )
        if by_hand is not None:
            is_large = are_large([*jaxpr.out_avals, *avals])
            return KernelCall(pooled(by_hand) if is_large else by_hand, jaxpr.out_avals, collect)
        return kernel_program(jaxpr, *([] if collect is None else [collect]))

    def with_own_arrays(
        self, args: Arguments, kwargs: dict[str, Any]
    ) -> tuple[Arguments, dict[str, Any]] | None:
        """The arguments as a call of which a program may be known has them; `None` if they are."""
        config = current_config()
        # A copy is a transfer, which may be watched.
        if not allow_short_ways(config) or config.transfer_guard_host_to_device is not None:
            return None
        return with_own_arrays(*self._parameters, args, kwargs)

    def placed_result(self, args: Arguments, kwargs: dict[str, Any]) -> Any:
        """The result of a call for which the host's memory is not the place.

        `None` where the function itself is to run.
        """
        config = current_config()
        if config.debugs_execution or preferred_engines or not config.replay_placed_calls:
            return None
        inputs: list[Any] = []
        signature = signature_of(*self._parameters, args, kwargs, inputs, take=itself)
        if signature is None:
            return None
        name = self._function.__name__
        place, committed = where_placed(inputs, name)
        if place is None:
            return None
        key = place, signature, tuple(kwargs), config.trace_key
        program = self._placed_programs[key]
        if program is missing:
            staged = _staged(self._function, signature, args, kwargs)
            made = None if staged is None else placed_program(name, *staged, place)
            program = self._placed_programs.add(key, made)
        return None if program is None else program(inputs, committed)

    def transformed_result(
        self, call: Callable[..., Any], trace: Trace, args: Arguments, kwargs: dict[str, Any]
    ) -> Any:
        """The result of a call under a trace of derivatives or batches.

        `None` where the function itself is to run.
        """
        if is_roots(trace, args, kwargs):
            with set_current_trace(_ROOT):
                return call(*args, **kwargs)
        if not allow_short_ways(current_config()):
            return None
        if self._transformed is None:
            stage = functools.partial(_staged, self._function)
            self._transformed = TransformedCalls(self._function, *self._parameters, stage)
        return self._transformed.result(trace, args, kwargs)


@twin_in(compiled)
def known_result(
    programs: Programs,
    positions: tuple[int, ...],
    roles: dict[str, int],
    args: Arguments,
    kwargs: dict[str, Any],
) -> Any:
    """The result of a call; None where the function itself is to run.

    NotImplemented where no program is known yet, or none that was asked for of late.
    """
    config = current_config()
    if current_trace() is not _ROOT or not allow_short_ways(config):
        return None
    inputs: list[Any] = []
    signature = signature_of(positions, roles, args, kwargs, inputs)
    if signature is None:
        return None
    program = programs.get((signature, tuple(kwargs), config.trace_key), missing)
    if program is missing:
        return NotImplemented
    return None if program is None else program(inputs)


def _is_first(
    met: MemoTable[bool], key: Any, signature: Sequence[Any], given: Iterable[Any]
) -> bool:
    """Whether a call is one of the first, of which a program would cost more than it saves.

    Of few numbers, that is: large results in between would take time and memory.  What such a call
    itself calls is not noted.
    """
    if current_config().replay_first_calls:
        return False
    if is_recording():
        return True
    if met[key] is not missing or _are_many(avals_of_signature(signature)):
        return False
    if math.prod(_sizes(given)) > _FEW:
        return False
    met.add(key, True)
    return True


def _are_many(avals: Sequence[Any]) -> bool:
    return any([a.size > _FEW_ELEMENTS for a in avals])


def _sizes(given: Iterable[Any]) -> Iterator[int]:
    """The whole numbers among arguments, any of which may be a size."""
    for x in given:
        if type(x) in (tuple, list):
            yield from _sizes(x)
        elif type(x) is int or isinstance(x, np.integer):
            yield abs(int(x)) or 1


def _is_below_a_byte(dtype: Any) -> bool:
    if dtype == dtypes.float0:
        return True
    return isinstance(dtype, np.dtype) and dtypes.itemsize_bits(dtype) < 8


def _staged(
    function: Callable[..., Any],
    signature: Sequence[Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
) -> tuple[Jaxpr, Callable[[list[Any]], Any] | None] | None:
    """The program of a call, and what makes its result of several arrays if it is not one.

    None if the function looks at a number, fails or gives something else than arrays, and of
    operands whose elements take less than a byte.
    """
    avals = avals_of_signature(signature)
    if any([_is_below_a_byte(a.dtype) for a in avals]):
        return None
    # What makes the result of several arrays, if there are several, and whether that is all it is.
    collectors: list[Any] = []
    plain: list[bool] = []

    def on_operands(*operands: Any) -> Sequence[Any]:
        rest = iter(operands)
        given = (*args, *kwargs.values())
        values = [with_operands(x, what, rest) for x, what in zip(given, signature, strict=True)]
        named = dict(zip(kwargs, values[len(args) :], strict=True))
        result = function(*values[: len(args)], **named)
        if not isinstance(result, (tuple, list)):
            return [result]
        collectors.append(getattr(result, "_make", type(result)))
        plain.append(all([isinstance(x, HasAval) for x in result]))
        return result

    try:
        with recording(), attributed_to(NOWHERE):
            jaxpr = stage_closed(on_operands, avals)
    except Exception:
        # It looks at a number after all, of those in a list say, or refuses an operand.  It does so
        # itself, and its error speaks of what was given, not of a tracer.
        return None
    return (jaxpr, *(collectors or [None])) if all(plain) else None


def _by_hand(
    make: Callable[..., Any],
    names: Sequence[str],
    positions: tuple[int, ...],
    jaxpr: Jaxpr,
    signature: Sequence[Any],
    args: Arguments,
    kwargs: dict[str, Any],
) -> Callable[..., Any] | None:
    """NumPy's way to the results, of the operands whose numbers are not in the signature."""
    # Operands by position, as many as are given there.
    leading = [
        aval_of(x) if role == OPERAND and is_by_value(x) else what
        for x, role, what in zip(args, positions, signature, strict=False)
    ]
    count = next((i for i, what in enumerate(leading) if type(what) is tuple), len(leading))
    numbers = {
        i: np.asarray(args[i], leading[i].dtype) for i in range(count) if is_by_value(args[i])
    }
    given = zip((*names[: len(args)], *kwargs), (*args, *kwargs.values()), strict=True)
    static = dict(list(given)[count:])
    # A scalar of NumPy is a constant, even if it is an operand.
    holds_operand = any([isinstance(x, np.generic) for x in static.values()])
    if count - len(numbers) != len(jaxpr.invars) or holds_operand:
        return None
    function = make(*jaxpr.out_avals, *leading[:count], **static)
    if function is None or not numbers:
        return function

    def with_numbers(*operands: Any) -> Any:
        rest = iter(operands)
        return function(*[numbers[i] if i in numbers else next(rest) for i in range(count)])

    return with_numbers
