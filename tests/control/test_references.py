"""Programs with references against their twins without, run in every way; references of callers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import morphax as jax
import morphax.numpy as jnp
from morphax import lax
from morphax.core import check_jaxpr, discharge

X = np.array([0.5, 1.5, 2.0], np.float32)
XS = np.stack([X, 2.0 * X])


def assign(ref: Any, index: Any, value: Any) -> None:
    ref[index] = value


def whole(x: Any) -> Any:
    ref = jax.new_ref(x)
    ref[...] = ref[...] * x
    ref[...] += 1.0
    return jax.freeze(ref)


def parts(x: Any) -> Any:
    ref = jax.new_ref(jnp.zeros((2, 3)))
    ref[0] = x
    ref[1, 1:] = x[:2]
    ref[:, ::2] *= 3.0
    ref[-1, 0] += ref[0, 1]
    return ref[...]


def parts_twin(x: Any) -> Any:
    return jnp.array([[3 * x[0], x[1], 3 * x[2]], [x[1], x[0], 3 * x[1]]])


def arrays(x: Any) -> Any:
    ref = jax.new_ref(x)
    jax.ref.addupdate(ref, jnp.array([0, 0, 2]), x * x)
    return ref[jnp.array([2, 0])]


def arrays_twin(x: Any) -> Any:
    return jnp.array([x[2] + x[2] ** 2, x[0] + x[0] ** 2 + x[1] ** 2])


def views(x: Any) -> Any:
    ref = jax.new_ref(jnp.ones((2, 3)))
    row = ref.at[1]
    row[...] = x
    row.at[1:][0] *= 2.0
    return ref[...].sum(0)


def test_those_who_wrap_swap_are_named_in_its_errors() -> None:
    assert jax.ref.swap(jax.new_ref(2.0), ..., 3.0, _function_name="mine.swap") == 2.0
    with pytest.raises(TypeError, match=r"mine\.swap, argument ref"):
        jax.ref.swap(2.0, ..., 3.0, _function_name="mine.swap")


def exchanged(x: Any) -> Any:
    ref = jax.new_ref(x)
    before = jax.ref.swap(ref, 1, x[0] * x[2])
    return ref[...] * before


def traced_places(x: Any) -> Any:
    ref = jax.new_ref(x)

    def step(i: Any, total: Any) -> Any:
        ref[i] = ref[i] * ref[2 - i]
        ref[jax.ds(i // 2, 2)] += 1.0
        return total + ref[i]

    return lax.fori_loop(0, 3, step, 0.0) * ref[...]


def traced_places_twin(x: Any) -> Any:
    r, total = [x[0], x[1], x[2]], 0.0
    for i in range(3):
        r[i] = r[i] * r[2 - i]
        for j in (i // 2, i // 2 + 1):
            r[j] = r[j] + 1.0
        total = total + r[i]
    return total * jnp.stack(r)


def scanned(x: Any) -> Any:
    total, rows = jax.new_ref(jnp.zeros(())), jax.new_ref(x)

    def step(carry: Any, row: Any) -> Any:
        total[...] += row[...] * carry
        row[...] = row[...] ** 2
        return carry * 1.5, total[...]

    carry, sums = lax.scan(step, 1.0, rows)
    return carry * rows[...] + sums


def scanned_twin(x: Any) -> Any:
    return 1.5**3 * x**2 + jnp.cumsum(x * jnp.array([1.0, 1.5, 2.25]))


def branched(x: Any) -> Any:
    ref = jax.new_ref(x)

    def first() -> Any:
        ref[0] = ref[1] * 5.0
        return 1.0

    def second() -> Any:
        ref[...] = jnp.sin(ref[...])
        return 2.0

    y = lax.cond(x[0] < 0.7, first, second)
    return y * ref[...]


def branched_twin(x: Any) -> Any:
    return jnp.where(x[0] < 0.7, x.at[0].set(x[1] * 5.0), 2.0 * jnp.sin(x))


def called(x: Any) -> Any:
    ref = jax.new_ref(x)

    @jax.jit
    def double(other: Any) -> Any:
        other[...] *= 2.0
        inner = jax.new_ref(other[0])
        inner[...] += 1.0
        return inner[...]

    return double(ref) * ref[...]


def remembered(x: Any) -> Any:
    @jax.checkpoint
    def body(y: Any) -> Any:
        ref = jax.new_ref(jnp.sin(y))
        ref[...] *= y
        return ref[...]

    return body(x)


def looped(x: Any) -> Any:
    ref = jax.new_ref(x)

    def step(i: Any) -> Any:
        ref[...] *= x
        return i + 1

    lax.while_loop(lambda i: i < 3, step, 0)
    return ref[...]


def stopped(x: Any) -> Any:
    """The condition looks up one reference and changes another."""
    ref, count = jax.new_ref(x), jax.new_ref(0)

    def goes_on(_: Any) -> Any:
        count[...] += 1
        return ref[0] < 10.0

    def step(i: Any) -> Any:
        ref[...] *= 2.0
        return i + 1

    steps = lax.while_loop(goes_on, step, 0)
    return ref[...] + steps + 10.0 * count[...]


def stopped_twin(x: Any) -> Any:
    steps = jnp.ceil(jnp.log2(10.0 / x[0]))
    return x * 2.0**steps + steps + 10.0 * (steps + 1.0)


REVERSIBLE = {
    "whole": (whole, lambda x: x * x + 1.0),
    "parts": (parts, parts_twin),
    "arrays": (arrays, arrays_twin),
    "views": (views, lambda x: 1.0 + x * jnp.array([1.0, 2.0, 1.0])),
    "exchanged": (exchanged, lambda x: x.at[1].set(x[0] * x[2]) * x[1]),
    "traced places": (traced_places, traced_places_twin),
    "scanned": (scanned, scanned_twin),
    "branched": (branched, branched_twin),
    "called": (called, lambda x: 2.0 * x * (2.0 * x[0] + 1.0)),
    "remembered": (remembered, lambda x: x * jnp.sin(x)),
}
FORWARD_ONLY = {
    "looped": (looped, lambda x: x**4),
    "stopped": (stopped, stopped_twin),
}
PROGRAMS = REVERSIBLE | FORWARD_ONLY


def summed(f: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda x: (f(x) * jnp.arange(1.0, 4.0)[: f(x).shape[-1]]).sum()


def in_scan(f: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda x: lax.scan(lambda c, _: (c, f(x)), 0, None, length=2)[1][1]


def in_cond(f: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda x: lax.cond(x[0] < 100.0, f, lambda x: 0.0 * f(x), x)


WAYS: dict[str, Callable[[Any], Callable[[Any], Any]]] = {
    "eager": lambda f: f,
    "jit": jax.jit,
    "scan": in_scan,
    "cond": in_cond,
    "vmap": lambda f: lambda x: jax.vmap(f)(jnp.stack([2.0 * x, x]))[1],
    "jit of vmap": lambda f: lambda x: jax.jit(jax.vmap(f))(jnp.stack([2.0 * x, x]))[1],
    "jvp": lambda f: lambda x: jax.jvp(f, (x,), (jnp.ones(3),))[1],
    "jvp of jit": lambda f: lambda x: jax.jvp(jax.jit(f), (x,), (jnp.ones(3),))[1],
    "jvp of scan": lambda f: lambda x: jax.jvp(in_scan(f), (x,), (jnp.ones(3),))[1],
}
REVERSE_WAYS: dict[str, Callable[[Any], Callable[[Any], Any]]] = {
    "grad": lambda f: jax.grad(summed(f)),
    "jit of grad": lambda f: jax.jit(jax.grad(summed(f))),
    "grad of jit": lambda f: jax.grad(jax.jit(summed(f))),
    "grad of scan": lambda f: jax.grad(summed(in_scan(f))),
    "vmap of grad": lambda f: lambda x: jax.vmap(jax.grad(summed(f)))(jnp.stack([x, x]))[0],
    "hessian": lambda f: jax.hessian(summed(f)),
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", PROGRAMS)
def test_programs_agree_with_their_twins(name: str, way: str) -> None:
    program, twin = PROGRAMS[name]
    np.testing.assert_allclose(WAYS[way](program)(X), WAYS[way](twin)(jnp.asarray(X)), rtol=1e-5)


@pytest.mark.parametrize("way", REVERSE_WAYS)
@pytest.mark.parametrize("name", REVERSIBLE)
def test_reverse_mode_agrees_with_the_twins(name: str, way: str) -> None:
    program, twin = REVERSIBLE[name]
    given, expected = REVERSE_WAYS[way](program)(X), REVERSE_WAYS[way](twin)(X)
    np.testing.assert_allclose(given, expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs_are_well_typed_before_and_after_discharge(name: str) -> None:
    jaxpr = jax.make_jaxpr(PROGRAMS[name][0])(X)
    check_jaxpr(jaxpr)
    pure = discharge(jaxpr).jaxpr
    check_jaxpr(pure)
    assert not pure.effects
    assert "Ref{" not in str(pure)
    np.testing.assert_allclose(
        jax.core.eval_jaxpr(jaxpr, jaxpr.consts, X)[0], PROGRAMS[name][1](jnp.asarray(X)), rtol=1e-5
    )


def bump(ref: Any) -> Any:
    ref[...] += 1.0
    return ref[0]


CALLS: dict[str, Callable[[Any], Any]] = {
    "eager": bump,
    "jit argument": jax.jit(bump),
    "jit closure": lambda ref: jax.jit(lambda: bump(ref))(),
    "nested jit": jax.jit(lambda ref: jax.jit(bump)(ref)),
    "scan": lambda ref: lax.scan(lambda c, _: (c, bump(ref)), 0, None, length=1)[1][0],
    "scan in jit": jax.jit(lambda ref: lax.map(lambda _: bump(ref), jnp.zeros(1))[0]),
    "while": lambda ref: lax.while_loop(lambda v: v < 1.5, lambda v: bump(ref), 0.0),
    "cond argument": lambda ref: lax.cond(True, bump, lambda r: 0.0, ref),
    "cond closure": lambda ref: lax.cond(False, lambda: 0.0, lambda: bump(ref)),
    "switch in jit": lambda ref: jax.jit(
        lambda i: lax.switch(i, [lambda: 0.0, lambda: bump(ref), lambda: 0.0])
    )(1),
    "checkpoint": lambda ref: jax.checkpoint(lambda: bump(ref))(),
    "inlined jit": lambda ref: jax.jit(lambda: jax.jit(lambda: bump(ref), inline=True)())(),
}


@pytest.mark.parametrize("way", CALLS)
def test_callers_see_the_change(way: str) -> None:
    ref = jax.new_ref(X)
    for times in (1.0, 2.0):
        before = ref[...]
        assert CALLS[way](ref) == X[0] + times
        np.testing.assert_array_equal(ref[...], X + times)
        np.testing.assert_array_equal(before, X + times - 1.0)
    np.testing.assert_array_equal(X, [0.5, 1.5, 2.0])


def test_references_in_trees() -> None:
    state = {"sum": jax.new_ref(0.0), "count": jax.new_ref(0)}

    @jax.jit
    def update(state: Any, x: Any) -> None:
        state["sum"][...] += x
        state["count"][...] += 1

    for x in (1.0, 2.0):
        update(state, x)
    assert (state["sum"][...], state["count"][...]) == (3.0, 2)


def test_a_program_is_traced_once_for_references_of_one_type() -> None:
    traces = []

    @jax.jit
    def f(ref: Any) -> Any:
        traces.append(0)
        return bump(ref)

    refs = [jax.new_ref(X), jax.new_ref(XS[1])]
    assert [float(f(ref)) for ref in (*refs, *refs)] == [1.5, 2.0, 2.5, 3.0]
    assert len(traces) == 1


def test_loops_rebuilt_with_other_references_compile_once(
    caplog: pytest.LogCaptureFixture,
) -> None:
    def run(ref: Any) -> None:
        lax.scan(lambda c, _: (c, bump(ref)), 0, None, length=1000)

    run(jax.new_ref(X))
    with jax.log_compiles(True):
        ref = jax.new_ref(X)
        run(ref)
    np.testing.assert_array_equal(ref[...], X + 1000.0)
    assert not caplog.records


def test_what_was_read_outlives_donation() -> None:
    ref = jax.new_ref(jnp.zeros(1000))
    step = jax.jit(lambda ref: bump(ref))
    seen = []
    for _ in range(4):
        step(ref)
        seen.append(ref[...])
    assert [float(x[-1]) for x in seen] == [1.0, 2.0, 3.0, 4.0]


def test_initial_arrays_stay_as_they_are() -> None:
    x = jnp.zeros(1000)
    ref = jax.new_ref(x)
    jax.jit(bump)(ref)
    other = jnp.ones(1000)
    ref[...] = other
    jax.jit(bump)(ref)
    assert (float(x[5]), float(other[5]), float(ref[5])) == (0.0, 1.0, 2.0)


def test_gradients_log_to_references_outside() -> None:
    log = jax.new_ref(jnp.zeros(3))

    def f(x: Any) -> Any:
        def step(c: Any, i: Any) -> Any:
            log[i] = lax.stop_gradient(c)
            return c * x, None

        return lax.scan(step, 1.0, jnp.arange(3))[0]

    assert jax.grad(f)(2.0) == 12.0
    np.testing.assert_array_equal(log[...], [1.0, 2.0, 4.0])
    assert jax.jit(jax.grad(f))(3.0) == 27.0
    np.testing.assert_array_equal(log[...], [1.0, 3.0, 9.0])


@jax.custom_vjp
def tapped(ref: Any, x: Any) -> Any:
    return x


def _write_cotangent(ref: Any, ct: Any) -> tuple[None, Any]:
    ref[...] = ct
    return None, ct


tapped.defvjp(lambda ref, x: (x, ref), _write_cotangent)


@pytest.mark.parametrize("outer", [lambda f: f, jax.jit], ids=["eager", "jit"])
def test_custom_rules_take_references(outer: Any) -> None:
    ref = jax.new_ref(0.0)
    slope = outer(lambda ref, x: jax.grad(lambda x: 3.0 * tapped(ref, x) ** 2)(x))
    assert slope(ref, 2.0) == 12.0
    assert ref[...] == 12.0
    assert outer(lambda x: tapped(ref, x))(2.0) == 2.0
    np.testing.assert_array_equal(jax.vmap(lambda x: tapped(ref, x))(X), X)


def test_mapped_references() -> None:
    ref = jax.new_ref(XS)

    def f(ref: Any, i: Any) -> Any:
        ref[i] = 0.0
        return ref[...].sum()

    for mapped in (jax.vmap(f), jax.jit(jax.vmap(f))):
        ref[...] = jnp.asarray(XS)
        np.testing.assert_allclose(mapped(ref, np.array([0, 2])), [3.5, 4.0])
        np.testing.assert_allclose(ref[...], [[0.0, 1.5, 2.0], [1.0, 3.0, 0.0]])
    jax.vmap(bump, in_axes=1)(ref)
    np.testing.assert_allclose(ref[...], [[1.0, 2.5, 3.0], [2.0, 4.0, 1.0]])


def test_shared_references_are_looked_up_under_vmap() -> None:
    ref = jax.new_ref(X)
    np.testing.assert_array_equal(jax.vmap(lambda x: ref[1] * x)(X), 1.5 * X)
    np.testing.assert_array_equal(jax.vmap(lambda i: ref[i])(np.array([2, 0])), X[[2, 0]])


def test_lowered_programs_return_changed_references() -> None:
    text = jax.jit(bump).lower(jax.new_ref(X)).as_text()
    assert "-> (tensor<f32>, tensor<3xf32>)" in text


def test_compiled_programs_change_references() -> None:
    ref = jax.new_ref(X)
    compiled = jax.jit(bump).lower(ref).compile()
    assert [float(compiled(ref)) for _ in range(2)] == [1.5, 2.5]
    np.testing.assert_array_equal(ref[...], X + 2.0)


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs_are_watched(name: str) -> None:
    program, twin = PROGRAMS[name]
    with jax.debug_nans(True):
        np.testing.assert_allclose(jax.jit(program)(X), twin(jnp.asarray(X)), rtol=1e-5)
        np.testing.assert_allclose(program(X), twin(jnp.asarray(X)), rtol=1e-5)


def test_abstract_references() -> None:
    struct = jax.ShapeDtypeStruct((3,), "float32", is_ref=True)
    assert str(jax.make_jaxpr(bump)(struct)) == str(jax.make_jaxpr(bump)(jax.new_ref(X)))
    assert jax.eval_shape(bump, struct).shape == ()


def _under_grad(ref: Any) -> Any:
    return jax.grad(lambda x: (assign(ref, ..., x), x.sum())[1])(X)


def _leaked(_: Any) -> Any:
    made: list[Any] = []
    jax.jit(lambda x: made.append(jax.new_ref(x)))(X)
    return made[0][...]


def _leaked_from_grad(_: Any) -> Any:
    made: list[Any] = []
    jax.grad(lambda x: (made.append(jax.new_ref(x)), x)[1])(1.0)
    return made[0][...]


ERRORS: dict[str, tuple[Callable[[Any], Any], type[Exception], str]] = {
    "returned by jit": (jax.jit(lambda r: r), ValueError, "references cannot be returned"),
    "made and returned": (
        lambda r: jax.jit(jax.new_ref)(1.0),
        ValueError,
        "result(.|\n)*a result of new_ref at",
    ),
    "returned by vmap": (lambda r: jax.vmap(lambda x: r)(X), ValueError, "cannot be returned"),
    "returned by grad": (
        lambda r: jax.grad(lambda x: jax.new_ref(x))(1.0),
        ValueError,
        "cannot be returned",
    ),
    "carried": (
        lambda r: lax.scan(lambda c, _: (c, None), r, None, length=1),
        ValueError,
        r"lax.scan, result\[0\]",
    ),
    "passed twice": (
        lambda r: jax.jit(lambda a, b: a[0] + b[0])(r, r),
        ValueError,
        "as the argument a and as the argument b",
    ),
    "passed and closed over": (
        lambda r: jax.jit(lambda a: a[0] + r[0])(r),
        ValueError,
        "closes over and as the argument a",
    ),
    "passed to cond and closed over": (
        lambda r: lax.cond(True, lambda a: a[0] + r[0], lambda a: 0.0, r),
        ValueError,
        "closes over and as the argument a",
    ),
    "differentiated": (_under_grad, TypeError, "a value under differentiation"),
    "differentiated in a scan": (
        lambda r: jax.grad(
            lambda x: lax.scan(lambda c, _: (assign(r, 0, c), (c, None))[1], x, None, length=2)[0]
        )(1.0),
        TypeError,
        "a value under differentiation",
    ),
    "written under vmap": (
        lambda r: jax.vmap(lambda x: assign(r, 0, x))(X),
        TypeError,
        "differs between members",
    ),
    "added to under vmap": (
        lambda r: jax.vmap(lambda x: jax.ref.addupdate(r, 0, 1.0))(X),
        TypeError,
        "argument of the mapped function",
    ),
    "grad of a reference": (
        jax.grad(lambda r: r[0]),
        TypeError,
        "grad, argument r(.|\n)*a reference",
    ),
    "leaked": (_leaked, jax.errors.UnexpectedTracerError, "has returned"),
    "leaked from grad": (_leaked_from_grad, jax.errors.UnexpectedTracerError, "has returned"),
    "rule in a differentiated program": (
        lambda r: jax.grad(jax.jit(lambda x: tapped(jax.new_ref(0.0), x)))(1.0),
        TypeError,
        "Differentiate inside of jit",
    ),
}


@pytest.mark.parametrize("name", ERRORS)
def test_errors(name: str) -> None:
    call, error, text = ERRORS[name]
    ref = jax.new_ref(X)
    with pytest.raises(error, match=text) as caught:
        call(ref)
    assert "fix:" in str(caught.value)
    np.testing.assert_array_equal(ref[...], X)
