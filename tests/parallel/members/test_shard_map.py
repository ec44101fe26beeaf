"""`shard_map`: types, values, refusals, and what it compiles to."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import morphax as jax
import morphax.numpy as jnp
from morphax import NamedSharding, P, lax
from morphax.sharding import AbstractMesh, AxisType, Mesh

X = np.arange(8, dtype=np.float32)


def mapped(f: Any, mesh: Mesh, in_specs: Any, out_specs: Any, **options: Any) -> Any:
    return jax.shard_map(f, mesh=mesh, in_specs=in_specs, out_specs=out_specs, **options)


def body(f: Any, mesh: Mesh, in_specs: Any, out_specs: Any, *arguments: Any) -> list[str]:
    """The equations of a member, each by its operation and the type of its result."""
    jaxpr = jax.make_jaxpr(mapped(f, mesh, in_specs, out_specs))(*arguments).jaxpr
    member = jaxpr.eqns[-1].params["jaxpr"]
    return [f"{e.primitive}: {e.outvars[0].aval.str_short()}" for e in member.eqns]


@pytest.mark.parametrize(
    ("f", "in_specs", "out_specs", "arguments", "equations"),
    [
        (
            lambda x, y: x + y,
            (P("x"), P()),
            P("x"),
            (X, X[:4]),
            ["pvary: f32[4]{V:x}", "add: f32[4]{V:x}"],
        ),
        (lambda x: lax.psum(x, "x"), P("x"), P(), (X,), ["psum_invariant: f32[4]"]),
        (
            lambda x: lax.psum(x, "x"),
            P(),
            P(),
            (X,),
            ["pvary: f32[8]{V:x}", "psum_invariant: f32[8]"],
        ),
        (lambda x: lax.pmax(x, ("x", "y")), P(("x", "y")), P(), (X,), ["pmax: f32[2]"]),
        (
            lambda x: lax.pmin(x, ("y", "x")),
            P("x"),
            P(),
            (X,),
            ["pvary: f32[4]{V:(x,y)}", "pmin: f32[4]"],
        ),
        (lambda x: lax.all_gather(x, "x"), P("x"), P("x"), (X,), ["all_gather: f32[2,4]{V:x}"]),
        (
            lambda x: lax.all_gather(x, "x", tiled=True, to="invarying"),
            P("x"),
            P(),
            (X,),
            ["all_gather_invariant: f32[8]"],
        ),
        (
            lambda: lax.axis_index("y")[None],
            (),
            P("y"),
            (),
            ["axis_index: i32[]{V:y}", "broadcast_in_dim: i32[1]{V:y}"],
        ),
        (lambda x: x, P(), P("x"), (X,), ["pvary: f32[8]{V:x}"]),
        (
            lambda x: lax.psum(x, "x", axis_index_groups=[[0], [1]]),
            P("x"),
            P("x"),
            (X,),
            ["psum: f32[4]{V:x}"],
        ),
    ],
)
def test_types_say_what_varies(
    square: Mesh, f: Any, in_specs: Any, out_specs: Any, arguments: Any, equations: list[str]
) -> None:
    assert body(f, square, in_specs, out_specs, *arguments) == equations


VALUES: dict[str, tuple[Any, ...]] = {
    "axes in another order": (
        lambda x: x * 2,
        P(("x", "y")),
        P(("y", "x")),
        X,
        2 * X.reshape(2, 2, 2).swapaxes(0, 1).ravel(),
    ),
    "two axes": (lambda x: x.T, P("x", "y"), P("y", "x"), X.reshape(4, 2), X.reshape(4, 2).T),
    "empty": (lambda x: x * 2, P("x"), P("x"), X[:0].reshape(0, 3), X[:0].reshape(0, 3)),
    "NaN": (lambda x: lax.pmax(x, "x"), P("x"), P(), np.float32([1, np.nan]), np.float32([np.nan])),
    "integers": (lambda x: lax.psum(x, "x"), P("x"), P(), np.arange(4), np.array([2, 4])),
    "booleans": (
        lambda x: lax.psum(x, "x"),
        P("x"),
        P(),
        np.array([True, False, True, True]),
        np.array([2, 1]),
    ),
    "loop of different lengths": (
        lambda x: lax.while_loop(
            lambda c: c[0] < 9, lambda c: (c[0] + x[0] + 1, c[1] + 1), (0.0, 0)
        )[1][None],
        P(("x", "y")),
        P(("x", "y")),
        X,
        np.array([9, 3, 2, 2]),
    ),
    "branches": (
        lambda x: lax.cond(x[0] > 3, lambda: x, lambda: jnp.zeros(4)),
        P("x"),
        P("x"),
        X,
        np.where(X > 3, X, 0),
    ),
    "carry that comes to vary": (
        lambda x: lax.scan(lambda c, _: (c + x, None), jnp.zeros(4), None, length=3)[0],
        P("x"),
        P("x"),
        X,
        3 * X,
    ),
}


@pytest.mark.parametrize("label", VALUES)
@pytest.mark.parametrize("way", [lambda f: f, jax.jit], ids=["eager", "jit"])
def test_values(square: Mesh, label: str, way: Any) -> None:
    f, in_specs, out_specs, x, expected = VALUES[label]
    out = way(mapped(f, square, in_specs, out_specs))(x)
    np.testing.assert_allclose(out, expected, rtol=1e-6)


def test_results_lie_as_specs_say(square: Mesh) -> None:
    shards, total = mapped(lambda x: (x, lax.psum(x, "x")), square, P("x"), (P("x"), P()))(X)
    assert shards.sharding is NamedSharding(square, P("x"))
    assert total.sharding is NamedSharding(square, P())


def test_trees_and_static_leaves(square: Mesh) -> None:
    f = mapped(
        lambda d, name, k: {"sum": d["a"] + k * d["b"][0], "none": name},
        square,
        ({"a": P("x"), "b": P()}, None, P()),
        P("x"),
    )
    out = f({"a": X, "b": [np.float32(1)]}, None, 2)
    np.testing.assert_array_equal(out["sum"], X + 2)
    scaled = mapped(
        lambda x, n: x * (n + 1 if isinstance(n, int) else 0), square, (P("x"), None), P("x")
    )
    np.testing.assert_array_equal(scaled(X, 2), X * 3)


def test_operands_may_lie_anyhow(square: Mesh) -> None:
    f = mapped(lambda x: x * 2, square, P("x"), P("x"))
    for spec in (P(), P("y"), P(("y", "x"))):
        np.testing.assert_array_equal(f(jax.device_put(X, NamedSharding(square, spec))), 2 * X)


def test_some_axes_by_hand(square: Mesh) -> None:
    f = mapped(
        lambda x: x + 10 * lax.axis_index("x") + lax.psum(x, "x")[0],
        square,
        P("x"),
        P("x"),
        axis_names={"x"},
    )
    expected = X + np.repeat([0, 10], 4) + X[0] + X[4]
    for x in (X, jax.device_put(X, NamedSharding(square, P("y")))):
        np.testing.assert_array_equal(f(x), expected)
        np.testing.assert_array_equal(jax.jit(f)(x), expected)


def test_one_in_another(square: Mesh) -> None:
    def inner(x: Any) -> Any:
        return x * lax.axis_index("y") + 10 * lax.axis_index("x")

    def outer(x: Any) -> Any:
        assert jax.sharding.get_abstract_mesh().axis_types == (AxisType.Manual, AxisType.Auto)
        return jax.shard_map(inner, in_specs=P("y"), out_specs=P("y"), axis_names={"y"})(x)

    f = mapped(outer, square, P("x"), P("x"), axis_names={"x"})
    np.testing.assert_array_equal(f(X), X * np.tile([0, 0, 1, 1], 2) + np.repeat([0, 10], 4))


def test_explicit_axes(square: Mesh) -> None:
    mesh = Mesh(square.devices, ("x", "y"), axis_types=AxisType.Explicit)
    x = jax.device_put(X, NamedSharding(mesh, P("x")))
    f = jax.shard_map(lambda x: x + lax.axis_index("x"), mesh=mesh, out_specs=P("x"))
    np.testing.assert_array_equal(f(x), X + np.repeat([0, 1], 4))
    assert str(jax.jit(f).trace(x).out_info.sharding.spec) in ("P('x',)", "PartitionSpec('x',)")
    with pytest.raises(ValueError, match="the split that the type of the argument says"):
        mapped(lambda x: x, mesh, P("y"), P("y"))(x)


def test_the_current_mesh(square: Mesh) -> None:
    f = jax.shard_map(lambda x: lax.psum(x, "x"), in_specs=P("x"), out_specs=P())
    with pytest.raises(ValueError, match="no current one"):
        f(X)
    with jax.set_mesh(square):
        np.testing.assert_array_equal(f(X), X[:4] + X[4:])
    known = jax.device_put(X, NamedSharding(square, P("x")))
    abstract = AbstractMesh((2, 2), ("x", "y"))
    np.testing.assert_array_equal(mapped(lambda x: -x, abstract, P("x"), P("x"))(known), -X)


def test_a_program_is_traced_once(square: Mesh) -> None:
    traced = []

    def f(x: Any) -> Any:
        traced.append(x)
        return x * 2

    for _ in range(3):
        mapped(lambda x: f(x), square, P("x"), P("x"))(X)
    assert len(traced) <= 3
    compiled = jax.jit(mapped(f, square, P("x"), P("x")))
    before = len(traced)
    for _ in range(3):
        compiled(X)
    assert len(traced) == before + 1


@pytest.mark.parametrize(("check_vma", "expected"), [(True, 1), (False, 3)])
def test_derivatives_communicate_only_where_types_do_not_tell(
    square: Mesh, check_vma: bool, expected: int
) -> None:
    def loss(w: Any, x: Any) -> Any:
        return lax.pmean(jnp.mean((x @ w) ** 2), ("x", "y"))

    f = mapped(loss, square, (P(), P(("x", "y"))), P(), check_vma=check_vma)
    w, x = jnp.ones((3,)), jnp.ones((8, 3))
    text = jax.jit(jax.grad(f)).lower(w, x).compile().as_text()
    assert text.count(" all-reduce(") <= expected
    np.testing.assert_allclose(jax.grad(f)(w, x), 6.0)


@jax.custom_vjp
def scaled(x: Any, w: Any) -> Any:
    return x * w


scaled.defvjp(
    lambda x, w: (x * w, (x, w)), lambda saved, ct: (ct * saved[1], jnp.sum(ct * saved[0]))
)


@jax.custom_jvp
def doubled(w: Any) -> Any:
    return 2 * w


doubled.defjvp(lambda primals, tangents: (2 * primals[0], tangents[0] * lax.axis_index("x")))


def of_rule(x: Any, w: Any) -> Any:
    return lax.psum(jnp.sum(scaled(x, w)), "x")


REFUSALS: list[tuple[Callable[[Mesh], Any], type[Exception], str]] = [
    (lambda m: mapped(lambda x: x, m, P("x"), P("x"))(X[:3]), ValueError, "a multiple of 2"),
    (lambda m: mapped(lambda x: x, m, P("q"), P())(X), ValueError, "axes that the members have"),
    (lambda m: mapped(lambda x: x, m, P("x", "y"), P())(X), ValueError, "at most 1 entries"),
    (lambda m: mapped(lambda x: x[0], m, P("x"), P("x"))(X), ValueError, "at most 0 entries"),
    (lambda m: mapped(lambda x: x, m, (P(), P()), P())(X), ValueError, "a tuple of length 2"),
    (lambda m: mapped(lambda x: (x, x), m, P(), (P(),))(X), ValueError, "like out_specs"),
    (lambda m: mapped(lambda x: x, m, "x", P())(X), TypeError, "a tree of jax.P"),
    (lambda m: mapped(lambda x: x, 3, P(), P())(X), TypeError, "jax.sharding.Mesh"),
    (lambda m: mapped(lambda x: x, m, P("x"), P())(X), ValueError, "members would disagree"),
    (lambda m: mapped(lambda x: x, m, P("x"), P(), axis_names={"q"})(X), ValueError, "axis_names"),
    (lambda m: mapped(lambda x: lax.psum(x, "z"), m, P(), P())(X), NameError, "named axis"),
    (
        lambda m: mapped(lambda x: lax.psum(x, ("x", "y")), m, P("x"), P())(X),
        ValueError,
        "over all of the axes, or over none",
    ),
    (
        lambda m: mapped(lambda x: lax.pcast(x, "x", to="varying"), m, P("x"), P("x"))(X),
        ValueError,
        "the same for all members",
    ),
    (
        lambda m: mapped(lambda x: x if x[0] > 0 else -x, m, P("x"), P("x"))(X),
        jax.errors.TracerBoolConversionError,
        "bool",
    ),
    (
        lambda m: mapped(
            lambda x: lax.cond(x[0] > 0, lambda: lax.psum(x, "x"), lambda: x), m, P("x"), P("x")
        )(X),
        ValueError,
        "Let members agree",
    ),
    (
        lambda m: jax.grad(mapped(of_rule, m, (P("x"), P()), P()), argnums=1)(X, 2.0),
        ValueError,
        "lax.psum",
    ),
    (lambda m: jax.jvp(mapped(doubled, m, P(), P()), (X,), (X,)), TypeError, "no further axes"),
    (
        lambda m: mapped(
            lambda x: lax.with_sharding_constraint(x, NamedSharding(m, P("x"))), m, P("x"), P("x")
        )(X),
        ValueError,
        "no members",
    ),
    (
        lambda m: mapped(lambda x: x, m, P("x"), P("x"))(jax.device_put(X, jax.devices("cpu")[1])),
        ValueError,
        "over the devices of",
    ),
    (
        lambda m: mapped(lambda x: x, AbstractMesh((2, 2), ("x", "y")), P("x"), P("x"))(X),
        ValueError,
        "a mesh of devices",
    ),
]


@pytest.mark.parametrize("number", range(len(REFUSALS)))
def test_refusals(square: Mesh, number: int) -> None:
    call, error, text = REFUSALS[number]
    with pytest.raises(error) as raised:
        call(square)
    assert text in str(raised.value)


def test_cotangents_of_what_members_share_are_summed(square: Mesh) -> None:
    """Also where a branch is chosen by each member for itself, if the value is cast before."""

    def f(w: Any, x: Any) -> Any:
        w = lax.pcast(w, "x", to="varying")
        return lax.psum(lax.cond(x[0] > 0, lambda: jnp.sum(w * x), lambda: 0.0), "x")

    grad = jax.grad(mapped(f, square, (P(), P("x")), P()))(2.0, X)
    np.testing.assert_allclose(grad, X[4:].sum())
