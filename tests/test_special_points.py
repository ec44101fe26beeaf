"""Derivatives at kinks, ties, zeros, infinities and NaN, of whole families of functions.

The expected numbers are those of JAX 0.10.1, recorded on the CPU, but for what it gets wrong:

- where it has NaN and the derivative exists: `hard_silu`, `soft_sign`, `gelu` and `i0` at ±∞,
  powers x⁰ and x¹ at 0, gradients of elements that ``where`` leaves out, log-sums of two
  infinities (½ each);
- `sinc`, `soft_sign`, `i0`, `i1` and `bessel_i1e` next to 0 or far out, where terms cancel;
- the log-sum of a number and ∞, in which the number has no part;
- the derivative of extremes over NaN is NaN in reverse mode too.
"""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import morphax as jax
import morphax.nn
import morphax.scipy.special as special
from morphax import lax
from morphax import numpy as jnp
from morphax.scipy import stats
from tests.special_points import POINTS, ROWS, elementwise, gradients, reductions, slopes

GOLDEN = json.loads(Path(__file__).with_name("special_points_golden.json").read_text())
FUNCTIONS, REDUCTIONS = elementwise(jax), reductions(jax)
# Values that are not chosen have infinite derivatives, and a cotangent 0 times them is NaN.
# Their slopes grow beyond all bounds; those of the table are ∞ − ∞ there.
INFINITE_FAR_OUT = {"i0", "i1"}
NAN_IN_REVERSE = {"where", "entr", "factorial"}
# Neighbours of a kink in float32 are no neighbours of it in float64.
PLAIN = np.flatnonzero(np.isnan(POINTS) | (POINTS == POINTS.astype(np.float16)))


def expected(kind: str, name: str) -> Any:
    return np.array(GOLDEN[kind][name], np.float64)


def agree(found: Any, wanted: Any) -> Any:
    return np.isclose(found, wanted, rtol=2e-3, atol=1e-5, equal_nan=True)


def check(name: str, found: Any, wanted: Any, where: Any, allowed: Any = False) -> None:
    is_out = (name in INFINITE_FAR_OUT) & np.isnan(wanted) & np.isinf(found)
    bad = ~(agree(found, wanted) | allowed | is_out)
    assert not bad.any(), [(name, where[i], found[i], wanted[i]) for i in np.flatnonzero(bad)]


@pytest.mark.parametrize("name", FUNCTIONS)
def test_slopes(name: str) -> None:
    first, second = expected("elementwise", name)
    found = [np.asarray(x) for x in slopes(jax, FUNCTIONS[name])(jnp.asarray(POINTS))]
    check(name, found[0], first, POINTS)
    check(name, found[2], second, POINTS)
    for reverse, wanted in ((found[1], first), (found[3], second)):
        undefined = np.isinf(wanted) | (name in NAN_IN_REVERSE)
        check(name, reverse, wanted, POINTS, np.isnan(reverse) & undefined)


def test_slopes_in_double_precision() -> None:
    with jax.enable_x64(True):
        points = jnp.asarray(POINTS[PLAIN].astype(np.float64))
        for name, function in FUNCTIONS.items():
            first, second = expected("elementwise", name)[:, PLAIN]
            found = [np.asarray(x) for x in slopes(jax, function)(points)]
            check(name, found[0], first, POINTS[PLAIN])
            check(name, found[2], second, POINTS[PLAIN])


@pytest.mark.parametrize("group", range(8))
def test_compiled_slopes(group: int) -> None:
    names = list(FUNCTIONS)[group::8]
    program = jax.jit(lambda x: [slopes(jax, FUNCTIONS[name])(x)[0::2] for name in names])
    for name, found in zip(names, program(jnp.asarray(POINTS)), strict=True):
        for given, wanted in zip(found, expected("elementwise", name), strict=True):
            check(name, np.asarray(given), wanted, POINTS)


@pytest.mark.parametrize("name", REDUCTIONS)
def test_gradients(name: str) -> None:
    wanted = expected("reductions", name).reshape(ROWS.shape)
    found = gradients(jax, REDUCTIONS[name])(jnp.asarray(ROWS))
    forward, reverse, hessian, reverse_hessian = (np.asarray(x) for x in found)
    whole = np.isfinite(wanted).all(1)
    for given, rows in ((reverse, slice(None)), (forward, whole)):
        ok = agree(given[rows], wanted[rows]).all(1)
        assert ok.all(), (ROWS[rows][~ok], given[rows][~ok], wanted[rows][~ok])
    smooth = whole & np.isfinite(hessian).all((1, 2)) & np.isfinite(ROWS).all(1)
    for second in (hessian, reverse_hessian):
        np.testing.assert_allclose(
            second[smooth], hessian[smooth].transpose(0, 2, 1), rtol=2e-3, atol=1e-5
        )


@pytest.mark.parametrize("group", range(4))
def test_compiled_gradients(group: int) -> None:
    names = list(REDUCTIONS)[group::4]
    program = jax.jit(lambda x: [gradients(jax, REDUCTIONS[name])(x)[1] for name in names])
    for name, found in zip(names, program(jnp.asarray(ROWS)), strict=True):
        ok = agree(np.asarray(found), expected("reductions", name).reshape(ROWS.shape)).all(1)
        assert ok.all(), (name, ROWS[~ok], np.asarray(found)[~ok])


def derivatives(function: Any, x: Any) -> list[Any]:
    """Value and four derivatives at each element, compiled."""
    maps = [function]
    for _ in range(4):
        maps.append(jax.grad(maps[-1]))
    return [np.asarray(v) for v in jax.jit(jax.vmap(lambda v: [f(v) for f in maps]))(x)]


@pytest.mark.parametrize("double", [False, True])
def test_sinc_has_all_derivatives(double: bool) -> None:
    x = np.array([0.0, 1e-8, 1e-3, 0.02, 0.3, 0.47, 0.5, 0.8, 1.0, 1.6, -2.7])
    s, weights = np.polynomial.legendre.leggauss(60)
    s, weights = (s + 1) / 2, weights / 2
    with jax.enable_x64(double):
        found = derivatives(jnp.sinc, jnp.asarray(x, np.float64 if double else np.float32))
    for order, given in enumerate(found):
        # sinc x is the mean of cos(s π x) over s from 0 to 1.
        angles = np.pi * np.outer(x, s) + order * np.pi / 2
        wanted = np.pi**order * (np.cos(angles) * s**order) @ weights
        tolerance = (1e-13 if double else 2e-5) * np.pi**order
        np.testing.assert_allclose(given, wanted, rtol=0, atol=tolerance)


def test_bessel_functions_next_to_zero() -> None:
    x = np.array([0.0, 1e-8, -1e-3, 0.3, 0.4999, 0.5001], np.float32)
    powers = [1, x / 2, x**2 / 4, x**3 / 16, x**4 / 64, x**5 / 384, x**6 / 2304]
    for function, start in ((special.i0, 0), (special.i1, 1)):
        found = derivatives(function, jnp.asarray(x))
        np.testing.assert_allclose(found[0], sum(powers[start::2]), rtol=1e-4, atol=1e-9)
        of_i0 = x / 2 + x**3 / 16 + x**5 / 384, 0.5 + 3 * x**2 / 16 + 5 * x**4 / 384
        slope, curve = (of_i0[1], 3 * x / 8 + 20 * x**3 / 384) if start else of_i0
        np.testing.assert_allclose(found[1], slope, rtol=1e-3, atol=1e-9)
        np.testing.assert_allclose(found[2], curve, rtol=1e-2, atol=1e-9)


@pytest.mark.parametrize(
    ("function", "at", "gradient", "hessian"),
    [
        (jnp.logaddexp, (2.0, 2.0), (0.5, 0.5), (0.25, -0.25, 0.25)),
        (jnp.logaddexp, (np.inf, np.inf), (0.5, 0.5), None),
        (jnp.logaddexp, (-np.inf, -np.inf), (0.5, 0.5), None),
        (jnp.logaddexp, (2.0, np.inf), (0.0, 1.0), (0.0, 0.0, 0.0)),
        (jnp.logaddexp, (2.0, np.nan), (np.nan, np.nan), None),
        (jnp.logaddexp2, (1.0, 1.0), (0.5, 0.5), np.log(2) * np.array([0.25, -0.25, 0.25])),
        (jnp.hypot, (3.0, 3.0), (0.5**0.5, 0.5**0.5), np.array([1, -1, 1]) / 72**0.5),
        (jnp.hypot, (0.0, 0.0), (0.5, 0.5), None),
        (jnp.hypot, (np.inf, 2.0), (1.0, 0.0), None),
        (jnp.hypot, (np.nan, 0.0), (np.nan, np.nan), None),
        (jnp.hypot, (0.0, np.nan), (np.nan, np.nan), None),
        (jnp.power, (2.0, 0.0), (0.0, np.log(2)), (0.0, 0.5, np.log(2) ** 2)),
        (jnp.power, (0.5, 0.0), (0.0, -np.log(2)), (0.0, 2.0, np.log(2) ** 2)),
        (jnp.power, (0.0, 2.0), (0.0, 0.0), (2.0, 0.0, 0.0)),
        (jnp.arctan2, (0.0, 2.0), (0.5, 0.0), (0.0, -0.25, 0.0)),
        (special.rel_entr, (1.0, 1e-30), (70.0776, -1e30), None),
        (special.kl_div, (1e-8, 3e38), (np.log(1e-8) - np.log(3e38), 1.0), None),
        (special.beta, (1.0, 1e10), None, None),
    ],
)
def test_functions_of_two_numbers(function: Any, at: Any, gradient: Any, hessian: Any) -> None:
    if function is special.beta:
        np.testing.assert_allclose(function(*at), 1e-10, rtol=1e-5)
        return
    x, y = (jnp.float32(v) for v in at)
    for run in (jax.grad(function, (0, 1)), jax.jit(jax.jacfwd(function, (0, 1)))):
        np.testing.assert_allclose(run(x, y), gradient, rtol=1e-5, atol=1e-7)
    if hessian is not None:
        for second in (
            jax.hessian(function, (0, 1)),
            jax.jit(jax.jacrev(jax.grad(function, (0, 1)), (0, 1))),
        ):
            (xx, xy), (yx, yy) = second(x, y)
            np.testing.assert_allclose([xx, xy, yy], hessian, rtol=1e-5, atol=1e-7)
            np.testing.assert_allclose(yx, xy, rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize(
    ("function", "at", "expected"),
    [
        (special.xlogy, (1.0, 0.0), (-np.inf, np.inf)),
        (special.xlogy, (2.0, np.inf), (np.inf, 0.0)),
        (special.xlog1py, (1.0, -1.0), (-np.inf, np.inf)),
        (special.rel_entr, (1.0, np.inf), (-np.inf, 0.0)),
        (special.kl_div, (np.inf, 1.0), (np.inf, -np.inf)),
    ],
)
def test_what_does_not_move_adds_nothing_to_a_slope(function: Any, at: Any, expected: Any) -> None:
    x, y = (jnp.float32(v) for v in at)

    def forward(x: Any, y: Any) -> tuple[Any, Any]:
        one = jnp.ones_like(x)
        along_x = jax.jvp(lambda x: function(x, y), (x,), (one,))
        return along_x[1], jax.jvp(lambda y: function(x, y), (y,), (one,))[1]

    for run in (forward, jax.grad(function, (0, 1)), jax.jit(forward)):
        np.testing.assert_allclose(run(x, y), expected, atol=1e-7)


def test_sparse_plus_of_nan_has_no_slope() -> None:
    x = jnp.array([np.nan, np.inf, -np.inf, -1.0, 1.0, 3e38], np.float32)
    for slope in slopes(jax, jax.nn.sparse_plus)(x)[:2]:
        np.testing.assert_array_equal(slope, [np.nan, 1, 0, 0, 1, 1])


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf, 1e38])
def test_what_is_left_out_has_no_gradient(bad: float) -> None:
    mask = np.array([True, True, False, True])
    x = jnp.array([1.0, 2.0, bad, 3.0], np.float32)
    rest = x[mask]
    functions = [
        *[getattr(jax.nn, n) for n in ("softmax", "log_softmax", "logsumexp", "logmeanexp")],
        *[getattr(jnp, n) for n in ("sum", "mean", "var", "std", "prod", "nanmean", "nanvar")],
        jax.nn.standardize,
    ]
    for function in functions:

        def total(x: Any, where: Any = None, f: Any = function) -> Any:
            out = f(x, where=where)
            if out.shape:
                out = jnp.where(True if where is None else where, out, 0.0)[jnp.array([0, 1, -1])]
            return jnp.dot(jnp.atleast_1d(out), jnp.array([1.0, -2.0, 4.0])[: out.size])

        wanted = np.asarray(jax.grad(total)(rest))
        for transform in (jax.grad, jax.jacfwd):
            found = np.asarray(transform(lambda x: total(x, mask))(x))
            np.testing.assert_allclose(found[mask], wanted, rtol=1e-4, atol=1e-6)
            assert found[2] == 0, function
    for function in (jnp.max, jnp.min):
        found = jax.grad(lambda x, f=function: f(x, where=mask, initial=2.0))(x)
        assert np.isfinite(np.asarray(found)).all()


def test_weights_zero_leave_terms_out() -> None:
    weights = jnp.array([0.0, 1.0, 0.0, 2.0])
    a = jnp.array([np.nan, 0.0, 1000.0, 1.0], np.float32)
    value, gradient = jax.value_and_grad(lambda a: special.logsumexp(a, b=weights))(a)
    np.testing.assert_allclose(value, np.log(1 + 2 * np.e), rtol=1e-6)
    np.testing.assert_allclose(
        gradient, [0, 1 / (1 + 2 * np.e), 0, 2 * np.e / (1 + 2 * np.e)], 1e-5
    )


def test_poles_far_out_are_found_at_once() -> None:
    with jax.enable_x64(True):
        assert lax.polygamma(1.0, -1e10) == np.inf


def test_curvatures_far_out() -> None:
    for x in (-1e30, -1e12, -2e4, -9e3):
        for run in (jax.grad(jax.grad(special.log_ndtr)), jax.jit(jax.hessian(special.log_ndtr))):
            np.testing.assert_allclose(run(x), 1 / x**2 - 1, rtol=1e-6)
    for function in (lax.rem, jnp.fmod, jnp.remainder):
        assert jax.grad(jax.grad(function, 1), 1)(3.0, 1e-30) == 0


@pytest.mark.parametrize("x", [1e20, -1e30, 3e38])
def test_slopes_of_densities_that_vanish(x: float) -> None:
    for place, beta in itertools.product((0, 1), (0.5, 2.0, 3.0)):
        for function in (stats.gennorm.pdf, stats.gennorm.cdf):
            for run in (jax.grad(function, place), jax.jit(jax.jacfwd(function, place))):
                assert run(x, beta) == 0
