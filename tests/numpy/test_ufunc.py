"""Universal functions: every method against NumPy, and under every transformation."""

from __future__ import annotations

import copy
import inspect
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import morphax as jax
import morphax.numpy as jnp
from morphax.config import override
from morphax.test_util import check_grads
from morphax.transforms.function_identity import Identity, identify

IDENTITIES = {
    **dict.fromkeys(("add", "bitwise_or", "bitwise_xor"), 0),
    **dict.fromkeys(("subtract", "maximum", "minimum", "negative")),
    **dict.fromkeys(("logical_or", "logical_xor"), False),
    **dict.fromkeys(("logaddexp", "logaddexp2"), -np.inf),
    **{"multiply": 1, "logical_and": True, "bitwise_and": -1},
}
BINARY = [name for name in IDENTITIES if name != "negative"]
BITS = ("bool", "int32", "uint8")
DTYPES = {
    "subtract": ("int32", "float32", "complex64"),
    **dict.fromkeys(("logaddexp", "logaddexp2"), ("float32",)),
    **dict.fromkeys(("bitwise_and", "bitwise_or", "bitwise_xor"), BITS),
}
CASES = [(name, d) for name in BINARY for d in DTYPES.get(name, ("float32", *BITS))]
METHODS: dict[str, Callable[[Any, Any], Any]] = {
    "reduce": lambda f, x: f.reduce(x),
    "reduce last": lambda f, x: f.reduce(x, axis=-1, keepdims=True),
    "reduce from": lambda f, x: f.reduce(x, 1, initial=np.ones((), x.dtype)[()]),
    "reduce some": lambda f, x: f.reduce(
        x, 1, initial=np.ones((), x.dtype)[()], where=np.array([True, False, True, True])
    ),
    "reduce scalar rows": lambda f, x: f.reduce(x[:, 0]),
    "accumulate": lambda f, x: f.accumulate(x, axis=-1),
    "outer": lambda f, x: f.outer(x[0], x[:, :2]),
    "outer scalar": lambda f, x: f.outer(x, x[0, 0]),
    "reduceat": lambda f, x: f.reduceat(x, np.array([0, 2, 1, 1])),
    "reduceat last": lambda f, x: f.reduceat(x, np.array([3, 0]), axis=-1),
    "reduceat nowhere": lambda f, x: f.reduceat(x, np.array([], np.int32)),
    "call": lambda f, x: f(x, x[:, :1], out=None),
}
# NumPy widens what it adds and multiplies; here `reduce` alone does, and `accumulate` of booleans,
# as in JAX.
KEEPS = ("accumulate", "reduceat", "reduceat last", "reduceat nowhere")
TOLERANCE = {"float32": 1e-5, "complex64": 1e-5}


def draw(dtype: str) -> np.ndarray[Any, Any]:
    x = np.random.default_rng(7).integers(0, 5, (3, 4))
    return (x % 2 if dtype == "bool" else x).astype(dtype)


def agree(given: Any, expected: Any, dtype: str) -> None:
    assert given.shape == np.shape(expected)
    np.testing.assert_allclose(given, expected, rtol=TOLERANCE.get(dtype, 0))


@pytest.mark.parametrize(("name", "dtype"), CASES)
def test_methods_are_those_of_numpy(name: str, dtype: str) -> None:
    x, ours, theirs = draw(dtype), getattr(jnp, name), getattr(np, name)
    for label, method in METHODS.items():
        given = method(ours, jnp.asarray(x))
        expected = method(theirs, x)
        if label in KEEPS[dtype == "bool" :] and name in ("add", "multiply"):
            expected = expected.astype(dtype)
        agree(given, expected, dtype)
        widened = given.dtype if name in ("add", "multiply") else expected.dtype
        assert (given.dtype, given.weak_type) == (widened, False), label


@pytest.mark.parametrize(("name", "dtype"), CASES)
def test_compiled_and_batched_methods(name: str, dtype: str) -> None:
    f, x = getattr(jnp, name), jnp.asarray(draw(dtype))
    for label in ("reduce some", "reduceat"):
        method = METHODS[label]
        agree(jax.jit(lambda x, m=method: m(f, x))(x), method(f, x), dtype)
        batch = jnp.stack([x, x[::-1]], 1)
        given = jax.vmap(lambda x, m=method: m(f, x), in_axes=1)(batch)
        agree(given, np.stack([method(f, x), method(f, x[::-1])]), dtype)


@pytest.mark.parametrize(("name", "dtype"), CASES)
def test_at(name: str, dtype: str) -> None:
    x, ours = draw(dtype), getattr(jnp, name)
    for index in (0, (1, -1), np.array([0, 2, 0]), slice(0, 3, 2), (..., np.array([3, 3])), x > 1):
        values = np.ones(x[index].shape[-1:], dtype)
        expected = x.copy() if not name.startswith("logical") else x != 0
        if name.startswith("log") and not name.startswith("logical"):
            expected = expected.astype(np.float64)
        getattr(np, name).at(expected, index, values)
        agree(ours.at(jnp.asarray(x), index, values, inplace=False), expected, dtype)
    if not name.startswith("log"):
        assert np.array_equal(ours.at(x, jnp.array([9]), x[0, 0], inplace=False), x)


@pytest.mark.parametrize("name", ["subtract", "multiply", "logaddexp", "logaddexp2", "maximum"])
def test_derivatives(name: str) -> None:
    f, x = getattr(jnp, name), np.random.default_rng(3).normal(size=(5, 2))
    with jax.enable_x64(True):
        for method in (
            lambda x: f.reduce(x, 0),
            lambda x: f.accumulate(x),
            lambda x: f.reduceat(x, np.array([0, 3, 1])),
            lambda x: jax.jit(f.reduceat)(x, jnp.array([0, 3, 1])),
            lambda x: f.outer(x, x[0]),
            lambda x: f.at(x, np.array([0, 1]), x[2:4], inplace=False),
        ):
            check_grads(method, (jnp.asarray(x),), order=1, atol=1e-6, rtol=1e-6)
        check_grads(lambda x: f.reduce(x, 0), (jnp.asarray(x),), order=2, atol=1e-6, rtol=1e-6)


def test_log_sums_of_infinities_have_derivatives() -> None:
    """As two equal operands of the function itself have: ½ each."""
    for value in (-np.inf, np.inf):
        x = jnp.full(2, value)
        assert jax.grad(jnp.logaddexp.reduce)(x).tolist() == [0.5, 0.5]
    assert jnp.logaddexp.reduce(jnp.ones((0, 2))).tolist() == [-np.inf] * 2
    assert np.isnan(jnp.logaddexp2.reduce(jnp.array([np.nan, np.inf])))


def decayed(x: Any, y: Any) -> Any:
    return 0.5 * x + y


def test_a_python_function() -> None:
    f = jnp.frompyfunc(decayed, 2, 1)
    theirs = np.frompyfunc(decayed, 2, 1)
    x = draw("float32")
    for label, method in METHODS.items():
        if label != "call":
            agree(method(f, jnp.asarray(x)), np.asarray(method(theirs, x), "float32"), "float32")
    traced = jax.jit(f.reduceat)(x, jnp.array([0, 2, 1, 1]))
    agree(traced, f.reduceat(x, np.array([0, 2, 1, 1])), "float32")
    assert np.isnan(jax.jit(f.reduceat)(x, jnp.array([5]))).all()
    assert f.at(x, (0, np.array([1, 1])), 2.0, inplace=False)[0, 1] == (x[0, 1] / 2 + 2) / 2 + 2
    two = jnp.frompyfunc(lambda x: (x, x + 1), 1, 2)
    assert [r.tolist() for r in two(jnp.arange(2))] == [[0, 1], [1, 2]]
    assert f.identity is None
    assert f.nargs == 2
    assert repr(f) == "<jnp.ufunc 'decayed'>"
    assert jnp.frompyfunc(decayed, 2, 1, identity=3).reduce(jnp.ones(0)) == 3
    ratio = jnp.frompyfunc(lambda x, y: x / y, 2, 1)
    assert ratio.accumulate(jnp.array([4, 2, 2])).tolist() == [4.0, 2.0, 1.0]
    assert ratio.at(jnp.array([1, 3]), 0, 2, inplace=False).tolist() == [0.5, 3.0]
    assert ratio.reduce(jnp.array([7, 2]), dtype=int) == 3


@pytest.mark.parametrize("name", IDENTITIES)
def test_what_they_are(name: str) -> None:
    f = getattr(jnp, name)
    assert isinstance(f, jnp.ufunc)
    assert f.__name__ == name
    assert repr(f) == f"<jnp.ufunc '{name}'>"
    assert (f.nin, f.nout, f.nargs) == (2 - (name == "negative"), 1, 2 - (name == "negative"))
    assert f.identity == IDENTITIES[name]
    assert type(f.identity) is type(IDENTITIES[name])
    assert pickle.loads(pickle.dumps(f)) is f
    assert copy.deepcopy(f) is f
    assert str(inspect.signature(f)) == "(*args, out=None, where=None)"
    assert isinstance(identify([f]), Identity)
    assert isinstance(identify([lambda x: f(x, x)]), Identity)
    x = jnp.ones(2, int)
    assert jax.make_jaxpr(f)(*[x] * f.nin).out_avals[0].shape == (2,)
    assert jax.jit(f)(*[x] * f.nin).shape == (2,)
    for option in ("out", "where"):
        with pytest.raises(NotImplementedError, match=f"argument {option}"):
            f(*[x] * f.nin, **{option: x})


def test_equality() -> None:
    f, g = jnp.frompyfunc(decayed, 2, 1), jnp.frompyfunc(decayed, 2, 1)
    assert f == g
    assert hash(f) == hash(g)
    assert pickle.loads(pickle.dumps(f)) == f
    assert f != jnp.frompyfunc(decayed, 2, 1, identity=0)
    assert f != decayed
    shown = jnp.ufunc(decayed, 2, 1, name="shown", nargs=5, call=jnp.add, reduce=jnp.sum)
    assert repr(shown) == "<jnp.ufunc 'shown'>"
    assert shown.nargs == 5
    assert shown(1, 2) == 3


REFUSED: dict[str, tuple[type[Exception], str, Callable[[], Any]]] = {
    "one operand": (ValueError, "two operands", lambda: jnp.negative.reduce(jnp.ones(2))),
    "nothing": (ValueError, "initial", lambda: jnp.subtract.reduce(jnp.ones(0))),
    "least of nothing": (ValueError, "initial", lambda: jnp.minimum.reduce(jnp.ones(0))),
    "where": (ValueError, "initial", lambda: jnp.subtract.reduce(1.0 * X, where=X > 0)),
    "where numbers": (ValueError, "booleans", lambda: jnp.add.reduce(X, where=X)),
    "at of two": (TypeError, "2 operands", lambda: jnp.add.at(X, 0, inplace=False)),
    "at of one": (TypeError, "1 operands", lambda: jnp.negative.at(X, 0, 1, inplace=False)),
    "in place": (NotImplementedError, "inplace=False", lambda: jnp.add.at(X, 0, 1)),
    "out": (NotImplementedError, "out", lambda: jnp.add.reduce(X, out=X)),
    "list": (TypeError, "jnp.array", lambda: jnp.add.outer([1], 2)),
    "list of frompyfunc": (TypeError, "jnp.array", lambda: jnp.frompyfunc(decayed, 2, 1)([1], 2)),
    "floats": (TypeError, "integers", lambda: jnp.add.reduceat(X, jnp.ones(1))),
    "matrix": (ValueError, "vector", lambda: jnp.add.reduceat(X, jnp.ones((1, 1), int))),
    "place": (IndexError, "size 3", lambda: jnp.add.reduceat(X, jnp.array([3]))),
    "negative place": (IndexError, "size 3", lambda: jnp.add.reduceat(X, jnp.array([-1]))),
    "axis": (ValueError, "argument axis", lambda: jnp.add.reduce(X, axis=1)),
    "no axis": (ValueError, "argument axis", lambda: jnp.subtract.accumulate(X, axis=None)),
    "function": (TypeError, "callable", lambda: jnp.frompyfunc(3, 1, 1)),
    "number": (TypeError, "float", lambda: jnp.frompyfunc(decayed, 1.5, 1)),
}
X = jnp.arange(3)


@pytest.mark.parametrize("label", REFUSED)
def test_refused(label: str) -> None:
    error, text, call = REFUSED[label]
    with pytest.raises(error, match=text):
        call()


@pytest.mark.parametrize("name", BINARY)
def test_replayed_methods_are_the_methods_themselves(name: str) -> None:
    """Methods at their second and third call, against calls that are watched, which run alone."""
    f = getattr(jnp, name)
    x = jnp.asarray(
        [[2, 0, 3, 3, 1], [1, 1, 0, 4, 7]], "int32" if name[:4] == "bitw" else "float32"
    )
    places, row = jnp.array([1, 4, -1, 1]), x[0, :4]
    calls = [
        lambda: f.reduce(x, axis=1),
        lambda: f.accumulate(x, axis=1),
        lambda: f.outer(row, x),
        lambda: f.at(x[0], places, row.astype(f(row, row).dtype), inplace=False),
        lambda: f.reduceat(x, jnp.array([3, 0, 1]), axis=1),
    ]
    for call in calls:
        with override(debug_infs=True):
            alone = call()
        for _ in range(3):
            given = call()
            assert given.aval == alone.aval
            np.testing.assert_allclose(given, alone, rtol=1e-6)


def test_values_that_an_array_does_not_hold_are_told_of_at_each_call() -> None:
    x, places, values = jnp.arange(4), jnp.array([0]), jnp.ones(1)
    for _ in range(3):
        with pytest.warns(FutureWarning, match=r"at\[...\].max"):
            jnp.maximum.at(x, places, values, inplace=False)


@pytest.mark.parametrize("of", [np, jnp], ids=["NumPy", "Array"])
def test_places_that_a_mask_says(of: Any) -> None:
    """Where the mask is true is a question of its numbers, at each call."""
    x, mask = of.arange(4), of.asarray([True, False, True, False])
    for _ in range(3):
        np.testing.assert_array_equal(jnp.add.at(x, mask, 5, inplace=False), [5, 1, 7, 3])


def test_segments_of_numpy_have_their_special_numbers() -> None:
    x = np.array([0.0, -0.0, np.nan, 1, np.inf, -np.inf, 1e-40, 3e38, 3e38], np.float32)
    places = np.array([0, 2, 3, 3, 6, 7, 1, 8])
    for name in ("add", "subtract", "multiply", "maximum", "minimum", "logical_xor"):
        f = getattr(jnp, name)
        expected = jax.jit(lambda x, f=f: f.reduceat(x, places))(x)
        np.testing.assert_array_equal(f.reduceat(jnp.asarray(x), jnp.asarray(places)), expected)
