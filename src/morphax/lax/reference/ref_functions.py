"""Making references, and what may be done to them, as functions: the names of `jax.ref`."""

from __future__ import annotations

from typing import Any

from ... import dtypes
from ...core import ShapedArray, is_value
from ...util.messages import described, message
from .ref_access import add_to, look_up, replace
from .ref_binding import Reference
from .ref_indexing import Index
from .ref_primitives import empty_ref_p, free_ref_p, freeze_p, new_ref_p
from .references import Ref, TransformedRef


def new_ref(init_val: Any, *, memory_space: Any = None, kind: str | None = None) -> Ref:
    """A reference that holds a copy of `init_val`.

    Args:
        init_val: an array or a number.
        memory_space: where the array is kept, `None` for the memory of the device.
        kind: a label, which the type of the reference carries.

    Raises:
        TypeError: `init_val` is no array.

    Example:
        >>> import morphax as jax
        >>> import morphax.numpy as jnp
        >>> total = jax.new_ref(0.0)
        >>> @jax.jit
        ... def add(x):
        ...     total[...] += x
        >>> for x in (2.0, 3.0):
        ...     add(x)
        >>> total[...]
        Array(5., dtype=float32, weak_type=True)
    """
    if not is_value(init_val) or isinstance(init_val, Reference):
        raise TypeError(
            message(
                "new_ref, argument init_val",
                given=described(init_val),
                expected="an array or a number",
                fix="Make one reference for each array; read a reference with ref[...].",
            )
        )
    return _made(new_ref_p.bind(init_val, memory_space=memory_space, kind=kind))


def empty_ref(ty: Any, memory_space: Any = None) -> Ref:
    """A reference to an array of a given type, to be written before it is read.

    Args:
        ty: what has a shape and a dtype, such as a `ShapeDtypeStruct`.
        memory_space: where the array is kept.

    Example:
        >>> import morphax as jax
        >>> ref = jax.empty_ref(jax.ShapeDtypeStruct((2,), "float32"))
        >>> ref[...] = jax.numpy.ones(2)
        >>> jax.freeze(ref)
        Array([1., 1.], dtype=float32)
    """
    if not (hasattr(ty, "shape") and hasattr(ty, "dtype")):
        raise TypeError(
            message(
                "empty_ref, argument ty",
                given=described(ty),
                expected="what has a shape and a dtype",
                fix="Pass jax.ShapeDtypeStruct(shape, dtype), or an array like the one to be kept.",
            )
        )
    aval = ShapedArray(ty.shape, dtypes.canonicalize(ty.dtype))
    return _made(empty_ref_p.bind(ty=aval, memory_space=memory_space))


def _made(result: Any) -> Ref:
    return Ref(result.aval, result)


def freeze(ref: Ref) -> Any:
    """The value of a reference that is not used afterwards.

    Example:
        >>> import morphax as jax
        >>> jax.freeze(jax.new_ref(3))
        Array(3, dtype=int32, weak_type=True)
    """
    return freeze_p.bind(_checked("freeze", ref, Ref))


def free_ref(ref: Ref) -> None:
    """Say that a reference is not used afterwards.

    Example:
        >>> import morphax as jax
        >>> jax.free_ref(jax.new_ref(3))
    """
    free_ref_p.bind(_checked("free_ref", ref, Ref))


def get(ref: Ref | TransformedRef, idx: Index = None) -> Any:
    """``ref[idx]``: the value of a part, or of the whole.

    Args:
        ref: the reference.
        idx: integers, slices, `jax.ds`, arrays of integers, an ellipsis, or a tuple of these.

    Raises:
        TypeError, ValueError: the index does not fit.
        NonConcreteBooleanIndexError: the index is a mask.

    Example:
        >>> import morphax as jax
        >>> import morphax.numpy as jnp
        >>> jax.ref.get(jax.new_ref(jnp.arange(3.0)), 1)
        Array(1., dtype=float32)
    """
    return look_up(_checked("get", ref), idx)


def swap(ref: Ref | TransformedRef, idx: Index, value: Any, _function_name: str = "swap") -> Any:
    """Replace a part, and return what it was.

    Args:
        ref: the reference.
        idx: see `get`.
        value: of the shape and dtype of the part; a number is converted.
        _function_name: what error messages name, for those who wrap this function.

    Raises:
        TypeError: the reference was made outside of a transformed function, and the value depends
            on the transformation.
        ValueError: the value does not fit.

    Example:
        >>> import morphax as jax
        >>> import morphax.numpy as jnp
        >>> ref = jax.new_ref(jnp.arange(3.0))
        >>> jax.ref.swap(ref, 1, 5.0), ref[...]
        (Array(1., dtype=float32), Array([0., 5., 2.], dtype=float32))
    """
    return replace(_checked(_function_name, ref), idx, value)


def set(ref: Ref | TransformedRef, idx: Index, value: Any) -> None:
    """``ref[idx] = value``; see `swap`.

    Example:
        >>> import morphax as jax
        >>> ref = jax.new_ref(1.0)
        >>> jax.ref.set(ref, (), 2.0)
        >>> ref
        Ref(2., dtype=float32, weak_type=True)
    """
    replace(_checked("set", ref), idx, value)


def addupdate(ref: Ref | TransformedRef, idx: Index, x: Any) -> None:
    """Add `x` to a part; a place that the index names twice is added to twice.

    Example:
        >>> import morphax as jax
        >>> import morphax.numpy as jnp
        >>> ref = jax.new_ref(jnp.zeros(3))
        >>> jax.ref.addupdate(ref, jnp.array([0, 0, 2]), jnp.ones(3))
        >>> ref
        Ref([2., 0., 1.], dtype=float32)
    """
    add_to(_checked("addupdate", ref), idx, x)


def _checked(operation: str, ref: Any, kind: Any = Ref | TransformedRef) -> Any:
    """The argument `ref`; `TypeError` if it is no reference of that kind."""
    if isinstance(ref, kind):
        return ref
    raise TypeError(
        message(
            f"{operation}, argument ref",
            given=described(ref),
            expected="a reference",
            fix="Make one with jax.new_ref.",
        )
    )
