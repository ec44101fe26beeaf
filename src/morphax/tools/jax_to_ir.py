"""`jax.tools.jax_to_ir`: functions as programs of XLA, for tools that are not Python."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from ..control.jit.jit import jit
from ..core import ShapedArray, ShapeDtypeStruct
from ..dtypes import bfloat16
from ..engines.xla.inspection import xla_computation
from ..util.messages import message

__all__ = ["jax_to_hlo", "jax_to_ir", "parse_shape_str"]

Shapes = Sequence[tuple[str, ShapedArray]]

# As XLA names them.
_DTYPES = {
    "pred": np.dtype(bool),
    **{f"s{bits}": np.dtype(f"int{bits}") for bits in (8, 16, 32, 64)},
    **{f"u{bits}": np.dtype(f"uint{bits}") for bits in (8, 16, 32, 64)},
    "bf16": np.dtype(bfloat16),
    **{f"f{bits}": np.dtype(f"float{bits}") for bits in (16, 32, 64)},
    **{f"c{bits}": np.dtype(f"complex{bits}") for bits in (64, 128)},
}
_SHAPE = re.compile(r"\s*(\w+)\[\s*((?:\d+\s*(?:,\s*\d+\s*)*)?)\]\s*")


def parse_shape_str(s: str) -> ShapedArray:
    """The shape and dtype that a text such as ``f32[8,128]`` names.

    Args:
        s: a type as XLA names it, then the sizes of the axes in brackets.

    Raises:
        ValueError: if it is no such text.

    Example:
        >>> from morphax.tools.jax_to_ir import parse_shape_str
        >>> parse_shape_str("f32[8,128]")
        ShapedArray(float32[8,128])
    """
    found = _SHAPE.fullmatch(s)
    if found is None or found[1] not in _DTYPES:
        raise ValueError(
            message(
                "jax_to_ir.parse_shape_str, argument s",
                given=repr(s),
                expected=f"one of {', '.join(_DTYPES)}, then sizes, as in f32[8,128]",
                fix="A scalar has no sizes, but has brackets: f32[].",
            )
        )
    sizes = [int(n) for n in found[2].split(",") if n.strip()]
    return ShapedArray(sizes, _DTYPES[found[1]])


def jax_to_ir(
    fn: Callable[..., Any],
    input_shapes: Shapes,
    *,
    constants: Mapping[str, Any] | None = None,
    format: str,
) -> tuple[bytes, str]:
    """A function as a program of XLA: for the compiler, and for people.

    Args:
        fn: takes its arguments by name.
        input_shapes: pairs of the name of an argument and its aval; the program takes its
            parameters in this order.
        constants: the values of the other arguments, by name.
        format: ``"HLO"``.

    Returns:
        The serialized ``HloModuleProto``, and the text of the program.

    Raises:
        ValueError: if an argument is given twice, or there is no such format.

    Example:
        >>> from morphax.tools.jax_to_ir import jax_to_ir, parse_shape_str
        >>> shapes = [("x", parse_shape_str("f32[2]"))]
        >>> proto, text = jax_to_ir(lambda x, n: x * n, shapes, constants={"n": 3}, format="HLO")
        >>> "multiply" in text
        True
    """
    where = "jax_to_ir.jax_to_ir"
    names, fixed = [name for name, _ in input_shapes], dict(constants or {})
    twice = {name for name in names if name in fixed or names.count(name) > 1}
    if twice:
        raise ValueError(
            message(
                f"{where}, arguments input_shapes and constants",
                given=f"{', '.join(sorted(twice))} more than once",
                expected="each argument of the function once",
                fix="Give an argument a shape or a value.",
            )
        )
    if format != "HLO":
        raise ValueError(
            message(
                f"{where}, argument format",
                given=repr(format),
                expected="'HLO'",
                fix="For other programs, lower the function: jax.jit(fn).lower(...).as_text().",
            )
        )

    def ordered(*values: Any) -> Any:
        return fn(**fixed, **dict(zip(names, values, strict=True)))

    structs = [ShapeDtypeStruct(aval.shape, aval.dtype) for _, aval in input_shapes]
    text = jit(ordered, keep_unused=True).lower(*structs).as_text()
    computation = xla_computation(text)
    return computation.as_serialized_hlo_module_proto(), computation.as_hlo_text()


def jax_to_hlo(
    fn: Callable[..., Any],
    input_shapes: Shapes,
    *,
    constants: Mapping[str, Any] | None = None,
    format: str = "HLO",
) -> tuple[bytes, str]:
    """`jax_to_ir` for the format ``"HLO"``."""
    return jax_to_ir(fn, input_shapes, constants=constants, format=format)
