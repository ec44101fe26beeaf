"""Special functions against SciPy, and their derivatives."""

from __future__ import annotations

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
    "betaln": (POSITIVE, POSITIVE[::-1]),
    "digamma": (POSITIVE,),
    "entr": (UNIT,),
    "erf": (REAL,),
    "erfc": (REAL,),
    "erfcinv": (np.array([0.05, 0.3, 1.0, 1.95]),),
    "erfinv": (UNIT,),
    "expit": (REAL,),
    "factorial": (POSITIVE,),
    "gamma": (REAL,),
    "gammaln": (POSITIVE,),
    "i0": (REAL,),
    "i0e": (REAL,),
    "i1": (REAL,),
    "i1e": (REAL,),
    "kl_div": (UNIT, UNIT[::-1]),
    "logit": (UNIT,),
    "ndtr": (REAL,),
    "rel_entr": (UNIT, UNIT[::-1]),
    "xlog1py": (REAL, POSITIVE[[0, 1, 2, 3, 4, 0]]),
    "xlogy": (REAL, POSITIVE[[0, 1, 2, 3, 4, 0]]),
}


@pytest.mark.parametrize("name", DOMAINS)
def test_values_and_derivatives(name: str) -> None:
    function, args = getattr(special, name), DOMAINS[name]
    expected = getattr(reference, name)(*args)
    with jax.enable_x64(True):
        for run in (function, jax.jit(function)):
            np.testing.assert_allclose(run(*args), expected, 1e-10, 1e-14)
        check_grads(function, args, order=1)


@pytest.mark.parametrize(
    ("name", "args"),
    [
        ("entr", (-1.0,)),
        ("entr", (0.0,)),
        ("gammasgn", (np.array([-2.5, -1.5, 3.0, 0.0]),)),
        ("erfcinv", (np.array([0.0, -0.0, 1.0, 2.0, -1.0, 2.5, np.nan, np.inf]),)),
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


def test_complex_numbers_have_no_erfcinv() -> None:
    with pytest.raises(ValueError, match=r"(?s)erfcinv.*expected:.*fix:"):
        special.erfcinv(1j)


@pytest.mark.parametrize("name", ["i0", "i1"])
def test_bessel_functions_near_the_end_of_the_range(name: str) -> None:
    x = np.array([0.0, -0.0, 85.0, 90.0, 91.5, -91.5, 95.0, -95.0, np.inf, -np.inf, np.nan])
    with np.errstate(over="ignore"):
        # SciPy gives NaN at infinity.
        truth = np.float32(getattr(reference, name)(np.clip(x, -500, 500)))
    function = getattr(special, name)
    for run in (function, jax.jit(function)):
        np.testing.assert_allclose(run(np.float32(x)), truth, rtol=2e-5)


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
