"""The constraint on one device: trees, jaxprs, derivatives, refusals.

Several devices are in `tests/engines/test_several_devices.py`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import morphax as jax
import morphax.numpy as jnp
from morphax import lax
from morphax.sharding import SingleDeviceSharding

HERE = SingleDeviceSharding(jax.devices("cpu")[0])
X = np.arange(6, dtype=np.float32).reshape(2, 3)


def constrained(x: Any) -> Any:
    return lax.with_sharding_constraint(x, HERE)


@pytest.mark.parametrize("wrap", [lambda f: f, jax.jit], ids=["eager", "jit"])
def test_keeps_trees_dtypes_and_numbers(wrap: Any) -> None:
    given = {"a": np.arange(3), "b": (2.0, np.array([True, False])), "none": None}
    out = wrap(constrained)(given)
    assert jax.tree.structure(out) == jax.tree.structure(given)
    for x, y in zip(jax.tree.leaves(out), jax.tree.leaves(given), strict=True):
        assert x.aval == jnp.asarray(y).aval
        np.testing.assert_array_equal(x, y)


def test_a_prefix_of_shardings_commits() -> None:
    x, (y, z) = lax.with_sharding_constraint((X, (X, 2.0)), (HERE, HERE))
    assert all(v.committed and v.sharding is HERE for v in (x, y, z))


@pytest.mark.parametrize("wrap", [lambda f: f, jax.jit], ids=["eager", "jit"])
def test_keys(wrap: Any) -> None:
    keys = jax.random.split(jax.random.key(3), 2)
    for f in (constrained, jax.vmap(constrained)):
        out = wrap(f)(keys)
        np.testing.assert_array_equal(jax.random.key_data(out), jax.random.key_data(keys))


def test_the_equation() -> None:
    assert str(jax.make_jaxpr(constrained)(X)) == (
        "{ lambda ; a:f32[2,3]. let\n"
        "    b:f32[2,3] = sharding_constraint[\n"
        "      context_mesh=AbstractMesh((), axis_types=())\n"
        "      layout=None\n"
        "      sharding=SingleDeviceSharding(device=CpuDevice(id=0), memory_kind=device)\n"
        "      unconstrained_dims=frozenset({})\n"
        "    ] a\n"
        "  in (b,) }"
    )


def test_batch_axes_are_unconstrained() -> None:
    jaxpr = jax.make_jaxpr(jax.vmap(jax.vmap(constrained), in_axes=1))(np.ones((2, 3, 4)))
    eqn = jaxpr.eqns[0]
    assert eqn.params["unconstrained_dims"] == {0, 1}


def test_tangents_and_cotangents_are_constrained_too() -> None:
    pushed = jax.make_jaxpr(lambda x: jax.jvp(constrained, (x,), (x,)))(X)
    pulled = jax.make_jaxpr(jax.grad(lambda x: (constrained(x) ** 2).sum()))(X)
    for jaxpr in (pushed, pulled):
        names = [eqn.primitive.name for eqn in jaxpr.eqns]
        assert names.count("sharding_constraint") == 2
    for wrap in (lambda f: f, jax.jit):
        gradient = wrap(jax.grad(lambda x: (constrained(x) ** 2).sum()))
        np.testing.assert_array_equal(gradient(X), 2 * X)


@pytest.mark.parametrize(
    ("shardings", "kind"),
    [
        (None, ValueError),
        ([HERE], ValueError),
        ((), ValueError),
        (HERE.device, TypeError),
        ("cpu", TypeError),
    ],
)
@pytest.mark.parametrize("wrap", [lambda f: f, jax.jit], ids=["eager", "jit"])
def test_wrong_shardings(wrap: Any, shardings: Any, kind: type[Exception]) -> None:
    with pytest.raises(kind, match=r"(?s)with_sharding_constraint.*expected:.*fix:"):
        wrap(lambda x: lax.with_sharding_constraint(x, shardings))(X)


def test_another_memory_in_a_program() -> None:
    there = HERE.with_memory_kind("pinned_host")
    assert lax.with_sharding_constraint(X, there).sharding is there
    with pytest.raises(ValueError, match=r"(?s)pinned_host.*expected:.*default memory"):
        jax.jit(lambda x: lax.with_sharding_constraint(x, there))(X)


def test_no_array() -> None:
    with pytest.raises(TypeError):
        constrained("a")


def test_shardings_over_axes_mean_the_current_devices() -> None:
    mesh = jax.make_mesh((2,), ("x",), axis_types=(jax.sharding.AxisType.Auto,))
    named = jax.NamedSharding(mesh.abstract_mesh, jax.P("x"))
    there = jax.NamedSharding(mesh, jax.P("x"))
    x = jnp.arange(4.0)
    with jax.set_mesh(mesh):
        for place in (
            lambda x: jax.lax.with_sharding_constraint(x, named),
            lambda x: jax.device_put(x, named),
            jax.jit(lambda x: 1.0 * x, out_shardings=named),
        ):
            assert jax.jit(place)(x).sharding.is_equivalent_to(there, 1)


def test_shardings_over_no_axes_leave_results_open() -> None:
    x = jnp.ones((2, 3))
    nothing = jax.typeof(x).sharding
    assert nothing.mesh.empty
    assert jax.random.uniform(jax.random.key(0), (2, 3), out_sharding=nothing).shape == (2, 3)
    assert jnp.einsum("ij,kj->ik", x, x, out_sharding=nothing).shape == (2, 2)
    assert jax.lax.full((2, 3), 0.0, sharding=nothing).shape == (2, 3)
    kernel, image = jnp.ones((3, 3, 1, 2)), jnp.ones((1, 4, 4, 1))
    convolved = jax.lax.conv_general_dilated(
        image,
        kernel,
        (1, 1),
        "SAME",
        dimension_numbers=("NHWC", "HWIO", "NHWC"),
        out_sharding=nothing,
    )
    assert convolved.shape == (1, 4, 4, 2)
