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
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple, final

import numpy as np

from ...core import Jaxpr, ShapedArray, without_references
from ...core.dims import Dim, SymbolicDim, solved, symbol, symbols_in
from ...core.polynomials import Symbol
from ...runtime import sharding as shardings
from ...runtime.client import jaxlib_module
from ...runtime.places import Places
from ...util.messages import message
from .literals import physical_aval
from .lowering import LoweredProgram
from .mlir_context import parsed
from .size_verbs import SIZE
from .stablehlo import Builder, Function, Module, Value, function

_AXIS_SIZE: Final = ShapedArray((), np.int32)


def module_for_all_sizes(jaxpr: Jaxpr, name: str, platform: str = "cpu") -> str:
    """The text of a module whose function ``main`` takes arrays of dynamic shapes.

    That these are of the shapes that the program was traced for is for the caller to check.

    Args:
        jaxpr: the program, closed, with symbolic sizes.
        name: of the module.
        platform: where it will run.

    Raises:
        ValueError: if the shapes of the operands do not tell what a symbol stands for.
    """
    program = _Program.of(jaxpr, platform)
    origins = list(_origins(name, jaxpr.in_avals, program.symbols))

    def main(b: Builder, *operands: Value) -> Sequence[Value]:
        known: dict[str, Value] = {}
        for origin in origins:
            size = b.op(
                "stablehlo.get_dimension_size",
                _AXIS_SIZE,
                operands[origin.operand],
                dimension=f"{origin.axis} : i64",
            )
            known[origin.size_name] = b.convert(size, SIZE.dtype)
            b.bind_symbols(known)
            known[origin.symbol] = b.size(origin.solution, SIZE)
        return program.call(b, [known[name] for name in program.symbols], operands)

    return program.text(name, jaxpr.in_avals, main)


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
    for known in program.symbols.values():
        _check_size(name, known, sizes[known.name])

    def main(b: Builder, *operands: Value) -> Sequence[Value]:
        values = [b.constant(sizes[name], SIZE) for name in program.symbols]
        shaped = zip(operands, jaxpr.in_avals, strict=True)
        results = program.call(b, values, [_cast(b, x, aval) for x, aval in shaped])
        return [_cast(b, x, at_sizes(x.aval, sizes)) for x in results]

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
        guards_extremes=True,
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
    symbols: Mapping[str, Symbol]
    out_avals: Sequence[ShapedArray]

    @classmethod
    def of(cls, jaxpr: Jaxpr, platform: str) -> _Program:
        symbols = symbols_in([n for aval in jaxpr.in_avals for n in aval.shape])
        module = Module(platform, largest_constant=math.inf, symbols=tuple(symbols))
        entry = without_references(jaxpr)
        name = module.fresh_name("for_all_sizes")
        written = function(
            module, name, entry.in_avals, lambda b, *operands: b.inline(entry, *operands)
        )
        if module.callbacks:
            raise NotImplementedError(
                message(
                    "a program for all sizes",
                    given="a program with callbacks",
                    expected="a program without: functions of Python cannot be written down",
                    fix="Call such functions outside of the program.",
                )
            )
        return cls(module, written, symbols, jaxpr.out_avals)

    def call(self, b: Builder, sizes: Sequence[Value], operands: Sequence[Value]) -> list[Value]:
        """Its results for arrays of dynamic shapes."""
        return b.ops(
            "func.call", self.out_avals, *sizes, *operands, callee=f"@{self.function.name}"
        )

    def text(self, name: str, avals: Sequence[Any], main: Callable[..., Sequence[Value]]) -> str:
        """The module whose function ``main`` is this one."""
        entry = function(self.module, "main", avals, main, visibility="public ", has_symbols=False)
        body = "\n".join([*self.module.functions, self.function.text, entry.text])
        return f"module @{self.module.fresh_name('jit_' + name)} {{\n{body}\n}}\n"


@final
class _Origin(NamedTuple):
    """Where the value of a symbol comes from: the size of an axis, and how it follows from that."""

    symbol: str
    operand: int
    axis: int
    size_name: str
    solution: Dim


def _origins(
    name: str, avals: Sequence[ShapedArray], symbols: Mapping[str, Symbol]
) -> Iterator[_Origin]:
    """An origin for each symbol, which may depend on the symbols before."""
    known: set[str] = set()
    axes = [(i, axis, n) for i, aval in enumerate(avals) for axis, n in enumerate(aval.shape)]
    while len(known) < len(symbols):
        before = len(known)
        for operand, axis, size in axes:
            unknown = [s for s in symbols_in([size]).values() if s.name not in known]
            if len(unknown) != 1:
                continue
            # No name of a user's symbol begins so.
            size_name = f"?{operand}.{axis}"
            solution = solved(size, unknown[0], symbol(size_name, 0))
            if solution is not None:
                known.add(unknown[0].name)
                yield _Origin(unknown[0].name, operand, axis, size_name, solution)
        if len(known) == before:
            raise ValueError(_refusal(name, avals, sorted(set(symbols) - known)))


def _refusal(name: str, avals: Sequence[ShapedArray], unknown: Sequence[str]) -> str:
    return message(
        f"the program {name}, sizes {', '.join(unknown)}",
        given=", ".join([aval.str_short() for aval in avals]),
        expected="an axis whose size is a multiple of the symbol, but for symbols that are known",
        fix="Pass an array with an axis of that size too.",
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


def _cast(b: Builder, x: Value, aval: ShapedArray) -> Value:
    """`x`, of which more or less of the shape is known."""
    if x.aval.shape == aval.shape:
        return x
    return b.op("stablehlo.convert", physical_aval(aval), x).seen_as(aval)
