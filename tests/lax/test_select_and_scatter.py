"""`select_and_scatter_p`: windows that select by any comparison, and combine by any operation."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import morphax as jax
import morphax.numpy as jnp
from morphax import lax
from tests.lax.engines import check_engines_agree

ONE = np.float32(1)


def params(select: Any, scatter: Any, window: Any, strides: Any, padding: Any) -> dict[str, Any]:
    programs = [jax.make_jaxpr(f)(ONE, ONE) for f in (select, scatter)]
    return {
        "select_jaxpr": programs[0].jaxpr,
        "select_consts": (),
        "scatter_jaxpr": programs[1].jaxpr,
        "scatter_consts": (),
        "window_dimensions": window,
        "window_strides": strides,
        "padding": padding,
    }


def looped(x: Any, source: Any, init: Any, select: Any, scatter: Any, *windows: Any) -> Any:
    """The definition, window by window."""
    size, strides, padding = windows
    out = np.full(x.shape, init)
    for at in np.ndindex(*source.shape):
        best = None
        for position in np.ndindex(*size):
            start = np.array(at) * strides - [low for low, _ in padding]
            place = tuple(start + position)
            if all(0 <= i < n for i, n in zip(place, x.shape, strict=True)) and (
                best is None or not select(x[best], x[place])
            ):
                best = place
        if best is not None:
            out[best] = scatter(out[best], source[at])
    return out


WINDOWS = [
    ((7,), (2,), (2,), ((0, 0),)),
    ((7,), (3,), (1,), ((1, 1),)),
    ((5, 6), (2, 3), (2, 1), ((0, 1), (1, 0))),
    ((5, 6), (2, 2), (3, 2), ((0, 0), (0, 0))),
    ((2, 0), (1, 1), (1, 1), ((0, 0), (0, 0))),
]
COMPUTATIONS = [
    (lax.ge, lax.add, np.greater_equal, np.add),
    (lax.lt, lax.max, np.less, np.maximum),
    (lambda a, b: lax.ge(lax.abs(a), b), lambda a, b: a - b, lambda a, b: abs(a) >= b, np.subtract),
]


@pytest.mark.parametrize("windows", WINDOWS, ids=str)
@pytest.mark.parametrize("computation", COMPUTATIONS, ids=["max", "min", "other"])
def test_values(windows: Any, computation: Any) -> None:
    shape, *window = windows
    select, scatter, np_select, np_scatter = computation
    rng = np.random.default_rng(0)
    x = rng.integers(-3, 4, shape).astype(np.float32)
    x.flat[:1] = np.nan
    counts = [
        (n + low + high - k) // s + 1 for n, k, s, (low, high) in zip(shape, *window, strict=True)
    ]
    source = rng.integers(1, 9, counts).astype(np.float32)
    given = params(select, scatter, *window)
    result = check_engines_agree(
        lambda x, source: lax.select_and_scatter_p.bind(x, source, np.float32(-2), **given),
        x,
        source,
    )
    expected = looped(x, source, np.float32(-2), np_select, np_scatter, *window)
    np.testing.assert_array_equal(result, expected)


def test_batches() -> None:
    given = params(lax.ge, lax.add, (2,), (2,), ((0, 0),))

    def f(x: Any, source: Any) -> Any:
        return lax.select_and_scatter_p.bind(x, source, np.float32(0), **given)

    x = np.random.default_rng(0).standard_normal((3, 6)).astype(np.float32)
    source = np.arange(9, dtype=np.float32).reshape(3, 3)
    for axes, at in [
        ((0, 0), lambda i: (x[i], source[i])),
        ((None, 0), lambda i: (x[0], source[i])),
    ]:
        operands = (x if axes[0] == 0 else x[0], source)
        expected = np.stack([f(*at(i)) for i in range(3)])
        np.testing.assert_array_equal(jax.vmap(f, axes)(*operands), expected)
    with pytest.raises(TypeError, match="init_value"):
        jax.vmap(lambda v: lax.select_and_scatter_p.bind(x[0], source[0], v, **given))(jnp.ones(2))


@pytest.mark.parametrize(
    "operands",
    [
        (np.ones(6, np.float32), np.ones(2, np.float32), np.float32(0)),
        (np.ones(6, np.float32), np.ones(3, np.int32), np.float32(0)),
        (np.ones(6, np.float32), np.ones(3, np.float32), np.zeros(1, np.float32)),
    ],
)
def test_operands_that_do_not_fit(operands: Any) -> None:
    given = params(lax.ge, lax.add, (2,), (2,), ((0, 0),))
    with pytest.raises((TypeError, ValueError), match="select_and_scatter_p"):
        lax.select_and_scatter_p.bind(*operands, **given)


def test_it_has_no_derivative() -> None:
    given = params(lax.ge, lax.add, (2,), (2,), ((0, 0),))
    x = np.ones(6, np.float32)
    with pytest.raises(TypeError, match="not known to be smooth"):
        jax.jvp(lambda x: lax.select_and_scatter_p.bind(x, x[:3], ONE, **given), (x,), (x,))
