"""Compiled functions as bytes, in this process and in another one."""

from __future__ import annotations

import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import morphax as jax
import morphax.numpy as jnp
from morphax.engines.xla import saved_executable
from morphax.experimental.serialize_executable import deserialize_and_load, serialize

TABLE = np.arange(20000, dtype=np.float32)


def compiled(f: Any, *args: Any, **options: Any) -> Any:
    """A program of XLA, which is what comes back, to the bit."""
    return jax.jit(f, **options).lower(*args).compile({"jax_cpu_engine": "xla"})


@pytest.mark.parametrize(
    ("f", "args"),
    [
        (lambda x, y: {"sum": x + y}, (1.0, np.ones(3, np.float32))),
        (lambda x, unused: (x, 2.0, jnp.sin(x)), (np.ones(2, np.float32), 1)),
        (lambda x: x + TABLE, (1.0,)),
        (lambda key: jax.random.normal(key, (3,)), (jax.random.key(0),)),
        (lambda n: jax.lax.fori_loop(0, n, lambda i, x: x * 2, 1.0), (5,)),
        (lambda d: d["a"] @ d["b"], ({"a": np.ones((2, 3), np.float32), "b": np.ones(3, "f4")},)),
        (lambda: 1.0, ()),
    ],
)
def test_a_function_comes_back(f: Any, args: Any) -> None:
    original = compiled(f, *args)
    data, in_tree, out_tree = serialize(original)
    assert (type(data), in_tree, out_tree) == (bytes, original.in_tree, original.out_tree)
    again = deserialize_and_load(data, in_tree, out_tree)
    assert isinstance(again, jax.stages.Compiled)
    for _ in range(2):
        expected, given = original(*args), again(*args)
        assert jax.tree.structure(given) == jax.tree.structure(expected)
        assert jax.tree.map(jax.typeof, given) == jax.tree.map(jax.typeof, expected)
        jax.tree.map(np.testing.assert_array_equal, given, expected)
    assert str(again.args_info) == str(original.args_info)
    assert str(again.out_info) == str(original.out_info)
    assert again.input_shardings == original.input_shardings
    assert again.as_text().startswith("HloModule")
    third = deserialize_and_load(*serialize(again))
    jax.tree.map(np.testing.assert_array_equal, third(*args), original(*args))


def test_it_refuses_other_arguments_as_the_original() -> None:
    again = deserialize_and_load(*serialize(compiled(jnp.sin, 1.0)))
    for wrong in (np.ones(3), 1j):
        with pytest.raises(TypeError, match="argument number 0"):
            again(wrong)
    with pytest.raises(TypeError, match="arguments"):
        again(1.0, 2.0)
    with jax.debug_nans(True):
        assert again(0.0) == 0.0


def test_donated_arguments_stay_donated() -> None:
    again = deserialize_and_load(
        *serialize(compiled(lambda x: x + 1, jnp.ones(8), donate_argnums=0))
    )
    x = jnp.zeros(8) + 1
    np.testing.assert_array_equal(again(x), np.full(8, 2.0))
    assert x.is_deleted()


@pytest.mark.parametrize(
    "function",
    [lambda x: jnp.floor(x) * 2, lambda x: jnp.linalg.norm(jnp.floor(x) * jnp.eye(4), 2) * 2],
    ids=["XLA's", "LAPACK's"],
)
def test_another_process(function: Any, tmp_path: Path) -> None:
    data, *_ = serialize(compiled(function, 1.0))
    (tmp_path / "program").write_bytes(data)
    program = f"""
import morphax as jax
from morphax.experimental.serialize_executable import deserialize_and_load
tree = jax.tree.structure
data = open({str(tmp_path / "program")!r}, "rb").read()
print(deserialize_and_load(data, tree(((0,), {{}})), tree(0))(1.5))
"""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )
    assert (done.stdout.strip(), done.stderr) == ("2.0", "")


def test_a_function_that_the_compile_cache_had() -> None:
    for _ in range(2):
        jax.clear_caches()
        original = compiled(lambda x: jnp.sin(x) * 3 + x, np.ones(7, np.float32))
        again = deserialize_and_load(*serialize(original))
        np.testing.assert_array_equal(again(np.ones(7, np.float32)), original(np.ones(7, "f4")))


def test_what_has_no_bytes() -> None:
    with pytest.raises(TypeError, match="argument compiled"):
        serialize(3)  # type: ignore[arg-type]
    shape = jax.ShapeDtypeStruct((), np.float32)
    calling = compiled(lambda x: jax.pure_callback(np.sin, shape, x), 1.0)
    with pytest.raises(ValueError, match="calls Python"):
        serialize(calling)


def test_bytes_that_are_no_program() -> None:
    data, *trees = serialize(compiled(jnp.sin, 1.0))
    with pytest.raises(pickle.UnpicklingError, match="argument serialized"):
        deserialize_and_load(b"x", *trees)
    digest = data.index(b"\n") + 1
    foreign = data[:digest] + b"0" * 64 + data[digest + 64 :]
    with pytest.raises(ValueError, match="another version of jaxlib"):
        deserialize_and_load(foreign, *trees)
    with pytest.raises(ValueError, match="in_tree and out_tree"):
        deserialize_and_load(data, jax.tree.structure(((1, 2), {})), trees[1])
    with pytest.raises(ValueError, match="execution_devices"):
        deserialize_and_load(data, *trees, execution_devices=[])
    here = deserialize_and_load(data, *trees, "cpu", jax.devices("cpu")[:1])
    assert here(0.5) == pytest.approx(np.sin(0.5))


class Caller:
    """What is pickled as a call of a function."""

    def __reduce__(self) -> Any:
        return (sys.exit, (3,))


def test_reading_calls_no_other_code() -> None:
    _, in_tree, out_tree = serialize(compiled(jnp.sin, 1.0))
    heading = saved_executable._heading(jax.devices()[0])
    payload = pickle.dumps(({"in_avals": Caller()}, "f", b""))
    forged = heading + saved_executable._digest(payload) + payload
    with pytest.raises(pickle.UnpicklingError, match=r"a recipe that names sys\.exit"):
        deserialize_and_load(forged, in_tree, out_tree)


def test_damage_is_found() -> None:
    data, *trees = serialize(compiled(lambda x: x + TABLE[:3], 1.0))
    rng = np.random.default_rng(0)
    for position in [*rng.integers(0, len(data), 300), len(data) - 1]:
        changed = bytearray(data)
        changed[position] ^= 1 << rng.integers(8)
        with pytest.raises((pickle.UnpicklingError, ValueError), match="fix:"):
            deserialize_and_load(bytes(changed), *trees)
    for size in (0, 1, 20, 60, 100, len(data) - 1):
        with pytest.raises((pickle.UnpicklingError, ValueError), match="fix:"):
            deserialize_and_load(data[:size], *trees)
