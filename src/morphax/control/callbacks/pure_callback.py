"""`pure_callback` and `io_callback`: let Python compute a part of a program."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ... import dtypes, tree
from ...core import ShapedArray, frames_hidden
from ...runtime.sharding import Sharding, SingleDeviceSharding
from ...transforms.flattening import argument_names, check_avals
from ...util.messages import described, message
from ..vmap_methods import check_vmap_method
from .callback_primitives import io_callback_p, pure_callback_p
from .flat_callback import FlatCallback


@frames_hidden
def pure_callback(
    callback: Callable[..., Any],
    result_shape_dtypes: Any,
    *args: Any,
    sharding: Sharding | None = None,
    vmap_method: str | None = None,
    **kwargs: Any,
) -> Any:
    """The result of a Python function without side effects, called while the program runs.

    It may be called more than once, or not at all if its result is not used.

    Args:
        callback: called with arrays in the structure of the arguments; returns arrays.
        result_shape_dtypes: the shapes and dtypes of its result, as a tree of objects with the
            attributes `shape` and `dtype`.
        *args: arrays or trees of arrays.
        sharding: a `SingleDeviceSharding`, if the function is to run for a certain device.
        vmap_method: what `vmap` makes of the call.  ``"sequential"`` and
            ``"sequential_unrolled"``: one call per member; the others: one call on whole batches,
            with the batch axis in front, where arguments that are not mapped get an axis of size 1
            (``"expand_dims"``), are repeated (``"broadcast_all"``) or stay as they are
            (``"legacy_vectorized"``).
        **kwargs: like `args`.

    Returns:
        Arrays in the structure of `result_shape_dtypes`.

    Raises:
        TypeError: an argument is no array; the result has another dtype.
        ValueError: `vmap_method` is unknown; the result has another shape; the call is
            differentiated.
        NotImplementedError: under `vmap`, if `vmap_method` is `None`.

    Example:
        >>> import numpy as np, morphax as jax
        >>> def sinc(x):
        ...     return jax.pure_callback(np.sinc, x, x, vmap_method="broadcast_all")
        >>> jax.jit(sinc)(0.5)
        Array(0.63661975, dtype=float32)
    """
    check_vmap_method("jax.pure_callback", vmap_method)
    operands, params, out_tree = _call(
        pure_callback_p.public_name, callback, result_shape_dtypes, args, kwargs, sharding
    )
    return out_tree.unflatten(pure_callback_p.bind(*operands, **params, vmap_method=vmap_method))


@frames_hidden
def io_callback(
    callback: Callable[..., Any],
    result_shape_dtypes: Any,
    *args: Any,
    sharding: Sharding | None = None,
    ordered: bool = False,
    **kwargs: Any,
) -> Any:
    """The result of a Python function with side effects, called while the program runs.

    It is called exactly as often as the program says, whether or not its result is used.

    Args:
        callback: called with arrays in the structure of the arguments; returns arrays.
        result_shape_dtypes: the shapes and dtypes of its result, as a tree of objects with the
            attributes `shape` and `dtype`; `None` if it returns nothing.
        *args: arrays or trees of arrays.
        sharding: a `SingleDeviceSharding`, if the function is to run for a certain device.
        ordered: make such calls in the order of the program.
        **kwargs: like `args`.

    Returns:
        Arrays in the structure of `result_shape_dtypes`.

    Raises:
        TypeError: an argument is no array; the result has another dtype.
        ValueError: the result has another shape; the call is differentiated; an ordered call is
            under `vmap`.

    Example:
        >>> import morphax as jax
        >>> from morphax.experimental import io_callback
        >>> log = []
        >>> @jax.jit
        ... def f(x):
        ...     io_callback(lambda v: log.append(float(v)), None, x, ordered=True)
        ...     return x
        >>> f(3.0), log
        (Array(3., dtype=float32, weak_type=True), [3.0])
    """
    operands, params, out_tree = _call(
        io_callback_p.public_name, callback, result_shape_dtypes, args, kwargs, sharding
    )
    return out_tree.unflatten(io_callback_p.bind(*operands, **params, ordered=bool(ordered)))


def _call(
    where: str,
    callback: Callable[..., Any],
    result_shape_dtypes: Any,
    args: Sequence[Any],
    kwargs: dict[str, Any],
    sharding: Sharding | None,
) -> tuple[list[Any], dict[str, Any], Any]:
    """Operands and params of the equation, and the structure of its results."""
    check_callback(where, callback)
    if sharding is not None and type(sharding) is not SingleDeviceSharding:
        raise NotImplementedError(
            message(
                f"{where}, argument sharding",
                given=described(sharding),
                expected="a SingleDeviceSharding, or None",
                fix="Leave it out, or name one device with jax.sharding.SingleDeviceSharding.",
            )
        )
    leaves, in_tree = tree.flatten((tuple(args), kwargs))
    check_avals(where, lambda: argument_names(callback, in_tree), leaves)
    specs, out_tree = tree.flatten_with_path(result_shape_dtypes)
    avals = tuple([_promised(where, tree.keystr(path), spec) for path, spec in specs])
    flat = FlatCallback(callback, in_tree, out_tree=out_tree)
    return leaves, {"callback": flat, "result_avals": avals, "sharding": sharding}, out_tree


def check_callback(where: str, callback: object) -> None:
    """Raise `TypeError` unless `callback` can be called."""
    if not callable(callback):
        raise TypeError(
            message(
                f"{where}, argument callback",
                given=described(callback),
                expected="a callable",
                fix="Pass the function first, then its arguments.",
            )
        )


def _promised(where: str, path: str, spec: Any) -> ShapedArray:
    """The aval that a leaf of `result_shape_dtypes` promises."""
    place = f"{where}, argument result_shape_dtypes{path}"
    try:
        shape, dtype = spec.shape, dtypes.dtype(spec.dtype)
    except AttributeError:
        raise TypeError(
            message(
                place,
                given=described(spec),
                expected="objects with a shape and a dtype",
                fix="Write jax.ShapeDtypeStruct(shape, dtype).",
            )
        ) from None
    if dtypes.canonicalize(dtype) != dtype:
        raise ValueError(
            message(
                place,
                given=f"{dtype}, while jax_enable_x64 is off",
                expected="a dtype of at most 32 bits (64 for complex numbers)",
                fix=f"Promise {dtypes.canonicalize(dtype)}, or enable jax_enable_x64.",
            )
        )
    return ShapedArray(shape, dtype)
