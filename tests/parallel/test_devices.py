"""Collectives between devices against what they mean under `vmap`."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import morphax as jax
import morphax.numpy as jnp
from morphax import lax
from morphax.core import (
    AbstractMesh,
    AbstractSharding,
    AxisType,
    ShapedArray,
    extended_axis_env,
    stage,
)
from morphax.engines.xla.lowering import lower
from morphax.engines.xla.mesh_axes import MeshAxes

from .devices import on_devices, plan_on_devices
from .numpy_twins import COLLECTIVES, Collective, by_groups
from .test_collective import GROUPS, every, every_grouped, same

LINE = MeshAxes(("i",), (4,))


# Those that name no members; the others of the table are for four.
ANY = {name: case for name, case in COLLECTIVES.items() if case.grouped}
for_any = pytest.mark.parametrize("case", list(ANY.values()), ids=list(ANY))


@every
def test_between_devices(case: Collective) -> None:
    xs = case.operands(4)
    same(on_devices(lambda x: case.function(x, "i"), LINE, xs), case.twin(xs))


@for_any
@pytest.mark.parametrize("count", [1, 2])
def test_between_fewer_devices(case: Collective, count: int) -> None:
    xs = case.operands(count)
    axes = MeshAxes(("i",), (count,))
    same(on_devices(lambda x: case.function(x, "i"), axes, xs), case.twin(xs))


@every
@pytest.mark.parametrize(("names", "order"), [("ij", ()), ("ji", (2, 0, 3, 1))], ids=str)
def test_over_both_axes_of_a_mesh(case: Collective, names: str, order: Any) -> None:
    xs = case.operands(4)
    # Members by column, and back.
    turn = range(4) if names == "ij" else [0, 2, 1, 3]
    expected = case.twin(xs[turn])[turn]
    axes = MeshAxes(("i", "j"), (2, 2), order)
    same(on_devices(lambda x: case.function(x, tuple(names)), axes, xs), expected)


@for_any
@pytest.mark.parametrize(("name", "order"), [("i", (2, 0, 3, 1)), ("j", ())], ids=str)
def test_over_one_axis_of_a_mesh(case: Collective, name: str, order: Any) -> None:
    """As `vmap` maps the same function over the same axes."""
    xs = case.operands(4, 2)

    def f(x: Any) -> Any:
        return case.function(x, name) + lax.axis_index("i") - 3 * lax.axis_index("j")

    mapped = jax.vmap(jax.vmap(f, axis_name="j"), axis_name="i")
    expected = np.asarray(mapped(xs.reshape(2, 2, *xs.shape[1:])))
    axes = MeshAxes(("i", "j"), (2, 2), order)
    same(on_devices(f, axes, xs), expected.reshape(4, *expected.shape[2:]))


@every_grouped
@pytest.mark.parametrize("groups", GROUPS, ids=str)
def test_in_groups(case: Collective, groups: Any) -> None:
    xs = case.operands(4, len(groups[0]))
    expected = by_groups(case.twin, groups)(xs)
    same(on_devices(lambda x: case.function(x, "i", axis_index_groups=groups), LINE, xs), expected)


BODIES = {
    "jit": lambda f: jax.jit(f),
    "two calls": lambda f: lambda x: (jax.jit(f)(x) + jax.jit(f)(x)) / 2,
    "scan": lambda f: lambda x: lax.scan(lambda c, _: (c, f(c)), x, None, length=2)[1][1],
    "cond": lambda f: lambda x: lax.cond(x.sum() < jnp.inf, f, lambda x: 0 * f(x), x),
    "vmap": lambda f: lambda x: jax.vmap(f)(jnp.stack([x, x]))[1],
}


@pytest.mark.parametrize("body", BODIES)
@pytest.mark.parametrize("name", ["psum", "all_gather", "ppermute round a ring"])
def test_inside_operations_with_a_body(name: str, body: str) -> None:
    case = COLLECTIVES[name]
    xs = case.operands(4)
    f = BODIES[body](lambda x: case.function(x, "i"))
    same(on_devices(f, LINE, xs), case.twin(xs))


@pytest.mark.parametrize("name", [n for n, c in COLLECTIVES.items() if c.linear])
def test_derivatives(name: str) -> None:
    case = COLLECTIVES[name]
    xs = case.operands(4)

    def f(x: Any) -> Any:
        out, pull = jax.vjp(lambda x: case.function(x, "i"), x)
        return pull(jnp.sin(out))[0]

    same(on_devices(f, LINE, xs), jax.vmap(f, axis_name="i")(xs))


DTYPES = ["bool", "int8", "uint32", "int32", "float16", "bfloat16", "float32", "complex64"]


@pytest.mark.parametrize("dtype", DTYPES)
def test_every_dtype(dtype: str) -> None:
    xs = np.asarray(jnp.asarray([[0, 1, 1], [1, 0, 3], [5, 0, 7], [2, 0, 9]], dtype))

    def f(x: Any) -> Any:
        return (
            lax.psum(x, "i"),
            lax.all_gather(x, "i"),
            lax.ppermute(x, "i", [(0, 1), (1, 3)]),
            lax.pbroadcast(x, "i", 2),
            *((lax.pmax(x, "i"), lax.pmin(x, "i")) if dtype != "complex64" else ()),
        )

    given, expected = on_devices(f, LINE, xs), jax.vmap(f, axis_name="i")(xs)
    for one, other in zip(given, expected, strict=True):
        assert (one.dtype, one.shape) == (other.dtype, other.shape)
        np.testing.assert_array_equal(one, other)


def test_extremes_keep_nan_and_the_sign_of_zero() -> None:
    xs = np.array(
        [[0, np.nan, -0.0, np.inf], [np.nan, 1, 0.0, 2], [3, 4, -0.0, -np.inf], [1, 2, 0.0, 9]],
        np.float32,
    )
    for f in (lax.pmax, lax.pmin):
        given = np.asarray(on_devices(lambda x, f=f: f(x, "i"), LINE, xs))
        expected = np.asarray(jax.vmap(lambda x, f=f: f(x, "i"), axis_name="i")(xs))
        np.testing.assert_array_equal(given, expected)
        np.testing.assert_array_equal(np.signbit(given[:, 2:]), np.signbit(expected[:, 2:]))
        assert np.isnan(given[:, :2]).all()


def test_special_values_travel_as_they_are() -> None:
    xs = np.array([[-0.0], [np.nan], [np.inf], [-0.0]], np.float32)
    for f in (
        lambda x: lax.pbroadcast(x, "i", 0),
        lambda x: lax.all_gather(x, "i"),
        lambda x: lax.ppermute(x, "i", [(0, 1), (1, 0)]),
        lambda x: lax.ppermute(x, "i", []),
    ):
        given = np.asarray(on_devices(f, LINE, xs))
        assert given.tobytes() == np.asarray(jax.vmap(f, axis_name="i")(xs)).tobytes()


def test_empty_operands_and_keys() -> None:
    empty = np.zeros((4, 0, 4), np.float32)
    assert on_devices(lambda x: lax.psum(x, "i"), LINE, empty).shape == (4, 0, 4)
    assert on_devices(lambda x: lax.all_gather(x, "i"), LINE, empty).shape == (4, 4, 0, 4)
    seeds = np.arange(4, dtype=np.uint32)

    def f(seed: Any) -> Any:
        key = lax.ppermute(jax.random.key(seed), "i", [(k, (k + 1) % 4) for k in range(4)])
        return jax.random.bits(key, (3,))

    np.testing.assert_array_equal(on_devices(f, LINE, seeds), jax.vmap(f, axis_name="i")(seeds))


def test_large_constants_of_a_member() -> None:
    big = np.arange(30_000, dtype=np.float32)
    xs = np.arange(4, dtype=np.int32)

    def f(x: Any) -> Any:
        return jnp.asarray(big)[7000 * x] + lax.psum(x, "i")

    same(on_devices(f, LINE, xs), 7000.0 * xs + 6)


def test_operands_from_anywhere() -> None:
    """A plan takes operands that are not yet in parts."""
    xs = COLLECTIVES["psum"].operands(4)
    plan, place = plan_on_devices(lambda x: lax.psum(x, "i"), LINE, xs)
    (result,) = plan.run([jnp.asarray(xs)], False)
    assert result.place is place
    same(result, COLLECTIVES["psum"].twin(xs))


def test_groups_of_devices() -> None:
    axes = MeshAxes(("i", "j", "k"), (2, 3, 2))
    assert axes.groups(["i", "j", "k"]) == [list(range(12))]
    assert axes.groups(["j"])[:2] == [[0, 2, 4], [1, 3, 5]]
    assert axes.groups(["k", "i"])[0] == [0, 6, 1, 7]
    assert axes.groups(["j"], ((2, 0), (1,))[:1])[:2] == [[4, 0], [5, 1]]
    assert axes.positions("j").tolist() == [0, 0, 1, 1, 2, 2] * 2
    turned = MeshAxes(("i", "j"), (2, 2), (2, 0, 3, 1))
    assert turned.groups(["i"]) == [[2, 3], [0, 1]]
    assert turned.positions("i").tolist() == [0, 1, 0, 1]


@pytest.mark.parametrize("function", [lambda x: lax.psum(x, "i"), lambda x: lax.axis_index("i")])
def test_without_members_nothing_is_compiled(function: Any) -> None:
    jaxpr = jax.make_jaxpr(function, axis_env=[("i", 4)])(1.0).jaxpr
    with pytest.raises(NameError, match=r"(?s)^compiling (psum|axis_index).*fix:"):
        lower(jaxpr, "f")
    with pytest.raises(NameError, match=r"(?s)'i'.*\['j'\] of the mesh.*fix:"):
        MeshAxes(("j",), (4,)).groups(["i"])


MESH = AbstractMesh((2, 2), ("x", "y"), AxisType.Explicit)
FLOWS = [
    (lambda x: lax.psum(x, "i"), (("x",), ("y",))),
    (lambda x: lax.pmax(x, "i"), (("x",), ("y",))),
    (lambda x: lax.ppermute(x, "i", [(0, 1)]), (("x",), ("y",))),
    (lambda x: lax.pbroadcast(x, "i", 1), (("x",), ("y",))),
    (lambda x: lax.all_gather(x, "i", axis=1), (("x",), (), ("y",))),
    (lambda x: lax.all_gather(x, "i", axis=0, tiled=True), None),
    (lambda x: lax.psum_scatter(x, "i"), None),
    (lambda x: lax.psum_scatter(x, "i", scatter_dimension=1, tiled=True), None),
    (lambda x: lax.all_to_all(x, "i", 1, 0, tiled=True), None),
]


@pytest.mark.parametrize(("function", "split"), FLOWS)
def test_operands_that_are_split_over_another_mesh(function: Any, split: Any) -> None:
    """Axes along which members communicate must be whole; all others stay as they are."""
    aval = ShapedArray((4, 8), np.float32, sharding=AbstractSharding(MESH, (("x",), ("y",))))
    with extended_axis_env("i", 4):
        if split is None:
            with pytest.raises(TypeError, match=r"(?s)split over a mesh.*whole on each.*fix:"):
                stage(lambda x: [function(x)], [aval])
        else:
            jaxpr, _ = stage(lambda x: [function(x)], [aval])
            assert jaxpr.out_avals[0].split == AbstractSharding(MESH, split)
    whole = aval.update(sharding=AbstractSharding(MESH, ((), ())))
    with extended_axis_env("i", 4):
        jaxpr, _ = stage(lambda x: [function(x)], [whole])
    assert all([not split for split in jaxpr.out_avals[0].sharding.spec])
