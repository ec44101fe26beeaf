"""Random programs as jaxprs: evaluation, text, dead code and effects."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import morphax as jax
from morphax.core import Jaxpr, check_jaxpr, eval_jaxpr, jaxprs_in_params
from morphax.core.dce import eliminate_dead_code
from tests.transforms.random_programs import LOG, Program, programs
from tests.transforms.test_algebra import FEW, LONGEST_LOOP, same

few = settings(FEW, max_examples=12, derandomize=True)


@pytest.fixture(autouse=True)
def _checked_wide_dtypes() -> Iterator[None]:
    with jax.enable_x64(True), jax.enable_checks(True), jax.reverse_while(LONGEST_LOOP):
        yield


def traced(program: Program) -> tuple[Jaxpr, list[Any], Any]:
    """The program as a jaxpr, the leaves of its arguments, and its results."""
    arguments = program.arguments()
    jaxpr, shapes = jax.make_jaxpr(program, return_shape=True)(*arguments)
    return jaxpr, jax.tree.leaves(arguments), jax.tree.structure(shapes)


def evaluated_by(jaxpr: Jaxpr) -> Any:
    return lambda *leaves: eval_jaxpr(jaxpr, jaxpr.consts, *leaves)


@few
@given(program=programs())
def test_evaluating_the_jaxpr_is_running_the_function(program: Program) -> None:
    jaxpr, leaves, structure = traced(program)
    f, expected = evaluated_by(jaxpr), program(*program.arguments())
    same(structure.unflatten(f(*leaves)), expected, program.dtype)
    same(structure.unflatten(jax.jit(f)(*leaves)), expected, program.dtype)


# A loop over a reference has no plain Python form.
@few
@given(program=programs(without=("effect", "reference_in_loop")))
def test_disabling_jit_changes_nothing(program: Program) -> None:
    arguments = program.arguments()
    with jax.disable_jit():
        given = program(*arguments), jax.vmap(program)(*arguments_of_two(arguments))
    same(given, (program(*arguments), jax.vmap(program)(*arguments_of_two(arguments))), "float64")


def arguments_of_two(arguments: Any) -> Any:
    return jax.tree.map(lambda x: np.stack([x, x + 1]), arguments)


@few
@given(program=programs(without=()))
def test_nothing_is_lost_by_tracing_again(program: Program) -> None:
    jaxpr, leaves, _ = traced(program)
    again = jax.make_jaxpr(evaluated_by(jaxpr))(*leaves)
    check_jaxpr(again)
    assert str(again) == str(jaxpr)
    assert str(traced(program)[0]) == str(jaxpr)
    assert again.effects == jaxpr.effects


@few
@given(program=programs(without=()), data=st.data())
def test_dead_code_has_no_meaning(program: Program, data: st.DataObject) -> None:
    jaxpr, leaves, _ = traced(program)
    used = data.draw(
        st.lists(st.booleans(), min_size=len(jaxpr.outvars), max_size=len(jaxpr.outvars))
    )
    smaller, _ = eliminate_dead_code(jaxpr, used)
    check_jaxpr(smaller)
    assert count_effects(smaller) == count_effects(jaxpr)
    outs, shown = run_with_log(evaluated_by(jaxpr), leaves)
    kept, still_shown = run_with_log(evaluated_by(smaller), leaves)
    same(kept, [x for x, on in zip(outs, used, strict=True) if on], program.dtype)
    np.testing.assert_allclose(sorted(still_shown), sorted(shown), rtol=1e-9)
    kept, still_shown = run_with_log(jax.jit(evaluated_by(smaller)), leaves)
    same(kept, [x for x, on in zip(outs, used, strict=True) if on], program.dtype)
    np.testing.assert_allclose(sorted(still_shown), sorted(shown), rtol=1e-6, atol=1e-9)


def count_effects(jaxpr: Jaxpr) -> int:
    """How many equations, those of inner programs included, show a value."""
    inner = [p for eqn in jaxpr.eqns for p in jaxprs_in_params(eqn.params)]
    own = [eqn for eqn in jaxpr.eqns if eqn.primitive.name == "debug_callback"]
    return len(own) + sum(map(count_effects, inner))


def run_with_log(f: Any, leaves: list[Any]) -> tuple[Any, list[float]]:
    """The results of `f`, and the values that it shows."""
    LOG.clear()
    outs = f(*leaves)
    jax.effects_barrier()
    return outs, list(LOG)
