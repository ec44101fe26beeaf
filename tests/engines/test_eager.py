"""Eager mode: what operations may do with the memory of their operands."""

from __future__ import annotations

import numpy as np
import pytest

from morphax import lax
from morphax.core import ShapedArray, StagingTracer, stage
from morphax.engines.reference.eager import as_array


def test_results_do_not_follow_numpy_operands() -> None:
    source = np.arange(4, dtype=np.float32)
    y = lax.reshape(source, (2, 2))
    source[:] = 9
    assert y.tolist() == [[0, 1], [2, 3]]


def test_leaked_tracers_are_refused() -> None:
    kept: list[StagingTracer] = []
    stage(lambda x: [kept.append(x)][:0], [ShapedArray((), np.float32)])
    with pytest.raises(TypeError, match="fix:"):
        as_array(kept[0])
