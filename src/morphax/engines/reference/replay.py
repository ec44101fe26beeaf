"""Functions of several operations, which eager mode replays.

What such a function applies depends on the avals of its operands, on its other arguments and on the
configuration.  At the first eager call of a signature it is staged; later calls run the kernels of
that program.  Under a transformation, where arrays are not in host memory, and where execution is
watched, the function itself runs.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from types import NoneType
from typing import Any, TypeVar

import numpy as np

from .. import dtypes
from ..array import Array
from ..config import current as current_config
from ..core import aval_of, current_trace, root_trace, stage_closed
from ..engines.devices import host_is_default
from ..engines.reference.kernel_program import KernelProgram, kernel_program
from ..util.memo import ResultTable
from .operands import PYTHON_SCALARS

F = TypeVar("F", bound=Callable[..., Any])
_ROOT = root_trace()
# Integers that every integer dtype of 8 bits holds, so that converting them cannot fail.
_SMALL = range(128)
_REMEMBERED = frozenset({bool, int, str, NoneType})


def replayed(operands: int) -> Callable[[F], F]:
    """Let eager calls of a function replay its kernels.

    Args:
        operands: how many leading arguments are arrays or scalars; the others are static.  The
            function returns one array, and must not look at numbers.
    """

    def decorate(function: F) -> F:
        programs = ResultTable(functools.partial(_program, function), max_entries=1024)

        @functools.wraps(function)
        def call(*args: Any, **kwargs: Any) -> Any:
            config = current_config()
            if current_trace() is _ROOT and not config.debugs_execution:
                inputs, avals = _host_operands(args, operands)
                if len(inputs) == operands and host_is_default(config):
                    static, named = args[operands:], tuple(kwargs.items()) if kwargs else ()
                    kinds = tuple(map(_kind, (*static, *kwargs.values())))
                    if None not in kinds:
                        program = programs[tuple(avals), static, named, kinds, config.trace_key]
                        if program is not None:
                            return program(inputs)
            return function(*args, **kwargs)

        return call  # type: ignore[return-value]

    return decorate


def _kind(x: Any) -> Any:
    """What tells a static argument from others that equal it, `None` for one not to remember.

    Not remembered are arrays, which are no keys, and floating point numbers: 0.0 == -0.0.
    """
    kind = type(x)
    if kind in _REMEMBERED or isinstance(x, (type, np.dtype)):
        return kind
    if kind is tuple:
        kinds = tuple(map(_kind, x))
        return None if None in kinds else kinds
    return None


def _host_operands(args: tuple[Any, ...], count: int) -> tuple[list[Any], list[Any]]:
    """The first `count` arguments in host memory and their avals, up to one that is not there."""
    inputs: list[Any] = []
    avals: list[Any] = []
    for x in args[:count]:
        if type(x) is Array and x._host is not None and not x._committed:
            inputs.append(x._host)
            avals.append(x.aval)
        elif type(x) in PYTHON_SCALARS and (type(x) is not int or x in _SMALL):
            aval = aval_of(x)
            avals.append(aval)
            inputs.append(np.asarray(x, aval.dtype))
        else:
            break
    return inputs, avals


def _program(
    function: Callable[..., Any],
    avals: tuple[Any, ...],
    static: tuple[Any, ...],
    named: tuple[tuple[str, Any], ...],
    kinds: tuple[type, ...],
    trace_key: Any,
) -> KernelProgram | None:
    if any([not isinstance(a.dtype, np.dtype) or dtypes.itemsize_bits(a.dtype) < 8 for a in avals]):
        return None
    jaxpr = stage_closed(lambda *xs: [function(*xs, *static, **dict(named))], avals)
    return kernel_program(jaxpr)
