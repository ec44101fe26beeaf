"""Programs whose printed text is compared with JAX's.

Each takes the module `jax` (that one, or this package) and returns a function and its arguments.
The texts in `printing_golden.txt` were printed by JAX 0.10.1.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np

Program = tuple[Callable[..., Any], tuple[Any, ...]]

VECTOR = np.ones(3, np.float32)
MATRIX = np.ones((3, 2), np.float32)
SCALAR = np.float32(1)


def equations_in_order(jax: Any) -> Program:
    lax = jax.lax
    return lambda x, y: lax.add(lax.sin(lax.mul(x, 2.0)), y), (SCALAR, SCALAR)


def on_one_line(jax: Any) -> Program:
    return lambda x: jax.lax.sin(x), (SCALAR,)


def unused_result(jax: Any) -> Program:
    def function(x: Any) -> Any:
        jax.lax.sin(x)
        return jax.lax.cos(x)

    return function, (SCALAR,)


def no_equation(jax: Any) -> Program:
    return lambda x: (x, x), (SCALAR,)


def no_result(jax: Any) -> Program:
    return lambda: (), ()


def one_result(jax: Any) -> Program:
    return lambda x: (x,), (SCALAR,)


def literal_results(jax: Any) -> Program:
    numbers = (1, 2.5, True, 1 + 2j, 1e30, -0.0, float("inf"), float("nan"))
    small = (np.float32(0.1), np.float16(1 / 3), ml_dtypes.bfloat16(3), np.int8(-3), np.uint8(7))
    return lambda: (*numbers, *small), ()


def python_and_numpy_scalars(jax: Any) -> Program:
    lax = jax.lax
    return lambda x: lax.mul(lax.add(x, 1.23456789), np.float32(1 / 3)), (SCALAR,)


def many_arguments(jax: Any) -> Program:
    return lambda *xs: xs[0], (SCALAR,) * 60


def many_results(jax: Any) -> Program:
    return lambda x: (x,) * 26, (SCALAR,)


def many_operands(jax: Any) -> Program:
    return lambda *xs: jax.lax.concatenate(xs, 0), (VECTOR,) * 40


def full_line(jax: Any) -> Program:
    return lambda x: jax.lax.concatenate([x] * 19, 0), (VECTOR,)


def overfull_line(jax: Any) -> Program:
    return lambda x: jax.lax.concatenate([x] * 25, 0), (VECTOR,)


def captured_constants(jax: Any) -> Program:
    lax = jax.lax
    return lambda x: lax.add(lax.mul(x, MATRIX), lax.add(MATRIX, MATRIX)), (MATRIX,)


def empty_shape(jax: Any) -> Program:
    return lambda x: jax.lax.sin(x), (np.ones((0, 2), np.float32),)


def params_that_say_nothing(jax: Any) -> Program:
    broadcast = jax.lax.broadcast_in_dim
    return lambda x, y: (broadcast(x, (3, 4), ()), broadcast(y, (3, 4), (0,))), (SCALAR, VECTOR)


def params_that_fit(jax: Any) -> Program:
    x = np.ones((1,) * 8, np.float32)
    return lambda x: jax.lax.transpose(x, tuple(range(8))[::-1]), (x,)


def params_that_do_not_fit(jax: Any) -> Program:
    x = np.ones((1,) * 9, np.float32)
    return lambda x: jax.lax.transpose(x, tuple(range(9))[::-1]), (x,)


def params_by_name(jax: Any) -> Program:
    return lambda x: jax.lax.slice(x, (1,), (2,)), (VECTOR,)


def call(jax: Any) -> Program:
    def double(x: Any) -> Any:
        return jax.lax.mul(x, 2.0)

    inner = jax.jit(double)
    return lambda x: jax.lax.sin(inner(x)), (SCALAR,)


def call_of_lambda(jax: Any) -> Program:
    return jax.jit(lambda x: x), (SCALAR,)


def call_in_call(jax: Any) -> Program:
    def inner(x: Any) -> Any:
        return jax.lax.mul(jax.lax.sin(x), 2.0)

    def outer(x: Any) -> Any:
        return jax.lax.add(jax.jit(inner)(x), 1.0)

    return jax.jit(outer), (SCALAR,)


def call_with_repeated_operand(jax: Any) -> Program:
    inner = jax.jit(lambda x, y: jax.lax.add(x, y))
    return lambda x: inner(x, x), (SCALAR,)


def call_with_literal_operand(jax: Any) -> Program:
    inner = jax.jit(lambda x, y: jax.lax.add(x, y))
    return lambda x: inner(x, np.float32(2)), (SCALAR,)


def call_with_repeated_result(jax: Any) -> Program:
    def inner(x: Any) -> Any:
        y = jax.lax.sin(x)
        return x, y, y, 3.0

    return jax.jit(inner), (SCALAR,)


def call_with_unused_result(jax: Any) -> Program:
    inner = jax.jit(lambda x: (jax.lax.sin(x), jax.lax.cos(x)))
    return lambda x: inner(x)[0], (SCALAR,)


def call_with_unused_equation(jax: Any) -> Program:
    def inner(x: Any) -> Any:
        jax.lax.sin(x)
        return jax.lax.cos(x)

    return jax.jit(inner), (SCALAR,)


def call_with_long_name(jax: Any) -> Program:
    def inner(x: Any) -> Any:
        return jax.lax.sin(x)

    inner.__name__ = "i" * 60
    once = jax.jit(inner)
    return lambda x: once(once(x)), (SCALAR,)


def call_that_keeps_unused(jax: Any) -> Program:
    return jax.jit(lambda x, y: x, keep_unused=True, donate_argnums=1), (SCALAR, VECTOR)


def repeated_call(jax: Any) -> Program:
    inner = jax.jit(lambda x: jax.lax.mul(x, 2.0))
    return lambda x: inner(inner(x)), (SCALAR,)


def repeated_calls_of_one_name(jax: Any) -> Program:
    def times(factor: float) -> Callable[..., Any]:
        def scaled(x: Any) -> Any:
            return jax.lax.mul(x, factor)

        return jax.jit(scaled)

    two, three, four = times(2.0), times(3.0), times(4.0)
    return lambda x: two(two(three(three(four(x))))), (SCALAR,)


def repeated_calls_by_breadth(jax: Any) -> Program:
    lax = jax.lax

    def u(x: Any) -> Any:
        return lax.sin(x)

    def v(x: Any) -> Any:
        return lax.cos(x)

    u, v = jax.jit(u), jax.jit(v)

    def a(x: Any) -> Any:
        return lax.neg(u(x))

    def b(x: Any) -> Any:
        return lax.neg(jax.jit(a)(x))

    def c(x: Any) -> Any:
        return lax.neg(v(x))

    b, c = jax.jit(b), jax.jit(c)
    return lambda x: c(b(c(b(x)))), (SCALAR,)


def call_repeated_in_one_call(jax: Any) -> Program:
    inner = jax.jit(lambda x: jax.lax.sin(x))
    return jax.jit(lambda x: inner(inner(x))), (SCALAR,)


def scanned(jax: Any) -> Program:
    def step(carry: Any, x: Any) -> Any:
        total = jax.lax.add(jax.lax.sin(carry), x)
        return total, jax.lax.mul(total, 2.0)

    return lambda carry, xs: jax.lax.scan(step, carry, xs), (SCALAR, VECTOR)


def scanned_call(jax: Any) -> Program:
    inner = jax.jit(lambda x: jax.lax.sin(x))
    return lambda c, xs: jax.lax.scan(lambda c, x: (inner(c), inner(x)), c, xs), (SCALAR, VECTOR)


def looped(jax: Any) -> Program:
    lax = jax.lax
    return lambda x, y: lax.while_loop(
        lambda c: lax.lt(c[0], y), lambda c: (lax.add(c[0], 1.0), lax.mul(c[1], x)), (x, y)
    ), (SCALAR, SCALAR)


def chosen(jax: Any) -> Program:
    lax = jax.lax
    branches = [lambda x: lax.neg(lax.sin(x)), lambda x: lax.sin(lax.mul(lax.mul(x, x), 2.0))]
    return lambda i, x: lax.switch(i, branches, x), (np.int32(0), SCALAR)


def scan_in_loop_in_call(jax: Any) -> Program:
    lax = jax.lax

    def repeated(x: Any, xs: Any) -> Any:
        def body(carry: Any) -> Any:
            return lax.scan(lambda c, y: (lax.add(c, y), None), carry, xs)[0]

        return lax.while_loop(lambda c: lax.lt(c, 9.0), body, x)

    return jax.jit(repeated), (SCALAR, VECTOR)


PROGRAMS: dict[str, Callable[[Any], Program]] = {
    program.__name__: program
    for program in (
        equations_in_order,
        on_one_line,
        unused_result,
        no_equation,
        no_result,
        one_result,
        literal_results,
        python_and_numpy_scalars,
        many_arguments,
        many_results,
        many_operands,
        full_line,
        overfull_line,
        captured_constants,
        empty_shape,
        params_that_say_nothing,
        params_that_fit,
        params_that_do_not_fit,
        params_by_name,
        call,
        call_of_lambda,
        call_in_call,
        call_with_repeated_operand,
        call_with_literal_operand,
        call_with_repeated_result,
        call_with_unused_result,
        call_with_unused_equation,
        call_with_long_name,
        call_that_keeps_unused,
        repeated_call,
        repeated_calls_of_one_name,
        repeated_calls_by_breadth,
        call_repeated_in_one_call,
        scanned,
        scanned_call,
        looped,
        chosen,
        scan_in_loop_in_call,
    )
}
