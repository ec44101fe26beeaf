"""`debug.callback`: call a function of the user while a program runs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...util.messages import message
from .flat_callback import FlatCallback, split_leaves
from .pure_callback import check_callback
from .watch_primitives import debug_callback_p, debug_effect


def debug_callback(
    callback: Callable[..., None] | None = None,
    *args: Any,
    ordered: bool = False,
    partitioned: bool = False,
    **kwargs: Any,
) -> Any:
    """Call a Python function with the values of arrays, while a program runs.

    The call happens as often as the line runs: also under `grad`, and for each member under `vmap`.

    Args:
        callback: called with arrays in the structure of the arguments; its result is ignored.
        *args: arrays, trees of them, or other values, which are handed over as they are.
        ordered: make calls in the order of the program.
        partitioned: call for each device with its own part of the operands; on one device, that is
            the whole.
        **kwargs: like `args`.

    Returns:
        Nothing; without `callback`, a function of `callback` and its arguments, which may then have
        names like those of the options.

    Raises:
        TypeError: `callback` cannot be called.

    Example:
        >>> import morphax as jax
        >>> @jax.jit
        ... def f(x):
        ...     jax.debug.callback(lambda v: print("x is", v), x)
        ...     return x
        >>> _ = f(3)
        x is 3
    """

    def call(callback: Callable[..., Any], /, *args: Any, **kwargs: Any) -> None:
        check_callback("jax.debug.callback", callback)
        operands, static, in_tree = split_leaves(args, kwargs)
        debug_callback_p.bind(
            *operands,
            callback=FlatCallback(callback, in_tree, static),
            effect=debug_effect(ordered),
            partitioned=bool(partitioned),
        )

    if callback is None:
        check_options_only("jax.debug.callback", "callback", args, kwargs)
        return call
    return call(callback, *args, **kwargs)


def check_options_only(where: str, first: str, args: Any, kwargs: Any) -> None:
    """Raise `TypeError` if a call without its first argument has others than the options."""
    if args or kwargs:
        raise TypeError(
            message(
                where,
                given=f"no {first}, but {len(args)} arguments and {sorted(kwargs)}",
                expected=f"{first} and its arguments, or options alone",
                fix=f"Write {where}(ordered=...)({first}, ...), or pass {first} first.",
            )
        )
