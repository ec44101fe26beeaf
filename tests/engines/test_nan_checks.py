"""``jax_debug_nans`` and ``jax_debug_infs``: the operation, its operands, the line, the step."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import morphax as jax
import morphax.numpy as jnp
from morphax import lax


def decreasing(c: Any, x: Any) -> tuple[Any, Any]:
    y = jnp.log(c)  # the line of the logarithm
    return c - 1.0, y * x


def summed_logs(x: Any) -> Any:
    return lax.scan(decreasing, x, jnp.arange(1.0, 6.0))[1].sum()


def guarded_root(x: Any) -> Any:
    return jnp.where(x > 0, jnp.sqrt(x), 0.0)


def rooted(x: Any) -> Any:
    return jnp.sqrt(x)


def dividing(x: Any) -> Any:
    return lax.while_loop(
        lambda s: s[0] < 5,
        lambda s: (s[0] + 1, s[1] / (s[0] - 3) * 0),
        (0, x),
    )[1]


def branching(x: Any) -> Any:
    return lax.cond(x > 0, jnp.log, lambda x: jnp.sqrt(x) * 2, x)


LOG_LINE = decreasing.__code__.co_firstlineno + 1
ROOT_LINE = guarded_root.__code__.co_firstlineno + 1
DIVISION_LINE = dividing.__code__.co_firstlineno + 3
BRANCH_LINE = branching.__code__.co_firstlineno + 1


def batched(f: Callable[..., Any]) -> Callable[[Any], Any]:
    return lambda x: jax.vmap(f)(jnp.stack([x, x + 0.25]))


# Function and argument; operation, line, and what else the text says.
FOUND = {
    "eager": (jnp.log, -1.0, "log", None, "f32[] = -1."),
    "jit scan": (jax.jit(summed_logs), 2.5, "log", LOG_LINE, "step 3 of scan"),
    "eager scan": (summed_logs, 2.5, "log", LOG_LINE, "step 3 of scan"),
    "vmap scan": (jax.jit(batched(summed_logs)), 2.5, "log", LOG_LINE, "step 3 of scan"),
    "jit in vmap": (batched(jax.jit(summed_logs)), 2.5, "log", LOG_LINE, "step 3 of scan"),
    "scan in scan": (
        jax.jit(lambda x: lax.scan(lambda c, _: (c, summed_logs(c)), x, None, length=2)[1]),
        2.5,
        "log",
        LOG_LINE,
        "step 0 of scan / step 3 of scan",
    ),
    "while": (jax.jit(dividing), 1.0, "div", DIVISION_LINE, "step 3 of while"),
    "eager while": (dividing, 1.0, "div", DIVISION_LINE, "step 3 of while"),
    "vmap while": (jax.jit(batched(dividing)), 1.0, "div", DIVISION_LINE, "step 3 of while"),
    "cond": (jax.jit(branching), -1.0, "sqrt", BRANCH_LINE, "branch 0 of cond"),
    "eager cond": (branching, -1.0, "sqrt", BRANCH_LINE, "branch 0 of cond"),
    "grad": (jax.grad(guarded_root), 0.0, "mul", ROOT_LINE, "in the backward pass"),
    "jit grad": (jax.jit(jax.grad(guarded_root)), 0.0, "mul", ROOT_LINE, "in the backward pass"),
    "grad jit": (jax.grad(jax.jit(guarded_root)), 0.0, "mul", ROOT_LINE, "in the backward pass"),
    "jit vmap grad": (
        jax.jit(batched(jax.grad(guarded_root))),
        0.0,
        "mul",
        ROOT_LINE,
        "in the backward pass",
    ),
    "jit grad scan": (
        jax.jit(jax.grad(lambda x: lax.scan(lambda c, _: (guarded_root(c), c), x, None, 3)[0])),
        0.0,
        "mul",
        ROOT_LINE,
        "in the backward pass of that line, in step 0 of scan",
    ),
    "hessian": (
        jax.jit(jax.hessian(lambda x: guarded_root(x) * x)),
        0.0,
        None,
        ROOT_LINE,
        "in the backward pass",
    ),
    "checkpoint": (
        jax.jit(jax.grad(jax.checkpoint(lambda x: guarded_root(x)))),
        0.0,
        "mul",
        ROOT_LINE,
        "in the backward pass",
    ),
    "jvp": (
        lambda x: jax.jvp(jax.jit(rooted), (x,), (0.0,)),
        0.0,
        "mul",
        rooted.__code__.co_firstlineno + 1,
        "f32[] = inf",
    ),
}


@pytest.mark.parametrize(
    ("function", "x", "operation", "line", "text"), FOUND.values(), ids=FOUND.keys()
)
def test_the_operation_is_named(
    function: Callable[[Any], Any], x: float, operation: str | None, line: int | None, text: str
) -> None:
    with jax.debug_nans(True), pytest.raises(FloatingPointError) as caught:
        function(x)
    told = str(caught.value)
    if operation is not None:
        assert f"NaN made by {operation} at {__file__}:" in told
    if line is not None:
        assert f"{__file__}:{line} (" in told
    assert text in told
    assert told.startswith("jax_debug_nans: ")
    assert re.search(r"\n  expected: results without NaN\n  fix:      \w", told)


def test_nothing_is_checked_by_default() -> None:
    assert np.isnan(jax.jit(jnp.log)(-1.0))


GOOD = {
    "finite": (jax.jit(summed_logs), 9.0),
    "discarded": (jax.jit(lambda x: jnp.where(x > 0, jnp.log(x), 0.0)), -1.0),
    "integers": (jax.jit(lambda x: x // 1), 3),
    "infinity": (jax.jit(lambda x: 1 / x), 0.0),
    "keys": (jax.jit(lambda s: jax.random.split(jax.random.key(s))), 0),
    "nothing": (jax.jit(lambda x: None), 1.0),
    "empty": (jax.jit(lambda x: jnp.zeros((0, 3)) * x), 1.0),
    "no steps": (jax.jit(lambda x: lax.scan(decreasing, x, jnp.zeros(0))), -1.0),
}


@pytest.mark.parametrize(("function", "x"), GOOD.values(), ids=GOOD.keys())
def test_good_results_are_left_alone(function: Callable[[Any], Any], x: Any) -> None:
    expected = function(x)
    with jax.debug_nans(True):
        found = function(x)
    for a, b in zip(jax.tree.leaves(expected), jax.tree.leaves(found), strict=True):
        assert a.aval == b.aval
        assert (
            jax.random.key_data(a).tolist() == jax.random.key_data(b).tolist()
            if (jax.dtypes.issubdtype(a.dtype, jax.dtypes.prng_key))
            else np.array_equal(a, b)
        )


def test_what_discarded_nans_would_hide() -> None:
    """The operation accused is the one that the result stems from, not the first with a NaN."""
    f = jax.jit(lambda x: jnp.where(x > 0, jnp.log(x), 0.0) + jnp.sqrt(x))
    with jax.debug_nans(True), pytest.raises(FloatingPointError, match="NaN made by sqrt"):
        f(jnp.array([-1.0, 3.0]))


def test_of_two_bad_operands_the_one_in_the_same_place_is_accused() -> None:
    f = jax.jit(lambda x: jnp.where(x > 0, jnp.log(x - 10), jnp.sqrt(x)))
    with jax.debug_nans(True):
        with pytest.raises(FloatingPointError, match="NaN made by sqrt"):
            f(jnp.array([20.0, -1.0]))
        with pytest.raises(FloatingPointError, match="NaN made by log"):
            f(jnp.array([2.0, 1.0]))


def test_arguments_that_are_bad_already() -> None:
    f = jax.jit(lambda params: params["w"] + 1)
    with jax.debug_nans(True):
        with pytest.raises(FloatingPointError, match=r"already in the argument params\['w'\]"):
            f({"w": jnp.array([1.0, np.nan])})
        with pytest.raises(FloatingPointError, match=r"add at .* is given as operand 0"):
            jnp.array([1.0, np.nan]) + 1


def test_large_operands_are_summarised() -> None:
    x = jnp.arange(-50.0, 50.0).reshape(10, 10)
    with jax.debug_nans(True), pytest.raises(FloatingPointError) as caught:
        jax.jit(jnp.log)(x.at[0].set(1.0))
    assert "operand 0: f32[10,10] between -40.0 and 49.0" in str(caught.value)
    assert "f32[10,10], 40 of 100 elements are NaN, the first at [1, 0]" in str(caught.value)


def test_donated_arguments_are_kept() -> None:
    f = jax.jit(jnp.log, donate_argnums=0)
    x = jnp.arange(-50.0, 50.0)
    with jax.debug_nans(True), pytest.raises(FloatingPointError, match="made by log"):
        f(x)
    assert not x.is_deleted()


def test_functions_compiled_ahead() -> None:
    f = jax.jit(jnp.log).lower(1.0).compile()
    with jax.debug_nans(True):
        assert f(1.0) == 0.0
        with pytest.raises(FloatingPointError, match="made by log"):
            f(-1.0)


def test_infinities() -> None:
    with jax.debug_infs(True):
        with pytest.raises(FloatingPointError, match="infinity made by div"):
            jax.jit(lambda x: 1 / x)(0.0)
        assert np.isnan(jax.jit(jnp.log)(-1.0))
        with jax.debug_nans(True), pytest.raises(FloatingPointError, match="made by log"):
            jax.jit(jnp.log)(-1.0)


def test_complex_and_narrow_dtypes() -> None:
    with jax.debug_nans(True):
        for dtype in (jnp.complex64, jnp.bfloat16, jnp.float16):
            with pytest.raises(FloatingPointError):
                jax.jit(lambda x: x / x)(jnp.zeros(2, dtype))


def test_rules_of_the_user_have_their_own_lines() -> None:
    @jax.custom_vjp
    def f(x: Any) -> Any:
        return x * 2

    def backward(_: None, ct: Any) -> tuple[Any]:
        return (jnp.log(ct - 2),)

    f.defvjp(lambda x: (f(x), None), backward)
    line = backward.__code__.co_firstlineno + 1
    with jax.debug_nans(True):
        for g in (jax.grad(f), jax.jit(jax.grad(f)), jax.grad(jax.jit(f))):
            with pytest.raises(FloatingPointError, match=f"made by log at {__file__}:{line} "):
                g(1.0)


def test_the_option_and_its_environment_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    from morphax.config.environment import settings_from

    monkeypatch.setenv("JAX_DEBUG_NANS", "1")
    assert settings_from()["debug_nans"] is True
    jax.config.update("jax_debug_nans", True)
    try:
        with pytest.raises(FloatingPointError):
            jax.jit(jnp.log)(-1.0)
    finally:
        jax.config.update("jax_debug_nans", False)


def test_no_execution() -> None:
    f, x = jax.jit(jnp.sin), jnp.ones(2)
    f(x)
    with jax.no_execution(True):
        for call in (lambda: f(x), lambda: x + 1, lambda: lax.scan(decreasing, 1.0, x)):
            with pytest.raises(RuntimeError, match="jax_no_execution is on"):
                call()
        assert f.lower(x).compile() is not None
