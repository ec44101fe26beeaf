"""How an array is split over a mesh, said anew; and the types that derivatives are to have."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import replace
from typing import Any, final

from ... import tree
from ...array import Array
from ...core import (
    AbstractSharding,
    AxisFlow,
    AxisType,
    BatchAxes,
    Primitive,
    ShapedArray,
    aval_of,
    like,
    same_axes,
)
from ...core.varying import varying_over
from ...engines.choice import engine_for
from ...engines.xla.annotations import as_typed
from ...engines.xla.stablehlo import Builder, Value
from ...engines.xla.summands import of_first
from ...runtime.current_mesh import mesh_with_axes
from ...runtime.named_sharding import NamedSharding, named
from ...util.messages import message
from ..elementwise.convert import as_weak_as
from ..ground.out_sharding import check_kind, says_nothing, split_of


@final
class Reshard(Primitive):
    """The same array, split over the mesh as `dst_sharding` says."""

    name = "reshard"
    linear = True

    def abstract_eval(self, x: Any, *, dst_sharding: AbstractSharding) -> ShapedArray:
        return like(x, sharding=dst_sharding)

    def axis_flow(self, x: Any, **_: Any) -> AxisFlow:
        return same_axes(x)._replace(changes_mesh=True)

    def evaluate(self, x: Any, **_: Any) -> Any:
        return x

    def execute(self, x: Array, *, dst_sharding: AbstractSharding) -> Array:
        own = x.aval.split
        if own is not None and own.unreduced and own.mesh != dst_sharding.mesh:
            x = self._run(x, replace(own, unreduced=frozenset()))
        elif dst_sharding.unreduced and (own is None or own.mesh != dst_sharding.mesh):
            x = self.execute(x, dst_sharding=replace(dst_sharding, unreduced=frozenset()))
        if dst_sharding.unreduced or (x.aval.split is not None and x.aval.split.unreduced):
            return self._run(x, dst_sharding)
        return _place(x, dst_sharding).distribute(x)

    def _run(self, x: Array, split: AbstractSharding) -> Array:
        """Sums are taken, or put off, by a program."""
        engine, params = engine_for(None, x.place, operations=1), {"dst_sharding": split}
        result: Array = engine.evaluate(self, [x], params, x.place, True)[0]
        return result

    def lower(self, b: Builder, out: Any, x: Value, *, dst_sharding: AbstractSharding) -> Value:
        if b.axes is not None or b.module.num_devices == 1:
            return x
        own = x.aval.split
        before = frozenset[Hashable]() if own is None else own.unreduced
        kept = before & dst_sharding.unreduced
        if own is not None and before > kept and own.mesh != dst_sharding.mesh:
            # The sum is taken over the axes of which types speak, before the compiler has them.
            x = as_typed(b, x.aval.update(sharding=replace(own, unreduced=kept)), x)
        begun = dst_sharding.unreduced - kept
        if not begun:
            return x
        whole = out.update(sharding=replace(dst_sharding, unreduced=kept))
        return of_first(b, out, as_typed(b, whole, x), begun)

    def transpose(self, ct: Any, x: Any, **_: Any) -> list[Any]:
        """The cotangent is split as `x` once it is tied to it."""
        return [ct]

    def batch(
        self,
        axes: BatchAxes,
        operands: Sequence[Any],
        dims: Sequence[Any],
        *,
        dst_sharding: AbstractSharding,
    ) -> tuple[Any, int]:
        dim = dims[0]
        return self.bind(operands[0], dst_sharding=dst_sharding.with_axis(dim, axes.sharding)), dim


reshard_p = Reshard()


def _place(x: Array, split: AbstractSharding) -> NamedSharding:
    """Where an array lies that is split so; axes that are not explicit split it as before."""
    own = x.sharding if isinstance(x.sharding, NamedSharding) else None
    mesh = mesh_with_axes(split.mesh, None if own is None else own.mesh)
    if mesh is None:
        raise ValueError(
            message(
                "jax.sharding.reshard",
                given=f"{split.mesh}, and no mesh of devices, or several, with these axes",
                expected="a mesh of devices",
                fix="Call it under `with jax.set_mesh(mesh):`.",
            )
        )
    place = named(split, mesh)
    if (
        own is None
        or not split.mesh.auto_axes
        or not split.mesh.has_axes_of(own.mesh.abstract_mesh)
    ):
        return place
    used, spec = {name for names in split.spec for name in names}, []
    for axis, (said, before) in enumerate(zip(split.spec, own.splits(x.ndim), strict=True)):
        kept = [n for n in before if n in split.mesh.auto_axes and n not in used]
        names = (*said, *kept)
        spec.append(names if x.shape[axis] % split.mesh.parts(names) == 0 else said)
    return NamedSharding(mesh, place.spec.update(spec))


def resharded(x: Any, split: AbstractSharding | None) -> Any:
    """`x` split so, itself if it is already; and whatever it is if that is left open."""
    if split is None or aval_of(x).split == split:
        return x
    return reshard_p.bind(x, dst_sharding=split)


def laid_out(where: str, x: Any, out_sharding: Any) -> Any:
    """The result of an operation, split as the argument `out_sharding` says, unless it is `None`.

    Args:
        where: the operation, for error text.
        x: its result.
        out_sharding: a `jax.P` over the current mesh, or a `jax.NamedSharding`.
    """
    if says_nothing(out_sharding):
        return x
    return resharded(x, split_of(f"{where}, argument out_sharding", out_sharding, aval_of(x)))


def split_as(where: str, out_sharding: Any, function: Callable[..., Any], *operands: Any) -> Any:
    """The result of a function of arrays, split as an argument `out_sharding` says.

    On the way, types say nothing: the compiler finds out how best to come from the operands to the
    result.  So operations serve whose result types leave open, or that communicate.

    Args:
        where: the operation, for error text.
        out_sharding: a `jax.P` over the current mesh, or a `jax.NamedSharding`.
        function: what is computed.
        *operands: arrays, or other arguments of `function`.
    """
    check_kind(f"{where}, argument out_sharding", out_sharding)
    return laid_out(where, function(*map(_untyped, operands)), out_sharding)


def _untyped(x: Any) -> Any:
    split = getattr(getattr(x, "aval", None), "split", None)
    return x if split is None else resharded(x, without_types(split, split.mesh.explicit_axes))


def without_types(split: AbstractSharding, names: Sequence[Hashable]) -> AbstractSharding:
    """What types say once some axes are the compiler's."""
    mesh = split.mesh.update_axis_types(dict.fromkeys(names, AxisType.Auto))
    spec = [tuple([n for n in axis if n in mesh.explicit_axes]) for axis in split.spec]
    return AbstractSharding(mesh, tuple(spec))


def tied(x: Any, aval: Any) -> Any:
    """A derivative with the type of what it belongs to: its weak type, and how it is on a mesh.

    The rules of derivatives need not care; tangents and cotangents come through here.

    Raises:
        ValueError: if it varies over an axis of the mesh along which that is the same for all.
    """
    if aval.is_high:
        return x
    x = as_weak_as(x, aval)
    own = aval_of(x)
    if not (aval.is_on_mesh or own.is_on_mesh):
        return x
    if not own.vma <= aval.vma:
        raise ValueError(_unsummed(own, aval))
    return resharded(varying_over(x, aval.vma), aval.split)


def _unsummed(own: ShapedArray, aval: ShapedArray) -> str:
    axes = ", ".join(map(repr, own.vma - aval.vma))
    return message(
        "derivative of a value in a program of members",
        given=f"{own}, which varies over the axes {axes} of the mesh, for a value {aval}",
        expected="a derivative that is the same for all members, as the value is",
        fix=f"Sum a cotangent over the members, with lax.psum(ct, {axes}); or have the value "
        f"vary from the start, with lax.pcast(x, {axes}, to='varying').",
    )


def reshard(xs: Any, out_shardings: Any) -> Any:
    """Arrays split over the explicit axes of a mesh as shardings say: the same numbers.

    Inside of programs, too.  The type of the result is what `out_shardings` says.

    Args:
        xs: an array, or a tree of them.
        out_shardings: a `jax.P` over the current mesh or a `jax.NamedSharding`, or a tree of them
            that is a prefix of `xs`.

    Returns:
        A tree like `xs`.

    Raises:
        ValueError: if a spec names axes that are not explicit ones of the mesh, if a size is not
            divisible, or if there is no mesh.
        TypeError: if a leaf of `out_shardings` is something else.

    Example:
        >>> import morphax as jax, morphax.numpy as jnp
        >>> with jax.set_mesh(jax.make_mesh((1,), ("x",))):
        ...     y = jax.sharding.reshard(jnp.arange(4.0), jax.P("x"))
        >>> jax.typeof(y)
        ShapedArray(float32[4@x])
    """
    where = "jax.sharding.reshard, argument out_shardings"
    leaves, structure = tree.flatten(xs)
    wanted = tree.broadcast_prefix(
        out_shardings,
        xs,
        lambda value: value is None,
        where=where,
        prefix_name="out_shardings",
        full_name="xs",
    )
    return structure.unflatten(
        [resharded(x, split_of(where, s, aval_of(x))) for x, s in zip(leaves, wanted, strict=True)]
    )
