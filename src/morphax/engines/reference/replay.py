"""Functions of several operations, which eager mode replays.

What such a function applies depends on the avals of its operands, on its other arguments and on the
configuration.  At the first eager call of a signature it is staged; later calls run the kernels of
that program.  Under a transformation, where arrays are bound to a device, and where execution is
watched, the function itself runs.  See docs/design/eager-replay.md.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from inspect import unwrap
from types import NoneType
from typing import Any, TypeVar

import numpy as np

from ... import dtypes
from ...array import Array
from ...config import current as current_config
from ...core import (
    HasAval,
    aval_of,
    current_trace,
    hide_frames,
    root_trace,
    stage_closed,
)
from ...runtime.devices import host_is_default
from ...util.compiled import twin_in
from ...util.memo import MemoTable, missing
from ...util.parameter_keys import key_of
from ..choice import preferred_engines
from .eager import compiled
from .kernel_program import kernel_program
from .kernels import KernelCall

F = TypeVar("F", bound=Callable[..., Any])
_ROOT = root_trace()
_SCALARS = frozenset({bool, int, float, complex})
# Integers that every integer dtype of 8 bits holds, so that converting them cannot fail.
_SMALL = range(128)
_CONSTANTS = frozenset({bool, int, float, complex, str, NoneType})

Programs = MemoTable[KernelCall | None]
Arguments = tuple[Any, ...]


def replayed(operands: int) -> Callable[[F], F]:
    """Let eager calls of a function replay its kernels.

    Args:
        operands: how many leading parameters may be arrays or scalars; the others are static.  The
            function must not look at numbers, and returns an array or a tuple of arrays.
    """

    def decorate(function: F) -> F:
        programs: Programs = MemoTable(max_entries=1024)
        named_operands = frozenset(unwrap(function).__code__.co_varnames[:operands])

        @functools.wraps(function)
        def call(*args: Any, **kwargs: Any) -> Any:
            try:
                result = known_result(programs, operands, named_operands, args, kwargs)
                if result is NotImplemented:
                    program = _learnt(function, programs, operands, named_operands, args, kwargs)
                    if program is not None:
                        return program
                elif result is not None:
                    return result
                return function(*args, **kwargs)
            except Exception as error:
                hide_frames(error)
                raise

        return call  # type: ignore[return-value]

    return decorate


@twin_in(compiled)
def known_result(
    programs: Programs,
    operands: int,
    named_operands: frozenset[str],
    args: Arguments,
    kwargs: dict[str, Any],
) -> Any:
    """The result of a call; None where the function itself is to run.

    NotImplemented where no program is known yet, or none that was asked for of late.
    """
    config = current_config()
    if (
        current_trace() is not _ROOT
        or preferred_engines
        or config.debugs_execution
        or not host_is_default(config)
    ):
        return None
    inputs: list[Any] = []
    signature = _signature(operands, named_operands, args, kwargs, inputs)
    if signature is None:
        return None
    program = programs.get((signature, tuple(kwargs), config.trace_key), missing)
    if program is missing:
        return NotImplemented
    return None if program is None else program(inputs)


def _learnt(
    function: Callable[..., Any],
    programs: Programs,
    operands: int,
    named_operands: frozenset[str],
    args: Arguments,
    kwargs: dict[str, Any],
) -> Any:
    """The result of a call whose program is to be staged; None where there can be none."""
    inputs: list[Any] = []
    signature = _signature(operands, named_operands, args, kwargs, inputs)
    assert signature is not None, "only what can be replayed is looked for"
    key = signature, tuple(kwargs), current_config().trace_key
    program = programs[key]
    if program is missing:
        program = programs.add(key, _program(function, signature, args, kwargs))
    return None if program is None else program(inputs)


def _signature(
    operands: int,
    named_operands: frozenset[str],
    args: Arguments,
    kwargs: dict[str, Any],
    inputs: list[Any],
) -> tuple[Any, ...] | None:
    """What a program depends on of each argument; None if the call cannot be replayed."""
    signature = [_read(x, i < operands, inputs) for i, x in enumerate(args)]
    for name, x in kwargs.items():
        signature.append(_read(x, name in named_operands, inputs))
    return None if None in signature else tuple(signature)


def _read(x: Any, may_be_operand: bool, inputs: list[Any]) -> Any:
    """What a program depends on of an argument; numbers go to `inputs`.

    The aval of an operand, a static argument's key in a tuple, or `None` if the call cannot be
    replayed: an array is bound to a device, or the argument is no constant.
    """
    kind = type(x)
    if may_be_operand:
        if kind is Array:
            if x._committed:
                return None
            inputs.append(x.to_host() if x._host is None else x._host)
            return x.aval
        if kind in _SCALARS:
            if kind is int and x not in _SMALL:
                return None
            aval = aval_of(x)
            inputs.append(np.asarray(x, aval.dtype))
            return aval
    if kind not in _CONSTANTS and not _is_constant(x):
        return None
    key = key_of(x)
    return None if key is None else (key,)


def _is_constant(x: Any) -> bool:
    """Whether a static argument is and stays what its key tells; other objects may change."""
    if type(x) is tuple:
        return all([_is_constant(item) for item in x])
    return type(x) in _CONSTANTS or isinstance(x, (type, np.dtype, np.generic))


def _program(
    function: Callable[..., Any],
    signature: Sequence[Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
) -> KernelCall | None:
    avals = [x for x in signature if type(x) is not tuple]
    if any([isinstance(a.dtype, np.dtype) and dtypes.itemsize_bits(a.dtype) < 8 for a in avals]):
        return None

    # What makes the result of several arrays, if there are several, and whether that is all it is.
    collectors: list[Any] = []
    plain: list[bool] = []

    def on_operands(*operands: Any) -> Sequence[Any]:
        rest = iter(operands)
        given = (*args, *kwargs.values())
        values = [
            x if type(what) is tuple else next(rest)
            for x, what in zip(given, signature, strict=True)
        ]
        named = dict(zip(kwargs, values[len(args) :], strict=True))
        result = function(*values[: len(args)], **named)
        if not isinstance(result, (tuple, list)):
            return [result]
        collectors.append(getattr(result, "_make", type(result)))
        plain.append(all([isinstance(x, HasAval) for x in result]))
        return result

    jaxpr = stage_closed(on_operands, avals)
    return kernel_program(jaxpr, *collectors) if all(plain) else None
