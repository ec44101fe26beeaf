"""Making arrays: from data, filled with a value, or as ranges."""

from __future__ import annotations

import warnings
from array import array as std_array
from collections.abc import Collection, Sequence
from typing import Any

import numpy as np

from .. import dtypes, lax, tree
from ..array import Array
from ..array.placement import at_default_place
from ..core import aval_of, carries_aval, current_trace, is_value, root_trace
from ..core.values import computed
from ..dtypes.numbers import checked_int, host_scalar
from ..errors import ShapeError
from ..lax.elementwise.convert import convert, convert_as_asked
from ..lax.ground.placing import device_put
from ..lax.shape.filling import dtype_like, filled, placed_like
from ..lax.shape.resharding import laid_out
from ..runtime.transfer_guard import guard_transfer
from ..util.messages import conversion_of, described, message
from .axes import canonical_size, rank_asked_for
from .operands import PYTHON_SCALARS, as_array


def array(
    object: Any,
    dtype: Any = None,
    *args: Any,
    copy: bool = True,
    order: str | None = "K",
    ndmin: int = 0,
    device: Any = None,
    out_sharding: Any = None,
) -> Any:
    """An array with the contents of `object`.

    Args:
        object: array, scalar, or nested lists and tuples of these; tracers may be among them.
        dtype: of the result; without it Python scalars are 32 bits wide unless jax_enable_x64 is
            set, and a single Python scalar is weakly typed.
        *args: the next three by position, which is deprecated.
        copy: accepted for compatibility: arrays are immutable.
        order: accepted for compatibility.
        ndmin: least number of axes; axes of size 1 are added in front.
        device, out_sharding: where to put it.

    Example:
        >>> import morphax.numpy as jnp
        >>> jnp.array([[1, 2], [3, 4]])
        Array([[1, 2],
               [3, 4]], dtype=int32)
    """
    if args:
        copy, order, ndmin = _by_position(args, copy, order, ndmin)
    _check_order("array", order)
    wanted = None if dtype is None else dtypes.requested(dtype, "array")
    result = _contents(object, wanted)
    if ndmin and result.aval.ndim < rank_asked_for("jnp.array, argument ndmin", ndmin):
        shape = (1,) * (ndmin - result.aval.ndim) + result.aval.shape
        result = lax.reshape(result, shape)
    return placed(result, device, "array", out_sharding)


def _check_order(name: str, order: Any) -> None:
    if isinstance(order, str | None) and order in ("K", "C", "A", None):
        return
    raise ValueError(
        message(
            f"jnp.{name}, argument order",
            given=f"{order!r}",
            expected="'K' or 'C': memory order is the engine's business",
            fix="Leave out order.",
        )
    )


def _by_position(args: tuple[Any, ...], *named: Any) -> tuple[Any, ...]:
    """The arguments `copy`, `order` and `ndmin` of `array`, the first of them by position."""
    if len(args) > len(named):
        raise TypeError(
            message(
                "jnp.array",
                given=f"{len(args) + 2} arguments by position",
                expected="at most 5",
                fix="Name the others.",
            )
        )
    text = "jnp.array: the arguments copy, order and ndmin by position are deprecated; name them"
    warnings.warn(text, DeprecationWarning, stacklevel=3)
    return (*args, *named[len(args) :])


_OBJECT = "jnp.array, argument object"


def _contents(object: Any, dtype: Any) -> Any:
    """`object` as an array of `dtype`, or of its own dtype."""
    if hasattr(object, "__jax_array__"):
        object = object.__jax_array__()
    if type(object) in PYTHON_SCALARS:
        return _scalar(object, dtype)
    if carries_aval(object):
        return object if dtype is None else convert_as_asked("jnp.array", object, dtype)
    if type(object) in computed:
        return _contents(computed[type(object)](object), dtype)
    if is_value(object):
        return _from_numpy(np.asarray(object), dtype)
    if isinstance(object, (list, tuple)):
        return _from_sequence(object, dtype)
    if hasattr(object, "__array__") or hasattr(object, "__array_interface__"):
        return _from_numpy(np.asarray(object), dtype)
    if isinstance(object, (bytearray, memoryview, std_array)):
        return _from_numpy(np.asarray(memoryview(object)), dtype)
    if isinstance(object, Sequence) and not isinstance(object, (str, bytes)):
        return _from_sequence(tuple(object), dtype)
    raise TypeError(
        message(
            _OBJECT,
            given=described(object),
            expected="an array, a scalar, a buffer, or nested sequences of these",
            fix=conversion_of(object),
        )
    )


def _scalar(x: Any, dtype: Any) -> Any:
    """A Python scalar as an array, weakly typed if no dtype is asked for."""
    return _known(x if dtype is None else host_scalar(_OBJECT, x, dtype))


def _known(x: Any) -> Any:
    """What is on the host as an array, or as a constant of the program that is being written.

    There nobody may ask for the numbers, as in JAX: libraries find out so whether they are traced.
    """
    made, trace = Array.from_host(x), current_trace()
    if trace is root_trace():
        return at_default_place(made)
    if made.ndim:
        return trace.constant(made)
    # A scalar is written as a literal.
    return trace.constant(x if type(x) in PYTHON_SCALARS else np.asarray(x)[()])


def _from_numpy(x: np.ndarray[Any, Any], dtype: Any) -> Any:
    if x.dtype.kind not in "biufcV":
        raise TypeError(
            message(
                "jnp.array, argument object",
                given=f"a NumPy array of dtype {x.dtype}",
                expected="numbers or booleans",
                fix="Convert the data with astype first.",
            )
        )
    guard_transfer("host_to_device", x)
    target = dtypes.canonicalize(x.dtype) if dtype is None else dtype
    with np.errstate(all="ignore"):
        return _known(np.asarray(x, target))


def _from_sequence(items: Sequence[Any], dtype: Any) -> Any:
    kinds = _kinds_within(items)
    if kinds <= PYTHON_SCALARS:
        # What they combine to depends on their types alone.
        return _from_host_sequence(items, kinds, dtype)
    leaves = tree.leaves(items, is_leaf=lambda x: x is None)
    if all(type(x) in PYTHON_SCALARS or isinstance(x, (np.ndarray, np.generic)) for x in leaves):
        return _from_host_sequence(items, leaves, dtype)
    parts = [_contents(x, None) for x in items]
    common = dtypes.result_type(*parts) if dtype is None else dtype
    parts = [_scalar(x, common) if type(x) is int else p for x, p in zip(items, parts, strict=True)]
    shapes = {p.aval.shape for p in parts}
    if len(shapes) > 1:
        raise ValueError(_ragged(shapes))
    return lax.stack([convert(p, common) for p in parts], 0)


def _kinds_within(items: Sequence[Any]) -> set[type]:
    """The types of what nested lists and tuples hold, but for lists and tuples."""
    kinds = set(map(type, items))
    if list in kinds or tuple in kinds:
        kinds.update(*[_kinds_within(x) for x in items if type(x) is list or type(x) is tuple])
        kinds -= {list, tuple}
    return kinds


def _from_host_sequence(items: Sequence[Any], kinds: Collection[Any], dtype: Any) -> Any:
    """Nested lists of numbers, which combine as `kinds` do: NumPy reads them."""
    common = dtype
    if common is None:
        common = dtypes.result_type(*kinds) if kinds else dtypes.python_scalar_dtype(float)
    if common in _SHORT:
        for x in tree.leaves(items):
            checked_int(_OBJECT, int(x), common)
    try:
        return _known(np.array(items, common))
    except (ValueError, TypeError, OverflowError):
        raise _unreadable(items, tree.leaves(items), common) from None


_SHORT = frozenset(map(dtypes.dtype, ("int2", "int4", "uint2", "uint4")))


def _unreadable(items: Sequence[Any], leaves: Sequence[Any], dtype: Any) -> Exception:
    """Why NumPy does not read nested lists of numbers."""
    try:
        np.array(items)
    except ValueError:
        return ValueError(_ragged({np.shape(x) for x in items}))
    for x in leaves:
        try:
            host_scalar(_OBJECT, np.asarray(x).reshape(-1)[:1].tolist()[0], dtype)
        except (ValueError, TypeError, OverflowError) as error:
            return error
    raise AssertionError("one of the numbers is none of the dtype")


def _ragged(shapes: Any) -> str:
    return message(
        "jnp.array, argument object",
        given=f"items of different shapes: {sorted(shapes)}",
        expected="nested lists in which all items have one shape",
        fix="Pad the shorter items.",
    )


def asarray(
    a: Any,
    dtype: Any = None,
    order: str | None = None,
    *,
    copy: bool | None = None,
    device: Any = None,
    out_sharding: Any = None,
) -> Any:
    """`a` as an array; an array of the right dtype is returned as it is.

    Example:
        >>> import morphax.numpy as jnp
        >>> jnp.asarray([1, 2.5])
        Array([1. , 2.5], dtype=float32)
    """
    made = array(a, dtype, copy=bool(copy), order=order, device=device)
    return laid_out("jnp.asarray", made, out_sharding)


def copy(a: Any, order: str | None = None) -> Any:
    """An array with the contents of `a`."""
    _check_order("copy", order)
    return lax.copy_p.bind(as_array("copy", a))


def full(
    shape: Any, fill_value: Any, dtype: Any = None, *, device: Any = None, out_sharding: Any = None
) -> Any:
    """An array of `shape` with `fill_value` everywhere (it is broadcast).

    Example:
        >>> import morphax.numpy as jnp
        >>> jnp.full((2,), 7)
        Array([7, 7], dtype=int32, weak_type=True)
    """
    target = None if dtype is None else dtypes.requested(dtype, "full")
    return placed(_full("full", shape, fill_value, target), device, "full", out_sharding)


def _full(where: str, shape: Any, fill_value: Any, target: Any) -> Any:
    value = fill_value
    is_given = isinstance(value, (np.ndarray, np.generic)) and isinstance(target, np.dtype)
    if is_given and dtypes.canonicalize(target) == target:
        # At once: by way of 32 bits an int64 of 2⁴⁰ + 3 would be 3 as a float, too.
        value = lax.convert_element_type(value, target)
    elif type(value) not in PYTHON_SCALARS:
        value = as_array(where, value)
    sizes = canonical_size(where, shape)
    if type(value) is int and isinstance(target, np.dtype):
        value = host_scalar(f"jnp.{where}, argument fill_value", value, target)[()]
    if aval_of(value).ndim == 0:
        return filled(sizes, value, target)
    spread = value if target is None else convert(value, target)
    try:
        return repeated(spread, sizes)
    except ShapeError as error:
        raise ShapeError(
            message(
                f"jnp.{where}, argument fill_value",
                given=f"{aval_of(value)} for the shape {sizes}",
                expected="a number, or an array that can be broadcast to the shape",
                fix="Reshape the array, or pass its number.",
            )
        ) from error


def repeated(x: Any, shape: tuple[int, ...]) -> Any:
    """`x` broadcast to `shape`, axes aligned at the end."""
    first = len(shape) - aval_of(x).ndim
    return lax.broadcast_in_dim(x, shape, tuple(range(first, len(shape))))


def placed(x: Any, device: Any, where: str = "", out_sharding: Any = None) -> Any:
    """`x` on a device, or split over a mesh, if one is named."""
    x = x if device is None else device_put(x, device)
    return x if out_sharding is None else laid_out(f"jnp.{where}", x, out_sharding)


def zeros(shape: Any, dtype: Any = None, *, device: Any = None, out_sharding: Any = None) -> Any:
    """An array of zeros, of floating dtype unless `dtype` says otherwise."""
    return _filled("zeros", shape, 0, dtype, device, out_sharding)


def ones(shape: Any, dtype: Any = None, *, device: Any = None, out_sharding: Any = None) -> Any:
    """An array of ones, of floating dtype unless `dtype` says otherwise.

    Example:
        >>> import morphax.numpy as jnp
        >>> jnp.ones((1, 2))
        Array([[1., 1.]], dtype=float32)
    """
    return _filled("ones", shape, 1, dtype, device, out_sharding)


def empty(shape: Any, dtype: Any = None, *, device: Any = None, out_sharding: Any = None) -> Any:
    """An array of zeros: memory is never left uninitialised."""
    return _filled("empty", shape, 0, dtype, device, out_sharding)


def _filled(where: str, shape: Any, value: int, dtype: Any, device: Any, out_sharding: Any) -> Any:
    target = dtypes.requested(float if dtype is None else dtype, where)
    made = filled(canonical_size(where, shape), value, target)
    return placed(made, device, where, out_sharding)


def full_like(
    a: Any,
    fill_value: Any,
    dtype: Any = None,
    shape: Any = None,
    *,
    device: Any = None,
    out_sharding: Any = None,
) -> Any:
    """An array like `a`, with `fill_value` everywhere.

    Example:
        >>> import morphax.numpy as jnp
        >>> jnp.full_like(jnp.array([1, 2], "int8"), 7)
        Array([7, 7], dtype=int8)
    """
    return _made_like("full_like", a, fill_value, dtype, shape, device, out_sharding)


def _made_like(
    where: str,
    a: Any,
    value: Any,
    dtype: Any,
    shape: Any,
    device: Any,
    out_sharding: Any = None,
) -> Any:
    made = placed(_full(where, *_like(where, a, value, dtype, shape)), device)
    if out_sharding is not None:
        return laid_out(f"jnp.{where}", made, out_sharding)
    return made if device is not None else placed_like(a, made, value)


def _like(where: str, a: Any, value: Any, dtype: Any, shape: Any) -> tuple[Any, Any, Any]:
    known = hasattr(a, "shape") and hasattr(a, "dtype")
    like = a if known else as_array(where, a)
    sizes = like.shape if shape is None else shape
    if dtype is not None:
        return sizes, value, dtypes.requested(dtype, where)
    # Numbers of an array have its dtype for good.
    if getattr(like, "weak_type", False) and not aval_of(value).ndim:
        return sizes, convert(value, like.dtype, weak_type=True), None
    return sizes, value, dtype_like(like)


def zeros_like(
    a: Any, dtype: Any = None, shape: Any = None, *, device: Any = None, out_sharding: Any = None
) -> Any:
    """Zeros with shape and dtype of `a`."""
    return _made_like("zeros_like", a, 0, dtype, shape, device, out_sharding)


def ones_like(
    a: Any, dtype: Any = None, shape: Any = None, *, device: Any = None, out_sharding: Any = None
) -> Any:
    """Ones with shape and dtype of `a`."""
    return _made_like("ones_like", a, 1, dtype, shape, device, out_sharding)


def empty_like(prototype: Any, dtype: Any = None, shape: Any = None, *, device: Any = None) -> Any:
    """Zeros with shape and dtype of `prototype`: memory is never left uninitialised."""
    return _made_like("empty_like", prototype, 0, dtype, shape, device)
