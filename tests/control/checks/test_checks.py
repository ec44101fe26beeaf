"""Checks of the user and the error that tells of them: eager, staged, batched, bad arguments."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import morphax as jax
import morphax.numpy as jnp
from morphax import lax
from morphax.experimental import checkify


def positive(x: Any) -> Any:
    checkify.check(x > 0, "{} is not positive, twice {twice:.1f}", x, twice=2 * x)
    return jnp.sqrt(x)


def text(error: Any) -> str | None:
    """The text of an error without its place."""
    told = error.get()
    return None if told is None else told.split(" (at ")[0]


def test_eager_check_raises_at_once() -> None:
    assert positive(4.0) == 2.0
    with pytest.raises(checkify.JaxRuntimeError, match=r"-1.0 is not positive, twice -2.0 \(`"):
        positive(-1.0)
    with pytest.raises(ValueError, match=r"2\.0 is not below 2"):
        jax.vmap(lambda x: checkify.check(x < 2, "{} is not below 2", x))(jnp.arange(4.0))


def test_text_names_the_line_of_the_check() -> None:
    err, _ = checkify.checkify(positive)(-1.0)
    assert "test_checks.py:" in err.get()
    assert err.get().endswith("(positive))")


@pytest.mark.parametrize(
    "staged",
    [
        jax.jit(positive),
        lambda x: lax.scan(lambda c, _: (positive(c), None), x, None, length=2),
        lambda x: lax.while_loop(lambda c: positive(c) < 0, lambda c: c, x),
    ],
)
def test_staged_check_must_be_functionalized(staged: Any) -> None:
    with pytest.raises(ValueError, match="has functionalized") as raised:
        staged(1.0)
    assert "checkify.checkify(f)" in str(raised.value)
    assert "test_checks.py" in str(raised.value)
    err, _ = checkify.checkify(staged)(1.0)
    assert err.get() is None
    err, _ = jax.jit(checkify.checkify(staged))(-1.0)
    assert text(err) == "-1.0 is not positive, twice -2.0 (`check` failed)"


def test_debug_check_means_nothing_without_checkify() -> None:
    def f(x: Any) -> Any:
        checkify.debug_check(x > 0, "found {}", x)
        return x

    assert f(-1.0) == jax.jit(f)(-1.0) == -1.0
    assert text(checkify.checkify(f)(-1.0)[0]) == "found -1.0 (`check` failed)"
    assert checkify.checkify(f, errors=checkify.nan_checks)(-1.0)[0].get() is None


def test_format_arguments_are_trees_of_arrays() -> None:
    def f(x: Any) -> None:
        checkify.check(jnp.all(x > 0), "{0[a]} of {total:.2f}, {{}}", {"a": x}, total=x.sum())

    err, _ = jax.jit(checkify.checkify(f))(jnp.array([1.0, -2.0]))
    assert text(err) == "[ 1. -2.] of -1.00, {} (`check` failed)"


def test_message_with_braces_that_are_no_places() -> None:
    err, _ = checkify.checkify(lambda x: checkify.check(x > 0, "not in {a, b}"))(-1)
    assert text(err) == "not in {a, b} (`check` failed)"


@pytest.mark.parametrize(
    ("call", "match"),
    [
        (lambda: checkify.check(jnp.array([True]), "no"), "a boolean of rank 0"),
        (lambda: checkify.check(1, "no"), "int32"),
        (lambda: checkify.check("yes", "no"), "'yes'"),
        (lambda: checkify.check(True, 3), "format string"),
        (lambda: checkify.check(True, "{}", "text"), "'text' of type str"),
        (lambda: checkify.check_error(3), "an Error"),
        (lambda: checkify.checkify(3), "a callable"),
        (lambda: checkify.checkify(positive, errors=3), "a set of categories"),
        (lambda: checkify.checkify(positive, errors={int}), "a set of categories"),
    ],
)
def test_bad_arguments(call: Any, match: str) -> None:
    with pytest.raises(TypeError, match=match):
        call()


def test_error_is_a_tree() -> None:
    err, _ = jax.jit(checkify.checkify(positive))(-1.0)
    again = jax.jit(lambda e: e)(err)
    assert again.get() == err.get()
    assert jax.tree.structure(again) == jax.tree.structure(err)
    assert "is not positive" in repr(err)
    with pytest.raises(checkify.JaxRuntimeError, match="is not positive"):
        err.throw()
    assert type(err.get_exception()).__name__ == "FailedCheckError"
    assert checkify.init_error.get() is checkify.init_error.get_exception() is None
    checkify.init_error.throw()


def test_batched_error_names_each_member() -> None:
    checked = checkify.checkify(positive)
    err, out = jax.vmap(checked)(jnp.array([1.0, -1.0, 4.0, -2.0]))
    np.testing.assert_array_equal(out[::2], [1.0, 2.0])
    lines = err.get().splitlines()
    assert [line.split(" is")[0] for line in lines] == [
        "at mapped index 1: -1.0",
        "at mapped index 3: -2.0",
    ]
    assert set(err.get_exception().error_mapping) == {(1,), (3,)}
    with pytest.raises(checkify.JaxRuntimeError, match=r"^-1.0 is not positive"):
        checkify.check_error(err)
    nested, _ = jax.vmap(jax.vmap(checked))(jnp.array([[1.0, -1.0], [2.0, 3.0]]))
    assert nested.get().startswith("at mapped index 0, 1: -1.0")
    fine, _ = jax.vmap(checked)(jnp.ones(3))
    assert fine.get() is None


def test_check_error_hands_on_to_the_checkify_around() -> None:
    def outer(x: Any) -> Any:
        err, out = checkify.checkify(positive)(x)
        checkify.check_error(err)
        return out

    assert text(checkify.checkify(outer)(-1.0)[0]).startswith("-1.0 is not positive")
    assert checkify.checkify(outer)(4.0)[1] == 2.0
    with pytest.raises(checkify.JaxRuntimeError):
        outer(-1.0)
    # A check that has become a result is no check of the function around.
    inner = checkify.checkify(positive)
    assert checkify.checkify(lambda x: inner(x)[1])(-1.0)[0].get() is None


def test_check_error_keeps_the_categories_asked_for() -> None:
    def inner(x: Any) -> Any:
        checkify.check(x < 5, "{} is large", x)
        return jnp.log(x)

    def outer(x: Any) -> None:
        checkify.check_error(checkify.checkify(inner, errors=checkify.all_checks)(x)[0])

    cases = [
        (checkify.user_checks, -1.0, None),
        (checkify.user_checks, 7.0, "7.0 is large (`check` failed)"),
        (checkify.nan_checks, -1.0, "nan generated by primitive: log."),
        (checkify.nan_checks, 7.0, None),
        (checkify.div_checks, -1.0, None),
    ]
    for errors, x, expected in cases:
        assert text(checkify.checkify(outer, errors=errors)(x)[0]) == expected


def test_error_of_a_traced_program_has_no_text_yet() -> None:
    with pytest.raises(jax.errors.TracerBoolConversionError):
        jax.jit(lambda x: checkify.checkify(positive)(x)[0].get())(1.0)


def test_checks_for_checkify_alone_are_nothing_to_the_native_engine() -> None:
    def root(x: Any) -> Any:
        checkify.debug_check(x > 0, "negative")
        return lax.fori_loop(0, 5, lambda _, y: (y + x / y) / 2, x)

    with jax.cpu_engine("native"):
        assert jax.jit(root)(4.0) == 2
        err, _ = jax.jit(checkify.checkify(root))(-1.0)
    assert "negative" in str(err.get())
    assert "root" in jax.export_c(root, np.float32(1.0)).header
    assert "Check" in str(jax.make_jaxpr(root)(1.0).effects)
