"""What symbols stand for where a program is called, and whether the sizes there are allowed.

The sizes of the axes of the operands are solved for the symbols, each of which must be linear in
one of them, once others are known.  Then what was assumed while tracing is checked: that each axis
has the size that was written, the ranges of the symbols, and the constraints of their scope.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple, final

from ..errors import UnexpectedDimVar
from ..util.messages import message
from .dims import Dim, SymbolicDim, as_dim, check_one_scope, solved, symbol, symbols_in
from .polynomials import Polynomial, Symbol, constant, minus, symbols_of, times

Names = Sequence[str]


@final
class Origin(NamedTuple):
    """Where the value of a symbol comes from: the size of an axis, and how it follows from that."""

    symbol: str
    operand: int
    axis: int
    size_name: str
    solution: Dim


@final
class Check(NamedTuple):
    """An expression in symbols, and in sizes of axes, that must be 0, or must not be negative."""

    size: Dim
    is_equation: bool
    expected: str

    def holds(self, sizes: Mapping[str, Dim]) -> bool:
        """Whether it is so for these sizes, as far as that can be told."""
        found = substituted(self.size, sizes)
        if type(found) is SymbolicDim:
            return True
        return found == 0 if self.is_equation else found >= 0


def size_name(operand: int, axis: int) -> str:
    """The name of a symbol for the size of an axis; no name of a user's symbol begins so."""
    return f"?{operand}.{axis}"


def substituted(size: Dim, sizes: Mapping[str, Dim]) -> Dim:
    """The size where symbols stand for other sizes."""
    return size.substitute(sizes) if type(size) is SymbolicDim else size


def origins(
    where: str, avals: Sequence[Any], symbols: Mapping[str, Symbol], names: Names
) -> Iterator[Origin]:
    """An origin for each symbol, which may depend on the symbols before.

    Args:
        where: whose sizes they are, for error text.
        avals: of the operands.
        symbols: by name.
        names: of the operands.

    Raises:
        ValueError: if the shapes do not tell what a symbol stands for.
    """
    known: set[str] = set()
    axes = [(i, axis, n) for i, aval in enumerate(avals) for axis, n in enumerate(aval.shape)]
    check_one_scope(where, [n for _, _, n in axes])
    while len(known) < len(symbols):
        before = len(known)
        for operand, axis, size in axes:
            unknown = [s for s in symbols_in([size]).values() if s.name not in known]
            if len(unknown) != 1:
                continue
            name = size_name(operand, axis)
            solution = solved(size, unknown[0], symbol(name, 0, scope=unknown[0].scope))
            if solution is not None:
                known.add(unknown[0].name)
                yield Origin(unknown[0].name, operand, axis, name, solution)
        if len(known) == before:
            raise ValueError(_unsolved(where, avals, sorted(set(symbols) - known), names))


def checks(avals: Sequence[Any], symbols: Mapping[str, Symbol], names: Names) -> Iterator[Check]:
    """All that must hold of sizes of operands of these avals, in symbols and names of axes.

    Raises:
        UnexpectedDimVar: if a constraint speaks of a symbol that is in no shape.
    """
    scope = next((s.scope for s in symbols.values()), None)
    for operand, aval in enumerate(avals):
        for axis, size in enumerate(aval.shape):
            if type(size) is SymbolicDim:
                actual = symbol(size_name(operand, axis), 0, scope=scope)
                told = f"{size} for the size of axis {axis} of {names[operand]}"
                yield Check(actual - size, True, told)
    for s in symbols.values():
        told = f"a number from {s.least} on" if math.isinf(s.most) else f"{s.least} to {s.most}"
        here = symbol(s.name, s.least, s.most, s.scope)
        yield Check(here - s.least, False, f"{told} for {s.name}")
        if not math.isinf(s.most):
            yield Check(s.most - here, False, f"{told} for {s.name}")
    if scope is None:
        return
    for fact, text in scope.stated_facts():
        _check_known(fact, symbols, text)
        yield Check(as_dim(fact), False, text)
    for (product, k, equal), text in scope.stated_rules():
        difference = minus(times(((product, 1),), constant(k)), equal)
        _check_known(difference, symbols, text)
        yield Check(as_dim(difference), True, text)


def _check_known(p: Polynomial, symbols: Mapping[str, Symbol], text: str) -> None:
    unknown = sorted({s.name for s in symbols_of(p)} - set(symbols))
    if unknown:
        raise UnexpectedDimVar(
            message(
                f"the constraint {text}",
                given=f"the symbols {', '.join(unknown)}, which are in the shape of no argument",
                expected=f"symbols among {', '.join(symbols) or 'none'}",
                fix="Make the symbols of the arguments in a scope without that constraint.",
            )
        )


def _unsolved(where: str, avals: Sequence[Any], unknown: Sequence[str], names: Names) -> str:
    shapes = [f"{name}: {aval.str_short()}" for name, aval in zip(names, avals, strict=True)]
    return message(
        f"{where}, sizes {', '.join(unknown)}",
        given=", ".join(shapes),
        expected="an axis whose size is a multiple of the symbol, but for symbols that are known",
        fix="Pass an array with an axis of that size too.",
    )
