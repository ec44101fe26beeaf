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
from math import copysign
from types import NoneType
from typing import Any, NamedTuple, TypeVar

import numpy as np

from ... import dtypes
from ...array import Array
from ...config import current as current_config
from ...core import ShapedArray, aval_of, current_trace, root_trace, stage_closed
from ...util.memo import ResultTable
from ..devices import host_is_default
from .kernel_program import KernelProgram, kernel_program

F = TypeVar("F", bound=Callable[..., Any])
_ROOT = root_trace()
_SCALARS = frozenset({bool, int, float, complex})
# Integers that every integer dtype of 8 bits holds, so that converting them cannot fail.
_SMALL = range(128)
_REMEMBERED = frozenset({bool, int, str, NoneType})


class _Static(NamedTuple):
    """An argument that is no operand, with what tells it from others that equal it."""

    value: Any
    kind: Any


_NONE = _Static(None, NoneType)


def replayed(operands: int) -> Callable[[F], F]:
    """Let eager calls of a function replay its kernels.

    Args:
        operands: how many leading parameters may be arrays or scalars; the others are static.  The
            function must not look at numbers; calls that return several arrays are not replayed.
    """

    def decorate(function: F) -> F:
        programs = ResultTable(functools.partial(_program, function), max_entries=1024)
        named_operands = frozenset(unwrap(function).__code__.co_varnames[:operands])

        @functools.wraps(function)
        def call(*args: Any, **kwargs: Any) -> Any:
            config = current_config()
            if current_trace() is _ROOT and not config.debugs_execution and host_is_default(config):
                inputs: list[Any] = []
                signature = [_read(x, i < operands, inputs) for i, x in enumerate(args)]
                for name, x in kwargs.items():
                    signature.append(_read(x, name in named_operands, inputs))
                if None not in signature:
                    program = programs[tuple(signature), tuple(kwargs), config.trace_key]
                    if program is not None:
                        return program(inputs)
            return function(*args, **kwargs)

        return call  # type: ignore[return-value]

    return decorate


def _read(x: Any, may_be_operand: bool, inputs: list[Any]) -> Any:
    """What a program depends on of an argument; numbers go to `inputs`.

    `None` if the call cannot be replayed: an array is bound to a device, or the argument can be no
    key.
    """
    kind = type(x)
    if x is None:
        return _NONE
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
    static = _kind(x)
    return None if static is None else _Static(x, static)


def _kind(x: Any) -> Any:
    """What tells a static argument from others that equal it, `None` for one not to remember.

    Not remembered are arrays, which are no keys, and NaN, which equals nothing.
    """
    kind = type(x)
    if kind is float:
        return None if x != x else (kind, copysign(1.0, x))
    if kind in _REMEMBERED or isinstance(x, (type, np.dtype)):
        return kind
    if kind is tuple:
        kinds = tuple(map(_kind, x))
        return None if None in kinds else kinds
    return None


def _program(
    function: Callable[..., Any],
    signature: tuple[ShapedArray | _Static, ...],
    names: tuple[str, ...],
    trace_key: Any,
) -> KernelProgram | None:
    avals = [x for x in signature if type(x) is not _Static]
    if any([isinstance(a.dtype, np.dtype) and dtypes.itemsize_bits(a.dtype) < 8 for a in avals]):
        return None

    kinds = []

    def on_operands(*operands: Any) -> Sequence[Any]:
        rest = iter(operands)
        values = [x.value if type(x) is _Static else next(rest) for x in signature]
        count = len(values) - len(names)
        result = function(*values[:count], **dict(zip(names, values[count:], strict=True)))
        kinds.append(type(result))
        return result if type(result) is tuple else [result]

    jaxpr = stage_closed(on_operands, avals)
    return None if tuple in kinds else kernel_program(jaxpr)
