"""Calls back into Python from staged programs: `debug_callback`, `debug_print` and their primitive.

The call happens when the program runs, once for each member of a batch, and not at all in the
derivative: tangents pass it by.
"""

from __future__ import annotations

import string
from collections.abc import Callable, Mapping, Sequence
from typing import Any, final

from .. import tree
from ..array import Array
from ..core import (
    BatchAxes,
    CallbackEffect,
    Primitive,
    is_value,
    not_linear,
)
from ..core.effects import Effects
from ..engines.reference.eager import as_array
from ..engines.xla.callbacks import call_python
from ..engines.xla.stablehlo import Builder, Value
from ..lax.slicing import index_in_dim
from ..util.messages import message


@final
class DebugCallback(Primitive):
    """Call `callback` with the operands; it returns nothing.

    Params:
        callback: takes NumPy arrays.
        ordered: whether calls happen in the order of the program.
    """

    name = "debug_callback"
    multiple_results = True
    transpose = not_linear("it has no results")

    def printed_params(self, params: Mapping[str, Any]) -> dict[str, Any]:
        return {"ordered": params["ordered"]}

    def abstract_eval(self, *avals: Any, **_: Any) -> list[Any]:
        return []

    def effects(self, *, ordered: bool, **_: Any) -> Effects:
        return frozenset({CallbackEffect(ordered)})

    def execute(self, *operands: Array, callback: Callable[..., None], **_: Any) -> list[Any]:
        callback(*[x.to_host() for x in operands])
        return []

    def evaluate(self, *operands: Any, **params: Any) -> list[Any]:
        return self.execute(*map(as_array, operands), **params)

    def lower(
        self,
        b: Builder,
        outs: Any,
        *operands: Value,
        callback: Callable[..., None],
        ordered: bool,
    ) -> list[Value]:
        def call(*values: Any) -> Sequence[Any]:
            callback(*values)
            return ()

        return call_python(b, call, (), *operands, ordered=ordered)

    def jvp(
        self, primals: Sequence[Any], tangents: Sequence[Any], **params: Any
    ) -> tuple[list[Any], list[Any]]:
        self.bind(*primals, **params)
        return [], []

    def batch(
        self, axes: BatchAxes, operands: Sequence[Any], dims: Sequence[int | None], **params: Any
    ) -> tuple[list[Any], list[Any]]:
        for i in range(axes.size):
            member = [
                x if d is None else index_in_dim(x, i, d, keepdims=False)
                for x, d in zip(operands, dims, strict=True)
            ]
            self.bind(*member, **params)
        return [], []


debug_callback_p = DebugCallback()


def debug_callback(
    callback: Callable[..., Any],
    *args: Any,
    ordered: bool = False,
    partitioned: bool = False,
    **kwargs: Any,
) -> None:
    """Call a Python function with the values of arrays, while a staged program runs.

    Args:
        callback: called with NumPy arrays in the structure of the arguments; its result is
            ignored.
        *args, **kwargs: arrays or trees; other values are handed over as they are.
        ordered: make calls in the order of the program.
        partitioned: accepted for compatibility.

    Example:
        >>> import morphax as jax
        >>> @jax.jit
        ... def f(x):
        ...     jax.debug.callback(lambda v: print("x is", v), x)
        ...     return x
        >>> _ = f(3)
        x is 3
    """
    if not callable(callback):
        raise TypeError(
            message(
                "jax.debug.callback, argument callback",
                given=f"{callback!r:.80} of type {type(callback).__name__}",
                expected="a callable",
                fix="Pass the function first, then its arguments.",
            )
        )
    leaves, structure = tree.flatten((args, kwargs))
    traced = [is_value(x) for x in leaves]

    def call(*values: Any) -> None:
        given = iter(values)
        full = [next(given) if on else x for x, on in zip(leaves, traced, strict=True)]
        given_args, given_kwargs = structure.unflatten(full)
        callback(*given_args, **given_kwargs)

    operands = [x for x, on in zip(leaves, traced, strict=True) if on]
    debug_callback_p.bind(*operands, callback=call, ordered=bool(ordered))


def debug_print(
    fmt: str, *args: Any, ordered: bool = False, partitioned: bool = False, **kwargs: Any
) -> None:
    """Print values while a staged program runs, with the format language of `str.format`.

    Args:
        fmt: format, such as ``"loss {} after {step} steps"``.
        *args, **kwargs: arrays, trees, or other values, for the places of `fmt`.
        ordered: print in the order of the program.
        partitioned: accepted for compatibility.

    Raises:
        TypeError: `fmt` is not a string.
        ValueError: the places of `fmt` and the arguments do not fit.

    Example:
        >>> import morphax as jax
        >>> @jax.jit
        ... def f(x):
        ...     jax.debug.print("x = {}", x)
        ...     return x
        >>> _ = f(3)
        x = 3
    """
    _check_format(fmt, args, kwargs)
    debug_callback(
        lambda *a, **k: print(fmt.format(*a, **k), flush=True), *args, ordered=ordered, **kwargs
    )


def _check_format(fmt: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> None:
    if not isinstance(fmt, str):
        raise TypeError(
            message(
                "jax.debug.print, argument fmt",
                given=f"a {type(fmt).__name__}",
                expected="a format string",
                fix='Write jax.debug.print("{}", x).',
            )
        )
    try:
        used = _UsedFields()
        used.vformat(fmt, args, kwargs)
        unused = sorted((set(range(len(args))) | set(kwargs)) - used.seen, key=str)
        problem = f"arguments that no place uses: {unused}" if unused else ""
    except (IndexError, KeyError, ValueError) as error:
        problem = f"{type(error).__name__}: {error}"
    if problem:
        raise ValueError(
            message(
                "jax.debug.print",
                given=f"{fmt!r} with {len(args)} arguments and {sorted(kwargs)}; {problem}",
                expected="one argument for each place of the format",
                fix='Write "{}" or "{name}" for each argument; f-strings print tracers.',
            )
        )


class _UsedFields(string.Formatter):
    """Records which arguments a format uses, without formatting them."""

    def __init__(self) -> None:
        self.seen: set[int | str] = set()

    def get_value(self, key: int | str, args: Any, kwargs: Any) -> Any:
        value = super().get_value(key, args, kwargs)
        self.seen.add(key)
        return value

    def get_field(self, field_name: str, args: Any, kwargs: Any) -> Any:
        first = field_name.split(".")[0].split("[")[0]
        key = int(first) if first.isdigit() else first
        return self.get_value(key, args, kwargs), key

    def format_field(self, value: Any, format_spec: str) -> str:
        return ""

    def convert_field(self, value: Any, conversion: Any) -> Any:
        return value
