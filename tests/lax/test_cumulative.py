"""Edges of running combinations: NaN, signed zeros, wrap-around, long sums, ties; error texts."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import morphax as jax
from morphax import grad, lax, make_jaxpr
from morphax.core import ShapedArray, stage
from morphax.engines.xla.lowering import lower
from morphax.lax.elementwise.arithmetic import add
from morphax.lax.reduction import cumulative
from morphax.lax.reduction.associative_scan import associative_scan
from tests.lax.engines import array, check_all_agree, check_engines_agree

FLOATS = ("float32", "float64", "float16", "bfloat16")
ALL = ("cumsum", "cumprod", "cummax", "cummin", "cumlogsumexp")


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize("reverse", [False, True])
def test_nan_and_infinities(name: str, dtype: str, reverse: bool) -> None:
    function = getattr(cumulative, name)
    rows = [[3, np.nan, 0, -np.inf], [-np.inf, -np.inf, 0, np.inf], [np.inf, 1, -np.inf, 2]]
    zeros = name in ("cummax", "cummin")
    check_engines_agree(
        lambda x: function(x, 1, reverse), array(rows, dtype), rtol=1e-2, zeros=zeros
    )


@pytest.mark.parametrize("dtype", FLOATS)
def test_zeros_have_an_order_in_extremes(dtype: str) -> None:
    x = array([[-0.0, 0.0, -0.0], [0.0, -0.0, 0.0]], dtype)
    functions = {
        "max": lambda v: cumulative.cummax(v, 1),
        "min": lambda v: cumulative.cummin(v, 1),
    }
    results = check_all_agree(functions, x)
    assert np.signbit(results["max"].astype("f4")).tolist() == [[True, False, False], [False] * 3]
    assert np.signbit(results["min"].astype("f4")).tolist() == [[True] * 3, [False, True, True]]


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("dtype", FLOATS)
def test_sums_of_negative_zeros_are_negative(dtype: str, reverse: bool) -> None:
    x = array([[-0.0, -0.0, -0.0], [-0.0, 0.0, -0.0]], dtype)
    out = check_engines_agree(lambda x: cumulative.cumsum(x, 1, reverse), x, rtol=0, zeros=True)
    assert np.signbit(out.astype("f4"))[0].all()


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int32", "uint64", "int4"])
def test_integers_wrap_around(dtype: str) -> None:
    x = array([7, 6, 5, 7, 3, 7], "int64").astype(array(0, dtype).dtype)
    functions = {name: getattr(cumulative, name) for name in ALL[:4]}
    check_all_agree(functions, x)


def test_errors_of_long_sums_do_not_grow() -> None:
    x = np.random.default_rng(0).uniform(size=50_000).astype(np.float32)
    out = check_engines_agree(cumulative.cumsum, x, rtol=1e-7)
    np.testing.assert_allclose(out, np.cumsum(x.astype(np.float64)), rtol=2e-7)
    ones = np.ones(3000, array(0, "bfloat16").dtype)
    assert float(check_engines_agree(cumulative.cumsum, ones)[-1]) == 3008.0


def test_log_sums_do_not_overflow() -> None:
    x = np.array([1000.0, 1000.0, -1000.0], np.float32)
    out = check_engines_agree(cumulative.cumlogsumexp, x, rtol=1e-6)
    np.testing.assert_allclose(out, [1000, 1000 + np.log(2), 1000 + np.log(2)], rtol=1e-6)


def weighted(function: Any, x: Any) -> list[float]:
    """The gradient of the sum of i · y[i]."""
    weights = np.arange(len(x), dtype=np.float32)

    def loss(v: Any) -> Any:
        return lax.reduce_sum(lax.mul(function(v), weights), (0,))

    return grad(loss)(np.array(x, np.float32)).to_host().tolist()


def test_derivatives_of_extremes_at_ties() -> None:
    assert weighted(cumulative.cummax, [1, 2, 3, 4]) == [0, 1, 2, 3]
    assert weighted(cumulative.cummax, [1, 1]) == [0.5, 0.5]
    assert weighted(cumulative.cummin, [1, 0, 2]) == [0, 3, 0]


def test_derivatives_of_products_at_zeros() -> None:
    assert weighted(cumulative.cumprod, [1, 0, 2, 0, 3]) == [0, 5, 0, 0, 0]


def test_derivatives_of_log_sums_of_nothing() -> None:
    """Two times nothing is a tie, whose derivative is shared evenly."""
    given = weighted(cumulative.cumlogsumexp, [-np.inf, -np.inf, 0.0, 0.0])
    np.testing.assert_allclose(given, [0.5, 0.5, 3.5, 1.5])


@pytest.mark.parametrize("name", ALL)
def test_windows_serve_other_platforms(name: str) -> None:
    """Where loops are slow the operation is a window; here only its text is looked at."""
    function = getattr(cumulative, name)
    jaxpr, _ = stage(lambda x: [function(x, 1)], [ShapedArray((2, 3), np.float32)])
    assert "stablehlo.while" in lower(jaxpr, "f").text
    text = lower(jaxpr, "f", platform="cuda").text
    assert "stablehlo.reduce_window" in text
    assert "stablehlo.while" not in text


@pytest.mark.parametrize("axis", [-1, 2])
def test_wrong_axes_are_refused(axis: int) -> None:
    with pytest.raises(ValueError, match=r"lax\.cumsum, argument axis.*\n.*float32\[2,3\]"):
        cumulative.cumsum(np.ones((2, 3), np.float32), axis)


def test_wrong_dtypes_are_refused() -> None:
    with pytest.raises(TypeError, match=r"lax\.cumsum, operand 0"):
        cumulative.cumsum(np.ones(3, bool))
    with pytest.raises(TypeError, match=r"lax\.cumlogsumexp, operand 0"):
        cumulative.cumlogsumexp(np.ones(3, np.int32))


def test_parameters_are_printed_as_users_know_them() -> None:
    text = str(make_jaxpr(lambda x: cumulative.cumsum(x, 0, True))(np.ones(3, np.float32)))
    assert "cumsum[axis=0 reverse=True]" in text


def test_order_of_operands_in_scans() -> None:
    x = np.arange(5)
    assert associative_scan(lambda a, b: b, x).to_host().tolist() == [0, 1, 2, 3, 4]
    assert associative_scan(lambda a, b: a, x).to_host().tolist() == [0] * 5
    assert associative_scan(lambda a, b: a, x, reverse=True).to_host().tolist() == [4] * 5


def test_scans_keep_trees() -> None:
    out = associative_scan(
        lambda a, b: {"x": add(a["x"], b["x"]), "y": a["y"]}, {"x": np.arange(3), "y": np.ones(3)}
    )
    assert out["x"].to_host().tolist() == [0, 1, 3]
    assert out["y"].to_host().tolist() == [1.0] * 3


def test_wrong_arguments_of_scans_are_refused() -> None:
    with pytest.raises(TypeError, match="argument fn"):
        associative_scan(3, np.arange(3))
    with pytest.raises(ValueError, match=r"argument elems.*\n.*\[2, 3\]"):
        associative_scan(add, (np.arange(3), np.arange(2)))
    with pytest.raises(ValueError, match="argument axis"):
        associative_scan(add, np.arange(3), axis=1)


def test_running_log_sums_of_complex_numbers_keep_nan() -> None:
    for place in range(3):
        x = np.array([1, 2j, -1], np.complex64)
        x[place] = complex(np.nan, 1)
        for reverse in (False, True):
            with jax.cpu_engine("xla"):
                compiled = jax.jit(lambda v, r=reverse: lax.cumlogsumexp(v, reverse=r))(x)
            is_nan = np.isnan(np.asarray(compiled))
            before = np.arange(3) <= place if reverse else np.arange(3) >= place
            np.testing.assert_array_equal(is_nan, before)
