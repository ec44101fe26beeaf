"""What jnp functions do to their operands: convert, promote, broadcast.

The decision depends on avals and configuration alone, so it is made once per signature (a *plan*:
one change, or none, per operand) and remembered.  Operands that agree already go through untouched.
A Python scalar becomes a NumPy scalar of the common dtype, so it stays a literal in jaxprs;
operands of rank 0 are not broadcast, for primitives repeat them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .. import dtypes, errors
from ..array import Array
from ..config import current as current_config
from ..core import Tracer, aval_of, is_value
from ..lax.comparison import ne_p
from ..lax.convert import convert
from ..lax.shape import broadcast_shapes
from ..lax.spine import broadcast_in_dim_p
from ..util.memo import memoize
from ..util.messages import message

PYTHON_SCALARS = frozenset({bool, int, float, complex})
_PYTHON_TYPE = {"i": int, "f": float, "c": complex}
Change = Callable[[Any], Any] | None


def check_no_out(name: str, out: Any) -> None:
    """Refuse the argument `out`, which exists for NumPy's sake."""
    if out is not None:
        raise NotImplementedError(
            message(
                f"jnp.{name}, argument out",
                given="an array to write to",
                expected="None: arrays are immutable",
                fix="Use the result.",
            )
        )


def promoted(name: str, *operands: Any) -> Sequence[Any]:
    """Operands of one dtype, by the promotion lattice, and of one shape or rank 0."""
    return _prepared(name, operands, inexact=False)


def promoted_inexact(name: str, *operands: Any) -> Sequence[Any]:
    """Like `promoted`, and integers and booleans become floating."""
    return _prepared(name, operands, inexact=True)


def _prepared(name: str, operands: Sequence[Any], *, inexact: bool) -> Sequence[Any]:
    values = [x if hasattr(x, "aval") else _operand(name, x) for x in operands]
    avals = [x.aval if hasattr(x, "aval") else aval_of(x) for x in values]
    first = avals[0]
    if not inexact and not first.weak_type and all([aval is first for aval in avals]):
        return values
    scalar = tuple([type(x) in PYTHON_SCALARS for x in values])
    plan = _plan(name, tuple(avals), scalar, inexact, current_config().trace_key)
    if plan is None:
        return values
    return [x if change is None else change(x) for x, change in zip(values, plan, strict=True)]


def _operand(name: str, x: Any) -> Any:
    """`x`, which is no array of ours, as an operand."""
    if type(x) in PYTHON_SCALARS:
        return x
    if hasattr(x, "__jax_array__"):
        return x.__jax_array__()
    if is_value(x):
        return x
    raise TypeError(
        message(
            f"jnp.{name}",
            given=f"{x!r:.80} of type {type(x).__name__}",
            expected="an array, a NumPy array or a Python scalar",
            fix="Convert lists and tuples with jnp.array.",
        )
    )


@memoize
def _plan(
    name: str, avals: tuple[Any, ...], scalar: tuple[bool, ...], inexact: bool, trace_key: Any
) -> tuple[Change, ...] | None:
    dtype, weak = _common_dtype(name, avals, inexact)
    shape = _common_shape(name, avals)
    changes = tuple(
        [_change(aval, s, dtype, weak, shape) for aval, s in zip(avals, scalar, strict=True)]
    )
    return changes if any(changes) else None


def _common_dtype(name: str, avals: tuple[Any, ...], inexact: bool) -> tuple[Any, bool]:
    try:
        dtype, weak = dtypes.promote(tuple([(a.dtype, a.weak_type) for a in avals]))
    except dtypes.TypePromotionError as error:
        error.add_note(f"in jnp.{name}")
        raise
    if inexact and not dtypes.issubdtype(dtype, np.inexact):
        floating, _ = dtypes.promote(((dtype, weak), (dtypes.python_scalar_dtype(float), True)))
        return floating, weak
    return dtype, weak


def _common_shape(name: str, avals: tuple[Any, ...]) -> tuple[int, ...]:
    shapes = [a.shape for a in avals if a.shape]
    try:
        shape = broadcast_shapes(*shapes) if shapes else ()
    except (TypeError, ValueError):
        raise _shape_error(name, avals, "shapes that can be broadcast together") from None
    _check_rank_promotion(name, avals, shape)
    return shape


def _check_rank_promotion(name: str, avals: Sequence[Any], shape: Sequence[int]) -> None:
    mode = current_config().numpy_rank_promotion
    if mode == "allow" or all(a.ndim in (0, len(shape)) for a in avals):
        return
    if mode == "raise":
        raise _shape_error(name, avals, "operands of equal rank (jax_numpy_rank_promotion='raise')")


def _shape_error(name: str, avals: Sequence[Any], expected: str) -> ValueError | TypeError:
    return TypeError(
        message(
            f"jnp.{name}",
            given="operands of shapes " + ", ".join(str(a.shape) for a in avals),
            expected=expected,
            fix="Reshape an operand, or add axes of size 1 with x[:, None].",
        )
    )


def _change(aval: Any, scalar: bool, dtype: Any, weak: bool, shape: tuple[int, ...]) -> Change:
    """What has to be done to an operand of `aval`."""
    if scalar:
        # A literal of the common dtype; a weak result keeps its Python scalars.
        if weak and dtype == dtypes.python_scalar_dtype(_PYTHON_TYPE.get(dtype.kind, bool)):
            return None if aval.dtype == dtype else _PYTHON_TYPE[dtype.kind]
        return dtype.type  # type: ignore[no-any-return]
    steps: list[Callable[[Any], Any]] = []
    if aval.dtype != dtype:
        steps.append(lambda x: convert(x, dtype, weak))
    if aval.shape and aval.shape != shape:
        dims = tuple(range(len(shape) - aval.ndim, len(shape)))
        squeezed_dims = dims
        steps.append(
            lambda x: broadcast_in_dim_p.bind(
                x, shape=shape, broadcast_dimensions=squeezed_dims, sharding=None
            )
        )
    if not steps:
        return None
    return steps[0] if len(steps) == 1 else lambda x: steps[1](steps[0](x))


def as_array(name: str, x: Any) -> Any:
    """`x` as an array or tracer; lists and tuples are refused, as in all jnp functions."""
    if hasattr(x, "aval"):
        return x
    value = _operand(name, x)
    return value if hasattr(value, "aval") else Array.from_host(value)


def as_truth(name: str, x: Any) -> Any:
    """`x` as a boolean array: a number counts as true unless it is zero."""
    x = as_array(name, x)
    dtype = x.aval.dtype
    return x if dtype == np.bool_ else ne_p.bind(x, np.zeros((), dtype)[()])


def of_one_dtype(name: str, *operands: Any) -> list[Any]:
    """Arrays of one dtype, by the promotion lattice; their shapes stay as they are."""
    arrays = [as_array(name, x) for x in operands]
    dtype, weak = _common_dtype(name, tuple([x.aval for x in arrays]), False)
    return [x if x.aval.dtype == dtype else convert(x, dtype, weak) for x in arrays]


def concrete_values(where: str, x: Any, fix: str) -> np.ndarray[Any, Any]:
    """The numbers of `x`, which decide the shape of a result."""
    if isinstance(x, Tracer) and x.concrete() is None:
        raise errors.ConcretizationTypeError(
            message(
                where,
                given=f"{x.origin()}, {aval_of(x)}",
                expected="values that are known while tracing: they decide the result's shape",
                fix=fix,
            )
        )
    return np.asarray(x)
