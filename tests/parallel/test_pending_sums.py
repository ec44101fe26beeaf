"""Sums over an axis of the mesh that are still to be taken: of arrays, and of their cotangents."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
import pytest

import morphax as jax
import morphax.numpy as jnp
from morphax import P, lax
from morphax.core import check_jaxpr
from morphax.sharding import auto_axes, reshard

A = np.random.default_rng(0).normal(size=(4, 8)).astype(np.float32)
B = np.random.default_rng(1).normal(size=(8, 6)).astype(np.float32)


@pytest.fixture(autouse=True, scope="module")
def mesh() -> Iterator[Any]:
    found = jax.make_mesh((2, 2), ("x", "y"), devices=jax.devices("cpu")[:4])
    with jax.set_mesh(found):
        yield found


def operands() -> tuple[Any, Any]:
    return reshard(A, P(None, "x")), reshard(B, P("x", "y"))


def product() -> Any:
    """A B, of which each device along x has a summand."""
    return jnp.dot(*operands(), out_sharding=P(None, "y", unreduced={"x"}))


def total(x: Any) -> np.ndarray[Any, Any]:
    return np.asarray(reshard(x, jax.typeof(x).sharding.spec.update(unreduced=(), reduced=())))


OPERATIONS: dict[str, Callable[[Any], Any]] = {
    "neg": lambda u: -u,
    "add": lambda u: u + u * 2.0,
    "sub": lambda u: 3.0 * u - u / 2.0,
    "mean": lambda u: u.mean(0),
    "sum": lambda u: u.sum(1),
    "cumsum": lambda u: jnp.cumsum(u, 0),
    "transpose": lambda u: u.T,
    "reshape": lambda u: u.reshape(2, 2, 6),
    "broadcast": lambda u: jnp.broadcast_to(u, (3, 4, 6)),
    "reverse": lambda u: u[::-1],
    "slice": lambda u: u[1:3],
    "gather": lambda u: u[jnp.array([0, 2])],
    "dynamic_slice": lambda u: lax.dynamic_slice(u, (1, 0), (2, 6)),
    "dynamic_update_slice": lambda u: lax.dynamic_update_slice(u, u[:2], (1, 0)),
    "concatenate": lambda u: jnp.concatenate([u, u]),
    "stack": lambda u: jnp.stack([u, 2.0 * u]),
    "tile": lambda u: jnp.tile(u, (2, 1)),
    "repeat": lambda u: jnp.repeat(u, 2, 0),
    "split": lambda u: jnp.split(u, 2)[1],
    "roll": lambda u: jnp.roll(u, 1, 0),
    "complex": lambda u: lax.complex(u, 2.0 * u),
    "conj": lambda u: jnp.conj(lax.complex(u, u)),
    "half": lambda u: u.astype(jnp.float64),
    "select": lambda u: lax.select(jnp.arange(24).reshape(4, 6) % 2 == 0, u, -u),
    "barrier": lambda u: lax.optimization_barrier((u, u))[1],
    "stop_gradient": lax.stop_gradient,
    "times what is reduced": lambda u: u * reshard(jnp.ones((4, 6)), P(None, "y", reduced={"x"})),
    "product with what is reduced": lambda u: jnp.dot(reshard(A[:2, :4], P(reduced={"x"})), u),
    "jit": jax.jit(lambda u: u + u),
    "vmap": jax.vmap(lambda row: row + row),
    "remat": jax.checkpoint(lambda u: u * 2.0),
    "cond": lambda u: lax.cond(jnp.arange(3)[1] > 0, lambda v: -v, lambda v: v + v, u),
    "scan": lambda u: lax.scan(lambda c, _: (c + c, None), u, None, length=2)[0],
    "while": lambda u: lax.fori_loop(0, jnp.arange(4)[3], lambda i, c: c + c, u),
}


def test_each_device_does_it_with_its_summand() -> None:
    with jax.enable_x64(True):
        u = product()
        same = reshard(u, P(None, "y", reduced={"x"}))
        assert str(jax.typeof(u)) == "float32[4,6@y]{U:x}"

        def everything(v: Any) -> list[Any]:
            return [function(v) for function in OPERATIONS.values()]

        found, wanted = jax.jit(everything)(u), jax.jit(everything)(same)
        check_jaxpr(jax.make_jaxpr(everything)(u))
        for name, x, truth in zip(OPERATIONS, found, wanted, strict=True):
            assert str(jax.typeof(x)) == str(jax.typeof(truth)).replace("{R:x}", "") + "{U:x}", name
            np.testing.assert_allclose(total(x), truth, 1e-5, 1e-5, err_msg=name)


@pytest.mark.parametrize("name", ["sub", "concatenate", "cumsum", "barrier", "complex"])
def test_outside_of_jit(name: str) -> None:
    u = product()
    found, truth = OPERATIONS[name](u), OPERATIONS[name](reshard(u, P(None, "y")))
    np.testing.assert_allclose(total(found), truth, 1e-5, 1e-5)


REFUSED: dict[str, Callable[[Any], Any]] = {
    "of sums is no sum": jnp.sin,
    "product of sums": lambda u: u * u,
    "quotient of sums": lambda u: u / u,
    "adds a number to each summand": lambda u: u + 1.0,
    "adds what is whole": lambda u: u + reshard(jnp.ones((4, 6)), P(None, "y")),
    "times what is not reduced": lambda u: u * reshard(jnp.ones((4, 6)), P(None, "y")),
    "times what is split": lambda u: u.T * reshard(jnp.ones((6, 4)), P(None, "x")),
    "maximum": lambda u: u.max(0),
    "order": lambda u: jnp.sort(u, 0),
    "to integers": lambda u: u.astype(jnp.int32),
    "rounding": lambda u: lax.reduce_precision(u, 8, 7),
    "comparison": lambda u: jnp.where(u > 0, u, 0.0),
    "fills in a number": lambda u: jnp.pad(u, ((1, 1), (0, 0))),
    "a branch that is whole": lambda u: jnp.where(True, u, jnp.zeros((4, 6))),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_not_linear_is_refused(name: str) -> None:
    u = product()
    with pytest.raises(TypeError, match="sums over 'x' that are still to be taken"):
        REFUSED[name](u)
    with pytest.raises(TypeError, match="sums over 'x'"):
        jax.make_jaxpr(REFUSED[name])(u)


@pytest.mark.parametrize(
    "spec",
    [P(None, "y"), P("x", "y"), P(), P("y", "x"), P(unreduced={"x", "y"}), P(reduced={"x"})],
    ids=str,
)
@pytest.mark.parametrize("compiled", [False, True])
def test_reshard_takes_sums(spec: P, compiled: bool) -> None:
    move = (lambda x: jax.jit(lambda v: reshard(v, spec))(x)) if compiled else None
    moved = (move or (lambda x: reshard(x, spec)))(product())
    assert jax.typeof(moved).sharding.spec == spec.update((*spec, *[None] * (2 - len(spec))))
    np.testing.assert_allclose(total(moved), A @ B, 1e-5, 1e-5)


@pytest.mark.parametrize("before", [P(), P("x"), P("y"), P(reduced={"x"})], ids=str)
@pytest.mark.parametrize("axes", ["x", "xy"])
def test_what_is_whole_is_one_of_the_summands(before: P, axes: str) -> None:
    for function in (reshard, jax.jit(reshard, static_argnums=1)):
        x = function(reshard(A, before), P(unreduced=set(axes)))
        parts = [np.asarray(shard.data) for shard in x.addressable_shards]
        np.testing.assert_array_equal(sum(parts) * len(axes) / 2, A)
        np.testing.assert_array_equal(total(x), A)
    made = jnp.ones(4, out_sharding=P(unreduced={"x"}))
    assert total(made).tolist() == total(jax.jit(lambda x: x * 1.0)(made)).tolist() == [1.0] * 4


def test_numbers_of_a_sum_cannot_be_read() -> None:
    u = product()
    assert repr(u).startswith("Array(shape=(4, 6), dtype=float32, sharding=NamedSharding(")
    assert [shard.data.shape for shard in u.addressable_shards] == [(4, 3)] * 4
    assert not u.is_fully_replicated
    for read in (np.asarray, jax.device_get, lambda x: x.tolist()):
        with pytest.raises(NotImplementedError, match="parts are still to be summed"):
            read(u)
    whole = auto_axes(lambda v: v + 1.0, out_sharding=P())(u)
    np.testing.assert_allclose(whole, A @ B + 1.0, 1e-5, 1e-5)


PRODUCTS: dict[str, Callable[[Any, Any, Any], Any]] = {
    "dot_general": lambda a, b, s: lax.dot_general(a, b, (((1,), (0,)), ((), ())), out_sharding=s),
    "matmul": lambda a, b, s: jnp.matmul(a, b, out_sharding=s),
    "dot": lambda a, b, s: jnp.dot(a, b, out_sharding=s),
    "tensordot": lambda a, b, s: jnp.tensordot(a, b, 1, out_sharding=s),
    "einsum": lambda a, b, s: jnp.einsum("ij,jk->ik", a, b, out_sharding=s),
    "reduce_sum": lambda a, b, s: lax.reduce_sum(a[:, :, None] * b[None], (1,), out_sharding=s),
}


@pytest.mark.parametrize("name", PRODUCTS)
def test_products_put_their_sums_off(name: str) -> None:
    function = jax.jit(lambda a, b: PRODUCTS[name](a, b, P(None, "y", unreduced={"x"})))
    found = function(*operands())
    assert str(jax.typeof(found)) == "float32[4,6@y]{U:x}"
    np.testing.assert_allclose(total(found), A @ B, 1e-5, 1e-5)
    assert "all-reduce" not in function.lower(*operands()).compile().as_text()


@pytest.mark.parametrize("name", PRODUCTS)
@pytest.mark.parametrize("spec", [P(unreduced={"y"}), P(unreduced={"x", "y"})], ids=str)
def test_sums_over_other_axes_are_refused(name: str, spec: P) -> None:
    with pytest.raises(TypeError, match="those over which what is summed is split"):
        PRODUCTS[name](reshard(A, P(None, "x")), reshard(B, P("x")), spec)


def test_gradients_are_summed_when_they_are_asked_for() -> None:
    x, w = reshard(A, P("x")), reshard(B, P())

    def loss(weights: Any) -> Any:
        return jnp.sin(x @ weights).sum()

    def put_off(weights: Any) -> Any:
        return loss(reshard(weights, P(reduced={"x"})))

    truth = jax.grad(loss)(w)
    summand = jax.grad(loss)(reshard(w, P(reduced={"x"})))
    assert str(jax.typeof(summand)) == "float32[8,6]{U:x}"
    np.testing.assert_allclose(total(summand), truth, 1e-5, 1e-5)
    np.testing.assert_allclose(jax.grad(put_off)(w), truth, 1e-5, 1e-5)
    check_jaxpr(jax.make_jaxpr(jax.grad(put_off))(w))
    # Two batches, and one sum for both.
    step = jax.jit(lambda v: jax.grad(loss)(v) + jax.grad(loss)(2.0 * v))
    text = step.lower(reshard(w, P(reduced={"x"}))).compile().as_text()
    assert "all-reduce" not in text
    second = jax.grad(lambda v: jnp.vdot(jax.grad(put_off)(v), v))(w)
    plain = jax.grad(lambda v: jnp.vdot(jax.grad(loss)(v), v))(w)
    np.testing.assert_allclose(second, plain, 1e-4, 1e-4)


def test_the_cotangent_of_a_sum_is_reduced() -> None:
    a, b = operands()

    def summed(a: Any) -> Any:
        return reshard(jnp.dot(a, b, out_sharding=P(None, "y", unreduced={"x"})), P(None, "y"))

    truth = jax.grad(lambda a: jnp.sin(a @ B).sum())(jnp.asarray(A))
    np.testing.assert_allclose(jax.grad(lambda a: jnp.sin(summed(a)).sum())(a), truth, 1e-5, 1e-5)
    _, pull = jax.vjp(lambda a: jnp.dot(a, b, out_sharding=P(None, "y", unreduced={"x"})), a)
    ct = reshard(jnp.ones_like(A @ B), P(None, "y", reduced={"x"}))
    np.testing.assert_allclose(pull(ct)[0], np.ones_like(A @ B) @ B.T, 1e-5, 1e-5)


def test_derivatives_of_operations_on_sums() -> None:
    names = "mean", "concatenate", "slice", "scan", "gather", "cumsum", "select", "dynamic_slice"

    def gradients(v: Any, **before: Any) -> list[Any]:
        def loss(v: Any, name: str) -> Any:
            y = OPERATIONS[name](reshard(v, P(None, "y", **before)))
            return jnp.sin(reshard(y, jax.typeof(y).sharding.spec.update(unreduced=()))).sum()

        return [jax.grad(loss)(v, name) for name in names]

    whole = reshard(A[:, :6], P(None, "y"))
    truth = jax.jit(gradients)(whole)
    for kind in ("unreduced", "reduced"):
        found = jax.jit(partial(gradients, **{kind: ("x",)}))(whole)
        for name, x, y in zip(names, found, truth, strict=True):
            np.testing.assert_allclose(x, y, 1e-5, 1e-5, err_msg=f"{name}, {kind}")


def test_members_have_summands() -> None:
    u = reshard(A, P(unreduced={"x"}))
    of_sum = jax.shard_map(lambda v: lax.psum(v, "x"), out_specs=P())
    np.testing.assert_allclose(of_sum(u), A, 1e-6)
    scattered = jax.shard_map(
        lambda v: lax.psum_scatter(v, "x", tiled=True),
        in_specs=P(unreduced={"x"}),
        out_specs=P("x"),
    )
    np.testing.assert_allclose(jax.jit(scattered)(u), A, 1e-6)
    x, w = reshard(A, P("x")), reshard(B[0], P(reduced={"x"}))
    column = jax.shard_map(
        lambda v: lax.pcast(v.sum(0), "x", to="unreduced"),
        in_specs=P("x"),
        out_specs=P(unreduced={"x"}),
    )
    assert str(jax.typeof(column(x))) == "float32[8]{U:x}"
    np.testing.assert_allclose(total(column(x)), A.sum(0), 1e-5)
    np.testing.assert_allclose(total(jax.jit(column)(x)), A.sum(0), 1e-5)

    def loss(w: Any) -> Any:
        in_specs = P("x"), P(reduced={"x"})
        each = jax.shard_map(
            lambda v, w: jnp.sin(v[:, :6] * w), in_specs=in_specs, out_specs=P("x")
        )
        return each(x, w).sum()

    truth = jax.grad(lambda w: jnp.sin(A[:, :6] * w).sum())(jnp.asarray(B[0]))
    for gradient in (jax.grad(loss), jax.jit(jax.grad(loss))):
        assert str(jax.typeof(gradient(w))) == "float32[6]{U:x}"
        np.testing.assert_allclose(total(gradient(w)), truth, 1e-5, 1e-5)


def test_members_and_sums_that_do_not_fit() -> None:
    unreduced = P(unreduced={"x"})
    u, x = reshard(A, unreduced), reshard(A, P("x"))
    cases: list[tuple[Any, Any, Any, Any, str]] = [
        (lambda v: v, P(), P(), u, "the type of the argument says"),
        (lambda v: v, P(unreduced={"x"}), P(unreduced={"x"}), reshard(A, P()), "type of the argum"),
        (lambda v: lax.psum(v, "x"), P("x"), P(unreduced={"x"}), x, "added to itself"),
        (lambda v: v.sum(), P("x"), P(reduced={"x"}), x, "same for all members, to be red"),
        (lambda v: lax.pcast(v, "x", to="unreduced"), P(), P(), A, "same along x"),
        (lambda v: lax.ppermute(v, "x", [(0, 1)]), unreduced, unreduced, u, "summands of members"),
        (lambda v: v, unreduced, P("x"), u, "one that says that it is unreduced"),
    ]
    for function, in_specs, out_specs, value, text in cases:
        with pytest.raises(ValueError, match=text):
            jax.shard_map(function, in_specs=in_specs, out_specs=out_specs)(value)
    some = jax.shard_map(lambda v: v, in_specs=P(), out_specs=P(), axis_names={"y"})
    with pytest.raises(ValueError, match="Take the sum"):
        some(u)


@pytest.mark.parametrize(
    ("function", "out_specs", "truth"),
    [
        (lambda v: -2.0 * v.reshape(8, 4) / 3, P(unreduced={"x"}), -2 * A.reshape(8, 4) / 3),
        (lambda v: lax.psum(v + v, "x") * jnp.ones(8) + 1, P(), 2 * A + 1),
        (lambda v: jnp.arange(4.0) @ v, P(unreduced={"x"}), np.arange(4.0) @ A),
        (jnp.sin, P(unreduced={"x"}), None),
        (lambda v: v + 1, P(unreduced={"x"}), None),
        (lambda v: v * v, P(unreduced={"x"}), None),
        (lambda v: v * (1.0 + lax.axis_index("x")), P(unreduced={"x"}), None),
    ],
)
def test_members_use_summands_linearly(function: Any, out_specs: Any, truth: Any) -> None:
    u = reshard(A, P(unreduced={"x"}))
    members = jax.shard_map(function, in_specs=P(unreduced={"x"}), out_specs=out_specs)
    if truth is not None:
        np.testing.assert_allclose(total(members(u)), truth, 1e-5, 1e-6)
        return
    with pytest.raises(TypeError, match="summands of members along 'x'"):
        members(u)


def test_axes_that_are_not_explicit() -> None:
    kinds = (jax.sharding.AxisType.Auto,) * 2
    mesh = jax.make_mesh((2, 2), ("x", "y"), kinds, devices=jax.devices("cpu")[:4])
    with jax.set_mesh(mesh):
        both = jax.shard_map(lambda v: v, in_specs=P("x"), out_specs=P(unreduced={"x"}))
        with pytest.raises(ValueError, match="axes 'x' are not explicit"):
            both(A)


def test_a_mesh_of_one_device() -> None:
    with jax.set_mesh(jax.make_mesh((1,), ("x",), devices=jax.devices("cpu")[:1])):
        a, b = reshard(A, P(None, "x")), reshard(B, P("x"))
        u = jnp.dot(a, b, out_sharding=P(unreduced={"x"}))
        assert str(jax.typeof(u)) == "float32[4,6]{U:x}"
        np.testing.assert_allclose(total(jnp.cumsum(u, 0)), np.cumsum(A @ B, 0), 1e-5, 1e-5)
