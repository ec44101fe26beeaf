"""The numbers of JAX, from both engines."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from ml_dtypes import finfo

import morphax as jax
from tests.cases.op_case import numpy_dtype

from .golden import CALLS, GOLDEN, GoldenCall, plain

with np.load(GOLDEN) as _file:
    RECORDS = {name.partition("|")[0]: (name.partition("|")[2], _file[name]) for name in _file}

ENGINES = {"eager": lambda f: f(), "compiled": lambda f: jax.jit(f)()}


def test_every_call_is_recorded() -> None:
    labels = [call.label for call in CALLS]
    assert sorted(RECORDS) == sorted(labels)


@pytest.mark.parametrize("call", CALLS, ids=lambda call: call.label)
@pytest.mark.parametrize("run", ENGINES.values(), ids=ENGINES)
def test_numbers(call: GoldenCall, run: Callable[[Any], Any]) -> None:
    dtype, expected = RECORDS[call.label]
    with jax.enable_x64(call.x64):
        result = run(lambda: call.draw(jax.random))
        assert str(result.dtype) == dtype
        if dtype == "key<fry>":
            result = jax.random.key_data(result)
        numbers = plain(np.asarray(result))
    assert numbers.shape == expected.shape
    tolerance = call.ulps * float(finfo(numpy_dtype(dtype)).eps) if call.ulps else 0
    np.testing.assert_allclose(numbers, expected, rtol=tolerance, atol=tolerance / 8)
