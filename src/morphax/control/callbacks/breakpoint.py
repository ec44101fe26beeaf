"""`debug.breakpoint`: a prompt in the middle of a compiled program.

The frames are those of the trace, so their Python variables are as they were then; variables that
are traced have the values of this run.  Variables that are not live any more, and those of
functions in this package, have none.
"""

from __future__ import annotations

import threading
from typing import Any

from ... import tree
from ...core import Operand
from ...util.messages import message
from .debugger import Debugger
from .flat_callback import FlatCallback
from .stack_frames import detached, user_frames
from .watch_primitives import debug_callback_p, debug_effect

# One prompt at a time, whichever thread a program runs on.
_prompt = threading.RLock()


def breakpoint(
    *,
    backend: str | None = None,
    filter_frames: bool = True,
    num_frames: int | None = None,
    ordered: bool = False,
    token: Any = None,
    **kwargs: Any,
) -> Any:
    r"""Stop the program here, with a prompt at which variables can be looked at.

    Commands: ``p`` and ``pp`` print an expression, ``l`` lists the source, ``bt`` shows the frames,
    ``u`` and ``d`` go up and down, ``c`` continues, ``q`` ends the program, ``?`` helps.

    Args:
        backend: ``"cli"``, the only kind of prompt.
        filter_frames: leave out the frames of this package.
        num_frames: how many frames are shown at most, from the innermost; each one keeps the traced
            values of its variables alive until the program gets here.
        ordered: stop in the order of the program.
        token: a value to be handed back.
        **kwargs: `stdin` and `stdout`, files to be used instead of the terminal.

    Returns:
        `token`.

    Raises:
        TypeError: another keyword argument.
        ValueError: another backend.

    Example:
        >>> import io, morphax as jax
        >>> @jax.jit
        ... def f(x):
        ...     y = 2.0 * x
        ...     jax.debug.breakpoint(stdin=io.StringIO("p y\nc\n"))
        ...     return y
        >>> _ = f(3.0)
        Entering jdb:
        (jdb) Array(6., dtype=float32)
        (jdb)
    """
    _check_options(backend, kwargs)
    frames = user_frames(all_frames=not filter_frames, limit=num_frames)
    traced, filled = detached(frames)

    def stop(*values: Operand) -> None:
        with _prompt:
            Debugger(filled(*values), **kwargs).run()

    debug_callback_p.bind(
        *traced,
        callback=FlatCallback(stop, tree.structure((tuple(traced), {}))),
        effect=debug_effect(ordered),
        partitioned=False,
    )
    return token


def _check_options(backend: str | None, kwargs: dict[str, Any]) -> None:
    if backend not in (None, "cli"):
        raise ValueError(
            message(
                "jax.debug.breakpoint, argument backend",
                given=repr(backend),
                expected="'cli', or None",
                fix="Leave it out.",
            )
        )
    unknown = sorted(set(kwargs) - {"stdin", "stdout"})
    if unknown:
        raise TypeError(
            message(
                "jax.debug.breakpoint",
                given=f"the keyword arguments {', '.join(unknown)}",
                expected="stdin and stdout, apart from those of the signature",
                fix="Remove them.",
            )
        )
