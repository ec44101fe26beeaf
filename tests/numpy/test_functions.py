"""Every call of the tables: values of NumPy, dtypes of JAX, jit, vmap and derivatives."""

from __future__ import annotations

import itertools
import json
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import morphax.numpy as jnp
from morphax import config, enable_x64, jit, jvp, lax, make_jaxpr, random, tree, vjp, vmap
from morphax.core.check import check_jaxpr
from tests.cases.op_case import TOLERANCE, widened
from tests.numpy.all_cases import CASES
from tests.numpy.case import JnpCase
from tests.numpy.tables.products import EINSUMS
from tests.sampling import sample

GOLDEN = json.loads(Path(__file__).with_name("golden.json").read_text())
BY_DTYPE = [pytest.param(c, d, id=f"{c.label}-{d}") for c in CASES for d in c.dtypes]
TRACEABLE = [pytest.param(c, id=c.label) for c in CASES if c.traceable and c.operands]
BATCHED = [pytest.param(c, id=c.label) for c in CASES if c.batched and c.operands]
DIFFERENTIABLE = [
    pytest.param(c, d, id=f"{c.label}-{d}")
    for c in CASES
    for d in c.dtypes
    if c.derivatives and d in ("float32", "complex64")
]
WIDE = {"float32": "float64", "complex64": "complex128"}


@pytest.fixture(autouse=True)
def _cheap_warnings() -> Iterator[None]:
    """NumPy warns of NaN where the truth is NaN."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.filterwarnings("ignore", module="numpy")
        warnings.simplefilter("ignore", RuntimeWarning)
        yield


def leaves(result: Any) -> list[Any]:
    return [np.asarray(leaf) for leaf in tree.leaves(result)]


def assert_close(given: Any, expected: Any, dtype: str, factor: float = 1.0) -> None:
    """Equal shapes, and numbers within the tolerance of `dtype`."""
    assert len(leaves(given)) == len(leaves(expected))
    for g, e in zip(leaves(given), leaves(expected), strict=True):
        assert g.shape == e.shape
        if g.dtype.kind in "biu":
            np.testing.assert_array_equal(g, e.astype(g.dtype))
            continue
        wide = np.complex128 if g.dtype.kind == "c" else np.float64
        truth = e.astype(wide)
        finite = np.abs(truth[np.isfinite(truth)])
        bound = factor * TOLERANCE[dtype] * max(finite.max(initial=0.0), 1.0)
        np.testing.assert_allclose(g.astype(wide), truth, rtol=0, atol=bound, equal_nan=True)


def test_labels_are_unique() -> None:
    twice = [label for label, count in Counter(c.label for c in CASES).items() if count > 1]
    assert all("/" in label or " " in label or "." in label for label in twice)


@pytest.mark.parametrize(("case", "dtype"), sample(BY_DTYPE, "value", 3))
def test_value(case: JnpCase, dtype: str) -> None:
    operands = case.draw(dtype)
    result = case.call(jnp, *[jnp.asarray(x) for x in operands])
    wide = [widened(x) for x in operands]
    truth = case.call(np, *wide) if case.reference is None else case.reference(*wide)
    assert_close(result, truth, dtype if dtype in TOLERANCE else "float32", case.tolerance)


@pytest.mark.parametrize(("case", "dtype"), sample(BY_DTYPE, "type", 4))
def test_type(case: JnpCase, dtype: str) -> None:
    key = f"{case.label}|{dtype}"
    assert (key in GOLDEN) is not case.beyond, "record the golden file anew"
    if case.beyond:
        return
    result = case.call(jnp, *[jnp.asarray(x) for x in case.draw(dtype)])
    arrays = [jnp.asarray(leaf) for leaf in tree.leaves(result)]
    assert [[list(x.shape), str(x.dtype), x.weak_type] for x in arrays] == GOLDEN[key]


@pytest.mark.parametrize("case", sample(TRACEABLE, "jit", 4))
def test_jit(case: JnpCase) -> None:
    dtype = case.dtypes[0]
    operands = case.draw(dtype)

    def function(*arrays: Any) -> Any:
        return case.call(jnp, *arrays)

    # Functions take NumPy arrays as they are, too; these have other methods.
    eager = function(*(operands if "/" in case.label else _arrays(operands)))
    compiled = jit(function)(*operands)
    assert_close(compiled, eager, dtype if dtype in TOLERANCE else "float32", case.tolerance)
    kinds = [jnp.asarray(leaf).aval for leaf in tree.leaves(eager)]
    assert [jnp.asarray(leaf).aval for leaf in tree.leaves(compiled)] == kinds


def _arrays(operands: list[Any]) -> list[Any]:
    return [jnp.asarray(x) for x in operands]


@pytest.mark.parametrize("case", sample(BATCHED, "batching", 4))
def test_batching(case: JnpCase) -> None:
    dtype = case.dtypes[0]
    batches = [_arrays(case.draw(dtype, seed)) for seed in range(2)]
    placements = itertools.product((True, False), repeat=len(case.operands))
    for mapped in [p for p in placements if any(p)][:4]:
        axis = -1 if mapped[0] else 0
        inputs = [
            jnp.stack([b[i] for b in batches], axis) if on else batches[0][i]
            for i, on in enumerate(mapped)
        ]
        function = vmap(
            lambda *x: case.call(jnp, *x), in_axes=tuple(axis if on else None for on in mapped)
        )
        given = leaves(function(*inputs))
        looped = [
            leaves(case.call(jnp, *[b[i] if on else batches[0][i] for i, on in enumerate(mapped)]))
            for b in batches
        ]
        expected = [np.stack(parts) for parts in zip(*looped, strict=True)]
        assert_close(given, expected, dtype if dtype in TOLERANCE else "float32", case.tolerance)


@pytest.mark.parametrize(("case", "dtype"), sample(DIFFERENTIABLE, "derivatives", 4))
def test_derivatives(case: JnpCase, dtype: str) -> None:
    with enable_x64(True):
        points = [jnp.asarray(x) for x in case.draw(WIDE[dtype])]
        chosen = [
            i
            for i, (x, o) in enumerate(zip(points, case.operands, strict=True))
            if o.differentiable and x.dtype.kind in "fc"
        ]
        function = _inexact_part(case, points, chosen)
        _check_derivatives(case, function, [points[i] for i in chosen])


def _inexact_part(case: JnpCase, points: list[Any], chosen: list[int]) -> Callable[..., Any]:
    """The call as a function of its differentiable operands, with a list of inexact results."""

    def function(*x: Any) -> list[Any]:
        full = list(points)
        for i, value in zip(chosen, x, strict=True):
            full[i] = value
        return [r for r in tree.leaves(case.call(jnp, *full)) if r.dtype.kind in "fc"]

    return function


def _like(arrays: Any, seed: int) -> tuple[Any, ...]:
    rng = np.random.default_rng(seed)
    draws = []
    for x in arrays:
        value = rng.normal(size=x.shape)
        value = value + 1j * rng.normal(size=x.shape) if x.dtype.kind == "c" else value
        draws.append(jnp.asarray(value.astype(x.dtype)))
    return tuple(draws)


def _check_derivatives(case: JnpCase, function: Callable[..., Any], points: list[Any]) -> None:
    """Forward mode against differences, reverse mode against forward mode, and their programs."""
    directions = _like(points, 1)
    step = 1e-5
    plus = function(*[x + step * v for x, v in zip(points, directions, strict=True)])
    minus = function(*[x - step * v for x, v in zip(points, directions, strict=True)])
    outs, tangents = jvp(function, tuple(points), directions)
    for t, p, m in zip(tangents, plus, minus, strict=True):
        numeric = (np.asarray(p) - np.asarray(m)) / (2 * step)
        scale = max(np.abs(numeric).max(initial=0.0), 1.0)
        np.testing.assert_allclose(np.asarray(t), numeric, rtol=0, atol=1e-5 * scale)
    cotangents = list(_like(outs, 2))
    _, pull = vjp(function, *points)
    pulled = pull(cotangents)
    forward, backward = _pairing(cotangents, tangents), _pairing(pulled, directions)
    assert abs(forward - backward) <= 1e-8 * max(abs(forward), 1.0)
    check_jaxpr(make_jaxpr(lambda *x: vjp(function, *x)[1](cotangents))(*points))


def _pairing(covectors: Any, vectors: Any) -> float:
    """The real part of Σ c·v."""
    return sum(
        float(np.sum(np.asarray(c * v)).real) for c, v in zip(covectors, vectors, strict=True)
    )


def test_wide_dtypes_are_off() -> None:
    assert not config.jax_enable_x64


def test_complex_numbers_are_true_unless_they_are_zero() -> None:
    z = jnp.array([1j, 0, 2 + 1j, -0.0], jnp.complex64)
    for cast in (lambda x: x.astype(bool), lambda x: jnp.astype(x, bool)):
        for run in (cast, jit(cast)):
            assert run(z).tolist() == [True, False, True, False]


def test_einsum_multiplies_by_what_it_is_given() -> None:
    seen = []

    def product(x: Any, y: Any, *rest: Any, **options: Any) -> Any:
        seen.append((x.shape, y.shape))
        return 2 * lax.dot_general(x, y, *rest, **options)

    x = np.arange(6.0, dtype=np.float32).reshape(2, 3)
    given = jnp.einsum("ij,kj,k->i", x, x, x[:, 0], _dot_general=product)
    np.testing.assert_allclose(given, 4 * np.einsum("ij,kj,k->i", x, x, x[:, 0]))
    assert len(seen) == 2


@pytest.mark.parametrize("subscripts", ["i1,1j->ij", "i#,#j", "αβ,βγ", "...1,1j->...j"])
def test_einsum_takes_any_symbol(subscripts: str) -> None:
    x, y = np.arange(6.0).reshape(2, 3), np.arange(12.0).reshape(3, 4)
    np.testing.assert_allclose(jnp.einsum(subscripts, x, y), x @ y)


@pytest.mark.parametrize("label", [-20, -3, 0, "axis"])
def test_einsum_takes_lists_of_any_labels(label: Any) -> None:
    x, y = np.arange(6.0).reshape(2, 3), np.arange(12.0).reshape(3, 4)
    i, j, k = ("a", label, "c") if isinstance(label, str) else (label - 1, label, label + 1)
    np.testing.assert_allclose(jnp.einsum(x, [i, j], y, [j, k], [k, i]), (x @ y).T)
    # Axes of a result that nobody names are in the order of the labels.
    np.testing.assert_allclose(jnp.einsum(x, [k, j], y, [j, i]), (x @ y).T)
    np.testing.assert_allclose(jnp.einsum(x, [..., j], y, [j, k], [..., k]), x @ y)


@pytest.mark.parametrize(("subscripts", "shapes"), [(text, shapes) for text, *shapes in EINSUMS])
def test_einsum_of_truth_values(subscripts: str, shapes: list[tuple[int, ...]]) -> None:
    rng = np.random.default_rng(len(subscripts))
    operands = [rng.random(shape) < 0.6 for shape in shapes]
    counts = np.einsum(subscripts, *[x.astype(int) for x in operands])
    found = jnp.einsum(subscripts, *operands)
    assert found.dtype == bool
    np.testing.assert_array_equal(found, counts > 0)
    for dtype in (np.int32, np.float32):
        found = jnp.einsum(subscripts, *operands, preferred_element_type=dtype)
        assert found.dtype == dtype
        np.testing.assert_array_equal(found, counts)


def test_einsum_refuses_labels_without_an_order() -> None:
    with pytest.raises(TypeError, match=r"(?s)einsum.*'b', 0.*integers or strings.*fix:"):
        jnp.einsum(np.ones((2, 3)), [0, "b"], [0, "b"])


NARROWED: dict[str, Callable[[Any], Any]] = {
    "zeros_like": jnp.zeros_like,
    "ones_like": jnp.ones_like,
    "empty_like": jnp.empty_like,
    "full_like": lambda x: jnp.full_like(x, 2),
    "shape": lambda x: jnp.zeros_like(x, shape=(3,)),
    "lax.full_like": lambda x: lax.full_like(x, 2),
    "traced": lambda x: jit(lambda: jnp.zeros_like(x))(),
}
ASKED_FOR: dict[str, Callable[[Any], Any]] = {
    "zeros_like": lambda d: jnp.zeros_like(np.ones(2), dtype=d),
    "full_like": lambda d: jnp.full_like(np.ones(2), 2, dtype=d),
    "lax.full": lambda d: lax.full((2,), 2, d),
    "lax.full_like": lambda d: lax.full_like(np.ones(2), 2, d),
    "lax.iota": lambda d: lax.iota(d, 2),
    "lax.broadcasted_iota": lambda d: lax.broadcasted_iota(d, (2, 2), 0),
}


@pytest.mark.parametrize("make", NARROWED.values(), ids=list(NARROWED))
@pytest.mark.parametrize("dtype", ["float64", "int64", "complex128"])
def test_arrays_like_those_of_numpy_are_narrowed_without_a_word(dtype: str, make: Any) -> None:
    x = np.ones(2, dtype)
    with enable_x64(False):
        assert make(x).dtype.itemsize == x.dtype.itemsize // 2
    with enable_x64(True):
        wide = jnp.asarray(x)
    with enable_x64(False):  # an array keeps what it has
        assert make(wide).dtype == x.dtype


@pytest.mark.parametrize("make", ASKED_FOR.values(), ids=list(ASKED_FOR))
@pytest.mark.parametrize("dtype", ["float64", np.int64])
def test_dtypes_that_are_asked_for_are_narrowed_with_a_word(dtype: Any, make: Any) -> None:
    with enable_x64(False), pytest.warns(UserWarning, match="64 becomes .*32 because"):
        assert make(dtype).dtype.itemsize == 4


def test_scalar_types_have_a_dtype_and_ask_for_none() -> None:
    with enable_x64(False):
        assert jnp.result_type(jnp.float64) == jnp.result_type(jnp.float64, jnp.int8) == "float32"
        with pytest.warns(UserWarning, match="float64 becomes float32"):
            jnp.result_type(np.float64)


def test_close_keys_are_equal_ones() -> None:
    key, other = random.key(0), random.key(1)
    assert jnp.isclose(key, key)
    assert not jnp.allclose(key, other)
