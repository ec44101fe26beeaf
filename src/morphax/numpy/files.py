"""Arrays from files, from text and from other libraries.

Files are those of NumPy, which has no names for dtypes that are not its own: their elements are
stored as bytes.
"""

from __future__ import annotations

from typing import Any, NoReturn

import ml_dtypes
import numpy as np

from .. import dtypes
from ..array.dlpack_import import from_dlpack as from_any_dlpack
from ..dtypes.numbers import checked_int
from ..lax.ground.axes import integer
from ..util.messages import described, message
from .creation import array


def save(file: Any, arr: Any, allow_pickle: bool = True) -> None:
    """Save an array in a file, in NumPy's format ``.npy``.

    Args:
        file: a path, to which ``.npy`` is added unless it ends so, or an open binary file.
        arr: array, not traced.
        allow_pickle: whether `arr` may be a NumPy array of Python objects.

    Raises:
        OSError: if the file cannot be written.
        TracerArrayConversionError: if `arr` is traced: it has no numbers yet.

    Example:
        >>> import io
        >>> import morphax.numpy as jnp
        >>> file = io.BytesIO()
        >>> jnp.save(file, jnp.arange(3))
        >>> _ = file.seek(0)
        >>> jnp.load(file)
        Array([0, 1, 2], dtype=int32)
    """
    np.save(file, np.asarray(arr), allow_pickle)


def savez(file: Any, *args: Any, allow_pickle: bool = True, **kwds: Any) -> None:
    """Save arrays in one file, in NumPy's format ``.npz``.

    Args:
        file: a path, to which ``.npz`` is added unless it ends so, or an open binary file.
        *args: arrays, to be called ``arr_0``, ``arr_1``, …
        allow_pickle: see `save`.
        **kwds: arrays by name.

    Raises:
        OSError: if the file cannot be written.
        ValueError: if two arrays have one name.

    Example:
        >>> import io
        >>> import morphax.numpy as jnp
        >>> file = io.BytesIO()
        >>> jnp.savez(file, jnp.arange(3), weights=jnp.ones(2))
        >>> _ = file.seek(0)
        >>> sorted(jnp.load(file))
        ['arr_0', 'weights']
    """
    np.savez(file, *args, allow_pickle=allow_pickle, **kwds)


def load(file: Any, *args: Any, **kwargs: Any) -> Any:
    """The array in a file that `save` has written.

    Elements of two bytes without a name are taken for bfloat16; those of another dtype that NumPy
    does not know come as a NumPy array of bytes, to be read with ``.view(jnp.int4)`` or the like.

    Args:
        file: a path, or an open binary file.
        *args, **kwargs: those of `numpy.load`.  Python objects are loaded only if you pass
            ``allow_pickle=True``: loading them can run any code.

    Returns:
        An array; of a file of `savez`, NumPy's mapping from names to NumPy arrays.

    Raises:
        OSError: if the file cannot be read.
        ValueError: if it holds Python objects.

    Example:
        >>> import io
        >>> import morphax.numpy as jnp
        >>> file = io.BytesIO()
        >>> jnp.save(file, jnp.arange(3))
        >>> _ = file.seek(0)
        >>> jnp.load(file)
        Array([0, 1, 2], dtype=int32)
    """
    contents = np.load(file, *args, **kwargs)
    if not isinstance(contents, np.ndarray):
        return contents
    if contents.dtype == np.dtype("V2"):
        contents = contents.view(ml_dtypes.bfloat16)
    return array(contents) if contents.dtype in dtypes.SCALARS else contents


def fromstring(string: str, dtype: Any = float, count: int = -1, *, sep: str) -> Any:
    """The numbers that a text lists, as a vector.

    Args:
        string: the text.
        dtype: of the result.
        count: how many numbers to read; all by default.
        sep: what stands between two numbers; white space around it is skipped.

    Returns:
        Array (n,).

    Raises:
        OverflowError: if an integer is out of the range of `dtype`.
        ValueError: if the text lists something else, or fewer numbers.

    Example:
        >>> import morphax.numpy as jnp
        >>> jnp.fromstring("1, 2, 3", int, sep=",")
        Array([1, 2, 3], dtype=int32)
    """
    target = dtypes.requested(dtype, "fromstring")
    read = next((wide for kind, wide in _READ_AS if dtypes.issubdtype(target, kind)), target)
    number = integer("jnp.fromstring, argument count", count)
    try:
        values = np.fromstring(string, read, number, sep=sep)
    except (TypeError, ValueError) as error:
        raise type(error)(
            message(
                "jnp.fromstring",
                given=f"{string!r:.60}, with dtype={target}, count={count}, sep={sep!r}",
                expected="a text of so many numbers with a separator between them",
                fix="Check the separator, and that the text ends with a number.",
            )
        ) from None
    if read is np.int64:
        for extreme in (values.min(initial=0), values.max(initial=0)):
            checked_int("jnp.fromstring, argument string", int(extreme), target)
    return array(values.astype(target))


# NumPy reads numbers of these kinds into this dtype; the others are read as they are.
_READ_AS = (
    (np.uint64, np.uint64),
    (np.integer, np.int64),
    (np.floating, np.float64),
)


def from_dlpack(x: Any, /, *, device: Any = None, copy: bool | None = None) -> Any:
    """An array with the numbers of an array of another library.

    Args:
        x: an object with ``__dlpack__`` and ``__dlpack_device__``: an array of NumPy, PyTorch, …
        device: where the result shall be; by default where the numbers are.
        copy: true copies; false shares the memory, and the caller sees to it that nobody writes
            there; `None` shares it if nobody can.

    Raises:
        TypeError: if `x` does not speak DLPack.
        ValueError: if `copy` is false and the memory cannot be shared.

    Example:
        >>> import numpy as np
        >>> import morphax.numpy as jnp
        >>> jnp.from_dlpack(np.arange(3, dtype=np.float32))
        Array([0., 1., 2.], dtype=float32)
    """
    return from_any_dlpack(x, device, copy)


def fromfile(*args: Any, **kwargs: Any) -> NoReturn:
    """Refused, as in JAX: what a file holds may change between two runs of a traced function.

    Raises:
        NotImplementedError: always; read with `numpy.fromfile`.

    Example:
        >>> import morphax.numpy as jnp
        >>> jnp.fromfile("numbers.bin")
        Traceback (most recent call last):
            ...
        NotImplementedError: jnp.fromfile ...
    """
    _refuse_to_read("fromfile", args)


def fromiter(*args: Any, **kwargs: Any) -> NoReturn:
    """Refused, as in JAX: an iterator is used up while a function is traced.

    Raises:
        NotImplementedError: always; read with `numpy.fromiter`.

    Example:
        >>> import morphax.numpy as jnp
        >>> jnp.fromiter(iter([1, 2]), int)
        Traceback (most recent call last):
            ...
        NotImplementedError: jnp.fromiter ...
    """
    _refuse_to_read("fromiter", args)


def _refuse_to_read(name: str, args: tuple[Any, ...]) -> NoReturn:
    raise NotImplementedError(
        message(
            f"jnp.{name}",
            given=described(args[0]) if args else "no arguments",
            expected="data that do not change from one run of a traced function to the next",
            fix=f"Read them outside of traced functions, with jnp.asarray(np.{name}(…)).",
        )
    )
