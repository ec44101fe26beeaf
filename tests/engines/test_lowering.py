"""From jaxprs to StableHLO: golden modules, trimming, donation, large constants, source lines."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import morphax as jax
from morphax import lax
from morphax.array import Array
from morphax.core import Jaxpr
from morphax.engines.xla.lowering import LoweredProgram, lower
from tests.tracing import work_of

VECTOR = np.arange(3, dtype=np.float32)
BIG = np.arange(20_000, dtype=np.float32)


def traced(function: Callable[..., Any], *args: Any) -> Jaxpr:
    jaxpr: Jaxpr = jax.jit(function).trace(*args).jaxpr
    return jaxpr


def lowered(function: Callable[..., Any], *args: Any, **options: Any) -> LoweredProgram:
    return lower(traced(function, *args), "f", **options)


# Golden modules.

ELEMENTWISE = """\
module @jit_f {
func.func public @main(%1: tensor<3xf32>, %2: tensor<f32>) -> (tensor<3xf32>) {
  %3 = stablehlo.sine %1 : tensor<3xf32>
  %4 = "stablehlo.broadcast_in_dim"(%2) {broadcast_dimensions = array<i64>} : (tensor<f32>) -> (tensor<3xf32>)
  %5 = stablehlo.multiply %3, %4 : tensor<3xf32>
  %6 = stablehlo.constant dense<1.00000000000000000e+00> : tensor<f32>
  %7 = "stablehlo.broadcast_in_dim"(%6) {broadcast_dimensions = array<i64>} : (tensor<f32>) -> (tensor<3xf32>)
  %8 = stablehlo.add %5, %7 : tensor<3xf32>
  return %8 : tensor<3xf32>
}
}
"""  # noqa: E501

CALLS = """\
module @jit_f {
func.func private @inner(%2: tensor<3xf32>) -> (tensor<3xf32>) {
  %3 = stablehlo.constant dense<"0x000000000000803F00000040"> : tensor<3xf32>
  %4 = stablehlo.add %2, %3 : tensor<3xf32>
  return %4 : tensor<3xf32>
}
func.func public @main(%1: tensor<3xf32> {tf.aliasing_output = 0 : i32}) -> (tensor<3xf32>) {
  %5 = "func.call"(%1) {callee = @inner} : (tensor<3xf32>) -> (tensor<3xf32>)
  %6 = "func.call"(%5) {callee = @inner} : (tensor<3xf32>) -> (tensor<3xf32>)
  return %6 : tensor<3xf32>
}
}
"""

LARGE_CONSTANT = """\
module @jit_f {
func.func private @inner(%4: tensor<20000xf32>, %5: tensor<20000xf32>) -> (tensor<20000xf32>) {
  %6 = stablehlo.add %4, %5 : tensor<20000xf32>
  return %6 : tensor<20000xf32>
}
func.func public @main(%1: tensor<20000xf32>, %2: tensor<f32>, %3: tensor<20000xf32>) -> (tensor<20000xf32>) {
  %7 = "func.call"(%1, %3) {callee = @inner} : (tensor<20000xf32>, tensor<20000xf32>) -> (tensor<20000xf32>)
  %8 = stablehlo.multiply %7, %3 : tensor<20000xf32>
  return %8 : tensor<20000xf32>
}
}
"""  # noqa: E501


def test_golden_elementwise() -> None:
    program = lowered(lambda x, y: lax.sin(x) * y + np.float32(1), VECTOR, np.float32(2))
    assert program.text == ELEMENTWISE


def test_golden_calls() -> None:
    @jax.jit
    def inner(x: Any) -> Any:
        return x + VECTOR

    program = lowered(lambda x: inner(inner(x)), VECTOR, donated=[0])
    assert program.text == CALLS


def test_golden_large_constant() -> None:
    big = Array.from_host(BIG)

    @jax.jit
    def inner(x: Any) -> Any:
        return x + big

    program = lowered(lambda x, unused: inner(x) * big, BIG, np.float32(1), keep_unused=True)
    assert program.text == LARGE_CONSTANT
    (constant,) = program.constant_operands
    np.testing.assert_array_equal(constant, BIG)


# Trimming.


def test_unused_operands_and_dead_equations() -> None:
    def function(x: Any, y: Any, z: Any) -> Any:
        lax.sin(y)
        return x, z + 1

    program = lowered(function, 1.0, 2.0, 3.0)
    assert program.kept_operands == (2,)
    assert "sine" not in program.text
    assert [source and source.operand for source in program.forwarded] == [0, None]
    assert lowered(function, 1.0, 2.0, 3.0, keep_unused=True).kept_operands == (0, 1, 2)


def test_results_that_need_no_computation() -> None:
    constant = Array.from_host(VECTOR)
    program = lowered(lambda x: (constant, 2, x), 1.0)
    assert "func.func public @main() -> ()" in program.text
    host, number, operand = program.forwarded
    assert (host.constant.tolist(), number.constant.tolist(), operand.operand) == ([0, 1, 2], 2, 0)
    assert host.constant is not constant


# Donation.


@pytest.mark.parametrize(
    ("function", "attributes"),
    [
        (lambda x, y: x + y, ["{tf.aliasing_output = 0 : i32}", None]),
        (lambda x, y: (lax.sin(y), x + y), ["{tf.aliasing_output = 0 : i32}", None]),
        (lambda x, y: lax.lt(x, y), [None, None]),
        (
            lambda x, y: lax.bitcast_convert_type(x + y, np.int32),
            ["{jax.buffer_donor = true}", None],
        ),
        (lambda x, y: (x, x + y), [None, None]),
    ],
)
@pytest.mark.filterwarnings("ignore:donation to f")
def test_attributes_of_donated_operands(function: Any, attributes: list[str | None]) -> None:
    text = lowered(function, VECTOR, VECTOR, donated=[0]).text
    header = text.splitlines()[1]
    found = [re.search(r"\{.*\}", operand) for operand in header.split("->")[0].split(", ")]
    assert [match and match.group() for match in found] == attributes


def test_two_donated_operands_become_two_results() -> None:
    text = lowered(lambda x, y: (x + y, x - y), VECTOR, VECTOR, donated=[0, 1]).text
    assert text.count("tf.aliasing_output = 0 : i32") == 1
    assert text.count("tf.aliasing_output = 1 : i32") == 1


# Large constants.


@pytest.mark.parametrize("size", [16_384, 16_385])
def test_size_from_which_constants_are_operands(size: int) -> None:
    constant = np.ones(size, np.float32)
    program = lowered(lambda x: x + constant, np.float32(1))
    assert len(program.constant_operands) == (size > 16_384)
    assert len(program.text) < 2_000 or size == 16_384


def loop(x: Any) -> Any:
    return lax.while_loop(lambda c: lax.lt(c[0], 3), lambda c: (c[0] + 1, c[1] + BIG), (0, x))[1]


def scan(x: Any) -> Any:
    return lax.scan(lambda c, _: (c + BIG, None), x, None, length=3)[0]


def branch(x: Any) -> Any:
    return lax.cond(x[0] > 0, lambda y: y, lambda y: jax.jit(lambda z: z + 3 * BIG)(y), x)


def nested(x: Any) -> Any:
    return jax.jit(lambda y: jax.jit(loop)(y))(x)


@pytest.mark.parametrize("function", [loop, scan, branch, nested])
def test_large_constants_of_inner_programs(function: Callable[[Any], Any]) -> None:
    x = np.zeros_like(BIG)
    program = lowered(function, x)
    assert len(program.text) < 8_000
    assert len(program.constant_operands) == 1
    np.testing.assert_array_equal(jax.jit(function)(x), 3 * BIG)


# Source lines.


def test_locations() -> None:
    def function(x: Any) -> Any:
        return jax.jit(lambda y: lax.cos(y))(x)

    plain = lowered(function, VECTOR).text
    located = lowered(function, VECTOR, locations=True).text
    line = function.__code__.co_firstlineno + 1
    assert f'loc("cos"("{__file__}":{line}:0))' in located
    assert re.sub(r" loc\(.*\)$", "", located, flags=re.MULTILINE) == plain


def test_work_is_linear_in_the_equations() -> None:
    def chain(x: Any, length: int) -> Any:
        for _ in range(length):
            x = lax.sin(x)
        return x

    def work(length: int) -> int:
        jaxpr = traced(lambda x: chain(x, length), VECTOR)
        return work_of(lambda: lower(jaxpr, "f"))

    assert work(4000) < 11 * work(400)


@pytest.mark.parametrize("shape", [(2**40, 2**40), (2**31, 2**31), (0, 2**40, 2**40)])
def test_sizes_that_would_end_the_process_are_refused(shape: tuple[int, ...]) -> None:
    # XLA aborts where the product of sizes overflows, as JAX's users find out.
    drawn = jax.jit(lambda key: jax.random.normal(key, shape).sum())
    with pytest.raises(ValueError, match=r"expected: arrays of less than 2\*\*63 bytes"):
        drawn.lower(jax.random.key(0))
