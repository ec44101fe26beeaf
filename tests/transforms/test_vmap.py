"""vmap: axes as trees, placement of results, sizes, errors that name the argument."""

from __future__ import annotations

import functools
from typing import Any, NamedTuple

import numpy as np
import pytest

import morphax as jax
import morphax.numpy as jnp
from morphax import lax

A = np.arange(6.0, dtype=np.float32).reshape(2, 3)


def test_in_axes_and_out_axes() -> None:
    f = lambda x, y: x + y  # noqa: E731
    np.testing.assert_array_equal(jax.vmap(f)(A, A), A + A)
    np.testing.assert_array_equal(jax.vmap(f, (1, None))(A, 1.0), A.T + 1)
    np.testing.assert_array_equal(jax.vmap(f, (-1, None), 1)(A, 1.0), A + 1)
    np.testing.assert_array_equal(jax.vmap(lambda x: x, 1, -1)(A), A)
    np.testing.assert_array_equal(jax.vmap(f, [0, None])(A, 2.0), A + 2)


def test_axes_as_trees() -> None:
    tree = {"a": A, "b": (A.T, 1.0)}
    out = jax.vmap(
        lambda t, x: {"sum": t["a"] + t["b"][0] + t["b"][1], "x": x},
        in_axes=({"a": 0, "b": (1, None)}, None),
        out_axes={"sum": 1, "x": None},
    )(tree, 5.0)
    np.testing.assert_array_equal(out["sum"], (2 * A + 1).T)
    assert out["x"] == 5.0


def test_keyword_arguments_are_mapped_over_axis_zero() -> None:
    np.testing.assert_array_equal(jax.vmap(lambda x, y: x + y)(A, y=A), 2 * A)


def test_axis_size_and_unmapped_results() -> None:
    np.testing.assert_array_equal(jax.vmap(lambda: 1.0, axis_size=3)(), np.ones(3))
    np.testing.assert_array_equal(jax.vmap(lambda x: 2.0)(A), np.full(2, 2.0))


def test_negative_and_numpy_sizes() -> None:
    np.testing.assert_array_equal(jax.vmap(lambda x: x, -2, -2)(A), A)
    assert jax.vmap(lambda: 1.0, axis_size=np.int32(2))().shape == (2,)


class Pair(NamedTuple):
    first: Any
    second: Any


@functools.partial(jax.tree_util.register_dataclass, data_fields=["value"], meta_fields=["name"])
class Tagged:
    def __init__(self, value: Any, name: str) -> None:
        self.value = value
        self.name = name


def test_axes_in_nodes_of_the_user() -> None:
    swap = jax.vmap(lambda p: Pair(p.second, p.first), (Pair(0, None),), Pair(None, 1))
    out = swap(Pair(A, 2.0))
    np.testing.assert_array_equal(out.second, A.T)
    assert out.first == 2.0
    tagged = jax.vmap(lambda t: Tagged(t.value, "b"), (Tagged(1, "a"),), Tagged(1, "b"))
    np.testing.assert_array_equal(tagged(Tagged(A, "a")).value, A)


def test_arguments_that_are_not_mapped_may_be_anything() -> None:
    apply = jax.vmap(lambda f, x, how: f(x) if how == "plain" else None, (None, 0, None))
    np.testing.assert_array_equal(apply(jnp.sin, A, "plain"), jnp.sin(A))


def test_none_is_no_leaf() -> None:
    out = jax.vmap(lambda x, y: (x, y), ({"a": 0, "b": None}, None))({"a": A, "b": None}, None)
    assert out[0]["b"] is None
    assert out[1] is None


def member_of(f: Any) -> Any:
    """`f` of each row of `A`, one after another."""
    results = [f(row) for row in jnp.asarray(A)]
    return jax.tree.map(lambda *leaves: np.stack(leaves), *results)


BODIES = {
    "cond": lambda x: lax.cond(x.sum() > 4, lambda x: x * 2, lambda x: -x, x),
    "cond of a shared choice": lambda x: lax.cond(True, lambda x: x * 2, lambda x: -x, x),
    "switch": lambda x: lax.switch(x[1].astype(int), [jnp.sin, jnp.cos], x),
    "scan": lambda x: lax.scan(lambda c, a: (c + a, c * a), 0.0, x),
    "while": lambda x: lax.while_loop(
        lambda c: c[0] < 9, lambda c: (c[0] + 1, c[1] * x), (x[0], x)
    ),
    "while of a shared condition": lambda x: lax.while_loop(
        lambda c: c[0] < 3, lambda c: (c[0] + 1, c[1] * x), (0, x)
    ),
    "fori": lambda x: lax.fori_loop(0, x[0].astype(int), lambda i, c: c + x, x),
    "random": lambda x: jax.random.normal(jax.random.key(x[0].astype(np.uint32)), (2,)),
    "sort": jnp.sort,
    "indexing": lambda x: x[x[0].astype(int)] + x.at[0].set(7.0),
}


@pytest.mark.parametrize("name", BODIES)
def test_vmap_is_a_loop(name: str) -> None:
    f = BODIES[name]
    for given in (jax.vmap(f)(A), jax.jit(jax.vmap(f))(A), jax.vmap(f, 1)(A.T)):
        jax.tree.map(functools.partial(np.testing.assert_allclose, rtol=1e-5), given, member_of(f))


@pytest.mark.parametrize("name", [n for n in BODIES if n != "random"])
def test_no_members(name: str) -> None:
    shapes = jax.tree.map(lambda x: (0, *x.shape[1:]), member_of(BODIES[name]))
    given = jax.tree.map(jnp.shape, jax.vmap(BODIES[name])(jnp.zeros((0, 3))))
    assert jax.tree.leaves(given) == jax.tree.leaves(shapes)


def test_nested_in_any_order() -> None:
    outer = jax.vmap(jax.vmap(jnp.multiply, (None, 0)), (0, None))
    np.testing.assert_array_equal(outer(A[0], A[1]), np.outer(A[0], A[1]))
    np.testing.assert_array_equal(jax.jit(outer)(A[0], A[1]), np.outer(A[0], A[1]))


def test_empty_batches() -> None:
    assert jax.vmap(jnp.sin)(jnp.zeros((0, 3))).shape == (0, 3)
    assert jax.vmap(jax.grad(jnp.sin))(jnp.zeros(0)).shape == (0,)


ERRORS = [
    pytest.param(
        lambda: jax.vmap(lambda x, y: x)(A, A.T),
        r"x has size 2 \(axis 0 of float32\[2,3\]\), y has size 3",
        id="sizes",
    ),
    pytest.param(
        lambda: jax.vmap(lambda p: p)({"w": A, "b": 1.0}), r"argument p\['b'\]", id="scalar"
    ),
    pytest.param(
        lambda: jax.vmap(lambda x, y: x, axis_size=5)(A, y=A), "axis_size=5", id="axis_size"
    ),
    pytest.param(lambda: jax.vmap(lambda: 1.0, axis_size=-1)(), "not negative", id="negative"),
    pytest.param(lambda: jax.vmap(lambda x: x, 2)(A), "mapped over axis 2", id="axis"),
    pytest.param(lambda: jax.vmap(lambda x: x, (0, 0))(A), "2 axes", id="number of axes"),
    pytest.param(lambda: jax.vmap(lambda x: x, None)(A), "no argument", id="none mapped"),
    pytest.param(
        lambda: jax.vmap(lambda x: x, ({"a": 0},))({"b": A}), "argument in_axes", id="prefix"
    ),
    pytest.param(lambda: jax.vmap(lambda x: x, out_axes=None)(A), "out_axes", id="out None"),
    pytest.param(lambda: jax.vmap(lambda x: x, out_axes=5)(A), "out_axes", id="out axis"),
    pytest.param(
        lambda: jax.vmap(lambda x: x, out_axes=(0, 0))(A), "argument out_axes", id="out prefix"
    ),
    pytest.param(
        lambda: jax.vmap(lambda x: {"a": x, "b": 1}, out_axes={"a": None, "b": 0})(A),
        r"result\['a'\] of <lambda>",
        id="out path",
    ),
    pytest.param(
        lambda: jax.vmap(lambda x, y: x, ({"a": 0}, 0))({"a": A, "b": A}, A),
        r"key path \[0\](.|\n)*keys \['a', 'b'\](.|\n)*like in_axes\[0\]",
        id="in path",
    ),
]


@pytest.mark.parametrize(("call", "text"), ERRORS)
def test_errors(call: Any, text: str) -> None:
    with pytest.raises(ValueError, match=text) as caught:
        call()
    assert "fix:" in str(caught.value)
    assert __file__ in str(caught.value)


@pytest.mark.parametrize("axes", ["a", 1.0, True, {"a": 0}, ("a",), (np.int64(0),)], ids=repr)
def test_axes_of_the_wrong_kind(axes: Any) -> None:
    with pytest.raises(TypeError, match="argument in_axes"):
        jax.vmap(lambda x: x, axes)


@pytest.mark.parametrize("axes", ["a", 1.0, {"a": 1.0}], ids=repr)
def test_result_axes_of_the_wrong_kind(axes: Any) -> None:
    with pytest.raises(TypeError, match="argument out_axes"):
        jax.vmap(lambda x: x, out_axes=axes)


@pytest.mark.parametrize("options", [{"axis_size": 2.0}, {"axis_size": "a"}])
def test_sizes_of_the_wrong_kind(options: Any) -> None:
    with pytest.raises(TypeError, match="argument axis_size"):
        jax.vmap(lambda x: x, **options)


def test_names_must_be_hashable() -> None:
    with pytest.raises(TypeError, match="argument axis_name"):
        jax.vmap(lambda x: x, axis_name=["i"])


@pytest.mark.parametrize("leaf", ["text", object()], ids=["str", "object"])
def test_leaves_of_the_wrong_kind(leaf: Any) -> None:
    with pytest.raises(TypeError, match=r"argument p\['w'\]"):
        jax.vmap(lambda x, p: x)(A, {"w": leaf})
    with pytest.raises(TypeError, match=r"result\[0\]"):
        jax.vmap(lambda x: (leaf,))(A)
