"""Functions as programs for other tools."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from morphax.core import ShapedArray
from morphax.tools.jax_to_ir import jax_to_hlo, jax_to_ir, parse_shape_str


@pytest.mark.parametrize(
    ("text", "shape", "dtype"),
    [
        ("f32[8,128]", (8, 128), "float32"),
        ("pred[]", (), "bool"),
        (" s32[ 3 , 0 ] ", (3, 0), "int32"),
        ("bf16[1]", (1,), "bfloat16"),
        ("c64[2]", (2,), "complex64"),
    ],
)
def test_shapes(text: str, shape: Any, dtype: str) -> None:
    assert parse_shape_str(text) is ShapedArray(shape, dtype)


@pytest.mark.parametrize("text", ["", "f32", "f33[1]", "f32[1", "f32[,]", "f32[-1]", "f32[1,]"])
def test_texts_that_are_no_shapes(text: str) -> None:
    with pytest.raises(ValueError, match="parse_shape_str"):
        parse_shape_str(text)


def f(x: Any, y: Any, n: Any) -> Any:
    return x * n


SHAPES = [("y", parse_shape_str("s32[3]")), ("x", parse_shape_str("f32[2]"))]


def test_parameters_come_in_the_order_of_the_shapes() -> None:
    proto, text = jax_to_hlo(f, SHAPES, constants={"n": np.float32(3)})
    assert isinstance(proto, bytes)
    assert "(s32[3]{0}, f32[2]{0})->f32[2]{0}" in text
    assert jax_to_ir(f, SHAPES, constants={"n": np.float32(3)}, format="HLO")[1] == text


def test_refusals() -> None:
    with pytest.raises(ValueError, match="x more than once"):
        jax_to_hlo(f, SHAPES, constants={"n": 1, "x": 2})
    with pytest.raises(ValueError, match="argument format"):
        jax_to_ir(f, SHAPES, constants={"n": 1}, format="TF")
    with pytest.raises(TypeError, match="missing 1 required"):
        jax_to_hlo(f, SHAPES)
