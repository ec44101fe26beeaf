"""How one call of a function is divided among devices, as the user's `partition` says."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from typing import Any, Final, final

from .. import tree
from ..core import Jaxpr, ShapedArray, ShapeDtypeStruct, extended_axis_env, stage_closed
from ..core.partition_spec import PartitionSpec
from ..engines.xla.literals import held_as_key_data, tensor_type
from ..engines.xla.lowering import member_module
from ..engines.xla.mesh_axes import MeshAxes
from ..engines.xla.mlir_context import bindings, shared_context
from ..engines.xla.partitioners import Division
from ..runtime.layouts import place_of, shard_shape, split_of
from ..runtime.mesh import Mesh
from ..runtime.named_sharding import NamedSharding
from ..runtime.places import Places
from ..runtime.sharding import Sharding
from ..transforms.flattening import FlatFunction, debug_info
from ..tree import PyTreeDef
from ..util.messages import described, message
from ..util.records import dataclass
from .sharding_rules import SdyShardingRule, rule_text

WHERE: Final = "custom_partitioning"
"""Whose calls these are, for error text."""


@final
@dataclass(frozen=True, slots=True)
class Partition:
    """What divides one call; the fields are its parameters, and the places of the program."""

    call: Jaxpr
    places: Places
    partition: Callable[..., Any]
    infer_sharding_from_operands: Callable[..., Any] | None
    propagate_user_sharding: Callable[..., Any] | None
    decode_shardings: bool
    sharding_rule: Any
    in_tree: PyTreeDef
    out_tree: PyTreeDef
    static_args: tuple[Any, ...]

    def rule(self) -> str:
        """How splits go through the operation, in Shardy's words; empty if nothing is said."""
        ins, outs = self._avals(self.call.in_avals), self._avals(self.call.out_avals)
        rule = self.sharding_rule
        if rule is None:
            self._check_no_callbacks()
            return ""
        if not isinstance(rule, SdyShardingRule):
            with shared_context():
                types = [[bindings().Type.parse(tensor_type(a)) for a in x] for x in (ins, outs)]
                rule = rule(*self.static_args, self._mesh, *types)
        return rule_text(rule, [a.shape for a in ins], [a.shape for a in outs])

    def __call__(self, operands: Sequence[Any], results: Sequence[Any]) -> Division:
        """The program of each device's parts, and the splits that the user asks for."""
        ins, outs = self.call.in_avals, self.call.out_avals
        arguments = self.in_tree.unflatten(self._structs(ins, operands))
        result = self.out_tree.unflatten(self._structs(outs, results))
        given = self.partition(*self.static_args, self._mesh, arguments, result)
        if not isinstance(given, tuple) or len(given) != 4:
            raise TypeError(
                self._message(
                    given=f"partition returned {described(given)}",
                    expected="a tuple (mesh, function, result shardings, argument shardings)",
                    fix="Return mesh, function, result_shape.sharding, and so on.",
                )
            )
        mesh, function, result_shardings, argument_shardings = given
        axes = self._axes(mesh)
        taken = self._splits(argument_shardings, self.in_tree, ins, "argument")
        made = self._splits(result_shardings, self.out_tree, outs, "result")
        parts = [_part(aval, split) for aval, split in zip(ins, taken, strict=True)]
        jaxpr = self._staged(function, axes, parts)
        self._check_results(jaxpr, [_part(a, s) for a, s in zip(outs, made, strict=True)])
        return Division(member_module(jaxpr, axes, self.places), taken, made)

    @property
    def _mesh(self) -> Mesh:
        """The mesh of the program, or one that names its devices in a row."""
        mesh = self.places.mesh
        if mesh is not None:
            return mesh
        return Mesh(list(self.places.devices), ("devices",))

    def _avals(self, avals: Sequence[Any]) -> Sequence[ShapedArray]:
        if not any(map(held_as_key_data, avals)):
            return avals
        raise TypeError(
            self._message(
                given=f"operands and results {', '.join(map(str, avals))}",
                expected="arrays of numbers",
                fix="Pass jax.random.key_data(keys), and wrap the words inside.",
            )
        )

    def _check_no_callbacks(self) -> None:
        if self.infer_sharding_from_operands is self.propagate_user_sharding is None:
            return
        raise NotImplementedError(
            self._message(
                given="infer_sharding_from_operands or propagate_user_sharding, and no rule",
                expected="a sharding_rule: the compiler (Shardy) calls no functions for it",
                fix="Pass def_partition(..., sharding_rule='i j -> i j'), for instance.",
            )
        )

    def _structs(self, avals: Sequence[Any], splits: Sequence[Any]) -> list[ShapeDtypeStruct]:
        each = zip(avals, splits, strict=True)
        return [
            ShapeDtypeStruct(a.shape, a.dtype, sharding=self._sharding(split, len(a.shape)))
            for a, split in each
        ]

    def _sharding(self, split: Any, ndim: int) -> Any:
        mesh = self.places.mesh if self.decode_shardings else None
        place = place_of(split, ndim, self.places.devices, mesh)
        if isinstance(place, NamedSharding):
            entries = (*place.spec, *[None] * (ndim - len(place.spec)))
            return place.update(spec=PartitionSpec(*entries))
        return place

    def _axes(self, mesh: Any) -> MeshAxes:
        """The axes that collectives of the parts' function may name."""
        devices = self.places.devices
        if not isinstance(mesh, Mesh) or set(mesh.device_assignment) != set(devices):
            raise ValueError(
                self._message(
                    given=f"partition returned {described(mesh)} for the mesh",
                    expected=f"a mesh of the devices of the program, {list(devices)}",
                    fix="Return the mesh that it is given.",
                )
            )
        numbers = tuple([devices.index(device) for device in mesh.device_assignment])
        order = () if numbers == tuple(range(len(devices))) else numbers
        return MeshAxes(mesh.axis_names, mesh.axis_sizes, order)

    def _splits(
        self, shardings: Any, structure: PyTreeDef, avals: Sequence[Any], what: str
    ) -> list[Any]:
        """What the user asks for, in the compiler's words."""
        leaves, given = tree.flatten(shardings)
        if given != structure:
            raise ValueError(
                self._message(
                    given=f"partition returned {what} shardings of structure {given}",
                    expected=f"the structure {structure}",
                    fix="Return a sharding for each array, in the structure of the shapes.",
                )
            )
        return [self._split(s, a, what) for s, a in zip(leaves, avals, strict=True)]

    def _split(self, sharding: Any, aval: Any, what: str) -> Any:
        devices = self.places.devices
        if not isinstance(sharding, Sharding) or sharding.device_assignment != devices:
            raise ValueError(
                self._message(
                    given=f"partition returned {described(sharding)} for the {what} {aval}",
                    expected=f"a sharding over the devices of the program, {list(devices)}",
                    fix="Return jax.NamedSharding(mesh, jax.P(...)) over the mesh it is given.",
                )
            )
        return split_of(sharding, len(aval.shape))

    def _staged(self, function: Any, axes: MeshAxes, parts: Sequence[Any]) -> Jaxpr:
        args = self.in_tree.unflatten(range(len(parts)))
        flat = FlatFunction(function, tree.structure((args, {})), f"{WHERE}, lowered function")
        with ExitStack() as stack:
            for name, size in zip(axes.names, axes.sizes, strict=True):
                stack.enter_context(extended_axis_env(name, size))
            info = debug_info(WHERE, function, flat.in_tree)
            return stage_closed(flat, parts, info)

    def _check_results(self, jaxpr: Jaxpr, expected: Sequence[ShapedArray]) -> None:
        given = [(a.shape, a.dtype) for a in jaxpr.out_avals]
        if given != [(a.shape, a.dtype) for a in expected]:
            raise ValueError(
                self._message(
                    given=f"a function of parts that returns {_texts(jaxpr.out_avals)}",
                    expected=f"the parts of its results: {_texts(expected)}",
                    fix="Return parts as the result shardings say, of the dtypes of the whole.",
                )
            )

    def _message(self, **parts: str) -> str:
        return message(f"{WHERE} of {self.call.debug_info.function}", **parts)


def _part(aval: ShapedArray, split: Any) -> ShapedArray:
    return ShapedArray(shard_shape(split, aval.shape), aval.dtype)


def _texts(avals: Sequence[Any]) -> str:
    return ", ".join([str(aval) for aval in avals]) or "nothing"
