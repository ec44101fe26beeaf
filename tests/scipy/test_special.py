"""Special functions against SciPy, and their derivatives."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest
from scipy import special as reference

import morphax as jax
from morphax.scipy import special
from morphax.test_util import check_grads

UNIT = np.array([0.05, 0.3, 0.5, 0.95])
REAL = np.array([-3.5, -1.2, -0.3, 0.4, 1.0, 2.5])
POSITIVE = np.array([0.1, 0.5, 1.0, 2.5, 7.0])
DOMAINS: dict[str, tuple[Any, ...]] = {
    "beta": (POSITIVE, POSITIVE[::-1]),
    "betainc": (POSITIVE[:4], POSITIVE[3::-1], UNIT),
    "betaln": (POSITIVE, POSITIVE[::-1]),
    "boxcox": (POSITIVE, np.array([0.0, 1e-3, -0.5, 2.0, 1.0])),
    "boxcox1p": (UNIT - 0.5, np.array([0.0, 1e-3, -0.5, 2.0])),
    "comb": (np.array([5.0, 7.5, 40.0]), np.array([2.5, 1.2, 20.0])),
    "dawsn": (np.array([-9.0, -3.0, 0.2, 1.4, 1.6, 7.9, 8.1]),),
    "digamma": (POSITIVE,),
    "entr": (UNIT,),
    "erf": (REAL,),
    "erfc": (REAL,),
    "erfinv": (UNIT,),
    "exp1": (np.array([0.3, 1.0, 2.5, 30.0]),),
    "expi": (np.array([-30.0, -0.3, 0.2, 0.3725, 0.9, 7.0, 39.0, 41.0, 600.0]),),
    "expit": (REAL,),
    "expn": (np.array([0.0, 1.0, 2.0, 5.0, 2.0, 30.0]), np.array([0.2, 0.9, 0.5, 3.0, 20.0, 0.1])),
    "factorial": (POSITIVE,),
    "gamma": (REAL,),
    "gammainc": (POSITIVE, POSITIVE[::-1]),
    "gammaincc": (POSITIVE, POSITIVE[::-1]),
    "gammaln": (POSITIVE,),
    "i0": (REAL,),
    "i0e": (REAL,),
    "i1": (REAL,),
    "i1e": (REAL,),
    "kl_div": (UNIT, UNIT[::-1]),
    "logit": (UNIT,),
    "ndtr": (REAL,),
    "owens_t": (np.array([-3.0, 0.2, 1.0, 6.0, 2.0]), np.array([0.3, -2.0, 1.0, 0.9, 40.0])),
    "poch": (np.array([0.3, 5.0, -2.5, 40.0]), np.array([2.5, 3.0, 0.7, -3.5])),
    "rel_entr": (UNIT, UNIT[::-1]),
    "spence": (np.array([0.01, 0.4, 0.6, 1.0, 1.5, 3.0, 1e9]),),
    "xlog1py": (REAL, POSITIVE[[0, 1, 2, 3, 4, 0]]),
    "xlogy": (REAL, POSITIVE[[0, 1, 2, 3, 4, 0]]),
}
# Leading operands without a derivative.
HELD = {"betainc": 2, "expn": 1}
SPECIAL = np.array([0.0, -0.0, 1.0, -1.0, 2.0, -2.0, 0.5, np.inf, -np.inf, np.nan])
# Of how many operands, and where SciPy says something else.
EVERYWHERE: dict[str, tuple[int, tuple[Any, ...]]] = {
    "boxcox": (2, ()),
    "boxcox1p": (2, ()),
    "dawsn": (1, ()),
    "exp1": (1, ()),
    "expi": (1, ()),
    "owens_t": (2, ()),
    # At ∞ SciPy gives NaN, not the limit −∞.
    "spence": (1, ((np.inf,),)),
}


@pytest.mark.parametrize("name", DOMAINS)
def test_values_and_derivatives(name: str) -> None:
    function, args = getattr(special, name), DOMAINS[name]
    expected = getattr(reference, name)(*args)
    with jax.enable_x64(True):
        for run in (function, jax.jit(function)):
            np.testing.assert_allclose(run(*args), expected, 1e-10, 1e-14)
        held = HELD.get(name, 0)
        check_grads(lambda *rest: function(*args[:held], *rest), args[held:], order=1)


@pytest.mark.parametrize("name", EVERYWHERE)
def test_special_points(name: str) -> None:
    count, unlike = EVERYWHERE[name]
    points = [p for p in itertools.product(SPECIAL, repeat=count) if p not in unlike]
    args = np.array(points).T
    with np.errstate(all="ignore"):
        expected = getattr(reference, name)(*args)
    with jax.enable_x64(True):
        for run in (getattr(special, name), jax.jit(getattr(special, name))):
            np.testing.assert_allclose(run(*args), expected, 1e-14)


@pytest.mark.parametrize(
    ("name", "args"),
    [
        ("entr", (-1.0,)),
        ("entr", (0.0,)),
        ("gammasgn", (np.array([-2.5, -1.5, 3.0, 0.0]),)),
        ("logit", (np.array([0.0, 1.0]),)),
        ("rel_entr", (np.array([0.0, 0.0, 1.0, -1.0]), np.array([0.0, 1.0, 0.0, 1.0]))),
        ("xlogy", (0.0, np.array([0.0, 1.0]))),
    ],
)
def test_edges(name: str, args: Any) -> None:
    expected = getattr(reference, name)(*args)
    np.testing.assert_array_equal(getattr(special, name)(*args), np.float32(expected))


def test_derivative_where_the_first_factor_is_zero() -> None:
    assert jax.grad(special.xlogy)(0.0, 2.0) == np.float32(np.log(2.0))
    assert jax.grad(special.xlogy, 1)(0.0, 2.0) == 0
    assert jax.grad(special.rel_entr)(0.0, 1.0) == 0


def test_sums_of_exponentials() -> None:
    x = np.arange(6.0, dtype=np.float32).reshape(2, 3)
    np.testing.assert_allclose(special.logsumexp(x), reference.logsumexp(x), 1e-6)
    np.testing.assert_allclose(special.softmax(x, axis=1), reference.softmax(x, axis=1), 1e-6)
    np.testing.assert_allclose(special.log_softmax(x), reference.log_softmax(x), 1e-6)


def test_zeta_and_polygamma() -> None:
    np.testing.assert_allclose(special.zeta(3.0, 2.0), reference.zeta(3.0, 2.0), 1e-6)
    np.testing.assert_allclose(special.polygamma(1, 2.0), reference.polygamma(1, 2.0), 1e-6)


def test_exact_factorials_are_refused() -> None:
    with pytest.raises(ValueError, match="argument exact"):
        special.factorial(3, exact=True)


def test_integers_are_exact() -> None:
    n, k = [50.0, 300.0, 7.0, 2.0, np.inf], [25.0, 5.0, 8.0, -1.0, 0.0]
    expected = [math.comb(50, 25), math.comb(300, 5), 0, 0, 1]
    with jax.enable_x64(True):
        np.testing.assert_array_equal(special.comb(np.array(n), np.array(k)), np.double(expected))
        rising = special.poch(np.array([-3.0, 3.0, 4.0, -3.0]), np.array([2.0, -5.0, -5.0, 5.0]))
    np.testing.assert_array_equal(rising, [6.0, np.inf, np.inf, 0.0])
    assert special.comb(3, 2, repetition=True) == 6
    assert special.comb(0, 0, repetition=True) == 1


def test_bernoulli_numbers() -> None:
    with jax.enable_x64(True):
        np.testing.assert_allclose(special.bernoulli(100), reference.bernoulli(100), 1e-11)
        assert special.bernoulli(262)[-1] == np.inf
    assert special.bernoulli(0).shape == (1,)
    with pytest.raises(ValueError, match="argument n"):
        special.bernoulli(-1)


def test_multivariate_gamma_function() -> None:
    x = np.array([2.5, 7.0, 30.0])
    with jax.enable_x64(True):
        for d in (0, 1, 5):
            expected = reference.multigammaln(x, max(d, 1)) if d else 0 * x
            np.testing.assert_allclose(special.multigammaln(x, d), expected, 1e-14)
    with pytest.raises(TypeError, match="argument d"):
        special.multigammaln(2.5, np.array([1, 2]))
    with pytest.raises(jax.errors.ConcretizationTypeError, match="multigammaln"):
        jax.jit(special.multigammaln)(2.5, 2)


@pytest.mark.parametrize("x", [0.25, 3.0])
def test_orders_of_exponential_integrals_between_integers(x: float) -> None:
    with jax.enable_x64(True):
        for n in (0.25, 1.5, 2.75):
            # n E(n + 1) = exp(−x) − x E(n); DLMF 8.19.12.
            left = n * special.expn(n + 1, x)
            np.testing.assert_allclose(left, np.exp(-x) - x * special.expn(n, x), 1e-13)
        # Near an integer, where two terms of the series have poles that cancel.
        near = special.expn(2 + 1e-13, x)
        np.testing.assert_allclose(near, special.expn(2.0, x), 1e-12)


@pytest.mark.parametrize("name", ["fresnel", "sici"])
def test_pairs_of_oscillating_integrals(name: str) -> None:
    ours, theirs = getattr(special, name), getattr(reference, name)
    smooth = np.array([0.2, 1.5, 1.7, 3.9, 4.1, 30.0])
    x = np.concatenate([smooth, SPECIAL])
    with jax.enable_x64(True):
        for run in (ours, jax.jit(ours)):
            for given, expected in zip(run(x), theirs(x), strict=True):
                np.testing.assert_allclose(given, expected, 1e-12)
        check_grads(ours, (smooth[:5],), order=1)


def test_spence_takes_float32_and_float64() -> None:
    with pytest.raises(TypeError, match="spence, argument x"):
        special.spence(2)
    assert special.spence(np.float32(np.inf)) == -np.inf
    slope = jax.grad(jax.grad(special.spence))(1.0)
    np.testing.assert_allclose(slope, 0.5, 1e-6)
