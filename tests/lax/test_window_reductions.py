"""Edges of window reductions: NaN, signed zeros, ties, gaps, unknown computations; error texts."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from morphax import config, cpu_engine, grad, jit, jvp, lax, make_jaxpr, vmap
from morphax.lax.elementwise import selection
from morphax.lax.elementwise.arithmetic import add, mul
from morphax.lax.elementwise.bitwise import bitwise_and, bitwise_or, bitwise_xor
from morphax.lax.reduction.computed_reductions import reduce
from morphax.lax.window.computed_windows import reduce_window
from morphax.lax.window.window_geometry import padtype_to_pads, reduce_window_shape_tuple
from tests.lax.engines import array, check_engines_agree

FLOATS = ("float32", "float64", "float16", "bfloat16")
LOW, HIGH = -np.inf, np.inf


def total(x: Any) -> Any:
    return lax.reduce_sum(x, tuple(range(x.ndim)))


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize(("function", "start"), [(selection.max, LOW), (selection.min, HIGH)])
def test_nan_and_zeros_in_extremes(function: Any, start: float, dtype: str) -> None:
    for row in ([1, np.nan, 3, 2, 0], [-0.0, 0.0, -0.0, -0.0], [0.0, 0.0, -0.0, np.inf, -np.inf]):
        for size in (1, 2, 3):
            check_engines_agree(
                lambda x, k=size: reduce_window(x, start, function, (k,), padding="SAME"),
                array(row, dtype),
            )


@pytest.mark.parametrize("dtype", [*FLOATS, "int8", "uint32"])
@pytest.mark.parametrize("padding", [((1, 1), (1, 1)), ((0, 3), (2, 0)), ((-1, 1), (5, -2))])
def test_padding_of_large_arrays_is_kept(dtype: str, padding: Any) -> None:
    x = array(np.random.default_rng(0).integers(0, 8, (70, 66)), dtype)
    if x.dtype.kind == "f":
        x[5, 64], x[69, 0] = np.nan, -np.inf
    for function, start in ((add, 0), (selection.max, -8 if x.dtype.kind != "u" else 0)):
        for size in ((3, 3), (4, 1), (1, 20)):
            check_engines_agree(
                lambda v, f=function, k=size, s=start: reduce_window(v, s, f, k, padding=padding), x
            )


def test_windows_read_padding_from_memory_unless_fusions_are_not_cut() -> None:
    def text() -> str:
        windows = jit(lambda x: reduce_window(x, 0.0, add, (3, 3), padding="SAME"))
        return windows.lower(np.ones((80, 80), np.float32)).as_text()

    assert text().count("stablehlo.if") == 2
    config.update("jax_cut_fusions", False)
    try:
        assert text().count("stablehlo.if") == 0
    finally:
        config.update("jax_cut_fusions", True)


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int32", "uint64"])
def test_integers_wrap_around(dtype: str) -> None:
    x = np.arange(100, 130).astype(dtype)
    for size in (3, 17):
        check_engines_agree(lambda v, k=size: reduce_window(v, 0, add, (k,)), x)
        check_engines_agree(lambda v, k=size: reduce_window(v, 1, mul, (k,)), x)


def test_small_floats_are_summed_in_float32() -> None:
    ones = np.ones(4000, array(0, "bfloat16").dtype)
    out = check_engines_agree(lambda x: reduce_window(x, 0, add, (4000,)), ones)
    assert out.astype(float).tolist() == [4000.0]


def test_windows_of_booleans() -> None:
    x = np.array([False, True, False, False])
    out = check_engines_agree(lambda v: reduce_window(v, False, bitwise_or, (2,)), x)
    assert out.tolist() == [True, True, False]


def test_windows_in_gaps_hold_the_identity() -> None:
    x = np.ones(2, np.float32)
    out = check_engines_agree(
        lambda v: reduce_window(v, LOW, selection.max, (1,), base_dilation=(3,)), x
    )
    assert out.tolist() == [1, LOW, LOW, 1]


@pytest.mark.parametrize("engine", ["xla", "native"])
@pytest.mark.parametrize("window", [{"padding": [(1, 2)]}, {"base_dilation": (2,)}])
@pytest.mark.parametrize("size", [3, 17])
def test_gaps_are_left_out_whatever_a_window_starts_from(
    engine: str, window: dict[str, Any], size: int
) -> None:
    x = np.linspace(0.5, 2, 24, dtype=np.float32)

    def windows(v: Any, start: float) -> Any:
        return reduce_window(v, start, mul, (size,), **window)

    with cpu_engine(engine):
        expected = 3 * check_engines_agree(lambda v: windows(v, 1.0), x, rtol=1e-5)
        found = check_engines_agree(lambda v: windows(v, 3.0), x, rtol=1e-5)
    np.testing.assert_allclose(found, expected, rtol=1e-5)
    rows = vmap(lambda v: windows(v, 3.0))(np.stack([x, x + 1])).to_host()
    np.testing.assert_allclose(rows[0], expected, rtol=1e-5)
    slopes = [grad(lambda v, s=s: total(windows(v, s)))(x).to_host() for s in (1.0, 3.0)]
    np.testing.assert_allclose(slopes[1], 3 * slopes[0], rtol=1e-5)


def test_first_of_equal_elements_has_the_derivative() -> None:
    ones = np.ones((2, 3), np.float32)
    for function, start in ((selection.max, LOW), (selection.min, HIGH)):

        def loss(x: Any, f: Any = function, s: float = start) -> Any:
            return total(reduce_window(x, s, f, (2, 2)))

        assert grad(loss)(ones).to_host().tolist() == [[1, 1, 0], [0, 0, 0]]


def test_nan_has_the_derivative() -> None:
    x, t = np.array([1, np.nan, 3, np.nan], np.float32), np.arange(4, dtype=np.float32)
    _, tangent = jvp(lambda v: reduce_window(v, LOW, selection.max, (3,)), (x,), (t,))
    assert tangent.to_host().tolist() == [1.0, 1.0]


def test_derivatives_with_window_dilation() -> None:
    x = np.array([5, 1, 2, 9, 4, 3], np.float32)
    given = grad(lambda v: total(reduce_window(v, LOW, selection.max, (2,), window_dilation=(3,))))(
        x
    )
    assert given.to_host().tolist() == [0, 0, 0, 1, 1, 1]


def test_known_computations_are_recognised() -> None:
    x = np.ones((2, 3), np.float32)

    def text(start: Any, computation: Any) -> str:
        return str(make_jaxpr(lambda v: reduce_window(v, start, computation, (1, 2)))(x))

    assert "reduce_window_sum[" in text(0.0, add)
    assert "reduce_window_sum[" in text(0.0, lambda a, b: add(b, a))
    assert "reduce_window_max[" in text(LOW, selection.max)
    assert "= reduce_window[" in text(1.0, mul)
    for name, computation, start in (
        ("reduce_sum", add, 0.0),
        ("reduce_prod", mul, 1.0),
        ("reduce_max", selection.max, LOW),
        ("reduce_min", selection.min, HIGH),
    ):
        program = make_jaxpr(lambda v, s=start, c=computation: reduce(v, s, c, (0,)))(x)
        assert [e.primitive.name for e in program.eqns] == [name]


@pytest.mark.parametrize(
    ("computation", "start"), [(bitwise_and, -1), (bitwise_or, 0), (bitwise_xor, 0), (mul, 1)]
)
def test_reductions_of_integers(computation: Any, start: int) -> None:
    x = np.array([[6, 3, 5], [7, 2, 1]], np.int32)
    check_engines_agree(lambda v: reduce(v, start, computation, (1,)), x)


def _first_larger(x: Any, y: Any) -> tuple[Any, Any]:
    """The pair with the larger first part; the earlier one at a tie."""
    left = selection.select(lax.ge(x[0], y[0]), x[1], y[1])
    return selection.max(x[0], y[0]), left


def test_pairs_keep_their_order() -> None:
    x = np.array([1, 7, 3, 7, 7], np.float32)
    places = np.arange(5, dtype=np.int32)

    def place(v: Any, i: Any) -> Any:
        return reduce((v, i), (LOW, 0), _first_larger, (0,))[1]

    assert check_engines_agree(place, x, places) == 1


def test_derivative_of_one_part_of_a_pair() -> None:
    x = np.array([1, 7, 3], np.float32)
    places = np.arange(3, dtype=np.int32)
    given = grad(lambda v: reduce((v, places), (LOW, 0), _first_larger, (0,))[0])(x)
    assert given.to_host().tolist() == [0, 1, 0]


def test_start_may_be_traced_and_batched() -> None:
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    starts = np.array([1, 10], np.float32)

    def scaled(v: Any, s: Any) -> Any:
        return reduce(v, s, lambda a, b: mul(mul(a, b), 2.0), (0,))

    given = vmap(scaled)(x[:, 1:], starts).to_host()
    expected = [scaled(v[1:], s).to_host() for v, s in zip(x, starts, strict=True)]
    np.testing.assert_array_equal(given, expected)


def test_shapes_and_paddings() -> None:
    assert reduce_window_shape_tuple((4, 5), (2, 2), (1, 2), ((0, 0), (1, 1))) == (3, 3)
    assert padtype_to_pads((4, 5), (3, 2), (2, 1), "same") == [(0, 1), (0, 1)]
    assert padtype_to_pads((4, 5), (3, 2), (2, 1), "SAME_LOWER") == [(1, 0), (1, 0)]
    assert padtype_to_pads((4, 5), (3, 2), (2, 1), "VALID") == [(0, 0), (0, 0)]


def test_padding_by_name_is_that_of_elements_without_gaps() -> None:
    out = reduce_window(np.ones((2, 4)), 0.0, add, (1, 3), (2, 2), "SAME", base_dilation=(1, 2))
    np.testing.assert_array_equal(out, [[2, 2, 2]])


X = np.ones((2, 3), np.float32)
WRONG = [
    (TypeError, "argument window_dimensions", {"window_dimensions": (2,)}),
    (TypeError, "argument window_dimensions", {"window_dimensions": (0, 2)}),
    (TypeError, "argument window_strides", {"window_strides": (0, 1)}),
    (TypeError, "argument padding", {"padding": ((0, 0),)}),
    (ValueError, "argument padding", {"padding": "FOO"}),
    (ValueError, "argument init_value", {"init_value": (0.0,)}),
    (TypeError, "initial value", {"init_value": np.zeros(1, np.float32)}),
    (TypeError, "argument computation", {"computation": lambda a, b: lax.gt(a, b)}),
    (TypeError, "argument computation", {"computation": lambda a, b: (a, b)}),
]


@pytest.mark.parametrize(("error", "text", "changes"), WRONG)
def test_wrong_windows_are_refused(error: Any, text: str, changes: dict[str, Any]) -> None:
    arguments = {"init_value": 0.0, "computation": add, "window_dimensions": (1, 2)} | changes
    with pytest.raises(error, match=rf"{text}"):
        reduce_window(X, **arguments)


def test_wrong_reductions_are_refused() -> None:
    with pytest.raises(ValueError, match="argument axes"):
        reduce(X, 0.0, add, (0, 0))
    with pytest.raises(ValueError, match="argument init_values"):
        reduce((X, X), 0.0, add, (0,))
    with pytest.raises(TypeError, match="arrays of one shape"):
        reduce((X, X[0]), (0.0, 0.0), lambda a, b: (add(a[0], b[0]), b[1]), (0,))
    with pytest.raises(TypeError, match="a value that is being traced"):
        grad(lambda t: total(reduce(X, 0.0, lambda a, b: add(mul(a, t), b), (0,))))(np.float32(1))
