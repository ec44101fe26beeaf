"""Reverse mode through `while_loop` under `reverse_while`, against the unrolled loop."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from functools import partial
from typing import Any

import numpy as np
import pytest

import morphax as jax
import morphax.numpy as jnp
from morphax import lax
from morphax.control.loops.while_bounds import ReverseBounds, parts_by_level
from morphax.test_util import check_grads

CARRY_BYTES = 12


def looped(x: Any, w: Any, n: Any = 7.0) -> Any:
    return lax.while_loop(
        lambda c: c[0] < n,
        lambda c: (c[0] + 1, jnp.sin(c[1] * w) + c[2], c[2] * x * 0.9),
        (0.0, x, w * x),
    )[1]


def unrolled(x: Any, w: Any, n: int = 7) -> Any:
    a, b = x, w * x
    for _ in range(int(n)):
        a, b = jnp.sin(a * w) + b, b * x * 0.9
    return a


POINT = (0.7, 1.1)
WANT = jax.grad(unrolled, (0, 1))(*POINT)

BOUNDS = [
    pytest.param({"max_steps": 7}, id="exact"),
    pytest.param({"max_steps": 100}, id="loose"),
    pytest.param({"max_steps": 10, "memory": CARRY_BYTES * 10}, id="everything kept"),
    pytest.param({"max_steps": 20, "memory": CARRY_BYTES * 9}, id="two or three levels"),
    pytest.param({"max_steps": 1000, "memory": CARRY_BYTES * 20}, id="least memory"),
]


@pytest.mark.parametrize("wrap", [lambda f: f, jax.jit])
@pytest.mark.parametrize("bounds", BOUNDS)
def test_gradient_is_that_of_the_unrolled_loop(wrap: Any, bounds: dict[str, int]) -> None:
    with jax.reverse_while(**bounds):
        assert np.allclose(wrap(looped)(*POINT), unrolled(*POINT))
        np.testing.assert_allclose(wrap(jax.grad(looped, (0, 1)))(*POINT), WANT, rtol=1e-5)


@pytest.mark.parametrize("memory", [None, CARRY_BYTES * 12, CARRY_BYTES * 8])
@pytest.mark.parametrize("steps", [0, 1, 2, 11, 12])
def test_every_number_of_steps(memory: int | None, steps: int) -> None:
    with jax.reverse_while(max_steps=12, memory=memory):
        given = jax.jit(jax.grad(looped, (0, 1)))(*POINT, float(steps))
    np.testing.assert_allclose(given, jax.grad(unrolled, (0, 1))(*POINT, steps), rtol=1e-4)


def test_second_derivatives() -> None:
    want = jax.hessian(unrolled, (0, 1))(*POINT)
    with jax.reverse_while(max_steps=10):
        for outer in (jax.jacfwd, jax.jacrev):
            for inner in (jax.jacfwd, jax.jacrev):
                given = jax.jit(outer(inner(looped, (0, 1)), (0, 1)))(*POINT)
                np.testing.assert_allclose(given, want, rtol=1e-4)


def test_members_of_a_batch_stop_at_different_times() -> None:
    xs, ns = jnp.array([0.7, 0.7, 0.1]), jnp.array([3.0, 7.0, 0.0])
    want = [jax.grad(unrolled)(float(x), 1.1, n) for x, n in zip(xs, ns, strict=True)]
    with jax.reverse_while(max_steps=10):
        inside = jax.vmap(jax.grad(looped), (0, None, 0))(xs, 1.1, ns)
        around = jax.grad(lambda x: jax.vmap(looped, (0, None, 0))(x, 1.1, ns).sum())(xs)
    np.testing.assert_allclose(inside, want, rtol=1e-5)
    np.testing.assert_allclose(around, want, rtol=1e-5)


def test_in_scan_and_cond_and_with_integer_carry() -> None:
    def halved(x: Any) -> Any:
        """x halved until it is at most one."""
        return lax.while_loop(lambda c: c[1] > 1, lambda c: (c[0] + 1, 0.5 * c[1]), (0, x))[1]

    with jax.reverse_while(max_steps=9, memory=72):
        xs = jnp.array([3.0, 0.5, 10.0])
        total = jax.grad(lambda xs: lax.scan(lambda c, x: (c + halved(x), None), 0.0, xs)[0])
        np.testing.assert_array_equal(jax.jit(total)(xs), [0.25, 1.0, 0.0625])
        chosen = jax.grad(lambda x: lax.cond(x > 2, halved, jnp.sin, x))
        assert chosen(3.0) == 0.25
        through_fori = jax.grad(lambda x, n: lax.fori_loop(0, n, lambda i, y: y * x, 1.0))
        assert jax.jit(through_fori)(3.0, 4) == 108.0
        check_grads(jax.jit(lambda x: halved(x) ** 2), (3.3,), 2)


def test_forward_mode_needs_no_bound() -> None:
    want = jax.jvp(unrolled, POINT, (1.0, 2.0))
    for bounds in ({"max_steps": 10}, {"max_steps": 2}):
        with jax.reverse_while(**bounds):
            np.testing.assert_allclose(jax.jvp(looped, POINT, (1.0, 2.0)), want, rtol=1e-5)
            assert np.allclose(jax.jacfwd(looped)(*POINT), WANT[0])


@pytest.mark.parametrize("wrap", [lambda f: f, jax.jit, jax.vmap])
def test_too_many_steps_are_an_error(wrap: Any) -> None:
    point = [jnp.array([p]) for p in POINT] if wrap is jax.vmap else POINT
    with jax.reverse_while(max_steps=6), pytest.raises(RuntimeError, match="took 7 steps") as error:
        jax.block_until_ready(wrap(jax.grad(looped))(*point))
    assert "max_steps=6" in str(error.value)


MOST = 6
ENGINES = {
    "eager": nullcontext,
    "xla": lambda: jax.cpu_engine("xla"),
    "native": lambda: jax.cpu_engine("native"),
}


def made_loop(seed: int) -> Callable[..., Any]:
    """A random loop of `n` steps, of a number, an array and a count, with constants."""
    draws = np.random.default_rng(seed)
    kinds = draws.integers(5, size=3)
    a, b = np.round(draws.uniform(0.4, 0.9, 2), 2)

    def step(c: Any, w: Any) -> Any:
        i, x, y = c
        for kind in kinds:
            y = [
                lambda y: jnp.sin(y * w) + b,
                lambda y: y.at[i % 3].multiply(x),
                lambda y: jnp.where(y > x, a * y, y + x),
                lambda y: lax.cond(x > 0.5, jnp.cos, lambda y: y[::-1] * w, y),
                lambda y: lax.fori_loop(0, i, lambda j, y: a * y + x, y),
            ][kind](y)
        return i + 1, a * x + b * jnp.tanh(y.sum()), y

    def loop(x: Any, w: Any, n: Any) -> Any:
        start = 0, x, jnp.stack([x, w, x * w])
        _, x, y = lax.while_loop(lambda c: c[0] < n, lambda c: step(c, w), start)
        return x + (y**2).sum()

    return loop


@pytest.mark.parametrize(("seed", "memory"), [*enumerate([None, 20 * MOST, 20 * 5])])
def test_three_engines_agree(seed: int, memory: int | None) -> None:
    """No steps, one, all that are allowed, and one more; one by one in a scan, and in a batch."""
    gradient = jax.grad(made_loop(seed), (0, 1))

    def in_scan(x: Any, w: Any, ns: Any) -> Any:
        return lax.scan(lambda c, n: (c, gradient(x, w, n)), 0, ns)[1]

    in_batch = jax.vmap(gradient, (None, None, 0))
    counts = np.array([0, MOST, 1, 2], np.int32)
    with jax.disable_jit():
        # The loop as Python runs it, which has no bound.
        want = in_scan(*POINT, counts)
    for engine, choose in ENGINES.items():
        with choose(), jax.reverse_while(MOST, memory=memory):
            # XLA takes a second to compile one of them.
            for f in (in_scan,) if engine == "xla" else (in_scan, in_batch):
                run = f if engine == "eager" else jax.jit(f)
                found = run(*POINT, counts)
                jax.tree.map(partial(np.testing.assert_allclose, rtol=2e-5, atol=1e-6), found, want)
                with pytest.raises(RuntimeError, match=f"took {MOST + 1} steps"):
                    jax.block_until_ready(run(*POINT, np.where(counts == 1, MOST + 1, counts)))


def test_the_bound_belongs_to_the_program() -> None:
    f = jax.jit(looped)
    with pytest.raises(ValueError, match="reverse_while"):
        jax.grad(f)(*POINT)
    with jax.reverse_while(max_steps=7):
        pullback = jax.vjp(f, *POINT)[1]
        assert "reversible_while" in str(jax.make_jaxpr(looped)(*POINT))
    np.testing.assert_allclose(pullback(1.0), WANT, rtol=1e-5)
    with pytest.raises(ValueError, match="reverse_while"):
        jax.grad(f)(*POINT)


@pytest.mark.parametrize(
    ("bounds", "parts"),
    [
        ((1,), (1,)),
        ((5,), (5,)),
        ((6,), (2, 3)),
        ((10,), (3, 4)),
        ((16,), (4, 4)),
        ((10, 10), (10,)),
        ((10, 9), (3, 4)),
        ((27, 9), (3, 3, 3)),
        ((1024, 20), (4, 4, 4, 4, 4)),
        ((1024, 24), (5, 6, 6, 6)),
    ],
)
def test_parts_by_level(bounds: tuple[int, ...], parts: tuple[int, ...]) -> None:
    given = parts_by_level(ReverseBounds(*bounds), 1)
    assert given == parts
    assert np.prod(given) >= bounds[0]


def test_errors() -> None:
    with pytest.raises(ValueError, match="positive"):
        jax.reverse_while(max_steps=0)
    with pytest.raises(TypeError, match="max_steps"):
        jax.reverse_while(max_steps=2.5)  # type: ignore[arg-type]
    with jax.reverse_while(max_steps=1000, memory=10), pytest.raises(ValueError, match="at least"):
        jax.grad(looped)(*POINT)


def test_references_in_loops_of_unknown_length() -> None:
    def f(x: Any) -> Any:
        total = jax.new_ref(x)

        def step(c: Any) -> Any:
            own = jax.new_ref(c[1])
            own[...] *= x
            total[...] += own[...]
            return c[0] + 1, own[...]

        return lax.while_loop(lambda c: c[0] < 3, step, (0, x))[1] * total[...]

    with jax.reverse_while(max_steps=5):
        for engine in (lambda g: g, jax.jit):
            np.testing.assert_allclose(engine(f)(2.0), 16.0 * (2 + 4 + 8 + 16))
            expected = 5 * 16 + 6 * 32 + 7 * 64 + 8 * 128
            np.testing.assert_allclose(engine(jax.grad(f))(2.0), expected)
