"""Distributions: transformations, limits and error text; the numbers are in `test_golden`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy import special

import morphax as jax

random, jnp = jax.random, jax.numpy
KEY = random.key(0)


def test_numbers_stay_within_their_limits() -> None:
    many = np.asarray(random.uniform(KEY, (10**5,)))
    assert many.min() >= 0
    assert many.max() < 1
    bounded = np.asarray(random.truncated_normal(KEY, 2.0, 2.1, (10**4,)))
    assert bounded.min() > 2
    assert bounded.max() < np.float32(2.1)
    for name in ("gumbel", "logistic", "laplace", "exponential", "normal"):
        for dtype in ("float16", "bfloat16", "float32"):
            drawn = getattr(random, name)(KEY, (10**4,), dtype)
            assert np.isfinite(np.asarray(drawn, np.float32)).all(), (name, dtype)


def test_probabilities_below_the_precision_of_one_draw() -> None:
    tiny, count = np.float32(1e-8), 10**6
    low = random.bernoulli(KEY, tiny, (count,))
    high = jax.jit(lambda k: random.bernoulli(k, np.float32(1e-5), (count,), mode="high"))(KEY)
    assert not np.asarray(low)[1:].all()
    assert 2 <= int(np.asarray(high).sum()) <= 25


@pytest.mark.parametrize("replace", [True, False])
@pytest.mark.parametrize("p", [None, np.full(5, 0.2, np.float32)])
def test_numbers_chosen_are_python_integers(p: object, replace: bool) -> None:
    for is_wide in (False, True):
        with jax.enable_x64(is_wide):
            assert random.choice(KEY, 5, (3,), replace, p).dtype == jnp.asarray(1).dtype


def test_trials_without_end() -> None:
    counts = random.binomial(KEY, np.float32(np.inf), np.array([0.0, 1.0, 0.3, np.nan], np.float32))
    np.testing.assert_array_equal(counts, [0, np.inf, np.inf, np.nan])


def test_frequencies_of_weighted_choices() -> None:
    p = np.array([0.1, 0.0, 0.6, 0.3], np.float32)
    chosen = np.asarray(random.choice(KEY, 4, (20_000,), p=p))
    np.testing.assert_allclose(np.bincount(chosen, minlength=4) / 20_000, p, atol=0.02)
    with np.errstate(divide="ignore"):
        logits = np.log(p)
    drawn = np.asarray(random.categorical(KEY, logits, shape=(20_000,)))
    np.testing.assert_allclose(np.bincount(drawn, minlength=4) / 20_000, p, atol=0.02)


def test_permutations_are_permutations() -> None:
    table = np.arange(12).reshape(4, 3)
    for axis in (0, 1):
        rows = np.asarray(random.permutation(KEY, table, axis))
        lines = np.asarray(random.permutation(KEY, table, axis, independent=True))
        np.testing.assert_array_equal(np.sort(lines, axis), table)
        np.testing.assert_array_equal(np.sort(rows, axis), table)
    assert random.permutation(KEY, 0).shape == (0,)
    for shape in ((0, 3), (3, 0)):
        assert random.permutation(KEY, np.zeros(shape, np.float32)).shape == shape
    assert random.choice(KEY, np.zeros((0, 3), np.float32), (2, 0)).shape == (2, 0, 3)
    keys = random.split(KEY, 5)
    assert random.permutation(KEY, keys).dtype == keys.dtype


def test_derivatives_with_respect_to_parameters() -> None:
    grad = jax.grad(lambda s: jnp.sum(random.uniform(KEY, (5,), minval=0.0, maxval=s)))(2.0)
    np.testing.assert_allclose(grad, np.sum(random.uniform(KEY, (5,))), rtol=1e-6)
    sigma = jax.grad(lambda s: jnp.sum(jnp.log(random.lognormal(KEY, s, (5,)))))(1.5)
    np.testing.assert_allclose(sigma, np.sum(random.normal(KEY, (5,))), rtol=1e-4)


@pytest.mark.parametrize(
    ("draw", "exponential"), [(random.gamma, np.array), (random.loggamma, np.exp)]
)
def test_a_gamma_number_moves_at_constant_probability(draw: Any, exponential: Any) -> None:
    a = np.array([0.03, 0.7, 3.0, 200.0])
    with jax.enable_x64(True):
        numbers, slopes = jax.jvp(lambda a: draw(KEY, a, (20, 4)), (a,), (np.ones(4),))
    value, slope = np.asarray(numbers), np.asarray(slopes)
    step = 1e-6 * a
    moved = [special.gammaincc(a + h, exponential(value + h * slope)) for h in (step, -step)]
    scale = np.minimum(moved[0], 1 - moved[0])
    np.testing.assert_allclose((moved[0] - moved[1]) / (2e-6 * scale), 0, atol=1e-4)


def test_small_gamma_numbers_move_by_their_logarithm() -> None:
    # x is (Γ(a+1) P)^(1/a) there, far below the range of the dtype.
    value, slope = jax.jvp(lambda a: random.loggamma(KEY, a, (9,)), (1e-3,), (1.0,))
    np.testing.assert_allclose(slope, (special.psi(1.001) - np.asarray(value)) / 1e-3, rtol=1e-5)


@pytest.mark.parametrize("name", ["dirichlet", "t"])
def test_what_is_made_of_gamma_numbers_has_derivatives(name: str) -> None:
    # The others are made alike, and each takes seconds to compile.
    point = jnp.array([0.5, 1, 4]) if name == "dirichlet" else 2.5
    slopes = jax.grad(jax.jit(lambda p: jnp.mean(getattr(random, name)(KEY, p, (10000,)) ** 2)))(
        point
    )
    assert np.all(np.isfinite(slopes))
    assert np.any(slopes != 0)
    if name == "dirichlet":
        # The density is smooth in its parameters, so the mean of squares is nearly that of the law.
        expected = jax.grad(lambda v: jnp.mean(v * (v + 1) / (v.sum() * (v.sum() + 1))))(point)
        np.testing.assert_allclose(slopes, expected, rtol=0.1, atol=5e-3)


def test_counts_have_derivative_zero() -> None:
    def count(x: Any) -> Any:
        drawn = random.poisson(KEY, x, (3,)).astype(np.float32)
        return jnp.sum(drawn + random.binomial(KEY, 5.0, x / 9, (3,)))

    assert jax.grad(count)(3.0) == 0.0


DRAWS: dict[str, Callable[[Any], Any]] = {
    "uniform": lambda k: random.uniform(k, (3,), minval=-1.0, maxval=2.0),
    "normal": lambda k: random.normal(k, (2, 2)),
    "randint": lambda k: random.randint(k, (4,), -5, 100_000),
    "permutation": lambda k: random.permutation(k, 7),
    "choice": lambda k: random.choice(k, 5, (3,), p=np.full(5, 0.2, np.float32)),
    "categorical": lambda k: random.categorical(k, np.zeros((2, 3), np.float32)),
    "wald": lambda k: random.wald(k, np.ones(3, np.float32)),
    "beta": lambda k: random.beta(k, np.ones(3, np.float32), 0.5),
    "poisson": lambda k: random.poisson(k, np.array([1.0, 20.0], np.float32)),
}


@pytest.mark.parametrize("name", DRAWS)
def test_mapped_keys_draw_what_each_draws_alone(name: str) -> None:
    draw, keys = DRAWS[name], random.split(KEY, 3)
    mapped = np.asarray(jax.vmap(draw)(keys))
    for i in range(3):
        np.testing.assert_allclose(mapped[i], draw(keys[i]), rtol=1e-6)


F = np.float32
WRONG = (
    (lambda: random.bits(KEY, (2,), "int32"), ValueError, "bits, argument dtype.*int32.*unsigned"),
    (lambda: random.uniform(KEY, (2,), "int32"), ValueError, "uniform, argument dtype.*floating"),
    (
        lambda: random.uniform(KEY, (2,), "float4_e2m1fn"),
        TypeError,
        "float4_e2m1fn.*8, 16, 32 or 64 bits",
    ),
    (lambda: random.normal(KEY, (2,), "int32"), ValueError, "normal.*int32.*floating or complex"),
    (lambda: random.laplace(KEY, (2,), "complex64"), ValueError, "laplace, argument dtype"),
    (lambda: random.randint(KEY, (2,), 0, 3, "float32"), TypeError, "randint, argument dtype"),
    (lambda: random.uniform(KEY, (-1,)), ValueError, r"uniform, argument shape.*\(-1,\)"),
    (lambda: random.uniform(KEY, 2.5), TypeError, "uniform, argument shape.*2.5"),
    (
        lambda: random.uniform(KEY, (2,), minval=np.zeros(3, F)),
        ValueError,
        r"uniform, argument shape.*\(2,\), for a parameter of shape \(3,\)",
    ),
    (lambda: random.bernoulli(KEY, 1), TypeError, "bernoulli, argument p.*int32.*floating.*1.0"),
    (lambda: random.bernoulli(KEY, mode="mid"), ValueError, "bernoulli, argument mode.*'mid'"),
    (lambda: random.gumbel(KEY, mode="mid"), ValueError, "gumbel, argument mode.*'mid'"),
    (lambda: random.permutation(KEY, 2.0), TypeError, "permutation, argument x.*float"),
    (lambda: random.permutation(KEY, np.eye(2), axis=2), ValueError, "permutation, argument axis"),
    (lambda: random.choice(KEY, 0, (2,)), ValueError, "population of 0, a sample of 2"),
    (
        lambda: random.choice(KEY, 5, (6,), replace=False),
        ValueError,
        "population of 5, a sample of 6.*replace=True",
    ),
    (lambda: random.choice(KEY, 4, (2,), p=np.ones(3, F)), ValueError, "argument p.*float32.3.*4"),
    (
        lambda: random.categorical(KEY, np.zeros((2, 4), F), shape=(3,)),
        ValueError,
        r"categorical, argument shape.*\(3,\).*axis 1",
    ),
    (
        lambda: random.categorical(KEY, np.zeros(4, F), shape=(5,), replace=False),
        ValueError,
        "5 samples of 4 categories",
    ),
    (lambda: random.categorical(KEY, np.arange(3)), ValueError, "categorical.*int32.*floating"),
    (lambda: random.dirichlet(KEY, 1.0), ValueError, "dirichlet, argument alpha.*a scalar"),
    (lambda: random.bernoulli(KEY, 1.5), ValueError, r"bernoulli, argument p.*1.5.*\[0, 1\]"),
    (lambda: random.bernoulli(KEY, np.float32("nan")), ValueError, "bernoulli, argument p.*nan"),
    (lambda: random.bernoulli(KEY, jnp.float32(-0.5)), ValueError, "bernoulli, argument p.*-0.5"),
    (lambda: random.bernoulli(KEY, jnp.array([0.5, 2.0])), ValueError, "argument p.*0.5 to 2.0"),
    (lambda: random.geometric(KEY, np.array([0.5, -1.0], F)), ValueError, "argument p.*-1.0 to 0"),
    (lambda: random.poisson(KEY, jnp.array([3.0, -1.0])), ValueError, "argument lam.*-1.0 to 3"),
    (lambda: random.poisson(KEY, np.inf), ValueError, "poisson, argument lam.*inf"),
    (lambda: random.geometric(KEY, -0.5), ValueError, "geometric, argument p.*-0.5"),
    (lambda: random.choice(KEY, 2, p=jnp.array([-1.0, 2.0])), ValueError, "p.*-1.0, 2.0.*≥ 0"),
    (lambda: random.choice(KEY, 2, p=jnp.zeros(2)), ValueError, "argument p.*not all 0"),
    (lambda: random.multinomial(KEY, 3, jnp.array([jnp.nan, 1])), ValueError, "argument p.*nan"),
    (lambda: random.multinomial(KEY, 3, jnp.float32(0.5)), ValueError, "argument p.*a number"),
    (
        lambda: random.multinomial(KEY, 3, jnp.ones((2, 3)), shape=(2, 3)),
        ValueError,
        "shape \\(2,\\)",
    ),
    (lambda: random.multinomial(KEY, jnp.ones(4), jnp.ones(3)), ValueError, "shape \\(4,\\)"),
    (lambda: random.poisson(KEY, 1.0, dtype="float32"), ValueError, "poisson, argument dtype"),
)


@pytest.mark.parametrize(("call", "error", "text"), WRONG)
def test_wrong_arguments_are_explained(call: Any, error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=f"(?s){text}") as caught:
        call()
    assert __file__ in str(caught.value)


def test_elements_that_nobody_reads_and_rounding_are_no_errors() -> None:
    p = jnp.array([np.nan, 1 + 1e-6, -1e-8])
    np.testing.assert_array_equal(random.bernoulli(KEY, p), [False, True, False])
    assert random.choice(KEY, 2, p=jnp.array([1.0, -1e-8])) == 0


def test_the_shape_of_multinomial_numbers_is_without_the_outcomes() -> None:
    """As JAX says, and from 0.12 on does; recorded there."""
    p = jnp.array([0.2, 0.3, 0.5])
    drawn = random.multinomial(random.key(0), 10, p, shape=(2,))
    np.testing.assert_array_equal(drawn, [[1, 1, 8], [6, 1, 3]])
    assert random.multinomial(KEY, 10, p, shape=()).shape == (3,)
    assert random.multinomial(KEY, jnp.ones((4, 1)), jnp.ones((2, 3)), shape=(4, 2)).shape == (
        4,
        2,
        3,
    )
    assert jax.vmap(lambda k: random.multinomial(k, 10, p, shape=(5,)))(
        random.split(KEY, 2)
    ).shape == (2, 5, 3)


HALVES = jnp.array([0.5j, 0.5])


@pytest.mark.parametrize(
    "draw",
    [
        lambda: random.geometric(KEY, 0.5j),
        lambda: random.choice(KEY, 2, (3,), p=HALVES),
        lambda: random.multinomial(KEY, 5, HALVES),
        lambda: random.binomial(KEY, 5, 0.5j),
        lambda: random.wald(KEY, 1j),
        # JAX returns complex numbers that have no distribution.
        lambda: random.weibull_min(KEY, 1j, 1.0),
        lambda: random.double_sided_maxwell(KEY, 1j, 2.0),
        lambda: random.triangular(KEY, 0.0, 1j, 1.0),
        lambda: jax.jit(lambda p: random.generalized_normal(KEY, p))(1j),
    ],
)
def test_complex_parameters_are_refused(draw: Any) -> None:
    with pytest.raises(TypeError, match="expected: parameters that are real numbers"):
        draw()


def test_counts_of_outcomes_may_be_integers() -> None:
    counts = random.multinomial(KEY, 50, jnp.ones(3), dtype=int)
    assert counts.dtype == np.int32
    np.testing.assert_array_equal(counts, random.multinomial(KEY, 50, jnp.ones(3)))


def test_bounds_of_integers_that_are_floats() -> None:
    top = random.randint(KEY, (20,), 0, 2**31 - 1)
    for bound in (1e30, float("inf"), np.float32("inf"), jnp.float32(1e30)):
        np.testing.assert_array_equal(random.randint(KEY, (20,), 0, bound), top)
        np.testing.assert_array_equal(
            random.randint(KEY, (20,), np.zeros(20, np.int32), bound), top
        )
    assert random.randint(KEY, (999,), 0, float("inf"), "uint8").max() == 255
    # JAX takes floats for 32-bit integers with a sign, so it draws no number above 2³¹.
    assert random.randint(KEY, (99,), 0, 4e9, "uint32").max() > 2**31
    for bounds in ((0, float("nan")), (float("nan"), 3), (np.zeros(2, int), float("nan"))):
        with pytest.raises(ValueError, match=r"(?s)random.randint, argument .*expected: a number"):
            random.randint(KEY, (2,), *bounds)
