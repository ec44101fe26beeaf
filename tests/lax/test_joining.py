"""Edges of joining and splitting: weak types, cotangents of unused parts, error texts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from morphax import grad, lax, make_jaxpr

X = np.arange(12, dtype=np.float32).reshape(3, 4)


def test_results_are_weak_if_all_operands_are() -> None:
    weak = lax.full((3, 4), 1.0)
    for join in (lax.concatenate, lax.stack):
        assert join([weak, weak], 0).aval.weak_type
        assert not join([weak, X], 0).aval.weak_type
    parts = [*lax.split(weak, (1, 2)), *lax.unstack(weak), lax.tile(weak, (1, 2))]
    assert all(part.aval.weak_type for part in parts)


def test_parts_do_not_hold_their_operand() -> None:
    x = lax.full((1000, 2), 1.0)
    parts = [*lax.split(x, (1, 999)), *lax.unstack(x)]
    assert not any(np.shares_memory(part.to_host(), x.to_host()) for part in parts)


def test_parts_that_are_not_used_have_no_cotangent() -> None:
    def second(x: Any) -> Any:
        return lax.reduce_sum(lax.split(x, (1, 2))[1], (0, 1))

    assert grad(second)(X).to_host().tolist() == [[0.0] * 4, [1.0] * 4, [1.0] * 4]


def test_members_of_an_empty_axis() -> None:
    assert lax.unstack(X[:0]) == ()
    assert make_jaxpr(lax.unstack)(X[:0]).outvars == ()


REFUSED = [
    (lambda: lax.concatenate([], 0), ValueError, r"lax\.concatenate[\s\S]*at least one array"),
    (lambda: lax.concatenate([X, X[0]], 0), ValueError, r"lax\.concatenate[\s\S]*of one rank"),
    (
        lambda: lax.concatenate([X, X[:, :2]], 0),
        ValueError,
        r"lax\.concatenate[\s\S]*axes but 0",
    ),
    (lambda: lax.concatenate([X, X.astype(int)], 0), TypeError, r"lax\.concatenate[\s\S]*dtype"),
    (lambda: lax.concatenate([X, X], 2), ValueError, r"dimension[\s\S]*an axis in \[0, 2\)"),
    (lambda: lax.concatenate([X, X], -1), ValueError, r"dimension[\s\S]*an axis in \[0, 2\)"),
    (lambda: lax.stack([]), ValueError, r"lax\.stack[\s\S]*at least one array"),
    (lambda: lax.stack([X, X[:1]]), ValueError, r"lax\.stack[\s\S]*of one shape"),
    (lambda: lax.stack([X, X], 3), ValueError, r"lax\.stack, argument axis[\s\S]*rank 3"),
    (lambda: lax.unstack(np.float32(1)), ValueError, r"lax\.unstack[\s\S]*no axis"),
    (lambda: lax.split(X, (1, 1)), ValueError, r"lax\.split[\s\S]*whose sum is 3"),
    (lambda: lax.split(X, (4, -1)), ValueError, r"lax\.split[\s\S]*non-negative"),
    (lambda: lax.split(X, (3,), 2), ValueError, r"lax\.split, argument axis"),
    (lambda: lax.tile(X, (1, -1)), ValueError, r"lax\.tile[\s\S]*none negative"),
    (lambda: lax.tile(X, (1,)), ValueError, r"lax\.tile[\s\S]*2, one per axis"),
]


@pytest.mark.parametrize(("call", "error", "text"), REFUSED)
def test_wrong_calls_are_refused(
    call: Callable[[], Any], error: type[Exception], text: str
) -> None:
    with pytest.raises(error, match=text):
        call()
