from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
import pytest

import morphax as jax
from morphax import lax, typeof
from morphax.dtypes import ExtendedDType, KeyType, extended, prng_key
from morphax.experimental import primal_tangent_dtype

KEY = KeyType("fry", (2,), np.uint64)


def test_key_type_describes_itself() -> None:
    assert str(KEY) == repr(KEY) == KEY.name == "key<fry>"
    assert (KEY.tag, KEY.key_shape, KEY.itemsize) == ("fry", (2,), 8)
    assert KEY.physical_dtype == np.uint64
    assert KEY.type is prng_key
    assert issubclass(prng_key, extended)
    assert isinstance(KEY, ExtendedDType)
    assert not isinstance(KEY, np.dtype)


def test_there_is_one_key_type_per_tag() -> None:
    assert KeyType("fry", (2,), "uint64") is KEY
    assert KeyType("wide", (4,), "complex128") is not KEY
    assert pickle.loads(pickle.dumps(KEY)) is KEY
    assert copy.deepcopy(KEY) is KEY
    assert {KEY: 1}[KeyType("fry", (2,), np.uint64)] == 1


def test_a_tag_cannot_be_taken_twice() -> None:
    with pytest.raises(ValueError, match=r"'fry', taken by key<fry>"):
        KeyType("fry", (4,), np.complex128)
    assert KeyType("fry", (2,), np.uint64) is KEY


def test_the_physical_dtype_must_hold_all_words() -> None:
    with pytest.raises(ValueError, match="a dtype of 16 bytes"):
        KeyType("narrow", (4,), np.uint64)


def test_dtypes_whose_tangents_have_another() -> None:
    code = primal_tangent_dtype("int8", "float32")
    assert code == primal_tangent_dtype(np.int8, np.float32) != primal_tangent_dtype("int8", "int8")
    assert hash(code) == hash(pickle.loads(pickle.dumps(code)))
    assert str(code) == "PrimalTangentDType{i8/f32}"
    assert str(primal_tangent_dtype("int8", "float32", name="code")) == "code"
    with pytest.raises(TypeError, match="a dtype, the name of one"):
        primal_tangent_dtype(3, "float32")
    numbers = np.array([1, -2, 3], np.int8)
    x = lax.convert_element_type(numbers, code)
    assert repr(x) == "Array((3,), dtype=PrimalTangentDType{i8/f32}) overlaying:\n[ 1 -2  3]"
    assert (x.shape, x.nbytes, typeof(x).to_tangent_aval()) == ((3,), 3, typeof(np.ones(3, "f4")))
    for back in (lax.convert_element_type(x[1:], np.int8), jax.jit(read)(x)[1:]):
        np.testing.assert_array_equal(back, [-2, 3])
    with pytest.raises(TypeError, match="from and to the dtype that they are stored in"):
        lax.convert_element_type(x, np.float32)
    halves = jax.custom_vjp(lambda x: read(x) * np.float32(0.5))
    halves.defvjp(lambda x: (halves(x), ()), lambda _, ct: (ct * 3.0,))
    out, pull = jax.vjp(halves, x)
    np.testing.assert_array_equal(out, [0.5, -1.0, 1.5])
    np.testing.assert_array_equal(jax.jit(pull)(np.ones(3, np.float32))[0], [3.0, 3.0, 3.0])


def test_tangents_of_such_dtypes_are_converted() -> None:
    wide = primal_tangent_dtype("float32", "bfloat16")
    x = np.arange(3, dtype=np.float32)

    def there_and_back(x: Any) -> Any:
        return lax.convert_element_type(lax.convert_element_type(x, wide), np.float32) * x

    assert jax.grad(lambda x: there_and_back(x).sum())(x).tolist() == [0.0, 2.0, 4.0]
    y, dy = jax.jvp(lambda x: lax.convert_element_type(x, wide), (x,), (x,))
    assert (y.dtype, dy.dtype) == (wide, jax.numpy.bfloat16)


def read(x: Any) -> Any:
    return lax.convert_element_type(x, np.int8)
