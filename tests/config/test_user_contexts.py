"""Contexts of the user's own, and programs that depend on them."""

from __future__ import annotations

import threading
from typing import Any

import pytest

import morphax as jax
from morphax.config.user_contexts import make_user_context


def test_values_nest() -> None:
    first, second = make_user_context("a"), make_user_context()
    assert first.value == "a"
    assert second.value is None
    with first(1), second(2), first(3):
        assert (first.value, second.value) == (3, 2)
        with jax.enable_x64(True):
            assert first.value == 3
    assert (first.value, second.value) == ("a", None)


def test_one_manager_may_be_entered_again() -> None:
    context = make_user_context(0)
    manager = context(1)

    @manager
    def value() -> Any:
        with manager:
            pass
        return context.value

    assert (value(), value(), context.value) == (1, 1, 0)


def test_programs_are_traced_once_for_each_value() -> None:
    context, seen = make_user_context(0), []

    @jax.jit
    def f(x: Any) -> Any:
        seen.append(context.value)
        return x

    f(1.0)
    for value in (1, 1.0, True, 1, "b", 0):
        with context(value):
            f(1.0)
    f(1.0)
    assert [(type(v), v) for v in seen] == [
        (int, 0),
        (int, 1),
        (float, 1.0),
        (bool, True),
        (str, "b"),
        (int, 0),
    ]


def test_other_threads_see_the_default() -> None:
    context, seen = make_user_context("default"), []
    with context("here"):
        thread = threading.Thread(target=lambda: seen.append(context.value))
        thread.start()
        thread.join()
    assert seen == ["default"]


def test_values_must_be_hashable() -> None:
    with pytest.raises(TypeError, match="can be hashed"):
        make_user_context()([1])


def test_contexts_are_no_options() -> None:
    context = make_user_context()
    with context(1):
        assert "jax_user_values" not in jax.config.values
    assert repr(context) == "<user context, now None>"
