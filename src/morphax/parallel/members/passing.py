"""What programs of members pass to each other: residuals and cotangents.

A residual leaves the program that computes it as parts, and enters others as such.  One that varies
over axes of the mesh is split over them along its first axis, for which a number is given one.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any, NamedTuple, final

from ...core import Atom, Jaxpr, Literal, Operand, apply_jaxpr, stage_open
from ...core.partition_spec import PartitionSpec
from ...lax.elementwise.arithmetic import div
from ...lax.shape.shape_operations import expand_dims, squeeze
from ..reductions import psum
from .specs import AnyMesh, Specs

_WHOLE = PartitionSpec()


@final
class Parts(NamedTuple):
    """How residuals are passed.

    Args:
        specs: of each.
        stacked: which are numbers that vary, and are passed with an axis.
        operands: the number of the operand that a residual is, `None` if it is computed.
        computed: the number of each among those that are computed.
        atoms: those that are computed, in the program that does.
    """

    specs: Specs
    stacked: tuple[bool, ...]
    operands: tuple[int | None, ...] = ()
    computed: tuple[int, ...] = ()
    atoms: tuple[Atom, ...] = ()

    @classmethod
    def of(
        cls,
        forward: Jaxpr,
        count: int,
        in_specs: Specs,
        mesh: AnyMesh,
        manual_axes: frozenset[Hashable],
        in_types: bool,
    ) -> Parts:
        """The residuals of a program, which follow `count` results."""
        numbers = {v: i for i, v in enumerate(forward.invars)}
        atoms: dict[Atom, int] = {}
        rows: list[tuple[PartitionSpec, bool, int | None, int]] = []
        for atom in forward.outvars[count:]:
            number = None if type(atom) is Literal else numbers.get(atom)
            if number is not None:
                rows.append((in_specs[number], False, number, 0))
                continue
            aval: Any = atom.aval
            over = _varies_over(atom, manual_axes, in_types)
            axes = tuple([name for name in mesh.axis_names if name in over])
            spec = PartitionSpec(axes) if axes else _WHOLE
            place = atoms.setdefault(atom, len(atoms))
            rows.append((spec, bool(axes) and not aval.shape, None, place))
        return cls(
            specs=tuple([row[0] for row in rows]),
            stacked=tuple([row[1] for row in rows]),
            operands=tuple([row[2] for row in rows]),
            computed=tuple([row[3] for row in rows]),
            atoms=tuple(atoms),
        )

    @classmethod
    def as_they_are(cls, specs: Specs) -> Parts:
        """Operands of these specs."""
        return cls(specs, (False,) * len(specs))

    @property
    def own(self) -> list[tuple[PartitionSpec, bool]]:
        """Specs of those that are computed, and whether they are passed with a further axis."""
        each = zip(self.specs, self.stacked, self.operands, self.computed, strict=True)
        found = {place: (spec, on) for spec, on, number, place in each if number is None}
        return [found[place] for place in range(len(self.atoms))]

    def forwarding(self, call: Jaxpr, count: int) -> Jaxpr:
        """A call that gives results and what is computed, as one that gives all residuals."""
        residuals = [
            call.outvars[count + place] if number is None else call.invars[number]
            for number, place in zip(self.operands, self.computed, strict=True)
        ]
        return call.replace(outvars=(*call.outvars[:count], *residuals))


def _varies_over(
    atom: Atom, manual_axes: frozenset[Hashable], in_types: bool
) -> frozenset[Hashable]:
    if in_types:
        aval: Any = atom.aval
        return aval.vma & manual_axes
    return frozenset() if type(atom) is Literal else manual_axes


def gathered_parts(forward: Jaxpr, count: int, parts: Parts) -> Jaxpr:
    """The program that gives `count` results, and then what it computes of the residuals."""
    program = forward.replace(outvars=(*forward.outvars[:count], *parts.atoms))
    stacked = [on for _, on in parts.own]
    if True not in stacked:
        return program

    def function(*operands: Operand) -> list[Any]:
        outs = apply_jaxpr(program, *operands)
        own = zip(outs[count:], stacked, strict=True)
        return [*outs[:count], *[expand_dims(x, (0,)) if on else x for x, on in own]]

    return stage_open(function, program.in_avals, program.debug_info)


def given_parts(program: Jaxpr, stacked: Sequence[bool]) -> Jaxpr:
    """A program whose first operands, residuals, come with a further axis where `stacked`."""
    if True not in stacked:
        return program
    avals = list(program.in_avals)
    for i, on in enumerate(stacked):
        if on:
            avals[i] = avals[i].update(shape=(1,))

    def function(*operands: Operand) -> list[Any]:
        given = list(operands)
        for i, on in enumerate(stacked):
            if on:
                given[i] = squeeze(given[i], (0,))
        return apply_jaxpr(program, *given)

    return stage_open(function, avals, program.debug_info)


def shared_cotangents(
    program: Jaxpr,
    ct_specs: Specs,
    result_specs: Specs,
    mesh: AnyMesh,
    manual_axes: frozenset[Hashable],
) -> Jaxpr:
    """A transposed program where types do not say what varies.

    The cotangent of a result that one of n members gave is shared among all, 1/n for each; those of
    an operand that all have read are summed.

    Args:
        program: known values, and cotangents behind them → cotangents.
        ct_specs, result_specs: how cotangents are split.
        mesh: the mesh.
        manual_axes: the axes along which there are members.
    """

    def unnamed(spec: PartitionSpec) -> tuple[Hashable, ...]:
        rest = manual_axes - spec.all_names
        return tuple([name for name in mesh.axis_names if name in rest])

    def function(*operands: Operand) -> list[Any]:
        known = len(operands) - len(ct_specs)
        cts = [
            _share(ct, mesh.parts(unnamed(spec)))
            for ct, spec in zip(operands[known:], ct_specs, strict=True)
        ]
        results = apply_jaxpr(program, *operands[:known], *cts)
        return [
            psum(x, unnamed(spec)) if unnamed(spec) else x
            for x, spec in zip(results, result_specs, strict=True)
        ]

    return stage_open(function, program.in_avals, program.debug_info)


def _share(ct: Operand, members: int) -> Any:
    return ct if members == 1 else div(ct, members)
