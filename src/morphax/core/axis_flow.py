"""From which axes of operands the axes of results come, and what follows for meshes.

A primitive declares, in its method `axis_flow`, which axes go together: each axis of an operand or
result has a *label*, and axes with one label are one axis of the computation, as in the notation of
Einstein sums.  An axis without label (`None`) does not go along: in an operand it must be whole on
each device, in a result it is whole.  `split_on_mesh` is the one place that derives shardings from
it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple, NoReturn, final

from ..util.messages import message
from .abstract_sharding import AbstractSharding, Split, split_text
from .aval import ShapedArray
from .dims import divides
from .mesh import AbstractMesh

Labels = tuple[int | None, ...]


@final
class AxisFlow(NamedTuple):
    """Which axes of operands and results go together.

    Args:
        operands: for each operand, the labels of its axes.
        results: likewise for each result.
        alike: whether operands must be split alike; otherwise an axis that is whole in one follows
            the others.
        changes_mesh: whether results may be on another mesh than operands.
        contracts: whether operands may differ in which cotangents are still to be summed, for the
            transpose sums them anyway.

    Example:
        >>> from morphax.core import AxisFlow
        >>> matrix_product = AxisFlow(((0, 1), (1, 2)), ((0, 2),))
    """

    operands: tuple[Labels, ...]
    results: tuple[Labels, ...]
    alike: bool = False
    changes_mesh: bool = False
    contracts: bool = False


def same_axes(
    *avals: ShapedArray, results: int = 1, whole: Sequence[int] = (), alike: bool = False
) -> AxisFlow:
    """Operands and results have the same axes; those in `whole` must not be split.

    Operands of rank 0 are repeated.
    """
    labels = [tuple([None if i in whole else i for i in range(a.ndim)]) for a in avals]
    return AxisFlow(tuple(labels), (max(labels, key=len),) * results, alike)


def without_axes(*avals: ShapedArray, axes: Sequence[int], results: int = 1) -> AxisFlow:
    """Operands have the same axes, but for some of their own, which results lack."""
    ndim = max([a.ndim for a in avals])
    labels = [
        tuple([i + (position + 1) * ndim if i in axes else i for i in range(a.ndim)])
        for position, a in enumerate(avals)
    ]
    kept = tuple([i for i in range(ndim) if i not in axes])
    return AxisFlow(tuple(labels), (kept,) * results)


def each_alone(*avals: ShapedArray) -> AxisFlow:
    """Result i has the axes of operand i."""
    starts = [sum([a.ndim for a in avals[:i]]) for i in range(len(avals))]
    labels = tuple([tuple(range(s, s + a.ndim)) for s, a in zip(starts, avals, strict=True)])
    return AxisFlow(labels, labels)


def gathered(*avals: ShapedArray, results: Sequence[ShapedArray]) -> AxisFlow:
    """Results are whole, however operands are split: who computes them gets whole operands."""
    return AxisFlow(each_alone(*avals).operands, tuple([(None,) * r.ndim for r in results]))


def split_on_mesh(
    name: str, flow: AxisFlow | None, avals: Sequence[Any], results: Sequence[Any]
) -> tuple[Any, ...]:
    """Results split over a mesh as the axes of operands are that go along with theirs.

    A result whose rule has said how it is split keeps that.

    Raises:
        TypeError: if the operands leave open how the results are split.
    """
    split = [a for a in avals if getattr(a, "split", None) is not None]
    if not split or (flow is not None and flow.changes_mesh):
        return tuple(results)
    mesh = _common_mesh(name, avals, [*split, *[r for r in results if r.split is not None]])
    if all([r.split is not None for r in results]):
        return tuple(results)
    if flow is None:
        if not any([any(a.split.spec) for a in split]):
            return tuple([r if r.split is not None else _whole(r, mesh) for r in results])
        _refuse(
            name,
            avals,
            "operands that are whole: the operation does not say how its axes go together",
            f"Make the operands whole{_HOW}  Authors of operations define the method `axis_flow`.",
        )
    derivation = _Derivation(name, flow, avals, mesh)
    splits = derivation.splits()
    return tuple(
        [
            r if r.split is not None else derivation.result(r, labels, splits)
            for r, labels in zip(results, flow.results, strict=True)
        ]
    )


class _Derivation(NamedTuple):
    """One application of a primitive to operands of which some are split over `mesh`."""

    name: str
    flow: AxisFlow
    avals: Sequence[Any]
    mesh: AbstractMesh

    def result(self, aval: ShapedArray, labels: Labels, splits: dict[int, Split]) -> ShapedArray:
        """A result with its sharding."""
        spec = tuple([() if label is None else splits.get(label, ()) for label in labels])
        names = [name for split in spec for name in split]
        if len(set(names)) < len(names):
            self.refuse(
                f"operands whose axes do not lead to a result {_text(aval, spec)}",
                f"Split only one of these axes over the same axis of the mesh{_HOW}",
            )
        for axis, split in enumerate(spec):
            if not divides(self.mesh.parts(split), aval.shape[axis]):
                self.refuse(
                    f"a result whose axis {axis} can be split over {', '.join(map(str, split))}; "
                    f"it is {_text(aval, spec)}",
                    f"Choose a size that the parts divide, or make the axis whole{_HOW}",
                )
        return aval.update(sharding=AbstractSharding(self.mesh, spec))

    def splits(self) -> dict[int, Split]:
        """How the axis of each label is split."""
        found: dict[int, Split] = {}
        origins: dict[int, str] = {}
        kept = {label for labels in self.flow.results for label in labels}
        for label, place, split in self.axes():
            if label is None:
                if split:
                    self.refuse(
                        f"{place} whole on each device", f"Make this axis whole first{_HOW}"
                    )
                continue
            before = found.get(label)
            if before and split and before == split and label not in kept:
                self.refuse(
                    f"at most one of {origins[label]} and {place} split: the result might be whole "
                    f"or a sum over {', '.join(map(str, split))} that is still to be taken",
                    "Make one of these axes whole, or say how the result is split: "
                    "out_sharding=jax.P(...).",
                )
            if before is None or (split and not before and not self.flow.alike):
                found[label], origins[label] = split, place
            elif before != split and (split or self.flow.alike):
                self.refuse(
                    f"{origins[label]} and {place} split alike",
                    f"Split one of the operands as the other{_HOW}",
                )
        return found

    def axes(self) -> Iterator[tuple[int | None, str, Split]]:
        """Label, name and split of each axis of the operands that say how they are split."""
        for position, (labels, aval) in enumerate(zip(self.flow.operands, self.avals, strict=True)):
            sharding = getattr(aval, "split", None)
            if sharding is None:
                continue
            for axis, label in enumerate(labels):
                yield label, f"axis {axis} of operand {position}", sharding.spec[axis]

    def refuse(self, expected: str, fix: str) -> NoReturn:
        _refuse(self.name, self.avals, expected, fix)


_HOW = (
    ", with jax.sharding.reshard; where the function has out_sharding, as x.at[...].get has for "
    "lookups, pass it; or leave a function to the compiler with jax.sharding.auto_axes."
)


def _common_mesh(name: str, operands: Sequence[Any], avals: Sequence[Any]) -> AbstractMesh:
    """The mesh of these operands, and of results of which more is known."""
    meshes = list(dict.fromkeys([a.split.mesh for a in avals]))
    if len(meshes) > 1:
        _refuse(
            name,
            operands,
            f"one mesh, not {meshes[0]} and {meshes[1]}",
            "Use one mesh throughout; jax.sharding.reshard and jax.device_put move arrays to "
            "another one.",
        )
    return meshes[0]


def _whole(aval: Any, mesh: AbstractMesh) -> Any:
    return aval.update(sharding=AbstractSharding(mesh, ((),) * aval.ndim))


def _text(aval: ShapedArray, spec: Sequence[Split]) -> str:
    sizes = [f"{n}{split_text(split)}" for n, split in zip(aval.shape, spec, strict=True)]
    return f"{aval.dtype}[{','.join(sizes)}]"


def _refuse(name: str, avals: Sequence[Any], expected: str, fix: str) -> NoReturn:
    raise TypeError(
        message(
            f"{name}, operands split over a mesh",
            given=" and ".join([a.str_short(short_dtypes=False) for a in avals]),
            expected=expected,
            fix=fix,
        )
    )
