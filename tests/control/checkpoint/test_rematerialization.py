"""What is kept and what is repeated: against JAX's record, in loops, branches, calls, effects."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import morphax as jax
import morphax.numpy as jnp
from morphax import lax
from morphax.control.checkpoint.saved_residuals import saved_residuals
from morphax.core import Jaxpr, check_jaxpr, jaxprs_in_params

from .residual_programs import PROGRAMS, described, policies

GOLDEN = json.loads(Path(__file__).with_name("residuals_golden.json").read_text())
PAIRS = [(name, policy) for name, answers in GOLDEN.items() for policy in answers]
KNOWN = jax.checkpoint_policies


def applications(jaxpr: Jaxpr) -> Counter[str]:
    """How often a program applies each primitive, the programs in it included."""
    total: Counter[str] = Counter(eqn.primitive.name for eqn in jaxpr.eqns)
    for eqn in jaxpr.eqns:
        for inner in jaxprs_in_params(eqn.params):
            total += applications(inner)
    return total


def repeated(jaxpr: Jaxpr) -> Jaxpr:
    """The program that the backward pass runs."""
    found = [
        eqn.params["jaxpr"]
        for eqn in jaxpr.eqns
        if eqn.primitive.name == "remat2" and eqn.params["differentiated"]
    ]
    assert len(found) == 1, "one checkpoint, one backward pass"
    return found[0]


def test_the_record_is_complete() -> None:
    # JAX 0.10.1 fails to list the residuals of a `cond` that it offloads.
    unrecorded = {("branches", "offload_dot_with_no_batch_dims")}
    assert set(PAIRS) | unrecorded == {(n, p) for n in PROGRAMS for p in policies(jax)}


@pytest.mark.parametrize(("name", "policy"), PAIRS, ids="-".join)
def test_residuals_are_those_of_jax(name: str, policy: str) -> None:
    function, arguments = PROGRAMS[name](jax)
    checkpointed = jax.checkpoint(function, policy=policies(jax)[policy])
    assert described(saved_residuals(checkpointed, *arguments)) == GOLDEN[name][policy]


@pytest.mark.parametrize(("name", "policy"), PAIRS, ids="-".join)
def test_gradients_do_not_change(name: str, policy: str) -> None:
    function, arguments = PROGRAMS[name](jax)
    checkpointed = jax.checkpoint(function, policy=policies(jax)[policy])

    def gradient(f: Any) -> Any:
        return jax.grad(lambda *args: jnp.sum(f(*args)), (0,) if len(arguments) == 1 else (0, 1))

    check_jaxpr(jax.make_jaxpr(gradient(checkpointed))(*arguments))
    expected = jax.tree.leaves(gradient(function)(*arguments))
    for wrap in (lambda f: f, jax.jit):
        given = jax.tree.leaves(wrap(gradient(checkpointed))(*arguments))
        for x, y in zip(given, expected, strict=True):
            np.testing.assert_allclose(x, y, rtol=1e-5, atol=1e-6)


def layers(x: Any, w: Any) -> Any:
    for _ in range(3):
        x = jnp.sin(jnp.dot(x, w))
    return x.sum()


@pytest.mark.parametrize(
    ("policy", "sines", "cosines", "products"),
    # Of the chain of three layers the last sine is not needed; of each layer the backward pass
    # has two products of its own, but for the first, whose x is not differentiated.
    [
        (None, 2, 3, 3 + 5),
        (KNOWN.nothing_saveable, 2, 3, 3 + 5),
        (KNOWN.dots_saveable, 2, 3, 5),
        (KNOWN.everything_saveable, 0, 0, 5),
    ],
)
def test_the_backward_pass_repeats_what_is_not_kept(
    policy: Any, sines: int, cosines: int, products: int
) -> None:
    f = jax.checkpoint(layers, policy=policy)
    x, w = np.ones((2, 4), np.float32), np.ones((4, 4), np.float32)
    counts = applications(repeated(jax.make_jaxpr(jax.grad(f, 1))(x, w)))
    assert (counts["sin"], counts["cos"], counts["dot_general"]) == (sines, cosines, products)


def test_a_value_is_repeated_once_per_backward_pass() -> None:
    f = jax.checkpoint(lambda x: jnp.sin(jnp.exp(x)))
    x = np.ones(3, np.float32)
    counts = applications(jax.make_jaxpr(jax.jacrev(f))(x))
    # One exponential forward, one for all rows of the Jacobian.
    assert counts["exp"] == 2


def scanned(body: Any) -> Any:
    def f(w: Any, x: Any) -> Any:
        return lax.scan(lambda c, _: (body(w, c), None), x, None, length=7)[0].sum()

    return f


def body(w: Any, c: Any) -> Any:
    return jnp.sin(jnp.sin(jnp.dot(c, w))) + jnp.cos(c)


@pytest.mark.parametrize(
    ("policy", "stacks"), [(None, 1), (KNOWN.dots_saveable, 2), (KNOWN.everything_saveable, 3)]
)
def test_a_checkpointed_body_stacks_its_carry_alone(policy: Any, stacks: int) -> None:
    w, x = np.eye(3, dtype=np.float32), np.ones(3, np.float32)
    f = scanned(jax.checkpoint(body, policy=policy))
    program = jax.make_jaxpr(jax.grad(f, 1))(w, x)
    forward = next(eqn for eqn in program.eqns if eqn.primitive.name == "scan")
    assert [v.aval.shape for v in forward.outvars] == [(3,)] + [(7, 3)] * stacks
    plain = jax.make_jaxpr(jax.grad(scanned(body), 1))(w, x)
    kept = next(eqn for eqn in plain.eqns if eqn.primitive.name == "scan")
    assert len(kept.outvars) - 1 >= 3


def test_constants_of_a_body_are_not_stacked() -> None:
    w, x = jnp.eye(3), np.ones(3, np.float32)
    f = jax.checkpoint(lambda x: scanned(body)(w, x))
    shapes = [
        v.aval.shape for eqn in repeated(jax.make_jaxpr(jax.grad(f))(x)).eqns for v in eqn.outvars
    ]
    assert (7, 3, 3) not in shapes


def test_a_carry_is_repeated_only_if_it_is_needed() -> None:
    def f(x: Any) -> Any:
        def step(c: Any, _: Any) -> Any:
            count, value = c
            return (count * 1.5, jnp.sin(value)), None

        return lax.scan(step, (1.0, x), None, length=4)[0][1]

    program = repeated(jax.make_jaxpr(jax.grad(jax.checkpoint(f)))(0.5))
    again = next(eqn for eqn in program.eqns if eqn.primitive.name == "scan")
    assert again.params["num_carry"] == 1
    assert np.allclose(jax.grad(jax.checkpoint(f))(0.5), jax.grad(f)(0.5))


def test_both_branches_share_places() -> None:
    def f(x: Any) -> Any:
        return lax.switch(1, [jnp.sin, jnp.cos, jnp.tanh], x).sum()

    program = jax.make_jaxpr(jax.grad(lambda i, x: lax.switch(i, [jnp.sin, jnp.cos], x).sum(), 1))(
        0, np.ones(3, np.float32)
    )
    forward = next(eqn for eqn in program.eqns if eqn.primitive.name == "cond")
    assert len(forward.outvars) == 2
    assert np.allclose(jax.grad(f)(np.zeros(3)), 0.0)


def test_operands_of_a_cond_are_residuals_as_they_are() -> None:
    def step(w: Any, c: Any) -> Any:
        return lax.cond(c[0] > 0, lambda: jnp.sin(jnp.dot(c, w)), lambda: jnp.cos(c) * c)

    w, x = np.eye(3, dtype=np.float32), np.ones(3, np.float32)
    assert "f32[3,3] from the argument w" in described(saved_residuals(step, w, x))
    # So a loop does not stack its weights.
    shapes = [aval.shape for aval, _ in saved_residuals(scanned(step), w, x)]
    assert (3, 3) in shapes
    assert (7, 3, 3) not in shapes


def test_effects_happen_once(capfd: pytest.CaptureFixture[str]) -> None:
    def f(x: Any) -> Any:
        jax.debug.print("seen {}", x)
        return jnp.sin(jnp.sin(x))

    for wrap in (lambda g: g, jax.jit):
        jax.block_until_ready(wrap(jax.grad(jax.checkpoint(f)))(1.0))
        jax.block_until_ready(wrap(jax.grad(jax.checkpoint(jax.jit(f))))(1.0))
    assert capfd.readouterr().out.count("seen") == 4


def test_compiled_loops_need_less_memory() -> None:
    def loss(step: Any) -> Any:
        return lambda ws, x: lax.scan(lambda c, w: (step(c, w), None), x, ws)[0].sum()

    def step(x: Any, w: Any) -> Any:
        return jnp.sin(jnp.sin(jnp.sin(jnp.dot(x, w))))

    ws, x = np.ones((8, 16, 16), np.float32), np.ones((512, 16), np.float32)

    def temporary(f: Any) -> int:
        compiled = jax.jit(jax.grad(loss(f))).lower(ws, x).compile()
        return compiled.memory_analysis().temp_size_in_bytes

    plain = temporary(step)
    assert temporary(jax.checkpoint(step)) < 0.5 * plain
    assert temporary(jax.checkpoint(step, policy=KNOWN.dots_saveable)) < 0.75 * plain


def test_residual_bytes_shrink() -> None:
    x, w = np.ones((64, 4), np.float32), np.ones((4, 4), np.float32)

    def kept(f: Any) -> int:
        return sum(aval.size for aval, _ in saved_residuals(f, x, w))

    assert kept(jax.checkpoint(layers)) == x.size + w.size
    saved = kept(jax.checkpoint(layers, policy=KNOWN.dots_saveable))
    assert kept(jax.checkpoint(layers)) < saved < kept(layers)
