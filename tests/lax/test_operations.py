"""Every operation of the case tables: value, dtype, derivatives, batching, on both engines."""

from __future__ import annotations

import importlib
import itertools
import pkgutil
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from morphax import core
from morphax.config import enable_x64
from morphax.control.jit.jit import jit
from morphax.core.check import check_jaxpr
from morphax.transforms.derivatives import jvp, linearize, vjp
from morphax.transforms.make_jaxpr import make_jaxpr
from morphax.transforms.vmap import vmap
from tests import cases
from tests.cases.op_case import TOLERANCE, OpCase, widened
from tests.sampling import sample


def all_cases() -> list[OpCase]:
    modules = [
        importlib.import_module(f"tests.cases.{m.name}")
        for m in pkgutil.iter_modules(cases.__path__)
    ]
    return [case for module in modules for case in getattr(module, "CASES", ())]


CASES = all_cases()
BY_DTYPE = [pytest.param(c, d, id=f"{c.label}-{d}") for c in CASES for d in c.dtypes]
DIFFERENTIABLE = [
    pytest.param(c, d, id=f"{c.label}-{d}")
    for c in CASES
    for d in c.dtypes
    if c.derivatives and d in ("float64", "complex128")
]
BATCHED = [pytest.param(c, c.dtypes[0], id=c.label) for c in CASES if c.batched]


@pytest.fixture(autouse=True)
def _wide_dtypes() -> Iterator[None]:
    with enable_x64(True):
        yield


def as_list(result: Any) -> list[np.ndarray[Any, Any]]:
    """The results of an operation as host arrays."""
    results = result if isinstance(result, (tuple, list)) else [result]
    return [np.asarray(r.to_host() if hasattr(r, "to_host") else r) for r in results]


def assert_close(given: Any, truth: Any, dtype: Any, factor: float = 1.0) -> None:
    """Equal within the tolerance of `dtype`, relative to the largest finite magnitude."""
    for g, t in zip(as_list(given), as_list(truth), strict=True):
        assert g.shape == t.shape, f"shape {g.shape}, expected {t.shape}"
        if g.dtype.kind in "biu" or str(g.dtype) not in TOLERANCE:
            np.testing.assert_array_equal(g, t.astype(g.dtype))
            continue
        t = t.astype(np.complex128 if g.dtype.kind == "c" else np.float64)
        finite = np.abs(t[np.isfinite(t)])
        bound = TOLERANCE[str(g.dtype)] * factor * max(finite.max(initial=0.0), 1.0)
        wide = g.astype(t.dtype)
        np.testing.assert_allclose(wide, t, rtol=0, atol=bound, equal_nan=True)


def truth(case: OpCase, operands: list[Any]) -> list[np.ndarray[Any, Any]]:
    with np.errstate(all="ignore"):
        return as_list(case.reference(*[widened(x) for x in operands]))


@pytest.mark.parametrize(("case", "dtype"), sample(BY_DTYPE, "value", 5))
def test_value(case: OpCase, dtype: str) -> None:
    operands = case.draw(dtype)
    eager, compiled = case.function(*operands), jit(case.function)(*operands)
    expected = truth(case, operands)
    assert_close(eager, expected, dtype, case.tolerance)
    assert_close(compiled, expected, dtype, case.tolerance)
    promised = make_jaxpr(case.function)(*operands).out_avals
    for aval, e, c in zip(promised, as_list(eager), as_list(compiled), strict=True):
        assert e.dtype == c.dtype == aval.dtype
        assert e.shape == c.shape == aval.shape


@pytest.mark.parametrize(("case", "dtype"), sample(DIFFERENTIABLE, "derivatives", 4))
def test_derivatives(case: OpCase, dtype: str) -> None:
    first, points = _of_differentiable(case, case.draw(dtype))
    _check_derivative(case, first, points, seed=1)
    if case.derivatives > 1:
        directions = _directions(case, points, seed=2)
        _check_derivative(case, lambda *x: jvp(first, x, directions)[1], points, seed=3)
        _check_derivative(case, _pullback(case, first, points), points, seed=4)


def _of_differentiable(case: OpCase, operands: list[Any]) -> tuple[Callable[..., Any], list[Any]]:
    """The operation as a function of the operands that have a derivative, and these."""
    positions = [
        i
        for i, (x, spec) in enumerate(zip(operands, case.operands, strict=True))
        if x.dtype.kind in "fc" and spec.differentiable
    ]
    return _restricted(case, operands, positions), [operands[i] for i in positions]


def _restricted(case: OpCase, operands: list[Any], positions: list[int]) -> Callable[..., Any]:
    """The operation as a function of some operands, with a tuple of inexact results."""

    def function(*chosen: Any) -> tuple[Any, ...]:
        full = list(operands)
        for position, x in zip(positions, chosen, strict=True):
            full[position] = x
        result = case.function(*full)
        results = result if isinstance(result, (tuple, list)) else (result,)
        return tuple(r for r in results if r.aval.dtype.kind in "fc")

    return function


def _directions(case: OpCase, like: list[Any], seed: int) -> tuple[Any, ...]:
    rng = np.random.default_rng([seed, len(case.label)])
    return tuple(
        (
            rng.normal(size=x.shape) + (1j * rng.normal(size=x.shape) if x.dtype.kind == "c" else 0)
        ).astype(x.dtype)
        for x in like
    )


def _pullback(case: OpCase, function: Callable[..., Any], points: list[Any]) -> Any:
    cotangents = _directions(case, as_list(function(*points)), seed=5)
    return lambda *x: vjp(function, *x)[1](cotangents)


def _check_derivative(
    case: OpCase, function: Callable[..., Any], points: list[Any], seed: int
) -> None:
    """Forward mode against central differences, reverse mode against forward mode."""
    directions = _directions(case, points, seed)
    step = 1e-5
    plus = as_list(function(*[x + step * v for x, v in zip(points, directions, strict=True)]))
    minus = as_list(function(*[x - step * v for x, v in zip(points, directions, strict=True)]))
    numeric = [(p - m) / (2 * step) for p, m in zip(plus, minus, strict=True)]
    outs, tangents = jvp(function, tuple(points), directions)
    for given, expected in zip(as_list(tangents), numeric, strict=True):
        scale = max(np.abs(expected).max(initial=0.0), 1.0)
        np.testing.assert_allclose(given, expected, rtol=0, atol=2e-6 * scale * case.tolerance)
    _check_linear_map(case, function, points, directions, as_list(outs), as_list(tangents))


def _check_linear_map(
    case: OpCase,
    function: Callable[..., Any],
    points: list[Any],
    directions: tuple[Any, ...],
    outs: list[Any],
    tangents: list[Any],
) -> None:
    """`linearize` agrees with `jvp`; the transpose satisfies ⟨ȳ, A ẋ⟩ = ⟨Aᵀ ȳ, ẋ⟩.

    The product is Re Σ ȳ ẏ: operations such as `real` are linear over the real numbers only.
    """
    _, f_jvp = linearize(function, *points)
    for given, expected in zip(as_list(f_jvp(*directions)), tangents, strict=True):
        np.testing.assert_allclose(given, expected, rtol=1e-9, atol=1e-9)
    cotangents = _directions(case, outs, seed=7)
    _, f_vjp = vjp(function, *points)
    pulled = as_list(f_vjp(cotangents))
    forward = sum(np.sum(ct * t).real for ct, t in zip(cotangents, tangents, strict=True))
    backward = sum(np.sum(ct * v).real for ct, v in zip(pulled, directions, strict=True))
    scale = max(abs(forward), 1.0)
    assert abs(forward - backward) <= 1e-9 * scale, f"{forward} is not {backward}"


@pytest.mark.parametrize(("case", "dtype"), sample(BATCHED, "batching", 5))
def test_batching(case: OpCase, dtype: str) -> None:
    batches = [case.draw(dtype, seed) for seed in range(3)]
    for mapped in _placements(len(case.operands)):
        for last in (False, True):
            _check_batch(case, batches, mapped, last=last)


def _placements(count: int) -> list[tuple[bool, ...]]:
    """Every choice of mapped operands, at least one of them."""
    return [p for p in itertools.product((True, False), repeat=count) if any(p)]


def _check_batch(
    case: OpCase, batches: list[list[Any]], mapped: tuple[bool, ...], *, last: bool
) -> None:
    first = batches[0]
    axis = -1 if last else 0
    inputs = [
        np.stack([b[i] for b in batches], axis) if on else first[i] for i, on in enumerate(mapped)
    ]
    function = vmap(case.function, in_axes=tuple(axis if on else None for on in mapped))
    looped = [
        as_list(case.function(*[b[i] if on else first[i] for i, on in enumerate(mapped)]))
        for b in batches
    ]
    expected = [np.stack(parts) for parts in zip(*looped, strict=True)]
    for given, e in zip(as_list(function(*inputs)), expected, strict=True):
        assert given.dtype == e.dtype
        assert_close(given, e, str(e.dtype), case.tolerance)
    check_jaxpr(make_jaxpr(function)(*inputs))


@pytest.mark.parametrize(("case", "dtype"), sample(BATCHED, "empty batch", 5))
def test_empty_batch(case: OpCase, dtype: str) -> None:
    operands = case.draw(dtype)
    inputs = [np.zeros((0, *x.shape), x.dtype) for x in operands]
    results = as_list(vmap(case.function)(*inputs))
    singles = as_list(case.function(*operands))
    for r, s in zip(results, singles, strict=True):
        assert r.shape == (0, *s.shape)
        assert r.dtype == s.dtype


@pytest.mark.parametrize(("case", "dtype"), sample(DIFFERENTIABLE, "types", 5))
def test_transformed_programs_are_well_typed(case: OpCase, dtype: str) -> None:
    function, points = _of_differentiable(case, case.draw(dtype))
    check_jaxpr(make_jaxpr(function)(*points))
    check_jaxpr(make_jaxpr(lambda *x: jvp(function, x, tuple(points))[1])(*points))
    check_jaxpr(make_jaxpr(_pullback(case, function, points))(*points))
    assert isinstance(make_jaxpr(jit(function))(*points), core.Jaxpr)
