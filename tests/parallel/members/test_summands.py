"""Members use their summands linearly, in programs within too."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import nullcontext, suppress
from typing import Any

import numpy as np
import pytest

import morphax as jax
import morphax.numpy as jnp
from morphax import P, lax
from morphax.sharding import reshard

A = np.random.default_rng(0).normal(size=(4, 4)).astype(np.float32)
B = np.random.default_rng(1).normal(size=(4, 4)).astype(np.float32)
SUMMANDS, COPIES = P(unreduced={"x"}), P(reduced={"x"})

Function = Callable[..., Any]


@pytest.fixture(autouse=True, scope="module")
def mesh() -> Iterator[Any]:
    found = jax.make_mesh((2, 2), ("x", "y"), devices=jax.devices("cpu")[:4])
    with jax.set_mesh(found):
        yield found


def summands() -> Any:
    """A, as the sum of two halves that differ."""
    halves = jnp.concatenate([A - B, B], 1)
    ones = np.concatenate([np.eye(4), np.eye(4)]).astype(np.float32)
    return jnp.dot(reshard(halves, P(None, "x")), reshard(ones, P("x")), out_sharding=SUMMANDS)


def total(x: Any) -> Any:
    return reshard(x, P(*[None] * x.ndim))


def members(function: Function, out_specs: Any = SUMMANDS) -> Function:
    """Of summands, copies that all members have, and a part of their own."""
    in_specs = SUMMANDS, COPIES, P("x")
    mapped = jax.shard_map(function, in_specs=in_specs, out_specs=out_specs)
    return lambda: mapped(summands(), reshard(B, COPIES), reshard(A, P("x")))


def loop(step: Function, length: int = 3) -> Function:
    return lambda u: lax.scan(lambda c, _: (step(c), None), u, None, length=length)[0]


def start() -> Any:
    zeros = lax.pcast(jnp.zeros(4), "x", to="varying")
    return lax.pcast(zeros, "x", to="unreduced")


def choose(one: Function, other: Function) -> Function:
    return lambda u: lax.cond(jnp.arange(3)[1] > 0, one, other, u)


LINEAR: dict[str, tuple[Function, Any]] = {
    "scan": (lambda u, r, x: loop(lambda c: 2.0 * c + c[::-1])(u), None),
    "slices": (lambda u, r, x: lax.scan(lambda c, t: (c + t, t * r[0]), u[0], u)[1], A * B[0]),
    "of an outer value": (lambda u, r, x: loop(lambda c: c + u)(u), 4 * A),
    "accumulated": (lambda u, r, x: lax.scan(lambda c, t: (c + t, None), start(), u)[0], A.sum(0)),
    "while": (lambda u, r, x: lax.fori_loop(0, jnp.arange(4)[3], lambda i, c: c + c, u), 8 * A),
    "cond": (lambda u, r, x: choose(lambda v: -v, lambda v: v + v)(u), -A),
    "jit": (lambda u, r, x: jax.jit(lambda v: v @ r)(u), A @ B),
    "checkpoint": (lambda u, r, x: jax.checkpoint(lambda v: 3.0 * v)(u), 3 * A),
    "vmap": (lambda u, r, x: jax.vmap(jnp.cumsum)(u), np.cumsum(A, 1)),
    "custom_vjp": (lambda u, r, x: doubled(u), 2 * A),
    "copies": (lambda u, r, x: (u * r) / r, A),
    "parts that are summands": (
        lambda u, r, x: u + lax.pcast(jnp.concatenate([x, 0 * x]), "x", to="unreduced"),
        A + np.concatenate([A[:2] + A[2:], np.zeros((2, 4))]),
    ),
    "gathered": (lambda u, r, x: u * lax.all_gather(x, "x", tiled=True), A * A),
    "barrier": (lambda u, r, x: lax.optimization_barrier((u, x))[0], A),
}


@jax.custom_vjp
def doubled(u: Any) -> Any:
    return u + u


doubled.defvjp(lambda u: (u + u, None), lambda _, ct: (2 * ct,))


@pytest.mark.parametrize("name", LINEAR)
def test_linear_programs(name: str) -> None:
    function, truth = LINEAR[name]
    if truth is None:
        truth = loop(lambda c: 2.0 * c + c[::-1])(A)
    np.testing.assert_allclose(total(jax.jit(members(function))()), truth, 1e-4, 1e-5)


NOT_LINEAR: dict[str, Function] = {
    "jit": lambda u, r, x: jax.jit(jnp.sin)(u),
    "scan": lambda u, r, x: loop(jnp.sin)(u),
    "at the second step": lambda u, r, x: lax.scan(
        lambda c, _: ((c[1], jnp.sin(c[0])), None), (r, u), None, length=2
    )[0][1],
    "of an outer value": lambda u, r, x: loop(lambda c: c * u)(r),
    "starts as what is whole": lambda u, r, x: loop(lambda c: c + u)(jnp.ones((4, 4))),
    "becomes what is whole": lambda u, r, x: loop(lambda c: jnp.ones((4, 4)))(u),
    "while": lambda u, r, x: lax.fori_loop(0, 3, lambda i, c: c * c, u),
    "condition of while": lambda u, r, x: lax.while_loop(lambda c: c.sum() < 0, lambda c: -c, u),
    "steps that differ": lambda u, r, x: lax.fori_loop(
        0, lax.axis_index("x") + 1, lambda i, c: c + c, u
    ),
    "cond": lambda u, r, x: choose(lambda v: -v, jnp.sin)(u),
    "a branch that is whole": lambda u, r, x: choose(lambda v: v, lambda v: jnp.ones((4, 4)))(u),
    "a choice that differs": lambda u, r, x: lax.cond(
        lax.axis_index("x") > 0, lambda v: -v, lambda v: v, u
    ),
    "checkpoint": lambda u, r, x: jax.checkpoint(jnp.sin)(u),
    "custom_jvp": lambda u, r, x: jax.nn.relu(u),
    "summands that are cast": lambda u, r, x: jnp.sin(lax.pcast(x, "x", to="unreduced")),
    "parts of members": lambda u, r, x: u * jnp.concatenate([x, x]),
    "a reference": lambda u, r, x: jax.new_ref(u)[...],
}
NOT_SUMMED: dict[str, Function] = {
    "maximum": lambda u, r, x: u * jax.jit(lambda v: lax.pmax(v, "x"))(u),
    "exchange": lambda u, r, x: loop(lambda v: lax.ppermute(v, "x", [(0, 1), (1, 0)]))(u),
    "copies are no summands": lambda u, r, x: jnp.sin(r),
    "copies cast to summands": lambda u, r, x: lax.pcast(r, "x", to="unreduced"),
    "the sum of copies": lambda u, r, x: u * lax.psum(r, "x"),
    "sums of groups": lambda u, r, x: lax.psum(u, "x", axis_index_groups=[[0], [1]]),
}
REFUSAL = r"summands of members along 'x'[\s\S]*given:[\s\S]*expected:[\s\S]*fix:"


@pytest.mark.parametrize("name", NOT_LINEAR)
def test_what_is_not_linear_is_refused(name: str) -> None:
    with pytest.raises(TypeError, match=REFUSAL):
        members(NOT_LINEAR[name])()


@pytest.mark.parametrize("name", NOT_SUMMED)
def test_members_tell_each_other_no_summands(name: str) -> None:
    with pytest.raises(ValueError, match=REFUSAL):
        members(NOT_SUMMED[name])()


def test_copies_leave_as_copies() -> None:
    kinds = (
        (lambda u, r, x: jnp.sin(r), np.sin(B)),
        (lambda u, r, x: loop(lambda c: c * r, 2)(r), B**3),
        (lambda u, r, x: lax.all_gather(x, "x", tiled=True, to="reduced"), A),
        (lambda u, r, x: lax.pcast(jnp.ones(3), "x", to="reduced"), np.ones(3)),
    )
    for function, truth in kinds:
        found = jax.jit(members(function, COPIES))()
        assert str(jax.typeof(found)).endswith("{R:x}")
        np.testing.assert_allclose(total(found), truth, 1e-5, 1e-5)
    for function in (lambda u, r, x: x, lambda u, r, x: r[:2] * x, lambda u, r, x: u):
        with pytest.raises(ValueError, match=REFUSAL):
            members(function, COPIES)()


def test_derivatives_of_copies_are_summands() -> None:
    mapped = jax.shard_map(jnp.sin, in_specs=COPIES, out_specs=COPIES)

    def loss(r: Any) -> Any:
        return jnp.square(reshard(mapped(r), P())).sum()

    found = jax.grad(loss)(reshard(B, COPIES))
    assert str(jax.typeof(found)) == "float32[4,4]{U:x}"
    np.testing.assert_allclose(total(found), 2 * np.sin(B) * np.cos(B), 1e-5, 1e-5)
    cast = jax.shard_map(
        lambda x: lax.pcast(x * x, "x", to="unreduced"), in_specs=P("x"), out_specs=SUMMANDS
    )
    gradient = jax.grad(lambda x: jnp.sin(total(cast(x))).sum())(reshard(A, P("x")))
    truth = jax.grad(lambda x: jnp.sin(x[:2] ** 2 + x[2:] ** 2).sum())(jnp.asarray(A))
    np.testing.assert_allclose(gradient, truth, 1e-5, 1e-5)


def test_sums_in_loops_around() -> None:
    of_sum = jax.shard_map(lambda v: lax.psum(v, "x"), in_specs=SUMMANDS, out_specs=P())

    @jax.jit
    def looped(u: Any) -> Any:
        return lax.scan(lambda c, _: (c + c, of_sum(c)), u, None, length=3)

    last, sums = looped(summands())
    np.testing.assert_allclose(total(last), 8 * A, 1e-5, 1e-5)
    np.testing.assert_allclose(sums, np.stack([A, 2 * A, 4 * A]), 1e-5, 1e-5)
    some = jax.shard_map(
        lambda v: lax.psum(v, "x"), in_specs=SUMMANDS, out_specs=P(), axis_names={"x"}
    )
    np.testing.assert_allclose(jax.jit(some)(summands()), A, 1e-5, 1e-5)


def random_function(rng: np.random.Generator, depth: int) -> Function:
    """Of a square matrix; about half of them are linear."""
    scale = np.float32(rng.integers(2, 4))
    kinds = ["turn", "sum", "product", "jit", "scan", "cond", "slices", "pair"]
    kind = str(rng.choice(kinds + ["sin", "shift"] * (rng.random() < 0.35)))
    if depth == 0 or kind in ("turn", "sum", "product", "sin", "shift"):
        return {
            "sum": lambda v: v + v.T,
            "product": lambda v: (v @ B) * scale,
            "sin": lambda v: jnp.sin(v + scale),
            "shift": lambda v: v + scale,
        }.get(kind, lambda v: v[::-1])
    one, other = (random_function(rng, depth - 1) for _ in range(2))
    return {
        "jit": lambda v: jax.jit(one)(other(v)),
        "scan": lambda v: loop(one, 2)(v),
        "cond": lambda v: choose(one, other)(v),
        "slices": lambda v: lax.scan(lambda c, t: (one(c), t + t), other(v), v)[0],
        "pair": lambda v: loop_of_pairs(one, other)(v),
    }[kind]


def loop_of_pairs(one: Function, other: Function) -> Function:
    def step(_: Any, c: Any) -> Any:
        return other(c[1]), one(c[0])

    return lambda v: lax.fori_loop(0, 3, step, (v, v))[0]


def is_additive(function: Function) -> bool:
    parts = function(A - B), function(B)
    return bool(np.allclose(parts[0] + parts[1], function(A), 1e-3, 1e-3))


@pytest.mark.parametrize("seed", range(16))
def test_random_programs(seed: int) -> None:
    """Accepted programs compute on summands what they compute on the sum; others are not linear."""
    rng = np.random.default_rng(seed)
    function = random_function(rng, 3)
    run = jax.jit(members(lambda u, r, x: function(u)))
    if is_additive(function):
        # What one branch does to summands, the other is to do too, whichever is chosen.
        has_branches = "cond" in str(jax.make_jaxpr(function)(A))
        with suppress(TypeError) if has_branches else nullcontext():
            np.testing.assert_allclose(total(run()), function(jnp.asarray(A)), 1e-3, 1e-3)
    else:
        with pytest.raises(TypeError, match=REFUSAL):
            run()
