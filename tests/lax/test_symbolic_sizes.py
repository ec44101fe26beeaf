"""Every record of the case tables, traced once with symbols for its sizes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from morphax import core
from morphax.config import enable_x64
from morphax.core.dims import SymbolicDim, symbol
from morphax.errors import InconclusiveDimensionOperation
from tests.cases import (
    arithmetic,
    bessel,
    bitwise,
    comparison,
    complex,
    convert,
    dot,
    exponential,
    hyperbolic,
    integers,
    joining,
    magnitude,
    powers,
    reductions,
    rounding,
    selection,
    shape,
    special,
    trigonometric,
)
from tests.cases.op_case import OpCase
from tests.lax.test_axis_flow import staged
from tests.lax.test_operations import CASES

ELEMENTWISE = (
    *(arithmetic, bessel, bitwise, comparison, complex, convert, exponential, hyperbolic),
    *(integers, magnitude, powers, rounding, selection, special, trigonometric),
)
FOR_ALL_SIZES = {
    case.label for table in (*ELEMENTWISE, reductions, joining, shape, dot) for case in table.CASES
}
# Their functions name a size, or make as many results as an axis has elements.
FOR_THEIR_SIZES = {
    *("reshape", "reshape/dimensions", "broadcast_in_dim", "bitcast_convert_type/wide"),
    *("split", "split/one", "split/one_result_used", "concatenate/array"),
    *("unstack", "unstack/rank_1", "unstack/one_result_used"),
}


@pytest.fixture(autouse=True)
def _wide_dtypes() -> Iterator[None]:
    with enable_x64(True):
        yield


@pytest.mark.parametrize("case", [pytest.param(c, id=c.label) for c in CASES])
def test_the_shape_is_that_for_numbers(case: OpCase) -> None:
    drawn = case.draw(case.dtypes[0])
    sizes = {f"n{n}": n for x in drawn for n in x.shape if n > 1}
    symbolic = [
        core.ShapedArray([symbol(f"n{n}") if n > 1 else n for n in x.shape], x.dtype) for x in drawn
    ]
    expected = staged(case.function, [core.ShapedArray(x.shape, x.dtype) for x in drawn]).out_avals
    try:
        jaxpr = staged(case.function, symbolic)
    except (InconclusiveDimensionOperation, TypeError, ValueError):
        # Never a wrong shape: the question has no one answer, or only these sizes fit.
        assert case.label not in FOR_ALL_SIZES - FOR_THEIR_SIZES
        return
    core.check_jaxpr(jaxpr)
    assert case.label not in FOR_THEIR_SIZES
    for given, aval in zip(jaxpr.out_avals, expected, strict=True):
        assert evaluated(given.shape, sizes) == aval.shape
        assert given.dtype == aval.dtype


def evaluated(shape: tuple[Any, ...], sizes: dict[str, int]) -> tuple[int, ...]:
    return tuple([n.evaluate(sizes) if type(n) is SymbolicDim else n for n in shape])
