"""The class of all concrete arrays.

An `Array` is an aval and its numbers.  The numbers are a NumPy array (*host*), a jaxlib buffer
(*device*), or both; each is made from the other when first asked for, on the CPU without a copy.
The memory is never written to once an array is made.  Operators and NumPy's methods are installed
by `morphax.numpy`.
"""

from __future__ import annotations

from typing import Any, final

import numpy as np

from ..core import ShapedArray, aval_of
from ..engines.xla import buffers
from ..util import host_memory
from ..util.messages import message


@final
class Array:
    """An immutable array.

    Arrays are made by the functions of `morphax.numpy`, `morphax.random`, … and by
    `morphax.device_put`, never by calling the class.

    Example:
        >>> import morphax.numpy as jnp
        >>> x = jnp.arange(3.0)
        >>> x[1], x.shape, x.dtype
        (Array(1., dtype=float32), (3,), dtype('float32'))
    """

    __slots__ = ("__weakref__", "_buffer", "_committed", "_device", "_host", "_why_deleted", "aval")
    __array_priority__ = 100
    __hash__ = None  # type: ignore[assignment]

    aval: ShapedArray

    def __init__(self, aval: Any, host: Any, buffer: Any = None, device: Any = None) -> None:
        self.aval = aval
        self._host = host
        self._buffer = buffer
        # `None` is the memory of the host: the array may go to any device it is needed on.
        self._device = device
        self._committed = False
        self._why_deleted: str | None = None

    @classmethod
    def from_host(cls, value: Any) -> Array:
        """An array with a copy of the numbers of a NumPy array or Python scalar."""
        aval = aval_of(value)
        return cls(aval, host_memory.aligned_copy(np.asarray(value, aval.dtype)))

    def to_host(self) -> np.ndarray[Any, Any]:
        """The numbers as a NumPy array, not to be written to; waits until they are computed."""
        host = self._host
        if host is None:
            self._check_not_deleted()
            host = self._host = buffers.to_host(self._buffer)
        return host  # type: ignore[no-any-return]

    def on_device(self, device: Any) -> Any:
        """The numbers as a buffer of `device`."""
        if self._buffer is not None and self._device is device:
            return self._buffer
        buffer = buffers.to_device(self.to_host(), device)
        if self._device is None:
            self._buffer, self._device = buffer, device
        return buffer

    def delete(self, why: str = "delete() was called") -> None:
        """Give up the memory; any later use raises."""
        self._why_deleted = why
        self._host = self._buffer = None

    def _check_not_deleted(self) -> None:
        if self._why_deleted is not None:
            raise RuntimeError(
                message(
                    "use of an array",
                    given=f"{self.aval.str_short()}, deleted: {self._why_deleted}",
                    expected="an array that still has its memory",
                    fix="Use the result of the call instead, or do not donate the argument.",
                )
            )
