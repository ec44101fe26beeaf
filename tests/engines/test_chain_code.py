"""Machine code of chains: the bits of single steps, in every layout, made when it is worth it."""

from __future__ import annotations

import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import morphax as jax
import morphax.numpy as jnp
from morphax import lax
from morphax.config import override
from morphax.engines import native as native_engine
from morphax.engines.reference import chain_code, fusion
from morphax.engines.reference.kernel_program import kernel_program
from morphax.util.threads import num_threads, set_num_threads

if fusion.native is None:
    pytest.skip("without the compiled module there are no chains", allow_module_level=True)
pytest.importorskip("llvmlite")

_SIZE = (1 << 14) + 777
_POINTS = {
    "float32": [0, -0.0, 0.3, -7.5, 0.5, 2.5, 1e-42, 3e38, 2.0**31, np.inf, -np.inf, np.nan],
    "float64": [0, -0.0, 0.3, -7.5, 0.5, 5e-324, 1e300, -1e19, 2.0**63, np.inf, -np.inf, np.nan],
    "int32": [0, 1, -1, 5, -7, 31, 32, 33, 2**31 - 1, -(2**31)],
    "int64": [0, 1, -1, 5, -7, 63, 64, 2**50, 2**63 - 1, -(2**63)],
    "uint32": [0, 1, 5, 31, 32, 33, 2**31, 2**32 - 1],
}


@pytest.fixture
def at_once(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Code is made at the second call; what was made."""
    made: list[Any] = []
    make = chain_code._code

    def noted(*args: Any) -> Any:
        code = make(*args)
        if code is not None:
            made.append(code)
        return code

    monkeypatch.setattr(chain_code, "_code", noted)
    for name in ("A_PART", "AN_EQUATION", "LLVM", "KEPT", "ENGINE"):
        monkeypatch.setattr(chain_code, f"_SECONDS_OF_{name}", 0.0)
    return made


def numbers(dtype: str, seed: int) -> Any:
    rng = np.random.default_rng(seed)
    points = np.array(_POINTS[dtype], dtype)
    return rng.choice(np.concatenate([points, rng.normal(size=50).astype(dtype)]), _SIZE)


def results(function: Callable[..., Any], *operands: Any) -> list[list[Any]]:
    """What a program gives by single steps, and what it gives with code."""
    jaxpr = jax.make_jaxpr(function)(*operands).jaxpr
    program = kernel_program(jaxpr, tuple)
    assert program is not None
    given = [np.asarray(x) for x in operands]
    return [[_bits(x) for x in program(given)] for _ in range(3)]


def _bits(x: Any) -> Any:
    """The bits of numbers, in which all NaN are one."""
    x = np.asarray(x)
    if x.dtype.kind != "f":
        return x.tolist()
    return np.where(np.isnan(x), x.dtype.type(np.nan), x).view(f"u{x.dtype.itemsize}").tolist()


def check(made: list[Any], function: Callable[..., Any], *operands: Any) -> None:
    first, *later = results(function, *operands)
    assert made, "there is code"
    assert all([x == first for x in later])


def _of_floats(x: Any, y: Any) -> Any:
    s = lax.max(lax.min(x + y, x * y), lax.sub(x, lax.div(x, y)))
    rounded = [lax.round(y, method) for method in lax.RoundingMethod]
    chosen = lax.select((x < y) | ~jnp.isfinite(x), lax.floor(s), lax.neg(lax.abs(y)))
    t = lax.sign(x) * lax.ceil(y) + lax.sqrt(lax.abs(x)) + lax.rsqrt(lax.square(y))
    powers = [lax.integer_pow(x, k) for k in (-3, 0, 1, 5)]
    return (
        s,
        *rounded,
        *powers,
        lax.nextafter(x, y),
        chosen,
        t,
        (x >= y) & (x != s),
        lax.clamp(-1.0, x, jnp.asarray(2, x.dtype)),
    )


def _of_integers(x: Any, y: Any) -> Any:
    s = lax.max(lax.min(x + y, x * y), x - y)
    bits = (x & y) ^ ~(x | y)
    shifted = lax.shift_left(x, y), lax.shift_right_logical(x, y)
    counts = [lax.population_count(x), lax.clz(y)]
    return s, bits, *shifted, *counts, lax.div(x, y), lax.neg(s), x <= y, lax.eq(x, y), x > s


def _converted(x: Any) -> Any:
    return (
        lax.convert_element_type(x + x, jnp.int32),
        lax.convert_element_type(x > 0, x.dtype),
        lax.convert_element_type(lax.convert_element_type(x, jnp.int32), x.dtype) * x,
        lax.bitcast_convert_type(x, jnp.int32 if x.dtype == jnp.float32 else jnp.int64),
    )


@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "int64", "uint32"])
def test_operations_have_the_bits_of_single_steps(dtype: str, at_once: list[Any]) -> None:
    with override(enable_x64="64" in dtype):
        x, y = numbers(dtype, 0), numbers(dtype, 1)
        check(at_once, _of_floats if "float" in dtype else _of_integers, x, y)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_conversions(dtype: str, at_once: list[Any]) -> None:
    with override(enable_x64="64" in dtype):
        check(at_once, _converted, numbers(dtype, 2))


def _keeping_signs(x: Any, y: Any) -> Any:
    pairs = [(x, y), (y, x)]
    of_two = [f(*pair) for f in (lax.min, lax.max) for pair in pairs]
    of_one = [f(x) for f in (lax.floor, lax.ceil, lax.sign, lax.sqrt, lax.round, lax.neg, lax.abs)]
    return *of_two, *of_one, lax.clamp(lax.neg(y), x, y), lax.select(x < y, x, y)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_not_a_number_keeps_its_sign(dtype: str, at_once: list[Any]) -> None:
    x = np.full(_SIZE, np.nan, dtype)
    x[::2] = np.copysign(x[::2], -1)
    with override(enable_x64=dtype == "float64"):
        program = kernel_program(jax.make_jaxpr(_keeping_signs)(x, x).jaxpr, tuple)
        assert program is not None
        for y in (np.full(_SIZE, 3, dtype), x):
            first, *later = [[np.signbit(v) for v in program([x, y])] for _ in range(3)]
            for found in later:
                np.testing.assert_array_equal(found, first)
    assert at_once


def test_functions_between_are_computed_as_ever(at_once: list[Any]) -> None:
    def function(x: Any, y: Any) -> Any:
        z = lax.exp(lax.neg(x)) * y + 1
        w = lax.erf(z) * lax.log(z * z)
        return w - y, z

    check(at_once, function, numbers("float32", 0), numbers("float32", 1))
    ((_, parts, _),) = at_once
    assert [type(part) for part in parts] == [tuple, int, tuple, int, int, tuple]


def test_draws_are_the_same(at_once: list[Any]) -> None:
    key = jax.random.key(3)

    def function(scale: Any) -> Any:
        return jax.random.uniform(key, (_SIZE,), minval=-1.0) * scale

    check(at_once, function, np.float32(2.5))


@pytest.mark.parametrize("shape", [(40, 1, 1), (1, 30, 1), (1, 1, 50), (40, 30, 1), (1, 30, 50)])
@pytest.mark.parametrize("dtype", ["float32", "bool"])
def test_operands_that_repeat(shape: tuple[int, ...], dtype: str, at_once: list[Any]) -> None:
    whole = (40, 30, 50)
    x = np.random.default_rng(0).normal(size=whole).astype(np.float32)
    y = np.random.default_rng(1).normal(size=shape).astype(np.float32)

    def function(x: Any, y: Any) -> Any:
        y = lax.broadcast_in_dim(y, whole, (0, 1, 2))
        return (x + y) * 0.3 if y.dtype == x.dtype else lax.select(y & (x > 0), x, -x)

    check(at_once, function, x, y if dtype == "float32" else y > 0)


def test_flags_come_and_go(at_once: list[Any]) -> None:
    x, y = numbers("float32", 0) > 0, numbers("float32", 1) > 1
    check(at_once, lambda x, y, on: ((x & on) ^ y, x | ~y), x, y, np.bool_(True))


def test_threads_share_it(at_once: list[Any]) -> None:
    x = np.random.default_rng(0).normal(size=(1 << 19) + 5).astype(np.float32)
    before = num_threads()
    try:
        for count in (1, 3):
            set_num_threads(count)
            check(at_once, lambda x: lax.select(x > 0, x * x + 1, x), x)
    finally:
        set_num_threads(before)


def test_code_is_made_when_runs_have_taken_as_long(
    at_once: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(chain_code, "_SECONDS_OF_A_PART", 1e3)
    results(lambda x: x * x + x, numbers("float32", 0))
    assert not at_once


def test_kept_code_is_taken_earlier(
    at_once: list[Any], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    x = numbers("float32", 0)
    with override(compilation_cache_dir=str(tmp_path)):
        expected = results(lambda x: x * x + 1 / x, x)
        monkeypatch.setattr(chain_code, "_SECONDS_OF_A_PART", 1e3)
        monkeypatch.setattr(native_engine, "machine_code_of", None)
        assert results(lambda x: x * x + 1 / x, x) == expected
    assert len(at_once) == 2


def test_the_option_switches_it_off(at_once: list[Any]) -> None:
    x = numbers("float32", 0)
    program = kernel_program(jax.make_jaxpr(lambda x: x * x + x)(x).jaxpr)
    assert program is not None
    with override(chain_code=False):
        for _ in range(3):
            program([x])
    assert not at_once
    program([x])
    assert at_once, "it is asked again"


def test_other_settings_than_those_of_the_chain_change_nothing(at_once: list[Any]) -> None:
    x = numbers("float64", 0)
    with override(enable_x64=True):
        program = kernel_program(jax.make_jaxpr(lambda x: x * x + 1)(x).jaxpr)
        assert program is not None
        expected = program([x])
    with override(enable_x64=False):
        for _ in range(2):
            assert _bits(program([x])) == _bits(expected)


def test_of_narrow_and_of_few_numbers_there_is_none(at_once: list[Any]) -> None:
    x = numbers("float32", 0)
    for dtype in (jnp.bfloat16, jnp.float16):
        results(lambda x: x * x + x, np.asarray(np.clip(x, -9, 9), dtype))
    results(lambda x: x * x + x, x[:5000])
    assert not at_once


def test_what_cannot_be_made_is_said_and_left(
    at_once: list[Any], monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(*_: Any) -> Any:
        raise OSError("no room")

    monkeypatch.setattr(chain_code, "_code", broken)
    with caplog.at_level(logging.WARNING):
        first, *later = results(lambda x: x * x + x, numbers("float32", 0))
    assert all([x == first for x in later])
    assert "no machine code: no room" in caplog.text


def test_who_interrupts_it_can_go_on(monkeypatch: pytest.MonkeyPatch, at_once: list[Any]) -> None:
    x = numbers("float32", 0)
    program = kernel_program(jax.make_jaxpr(lambda x: x * x + x)(x).jaxpr)
    assert program is not None
    make = chain_code._code

    def interrupted(*_: Any) -> Any:
        raise KeyboardInterrupt

    monkeypatch.setattr(chain_code, "_code", interrupted)
    expected = program([x])
    with pytest.raises(KeyboardInterrupt):
        program([x])
    monkeypatch.setattr(chain_code, "_code", make)
    program([x])
    program([x])
    assert at_once
    assert _bits(program([x])) == _bits(expected)
