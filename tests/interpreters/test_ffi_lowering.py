"""Lowering rules that call foreign functions, for primitives of users."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import morphax as jax
from morphax.core import Layout, ShapedArray
from morphax.extend.core import Primitive
from morphax.ffi import build_ffi_lowering_function, ffi_lowering
from morphax.interpreters import mlir
from tests.control.foreign.library import handlers

X = np.arange(6, dtype=np.float32).reshape(2, 3)
BY_COLUMNS = X.ravel(order="F").reshape(2, 3)


def lowered_by(rule: Any, **params: Any) -> Any:
    """A jitted function of one array, computed by a primitive with this lowering rule."""
    handlers()
    primitive = Primitive("foreign")
    primitive.multiple_results = True
    primitive.def_abstract_eval(lambda x, **_: [ShapedArray(x.shape, x.dtype)])
    mlir.register_lowering(primitive, rule)
    return jax.jit(lambda x: primitive.bind(x, **params)[0])


def test_parameters_are_attributes() -> None:
    scaled = lowered_by(ffi_lowering("test_scale"), factor=np.float32(3))
    np.testing.assert_array_equal(scaled(X), 3 * X)


def test_further_attributes() -> None:
    def rule(ctx: Any, x: Any, **params: Any) -> Any:
        factor = mlir.ir_attribute(np.float32(4))
        emit = build_ffi_lowering_function("test_scale", backend_config={"factor": factor})
        return emit(ctx, x, **params).results

    np.testing.assert_array_equal(lowered_by(rule)(X), 4 * X)


@pytest.mark.parametrize("columns", [(0, 1), Layout((1, 0))], ids=["minor first", "Layout"])
def test_layouts(columns: Any) -> None:
    rule = ffi_lowering("test_copy_bytes", operand_layouts=[columns], result_layouts=[None])
    np.testing.assert_array_equal(lowered_by(rule)(X), BY_COLUMNS)
    both = ffi_lowering("test_copy_bytes", operand_layouts=[columns], result_layouts=[columns])
    np.testing.assert_array_equal(lowered_by(both)(X), X)


def test_layouts_that_are_left_to_the_compiler() -> None:
    rule = ffi_lowering("test_copy_bytes", skip_ffi_layout_processing=True)
    assert "layouts" not in lowered_by(rule).lower(X).as_text()


def test_options() -> None:
    rule = ffi_lowering("test_copy_bytes", has_side_effect=True, operand_output_aliases={0: 0})
    text = lowered_by(rule).lower(X).as_text()
    assert "has_side_effect = true" in text
    assert "operand_index = 0" in text
    older = ffi_lowering("f", backend_config="abc", api_version=2)
    assert 'api_version = 2 : i32, backend_config = "abc"' in lowered_by(older).lower(X).as_text()


@pytest.mark.parametrize(
    ("rule", "params", "error", "text"),
    [
        (ffi_lowering("f", backend_config="abc"), {}, ValueError, "expected: a dict"),
        (ffi_lowering("f", api_version=2), {"a": 1}, ValueError, "attributes for api_version=2"),
        (ffi_lowering("f", operand_layouts=[]), {}, ValueError, "0 layouts for 1 arrays"),
        (ffi_lowering("f", nonsense=1), {}, TypeError, "nonsense"),
    ],
)
def test_what_is_refused(rule: Any, params: Any, error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text):
        lowered_by(rule, **params).lower(X)
