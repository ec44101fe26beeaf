"""Symbols for sizes: texts, constraints, and what they decide."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given

import morphax as jax
import morphax.numpy as jnp
from morphax import export, lax
from morphax.core.dims import SymbolicDim
from morphax.errors import InconclusiveDimensionOperation
from tests.core.test_dims import built, expressions, reproducible

A, B = export.symbolic_shape("a, b")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        *[("a", "a"), ("b + a", "b + a"), ("2*a - b", "- b + 2*a"), ("a*a*b", "a^2*b")],
        *[("a^3 - 1", "a^3 - 1"), ("floordiv(a, 2)", "floordiv(a, 2)"), ("mod(a, b)", "mod(a, b)")],
        *[("max(a, b)", "max(a, b)"), ("2*min(a, 3)", "2*min(a, 3)"), ("-a + 1", "- a + 1")],
        *[("floordiv(a + 1, 2)", "floordiv(a + 1, 2)"), ("max(b, a)", "max(a, b)")],
        *[
            ("floordiv(2*a + 5, 2)", "a + 2"),
            ("max(a, 1)", "a"),
            ("min(a - 3, 0)", "min(a, 3) - 3"),
        ],
        *[("3*mod(a, 4) + b", "3*mod(a, 4) + b"), ("floordiv(a + 2, 3)", "floordiv(a + 2, 3)")],
    ],
)
def test_sizes_are_written_as_they_are_read(text: str, expected: str) -> None:
    (size,) = export.symbolic_shape(text)
    assert str(size) == expected
    scope = size.scope
    assert export.symbolic_shape(expected, scope=scope) == (size,)


@reproducible
@given(expressions)
def test_printed_sizes_read_back_are_the_same(tree: Any) -> None:
    try:
        size = built(tree)
    except (InconclusiveDimensionOperation, ZeroDivisionError):
        return
    if type(size) is not SymbolicDim:
        return
    ranges = ("z >= 0", "k >= 4", "few >= 2", "few <= 5")
    scope = export.SymbolicScope(ranges)
    (again,) = export.symbolic_shape(str(size), scope=scope)
    assert str(again) == str(size)
    for n in range(1, 9):
        sizes = {"n": n, "m": 10 - n, "z": n - 1, "k": n + 3, "few": 2 + n % 4}
        assert again.evaluate(sizes) == size.evaluate(sizes)


def test_shapes() -> None:
    shape = export.symbolic_shape
    assert shape("") == shape("()") == ()
    assert str(shape("(a, 3, b)")) == "(a, 3, b)"
    assert str(shape("a, _, ...", like=(2, 3, 4, 5))) == "(a, 3, 4, 5)"
    assert shape(None, like=(3, 4)) == shape("...", like=(3, 4)) == (3, 4)
    assert shape("..., 4", like=(4,)) == (4,)
    assert export.is_symbolic_dim(A)
    assert not export.is_symbolic_dim(3)


def test_bounds_are_those_of_jax() -> None:
    bounds, inf = export.symbolic_dim_bounds, math.inf
    a, b = export.symbolic_shape("a, b")
    (d,) = export.symbolic_shape("d", constraints=("d >= 4", "d <= 9"))
    sizes = [a, a + b, a * b, -a, a - b, a // 2, a % 3, 2 * a + 1, 3, np.int64(4), True]
    expected = [(1, inf), (2, inf), (1, inf), (-inf, -1), (-inf, inf), (0, inf), (0, 2), (3, inf)]
    assert list(map(bounds, sizes)) == [*expected, (3, 3), (4, 4), (1, 1)]
    sizes = [d, d * d, d - 4, d // 4, d % 4, 10 - d]
    assert list(map(bounds, sizes)) == [(4, 9), (16, 81), (0, 5), (1, 2), (0, 3), (1, 6)]
    for wrong in (1.5, "a", None, (a,)):
        with pytest.raises(TypeError, match=r"(?s)symbolic_dim_bounds.*given:.*fix:"):
            bounds(wrong)


@pytest.mark.parametrize(
    ("text", "like", "told"),
    [
        *[("a b", None, "'b' at position 2"), ("a +", None, "the end"), ("a/2", None, "'/'")],
        *[("1.5", None, "'1.5'"), ("a**2", None, r"'\*'"), ("f(a, 2)", None, "the function f")],
        *[("a^b", None, "the power b"), ("a^1000", None, "the power 1000")],
        *[("mod(a, 0)", None, "divisor other than 0"), ("max(a)", None, "',' there")],
        *[("a, ...", None, "no other shape"), ("a, _", (3, None), "known size")],
        *[("a, 4", (3, 5), "the same numbers"), ("a", (3, 5), "as many sizes")],
        *[("(a", None, r"'\)' there"), (3, None, "a string, or None")],
    ],
)
def test_texts_that_are_no_shapes(text: Any, like: Any, told: str) -> None:
    with pytest.raises(ValueError, match=rf"symbolic_shape(.|\n)*{told}"):
        export.symbolic_shape(text, like=like)


def test_specs_of_arguments() -> None:
    args = {"x": np.ones((3, 4), np.int8), "y": jax.ShapeDtypeStruct((2,), "float32"), "z": 1.0}
    specs = export.symbolic_args_specs(args, {"x": "a, _", "y": "2*a", "z": None})
    assert str(specs["x"].shape), specs["x"].dtype == ("(a, 4)", np.dtype("int8"))
    assert specs["y"].shape[0] == 2 * specs["x"].shape[0]
    assert specs["z"].shape == ()
    one = export.symbolic_args_specs((np.ones(3), np.ones(3)), "n")
    assert one[0].shape == one[1].shape
    with pytest.raises(ValueError, match="shapes_specs"):
        export.symbolic_args_specs((np.ones(3),), ("a", "b"))
    scope = export.SymbolicScope()
    with pytest.raises(ValueError, match="both"):
        export.symbolic_args_specs((np.ones(3),), "a", constraints=("a >= 2",), scope=scope)


def test_constraints_decide() -> None:
    a, b = export.symbolic_shape("a, b", constraints=("a >= b", "b >= 16"))
    assert a >= 16
    assert a >= b
    assert a + b > 31
    assert not a < b
    assert export.symbolic_shape("max(a, b), min(a, b)", scope=a.scope) == (a, b)
    with pytest.raises(InconclusiveDimensionOperation, match=r"a >= b, b >= 16(.|\n)*1 \+ b"):
        bool(a > b)
    (n,) = export.symbolic_shape("n", constraints=("n <= 8", "n >= 0"))
    assert n // 9 == 0
    with pytest.raises(InconclusiveDimensionOperation, match="n >= 1"):
        bool(n)
    x, y, z = export.symbolic_shape("x, y, z", constraints=("x >= 2*y + 1", "y >= z", "z >= 3"))
    assert x >= 7
    assert x > y
    assert 3 * x - 6 * z >= 3


def test_equations_rewrite() -> None:
    q, r = export.symbolic_shape("q, r", constraints=("q == 2*r",))
    assert str(q) == "2*r"
    assert q % 2 == 0
    assert q // 2 == r
    (n,) = export.symbolic_shape("n", constraints=("mod(n, 4) == 0",))
    assert n % 4 == 0
    assert n // 4 * 4 == n
    assert n // 4 >= 1
    a, b, c = export.symbolic_shape("a, b, c", constraints=("a*b == c", "c == 5"))
    assert (a * b, c, 2 * a * b * b) == (5, 5, 10 * b)
    assert export.symbolic_shape("d", constraints=("d == 5",)) == (5,)
    (e,) = export.symbolic_shape("e", constraints=("e == f", "f >= 5"))
    assert e >= 5


@pytest.mark.parametrize(
    ("constraints", "told"),
    [
        *[(("a > 5",), "one of '>='"), (("a",), "one of '>='"), ("a >= 5", "sequence of strings")],
        *[(("1 >= 5",), "no sizes fulfil"), (("a + 1 == 5",), "one product on the left")],
        *[(("a >= 5", "a <= 3"), "no sizes fulfil"), (("2 == 3",), "no sizes fulfil")],
        *[(("5 == a",), "one product"), (("a == b", "b == 2*a"), "one product")],
        *[(("a ** 2 >= 3",), "position"), ((3,), "sequence of strings")],
    ],
)
def test_texts_that_are_no_constraints(constraints: Any, told: str) -> None:
    with pytest.raises(ValueError, match=told):
        export.SymbolicScope(constraints)


def test_scopes_do_not_mix() -> None:
    (other,) = export.symbolic_shape("a")
    assert other != A
    for operator in (lambda: A + other, lambda: A * other, lambda: A // other, lambda: A >= other):
        with pytest.raises(ValueError, match="symbols of one scope"):
            operator()
    with pytest.raises(ValueError, match="scope and constraints"):
        export.symbolic_shape("a", constraints=("a >= 2",), scope=A.scope)


VALUES: dict[str, Callable[[Any], Any]] = {
    "product": lambda n: n * 2.0,
    "quotient": lambda n: n / 2,
    "reflected": lambda n: 2 / n,
    "sum": lambda n: np.float32(1) + n,
    "difference": lambda n: 1.5 - n,
    "remainder": lambda n: n % 2.5,
    "whole quotient": lambda n: 7.5 // n,
    "power": lambda n: n**-1.0,
    "base": lambda n: 2**n,
    "both": lambda n: n**n,
    "array": lambda n: jnp.array(n),
    "list": lambda n: jnp.asarray([n, 3]),
    "root": lambda n: jnp.sqrt(n),
    "comparison": lambda n: n > jnp.float32(3.5),
    "full": lambda n: jnp.full((2,), n),
}


@pytest.mark.parametrize("name", VALUES)
def test_sizes_are_numbers_of_programs(name: str) -> None:
    function = VALUES[name]
    exported = export.export(jax.jit(lambda x: function(x.shape[0])))(
        jax.ShapeDtypeStruct((A,), "float32")
    )
    for n in (1, 4):
        expected = jax.jit(lambda: function(n))()  # noqa: B023
        given = exported.call(np.ones(n, np.float32))
        assert given.dtype == expected.dtype
        np.testing.assert_allclose(given, expected, rtol=1e-6)
    with pytest.raises(NotImplementedError, match="symbolic size"):
        function(A)


def test_numpy_integers_are_sizes() -> None:
    assert A * np.int32(3) == np.array(3) * A == 3 * A
    assert np.int64(2) + A == A + 2
    assert A - np.array(1) == A - 1
    with pytest.raises(TypeError):
        np.sqrt(A)


def test_a_symbol_of_no_argument() -> None:
    from_elsewhere = jax.jit(lambda x: jnp.ones((A,)) + x[0])
    with pytest.raises(
        jax.errors.UnexpectedDimVar, match="the symbol a, which is in the shape of no"
    ):
        export.export(from_elsewhere)(np.ones(3, np.float32))
    (c, _) = export.symbolic_shape("c, d", constraints=("c >= d",))
    with pytest.raises(jax.errors.UnexpectedDimVar, match=r"c >= d(.|\n)*the symbols d"):
        export.export(jax.jit(lambda x: x))(jax.ShapeDtypeStruct((c,), "float32"))


def test_shapes_pass_through_transformations() -> None:
    spec = jax.ShapeDtypeStruct((A, B), "float32")
    out = jax.eval_shape(jax.vmap(lambda r: r / r.shape[0]), spec)
    assert out.shape == (A, B)
    jaxpr = jax.make_jaxpr(jnp.mean)(spec)
    assert "dim_as_value[dim=a*b]" in str(jaxpr)
    assert jax.jit(lambda x: x[1:]).eval_shape(spec).shape == (A - 1, B)
    loop = jax.eval_shape(lambda x: lax.scan(lambda c, r: (c + r, c * r), x[0], x), spec)
    assert [x.shape for x in loop] == [(B,), (A, B)]


def test_an_edge_is_repeated_whatever_the_size() -> None:
    padded = jax.jit(lambda x: jnp.pad(x, ((1, 2), (0, 0)), mode="edge"))
    shape = export.symbolic_shape("n, 2")
    program = export.export(padded)(jax.ShapeDtypeStruct(shape, np.float32))
    for size in (1, 4):
        x = np.arange(2.0 * size, dtype=np.float32).reshape(size, 2)
        np.testing.assert_array_equal(program.call(x), np.pad(x, ((1, 2), (0, 0)), mode="edge"))


FOR_ALL_SIZES = {
    "insert": lambda x: jnp.insert(x, 1, 9.0),
    "insert from the end": lambda x: jnp.insert(x, -1, 9.0),
    "insert several": lambda x: jnp.insert(x, np.array([1, 1]), np.array([9.0, 8.0])),
    "unique": lambda x: jnp.unique(x, True, True, True, size=x.shape[0]),
    "unique, as many as known": lambda x: jnp.unique(x, size=3),
    "unique, filled": lambda x: jnp.unique(x, size=x.shape[0] + 1, fill_value=-1.0),
    "union1d": lambda x: jnp.union1d(x, x + 1, size=2 * x.shape[0]),
    "setdiff1d": lambda x: jnp.setdiff1d(x, x + 1, size=x.shape[0]),
    "isin": lambda x: jnp.isin(x, x + 1),
    "nonzero": lambda x: jnp.nonzero(x - 1, size=x.shape[0], fill_value=x.shape[0]),
    "unravel_index": lambda x: jnp.unravel_index(np.int32([0, 5, -1]), (x.shape[0], 40)),
}


@pytest.mark.parametrize("name", FOR_ALL_SIZES)
def test_places_and_sets_for_all_sizes(name: str) -> None:
    function = jax.jit(FOR_ALL_SIZES[name])
    (n,) = export.symbolic_shape("n")
    exported = export.export(function)(jax.ShapeDtypeStruct((n,), np.float32))
    for numbers in ([3, 1, 3, 2, 2], [1], [0, 0, 1]):
        x = np.float32(numbers)
        expected = jax.tree.leaves(function(x))
        for found, known in zip(jax.tree.leaves(exported.call(x)), expected, strict=True):
            np.testing.assert_array_equal(found, known)
            assert found.dtype == known.dtype
