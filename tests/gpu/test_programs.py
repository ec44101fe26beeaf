"""Programs on a GPU: the numbers of the CPU, and what arrays on another device must do."""

from __future__ import annotations

import gc
import pickle
from typing import Any

import numpy as np
import pytest

import morphax as jax
import morphax.numpy as jnp
from morphax import lax, random
from morphax.experimental import checkify, serialize_executable


def on_cpu(function: Any, *args: Any) -> Any:
    """What the CPU computes, as arrays of the host."""
    with jax.default_device(jax.devices("cpu")[0]):
        given = [jnp.asarray(np.asarray(x)) for x in args]
        return jax.tree.map(np.asarray, function(*given))


def same(function: Any, *args: Any, rtol: float = 2e-5, atol: float = 2e-5) -> Any:
    """The results on the GPU, after they were compared with those of the CPU."""
    here = function(*jax.tree.map(jnp.asarray, args))
    for g, c in zip(jax.tree.leaves(here), jax.tree.leaves(on_cpu(function, *args)), strict=True):
        if c.dtype.kind in "biu":
            np.testing.assert_array_equal(g, c)
        else:
            np.testing.assert_allclose(g, c, rtol=rtol, atol=atol)
    return here


X = np.linspace(-2.0, 2.0, 24, dtype=np.float32).reshape(4, 6)
W = np.cos(np.arange(36, dtype=np.float32)).reshape(6, 6)


def _loss(w: Any, x: Any) -> Any:
    return jnp.mean(jnp.tanh(x @ w) ** 2) + jnp.sum(jax.nn.softmax(x @ w, axis=-1)[:, 0])


def _scanned(x: Any) -> Any:
    return lax.scan(lambda c, y: (jnp.sin(c) + y, c * y), x[0], x)


def _while(x: Any) -> Any:
    return lax.while_loop(lambda s: s[0] < 7, lambda s: (s[0] + 1, s[1] * 1.1), (0, x))


def _choice(x: Any) -> Any:
    return jax.vmap(lambda r: lax.cond(r.sum() > 0, jnp.sin, lambda y: y * 2, r))(x)


PROGRAMS: dict[str, tuple[Any, ...]] = {
    "loss": (_loss, W, X),
    "gradient": (jax.grad(_loss), W, X),
    "hessian": (jax.hessian(lambda x: jnp.sum(jnp.tanh(x) ** 3)), X[0]),
    "jacobians": (jax.jacfwd(lambda x: jnp.cumsum(jnp.exp(x))), X[0]),
    "scan": (_scanned, X),
    "gradient of scan": (jax.grad(lambda x: _scanned(x)[1].sum()), X),
    "while": (_while, X),
    "divergent loops": (
        jax.vmap(
            lambda n: lax.while_loop(
                lambda s: s[0] < n, lambda s: (s[0] + 1, s[1] * 2.0), (0, 1.0)
            )[1]
        ),
        np.arange(9),
    ),
    "cond": (_choice, X),
    "sort": (lambda x: (jnp.sort(x, axis=0), jnp.argsort(-x), lax.top_k(x, 2)), X),
    "cumulative": (
        lambda x: (jnp.cumsum(x, 1), jnp.cumprod(x, 0), lax.cummax(x, 1), lax.cumlogsumexp(x)),
        X,
    ),
    "gather": (lambda x: x[jnp.array([0, 2, -1, 99])], X),
    "scatter": (lambda x: x.at[jnp.array([0, 0, 3])].add(1.0).at[1].mul(3.0), X),
    "segments": (lambda x: jax.ops.segment_sum(x, np.array([0, 1, 0, 2]), 3), X),
    "fft": (lambda x: jnp.abs(jnp.fft.fft2(x)), X),
    "convolution": (
        lambda x: jax.nn.relu(
            lax.conv(x.reshape(1, 1, 4, 6), np.ones((2, 1, 3, 3), np.float32), (1, 1), "SAME")
        ),
        X,
    ),
    "windows": (lambda x: lax.reduce_window(x, -np.inf, lax.max, (2, 2), (1, 1), "VALID"), X),
    "special": (
        lambda x: (
            jax.scipy.special.gammaln(x + 3),
            jax.scipy.special.erfinv(x / 3),
            jax.scipy.special.betainc(1.5, 2.5, jnp.abs(x) / 3),
            jax.scipy.special.i0e(x),
            jax.scipy.special.gammainc(2.0, x + 3),
            jax.scipy.special.digamma(x + 3),
        ),
        X,
    ),
    "extremes": (
        lambda x: (
            x.max(1),
            x.argmin(0),
            jnp.median(x),
            jnp.quantile(x, 0.3),
            jnp.unique(x, size=5),
        ),
        X,
    ),
    "attention": (lambda x: jax.nn.dot_product_attention(*[x.reshape(1, 4, 2, 3)] * 3), X),
    "associative scan": (lambda x: lax.associative_scan(jnp.maximum, x), X),
    "half floats": (
        lambda x: (x.astype(jnp.bfloat16) @ x.T.astype(jnp.bfloat16)).astype(jnp.float32),
        X.round(),
    ),
    "einsum": (lambda x: jnp.einsum("ij,kj->ik", x, x), X),
    "interpolation": (lambda x: jnp.interp(x, X[0], X[1]), X),
}


@pytest.mark.parametrize("label", PROGRAMS)
def test_programs(label: str) -> None:
    function, *args = PROGRAMS[label]
    tolerance = 2e-2 if label == "half floats" else 1e-4
    same(jax.jit(function), *args, rtol=tolerance, atol=tolerance)
    same(function, *args, rtol=tolerance, atol=tolerance)


DRAWS: dict[str, Any] = {
    "bits": lambda k: random.bits(k, (1001,)),
    "bits of a byte": lambda k: random.bits(k, (1001,), "uint8"),
    "uniform": lambda k: random.uniform(k, (1001,)),
    "randint": lambda k: random.randint(k, (1001,), -5, 77),
    "permutation": lambda k: random.permutation(k, 1001),
    "bernoulli": lambda k: random.bernoulli(k, 0.3, (1001,)),
    "choice": lambda k: random.choice(k, 50, (20,), replace=False),
    "split": lambda k: random.key_data(random.split(k, 7)),
}


@pytest.mark.parametrize("label", DRAWS)
@pytest.mark.parametrize("algorithm", ["threefry2x32", "rbg"])
def test_draws_are_those_of_the_cpu(label: str, algorithm: str) -> None:
    def draw(seed: Any) -> Any:
        return DRAWS[label](random.key(seed, impl=algorithm))

    if algorithm == "threefry2x32" or label == "split":
        here, there = jax.jit(draw)(7), on_cpu(jax.jit(draw), 7)
        np.testing.assert_array_equal(np.asarray(here), there)
    np.testing.assert_array_equal(np.asarray(draw(7)), np.asarray(jax.jit(draw)(7)))


@pytest.mark.parametrize(
    "draw",
    [
        lambda k: random.normal(k, (1001,)),
        lambda k: random.exponential(k, (1001,)),
        lambda k: random.gamma(k, 2.5, (1001,)),
        lambda k: random.beta(k, 0.5, 2.0, (1001,)),
        lambda k: random.poisson(k, 4.0, (1001,)),
        lambda k: random.categorical(k, jnp.arange(5.0), shape=(1001,)),
        lambda k: random.truncated_normal(k, -1.0, 2.0, (1001,)),
        lambda k: random.dirichlet(k, jnp.ones(4), (50,)),
    ],
)
def test_draws_by_transcendental_functions(draw: Any) -> None:
    same(jax.jit(lambda s: draw(random.key(s))), 3, rtol=1e-3, atol=1e-4)


def test_arrays_move(gpu: Any) -> None:
    host = jax.device_put(X, jax.devices("cpu")[0])
    moved = jax.device_put(host, gpu)
    assert moved.devices() == {gpu}
    assert moved.committed
    np.testing.assert_array_equal(moved, X)
    back = jax.device_put(moved, jax.devices("cpu")[0])
    assert back.platform() == "cpu"
    np.testing.assert_array_equal(np.asarray(back), X)
    with pytest.raises(ValueError, match=r"(?s)fix:"):
        jax.jit(lambda a, b: a + b)(back, moved)
    pinned = jax.device_put(
        moved, jax.sharding.SingleDeviceSharding(gpu, memory_kind="pinned_host")
    )
    assert pinned.sharding.memory_kind == "pinned_host"
    np.testing.assert_array_equal(np.asarray(pinned), X)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(moved)), X)


def test_donation_and_memory(gpu: Any) -> None:
    step = jax.jit(lambda x: x * 2 + 1, donate_argnums=0)
    x = jax.device_put(np.ones((1000, 1000), np.float32))
    before = gpu.memory_stats()["bytes_in_use"]
    for _ in range(20):
        x = step(x)
    x.block_until_ready()
    gc.collect()
    assert gpu.memory_stats()["bytes_in_use"] <= before + 4_000_000
    assert float(x[0, 0]) == 2.0**21 - 1
    y = step(x)
    assert x.is_deleted()
    with pytest.raises(RuntimeError, match="deleted"):
        np.asarray(x)
    assert np.isfinite(np.asarray(y)).all()


def test_callbacks(capsys: pytest.CaptureFixture[str]) -> None:
    seen: list[float] = []

    @jax.jit
    def f(x: Any) -> Any:
        jax.debug.print("largest {}", x.max())
        jax.experimental.io_callback(lambda v: seen.append(float(v)), None, x.sum(), ordered=True)
        return jax.pure_callback(np.sin, jax.ShapeDtypeStruct(x.shape, x.dtype), x)

    np.testing.assert_allclose(f(X), np.sin(X), rtol=1e-6)
    jax.effects_barrier()
    assert seen == [pytest.approx(float(X.sum()), abs=1e-5)]
    assert "largest 2.0" in capsys.readouterr().out


def test_checks() -> None:
    def f(x: Any) -> Any:
        checkify.check(x.min() > 0, "too small: {}", x.min())
        return jnp.log(x)

    error, _ = checkify.checkify(jax.jit(f))(X)
    assert "too small: -2.0" in error.get()
    with jax.debug_nans(True), pytest.raises(FloatingPointError):
        jax.jit(jnp.log)(X).block_until_ready()


def test_programs_that_are_kept(tmp_path: Any) -> None:
    f = jax.jit(lambda x: jnp.sin(x) @ x.T)
    expected = np.asarray(f(X))
    compiled = f.lower(X).compile()
    np.testing.assert_allclose(compiled(X), expected, rtol=1e-5, atol=1e-5)
    assert compiled.as_text()
    assert compiled.memory_analysis() is not None
    exported = jax.export.export(f, platforms=["cpu", "cuda"])(X)
    again = jax.export.deserialize(exported.serialize())
    np.testing.assert_allclose(again.call(X), expected, rtol=1e-5, atol=1e-5)
    payload = serialize_executable.serialize(compiled)
    loaded = serialize_executable.deserialize_and_load(*payload)
    np.testing.assert_allclose(loaded(X), expected, rtol=1e-5, atol=1e-5)


def test_sharding_over_one_gpu(gpu: Any) -> None:
    mesh = jax.sharding.Mesh(np.array([gpu]), ("x",))
    spec = jax.sharding.PartitionSpec("x")
    placed = jax.device_put(X, jax.sharding.NamedSharding(mesh, spec))
    np.testing.assert_allclose(jax.jit(lambda x: x @ x.T)(placed), X @ X.T, rtol=1e-5, atol=1e-5)
    summed = jax.shard_map(
        lambda x: lax.psum(x.sum(0), "x"),
        mesh=mesh,
        in_specs=spec,
        out_specs=jax.sharding.PartitionSpec(),
    )(placed)
    np.testing.assert_allclose(summed, X.sum(0), rtol=1e-5, atol=1e-5)


def test_other_libraries() -> None:
    torch = pytest.importorskip("torch")
    x = jax.device_put(X)
    seen = torch.from_dlpack(x)
    assert seen.is_cuda
    np.testing.assert_array_equal(seen.cpu().numpy(), X)
    back = jnp.from_dlpack(torch.arange(6.0, device="cuda"))
    assert back.platform() == "gpu"
    np.testing.assert_array_equal(np.asarray(back), np.arange(6.0))
    interface = x.__cuda_array_interface__
    assert interface["shape"] == X.shape
    assert interface["typestr"] == "<f4"
    cupy = pytest.importorskip("cupy")
    np.testing.assert_array_equal(cupy.asnumpy(cupy.asarray(x)), X)


def test_platforms_are_told_apart() -> None:
    def where() -> Any:
        return lax.platform_dependent(cpu=lambda: 1, cuda=lambda: 2, default=lambda: 3)

    assert int(jax.jit(where)()) == 2
    assert int(where()) == 2
    assert jax.default_backend() == "gpu"
    assert jax.devices()[0].platform == "gpu"
