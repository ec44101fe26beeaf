"""Calls of functions that XLA knows by name: of LAPACK, and those that users register."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from ...core import ShapedArray
from ...core.dims import is_static
from .literals import string_text
from .stablehlo import Builder, Value

TYPED_CALL: Final = 4
"""The version of StableHLO's custom calls whose functions are typed and take attributes."""


def custom_call(
    b: Builder,
    target: str,
    outs: Sequence[Any],
    *operands: Value,
    layouts: Iterable[Sequence[int]],
    config: str,
    aliases: Mapping[int, int] | None = None,
    api_version: int = TYPED_CALL,
    has_side_effect: bool = False,
) -> list[Value]:
    """Write a call.

    Args:
        b: of the block that calls.
        target: the name of the function.
        outs: avals of the results.
        *operands: of the call.
        layouts: of operands, then of results: their axes from minor to major.
        config: the attributes that the function takes, as MLIR text.
        aliases: result number → number of the operand that is overwritten with it.
        api_version: of the interface that the function has.
        has_side_effect: whether it is called even if no result is used.
    """
    inputs, orders = list(operands), list(layouts)
    attributes: dict[str, Any] = {}
    if not all([is_static(out.shape) for out in outs if isinstance(out, ShapedArray)]):
        # The compiler takes them away again when it knows the sizes.
        shapes = [b.sizes(out.shape) for out in outs]
        orders[len(inputs) : len(inputs)] = [(0,)] * len(shapes)
        numbers = range(len(inputs), len(inputs) + len(shapes))
        attributes["indices_of_shape_operands"] = (
            f"dense<{list(numbers)}> : tensor<{len(shapes)}xi64>"
        )
        inputs += shapes
    texts = [f"dense<{list(o) if o else ''}> : tensor<{len(o)}xindex>" for o in orders]
    overwritten = [_alias(*pair, several=len(outs) > 1) for pair in (aliases or {}).items()]
    return b.ops(
        "stablehlo.custom_call",
        outs,
        *inputs,
        call_target_name=string_text(target),
        api_version=f"{api_version} : i32",
        has_side_effect="true" if has_side_effect else "false",
        backend_config=config,
        operand_layouts=f"[{', '.join(texts[: len(inputs)])}]",
        result_layouts=f"[{', '.join(texts[len(inputs) :])}]",
        output_operand_aliases=f"[{', '.join(overwritten)}]",
        **attributes,
    )


def _alias(out: int, operand: int, *, several: bool) -> str:
    """MLIR text; a single result is no tuple."""
    return (
        "#stablehlo.output_operand_alias<"
        f"output_tuple_indices = [{out if several else ''}], "
        f"operand_index = {operand}, operand_tuple_indices = []>"
    )
