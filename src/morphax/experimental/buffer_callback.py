"""`jax.experimental.buffer_callback`: Python functions that fill the memory of their results."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from enum import IntEnum
from typing import Any, final

import numpy as np

from .. import tree
from ..control.callbacks.pure_callback import check_callback, io_callback, pure_callback
from ..core import aval_of
from ..util.messages import described, message

__all__ = ["Buffer", "ExecutionContext", "ExecutionStage", "buffer_callback"]


@final
class ExecutionStage(IntEnum):
    """The stages of running a program, of which callbacks see the last."""

    INSTANTIATE = 0
    PREPARE = 1
    INITIALIZE = 2
    EXECUTE = 3


@final
class ExecutionContext:
    """What runs the program that calls the function: XLA on a CPU."""

    __slots__ = ()

    @property
    def stage(self) -> ExecutionStage:
        """The stage in which the function is called."""
        return ExecutionStage.EXECUTE

    @property
    def stream(self) -> int:
        """The stream of a GPU; a CPU has none.

        Raises:
            RuntimeError: always.
        """
        raise RuntimeError(
            message(
                "ExecutionContext.stream",
                given="a program that runs on a CPU",
                expected="one on a GPU",
                fix="Use numpy.asarray(buffer), which needs no stream.",
            )
        )


@final
class Buffer:
    """The memory of an argument or a result while the function runs.

    NumPy sees it by ``numpy.asarray(buffer)``, without a copy; other libraries by DLPack.
    """

    __slots__ = ("_host",)

    def __init__(self, host: np.ndarray[Any, Any]) -> None:
        self._host = host

    @property
    def shape(self) -> tuple[int, ...]:
        """The sizes of its axes."""
        return self._host.shape

    @property
    def dtype(self) -> np.dtype[Any]:
        """The dtype of its elements."""
        return self._host.dtype

    @property
    def ndim(self) -> int:
        """The number of its axes."""
        return self._host.ndim

    @property
    def writeable(self) -> bool:
        """Whether it is a result, which the function fills."""
        return self._host.flags.writeable

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
        if dtype is None or dtype == self._host.dtype:
            return self._host.copy() if copy else self._host
        return self._host.astype(dtype)

    def __dlpack__(self, **options: Any) -> Any:
        return self._host.__dlpack__(**options)

    def __dlpack_device__(self) -> Any:
        return self._host.__dlpack_device__()


def buffer_callback(
    callback: Callable[..., Any],
    result_shape_dtypes: Any,
    *,
    has_side_effect: bool = False,
    vmap_method: str | None = None,
    input_output_aliases: dict[int, int] | None = None,
    command_buffer_compatible: bool = False,
) -> Callable[..., Any]:
    """A function of arrays that Python computes, writing into the memory of the results.

    Args:
        callback: called as ``callback(context, out, *args, **kwargs)``, where `out` is a tree like
            `result_shape_dtypes` and the arguments are trees like those of the call, with `Buffer`s
            as leaves.  It fills those of `out`, and returns `None`.
        result_shape_dtypes: the shapes and dtypes of the results, as a tree of objects with the
            attributes `shape` and `dtype`.
        has_side_effect: call it exactly as often as the program says, used or not.
        vmap_method: what `vmap` makes of the call, as in `jax.pure_callback`; with side effects,
            members are called one by one.
        input_output_aliases: arguments whose numbers results begin with: number of the argument
            → number of the result, both among the leaves.
        command_buffer_compatible: accepted for compatibility, for it concerns GPUs.

    Returns:
        A function of arrays or trees of arrays.

    Raises:
        TypeError: `callback` is no function, or it returns something.
        ValueError: `input_output_aliases` names what does not exist or differs in shape or dtype.

    Example:
        >>> import numpy as np, morphax as jax, morphax.numpy as jnp
        >>> from morphax.experimental.buffer_callback import buffer_callback
        >>> def add_one(context, out, x):
        ...     np.add(x, 1, out=np.asarray(out))
        >>> x = jnp.arange(3)
        >>> jax.jit(buffer_callback(add_one, x))(x)
        Array([1, 2, 3], dtype=int32)
    """
    check_callback("buffer_callback", callback)
    aliases = dict(input_output_aliases or {})
    specs, out_tree = tree.flatten(result_shape_dtypes)

    def filled(*args: Any, **kwargs: Any) -> Any:
        leaves, in_tree = tree.flatten((args, kwargs))
        avals = [aval_of(x) for x in leaves]
        _check_aliases(aliases, avals, specs)

        def fill(*operands: Any) -> Any:
            hosts = [x.to_host() for x in operands]
            batch = _batch_shape(hosts, avals)
            outs = [np.zeros((*batch, *spec.shape), spec.dtype) for spec in specs]
            for source, target in aliases.items():
                outs[target][...] = hosts[source]
            given, named = in_tree.unflatten([Buffer(_read_only(x)) for x in hosts])
            out = out_tree.unflatten([Buffer(x) for x in outs])
            returned: Any = callback(ExecutionContext(), out, *given, **named)
            _check_returned(callback, returned)
            return out_tree.unflatten(outs)

        if has_side_effect:
            return io_callback(fill, result_shape_dtypes, *leaves)
        return pure_callback(fill, result_shape_dtypes, *leaves, vmap_method=vmap_method)

    return filled


def _batch_shape(hosts: Sequence[Any], avals: Sequence[Any]) -> tuple[int, ...]:
    """The axes in front that `vmap` has given to arguments: one call may do a whole batch."""
    extra = [x.shape[: x.ndim - aval.ndim] for x, aval in zip(hosts, avals, strict=True)]
    return np.broadcast_shapes(*extra)


def _read_only(x: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    view = x.view()
    view.flags.writeable = False
    return view


def _check_aliases(aliases: Mapping[int, int], avals: Sequence[Any], specs: Sequence[Any]) -> None:
    """Raise `ValueError` unless arguments and results that share numbers exist and are alike."""
    for source, target in aliases.items():
        given = f"{source}: {target}, for {len(avals)} arguments and {len(specs)} results"
        if 0 <= source < len(avals) and 0 <= target < len(specs):
            aval, spec = avals[source], specs[target]
            if (aval.shape, aval.dtype) == (tuple(spec.shape), np.dtype(spec.dtype)):
                continue
            given = f"{source}: {target}, that is {aval.str_short(short_dtypes=False)}: {spec}"
        raise ValueError(
            message(
                "buffer_callback, argument input_output_aliases",
                given=given,
                expected="number of an argument: number of a result of the same shape and dtype",
                fix="Count leaves from 0, and leave out what differs.",
            )
        )


def _check_returned(callback: object, returned: object) -> None:
    if returned is not None:
        raise TypeError(
            message(
                f"buffer_callback, result of {callback}",
                given=described(returned),
                expected="None: results are written into the buffers of `out`",
                fix="Write numpy.asarray(out)[...] = result.",
            )
        )
