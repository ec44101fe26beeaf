"""Chains of elementwise operations, which a compiled function computes in one pass.

NumPy takes a call and an array for each operation.  Where operations on words of 32 bits follow one
another in a program, `native/fused.cpp` computes them block by block.  It has those operations
whose results are rounded exactly, and calls the inner loops of NumPy's functions, so the numbers
are those of single operations; its twin are the kernels of these.  A primitive names its operation
by `Primitive.fused`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from functools import cache
from typing import Any, final

import numpy as np

from ...core import Atom, Equation, Literal, Var, aval_of
from ...util.compiled import part

native: Any = part("fused")
OPERATIONS: Set[str] = native.operations if native is not None else frozenset()
DRAW = "random_bits_uint32"
"""The operation that draws from a key."""
_SHORTEST = 2
# Of keys, numbers and flags, as arrays.
_DTYPES = {dtype: np.dtype(dtype).num for dtype in ("bool", "float32", "int32", "uint32")}
_KEYS = np.dtype(np.uint64).num
_FLOAT = np.dtype(np.float32)

Operation = str | np.ufunc


@final
@dataclass(frozen=True)
class Chain:
    """Equations that follow one another, all with results of one shape.

    Args:
        equations: with the name of the operation of each, or NumPy's function.
        inputs: what they read of others.
        outputs: the results that others read.
    """

    equations: tuple[tuple[Operation, Equation], ...]
    inputs: tuple[Var, ...]
    outputs: tuple[Var, ...]

    def kernel(self) -> Callable[..., Any]:
        """A function of the arrays of `inputs`, whose result is that of `outputs`."""
        shape = aval_of(self.outputs[0]).shape
        registers: dict[int, int] = {id(v): i for i, v in enumerate(self.inputs)}
        constants: list[int] = []
        for _, eqn in self.equations:
            for atom in eqn.invars:
                if type(atom) is Literal and id(atom) not in registers:
                    registers[id(atom)] = len(registers)
                    constants.append(word_of(atom))
        steps = []
        for name, eqn in self.equations:
            steps.append((name, tuple([registers[id(a)] for a in eqn.invars])))
            registers[id(eqn.outvars[0])] = len(registers)
        operands = [
            (_dtype(v), aval_of(v).shape == shape and _dtype(v) != _KEYS) for v in self.inputs
        ]
        results = [(registers[id(v)], _dtype(v)) for v in self.outputs]
        made: Callable[..., Any] = native.make(operands, constants, steps, results, shape)
        return made


def single_operation(
    name: str | None, avals: Sequence[Any], constants: Sequence[int] = (), dtype: Any = None
) -> Callable[..., Any] | None:
    """A compiled operation on arrays of these avals alone, `None` where its twin is to work.

    Args:
        name: of an operation of chains, or of another one, for which there is nothing.
        avals: of the operands, which are of one shape or without axes.
        constants: the words of further operands.
        dtype: of the result; that of the operands, if left out.
    """
    if name not in OPERATIONS:
        return None
    shape = max([x.shape for x in avals], key=len)
    if any([x.shape not in (shape, ()) for x in avals]):
        return None
    operands = [(_DTYPES[dtype_name(x.dtype)], x.shape == shape) for x in avals]
    out = len(operands) + len(constants)
    steps = [(name, tuple(range(out)))]
    results = [(out, _DTYPES[dtype_name(dtype or avals[0].dtype)])]
    made: Callable[..., Any] = native.make(operands, list(constants), steps, results, shape)
    return made


@cache
def dtype_name(dtype: Any) -> str:
    """The name of a dtype, which NumPy puts together each time."""
    return str(dtype)


def _dtype(v: Var) -> int:
    return _DTYPES.get(dtype_name(aval_of(v).dtype), _KEYS)


def word_of(literal: Literal) -> int:
    """The bits of a number, or a truth value as 0 or 1."""
    number = np.asarray(literal.val, literal.aval.dtype)
    return int(number) if number.dtype == bool else int(number.view(np.uint32))


def chains(
    equations: Iterable[Equation], results: Sequence[Atom], constants: Mapping[Var, Any]
) -> list[Equation | Chain]:
    """The equations of a program in their order, with chains in place of those that form one.

    Args:
        equations: of the program.
        results: of the program.
        constants: variables whose values are known; their equations are left out.
    """
    runs: list[list[tuple[Operation, Equation]]] = []
    shape = None
    for eqn in equations:
        if eqn.outvars[0] in constants:
            continue
        name = operation_of(eqn) or loop_of(eqn)
        if name is None or shape != aval_of(eqn.outvars[0]).shape:
            runs.append([])
        shape = aval_of(eqn.outvars[0]).shape if name is not None else None
        runs[-1].append((name or "", eqn))
    read: set[Any] = {v for v in results if type(v) is Var}
    parts: list[Equation | Chain] = []
    for run in reversed(runs):
        chain = _chain(run, read) if len(run) >= _SHORTEST else None
        parts += [eqn for _, eqn in run] if chain is None else [chain] if chain.outputs else []
        read.update([v for _, eqn in run for v in eqn.invars if type(v) is Var])
    return parts[::-1]


def operation_of(eqn: Equation) -> str | None:
    """The name of the compiled operation that an equation is, if there is one."""
    fused = eqn.primitive.fused
    if fused is None or not OPERATIONS:
        return None
    name: str | None = fused(*[a.aval for a in eqn.invars], **eqn.params)
    return name if name in OPERATIONS else None


def loop_of(eqn: Equation) -> np.ufunc | None:
    """The function of NumPy of float32 that an equation is, if its kernel is one."""
    if len(eqn.outvars) != 1 or eqn.primitive.kernel is None or not OPERATIONS:
        return None
    avals = [aval_of(a) for a in eqn.invars]
    if any([aval.dtype != _FLOAT for aval in (*avals, aval_of(eqn.outvars[0]))]):
        return None
    kernel = eqn.primitive.kernel(*avals, **eqn.params)
    return kernel if isinstance(kernel, np.ufunc) and kernel.nout == 1 else None


def _chain(run: Sequence[tuple[Operation, Equation]], read_later: Set[Any]) -> Chain:
    made = dict.fromkeys([eqn.outvars[0] for _, eqn in run])
    atoms = [a for _, eqn in run for a in eqn.invars]
    inputs = dict.fromkeys([a for a in atoms if type(a) is Var and a not in made])
    return Chain(tuple(run), tuple(inputs), tuple([v for v in made if v in read_later]))
