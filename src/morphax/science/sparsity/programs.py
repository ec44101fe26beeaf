"""The pattern of a program: its equations are read once, from the first to the last.

Values that follow from constants by exact operations (positions, masks, index arithmetic) are
computed on the way, for the pattern depends on them: a gather with known indices moves known
elements.  Roundings are another matter, for the compiled program may round differently: no number
that has been rounded here decides on a pattern.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import chain
from typing import Any, final

import numpy as np

from ... import lax
from ...array import Array
from ...control.bodies.body_primitive import HasBodies
from ...control.branches.cond_primitive import cond_p
from ...control.checkpoint.checkpoint_primitive import checkpoint_p
from ...control.custom.custom_jvp import custom_jvp_call_p
from ...control.custom.custom_vjp_primitives import custom_vjp_call_p
from ...control.jit.jit_primitive import jit_p
from ...control.loops.scan_primitive import scan_p
from ...control.loops.while_derivatives import reversible_while_p
from ...control.loops.while_primitive import while_p
from ...core import AbstractRef, Atom, Equation, Jaxpr, Literal, Primitive, without_references
from ...lax.ground.families import Elementwise
from ...util.messages import message
from .flow import Flow, Known, Numbers, active_patterns, filled, size_of, sizes_of_results
from .loops import read_cond, read_scan, read_while
from .patterns import Pattern, identity, nothing, stacked
from .rules import all_on_all, rule_of


def pattern_of(jaxpr: Jaxpr, active: Sequence[bool]) -> Pattern:
    """Which elements of the active operands the elements of the results depend on.

    Args:
        jaxpr: the program.
        active: which operands are inputs; their elements are numbered one operand after the other.

    Raises:
        TypeError: if the program reads or writes references that are not its own.
        ValueError: if the pattern is too large to hold.
    """
    program = checked(jaxpr)
    return pattern_from(program, active, known_constants(program))


def checked(jaxpr: Jaxpr) -> Jaxpr:
    """The program without references of its own.

    Raises:
        TypeError: if it has others.
    """
    _check_no_references(jaxpr)
    return without_references(jaxpr)


def pattern_from(
    program: Jaxpr, active: Sequence[bool], constants: Mapping[Atom, Known | None]
) -> Pattern:
    """The pattern of a program without references, given all its constants and literals."""
    sizes = [a.size if on else 0 for a, on in zip(program.in_avals, active, strict=True)]
    starts = np.cumsum([0, *sizes])
    inputs = int(starts[-1])
    operands = [
        Flow(pattern=identity(size, int(start), inputs)) if on else Flow()
        for size, start, on in zip(sizes, starts, active, strict=False)
    ]
    results = Reader(inputs).follow(program, operands, constants)
    sized = zip(program.outvars, results, strict=True)
    return stacked([nothing(0, inputs), *[filled(flow, size_of(v), inputs) for v, flow in sized]])


def known_constants(program: Jaxpr, noted: set[int] | None = None) -> dict[Atom, Known | None]:
    """What is known of the constants and literals of a program, in this order.

    Args:
        program: the program.
        noted: where the numbers of those are noted whose values are read: the constants come first,
            then the literals as they occur.  Programs inside of others are the same object where
            they are the same, constants included, so of theirs nothing is noted.
    """
    values = [_constant(value) for value in program.consts]
    literals = literals_of(program)
    values += [_literal(literal) for literal in literals]
    atoms: list[Atom] = [*program.constvars, *literals]
    return {
        atom: None if value is None else Known(value, _sources(i, noted), noted)
        for i, (atom, value) in enumerate(zip(atoms, values, strict=True))
    }


def _sources(number: int, noted: set[int] | None) -> frozenset[int]:
    return frozenset() if noted is None else frozenset([number])


def literals_of(program: Jaxpr) -> list[Literal]:
    """The literals of the program itself, each once, as they occur."""
    atoms = [*chain.from_iterable([eqn.invars for eqn in program.eqns]), *program.outvars]
    return list(dict.fromkeys([a for a in atoms if type(a) is Literal]))


@final
class Reader:
    """Reads programs for the dependence of values on `inputs` numbers."""

    __slots__ = ("inputs",)

    def __init__(self, inputs: int) -> None:
        self.inputs = inputs

    def with_inputs(self, inputs: int) -> Reader:
        """A reader of programs with other inputs."""
        return Reader(inputs)

    def read(self, jaxpr: Jaxpr, operands: Sequence[Flow]) -> list[Flow]:
        """The flows of the results of a program inside of another one."""
        program = without_references(jaxpr)
        return self.follow(program, operands, known_constants(program))

    def follow(
        self, program: Jaxpr, operands: Sequence[Flow], constants: Mapping[Atom, Known | None]
    ) -> list[Flow]:
        """The flows of the results of a program, all of whose constants are given."""
        flows = {atom: Flow(value) for atom, value in constants.items()}
        flows.update(zip(program.invars, operands, strict=True))
        for eqn in program.eqns:
            results = self._results(eqn, [flows[a] for a in eqn.invars])
            flows.update(zip(eqn.outvars, results, strict=True))
        return [flows[atom] for atom in program.outvars]

    def _results(self, eqn: Equation, operands: Sequence[Flow]) -> list[Flow]:
        active = active_patterns(operands)
        primitive = eqn.primitive
        if program := _CALLS.get(primitive):
            return self.read(eqn.params[program], operands)
        if not active:
            return _computed(eqn, operands)
        if primitive is scan_p:
            return read_scan(self, eqn, operands)
        if primitive is cond_p:
            return read_cond(self, eqn, operands)
        if primitive in (while_p, reversible_while_p):
            return read_while(self, eqn, operands)
        found = all_on_all if isinstance(primitive, HasBodies) else rule_of(primitive)
        return [
            Flow(pattern=pattern if pattern is not None and pattern.nnz else None)
            for pattern in found(eqn, operands)
        ]


# What these compute is what the program in this parameter computes.
_CALLS: dict[Primitive, str] = {
    p: p.program for p in (jit_p, checkpoint_p, custom_jvp_call_p, custom_vjp_call_p)
}


def _literal(atom: Literal) -> Numbers | None:
    dtype = atom.aval.dtype
    return np.asarray(atom.val, dtype) if isinstance(dtype, np.dtype) else None


def _constant(value: Any) -> Numbers | None:
    """The value of a constant, if it is one: it may be a tracer of an outer program."""
    if isinstance(value, Array):
        return value.to_host() if isinstance(value.aval.dtype, np.dtype) else None
    return np.asarray(value) if isinstance(value, (np.ndarray, np.generic)) else None


# More than this takes longer to compute than a pattern gains by it.
_LARGEST_KNOWN = 10_000_000
_EXACT_MOVES = frozenset(
    [
        lax.broadcast_in_dim_p,
        lax.concatenate_p,
        lax.copy_p,
        lax.dynamic_slice_p,
        lax.dynamic_update_slice_p,
        lax.gather_p,
        lax.iota_p,
        lax.pad_p,
        lax.reshape_p,
        lax.rev_p,
        lax.slice_p,
        lax.split_p,
        lax.squeeze_p,
        lax.stack_p,
        lax.tile_p,
        lax.transpose_p,
        lax.unstack_p,
    ]
)
_EXACT_ON_INTEGERS = frozenset(
    [
        lax.argmax_p,
        lax.argmin_p,
        lax.convert_element_type_p,
        lax.cummax_p,
        lax.cummin_p,
        lax.cumsum_p,
        lax.reduce_max_p,
        lax.reduce_min_p,
        lax.reduce_sum_p,
        lax.scatter_add_p,
        lax.scatter_p,
        lax.sort_p,
    ]
)
_COMPARISONS = frozenset([lax.eq_p, lax.ge_p, lax.gt_p, lax.le_p, lax.lt_p, lax.ne_p])


def _computed(eqn: Equation, operands: Sequence[Flow]) -> list[Flow]:
    """The results of an operation that depends on no input: known, if they are exact."""
    unknown = [Flow()] * len(eqn.outvars)
    known = [flow.known for flow in operands if flow.known is not None]
    if len(known) < len(operands) or not _is_exact(eqn, known):
        return unknown
    if sum(sizes_of_results(eqn)) > _LARGEST_KNOWN:
        return unknown

    def evaluate(*values: Numbers) -> Sequence[Any]:
        with np.errstate(all="ignore"):
            results = eqn.primitive.evaluate(*values, **eqn.params)
        return results if eqn.primitive.multiple_results else [results]

    return [Flow(value) for value in Known.computed(evaluate, known)]


def _is_exact(eqn: Equation, operands: Sequence[Known]) -> bool:
    """Whether both engines compute the same, to the last bit."""
    primitive = eqn.primitive
    if primitive in _EXACT_MOVES or primitive in _COMPARISONS or primitive is lax.select_n_p:
        return True
    of_integers = all([value.dtype.kind in "biu" for value in operands])
    return of_integers and (isinstance(primitive, Elementwise) or primitive in _EXACT_ON_INTEGERS)


def _check_no_references(jaxpr: Jaxpr) -> None:
    for v in jaxpr.constvars:
        if type(v.aval) is AbstractRef:
            raise TypeError(
                message(
                    "sparse derivatives, the function",
                    given=f"a program that uses a reference from outside, {v.aval}",
                    expected="a program whose references are its own",
                    fix="Pass what the reference holds, ref[...], to the function.",
                )
            )
