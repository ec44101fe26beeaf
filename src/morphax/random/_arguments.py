"""What the distributions do with their arguments before they draw, and with what they drew."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import dtypes, lax
from ..core import aval_of
from ..errors import ShapeError
from ..lax.ground.axes import canonical_shape
from ..lax.ground.kinds import COMPLEX, FLOATING, DtypeKind
from ..lax.shape.resharding import laid_out
from ..util.messages import message
from ._keys import single_key


def prepared(function: str, key: Any, shape: Any, dtype: Any, *parameters: Any) -> tuple[Any, ...]:
    """The arguments of a distribution of real numbers, checked and made canonical.

    Returns:
        The typed key, the shape and the dtype of the numbers to draw, then the parameters in this
        dtype and of this rank, or of rank 0.
    """
    typed = single_key(function, key)
    chosen = requested_dtype(function, dtype, FLOATING)
    check_real(function, *parameters)
    sizes = drawn_shape(function, shape, *parameters)
    return typed, sizes, chosen, *[parameter(p, chosen, sizes) for p in parameters]


def check_real(function: str, *parameters: Any) -> None:
    """Raise `TypeError` for complex parameters, whose imaginary parts nothing would show."""
    for x in parameters:
        aval = aval_of(x)
        if aval.dtype in COMPLEX:
            raise TypeError(
                message(
                    f"random.{function}",
                    given=f"a parameter of type {aval.str_short(short_dtypes=False)}",
                    expected="parameters that are real numbers",
                    fix="Pass the real part, x.real, if that is meant.",
                )
            )


def requested_dtype(
    function: str,
    dtype: Any,
    kind: DtypeKind,
    default: Any = float,
    error: type[Exception] = ValueError,
) -> Any:
    """The dtype of the numbers to draw, `default` if none is named; `error` if not of `kind`."""
    where = f"random.{function}, argument dtype"
    usual = dtypes.canonicalize(default)
    chosen = usual if dtype is None else dtypes.requested(dtype, where)
    if chosen in kind:
        return chosen
    raise error(
        message(
            where,
            given=f"{chosen}",
            expected=f"a dtype that is {kind.text}",
            fix=f"Leave the argument out to draw {usual}.",
        )
    )


def drawn_shape(function: str, shape: Any, *parameters: Any) -> tuple[int, ...]:
    """The shape of the numbers to draw, by default the one that the parameters share."""
    return fitted_shape(function, shape, *[aval_of(p).shape for p in parameters])


def fitted_shape(function: str, shape: Any, *shapes: tuple[int, ...]) -> tuple[int, ...]:
    """A shape to which others can be broadcast, by default the one that they share."""
    where = f"random.{function}, argument shape"
    if shape is None:
        return lax.broadcast_shapes(*shapes) if shapes else ()
    sizes = canonical_shape(where, shape)
    for own in shapes:
        if own and not _repeats_to(own, sizes):
            raise ShapeError(
                message(
                    where,
                    given=f"{sizes}, for a parameter of shape {own}",
                    expected="a shape to which each parameter can be broadcast",
                    fix="Put the axes of the parameters last, or leave the shape out.",
                )
            )
    return sizes


def _repeats_to(own: tuple[int, ...], shape: tuple[int, ...]) -> bool:
    try:
        return np.broadcast_shapes(own, shape) == shape
    except ValueError:
        return False


def is_number(x: Any) -> bool:
    """Whether `x` is a number that is known while tracing, not an array or tracer."""
    return isinstance(x, (int, float, np.number))


def parameter(x: Any, dtype: Any, shape: tuple[int, ...]) -> Any:
    """A parameter in the dtype and with the rank of the numbers to draw; scalars keep rank 0."""
    if is_number(x):
        return dtype.type(x)
    converted = lax.convert_element_type(x, dtype)
    return lax.broadcast_to_rank(converted, len(shape)) if aval_of(x).shape else converted


def repeated(x: Any, shape: tuple[int, ...]) -> Any:
    """A parameter repeated to the shape of the numbers to draw."""
    own = aval_of(x).shape
    return lax.broadcast_in_dim(x, shape, range(len(shape) - len(own), len(shape)))


def placed(numbers: Any, out_sharding: Any) -> Any:
    """`numbers`, split over a mesh as the argument `out_sharding` says."""
    return laid_out("a function of jax.random", numbers, out_sharding)
