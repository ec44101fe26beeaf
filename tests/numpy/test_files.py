"""Arrays in files, in text, and as text."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import morphax.numpy as jnp
from morphax import errors, grad, jit
from morphax.array import Array


def loaded(x: Any, **options: Any) -> Any:
    """What a file has that `x` was saved in."""
    file = io.BytesIO()
    jnp.save(file, x)
    file.seek(0)
    return jnp.load(file, **options)


@pytest.mark.parametrize("dtype", ["float32", "int8", "bool", "complex64", "float16", "bfloat16"])
@pytest.mark.parametrize("shape", [(), (3,), (0, 2), (2, 3)])
def test_what_is_saved_is_loaded(dtype: str, shape: tuple[int, ...]) -> None:
    x = jnp.ones(shape, dtype)
    y = loaded(x)
    assert isinstance(y, Array)
    assert (y.dtype, y.shape) == (x.dtype, shape)
    np.testing.assert_array_equal(y, x)


def test_numbers_without_a_name_in_files_keep_their_bytes() -> None:
    x = jnp.arange(-2, 3).astype("float8_e4m3fn")
    y = loaded(x)
    assert isinstance(y, np.ndarray)
    assert (y.view(ml_dtypes.float8_e4m3fn) == np.asarray(x)).all()


def test_what_has_no_numbers_stays_as_it_is() -> None:
    assert loaded(np.array(["a"])).tolist() == ["a"]


def test_objects_are_loaded_only_if_asked_for() -> None:
    objects = np.array([{"a": 1}], object)
    with pytest.raises(ValueError, match="allow_pickle"):
        loaded(objects)
    assert loaded(objects, allow_pickle=True)[0] == {"a": 1}


def test_several_arrays_in_one_file(tmp_path: Path) -> None:
    jnp.savez(tmp_path / "x.npz", jnp.arange(2), b=jnp.ones(3))
    with jnp.load(tmp_path / "x.npz") as arrays:
        assert sorted(arrays) == ["arr_0", "b"]
        np.testing.assert_array_equal(arrays["b"], np.ones(3))
    with pytest.raises(FileNotFoundError):
        jnp.load(tmp_path / "y.npz")


@pytest.mark.parametrize(
    ("text", "options", "expected"),
    [
        ("1 2.5 -3", {"sep": " "}, np.array([1, 2.5, -3], np.float32)),
        ("1, 2", {"dtype": int, "sep": ","}, np.array([1, 2], np.int32)),
        ("1 2 3", {"dtype": "uint8", "count": 2, "sep": " "}, np.array([1, 2], np.uint8)),
        ("0.1", {"dtype": jnp.bfloat16, "sep": " "}, np.array([0.1], ml_dtypes.bfloat16)),
        ("", {"sep": " "}, np.zeros(0, np.float32)),
        (b"7", {"sep": " "}, np.array([7], np.float32)),
    ],
)
def test_numbers_in_text(text: str, options: dict[str, Any], expected: Any) -> None:
    numbers = jnp.fromstring(text, **options)
    assert numbers.dtype == expected.dtype
    np.testing.assert_array_equal(numbers, expected)


def test_memory_of_other_libraries() -> None:
    numbers = np.arange(6, dtype=np.float32)
    numbers.flags.writeable = False
    np.testing.assert_array_equal(jnp.from_dlpack(numbers[::2]), [0, 2, 4])
    assert jnp.from_dlpack(jnp.ones(2), copy=True).tolist() == [1, 1]


def test_options_of_printing() -> None:
    x = jnp.arange(4.0) / 3
    assert jnp.array_repr(x) == repr(x)
    assert jnp.array_str(x) == str(x)
    assert jnp.array_repr(np.arange(2)) == "array([0, 1])"
    assert jnp.array_repr(x.astype("bfloat16"), precision=2) == (
        "Array([0, 0.333984, 0.667969, 1], dtype=bfloat16)"
    )
    assert jnp.array_str(x, precision=1, max_line_width=9) == "[0.  0.3\n 0.7 1. ]"
    before = jnp.get_printoptions()
    with jnp.printoptions(precision=1):
        assert repr(x) == "Array([0. , 0.3, 0.7, 1. ], dtype=float32)"
        jnp.set_printoptions(precision=2)
        assert str(x) == "[0.   0.33 0.67 1.  ]"
    assert jnp.get_printoptions() == before
    with pytest.raises(errors.TracerArrayConversionError):
        jit(lambda x: len(jnp.array_repr(x)))(x)


def test_arguments_of_array_by_position() -> None:
    with pytest.warns(DeprecationWarning, match="name them"):
        assert jnp.array(1.0, None, True, "K", 2).shape == (1, 1)


def test_kaiser_windows_that_fade_out_fast() -> None:
    """NumPy's quotient of Bessel functions overflows there."""
    np.testing.assert_array_equal(jnp.kaiser(5, 800.0), [0, 0, 1, 0, 0])
    slope = grad(lambda b: jnp.kaiser(5, b)[1])
    # √(1 − ¼) of the way, I₀(x) = 1 + x²/4 + … gives −β/8.
    assert slope(0.0) == 0
    np.testing.assert_allclose(grad(slope)(0.0), -1 / 8, rtol=1e-6)
    np.testing.assert_allclose(slope(-3.0), -slope(3.0))


def test_bytes_are_read_as_numpy_reads_them() -> None:
    """Names of Python's types mean 64 bits; a byte other than 0 and 1 is true, and counts once."""
    x = np.arange(3.0)
    for dtype in (float, "float64", None):
        found = jnp.frombuffer(x.tobytes(), dtype) if dtype else jnp.frombuffer(x.tobytes())
        assert found.dtype == np.float32
        np.testing.assert_array_equal(found, x)
    np.testing.assert_array_equal(jnp.frombuffer(np.array([7, -1]), int), [7, -1])
    assert jnp.frombuffer(b"\x00\x02\xff", bool).sum() == 2
