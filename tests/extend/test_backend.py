"""Clients, compile options, and the generator of random numbers."""

from __future__ import annotations

import subprocess
import sys
from functools import lru_cache

import numpy as np
import pytest

import morphax as jax
from morphax.extend import backend, random
from morphax.extend.lowering import LoweringRuleContext
from morphax.interpreters import mlir
from morphax.runtime.client import factories


def test_clients() -> None:
    assert backend.get_backend("cpu") is backend.backends()["cpu"]
    assert backend.get_backend().platform == jax.default_backend()
    assert backend.get_default_device() in jax.devices()
    assert backend.backend_xla_version("cpu") is None
    with pytest.raises(RuntimeError):
        backend.get_backend("abacus")


def run(program: str, **environment: str) -> list[str]:
    """The lines that a program prints in a process of its own."""
    done = subprocess.run(
        [sys.executable, "-c", program],
        env={"PYTHONPATH": ":".join(sys.path), "PATH": "", **environment},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


CLEARED = """
import morphax as jax, morphax.numpy as jnp
from morphax.extend.backend import clear_backends

double = jax.jit(lambda x: 2 * x)
x, old = jnp.arange(3.0), jax.devices()[0]
y, bound = double(x), jax.device_put(x, old)
print(len(jax.devices()))
clear_backends()
jax.config.update("jax_num_cpu_devices", 3)
new = jax.devices()[0]
print(len(jax.devices()), new is old, new == old)
print(x, y + x, double(y), double(bound), bound + 1)
print(double(y).devices() == {new}, double(bound).devices() == {old})
print(jax.device_put(y, jax.devices()[2]).devices())
print(jax.jit(lambda k: jax.random.split(k)[0])(jax.random.key(0)).devices() == {new})
try:
    bound + jax.device_put(x, new)
except ValueError as error:
    print("committed to one device" in str(error))
"""


def test_new_clients() -> None:
    assert run(CLEARED) == [
        "1",
        "3 False False",
        "[0. 1. 2.] [0. 3. 6.] [0. 4. 8.] [0. 2. 4.] [1. 2. 3.]",
        "True True",
        "{CpuDevice(id=2)}",
        "True",
        "True",
    ]


FACTORIES = """
import sys
import morphax as jax, morphax.numpy as jnp
from morphax.extend import backend
from jaxlib import xla_client

made = []


def make():
    made.append(1)
    return xla_client.make_cpu_client(num_devices=2)


def fail():
    raise OSError("no such hardware")


def attempt(function, *args, **kwargs):
    try:
        return function(*args, **kwargs)
    except RuntimeError as error:
        return [line for line in str(error).splitlines() if "given" in line][-1].strip()


backend.register_backend_factory("mine", make, priority=int(sys.argv[1]))
quietly = sys.argv[2] == "quietly"
backend.register_backend_factory("absent", fail, priority=500, fail_quietly=quietly)
print(len(made), attempt(lambda: len(jax.devices())), len(jax.devices("cpu")))
print(jax.devices("mine"), backend.get_backend("mine") is backend.get_backend("mine"))
print(attempt(lambda: list(backend.backends())))
print(attempt(jax.devices, "absent"))
x = jax.device_put(jnp.arange(3.0), jax.devices("mine")[1])
print(x + 1, jax.jit(lambda x: 2 * x)(x), (x + 1).devices(), len(made))
print(attempt(backend.register_backend_factory, "mine", make))
"""


def run_factories(priority: int, how: str, **environment: str) -> list[str]:
    program = f"import sys; sys.argv = ['', '{priority}', '{how}']" + FACTORIES
    return run(program, **environment)


FAILED = "given:    a factory that raised OSError('no such hardware')"


@pytest.mark.parametrize(
    ("priority", "environment", "default", "platforms"),
    [
        (-1, {}, 1, "['cpu', 'mine']"),
        (0, {}, 1, "['cpu', 'mine']"),
        (100, {}, 2, "['cpu', 'mine']"),
        (-1, {"JAX_PLATFORMS": "mine,cpu"}, 2, "['cpu', 'mine']"),
    ],
)
def test_factories(
    priority: int, environment: dict[str, str], default: int, platforms: str
) -> None:
    assert run_factories(priority, "quietly", **environment) == [
        f"0 {default} 1",
        "[CpuDevice(id=0), CpuDevice(id=1)] True",
        platforms,
        FAILED,
        "[1. 2. 3.] [0. 2. 4.] {CpuDevice(id=1)} 1",
        "given:    'mine', a platform whose client has been made",
    ]


@pytest.mark.parametrize(
    ("how", "environment"), [("loudly", {}), ("quietly", {"JAX_PLATFORMS": "absent,cpu"})]
)
def test_factories_that_must_not_fail(how: str, environment: dict[str, str]) -> None:
    program = f"import sys; sys.argv = ['', '1', '{how}']" + FACTORIES.split("x = jax")[0]
    lines = run(program, **environment)
    assert lines[0] == f"0 {FAILED} 1"
    assert lines[2:] == [FAILED, FAILED]


def test_a_factory_must_return_a_client(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(factories, "nothing", None)  # type: ignore[arg-type]
    backend.register_backend_factory("nothing", lambda: None, priority=-1, experimental=True)
    with pytest.raises(RuntimeError, match=r"(?s)platform nothing.*returned None.*a client of"):
        jax.devices("nothing")
    assert "'nothing' is experimental" in caplog.text
    assert "nothing" not in backend.backends()


def test_caches_are_emptied_together() -> None:
    @lru_cache
    def count() -> list[int]:
        return []

    backend.register_backend_cache(count, "tests")
    first = count()
    assert count() is first
    backend.clear_in_memory_compilation_cache()
    assert count() is not first


def test_compile_options() -> None:
    options = backend.get_compile_options(
        1, 2, [[1, 0]], {"xla_cpu_enable_fast_math": "false"}, b"profile", False
    )
    build = options.executable_build_options
    assert (options.num_replicas, build.num_partitions) == (1, 2)
    assert build.use_spmd_partitioning
    assert options.env_option_overrides == [("xla_cpu_enable_fast_math", "false")]
    assert not backend.get_compile_options(1, 1).executable_build_options.use_spmd_partitioning


def test_lowering_contexts_are_one_class() -> None:
    assert LoweringRuleContext is mlir.LoweringRuleContext


def test_keys_of_seeds() -> None:
    impl = random.threefry_prng_impl
    key = random.seed_with_impl(impl, 7)
    assert (jax.random.key_data(key) == jax.random.key_data(jax.random.key(7))).all()
    keys = random.random_seed(np.arange(3), impl)
    assert keys.shape == (3,)
    assert (jax.random.key_data(keys)[2] == jax.random.key_data(jax.random.key(2))).all()


@pytest.mark.parametrize(
    ("count", "expected"),
    [
        (range(5), [2052595727, 3504730591, 2527474599, 1880214352, 1914734168]),
        ([[0, 1], [2, 3]], [[4128513521, 3192206206], [2345921600, 3057534555]]),
    ],
)
def test_threefry(count: object, expected: object) -> None:
    words = np.array(count, np.uint32)
    images = random.threefry_2x32(np.array([1, 2], np.uint32), words)
    assert images.tolist() == expected
    assert images.dtype == np.uint32


def test_ifrt_programs_are_those_of_jaxlib() -> None:
    from jaxlib import _jax

    from morphax.extend import ifrt_programs

    assert ifrt_programs.ifrt_programs is _jax.ifrt_programs
    assert not hasattr(ifrt_programs, "other")
