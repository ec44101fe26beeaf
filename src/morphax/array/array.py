"""The class of all concrete arrays.

An `Array` is an aval and its numbers.  The numbers are a NumPy array (*host*), a jaxlib buffer
(*device*), or both; each is made from the other when first asked for, on the CPU without a copy.
The memory is never written to once an array is made.  Operators and NumPy's methods are installed
by `morphax.numpy`; users see the class as `morphax.Array` (`array.public`).

Where an array is, its *place*, is an interned `Sharding`.  A *committed* array binds the operations
that use it to its place; any other goes where it is needed.  An array that was deleted has neither
host memory nor a buffer; its place may still be asked for.
"""

from __future__ import annotations

from types import ModuleType
from typing import Any, ClassVar, final

import numpy as np

from .. import dtypes
from ..config import current as current_config
from ..core import Format, HasAval, ShapedArray, aval_of, immutable_message
from ..core.values import host_value
from ..runtime import buffers
from ..runtime import sharding as shardings
from ..runtime.layouts import lies_alike
from ..runtime.sharding import Sharding
from ..runtime.transfer_guard import guard_transfer
from ..util import host_memory
from ..util.compiled import part
from ..util.frames import user_frame
from . import conversion, dlpack, printing
from .deletion import Deleted
from .moves import can_be_read_fast, host_at, moved_buffer, named_place
from .shards import Shard, shards_of


@final
class Array(HasAval):
    """An immutable array.

    Arrays are made by the functions of `morphax.numpy`, `morphax.random`, … and by
    `morphax.device_put`, never by calling the class.

    Example:
        >>> import morphax.numpy as jnp
        >>> x = jnp.arange(3.0)
        >>> x[1], x.shape, x.dtype
        (Array(1., dtype=float32), (3,), dtype('float32'))
    """

    __slots__ = ("__weakref__", "_buffer", "_committed", "_deletion", "_host", "aval", "place")
    __array_priority__ = 100
    # Arrays compare element by element, so they cannot be keys.
    __hash__ = None  # type: ignore[assignment]

    namespace: ClassVar[ModuleType | None] = None
    """The module of array functions, `morphax.numpy`, which sets this itself."""

    aval: ShapedArray
    place: Sharding
    _deletion: Deleted
    """Filled when the array is deleted."""

    def __init__(
        self,
        aval: Any,
        host: Any,
        buffer: Any = None,
        place: Sharding | None = None,
        committed: bool = False,
    ) -> None:
        self.aval = aval
        self._host = host
        self._buffer = buffer
        self.place = shardings.home if place is None else place
        self._committed = committed

    @classmethod
    def from_host(cls, value: Any) -> Array:
        """An array with a copy of the numbers of a NumPy array or Python scalar."""
        aval: Any = aval_of(value)
        dtype = dtypes.check_numeric(aval.dtype, "array operand")
        if dtype == dtypes.float0:
            return cls(aval, np.zeros(aval.shape, bool))
        return cls(aval, host_memory.aligned_copy(host_value(value, dtype)))

    @property
    def weak_type(self) -> bool:
        """Whether the dtype yields to others in promotion, as that of a Python scalar."""
        return self.aval.weak_type

    @property
    def itemsize(self) -> int:
        """Bytes per element."""
        return self.aval.dtype.itemsize

    @property
    def nbytes(self) -> int:
        """Bytes of all elements."""
        return int(self.aval.size) * self.itemsize

    def __len__(self) -> int:
        return len(self.aval)

    def to_host(self) -> np.ndarray[Any, Any]:
        """The numbers as a NumPy array, not to be written to; waits until they are computed."""
        host = self._host
        if host is None:
            self._check_not_deleted()
            if current_config().transfer_guard_device_to_host is not None:
                self.guard_reading(explicit=False)
            host = self._host = buffers.to_host(self._buffer, self.aval.dtype, self.place)
        return host

    def guard_reading(self, *, explicit: bool) -> None:
        """Apply the transfer guard, if reading moves the numbers from other memory to the host."""
        if self._host is None and self.platform() != "cpu":
            guard_transfer("device_to_host", self, explicit=explicit)

    def buffer_at(self, place: Sharding) -> Any:
        """The numbers as a buffer at `place`."""
        if place is not self.place:
            if place.plain is not self.place.plain and not self._is_unplaced():
                guard_transfer("device_to_device", self, place)
            return self._at_other(place)
        if self._buffer is None:
            self._buffer = moved_buffer(self, place)
        return self._buffer

    def placed(self, place: Sharding, committed: bool) -> Array:
        """The same numbers at a place.

        The arrays may share memory; deleting one leaves the other.
        """
        self._check_not_deleted()
        if place is self.place:
            if self._buffer is not None:
                # Tells a program that is given one of the two not to write its results there.
                self._buffer.is_shared = True
            return Array(self.aval, self._host, self._buffer, place, committed)
        if not self._is_unplaced():
            guard_transfer("device_to_device", self, place, explicit=True)
        aval, buffer = place.typed(self.aval), self._at_other(place)
        return Array(aval, host_at(place, self._host), buffer, place, committed)

    def copied(self) -> Array:
        """The same numbers at the same place, row by row in memory of their own."""
        self._check_not_deleted()
        place = self.place.plain
        if self._buffer is not None and not can_be_read_fast(place):
            return Array(self.aval, None, moved_buffer(self, place), place, self._committed)
        host = host_memory.aligned_copy(self.to_host())
        return Array(self.aval, host, None, place, self._committed)

    def clone(self) -> Array:
        """The same numbers as another array, which deleting this one leaves."""
        return self.placed(self.place, self._committed)

    def _is_unplaced(self) -> bool:
        """Whether no device has needed the array yet, nor has the user put it anywhere."""
        return self._buffer is None and not self._committed and self.place is shardings.home

    def _at_other(self, place: Sharding) -> Any:
        """A buffer at `place`, which has another name than the place of the array."""
        if self._buffer is not None and lies_alike(self.place, place, self.ndim):
            self._buffer.is_shared = True
            return self._buffer
        return moved_buffer(self, place)

    @property
    def traceback(self) -> Any:
        """Where the buffer was made, if jaxlib was told to note it (see `runtime.client`)."""
        return None if self._buffer is None else self._buffer.traceback

    def delete(self, why: object = "delete() was called") -> None:
        """Give up the memory; any later use raises an error that says why."""
        if not self.is_deleted():
            self.give_up(Deleted(why, user_frame()))

    def give_up(self, deletion: Deleted) -> None:
        """Let the memory go; what is asked of it later is answered by `deletion`."""
        self._deletion = deletion
        self._host = self._buffer = None
        self._committed = False

    def is_deleted(self) -> bool:
        """Whether the memory was given up, by `delete` or by donation to a program."""
        return self._host is None and self._buffer is None

    def _check_not_deleted(self) -> None:
        if self._host is None and self._buffer is None:
            raise self._deletion.error(self.aval)

    def block_until_ready(self) -> Array:
        """Wait until the numbers are computed, and return the array itself.

        Raises:
            JaxRuntimeError: if the program that computes them failed.
        """
        self._check_not_deleted()
        if self._buffer is not None and self._host is None:
            here = (self._buffer,)
            buffers.wait(*(((), here) if buffers.spread_here(self.place) else (here,)))
        return self

    def is_ready(self) -> bool:
        """Whether the numbers are computed."""
        self._check_not_deleted()
        return self._host is not None or bool(self._buffer.is_ready())

    def copy_to_host_async(self) -> None:
        """Begin to copy the numbers to host memory, where they will be asked for soon."""
        self._check_not_deleted()
        if self._host is None:
            self._buffer._copy_single_device_array_to_host_async()

    def on_device_size_in_bytes(self) -> int:
        """Bytes that the array takes on its device."""
        self._check_not_deleted()
        if self._buffer is not None:
            return int(self._buffer.on_device_size_in_bytes())
        return int(self._host.nbytes)

    def unsafe_buffer_pointer(self) -> int:
        """The address of the first element; valid as long as the array lives."""
        self._check_not_deleted()
        if self._buffer is not None:
            return int(self._buffer.unsafe_buffer_pointer())
        return int(self._host.__array_interface__["data"][0])

    @property
    def committed(self) -> bool:
        """Whether the array binds operations that use it to its device."""
        return self._committed

    @property
    def sharding(self) -> Sharding:
        """How the array is laid out over devices."""
        return self.place.plain

    @property
    def device(self) -> Any:
        """The device of the array, or its sharding if there are several."""
        devices = self.place.device_set
        return next(iter(devices)) if len(devices) == 1 else self.sharding

    @property
    def format(self) -> Format:
        """In which order the elements lie in memory, and on which devices."""
        self._check_not_deleted()
        order = self.place.element_order or buffers.layout(self._buffer, self.ndim)
        return Format(order, self.sharding)

    def devices(self) -> set[Any]:
        """All devices that hold a part of the array."""
        return self.sharding.device_set

    def platform(self) -> str:
        """The platform of its devices: ``"cpu"``, ``"gpu"`` or ``"tpu"``."""
        return self.place.platform

    @property
    def is_fully_addressable(self) -> bool:
        """Whether all its devices belong to this process."""
        return self.sharding.is_fully_addressable

    @property
    def is_fully_replicated(self) -> bool:
        """Whether each of its devices holds the whole array."""
        return self.sharding.is_fully_replicated

    @property
    def addressable_shards(self) -> list[Shard]:
        """The parts that this process's devices hold."""
        self._check_not_deleted()
        return shards_of(self, addressable=True)

    @property
    def global_shards(self) -> list[Shard]:
        """The parts that all devices hold; those of other processes have no data."""
        self._check_not_deleted()
        return shards_of(self, addressable=False)

    def addressable_data(self, index: int) -> Array:
        """The part that one of this process's devices holds.

        Args:
            index: position among `addressable_shards`.
        """
        return self.addressable_shards[index].data  # type: ignore[return-value]

    def to_device(self, device: Any, *, stream: Any = None) -> Array:
        """The array on a device, or laid out by a sharding, and committed to it.

        Args:
            device: the device or sharding.
            stream: must be `None`, for the order of work on a device is XLA's.
        """
        return named_place("Array.to_device", device).distribute(self)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
        return conversion.to_numpy(self, dtype, copy)

    def __array_namespace__(self, *, api_version: str | None = None) -> ModuleType:
        return conversion.array_namespace(self.namespace, api_version)

    def item(self, *args: Any) -> Any:
        """One element as a Python number.

        Args:
            *args: the flat position or one index per axis; nothing if there is one element.
        """
        return conversion.item(self, args)

    def tolist(self) -> Any:
        """Nested lists of Python numbers; a number if the array has no axes."""
        return conversion.numbers(self, "Array.tolist").tolist()

    def tobytes(self, order: str = "C") -> bytes:
        """The bytes of all elements, in row-major (``"C"``) or column-major (``"F"``) order."""
        return conversion.numbers(self, "Array.tobytes").tobytes(order)  # type: ignore[arg-type]

    __bool__ = conversion.truth
    __buffer__ = conversion.memory
    __index__ = conversion.index
    __repr__ = printing.representation
    __str__ = printing.text
    __format__ = printing.formatted
    __dlpack_device__ = dlpack.device

    def __int__(self) -> int:
        return conversion.scalar(self, int)

    def __float__(self) -> float:
        return conversion.scalar(self, float)

    def __complex__(self) -> complex:
        return conversion.scalar(self, complex)

    def __hex__(self) -> str:
        return hex(conversion.index(self))

    def __oct__(self) -> str:
        return oct(conversion.index(self))

    def __dlpack__(
        self,
        *,
        stream: int | None = None,
        max_version: tuple[int, int] | None = None,
        dl_device: tuple[int, int] | None = None,
        copy: bool | None = None,
    ) -> Any:
        return dlpack.capsule(self, stream, max_version, dl_device, copy)

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        """CUDA's description of the memory; only arrays on a GPU of NVIDIA have the attribute."""
        return dlpack.cuda_interface(self)

    def __copy__(self) -> Array:
        return self.copied()

    def __deepcopy__(self, memo: Any) -> Array:
        return self.copied()

    def __reduce__(self) -> Any:
        return _rebuild, (self.to_host(), self.aval.dtype, self.aval.weak_type)

    def __setitem__(self, index: Any, value: Any) -> None:
        raise TypeError(immutable_message(self))

    def __delitem__(self, index: Any) -> None:
        raise TypeError(immutable_message(self, "del x[index]"))


def _rebuild(host: np.ndarray[Any, Any], dtype: Any, weak_type: bool) -> Array:
    """The array that was pickled; 64-bit numbers are narrowed as those of any NumPy array."""
    aval = ShapedArray(host.shape, dtypes.canonicalize(dtype), weak_type)
    if isinstance(aval.dtype, dtypes.ExtendedDType) or aval.dtype == dtypes.float0:
        return Array(aval, host_memory.aligned_copy(host))
    return Array(aval, host_memory.aligned_copy(np.asarray(host, aval.dtype)))


if (_native := part("buffers")) is not None:
    _native.offer(Array, np.ndarray, conversion.UNNAMED_DTYPE)
