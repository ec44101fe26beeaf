"""The text of arrays, compared with text recorded from JAX (`printing_golden.json`)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from morphax.array import Array
from morphax.core import ShapedArray
from morphax.dtypes import KeyType
from morphax.util import host_memory

GOLDEN = json.loads((Path(__file__).parent / "printing_golden.json").read_text())


def make(row: dict[str, Any]) -> Array:
    value = eval(row["value"], {"np": np, "ml_dtypes": ml_dtypes})
    x = Array.from_host(value)
    if row.get("weak"):
        return Array(ShapedArray(x.shape, x.dtype, True), x.to_host())
    return x


@pytest.mark.parametrize("row", GOLDEN, ids=lambda row: row["value"])
def test_text_is_that_of_jax(row: dict[str, Any]) -> None:
    options = {"precision": 2, "linewidth": 40, "threshold": 12} if row.get("narrow") else {}
    with np.printoptions(**options):
        x = make(row)
        assert repr(x) == row["repr"]
        assert str(x) == row["str"]


def key_array(words: list[Any]) -> Array:
    high, low = np.moveaxis(np.array(words, np.uint64), -1, 0)
    host = host_memory.aligned_copy(np.asarray(high << np.uint64(32) | low))
    return Array(ShapedArray(host.shape, KeyType("fry", (2,), np.uint64)), host)


def test_keys_show_their_words() -> None:
    assert repr(key_array([0, 0])) == "Array((), dtype=key<fry>) overlaying:\n[0 0]"
    keys = key_array([[1797259609, 2579123966], [928981903, 3453687069]])
    assert (
        str(keys)
        == repr(keys)
        == (
            "Array((2,), dtype=key<fry>) overlaying:\n"
            "[[1797259609 2579123966]\n [ 928981903 3453687069]]"
        )
    )
    assert f"{keys}" == repr(keys)


@pytest.mark.parametrize(
    ("value", "spec", "text"),
    [
        (np.float32(1.2345), "", "1.2345000505447388"),
        (np.float32(1.2345), ".2f", "1.23"),
        (np.int32(4), ">10", "         4"),
        (np.int32(4), ".2f", "4.00"),
        (np.bool_(True), "", "True"),
        (np.complex64(1), ".3f", "1.000+0.000j"),
        (np.array(1.5, ml_dtypes.bfloat16), "", "1.5"),
        (np.arange(3, dtype=np.float32), "", "[0. 1. 2.]"),
    ],
)
def test_format(value: Any, spec: str, text: str) -> None:
    assert format(Array.from_host(value), spec) == text


def test_format_of_arrays_with_axes_takes_no_specification() -> None:
    with pytest.raises(TypeError, match=r"(?s)'\.2f' for f32\[3\].*fix:"):
        format(Array.from_host(np.arange(3, dtype=np.float32)), ".2f")
    with pytest.raises(ValueError, match="Unknown format code"):
        format(Array.from_host(np.float32(1)), "d")


def test_float0_prints() -> None:
    x = Array.from_host(np.zeros(2, [("float0", np.void, 0)]))
    assert repr(x) == "Array([False, False], dtype=float0)"
