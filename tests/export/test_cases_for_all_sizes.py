"""The records of the case tables, exported once with symbols for their sizes and called at three.

The results are those of the programs for these sizes.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

import morphax as jax
from morphax import export, lax
from morphax.config import enable_x64
from morphax.errors import InconclusiveDimensionOperation
from tests.cases.op_case import OpCase
from tests.engines.test_symbolic_program import sizes_of
from tests.lax.test_operations import CASES
from tests.lax.test_symbolic_sizes import choices
from tests.sampling import is_taken

# Its text has a form that cannot be read back.
_ALWAYS = ("dynamic_slice/rank_0",)
_CHOSEN = [c for c in CASES if c.label in _ALWAYS or is_taken(c.label, "exported", 40)]


@pytest.fixture(autouse=True)
def _wide_dtypes() -> Iterator[None]:
    with enable_x64(True):
        yield


@pytest.mark.parametrize("case", _CHOSEN, ids=lambda c: c.label)
def test_a_record_exported_for_all_sizes_is_what_it_is_for_some(case: OpCase) -> None:
    drawn = case.draw(case.dtypes[0])
    for symbols in choices([x.shape for x in drawn]):
        specs = [jax.ShapeDtypeStruct([symbols.get(n, n) for n in x.shape], x.dtype) for x in drawn]
        try:
            exported = export.export(jax.jit(case.function))(*specs)
        except (InconclusiveDimensionOperation, TypeError, ValueError):
            continue
        for more in (0, 2, -9):
            sizes = sizes_of(symbols, more)
            arrays = [np.resize(x, [sizes.get(n, n) for n in x.shape]) for x in drawn]
            expected = jax.tree.leaves(jax.jit(case.function)(*arrays))
            given = jax.tree.leaves(exported.call(*arrays))
            assert [x.aval for x in given] == [x.aval for x in expected]
            for pair in zip(given, expected, strict=True):
                if not isinstance(pair[0].dtype, np.dtype):
                    pair = tuple(map(lax.random_unwrap_p.bind, pair))
                numbers = [np.asarray(x).astype(np.complex128) for x in pair]
                np.testing.assert_allclose(*numbers, rtol=1e-5, atol=1e-6)
        return
