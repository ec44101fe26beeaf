"""Members that are devices: what `vmap` maps over an axis is run by one device for each member."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Any, final

import numpy as np

import morphax as jax
from morphax.array import Array
from morphax.core import Jaxpr, NoRule, Primitive, ShapedArray
from morphax.core.partition_spec import PartitionSpec
from morphax.engines.engine import Options
from morphax.engines.xla.engine import XLA
from morphax.engines.xla.members import member_program
from morphax.engines.xla.mesh_axes import MeshAxes
from morphax.engines.xla.stablehlo import Builder, Value
from morphax.runtime.places import Places

from ..engines.test_several_devices import Split


@final
class Members(Primitive):
    """Run `jaxpr` on each device of a mesh, on parts of the first axis of operands."""

    name = "members"
    multiple_results = True
    evaluate = NoRule("evaluate", "the test compiles it")
    jvp = NoRule("jvp", "the test compiles it")
    transpose = NoRule("transpose", "the test compiles it")
    batch = NoRule("batch", "the test compiles it")

    def abstract_eval(self, *xs: Any, jaxpr: Jaxpr, axes: MeshAxes) -> tuple[ShapedArray, ...]:
        count = int(np.prod(axes.sizes))
        return tuple([a.update(shape=(count * a.shape[0], *a.shape[1:])) for a in jaxpr.out_avals])

    def lower(
        self, b: Builder, outs: Sequence[Any], *xs: Value, jaxpr: Jaxpr, axes: MeshAxes
    ) -> list[Value]:
        def parts(avals: Sequence[Any]) -> list[Any]:
            return [PartitionSpec(axes.names) for _ in avals]

        return member_program(
            b,
            axes,
            frozenset(axes.names),
            jaxpr.in_avals,
            outs,
            parts(jaxpr.in_avals),
            parts(jaxpr.out_avals),
            xs,
            lambda inner, *values: inner.inline(jaxpr, *values),
        )


members_p = Members()


def plan_on_devices(f: Callable[..., Any], axes: MeshAxes, *xs: np.ndarray[Any, Any]) -> Any:
    """The plan of `f` for members along the first axis of operands, with the place of all."""
    devices = jax.devices("cpu")[: len(xs[0])]
    env: list[tuple[Hashable, int]] = list(zip(axes.names, axes.sizes, strict=True))

    def of_shards(*shards: Any) -> Any:
        return jax.tree.map(lambda y: y[None], f(*[x.reshape(x.shape[1:]) for x in shards]))

    jaxpr = jax.make_jaxpr(of_shards, axis_env=env)(*[x[:1] for x in xs]).jaxpr
    whole = jax.make_jaxpr(lambda *xs: members_p.bind(*xs, jaxpr=jaxpr, axes=axes))(*xs).jaxpr
    split = Split(devices, 0)
    count = len(whole.outvars)
    places = Places((split,) * len(xs), (split,) * count, tuple(devices))
    return XLA.compile(whole, places, Options("members")), split


def on_devices(f: Callable[..., Any], axes: MeshAxes, *xs: np.ndarray[Any, Any]) -> Any:
    """``vmap(f)`` over members along the first axis of operands, each run by a device.

    Members stand in the mesh row by row.
    """
    plan, place = plan_on_devices(f, axes, *xs)
    results = plan.run([place.distribute(Array.from_host(x)) for x in xs], True)
    return results[0] if len(results) == 1 else results
