"""Calls of LAPACK in exported programs whose sizes are symbols."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import morphax as jax
import morphax.numpy as jnp
from morphax import export
from morphax.errors import InconclusiveDimensionOperation
from morphax.numpy import linalg

SQUARE: dict[str, Callable[[Any], Any]] = {
    "cholesky": linalg.cholesky,
    "solve": lambda x: linalg.solve(x, x[..., ::-1]),
    "inverse": linalg.inv,
    "determinant": linalg.det,
    "eigenvalues": lambda x: linalg.eigvalsh(x),
    "derivative": jax.grad(lambda x: jnp.sum(linalg.cholesky(x) ** 2)),
    "triangular": lambda x: jax.lax.linalg.triangular_solve(x, x, left_side=True, lower=True),
}
RECTANGULAR: dict[str, Callable[[Any], Any]] = {
    "qr": lambda x: jnp.abs(linalg.qr(x)[1]),
    "complete qr": lambda x: jnp.abs(linalg.qr(x, mode="complete").R),
    "singular values": lambda x: linalg.svd(x, compute_uv=False),
    "pseudo-inverse": linalg.pinv,
    "rank": linalg.matrix_rank,
    "lu": lambda x: jax.scipy.linalg.lu(x)[2],
    "least squares": lambda x: linalg.lstsq(x, x[:, 0])[0],
}


def through_bytes(function: Callable[[Any], Any], symbols: str) -> Any:
    shape = export.symbolic_shape(symbols)
    exported = export.export(jax.jit(function))(jax.ShapeDtypeStruct(shape, np.float32))
    return export.deserialize(exported.serialize())


@pytest.mark.parametrize("name", SQUARE)
def test_stacks_of_square_matrices(name: str) -> None:
    program = through_bytes(SQUARE[name], "b, n, n")
    for count, size in ((1, 1), (3, 2), (2, 7)):
        x = np.random.default_rng(size).normal(size=(count, size, size)).astype(np.float32)
        x = x @ x.swapaxes(1, 2) + 2 * np.eye(size, dtype=np.float32)
        np.testing.assert_allclose(program.call(x), SQUARE[name](x), rtol=2e-3, atol=1e-3)


@pytest.mark.parametrize("name", RECTANGULAR)
def test_matrices(name: str) -> None:
    program = through_bytes(RECTANGULAR[name], "m, n")
    for shape in ((1, 1), (5, 3), (3, 5)):
        x = np.random.default_rng(0).normal(size=shape).astype(np.float32)
        np.testing.assert_allclose(program.call(x), RECTANGULAR[name](x), rtol=2e-3, atol=1e-4)


def test_matrices_that_may_have_no_elements() -> None:
    """The library is never called for them: the user says that there are none."""
    with pytest.raises(InconclusiveDimensionOperation, match="constraints="):
        through_bytes(lambda x: linalg.cholesky(x[1:, 1:]), "n, n")
