"""Common shapes, and arrays with at least so many axes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from .. import lax
from ..engines.reference.replay import replayed
from ..lax.ground.axes import integer_tuple
from ..util.memo import memoize
from .operands import as_array
from .shaping import reshape

_SHAPES: Final = "jnp.broadcast_shapes, argument shapes"


def broadcast_shapes(*shapes: Any) -> tuple[int, ...]:
    """The common shape that shapes broadcast to.

    Example:
        >>> import morphax.numpy as jnp
        >>> jnp.broadcast_shapes((2, 1), (3,))
        (2, 3)
    """
    return _common_shape(*shapes)


@memoize
def _common_shape(*shapes: Any) -> tuple[int, ...]:
    sizes = [(s,) if isinstance(s, int) else integer_tuple(_SHAPES, s) for s in shapes]
    return lax.broadcast_shapes(*sizes)


def _at_least(name: str, arys: Sequence[Any], widen: Any) -> Any:
    results = [widen(as_array(name, a)) for a in arys]
    return results[0] if len(results) == 1 else results


def atleast_1d(*arys: Any) -> Any:
    """Arrays with at least one axis.

    Example:
        >>> import morphax.numpy as jnp
        >>> jnp.atleast_1d(2.0).shape
        (1,)
    """
    return _at_least("atleast_1d", arys, lambda a: reshape(a, 1) if a.aval.ndim == 0 else a)


@replayed(8)
def atleast_2d(*arys: Any) -> Any:
    """Arrays with at least two axes, new ones in front.

    Example:
        >>> import morphax.numpy as jnp
        >>> jnp.atleast_2d(jnp.ones(3)).shape
        (1, 3)
    """

    def widen(a: Any) -> Any:
        return (
            a
            if a.aval.ndim > 1
            else reshape(a, (1, max(a.aval.size, 1) if not a.aval.ndim else a.aval.size))
        )

    return _at_least("atleast_2d", arys, widen)


@replayed(8)
def atleast_3d(*arys: Any) -> Any:
    """Arrays with at least three axes: (n,) becomes (1, n, 1), (m, n) becomes (m, n, 1).

    Example:
        >>> import morphax.numpy as jnp
        >>> jnp.atleast_3d(jnp.ones((2, 3))).shape
        (2, 3, 1)
    """

    def widen(a: Any) -> Any:
        places = {0: (0, 1, 2), 1: (0, 2), 2: (2,)}.get(a.aval.ndim, ())
        return lax.expand_dims(a, places) if places else a

    return _at_least("atleast_3d", arys, widen)
