"""What jnp functions do to their operands: convert, promote, broadcast.

The decision depends on avals and configuration alone, so it is made once per signature (a *plan*:
the operands to change, and how) and remembered.  Operands that agree already go through untouched.
A Python scalar becomes a NumPy scalar of the common dtype, so it stays a literal in jaxprs;
operands of rank 0 are not broadcast, for primitives repeat them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NoReturn

import numpy as np

from .. import dtypes, errors
from ..array import Array
from ..array.placement import at_default_place
from ..config import current as current_config
from ..core import Tracer, aval_of, carriers, carries_aval, is_value
from ..core.values import computed, python_scalar_types
from ..dtypes.numbers import as_bits, bounds, checked_int
from ..errors import ShapeError
from ..lax.elementwise.comparison import ne_p
from ..lax.elementwise.convert import convert, converted
from ..lax.ground.linear_structure import broadcast_in_dim_p
from ..lax.shape.common_shapes import broadcast_shapes
from ..util.memo import ResultTable
from ..util.messages import conversion_of, described, message, warn_user

BOOL = np.dtype(bool)
PYTHON_SCALARS = python_scalar_types
_INEXACT = frozenset(map(np.dtype, ("f2", "f4", "f8", "c8", "c16")))
_PYTHON_TYPE = {"i": int, "f": float, "c": complex}
Change = Callable[[Any], Any] | None

_OTHERS = ("scipy.", "science.", "nn.", "random.")


def in_full(name: str) -> str:
    """The name of a function as messages show it: of those of NumPy with `jnp` in front."""
    return name if name.startswith(_OTHERS) else f"jnp.{name}"


def check_no_out(name: str, out: Any) -> None:
    """Refuse the argument `out`, which exists for NumPy's sake."""
    if out is not None:
        raise NotImplementedError(
            message(
                f"{in_full(name)}, argument out",
                given="an array to write to",
                expected="None: arrays are immutable",
                fix="Use the result.",
            )
        )


def check_mask(name: str, where: Any) -> None:
    """Refuse numbers as the argument `where`: which of them would stand for true?"""
    aval = as_array(name, where).aval
    if aval.dtype != np.bool_:
        raise TypeError(
            message(
                f"{in_full(name)}, argument where",
                given=f"{aval}",
                expected="an array of truth values",
                fix="Compare: where=mask != 0.",
            )
        )


def refuse_out_and_where(name: str, out: Any) -> NoReturn:
    """Refuse what calls of NumPy's universal functions have besides operands."""
    raise NotImplementedError(
        message(
            f"{in_full(name)}, argument {'where' if out is None else 'out'}",
            given="an array",
            expected="None: arrays are immutable",
            fix="Use the result, and jnp.where to choose.",
        )
    )


def promoted(name: str, *operands: Any) -> Sequence[Any]:
    """Operands of one dtype, by the promotion lattice, and of one shape or rank 0."""
    if len(operands) == 1 and type(operands[0]) in carriers:
        return operands
    return _prepared(name, operands, False)


def promoted_inexact(name: str, *operands: Any) -> Sequence[Any]:
    """Like `promoted`, and integers and booleans become floating."""
    if len(operands) == 1 and type(operands[0]) in carriers and operands[0].aval.dtype in _INEXACT:
        return operands
    return _prepared(name, operands, True)


def _prepared(name: str, operands: Sequence[Any], inexact: bool) -> Sequence[Any]:
    signature: list[Any] = []
    for x in operands:
        if type(x) in carriers:
            signature.append(x.aval)
        elif type(x) in PYTHON_SCALARS:
            signature.append(type(x))
        else:
            break
    if len(signature) < len(operands):
        operands = [operand(name, x) for x in operands]
        signature = [type(x) if type(x) in PYTHON_SCALARS else aval_of(x) for x in operands]
    plan = _plans[name, tuple(signature), inexact, current_config().trace_key]
    if not plan:
        return operands
    values = list(operands)
    for position, change in plan:
        values[position] = change(values[position])
    return values


def operand(name: str, x: Any) -> Any:
    """`x`, which is no array of ours, as an operand."""
    if type(x) in PYTHON_SCALARS or carries_aval(x):
        return x
    if hasattr(x, "__jax_array__"):
        return x.__jax_array__()
    if is_value(x):
        return x
    raise TypeError(
        message(
            in_full(name),
            given=described(x),
            expected="an array, a NumPy array or a Python scalar",
            fix=conversion_of(x),
        )
    )


def _plan(
    name: str, signature: tuple[Any, ...], inexact: bool, trace_key: Any
) -> tuple[tuple[int, Callable[[Any], Any]], ...]:
    """Which operands of these avals, or Python scalars of these types, are to change, and how."""
    avals = tuple([aval_of(s()) if s in PYTHON_SCALARS else s for s in signature])
    _check_arrays(name, avals)
    dtype, weak = common_dtype(name, avals, inexact)
    shape = common_shape(name, avals)
    changes = [
        _literal(name, s, aval, dtype, weak)
        if s in PYTHON_SCALARS
        else _change(aval, dtype, weak, shape)
        for s, aval in zip(signature, avals, strict=True)
    ]
    return tuple([(i, change) for i, change in enumerate(changes) if change is not None])


_plans = ResultTable(_plan)


def _check_arrays(name: str, avals: tuple[Any, ...]) -> None:
    if any([aval.is_high for aval in avals]):
        raise TypeError(
            message(
                in_full(name),
                given=f"operands {', '.join(map(str, avals))}, of a type that a user has defined",
                expected="arrays",
                fix="Apply an operation of that type, which gives arrays.",
            )
        )


def common_dtype(name: str, avals: tuple[Any, ...], inexact: bool) -> tuple[Any, bool]:
    """The dtype that operands are promoted to, and whether it is weak."""
    try:
        dtype, weak = dtypes.promote(tuple([(a.dtype, a.weak_type) for a in avals]))
        if any([a.dtype != dtype for a in avals]):
            # One that was made while 64 bits were on combines with others in what is on now.
            dtype = dtypes.canonicalize_dtype(dtype, allow_extended_dtype=True)
        return dtypes.to_inexact(dtype, weak) if inexact else (dtype, weak)
    except (TypeError, dtypes.TypePromotionError) as error:
        error.add_note(f"in {in_full(name)}")
        raise


def common_shape(name: str, avals: Sequence[Any]) -> tuple[int, ...]:
    """The shape that operands are broadcast to."""
    shapes = [a.shape for a in avals if a.shape]
    try:
        shape = broadcast_shapes(*shapes) if shapes else ()
    except ShapeError:
        raise _shape_error(name, avals, "shapes that can be broadcast together") from None
    _check_rank_promotion(name, avals, shape)
    return shape


def _check_rank_promotion(name: str, avals: Sequence[Any], shape: Sequence[int]) -> None:
    mode = current_config().numpy_rank_promotion
    if mode == "allow" or all(a.ndim in (0, len(shape)) for a in avals):
        return
    error = _shape_error(name, avals, f"operands of equal rank (jax_numpy_rank_promotion={mode!r})")
    if mode == "raise":
        raise error
    warn_user(str(error))


def _shape_error(name: str, avals: Sequence[Any], expected: str) -> ShapeError:
    return ShapeError(
        message(
            in_full(name),
            given="operands of shapes " + ", ".join(str(a.shape) for a in avals),
            expected=expected,
            fix="Reshape an operand, or add axes of size 1 with x[:, None].",
        )
    )


def _literal(name: str, kind: type, aval: Any, dtype: Any, weak: bool) -> Change:
    """From a Python scalar to a literal of the common dtype; weak results keep Python scalars."""
    make = dtype.type
    if weak and dtype == dtypes.python_scalar_dtype(_PYTHON_TYPE.get(dtype.kind, bool)):
        if aval.dtype == dtype:
            return _checked if kind is int else None
        make = _PYTHON_TYPE[dtype.kind]
    if kind is not int:
        return make
    limits = bounds(dtype)
    if limits is None:
        end = 1 << (8 * aval.dtype.itemsize - 1)
        return lambda x: make(x if -end <= x < end else _checked(x))
    low, high = limits
    return lambda x: make(x if low <= x <= high else checked_int(in_full(name), x, dtype))


def _checked(x: int) -> int:
    """`x`, if it can be an operand."""
    aval_of(x)
    return x


def filling(name: str, x: Any, dtype: Any) -> Any:
    """`x`, which fills places of an array of `dtype`: a Python int may stand for its bits."""
    return as_bits(in_full(name), x, dtype) if type(x) is int else x


def _change(aval: Any, dtype: Any, weak: bool, shape: tuple[int, ...]) -> Change:
    """What has to be done to an array or tracer of `aval`."""
    steps: list[Callable[[Any], Any]] = []
    if aval.dtype != dtype:
        steps.append(lambda x: _in_common(x, dtype, weak))
    if aval.shape and aval.shape != shape:
        dims = tuple(range(len(shape) - aval.ndim, len(shape)))
        steps.append(
            lambda x: broadcast_in_dim_p.bind(
                x, shape=shape, broadcast_dimensions=dims, sharding=None
            )
        )
    if not steps:
        return None
    return steps[0] if len(steps) == 1 else lambda x: steps[1](steps[0](x))


def _in_common(x: Any, dtype: Any, weak: bool) -> Any:
    """`x` in the common dtype; NumPy's wide integers get there at once, not by way of 32 bits."""
    given = isinstance(x, (np.ndarray, np.generic)) and dtypes.issubdtype(dtype, np.inexact)
    if given and x.dtype != aval_of(x).dtype:
        x = converted(np.asarray(x), dtype)
        if not weak:
            return x
    return convert(x, dtype, weak)


def is_kind(x: Any, kind: Any) -> bool:
    """Whether the dtype of an operand is of a kind, such as ``np.integer``."""
    return bool(dtypes.issubdtype(aval_of(x).dtype, kind))


def is_bool(x: Any) -> bool:
    """Whether an operand holds truth values."""
    return bool(aval_of(x).dtype == BOOL)


def as_array(name: str, x: Any) -> Any:
    """`x` as an array or tracer; lists and tuples are refused, as in all jnp functions."""
    if type(x) in carriers or carries_aval(x):
        return x
    value = operand(name, x)
    if type(value) in computed:
        return computed[type(value)](value)
    return value if carries_aval(value) else at_default_place(Array.from_host(value))


def constant(x: Any, value: float) -> Any:
    """`value` as a scalar beside `x`, an operand of inexact dtype.

    Beside a weak scalar it is weak, so ``x16 * jnp.deg2rad(90)`` stays float16; a weak array of
    higher rank takes the dtype for good, as in JAX.
    """
    aval = aval_of(x)
    number = np.asarray(value, aval.dtype)[()]
    return number.item() if aval.weak_type and not aval.shape else number


def settled(x: Any, operand: Any = None) -> Any:
    """`x`, as if `constant`, of `operand` or of itself, had been beside it: a scalar stays weak."""
    has_shape = aval_of(x if operand is None else operand).shape
    return convert(x, x.aval.dtype) if x.aval.weak_type and has_shape else x


def as_truth(name: str, x: Any) -> Any:
    """`x` as a boolean array: a number counts as true unless it is zero."""
    x = as_array(name, x)
    dtype = x.aval.dtype
    if dtype == BOOL:
        return x
    try:
        zero = np.zeros((), dtype)[()]
    except TypeError:
        raise TypeError(
            message(
                in_full(name),
                given=f"{x.aval}",
                expected="an array of booleans or of numbers",
                fix="Compare random keys by their data (jax.random.key_data).",
            )
        ) from None
    return ne_p.bind(x, zero)


def of_one_dtype(name: str, *operands: Any) -> list[Any]:
    """Arrays of one dtype, by the promotion lattice; their shapes stay as they are."""
    arrays = [as_array(name, x) for x in operands]
    if len({x.aval for x in arrays}) == 1:
        return arrays
    dtype, weak = common_dtype(name, tuple([x.aval for x in arrays]), False)
    return [x if x.aval.dtype == dtype else convert(x, dtype, weak) for x in arrays]


def factors(name: str, preferred: Any, *operands: Any) -> list[Any]:
    """Factors in one dtype; 8-bit floats, which do not promote, may be beside other floats.

    If the dtype of the sums is given, nothing depends on theirs: they are widened to float32.
    """
    arrays = [as_array(name, x) for x in operands]
    found = {x.aval.dtype for x in arrays}
    if preferred is None or len(found) == 1 or min(d.itemsize for d in found) > 1:
        return of_one_dtype(name, *arrays)
    if not all(dtypes.issubdtype(d, np.floating) for d in found):
        return of_one_dtype(name, *arrays)
    wide = max((np.dtype(np.float32), *found), key=lambda d: d.itemsize)
    return [convert(x, wide) for x in arrays]


def inexact_type(name: str, *arrays: Any) -> tuple[Any, bool]:
    """The floating or complex dtype in which arrays combine, and whether it is weak."""
    return common_dtype(name, tuple([x.aval for x in arrays]), True)


def concrete_values(where: str, x: Any, fix: str) -> np.ndarray[Any, Any]:
    """The numbers of `x`, which decide the shape of a result: that has no derivative."""
    known = x.concrete() if isinstance(x, Tracer) else x
    if known is None and x is not None:
        raise errors.ConcretizationTypeError(
            message(
                where,
                given=f"{x.origin()}, {aval_of(x)}",
                expected="values that are known while tracing: they decide the result's shape",
                fix=fix,
            )
        )
    return np.asarray(known)
