"""`with_layout_constraint`, `Layout` and `Format`."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest

import morphax as jax
import morphax.numpy as jnp
from morphax import lax
from morphax.experimental.layout import Format, Layout, with_layout_constraint
from morphax.sharding import SingleDeviceSharding

X = np.arange(6, dtype=np.float32).reshape(2, 3)
COLUMNS = Layout((1, 0))


def f(x: Any) -> Any:
    return with_layout_constraint(jnp.sin(x), COLUMNS) * 2


def test_numbers_are_the_same() -> None:
    for run in (f, jax.jit(f)):
        np.testing.assert_allclose(run(X), 2 * np.sin(X), rtol=1e-6)
        np.testing.assert_allclose(jax.vmap(run, 2)(X[..., None])[0], 2 * np.sin(X), rtol=1e-6)
        gradient = jax.grad(lambda x: (run(x) ** 2).sum())(X)  # noqa: B023
        np.testing.assert_allclose(gradient, 4 * np.sin(2 * X), rtol=1e-5)
    pair = with_layout_constraint({"a": X, "b": jnp.asarray(X)}, COLUMNS)
    np.testing.assert_array_equal(pair["b"], X)


def test_the_compiler_is_told() -> None:
    text = jax.jit(f).lower(X).as_text()
    assert 'call_target_name = "LayoutConstraint"' in text
    assert "result_layouts = [dense<[0, 1]> : tensor<2xindex>]" in text
    batched = jax.make_jaxpr(jax.vmap(f, 1))(X[:, None])
    assert "layout=Layout(major_to_minor=(0, 2, 1)" in str(batched)


def test_refusals() -> None:
    for layouts in (None, "a", Layout.AUTO, Layout((0, 1, 2)), Format(), (COLUMNS, COLUMNS)):
        with pytest.raises(ValueError, match=r"(?s)given:.*expected:.*fix:"):
            jax.jit(lambda x: with_layout_constraint(x, layouts))(X)  # noqa: B023


def test_formats() -> None:
    here = SingleDeviceSharding(jax.devices("cpu")[0])
    assert repr(Layout.AUTO) == "AUTO"
    assert pickle.loads(pickle.dumps(Layout.AUTO)) is Layout.AUTO
    assert Layout([1, 0]) == COLUMNS  # type: ignore[arg-type]
    assert COLUMNS.update(tiling=((2, 2),)).tiling == ((2, 2),)
    assert len({COLUMNS, Layout((1, 0)), Layout((1, 0), ())}) == 2
    assert repr(Format(Layout.AUTO)) == "Format(layout=AUTO, sharding=None)"
    assert Format(COLUMNS, here) == Format(Layout((1, 0)), here)
    assert jax.device_put(X, Format(None, here)).sharding is here
    wrong: list[tuple[Any, Any, type[Exception]]] = [
        ("a", here, TypeError),
        (COLUMNS, "x", TypeError),
        (None, jax.P("x"), TypeError),
        (COLUMNS, jax.devices("cpu")[0], TypeError),
        (COLUMNS, None, ValueError),
    ]
    for layout, sharding, error in wrong:
        with pytest.raises(error, match=r"(?s)Format, argument.*given:.*expected:.*fix:"):
            Format(layout, sharding)
    with pytest.raises(ValueError, match=r"(?s)device_put.*AUTO"):
        jax.device_put(X, Format(Layout.AUTO, here))


def test_layouts_that_are_none_are_refused() -> None:
    here = jax.sharding.SingleDeviceSharding(jax.devices("cpu")[0])
    for wrong in (Layout((0,)), Layout((0, 0)), Layout((0, 1), ((2, 2),)), Layout((0, 1, 2))):
        given = Format(wrong, here)
        with pytest.raises(ValueError, match=r"(?s)given:.*expected:.*fix:"):
            jax.device_put(X, given)
        with pytest.raises(ValueError, match="argument in_shardings"):
            jax.jit(lambda x: x, in_shardings=given)(X)
        with pytest.raises(ValueError, match="argument out_shardings"):
            jax.jit(lambda x: x, out_shardings=given)(X)
        with pytest.raises(ValueError, match="argument shardings"):
            lax.with_sharding_constraint(X, given)
        with pytest.raises(ValueError, match="lower"):
            jax.jit(lambda x: x).lower(jax.ShapeDtypeStruct(X.shape, X.dtype, sharding=given))


@pytest.mark.parametrize("layout", [None, Layout.AUTO, Layout((0, 1)), Layout((0, 1), ())], ids=str)
def test_row_by_row_is_what_programs_take_and_give(layout: Any) -> None:
    last = jax.devices("cpu")[-1]
    there = jax.sharding.SingleDeviceSharding(last)
    form = Format(layout, there)
    f = jax.jit(lambda x: 2 * x, in_shardings=form, out_shardings=form)
    y = f(X)
    np.testing.assert_array_equal(y, 2 * X)
    assert y.format == Format(Layout.row_major(2), there)
    assert f.lower(X).compile().input_formats == ((y.format,), {})
    assert jax.jit(lambda x: x, in_shardings=Format())(X).shape == X.shape


def test_the_layout_of_arrays_that_asked_for_none() -> None:
    rows = Layout((0, 1), ())
    found: list[Layout] = []
    jax.jit(lambda x: found.append(Layout.for_array(x)))(jnp.ones((2, 3)))
    struct = jax.ShapeDtypeStruct((2, 3), jnp.float32)
    for x in (jnp.ones((2, 3)), np.ones((2, 3), order="F"), struct):
        found.append(Layout.for_array(x))
    assert found == [rows] * 4
    assert Layout.for_array(1.0) == Layout((), ())
    with pytest.raises(TypeError, match="given"):
        Layout.for_array("text")
    rows.check_compatible_aval((2, 3))
    with pytest.raises(ValueError, match=r"major_to_minor=\(0, 1\) for an array of 3 axes"):
        rows.check_compatible_aval((2, 3, 4))
