"""`smap` and `pmap`: what they give is what `vmap` gives."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import morphax as jax
import morphax.numpy as jnp
from morphax import P, lax
from morphax.sharding import Mesh

X = np.arange(4, dtype=np.float32)
M = np.arange(12, dtype=np.float32).reshape(3, 4)

CALLS: dict[str, tuple[Any, dict[str, Any], tuple[Any, ...]]] = {
    "sum": (lambda x: lax.psum(x, "i"), {}, (X,)),
    "shared": (lambda x, y: x * y, {"in_axes": (0, None)}, (X, 3.0)),
    "last axis": (lambda x, y: x @ y, {"in_axes": (-1, None)}, (M, X[:3])),
    "a tree": (lambda d, x: {"a": d["a"] * x, "b": x}, {"in_axes": ({"a": 1}, 0)}, ({"a": M}, X)),
    "one for all": (lambda x: lax.pmean(x, "i"), {"out_axes": None}, (X,)),
    "second axis": (lambda x: x * jnp.ones(2), {"out_axes": 1}, (X,)),
    "branches": (lambda x: lax.cond(x > 2, lambda: x, lambda: 0.0), {}, (X,)),
    "gather": (lambda x: lax.all_gather(x, "i"), {}, (X,)),
    "permute": (lambda x: lax.ppermute(x, "i", [(0, 1), (1, 0)]), {}, (X,)),
    "position": (lambda: lax.axis_index("i"), {"axis_size": 3}, ()),
    "gradient inside": (jax.grad(lambda x: lax.psum(x**2, "i")), {}, (X,)),
    "second derivative": (jax.hessian(lambda x: lax.psum(x**3, "i")), {}, (X[:2],)),
    "loop": (lambda x: lax.fori_loop(0, 3, lambda _, c: c + lax.psum(x, "i"), 0.0), {}, (X[:2],)),
    "vmap inside": (
        jax.vmap(lambda x: lax.psum(x, ("i", "j")), axis_name="j"),
        {},
        (X.reshape(2, 2),),
    ),
}


@pytest.mark.parametrize("label", CALLS)
def test_pmap_is_vmap(label: str) -> None:
    f, options, arguments = CALLS[label]
    expected = jax.vmap(f, axis_name="i", **options)(*arguments)
    for way in (jax.pmap(f, axis_name="i", **options), jax.jit(jax.pmap(f, "i", **options))):
        jax.tree.map(np.testing.assert_allclose, way(*arguments), expected)


def test_gradients_through_pmap() -> None:
    def total(mapping: Any) -> Any:
        f = mapping(lambda x: lax.psum(jnp.sin(x), "i") * x, axis_name="i")
        return lambda x: jnp.sum(f(x) * X)

    np.testing.assert_allclose(
        jax.grad(total(jax.pmap))(X), jax.grad(total(jax.vmap))(X), rtol=1e-6
    )


def test_pmap_of_keys_keywords_and_static_values() -> None:
    keys = jax.random.split(jax.random.key(0), 4)
    np.testing.assert_array_equal(
        jax.pmap(jax.random.normal)(keys), jax.vmap(jax.random.normal)(keys)
    )
    np.testing.assert_array_equal(jax.pmap(lambda x, y: x - y)(X, y=X), 0 * X)
    power = jax.pmap(lambda x, n: x**n, static_broadcasted_argnums=1)
    np.testing.assert_array_equal(power(X, 2), X**2)
    np.testing.assert_array_equal(power(X, 3), X**3)


def test_members_run_on_the_devices_named() -> None:
    devices = jax.devices("cpu")[:4][::-1]
    out = jax.pmap(lambda x: x * 2, devices=devices)(X)
    assert out.sharding.device_set == set(devices)
    np.testing.assert_array_equal(out, 2 * X)


def test_members_that_do_not_fit() -> None:
    with pytest.raises(ValueError, match="at most as many members as devices"):
        jax.pmap(lambda x: x)(np.ones(100))
    with pytest.raises(ValueError, match="sizes \\[2, 4\\]"):
        jax.pmap(lambda x, y: x)(X, X[:2])
    with pytest.raises(ValueError, match="no mapped argument"):
        jax.pmap(lambda x: x, in_axes=None)(X)


def test_smap_over_one_axis_after_another(square: Mesh) -> None:
    def place(x: Any) -> Any:
        return x * lax.axis_index("y") + 10 * lax.axis_index("x")

    rows = jax.smap(place, in_axes=1, out_axes=1, axis_name="y")
    both = jax.smap(rows, in_axes=0, out_axes=0, axis_name="x")
    with jax.set_mesh(square):
        np.testing.assert_array_equal(both(np.ones((2, 2))), [[0, 1], [10, 11]])
        sums = jax.smap(lambda x: lax.psum(x, "x"), in_axes=0, out_axes=None, axis_name="x")
        np.testing.assert_array_equal(sums(X), X[:2] + X[2:])


def test_smap_refuses_what_is_no_axis(square: Mesh) -> None:
    with pytest.raises(TypeError, match="the name of one axis"):
        jax.smap(lambda x: x, in_axes=0, out_axes=0, axis_name=("x", "y"))
    with pytest.raises(TypeError, match="counted from the front"):
        jax.smap(lambda x: x, in_axes=P("x"), out_axes=0, axis_name="x")
