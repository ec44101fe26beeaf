"""Loops on both engines: values, derivatives, batching; errors that name the carry."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import morphax as jax
import morphax.numpy as jnp
from morphax import lax
from morphax.core import check_jaxpr

XS = np.linspace(0.1, 1.0, 4).astype(np.float32)


def python_scan(f: Callable[..., Any], init: Any, xs: Any, *, reverse: bool = False) -> Any:
    carry, ys = init, []
    for x in xs[::-1] if reverse else xs:
        carry, y = f(carry, x)
        ys.append(y)
    return carry, jnp.stack(ys[::-1] if reverse else ys)


def recurrence(w: Any, x0: Any, xs: Any, reverse: bool = False, loop: Any = lax.scan) -> Any:
    """A nonlinear recurrence that uses a constant, a carry and slices."""

    def step(c: Any, x: Any) -> tuple[Any, Any]:
        c = jnp.sin(c * w) + x
        return c, c * c + w

    carry, ys = loop(step, x0, xs, reverse=reverse)
    return carry + jnp.sum(ys)


SCANS = [
    pytest.param(lambda w, xs, loop: recurrence(w, w, xs, loop=loop), id="carry from argument"),
    pytest.param(lambda w, xs, loop: recurrence(w, 0.5, xs, loop=loop), id="constant carry"),
    pytest.param(lambda w, xs, loop: recurrence(w, w, xs, True, loop), id="reverse"),
    pytest.param(lambda w, xs, loop: recurrence(w, 0.5, XS, loop=loop) + xs[0], id="constant xs"),
]


@pytest.mark.parametrize("program", SCANS)
@pytest.mark.parametrize("staged", [False, True], ids=["eager", "jit"])
def test_scan_is_the_python_loop_with_all_derivatives(program: Any, staged: bool) -> None:
    wrap = jax.jit if staged else (lambda f: f)

    def scanned(w: Any, xs: Any) -> Any:
        return program(w, xs, lax.scan)

    def looped(w: Any, xs: Any) -> Any:
        return program(w, xs, python_scan)

    one, two = (jnp.float32(0.7), XS), (jnp.array([0.7, 1.4]), XS)
    for transform, point in (
        (lambda f: f, one),
        (lambda f: jax.grad(f, (0, 1)), one),
        (lambda f: jax.jacfwd(f, (0, 1)), one),
        (jax.hessian, one),
        (lambda f: jax.vmap(jax.grad(f), (0, None)), two),
        (lambda f: jax.grad(lambda w, xs: jnp.sum(jax.vmap(f, (0, None))(w, xs))), two),
    ):
        expected = transform(looped)(*point)
        given = wrap(transform(scanned))(*point)
        jax.tree.map(
            lambda a, b: np.testing.assert_allclose(a, b, rtol=2e-4, atol=1e-5), given, expected
        )
    check_jaxpr(jax.make_jaxpr(jax.grad(scanned))(*one))


@pytest.mark.parametrize("unroll", [1, 3, True])
def test_unrolled_scans_agree(unroll: Any) -> None:
    def run(xs: Any) -> Any:
        return lax.scan(lambda c, x: (c * 0.5 + x, c), 0.0, xs, unroll=unroll)

    expected = lax.scan(lambda c, x: (c * 0.5 + x, c), 0.0, XS)
    given = jax.jit(run)(XS)
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-6), given, expected)


def test_scan_of_many_steps_is_compiled_and_agrees() -> None:
    xs = jnp.arange(5000.0)
    total, _ = lax.scan(lambda c, x: (c + x, None), 0.0, xs)
    assert total == 5000 * 4999 / 2


def test_scan_over_nothing() -> None:
    carry, ys = lax.scan(lambda c, x: (c + x, c), 1.0, jnp.zeros(0))
    assert carry == 1.0
    assert ys.shape == (0,)


def test_scan_over_keys() -> None:
    keys = jax.random.split(jax.random.key(0), 3)
    _, drawn = jax.jit(lambda k: lax.scan(lambda c, k: (c, jax.random.uniform(k)), 0, k))(keys)
    np.testing.assert_array_equal(drawn, [jax.random.uniform(k) for k in keys])


def test_weakly_typed_carry_takes_the_dtype_of_the_body() -> None:
    carry, _ = lax.scan(lambda c, x: (c + x, None), 0, jnp.ones(3))
    assert carry.dtype == np.float32


# Start, body, dtype and weak type of the result, as JAX has them.
WEAK_CARRIES = [
    pytest.param(0, lambda c: c + 1.0, "float32", False, id="int to float"),
    pytest.param(0, lambda c: c * 1j, "complex64", False, id="int to complex"),
    pytest.param(0.0, lambda c: c * 1j, "complex64", False, id="float to complex"),
    pytest.param(0, jnp.sin, "float32", False, id="int to float by a function"),
    pytest.param(0, lambda c: 1.0, "float32", True, id="int to a Python float"),
    pytest.param(0, lambda c: c + 1, "int32", True, id="int"),
    pytest.param(0.0, lambda c: c + 1, "float32", True, id="float"),
    pytest.param(0, lambda c: c + jnp.int8(1), "int8", False, id="int to int8"),
    pytest.param(0, lambda c: c + jnp.float16(1), "float16", False, id="int to float16"),
    pytest.param(0.0, lambda c: c + jnp.float32(1), "float32", False, id="float to strong float"),
    pytest.param(jnp.float32(0), lambda c: c + 1.0, "float32", False, id="strong"),
    pytest.param(jnp.float32(0), lambda c: 1.0, "float32", True, id="strong to a Python float"),
]


@pytest.mark.parametrize(("start", "body", "dtype", "weak"), WEAK_CARRIES)
def test_weak_carries(start: Any, body: Any, dtype: str, weak: bool) -> None:
    expected: Any = start
    for _ in range(2):
        expected = body(expected)
    loops = [
        lambda x: lax.fori_loop(0, 2, lambda _, c: body(c), x),
        lambda x: lax.scan(lambda c, _: (body(c), c), x, length=2)[0],
        lambda x: lax.while_loop(lambda s: s[0] < 2, lambda s: (s[0] + 1, body(s[1])), (0, x))[1],
    ]
    for loop in loops:
        for result in (loop(start), jax.jit(lambda loop=loop: loop(start))()):
            assert (result.dtype, result.weak_type) == (dtype, weak)
            np.testing.assert_allclose(result, expected, rtol=1e-3)


def test_a_carry_that_comes_back_strong_is_weak_in_the_body() -> None:
    few = jnp.uint8(4)

    def step(c: Any) -> Any:
        # −1 becomes 255 beside eight bits that it yields to, and stays −1 beside what yields to it.
        return jnp.maximum(c, few).astype(np.int32)

    start = jnp.asarray(-1)
    assert step(start) == 255
    assert step(jnp.int32(-1)) == 4
    for found in (
        lax.scan(lambda c, _: (step(c), None), start, None, length=2)[0],
        lax.fori_loop(0, 2, lambda _, c: step(c), start),
        lax.while_loop(lambda c: c < 0, step, start),
        jax.jit(lambda x: lax.fori_loop(0, 2, lambda _, c: step(c), x))(start),
    ):
        assert (found, found.weak_type) == (255, False)


def test_weak_carries_pass_their_dtype_on() -> None:
    a, b, c = lax.fori_loop(0, 3, lambda i, s: (s[1], s[2], s[0] + i * 0.5), (0, 0, 0))
    assert [x.dtype for x in (a, b, c)] == [np.float32] * 3
    assert [float(x) for x in (a, b, c)] == [0.0, 0.5, 1.0]
    f = lambda x: lax.fori_loop(0, 3, lambda _, c: c * x + 1.0, 0)  # noqa: E731
    assert jax.grad(f)(2.0) == 5.0
    assert jax.jvp(f, (2.0,), (1.0,)) == (7.0, 5.0)
    assert jax.vmap(f)(jnp.arange(2.0)).tolist() == [1.0, 3.0]


def test_fori_loop_counts_and_differentiates() -> None:
    def power(x: Any) -> Any:
        return lax.fori_loop(0, 3, lambda i, c: c * x + i, 1.0)

    x = 1.3
    assert np.allclose(power(x), ((x + 0) * x + 1) * x + 2)
    assert np.allclose(jax.grad(power)(x), 3 * x * x + 1, rtol=1e-5)


@pytest.mark.parametrize("lower", [0, np.int8(0), jnp.int32(0)])
def test_the_counter_of_known_bounds_is_weak(lower: Any) -> None:
    x = lax.fori_loop(lower, 3, lambda i, x: (x + i).astype(np.int8), np.int8(1))
    assert x.dtype == np.int8
    assert x == 4
    assert lax.fori_loop(np.int8(0), np.int8(100), lambda i, x: x + 5 * i, 0) == 5 * 4950


def test_fori_loop_with_traced_bounds() -> None:
    total = jax.jit(lambda n: lax.fori_loop(0, n, lambda i, c: c + i, 0))(5)
    assert total == 10


@pytest.mark.parametrize("lower", [0, np.int32(0)])
@pytest.mark.parametrize("upper", [3, np.int32(3)])
def test_the_counter_to_a_traced_bound_is_as_weak_as_its_first_value(
    lower: Any, upper: Any
) -> None:
    count = jax.jit(lambda n: lax.fori_loop(lower, n, lambda i, c: c + i, 0))
    assert count(upper) == 3
    assert count(upper).weak_type == (type(lower) is int)


WHILE_CASES = [(2.0, 16.0), (5.0, 25.0), (11.0, 11.0)]


def square_until_ten(x: Any) -> Any:
    return lax.while_loop(lambda x: x < 10.0, lambda x: x * x, x)


@pytest.mark.parametrize(("start", "end"), WHILE_CASES)
def test_while_loop(start: float, end: float) -> None:
    assert square_until_ten(start) == end
    assert jax.jit(square_until_ten)(start) == end


def test_while_loop_batched_members_stop_when_they_are_done() -> None:
    starts, ends = map(np.array, zip(*WHILE_CASES, strict=True))
    np.testing.assert_array_equal(jax.vmap(square_until_ten)(starts), ends)
    np.testing.assert_array_equal(jax.jit(jax.vmap(square_until_ten))(starts), ends)


def test_while_loop_in_forward_mode() -> None:
    out, tangent = jax.jvp(square_until_ten, (2.0,), (1.0,))
    assert (out, tangent) == (16.0, 32.0)
    assert jax.jacfwd(square_until_ten)(2.0) == 32.0


def test_while_loop_long_enough_to_be_compiled() -> None:
    assert lax.while_loop(lambda i: i < 10_000, lambda i: i + 1, 0) == 10_000


def test_while_loop_refuses_reverse_mode() -> None:
    with pytest.raises(ValueError, match=r"reverse-mode(.|\n)*fix:\s+Use lax\.scan"):
        jax.grad(square_until_ten)(2.0)


def test_map_with_and_without_batches() -> None:
    xs = jnp.arange(7.0)
    for size in (None, 2, 7):
        np.testing.assert_array_equal(lax.map(lambda x: x * x, xs, batch_size=size), xs * xs)


ERRORS = [
    pytest.param(
        lambda: lax.scan(lambda c, x: ({"a": c["a"][None]}, x), {"a": jnp.ones(2)}, XS),
        TypeError,
        r"carry\['a'\](.|\n)*the shape differs",
        id="carry shape",
    ),
    pytest.param(
        lambda: lax.fori_loop(0, 2, lambda i, c: c.sum(), jnp.ones(2)),
        TypeError,
        r"fix: .*Start with a value of shape \(\), .*broadcast_to",
        id="carry loses an axis",
    ),
    pytest.param(
        lambda: lax.fori_loop(0, 2, lambda i, c: jnp.append(c, 1.0), jnp.ones(2)),
        TypeError,
        r"fix: .*of shape \(3,\), .*a loop cannot grow",
        id="carry grows",
    ),
    pytest.param(
        lambda: lax.fori_loop(0, 2, lambda i, c: c[None], jnp.ones(2)),
        TypeError,
        r"fix: .*of shape \(1, 2\), .*reduce the result",
        id="carry gains an axis",
    ),
    pytest.param(
        lambda: lax.fori_loop(0, 2, lambda i, c: 1.0, jax.random.key(0)),
        TypeError,
        r"fix: .*keys and numbers differ",
        id="carry of keys",
    ),
    pytest.param(
        lambda: lax.scan(lambda c, x: (c.astype(int), x), jnp.float32(1), XS),
        TypeError,
        r"the dtype differs",
        id="carry dtype",
    ),
    pytest.param(
        lambda: lax.scan(lambda c, x: ((c, c), x), 1.0, XS),
        TypeError,
        r"keeps its structure",
        id="carry structure",
    ),
    pytest.param(
        lambda: lax.scan(lambda c, x: c, 1.0, XS), TypeError, r"a pair \(carry", id="no pair"
    ),
    pytest.param(
        lambda: lax.scan(lambda c, x: (c, c), 1.0, (XS, XS[:2])),
        ValueError,
        r"xs\[0\]: f32\[4\], xs\[1\]: f32\[2\]",
        id="lengths",
    ),
    pytest.param(lambda: lax.scan(lambda c, x: (c, c), 1.0), ValueError, "length", id="no length"),
    pytest.param(
        lambda: lax.scan(lambda c, x: (c, c), 1.0, length=-1),
        ValueError,
        "not negative",
        id="negative length",
    ),
    pytest.param(
        lambda: lax.while_loop(lambda x: x, lambda x: x, 1.0),
        TypeError,
        "a boolean scalar",
        id="condition",
    ),
    pytest.param(
        lambda: lax.while_loop(lambda x: x < 3, lambda x: (x, x), 1.0),
        TypeError,
        "keeps its structure",
        id="while structure",
    ),
    pytest.param(
        lambda: lax.fori_loop(0.5, 3, lambda i, x: x, 1.0), TypeError, "argument lower", id="bound"
    ),
    pytest.param(
        lambda: lax.scan(lambda c, x: (c, x), "a", XS), TypeError, "argument init", id="init"
    ),
]


@pytest.mark.parametrize(("call", "error", "text"), ERRORS)
def test_errors_name_what_is_wrong(call: Any, error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text) as caught:
        call()
    assert "fix:" in str(caught.value)
    assert __file__ in str(caught.value)


@pytest.mark.parametrize(("start", "back"), [(0.5, jnp.int32(1)), (1j, 1.0), (2, True)])
def test_a_weakly_typed_start_is_not_cut_to_the_result(start: Any, back: Any) -> None:
    with pytest.raises(TypeError, match="the dtype differs"):
        lax.scan(lambda c, x: (jnp.asarray(back), x), start, jnp.ones(2))
