"""Every operation of the case tables on a GPU: compiled, and some of them one by one."""

from __future__ import annotations

import zlib
from collections.abc import Iterator

import numpy as np
import pytest

import morphax as jax
from tests.cases.op_case import OpCase
from tests.lax.test_operations import BY_DTYPE, as_list, assert_close, truth
from tests.sampling import sample

# Sums and transcendental functions of a GPU are rounded otherwise than those of a CPU.
LOOSER = 4.0
SHARE_OF_EAGER = 5


@pytest.fixture(autouse=True)
def _wide_dtypes() -> Iterator[None]:
    with jax.enable_x64(True):
        yield


# No library for GPUs has them.
REFUSED = ("schur", "hessenberg", "sqrtm", "solve_sylvester/schur")


@pytest.mark.parametrize(("case", "dtype"), sample(BY_DTYPE, "gpu", 40))
def test_value(case: OpCase, dtype: str) -> None:
    operands = case.draw(dtype)
    if case.label.startswith(REFUSED):
        with pytest.raises(NotImplementedError, match=r"(?s)for cuda.*fix:"):
            jax.jit(case.function)(*operands)
        return
    expected = truth(case, operands)
    on_gpu = [jax.device_put(x) for x in operands]
    compiled = jax.jit(case.function)(*on_gpu)
    assert_close(compiled, expected, dtype, LOOSER * case.tolerance)
    assert all([x.platform() == "gpu" for x in jax.tree.leaves(compiled)])
    if zlib.crc32(f"{case.label} {dtype}".encode()) % SHARE_OF_EAGER == 0:
        eager = case.function(*on_gpu)
        assert_close(eager, expected, dtype, LOOSER * case.tolerance)
        for e, c in zip(as_list(eager), as_list(compiled), strict=True):
            assert (e.dtype, e.shape) == (c.dtype, c.shape)
            assert not np.isnan(c.astype(np.complex128)).all() or np.isnan(e).all()
