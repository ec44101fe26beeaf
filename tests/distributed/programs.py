"""Programs over all devices there are, of one process or of several: the same checks for both.

Each function is run by all processes at once, and compares with what one device computes.
"""

from __future__ import annotations

import importlib.util
import shutil
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import morphax as jax
import morphax.numpy as jnp
from morphax import NamedSharding, P, lax
from morphax.engines.xla.mesh_axes import MeshAxes
from morphax.experimental import multihost_utils as hosts
from morphax.experimental.array_serialization import pytree_serialization, serialization
from morphax.sharding import Mesh

from ..parallel.devices import on_devices

AXIS = "x"
DRAW = np.random.default_rng(0)


def mesh() -> Mesh:
    return Mesh(jax.devices("cpu"), AXIS)


def grid() -> Mesh:
    devices = np.array(jax.devices("cpu"))
    return Mesh(devices.reshape(-1, 2), ("data", "model"))


def numbers(x: Any) -> np.ndarray[Any, Any]:
    """All numbers of an array, wherever they are."""
    if x.is_fully_addressable:
        return np.asarray(x)
    return np.asarray(hosts.process_allgather(x, tiled=True))


def check(x: Any, truth: Any, **tolerance: float) -> None:
    np.testing.assert_allclose(numbers(x), np.asarray(truth), **({"rtol": 1e-5} | tolerance))


def collectives() -> None:
    n = jax.device_count("cpu")
    axes = MeshAxes((AXIS,), (n,))
    x = DRAW.normal(size=(n, n, 3)).astype(np.float32)
    x[0, 0, 0], x[-1, 0, 1] = np.nan, np.inf
    ring = [(i, (i + 1) % n) for i in range(n)]
    halves = [list(range(n // 2)), list(range(n // 2, n))]
    operations: list[Callable[[Any], Any]] = [
        lambda x: lax.psum(x, AXIS),
        lambda x: lax.psum(x, AXIS, axis_index_groups=halves),
        lambda x: lax.pmax(x, AXIS),
        lambda x: lax.pmin(x, AXIS),
        lambda x: lax.pmean(x, AXIS) + lax.axis_index(AXIS),
        lambda x: lax.all_gather(x, AXIS),
        lambda x: lax.all_gather(x, AXIS, axis=1, tiled=True),
        lambda x: lax.psum_scatter(x, AXIS),
        lambda x: lax.all_to_all(x, AXIS, 0, 0),
        lambda x: lax.ppermute(x, AXIS, ring),
        lambda x: lax.psum(x.astype(jnp.bfloat16), AXIS).astype(jnp.float32),
        lambda x: lax.psum(jnp.arange(4, dtype=jnp.uint8) + x.shape[0], AXIS) + 0 * x[0, 0, None],
    ]
    for f in operations:
        check(on_devices(f, axes, x), jax.vmap(f, axis_name=AXIS)(x), rtol=3e-2)


def resharding() -> None:
    x = DRAW.normal(size=(16, 16)).astype(np.float32)
    x[::3], x[1::3, ::2] = -0.0, np.nan
    m = grid()
    turned = Mesh(m.devices[::-1], m.axis_names)
    specs = [P(), P("data"), P("model"), P(None, "data"), P("model", "data"), P(("model", "data"))]
    places = [NamedSharding(each, spec) for each in (m, turned) for spec in specs]
    for place, other in zip(places[::2], places[7::2] + places[:6:2], strict=False):
        y = jax.device_put(jax.device_put(x, place) * 1, other)
        assert y.sharding is other
        for shard in y.addressable_shards:
            np.testing.assert_array_equal(shard.data, x[shard.index])
            np.testing.assert_array_equal(np.signbit(shard.data), np.signbit(x[shard.index]))


def compiled_and_eager() -> None:
    x = DRAW.normal(size=(16, 8)).astype(np.float32)
    functions: list[Callable[[Any], Any]] = [
        lambda x: x @ x.T,
        lambda x: jnp.sort(x, 0),
        lambda x: jnp.cumsum(x, 0)[::-1],
        lambda x: jnp.roll(x, 3, 0) + x.mean(),
        lambda x: x[jnp.array([0, -1, 5])],
        lambda x: x.at[jnp.array([0, 0, 9])].add(1.0),
        lambda x: lax.scan(lambda c, row: (c + row, c.sum()), jnp.zeros(8), x),
        lambda x: lax.while_loop(lambda c: c[0] < 4, lambda c: (c[0] + 1, c[1] * 2), (0, x)),
        lambda x: lax.cond(x.sum() > 0, jnp.sin, jnp.cos, x),
        lambda x: jax.grad(lambda y: (jnp.tanh(y) ** 2).sum())(x),
        lambda x: jax.vmap(lambda row: row / row.max())(x),
        lambda x: jnp.zeros_like(x) + jax.random.normal(jax.random.key(3), x.shape),
    ]
    split = jax.device_put(x, NamedSharding(mesh(), P(AXIS)))
    for i, f in enumerate(functions):
        truth = jax.tree.leaves(f(jnp.asarray(x)))
        # Eager operations are compiled one by one.
        for run in (f, jax.jit(f)) if i % 5 == 0 else (jax.jit(f),):
            for found, expected in zip(jax.tree.leaves(run(split)), truth, strict=True):
                check(found, expected, rtol=1e-3, atol=1e-4)


def sharded_calls() -> None:
    rows, whole = NamedSharding(mesh(), P(AXIS)), NamedSharding(mesh(), P())
    x = np.arange(32, dtype=np.float32).reshape(16, 2)
    split = jax.device_put(x, rows)
    f = jax.jit(lambda x: x * 2, in_shardings=rows, out_shardings=whole)
    assert f(split).is_fully_replicated
    np.testing.assert_array_equal(f(split), x * 2)
    check(jax.jit(lambda: jnp.ones(16), out_shardings=rows)(), np.ones(16))
    step = jax.jit(lambda x: x + 1, donate_argnums=0)
    given = jax.device_put(x, rows) + 0
    check(step(given), x + 1)
    assert given.is_deleted()
    pinned = jax.jit(lambda x: lax.with_sharding_constraint(x.T, rows).T)
    check(pinned(jax.device_put(np.ones((2, 16)), whole)), np.ones((2, 16)))
    compiled = jax.jit(jnp.sum).lower(split).compile()
    assert float(compiled(split)) == x.sum()
    keys = jax.device_put(jax.random.split(jax.random.key(1), 16), rows)
    check(
        jax.jit(jax.vmap(jax.random.bits))(keys),
        jax.vmap(jax.random.bits)(jax.random.split(jax.random.key(1), 16)),
    )


def assembly() -> None:
    rows = NamedSharding(mesh(), P(AXIS))
    n, mine = jax.device_count("cpu"), jax.local_device_count("cpu")
    x = DRAW.normal(size=(2 * n, 3)).astype(np.float32)
    check(jax.make_array_from_callback(x.shape, rows, lambda index: x[index]), x)
    first = 2 * mine * jax.process_index("cpu")
    part = x[first : first + 2 * mine]
    for local, shape in ((part, None), (part, x.shape), (x, x.shape)):
        y = jax.make_array_from_process_local_data(rows, local, shape)
        assert y.shape == x.shape
        check(y, x)
    pieces = [shard.data for shard in y.addressable_shards]
    check(jax.make_array_from_single_device_arrays(x.shape, rows, pieces[::-1]), x)
    assert len(y.global_shards) == n
    assert len(y.addressable_shards) == mine
    back = hosts.global_array_to_host_local_array(y, mesh(), P(AXIS))
    np.testing.assert_array_equal(back, part)
    again = hosts.host_local_array_to_global_array(part, mesh(), P(AXIS))
    check(again, x)


def member_programs() -> None:
    n = jax.device_count("cpu")
    m, x = mesh(), np.arange(4 * n, dtype=np.float32)
    split = jax.device_put(x, NamedSharding(m, P(AXIS)))
    ring = [(i, (i + 1) % n) for i in range(n)]

    def on_shards(f: Callable[[Any], Any], out: Any) -> Callable[[Any], Any]:
        return jax.shard_map(f, mesh=m, in_specs=P(AXIS), out_specs=out)

    share = on_shards(lambda a: a / lax.psum(a.sum(), AXIS), P(AXIS))
    square = on_shards(lambda a: lax.psum((a**2).sum(), AXIS), P())
    for run in (share, jax.jit(share)):
        check(run(split), x / x.sum())
    check(jax.grad(lambda a: square(a))(split), 2 * x)
    check(on_shards(lambda a: lax.ppermute(a, AXIS, ring), P(AXIS))(split), np.roll(x, 4))


def training() -> None:
    """A perceptron with one hidden layer, laid out in three ways: the losses of one device."""
    x, y = DRAW.normal(size=(32, 8)), DRAW.normal(size=(32, 1))
    x, y = x.astype(np.float32), y.astype(np.float32)
    start = {
        "expand": DRAW.normal(size=(8, 16)).astype(np.float32),
        "contract": DRAW.normal(size=(16, 1)).astype(np.float32),
    }

    def loss(p: Any, x: Any, y: Any) -> Any:
        return jnp.square(jnp.tanh(x @ p["expand"]) @ p["contract"] - y).mean()

    @partial(jax.jit, donate_argnums=0)
    def step(p: Any, x: Any, y: Any) -> Any:
        value, gradient = jax.value_and_grad(loss)(p, x, y)
        return jax.tree.map(lambda a, da: a - 0.1 * da, p, gradient), value

    def losses(place: Any, batch: Any) -> list[float]:
        p = jax.device_put(start, place, may_alias=False)
        rows = jax.device_put((x, y), batch)
        found = []
        for _ in range(5):
            p, value = step(p, *rows)
            found.append(float(value))
        return found

    truth = losses(None, None)
    m = grid()
    layouts = [
        ({"expand": P(), "contract": P()}, P(("data", "model"))),
        ({"expand": P(None, "model"), "contract": P("model")}, P("data")),
        ({"expand": P("data"), "contract": P(("data", "model"))}, P("data")),
    ]
    for specs, batch in layouts:
        place = {name: NamedSharding(m, spec) for name, spec in specs.items()}
        found = losses(place, NamedSharding(m, batch))
        np.testing.assert_allclose(found, truth, rtol=1e-4)


def runs_in_a_row() -> None:
    """Runs that nobody awaits neither hang nor take each other's numbers."""
    rows = NamedSharding(mesh(), P(AXIS))
    x = jax.device_put(np.arange(16, dtype=np.float32), rows)
    step = jax.jit(lambda x: x - x.mean() + 1)
    for _ in range(100):
        x = step(x)
    check(x, np.arange(16) - 7.5 + 1, atol=1e-3)
    scaled = jax.jit(lambda x, k: (x * k).sum())
    sums = [scaled(x, np.float32(k)) for k in range(50)]
    np.testing.assert_allclose(sums, np.arange(50) * 16.0, rtol=1e-3)


def checkpoints() -> None:
    """What all processes have written, all read, over other meshes."""
    if importlib.util.find_spec("tensorstore") is None:
        return
    own = tempfile.mkdtemp()
    told = hosts.broadcast_one_to_all(np.frombuffer(own.encode().ljust(200), np.uint8))
    folder = Path(np.asarray(told).tobytes().decode().strip())
    x, m = DRAW.normal(size=(8, 4)).astype(np.float32), grid()
    places = [NamedSharding(m, spec) for spec in (P("data", "model"), P(("model", "data")), P())]
    tree = {"x": jax.device_put(x, places[0]), "both": [jax.device_put(x[0], places[2]), None]}
    for _ in range(2):
        pytree_serialization.save(tree, folder / "tree")
    for place in places:
        back = pytree_serialization.load(folder / "tree", {"x": place, "both": places[2]})
        check(back["x"], x)
        check(back["both"][0], x[0])
        assert back["x"].sharding == place
    manager = serialization.GlobalAsyncCheckpointManager(60)
    done: list[str] = []
    paths = [str(folder / "x"), str(folder / "y")]
    manager.serialize_with_paths(
        [tree["x"], tree["both"][0]], paths, on_commit_callback=lambda: done.append("here")
    )
    manager.wait_until_finished()
    assert done == ["here"] * (jax.process_index("cpu") == 0)
    check(manager.deserialize_with_paths([places[1]], paths[:1], [(8, 2)])[0], x[:, :2])
    if jax.process_count("cpu") > 1:
        with pytest.raises(ValueError, match="of this process alone"):
            serialization.run_serialization(
                [jnp.ones(3)], [serialization.get_tensorstore_spec(str(folder / "z"))]
            )
    with pytest.raises(RuntimeError, match="in it"):
        pytree_serialization.save(tree, folder)
    hosts.sync_global_devices("read")
    shutil.rmtree(own)


PROGRAMS = (
    checkpoints,
    collectives,
    resharding,
    compiled_and_eager,
    sharded_calls,
    assembly,
    member_programs,
    training,
    runs_in_a_row,
)
