"""References eagerly: parts that an index names, against NumPy; attributes; errors."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
import pytest

import morphax as jax
import morphax.numpy as jnp
from morphax.lax.reference.ref_indexing import Slice

SHAPE = (3, 4, 5)
X = np.arange(60, dtype=np.float32).reshape(SHAPE)
ROWS, COLUMNS = np.array([0, 2]), np.array([[1], [3]])

INDICES: dict[str, tuple[Any, Any]] = {
    "everything": (..., ...),
    "nothing named": ((), ()),
    "none": (None, ...),
    "place": (1, 1),
    "place from the end": (-1, -1),
    "scalar array": (np.int64(2), 2),
    "two places": ((1, 3), (1, 3)),
    "after an ellipsis": ((..., 2), (..., 2)),
    "slice": (slice(1, 3), slice(1, 3)),
    "slice from the end": ((slice(-2, None), slice(None, -1)), (slice(-2, None), slice(None, -1))),
    "empty slice": (slice(2, 1), slice(2, 1)),
    "beyond the end": (slice(1, 9), slice(1, 9)),
    "strides": ((slice(None, None, 2), 1, slice(1, None, 3)),) * 2,
    "window": (jax.ds(1, 2), slice(1, 3)),
    "window with stride": ((0, Slice(0, 2, 3)), (0, slice(0, 4, 3))),
    "array": (ROWS, ROWS),
    "array on an axis behind": ((slice(None), ROWS), (slice(None), ROWS)),
    "arrays that broadcast": ((ROWS, COLUMNS), (ROWS, COLUMNS)),
    "arrays apart": ((ROWS, slice(1, 3), ROWS), (ROWS, slice(1, 3), ROWS)),
    "place and array": ((0, slice(None), ROWS), (0, slice(None), ROWS)),
    "array beside a stride": ((slice(None, None, 2), ROWS), (slice(None, None, 2), ROWS)),
    "negative array": (np.array([-1, 0]), np.array([-1, 0])),
}


@pytest.mark.parametrize("outer", [lambda f: f, jax.jit], ids=["eager", "jit"])
@pytest.mark.parametrize("name", INDICES)
def test_parts(name: str, outer: Any) -> None:
    index, same = INDICES[name]
    ref = jax.new_ref(X)
    expected = X.copy()
    part = outer(lambda ref: jax.ref.get(ref, index))(ref)
    np.testing.assert_array_equal(part, X[same])
    new = -np.arange(part.size, dtype=np.float32).reshape(part.shape)
    before = outer(lambda ref: jax.ref.swap(ref, index, new))(ref)
    expected[same] = new
    np.testing.assert_array_equal(before, X[same])
    np.testing.assert_array_equal(ref[...], expected)
    outer(lambda ref: jax.ref.addupdate(ref, index, new))(ref)
    np.add.at(expected, same, new)
    np.testing.assert_array_equal(ref[...], expected)


TRACED: dict[str, tuple[Any, Any]] = {
    "place": (lambda i: i, lambda i: i),
    "place from the end": (lambda i: i - 3, lambda i: i - 3),
    "places": (lambda i: (i, 2, i + 1), lambda i: (i, 2, i + 1)),
    "window": (lambda i: jax.ds(i, 2), lambda i: slice(i, i + 2)),
    "window with stride": (lambda i: (0, 0, jax.ds(i, 2, 3)), lambda i: (0, 0, slice(i, i + 4, 3))),
    "array": (lambda i: (slice(1, 3), i + np.array([0, 1])), lambda i: (slice(1, 3), [i, i + 1])),
    "place and array": (lambda i: (i, np.array([2, 0])), lambda i: (i, [2, 0])),
}


@pytest.mark.parametrize("start", [0, 1])
@pytest.mark.parametrize("name", TRACED)
def test_traced_places(name: str, start: int) -> None:
    index, same = TRACED[name]
    place = same(start)
    ref, expected = jax.new_ref(X), X.copy()
    np.testing.assert_array_equal(jax.jit(lambda r, i: r[index(i)])(ref, start), X[place])
    new = -np.ones(X[place].shape, np.float32)
    jax.jit(lambda r, i: jax.ref.set(r, index(i), new))(ref, start)
    expected[place] = new
    np.testing.assert_array_equal(ref[...], expected)
    jax.jit(lambda r, i: jax.ref.addupdate(r, index(i), new))(ref, start)
    expected[place] += new
    np.testing.assert_array_equal(ref[...], expected)


def test_places_outside() -> None:
    """Traced windows are moved inside; arrays are clamped when read, dropped when written."""
    ref = jax.new_ref(jnp.arange(3.0))
    np.testing.assert_array_equal(jax.jit(lambda r, i: r[jax.ds(i, 2)])(ref, 9), [1.0, 2.0])
    assert jax.jit(lambda r, i: r[i])(ref, 9) == 2.0
    np.testing.assert_array_equal(ref[np.array([1, 9])], [1.0, 2.0])
    ref[np.array([1, 9])] = -jnp.ones(2)
    np.testing.assert_array_equal(ref[...], [0.0, -1.0, 2.0])


def test_places_named_twice_are_added_to_twice() -> None:
    ref = jax.new_ref(jnp.zeros(3))
    jax.ref.addupdate(ref, np.array([0, 0, 2]), jnp.ones(3))
    np.testing.assert_array_equal(ref[...], [2.0, 0.0, 1.0])


def test_parts_of_parts() -> None:
    ref, expected = jax.new_ref(X), X.copy()
    plane = ref.at[1]
    rows = plane.at[1:3]
    assert (plane.shape, rows.shape, rows.ndim, rows.size) == ((4, 5), (2, 5), 2, 10)
    assert rows.dtype == np.float32
    np.testing.assert_array_equal(rows.get(0), X[1, 1])
    rows[0] = jnp.zeros(5)
    rows.at[..., 4].set(jnp.ones(2))
    assert rows.swap(7.0, (1, 0)) == X[1, 2, 0]
    jax.ref.addupdate(plane, (3, 3), 1.0)
    expected[1, 1], expected[1, 1:3, 4], expected[1, 2, 0] = 0.0, 1.0, 7.0
    expected[1, 3, 3] += 1.0
    np.testing.assert_array_equal(ref[...], expected)
    assert repr(rows) == "TransformedRef(Ref{float32[3,4,5]}[1,:,:][1:3,:])"


VALUES = [
    pytest.param("float32", 2.5, id="number"),
    pytest.param("bfloat16", 1.5, id="number in a short dtype"),
    pytest.param("int16", 3, id="int"),
    pytest.param("bool", True, id="bool"),
    pytest.param("complex64", 1j, id="complex"),
]


@pytest.mark.parametrize(("dtype", "value"), VALUES)
def test_numbers_take_the_dtype(dtype: str, value: Any) -> None:
    ref = jax.new_ref(jnp.zeros(2, dtype))
    ref[1] = value
    jax.jit(lambda r: jax.ref.set(r, 0, value))(ref)
    assert ref[...].dtype == ref.dtype == jnp.dtype(dtype)
    assert (ref[...] == value).all()


def test_attributes() -> None:
    ref = jax.new_ref(X)
    assert (ref.shape, ref.dtype, ref.ndim, ref.size) == (SHAPE, np.float32, 3, 60)
    assert len(ref) == 3
    assert ref
    assert isinstance(ref, jax.Ref)
    assert not isinstance(ref, jax.Array)
    assert ref.sharding == ref[...].sharding
    assert ref.format.sharding == ref.sharding
    assert ref.committed is False
    assert isinstance(ref.unsafe_buffer_pointer(), int)
    assert jax.typeof(ref) is ref.aval is jax.typeof(jax.new_ref(X))
    assert jax.tree.leaves([ref]) == [ref]
    assert len({ref, ref}) == 1


def test_text() -> None:
    assert repr(jax.new_ref(jnp.arange(3.0))) == "Ref([0., 1., 2.], dtype=float32)"
    assert repr(jax.new_ref(3)) == "Ref(3, dtype=int32, weak_type=True)"
    seen: list[str] = []
    jax.jit(lambda r: seen.append(repr(r)))(jax.new_ref(X))
    assert seen == ["StagingTracer(Ref{float32[3,4,5]})"]
    assert repr(jax.ds(3)) == "Slice(start=0, size=3, stride=1)"


def test_copies_are_references_of_their_own() -> None:
    ref = jax.new_ref(jnp.zeros(2))
    others = [copy.copy(ref), copy.deepcopy(ref), pickle.loads(pickle.dumps(ref))]
    ref[0] = 1.0
    for other in others:
        assert type(other) is type(ref)
        np.testing.assert_array_equal(other[...], [0.0, 0.0])


def test_weak_types_stay() -> None:
    ref = jax.new_ref(3.0)
    ref[...] = jnp.float32(2.0)
    assert ref[...].weak_type
    jax.jit(lambda r: jax.ref.set(r, (), jnp.float32(1.0)))(ref)
    assert ref[...].weak_type
    assert ref[...] == 1.0


def test_empty_and_freed() -> None:
    ref = jax.empty_ref(jax.ShapeDtypeStruct((2,), "float32"))
    ref[...] = jnp.ones(2)
    np.testing.assert_array_equal(jax.freeze(ref), [1.0, 1.0])
    assert jax.free_ref(ref) is None
    assert jax.jit(lambda x: jax.free_ref(jax.new_ref(x)))(1.0) is None


def test_keys() -> None:
    ref = jax.new_ref(jax.random.key(0))
    first = jax.random.uniform(ref[...])
    ref[...] = jax.random.split(ref[...])[0]
    assert jax.random.uniform(ref[...]) != first


REF = jax.new_ref(X)
ERRORS: dict[str, tuple[Any, type[Exception], str]] = {
    "place outside": (lambda r: r[3], ValueError, "axis 0(.|\n)*the place 3"),
    "place outside, written": (lambda r: jax.ref.set(r, (0, -5), 1.0), ValueError, "axis 1"),
    "too many": (lambda r: r[0, 0, 0, 0], ValueError, "4 parts for 3 axes"),
    "two ellipses": (lambda r: r[..., 0, ...], ValueError, "at most one ellipsis"),
    "negative step": (lambda r: r[::-1], ValueError, "step -1"),
    "window outside": (lambda r: r[jax.ds(2, 2)], ValueError, "Slice"),
    "traced bound": (
        jax.jit(lambda r: r[: r[0, 0, 0].astype(int)]),
        TypeError,
        r"jax\.ds\(start, size\)",
    ),
    "mask": (lambda r: r[X[:, 0, 0] > 0], jax.errors.NonConcreteBooleanIndexError, r"bool\[3\]"),
    "bool": (lambda r: r[True], TypeError, "True of type bool"),
    "float": (lambda r: r[1.0], TypeError, "an integer, a slice"),
    "new axis": (lambda r: r[0, None], TypeError, "None of type NoneType"),
    "list": (lambda r: r[[0, 1]], TypeError, "jnp.asarray"),
    "shape": (lambda r: jax.ref.set(r, 0, jnp.ones(5)), ValueError, r"shape \[4, 5\]"),
    "no broadcasting": (lambda r: jax.ref.set(r, ..., 1.0), ValueError, "broadcast_to"),
    "dtype": (lambda r: jax.ref.set(r, (0, 0, 0), 1), ValueError, "dtype float32"),
    "dtype added": (lambda r: jax.ref.addupdate(r, 0, X[0] * 1j), ValueError, "complex64"),
    "no value": (lambda r: jax.ref.set(r, 0, "a"), TypeError, "'a' of type str"),
    "a reference as value": (lambda r: jax.ref.set(r, ..., r), TypeError, r"ref\[\.\.\.\]"),
    "of a string": (lambda r: jax.new_ref("a"), TypeError, "new_ref, argument init_val"),
    "of a reference": (jax.new_ref, TypeError, "a reference made by new_ref"),
    "not a reference": (lambda r: jax.freeze(r[...]), TypeError, "freeze, argument ref"),
    "as an array": (jnp.sin, TypeError, "Read the reference"),
    "as an array in jit": (jax.jit(jnp.sin), TypeError, "Read the reference"),
    "converted": (jnp.asarray, TypeError, "Read the reference"),
    "as a NumPy array": (np.asarray, TypeError, "Read the reference"),
    "as an operand": (lambda r: r + 1, TypeError, "unsupported operand"),
    "beside an array": (jax.jit(lambda r: jnp.ones(SHAPE) + r), TypeError, "Read the reference"),
    "iterated": (list, TypeError, "not iterable"),
    "place of a traced one": (
        jax.jit(lambda r: r.unsafe_buffer_pointer()),
        TypeError,
        "in a traced program",
    ),
}


@pytest.mark.parametrize("name", ERRORS)
def test_errors(name: str) -> None:
    call, error, text = ERRORS[name]
    with pytest.raises(error, match=text):
        call(REF)
    np.testing.assert_array_equal(REF[...], X)
