"""Lowering rules that call foreign functions: `ffi.ffi_lowering`, for primitives of users."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ..core import AbstractToken, Layout
from ..engines.xla.custom_calls import TYPED_CALL
from ..engines.xla.mlir_context import bindings, dialect
from ..engines.xla.mlir_rules import flat_values, type_of
from ..engines.xla.rule_context import LoweringRuleContext
from ..util.messages import message
from .mlir_values import i32_attr, ir_attribute

FfiLayout = Layout | Sequence[int] | None
"""A `Layout`, the axes from minor to major, or `None` for row-major order."""


def build_ffi_lowering_function(
    call_target_name: str,
    *,
    operand_layouts: Sequence[FfiLayout] | None = None,
    result_layouts: Sequence[FfiLayout] | None = None,
    backend_config: Mapping[str, Any] | str | None = None,
    skip_ffi_layout_processing: bool = False,
    **lowering_args: Any,
) -> Callable[..., Any]:
    """A function that emits the call of a foreign function, for use in a lowering rule.

    It is called with the context of the rule, the MLIR values of the operands, and attributes by
    name, and returns the MLIR operation.

    Args:
        call_target_name: the name that the function is registered under.
        operand_layouts, result_layouts: for each array, its axes from the one with the smallest
            stride to that with the largest, as XLA counts them; row-major if left out.
        backend_config: attributes of MLIR by name, to which those of the call are added; a text for
            functions of interfaces before version 4.
        skip_ffi_layout_processing: leave layouts to the compiler.
        **lowering_args: `api_version`, `has_side_effect`, `result_types`, `extra_attributes`
            (further attributes of MLIR), and `operand_output_aliases` (number of an operand →
            number of the result that takes over its memory).

    Raises:
        ValueError: a text is given as `backend_config` where attributes are needed, or attributes
            where only a text can be given.
        TypeError: an argument is unknown, or an attribute of a kind that there is not.

    Example:
        >>> import morphax as jax
        >>> def rule(ctx, x):
        ...     return jax.ffi.build_ffi_lowering_function("f")(ctx, x).results
    """

    def emit(ctx: LoweringRuleContext, *args: Any, **params: Any) -> Any:
        options = dict(lowering_args)
        if not skip_ffi_layout_processing:
            options["operand_layouts"] = _orders(operand_layouts, ctx.avals_in)
            options["result_layouts"] = _orders(result_layouts, ctx.avals_out)
        options.setdefault("result_types", [type_of(aval) for aval in ctx.avals_out])
        version = options.setdefault("api_version", TYPED_CALL)
        config = _config(call_target_name, backend_config, params, version)
        return _custom_call(call_target_name, list(flat_values(args)), config, **options)

    return emit


def ffi_lowering(
    call_target_name: str,
    *,
    operand_layouts: Sequence[FfiLayout] | None = None,
    result_layouts: Sequence[FfiLayout] | None = None,
    backend_config: Mapping[str, Any] | str | None = None,
    skip_ffi_layout_processing: bool = False,
    **lowering_args: Any,
) -> Callable[..., Sequence[Any]]:
    """The lowering rule of a primitive that a foreign function computes.

    The parameters of the primitive are attributes of the call.  For the arguments see
    `build_ffi_lowering_function`.

    Example:
        >>> import morphax as jax
        >>> from morphax.extend.core import Primitive
        >>> from morphax.interpreters import mlir
        >>> scale_p = Primitive("scale")
        >>> mlir.register_lowering(scale_p, jax.ffi.ffi_lowering("scale"))
    """
    emit = build_ffi_lowering_function(
        call_target_name,
        operand_layouts=operand_layouts,
        result_layouts=result_layouts,
        backend_config=backend_config,
        skip_ffi_layout_processing=skip_ffi_layout_processing,
        **lowering_args,
    )

    def rule(ctx: LoweringRuleContext, *args: Any, **params: Any) -> Sequence[Any]:
        return list(emit(ctx, *args, **params).results)

    return rule


def _config(
    name: str, config: Mapping[str, Any] | str | None, params: Mapping[str, Any], version: int
) -> Any:
    """The attribute ``backend_config``: a dictionary for typed functions, else a text."""
    where = f"lowering of a call of {name!r}"
    if version < TYPED_CALL:
        if params or isinstance(config, Mapping):
            raise ValueError(
                message(
                    where,
                    given=f"attributes for api_version={version}",
                    expected="a text: older interfaces have no attributes",
                    fix="Pass a text as backend_config.",
                )
            )
        return ir_attribute(config or "")
    if isinstance(config, str):
        raise ValueError(
            message(
                f"{where}, argument backend_config",
                given=f"{config!r} for api_version={version}",
                expected="a dict: typed functions take attributes",
                fix="Pass attributes by name.",
            )
        )
    every = {**(config or {}), **params}
    return bindings().DictAttr.get({key: ir_attribute(value) for key, value in every.items()})


def _orders(layouts: Sequence[FfiLayout] | None, avals: Sequence[Any]) -> Any:
    """The attribute that says how arrays lie, each by its axes from minor to major."""
    if layouts is None:
        layouts = [None] * len(avals)
    if len(layouts) != len(avals):
        raise ValueError(
            message(
                "lowering of a call of a foreign function, layouts",
                given=f"{len(layouts)} layouts for {len(avals)} arrays",
                expected="one for each array",
                fix="Write None for an array in row-major order.",
            )
        )
    texts = [_order(*pair) for pair in zip(layouts, avals, strict=True)]
    return bindings().Attribute.parse(f"[{', '.join(texts)}]")


def _order(layout: FfiLayout, aval: Any) -> str:
    if layout is None:
        ndim = 0 if isinstance(aval, AbstractToken) else len(aval.shape)
        order = list(range(ndim))[::-1]
    elif isinstance(layout, Layout):
        order = list(layout.major_to_minor)[::-1]
    else:
        order = [int(axis) for axis in layout]
    return f"dense<{order or ''}> : tensor<{len(order)}xindex>"


def _custom_call(
    name: str,
    operands: Sequence[Any],
    config: Any,
    *,
    result_types: Sequence[Any],
    api_version: int,
    has_side_effect: bool = False,
    operand_output_aliases: Mapping[int, int] | None = None,
    operand_layouts: Any = None,
    result_layouts: Any = None,
    extra_attributes: Mapping[str, Any] | None = None,
) -> Any:
    """Emit the operation."""
    ir, hlo = bindings(), dialect("stablehlo")
    several = len(result_types) > 1
    aliases = [
        hlo.OutputOperandAlias.get([result] if several else [], operand, [])
        for operand, result in (operand_output_aliases or {}).items()
    ]
    layouts = {"operand_layouts": operand_layouts, "result_layouts": result_layouts}
    attributes = {
        "call_target_name": ir.StringAttr.get(name),
        "api_version": i32_attr(api_version),
        "has_side_effect": ir.BoolAttr.get(has_side_effect),
        "backend_config": config,
        "output_operand_aliases": ir.ArrayAttr.get(aliases),
        **{key: value for key, value in layouts.items() if value is not None},
        **(extra_attributes or {}),
    }
    return ir.Operation.create(
        "stablehlo.custom_call",
        results=list(result_types),
        operands=list(operands),
        attributes=attributes,
    )
