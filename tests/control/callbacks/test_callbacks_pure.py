"""pure_callback and io_callback: results, vmap methods, refusals, checks of what Python returns."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import morphax as jax
import morphax.numpy as jnp
from morphax.experimental import io_callback

ENGINES = pytest.mark.parametrize("engine", [lambda f: f, jax.jit], ids=["eager", "jit"])
KINDS = pytest.mark.parametrize("callback", [jax.pure_callback, io_callback])
F32_3 = jax.ShapeDtypeStruct((3,), np.float32)
SCALAR = jax.ShapeDtypeStruct((), np.float32)
X = np.arange(3, dtype=np.float32)
BATCH = np.arange(6, dtype=np.float32).reshape(2, 3)


@ENGINES
@KINDS
def test_results(callback: Any, engine: Any) -> None:
    def python(a: Any, tree: Any, *, k: Any) -> Any:
        assert isinstance(a, jax.Array)
        return {"sum": np.asarray(a) + tree["b"][0], "k": (k, 2.5, True)}

    spec = {"sum": F32_3, "k": (jax.ShapeDtypeStruct((), np.int32), SCALAR, np.bool_(0))}
    out = engine(lambda x: callback(python, spec, x, {"b": (1.0,)}, k=7))(X)
    np.testing.assert_array_equal(out["sum"], X + 1)
    assert [(x.dtype, x.tolist()) for x in out["k"]] == [
        ("int32", 7),
        ("float32", 2.5),
        (bool, True),
    ]


@ENGINES
@KINDS
@pytest.mark.parametrize(
    "make",
    [np.asarray, lambda x: x, jnp.asarray, lambda x: np.asarray(x, np.float64), list],
    ids=["numpy", "array", "computed", "float64", "list"],
)
def test_what_may_be_returned(callback: Any, engine: Any, make: Any) -> None:
    spec = [SCALAR] * 3 if make is list else F32_3
    out = engine(lambda x: callback(make, spec, x))(X)
    np.testing.assert_array_equal(out, X)


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint64", "bfloat16", "complex64", "float16"])
def test_dtypes(dtype: str) -> None:
    with jax.enable_x64(True):
        x = jnp.asarray([0, 1], dtype)
        out = jax.jit(lambda x: jax.pure_callback(lambda v: v, x, x))(x)
        assert out.dtype == x.dtype
        np.testing.assert_array_equal(out, x)


def test_keys() -> None:
    key = jax.random.key(1)
    out = jax.jit(lambda k: jax.pure_callback(lambda v: v, k, k))(key)
    assert out.dtype == key.dtype
    assert jax.random.key_data(out).tolist() == jax.random.key_data(key).tolist()


def test_64_bits_follow_the_program() -> None:
    with jax.enable_x64(True):
        f = jax.jit(lambda x: jax.pure_callback(lambda v: jnp.zeros(2) + v, x, x)).lower(
            X[:2] * 1.0
        )
        x = np.ones(2)
        g = (
            jax.jit(lambda x: jax.pure_callback(lambda v: jnp.zeros(2) + v, x, x))
            .lower(x)
            .compile()
        )
        assert g(x).dtype == np.float64
    assert f.compile()(X[:2]).dtype == np.float32


WRONG = [
    (lambda: {"a": (np.ones(2), X)}, ValueError, r"result\['a'\]\[0\].*float32\[2\]"),
    (lambda: {"a": (X, X.astype(int))}, TypeError, r"result\['a'\]\[1\].*int32\[3\]"),
    (lambda: {"a": (X, "text")}, TypeError, r"result\['a'\]\[1\].*'text' of type str"),
    (lambda: {"a": (X, 1.0)}, ValueError, r"result\['a'\]\[1\].*float32\[\]"),
    (lambda: {"a": X}, ValueError, r"a tree of 1 arrays.*2 arrays"),
    (lambda: None, ValueError, r"a tree of 0 arrays.*2 arrays"),
]


@ENGINES
@KINDS
@pytest.mark.parametrize(("returned", "error", "text"), WRONG)
def test_results_are_checked(
    callback: Any, engine: Any, returned: Any, error: type[Exception], text: str
) -> None:
    f = engine(lambda: callback(returned, {"a": (F32_3, F32_3)}))
    with pytest.raises(
        error,
        match=rf"(?s){callback.__name__}, {text}.*result_shape_dtypes.*fix:"
        if text.startswith("result")
        else rf"(?s){callback.__name__}.*{text}.*fix:",
    ):
        f()


@KINDS
@pytest.mark.parametrize(
    ("args", "kwargs", "error", "text"),
    [
        ((3, F32_3, X), {}, TypeError, "argument callback"),
        ((lambda v: v, (F32_3, 3), X), {}, TypeError, r"result_shape_dtypes\[1\]"),
        ((lambda v: v, np.zeros(3), X), {}, ValueError, "jax_enable_x64"),
        ((lambda v, name: v, F32_3, X, "name"), {}, TypeError, "argument name"),
        ((lambda v: v, F32_3, X), {"sharding": 3}, NotImplementedError, "SingleDeviceSharding"),
    ],
)
def test_arguments_are_checked(
    callback: Any, args: Any, kwargs: Any, error: type[Exception], text: str
) -> None:
    with pytest.raises(error, match=rf"(?s){callback.__name__}.*{text}.*fix:"):
        callback(*args, **kwargs)


@KINDS
def test_sharding(callback: Any) -> None:
    here = jax.sharding.SingleDeviceSharding(jax.devices("cpu")[0])
    assert jax.jit(lambda: callback(lambda: 1.0, SCALAR, sharding=here))() == 1.0


SHAPES_SEEN = {
    "sequential": [((3,), (3,))] * 2,
    "sequential_unrolled": [((3,), (3,))] * 2,
    "expand_dims": [((2, 3), (1, 3))],
    "broadcast_all": [((2, 3), (2, 3))],
    "legacy_vectorized": [((2, 3), (3,))],
}


@ENGINES
@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("method", SHAPES_SEEN)
def test_vmap_methods(method: str, axis: int, engine: Any) -> None:
    seen = []

    def python(a: Any, b: Any) -> Any:
        seen.append((a.shape, b.shape))
        return np.asarray(a) + b

    def f(x: Any) -> Any:
        return jax.pure_callback(python, F32_3, x, X, vmap_method=method)

    batch = BATCH if axis == 0 else BATCH.T
    out = engine(jax.vmap(f, in_axes=axis))(batch)
    np.testing.assert_array_equal(out, BATCH + X)
    assert seen == SHAPES_SEEN[method]


@pytest.mark.parametrize(
    ("method", "seen"),
    [
        ("expand_dims", ((1, 2, 3), (4, 1, 3))),
        ("broadcast_all", ((4, 2, 3), (4, 2, 3))),
        ("sequential", ((3,), (3,))),
    ],
)
def test_vmap_of_vmap(method: str, seen: Any) -> None:
    shapes = set()

    def python(a: Any, b: Any) -> Any:
        shapes.add((a.shape, b.shape))
        return np.asarray(a) + b

    def f(x: Any, y: Any) -> Any:
        return jax.pure_callback(python, F32_3, x, y, vmap_method=method)

    ones = np.ones((4, 3), np.float32)
    out = jax.vmap(lambda y: jax.vmap(lambda x: f(x, y))(BATCH))(ones)
    np.testing.assert_array_equal(out, np.broadcast_to(BATCH + 1, (4, 2, 3)))
    assert shapes == {seen}


@pytest.mark.parametrize("method", SHAPES_SEEN)
def test_vmap_of_nobody(method: str) -> None:
    f = jax.vmap(lambda x: jax.pure_callback(lambda v: v, F32_3, x, vmap_method=method))
    assert f(BATCH[:0]).shape == (0, 3)


def test_vmap_needs_a_known_method() -> None:
    with pytest.raises(ValueError, match=r"'sometimes'(.|\n)*broadcast_all"):
        jax.pure_callback(lambda v: v, F32_3, X, vmap_method="sometimes")
    with pytest.raises(NotImplementedError, match=r"vmap_method=None(.|\n)*'sequential', "):
        jax.vmap(lambda x: jax.pure_callback(lambda v: v, F32_3, x))(BATCH)


@ENGINES
def test_vmap_of_io_callback(engine: Any) -> None:
    seen: list[Any] = []

    def python(v: Any) -> Any:
        seen.append(v.tolist())
        return np.asarray(v) * 2

    out = engine(jax.vmap(lambda x: io_callback(python, F32_3, x)))(BATCH)
    np.testing.assert_array_equal(out, BATCH * 2)
    assert sorted(seen) == BATCH.tolist()
    with pytest.raises(ValueError, match=r"vmap of .*io_callback(.|\n)*ordered=True"):
        jax.vmap(lambda x: io_callback(python, F32_3, x, ordered=True))(BATCH)


def touch(x: Any) -> Any:
    return io_callback(lambda v: v, jax.ShapeDtypeStruct((), x.dtype), x)


@pytest.mark.parametrize(
    ("f", "where"),
    [
        (lambda x: jax.lax.cond(x > 0, touch, lambda x: x, x), "lax.cond"),
        (lambda x: jax.lax.while_loop(lambda c: c < x, lambda c: touch(c) + 1, 0.0), "while_loop"),
    ],
)
def test_effects_of_members_that_go_other_ways_are_refused(f: Any, where: str) -> None:
    with pytest.raises(NotImplementedError, match=rf"vmap of .*{where}(.|\n)*the effect IO"):
        jax.vmap(f)(X)


def test_batches_that_go_the_same_way() -> None:
    out = jax.vmap(lambda x: jax.lax.cond(True, touch, lambda x: x, x))(X)
    np.testing.assert_array_equal(out, X)
    out = jax.vmap(lambda x: jax.lax.fori_loop(0, 2, lambda i, c: touch(c) + 1.0, x))(X)
    np.testing.assert_array_equal(out, X + 2)


@pytest.mark.parametrize("derivative", [jax.grad, jax.jacfwd, lambda f: jax.grad(jax.jit(f))])
@KINDS
def test_derivatives_are_refused(callback: Any, derivative: Any) -> None:
    with pytest.raises(ValueError, match=rf"differentiation of .*{callback.__name__}(.|\n)*fix:"):
        derivative(lambda x: callback(lambda v: v, SCALAR, x))(1.0)


@KINDS
def test_derivatives_of_what_does_not_depend_on_it(callback: Any) -> None:
    def f(x: Any) -> Any:
        return x * callback(np.sin, SCALAR, jax.lax.stop_gradient(x))

    assert jax.grad(f)(1.0) == pytest.approx(np.sin(1.0))


def test_custom_derivative() -> None:
    @jax.custom_jvp
    def sin(x: Any) -> Any:
        return jax.pure_callback(np.sin, SCALAR, x, vmap_method="sequential")

    @jax.custom_jvp
    def cos(x: Any) -> Any:
        return jax.pure_callback(np.cos, SCALAR, x, vmap_method="sequential")

    sin.defjvps(lambda t, out, x: cos(x) * t)
    cos.defjvps(lambda t, out, x: -sin(x) * t)
    np.testing.assert_allclose(jax.jit(jax.vmap(jax.grad(sin)))(X), np.cos(X), rtol=1e-6)
    np.testing.assert_allclose(jax.grad(jax.grad(sin))(1.0), -np.sin(1.0), rtol=1e-6)


@ENGINES
def test_calls_without_use(engine: Any) -> None:
    pure, io = [], []

    def f(x: Any) -> Any:
        jax.pure_callback(lambda v: pure.append(v), None, x)
        io_callback(lambda v: io.append(v), None, x)
        return x

    engine(f)(1.0)
    assert (len(pure), len(io)) == (0, 1)
    jax.jit(lambda x: (jax.pure_callback(lambda v: pure.append(v) or v, SCALAR, x), x)[1])(1.0)
    assert not pure


def test_in_loops_and_branches() -> None:
    def increment(c: Any) -> Any:
        return jax.pure_callback(
            lambda v: v + 1, jax.ShapeDtypeStruct((), np.int32), c, vmap_method="sequential"
        )

    total = jax.jit(lambda n: jax.lax.fori_loop(0, n, lambda i, c: increment(c), np.int32(0)))
    assert total(5) == 5
    counts = jax.vmap(lambda n: jax.lax.while_loop(lambda c: c < n, increment, np.int32(0)))
    assert counts(np.arange(3)).tolist() == [0, 1, 2]
    assert jax.lax.cond(True, increment, lambda c: c, np.int32(1)) == 2


def test_operands_belong_to_the_callback() -> None:
    kept: list[Any] = []
    f = jax.jit(lambda x: jax.debug.callback(kept.append, x + 1))
    for i in range(3):
        f(np.full(1000, i, np.float32))
    assert [x[0].item() for x in kept] == [1.0, 2.0, 3.0]
