"""Programs for all sizes: a module whose sizes are numbers that the program computes.

The program is a private function.  It takes the values of the symbols first, as 64-bit integers,
and arrays of dynamic shapes; every function that it calls does so too.  The function ``main`` of a
module calls it in one of two ways: with arrays of dynamic shapes, of which it asks the sizes
(``stablehlo.get_dimension_size``); or with arrays of known shapes, for sizes that are given.  XLA
compiles no dynamic shapes.  In the second form `refined` makes all of them static first, by
propagating what ``main`` knows, a pass of StableHLO.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NamedTuple, final

import numpy as np

from ...core import Jaxpr, Primitive, ShapedArray, without_references
from ...core.dims import SymbolicDim, symbols_in
from ...core.polynomials import Symbol
from ...core.size_solutions import Check, checks, origins, size_name
from ...runtime import sharding as shardings
from ...runtime.client import jaxlib_module
from ...runtime.places import Places
from ...util.messages import message
from .annotations import Annotations, not_annotated
from .literals import physical_aval, quoted
from .lowering import LoweredProgram
from .mlir_context import parsed
from .module import PLATFORM_INDEX
from .size_verbs import SIZE
from .stablehlo import Builder, Function, Module, Value, function

_INDEX: Final = ShapedArray((), np.int32)
_AXIS_SIZE: Final = ShapedArray((), np.int32)


def module_for_all_sizes(
    jaxpr: Jaxpr,
    name: str,
    platforms: str | Sequence[str] = "cpu",
    *,
    annotated: Annotations = not_annotated,
    names: Sequence[str] = (),
    num_devices: int = 1,
    rules: Mapping[Primitive, Callable[..., Any]] | None = None,
) -> str:
    """The text of a module whose function ``main`` takes arrays of dynamic shapes.

    For several platforms, it takes the number of the one on which it runs first.  It checks that
    the arrays are of the shapes that the program was traced for, by calls of ``shape_assertion``.

    Args:
        jaxpr: the program, closed, with symbolic sizes.
        name: of the module.
        platforms: where it will run.
        annotated: how its operands and results lie on several devices.
        names: of the operands, for error text.
        num_devices: on how many it will run.
        rules: for lowering, instead of those of primitives.

    Raises:
        ValueError: if the shapes of the operands do not tell what a symbol stands for.
    """
    program = _Program.of(jaxpr, platforms, annotated, num_devices, rules)
    where, avals = f"the program {name}", jaxpr.in_avals
    names = names or [f"argument {i}" for i in range(len(avals))]
    found = list(origins(where, avals, program.sizes, names))
    wanted = list(checks(avals, program.sizes, names))

    def main(b: Builder, *arguments: Value) -> Sequence[Value]:
        index, operands = arguments[: program.num_indices], arguments[program.num_indices :]
        known: dict[str, Value] = {}
        if index:
            known[PLATFORM_INDEX] = b.convert(index[0], SIZE.dtype)
        for operand, aval in enumerate(avals):
            for axis, size in enumerate(aval.shape):
                if type(size) is SymbolicDim:
                    known[size_name(operand, axis)] = _asked(b, operands[operand], axis)
        for origin in found:
            b.bind_symbols(known)
            known[origin.symbol] = b.size(origin.solution, SIZE)
        b.bind_symbols(known)
        for check in wanted:
            _assert(b, where, check)
        return program.call(b, [known[name] for name in program.module.symbols], operands)

    return program.text(name, [_INDEX] * program.num_indices + list(avals), main)


def module_at(jaxpr: Jaxpr, name: str, sizes: Mapping[str, int], platform: str = "cpu") -> str:
    """The text of a module whose function ``main`` takes arrays of the shapes for given sizes.

    Args:
        jaxpr: the program, closed, with symbolic sizes.
        name: of the module.
        sizes: what each symbol stands for.
        platform: where it will run.

    Raises:
        ValueError: if a size is not in the range of its symbol.
    """
    program = _Program.of(jaxpr, platform)
    for known in program.sizes.values():
        _check_size(name, known, sizes[known.name])

    def main(b: Builder, *operands: Value) -> Sequence[Value]:
        values = [b.constant(sizes[name], SIZE) for name in program.sizes]
        shaped = zip(operands, jaxpr.in_avals, strict=True)
        results = program.call(b, values, [cast(b, x, aval) for x, aval in shaped])
        return [cast(b, x, at_sizes(x.aval, sizes)) for x in results]

    return program.text(name, [at_sizes(aval, sizes) for aval in jaxpr.in_avals], main)


def lower_at(
    jaxpr: Jaxpr, name: str, sizes: Mapping[str, int], platform: str = "cpu"
) -> LoweredProgram:
    """The program for given sizes, at home, ready to be compiled; see `module_at`."""
    out_avals = tuple([at_sizes(aval, sizes) for aval in jaxpr.out_avals])
    return LoweredProgram(
        name=name,
        text=refined(module_at(jaxpr, name, sizes, platform)),
        in_avals=tuple([at_sizes(aval, sizes) for aval in jaxpr.in_avals]),
        out_avals=out_avals,
        kept_operands=tuple(range(len(jaxpr.invars))),
        constant_operands=(),
        physical_out_avals=tuple([physical_aval(aval) for aval in out_avals]),
        places=Places.all_at(shardings.home, len(jaxpr.invars), len(jaxpr.outvars)),
        info=jaxpr.debug_info,
        forwarded=(None,) * len(out_avals),
        callbacks=(),
        fuses_reductions=True,
    )


def refined(text: str) -> str:
    """A module of `module_at` with static shapes throughout."""
    refine = jaxlib_module("_jax").mlir.refine_polymorphic_shapes
    module = parsed(refine(text.encode(), True, True))
    # The short form of a slice of an array of rank 0 cannot be read back.
    return str(module.operation.get_asm(print_generic_op_form=True))


def at_sizes(aval: ShapedArray, sizes: Mapping[str, int]) -> ShapedArray:
    """The aval of an array for given sizes."""
    shape = [n.evaluate(sizes) if type(n) is SymbolicDim else n for n in aval.shape]
    return aval.update(shape=shape)


@final
class _Program(NamedTuple):
    """The function that computes a jaxpr, in a module of its own."""

    module: Module
    function: Function
    sizes: Mapping[str, Symbol]
    out_avals: Sequence[ShapedArray]
    annotated: Annotations

    @classmethod
    def of(
        cls,
        jaxpr: Jaxpr,
        platforms: str | Sequence[str],
        annotated: Annotations = not_annotated,
        num_devices: int = 1,
        rules: Mapping[Primitive, Callable[..., Any]] | None = None,
    ) -> _Program:
        sizes = symbols_in([n for aval in jaxpr.in_avals for n in aval.shape])
        module = Module(
            platforms,
            largest_constant=math.inf,
            symbols=tuple(sizes),
            meshes=annotated.meshes,
            num_devices=num_devices,
            rules=rules,
        )
        entry = without_references(jaxpr)
        # Without symbols, it is the entry itself.
        as_main: dict[str, Any] = {"visibility": "public "}
        as_main["argument_attributes"] = annotated.arguments
        as_main["result_attributes"] = annotated.results
        written = function(
            module,
            module.fresh_name("for_all_sizes") if module.symbols else "main",
            entry.in_avals,
            lambda b, *operands: b.inline(entry, *operands),
            **({} if module.symbols else as_main),
        )
        if module.callbacks:
            raise NotImplementedError(
                message(
                    "a program for all sizes, or for other processes",
                    given="a program with callbacks",
                    expected="a program without: functions of Python cannot be written down",
                    fix="Call such functions outside of the program.",
                )
            )
        return cls(module, written, sizes, jaxpr.out_avals, annotated)

    @property
    def num_indices(self) -> int:
        """How many operands of ``main`` say on which platform it runs."""
        return int(PLATFORM_INDEX in self.module.symbols)

    def call(self, b: Builder, sizes: Sequence[Value], operands: Sequence[Value]) -> list[Value]:
        """Its results for arrays of dynamic shapes."""
        return b.ops(
            "func.call", self.out_avals, *sizes, *operands, callee=f"@{self.function.name}"
        )

    def text(self, name: str, avals: Sequence[Any], main: Callable[..., Sequence[Value]]) -> str:
        """The module whose function ``main`` is this one, unless it is there already."""
        shift = self.num_indices
        attributes = {i + shift: text for i, text in self.annotated.arguments.items()}
        if shift:
            attributes[0] = '{jax.global_constant = "_platform_index"}'
        functions = [*self.module.functions, self.function.text]
        if self.module.symbols:
            entry = function(
                self.module,
                "main",
                avals,
                main,
                visibility="public ",
                argument_attributes=attributes,
                result_attributes=self.annotated.results,
                has_symbols=False,
            )
            functions.append(entry.text)
        meshes = [f"sdy.mesh @{name} = {mesh}" for mesh, name in self.module.meshes.items()]
        body = "\n".join([*meshes, *functions])
        return f"module @{self.module.fresh_name('jit_' + name)} {{\n{body}\n}}\n"


def _asked(b: Builder, x: Value, axis: int) -> Value:
    """The size of an axis of a dynamic shape."""
    size = b.op("stablehlo.get_dimension_size", _AXIS_SIZE, x, dimension=f"{axis} : i64")
    return b.convert(size, SIZE.dtype)


def _assert(b: Builder, where: str, check: Check) -> None:
    """Stop the compilation for sizes that the program was not traced for."""
    found, zero = b.size(check.size, SIZE), b.constant(0, SIZE)
    direction = "EQ" if check.is_equation else "GE"
    holds = b.op(
        "stablehlo.compare",
        SIZE.update(dtype=bool),
        found,
        zero,
        comparison_direction=f"#stablehlo<comparison_direction {direction}>",
    )
    told = f"{where}: expected {check.expected}; {check.size} is {{0}}"
    b.ops(
        "stablehlo.custom_call",
        (),
        holds,
        found,
        call_target_name='"shape_assertion"',
        api_version="2 : i32",
        has_side_effect="true",
        error_message=quoted(told),
    )


def _check_size(name: str, known: Symbol, size: int) -> None:
    if not known.least <= size <= known.most:
        raise ValueError(
            message(
                f"the program {name}, size {known.name}",
                given=f"{size}",
                expected=f"a number from {known.least} to {known.most}",
                fix="Pass arrays of such sizes, or trace the program for other ones.",
            )
        )


def cast(b: Builder, x: Value, aval: ShapedArray) -> Value:
    """`x`, of which more or less of the shape is known."""
    if x.aval.shape == aval.shape:
        return x
    return b.op("stablehlo.convert", physical_aval(aval), x).seen_as(aval)
