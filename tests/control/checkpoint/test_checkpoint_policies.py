"""Policies: what each answers, and what a user's own may answer."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import morphax as jax
import morphax.numpy as jnp
from morphax import lax
from morphax.ad_checkpoint import Offloadable, Recompute, Saveable, checkpoint_name
from morphax.control.checkpoint.checkpoint_name import name_p
from morphax.control.checkpoint.saved_residuals import saved_residuals

from .residual_programs import policies

PLAIN, BATCHED = (((1,), (0,)), ((), ())), (((2,), (1,)), ((0,), (0,)))
# An equation each: sin, a value named "a", "h" or "c", a product without and with batch axes.
QUESTIONS: tuple[tuple[Any, dict[str, Any]], ...] = (
    (lax.sin_p, {}),
    (name_p, {"name": "a"}),
    (name_p, {"name": "h"}),
    (name_p, {"name": "c"}),
    (lax.dot_general_p, {"dimension_numbers": PLAIN}),
    (lax.dot_general_p, {"dimension_numbers": BATCHED}),
    (lax.conv_general_dilated_p, {}),
)
AWAY, KEEP, AGAIN = Offloadable("device", "pinned_host"), Saveable, Recompute
ANSWERS = {
    "everything_saveable": [True] * 7,
    "nothing_saveable": [False] * 7,
    "dots_saveable": [False, False, False, False, True, True, False],
    "dots_with_no_batch_dims_saveable": [False, False, False, False, True, False, False],
    "offload_dot_with_no_batch_dims": [AGAIN, AGAIN, AGAIN, AGAIN, AWAY, AGAIN, AGAIN],
    "save_anything_except_these_names": [True, False, True, True, True, True, True],
    "save_any_names_but_these": [False, False, True, True, False, False, False],
    "save_only_these_names": [False, True, False, False, False, False, False],
    "save_from_both_policies": [False, True, False, False, True, True, False],
    "save_and_offload_only_these_names": [AGAIN, KEEP, AWAY, AGAIN, AGAIN, AGAIN, AGAIN],
}


@pytest.mark.parametrize("name", ANSWERS)
def test_answers(name: str) -> None:
    policy = policies(jax)[name]
    assert [policy(prim, **params) for prim, params in QUESTIONS] == ANSWERS[name]


def test_every_policy_is_asked() -> None:
    known = jax.checkpoint_policies
    assert known.checkpoint_dots is known.dots_saveable
    assert known.checkpoint_dots_with_no_batch_dims is known.dots_with_no_batch_dims_saveable
    others = {"checkpoint_dots", "checkpoint_dots_with_no_batch_dims"}
    assert set(vars(known)) - others == set(ANSWERS)


def test_a_policy_sees_primitive_avals_and_params() -> None:
    asked = []

    def policy(prim: Any, *avals: Any, **params: Any) -> bool:
        asked.append((prim.name, [aval.str_short() for aval in avals], params))
        return False

    f = jax.checkpoint(lambda x: jnp.sin(checkpoint_name(jnp.sin(x), "inner")), policy=policy)
    jax.grad(f)(1.0)
    assert sorted(asked, key=str) == [
        ("cos", ["f32[]"], {}),
        ("cos", ["f32[]"], {}),
        ("name", ["f32[]"], {"name": "inner"}),
        ("sin", ["f32[]"], {}),
    ]


@pytest.mark.parametrize(
    ("answer", "kept"),
    [
        (True, True),
        (np.True_, True),
        (Saveable, True),
        (Offloadable("device", "pinned_host"), True),
        (False, False),
        (np.False_, False),
        (Recompute, False),
    ],
    ids=str,
)
def test_answers_of_users(answer: Any, kept: bool) -> None:
    f = jax.checkpoint(lambda x: jnp.sin(jnp.sin(x)), policy=lambda *_, **__: answer)
    origins = [origin for _, origin in saved_residuals(f, 1.0)]
    assert ("from the argument x" in origins) is not kept
    assert np.allclose(jax.grad(f)(1.0), np.cos(np.sin(1.0)) * np.cos(1.0))


def test_reprs() -> None:
    assert (repr(Saveable), repr(Recompute)) == ("Saveable", "Recompute")
    assert repr(AWAY) == "Offloadable(src='device', dst='pinned_host')"


def _graded(answer: Any) -> Any:
    return jax.grad(jax.checkpoint(lambda x: jnp.sin(jnp.sin(x)), policy=lambda *_, **__: answer))


def _mixed() -> Any:
    known = jax.checkpoint_policies
    return known.save_from_both_policies(
        known.offload_dot_with_no_batch_dims("device", "pinned_host"), known.everything_saveable
    )


ERRORS = [
    pytest.param(lambda: _graded("x")(1.0), TypeError, "answer of the policy", id="answer"),
    pytest.param(lambda: _graded(None)(1.0), TypeError, "of type NoneType", id="no answer"),
    pytest.param(
        lambda: jax.checkpoint(jnp.sin, policy="dots"), TypeError, "argument policy", id="kind"
    ),
    pytest.param(
        lambda: _mixed()(lax.dot_general_p, dimension_numbers=PLAIN),
        ValueError,
        "Offloadable.* and True",
        id="both",
    ),
    pytest.param(
        lambda: jax.checkpoint_policies.save_and_offload_only_these_names(
            names_which_can_be_saved=["a", "b"],
            names_which_can_be_offloaded=["b"],
            offload_src="device",
            offload_dst="pinned_host",
        ),
        ValueError,
        "b both to save and to offload",
        id="names",
    ),
    pytest.param(lambda: checkpoint_name(1.0, 3), TypeError, "argument name", id="name"),
]


@pytest.mark.parametrize(("call", "error", "text"), ERRORS)
def test_errors(call: Any, error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text) as caught:
        call()
    assert "fix:" in str(caught.value)
