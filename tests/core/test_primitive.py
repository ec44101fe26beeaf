"""The contract of a primitive: rules that are missing, inference, what is printed."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, final

import numpy as np
import pytest

from morphax import lax
from morphax.control.jit.jit import jit
from morphax.core import (
    DebugEffect,
    Effects,
    NoRule,
    OrderedDebugEffect,
    Primitive,
    ShapedArray,
    Tracer,
    infer,
    not_batchable,
    not_differentiable,
    not_linear,
)
from morphax.transforms.derivatives import jvp, linear_transpose
from morphax.transforms.gradients import grad
from morphax.transforms.make_jaxpr import make_jaxpr
from morphax.transforms.vmap import vmap

VECTOR = ShapedArray((3,), np.float32)
NUMBERS = np.ones(3, np.float32)


@final
class Bare(Primitive):
    """Has no rule but that of avals."""

    name = "bare"

    def abstract_eval(self, x: Any) -> Any:
        return x


@final
class Declined(Primitive):
    """Declares why it has no rules."""

    name = "declined"
    jvp = not_differentiable("it has corners")
    transpose = not_linear()
    batch = not_batchable("it speaks to the user")

    def abstract_eval(self, x: Any) -> Any:
        return x


@final
class Linear(Primitive):
    """Is linear, but does not say how to transpose it."""

    name = "straight"
    linear = True

    def abstract_eval(self, x: Any) -> Any:
        return x

    def evaluate(self, x: Any) -> Any:
        return x


@final
class Blank(Primitive):
    """Has no rule at all."""

    name = "blank"


bare, declined, straight, blank = Bare(), Declined(), Linear(), Blank()


@pytest.mark.parametrize(
    ("call", "asked_by", "method", "class_name"),
    [
        (lambda: bare.bind(1.0), "eager evaluation of bare", "evaluate", "Bare"),
        (lambda: jit(bare.bind)(1.0), "compilation of bare", "lower", "Bare"),
        (lambda: grad(bare.bind)(1.0), "differentiation of bare", "jvp", "Bare"),
        (lambda: jvp(bare.bind, (1.0,), (1.0,)), "differentiation of bare", "jvp", "Bare"),
        (lambda: vmap(bare.bind)(NUMBERS), "batching (vmap) of bare", "batch", "Bare"),
        (
            lambda: linear_transpose(straight.bind, 1.0)(1.0),
            "transposition (reverse-mode differentiation) of straight",
            "transpose",
            "Linear",
        ),
        (lambda: make_jaxpr(blank.bind)(1.0), "tracing of blank", "abstract_eval", "Blank"),
    ],
)
def test_missing_rule_explains_itself(
    call: Callable[[], Any], asked_by: str, method: str, class_name: str
) -> None:
    with pytest.raises(TypeError) as caught:
        call()
    where, given, expected, fix = str(caught.value).splitlines()
    assert where.startswith(f"{asked_by} (at {call.__code__.co_filename}:")
    assert given == f"  given:    a program that applies {asked_by.split()[-1]}"
    assert expected == f"  expected: primitives that have the rule `{method}`"
    assert fix == f"  fix:      Define the method `{method}` of the class {class_name}."


@pytest.mark.parametrize(
    ("call", "reason"),
    [
        (lambda: grad(declined.bind)(1.0), "it has corners"),
        (lambda: vmap(declined.bind)(NUMBERS), "it speaks to the user"),
    ],
)
def test_declared_gap_gives_its_reason(call: Callable[[], Any], reason: str) -> None:
    with pytest.raises(TypeError, match=f"fix:      Write the .* without declined here: {reason}."):
        call()


def test_place_of_a_missing_rule_is_the_users_line() -> None:
    def function(x: Any) -> Any:
        y = lax.sin(x)
        return bare.bind(y)

    with pytest.raises(TypeError) as caught:
        vmap(function)(NUMBERS)
    code = function.__code__
    place = f"{code.co_filename}:{code.co_firstlineno + 2} ({code.co_qualname})"
    assert f"(at {place})" in str(caught.value)


def test_rule_of_an_unnamed_class() -> None:
    class Unnamed(Primitive):
        pass

    with pytest.raises(TypeError, match="tracing of Unnamed"):
        Unnamed().abstract_eval()


def test_declared_and_undeclared_gaps_differ() -> None:
    gaps = {name: vars(Declined)[name] for name in ("jvp", "transpose", "batch")}
    assert all(isinstance(gap, NoRule) and gap.reason for gap in gaps.values())
    undeclared = vars(Primitive)["jvp"]
    assert isinstance(undeclared, NoRule)
    assert undeclared.reason is None


@final
class Counted(Primitive):
    """Counts how often its rule of avals runs."""

    name = "counted"
    multiple_results = True

    def __init__(self) -> None:
        self.runs = 0

    def abstract_eval(self, x: Any, *, copies: Any) -> list[Any]:
        self.runs += 1
        return [x] * (copies if isinstance(copies, int) else len(copies))

    def effects(self, *, copies: Any) -> Effects:
        return frozenset({OrderedDebugEffect() if copies == 3 else DebugEffect()})


def test_inference_runs_once_per_signature() -> None:
    counted = Counted()
    for _ in range(3):
        outs, effects = infer(counted, {"copies": 3}, (VECTOR,))
    assert outs == (VECTOR,) * 3
    assert effects == frozenset({OrderedDebugEffect()})
    assert counted.runs == 1
    infer(counted, {"copies": 2}, (VECTOR,))
    infer(counted, {"copies": 3}, (ShapedArray((4,), np.float32),))
    assert counted.runs == 3


def test_params_that_cannot_be_hashed_are_inferred_anew() -> None:
    counted = Counted()
    for _ in range(2):
        outs, _ = infer(counted, {"copies": [1, 2]}, (VECTOR,))
    assert outs == (VECTOR,) * 2
    assert counted.runs == 2


def test_inference_of_one_result() -> None:
    assert infer(lax.sin_p, {}, (VECTOR,)) == ((VECTOR,), frozenset())


def test_errors_of_inference_are_not_remembered() -> None:
    for _ in range(2):
        with pytest.raises(TypeError, match="equal shapes"):
            infer(lax.add_p, {}, (VECTOR, ShapedArray((4,), np.float32)))


def test_bind_returns_one_result_or_a_list() -> None:
    counted = Counted()

    def function(x: Any) -> Any:
        one, many = lax.sin(x), counted.bind(x, copies=2)
        assert isinstance(one, Tracer)
        assert isinstance(many, list)
        assert len(many) == 2
        return one, many

    assert len(make_jaxpr(function)(1.0).outvars) == 3


def test_printed_params_are_sorted() -> None:
    assert list(bare.printed_params({"b": 1, "a": 2})) == ["a", "b"]


def test_text() -> None:
    assert repr(bare) == str(bare) == "bare"
    assert re.match("sin", f"{lax.sin_p}")


def test_get_bind_params() -> None:
    params = {"axes": (0,)}
    assert lax.reduce_sum_p.get_bind_params(params) == params
