"""Indexing and functional updates: as NumPy in bounds, by `mode` out of them, eager and traced."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable
from typing import Any

import hypothesis.extra.numpy as hnp
import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, seed, settings

import morphax as jax
import morphax.numpy as jnp
from morphax import errors, grad, jit, make_jaxpr, vmap
from morphax.core.check import check_jaxpr

# Updates by values that the array's dtype does not hold warn.
LOSES = pytest.mark.filterwarnings("ignore:x.at:FutureWarning")
QUICK = settings(max_examples=120, deadline=None, database=None)
SLOW = settings(max_examples=20, deadline=None, database=None)


def numbered(shape: tuple[int, ...]) -> np.ndarray[Any, Any]:
    return np.arange(1.0, 1 + np.prod(shape), dtype=np.float32).reshape(shape)


@st.composite
def indexed(draw: st.DrawFn) -> tuple[tuple[int, ...], Any]:
    """A shape and an index into it, basic, advanced or mixed."""
    shape = draw(hnp.array_shapes(min_dims=1, max_dims=4, min_side=1, max_side=4))
    if draw(st.booleans()):
        return shape, draw(hnp.basic_indices(shape, allow_newaxis=True, allow_ellipsis=True))
    batch = draw(hnp.array_shapes(min_dims=0, max_dims=2, min_side=0, max_side=3))
    parts: list[Any] = []
    for size in shape[: draw(st.integers(1, len(shape)))]:
        kind = draw(st.sampled_from(("array", "int", "slice", "mask")))
        if kind == "array":
            parts.append(draw(hnp.arrays(np.int32, batch, elements=st.integers(-size, size - 1))))
        elif kind == "int":
            parts.append(draw(st.integers(-size, size - 1)))
        elif kind == "slice":
            parts.append(draw(st.slices(size)))
        else:
            parts.append(slice(None))
    if draw(st.booleans()):
        parts.insert(draw(st.integers(0, len(parts))), None)
    return shape, tuple(parts)


def traced_parts(index: Any) -> tuple[list[Any], Callable[[Any], Any]]:
    """The arrays of an index, and how to put others in their place."""
    parts = index if isinstance(index, tuple) else (index,)
    places = [i for i, p in enumerate(parts) if isinstance(p, np.ndarray)]

    def rebuild(arrays: Any) -> Any:
        filled = list(parts)
        for i, a in zip(places, arrays, strict=True):
            filled[i] = a
        return tuple(filled)

    return [parts[i] for i in places], rebuild


@seed(0)
@QUICK
@given(indexed())
def test_reading(example: tuple[tuple[int, ...], Any]) -> None:
    shape, index = example
    x = numbered(shape)
    expected = x[index]
    result = jnp.asarray(x)[index]
    assert result.shape == expected.shape
    np.testing.assert_array_equal(result, expected)
    program = make_jaxpr(lambda v: v[index])(x)
    check_jaxpr(program)
    assert program.out_avals[0].shape == expected.shape


@seed(1)
@SLOW
@given(indexed())
def test_reading_at_traced_places(example: tuple[tuple[int, ...], Any]) -> None:
    shape, index = example
    x = numbered(shape)
    arrays, rebuild = traced_parts(index)
    result = jit(lambda v, a: v[rebuild(a)])(x, arrays)
    np.testing.assert_array_equal(result, x[index])


@seed(2)
@QUICK
@given(indexed(), st.sampled_from(("set", "add", "multiply", "min", "max", "subtract")))
def test_updating(example: tuple[tuple[int, ...], Any], name: str) -> None:
    shape, index = example
    x = numbered(shape)
    target = x[index].shape
    values = np.float32(2.5) + np.zeros(target[-1:], np.float32)
    expected = x.copy()
    if name == "set":
        expected[index] = values
    else:
        at = {"min": np.minimum, "max": np.maximum}.get(name) or getattr(np, name)
        at.at(expected, index, values)
    result = getattr(jnp.asarray(x).at[index], name)(values)
    np.testing.assert_allclose(result, expected, rtol=1e-6)
    check_jaxpr(make_jaxpr(lambda v: getattr(v.at[index], name)(values))(x))


@seed(3)
@SLOW
@given(indexed())
def test_updating_at_traced_places(example: tuple[tuple[int, ...], Any]) -> None:
    shape, index = example
    x = numbered(shape)
    arrays, rebuild = traced_parts(index)
    expected = x.copy()
    np.add.at(expected, index, np.float32(0.5))
    result = jit(lambda v, a: v.at[rebuild(a)].add(0.5))(x, arrays)
    np.testing.assert_allclose(result, expected)


@seed(4)
@SLOW
@given(indexed())
def test_gradient_of_reading_counts_uses(example: tuple[tuple[int, ...], Any]) -> None:
    shape, index = example
    counts = np.zeros(shape, np.float32)
    np.add.at(counts, index, 1)
    result = grad(lambda v: jnp.sum(v[index]))(jnp.asarray(numbered(shape)))
    np.testing.assert_array_equal(result, counts)


X = numbered((4, 3))
NAN = np.full(3, np.nan)


@pytest.mark.parametrize(
    ("index", "mode", "expected"),
    [
        (np.array([0, 7]), None, [X[0], X[3]]),
        (np.array([0, -9]), None, [X[0], X[0]]),
        (np.array([0, 7]), "fill", [X[0], NAN]),
        (np.array([-1, -5]), "fill", [X[3], NAN]),
        (np.array([0, 7]), "clip", [X[0], X[3]]),
        (np.array([-1]), "promise_in_bounds", [X[3]]),
        (7, None, X[3]),
        (7, "fill", NAN),
        (-7, "fill", NAN),
        (slice(2, 9), "fill", X[2:]),
    ],
)
def test_reading_out_of_bounds(index: Any, mode: str | None, expected: Any) -> None:
    result = jnp.asarray(X).at[index].get(mode=mode)
    np.testing.assert_array_equal(result, np.array(expected))
    compiled = jit(lambda v: v.at[index].get(mode=mode))(X)
    np.testing.assert_array_equal(compiled, np.array(expected))


def test_fill_value_and_promises() -> None:
    at = jnp.asarray(X).at[np.array([1, 9])]
    np.testing.assert_array_equal(at.get(mode="fill", fill_value=-1.0)[1], [-1, -1, -1])
    at = jnp.arange(5).at[jnp.array([-1, 2])]
    options = {"wrap_negative_indices": False, "mode": "fill", "fill_value": 9}
    assert at.get(**options).tolist() == [9, 2]
    sorted_places = jnp.arange(5).at[jnp.array([0, 2])]
    promised = sorted_places.get(indices_are_sorted=True, unique_indices=True)
    assert promised.tolist() == [0, 2]


@pytest.mark.parametrize(
    ("index", "mode", "row"),
    [
        (np.array([9]), None, None),
        (np.array([9]), "drop", None),
        (np.array([9]), "clip", 3),
        (np.array([-1]), None, 3),
        (np.array([-9]), None, None),
        (9, None, None),
        (-1, None, 3),
    ],
)
def test_updating_out_of_bounds(index: Any, mode: str | None, row: int | None) -> None:
    expected = X.copy()
    if row is not None:
        expected[row] = 0
    np.testing.assert_array_equal(jnp.asarray(X).at[index].set(0, mode=mode), expected)


@pytest.mark.parametrize("engine", ["native", "xla"])
@pytest.mark.parametrize("mode", ["clip", "fill"])
@pytest.mark.parametrize("first", [0, np.int8(0), np.zeros(4, np.int32)])
def test_unsigned_indices_never_count_from_the_end(first: Any, mode: str, engine: str) -> None:
    """Nor where they stand beside signed ones of no more bits."""
    x, places = numbered((2, 3)), np.array([2**32 - 1, 1, 2**31, 2], np.uint32)

    def both(x: Any, first: Any, places: Any) -> Any:
        at = x.at[first, places]
        return at.get(mode=mode, fill_value=-1), at.add(10, mode=mode)

    outside = x[0, 2] if mode == "clip" else -1
    read, updated = [outside, x[0, 1], outside, x[0, 2]], numbered((2, 3))
    np.add.at(updated[0], [1, 2, 2, 2] if mode == "clip" else [1, 2], 10)
    with jax.cpu_engine(engine):
        jitted = jit(both)(x, first, places)
    for result in (both(jnp.asarray(x), first, jnp.asarray(places)), jitted):
        np.testing.assert_array_equal(result[0], read)
        np.testing.assert_array_equal(result[1], updated)


def test_other_updates() -> None:
    x, places = jnp.arange(1.0, 5.0), np.array([1, 1, 3])
    assert x.at[places].divide(2.0).tolist() == [1, 0.5, 3, 2]
    assert x.at[places].power(2.0).tolist() == [1, 16, 3, 16]
    assert x.at[1:3].apply(jnp.negative).tolist() == [1, -2, -3, 4]
    assert x.at[places].mul(2.0).tolist() == [1, 8, 3, 8]
    assert repr(x.at[1]).startswith("AtIndex(")
    assert repr(x.at).startswith("At(")


@LOSES
def test_updates_keep_the_dtype_of_the_array() -> None:
    assert jnp.arange(3).at[0].set(1.7).tolist() == [1, 1, 2]
    assert jnp.zeros(2, "bfloat16").at[0].add(1.0).dtype == jnp.bfloat16


def test_masks_select_and_update() -> None:
    x, mask = jnp.asarray(X), X > 5
    np.testing.assert_array_equal(x[mask], X[mask])
    np.testing.assert_array_equal(x.at[mask].set(0), np.where(mask, 0, X))
    traced = jit(lambda v, m: v.at[m].set(0.0))
    with pytest.raises(errors.NonConcreteBooleanIndexError, match=r"jnp\.where"):
        traced(X, mask)


def test_mapped_indices() -> None:
    places = np.array([[0, 3], [1, 1], [2, 0]])
    x = np.stack([X, 2 * X, 3 * X])
    result = vmap(lambda v, i: v[i])(x, places)
    np.testing.assert_array_equal(result, np.stack([v[i] for v, i in zip(x, places, strict=True)]))
    mapped_places = vmap(lambda i: jnp.asarray(X)[i, :2])(places)
    np.testing.assert_array_equal(mapped_places, X[places, :2])


@pytest.mark.parametrize(
    ("index", "error", "text"),
    [
        ([0, 1], TypeError, r"jnp\.array\(index\)"),
        (1.0, TypeError, "ints, slices"),
        ("a", TypeError, "ints, slices"),
        (np.array([1.0]), TypeError, "integer or boolean"),
        ((0, 0, 0), IndexError, "at most 2 indices"),
        ((..., ...), IndexError, "ellips"),
        (slice(None, None, 0), ValueError, "step"),
        (slice(0, 1.5), (IndexError, TypeError), "slice"),
    ],
)
def test_refused_indices(index: Any, error: Any, text: str) -> None:
    with pytest.raises(error, match=text):
        jnp.asarray(X)[index]


def test_updates_are_checked() -> None:
    with pytest.raises(ValueError, match="broadcast"):
        jnp.zeros(3).at[:2].set(jnp.ones(3))
    with pytest.raises(TypeError, match=r"x\.at\[index\]\.set"):
        jnp.zeros(3)[0] = 1.0


def test_iteration() -> None:
    rows = [row.tolist() for row in jnp.asarray(X)]
    assert rows == X.tolist()
    first, *rest = jnp.arange(3)
    assert (first.item(), [r.item() for r in rest]) == (0, [1, 2])
    with pytest.raises(TypeError, match="at least one axis"):
        iter(jnp.asarray(1.0))


PROMOTED_UPDATES = {
    "add": (-1.5, [-1, 0, 0, 1, 4]),
    "subtract": (1.5, [-1, 0, 0, 1, 4]),
    "multiply": (1.5, [0, 1, 3, 4, 4]),
    "max": (1.5, [1, 1, 2, 3, 4]),
    "min": (1.5, [0, 1, 1, 1, 4]),
}


@LOSES
@pytest.mark.parametrize("name", PROMOTED_UPDATES)
@pytest.mark.parametrize("index", [slice(0, 4), np.arange(4), (slice(0, 4), None)])
@pytest.mark.parametrize("dtype", ["int8", "int32"])
def test_updates_are_combined_in_the_promoted_dtype(name: str, index: Any, dtype: str) -> None:
    values, expected = PROMOTED_UPDATES[name]
    x = jnp.arange(5, dtype=dtype)
    for update in (values, jnp.float32(values), np.float32(values)):
        result = getattr(x.at[index], name)(update)
        assert result.dtype == dtype
        np.testing.assert_array_equal(result, expected)
        jitted = jit(lambda x, update=update: getattr(x.at[index], name)(update))(x)
        np.testing.assert_array_equal(jitted, expected)


@LOSES
@pytest.mark.parametrize("dtype", ["float32", "int8", "bfloat16"])
@pytest.mark.parametrize("index", [1, slice(0, 4, 2), np.array([1, 1, 5])])
@pytest.mark.parametrize("update", [2 + 1j, np.complex64(1 - 3j), jnp.asarray(3j)])
def test_real_parts_of_complex_updates_are_kept(dtype: str, index: Any, update: Any) -> None:
    x = jnp.array([1, 2, 3, 4], dtype)
    for name in ("set", "add", "subtract", "multiply"):
        found = getattr(x.at[index], name)(update)
        assert found.dtype == dtype
        expected = getattr(x.astype(complex).at[index], name)(update)
        np.testing.assert_allclose(found, np.real(expected).astype(dtype), rtol=1e-2, atol=1e-6)
        jitted = jit(lambda x, name=name: getattr(x.at[index], name)(update))(x)
        np.testing.assert_allclose(jitted, found, rtol=1e-2, atol=1e-6)


@pytest.mark.parametrize(
    ("dtype", "values", "warns"),
    [
        ("float32", 1j, True),
        ("bool", np.complex64(1), True),
        ("int32", 1.5, True),
        ("int32", np.float32(1), True),
        ("int8", np.int32(1), True),
        ("uint8", np.int8(1), True),
        ("bool", 1, True),
        ("bfloat16", np.float32(1), True),
        ("int32", 1, False),
        ("int32", np.int8(1), False),
        ("float32", 1.5, False),
        ("float32", np.int32(1), False),
        ("bfloat16", 1.5, False),
    ],
)
@pytest.mark.parametrize("name", ["set", "add", "max"])
def test_updates_that_a_dtype_does_not_hold_warn(
    dtype: str, values: Any, warns: bool, name: str
) -> None:
    x = jnp.ones(2, dtype)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        assert getattr(x.at[0], name)(values).dtype == dtype
    texts = [str(w.message) for w in caught if w.category is FutureWarning]
    assert len(texts) == warns
    assert not warns or re.search(
        rf"(?s)x\.at\[\.\.\.\]\.{name}, argument values \(at .*given:.*fix:", texts[0]
    ), texts


@LOSES
def test_updates_by_floats_leave_other_integers_as_they_are() -> None:
    x = jnp.array([2**24 + 1, 7, 2**31 - 1, -(2**31) + 1], jnp.int32)
    cases = ((1, 7), (slice(1, 2), 7), (np.array([1, 1]), 8), (np.array([-3, 9]), 7))
    for index, changed in cases:
        result = x.at[index].add(jnp.float32(0.75))
        np.testing.assert_array_equal(result, [2**24 + 1, changed, 2**31 - 1, -(2**31) + 1])


@LOSES
def test_narrow_floats_are_updated_in_the_wider_dtype() -> None:
    x = jnp.full(3, 2, jnp.bfloat16)
    # 2.7 as a bfloat16 is 2.703125, and the product is rounded once.
    np.testing.assert_array_equal(
        x.at[np.array([0, 0])].multiply(jnp.float32(2.7)).astype("float32"), [14.5625, 2, 2]
    )


@LOSES
def test_truth_values_are_updated_by_numbers_as_numbers() -> None:
    b = jnp.array([True, False, True])
    np.testing.assert_array_equal(b.at[:2].add(-1), [False, True, True])
    np.testing.assert_array_equal(b.at[np.array([0, 1])].subtract(2), [True, True, True])
    np.testing.assert_array_equal(b.at[1].add(True), [True, True, True])


@pytest.mark.parametrize("index", [(-1,), (-1, 2), (1, -2), (slice(1, None), -1), (-2, [0, 1])])
@pytest.mark.parametrize("mode", ["clip", "fill"])
def test_negative_ints_that_do_not_count_from_the_end_are_out_of_bounds(
    index: Any, mode: str
) -> None:
    x = np.arange(12, dtype=np.float32).reshape(3, 4)
    index = tuple([np.array(part) if isinstance(part, list) else part for part in index])
    nearest = tuple([0 if type(part) is int and part < 0 else part for part in index])
    read = jnp.asarray(x).at[index].get(mode=mode, wrap_negative_indices=False)
    expected = x[nearest] if mode == "clip" else np.full_like(x[nearest], np.nan)
    np.testing.assert_array_equal(read, expected)
    written = jnp.asarray(x).at[index].set(-1, mode=mode, wrap_negative_indices=False)
    expected = x.copy()
    if mode == "clip":
        expected[nearest] = -1
    np.testing.assert_array_equal(written, expected)


def test_what_is_empty_indexes_and_has_no_roots() -> None:
    assert [v.dtype for v in jnp.ix_(jnp.zeros(0), jnp.zeros(0, bool))] == ["int32", "int32"]
    for coefficients in (jnp.zeros(0), jnp.ones(1)):
        assert jax.jit(jnp.roots)(coefficients).shape == (0,)


WINDOWS: list[Callable[[Any], Any]] = [
    lambda i: jax.ds(i, 2),
    lambda i: (jax.ds(i, 2), 1),
    lambda i: (slice(None), jax.ds(i, 3)),
    lambda i: (jax.ds(i, 2), jax.ds(1, 2)),
    lambda i: (..., None, jax.ds(i, 2)),
    lambda i: (jax.ds(i, 2), slice(0, 2)),
    lambda i: (np.array([True, False, True, True]), jax.ds(i, 2)),
    lambda i: (jax.ds(i, 2, 2), np.array([2, 0])),
]


@pytest.mark.parametrize("index", WINDOWS)
def test_windows_of_traced_starts(index: Callable[[Any], Any]) -> None:
    x = numbered((4, 5))

    def at(start: int) -> Any:
        """The index of NumPy, with windows moved inside."""
        parts, found, axis = index(start), [], 0
        for part in parts if type(parts) is tuple else (parts,):
            if type(part) is type(jax.ds(0, 1)):
                span = (part.size - 1) * part.stride + 1
                first = min(part.start, x.shape[axis] - span)
                found.append(slice(first, first + span, part.stride))
            else:
                found.append(part)
            axis += part is not None
        return tuple(found)

    read = jit(lambda x, i: x[index(i)])
    for start in (0, 1, 3, 9):
        wanted = x[at(start)]
        np.testing.assert_array_equal(jnp.asarray(x)[index(start)], wanted)
        np.testing.assert_array_equal(read(x, start), wanted)


@pytest.mark.parametrize("index", WINDOWS[:5])
@pytest.mark.parametrize("start", [1, 9, -3])
def test_updates_of_windows(index: Callable[[Any], Any], start: int) -> None:
    """A window that sticks out changes nothing, or is moved inside with "clip"."""
    x = jnp.asarray(numbered((4, 5)))
    inside, outside = x.at[index(min(max(start, 0), 2))], start != 1
    for wrap in (lambda f: f, jit):
        for change in (
            lambda at, **options: at.set(-1, **options),
            lambda at, **options: at.add(2, **options),
            lambda at, **options: at.apply(lambda v: v * v, **options),
            lambda at, **options: at.divide(2, **options),
        ):
            dropped = wrap(lambda x, i, change=change: change(x.at[index(i)]))(x, start)
            np.testing.assert_array_equal(dropped, x if outside else change(inside))
        # Which windows fit where others begin is a question of their sizes.
        moved = wrap(lambda x, i: x.at[index(i)].set(-1, mode="clip"))(x, start)
        assert (moved == -1).sum() == x[index(0)].size
        read = wrap(lambda x, i: x.at[index(i)].get(mode="fill", fill_value=-1))(x, start)
        assert (read == -1).all() if outside else (read == x[index(start)]).all()


def test_gradients_of_updated_windows() -> None:
    def f(x: Any, v: Any, i: Any) -> Any:
        return (x.at[jax.ds(i, 2)].set(v) * jnp.arange(1.0, 5.0)).sum()

    slopes = jax.grad(f, (0, 1))
    for start, of_x, of_v in ((1, [1, 0, 0, 4], [2, 3]), (3, [1, 2, 3, 4], [0, 0])):
        found = slopes(jnp.zeros(4), jnp.ones(2), start)
        np.testing.assert_array_equal(found[0], of_x)
        np.testing.assert_array_equal(found[1], of_v)


def test_shifted_booleans_are_integers_of_32_bits() -> None:
    with jax.enable_x64(True):
        for shift in (jnp.left_shift, jnp.right_shift):
            assert shift(jnp.array([True]), True).dtype == np.int32


@pytest.mark.parametrize("seed", range(8))
def test_few_places_in_eager_mode_are_those_of_compiled_programs(seed: int) -> None:
    """The programs of such calls differ by all that decides what is read and written."""
    rng = np.random.default_rng(seed)
    x = jnp.asarray(rng.normal(size=(4, 3)))
    places = [jnp.asarray(rng.integers(-6, 6, size)) for size in ((2,), (2, 2), ())]
    for _ in range(40):
        first, second = (places[i] for i in rng.integers(3, size=2))
        kind = rng.integers(5)
        flags = {"mode": [None, "clip", "drop"][rng.integers(3)]}
        flags["wrap_negative_indices"] = bool(rng.integers(2))
        if kind == 0:
            index: Any = first
        elif kind == 1:
            index = (first, int(rng.integers(3)))
        elif kind == 2:
            index = (slice(None, None, int(rng.choice([1, 2, -1]))), second % 3)
        elif kind == 3:
            index = (None, first, slice(int(rng.integers(2)), None))
        else:
            index = (first[..., None] if first.ndim else first, second)
        name = ["set", "add", "multiply", "min", "get"][rng.integers(5)]

        def function(x: Any, index: Any = index, name: str = name, flags: Any = flags) -> Any:
            at = x.at[index]
            if name == "get":
                return at.get(**{**flags, "mode": flags["mode"] and "clip"})
            return getattr(at, name)(2.5, **flags)

        np.testing.assert_array_equal(function(x), jax.jit(function)(x))
        np.testing.assert_array_equal(x[index], jax.jit(lambda x, index=index: x[index])(x))
