"""Runs of operations on few numbers, which a compiled function computes without arrays between.

Of an eager call on ten numbers most time goes into the arrays around NumPy's loops.  Where
operations on numbers of 32 or 64 bits follow one another in a program,
`native/small_programs.cpp` does them on plain memory:

- elementwise operations that chains have (`fusion.py`), and those whose kernel is a function of
  NumPy, by NumPy's own inner loop;
- *moves* (`Primitive.moves`): operations whose results consist of elements of their operands.
  Which ones, `evaluate` itself tells when it is given their numbers.  Parts that lie in a row are
  read where they are, and moves of moves are one;
- *windows* (`Primitive.windows`), whose elements are taken or replaced where numbers say;
- sums and products as NumPy's `reduce` calls its loops, and what is exact in any order.

So numbers have the bits of single operations.  Its twin are the kernels of these.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, final

import numpy as np

from ...core import Atom, Equation, Literal, Var, aval_of
from ...util.compiled import part
from ...util.records import dataclass
from .fusion import (
    DRAWS,
    OPERATIONS,
    Chain,
    bits_of,
    chains,
    dtype_name,
    loop_of,
    operation_of,
)
from .windows import STARTS, Windows

native: Any = part("small_programs")
_MOST_ELEMENTS = 1024
_FLOATS = frozenset(map(np.dtype, ("float32", "float64")))
_BOOL = np.dtype(np.bool_)
_WORDS = frozenset(map(np.dtype, ("float32", "int32", "uint32")))
_PAIRS = frozenset(map(np.dtype, ("float64", "int64", "uint64")))
_DTYPES = _WORDS | _PAIRS | {_BOOL}
# Operations of chains that leave the words as they are.
_UNCHANGED = frozenset(
    [f"{a}_as_{b}" for alike in (_WORDS, _PAIRS) for a in alike for b in alike]
    + [f"{a}_of_{a}" for a in _DTYPES]
    + ["int32_of_bool", "uint32_of_bool"]
)

# What is rounded depends on the order, and NumPy's is to be kept.
_ROUNDED = {"add": np.add, "mul": np.multiply}
_NONE: tuple[str, Any, Sequence[int]] = "", None, ()

Step = tuple[Any, ...]


@final
@dataclass(frozen=True)
class SmallProgram:
    """Equations that follow one another, on few numbers.

    Args:
        equations: in their order.
        inputs: what they read of others.
        outputs: the results that others read.
    """

    equations: tuple[Equation, ...]
    inputs: tuple[Var, ...]
    outputs: tuple[Var, ...]

    def kernel(self) -> Callable[..., Any]:
        """A function of the arrays of `inputs`, whose result is that of `outputs`."""
        registers = _Registers(self.inputs, self.equations)
        for eqn in self.equations:
            registers.add(eqn)
        results = [(registers.of(v), aval_of(v).dtype.num, aval_of(v).shape) for v in self.outputs]
        operands = [(aval_of(v).size, aval_of(v).dtype.itemsize) for v in self.inputs]
        made: Callable[..., Any] = native.make(
            operands, registers.constants, registers.steps, results
        )
        return made


@final
class _Registers:
    """The steps of a program, and where the numbers of each variable are.

    Args:
        inputs, equations: of the program.
    """

    def __init__(self, inputs: Sequence[Var], equations: Sequence[Equation]) -> None:
        self.constants: list[tuple[int, int]] = []
        self.steps: list[Step] = []
        self._sizes = [aval_of(v).size for v in inputs]
        self._bytes = [_bytes_of(aval_of(v).dtype) for v in inputs]
        # Of each element of a variable the register, and the place in it.
        self._elements: dict[int, np.ndarray[Any, Any]] = {}
        self._whole: dict[int, int] = {}
        self._repeated: dict[tuple[int, int], int] = {}
        for i, v in enumerate(inputs):
            self._is_register(v, i)
        for atom in [a for eqn in equations for a in eqn.invars]:
            if type(atom) is Literal and id(atom) not in self._whole:
                self.constants.append(bits_of(np.asarray(atom.val, atom.aval.dtype)))
                self._sizes.append(1)
                self._bytes.append(self.constants[-1][1])
                self._is_register(atom, len(self._sizes) - 1)

    def add(self, eqn: Equation) -> None:
        """Append what an equation does."""
        if eqn.primitive.moves:
            self._move(eqn)
            return
        (out,) = eqn.outvars
        x, *_ = eqn.invars
        windows = _windows(eqn)
        if windows is not None:
            self._is_register(out, self._append(self._step_of(windows, eqn)))
            return
        kind, operation, axes = _meaning(eqn)
        if kind == "unchanged":
            self._elements[id(out)] = self._elements[id(x)]
            return
        size, dtype = aval_of(out).size, aval_of(out).dtype
        result = size, _bytes_of(dtype)
        if kind in ("loop", "inner"):
            step: Step = kind, [self.of(a, size) for a in eqn.invars], *result, operation
        else:
            shape = aval_of(x).shape
            outer, along = math.prod(shape[: axes[0]]), math.prod([shape[a] for a in axes])
            step = kind, [self.of(x)], *result, operation, outer, along
            if kind == "reduce":
                step = *step, bits_of(np.asarray(operation.identity, dtype))[0]
        self._is_register(out, self._append(step))

    def of(self, atom: Atom, size: int | None = None) -> int:
        """The register of the numbers of a variable or literal; one number is repeated."""
        elements = self._elements[id(atom)]
        if size is not None and elements.shape[1] != size:
            repeated = self._repeated.get((id(atom), size))
            if repeated is None:
                repeated = self._copied(np.repeat(elements, size, 1))
                self._repeated[id(atom), size] = repeated
            return repeated
        known = self._whole.get(id(atom))
        if known is None:
            known = self._whole[id(atom)] = self._copied(elements)
        return known

    def _copied(self, elements: np.ndarray[Any, Any]) -> int:
        sources, places = elements
        first, start, size = int(sources[0]), int(places[0]), len(places)
        result = size, self._bytes[first]
        if (sources == first).all():
            if (places == np.arange(start, start + size)).all():
                is_whole = start == 0 and size == self._sizes[first]
                return first if is_whole else self._append(("part", [first], *result, start))
            if (places == start).all():
                one = self._copied(elements[:, :1])
                return self._append(("fill", [one], *result))
        operands, numbers = np.unique(sources, return_inverse=True)
        step = "take", operands.tolist(), *result, numbers.tolist(), places.tolist()
        return self._append(step)

    def _move(self, eqn: Equation) -> None:
        """Note which elements the results consist of, as `evaluate` moves their numbers."""
        given = [self._elements[id(a)] for a in eqn.invars]
        numbers, first = [], 0
        for a in eqn.invars:
            aval = aval_of(a)
            numbers.append(np.arange(first, first + aval.size, dtype=np.int32).reshape(aval.shape))
            first += aval.size
        moved = eqn.primitive.evaluate(*numbers, **eqn.params)
        elements = np.concatenate(given, 1)
        for v, result in zip(
            eqn.outvars, moved if eqn.primitive.multiple_results else [moved], strict=True
        ):
            self._elements[id(v)] = elements[:, np.asarray(result).ravel()]

    def _step_of(self, windows: Windows, eqn: Equation) -> Step:
        x, dtype = eqn.invars[0], aval_of(eqn.invars[0]).dtype
        starts = [self._elements[id(eqn.invars[i])] for i in windows.starts]
        whole = len(starts) == 1
        at = self.of(eqn.invars[windows.starts[0]]) if whole else self._copied(np.hstack(starts))
        places, numbers = windows.tables()
        operands, in_order = [self.of(x), at], np.arange(places.size)
        if windows.updates is not None:
            operands.append(self.of(eqn.invars[windows.updates]))
            # One after the other, window by window.
            in_order = np.argsort(numbers, kind="stable")
        fill, _ = bits_of(np.asarray(windows.fill, dtype))
        tables = [t.tolist() for t in (places[in_order], numbers[in_order], in_order)]
        result = aval_of(eqn.outvars[0]).size, _bytes_of(dtype)
        axes = windows.limits, windows.strides
        combine = _combination(windows, dtype)
        return "windows", operands, *result, combine, *tables, *axes, windows.moves, fill

    def _append(self, step: Step) -> int:
        self.steps.append(step)
        self._sizes.append(step[2])
        self._bytes.append(step[3])
        return len(self._sizes) - 1

    def _is_register(self, atom: Atom, register: int) -> None:
        size = self._sizes[register]
        self._whole[id(atom)] = register
        self._elements[id(atom)] = np.stack([np.full(size, register), np.arange(size)])


def _bytes_of(dtype: Any) -> int:
    """Of a number in a register, where truth values are words."""
    return max(4, dtype.itemsize)


def _combination(windows: Windows, dtype: Any) -> str:
    """The operation by which updates are combined with elements; empty if they replace these."""
    return f"{windows.combine}_{dtype_name(dtype)}" if windows.combine else ""


def _windows(eqn: Equation) -> Windows | None:
    """Which elements an equation takes or replaces, if a step can."""
    if eqn.primitive.windows is None:
        return None
    made: Windows | None = eqn.primitive.windows(*map(aval_of, eqn.invars), **eqn.params)
    if made is None:
        return None
    combine = _combination(made, aval_of(eqn.invars[0]).dtype)
    starts = {aval_of(eqn.invars[i]).dtype for i in made.starts}
    is_known = (not combine or combine in OPERATIONS) and starts <= STARTS and len(starts) == 1
    return made if is_known else None


def _meaning(eqn: Equation) -> tuple[str, Any, Sequence[int]]:
    """How a step computes an equation that moves nothing; an empty kind if none does."""
    primitive, x = eqn.primitive, aval_of(eqn.invars[0])
    if primitive.folds is not None:
        kind, operation, axes = primitive.folds(x, **eqn.params)
        in_a_row = bool(axes) and list(axes) == list(range(axes[0], axes[0] + len(axes)))
        if in_a_row and kind == "fold" and x.dtype in _FLOATS and operation in _ROUNDED:
            return "reduce", _ROUNDED[operation], axes
        name = f"{operation}_{dtype_name(x.dtype)}"
        if kind == "accumulate_wide" and name not in ("add_float32", "mul_float32"):
            return _NONE
        return (kind, name, axes) if in_a_row and name in OPERATIONS else _NONE
    name = operation_of(eqn) or ""
    if name in _UNCHANGED:
        return "unchanged", name, ()
    if name:
        return ("loop", name, ()) if name not in DRAWS else _NONE
    loop = loop_of(eqn)
    return _NONE if loop is None else ("inner", loop, ())


def _is_small(eqn: Equation) -> bool:
    """Whether a step computes an equation."""
    avals = [aval_of(a) for a in (*eqn.invars, *eqn.outvars)]
    if any([a.dtype not in _DTYPES or not 0 < a.size <= _MOST_ELEMENTS for a in avals]):
        return False
    if not eqn.invars or eqn.primitive.moves or _windows(eqn) is not None:
        return bool(eqn.invars)
    return _meaning(eqn)[0] != ""


def parts_of(
    equations: Sequence[Equation], results: Sequence[Atom], constants: Mapping[Var, Any]
) -> list[Equation | Chain | SmallProgram]:
    """The equations of a program in their order, with those that one call computes as one.

    Args:
        equations: of the program.
        results: of the program.
        constants: variables whose values are known; their equations are left out.
    """
    left = [eqn for eqn in equations if eqn.outvars[0] not in constants]
    sizes = [aval_of(v).size for eqn in left for v in eqn.outvars]
    draws = any([operation_of(eqn) in DRAWS for eqn in left])
    if native is None or draws or not sizes or min(sizes) == 0 or max(sizes) > _MOST_ELEMENTS:
        return list(chains(equations, results, constants))
    runs: list[tuple[bool, list[Equation]]] = []
    for eqn in left:
        small = _is_small(eqn)
        if not (runs and runs[-1][0] == small):
            runs.append((small, []))
        runs[-1][1].append(eqn)
    read: set[Any] = {v for v in results if type(v) is Var}
    found: list[Equation | Chain | SmallProgram] = []
    for small, run in reversed(runs):
        if small:
            program = _program(run, read)
            found += [program] if program.outputs else []
        else:
            found += reversed(chains(run, [*read], {}))
        read.update([v for eqn in run for v in eqn.invars if type(v) is Var])
    return found[::-1]


def _program(run: Sequence[Equation], read_later: set[Any]) -> SmallProgram:
    made = dict.fromkeys([v for eqn in run for v in eqn.outvars])
    atoms = [a for eqn in run for a in eqn.invars]
    inputs = dict.fromkeys([a for a in atoms if type(a) is Var and a not in made])
    return SmallProgram(tuple(run), tuple(inputs), tuple([v for v in made if v in read_later]))
