"""Calls of LAPACK and cuSOLVER in lowered programs, as text; no GPU is needed."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from morphax import enable_x64, lax, make_jaxpr, random
from morphax import numpy as jnp
from morphax.engines.xla.lowering import lower
from morphax.engines.xla.mlir_context import bindings, context_class, dialect
from morphax.lax.linalg import SvdAlgorithm

X = np.ones((2, 4, 3))
SQUARE = np.ones((2, 4, 4))
CASES = [
    ("lu", lax.linalg.lu, X, ["getrf"]),
    ("qr", lax.linalg.qr, X, ["geqrf", "orgqr"]),
    ("qr complex", lax.linalg.qr, X.astype(complex), ["geqrf", "orgqr"]),
    ("cholesky", lax.linalg.cholesky, SQUARE, ["potrf"]),
    ("inv", jnp.linalg.inv, SQUARE, ["getrf"]),
    ("ormqr", lambda x: lax.linalg.ormqr(x, x[:, :3, 0], x), X, ["ormqr"]),
    ("eigh", lax.linalg.eigh, SQUARE, ["syevd"]),
    ("eigh complex", lax.linalg.eigh, SQUARE.astype(complex), ["syevd"]),
    ("svd", lax.linalg.svd, X, ["gesvdj"]),
    ("svd by QR", lambda x: lax.linalg.svd(x, algorithm=SvdAlgorithm.QR), X, ["gesvd"]),
    (
        "svd of large",
        lambda x: lax.linalg.svd(x, full_matrices=False),
        np.ones((9, 1025)),
        ["gesvd"],
    ),
    ("tridiagonal", lax.linalg.tridiagonal, SQUARE, ["sytrd"]),
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


def _tridiagonal_system(x: Any) -> Any:
    return lax.linalg.tridiagonal_solve(x[:, 0], x[:, 0], x[:, 0], x)


OTHER_LIBRARIES = [
    ("pivoted qr", lambda x: lax.linalg.qr(x, pivoting=True), X, "cuhybrid_geqp3"),
    ("eig", lax.linalg.eig, SQUARE, "cuhybrid_eig_real"),
    ("eig complex", lax.linalg.eig, SQUARE.astype(complex), "cuhybrid_eig_comp"),
    ("tridiagonal system", _tridiagonal_system, SQUARE, "cusparse_gtsv2_ffi"),
    ("system of one", _tridiagonal_system, np.ones((2, 1, 1)), "cusparse_gtsv2_ffi"),
    ("rows' order", lax.linalg.lu, X, "cu_lu_pivots_to_permutation"),
]


@pytest.mark.parametrize(("function", "operand", "target"), [c[1:] for c in OTHER_LIBRARIES],
                         ids=[c[0] for c in OTHER_LIBRARIES])  # fmt: skip
def test_other_libraries_for_cuda(function: Callable[..., Any], operand: Any, target: str) -> None:
    text = _text(function, operand, "cuda")
    assert f'"{target}"' in text
    _parse(text)


def test_gpus_call_no_code_for_the_cpu() -> None:
    """Native code of ours knows host memory only."""

    def many(x: Any) -> Any:
        return (
            jnp.linalg.inv(x), lax.cumsum(x), x.max(), random.gamma(random.key(1), 2.0, (3,)),
            lax.rng_bit_generator(jnp.ones(4, np.uint32), (8,))[1], lax.igamma(x, x),
        )  # fmt: skip

    assert "morphax_" in _text(many, SQUARE, "cpu")
    text = _text(many, SQUARE, "cuda")
    assert "morphax_" not in text
    assert "stablehlo.if" not in text


@pytest.mark.parametrize(
    ("dtype", "count"), [(complex, 4), (np.int8, 1), (np.int32, 4), (np.float32, 1)]
)
def test_convolutions_of_what_gpus_have(dtype: Any, count: int) -> None:
    image, kernel = [np.ones(shape, dtype) for shape in ((1, 2, 5, 5), (3, 2, 2, 2))]

    def convolved(x: Any) -> Any:
        return lax.conv(x, kernel, (1, 1), "SAME")

    text = _text(convolved, image, "cuda")
    assert text.count('"stablehlo.convolution"') == count
    _parse(text)
    assert _text(convolved, image, "cpu").count('"stablehlo.convolution"') <= 1


def test_products_are_summed_in_the_wider_dtype() -> None:
    x = np.ones((20, 20), np.float32)
    text = _text(lambda x: lax.dot(x, x, preferred_element_type=np.float64), x, "cuda")
    assert "(tensor<20x20xf64>, tensor<20x20xf64>)" in text


def test_triangular_systems_need_no_library_on_a_gpu() -> None:
    def solve(a: Any) -> Any:
        return lax.linalg.triangular_solve(a, a, left_side=True, transpose_a=True, lower=True)

    text = _text(solve, SQUARE, "cuda")
    assert "stablehlo.triangular_solve" in text
    assert "custom_call" not in text
    _parse(text)


@pytest.mark.parametrize("platform", ["cuda", "rocm", "tpu"])
def test_what_a_platform_lacks_is_refused(platform: str) -> None:
    with pytest.raises(NotImplementedError, match=f"gees of LAPACK for {platform}(.|\n)*fix:"):
        _text(lax.linalg.schur, SQUARE, platform)


def _parse(text: str) -> None:
    """The text is a valid program of StableHLO."""
    context = context_class()()
    dialect("stablehlo").register_dialect(context)
    assert bindings().Module.parse(text, context=context).operation.verify()
