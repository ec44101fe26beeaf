"""Lowering rules that emit operations of `jaxlib.mlir`, beside our own text.

Such a rule takes a `LoweringRuleContext` and MLIR values.  It runs in a small module of its own, in
a function of the operands' types; the text of that function joins the module that is being written,
which calls it.  In the other direction, what our `Builder` writes for a rule (a jaxpr, a callback)
is a function too, which the module of the rule only declares.

A rule that is a function of arrays (`lower_fun`) has a program, which every engine can compute: it
is called in our text, and written in place by engines that write loops (`program_in_place_of`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, final

import numpy as np

from ...core import (
    Effect,
    Jaxpr,
    NameStack,
    Primitive,
    abstract_token,
    current_name_stack,
    equation_source,
    has_ordered,
    infer,
)
from ...core.mesh import AbstractMesh
from ...runtime.device import GPUS
from ...runtime.mesh import Mesh
from ...util.messages import message
from ...util.records import dataclass
from ..programs_in_place import RuleWithProgram
from .literals import dense_text, held, host_constant
from .mesh_axes import MeshAxes
from .mlir_context import bindings, dialect, shared_context
from .mlir_parameters import AxisContext, ShardingContext, SPMDAxisContext
from .mlir_tokens import TokenSet, joined, ordered
from .rule_context import LoweringRuleContext, ModuleContext
from .stablehlo import (
    Builder,
    Function,
    Module,
    Value,
    function,
    tensor_type,
)


@final
@dataclass(frozen=True, slots=True)
class RegisteredRule:
    """A rule, and whether equal equations share what it emits.

    Args:
        rule: emits operations.
        cacheable: whether equal equations share them.
        program: avals of the operands, and parameters → what the rule computes; `None` if it is not
            known to be a program.
    """

    rule: Callable[..., Any]
    cacheable: bool = True
    program: Callable[[tuple[Any, ...], Mapping[str, Any]], Jaxpr] | None = None


@final
class LoweringRules(RuleWithProgram):
    """The rule `lower` of a primitive, chosen by platform among those that are registered.

    Args:
        primitive: whose rules.
        otherwise: the rule for other platforms.
    """

    def __init__(self, primitive: Primitive, otherwise: Callable[..., Any]) -> None:
        self._primitive = primitive
        self._otherwise = otherwise
        self.by_platform: dict[str | None, RegisteredRule] = {}

    def __call__(self, b: Builder, outs: Any, *operands: Value, **params: Any) -> Any:
        avals = tuple([v.aval for v in operands])
        if (program := self.program(b.module.platform, avals, outs, params)) is not None:
            results = b.call(self._primitive.name, program, *operands)
            return results if self._primitive.multiple_results else results[0]
        if (chosen := self._chosen(b.module.platform)) is not None:
            return _call_rule(b, self._primitive, chosen, outs, operands, params)
        return self._otherwise(b, outs, *operands, **params)

    def _chosen(self, platform: str) -> RegisteredRule | None:
        names = (*_names_of(platform), None)
        return next((self.by_platform[name] for name in names if name in self.by_platform), None)

    def program(
        self, platform: str, avals: tuple[Any, ...], outs: Any, params: dict[str, Any]
    ) -> Jaxpr | None:
        """What the rule for a platform computes, if it is known and of the types of the results.

        Effects need their tokens, and types that differ an error: both are left to the rule.
        """
        chosen = self._chosen(platform)
        if chosen is None or chosen.program is None:
            return None
        found = chosen.program(avals, params)
        expected = tuple(outs) if self._primitive.multiple_results else (outs,)
        _, effects = infer(self._primitive, params, avals)
        is_plain = not effects and not found.effects
        return found if is_plain and _types_of(found.out_avals) == _types_of(expected) else None


def _types_of(avals: Sequence[Any]) -> list[Any]:
    """What values of these avals are in a module."""
    return [(getattr(aval, "shape", aval), getattr(aval, "dtype", None)) for aval in avals]


def _names_of(platform: str) -> tuple[str, ...]:
    """A platform, and the family it belongs to."""
    return (platform, "gpu") if platform in GPUS else (platform,)


def _call_rule(
    b: Builder,
    primitive: Primitive,
    registered: RegisteredRule,
    outs: Any,
    operands: Sequence[Value],
    params: dict[str, Any],
) -> Any:
    avals_out = tuple(outs) if primitive.multiple_results else (outs,)
    avals_in = tuple([v.aval for v in operands])
    _, effects = infer(primitive, params, tuple(avals_in))
    circumstances = registered, b.module.platform, b.axes
    key = (primitive, circumstances, avals_in, avals_out, tuple(params.items()))
    name = _known(b.module, key) if registered.cacheable else None
    if name is None:
        application = _Application(primitive, avals_in, avals_out, params, ordered(effects), b.axes)
        name = _write(b.module, registered.rule, application)
        if registered.cacheable:
            _remember(b.module, key, name)
    orders = has_ordered(effects)
    results = b.ops(
        "func.call",
        avals_out,
        *operands,
        takes_token=orders,
        gives_token=orders,
        callee=f"@{name}",
    )
    return results if primitive.multiple_results else results[0]


def _known(module: Module, key: Any) -> str | None:
    try:
        return module.callees[key].name
    except (KeyError, TypeError):  # not written yet, or with parameters that cannot be hashed
        return None


def _remember(module: Module, key: Any, name: str) -> None:
    try:
        module.callees[key] = Function("", name, ())
    except TypeError:
        pass


@final
@dataclass(frozen=True, slots=True)
class _Application:
    """What is lowered: a primitive, its operands and results, its ordered effects, and for whom."""

    primitive: Primitive
    avals_in: Sequence[Any]
    avals_out: Sequence[Any]
    params: Mapping[str, Any]
    effects: Sequence[Effect]
    axes: MeshAxes | None


def _write(text: Module, rule: Callable[..., Any], application: _Application) -> str:
    """Run a rule, and add the functions that it emits to `text`; the name of the first.

    If effects are ordered, a token is its last argument and result.
    """
    ir, func, context = bindings(), dialect("func"), shared_context()
    primitive, effects = application.primitive, application.effects
    name, tokens = text.fresh_name(primitive.name), [abstract_token] if effects else []
    taken, given = [*application.avals_in, *tokens], [*application.avals_out, *tokens]
    with context, ir.Location.unknown():
        module = ir.Module.create()
        with ir.InsertionPoint(module.body) as ip:
            entry = func.FuncOp(name, signature(taken, given), visibility="private")
            symbols = ir.SymbolTable(module.operation)
        values = list(entry.add_entry_block().arguments)
        operands = values[: len(application.avals_in)]
        ctx = LoweringRuleContext(
            module_context=ModuleContext(
                module=module,
                text=text,
                context=context,
                ip=ip,
                symbol_table=symbols,
                platforms=(text.platform,),
                axis_context=_axis_context(text, application.axes),
            ),
            name_stack=NameStack(current_name_stack()),
            traceback=equation_source(),
            primitive=primitive,
            avals_in=application.avals_in,
            avals_out=list(application.avals_out),
            tokens_in=TokenSet(dict.fromkeys(effects, values[-1]) if effects else {}),
            tokens_out=None,
            const_lowering={},
        )
        with ir.InsertionPoint(entry.entry_block):
            results = _results(primitive, rule(ctx, *operands, **application.params))
            func.ReturnOp([*results, *_token_after(ctx, effects)])
        _verify(primitive, module)
        text.functions += _functions(module, name, text)
    return name


def _axis_context(text: Module, axes: MeshAxes | None) -> AxisContext:
    """The devices of a module, or the mesh whose members run a part of it."""
    if axes is None:
        return ShardingContext(text.num_devices)
    members = frozenset(axes.members or axes.names)
    if text.places is None:
        return SPMDAxisContext(AbstractMesh(axes.sizes, axes.names), members)
    devices = np.array(text.places.devices, object)[axes.grid()]
    return SPMDAxisContext(Mesh(devices, axes.names), members)


def _token_after(ctx: LoweringRuleContext, effects: Sequence[Effect]) -> list[Any]:
    """The token that a rule gives, if its primitive has ordered effects."""
    given = ctx.tokens_out or TokenSet()
    where = f"the lowering rule of {ctx.primitive}, tokens given to ctx.set_tokens_out"
    return [joined(given, effects, where)] if effects else []


def _results(primitive: Primitive, given: Any) -> list[Any]:
    if isinstance(given, bindings().Value):
        raise TypeError(
            message(
                f"the lowering rule of {primitive}",
                given=f"a {type(given).__name__}",
                expected="a sequence of MLIR values, one per result",
                fix="Return a list, such as [op.result] or op.results.",
            )
        )
    return list(flat_values(given))


def _verify(primitive: Primitive, module: Any) -> None:
    try:
        module.operation.verify()
    except bindings().MLIRError as error:
        raise ValueError(
            message(
                f"the lowering rule of {primitive}",
                given=str(error),
                expected="operations that are well typed, and results of the types of avals_out",
                fix="Emit what the avals of the context say.",
            )
        ) from error


def _functions(module: Any, entry: str, text: Module) -> Iterator[str]:
    """The texts of what a module defines, under names that `text` does not use yet."""
    table, defined = bindings().SymbolTable, []
    for op in module.body.operations:
        if getattr(op, "is_external", False):
            continue
        defined.append(op.operation)
        if "sym_name" in op.attributes and (name := op.attributes["sym_name"].value) != entry:
            fresh = text.fresh_name(name)
            table.replace_all_symbol_uses(name, fresh, module.operation)
            table.set_symbol_name(op.operation, fresh)
    return (op.get_asm(use_local_scope=True) for op in defined)


def call_text(
    ctx: ModuleContext,
    name: str,
    avals: tuple[Sequence[Any], Sequence[Any]],
    operands: Sequence[Any],
    write: Callable[..., Sequence[Value]],
    token: Any = None,
) -> list[Any]:
    """Call, from within a rule, what `write(builder, *operands)` writes as text.

    Args:
        ctx: the module of the rule.
        name: that the function should have.
        avals: of operands and of results.
        operands: MLIR values.
        write: takes a `Builder` and `Value`s, returns its results.
        token: orders the effects of what is written; then the last result is the next token.
    """
    if ctx.text.symbols:
        raise NotImplementedError(
            message(
                f"the lowering rule that calls {name}",
                given="a module for several platforms, or for all sizes",
                expected="a rule that emits operations, and calls no jaxpr and no Python",
                fix="Define the method `lower` of the primitive, or export for one platform.",
            )
        )
    ir, func = bindings(), dialect("func")
    tokens = [] if token is None else [token]
    types = [abstract_token] * len(tokens)
    avals_in, avals_out = avals[0], [*avals[1], *types]
    fresh = unused_name(ctx, name)
    callee = function(ctx.text, fresh, avals_in, write, passes_token=bool(tokens))
    ctx.text.functions.append(callee.text)
    constants = [constant_value(host_constant(value), aval) for value, aval in callee.hoisted]
    taken = [*avals_in, *[aval for _, aval in callee.hoisted], *types]
    with ir.InsertionPoint(ctx.module.body):
        func.FuncOp(callee.name, signature(taken, avals_out), visibility="private")
    symbol = ir.FlatSymbolRefAttr.get(callee.name)
    return list(func.CallOp(_types(avals_out), symbol, [*operands, *constants, *tokens]).results)


def unused_name(ctx: ModuleContext, wish: str) -> str:
    """A name close to `wish` for a function, of the module of a rule or of the text around it."""
    symbols = bindings().SymbolTable(ctx.module.operation)
    name = ctx.text.fresh_name(wish)
    while name in symbols:
        name = ctx.text.fresh_name(wish)
    return name


def constant_value(array: Any, aval: Any) -> Any:
    """A constant as an MLIR value."""
    elements = dense_text(held(array, aval))
    ir = bindings()
    # The bindings of attributes do not know complex elements.
    operation = ir.Operation.parse(f"stablehlo.constant {elements} : {tensor_type(aval)}")
    ir.InsertionPoint.current.insert(operation)
    return operation.result


def type_of(aval: Any) -> Any:
    """The MLIR type of an aval."""
    return bindings().Type.parse(tensor_type(aval))


def _types(avals: Sequence[Any]) -> list[Any]:
    return [type_of(aval) for aval in avals]


def signature(avals_in: Sequence[Any], avals_out: Sequence[Any]) -> Any:
    """The MLIR type of a function."""
    return bindings().FunctionType.get(_types(avals_in), _types(avals_out))


def flat_values(values: Any) -> Iterator[Any]:
    """The values (or types) in nested sequences, in order."""
    if isinstance(values, bindings().Value | bindings().Type):
        yield values
    else:
        for value in values:
            yield from flat_values(value)
