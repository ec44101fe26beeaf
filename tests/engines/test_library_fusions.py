"""Which programs get fused reductions, and that their results stay right."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from morphax import grad, jit, lax, make_jaxpr, nn, pure_callback, vmap
from morphax import numpy as jnp
from morphax.core import ShapedArray
from morphax.engines.xla import extreme_calls
from morphax.engines.xla.library_fusions import fusions, may_fuse_reductions
from morphax.engines.xla.lowering import LoweredProgram, lower
from morphax.runtime.client import fusions_are_chosen

SQUARE = np.ones((200, 200), np.float32)


def lowered(function: Callable[..., Any], *operands: Any) -> LoweredProgram:
    return lower(make_jaxpr(function)(*operands).jaxpr, "f")


def convolved(x: Any) -> Any:
    return lax.conv(x[None, None], jnp.ones((1, 1, 1, 1)), (1, 1), "VALID")


def doubled_by_a_loop(x: Any) -> Any:
    return lax.fori_loop(0, 3, lambda _, v: v + v.sum(1), x)


def multiplied_in_a_loop(x: Any) -> Any:
    return lax.fori_loop(0, 3, lambda _, v: v @ v, x).sum(0)


def multiplied_in_a_branch(x: Any) -> Any:
    return lax.cond(x[0, 0] > 0, lambda v: v @ v, jnp.sin, x).sum(0)


def called_back(x: Any) -> Any:
    return pure_callback(np.sin, ShapedArray(x.shape, x.dtype), x).sum()


WITHOUT_DOTS = {
    "sums": lambda x: (x.sum(), x.sum(0), x.mean(1)),
    "extremes": lambda x: (x.max(0), x.min()),
    "softmax": nn.softmax,
    "logsumexp": lambda x: nn.logsumexp(x, -1),
    "variance": jnp.var,
    "gradient": grad(lambda x: (jnp.tanh(x) ** 2).mean()),
    "loop": doubled_by_a_loop,
    "batched": vmap(lambda v: jnp.cos(v).sum()),
    "called": lambda x: jit(jnp.sin)(x).sum(),
    "arg": lambda x: jnp.argmax(x, 1),
    "sorted": lambda x: jnp.sort(x, 1).sum(0),
    "indexed": lambda x: x[jnp.array([1, 2])].sum(),
}
WITH_DOTS = {
    "dot": lambda x: (x @ x).sum(0),
    "loop": multiplied_in_a_loop,
    "branch": multiplied_in_a_branch,
    "called": lambda x: jit(jnp.matmul)(x, x).sum(0),
    "convolution": convolved,
    "callback": called_back,
    "computation": lambda x: lax.reduce(x, 0.0, lambda a, b: a + jnp.maximum(a, b), (0,)),
}


@pytest.mark.parametrize("name", WITHOUT_DOTS)
def test_reductions_are_fused_without_dots(name: str) -> None:
    program = lowered(WITHOUT_DOTS[name], SQUARE)
    assert may_fuse_reductions(program.text)
    assert program.fuses_reductions


@pytest.mark.parametrize("name", WITH_DOTS)
def test_reductions_are_not_fused_with_dots_or_in_doubt(name: str) -> None:
    assert not may_fuse_reductions(lowered(WITH_DOTS[name], SQUARE).text)


def test_other_operations_are_in_doubt() -> None:
    text = lowered(jnp.sin, SQUARE).text
    names = "dot convolution cholesky triangular_solve custom_call reduce_window fft composite"
    for operation in [f"stablehlo.{name}" for name in names.split()] + ["mhlo.dot", "other.thing"]:
        assert not may_fuse_reductions(text + f'"{operation}"(%1)')


def test_large_constants_are_not_searched_letter_by_letter() -> None:
    text = lowered(jnp.sin, SQUARE).text
    digits = "AF" * 2_000_000  # which would take hours
    assert may_fuse_reductions(f'{text}stablehlo.constant dense<"0x{digits}">')


def test_extremes_beside_dots_are_guarded_only_where_they_need_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(extreme_calls, "part", lambda name: None)  # as where it was not built
    # Of arrays with fewer axes, extremes are always written out.
    program = lowered(lambda x: (x.reshape(2, -1, x.shape[1]).max(1), x @ x), SQUARE)
    assert program.fuses_reductions == ("stablehlo.if" in program.text) != fusions_are_chosen()


def test_fusions() -> None:
    assert "REDUCE" in fusions(of_reductions=True)
    assert fusions(of_reductions=False) == (
        "LIBRARY_FUSION_TYPE_INDIVIDUAL_DOT,LIBRARY_FUSION_TYPE_INDIVIDUAL_CONVOLUTION"
    )


@pytest.mark.parametrize("place", [0, 3, 150_000, 299_999])
@pytest.mark.parametrize(
    "function",
    [nn.softmax, nn.log_softmax, lambda x: nn.logsumexp(x, -1), lambda x: nn.logmeanexp(x, -1)],
)
def test_exponentials_keep_nan(function: Callable[..., Any], place: int) -> None:
    x = np.random.default_rng(0).standard_normal((300, 1000)).astype(np.float32)
    x[:, ::3] = -np.inf
    x[::2, 5] = np.inf
    x.flat[place] = np.nan
    result, eager = np.asarray(jit(function)(x)), np.asarray(function(x))
    assert np.isnan(result[place // 1000]).all()
    np.testing.assert_allclose(result, eager, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("operation", [jnp.sum, jnp.max])
@pytest.mark.parametrize("n", [16385, 40000])
def test_reductions_of_products_written_as_convolutions(n: int, operation: Any) -> None:
    def f(x: Any, m: Any) -> Any:
        y = lax.conv_general_dilated(x, m, (1,), "VALID", dimension_numbers=("NWC", "WIO", "NWC"))
        return operation(y * y, 2)

    x = np.zeros((1, n, 3), np.float32)
    x[0, :, 0] = np.arange(n)
    result = jit(f)(x, np.eye(3, dtype=np.float32)[None])
    np.testing.assert_array_equal(np.asarray(result)[0], np.arange(n, dtype=np.float32) ** 2)


def test_extremes_by_native_code_are_no_dots() -> None:
    program = lowered(lambda x: (x.max(1), x.sum(0)), SQUARE)
    assert may_fuse_reductions(program.text)
