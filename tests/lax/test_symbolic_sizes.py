"""Every record of the case tables, traced once with symbols for its sizes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pytest

from morphax import core
from morphax.config import enable_x64
from morphax.core.dims import Dim, SymbolicDim, symbol
from morphax.errors import InconclusiveDimensionOperation
from tests.cases.op_case import OpCase
from tests.lax.test_axis_flow import staged
from tests.lax.test_operations import CASES
from tests.sampling import sample

_NAMED = "its function names the sizes of the result"
_MEMBERS = "it makes as many values as the axis has members"
_DEPTH = "its recursion is as deep as the size says"
_FORMULA = "a size of one operand is a formula in several of the other"
_WORDS = "the only axes hold the words of a key, whose number belongs to the dtype"
_LENGTHS = "its function names the lengths of the axes, or other axes are as long"
_MATRIX = "its function makes a matrix of the size of the operand, or asks which side is longer"
# Of records of transforms that have a symbol for an axis that is not transformed, or none.
_TRANSFORMED = (" of 2x4", " of 2x6", " of 2x7", " of 1", " of 3x0", " of 2x1", " of 3x1")
# Records of which no size can be a symbol.
INHERENT = {
    **{"reshape": _NAMED, "reshape/dimensions": _NAMED, "broadcast_in_dim": _NAMED},
    **{"unstack/rank_1": _MEMBERS, "associative_scan/size 2": _DEPTH},
    "conv_general_dilated_local": _FORMULA,
    **{"random_split": _WORDS, "random_fold_in": _WORDS},
    **{case.label: _MATRIX for case in CASES if case.label.startswith("polar/")},
    **{
        case.label: _LENGTHS
        for case in CASES
        if case.label.startswith("fft/") and not case.label.endswith(_TRANSFORMED)
    },
    **{f"{name}/(4, 4)": _MATRIX for name in ("cholesky", "cholesky_update", "eig")},
    **{f"{name}/(0, 2, 2)": _MATRIX for name in ("cholesky", "eig")},
    **{
        f"solve_with_factors/(3, 3) {shape}": _MATRIX for shape in ("(3, 1)", "(2, 3, 2)", "(3, 0)")
    },
    "schur/(5, 5)": _MATRIX,
    **{"triangular_solve/vector": _MATRIX, "eigh_tridiagonal": _MATRIX},
    **{f"solve_sylvester/{method}": _MATRIX for method in ("schur", "eigen")},
    "qr_multiply/right": _MATRIX,
    **{
        case.label: _WORDS
        for case in CASES
        if case.label.startswith("rng_bit_generator/") or case.label.endswith(" of (2,)")
    },
}


@pytest.fixture(autouse=True)
def _wide_dtypes() -> Iterator[None]:
    with enable_x64(True):
        yield


def choices(shapes: Sequence[Sequence[int]]) -> Iterator[dict[int, SymbolicDim]]:
    """Symbols for all sizes; then for one of them, which is large enough or small enough."""
    sizes = sorted({n for shape in shapes for n in shape if n > 1})
    yield {n: symbol(f"n{n}") for n in sizes}
    for n in sizes:
        yield {n: symbol(f"n{n}", least=n)}
        yield {n: symbol(f"n{n}", most=n)}


@pytest.mark.parametrize("case", sample(CASES, "symbols", 4), ids=lambda c: c.label)
def test_the_shape_is_that_for_numbers(case: OpCase) -> None:
    avals = [core.ShapedArray(x.shape, x.dtype) for x in case.draw(case.dtypes[0])]
    expected = staged(case.function, avals).out_avals
    found = 0
    for symbols in choices([aval.shape for aval in avals]):
        symbolic = [a.update(shape=[symbols.get(n, n) for n in a.shape]) for a in avals]
        try:
            jaxpr = staged(case.function, symbolic)
        except (InconclusiveDimensionOperation, TypeError, ValueError):
            # Never a wrong shape: the question has no one answer, or only these sizes fit.
            continue
        core.check_jaxpr(jaxpr)
        sizes = {f"n{n}": n for n in symbols}
        for given, aval in zip(jaxpr.out_avals, expected, strict=True):
            assert evaluated(given.shape, sizes) == aval.shape
            assert given.dtype == aval.dtype
        found += 1
    assert (case.label in INHERENT) == (found == 0)


def evaluated(shape: Sequence[Dim], sizes: dict[str, int]) -> tuple[int, ...]:
    return tuple([n.evaluate(sizes) if type(n) is SymbolicDim else n for n in shape])
