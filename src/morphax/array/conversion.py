"""From an array to what Python and NumPy compute with: numbers, lists, NumPy arrays.

An array with one element and no axes converts to a Python number; any array with one element has
a truth value; any array becomes a NumPy array, without a copy if it may be read-only.  Random keys
are no numbers and convert to none.
"""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import dtypes
from ..util.messages import message

if TYPE_CHECKING:
    from .array import Array


UNNAMED_DTYPE = """the memory of an array
  given:    an array of a dtype that Python has no name for, such as bfloat16
  expected: one of Python's types of numbers
  fix:      Read numpy.asarray(x).view of an integer dtype, or x.tobytes()."""


def numbers(x: Array, where: str) -> np.ndarray[Any, Any]:
    """The array in host memory; `TypeError` if its elements are no numbers."""
    dtype = x.aval.dtype
    if isinstance(dtype, dtypes.ExtendedDType):
        raise TypeError(
            message(
                where,
                given=f"{x.aval.str_short()}, an array of random keys",
                expected="an array of numbers",
                fix="Take the words of the keys with jax.random.key_data(keys).",
            )
        )
    if dtype == dtypes.float0:
        return np.zeros(x.aval.shape, dtypes.float0)
    return x.to_host()


def to_numpy(x: Array, dtype: Any = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
    """What `numpy.asarray(x, dtype, copy=copy)` gives.

    Args:
        x: the array.
        dtype: of the result, that of `x` if left out.
        copy: whether to copy; `None` copies only to convert, and gives a read-only view otherwise.

    Raises:
        TypeError: if `x` holds keys.
        ValueError: if `copy` is false and the dtype has to be converted.
    """
    host = numbers(x, "conversion to a NumPy array")
    if dtype is not None and np.dtype(dtype) != host.dtype:
        if copy is False:
            raise ValueError(
                message(
                    "conversion to a NumPy array, argument copy",
                    given=f"copy=False for {host.dtype} to be converted to {np.dtype(dtype)}",
                    expected="the dtype of the array, or permission to copy",
                    fix="Use numpy.asarray(x, dtype), which copies where it must.",
                )
            )
        return host.astype(dtype)
    if copy:
        return host.copy()
    # A view of read-only memory cannot be made writeable again.
    host.flags.writeable = False
    return host.view()


def memory(x: Array, flags: int) -> memoryview:
    """The memory of `x`, to be read as bytes (PEP 688): ``memoryview(x)``, ``file.write(x)``.

    The view keeps the numbers, also when the array is deleted or donated to a program.

    Raises:
        BufferError: if Python has no name for the dtype, as for bfloat16.
    """
    host: Any = to_numpy(x)
    try:
        return memoryview(host)
    except ValueError:
        raise BufferError(UNNAMED_DTYPE) from None


def truth(x: Array) -> bool:
    """The truth value of an array with one element."""
    host = numbers(x, "bool()")
    if host.size != 1:
        raise ValueError(
            message(
                "bool()",
                given=f"{x.aval.str_short()}, an array of {host.size} elements",
                expected="an array of one element, whose truth is that of the element",
                fix="Use x.size == 0 to ask whether it is empty."
                if host.size == 0
                else "Say x.any() or x.all().",
            )
        )
    return bool(host)


def scalar(x: Array, kind: Callable[[Any], Any]) -> Any:
    """An array without axes as a Python number: `kind` is int, float or complex."""
    where = f"{getattr(kind, '__name__', kind)}()"
    host = numbers(x, where)
    if host.ndim:
        raise TypeError(
            message(
                where,
                given=f"{x.aval.str_short()}, an array of {host.ndim} axes",
                expected="an array without axes",
                fix="Index the element you mean, or say x.item() if there is only one.",
            )
        )
    value = host.item()
    if isinstance(value, complex) and kind is not complex:
        raise TypeError(
            message(
                where,
                given=f"the complex number {value}",
                expected="a real number",
                fix="Take x.real or abs(x) first.",
            )
        )
    return kind(value)


def index(x: Array) -> int:
    """An array without axes as an index of a Python sequence."""
    if x.aval.shape or not dtypes.issubdtype(x.aval.dtype, np.integer):
        raise TypeError(
            message(
                "use as a Python int",
                given=x.aval.str_short(),
                expected="an integer array without axes",
                fix="Convert it with int(x), or index a jnp array with it.",
            )
        )
    return int(x.to_host().item())


def item(x: Array, args: tuple[Any, ...]) -> Any:
    """One element as a Python number; see `Array.item`."""
    host = numbers(x, "Array.item")
    try:
        return host.item(*args)
    except (IndexError, TypeError, ValueError, OverflowError) as error:
        raise type(error)(
            message(
                "Array.item",
                given=f"the arguments {args} for {x.aval.str_short()}: {error}",
                expected="no argument for an array of one element, else the element's position",
                fix="Pass a flat position, or one index per axis.",
            )
        ) from None


ARRAY_API_VERSION = "2024.12"


def array_namespace(namespace: ModuleType | None, api_version: str | None) -> ModuleType:
    """The module of array functions, for a version of the array API standard."""
    assert namespace is not None, "morphax.numpy installs itself as the namespace of arrays"
    if api_version not in (None, ARRAY_API_VERSION):
        raise ValueError(
            message(
                "__array_namespace__, argument api_version",
                given=f"{api_version!r}",
                expected=f"{ARRAY_API_VERSION!r} or None",
                fix="Leave the argument out.",
            )
        )
    return namespace
