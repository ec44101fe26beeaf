"""Chains of elementwise operations, which a compiled function computes in one pass.

NumPy takes a call and an array for each operation.  Where operations on numbers of 32 or 64 bits,
or of floats of 16, follow one another in a program, `native/fused.cpp` computes them block by
block.  It has those operations whose results are rounded exactly, and calls the inner loops of
NumPy's functions, so the numbers are those of single operations; its twin are the kernels of these.
A primitive names its operation by `Primitive.fused`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from functools import cache
from typing import Any, final

import numpy as np

from ... import dtypes
from ...core import Atom, Equation, Literal, Var, aval_of
from ...util.compiled import part
from ...util.records import dataclass

native: Any = part("fused")
OPERATIONS: Set[str] = native.operations if native is not None else frozenset()
DRAWS = frozenset({"random_bits_uint32", "random_bits_uint64"})
"""The operations that draw from a key."""
_SHORTEST = 2
# Of keys, numbers and flags, as arrays.
_DTYPES = {
    name: dtypes.dtype(name).num
    for name in (
        *("bool", "float32", "int32", "uint32", "float64", "int64", "uint64", "bfloat16"),
        *("float16", "complex64"),
    )
}
# As `native/fused_chain.h` calls keys.
_KEYS = -1
# With the dtype in which NumPy computes it.
_FLOATS = {
    dtypes.dtype(name): np.dtype(wide)
    for name, wide in (("float32", "f"), ("float64", "d"), ("bfloat16", "f"), ("float16", "f"))
}
_NARROW = frozenset({dtypes.dtype("bfloat16"), dtypes.dtype("float16")})

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
        registers, literals = self.registers()
        constants = list(map(_bits_of, literals))
        steps = [
            (name, tuple([registers[id(a)] for a in eqn.invars]), _dtype(eqn.outvars[0]))
            for name, eqn in self.equations
        ]
        operands = [
            (_dtype(v), aval_of(v).shape == shape and _dtype(v) != _KEYS) for v in self.inputs
        ]
        results = [(registers[id(v)], _dtype(v)) for v in self.outputs]
        made: Callable[..., Any] = native.make(operands, constants, steps, results, shape)
        return made

    def registers(self) -> tuple[dict[int, int], list[Literal]]:
        """The numbers of the registers by the ids of what they hold, and the constants.

        Operands come first, then constants, then the results of steps.
        """
        atoms = [a for _, eqn in self.equations for a in eqn.invars]
        literals = list({id(a): a for a in atoms if type(a) is Literal}.values())
        made = [eqn.outvars[0] for _, eqn in self.equations]
        return {id(a): i for i, a in enumerate((*self.inputs, *literals, *made))}, literals


def single_operation(
    name: Operation | None, avals: Sequence[Any], constants: Sequence[int] = (), dtype: Any = None
) -> Callable[..., Any] | None:
    """A compiled operation on arrays of these avals alone, `None` where its twin is to work.

    Args:
        name: of an operation of chains, or of another one, for which there is nothing; or a
            function of NumPy.
        avals: of the operands, which are of one shape or without axes.
        constants: the words of further operands.
        dtype: of the result; that of the operands, if left out.
    """
    if name not in OPERATIONS and not (OPERATIONS and isinstance(name, np.ufunc)):
        return None
    assert name is not None, "it is one of them"
    step = (name, tuple(range(len(avals) + len(constants))), dtype or avals[0].dtype)
    return steps_in_one([step], avals, [(word, 4) for word in constants])


def steps_in_one(
    steps: Sequence[tuple[Operation, tuple[int, ...], Any]],
    avals: Sequence[Any],
    constants: Sequence[tuple[int, int]],
) -> Callable[..., Any] | None:
    """Compiled operations, of the last of which comes the result.

    Args:
        steps: the operation of each, what it reads and its dtype.  Operands are numbered first,
            then constants, then steps.
        avals: of the operands; `None` is given where they are not of one shape or without axes.
        constants: the bits of each, and of how many bytes it is.
    """
    shape = max([x.shape for x in avals], key=len)
    if not OPERATIONS or any([x.shape not in (shape, ()) for x in avals]):
        return None
    operands = [(_DTYPES[dtype_name(x.dtype)], x.shape == shape) for x in avals]
    numbered = [(name, reads, _DTYPES[dtype_name(dtype)]) for name, reads, dtype in steps]
    result = len(avals) + len(constants) + len(steps) - 1, numbered[-1][2]
    made: Callable[..., Any] = native.make(operands, constants, numbered, [result], shape)
    return made


@cache
def dtype_name(dtype: Any) -> str:
    """The name of a dtype, which NumPy puts together each time."""
    return str(dtype)


def _dtype(v: Var) -> int:
    return _DTYPES.get(dtype_name(aval_of(v).dtype), _KEYS)


def _bits_of(literal: Literal) -> tuple[int, int]:
    """The bits of a number as registers have it, and of how many bytes it is."""
    return bits_of(np.asarray(literal.val, literal.aval.dtype))


def bits_of(number: np.ndarray[Any, Any]) -> tuple[int, int]:
    """The same of a number in NumPy."""
    if number.dtype in _NARROW:
        number = number.astype(np.float32)
    if number.itemsize == 8:
        return int(number.view(np.uint64)), 8
    return int(number) if number.dtype == bool else int(number.view(np.uint32)), 4


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
        is_chain = len(run) >= _SHORTEST or any([name and _is_narrow(eqn) for name, eqn in run])
        chain = _chain(run, read) if is_chain else None
        parts += [eqn for _, eqn in run] if chain is None else [chain] if chain.outputs else []
        read.update([v for _, eqn in run for v in eqn.invars if type(v) is Var])
    return parts[::-1]


def _is_narrow(eqn: Equation) -> bool:
    """Whether NumPy would make arrays of float32 for each operation."""
    return any([aval_of(a).dtype in _NARROW for a in (*eqn.invars, *eqn.outvars)])


def chain_of_one(eqn: Equation) -> Chain | None:
    """An operation that chains have, which reads operands where they repeat."""
    name = operation_of(eqn)
    return None if name is None else _chain([(name, eqn)], {*eqn.outvars})


def operation_of(eqn: Equation) -> str | None:
    """The name of the compiled operation that an equation is, if there is one."""
    fused = eqn.primitive.fused
    if fused is None or not OPERATIONS:
        return None
    name: str | None = fused(*[a.aval for a in eqn.invars], **eqn.params)
    return name if name in OPERATIONS else None


def loop_of(eqn: Equation) -> np.ufunc | None:
    """The function of NumPy of floats of one dtype that an equation is, if its kernel is one.

    Narrow floats are computed as float32 and rounded once (`lax.ground.narrow`).
    """
    if len(eqn.outvars) != 1 or eqn.primitive.kernel is None:
        return None
    avals = [aval_of(a) for a in eqn.invars]
    return loop_of_floats(eqn.primitive.kernel, avals, aval_of(eqn.outvars[0]).dtype, eqn.params)


def loop_of_floats(
    kernel: Callable[..., Any], avals: Sequence[Any], dtype: Any, params: Mapping[str, Any]
) -> np.ufunc | None:
    """The function of NumPy that a kernel is, if it is one of floats of one dtype."""
    wide = _FLOATS.get(dtype)
    if wide is None or not avals or any([aval.dtype != dtype for aval in avals]) or not OPERATIONS:
        return None
    made = kernel(*[aval.update(dtype=wide) for aval in avals], **params)
    if not isinstance(made, np.ufunc) or made.signature is not None:
        return None
    return made if f"{wide.char * made.nin}->{wide.char}" in made.types else None


def _chain(run: Sequence[tuple[Operation, Equation]], read_later: Set[Any]) -> Chain:
    made = dict.fromkeys([eqn.outvars[0] for _, eqn in run])
    atoms = [a for _, eqn in run for a in eqn.invars]
    inputs = dict.fromkeys([a for a in atoms if type(a) is Var and a not in made])
    return Chain(tuple(run), tuple(inputs), tuple([v for v in made if v in read_later]))
