"""What gives an operand back is not done; what might change a bit of it is."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from morphax.engines.loops.program import Assign
from morphax.engines.loops.writer import Writer


def written(operation: str, dtype: str, constant: float, *, is_first: bool) -> tuple[Any, Any]:
    """An unknown scalar, and the result of an operation on it and a constant."""
    writer = Writer()
    buffer = writer.buffer("x", (), np.dtype(dtype))
    x, y = writer.load(buffer), writer.number(constant, dtype)
    return x, writer.op(operation, *((y, x) if is_first else (x, y)))


GIVEN_BACK = [
    *[(name, dtype, 1, False) for name in ("mul", "div") for dtype in ("float32", "float64")],
    *[("mul", dtype, 1, True) for dtype in ("float32", "float64", "int32", "uint8")],
    *[("sub", dtype, 0.0, False) for dtype in ("float32", "float64", "int64", "uint32")],
    *[("add", "float32", -0.0, is_first) for is_first in (False, True)],
    *[("add", "int16", 0, is_first) for is_first in (False, True)],
    *[("pow", dtype, 1.0, False) for dtype in ("float32", "float64")],
]
DONE = [
    *[("add", "float32", 0.0, is_first) for is_first in (False, True)],
    *[("sub", "float32", -0.0, False), ("sub", "float64", 0.0, True), ("sub", "int32", 0, True)],
    *[
        ("div", "float32", 1.0, True),
        ("mul", "float64", -1.0, False),
        ("mul", "float32", 0.0, True),
    ],
    *[
        ("mul", "int32", 0, False),
        ("max", "float32", 1.0, False),
        ("add", "float64", np.nan, False),
    ],
    *[("pow", "float32", exponent, False) for exponent in (2.0, -1.0, 0.5)],
    ("pow", "float32", 1.0, True),
]


@pytest.mark.parametrize("case", GIVEN_BACK)
def test_what_gives_an_operand_back(case: tuple[str, str, float, bool]) -> None:
    operation, dtype, constant, is_first = case
    x, result = written(operation, dtype, constant, is_first=is_first)
    assert result is x


@pytest.mark.parametrize("case", DONE)
def test_what_may_change_it(case: tuple[str, str, float, bool]) -> None:
    operation, dtype, constant, is_first = case
    x, result = written(operation, dtype, constant, is_first=is_first)
    assert result is not x


def test_operands_of_two_dtypes_are_refused_all_the_same() -> None:
    writer = Writer()
    x = writer.load(writer.buffer("x", (), np.dtype("float32")))
    with pytest.raises(TypeError, match="mul of"):
        writer.op("mul", x, writer.number(1, "float64"))
    assert not [s for s in writer.blocks[0].statements if isinstance(s, Assign)]


def test_a_second_power_is_a_product() -> None:
    # Of 4641, whose square lies between two numbers of float32, a power may be the farther one.
    writer = Writer()
    x = writer.load(writer.buffer("x", (), np.dtype(np.float32)))
    assert writer.op("pow", x, writer.number(2, np.float32)) is writer.op("mul", x, x)
