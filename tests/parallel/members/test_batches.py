"""`vmap` of programs of members, whose batch is split over axes of the mesh."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import morphax as jax
import morphax.numpy as jnp
from morphax import NamedSharding, P, lax
from morphax.sharding import AxisType, Mesh

X = np.arange(32, dtype=np.float32).reshape(4, 8) / 32


def normalized(z: Any, y: Any) -> Any:
    return jnp.sin(z) * y / lax.psum(jnp.sum(z) + 1, "y")


def with_loop(z: Any, y: Any) -> Any:
    return lax.scan(lambda c, a: (c + a[0], c * a[1]), 0.0, (z, y))[1]


def with_choice(z: Any, y: Any) -> Any:
    return lax.cond(z.sum() > 2, lambda z: z * y, lambda z: y, z)


def over_batch(z: Any, y: Any) -> Any:
    return z * y + lax.psum(z, "i") * lax.axis_index("i")


def along_names(z: Any, y: Any) -> Any:
    return lax.psum(lax.pcast(z * y, "x", to="varying"), "x")


BODIES = [normalized, with_loop, with_choice, over_batch, along_names]


def typed(mesh: Mesh, kind: AxisType) -> Mesh:
    return Mesh(mesh.devices, mesh.axis_names, axis_types=(kind,) * 2)


@pytest.mark.parametrize(
    ("body", "kind", "check_vma"),
    [
        *[(body, AxisType.Auto, True) for body in BODIES],
        *[(body, AxisType.Explicit, True) for body in (normalized, over_batch, along_names)],
        (normalized, AxisType.Auto, False),
    ],
)
def test_batches_that_are_split(square: Mesh, body: Any, kind: Any, check_vma: bool) -> None:
    """Values, types and gradients; a member that communicates along the batch has all of it."""
    mesh = typed(square, kind)

    def members(z: Any, y: Any) -> Any:
        mapped = jax.shard_map(
            body, mesh=mesh, in_specs=(P("y"), P("y")), out_specs=P("y"), check_vma=check_vma
        )
        return mapped(z, y)

    def batched(spmd_axis_name: Any) -> Any:
        return jax.vmap(members, (0, None), axis_name="i", spmd_axis_name=spmd_axis_name)

    def loss(x: Any, y: Any, f: Any) -> Any:
        return (f(x, y) ** 2).sum()

    plain = jax.device_put(X, NamedSharding(mesh, P(None, "y")))
    y = jax.device_put(X[1], NamedSharding(mesh, P("y")))
    names = "x" if kind is AxisType.Auto else None
    x = jax.device_put(X, NamedSharding(mesh, P("x", "y")))
    with jax.set_mesh(mesh):
        expected = np.asarray(batched(None)(plain, y))
        out = jax.jit(batched(names))(x, y)
        np.testing.assert_allclose(np.asarray(out), expected, rtol=1e-5, atol=1e-6)
        is_dealt = body not in (over_batch, along_names)
        if is_dealt or kind is AxisType.Explicit:
            assert out.sharding.spec == P("x", "y")
        grads = jax.jit(jax.grad(lambda x, y: loss(x, y, batched(names)), (0, 1)))(x, y)
        known = jax.grad(lambda x, y: loss(x, y, batched(None)), (0, 1))(plain, y)
        for found, right in zip(grads, known, strict=True):
            np.testing.assert_allclose(np.asarray(found), np.asarray(right), rtol=1e-4, atol=1e-6)


def test_batches_of_batches(square: Mesh) -> None:
    twice = jax.shard_map(lambda z: 2 * z, mesh=square, in_specs=P(), out_specs=P())
    both = jax.vmap(jax.vmap(twice, spmd_axis_name="y"), spmd_axis_name="x")
    out = jax.jit(both)(X)
    np.testing.assert_array_equal(np.asarray(out), 2 * X)
    assert out.sharding.spec == P("x", "y")
    program = jax.make_jaxpr(jax.vmap(twice, in_axes=1, spmd_axis_name=("y", "x")))(X)
    assert program.eqns[0].params["in_specs"] == (P(None, ("y", "x")),)


@pytest.mark.parametrize(
    ("kind", "name", "size", "text"),
    [
        (KeyError, "nonsense", 4, "'nonsense' as spmd_axis_name, for the axes"),
        (ValueError, "y", 4, r"split over 'y', and P\('y',\) among in_specs"),
        (ValueError, "x", 3, "for 3 members, along which a shard_map has 2 parts"),
    ],
)
def test_refusals(square: Mesh, kind: Any, name: str, size: int, text: str) -> None:
    twice = jax.shard_map(lambda z: 2 * z, mesh=square, in_specs=P("y"), out_specs=P("y"))
    with pytest.raises(kind, match=text):
        jax.vmap(twice, spmd_axis_name=name)(X[:size])


def test_derivatives_that_are_constants(square: Mesh) -> None:
    """The cotangent 1 of the sum within is a residual, and is the same for all members."""

    def slope(z: Any) -> Any:
        return jax.grad(lambda q: jnp.sin(q).sum())(z)

    members = jax.shard_map(slope, mesh=square, in_specs=P("x"), out_specs=P("x"))

    def second(f: Any) -> Any:
        gradient = jax.grad(lambda x: jnp.sin(f(x)).sum())
        return jax.jvp(gradient, (X,), (np.cos(X),))[1]

    np.testing.assert_allclose(np.asarray(second(members)), np.asarray(second(slope)), rtol=1e-5)
