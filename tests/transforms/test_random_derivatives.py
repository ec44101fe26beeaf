"""Derivatives of random smooth programs against finite differences, and across precisions."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings

import morphax as jax
from tests.transforms.random_programs import Program, programs, widened
from tests.transforms.test_algebra import FEW, LONGEST_LOOP, direction, inexact_part, same, second

few = settings(FEW, max_examples=12, derandomize=True)
FORWARD = ("effect", "custom_vjp")
# What draws other numbers at another precision.
OF_ONE_PRECISION = ("effect", "random")


@pytest.fixture(autouse=True)
def _checked_wide_dtypes() -> Iterator[None]:
    with jax.enable_x64(True), jax.enable_checks(True), jax.reverse_while(LONGEST_LOOP):
        yield


def moved(x: Any, v: Any, step: float) -> Any:
    return jax.tree.map(lambda a, b: a + step * b, x, v)


def central_difference(f: Callable[[Any], Any], x: Any, v: Any) -> Any:
    """The derivative of `f` at `x` along `v`, to fourth order in the step."""
    h = 2e-4
    values = [f(moved(x, v, k * h)) for k in (-2, -1, 1, 2)]
    return jax.tree.map(
        lambda a, b, c, d: ((np.asarray(a) - d) + 8.0 * (np.asarray(c) - b)) / (12 * h), *values
    )


def close(given: Any, expected: Any, tolerance: float) -> None:
    for a, b in zip(jax.tree.leaves(given), jax.tree.leaves(expected), strict=True):
        scale = max(np.abs(b).max(initial=0.0), 1.0)
        np.testing.assert_allclose(a, b, rtol=0, atol=tolerance * scale)


@few
@given(program=programs(smooth=True, without=FORWARD))
def test_jvp_is_the_limit_of_differences(program: Program) -> None:
    x, ints = program.arguments()
    f, v = inexact_part(program, ints), direction(x, 1)
    expected = central_difference(f, x, v)
    close(jax.jvp(f, (x,), (v,))[1], expected, 1e-6)
    close(jax.jit(lambda x: jax.jvp(f, (x,), (v,))[1])(x), expected, 1e-6)


@few
@given(program=programs(smooth=True, without=FORWARD, depth=1))
def test_second_derivatives_are_those_of_differences(program: Program) -> None:
    x, ints = program.arguments()
    f, v, w = inexact_part(program, ints), direction(x, 1), direction(x, 2)
    mixed = second(f, x, v, w)
    close(mixed, central_difference(lambda x: jax.jvp(f, (x,), (v,))[1], x, w), 1e-5)
    plus, minus = moved(v, w, 1.0), moved(v, w, -1.0)
    polarised = jax.tree.map(
        lambda a, b: (a - b) / 4, second(f, x, plus, plus), second(f, x, minus, minus)
    )
    same(mixed, polarised, "float64")


@few
@given(program=programs("float32", smooth=True, without=OF_ONE_PRECISION))
def test_precisions_agree(program: Program) -> None:
    wide = widened(program)
    x, ints = wide.arguments()
    narrow = jax.tree.map(lambda a: a.astype(np.float32), x)
    close(program(narrow, ints), wide(x, ints), 1e-3)

    def gradient(p: Program) -> Callable[[Any], Any]:
        f = inexact_part(p, ints)
        return lambda x: jax.vjp(f, x)[1](direction(jax.eval_shape(f, x), 1))

    close(gradient(program)(narrow), gradient(wide)(x), 1e-2)
    close(jax.jit(gradient(program))(narrow), gradient(wide)(x), 1e-2)
