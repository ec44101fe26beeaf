"""The primitives that show values while a program runs: `debug_callback` and `debug_print`.

They have operands and no results.  A call happens for each member of a batch; a derivative passes
it by, with the call where the primal program has it.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from typing import Any, final

import numpy as np

from ...array import Array
from ...core import (
    BatchAxes,
    DebugEffect,
    Effects,
    NoResults,
    Operand,
    OrderedDebugEffect,
    Param,
    outside_transformations,
)
from ...lax.shape.slicing import index_in_dim
from ...tree import PyTreeDef
from .flat_callback import StaticLeaves, joined_leaves, owned
from .host_calls import CallsHost, HostFunction

logger = logging.getLogger("morphax.debug")


class Watches(NoResults, CallsHost):
    """Hands the operands to a function in Python, which `watcher` gives."""

    def watcher(self, **params: Param) -> Callable[..., Any]:
        """The function of arrays that is to be called."""
        raise TypeError(f"{type(self).__name__} is abstract")

    def execute(self, *operands: Array, **params: Param) -> list[Any]:
        with outside_transformations():
            self.watcher(**params)(*operands)
        return []

    def on_host(self, avals: Sequence[Any], **params: Param) -> HostFunction:
        watcher = self.watcher(**params)

        def call(*values: np.ndarray[Any, Any]) -> tuple[()]:
            watcher(*owned(values, avals))
            return ()

        return call

    def batch(
        self,
        axes: BatchAxes,
        operands: Sequence[Operand],
        dims: Sequence[int | None],
        **params: Param,
    ) -> tuple[list[Any], list[Any]]:
        for i in range(axes.size):
            member = [
                x if d is None else index_in_dim(x, i, d, keepdims=False)
                for x, d in zip(operands, dims, strict=True)
            ]
            self.bind(*member, **params)
        return [], []


def debug_effect(ordered: bool) -> DebugEffect | OrderedDebugEffect:
    """The effect of showing something, in program order or not."""
    return OrderedDebugEffect() if ordered else DebugEffect()


@final
class DebugCallback(Watches):
    """Call a function of the user.

    Params:
        callback: a `FlatCallback`.
        effect: a debug effect.
        partitioned: kept for the text of the program.
    """

    name = "debug_callback"

    def effects(self, *, effect: Any, **_: Param) -> Effects:
        return frozenset({effect})

    def watcher(self, *, callback: Callable[..., Any], **_: Param) -> Callable[..., Any]:
        return callback


@final
class DebugPrint(Watches):
    """Print a line, or log it.

    Params:
        fmt: text for `str.format`.
        in_tree, static_args: structure of its arguments, and those that are not arrays.
        has_placeholders: whether `fmt` is to be formatted at all.
        np_printoptions: NumPy's options, as they were where the user asked for the line.
        logging_record: a record without its text, if the line is to be logged.
        ordered: whether lines come in program order.
        partitioned: kept for the text of the program.
    """

    name = "debug_print"

    def effects(self, *, ordered: bool, **_: Param) -> Effects:
        return frozenset({debug_effect(ordered)})

    def watcher(
        self,
        *,
        fmt: str,
        in_tree: PyTreeDef,
        static_args: StaticLeaves,
        has_placeholders: bool,
        np_printoptions: tuple[tuple[str, Any], ...],
        logging_record: logging.LogRecord | None,
        **_: Param,
    ) -> Callable[..., Any]:
        def show(*operands: Operand) -> None:
            args, kwargs = joined_leaves(in_tree, static_args, operands)
            with np.printoptions(**dict(np_printoptions)):
                text = fmt.format(*args, **kwargs) if has_placeholders else fmt
            if logging_record is None:
                print(text, flush=True)
            else:
                _log(logging_record, text)

        return show


def _log(record: logging.LogRecord, text: str) -> None:
    if logger.isEnabledFor(record.levelno):
        # The time is that of the call, the place that of the user's line.
        said = logger.makeRecord(
            record.name, record.levelno, record.pathname, record.lineno, text, (), None
        )
        logger.handle(said)


debug_callback_p = DebugCallback()
debug_print_p = DebugPrint()
