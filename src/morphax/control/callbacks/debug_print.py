"""`debug.print` and `debug.log`: show values while a program runs."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ...util.frames import user_frame
from .debug_callback import check_options_only
from .flat_callback import split_leaves
from .format_check import check_format, has_placeholders
from .watch_primitives import debug_print_p, logger


def debug_print(
    fmt: str | None = None,
    *args: Any,
    ordered: bool = False,
    partitioned: bool = False,
    skip_format_check: bool = False,
    **kwargs: Any,
) -> Any:
    """Print values while a program runs, with the format language of `str.format`.

    The line is printed as often as it runs: also under `grad`, and for each member under `vmap`.

    Args:
        fmt: format, such as ``"loss {} after {step} steps"``.
        *args: arrays, trees of them, or other values, for the places of `fmt`.
        ordered: print in the order of the program.
        partitioned: print for each device its own part of the operands; on one device, that is the
            whole.
        skip_format_check: do not compare `fmt` with the arguments here, but when the line is
            printed.
        **kwargs: like `args`.

    Returns:
        Nothing; without `fmt`, a function of `fmt` and its arguments, which may then have names
        like those of the options.

    Raises:
        TypeError: `fmt` is no string.
        IndexError: `fmt` has a place without an argument.
        KeyError: the same, for a place with a name.
        ValueError: `fmt` is malformed or does not use an argument.

    Example:
        >>> import morphax as jax
        >>> @jax.jit
        ... def f(x):
        ...     jax.debug.print("x = {:.2f}", x)
        ...     return x
        >>> _ = f(3.0)
        x = 3.00
    """

    def show(fmt: str, /, *args: Any, **kwargs: Any) -> None:
        if not skip_format_check:
            check_format("jax.debug.print", fmt, args, kwargs)
        _bind(fmt, args, kwargs, ordered, partitioned)

    if fmt is None:
        check_options_only("jax.debug.print", "fmt", args, kwargs)
        return show
    return show(fmt, *args, **kwargs)


def debug_log(
    fmt: str | None = None,
    *args: Any,
    ordered: bool = False,
    partitioned: bool = False,
    skip_format_check: bool = False,
    **kwargs: Any,
) -> Any:
    """Log values while a program runs, as information of the logger ``morphax.debug``.

    The record tells the user's line.  Arguments and exceptions are those of `jax.debug.print`.

    Example:
        >>> import logging, sys, morphax as jax
        >>> logger = logging.getLogger("morphax.debug")
        >>> handler = logging.StreamHandler(sys.stdout)
        >>> logger.addHandler(handler), logger.setLevel(logging.INFO)
        (None, None)
        >>> jax.debug.log("x = {}", 3)
        x = 3
        >>> logger.removeHandler(handler), logger.setLevel(logging.NOTSET)
        (None, None)
    """

    def log(fmt: str, /, *args: Any, **kwargs: Any) -> None:
        if not skip_format_check:
            check_format("jax.debug.log", fmt, args, kwargs)
        _bind(fmt, args, kwargs, ordered, partitioned, _record())

    if fmt is None:
        check_options_only("jax.debug.log", "fmt", args, kwargs)
        return log
    return log(fmt, *args, **kwargs)


def _bind(
    fmt: str,
    args: Sequence[Any],
    kwargs: Mapping[str, Any],
    ordered: bool,
    partitioned: bool,
    record: logging.LogRecord | None = None,
) -> None:
    operands, static, in_tree = split_leaves(args, kwargs)
    debug_print_p.bind(
        *operands,
        fmt=fmt,
        ordered=bool(ordered),
        partitioned=bool(partitioned),
        in_tree=in_tree,
        static_args=static,
        np_printoptions=tuple(np.get_printoptions().items()),
        has_placeholders=has_placeholders(fmt),
        logging_record=record,
    )


def _record() -> logging.LogRecord:
    """A record of the user's line, without text."""
    frame = user_frame()
    file, line = (frame.file, frame.line) if frame is not None else ("<unknown>", 0)
    return logger.makeRecord(logger.name, logging.INFO, file, line, "", (), None)
