"""What a program of an eager function depends on of the arguments of a call: its *signature*.

For each argument it is the aval of an operand, the key of a static argument in a tuple, or the kind
of a list or tuple of operands and this of each.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from types import NoneType
from typing import Any

import numpy as np

from ... import dtypes
from ...array import Array
from ...core import ShapedArray, Tracer, aval_of, computes_numbers_at_once
from ...core.trace import Trace
from ...util.parameter_keys import key_of

OPERAND, ARRAY, STATIC = range(3)
"""What an argument may be: an operand; one if it is or holds an array; static."""

Arguments = tuple[Any, ...]

_SCALARS = frozenset({bool, int, float, complex})
# Integers that every integer dtype of 8 bits holds, so that converting them cannot fail; and those
# that count by their values, since unsigned ones do not hold them.
_SMALL, _BELOW_ZERO = range(128), range(-128, 0)
_MOST_NESTED = 4
_NUMBERS = frozenset(map(np.dtype, "?bhilqBHILQefdFD"))
_ROUNDED = frozenset(map(np.dtype, "dD"))
_NARROWED = frozenset(map(np.dtype, "lqLQ"))
# No function asks for the value of an array of these without axes.
_UNKNOWN_WITHOUT_AXES = frozenset(map(np.dtype, "fd"))
# Elements of larger arrays of NumPy's take longer to copy than a function to be run.
_FEW_COPIED = 1 << 12
_CONSTANTS = frozenset({bool, int, float, complex, str, NoneType})
_NO_TRACERS = _CONSTANTS | {Array}


def at_home(x: Array) -> np.ndarray[Any, Any] | None:
    """The numbers of an array that is bound to no device."""
    if x._committed:
        return None
    return x.to_host() if x._host is None else x._host


def itself(x: Array) -> Array:
    """The array, wherever it is."""
    return x


def is_roots(trace: Trace, args: Arguments, kwargs: dict[str, Any]) -> bool:
    """Whether a call in this trace is of numbers alone, which the root trace computes."""
    given = (*args, *kwargs.values()) if kwargs else args
    return _are_numbers(given) and computes_numbers_at_once(trace)


def _are_numbers(given: Iterable[Any], depth: int = 0) -> bool:
    """Whether arguments are numbers, names or dtypes, or lists or tuples of them."""
    for x in given:
        if type(x) in (list, tuple):
            if depth == _MOST_NESTED or not _are_numbers(x, depth + 1):
                return False
        elif type(x) is np.ndarray:
            if x.dtype.hasobject:
                return False
        elif type(x) not in _NO_TRACERS and not isinstance(x, (np.generic, np.dtype, type)):
            return False
    return True


def followed(x: Any) -> Any:
    """An array that is bound to no device, or a tracer that stands for one or for a Python number.

    One that stands for an array of NumPy's may have a narrower type than this has.
    """
    numbers = x.get_referent() if isinstance(x, Tracer) else x
    is_ours = not numbers._committed if type(numbers) is Array else type(numbers) is float
    return x if is_ours else None


def signature_of(
    positions: tuple[int, ...],
    roles: dict[str, int],
    args: Arguments,
    kwargs: dict[str, Any],
    inputs: list[Any],
    take: Callable[[Any], Any] = at_home,
) -> tuple[Any, ...] | None:
    """What a program depends on of each argument; None if the call cannot be replayed."""
    count = len(positions)
    signature = [
        _read(x, positions[i] if i < count else STATIC, inputs, take) for i, x in enumerate(args)
    ]
    for name, x in kwargs.items():
        signature.append(_read(x, roles.get(name, STATIC), inputs, take))
    return None if None in signature else tuple(signature)


def _read(x: Any, role: int, inputs: list[Any], take: Callable[[Any], Any]) -> Any:
    """What a program depends on of an argument; what `take` gives of numbers goes to `inputs`.

    The aval of an operand, a static argument's key in a tuple, the kind of a list or tuple of
    operands and this of each, or `None` if the call cannot be replayed: `take` gives nothing of an
    array, or the argument is no constant.
    """
    kind = type(x)
    if role != STATIC and (kind is Array or (take is followed and isinstance(x, Tracer))):
        taken = take(x)
        if taken is None:
            return None
        inputs.append(taken)
        return x.aval
    if role == OPERAND and kind in _SCALARS and not is_by_value(x):
        if kind is int and x not in _SMALL:
            return None
        aval = aval_of(x)
        inputs.append(np.asarray(x, aval.dtype))
        return aval
    if role != STATIC and _holds_operands(x, (Array, Tracer) if take is followed else Array):
        members = [_read(item, OPERAND, inputs, take) for item in x]
        return None if None in members else (kind, *members)
    if kind not in _CONSTANTS and not _is_constant(x):
        return None
    key = key_of(x)
    return None if key is None else (key,)


def with_own_arrays(
    positions: tuple[int, ...], roles: dict[str, int], args: Arguments, kwargs: dict[str, Any]
) -> tuple[Arguments, dict[str, Any]] | None:
    """The arguments with copies of NumPy's arrays, as every function makes them; None without any.

    Copies have the numbers, or, where 64 bits are not enabled, what these are rounded to; but not
    where another argument may name a dtype, to which they could have been rounded at once.
    Integers of 64 bits are copied where 32 hold all of them.  Whole numbers without axes may be
    known to a function, as exponents are, and stay what they are, as all but float32 and float64.
    """
    is_typed = any([isinstance(x, (str, type, np.dtype)) for x in (*args, *kwargs.values())])

    def own(x: Any, role: int) -> Any:
        if role == STATIC or type(x) is not np.ndarray or x.size > _FEW_COPIED:
            return x
        if not x.ndim and x.dtype not in _UNKNOWN_WITHOUT_AXES:
            return x
        kept = dtypes.canonicalize(x.dtype)
        is_kept = x.dtype in _NUMBERS and kept == x.dtype
        is_rounded = not is_typed and x.dtype in _ROUNDED
        if is_kept or is_rounded:
            return Array.from_host(x)
        if x.dtype in _NARROWED:
            narrow = x.astype(kept)
            # Bytes are compared in less time than numbers, of which there are few.
            if narrow.astype(x.dtype).tobytes() == x.tobytes():
                return Array.from_host(narrow)
        return x

    taken = [own(x, role) for x, role in zip(args, positions, strict=False)]
    named = {name: own(x, roles.get(name, STATIC)) for name, x in kwargs.items()}
    pairs = (*zip(taken, args, strict=False), *zip(named.values(), kwargs.values(), strict=True))
    if all([new is old for new, old in pairs]):
        return None
    return (*taken, *args[len(taken) :]), named


def is_by_value(x: Any) -> bool:
    """Whether an operand counts as a static argument does."""
    return type(x) is int and x in _BELOW_ZERO


def _holds_operands(x: Any, kinds: Any, depth: int = 0) -> bool:
    """Whether it is a list or tuple with an array among its members, or theirs."""
    if type(x) not in (list, tuple) or depth == _MOST_NESTED:
        return False
    return any([isinstance(item, kinds) or _holds_operands(item, kinds, depth + 1) for item in x])


def _is_constant(x: Any) -> bool:
    """Whether a static argument is and stays what its key tells; other objects may change."""
    if type(x) is tuple:
        return all([_is_constant(item) for item in x])
    return type(x) in _CONSTANTS or isinstance(x, (type, np.dtype, np.generic))


def avals_of_signature(signature: Sequence[Any]) -> list[ShapedArray]:
    """Those of all operands, in their order."""
    found = []
    for what in signature:
        if type(what) is not tuple:
            found.append(what)
        elif len(what) > 1:
            found += avals_of_signature(what[1:])
    return found


def with_operands(x: Any, what: Any, operands: Iterator[Any]) -> Any:
    """An argument, with the next of `operands` in place of those that it is or holds."""
    if type(what) is not tuple:
        return next(operands)
    if len(what) == 1:
        return x
    return what[0]([with_operands(*pair, operands) for pair in zip(x, what[1:], strict=True)])
