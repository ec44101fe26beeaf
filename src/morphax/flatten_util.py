"""`jax.flatten_util`: a tree of arrays as one vector."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from . import numpy as jnp
from . import tree
from .core import aval_of
from .lax.elementwise.convert import convert_element_type
from .transforms.flattening import avals_of
from .util.messages import message


def ravel_pytree(pytree: Any) -> tuple[Any, Callable[[Any], Any]]:
    """All leaves of a tree in one vector, and the way back.

    Args:
        pytree: tree of arrays and numbers.

    Returns:
        ``(vector, unravel)``: the raveled leaves one after the other, in their common dtype, and
        the function that makes such a tree of a vector like it.

    Raises:
        TypeError: a leaf is no array; `unravel` is given a vector of another dtype.
        ValueError: `unravel` is given another shape.

    Example:
        >>> import morphax as jax
        >>> import morphax.numpy as jnp
        >>> from morphax.flatten_util import ravel_pytree
        >>> vector, unravel = ravel_pytree({"a": jnp.arange(2), "b": 0.5})
        >>> vector
        Array([0. , 1. , 0.5], dtype=float32)
        >>> unravel(2 * vector)
        {'a': Array([0, 2], dtype=int32), 'b': Array(1., dtype=float32)}
    """
    leaves, structure = tree.flatten(pytree)
    avals = avals_of(leaves)
    parts = [jnp.ravel(x) for x in leaves]
    vector = jnp.concatenate(parts) if parts else jnp.zeros(0)
    dtype = aval_of(vector).dtype

    def unravel(flat: Any) -> Any:
        _check_vector(flat, aval_of(vector))
        return structure.unflatten(_leaves_of(flat, avals))

    return vector.astype(dtype), unravel


def _leaves_of(flat: Any, avals: Sequence[Any]) -> list[Any]:
    ends = np.cumsum([a.size for a in avals]).tolist()
    return [
        convert_element_type(flat[end - a.size : end].reshape(a.shape), a.dtype)
        for a, end in zip(avals, ends, strict=True)
    ]


def _check_vector(flat: Any, expected: Any) -> None:
    given = aval_of(flat)
    if given.shape == expected.shape and given.dtype == expected.dtype:
        return
    raise (ValueError if given.shape != expected.shape else TypeError)(
        message(
            "the unravel function of ravel_pytree",
            given=f"{given}",
            expected=f"{expected}",
            fix="Pass a vector with the shape and dtype of the raveled tree.",
        )
    )
