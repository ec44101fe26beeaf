"""The primitive `shard_map`: a program that each device of a mesh runs on its part.

The transformations of it are programs of members too.  What they need of each other, such as the
residuals of a derivative, leaves one program and enters the other as parts: a residual that varies
over axes of the mesh is split over them along its first axis.

Derivatives follow from types.  A cotangent enters split as the result is, and leaves split as the
operand is; that an operand which is the same for all members has the sum of their cotangents is
said inside the program, by the transpose of `pvary`.  With ``check_vma=False`` types do not tell.
Then the cotangent of a result that is taken from one of n members is parted among them, a share of
1/n for each, and the cotangents of an operand are summed over all that have read it.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from itertools import compress
from typing import TYPE_CHECKING, Any, final

from ...array import Array
from ...control.bodies.reference_values import write_back
from ...control.calls import program_of, split_tangents
from ...control.checks.checkify_bodies import HasCheckedForm
from ...control.closing import converted_results
from ...control.plans import plan_of
from ...control.program_call import HoldsProgram
from ...core import (
    AbstractValue,
    BatchAxes,
    Equation,
    Jaxpr,
    Operand,
    Param,
    apply_jaxpr,
    aval_of,
    call_program,
    captures_as_operands,
    discharge,
    is_undefined_primal,
    is_zero,
    jaxpr_axis_names,
    operands_as_captures,
    values_of,
)
from ...core.partition_spec import PartitionSpec
from ...engines.engine import Options
from ...engines.reference.eager import RunsOnArrays
from ...engines.xla.members import member_program
from ...engines.xla.mesh_axes import MeshAxes
from ...engines.xla.stablehlo import Builder, Value
from ...lax.reference.ref_binding import TakesReferences
from ...runtime.current_mesh import get_mesh
from ...runtime.mesh import Mesh
from ...runtime.named_sharding import NamedSharding
from ...runtime.places import Places
from ...transforms.batching import open_batch
from ...transforms.jvp import open_jvp
from ...transforms.linearize import Linearization
from ...transforms.staged_linearization import linearize_jaxpr
from ...transforms.transposition import TransposeFragment, open_transpose
from ...util.messages import message
from .batches import dealt, must_be_whole, split_along, unsplit, with_axes
from .checked_members import check_members
from .passing import Parts, gathered_parts, given_parts, shared_cotangents
from .scope import member_scope
from .specs import AnyMesh, Members, Specs, check_joined, check_shards

if TYPE_CHECKING:
    from ...control.checks.checked_programs import Interpreter

_WHOLE = PartitionSpec()


@final
class ShardMap(TakesReferences, HoldsProgram, HasCheckedForm, RunsOnArrays):
    """Apply `jaxpr` on each device of a mesh to its parts of the operands.

    Params:
        jaxpr: the program of a member.
        mesh: the devices, or their axes alone.
        in_specs: for each operand, how it is split over the mesh.
        out_specs: for each result, how the parts are joined.
        manual_axes: the axes of the mesh along which there are members; the compiler splits the
            work of each over the others.
        check_vma: whether types say over which axes values vary.
    """

    name = "shard_map"

    def abstract_eval(
        self,
        *avals: AbstractValue,
        jaxpr: Jaxpr,
        mesh: AnyMesh,
        in_specs: Specs,
        out_specs: Specs,
        manual_axes: frozenset[Hashable],
        check_vma: bool,
    ) -> list[Any]:
        members = Members(mesh, manual_axes, check_vma)
        check_shards(avals, jaxpr.in_avals, in_specs, members)
        if check_vma:
            check_joined(jaxpr.out_avals, out_specs, members)
        each = zip(jaxpr.out_avals, out_specs, strict=True)
        return [members.whole(aval, spec) for aval, spec in each]

    def axis_names(self, *, jaxpr: Jaxpr, manual_axes: frozenset[Hashable], **_: Param) -> Any:
        """Those of axes around it: its own are nobody else's business."""
        return tuple([name for name in jaxpr_axis_names(jaxpr) if name not in manual_axes])

    def runs_on(self, *, mesh: AnyMesh, **_: Param) -> Sequence[NamedSharding]:
        return [NamedSharding(mesh, _WHOLE)] if isinstance(mesh, Mesh) else []

    def discharge(self, *operands: Operand, **params: Any) -> list[Any]:
        """What members leave in their parts of a reference makes its new value."""
        program, changed = discharge(params["jaxpr"])
        in_specs = params["in_specs"]
        out_specs = (*params["out_specs"], *[in_specs[i] for i in changed])
        params |= {"jaxpr": program, "out_specs": out_specs}
        return write_back(self.bind(*values_of(operands), **params), operands, changed)

    def jvp(
        self, primals: Sequence[Operand], tangents: Sequence[Operand], **params: Param
    ) -> tuple[list[Any], list[Any]]:
        active = [not is_zero(t) for t in tangents]
        jaxpr, in_specs, out_specs = params["jaxpr"], params["in_specs"], params["out_specs"]
        with _scope(params):
            fragment = open_jvp(jaxpr, tuple(active))
        given = [t for t in tangents if not is_zero(t)]
        results = self._apply(
            fragment.jaxpr,
            [*primals, *given],
            (*in_specs, *_where(in_specs, active)),
            (*out_specs, *_where(out_specs, fragment.out_active)),
            params,
        )
        avals = [aval_of(x) for x in results[: len(jaxpr.outvars)]]
        return split_tangents(results, fragment.out_active, avals)

    def linearize(
        self, avals: Sequence[Any], active: tuple[bool, ...], params: dict[str, Param]
    ) -> Linearization:
        jaxpr, in_specs, out_specs = params["jaxpr"], params["in_specs"], params["out_specs"]
        with _scope(params):
            inner = linearize_jaxpr(jaxpr, active)
        assert inner.forward is not None, "a program is split, it is not run"
        members, count = _members(params), len(out_specs)
        parts = Parts.of(inner.forward, count, in_specs, *members)
        tangent_specs = _where(in_specs, active)
        result_specs = _where(out_specs, inner.out_active)

        def linear() -> Jaxpr:
            with _scope(params):
                program = given_parts(inner.linear, parts.stacked)
            return self._call(program, (*parts.specs, *tangent_specs), result_specs, params)

        def transpose(ct_active: tuple[bool, ...]) -> TransposeFragment:
            with _scope(params):
                fragment = inner.transposed(ct_active)
            call = self._transposed_call(
                fragment, parts, _where(result_specs, ct_active), tangent_specs, params
            )
            return fragment._replace(jaxpr=call)

        with _scope(params):
            program = gathered_parts(inner.forward, count, parts)
        own_specs = [spec for spec, _ in parts.own]
        forward = self._call(program, in_specs, (*out_specs, *own_specs), params)
        return Linearization(
            parts.forwarding(forward, count),
            linear,
            inner.out_active,
            inner.num_residuals,
            transpose=transpose,
        )

    def transpose(self, cts: Sequence[Operand], *operands: Operand, **params: Param) -> list[Any]:
        linear = tuple([is_undefined_primal(x) for x in operands])
        ct_active = tuple([not is_zero(ct) for ct in cts])
        in_specs, known = params["in_specs"], [not lin for lin in linear]
        with _scope(params):
            fragment = open_transpose(params["jaxpr"], linear, ct_active)
        active = [on for on, lin in zip(fragment.active, linear, strict=True) if lin]
        call = self._transposed_call(
            fragment._replace(active=(*[False] * known.count(True), *active)),
            Parts.as_they_are(_where(in_specs, known)),
            _where(params["out_specs"], ct_active),
            _where(in_specs, linear),
            params,
        )
        captured_call, captured = captures_as_operands(call)
        values = [x for x, on in zip(operands, known, strict=True) if on]
        given = [ct for ct in cts if not is_zero(ct)]
        results = iter(apply_jaxpr(captured_call, *captured, *values, *given))
        return [next(results) if on else None for on in fragment.active]

    def batch(
        self,
        axes: BatchAxes,
        operands: Sequence[Operand],
        dims: tuple[int | None, ...],
        **params: Param,
    ) -> tuple[list[Any], Sequence[int | None]]:
        """Each member has its part of all arrays of the batch; batch axes stay where they are.

        Members along the axes that `spmd_axis_name` names have different arrays.
        """
        if axes.name in params["manual_axes"]:
            axes = replace(axes, name=None)
        members = _members(params)
        if must_be_whole(axes, params["jaxpr"], members):
            whole = unsplit(axes, members)
            outs, out_dims = self.batch(whole, split_along(whole, operands, dims), dims, **params)
            return split_along(axes, outs, out_dims), out_dims
        specs = (*params["in_specs"], *params["out_specs"])
        names, axes = dealt(axes, params["jaxpr"], specs, members)
        with _scope(params):
            fragment = open_batch(params["jaxpr"], dims, axes)
        in_specs = with_axes(params["in_specs"], dims, names)
        out_specs = with_axes(params["out_specs"], fragment.out_dims, names)
        outs = self._apply(fragment.jaxpr, operands, in_specs, out_specs, params)
        return outs, fragment.out_dims

    def apply_checked(
        self, interpreter: Interpreter, eqn: Equation, operands: Sequence[Operand]
    ) -> list[Any]:
        return check_members(interpreter, eqn, operands, _members(eqn.params))

    def execute(self, *operands: Array, **params: Param) -> list[Array]:
        mesh = _devices(params["mesh"], operands)
        places = _placed(mesh, operands, params)
        program = program_of(self, tuple(params.items()), tuple([x.aval for x in operands]))
        name = params["jaxpr"].debug_info.function_name
        return plan_of(program, Options(name, (), False, ()), places).run(operands, True)

    def lower(
        self,
        b: Builder,
        outs: Sequence[Any],
        *operands: Value,
        jaxpr: Jaxpr,
        mesh: AnyMesh,
        in_specs: Specs,
        out_specs: Specs,
        manual_axes: frozenset[Hashable],
        **_: Param,
    ) -> list[Value]:
        return member_program(
            b,
            MeshAxes(mesh.axis_names, mesh.axis_sizes),
            manual_axes,
            jaxpr.in_avals,
            outs,
            in_specs,
            out_specs,
            operands,
            lambda inner, *values: inner.inline(jaxpr, *values),
        )

    def _apply(
        self,
        program: Jaxpr,
        operands: Sequence[Operand],
        in_specs: Specs,
        out_specs: Specs,
        params: dict[str, Param],
    ) -> list[Any]:
        """Bind the operation to another program, which may be open."""
        closed, captured = captures_as_operands(program)
        closed = _joinable(closed, out_specs, params)
        in_specs = (*[_WHOLE] * len(captured), *in_specs)
        named = {"jaxpr": closed, "in_specs": in_specs, "out_specs": tuple(out_specs)}
        return self.bind(*captured, *operands, **params | named)

    def _call(
        self, program: Jaxpr, in_specs: Specs, out_specs: Specs, params: dict[str, Param]
    ) -> Jaxpr:
        """A program that consists of one call of `program`; it is open if that is."""
        closed, captured = captures_as_operands(program)
        closed = _joinable(closed, out_specs, params)
        in_specs = (*[_WHOLE] * len(captured), *in_specs)
        members = _members(params)
        avals = [
            members.whole(aval, spec) for aval, spec in zip(closed.in_avals, in_specs, strict=True)
        ]
        named = {"jaxpr": closed, "in_specs": in_specs, "out_specs": tuple(out_specs)}
        return operands_as_captures(call_program(self, avals, params | named), captured)

    def _transposed_call(
        self,
        fragment: TransposeFragment,
        parts: Parts,
        ct_specs: Specs,
        linear_specs: Specs,
        params: dict[str, Param],
    ) -> Jaxpr:
        """A call of a transposed program: known values, then cotangents → cotangents."""
        result_specs = _of_cotangents(_where(linear_specs, fragment.active[len(parts.specs) :]))
        ct_specs = _of_cotangents(ct_specs)
        mesh, manual_axes, in_types = _members(params)
        with _scope(params):
            program = given_parts(fragment.jaxpr, parts.stacked)
            if not in_types:
                program = shared_cotangents(program, ct_specs, result_specs, mesh, manual_axes)
        return self._call(program, (*parts.specs, *ct_specs), result_specs, params)


shard_map_p = ShardMap()


def _members(params: dict[str, Any]) -> Members:
    return Members(params["mesh"], params["manual_axes"], params["check_vma"])


def _joinable(program: Jaxpr, specs: Specs, params: dict[str, Any]) -> Jaxpr:
    """A program whose results vary over the axes that specs name, if they are constants too."""
    members = _members(params)
    if not members.check_vma:
        return program
    types = [
        aval.update(vma=aval.vma.union(members.mesh.in_types(spec.all_names)))
        for aval, spec in zip(program.out_avals, specs, strict=True)
    ]
    with _scope(params):
        return converted_results(program, types)


def _scope(params: dict[str, Any]) -> AbstractContextManager[None]:
    return member_scope(_members(params))


def _of_cotangents(specs: Specs) -> Specs:
    return tuple([s.update(unreduced=s.reduced, reduced=s.unreduced) for s in specs])


def _where(specs: Sequence[PartitionSpec], mask: Sequence[bool]) -> Specs:
    return tuple(compress(specs, mask))


def _devices(mesh: AnyMesh, operands: Sequence[Array]) -> Mesh:
    """The mesh with its devices: those of the current mesh, or where an operand is.

    Raises:
        ValueError: if nothing says which devices they are.
    """
    if isinstance(mesh, Mesh):
        return mesh
    known = [x.sharding.mesh for x in operands if isinstance(x.sharding, NamedSharding)]
    for found in (get_mesh(), *known):
        if isinstance(found, Mesh) and found.shape_tuple == mesh.shape_tuple:
            return found
    raise ValueError(
        message(
            "shard_map, argument mesh",
            given=f"{mesh!r}, and no operand that lies over such devices",
            expected="a mesh of devices",
            fix="Make one by jax.make_mesh, and pass it, or call the function under "
            "`with jax.set_mesh(mesh):`.",
        )
    )


def _placed(mesh: Mesh, operands: Sequence[Array], params: dict[str, Any]) -> Places:
    """Operands that lie on the devices stay as they are; others are split as the specs say."""
    whole = NamedSharding(mesh, _WHOLE)
    taken = []
    for i, (x, spec) in enumerate(zip(operands, params["in_specs"], strict=True)):
        lies = x.place.own_memory if x.committed else None
        if lies is not None and lies.device_assignment != whole.device_assignment:
            raise ValueError(
                message(
                    f"shard_map, argument {params['jaxpr'].debug_info.argument_name(i)}",
                    given=f"an array that is committed to {lies!r}",
                    expected=f"one over the devices of {mesh!r}, in their order",
                    fix="Move it there with jax.device_put(x, jax.NamedSharding(mesh, spec)).",
                )
            )
        taken.append(NamedSharding(mesh, spec) if lies is None else lies)
    # Over axes without members the compiler splits as it likes.
    is_all = params["manual_axes"] == frozenset(mesh.axis_names)
    results = [NamedSharding(mesh, spec) if is_all else None for spec in params["out_specs"]]
    return Places.on_devices_of(whole, taken, results)
