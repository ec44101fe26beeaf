from __future__ import annotations

import re

import ml_dtypes
import numpy as np
import pytest

import morphax as jax
import morphax.numpy as jnp
from morphax import dtypes
from morphax.dtypes import NARROW, SCALARS


def test_rows_agree_with_numpy() -> None:
    for d, row in SCALARS.items():
        assert d.name == row.name
        assert d.itemsize == max(1, row.bits // 8)
        digits = re.search(r"\d+", row.name)
        assert row.name == "bool" or (digits and int(digits[0]) == row.bits)


@pytest.mark.parametrize("d", [d for d in SCALARS if d.isbuiltin == 1], ids=str)
def test_kinds_of_numpys_own_types_are_numpys(d: np.dtype[np.generic]) -> None:
    assert issubclass(d.type, SCALARS[d].kind)


def test_limits_agree_with_width() -> None:
    for d, row in SCALARS.items():
        if issubclass(row.kind, np.integer):
            assert dtypes.iinfo(d).bits == row.bits
        elif issubclass(row.kind, np.floating):
            assert dtypes.finfo(d).bits == row.bits


def test_narrowing_halves_the_width_and_keeps_the_kind() -> None:
    for wide, narrow in NARROW.items():
        assert SCALARS[narrow].bits * 2 == SCALARS[wide].bits
        assert SCALARS[narrow].kind is SCALARS[wide].kind


def test_types_that_no_accelerator_has_are_left_out() -> None:
    assert np.dtype(np.longdouble) not in SCALARS


@pytest.mark.parametrize("name", ["int1", "float6_e2m3fn", "float6_e3m2fn"])
def test_types_without_an_xla_element_type_are_computed_eagerly_only(name: str) -> None:
    x = jnp.asarray([1, 0, 1], name)
    numbers = np.asarray([1, 0, 1]).astype(getattr(ml_dtypes, name))
    np.testing.assert_array_equal(np.asarray(x * x), numbers * numbers)
    with pytest.raises(TypeError, match=f"dtype {name}"):
        jax.jit(lambda x: x * x)(x)


def test_float0_takes_no_memory() -> None:
    assert dtypes.float0.itemsize == 0
    assert np.zeros((2, 3), dtypes.float0).nbytes == 0
