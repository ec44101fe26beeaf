"""References that members share the parts of, and those that they make for themselves."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import morphax as jax
import morphax.numpy as jnp
from morphax import lax

X = np.arange(8, dtype=np.float32)
MESH = jax.make_mesh((4,), ("x",))
SPLIT, WHOLE = jax.P("x"), jax.P()


def members(function: Any, in_specs: Any, out_specs: Any = None, **options: Any) -> Any:
    return jax.shard_map(function, mesh=MESH, in_specs=in_specs, out_specs=out_specs, **options)


def doubled(ref: Any) -> None:
    ref[...] = 2 * ref[...]


def numbered(ref: Any) -> None:
    ref[...] += lax.axis_index("x")


def first_set(ref: Any) -> None:
    ref[0] = 9.0


def stepped(ref: Any) -> None:
    def step(i: Any, carry: Any) -> Any:
        ref[...] += carry * lax.axis_index("x")
        return carry + 1

    lax.fori_loop(0, 3, step, 1)


def chosen(ref: Any) -> None:
    lax.cond(True, lambda: doubled(ref), lambda: None)


ROWS = np.repeat(np.arange(4), 2).astype(np.float32)
CHANGES = {
    "doubled": (doubled, 2 * X),
    "numbered": (numbered, X + ROWS),
    "one element": (first_set, np.where(np.arange(8) % 2, X, 9)),
    "set to what is the same for all": (lambda r: r.__setitem__(..., jnp.zeros(2)), 0 * X),
    "in a loop": (stepped, X + 6 * ROWS),
    "in a branch": (chosen, 2 * X),
    "swapped": (lambda r: r.__setitem__(..., lax.ppermute(r[...], "x", [(0, 1), (1, 0)])), None),
    "read": (lambda r: None, X),
}


@pytest.mark.parametrize("name", CHANGES)
@pytest.mark.parametrize("check_vma", [True, False])
@pytest.mark.parametrize("compiled", [True, False])
def test_what_members_leave_is_the_new_value(name: str, check_vma: bool, compiled: bool) -> None:
    change, expected = CHANGES[name]
    if expected is None:
        expected = np.concatenate([X[2:4], X[:2], 0 * X[4:]])
    function: Callable[[Any], Any] = members(change, SPLIT, check_vma=check_vma)
    ref = jax.new_ref(jax.device_put(X, jax.NamedSharding(MESH, SPLIT)))
    (jax.jit(function) if compiled else function)(ref)
    np.testing.assert_array_equal(ref[...], expected)
    np.testing.assert_array_equal(jax.jit(lambda x: after(function, x))(X), expected)


def after(function: Any, x: Any) -> Any:
    ref = jax.new_ref(x)
    function(ref)
    return ref[...]


def test_results_and_references_together() -> None:
    def function(ref: Any, x: Any) -> Any:
        before = ref[...]
        ref[...] = before + x
        return before, lax.psum(ref[...], "x")

    ref = jax.new_ref(jnp.asarray(X))
    before, total = members(function, (SPLIT, SPLIT), (SPLIT, WHOLE))(ref, X)
    np.testing.assert_array_equal(before, X)
    np.testing.assert_array_equal(total, 2 * X.reshape(4, 2).sum(0))
    np.testing.assert_array_equal(ref[...], 2 * X)


def test_a_reference_around_is_the_same_for_all() -> None:
    ref = jax.new_ref(jnp.zeros(2))

    def counts(x: Any) -> Any:
        ref[...] += 1.0
        return x

    members(counts, SPLIT, SPLIT)(X)
    np.testing.assert_array_equal(ref[...], [1, 1])

    def disagrees(x: Any) -> Any:
        ref[...] += x
        return x

    with pytest.raises(TypeError, match=r"(?s)argument value.*same for all members along 'x'"):
        members(disagrees, SPLIT, SPLIT)(X)


@pytest.mark.parametrize("check_vma", [True, False])
def test_derivatives_pass_references(check_vma: bool) -> None:
    def outer(x: Any) -> Any:
        ref = jax.new_ref(x)
        change = members(
            lambda r: r.__setitem__(..., jnp.sin(r[...]) * lax.axis_index("x")),
            SPLIT,
            check_vma=check_vma,
        )
        change(ref)
        return (ref[...] ** 2).sum()

    def inner(x: Any) -> Any:
        def function(x: Any) -> Any:
            ref = jax.new_ref(jnp.sin(x))
            lax.fori_loop(0, 2, lambda i, c: ref.__setitem__(..., ref[...] * c) or c, 2.0)
            return ref[...] * lax.axis_index("x") / 4

        return (members(function, SPLIT, SPLIT, check_vma=check_vma)(x) ** 2).sum()

    expected = 2 * np.sin(X) * np.cos(X) * ROWS**2
    for function in (outer, inner):
        for run in (jax.grad(function), jax.jit(jax.grad(function))):
            np.testing.assert_allclose(run(X), expected, rtol=1e-5, atol=1e-5)
        _, tangent = jax.jvp(function, (X,), (X,))
        np.testing.assert_allclose(tangent, (expected * X).sum(), rtol=1e-4)
        batch = jax.vmap(jax.grad(function))(np.stack([X, 0 * X]))
        np.testing.assert_allclose(batch, [expected, 0 * X], rtol=1e-5, atol=1e-5)


def test_types_of_what_is_read() -> None:
    text = str(jax.make_jaxpr(lambda x: after(members(doubled, SPLIT), x))(X))
    assert "Ref{f32[2]{V:x}}" in text
    assert "f32[2]{V:x} <- " in text


def test_refusals() -> None:
    ref = jax.new_ref(jnp.zeros(8))
    with pytest.raises(ValueError, match="references cannot be returned"):
        members(lambda r: r, SPLIT, SPLIT)(ref)
    with pytest.raises(ValueError, match="passed once"):
        members(lambda r, s: None, (SPLIT, SPLIT))(ref, ref)
    with pytest.raises(ValueError, match="a multiple of 4"):
        members(lambda r: None, SPLIT)(jax.new_ref(jnp.zeros(6)))
