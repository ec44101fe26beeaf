"""How arrays print: ``Array([0., 1.], dtype=float32)``, with NumPy's options for the numbers.

Large arrays are summarised, and lines broken, as `numpy.set_printoptions` says.  Random keys show
the words that they are made of.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .. import dtypes
from ..core import abstract_token
from ..runtime.membership import is_readable, membership
from ..util.messages import message

if TYPE_CHECKING:
    from .array import Array

_OPENING = "Array("


def representation(x: Array) -> str:
    """The text of `repr`."""
    if _is_token(x):
        return "Token()"
    dtype = x.aval.dtype
    if _is_unsummed(x):
        return f"{_OPENING}shape={x.aval.shape}, dtype={dtype}, sharding={x.sharding})"
    if _is_elsewhere(x):
        return f"{_OPENING}shape={x.aval.shape}, dtype={dtype})"
    if isinstance(dtype, dtypes.ExtendedDType):
        words = _words(x.to_host(), dtype)
        return f"{_OPENING}{x.aval.shape}, dtype={dtype}) overlaying:\n{words}"
    host = x.to_host()
    facts = [f"dtype={'float0' if dtype == dtypes.float0 else dtype.name}"]
    if x.aval.weak_type:
        facts.append("weak_type=True")
    if host.size == 0:
        return f"{_OPENING}{', '.join(['[]', f'shape={host.shape}', *facts])})"
    numbers = np.array2string(host, separator=", ", prefix=_OPENING, suffix=",")
    ending = ", ".join(facts)
    last_line = len(numbers) - (numbers.rfind("\n") + 1)
    # Both brackets of the line's rest count: ", " and ")".
    fits = last_line + len(ending) + 4 <= np.get_printoptions()["linewidth"]
    return f"{_OPENING}{numbers},{' ' if fits else ' ' * len(_OPENING)}{ending})"


def _is_token(x: Any) -> bool:
    return x.aval is abstract_token


def _is_unsummed(x: Array) -> bool:
    """Whether the array is a sum that has not been taken yet."""
    return x._host is None and x.aval.split is not None and bool(x.aval.split.unreduced)


def _is_elsewhere(x: Array) -> bool:
    """Whether other processes have some of the numbers."""
    return membership() is not None and x._host is None and not is_readable(x.place)


def text(x: Array) -> str:
    """The text of `str`: that of the NumPy array."""
    if (
        _is_token(x)
        or _is_unsummed(x)
        or _is_elsewhere(x)
        or isinstance(x.aval.dtype, dtypes.ExtendedDType)
    ):
        return representation(x)
    return str(x.to_host())


def formatted(x: Array, spec: str) -> str:
    """The text of `format`; only scalars take a specification."""
    if not spec and (x.aval.shape or isinstance(x.aval.dtype, dtypes.ExtendedDType)):
        return text(x)
    if x.aval.shape or isinstance(x.aval.dtype, dtypes.ExtendedDType):
        raise TypeError(
            message(
                "format of an array",
                given=f"the specification {spec!r} for {x.aval.str_short()}",
                expected="a scalar, or no specification",
                fix="Format x.item() of single elements, or use numpy.array2string.",
            )
        )
    return format(x.to_host().item(), spec)


def _words(host: np.ndarray[Any, Any], dtype: Any) -> np.ndarray[Any, Any]:
    """The raw 32-bit words of keys, along new trailing axes; what else elements are made of."""
    if not isinstance(dtype, dtypes.KeyType) and not hasattr(dtype, "key_shape"):
        return host
    words = np.ascontiguousarray(host).reshape(*host.shape, 1).view(np.uint32)
    if host.dtype == np.uint64:
        words = words[..., ::-1]  # The first word of such keys is the high one.
    return words.reshape(*host.shape, *getattr(dtype, "key_shape", (-1,)))
