"""Python functions that compiled programs call.

XLA calls a function by its index in the list given at compilation; it gets read-only views and must
return a tuple.  What Python raises inside is kept and raised again by whoever waits for the
program, for XLA itself passes on only its text.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import numpy as np

from ...core import abstract_token
from .stablehlo import Builder, Value, physical_dtype


def call_python(
    b: Builder,
    function: Callable[..., Sequence[Any]],
    outs: Sequence[Any],
    *operands: Value,
    ordered: bool = False,
) -> list[Value]:
    """Write a call of `function`: NumPy arrays in, a sequence of NumPy arrays out.

    An ordered call takes what the previous one gave, a token, as a further operand, and gives one.
    """
    index = len(b.module.callbacks)
    waits_for = [b.latest] if ordered and b.latest is not None else []
    gives = [abstract_token] if ordered else []
    b.module.callbacks.append(_checked(function, len(operands), outs, gives))
    results = b.ops(
        "stablehlo.custom_call",
        [*outs, *gives],
        *operands,
        *waits_for,
        call_target_name='"xla_ffi_python_cpu_callback"',
        api_version="4 : i32",
        has_side_effect="true",
        backend_config=f"{{index = {index} : ui64}}",
    )
    if ordered:
        b.latest = results.pop()
    return results


def _checked(
    function: Callable[..., Sequence[Any]],
    num_operands: int,
    outs: Sequence[Any],
    tokens: Sequence[Any],
) -> Callable[..., Any]:
    """`function`, its operands owned and its results of the promised shapes and dtypes."""

    def call(*operands: Any) -> tuple[Any, ...]:
        try:
            results = function(*[np.array(x) for x in operands[:num_operands]])
            owned = [
                np.ascontiguousarray(
                    np.broadcast_to(np.asarray(r, physical_dtype(aval.dtype)), aval.shape)
                )
                for r, aval in zip(results, outs, strict=True)
            ]
            return (*owned, *[None for _ in tokens])
        except BaseException as error:
            raised.append(error)
            raise

    return call


# What callbacks raised since somebody looked last.
raised: list[BaseException] = []


@cache
def _context() -> Any:
    """An MLIR context that knows the dialects of our modules."""
    from jaxlib.mlir import ir
    from jaxlib.mlir._mlir_libs import _jax_mlir_ext
    from jaxlib.mlir.dialects import chlo, stablehlo

    context = ir.Context()
    registry = ir.DialectRegistry()
    _jax_mlir_ext.register_dialects(registry)
    context.append_dialect_registry(registry)
    context.load_all_available_dialects()
    stablehlo.register_dialect(context)
    chlo.register_dialect(context)
    return context


def parsed(text: str) -> Any:
    """A module object, the only form of a program that jaxlib takes with callbacks."""
    from jaxlib.mlir import ir

    with _context():
        return ir.Module.parse(text)
