"""The algebra of transformations, as laws that hold for random programs.

A law says that a function made by transformations equals one made in another way.  The left side
runs eagerly and compiled, and the program it becomes type-checks; the right side runs eagerly.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, final

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

import morphax as jax
import morphax.numpy as jnp
from morphax.core import check_jaxpr
from tests.sampling import IS_WHOLE
from tests.transforms.random_programs import Program, programs, scalar

# Relative to the largest magnitude among the results; rounding adds up along a program.
TOLERANCE = {"float64": 1e-8, "float32": 2e-3, "bfloat16": 0.3}
LONGEST_LOOP = 5

Function = Callable[..., Any]


@final
class Sides(NamedTuple):
    """Two functions of the arguments that are to be equal."""

    left: Function
    right: Function
    arguments: tuple[Any, ...]


def same(given: Any, expected: Any, dtype: str) -> None:
    """Two trees of arrays are equal, whole numbers exactly."""
    assert jax.tree.structure(given) == jax.tree.structure(expected)
    pairs = zip(jax.tree.leaves(given), jax.tree.leaves(expected), strict=True)
    for a, b in [(np.asarray(a), np.asarray(b)) for a, b in pairs]:
        assert a.shape == b.shape
        assert a.dtype == b.dtype
        if a.dtype.kind in "biu" or a.dtype == jax.float0:
            np.testing.assert_array_equal(a, b)
            continue
        b = b.astype(np.float64)
        scale = max(np.abs(b[np.isfinite(b)]).max(initial=0.0), 1.0)
        np.testing.assert_allclose(a.astype(np.float64), b, rtol=0, atol=TOLERANCE[dtype] * scale)


def holds(law: Callable[[Program], Sides], program: Program) -> None:
    """Check a law on one program."""
    with jax.enable_x64(True), jax.enable_checks(True), jax.reverse_while(LONGEST_LOOP):
        left, right, arguments = law(program)
        expected = right(*arguments)
        check_jaxpr(jax.make_jaxpr(left)(*arguments))
        same(left(*arguments), expected, program.dtype)
        same(jax.jit(left)(*arguments), expected, program.dtype)


def inexact_part(program: Program, ints: Any) -> Function:
    """The program as a differentiable function of a tree."""
    return lambda floats: program(floats, ints)[0]


def direction(like: Any, seed: int) -> Any:
    """A tree of numbers with the shapes and dtypes of another."""
    rng = np.random.default_rng(seed)
    return jax.tree.map(lambda x: rng.normal(size=x.shape).astype(x.dtype), like)


def inner(a: Any, b: Any) -> Any:
    """The inner product of two trees."""
    pairs = zip(jax.tree.leaves(a), jax.tree.leaves(b), strict=True)
    return sum([jnp.sum(x * y) for x, y in pairs])


def batch(program: Program, size: int, axes: Any) -> Any:
    """Arguments of `size` members, stacked along `axes`; `None`: that of the first member."""
    members = [program.arguments(seed) for seed in range(max(size, 1))]
    structure = jax.tree.structure(members[0])

    def stacked(axis: Any, *values: Any) -> Any:
        if axis is None:
            return values[0]
        return np.stack(values, axis).take(range(size), axis)

    columns = zip(*map(jax.tree.leaves, members), strict=True)
    return structure.unflatten([stacked(a, *c) for a, c in zip(axes, columns, strict=True)])


def loop(f: Function, size: int, axes: Sequence[Any]) -> Function:
    """What vmap computes, member by member."""

    def looped(*arguments: Any) -> Any:
        leaves, structure = jax.tree.flatten(arguments)
        members = [
            f(
                *structure.unflatten(
                    [
                        x if a is None else np.take(x, i, a)
                        for x, a in zip(leaves, axes, strict=True)
                    ]
                )
            )
            for i in range(size)
        ]
        return jax.tree.map(lambda *xs: np.stack(xs), *members)

    return looped


def jit_changes_nothing(p: Program) -> Sides:
    return Sides(p, p, p.arguments())


def _vmap_sides(f: Function, p: Program, size: int, axes: Sequence[Any]) -> Sides:
    arguments = batch(p, size, axes)
    in_axes = jax.tree.structure(arguments, is_leaf=lambda x: x is None).unflatten(axes)
    return Sides(jax.vmap(f, in_axes), loop(f, size, axes), arguments)


# Batch axes of the arguments: shapes (3,), (2, 2), (), (2, 0), and whole numbers (3,), ().
PLACEMENTS = (
    (0, 0, 0, 0, 0, 0),
    (1, 2, 0, 1, 1, 0),
    (None, 1, None, -1, None, None),
    (-1, None, None, None, 0, None),
    (None, None, 0, None, None, 0),
    (None, None, None, None, 0, 0),
)


def vmap_is_a_loop(placement: Sequence[Any], size: int) -> Callable[[Program], Sides]:
    return lambda p: _vmap_sides(p, p, size, placement)


def vmap_to_another_axis(p: Program) -> Sides:
    arguments = batch(p, 2, PLACEMENTS[0])
    looped = loop(p, 2, PLACEMENTS[0])
    return Sides(
        jax.vmap(p, out_axes=-1),
        lambda *x: jax.tree.map(lambda y: np.moveaxis(y, 0, -1), looped(*x)),
        arguments,
    )


def vmap_of_nothing(p: Program) -> Sides:
    shapes = jax.eval_shape(p, *p.arguments())
    nothing = jax.tree.map(lambda x: np.zeros((0, *x.shape), x.dtype), shapes)
    return Sides(jax.vmap(p), lambda *_: nothing, batch(p, 0, PLACEMENTS[0]))


def vmap_of_grad(p: Program) -> Sides:
    def f(floats: Any, ints: Any) -> Any:
        return jax.grad(lambda floats: scalar(p(floats, ints)[0]))(floats)

    return _vmap_sides(f, p, 2, PLACEMENTS[1])


def vmap_of_jvp(p: Program) -> Sides:
    v = direction(p.arguments()[0], 1)

    def f(floats: Any, ints: Any) -> Any:
        return jax.jvp(inexact_part(p, ints), (floats,), (v,))

    return _vmap_sides(f, p, 2, PLACEMENTS[2])


def _of_floats(make: Callable[[Function, Any], tuple[Function, Function]]) -> Any:
    """A law of the differentiable part of a program, as a function of floats."""

    def law(p: Program) -> Sides:
        floats, ints = p.arguments()
        return Sides(*make(inexact_part(p, ints), floats), (floats,))

    return law


def _grad_of_jit(f: Function, _: Any) -> Any:
    return jax.grad(jax.jit(lambda x: scalar(f(x)))), jax.grad(lambda x: scalar(f(x)))


def _linearize_is_jvp(f: Function, x: Any) -> Any:
    v = direction(x, 1)

    def left(x: Any) -> Any:
        out, push = jax.linearize(f, x)
        return out, push(v)

    return left, lambda x: jax.jvp(f, (x,), (v,))


def _vjp_transposes_jvp(f: Function, x: Any) -> Any:
    v = direction(x, 1)

    def left(x: Any) -> Any:
        out, pullback = jax.vjp(f, x)
        return inner(pullback(_cotangent(out))[0], v)

    def right(x: Any) -> Any:
        out, tangent = jax.jvp(f, (x,), (v,))
        return inner(_cotangent(out), tangent)

    return left, right


def _cotangent(out: Any) -> Any:
    return direction(out, 2)


def _vjp_is_linear_transpose(f: Function, x: Any) -> Any:
    def left(x: Any) -> Any:
        out, push = jax.linearize(f, x)
        return jax.linear_transpose(push, x)(_cotangent(out))[0]

    def right(x: Any) -> Any:
        out, pullback = jax.vjp(f, x)
        return pullback(_cotangent(out))[0]

    return left, right


def _vjp_is_transpose_of_jvp(f: Function, x: Any) -> Any:
    def left(x: Any) -> Any:
        ct = _cotangent(jax.eval_shape(f, x))
        return jax.linear_transpose(lambda v: jax.jvp(f, (x,), (v,))[1], x)(ct)[0]

    def right(x: Any) -> Any:
        out, pullback = jax.vjp(f, x)
        return pullback(_cotangent(out))[0]

    return left, right


def _transposed_twice(f: Function, x: Any) -> Any:
    v = direction(x, 1)

    def left(x: Any) -> Any:
        out, push = jax.linearize(f, x)
        pull = jax.linear_transpose(push, x)
        return jax.linear_transpose(lambda ct: pull(ct)[0], out)(v)[0]

    return left, lambda x: jax.jvp(f, (x,), (v,))[1]


def _vjp_crosses_jit(f: Function, x: Any) -> Any:
    def left(x: Any) -> Any:
        out, pullback = jax.jit(lambda x: jax.vjp(f, x))(x)
        return out, jax.jit(lambda pullback, ct: pullback(ct))(pullback, _cotangent(out))

    def right(x: Any) -> Any:
        out, pullback = jax.vjp(f, x)
        return out, pullback(_cotangent(out))

    return left, right


def _first(f: Function, x: Any) -> Function:
    """A function of the first leaf."""
    return lambda first: f((first, *x[1:]))


def _jacfwd_is_jacrev(f: Function, x: Any) -> Any:
    return (
        lambda x: jax.jacfwd(_first(f, x))(x[0]),
        lambda x: jax.jacrev(_first(f, x))(x[0]),
    )


def _hessians(outer: Function, inner: Function) -> Any:
    def make(f: Function, _: Any) -> Any:
        def hessian(x: Any, outer: Function, inner: Function) -> Any:
            g = _first(lambda x: scalar(f(x)), x)
            return outer(inner(g))(x[0])

        return (
            lambda x: hessian(x, outer, inner),
            lambda x: hessian(x, jax.jacrev, jax.jacrev),
        )

    return _of_floats(make)


def _checkpoint(policy: Any) -> Any:
    def make(f: Function, x: Any) -> Any:
        return (
            jax.value_and_grad(jax.checkpoint(lambda x: scalar(f(x)), policy=policy)),
            jax.value_and_grad(lambda x: scalar(f(x))),
        )

    return _of_floats(make)


def _checkpoint_twice(f: Function, x: Any) -> Any:
    v = direction(x, 1)

    def second(f: Function) -> Function:
        return lambda x: jax.grad(
            lambda x: inner(jax.grad(lambda x: scalar(f(x)))(x), v),
        )(x)

    return second(jax.checkpoint(f)), second(f)


def _custom_jvp_restates(f: Function, x: Any) -> Any:
    restated = jax.custom_jvp(f)
    restated.defjvp(lambda primals, tangents: jax.jvp(f, primals, tangents))
    v = direction(x, 1)

    def both(g: Function) -> Function:
        return lambda x: (jax.jvp(g, (x,), (v,)), jax.grad(lambda x: scalar(g(x)))(x))

    return both(restated), both(f)


def _custom_vjp_restates(f: Function, x: Any) -> Any:
    restated = jax.custom_vjp(f)
    restated.defvjp(lambda x: jax.vjp(f, x), lambda pullback, ct: pullback(ct))

    def both(g: Function) -> Function:
        return jax.value_and_grad(lambda x: scalar(g(x)))

    return both(restated), both(f)


def _second_derivative_is_symmetric(f: Function, x: Any) -> Any:
    v, w = direction(x, 1), direction(x, 2)
    return lambda x: second(f, x, v, w), lambda x: second(f, x, w, v)


def second(f: Function, x: Any, v: Any, w: Any) -> Any:
    """D²f(x)[v, w]."""
    return jax.jvp(lambda x: jax.jvp(f, (x,), (v,))[1], (x,), (w,))[1]


def _grad_of_vmap(p: Program) -> Sides:
    floats, ints = batch(p, 3, PLACEMENTS[0])

    def left(floats: Any, ints: Any) -> Any:
        return jax.grad(lambda xs: jnp.sum(jax.vmap(lambda x, i: scalar(p(x, i)[0]))(xs, ints)))(
            floats
        )

    def one(floats: Any, ints: Any) -> Any:
        return jax.grad(lambda x: scalar(p(x, ints)[0]))(floats)

    return Sides(left, loop(one, 3, PLACEMENTS[0]), (floats, ints))


def _order_of_vmaps(p: Program) -> Sides:
    floats, ints = batch(p, 2, PLACEMENTS[0])

    def two(first: tuple[Any, Any], second: tuple[Any, Any]) -> Any:
        x = jax.tree.map(lambda a, b: a - 0.5 * b, first[0], second[0])
        return p(x, jax.tree.map(lambda a, b: a + b, first[1], second[1]))

    def left(a: Any, b: Any) -> Any:
        return jax.vmap(jax.vmap(two, (None, 0)), (0, None))(a, b)

    def right(a: Any, b: Any) -> Any:
        return jax.vmap(jax.vmap(two, (0, None)), (None, 0), out_axes=1)(a, b)

    return Sides(left, right, ((floats, ints), (floats, ints)))


@final
class Law(NamedTuple):
    """Two sides, and the programs that they are equal for."""

    sides: Callable[[Program], Sides]
    without: tuple[str, ...] = ()
    dtypes: tuple[str, ...] = ("float64",)


# What has no forward mode; loops that have a reverse mode only if they are differentiated alone.
REVERSE = ("custom_vjp",)
LOOPS = ("while",)
LAWS: dict[str, Law] = {
    "jit changes nothing": Law(jit_changes_nothing, (), ("float64", "float32", "bfloat16")),
    **{
        f"vmap is a loop {placement} of {size}": Law(vmap_is_a_loop(placement, size))
        for size, placement in zip((2, 3, 1, 2, 2, 3), PLACEMENTS, strict=True)
    },
    "vmap to another axis": Law(vmap_to_another_axis),
    "vmap of nothing": Law(vmap_of_nothing),
    "grad of jit": Law(_of_floats(_grad_of_jit), (), ("float64", "float32")),
    "vmap of grad": Law(vmap_of_grad),
    "vmap of jvp": Law(vmap_of_jvp, REVERSE),
    "grad of vmap": Law(_grad_of_vmap),
    "order of vmaps": Law(_order_of_vmaps),
    "linearize is jvp": Law(_of_floats(_linearize_is_jvp), REVERSE),
    "vjp transposes jvp": Law(_of_floats(_vjp_transposes_jvp), REVERSE, ("float64", "float32")),
    "vjp is the transpose of linearize": Law(_of_floats(_vjp_is_linear_transpose), REVERSE),
    "vjp is the transpose of jvp": Law(_of_floats(_vjp_is_transpose_of_jvp), REVERSE + LOOPS),
    "transposing twice changes nothing": Law(_of_floats(_transposed_twice), REVERSE),
    "pullbacks cross jit": Law(_of_floats(_vjp_crosses_jit)),
    "jacfwd is jacrev": Law(_of_floats(_jacfwd_is_jacrev), REVERSE),
    "hessian forward over reverse": Law(_hessians(jax.jacfwd, jax.jacrev), REVERSE),
    "hessian reverse over forward": Law(_hessians(jax.jacrev, jax.jacfwd), REVERSE),
    "hessian forward over forward": Law(_hessians(jax.jacfwd, jax.jacfwd), REVERSE),
    "checkpoint": Law(_checkpoint(None)),
    "checkpoint with a policy": Law(
        _checkpoint(lambda prim, *_, **__: str(prim) in ("sin", "dot_general", "mul"))
    ),
    "checkpoint twice": Law(_of_floats(_checkpoint_twice), REVERSE),
    "custom_jvp restates": Law(_of_floats(_custom_jvp_restates), REVERSE + LOOPS),
    "custom_vjp restates": Law(_of_floats(_custom_vjp_restates)),
    "second derivative is symmetric": Law(_of_floats(_second_derivative_is_symmetric), REVERSE),
}


# Few, for every run; thousands have been tried.  Each law has examples of its own.
FEW = settings(
    max_examples=6 if IS_WHOLE else 3,
    deadline=None,
    database=None,
    suppress_health_check=list(HealthCheck),
    phases=(Phase.generate, Phase.shrink),
)


def examples(law: Law) -> st.SearchStrategy[Program]:
    """Programs for a law."""
    found = [programs(dtype, without=("effect", *law.without)) for dtype in law.dtypes]
    return st.one_of(found)


@pytest.mark.parametrize("name", LAWS)
def test_law(name: str) -> None:
    law = LAWS[name]

    @seed(zlib.crc32(name.encode()))
    @FEW
    @given(program=examples(law))
    def check(program: Program) -> None:
        holds(law.sides, program)

    check()
