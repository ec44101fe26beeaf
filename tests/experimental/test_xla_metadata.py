"""Notes to the compiler: `set_xla_metadata` and `compute_on`, in the text of compiled programs."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import morphax as jax
import morphax.numpy as jnp
from morphax import lax
from morphax.experimental.compute_on import compute_on, compute_on2
from morphax.experimental.fused import fused
from morphax.experimental.scheduling_groups import scheduling_group
from morphax.experimental.xla_metadata import (
    fuse_limit,
    must_fuse_call,
    set_xla_metadata,
    xla_metadata_call,
)


def notes(f: Callable[..., Any], *args: Any) -> dict[str, list[str]]:
    """The notes of the operations of a compiled function, by operation."""
    lowered = jax.jit(f).lower(*args)
    lowered.compile()
    found: dict[str, list[str]] = {}
    for line in lowered.as_text().splitlines():
        name = re.search(r"(?:stablehlo|func)\.(\w+)", line)
        note = re.search(r"mhlo\.frontend_attributes = \{(.*?)\}", line)
        if name and note:
            found.setdefault(name[1], []).append(note[1])
    return found


def test_a_block_marks_the_operations_in_it() -> None:
    def f(x: Any) -> Any:
        with set_xla_metadata(a="b", n=3, flag=True, ratio=1.5):
            y = jnp.sin(x)
        return jnp.cos(y)

    assert notes(f, 1.0) == {"sine": ['a = "b", n = "3", flag = "true", ratio = "1.5"']}
    np.testing.assert_allclose(jax.jit(f)(1.0), np.cos(np.sin(1.0)), rtol=1e-6)
    assert f(1.0) == pytest.approx(np.cos(np.sin(1.0)))


def test_blocks_nest() -> None:
    @set_xla_metadata(a="outer", b="kept")
    def f(x: Any) -> Any:
        y = jnp.sin(x)
        with set_xla_metadata(a="inner"):
            return jnp.cos(y)

    assert notes(f, 1.0) == {
        "sine": ['a = "outer", b = "kept"'],
        "cosine": ['a = "inner", b = "kept"'],
    }


def test_functions_inside_carry_them_too() -> None:
    def f(x: Any) -> Any:
        with set_xla_metadata(a="b"):
            return jax.jit(jnp.sin)(x), lax.map(jnp.cos, x), lax.cond(x[0] > 0, jnp.exp, jnp.log, x)

    found = notes(f, np.ones(3, np.float32))
    assert {"sine", "cosine", "exponential", "log", "compare"} <= set(found)
    assert {note for each in found.values() for note in each} == {'a = "b"'}


def test_a_compiled_function_is_traced_anew_under_others() -> None:
    f = jax.jit(jnp.sin)
    plain = f.lower(1.0).as_text()
    with set_xla_metadata(a="b"):
        assert 'a = "b"' in f.lower(1.0).as_text()
        f(1.0)
    assert f.lower(1.0).as_text() == plain


def test_derivatives_of_what_is_marked() -> None:
    @set_xla_metadata(a="b")
    def f(x: Any) -> Any:
        return jnp.sin(x) * x

    assert set(notes(jax.grad(f), 1.0)) == {"sine", "cosine", "multiply"}
    assert jax.grad(f)(2.0) == pytest.approx(np.cos(2.0) * 2 + np.sin(2.0))


def test_functions_as_arguments() -> None:
    assert notes(set_xla_metadata(jnp.sin, a="b"), 1.0) == {"sine": ['a = "b"']}


def test_values_mark_the_operation_that_computed_them() -> None:
    def f(x: Any) -> Any:
        y = set_xla_metadata({"y": jnp.sin(x), "x": x}, a="b")
        return set_xla_metadata(set_xla_metadata(jnp.cos(y["y"]), a="old"), a='"new"', c=1)

    assert notes(f, 1.0) == {"sine": ['a = "b"'], "cosine": ['a = "\\"new\\"", c = "1"']}
    assert jax.grad(lambda x: f(x) + set_xla_metadata(x, a=1))(1.0) == pytest.approx(
        1 - np.sin(np.sin(1.0)) * np.cos(1.0)
    )
    np.testing.assert_allclose(jax.vmap(f)(np.ones(2)), f(np.ones(2)))


@pytest.mark.parametrize(
    ("value", "where"),
    [
        (lambda x: lax.reduce_sum(x, (0,)), "reduce"),
        (lambda x: lax.sort(x), "sort"),
        (lambda x: x @ x, "dot_general"),
        (lambda x: x > 0, "compare"),
        (lambda x: jax.jit(jnp.sin)(x), "call"),
        (lambda x: lax.broadcast_in_dim(x, (3, 2), (0,)), "broadcast_in_dim"),
    ],
)
def test_values_of_all_kinds_of_operations(value: Any, where: str) -> None:
    x = np.arange(3, dtype=np.float32)
    text = jax.jit(lambda x: set_xla_metadata(value(x), a="b")).lower(x)
    text.compile()
    assert text.as_text().count("frontend_attributes") == 1
    (marked,) = [line for line in text.as_text().split("%") if "frontend_attributes" in line]
    assert where in marked or "return" in marked
    with set_xla_metadata(z=1):
        twice = jax.jit(lambda x: set_xla_metadata(value(x), a="b")).lower(x)
        twice.compile()
    assert '{z = "1", a = "b"}' in twice.as_text()


@pytest.mark.parametrize(
    ("unit", "note"),
    [
        ("device_host", '_xla_compute_type = "host"'),
        ("device", '_xla_compute_type = "dense"'),
        ("tpu_sparsecore", '_xla_compute_type = "sparseoffload"'),
        ("gpu_stream:2", '_xla_stream_annotation = "2", inlineable = "false"'),
    ],
)
def test_compute_on(unit: str, note: str) -> None:
    assert notes(compute_on(unit)(jnp.sin), 1.0) == {"sine": [note]}

    @compute_on2(compute_type=unit, out_memory_spaces=jax.memory.Space.Device)
    def f(x: Any) -> Any:
        return {"a": jnp.sin(x), "b": x}

    assert notes(f, 1.0) == {"sine": [note]}
    assert f(1.0)["a"] == pytest.approx(np.sin(1.0))
    assert jax.grad(lambda x: f(x)["a"])(1.0) == pytest.approx(np.cos(1.0))


def test_the_two_forms_of_compute_on() -> None:
    """Before JAX 0.12 the unit alone, from then on what `compute_on2` is given."""
    device = jax.memory.Space.Device
    unit = {"compute_type": "device_host", "out_memory_spaces": device}
    expected = {"sine": ['_xla_compute_type = "host"']}
    for f in (
        compute_on("device_host")(jnp.sin),
        compute_on(compute_type="device_host")(jnp.sin),
        compute_on(**unit)(jnp.sin),
        compute_on(jnp.sin, **unit),
    ):
        assert notes(f, 1.0) == expected
        assert f(1.0) == pytest.approx(np.sin(1.0))
    with pytest.raises(TypeError, match="compute_on, argument out_memory_spaces"):
        compute_on(jnp.sin, compute_type="device")(1.0)
    with pytest.raises(TypeError, match="compute_on, argument compute_type"):
        compute_on()


def double_sine(x: Any) -> Any:
    return 2 * jnp.sin(x)


def test_calls_with_notes() -> None:
    both = {"sine": ['a = "b", n = "3"'], "multiply": ['a = "b", n = "3"']}
    for f in (
        xla_metadata_call(double_sine, a="b", n=3),
        xla_metadata_call(a="b", n=3)(double_sine),
    ):
        assert notes(f, 1.0) == both
        assert jax.grad(f)(1.0) == pytest.approx(2 * np.cos(1.0))
    assert notes(must_fuse_call(7)(jnp.sin), 1.0) == {"sine": ['MUST_FUSE = "7"']}
    assert notes(scheduling_group("g")(jnp.sin), 1.0) == {"sine": ['scheduling_group = "g"']}

    def limited(x: Any) -> Any:
        with fuse_limit():
            return jnp.sin(x)

    assert notes(limited, 1.0) == {"sine": ['FUSE_LIMIT = "true"']}


def test_fused() -> None:
    device = jax.memory.Space.Device

    def both(x: Any, y: Any) -> Any:
        return {"sum": x + y, "product": x * y}

    for spaces in ((device, device), device, {"sum": device, "product": device}):
        f = fused(out_spaces=spaces)(both)
        for run in (f, jax.jit(f)):
            assert run(2.0, 3.0) == {"sum": 5.0, "product": 6.0}
        assert jax.grad(lambda x, f=f: f(x, 3.0)["product"])(2.0) == 3.0
        np.testing.assert_array_equal(jax.vmap(f)(np.ones(2), np.ones(2))["sum"], [2, 2])
    assert notes(fused(out_spaces=(device,))(jnp.sin), 1.0) == {"sine": ['MUST_FUSE = "true"']}
    with pytest.raises(ValueError, match="1 memory spaces for 2 results"):
        fused(out_spaces=(device,))(both)(1.0, 2.0)
    with pytest.raises(TypeError, match="fused, argument out_spaces"):
        fused(out_spaces=("device", "device"))(both)(1.0, 2.0)


def test_options_of_a_part() -> None:
    f = compute_on2(
        jnp.sin,
        compute_type="device",
        out_memory_spaces=jax.memory.Space.Device,
        compiler_options={"level": 1},
    )
    assert notes(f, 1.0) == {"sine": ['_xla_compute_type = "dense", level = "1"']}


@pytest.mark.parametrize(
    ("unit", "error"), [("cpu", ValueError), ("gpu_stream", ValueError), (3, TypeError)]
)
def test_units_that_do_not_exist(unit: Any, error: type[Exception]) -> None:
    with pytest.raises(error, match="compute_type"):
        compute_on(unit)
    with pytest.raises(error, match="compute_type"):
        compute_on2(jnp.sin, compute_type=unit, out_memory_spaces=jax.memory.Space.Device)
    with pytest.raises(TypeError, match="out_memory_spaces"):
        compute_on2(jnp.sin, compute_type="device", out_memory_spaces="device")(1.0)
