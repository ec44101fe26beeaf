"""Special functions against SciPy, and their derivatives."""

from __future__ import annotations

import functools
import inspect
import itertools
import math
from typing import Any

import numpy as np
import pytest
from scipy import special as reference

import morphax as jax
from morphax.scipy import special
from morphax.test_util import check_grads

from .accuracy_table import ORDINARY, UNITS, UNITS_OF_WAVES
from .special_accuracy import TRUTHS, WAVES
from .test_accuracy import units

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
    "erfcinv": (np.array([0.05, 0.3, 1.0, 1.95]),),
    "erfinv": (UNIT,),
    "exp1": (np.array([0.3, 1.0, 2.5, 30.0]),),
    "expi": (np.array([-30.0, -0.3, 0.2, 0.9, 7.0, 39.0, 600.0]),),
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
    "hyp1f1": (np.array([0.5, 3.0, 7.0]), np.array([1.5, 2.0, 4.0]), np.array([-3.0, 0.7, 9.0])),
    "hyp2f1": (
        np.array([0.5, 3.0, 1.0]),
        np.array([1.5, 2.0, 1.0]),
        np.array([2.0, 7.5, 3.0]),
        np.array([-3.0, 0.7, 0.2]),
    ),
    "poch": (np.array([0.3, 5.0, -2.5]), np.array([2.5, 3.0, 0.7])),
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


def _check_values(name: str, args: Any, expected: Any, truth: Any) -> None:
    function, most = getattr(special, name), UNITS.get(name, (ORDINARY,))[0]
    with np.errstate(all="ignore"):
        unit = units(name, truth, args, "float64")[0]
    for run in (function, jax.jit(function)):
        assert np.max(np.abs(np.asarray(run(*args)) - np.asarray(expected)) / unit) <= most


@pytest.mark.parametrize("name", TRUTHS)
def test_values_where_scipy_is_not_exact(name: str) -> None:
    args = list(np.array([operands for operands, _ in TRUTHS[name]]).T)
    with jax.enable_x64(True):
        _check_values(name, args, [value for _, value in TRUTHS[name]], getattr(special, name))


# Their slopes by the parameters have none.
DIFFERENTIABLE_ONCE = ("gammainc", "gammaincc", "hyp1f1", "hyp2f1")


@pytest.mark.parametrize("name", DOMAINS)
def test_values_and_derivatives(name: str) -> None:
    function, args = getattr(special, name), DOMAINS[name]
    truth = getattr(reference, name)
    with jax.enable_x64(True):
        _check_values(name, list(args), truth(*args), truth)
        held = HELD.get(name, 0)
        order = 1 if name in DIFFERENTIABLE_ONCE else 2
        of_rest = lambda *rest: function(*args[:held], *rest)  # noqa: E731
        check_grads(of_rest, args[held:], order=order, rtol=3e-5)


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
        ("erfcinv", (np.array([0.0, -0.0, 1.0, 2.0, -1.0, 2.5, np.nan, np.inf]),)),
        ("logit", (np.array([0.0, 1.0]),)),
        ("rel_entr", (np.array([0.0, 0.0, 1.0, -1.0]), np.array([0.0, 1.0, 0.0, 1.0]))),
        ("rel_entr", (np.float32([1e30, 3e38, np.inf]), np.float32([np.inf, np.inf, 1e30]))),
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


def test_slopes_of_bessel_functions_out_of_range_are_infinite() -> None:
    for run in (special.i1, jax.jit(special.i1)):
        slopes = [float(jax.grad(run)(x)) for x in (95.0, -95.0, 500.0, np.inf)]
        assert slopes == [np.inf] * 4


def test_sums_of_exponentials() -> None:
    x = np.arange(6.0, dtype=np.float32).reshape(2, 3)
    np.testing.assert_allclose(special.logsumexp(x), reference.logsumexp(x), 1e-6)
    np.testing.assert_allclose(special.softmax(x, axis=1), reference.softmax(x, axis=1), 1e-6)
    np.testing.assert_allclose(special.log_softmax(x), reference.log_softmax(x), 1e-6)


@pytest.mark.parametrize("engine", ["xla", "native"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_polygamma_of_known_orders(engine: str, dtype: Any) -> None:
    """What is written for a known order has the digits of eager mode, at special points too."""
    points = [0, -0.0, 1, -1, -3, np.inf, -np.inf, np.nan, 1e-3, 1e-30, 1e5, -1e-5, -7.99]
    x = np.concatenate([points, np.linspace(-6.05, 20, 60)]).astype(dtype)
    with jax.enable_x64(dtype is np.float64), jax.cpu_engine(engine):
        for order in (0, 1, 2, 3, 7, 64, 171, 200, 1.5, -1, np.inf, np.nan):
            m = dtype(order)
            found = jax.jit(functools.partial(jax.lax.polygamma, m))(x)
            rounding = 200 * np.finfo(dtype).eps
            # The digamma function has zeros between whole numbers.
            least = rounding if order == 0 else 1e-37
            np.testing.assert_allclose(found, jax.lax.polygamma(m, x), rounding, least)


def test_zeta_and_polygamma() -> None:
    np.testing.assert_allclose(special.zeta(3.0, 2.0), reference.zeta(3.0, 2.0), 1e-6)
    np.testing.assert_allclose(special.polygamma(1, 2.0), reference.polygamma(1, 2.0), 1e-6)


# Odd powers of numbers left and right of 0, which cancel: by mpmath, with 60 digits.
CANCELLING_POWERS = (
    *[((11.0, -2.5), 1.1096486555426022e-6), ((51.0, -0.5), 1.045552363661043e-9)],
    *[((5.0, -1.5), 0.013073166646113807), ((4.0, -1.5), 32.432379369864604)],
)


@pytest.mark.parametrize("engine", ["eager", "xla", "native"])
def test_zeta_between_whole_numbers_below_zero(engine: str) -> None:
    run = special.zeta
    if engine != "eager":
        run = jax.jit(run, compiler_options={"jax_cpu_engine": engine})
    points, expected = zip(*CANCELLING_POWERS, strict=True)
    with jax.enable_x64(True):
        np.testing.assert_allclose(run(*np.array(points).T), expected, 1e-13)
        order_10 = run(11.0, -2.5) * -math.factorial(10)
        np.testing.assert_allclose(special.polygamma(10, -2.5), order_10, 1e-13)


def test_slopes_far_out_in_float32() -> None:
    x = np.float32([5, 100, 1e4, 1e10])
    first, second = jax.grad(special.erfcx), jax.grad(jax.grad(special.erfcx))
    truth = [-0.02133278976482, -5.6410496e-05, -5.6418957e-09, -5.6418958e-21]
    np.testing.assert_allclose(jax.vmap(first)(x), truth, 1e-5)
    np.testing.assert_allclose(jax.vmap(second)(x[1:]), 2 / np.sqrt(np.pi) / x[1:] ** 3, 1e-3)
    # The cosine of πx²/2, of whole numbers x.
    cosine = jax.vmap(jax.grad(lambda x: special.fresnel(x)[1]))
    np.testing.assert_allclose(cosine(np.float32([100, 1001, 1e10])), [1, 0, 1], 1e-6, 1e-6)


# Function, operands, and its derivative by the first, which mpmath computed with 60 digits.
NEARLY_CANCELLING = (
    ("dawsn", (8.0,), -0.0080031793208542067),
    ("dawsn", (700.0,), -1.0204112869797024e-6),
    ("dawsn", (1e10,), -5e-21),
    ("beta", (1.0, 1e-30), -1.6449340668482264),
    ("betaln", (1.0, 1e-30), -1.6449340668482264e-30),
    ("beta", (3.0, 2.0**-20), -0.39493342840407436),
    ("poch", (1e6, 2.0), 2000001.0),
    ("poch", (30.0, 2.0**-10), 3.320967828358965e-05),
    ("poch", (-2.5, 2.0**-10), 0.009325732774150948),
    ("comb", (1e6, 2.0), 999999.5),
    ("betaln", (1e30, 1e28), -0.009950330853168082),
)


@pytest.mark.sampled(4)
@pytest.mark.parametrize(("name", "point", "expected"), NEARLY_CANCELLING)
@pytest.mark.parametrize("engine", [None, "native", "xla"])
def test_derivatives_that_are_differences(
    name: str, point: tuple[float, ...], expected: float, engine: str | None
) -> None:
    slope = jax.grad(getattr(special, name))
    run = slope if engine is None else jax.jit(slope, compiler_options={"jax_cpu_engine": engine})
    for dtype, rtol in (("float32", 2e-6), ("float64", 1e-13)):
        with jax.enable_x64(True):
            found = run(*np.array(point, dtype))
        np.testing.assert_allclose(found, expected, rtol)


@pytest.mark.parametrize("engine", ["eager", "xla", "native"])
@pytest.mark.parametrize(
    ("name", "at", "expected"),
    [
        ("owens_t", (1e300, 0.5), 0.0),
        ("owens_t", (-1e200, 1e-200), 0.0),
        ("comb", (1e30, 1e-300), 1.0),
        ("comb", (1e300, 1e-10), 1.0000000691352777),
    ],
)
def test_numbers_far_apart(name: str, at: tuple[float, ...], expected: float, engine: str) -> None:
    run = getattr(special, name)
    if engine != "eager":
        run = jax.jit(run, compiler_options={"jax_cpu_engine": engine})
    with jax.enable_x64(True):
        np.testing.assert_allclose(run(*at), expected, 1e-14)


def test_rising_factorials_at_infinity() -> None:
    inf, nan = np.inf, np.nan
    z = np.array([inf, inf, -inf, -inf, -inf, -inf, 0.0, -3.0, 2.5, inf])
    m = np.array([2.5, -2.0, 3.0, 2.0, -2.5, -3.0, -inf, -inf, -inf, 0.0])
    expected = [inf, 0, -inf, inf, nan, 0, 0, 0, nan, 1]
    for run in (special.poch, jax.jit(special.poch)):
        np.testing.assert_array_equal(run(z, m), expected)


# Whole numbers below 0, where both gamma functions have poles, and sums that are rounded to them.
RISING_POLES = (
    *[((0.0, -1e5), 0.0), ((-1.0, -1e30), 0.0), ((-1e5, 1e5), np.inf), ((-2e3, 1101), -np.inf)],
    *[((-1e5, -1e5), 0.0), ((-1e30, 0.5), 0.0), ((-1e30, -0.5), 0.0), ((-1e30, 1e5), np.inf)],
    *[((-5.0, 2.0), 20.0), ((-5.0, 2e3), 0.0), ((2.0, -1e5), np.inf), ((np.nan, 0.0), 1.0)],
)


@pytest.mark.parametrize("engine", ["eager", "native", "xla"])
def test_rising_factorials_where_both_have_poles(engine: str) -> None:
    points, expected = zip(*RISING_POLES, strict=True)
    run = special.poch
    if engine != "eager":
        run = jax.jit(run, compiler_options={"jax_cpu_engine": engine})
    for dtype in ("float32", "float64"):
        with jax.enable_x64(True):
            np.testing.assert_array_equal(run(*np.array(points, dtype).T), expected)


def test_entropies_of_what_is_undefined_and_far_out() -> None:
    points = np.array([0.0, -0.0, 1.0, 2.5, 1e-30, 1e30, -1.0, np.inf, -np.inf, np.nan])
    p, q = np.array(list(itertools.product(points, points))).T
    with np.errstate(all="ignore"), jax.enable_x64(True):
        for name in ("rel_entr", "kl_div"):
            expected = getattr(reference, name)(p, q)
            for run in (getattr(special, name), jax.jit(getattr(special, name))):
                np.testing.assert_allclose(run(p, q), expected, 1e-14)
    for function in (special.rel_entr, special.kl_div):
        second = jax.grad(jax.grad(function))
        np.testing.assert_allclose([second(1e30, 1.0), second(1e-30, 1.0)], [1e-30, 1e30], 1e-6)


@pytest.mark.parametrize("engine", ["native", "xla"])
@pytest.mark.parametrize(("dtype", "last"), [("float32", 13), ("float64", 22)])
def test_factorials_of_whole_numbers_are_exact(engine: str, dtype: str, last: int) -> None:
    with jax.enable_x64(True):
        x = np.arange(last + 1).astype(dtype)
        compiled = jax.jit(special.factorial, compiler_options={"jax_cpu_engine": engine})
        for run in (special.factorial, compiled):
            assert np.asarray(run(x)).tolist() == [math.factorial(n) for n in range(last + 1)]


@pytest.mark.parametrize("engine", ["native", "xla"])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_gamma_has_all_its_digits(engine: str, dtype: str) -> None:
    """At each of these log Γ is large, or what follows from it is next to a pole."""
    with jax.enable_x64(True):
        whole = np.array([24.0, 27, 34, -30, -20, -1, 0, 3])
        x = np.concatenate([whole + 0.4, whole + 2.0**-9, whole - 2.0**-9]).astype(dtype)
        compiled = jax.jit(special.gamma, compiler_options={"jax_cpu_engine": engine})
        expected = reference.gamma(x.astype(np.float64))
        np.testing.assert_allclose(compiled(x), expected, 6 * np.finfo(dtype).eps)
        ends = np.array([0, -0.0, np.inf, -np.inf, np.nan, -2, -300, 172, -190.5, 1e-30], dtype)
        assert str(np.asarray(compiled(ends))) == str(np.asarray(special.gamma(ends)))


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


def test_hypergeometric_functions_at_special_points() -> None:
    inf, nan = np.inf, np.nan
    confluent = [
        ((0.0, 0.0, 1.0), 1.0), ((-2.0, -2.0, 1.0), 2.5), ((-2.0, -1.0, 3.0), inf),
        ((1.0, -2.0, 3.0), inf), ((1.0, -2.0, 0.0), 1.0), ((1.0, 2.0, inf), inf),
        ((1.0, 2.0, -inf), 0.0), ((0.0, 2.0, inf), 1.0), ((-1.0, 2.0, inf), -inf),
        ((nan, 1.0, 1.0), nan), ((1.0, 1.0, nan), nan), ((inf, 1.0, 1.0), nan),
    ]  # fmt: skip
    gauss = [
        ((1.0, 2.0, 3.0, 1.0), inf), ((1.0, 2.0, 3.0, 2.0), inf), ((1.0, 1.0, -2.0, 0.5), inf),
        ((-1.0, 1.0, -2.0, 0.5), 1.25), ((2.0, 1.0, -2.0, 0.0), 1.0), ((0.0, 1.0, 0.0, 0.5), 1.0),
        ((1.0, 2.0, 3.0, -inf), 0.0), ((1.0, 2.0, 3.0, inf), inf), ((0.0, 2.0, 3.0, inf), 1.0),
        ((nan, 1.0, 1.0, 0.0), nan), ((1.0, 1.0, 1.0, nan), nan), ((-3.0, 1.0, -2.0, 0.5), inf),
        ((0.5, 1.5, -0.5, 1.0), -inf), ((0.5, 1.5, -1.5, 1.0), inf),
        ((0.1, -0.7, -1.5, 1.0), -inf), ((-0.5, 0.5, -0.5, 1.0), inf),
    ]  # fmt: skip
    with jax.enable_x64(True):
        for function, rows in ((special.hyp1f1, confluent), (special.hyp2f1, gauss)):
            args, expected = np.array([a for a, _ in rows]).T, [e for _, e in rows]
            for run in (function, jax.jit(function)):
                np.testing.assert_allclose(run(*args), expected, 1e-15)


@pytest.mark.parametrize("engine", ["eager", "xla", "native"])
def test_powers_among_the_hypergeometric_functions_in_float32(engine: str) -> None:
    x = np.float32([-0.5, -2.5, -40.0])
    power = (1 - x.astype(np.float64)) ** -20

    def function(x: Any) -> Any:
        return special.hyp2f1(0.5, 20.0, 0.5, x), special.hyp2f1(20.0, 0.5, 0.5, x)

    if engine == "eager":
        found = function(x)
    else:
        with jax.cpu_engine(engine):
            found = jax.jit(function)(x)
    for value in found:
        np.testing.assert_allclose(value, power, 2e-5)


# By mpmath, of numbers as float32 has them.
NEXT_TO_ONE = [
    ((0.1, -0.7, -2.25, 0.99999), 6845604.329888114),
    ((-1.7, 0.4, -3.7, 0.99999), 55870501053.56343),
    ((-0.999999, 0.7, -0.999999, 0.999), 125.89366539643093),
    ((1.0, -1.5, -0.5, 0.999), -8.424687852597849),
]


@pytest.mark.parametrize("engine", ["eager", "xla", "native"])
def test_float32_next_to_one_below_a_negative_parameter(engine: str) -> None:
    given, expected = [np.array(x, np.float32) for x in zip(*NEXT_TO_ONE, strict=True)]
    run = special.hyp2f1
    if engine != "eager":
        run = jax.jit(run, compiler_options={"jax_cpu_engine": engine})
    np.testing.assert_allclose(run(*given.T), expected, 2e-7)


def test_hypergeometric_functions_without_digits_are_nan() -> None:
    with jax.enable_x64(True):
        for run in (special.hyp1f1, jax.jit(special.hyp1f1)):
            assert np.isnan(run(206.5, -290.7, -257.8))
            # Terms that fall as slowly as √k, whose sum came to no end; others beside it do.
            found = run(*np.array([(0.5, 1e30, 1e30), (1.0, 2.0, 1.0)]).T)
            np.testing.assert_allclose(found, [np.nan, math.e - 1], 1e-14)
        for run in (special.hyp2f1, jax.jit(special.hyp2f1)):
            assert np.isnan(run(-1.8e17, -3.9, 1e-75, 1.0))


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


def _wave(name: str, x: Any) -> Any:
    """The values of a function in the order in which the table of truths has them."""
    if name == "bessel_jn":
        return special.bessel_jn(x, v=4)
    if name == "lpmn":
        values = special.lpmn(3, 3, x[None])[0]
        return [values[m, n, 0] for m in range(4) for n in range(m, 4)]
    values = getattr(special, name)(x)
    return values if isinstance(values, tuple) else (values,)


@pytest.mark.parametrize(("name", "args", "truth", "amplitude"), WAVES)
def test_waves_have_the_digits_of_their_amplitude(
    name: str, args: Any, truth: Any, amplitude: float
) -> None:
    with jax.enable_x64(True):
        (x,) = map(jax.numpy.asarray, args)
        for run in (_wave, jax.jit(_wave, static_argnums=0)):
            error = np.abs(np.ravel(run(name, x)) - np.array(truth))
            unit = np.maximum(np.abs(truth), amplitude) * 2.0**-52
            assert np.max(error / unit) <= UNITS_OF_WAVES[name]


def test_spence_takes_float32_and_float64() -> None:
    with pytest.raises(TypeError, match="spence, argument x"):
        special.spence(2)
    assert special.spence(np.float32(np.inf)) == -np.inf
    assert jax.grad(special.spence)(np.inf) == 0
    slope = jax.grad(jax.grad(special.spence))(1.0)
    np.testing.assert_allclose(slope, 0.5, 1e-6)


def test_legendre_functions() -> None:
    z = np.linspace(-1, 1, 9)
    with np.errstate(all="ignore"):
        expected = np.swapaxes(reference.assoc_legendre_p_all(6, 6, z, diff_n=1)[:, :, :7], 1, 2)
    normal = np.swapaxes(reference.sph_legendre_p_all(6, 6, np.arccos(z[1:-1])), 1, 2)[0, :7]
    with jax.enable_x64(True):
        for given, truth in zip(special.lpmn(6, 6, z), expected, strict=True):
            np.testing.assert_allclose(given, truth, 1e-11, 1e-11)
        np.testing.assert_array_equal(special.lpmn_values(2, 6, z, False), special.lpmn(2, 6, z)[0])
        inner = jax.numpy.asarray(z[1:-1])
        np.testing.assert_allclose(special.lpmn_values(6, 6, inner, True), normal, 1e-12, 1e-14)
        slopes = jax.jvp(lambda z: special.lpmn(6, 6, z)[0], (inner,), (np.ones(7),))[1]
        np.testing.assert_allclose(slopes, expected[1][..., 1:-1], 1e-11, 1e-11)
    with pytest.raises(ValueError, match="argument z"):
        special.lpmn(1, 1, np.float32(0.5))
    with pytest.raises(TypeError, match="argument z"):
        special.lpmn_values(1, 1, np.arange(2), True)
    with pytest.raises(ValueError, match="argument m"):
        special.lpmn(-1, 1, np.zeros(1, np.float32))


def test_spherical_harmonics() -> None:
    n, m = [x.ravel() for x in np.meshgrid(np.arange(-1, 7), np.arange(-7, 8))]
    theta, phi = np.linspace(-1, 4, n.size), np.linspace(-4, 7, n.size)
    with jax.enable_x64(True):
        expected = reference.sph_harm_y(n, m, theta, phi)
        np.testing.assert_allclose(special.sph_harm_y(n, m, theta, phi), expected, 1e-12, 1e-14)
        compiled = jax.jit(special.sph_harm_y, static_argnames="n_max")
        np.testing.assert_allclose(compiled(n, m, theta, phi, n_max=6), expected, 1e-12, 1e-14)
        assert np.isnan(compiled(5, 0, 0.5, 0.5, n_max=4))

        def parts(theta: Any, phi: Any) -> Any:
            value = special.sph_harm_y(np.array([3, 2]), np.array([2, -1]), theta, phi)
            return value.real, value.imag

        check_grads(parts, (np.array([0.5, 2.0]), np.array([0.3, 4.0])), order=1)
    with pytest.raises(NotImplementedError, match="diff_n"):
        special.sph_harm_y(1, 0, 0.5, 0.5, diff_n=1)
    with pytest.raises(TypeError, match="argument m"):
        special.sph_harm_y(1, 0.5, 0.5, 0.5)
    with pytest.raises(jax.errors.ConcretizationTypeError, match="n_max"):
        jax.jit(special.sph_harm_y)(1, 0, 0.5, 0.5)


def test_bessel_functions_of_several_orders() -> None:
    z = np.array([0.0, 1e-30, -0.05, 0.2, -3.0, 24.9, 25.1, -60.0, 1e4])
    with jax.enable_x64(True):
        for v in (0, 1, 40):
            expected = np.array([reference.jv(k, z) for k in range(v + 1)])
            np.testing.assert_allclose(special.bessel_jn(z, v=v), expected, 1e-11, 1e-14)
        np.testing.assert_array_equal(special.bessel_jn(np.array([np.inf]), v=1), 0)
        assert np.isnan(special.bessel_jn(np.nan, v=2)).all()
        smooth = np.array([-3.0, 0.05, 7.0, 40.0])
        check_grads(lambda z: special.bessel_jn(z, v=3), (smooth,), order=2)
    narrow = special.bessel_jn(z.astype(np.float32), v=40)
    np.testing.assert_allclose(narrow, expected, 1e-5, 1e-6)
    with pytest.raises(TypeError, match="bessel_jn"):
        special.bessel_jn(1j, v=1)
    with pytest.raises(ValueError, match="argument v"):
        special.bessel_jn(1.0, v=-1)


def test_log_gamma_on_the_plane() -> None:
    x, y = np.meshgrid(
        [-30.3, -2.5, -0.9, 0.2, 0.9, 1.01, 2.0, 7.0, 40.0], [-20, -1e-9, -0.0, 0, 2]
    )
    z = (x + 1j * y).ravel()
    z.imag = y.ravel()
    real = np.array([0.0, -0.0, -1.5, -2.0, 0.5, 2.0, 30.0, np.inf, np.nan])
    with jax.enable_x64(True):
        for run in (special.loggamma, jax.jit(special.loggamma)):
            np.testing.assert_allclose(run(z), reference.loggamma(z), 1e-12, 1e-14)
            np.testing.assert_allclose(run(real), reference.loggamma(real), 1e-13)
        assert np.isnan(special.loggamma(np.array([0, -2 + 0j]))).all()

        def parts(x: Any, y: Any) -> Any:
            value = special.loggamma(jax.lax.complex(x, y))
            return value.real, value.imag

        check_grads(parts, (np.array([0.3, -2.5, 1.2, 20]), np.array([0.4, 1, 0.1, 3])), order=1)
        check_grads(special.loggamma, (np.array([0.3, 2.5, 20]),), order=2)


def test_faddeeva_function() -> None:
    x, y = np.meshgrid([-30, -7.1, -3.0, 0.0, 0.2, 6.9, 9.0], [-2, -1e-3, 0, 1e-9, 0.04, 0.06, 8])
    z = (x + 1j * y).ravel()
    expected = reference.wofz(z)
    with jax.enable_x64(True):
        for run in (special.wofz, jax.jit(special.wofz)):
            np.testing.assert_allclose(run(z), expected, 1e-12)
            given = np.asarray(run(z[z.imag >= 0]))
            np.testing.assert_allclose(given.real, expected[z.imag >= 0].real, 1e-12)
        np.testing.assert_allclose(special.wofz(z.real), reference.wofz(z.real), 1e-12)

        def parts(x: Any, y: Any) -> Any:
            value = special.wofz(jax.lax.complex(x, y))
            return value.real, value.imag

        check_grads(parts, (np.array([0.3, -2.5, 9, 0.1]), np.array([0.4, 0.01, 0.1, -1])), order=2)


@pytest.mark.parametrize(
    "name", ["betainc", "exp1", "expi", "expn", "fresnel", "hyp1f1", "hyp2f1", "poch", "sici"]
)
def test_complex_operands_are_refused(name: str) -> None:
    count = len(inspect.signature(getattr(special, name)).parameters)
    refusal = NotImplementedError if name == "fresnel" else ValueError
    with pytest.raises(refusal, match=f"special.{name}"):
        getattr(special, name)(*[1j] * count)


def test_gamma_of_complex_numbers() -> None:
    z = np.array([1 + 2j, -0.5 + 0.1j, 3, 0.3 - 4j])
    with jax.enable_x64(True):
        np.testing.assert_allclose(special.gamma(z), reference.gamma(z), rtol=1e-12)
    assert np.isnan(np.asarray(special.gamma(np.array([-1, 0j], np.complex64)))).all()


@pytest.mark.parametrize("name", ["rel_entr", "kl_div", "ndtri"])
def test_complex_numbers_are_refused_where_there_is_no_such_function(name: str) -> None:
    operands = (0.5j,) if name == "ndtri" else (0.5j, 0.5)
    error = TypeError if name == "ndtri" else ValueError
    for function in (getattr(special, name), jax.jit(getattr(special, name))):
        with pytest.raises(error, match="expected: real numbers"):
            function(*operands)


def test_a_complex_number_beside_halves_keeps_its_imaginary_part() -> None:
    halves = np.array([0.25, 0.5], np.float16)
    result = jax.nn.standardize(halves, mean=1j)
    assert result.dtype == np.complex64
    expected = jax.nn.standardize(halves.astype(np.float32), mean=1j)
    np.testing.assert_allclose(result, expected, rtol=1e-3)


def test_weak_types_are_those_of_jax() -> None:
    weak = jax.lax.full((3,), 0.5)
    assert weak.weak_type
    assert special.loggamma(weak).weak_type
    assert not special.loggamma(1j).weak_type
    assert special.logit(0.5).weak_type
    assert not special.logit(weak).weak_type


@pytest.mark.parametrize("name", "digamma entr erf erfc gammaln i0 i0e i1 i1e ndtr".split())
def test_tangents_of_weak_types_are_weak(name: str) -> None:
    out, tangent = jax.jvp(getattr(special, name), (0.5,), (1.0,))
    assert tangent.weak_type == out.weak_type


def test_tangents_whose_types_are_not_those_of_the_values() -> None:
    for function, operands in (
        (special.xlogy, (0.5, 2.0)),
        (special.xlog1py, (0.5, 2.0)),
        (special.expi, (0.5,)),
        (special.sici, (0.5,)),
        (special.fresnel, (0.5,)),
    ):
        out, tangent = jax.jvp(function, operands, (1.0,) * len(operands))
        for x, t in zip(jax.tree.leaves(out), jax.tree.leaves(tangent), strict=True):
            assert x.weak_type != t.weak_type


@pytest.mark.parametrize("engine", [None, "native", "xla"])
def test_slopes_of_beta_at_its_poles(engine: str | None) -> None:
    options = {"jax_cpu_engine": engine}
    for function, at, expected in (
        (special.betaln, (0.0, 0.5), -np.inf),
        (special.betaln, (-0.0, 2.0), np.inf),
        (special.betaln, (0.5, 0.0), 0),
        (special.beta, (0.0, 2.0), -np.inf),
        (special.beta, (-0.0, 2.0), -np.inf),
    ):
        slope = jax.grad(function)
        run = jax.jit(slope, compiler_options=options) if engine else slope
        assert run(*at) == expected
