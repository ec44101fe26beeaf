"""Types of the user that vmap maps over."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import morphax as jax
import morphax.numpy as jnp
from morphax import lax
from morphax.transforms.vmappable import register_vmappable, unregister_vmappable


@dataclass
class Series:
    values: Any


@dataclass(frozen=True)
class Along:
    axis: Any


@dataclass(frozen=True)
class Size:
    number: int


X = np.arange(3.0, dtype=np.float32)


@pytest.fixture(autouse=True)
def log() -> Iterator[list[Any]]:
    seen: list[Any] = []

    def to_elt(part: Any, index: Any, x: Series, spec: Any) -> Series:
        seen.append(("to_elt", spec, index))
        return Series(part(x.values, getattr(spec, "axis", spec)))

    def from_elt(whole: Any, size: Any, x: Series, spec: Any) -> Series:
        seen.append(("from_elt", spec, size))
        return Series(whole(size, x.values, getattr(spec, "axis", spec)))

    def make_iota(size: Size) -> Any:
        return 10 * jnp.arange(size.number)

    register_vmappable(Series, Along, Size, to_elt, from_elt, make_iota)
    yield seen
    unregister_vmappable(Series)


def double(s: Series) -> Series:
    return Series(2 * s.values)


def test_members_and_wholes(log: list[Any]) -> None:
    out = jax.vmap(double, (Along(0),), Along(0), axis_size=3)(Series(X))
    np.testing.assert_array_equal(out.values, 2 * X)
    assert [entry[:2] for entry in log] == [("to_elt", Along(0)), ("from_elt", Along(0))]
    assert log[1][2] == 3


def test_beside_arrays() -> None:
    out = jax.vmap(lambda s, y: Series(s.values + y), (Along(0), 0), Along(0))(Series(X), X)
    np.testing.assert_array_equal(out.values, 2 * X)
    out = jax.vmap(lambda s, y: s.values * y, (None, 0))(Series(X), X)
    np.testing.assert_array_equal(out, np.outer(X, X))
    out = jax.vmap(lambda y: Series(y), out_axes=Along(0))(X)
    np.testing.assert_array_equal(out.values, X)
    out = jax.vmap(lambda y: Series(1.0), out_axes=None)(X)
    assert out.values == 1.0


def test_in_trees_nests_and_other_transformations() -> None:
    tree = jax.vmap(
        lambda d: {"b": double(d["a"])}, ({"a": Along(0)},), {"b": Along(0)}, axis_size=3
    )({"a": Series(X)})
    np.testing.assert_array_equal(tree["b"].values, 2 * X)
    nested = jax.vmap(lambda s: 2 * s.values.values, (Along(Along(0)),), axis_size=3)(
        Series(Series(X))
    )
    np.testing.assert_array_equal(nested, 2 * X)
    inner = jax.vmap(double, (Along(0),), Along(0), axis_size=3)
    twice = jax.vmap(inner, (Along(0),), Along(0), axis_size=2)(Series(np.ones((2, 3))))
    np.testing.assert_array_equal(twice.values, np.full((2, 3), 2.0))
    jitted = jax.jit(lambda x: inner(Series(x)).values)
    np.testing.assert_array_equal(jitted(X), 2 * X)


@pytest.mark.parametrize(("size", "expected"), [(3, [0, 1, 2]), (Size(3), [0, 10, 20])])
def test_the_position_of_a_member(size: Any, expected: list[int], log: list[Any]) -> None:
    def f(s: Series) -> Any:
        return log[0][2]() + 0 * lax.convert_element_type(s.values, np.int32)

    out = jax.vmap(f, (Along(0),), axis_size=size)(Series(X))
    np.testing.assert_array_equal(out, expected)


ERRORS = [
    pytest.param(
        lambda: jax.vmap(double, (Along(0),), Along(0))(Series(X)), "no argument", id="size"
    ),
    pytest.param(lambda: jax.vmap(lambda x: x, (Along(0),), axis_size=3)(X), "Along", id="array"),
    pytest.param(lambda: jax.vmap(lambda x: x, out_axes=Along(0))(X), "Along", id="result"),
    pytest.param(
        lambda: jax.vmap(lambda x: Series(x), out_axes=None)(X), "differs between", id="None"
    ),
    pytest.param(
        lambda: jax.vmap(lambda s, x: x, (Along(0), 0), axis_size=Size(3))(Series(X), X),
        "inconsistent sizes",
        id="sizes",
    ),
]


@pytest.mark.parametrize(("call", "text"), ERRORS)
def test_errors(call: Any, text: str) -> None:
    with pytest.raises(ValueError, match=text) as caught:
        call()
    assert "fix:" in str(caught.value)


def test_what_is_not_registered_any_more() -> None:
    unregister_vmappable(Series)
    unregister_vmappable(Series)
    with pytest.raises(TypeError, match="argument in_axes"):
        jax.vmap(double, (Along(0),), axis_size=3)
    with pytest.raises(TypeError, match="argument s"):
        jax.vmap(double)(Series(X))
