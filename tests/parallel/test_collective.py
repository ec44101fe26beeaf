"""Collectives against what they mean, in every place where a program may have them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import morphax as jax
import morphax.numpy as jnp
from morphax import lax
from morphax.core import check_jaxpr

from .numpy_twins import COLLECTIVES, Collective, by_groups

MEMBERS = 4
GROUPS = [[[0, 1], [2, 3]], [[3, 0], [1, 2]], [[2], [0], [3], [1]], [[1, 3, 0, 2]]]

every = pytest.mark.parametrize("case", list(COLLECTIVES.values()), ids=list(COLLECTIVES))
GROUPED = {name: c for name, c in COLLECTIVES.items() if c.grouped}
every_grouped = pytest.mark.parametrize("case", list(GROUPED.values()), ids=list(GROUPED))
LINEAR = {name: c for name, c in COLLECTIVES.items() if c.linear}
every_linear = pytest.mark.parametrize("case", list(LINEAR.values()), ids=list(LINEAR))


def same(given: Any, expected: Any) -> None:
    np.testing.assert_allclose(given, expected, rtol=1e-5, atol=1e-6)


def mapped(case: Collective, **options: Any) -> Any:
    return jax.vmap(lambda x: case.function(x, "i"), axis_name="i", **options)


@every
@pytest.mark.parametrize("place", [0, 1, -1])
def test_wherever_the_batch_axis_is(case: Collective, place: int) -> None:
    xs = case.operands(MEMBERS)
    place = min(place, xs.ndim - 1)
    expected = case.twin(xs)
    moved = np.moveaxis(xs, 0, place)
    same(mapped(case, in_axes=place)(moved), expected)
    same(jax.jit(mapped(case, in_axes=place))(moved), expected)
    out = min(place, expected.ndim - 1)
    same(mapped(case, in_axes=place, out_axes=out)(moved), np.moveaxis(expected, 0, out))


@every
def test_inside_operations_with_a_body(case: Collective) -> None:
    xs = case.operands(MEMBERS)
    expected = case.twin(xs)

    def f(x: Any) -> Any:
        return case.function(x, "i")

    bodies = {
        "jit": jax.jit(f),
        "cond": lambda x: lax.cond(True, f, lambda x: jnp.zeros_like(f(x)), x),
        "cond of a batched choice": lambda x: lax.cond(x.sum() > -99, f, lambda x: 0 * f(x), x),
        "scan": lambda x: lax.scan(lambda c, _: (c, f(c)), x, None, length=2)[1][1],
        "while": lambda x: lax.while_loop(
            lambda s: s[0] < 2, lambda s: (s[0] + 1, f(x)), (0, 0 * f(x))
        )[1],
    }
    for name, body in bodies.items():
        result = jax.vmap(body, axis_name="i")(xs)
        np.testing.assert_allclose(result, expected, rtol=1e-5, atol=1e-6, err_msg=name)


@every
def test_of_equal_operands(case: Collective) -> None:
    x = case.operands(MEMBERS)[0]
    result = jax.vmap(lambda _: case.function(x, "i"), axis_name="i")(np.zeros(MEMBERS))
    same(result, case.twin(np.stack([x] * MEMBERS)))


@every
def test_beside_axes_that_do_not_communicate(case: Collective) -> None:
    xs = np.stack([case.operands(MEMBERS), 2.0 + case.operands(MEMBERS)])
    expected = np.stack([case.twin(x) for x in xs])
    same(jax.vmap(mapped(case))(xs), expected)
    inside = jax.vmap(jax.vmap(lambda x: case.function(x, "i")), axis_name="i", in_axes=1)
    same(inside(xs), np.swapaxes(expected, 0, 1))
    last = jax.vmap(jax.vmap(lambda x: case.function(x, "i"), in_axes=-1), axis_name="i", in_axes=1)
    same(last(np.moveaxis(xs, 0, -1).swapaxes(0, 1)), np.swapaxes(expected, 0, 1))


@every_grouped
@pytest.mark.parametrize("groups", GROUPS, ids=str)
def test_in_groups(case: Collective, groups: Any) -> None:
    xs = case.operands(MEMBERS, len(groups[0]))
    expected = by_groups(case.twin, groups)(xs)

    def f(x: Any) -> Any:
        return case.function(x, "i", axis_index_groups=groups)

    same(jax.vmap(f, axis_name="i")(xs), expected)
    same(jax.jit(jax.vmap(jax.jit(f), axis_name="i"))(xs), expected)
    if case.linear:
        check_adjoint(lambda xs: jax.vmap(f, axis_name="i")(xs), xs)


@every
@pytest.mark.parametrize("order", [("i", "j"), ("j", "i")])
def test_over_two_axes(case: Collective, order: tuple[str, str]) -> None:
    xs = case.operands(MEMBERS)

    def f(x: Any) -> Any:
        return case.function(x, order)

    both = jax.vmap(jax.vmap(f, axis_name=order[1]), axis_name=order[0])
    expected = case.twin(xs)
    expected = expected.reshape(2, 2, *expected.shape[1:])
    square = xs.reshape(2, 2, *xs.shape[1:])
    same(both(square), expected)
    same(jax.jit(both)(square), expected)
    exchanged = jax.vmap(jax.vmap(f, axis_name=order[0]), axis_name=order[1])
    same(exchanged(square.swapaxes(0, 1)), expected.swapaxes(0, 1))


@every_grouped
@pytest.mark.parametrize("groups", GROUPS[1:3], ids=str)
def test_over_two_axes_in_groups(case: Collective, groups: Any) -> None:
    xs = case.operands(MEMBERS, len(groups[0]))
    expected = by_groups(case.twin, groups)(xs)
    both = jax.vmap(
        jax.vmap(lambda x: case.function(x, ("i", "j"), axis_index_groups=groups), axis_name="j"),
        axis_name="i",
    )
    square = xs.reshape(2, 2, *xs.shape[1:])
    same(both(square), expected.reshape(2, 2, *expected.shape[1:]))


def test_over_one_of_two_axes() -> None:
    x = np.arange(6.0, dtype=np.float32).reshape(2, 3)

    def both(f: Any) -> Any:
        return jax.vmap(jax.vmap(f, axis_name="j"), axis_name="i")(x)

    same(both(lambda x: lax.psum(x, "i")), np.broadcast_to(x.sum(0), (2, 3)))
    same(both(lambda x: lax.psum(x, "j")), np.broadcast_to(x.sum(1, keepdims=True), (2, 3)))
    same(both(lambda x: lax.axis_index("j") - lax.axis_index("i")), [[0, 1, 2], [-1, 0, 1]])


def test_three_axes_of_different_sizes() -> None:
    x = np.random.default_rng(0).normal(size=(2, 3, 5, 30)).astype(np.float32)
    names = ("k", "i", "j")
    f = jax.vmap(
        jax.vmap(
            jax.vmap(lambda x: lax.psum_scatter(x, names, tiled=True), axis_name="k"),
            axis_name="j",
        ),
        axis_name="i",
    )
    parts = x.sum((0, 1, 2)).reshape(5, 2, 3)
    same(f(x)[..., 0], np.transpose(parts, (1, 2, 0)))


def check_adjoint(f: Any, xs: Any) -> None:
    """That jvp applies the linear `f`, and vjp its transpose: ⟨w, f(v)⟩ = ⟨fᵀ(w), v⟩."""
    out, pull = jax.vjp(f, xs)
    rng = np.random.default_rng(1)
    v, w = rng.normal(size=xs.shape), rng.normal(size=out.shape)
    v, w = v.astype(np.float32), w.astype(np.float32)
    pushed = jax.jvp(f, (xs,), (v,))[1]
    same(pushed, f(v))
    np.testing.assert_allclose(np.vdot(pull(w)[0], v), np.vdot(w, pushed), rtol=1e-4, atol=1e-4)


@every_linear
def test_derivatives_outside(case: Collective) -> None:
    check_adjoint(mapped(case), case.operands(MEMBERS))
    check_adjoint(jax.jit(mapped(case)), case.operands(MEMBERS))


@every_linear
def test_derivatives_inside_are_those_outside(case: Collective) -> None:
    """The transpose of a collective is a collective."""
    xs = case.operands(MEMBERS)
    out, pull = jax.vjp(mapped(case), xs)
    w = np.random.default_rng(1).normal(size=out.shape).astype(np.float32)

    def member(x: Any, w: Any) -> Any:
        return jax.vjp(lambda x: case.function(x, "i"), x)[1](w)[0]

    same(jax.vmap(member, axis_name="i")(xs, w), pull(w)[0])
    same(jax.vmap(jax.jit(member), axis_name="i")(xs, w), pull(w)[0])


@every_linear
@pytest.mark.parametrize("groups", GROUPS[:2], ids=str)
def test_derivatives_inside_groups(case: Collective, groups: Any) -> None:
    if not case.grouped:
        return
    xs = case.operands(MEMBERS, 2)

    def f(x: Any) -> Any:
        return case.function(x, "i", axis_index_groups=groups)

    out, pull = jax.vjp(jax.vmap(f, axis_name="i"), xs)
    w = np.random.default_rng(1).normal(size=out.shape).astype(np.float32)
    inside = jax.vmap(lambda x, w: jax.vjp(f, x)[1](w)[0], axis_name="i")
    same(inside(xs, w), pull(w)[0])


def test_second_derivatives() -> None:
    xs = np.array([1.0, 2.0, 4.0], np.float32)

    def normalized(x: Any) -> Any:
        return jax.vmap(lambda x: x / lax.psum(x * x, "i"), axis_name="i")(x)

    def plain(x: Any) -> Any:
        return x / (x * x).sum()

    same(jax.jacrev(normalized)(xs), jax.jacrev(plain)(xs))
    same(jax.jacfwd(normalized)(xs), jax.jacfwd(plain)(xs))
    same(jax.jacfwd(jax.jacrev(normalized))(xs), jax.jacfwd(jax.jacrev(plain))(xs))


def test_the_extremes_have_no_derivative() -> None:
    with pytest.raises(TypeError, match="differentiation of pmax"):
        jax.vmap(jax.grad(lambda x: lax.pmax(x, "i")), axis_name="i")(np.ones(2, np.float32))


@every
def test_programs_are_well_typed(case: Collective) -> None:
    xs = case.operands(MEMBERS)
    check_jaxpr(jax.make_jaxpr(mapped(case))(xs))
    check_jaxpr(jax.make_jaxpr(lambda x: case.function(x, "i"), axis_env=[("i", 4)])(xs[0]))
    outer = jax.vmap(lambda x: case.function(x, "i"), in_axes=-1, out_axes=-1)
    moved = np.moveaxis(xs[:2], 0, -1)
    check_jaxpr(jax.make_jaxpr(outer, axis_env=[("i", 4)])(moved))


@pytest.mark.parametrize("name", ["psum", "all_gather", "psum_scatter", "all_to_all"])
def test_no_members(name: str) -> None:
    case = COLLECTIVES[name]
    xs = np.zeros((0, *case.shape(0)), np.float32)
    assert mapped(case)(xs).shape[0] == 0


def test_a_member_may_be_a_tree() -> None:
    xs = {"a": np.arange(2.0, dtype=np.float32), "b": (np.ones(2, np.float32),)}
    out = jax.vmap(lambda t: lax.psum(t, "i"), axis_name="i")(xs)
    same(out["a"], [1.0, 1.0])
    same(out["b"][0], [2.0, 2.0])
    gathered = jax.vmap(lambda t: lax.all_gather(t, "i"), axis_name="i", out_axes=None)(xs)
    same(gathered["a"], xs["a"])


def test_results_equal_for_all_need_no_batch_axis() -> None:
    for f in (lax.psum, lax.pmax, lax.all_gather):
        jax.vmap(lambda x, f=f: f(x, "i"), axis_name="i", out_axes=None)(np.ones(2))
    with pytest.raises(ValueError, match="differs between members"):
        jax.vmap(lambda x: lax.ppermute(x, "i", []), axis_name="i", out_axes=None)(np.ones(2))


def test_one_function_over_axes_of_different_sizes() -> None:
    """Programs remembered for one size must not serve another."""

    def f(x: Any) -> Any:
        return lax.psum(1.0, "i") * x + lax.axis_size("i")

    for g in (f, jax.jit(f), lambda x: lax.scan(lambda c, _: (f(c), None), x, None, length=1)[0]):
        for size in (2, 3, 2):
            same(jax.vmap(g, axis_name="i")(np.ones(size, np.float32)), np.full(size, 2.0 * size))


def test_one_function_over_axes_that_change_places() -> None:
    def f(x: Any) -> Any:
        return lax.all_gather(x, ("a", "b", "c"), tiled=True)

    for sizes in ((2, 3, 4), (3, 2, 4), (4, 3, 2)):
        xs = np.arange(24.0, dtype=np.float32).reshape(*sizes, 1)
        g = jax.vmap(jax.vmap(jax.vmap(jax.jit(f), axis_name="c"), axis_name="b"), axis_name="a")
        same(g(xs)[0, 0, 0], np.arange(24.0))


TEXTS = [
    (lambda x: lax.psum(x, "i"), "b:f32[4,8] = psum[axes=('i',) axis_index_groups=None] a"),
    (
        lambda x: lax.pmax(x, "i", axis_index_groups=[[0, 1], [2, 3]]),
        "b:f32[4,8] = pmax[axes=('i',) axis_index_groups=((0, 1), (2, 3))] a",
    ),
    (
        lambda x: lax.all_gather(x, ("i", "j"), axis=-1),
        "b:f32[4,8,8] = all_gather[ all_gather_dimension=2 axis_index_groups=None "
        "axis_name=('i', 'j') axis_size=8 tiled=False ] a",
    ),
    (
        lambda x: lax.psum_scatter(x, "i", scatter_dimension=1, tiled=True),
        "b:f32[4,2] = reduce_scatter[ axis_index_groups=None axis_name=('i',) axis_size=4 "
        "scatter_dimension=1 tiled=True ] a",
    ),
    (
        lambda x: lax.all_to_all(x, "i", 1, 0, tiled=True),
        "b:f32[16,2] = all_to_all[ axis_index_groups=None axis_name=i concat_axis=0 "
        "split_axis=1 tiled=True ] a",
    ),
    (
        lambda x: lax.all_to_all(x, "i", 0, 1),
        "b:f32[4,8,1] = broadcast_in_dim[broadcast_dimensions=(0, 1)] a "
        "c:f32[1,8,4] = all_to_all[ axis_index_groups=None axis_name=i concat_axis=2 "
        "split_axis=0 tiled=False ] b d:f32[8,4] = squeeze[dimensions=(0,)] c",
    ),
    (
        lambda x: lax.ppermute(x, "i", [(0, 1), (1, 2)]),
        "b:f32[4,8] = ppermute[axis_name=('i',) perm=((0, 1), (1, 2))] a",
    ),
    (
        lambda x: lax.pshuffle(x, "i", [1, 2, 3, 0]),
        "b:f32[4,8] = ppermute[ axis_name=('i',) perm=((1, 0), (2, 1), (3, 2), (0, 3)) ] a",
    ),
    (lambda x: lax.pbroadcast(x, "i", 2), "b:f32[4,8] = pbroadcast[axis_name=i source=2] a"),
    (lambda x: lax.axis_index("i"), "let b:i32[] = axis_index[axis_name=i] in (b,)"),
]


@pytest.mark.parametrize(("function", "text"), TEXTS, ids=[text for _, text in TEXTS])
def test_printed_programs(function: Any, text: str) -> None:
    """Recorded from JAX 0.10.1."""
    jaxpr = jax.make_jaxpr(function, axis_env=[("i", 4), ("j", 2)])(np.ones((4, 8), np.float32))
    assert text in " ".join(str(jaxpr).split())
