from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

from morphax.dtypes import ExtendedDType, KeyType, extended, prng_key

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
