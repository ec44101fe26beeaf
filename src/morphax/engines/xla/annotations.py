"""What the text of a module says of the places of its arguments and results.

A program on one device says nothing of shardings.  For several, each place becomes a sharding of
Shardy over a mesh: its own, or else one that has an axis for each axis of the array, of as many
devices as that is split over, and one over which the parts are repeated.  Where elements do not lie
row by row in memory, XLA is told how they do.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from ...core import AbstractSharding, Atom, Jaxpr
from ...runtime.laid_out import Order
from ...runtime.layouts import tiling
from ...runtime.mesh import Mesh
from ...runtime.named_sharding import NamedSharding
from ...runtime.sharding import Sharding
from .literals import physical_aval
from .mesh_axes import MeshAxes

if TYPE_CHECKING:
    from .stablehlo import Builder, Value


class Annotations(NamedTuple):
    """Meshes, by their text, with their names; and attributes by position."""

    meshes: Mapping[str, str]
    arguments: dict[int, str]
    results: dict[int, str]


not_annotated = Annotations({}, {}, {})


def annotations_of(
    entry: Jaxpr,
    operands: Sequence[Sharding],
    results: Sequence[Sharding | None],
    donations: Mapping[int, str],
    mesh: Mesh | None = None,
    orders: Sequence[Order] = (),
) -> Annotations:
    """The annotations of a module with these donations.

    Args:
        entry: the program that the module computes.
        operands: the places of what it takes.
        results: of what it gives; where it is `None`, all that is said is what types say.
        donations: attributes of the operands that are given away.
        mesh: of the program; over its explicit axes, results are whole of which nothing is said.
        orders: how elements of results lie in memory, where not all lie row by row.
    """
    meshes: dict[str, str] = {}

    def sharded(atoms: Sequence[Atom], places: Sequence[Sharding | None]) -> list[list[str]]:
        # Keys have further axes in a module, which are never split.
        avals: list[Any] = [physical_aval(a.aval) for a in atoms]
        pairs = zip(avals, places, strict=True)
        return [_sharded(place, len(aval.shape), meshes) for aval, place in pairs]

    arguments, outs = sharded(entry.invars, operands), sharded(entry.outvars, results)
    for i, own in enumerate(operands):
        arguments[i] += _ordered(own.element_order, entry.invars[i])
    out_avals: list[Any] = [v.aval for v in entry.outvars]
    for i, (aval, place) in enumerate(zip(out_avals, results, strict=True)):
        if place is None and mesh is not None and mesh.size > 1 and mesh.explicit_axes:
            split = aval.split or AbstractSharding(mesh.abstract_mesh, ((),) * aval.ndim)
            ndim = len(physical_aval(aval).shape)
            text = type_attribute(split, ndim, partial(_mesh_name, meshes))
            outs[i] = [f"sdy.sharding = {text}"] if text else []
    for i, order in enumerate(orders):
        outs[i] += _ordered(order, entry.outvars[i])
    for i, donation in donations.items():
        arguments[i] = [donation, *arguments[i]]
    return Annotations(meshes, _attributes(arguments), _attributes(outs))


def _ordered(order: Order, atom: Atom) -> list[str]:
    if order is None:
        return []
    return [f'mhlo.layout_mode = "{order.to_xla(len(physical_aval(atom.aval).shape))}"']


def _sharded(place: Sharding | None, ndim: int, meshes: dict[str, str]) -> list[str]:
    if place is None or place.num_devices == 1:
        return []
    text = sharding_attribute(place.plain, ndim, partial(_mesh_name, meshes))
    return [f"sdy.sharding = {text}"]


def _mesh_name(meshes: dict[str, str], text: str) -> str:
    return meshes.setdefault(text, f"mesh{len(meshes)}")


def sharding_attribute(
    place: Sharding, ndim: int, mesh_name: Callable[[str], str], free: Container[int] = ()
) -> str:
    """A place of several devices as an attribute of Shardy.

    Args:
        place: of arrays.
        ndim: how many axes they have.
        mesh_name: declares a mesh, given its text, and says its name.
        free: axes of which the place says nothing; they are whole in it.
    """
    if isinstance(place, NamedSharding):
        return _named_attribute(place, ndim, mesh_name, free)
    parts, copies, order = tiling(place, ndim)
    axes = ", ".join([f'"{i}"={size}' for i, size in enumerate((*parts, copies))])
    numbers = "" if order == tuple(range(len(order))) else f", device_ids={list(order)}"
    name = mesh_name(f"<[{axes}]{numbers}>")
    split = ", ".join(
        ["{?}" if i in free else f'{{"{i}"}}' if size > 1 else "{}" for i, size in enumerate(parts)]
    )
    return f"#sdy.sharding<@{name}, [{split}]>"


def type_attribute(
    split: AbstractSharding, ndim: int, mesh_name: Callable[[str], str]
) -> str | None:
    """What types say of a value as an attribute of Shardy, `None` if they say nothing.

    Over the axes of the mesh that are not explicit, the compiler may split further, unless a sum is
    still to be taken.
    """
    mesh = split.mesh
    if not mesh.explicit_axes:
        return None
    axes = MeshAxes(mesh.axis_names, mesh.axis_sizes)
    # Values such as keys have further axes in a module, which are never split.
    spec = (*split.spec, *[()] * (ndim - len(split.spec)))
    name = mesh_name(axes.text())
    if mesh.are_all_axes_explicit or split.unreduced:
        return f"#sdy.sharding{axes.sharding(name, spec, unreduced=split.unreduced)}"
    unused = set(mesh.explicit_axes).difference(*spec)
    return f"#sdy.sharding{axes.sharding(name, spec, range(len(split.spec)), replicated=unused)}"


def as_typed(b: Builder, aval: Any, x: Value) -> Value:
    """A value of a program that lies as its type says, if it says anything."""
    if aval.split is None:
        return x
    text = type_attribute(aval.split, len(physical_aval(aval).shape), b.module.mesh_name)
    return x if text is None else b.op("sdy.sharding_constraint", aval, x, sharding=text)


def whole_along(b: Builder, x: Value, axes: Container[int]) -> Value:
    """A value of a program whose axes named are not split over devices; the others may be."""
    if b.axes is not None or not b.module.meshes:
        return x
    mesh = next(iter(b.module.meshes.values()))
    splits = ", ".join(["{}" if axis in axes else "{?}" for axis in range(len(x.aval.shape))])
    text = f"#sdy.sharding<@{mesh}, [{splits}]>"
    return b.op("sdy.sharding_constraint", x.aval, x, sharding=text)


def named_sharding_constraint(b: Builder, x: Value, place: NamedSharding | None) -> Value:
    """A value of a program on several devices, which lies as a place over a like mesh says."""
    if place is None or b.module.num_devices == 1:
        return x
    aval = physical_aval(x.aval)
    text = _named_attribute(place, len(aval.shape), b.module.mesh_name, ())
    return b.op("sdy.sharding_constraint", aval, x, sharding=text).seen_as(x.aval)


def _named_attribute(
    place: NamedSharding, ndim: int, mesh_name: Callable[[str], str], free: Container[int]
) -> str:
    """The same over the mesh of the place, so that all places over it speak of one mesh."""
    axes = MeshAxes(place.mesh.axis_names, place.mesh.axis_sizes)
    name, unreduced = mesh_name(axes.text()), place.spec.unreduced
    return f"#sdy.sharding{axes.sharding(name, place.splits(ndim), free, unreduced=unreduced)}"


def _attributes(parts: Sequence[Sequence[str]]) -> dict[int, str]:
    return {i: f"{{{', '.join(texts)}}}" for i, texts in enumerate(parts) if texts}
