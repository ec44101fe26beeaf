"""Turning arrays round: flips, rotations, elements that move along axes."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import dtypes, lax
from ..core import aval_of
from ..engines.reference.replay import replayed
from ..lax.ground.axes import integer
from ..lax.shape.filling import size_value
from ..util.messages import message
from .axes import canonical_axes, canonical_axis, listed
from .indexing import getitem
from .operands import as_array
from .shaping import ravel, reshape


@replayed(1)
def flip(m: Any, axis: Any = None) -> Any:
    """`m` with the order along axes (all without `axis`) reversed.

    Args:
        m: array of any shape.
        axis: axis or axes along which the order is reversed; all without it.

    Raises:
        ValueError: there is no such axis.

    Example:
        >>> import morphax.numpy as jnp
        >>> jnp.flip(jnp.array([[1, 2], [3, 4]]), axis=1)
        Array([[2, 1],
               [4, 3]], dtype=int32)
    """
    m = as_array("flip", m)
    return lax.rev(m, canonical_axes("flip", axis, m.aval.ndim))


@replayed(1)
def fliplr(m: Any) -> Any:
    """`m` with its columns in reverse order.

    Args:
        m: array (m, n, ...).

    Raises:
        ValueError: `m` has fewer than two axes.

    Example:
        >>> import morphax.numpy as jnp
        >>> jnp.fliplr(jnp.array([[1, 2], [3, 4]]))
        Array([[2, 1],
               [4, 3]], dtype=int32)
    """
    return flip(m, 1)


@replayed(1)
def flipud(m: Any) -> Any:
    """`m` with its rows in reverse order.

    Args:
        m: array (m, ...).

    Raises:
        ValueError: `m` has no axis.

    Example:
        >>> import morphax.numpy as jnp
        >>> jnp.flipud(jnp.array([[1, 2], [3, 4]]))
        Array([[3, 4],
               [1, 2]], dtype=int32)
    """
    return flip(m, 0)


@replayed(1)
def rot90(m: Any, k: int = 1, axes: tuple[int, int] = (0, 1)) -> Any:
    """`m` turned by k quarter turns from the first of `axes` towards the second.

    Example:
        >>> import morphax.numpy as jnp
        >>> jnp.rot90(jnp.array([[1, 2], [3, 4]]))
        Array([[2, 4],
               [1, 3]], dtype=int32)
    """
    plane = canonical_axes("rot90", axes, as_array("rot90", m).aval.ndim)
    if len(plane) != 2:
        raise ValueError(
            message(
                "jnp.rot90, argument axes",
                given=f"{axes!r:.80}",
                expected="two axes: those of the plane to turn in",
                fix="Write axes=(0, 1), for instance.",
            )
        )
    first, second = plane
    quarter = integer("jnp.rot90, argument k", k) % 4
    if quarter == 0:
        return as_array("rot90", m)
    if quarter == 2:
        return flip(m, (first, second))
    order = list(range(as_array("rot90", m).aval.ndim))
    order[first], order[second] = order[second], order[first]
    if quarter == 1:
        return lax.transpose(flip(m, second), order)
    return flip(lax.transpose(as_array("rot90", m), order), second)


@replayed(1, arrays=("shift",))
def roll(a: Any, shift: Any, axis: Any = None) -> Any:
    """`a` shifted along axes, what leaves at one end coming back at the other.

    Example:
        >>> import morphax.numpy as jnp
        >>> jnp.roll(jnp.arange(5), 2)
        Array([3, 4, 0, 1, 2], dtype=int32)
    """
    a = as_array("roll", a)
    if axis is None:
        return reshape(roll(ravel(a), shift, 0), a.aval.shape)
    # An axis may be named again: its shifts add up.
    axes = [canonical_axis("roll", each, a.aval.ndim) for each in listed(axis)]
    shifts = _members_of_vector(shift)
    if 1 in (len(shifts), len(axes)):
        shifts, axes = shifts * len(axes), axes * len(shifts)
    if len(shifts) != len(axes):
        raise ValueError(
            message(
                "jnp.roll, argument shift",
                given=f"{len(shifts)} shifts for axes {axes}",
                expected="one shift, or one for each axis",
                fix="Give shift and axis the same length.",
            )
        )
    for place, amount in zip(axes, shifts, strict=True):
        size = a.aval.shape[place]
        if size:
            a = _rolled(a, amount, place, size)
    return a


def _members_of_vector(shift: Any) -> list[Any]:
    """The shifts that a number, a sequence or a vector stands for."""
    if isinstance(shift, (tuple, list)):
        return list(shift)
    if type(shift) is int:
        return [shift]
    ndim = aval_of(shift).ndim
    if ndim > 1:
        raise ValueError(
            message(
                "jnp.roll, argument shift",
                given=f"{aval_of(shift)}",
                expected="an int, or a vector of them",
                fix="Give one shift for each axis.",
            )
        )
    return [shift[i] for i in range(len(shift))] if ndim else [shift]


def _rolled(a: Any, amount: Any, axis: int, size: int) -> Any:
    if isinstance(amount, (int, np.integer)) and type(size) is int:
        cut = -int(amount) % size
        parts = [lax.slice_in_dim(a, cut, size, axis=axis), lax.slice_in_dim(a, 0, cut, axis=axis)]
        return lax.concatenate(parts, axis) if cut else a
    if type(size) is int:
        return lax.dynamic_slice_in_dim(
            lax.concatenate([a, a], axis), _start_of_rolled(amount, size), size, axis
        )
    count = size_value(size, np.dtype(np.int32))
    places = lax.sub(lax.iota(np.int32, size), lax.convert_element_type(amount, np.int32))
    wrapped = lax.rem(lax.add(lax.rem(places, count), count), count)
    return getitem(a, (slice(None),) * axis + (wrapped,))


def _start_of_rolled(amount: Any, size: int) -> Any:
    """Where an array that is shifted begins in two copies of it, one after the other."""
    if dtypes.itemsize_bits(aval_of(amount).dtype) < 32:
        amount = lax.convert_element_type(amount, np.int32)
    dtype = aval_of(amount).dtype
    rest = lax.convert_element_type(lax.rem(amount, dtype.type(size)), np.int32)
    return lax.select(lax.gt(rest, np.int32(0)), lax.sub(np.int32(size), rest), lax.neg(rest))
