"""Whole programs as MLIR: a jaxpr as a function, as a module; two modules as one."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from math import inf
from typing import Any, NamedTuple, final

from ..core import Effect, Jaxpr, abstract_token, constants_as_arguments, without_references
from ..engines.xla.mlir_context import bindings, dialect, parsed
from ..engines.xla.mlir_parameters import LoweringParameters
from ..engines.xla.mlir_rules import call_text, signature, unused_name
from ..engines.xla.mlir_tokens import TokenSet, joined, ordered
from ..engines.xla.rule_context import ModuleContext
from ..engines.xla.stablehlo import Module, function
from ..util.messages import message


def call_jaxpr_of(
    ctx: ModuleContext, name: str, jaxpr: Jaxpr, operands: Sequence[Any], tokens: TokenSet
) -> tuple[list[Any], TokenSet]:
    """Call `jaxpr` from within a rule: its results, and the tokens after it."""
    effects = ordered(jaxpr.effects)
    where = f"lowering of the program {name}, tokens"
    token = joined(tokens, effects, where) if effects else None
    outs = call_text(
        ctx,
        name,
        (jaxpr.in_avals, jaxpr.out_avals),
        operands,
        lambda builder, *values: builder.inline(jaxpr, *values),
        token,
    )
    if token is None:
        return outs, tokens
    after = dict.fromkeys(effects, outs.pop())
    return outs, tokens.update_tokens(TokenSet(after))


def lower_jaxpr_to_fun(
    ctx: ModuleContext,
    name: str,
    jaxpr: Jaxpr,
    effects: Sequence[Effect],
    *,
    num_const_args: int,
    main_function: bool = False,
    replicated_args: Sequence[bool] | None = None,
    in_avals: Sequence[Any],
    arg_shardings: Sequence[Any] | None = None,
    result_shardings: Sequence[Any] | None = None,
    use_sharding_annotations: bool = True,
    input_output_aliases: Sequence[int | None] | None = None,
    xla_donated_args: Sequence[bool] | None = None,
    arg_names: Sequence[str] | None = None,
    result_names: Sequence[str] | None = None,
    arg_memory_kinds: Sequence[str | None] | None = None,
    result_memory_kinds: Sequence[str | None] | None = None,
    arg_layouts: Sequence[Any] | None = None,
    result_layouts: Sequence[Any] | None = None,
    propagated_out_mem_kinds: Any = None,
) -> Any:
    """A function of MLIR that computes `jaxpr`, in the module of a rule.

    Args:
        ctx: the module.
        name: of the function, changed if there is one of that name.
        jaxpr: the program.
        effects: the ordered ones; the first arguments and results of the function are their tokens.
        num_const_args: how many of the operands are the constants of the program: all, or 0 if
            the function holds them.
        main_function: whether it is seen from outside the module.
        in_avals: of the operands.
        arg_shardings, result_shardings, input_output_aliases, xla_donated_args, arg_memory_kinds,
            result_memory_kinds, arg_layouts, result_layouts: must say nothing, for a function
            inside a program has no say in where operands and results are.
        replicated_args, use_sharding_annotations, propagated_out_mem_kinds, arg_names,
            result_names: accepted for compatibility.

    Returns:
        The operation `func.func`.
    """
    _refuse_placement(
        "mlir.lower_jaxpr_to_fun",
        arg_shardings=arg_shardings,
        result_shardings=result_shardings,
        input_output_aliases=input_output_aliases,
        xla_donated_args=xla_donated_args,
        arg_memory_kinds=arg_memory_kinds,
        result_memory_kinds=result_memory_kinds,
        arg_layouts=arg_layouts,
        result_layouts=result_layouts,
    )
    program = constants_as_arguments(jaxpr) if num_const_args else jaxpr
    tokens = [abstract_token] * len(effects)
    type_ = signature([*tokens, *in_avals], [*tokens, *program.out_avals])
    ir, func = bindings(), dialect("func")
    with ir.InsertionPoint(ctx.module.body):
        visibility = "public" if main_function else "private"
        op = func.FuncOp(unused_name(ctx, name), type_, visibility=visibility)
    ctx.symbol_table.insert(op)
    with ir.InsertionPoint(op.add_entry_block()):
        values = list(op.arguments)
        given = TokenSet(dict(zip(effects, values, strict=False)))
        outs, after = call_jaxpr_of(ctx, name, program, values[len(effects) :], given)
        func.ReturnOp([*[after.get(effect) for effect in effects], *outs])
    return op


@final
class LoweringResult(NamedTuple):
    """A module made of a program.

    Args:
        module: the MLIR module.
        keepalive: what must live as long as the program: nothing beside the callbacks.
        host_callbacks: Python functions that it calls, by index.
        shape_poly_state: `None`, for all sizes are numbers.
    """

    module: Any
    keepalive: list[Any]
    host_callbacks: list[Any]
    shape_poly_state: None


def lower_jaxpr_to_module(
    module_name: str,
    jaxpr: Jaxpr,
    *,
    num_const_args: int,
    in_avals: Sequence[Any],
    ordered_effects: Sequence[Effect],
    platforms: Sequence[str],
    backend: Any,
    axis_context: Any,
    donated_args: Sequence[bool],
    replicated_args: Sequence[bool] | None = None,
    arg_shardings: Sequence[Any] | None = None,
    result_shardings: Sequence[Any] | None = None,
    in_layouts: Sequence[Any] | None = None,
    out_layouts: Sequence[Any] | None = None,
    arg_names: Sequence[str] | None = None,
    result_names: Sequence[str] | None = None,
    num_partitions: int = 1,
    all_default_mem_kind: bool = True,
    input_output_aliases: Sequence[int | None] | None = None,
    propagated_out_mem_kinds: Any = None,
    lowering_parameters: LoweringParameters,
) -> LoweringResult:
    """The module whose function `main` computes a program on one device.

    Args:
        module_name: its name.
        jaxpr: the program, closed.
        num_const_args: how many of the operands are the constants of the program: all, or 0 if
            the module holds them.
        in_avals: of the operands.
        ordered_effects: accepted for compatibility; the module orders its effects by itself.
        platforms: the one that it is for.
        backend, axis_context: accepted for compatibility; it is for one device.
        donated_args: operands whose memory the results may take over.
        arg_shardings, result_shardings, in_layouts, out_layouts, input_output_aliases: must say
            nothing.
        replicated_args, arg_names, result_names, num_partitions, all_default_mem_kind,
            propagated_out_mem_kinds: accepted for compatibility.
        lowering_parameters: options.
    """
    _refuse_placement(
        "mlir.lower_jaxpr_to_module",
        arg_shardings=arg_shardings,
        result_shardings=result_shardings,
        in_layouts=in_layouts,
        out_layouts=out_layouts,
        input_output_aliases=input_output_aliases,
        override_lowering_rules=lowering_parameters.override_lowering_rules,
    )
    (platform,) = platforms
    program = without_references(constants_as_arguments(jaxpr) if num_const_args else jaxpr)
    module = Module(platform, largest_constant=inf)
    donated = {i: "{jax.buffer_donor = true}" for i, on in enumerate(donated_args) if on}
    main = function(
        module,
        "main",
        in_avals,
        lambda builder, *operands: builder.inline(program, *operands),
        visibility="public ",
        argument_attributes=donated,
    )
    body = "\n".join([*module.functions, main.text])
    text = f"module @{module.fresh_name(module_name)} {{\n{body}\n}}\n"
    return LoweringResult(parsed(text), [], list(module.callbacks), None)


def _refuse_placement(where: str, **options: Any) -> None:
    given = {
        name: value
        for name, value in options.items()
        if value is not None and not all(x is None or x is False for x in value)
    }
    if given:
        raise ValueError(
            message(
                where,
                given=", ".join(f"{name}={value}" for name, value in given.items()),
                expected="None for each of these: the program runs on one device, by its own rules",
                fix="Leave them out, or compile with jax.jit.",
            )
        )


def merge_mlir_modules(
    dst_module: Any, sym_name: str, src_module: Any, dst_symtab: Any = None
) -> str:
    """Move the functions of a module into another one.

    Args:
        dst_module: the module that takes them.
        sym_name: the name that the function ``main`` gets, changed if it is taken.
        src_module: the module that gives them; it is empty afterwards.
        dst_symtab: the symbols of `dst_module`, if somebody has them already.

    Returns:
        The name that ``main`` has got.  All functions that are moved are private there.
    """
    ir = bindings()
    operations, taken = list(src_module.body.operations), set(_names(dst_module))
    others = set(_names(src_module)) - {"main"}
    fresh = {"main": _free_name(sym_name, taken | others)}
    for name in sorted(others & {*taken, fresh["main"]}):
        fresh[name] = _free_name(name, taken | others | {*fresh.values()})
    for op in operations:
        name = ir.StringAttr(op.attributes["sym_name"]).value
        if name in fresh:
            ir.SymbolTable.replace_all_symbol_uses(name, fresh[name], src_module.operation)
            ir.SymbolTable.set_symbol_name(op, fresh[name])
    for op in operations:
        op.attributes["sym_visibility"] = ir.StringAttr.get("private")
        op.operation.detach_from_parent()
        dst_module.body.append(op)
        if dst_symtab is not None:
            dst_symtab.insert(op)
    return fresh["main"]


def _names(module: Any) -> list[str]:
    """The names of the functions of a module."""
    string = bindings().StringAttr
    return [string(op.attributes["sym_name"]).value for op in module.body.operations]


def _free_name(wish: str, taken: Collection[str]) -> str:
    """A name close to `wish` that is not taken."""
    name, n = wish, 0
    while name in taken:
        name = f"{wish}_{n}"
        n += 1
    return name
