"""The native engine behind the contract: its calls, its choice, its errors and its cache."""

from __future__ import annotations

import contextvars
import gc
import logging
import os
import resource
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any, final

import numpy as np
import pytest

import morphax as jax
import morphax.numpy as jnp
from morphax import lax
from morphax.config import override
from morphax.core import Effect
from morphax.engines import native
from morphax.engines.engine import Options
from morphax.engines.loops import NotALoopProgram
from morphax.engines.native import cost_model, kept_code, machine_code
from morphax.engines.native import engine as engine_module
from morphax.engines.native.engine import NATIVE
from morphax.engines.native.machine_function import MachineFunction, PythonFunction
from morphax.experimental import serialize_executable
from morphax.runtime.sharding import SingleDeviceSharding
from morphax.util import host_memory
from morphax.util.compiled import part
from tests.tracing import python_calls

ROOT = Path(__file__).parents[2]
x = jnp.arange(3.0)
m = jnp.arange(6.0).reshape(2, 3)
compiled_only = pytest.mark.skipif(part("calls") is None, reason="measures the compiled core")


@pytest.fixture(autouse=True)
def chosen() -> Iterator[None]:
    """Programs of these tests are native ones, unless they say otherwise."""
    with jax.cpu_engine("native"):
        yield


def engine_of(f: Any, *args: Any) -> str:
    """The first line of the account of the choice."""
    text: str = f.lower(*args).compile().as_text("engine")
    return text.splitlines()[0]


def walk(x: Any, n: Any) -> Any:
    """A program of loops and branches, of several dtypes."""

    def step(c: Any, i: Any) -> Any:
        c = lax.cond(i % 2 == 0, jnp.sin, lambda y: y * 0.5 + n, c)
        return c, (c.sum(), i > 1)

    return lax.scan(step, x, jnp.arange(5))


KEY = jax.random.key(3)
QUARTER = jnp.float32(0.25)
CALLS: dict[str, tuple[Any, tuple[Any, ...]]] = {
    "array": (lambda a: a + 1.0, (x,)),
    "tree": (lambda t: jax.tree.map(lambda v: v * 2, t), ({"b": x, "a": [x, (m, None)]},)),
    "loops": (walk, (x, QUARTER)),
    "while": (lambda a: lax.while_loop(lambda c: c.sum() < 100, lambda c: c * 1.5 + 1, a), (x,)),
    "constants": (lambda a: a + jnp.arange(30_000.0)[:3], (x,)),
    "unused": (lambda a, b: b * 2, (x, x)),
    "nothing": (lambda: (jnp.ones(2), 3, True), ()),
    "itself": (lambda a: (a, a, 1.0), (x,)),
    "empty": (lambda a: (a[:0], a.sum()), (x,)),
    "numbers": (lambda a, b, c: (a + b, jnp.where(c, a, b), jnp.signbit(a)), (-0.0, 2, True)),
    "numpy": (lambda a, b: a[:, None] * b, (np.float32([1, 2]), np.ones((2, 3), np.int8))),
    "not in order": (lambda a: a + 1, (np.arange(6, dtype=np.int32).reshape(2, 3).T,)),
    "wide": (lambda a: a + 1, (np.arange(3),)),
    "integers": (lambda a: (a // 2, a % 3, a << 1), (jnp.int8([-128, 7, -1]),)),
    "booleans": (lambda a: (~a, a.any()), (jnp.array([True, False]),)),
    "keys": (lambda k: jax.random.split(jax.random.fold_in(k, 3), 2), (KEY,)),
    "draws": (lambda k: jax.random.normal(k, (5,)), (KEY,)),
    "gradient": (jax.grad(lambda a: walk(a, a[0])[0].sum()), (x,)),
    "batch": (jax.vmap(walk, (0, None)), (m, QUARTER)),
    "many": (lambda *a: sum(a), tuple([x] * 40)),
}


def only_arrays(args: Any) -> bool:
    """Whether the twin has nothing to do with them: it makes avals of numbers."""
    return all([isinstance(a, jax.Array) for a in jax.tree.leaves(args)])


def plain(tree: Any) -> list[np.ndarray[Any, Any]]:
    """Leaves as NumPy arrays, keys as their data."""
    return [
        np.asarray(jax.random.key_data(a) if jnp.issubdtype(a.dtype, jax.dtypes.prng_key) else a)
        for a in map(jnp.asarray, jax.tree.leaves(tree))
    ]


@pytest.mark.parametrize("name", CALLS)
def test_calls_agree_with_xla(name: str) -> None:
    function, args = CALLS[name]
    with jax.cpu_engine("xla"):
        expected = jax.jit(function)(*args)
    f = jax.jit(function)
    assert engine_of(f, *args) == "engine native"
    for _ in range(3):
        found = f(*args)
        assert jax.tree.structure(found) == jax.tree.structure(expected)
        for mine, theirs in zip(jax.tree.leaves(found), jax.tree.leaves(expected), strict=True):
            assert (mine.aval, mine.place, mine.committed) == (
                theirs.aval,
                theirs.place,
                theirs.committed,
            )
        for mine, theirs in zip(plain(found), plain(expected), strict=True):
            np.testing.assert_allclose(mine, theirs, rtol=2e-6, atol=1e-7)
            np.testing.assert_array_equal(np.signbit(mine * 1), np.signbit(theirs * 1))


@compiled_only
@pytest.mark.parametrize(
    "name", sorted(CALLS.keys() - {"numbers", "numpy", "not in order", "wide"})
)
def test_a_warm_call_runs_no_python(name: str) -> None:
    function, args = CALLS[name]
    f = jax.jit(function)
    for _ in range(3):
        f(*args)
    assert python_calls(lambda: f(*args)) == 0


def test_results_are_operands_of_both_engines() -> None:
    f = jax.jit(lambda a: a * 2)
    with jax.cpu_engine("xla"):
        g = jax.jit(lambda a: a + 1)
        assert engine_of(g, x) == "engine xla"
        y = x
        for _ in range(3):
            with jax.cpu_engine("native"):
                y = f(y)
            y = g(y)
    assert y.tolist() == [7.0, 15.0, 23.0]
    assert f(f(x)).unsafe_buffer_pointer() % 64 == 0


def test_places(two_devices: list[Any]) -> None:
    f = jax.jit(lambda a, b: a + b)
    here, there = [jax.device_put(x, device) for device in two_devices]
    for operand, device in ((here, two_devices[0]), (there, two_devices[1])):
        for _ in range(3):
            y = f(operand, x)
            assert (y.device, y.committed, y.tolist()) == (device, True, [0.0, 2.0, 4.0])
            assert (y + 1).device == device
    assert not f(x, x).committed
    with pytest.raises(ValueError, match="committed"):
        f(here, there)
    with jax.default_device(two_devices[1]):
        assert f(x, 1.0).device == two_devices[1]


def test_programs_on_several_devices_go_to_xla(two_devices: list[Any]) -> None:
    mesh = jax.sharding.Mesh(np.array(two_devices), "i")
    y = jax.device_put(jnp.arange(4.0), jax.NamedSharding(mesh, jax.P("i")))
    f = jax.jit(lambda a: a * 2)
    assert "several devices" in f.lower(y).compile().as_text("engine")
    assert f(y).tolist() == [0.0, 2.0, 4.0, 6.0]


@final
class Recorded(Effect):  # type: ignore[misc]
    """An effect that is none of a call of Python."""


def test_other_effects_go_to_xla() -> None:
    jaxpr = jax.make_jaxpr(lambda a: a + 1)(1.0)
    (eqn,) = jaxpr.eqns
    effects = frozenset({Recorded()})
    changed = jaxpr.replace(eqns=[eqn.replace(effects=effects)], effects=effects)
    place = SingleDeviceSharding(jax.devices()[0])
    verdict = NATIVE.verdict(changed, place, 0, Options("f", cpu_engine="native"))
    assert not verdict.accepts
    assert "effects" in verdict.reason


def test_what_has_no_form_of_loops() -> None:
    f = jax.jit(lambda a: jnp.linalg.eigh(a)[0])
    with pytest.raises(NotALoopProgram) as caught:
        f(jnp.eye(3))
    text = str(caught.value)
    for part_ in ("eigh", "given:", "expected:", "fix:", os.path.basename(__file__)):
        assert part_ in text
    for engine in ("auto", "xla"):
        with jax.cpu_engine(engine):
            np.testing.assert_allclose(f(jnp.eye(3)), np.ones(3))
            assert engine_of(f, jnp.eye(3)) == "engine xla"
    with pytest.raises(TypeError, match="float8_e5m2"):
        jax.jit(lambda a: a.astype(jnp.float32))(jnp.ones(3, jnp.float8_e5m2))


def kalman_like(a: Any, z: Any) -> Any:
    """Small products in a loop."""
    return lax.scan(lambda m, r: (jnp.tanh(a @ m) + r, m.sum()), jnp.zeros(4), z)


def images(a: Any, kernel: Any, strides: tuple[int, int] = (1, 1)) -> Any:
    numbers = ("NHWC", "HWIO", "NHWC")
    return lax.conv_general_dilated(a, kernel, strides, "SAME", dimension_numbers=numbers)


def strided(a: Any, kernel: Any) -> Any:
    return images(a, kernel, (2, 2))


def nested_loops(a: Any, depth: int = 4) -> Any:
    """Nobody knows how often the innermost one runs: 100⁴ times would be a long run."""
    if not depth:
        return lax.sin(a)
    return lax.while_loop(lambda c: c > 0.1, lambda c: nested_loops(c, depth - 1), a)


AUTO: dict[str, tuple[Any, tuple[Any, ...], str, str]] = {
    "small steps": (kalman_like, (jnp.eye(4), jnp.ones(100)), "native", "are expected"),
    "few numbers": (lambda a: jnp.sin(a) @ a, (x,), "native", "are expected"),
    "large arrays": (lambda a: a + 1, (jnp.ones(10_000_000),), "xla", "10000000 elements"),
    "threads would be woken": (lambda a: 2 / a, (jnp.ones(100_000),), "native", "are expected"),
    "parts of complex numbers": (
        lambda a: jnp.angle(a),
        (jnp.ones(100_000, np.complex64),),
        "native",
        "are expected",
    ),
    "complex numbers": (jnp.conj, (jnp.ones(100_000, np.complex64),), "native", "are expected"),
    "more of them": (jnp.conj, (jnp.ones(140_000, np.complex64),), "native", "are expected"),
    "backwards": (lambda a: -a[::-1], (jnp.ones(140_000, np.complex64),), "xla", "one by one"),
    "choices between them": (
        lambda a: jnp.where(a.real > 0, a, 0),
        (jnp.ones(100_000, np.complex64),),
        "native",
        "are expected",
    ),
    "quotients": (lambda a: a / (a + 1), (jnp.ones(30_000, np.complex64),), "native", ""),
    "many quotients": (lambda a: 1 / a, (jnp.ones(70_000, np.complex64),), "xla", "in float64"),
    "more work than that": (jnp.tanh, (jnp.ones(1_000_000),), "xla", "are expected"),
    "few features": (images, (jnp.ones((8, 16, 16, 1)), jnp.ones((3, 3, 1, 16))), "native", ""),
    "strides": (strided, (jnp.ones((8, 16, 16, 1)), jnp.ones((3, 3, 1, 16))), "xla", "conv"),
    "many taps": (images, (jnp.ones((8, 16, 16, 1)), jnp.ones((5, 5, 1, 8))), "xla", "conv"),
    "derivatives by images": (
        jax.grad(lambda a, k: (images(a, k) ** 2).sum(), (0, 1)),
        (jnp.ones((8, 8, 8, 16)), jnp.ones((3, 3, 16, 16))),
        "native",
        "are expected",
    ),
    "many features": (images, (jnp.ones((8, 8, 8, 16)), jnp.ones((3, 3, 16, 17))), "xla", "conv"),
    "many images": (
        images,
        (jnp.ones((33, 32, 32, 1)), jnp.ones((3, 3, 1, 1))),
        "xla",
        "33792 elements",
    ),
    "a large matrix": (jnp.linalg.cholesky, (100 * jnp.eye(25),), "xla", "cholesky has the size"),
    "small matrices": (
        jnp.linalg.cholesky,
        (jnp.stack([16 * jnp.eye(16)] * 10),),
        "native",
        "are expected",
    ),
    "a triangular system": (
        lambda a: lax.linalg.triangular_solve(a, a, left_side=True, lower=True),
        (jnp.eye(24),),
        "xla",
        "triangular_solve has the size 13824",
    ),
    "one right-hand side": (
        lambda a: lax.linalg.triangular_solve(a, a[:, :1], left_side=True, lower=True),
        (jnp.eye(24),),
        "native",
        "are expected",
    ),
    "incomplete gamma": (lambda a: lax.igamma(2.5, a), (jnp.ones(128),), "native", "are expected"),
    "many of them": (lambda a: lax.igamma(2.5, a), (jnp.ones(129),), "xla", "has the size 129"),
    "a transform": (jnp.fft.fft2, (jnp.zeros((45, 45)),), "native", "are expected"),
    "a longer transform": (jnp.fft.fft2, (jnp.ones((60, 60)),), "xla", "fft has the size 3600"),
    "a product": (lambda a: a @ a, (jnp.ones((65, 65)),), "xla", "large dot_general"),
    "long": (
        lambda a: lax.fori_loop(0, 2000, lambda _, y: jnp.cbrt(y[::-1]) + a, a),
        (jnp.ones(1000),),
        "xla",
        "a long run: about",
    ),
    "one sort": (jnp.sort, (jnp.ones(128),), "native", "are expected"),
    "a longer sort": (jnp.sort, (jnp.ones(129),), "xla", "sort has the size 129"),
    "a sort in a branch": (
        lambda a: lax.cond(a[0] > 0, jnp.sort, lambda y: y, a),
        (jnp.ones(128),),
        "native",
        "are expected",
    ),
    "a sort in each step": (
        lambda a: lax.fori_loop(0, 9, lambda i, y: jax.jit(jnp.sort)(y + i), a),
        (jnp.ones(17),),
        "xla",
        "sort has the size 17",
    ),
    "loops in loops": (nested_loops, (jnp.ones(()),), "native", "are expected"),
    "no rule": (lambda a: jnp.linalg.eigh(a)[0], (jnp.eye(3),), "xla", "no form of loops"),
    "arrays that stay": (
        lambda a: [jax.device_put(x) * 2 for x in (a, a + 1, jax.device_put(a))],
        (jnp.ones(3),),
        "native",
        "are expected",
    ),
    "arrays that go": (
        lambda a: jax.device_put(a, jax.devices("cpu")[0]) + 1,
        (jnp.ones(3),),
        "xla",
        "it puts arrays elsewhere",
    ),
    "a platform's branch": (
        lambda a: lax.platform_dependent(a, cpu=jnp.sin, cuda=jnp.cos, default=jnp.tan),
        (jnp.ones(3),),
        "native",
        "are expected",
    ),
    "a dtype": (
        lambda a: a.astype(jnp.float32),
        (jnp.ones(3, jnp.float8_e5m2),),
        "xla",
        "dtype float8_e5m2",
    ),
    "within a branch": (
        lambda a: lax.cond(a[0, 0] > 0, lambda y: jnp.fft.fft(y, 67).real[:, :3], lambda y: y, a),
        (jnp.eye(3),),
        "xla",
        "no form of loops",
    ),
    "many operations": (
        lambda a: [a := lax.add(a, a) for _ in range(3001)][-1],
        (jnp.arange(3),),
        "native",
        "are expected",
    ),
}


def test_a_branch_that_is_known_is_the_only_one_written() -> None:
    def choose(a: Any) -> Any:
        return lax.platform_dependent(a, cuda=jnp.cos, cpu=lambda x: x + 3, default=jnp.tan)

    with jax.cpu_engine("native"):
        text = jax.jit(choose).lower(jnp.ones(3)).compile().as_text("native")
    assert "fadd" in text
    assert "@cos" not in text
    assert "@tan" not in text


@pytest.mark.parametrize("name", AUTO)
def test_the_estimate(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine_module, "processors", lambda: 64)
    function, args, engine, reason = AUTO[name]
    with jax.cpu_engine("auto"):
        f = jax.jit(function)
        text = f.lower(*args).compile().as_text("engine")
        assert text.startswith(f"engine {engine}"), text
        assert f"native: {reason}" in text or reason in text.split("native:")[1], text
        found = f(*args)
    with jax.cpu_engine("xla"):
        expected = jax.jit(function)(*args)
    for mine, theirs in zip(plain(found), plain(expected), strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=1e-5, atol=1e-6)


def test_a_program_of_very_many_operations_is_not_translated(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(engine_module, "MOST_OPERATIONS", 5)
    with jax.cpu_engine("auto"):
        f = jax.jit(lambda a: [a := lax.add(a, 1.0) for _ in range(6)][-1])
        text = f.lower(x).compile().as_text("engine")
    assert "more than 5 operations" in text


def test_long_programs_with_many_results() -> None:
    # Not compared with XLA's results, which take it minutes.
    f = jax.jit(lambda a: [a := lax.add(a, 1.0) for _ in range(3001)])
    with jax.cpu_engine("auto"):
        assert f.lower(x).compile().as_text("engine").startswith("engine native")
        assert [float(y[2]) for y in f(x)] == [3.0 + i for i in range(3001)]


def test_systems_of_few_unknowns_have_many_right_hand_sides() -> None:
    def density(x: Any, mean: Any, covariance: Any) -> Any:
        return jax.scipy.stats.multivariate_normal.pdf(x, mean, covariance)

    for size, engine in ((3, "native"), (12, "xla")):
        args = np.ones((900, size), np.float32), np.zeros(size, np.float32), np.eye(size)
        f = jax.jit(density)
        with jax.cpu_engine("auto"):
            assert engine_of(f, *args) == f"engine {engine}"
            expected = (2 * np.pi) ** (-size / 2) * np.exp(-size / 2)
            np.testing.assert_allclose(f(*args), np.full(900, expected), rtol=1e-5)


def test_larger_arrays_where_there_are_few_processors(monkeypatch: pytest.MonkeyPatch) -> None:
    def chosen(function: Any, size: int, processors: int) -> str:
        for module in (engine_module, cost_model):
            monkeypatch.setattr(module, "processors", lambda: processors)
        jax.clear_caches()  # of plans of the same program
        with jax.cpu_engine("auto"):
            return engine_of(jax.jit(lambda a: function(a)), jnp.ones(size))

    def twice(a: Any) -> Any:
        return a * 2 + 1

    def loop(a: Any) -> Any:
        return lax.fori_loop(0, 3, lambda i, a: a * 0.5, a)

    assert chosen(twice, 1 << 17, 2) == "engine native"
    assert chosen(jnp.arctan, 1 << 17, 2) == "engine native"
    assert chosen(jnp.tanh, 1 << 17, 2) == "engine xla"
    assert chosen(lambda a: a, 1 << 17, 2) == "engine xla"
    assert chosen(lambda a: jax.scipy.special.hyp1f1(1.5, 2.5, a), 1 << 15, 2) == "engine native"
    assert chosen(twice, 1 << 20, 2) == "engine native"
    assert chosen(twice, 1 << 20, 64) == "engine xla"
    assert chosen(lambda a: jnp.repeat(a, 2), 1 << 17, 2) == "engine native"
    assert chosen(lambda a: a.reshape(512, -1).T * 2, 1 << 18, 2) == "engine xla"
    assert chosen(twice, (1 << 22) + 1, 2) == "engine xla"
    assert chosen(loop, 1 << 14, 2) == "engine native"
    assert chosen(loop, 1 << 17, 2) == "engine native"
    assert chosen(loop, (1 << 17) + 1, 2) == "engine xla"
    assert chosen(loop, (1 << 14) + 1, 64) == "engine xla"
    assert chosen(lax.bessel_i0e, 1 << 17, 2) == "engine xla"
    x = np.random.default_rng(0).normal(size=1 << 17).astype(np.float32)
    function = jax.jit(lambda a: (jnp.tanh(a[::-1]) * 2 + a).reshape(512, -1).sum(1))
    with jax.cpu_engine("native"):
        found = function(x)
    with jax.cpu_engine("xla"):
        np.testing.assert_allclose(found, function(x), rtol=1e-5, atol=1e-4)


def test_compiler_options() -> None:
    with jax.cpu_engine("xla"):
        f = jax.jit(lambda a: a + 1, compiler_options={"jax_cpu_engine": "native"})
        assert engine_of(f, x) == "engine native"
        assert f(x).tolist() == [1.0, 2.0, 3.0]
        lowered = jax.jit(lambda a: a - 1).lower(x)
        options = {"jax_cpu_engine": "native"}
        assert lowered.compile().as_text("engine").startswith("engine xla")
        assert lowered.compile(options).as_text("engine").startswith("engine native")
        with pytest.raises(ValueError, match="'auto', 'xla', 'native'"):
            lowered.compile({"jax_cpu_engine": "fast"})
    with pytest.raises(ValueError, match="'auto', 'xla', 'native'"):
        jax.cpu_engine("fast")
    flags = {"xla_cpu_enable_fast_math": False}
    compiled = jax.jit(lambda a: a * 3).lower(x).compile(flags)
    assert "options of XLA" in compiled.as_text("engine")


def test_the_environment_chooses() -> None:
    code = (
        "import morphax as jax; f = jax.jit(lambda a: a + 1);"
        "print(f.lower(1.0).compile().as_text('engine').splitlines()[0])"
    )
    for engine in ("native", "xla"):
        run = subprocess.run(
            [sys.executable, "-c", code],
            env=os.environ | {"JAX_CPU_ENGINE": engine},
            capture_output=True,
            text=True,
        )
        assert run.stdout.strip() == f"engine {engine}", run.stderr


def test_the_choice_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    with jax.log_compiles(True), caplog.at_level(logging.WARNING):
        jax.jit(lambda a: a + 17)(x)
    assert "native: jax_cpu_engine is 'native'" in caplog.text


def test_donated_operands() -> None:
    f = jax.jit(lambda a, b: (a + b, b * 2), donate_argnums=0)
    for _ in range(3):
        y = x + 1
        view = np.asarray(y)
        total, _ = f(y, x)
        assert y.is_deleted()
        assert view.tolist() == [1.0, 2.0, 3.0]
        assert total.tolist() == [1.0, 3.0, 5.0]
        with pytest.raises(RuntimeError, match="donated to"):
            y + 1
    z = x + 1
    with pytest.raises(ValueError, match="passed once"):
        f(z, z)
    assert z.tolist() == [1.0, 2.0, 3.0]
    with pytest.warns(UserWarning, match="donated arguments"):
        jax.jit(lambda a: a[:2] + 1, donate_argnums=0)(z)
    assert not z.is_deleted()
    passed_on = jax.jit(lambda a: a, donate_argnums=0)(z)
    assert z.is_deleted()
    assert passed_on.tolist() == [1.0, 2.0, 3.0]
    assert f(np.float32([1, 2, 3]), x)[0].tolist() == [1.0, 3.0, 5.0]


def test_deleted_operands() -> None:
    f = jax.jit(lambda a, b: b + 1)
    y, z = x + 1, x + 2
    f(y, z)
    y.delete()
    assert f(y, z).tolist() == [3.0, 4.0, 5.0]
    z.delete()
    for _ in range(2):
        with pytest.raises(RuntimeError, match="deleted"):
            f(x, z)


def test_options_that_watch() -> None:
    f = jax.jit(lambda a: jnp.log(a) * 2)
    f(x)
    with jax.debug_nans(True), pytest.raises(FloatingPointError):
        f(-x)
    with jax.disable_jit():
        np.testing.assert_allclose(f(x + 1), np.log(x + 1) * 2, rtol=1e-6)
    with jax.transfer_guard("disallow"):
        f(x)
        with pytest.raises(RuntimeError, match="transfer"):
            f(np.float32([1, 2, 3]))
    with jax.no_execution(True), pytest.raises(RuntimeError):
        f(x)
    with jax.enable_x64(True):
        assert f(np.arange(3.0)).dtype == np.float64


def test_stages() -> None:
    compiled = jax.jit(lambda a, b: jnp.sin(a) @ b).lower(m, x).compile()
    assert "stablehlo" in jax.jit(lambda a: a + 1).lower(x).as_text()
    assert "define" in compiled.as_text("native")
    assert compiled.as_text().startswith("HloModule jit__lambda")
    assert compiled.cost_analysis()["transcendentals"] == 6
    stats = compiled.memory_analysis()
    assert (stats.argument_size_in_bytes, stats.output_size_in_bytes) == (36, 8)
    assert stats.generated_code_size_in_bytes > 0
    assert len(compiled.runtime_executable().get_parameter_layouts()) == 2
    for _ in range(3):
        np.testing.assert_allclose(compiled(m, x), np.sin(m) @ x, rtol=1e-6)
    with pytest.raises(TypeError, match="structure"):
        compiled(m)
    with pytest.raises(TypeError, match="float32"):
        compiled(m, jnp.arange(3))
    with pytest.raises(ValueError, match="dialect"):
        compiled.as_text("hlo")
    assert compiled.input_formats[0][0].layout.major_to_minor == (0, 1)


def test_what_is_serialized_is_compiled_by_xla() -> None:
    compiled = jax.jit(lambda a: a * 2).lower(x).compile()
    again = serialize_executable.deserialize_and_load(*serialize_executable.serialize(compiled))
    assert again(x).tolist() == compiled(x).tolist() == [0.0, 2.0, 4.0]


def test_settings_make_other_programs() -> None:
    f = jax.jit(lambda a: a + 1)
    for _ in range(2):
        for engine in ("native", "xla"):
            with jax.cpu_engine(engine):
                assert f(x).tolist() == [1.0, 2.0, 3.0]
                assert engine_of(f, x) == f"engine {engine}"


def test_results_that_no_memory_holds() -> None:
    f = jax.jit(lambda: jnp.zeros(1 << 46, jnp.int8) + 1)
    with pytest.raises(jax.errors.JaxRuntimeError, match="RESOURCE_EXHAUSTED: running"):
        f()


def test_threads_call_one_program() -> None:
    f = jax.jit(lambda a: lax.scan(lambda c, _: (jnp.cos(c), c.sum()), a, None, length=300))
    starts = [jnp.full(40, 0.1 * i) for i in range(8)]
    expected = [np.asarray(f(start)[1]) for start in starts]
    wrong: list[int] = []

    def work(i: int) -> None:
        for _ in range(50):
            if not np.array_equal(f(starts[i])[1], expected[i]):
                wrong.append(i)

    # The choice of the engine belongs to the context.
    contexts = [contextvars.copy_context() for _ in starts]
    threads = [threading.Thread(target=c.run, args=(work, i)) for i, c in enumerate(contexts)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def peak_memory() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10


def test_calls_keep_no_memory() -> None:
    f = jax.jit(lambda a, n: (a * n, walk(a, n)))
    y = jnp.ones(100)
    for _ in range(100):
        f(y, 0.5)
    gc.collect()
    before, in_use = peak_memory(), host_memory.stats()["in_use"]
    for _ in range(100_000):
        f(y, 0.5)
    assert peak_memory() - before < 4 << 20
    assert host_memory.stats()["in_use"] == in_use


def test_the_twin_does_the_same() -> None:
    program = native.translated(
        jax.make_jaxpr(walk)(x, 0.25),
        Options("walk", cpu_engine="native"),
    )
    code = kept_code.machine_code_of(program.loops)
    declared = [
        [(b.dtype, b.shape) for b in buffers]
        for buffers in (program.loops.inputs, program.loops.outputs)
    ]
    operands = [np.asarray(x), np.float32(0.25).reshape(())]
    results = []
    for make in (MachineFunction, PythonFunction):
        function = make(
            code, code.address, code.scratch_bytes, host_memory.shared, *declared, True, False
        )
        assert function.may_take_long()
        results.append(function(operands))
        assert not function.may_take_long()
        with pytest.raises(ValueError, match="another size"):
            function([operands[0][:2], operands[1]])
    for mine, other in zip(*results, strict=True):
        np.testing.assert_array_equal(mine, other)


@pytest.fixture
def compilations(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The loop programs that were compiled, not loaded."""
    seen: list[Any] = []
    original = kept_code.compile_loops
    monkeypatch.setattr(
        kept_code, "compile_loops", lambda *given: seen.append(given[0]) or original(*given)
    )
    return seen


def run_anew(n: float) -> Any:
    jax.clear_caches()
    return jax.jit(lambda a: jnp.sin(a) * n)(x).tolist()


def test_object_code_is_kept(folder: Path, compilations: list[Any]) -> None:
    first = run_anew(2.5)
    assert run_anew(2.5) == first
    assert len(compilations) == 1
    run_anew(3.5)
    assert len(compilations) == 2
    kept = sorted(folder.glob("native-*.executable"))
    assert len(kept) == 2
    assert {path.stat().st_mode & 0o777 for path in kept} == {0o600}
    assert folder.stat().st_mode & 0o777 == 0o700
    with override(enable_compilation_cache=False):
        assert run_anew(2.5) == first
    assert len(compilations) == 3
    assert len(list(folder.glob("native-*.executable"))) == 2


@pytest.mark.parametrize("damage", ["flipped", "short", "other", "empty"])
def test_damaged_object_code_is_not_run(
    folder: Path, compilations: list[Any], damage: str, caplog: pytest.LogCaptureFixture
) -> None:
    first = run_anew(2.5)
    run_anew(3.5)
    paths = sorted(folder.glob("native-*.executable"))
    one, two = [path.read_bytes() for path in paths]
    for path, whole, other in zip(paths, (one, two), (two, one), strict=True):
        data = bytearray(whole)
        if damage == "flipped":
            data[-5] ^= 1
        path.write_bytes({"short": data[:-7], "other": other, "empty": b""}.get(damage, data))
    assert run_anew(2.5) == first
    assert len(compilations) == 3
    assert run_anew(2.5) == first
    assert len(compilations) == 3


def test_keys_depend_on_the_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    program = native.translated(
        jax.make_jaxpr(lambda a: a + 1)(x), Options("f", cpu_engine="native")
    )
    key = kept_code.key_of(program.loops)
    assert key == kept_code.key_of(program.loops)
    monkeypatch.setattr(machine_code, "processor", lambda: "another")
    machine_code._surroundings.cache_clear()
    assert kept_code.key_of(program.loops) != key


def test_the_native_engine_passes_the_tests_of_operations() -> None:
    tests = ["lax/test_dot.py", "lax/test_integers.py"]
    plugin = ["-p", "no:cacheprovider", "-p", "tests.engines.native_where_possible"]
    command = [sys.executable, "-m", "pytest", "-q", *plugin, *[f"tests/{t}" for t in tests]]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert run.returncode == 0, run.stdout[-3000:]


def test_the_order_of_maxima_of_scalars_is_the_programs() -> None:
    """LLVM moves its own form, so that each step of a chain waits for more operations."""

    def cell(left: Any, above: Any) -> tuple[Any, Any]:
        best = jnp.maximum(jnp.maximum(0, above + 1), jnp.minimum(left, above) - 1)
        return best, best

    def chain(x: Any) -> Any:
        return jax.lax.scan(cell, jnp.int32(0), x)

    x = np.array([3, -5, 2**31 - 1, -(2**31), 7, 0], np.int32)
    with jax.cpu_engine("native"):
        compiled = jax.jit(chain).lower(x).compile()
    text = compiled.as_text("native")
    assert "@llvm.smax.i32" not in text
    assert "@llvm.smin.i32" not in text
    expected, left = [], 0
    for above in x.tolist():
        wrapped = (above + 1 + 2**31) % 2**32 - 2**31
        left = max(0, wrapped, min(left, above) - 1) if min(left, above) > -(2**31) else 2**31 - 1
        expected.append(left)
    assert np.asarray(compiled(x)[1]).tolist() == expected


PRODUCTS = {
    "matrices": ("ij,jk->ik", (65, 65), (65, 65)),
    "of one thread": ("ij,jk->ik", (64, 64), (64, 64)),
    "few columns": ("ij,jk->ik", (400, 400), (400, 7)),
    "stacks": ("bij,bjk->bik", (2, 65, 65), (2, 65, 65)),
    "stacks of small ones": ("bij,bjk->bik", (9, 40, 40), (9, 40, 40)),
    "rows of batches": ("bti,ij->btj", (2, 33, 65), (65, 65)),
    "sums over batches": ("bti,btj->ij", (2, 33, 65), (2, 33, 65)),
    "none": ("ij,jk->ik", (65, 0), (0, 65)),
}


@pytest.mark.parametrize("dtype", ["float32", "float64", "int32"])
@pytest.mark.parametrize(("names", "left", "right"), PRODUCTS.values(), ids=PRODUCTS)
def test_large_products_are_told_before_translation(
    names: str, left: tuple[int, ...], right: tuple[int, ...], dtype: str
) -> None:
    """By the sizes of the operands, as by those of the matrices that loop programs hold."""
    with jax.enable_x64(True):
        x, y = jnp.ones(left, dtype), jnp.ones(right, dtype)
        jaxpr = jax.make_jaxpr(lambda x, y: jnp.einsum(names, x, y))(x, y).jaxpr
        (dot,) = [eqn for eqn in jaxpr.eqns if eqn.primitive.name == "dot_general"]
        told = dot.primitive.is_much_for_loops(*[v.aval for v in dot.invars], **dot.params)
        judged = native.judged(native.translated(jaxpr, Options("f")).loops)
    assert told is ("large product" in judged.reason)


LARGE_PRODUCTS = {
    "few of float32": ((75, 60, 60), "float32", None, False),
    "many of float32": ((80, 60, 60), "float32", None, True),
    "int8": ((1, 130, 130), "int8", np.int32, True),
    "small ones of int8": ((1, 120, 120), "int8", np.int32, False),
    "sums of int8": ((1, 300, 300), "int8", None, False),
    "int32": ((1, 200, 200), "int32", None, False),
    "large ones of int32": ((1, 210, 210), "int32", None, True),
}


@pytest.mark.parametrize(
    ("shape", "dtype", "wanted", "is_much"), LARGE_PRODUCTS.values(), ids=LARGE_PRODUCTS
)
def test_which_products_are_for_libraries(
    shape: tuple[int, ...], dtype: str, wanted: Any, is_much: bool
) -> None:
    def product(x: Any) -> Any:
        return lax.dot_general(x, x, (((2,), (1,)), ((0,), (0,))), preferred_element_type=wanted)

    (dot,) = jax.make_jaxpr(product)(jnp.ones(shape, dtype)).eqns
    assert dot.primitive.is_much_for_loops(*[v.aval for v in dot.invars], **dot.params) is is_much
