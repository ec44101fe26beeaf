"""Python functions that compiled programs call.

XLA calls a function by its index in the list given at compilation; it gets read-only views and must
return a tuple.  It runs on whichever thread XLA computes on, outside all transformations, with the
64-bit mode of the program, and computes on the host (another device is busy with the program that
waits for the call).

What a function raises is kept for whoever waits for the program (`runtime.callback_exceptions`).
Machine code calls on the thread that runs it, and what is raised ends the run.

Reference: docs/design/effects.md.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, final

import numpy as np

from ..config import current as current_config
from ..config import override
from ..core import outside_transformations
from ..runtime.callback_exceptions import keep_exception
from ..runtime.devices import host_device, host_is_default
from ..runtime.opaque import opaque_of, words_of
from ..util.messages import message
from . import loops
from .xla.literals import held_as_key_data
from .xla.stablehlo import Builder, Value

_TARGETS = {
    "cpu": "xla_ffi_python_cpu_callback",
    "cuda": "xla_ffi_python_gpu_callback",
    "rocm": "xla_ffi_python_gpu_callback",
}


def call_python(
    b: Builder,
    function: Callable[..., Sequence[np.ndarray[Any, Any]]],
    outs: Sequence[Any],
    *operands: Value,
    ordered: bool = False,
    has_side_effect: bool = True,
) -> list[Value]:
    """Write a call of `function`: NumPy arrays in, NumPy arrays of the avals `outs` out.

    Args:
        b: of the block that calls.
        function: may not keep its operands, whose memory is XLA's.
        outs: avals of the results.
        *operands: of the call.
        ordered: whether it happens in the order of the program.
        has_side_effect: whether it happens even if no result is used.
    """
    platform = b.module.platform
    if platform not in _TARGETS:
        raise NotImplementedError(
            message(
                f"compiling a callback into Python for {platform}",
                given="a program that calls Python, such as jax.debug.print",
                expected=f"one of the platforms {', '.join(_TARGETS)}",
                fix="Remove the callback, or put the arguments on the CPU.",
            )
        )
    avals = [v.aval for v in operands]
    if any(map(held_as_key_data, [*avals, *outs])):
        function = _on_keys(function, avals, outs)
    attributes = _on_one_device(b, ordered)
    index = len(b.module.callbacks)
    b.module.callbacks.append(_Call(function, len(operands), ordered))
    results = b.ops(
        "stablehlo.custom_call",
        outs,
        *operands,
        takes_token=ordered,
        gives_token=ordered,
        call_target_name=f'"{_TARGETS[platform]}"',
        api_version="4 : i32",
        has_side_effect="true" if has_side_effect else "false",
        backend_config=f"{{index = {index} : ui64}}",
        **attributes,
    )
    return [_on_all_devices(b, out, x) for out, x in zip(outs, results, strict=True)]


def call_python_in_loops(
    b: loops.Builder,
    function: Callable[..., Sequence[np.ndarray[Any, Any]]],
    outs: Sequence[Any],
    *operands: loops.Value,
) -> list[loops.Value]:
    """Write the same into a loop program, whose calls are all made, in the order of the program."""
    return loops.calls.called(b, outs, operands, _Call(function, len(operands), False).run)


def _on_all_devices(b: Builder, out: Any, x: Value) -> Value:
    """A result of a call by one device, whole on each: else the others have garbage for it."""
    if b.module.num_devices == 1 or b.axes is not None or held_as_key_data(out):
        return x
    mesh = b.module.mesh_name(f'<["all"={b.module.num_devices}]>')
    text = f"#sdy.sharding<@{mesh}, [{', '.join(['{}'] * len(out.shape))}]>"
    return b.op("sdy.sharding_constraint", out, x, sharding=text)


def _on_one_device(b: Builder, ordered: bool) -> dict[str, str]:
    """What makes the first device of a program on several call for all, on the whole operands.

    The members of a program call each for itself.
    """
    if b.module.num_devices == 1:
        return {}
    if ordered:
        raise ValueError(
            message(
                "compiling a callback whose calls are ordered",
                given=f"a program that runs on {b.module.num_devices} devices",
                expected="a program on one device: several keep no common order",
                fix="Pass ordered=False, or move the arguments to one device with jax.device_put.",
            )
        )
    if b.axes is not None:
        return {}
    mesh = b.module.mesh_name("<[], device_ids=[0]>")
    return {"sdy.sharding": f"#sdy.sharding_per_value<[<@{mesh}, []>]>"}


def _on_keys(
    function: Callable[..., Sequence[Any]], avals: Sequence[Any], outs: Sequence[Any]
) -> Callable[..., Sequence[Any]]:
    """`function` of rows of words, where it takes and gives keys."""

    def on_words(*operands: Any) -> list[Any]:
        keys = [
            opaque_of(x, aval.dtype) if held_as_key_data(aval) else x
            for x, aval in zip(operands, avals, strict=True)
        ]
        results = zip(function(*keys), outs, strict=True)
        return [words_of(x) if held_as_key_data(aval) else x for x, aval in results]

    return on_words


@final
class _Call:
    """`function` as XLA calls it: with a token behind the operands and results if `ordered`."""

    __slots__ = ("_function", "_num_operands", "_tokens", "_x64")

    def __init__(
        self, function: Callable[..., Sequence[Any]], num_operands: int, ordered: bool
    ) -> None:
        self._function = function
        self._num_operands = num_operands
        self._tokens = (None,) if ordered else ()
        self._x64 = current_config().enable_x64

    def __call__(self, *operands: Any) -> tuple[Any, ...]:
        try:
            return (*self.run(*operands[: self._num_operands]), *self._tokens)
        except BaseException as error:
            raise RuntimeError(keep_exception(error)) from None

    def run(self, *operands: Any) -> Sequence[Any]:
        """The results, without tokens."""
        with outside_transformations(), override(**self._settings()):
            return self._function(*operands)

    def _settings(self) -> dict[str, Any]:
        """Options that differ from those of the thread, for programs traced anew differ by them."""
        settings: dict[str, Any] = {}
        if current_config().enable_x64 is not self._x64:
            settings["enable_x64"] = self._x64
        if not host_is_default():
            settings["default_device"] = host_device()
        return settings
