"""Python's control flow on numbers that all members have alike."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import morphax as jax
import morphax.numpy as jnp
from morphax import P, errors, lax
from morphax.sharding import AxisType

X = np.arange(8, dtype=np.float32)


def mapped(f: Callable[..., Any], *in_specs: P, **options: Any) -> Callable[..., Any]:
    mesh = jax.make_mesh((4,), ("x",), (AxisType.Auto,), devices=jax.devices("cpu")[:4])
    specs = in_specs or (P("x"),)
    return jax.shard_map(f, mesh=mesh, in_specs=specs, out_specs=P("x"), **options)


def by_sum(s: Any) -> Any:
    return s * 2 if lax.psum(s.sum(), "x") > 0 else s


def until_small(s: Any) -> Any:
    while lax.pmax(s.max(), "x") > 1:
        s = s / 2
    return s


@pytest.mark.parametrize(
    ("f", "more", "result"),
    [
        (by_sum, (), X * 2),
        (until_small, (), X / 8),
        (lambda s, n: sum([s] * int(n)), (3,), X * 3),
        (lambda s, n: s[:n], (jnp.int32(1),), X[::2]),
        (lambda s, n: s * float(n), (jnp.float32(0.5),), X / 2),
        (lambda s, n: s + np.asarray(n), (jnp.ones(2),), X + 1),
        (lambda s: s * lax.psum(s, "x").sum().item(), (), X * 28),
        (lambda s: s * lax.psum(s, "x").tolist()[1], (), X * 16),
        (lambda s: s if all(lax.psum(s, "x") >= 0) else -s, (), X),
        (lambda s: s * lax.axis_size("x"), (), X * 4),
    ],
)
def test_values(f: Any, more: tuple[Any, ...], result: Any) -> None:
    g = mapped(f, P("x"), *[P()] * len(more))
    np.testing.assert_allclose(np.asarray(g(X, *more)), result)


def test_another_number_another_way() -> None:
    g = mapped(by_sum)
    for x in (X, -X, X - 3.5, X):
        np.testing.assert_array_equal(np.asarray(g(x)), x * 2 if x.sum() > 0 else x)


def test_derivatives() -> None:
    scale = jnp.float32(3)

    def loss(x: Any, scale: Any) -> Any:
        return mapped(lambda s: jnp.sin(s) * scale if lax.psum(s.sum(), "x") * scale > 0 else s)(
            x
        ).sum()

    np.testing.assert_allclose(jax.grad(loss)(X, scale), 3 * np.cos(X), rtol=1e-6)
    np.testing.assert_allclose(jax.grad(loss)(-X, scale), np.ones(8))
    np.testing.assert_allclose(jax.grad(loss, 1)(X, scale), np.sin(X).sum(), rtol=1e-6)
    _, tangent = jax.jvp(loss, (X, scale), (X, scale))
    np.testing.assert_allclose(tangent, (3 * np.cos(X) * X + 3 * np.sin(X)).sum(), rtol=1e-5)


def test_derivatives_within() -> None:
    g = mapped(lambda s: s * jax.grad(lambda c: c**2 if c > 0 else -c)(lax.psum(s.sum(), "x")))
    np.testing.assert_allclose(np.asarray(g(X)), X * 56)
    np.testing.assert_allclose(np.asarray(g(-X)), X)


def test_effects_come_once(capsys: pytest.CaptureFixture[str]) -> None:
    def f(s: Any) -> Any:
        total = lax.psum(s.sum(), "x")
        jax.debug.callback(lambda: print("called"))
        return s * 2 if total > 0 else s

    mapped(f)(X).block_until_ready()
    jax.effects_barrier()
    assert capsys.readouterr().out == "called\n" * 4


@pytest.mark.parametrize(
    "call",
    [
        lambda: mapped(lambda s: s if s.sum() > 0 else -s)(X),
        lambda: mapped(lambda s: s if lax.axis_index("x") == 0 else -s)(X),
        lambda: mapped(by_sum, check_vma=False)(X),
        lambda: jax.jit(mapped(by_sum))(X),
        lambda: jax.vmap(mapped(by_sum))(np.stack([X, X])),
        lambda: mapped(lambda s: jax.jit(lambda x: x if x.sum() > 0 else -x)(s))(X),
    ],
)
def test_numbers_that_are_not_there(call: Callable[[], Any]) -> None:
    with pytest.raises(errors.TracerBoolConversionError, match="fix:"):
        call()


def test_numbers_of_tracers_that_have_gone() -> None:
    leaked: list[Any] = []
    mapped(lambda s: (leaked.append(lax.psum(s.sum(), "x")), s)[1])(X)
    with pytest.raises(errors.ConcretizationTypeError):
        float(leaked[0])
