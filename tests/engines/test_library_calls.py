"""Calls of LAPACK and cuSOLVER in lowered programs, as text; no GPU is needed."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from morphax import enable_x64, lax, make_jaxpr
from morphax import numpy as jnp
from morphax.engines.xla.lowering import lower
from morphax.engines.xla.mlir_context import bindings, context_class, dialect

X = np.ones((2, 4, 3))
SQUARE = np.ones((2, 4, 4))
CASES = [
    ("lu", lax.linalg.lu, X, ["getrf"]),
    ("qr", lax.linalg.qr, X, ["geqrf", "orgqr"]),
    ("qr complex", lax.linalg.qr, X.astype(complex), ["geqrf", "orgqr"]),
    ("cholesky", lax.linalg.cholesky, SQUARE, ["potrf"]),
    ("inv", jnp.linalg.inv, SQUARE, ["getrf"]),
    ("ormqr", lambda x: lax.linalg.ormqr(x, x[:, :3, 0], x), X, ["ormqr"]),
]


def _text(function: Callable[..., Any], operand: Any, platform: str) -> str:
    with enable_x64(True):
        return lower(make_jaxpr(function)(operand), "f", platform=platform).text


@pytest.mark.parametrize(("function", "operand", "targets"), [c[1:] for c in CASES],
                         ids=[c[0] for c in CASES])  # fmt: skip
def test_cuda(function: Callable[..., Any], operand: Any, targets: list[str]) -> None:
    text = _text(function, operand, "cuda")
    assert re.findall(r"@?\"?cusolver_(\w+)_ffi", text) == targets
    assert "lapack_" not in text
    _parse(text)


def test_triangular_systems_need_no_library_on_a_gpu() -> None:
    def solve(a: Any) -> Any:
        return lax.linalg.triangular_solve(a, a, left_side=True, transpose_a=True, lower=True)

    text = _text(solve, SQUARE, "cuda")
    assert "stablehlo.triangular_solve" in text
    assert "custom_call" not in text
    _parse(text)


@pytest.mark.parametrize("platform", ["cuda", "rocm", "tpu"])
def test_what_a_platform_lacks_is_refused(platform: str) -> None:
    with pytest.raises(NotImplementedError, match=f"geqp3 of LAPACK for {platform}(.|\n)*fix:"):
        _text(lambda x: lax.linalg.qr(x, pivoting=True), X, platform)


def _parse(text: str) -> None:
    """The text is a valid program of StableHLO."""
    context = context_class()()
    dialect("stablehlo").register_dialect(context)
    assert bindings().Module.parse(text, context=context).operation.verify()
