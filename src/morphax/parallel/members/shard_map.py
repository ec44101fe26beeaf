"""`shard_map`: a function of shards, run by each device of a mesh on its own."""

from __future__ import annotations

import functools
from collections.abc import Callable, Hashable, Sequence
from collections.abc import Set as AbstractSet
from contextvars import copy_context
from typing import Any, NamedTuple, TypeVar, final

from ... import tree
from ...control.remembered import remembered
from ...core import AbstractMesh, Jaxpr, Operand, aval_of, frames_hidden_in, stage_with_operands
from ...core.partition_spec import PartitionSpec
from ...core.varying import varying_over
from ...runtime.current_mesh import get_abstract_mesh, get_mesh
from ...runtime.mesh import Mesh
from ...transforms.flattening import (
    FlatFunction,
    argument_names,
    check_callable,
    check_values,
    debug_info,
    function_label,
    wraps,
)
from ...tree import PyTreeDef
from ...util.messages import described, message
from .asked_numbers import ask_for_numbers
from .scope import member_scope
from .shard_map_primitive import shard_map_p
from .specs import (
    AnyMesh,
    Infer,
    InferFromArgs,
    Members,
    Specs,
    check_addends,
    check_argument,
    check_result,
    check_specs,
    inferred_spec,
)
from .summands import check_summands

F = TypeVar("F", bound=Callable[..., Any])

_WHOLE = PartitionSpec()


def shard_map(
    f: F | None = None,
    /,
    *,
    out_specs: Any,
    in_specs: Any = Infer,
    mesh: AnyMesh | None = None,
    axis_names: AbstractSet[Hashable] = frozenset(),
    check_vma: bool = True,
) -> Any:
    """`f` as a function of whole arrays: each device of a mesh applies it to its own shards.

    Collectives such as `lax.psum` communicate over the axes of the mesh by their names.

    Args:
        f: function of shards, whose results are shards or the same for all members.  Without it,
            the result is a decorator.
        out_specs: for each result (a tree prefix) a `jax.P` that says along which axes the results
            of members are joined.  Along axes of the mesh that it does not name, all members must
            have the same.
        in_specs: for each positional argument (a tree prefix of the tuple) a `jax.P` that says how
            it is split; `None` for a leaf that is handed over as it is.  If left out, the types of
            the arguments say it, over a mesh of explicit axes.
        mesh: the devices; the current mesh (`jax.set_mesh`) if left out.
        axis_names: the axes of the mesh along which there are members, all if empty.  Over the
            others the compiler splits what each member does.
        check_vma: whether types say over which axes of the mesh values vary
            (``float32[2]{V:x}``).  It is checked by them that results are what `out_specs` says,
            and derivatives communicate only where they must.

    Returns:
        A function of whole arrays, by position.  It is compiled as one program.

    Raises:
        TypeError: `mesh` is no mesh, or a leaf of the specs is no `jax.P`.
        ValueError: a spec names axes that are not there or does not fit its argument, a size is
            not divisible, a result varies over an axis that its spec does not name, or there is no
            mesh.

    Example:
        >>> import morphax as jax
        >>> import morphax.numpy as jnp
        >>> mesh = jax.make_mesh((1,), ("x",))
        >>> @jax.shard_map(mesh=mesh, in_specs=jax.P("x"), out_specs=jax.P())
        ... def mean(shard):
        ...     return jax.lax.pmean(jnp.mean(shard), "x")
        >>> mean(jnp.arange(4.0))
        Array(1.5, dtype=float32)
    """
    if f is None:
        return functools.partial(
            shard_map,
            out_specs=out_specs,
            in_specs=in_specs,
            mesh=mesh,
            axis_names=axis_names,
            check_vma=check_vma,
        )
    check_callable("shard_map", f)

    @wraps(f)
    @frames_hidden_in
    def mapped(*args: Any) -> Any:
        members = Members(*_mesh_and_axes(mesh, axis_names), bool(check_vma))
        return _Mapped(f, in_specs, out_specs, members)(args)

    return mapped


@final
class _Mapped(NamedTuple):
    """A function, its specs, and who runs it."""

    function: Callable[..., Any]
    in_specs: Any
    out_specs: Any
    members: Members

    def __call__(self, args: tuple[Any, ...]) -> Any:
        leaves, in_tree = tree.flatten((args, {}))
        names = functools.partial(argument_names, self.function, in_tree)
        specs = self._argument_specs(args, leaves)
        # Leaves without a spec are no arrays for members, but part of the function.
        given = [x for x, spec in zip(leaves, specs, strict=True) if spec is not None]
        mask = tuple([spec is not None for spec in specs])
        kept = tuple([x for x, on in zip(leaves, mask, strict=True) if not on])
        check_values(f"shard_map of {function_label(self.function)}", names, given)
        in_specs = tuple([spec for spec in specs if spec is not None])
        avals = [aval_of(x) for x in given]
        for name, aval, spec in zip(_chosen(names, mask), avals, in_specs, strict=True):
            check_argument(name, aval, spec, self.members)
        program, captured = self._traced(given, avals, in_specs, in_tree, mask, kept)
        outs = shard_map_p.bind(
            *captured,
            *given,
            jaxpr=program.jaxpr,
            in_specs=(*[_WHOLE] * len(captured), *in_specs),
            out_specs=program.out_specs,
            **self.members._asdict(),
        )
        return program.out_tree.unflatten(outs)

    def _argument_specs(self, args: tuple[Any, ...], leaves: Sequence[Any]) -> list[Any]:
        mesh, manual_axes, _ = self.members
        if isinstance(self.in_specs, InferFromArgs):
            return [inferred_spec(aval_of(x), mesh, manual_axes) for x in leaves]
        # One spec stands for all arguments.
        prefix = tuple(self.in_specs) if type(self.in_specs) is list else self.in_specs
        specs = tree.broadcast_prefix(
            prefix,
            args,
            lambda x: x is None,
            where="shard_map",
            prefix_name="in_specs",
            full_name="args",
        )
        check_specs("in_specs", [s for s in specs if s is not None], mesh, manual_axes)
        return specs

    def _traced(
        self,
        arrays: Sequence[Operand],
        avals: Sequence[Any],
        in_specs: Specs,
        in_tree: PyTreeDef,
        mask: tuple[bool, ...],
        kept: tuple[Any, ...],
    ) -> tuple[_Program, list[Any]]:
        """The program of a member, and the tracers that it captures."""
        each = zip(avals, in_specs, strict=True)
        shards = tuple([self.members.part(aval, spec) for aval, spec in each])
        outside = copy_context()

        def trace() -> tuple[_Program, list[Any]]:
            flat = FlatFunction(self.function, in_tree, "shard_map")
            out_specs: list[PartitionSpec] = []

            def of_member(*operands: Operand) -> list[Any]:
                ask_for_numbers(arrays, in_specs, self.members, outside)
                given, rest = iter(operands), iter(kept)
                outs = flat(*[next(given) if on else next(rest) for on in mask])
                out_specs.extend(self._result_specs(flat.out_tree))
                self._check_results(flat.out_tree, outs, out_specs)
                if not self.members.check_vma:
                    return outs
                pairs = zip(outs, out_specs, strict=True)
                typed = self.members.mesh.in_types
                return [varying_over(x, typed(spec.all_names)) for x, spec in pairs]

            info = debug_info("shard_map", self.function, in_tree)
            with member_scope(self.members):
                jaxpr, captured = stage_with_operands(of_member, shards, info)
            if self.members.check_vma:
                check_summands(jaxpr, (*[_WHOLE] * len(captured), *in_specs), out_specs)
            return _Program(jaxpr, tuple(out_specs), flat.out_tree), captured

        signature = ("shard_map", shards, in_specs, mask, *self.members)
        return remembered((self.function,), signature, trace, (in_tree, kept, self.out_specs))

    def _result_specs(self, out_tree: PyTreeDef) -> list[Any]:
        specs = tree.flatten_axes("shard_map", out_tree, self.out_specs, "out_specs")
        check_specs("out_specs", specs, self.members.mesh, self.members.manual_axes)
        return specs

    def _check_results(
        self, out_tree: PyTreeDef, outs: Sequence[Any], specs: Sequence[PartitionSpec]
    ) -> None:
        label = function_label(self.function)
        paths = tree.leaves_with_path(out_tree.unflatten(range(out_tree.num_leaves)))
        for (path, _), x, spec in zip(paths, outs, specs, strict=True):
            aval = aval_of(x)
            varying = frozenset(self.members.mesh.in_types(aval.vma & self.members.manual_axes))
            name = f"{tree.keystr(path) or 'value'} of {label}"
            check_result(name, aval, spec, varying)
            if self.members.check_vma:
                check_addends(name, aval, spec)


@final
class _Program(NamedTuple):
    """What a function of shards was traced to."""

    jaxpr: Jaxpr
    out_specs: Specs
    out_tree: PyTreeDef


def _chosen(names: Callable[[], Sequence[str]], mask: Sequence[bool]) -> list[str]:
    return [name for name, on in zip(names(), mask, strict=True) if on]


def _mesh_and_axes(
    mesh: AnyMesh | None, axis_names: AbstractSet[Hashable]
) -> tuple[AnyMesh, frozenset[Hashable]]:
    """The mesh, and the axes along which there are to be members."""
    if mesh is not None and not isinstance(mesh, (Mesh, AbstractMesh)):
        raise TypeError(
            message(
                "shard_map, argument mesh",
                given=described(mesh),
                expected="a jax.sharding.Mesh or a jax.sharding.AbstractMesh",
                fix="Make one by jax.make_mesh, or leave it out for the current one.",
            )
        )
    if not isinstance(axis_names, AbstractSet):
        raise TypeError(
            message(
                "shard_map, argument axis_names",
                given=described(axis_names),
                expected="a set of names of axes of the mesh",
                fix="Write {'x'} for one axis.",
            )
        )
    around = get_abstract_mesh()
    taken = frozenset(around.manual_axes)
    if mesh is None:
        # Within a program of members, that of the members.
        mesh = around if taken or get_mesh().empty else get_mesh()
    if mesh.empty:
        raise ValueError(
            message(
                "shard_map, argument mesh",
                given="no mesh, while there is no current one",
                expected="a mesh",
                fix="Pass mesh=, or call the function under `with jax.set_mesh(mesh):`.",
            )
        )
    if taken and isinstance(mesh, Mesh):
        mesh = mesh.abstract_mesh
    free = frozenset(mesh.axis_names) - taken
    manual = frozenset(axis_names) or free
    if not manual <= free:
        raise ValueError(
            message(
                "shard_map, argument axis_names",
                given=f"{set(axis_names)!r} for {mesh!r}",
                expected="axes of the mesh along which there are no members yet",
                fix="Name axes of the mesh, or leave the argument out for all of them.",
            )
        )
    return mesh, manual
