"""Arrays as text.

`repr` and `str` of arrays follow NumPy's options, so these options are NumPy's own.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any

import numpy as np
from numpy.exceptions import ComplexWarning as ComplexWarning

from ..array import Array


def array_repr(
    arr: Any,
    max_line_width: int | None = None,
    precision: int | None = None,
    suppress_small: bool | None = None,
) -> str:
    """The text of an array with its dtype, as `repr` gives it, with options for this call.

    Args:
        arr: array of numbers, not traced.
        max_line_width: columns after which a line is broken.
        precision: digits behind the point.
        suppress_small: whether numbers that `precision` makes 0 are written so.

    Raises:
        TracerArrayConversionError: if `arr` is traced: it has no numbers yet.

    Example:
        >>> import morphax.numpy as jnp
        >>> jnp.array_repr(jnp.array([1.0, 2.0]) / 3, precision=2)
        'Array([0.33, 0.67], dtype=float32)'
    """
    text = np.array_repr(np.asarray(arr), max_line_width, precision, suppress_small)
    return f"Array{text.removeprefix('array')}" if isinstance(arr, Array) else text


def array_str(
    a: Any,
    max_line_width: int | None = None,
    precision: int | None = None,
    suppress_small: bool | None = None,
) -> str:
    """The numbers of an array as text; see `array_repr` for the arguments.

    Example:
        >>> import morphax.numpy as jnp
        >>> jnp.array_str(jnp.array([1.0, 2.0]) / 3, precision=2)
        '[0.33 0.67]'
    """
    return np.array_str(np.asarray(a), max_line_width, precision, suppress_small)


def set_printoptions(*args: Any, **kwargs: Any) -> None:
    """Say how arrays print, those of NumPy too; see `numpy.set_printoptions` for the arguments.

    Example:
        >>> import morphax.numpy as jnp
        >>> kept = jnp.get_printoptions()
        >>> jnp.set_printoptions(precision=3)
        >>> jnp.sqrt(jnp.array([2.0, 3.0]))
        Array([1.414, 1.732], dtype=float32)
        >>> jnp.set_printoptions(**kept)
    """
    np.set_printoptions(*args, **kwargs)


def get_printoptions() -> dict[str, Any]:
    """The options by which arrays print, by name; see `numpy.get_printoptions`.

    Example:
        >>> import morphax.numpy as jnp
        >>> jnp.get_printoptions()["precision"]
        8
    """
    return dict(np.get_printoptions())


def printoptions(*args: Any, **kwargs: Any) -> AbstractContextManager[Any]:
    """A context in which arrays print by other options; see `numpy.set_printoptions` for them.

    Example:
        >>> import morphax.numpy as jnp
        >>> with jnp.printoptions(precision=2):
        ...     print(jnp.array([1.0, 2.0]) / 3)
        [0.33 0.67]
    """
    return np.printoptions(*args, **kwargs)
