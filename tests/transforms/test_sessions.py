"""What is remembered between calls changes nothing that a session sees.

Sessions of `sessions` run with all that remembers, shares and skips work, and without.
"""

from __future__ import annotations

import numpy as np
import pytest

import morphax as jax
from morphax.config import override
from tests.sampling import IS_WHOLE
from tests.transforms.sessions import run, session

COUNT = 200 if IS_WHOLE else 24

WITHOUT = {
    "structural_identity": False,
    "remember_sparsity": False,
    "quick_first_code": False,
    "chain_code": False,
    "branch_formulas": False,
    "cut_fusions": False,
    "derive_residuals": False,
    "split_divergent_loops": False,
    "replay_first_calls": True,
}


@pytest.mark.parametrize("seed", range(COUNT))
def test_sessions_see_the_same_with_and_without_memory(seed: int) -> None:
    statements = session(seed)
    seen = run(statements)
    jax.clear_caches()
    with override(**WITHOUT):
        expected = run(statements)
    assert len(seen) == len(expected)
    for found, wanted in zip(seen, expected, strict=True):
        assert found[:2] == wanted[:2]
        np.testing.assert_allclose(found[2], wanted[2], rtol=1e-5, atol=1e-5)


def test_sessions_compute() -> None:
    seen = [x for seed in range(2) for x in run(session(seed))]
    assert len([x for x in seen if not x[2].size]) < len(seen) / 5
