"""Programs over several devices give what one device gives: special points, and random ones."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import morphax as jax
import morphax.numpy as jnp
from morphax.experimental import io_callback
from morphax.sharding import Mesh, NamedSharding, PartitionSpec

from ..stress.process import run

P = PartitionSpec
X = np.arange(12, dtype=np.float32).reshape(4, 3)


@pytest.fixture
def mesh(two_devices: list[Any]) -> Mesh:
    return Mesh(np.array(two_devices), "x")


def test_scalars_stay_scalars_on_each_device(mesh: Mesh) -> None:
    for x in (np.float32(2), np.int32(2), np.array(True)):
        y = jax.device_put(x, NamedSharding(mesh, P()))
        assert [np.asarray(s.data).shape for s in y.addressable_shards] == [(), ()]


def test_eager_loops_and_branches(mesh: Mesh) -> None:
    """Results that come of no operand in parts are whole, whatever their number of axes."""
    whole = NamedSharding(mesh, P())
    x = jax.device_put(X, NamedSharding(mesh, P("x")))
    count, total = jax.lax.while_loop(lambda c: c[0] < 3, lambda c: (c[0] + 1, c[1] + 1), (0, x))
    assert count.sharding is whole
    np.testing.assert_array_equal(total, X + 3)
    last, steps = jax.lax.scan(lambda c, row: (c + 1, c), 0, x)
    assert int(last) == 4
    np.testing.assert_array_equal(steps, np.arange(4))
    one, same = jax.lax.cond(True, lambda x: (1, x), lambda x: (2, x), x)
    assert int(one) == 1
    assert same.sharding is x.sharding


def test_one_device_calls_python(mesh: Mesh) -> None:
    x = jax.device_put(X, NamedSharding(mesh, P("x")))
    seen: list[tuple[int, ...]] = []

    def double(x: Any) -> Any:
        seen.append(np.asarray(x).shape)
        return np.asarray(x) * 2

    for call in (jax.pure_callback, io_callback):
        f = jax.jit(lambda x, call=call: call(double, jax.typeof(x), x) + 1)
        np.testing.assert_array_equal(f(x), X * 2 + 1)
        alone = jax.jit(lambda x, call=call: call(double, jax.typeof(x), x))(x)
        for shard in alone.addressable_shards:
            np.testing.assert_array_equal(shard.data, X * 2)
    show = jax.jit(lambda x: (jax.debug.callback(double, x), x + 1)[1])
    np.testing.assert_array_equal(show(x), X + 1)
    jax.effects_barrier()
    assert seen == [X.shape] * 5
    in_order = jax.jit(lambda x: io_callback(double, jax.typeof(x), x, ordered=True))
    with pytest.raises(ValueError, match=r"(?s)ordered.*2 devices.*fix:.*ordered=False"):
        in_order(x)


@pytest.mark.parametrize("impl", ["threefry2x32", "rbg"])
def test_keys_as_operands(mesh: Mesh, impl: str) -> None:
    key = jax.random.key(1, impl=impl)
    keys = jax.random.split(key, 4)
    draw = jax.jit(lambda k: jax.random.bits(k, (2,)))
    np.testing.assert_array_equal(draw(jax.device_put(key, NamedSharding(mesh, P()))), draw(key))
    data = jax.jit(jax.random.key_data)
    np.testing.assert_array_equal(
        data(jax.device_put(keys, NamedSharding(mesh, P("x")))), data(keys)
    )


_RANDOM_PROGRAMS = """
        import random
        import numpy as np
        jax.config.update("jax_num_cpu_devices", 8)
        lax, P = jax.lax, jax.P
        GRIDS = [(8,), (2, 4), (2, 2, 2), (1, 4), (1,), (3,)]
        SHAPES = [(8,), (8, 8), (4, 6), (2, 8, 4), (0, 8), (), (1, 8), (12, 5)]
        DTYPES = [np.float32, np.float32, np.int32, np.uint8, jnp.bfloat16, np.complex64]

        def number(x):
            return jnp.real(x).astype(np.float32)

        def flipped(x):
            return jnp.concatenate([x, x[::-1]]) if x.ndim and x.size < 100 else x

        def gathered(x):
            return x[jnp.array([0, -1, 1 % x.shape[0]])] if x.ndim and x.shape[0] else x

        def solved(x):
            if x.ndim < 2:
                return x
            y = number(x)
            a = jnp.tanh(y @ y.mT) / y.shape[-2] if y.shape[-2] else y @ y.mT
            return jnp.linalg.solve(a + 3 * jnp.eye(a.shape[-1]), y)

        def scanned(x):
            y = jnp.tanh(number(jnp.atleast_1d(x)))
            return lax.scan(lambda c, a: (c + a, c * a), jnp.zeros(y.shape[1:], y.dtype), y)[1]

        def scattered(x):
            return x.at[jnp.array([0, 0, 3])].add(1) if x.ndim else x

        OPS = [
            lambda x: x * 3, lambda x: x.T, lambda x: x.reshape(-1), flipped, gathered,
            lambda x: jnp.sort(number(x), -1) if x.ndim else x,
            lambda x: jnp.cumsum(number(x), 0) if x.ndim else x,
            lambda x: x.sum(-1) if x.ndim else x, solved, scanned, scattered,
            lambda x: jnp.fft.fft(number(x), axis=-1) if x.size and x.ndim else x,
            lambda x: lax.cond(number(x).sum() > 0, lambda y: y * 2, lambda y: y - 1, number(x)),
            lambda x: lax.while_loop(lambda c: c[0] < 3, lambda c: (c[0] + 1, c[1] + 1), (0, x))[1],
            lambda x: jax.grad(lambda y: (jnp.sin(y) * y).sum())(number(x)),
            lambda x: jax.jit(lambda y: number(y) + 1)(x),
            lambda x: jnp.roll(x, 3, 0) if x.ndim else x,
        ]

        def spec_of(choose, mesh, shape):
            names = list(mesh.axis_names)
            choose.shuffle(names)
            entries = []
            for size in shape:
                fits = names and size % mesh.shape[names[-1]] == 0 and choose.random() < 0.6
                entries.append(names.pop() if fits else None)
            return P(*entries)

        for seed in range(60):
            choose = random.Random(seed)
            grid = choose.choice(GRIDS)
            devices = choose.sample(jax.devices(), int(np.prod(grid)))
            mesh = jax.sharding.Mesh(np.array(devices).reshape(grid), tuple("xyz"[: len(grid)]))
            shape = choose.choice(SHAPES)
            numbers = np.random.default_rng(seed).integers(0, 9, shape)
            x = np.asarray(numbers).astype(choose.choice(DTYPES))
            ops = choose.choices(range(len(OPS)), k=3)

            def f(x, sharded):
                for i in ops:
                    x = OPS[i](x)
                    spec = spec_of(random.Random(seed + i), mesh, x.shape)
                    if sharded and i % 2:
                        x = lax.with_sharding_constraint(x, jax.NamedSharding(mesh, spec))
                return x

            placed = jax.device_put(x, jax.NamedSharding(mesh, spec_of(choose, mesh, shape)))
            truth = f(jnp.asarray(x), False)
            run = jax.jit(f, static_argnums=1) if seed % 3 else f
            y = run(placed, True)
            said = f"{seed}: {ops} of {placed.sharding}"
            assert (y.shape, y.dtype) == (truth.shape, truth.dtype), said
            scale = max(float(jnp.abs(truth).max()), 1) if truth.size else 1
            tolerance = (5e-2 if y.dtype == jnp.bfloat16 else 1e-4) * scale
            exact = not jnp.issubdtype(y.dtype, jnp.inexact)
            wide = np.asarray(y).astype(complex), np.asarray(truth).astype(complex)
            np.testing.assert_allclose(*wide, rtol=0, atol=0 if exact else tolerance, err_msg=said)
            for shard in y.addressable_shards:
                np.testing.assert_array_equal(shard.data, np.asarray(y)[shard.index], said)
        print("done")
"""


def test_random_programs_on_eight_devices() -> None:
    assert run(_RANDOM_PROGRAMS) == "done\n"


def test_convolutions_on_four_devices() -> None:
    """Kernels and spatial axes are split at once: XLA alone adds up too often there."""
    out = run("""
        import numpy as np
        jax.config.update("jax_num_cpu_devices", 4)
        P = jax.P
        mesh = jax.sharding.Mesh(np.array(jax.devices()).reshape(2, 2), ("x", "y"))
        draw = np.random.default_rng(0).normal
        x, kernel = np.float32(draw(size=(4, 8, 8))), np.float32(draw(size=(8, 8, 3)))

        def f(x, kernel):
            return jax.lax.conv_general_dilated(x, kernel, (1,), "SAME")

        truth = f(x, kernel)
        image = jax.device_put(x, jax.NamedSharding(mesh, P(None, None, "x")))
        for spec, result in ((P("x"), P(None, "x")), (P(None, "x"), P()), (P("y"), P("x"))):
            place = jax.NamedSharding(mesh, result)
            split = jax.device_put(kernel, jax.NamedSharding(mesh, spec))
            y = jax.jit(f, out_shardings=place)(image, split)
            np.testing.assert_allclose(y, truth, atol=1e-4)
            assert y.sharding is place
        print("done")
    """)
    assert out == "done\n"


SORTS: dict[str, Any] = {
    "sort": lambda x: jnp.sort(x, 0),
    "argsort": lambda x: jnp.argsort(x, 0),
    "descending": lambda x: jnp.sort(x, 1, descending=True),
    "with others": lambda x: jax.lax.sort((x, 2 * x), dimension=1, num_keys=1),
    "top_k": lambda x: jax.lax.top_k(x, 2),
}


@pytest.mark.parametrize("name", SORTS)
@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "int8"])
def test_sorts_leave_results_split(name: str, dtype: str) -> None:
    numbers = np.random.default_rng(0).integers(-2, 3, (4, 6)).astype(np.float32)
    if dtype != "int8":
        numbers[numbers == 2] = np.nan
        numbers[0, numbers[0] == 0] = -0.0
    x = jnp.asarray(numbers, dtype)
    square = Mesh(np.array(jax.devices("cpu")[:4]).reshape(2, 2), ("x", "y"))
    split = jax.device_put(x, NamedSharding(square, P("x", "y")))
    compiled = jax.jit(SORTS[name]).lower(split).compile()
    if name != "top_k":
        assert {y.sharding.spec for y in jax.tree.leaves(compiled(split))} == {P("x", "y")}
    for given, expected in zip(
        jax.tree.leaves(compiled(split)), jax.tree.leaves(SORTS[name](x)), strict=True
    ):
        assert np.asarray(given).tobytes() == np.asarray(expected).tobytes()
