"""Operands of jnp functions: promotion, weak types, conversion and the reflected operators."""

from __future__ import annotations

from array import array
from collections import deque
from functools import partial
from typing import Any

import numpy as np
import pytest
from scipy.special import gammaln

import morphax as jax
import morphax.numpy as jnp
from morphax import lax
from morphax.scipy import special

OF_TWO = (
    "add arctan2 copysign divide floor_divide float_power fmax fmin fmod heaviside hypot logaddexp "
    "logaddexp2 maximum minimum multiply nextafter power remainder subtract full_like"
).split()


PRODUCTS: dict[str, Any] = {
    "matmul": jnp.matmul,
    "dot": jnp.dot,
    "inner": jnp.inner,
    "vdot": jnp.vdot,
    "vecdot": jnp.vecdot,
    "tensordot": partial(jnp.tensordot, axes=1),
    "einsum": partial(jnp.einsum, "ij,jk"),
    "einsum of elements": partial(jnp.einsum, "ij,ij->ij"),
}


@pytest.mark.parametrize("name", OF_TWO)
@pytest.mark.parametrize("shape", [(), (3,)])
def test_a_dtype_that_one_operand_has_for_good_is_the_results(
    name: str, shape: tuple[int, ...]
) -> None:
    function = getattr(jnp, name)
    weak = jnp.broadcast_to(jnp.asarray(0.5), shape)
    strong = jnp.full(shape, 0.25, np.float32)
    pairs = [(weak, strong), (strong, weak)]
    if name == "full_like" and not shape:  # A number is taken as the first operand is.
        pairs = pairs[1:]
    for x, y in pairs:
        for result in (function(x, y), function(x, y), jax.jit(function)(x, y)):
            assert (result.dtype, result.weak_type) == (np.float32, False)
            assert (result * jnp.ones(3, jnp.bfloat16)).dtype == np.float32


def test_matrices_have_their_dtype_for_good() -> None:
    assert not jnp.diagflat(jnp.broadcast_to(jnp.asarray(0.5), (3,))).weak_type
    assert not jnp.diagflat(1.0).weak_type


@pytest.mark.parametrize(
    ("x", "y", "dtype", "weak"),
    [
        (1, 2, "int32", True),
        (1, 2.0, "float32", True),
        (1.0, 2j, "complex64", True),
        (True, 1, "int32", True),
        ("int8", 1, "int8", False),
        ("int8", 1.0, "float32", True),
        ("bfloat16", 1, "bfloat16", False),
        ("bfloat16", "float16", "float32", False),
        ("uint8", "int8", "int16", False),
        ("uint32", "int32", "int32", False),
        ("float32", 1j, "complex64", False),
        ("bool", "int8", "int8", False),
        ("int32", "bfloat16", "bfloat16", False),
    ],
)
def test_promotion(x: Any, y: Any, dtype: str, weak: bool) -> None:
    operands = [jnp.ones(3, v) if isinstance(v, str) else v for v in (x, y)]
    for result in (
        jnp.add(*operands),
        jnp.multiply(*operands[::-1]),
        jax.jit(jnp.add)(*operands),
        jax.make_jaxpr(jnp.add)(*operands).out_avals[0],
    ):
        assert (str(result.dtype), result.weak_type) == (dtype, weak)


def test_functions_of_several_steps_are_as_weak_as_those_of_one() -> None:
    bytes_ = jnp.ones(3, "int8")
    found = [jnp.sinc(1.5), jnp.sinc(np.float32(1.5)), jnp.angle(1.5), jnp.angle(1.5j)]
    found += [jnp.hypot(1.5, 2), jnp.hypot(1.5, bytes_), jax.jit(jnp.sinc)(1.5)]
    assert [x.weak_type for x in found] == [True, False, False, True, True, False, True]
    assert (jnp.ones(3, "bfloat16") * jnp.sinc(1.5)).dtype == jnp.bfloat16


def test_weak_arrays_stay_weak_with_python_scalars_only() -> None:
    weak = jnp.asarray(2.0)
    assert (weak * 2).weak_type
    assert (weak * 2.5).weak_type
    assert not (weak * np.float32(2)).weak_type
    assert (weak * jnp.ones(2, "bfloat16")).dtype == jnp.bfloat16


def test_numpy_operands_are_narrowed() -> None:
    assert jnp.add(np.ones(2), np.ones(2)).dtype == jnp.float32
    assert jnp.add(np.int64(3), np.arange(2)).dtype == jnp.int32
    with jax.enable_x64(True):
        assert jnp.add(np.ones(2), np.ones(2)).dtype == jnp.float64


class Wrapped:
    """A value that says how it becomes an array."""

    def __jax_array__(self) -> Any:
        return jnp.arange(3)


def test_jax_array_protocol() -> None:
    assert jnp.asarray(Wrapped()).tolist() == [0, 1, 2]
    assert jnp.add(Wrapped(), 1).tolist() == [1, 2, 3]
    assert (jnp.ones(3) + Wrapped()).tolist() == [1, 2, 3]
    assert jnp.sum(Wrapped()) == 3


class Reflected:
    """A class of another library that knows how to combine with arrays."""

    __array_priority__ = 10_000

    def __radd__(self, other: Any) -> str:
        return "radd"

    def __rmatmul__(self, other: Any) -> str:
        return "rmatmul"

    def __eq__(self, other: object) -> Any:
        return "eq"

    __hash__ = None  # type: ignore[assignment]


def test_unknown_operands_are_asked_themselves() -> None:
    x = jnp.ones(2)
    assert x + Reflected() == "radd"
    assert x @ Reflected() == "rmatmul"
    assert (x == Reflected()) == "eq"
    with pytest.raises(TypeError, match="unsupported operand"):
        x + "a"
    with pytest.raises(TypeError, match="unsupported operand"):
        jax.jit(lambda v: v + {1})(x)


def test_numpy_operands_on_the_left() -> None:
    x = jnp.arange(3.0)
    for result in (np.ones(3, np.float32) + x, np.float32(1) + x, np.ones((2, 3)) @ x):
        assert isinstance(result, jax.Array)


def test_rank_promotion_can_be_refused() -> None:
    with jax.numpy_rank_promotion("raise"):
        assert jnp.add(jnp.ones((2, 3)), 1).shape == (2, 3)
        with pytest.raises((TypeError, ValueError), match="rank"):
            jnp.add(jnp.ones((2, 3)), jnp.ones(3))


def test_rank_promotion_can_warn() -> None:
    with (
        jax.numpy_rank_promotion("warn"),
        pytest.warns(UserWarning, match=r"jnp\.add \(at .*(.|\n)*\(2, 5\), \(5,\)(.|\n)*'warn'"),
    ):
        jnp.add(jnp.ones((2, 5)), jnp.ones(5))


def test_strict_promotion_can_be_demanded() -> None:
    with jax.numpy_dtype_promotion("strict"):
        assert (jnp.ones(2) * 2).dtype == jnp.float32
        with pytest.raises(Exception, match="strict"):
            jnp.add(jnp.ones(2), jnp.arange(2))


@pytest.mark.parametrize(
    "call",
    [
        lambda z: z.astype("float32"),
        lambda z: lax.convert_element_type(z, int),
        lambda z: jnp.asarray(z, "bfloat16"),
        lambda z: jnp.sum(z, dtype="float32"),
        lambda z: jnp.mean(z, dtype="float32"),
        lambda z: jnp.cumsum(z, dtype=int),
        lambda z: jnp.concatenate([z, z], dtype="float32"),
    ],
)
def test_imaginary_parts_are_not_lost_without_a_word(call: Any) -> None:
    z = jnp.array([1 + 2j, 3])
    for function in (call, jax.jit(call)):
        with pytest.warns(np.exceptions.ComplexWarning, match=r"complex numbers, c64\[2\]"):
            function(z)
        function(z.real)


def test_views() -> None:
    x = jnp.arange(4, dtype="float32")
    assert x.view("int32").tolist() == np.arange(4, dtype="f").view("i").tolist()
    assert x.view("uint8").tolist() == np.arange(4, dtype="f").view("u1").tolist()
    assert x.view("uint8").view("float32").tolist() == x.tolist()
    assert x.view("complex64").tolist() == [1j, 2 + 3j]
    assert x.view("complex64").view("float32").tolist() == x.tolist()
    assert (x > 1).view("uint8").tolist() == [0, 0, 1, 1]
    assert jax.jit(lambda v: v.view("int16"))(x).shape == (8,)
    whole = x.astype(int)
    for same in (whole.view(), whole.view(None), whole.view("uint4").view("int32")):
        assert same.dtype == np.int32
        assert same.tolist() == [0, 1, 2, 3]


def test_containment() -> None:
    assert 2 in jnp.arange(3)
    assert 5 not in jnp.arange(3)


def test_sizes_of_traced_values() -> None:
    found = []
    jax.jit(lambda x: found.append((x.nbytes, x.itemsize, x.size, x.ndim)) or x)(jnp.ones((2, 3)))
    assert found == [(24, 4, 6, 2)]


@pytest.mark.parametrize("axes", [(0, 1), [0, 1], range(2), np.arange(2), {0: 1, 1: 0}, {0, 1}])
def test_axes_may_be_anything_that_has_several(axes: Any) -> None:
    x = np.arange(6.0, dtype=np.float32).reshape(2, 3)
    assert jnp.sum(x, axis=axes).item() == 15.0
    assert jnp.expand_dims(x, axes).shape == (1, 1, 2, 3)
    assert jnp.squeeze(x[None, None], axes).shape == (2, 3)
    np.testing.assert_array_equal(jnp.flip(x, axes), x[::-1, ::-1])
    assert jax.jit(lambda x: jnp.max(x, axes))(x) == 5.0


def test_sizes_of_what_is_no_array_are_those_of_numpy() -> None:
    for given in (None, "text", [None, 1], object()):
        for function in (jnp.shape, jnp.ndim, jnp.size):
            with pytest.warns(DeprecationWarning, match="for arrays and numbers"):
                assert function(given) == getattr(np, function.__name__)(given)


@pytest.mark.parametrize("wide", [np.int64(2**40 + 3), np.uint64(2**63 + 5)])
def test_wide_integers_become_floats_at_once(wide: Any) -> None:
    """By way of 32 bits they would be small numbers, without a word."""
    expected = np.float32(wide)
    several = np.array([wide, 1])
    for x in (wide, np.asarray(wide), several):
        assert np.ravel(jnp.float32(1) * x)[0] == expected
        assert np.ravel(jnp.full(2, x, np.float32))[0] == expected
        assert np.ravel(jnp.where(True, x, jnp.float32(0)))[0] == expected
        np.testing.assert_allclose(np.ravel(jnp.sqrt(x))[0], np.sqrt(expected), 1e-6)
        closed = jax.jit(lambda x=x: jnp.maximum(x, jnp.float32(0)))()
        assert np.ravel(closed)[0] == expected
    assert jax.nn.gelu(wide) == expected
    np.testing.assert_allclose(special.gammaln(wide), gammaln(float(wide)), 1e-6)
    np.testing.assert_allclose(jnp.power(wide, 0.5), np.sqrt(expected), 1e-6)


SCALARS = [True, 3, 2.5, 1j, np.int8(4), np.float32(0.5), np.uint8(7)]


@pytest.mark.parametrize("x64", [False, True])
@pytest.mark.parametrize("mode", ["standard", "strict"])
def test_lists_have_the_dtype_that_their_numbers_combine_to(x64: bool, mode: str) -> None:
    def dtype_of(function: Any) -> Any:
        try:
            return function()
        except jax.dtypes.TypePromotionError as error:
            return type(error)

    with jax.enable_x64(x64), jax.numpy_dtype_promotion(mode):
        for chosen in range(1, 1 << len(SCALARS)):
            numbers = [x for i, x in enumerate(SCALARS) if chosen >> i & 1]
            wanted = dtype_of(lambda numbers=numbers: jnp.result_type(*numbers))
            for nested in (
                numbers,
                tuple(numbers),
                [numbers, numbers[::-1]],
                [[x] for x in numbers],
            ):
                found = dtype_of(lambda nested=nested: jnp.array(nested).dtype)
                assert found == wanted, (nested, found, wanted)


@pytest.mark.parametrize("items", [[1, None], [None], [[1, 2], [None, 3]], [1, "2"], [[1], 2]])
def test_what_are_no_lists_of_numbers(items: Any) -> None:
    with pytest.raises((TypeError, ValueError), match="given:"):
        jnp.array(items)


@pytest.mark.parametrize(
    ("items", "wanted", "dtype"),
    [
        (range(5), [0, 1, 2, 3, 4], "int32"),
        (range(0), [], "float32"),
        (array("i", [2, 3]), [2, 3], "int32"),
        (array("d", [2.5]), [2.5], "float32"),
        (bytearray(b"xy"), [120, 121], "uint8"),
        (memoryview(np.ones((2, 2))), [[1, 1], [1, 1]], "float32"),
        (deque([1, 2.5]), [1, 2.5], "float32"),
        ([range(2), [3, 4]], [[0, 1], [3, 4]], "int32"),
    ],
)
def test_buffers_and_sequences_are_arrays(items: Any, wanted: Any, dtype: str) -> None:
    for function in (jnp.array, jnp.asarray):
        found = function(items)
        assert found.dtype == dtype
        assert np.asarray(found).tolist() == wanted


def test_arrays_do_not_change_with_buffers() -> None:
    buffer = bytearray(b"ab")
    made = [jnp.array(buffer), jnp.asarray(buffer)]
    buffer[0] = 0
    assert [x.tolist() for x in made] == [[97, 98]] * 2


# Arrays that were made while 64 bits were on, of dtypes that nothing is promoted to without them.
@pytest.mark.parametrize(
    ("combine", "dtype"),
    [
        (lambda x, i: x + x, "float64"),
        (lambda x, i: x + jnp.arange(3.0), "float32"),
        (lambda x, i: x - 0.5, "float32"),
        (lambda x, i: x * np.float64(2), "float32"),
        (lambda x, i: np.arange(3) * x, "float32"),
        (lambda x, i: x < 1, "bool"),
        (lambda x, i: jnp.where(i > 1, 1.0, x), "float32"),
        (lambda x, i: x + i, "float32"),
        (lambda x, i: i + 1, "int32"),
        (lambda x, i: x * 1j, "complex64"),
        (lambda x, i: jnp.concatenate([x, jnp.ones(1)]), "float32"),
        (lambda x, i: jax.jit(lambda x: x * 2 + 1)(x), "float32"),
    ],
)
def test_wide_arrays_combine_with_others_in_what_is_on(combine: Any, dtype: str) -> None:
    with jax.enable_x64(True):
        x, i = jnp.arange(3.0), jnp.arange(3)
        expected = combine(np.asarray(x), np.asarray(i))
    found = combine(x, i)
    assert found.dtype == dtype
    np.testing.assert_allclose(found, np.asarray(expected), 1e-6)


@pytest.mark.parametrize("others", ["float8_e5m2", "bfloat16", "float16", "float32"])
@pytest.mark.parametrize("product", PRODUCTS, ids=str)
def test_factors_of_8_bits_are_beside_others_if_the_sums_have_a_dtype(
    product: str, others: str
) -> None:
    x = np.array([[1.0, 0.5], [2.0, 4.0]])
    a, b = jnp.asarray(x, "float8_e4m3fn"), jnp.asarray(x, others)
    for first, second in ((a, b), (b, a)):
        found = PRODUCTS[product](first, second, preferred_element_type="float32")
        assert found.dtype == np.float32
        np.testing.assert_array_equal(found, PRODUCTS[product](jnp.asarray(x), jnp.asarray(x)))
        with pytest.raises(jax.dtypes.TypePromotionError):
            PRODUCTS[product](first, second)
