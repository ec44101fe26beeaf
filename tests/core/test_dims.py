"""Sizes of axes that are expressions: their algebra, and the questions that they answer or not."""

from __future__ import annotations

import operator
import pickle
from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from morphax.core import ShapedArray
from morphax.core.bounds import least, most
from morphax.core.dims import (
    SymbolicDim,
    broadcast_shapes,
    clamp_dim,
    dims,
    divides,
    is_negative,
    is_static,
    max_dim,
    min_dim,
    symbol,
    symbols_in,
)
from morphax.errors import InconclusiveDimensionOperation

N, M = symbol("n"), symbol("m")
EXPRESSIONS = [0, 3, N, M, 2 * N, N + 1, N * M, N - M, -N, (N + M) * (N - M), N * N + 2]
SIZES = [{"n": 1, "m": 1}, {"n": 3, "m": 2}, {"n": 2, "m": 7}]


def value(size: Any, sizes: dict[str, int]) -> int:
    return size.evaluate(sizes) if type(size) is SymbolicDim else size


reproducible = settings(deadline=None, derandomize=True, max_examples=400)
RANGES = {"n": (1, 9), "m": (1, 9), "z": (0, 9), "k": (4, 9), "few": (2, 5)}
SYMBOLS = [symbol("n"), symbol("m"), symbol("z", 0), symbol("k", 4), symbol("few", 2, 5)]
FUNCTIONS = {
    **{"add": operator.add, "sub": operator.sub, "mul": operator.mul, "max": max, "min": min},
    **{"floordiv": operator.floordiv, "mod": operator.mod},
}
SYMBOLIC = FUNCTIONS | {"max": max_dim, "min": min_dim}

leaves = st.integers(-6, 9) | st.sampled_from(SYMBOLS)
expressions = st.recursive(
    leaves,
    lambda inner: st.tuples(st.sampled_from(sorted(FUNCTIONS)), inner, inner),
    max_leaves=7,
)
valuations = st.fixed_dictionaries({name: st.integers(*ends) for name, ends in RANGES.items()})


def built(tree: Any) -> Any:
    """The symbolic size that an expression is."""
    return tree if not isinstance(tree, tuple) else SYMBOLIC[tree[0]](*map(built, tree[1:]))


def computed(tree: Any, sizes: dict[str, int]) -> int:
    """Its value, by the arithmetic of integers alone."""
    if not isinstance(tree, tuple):
        return value(tree, sizes)
    return FUNCTIONS[tree[0]](*[computed(branch, sizes) for branch in tree[1:]])


@reproducible
@given(expressions, st.lists(valuations, min_size=5, max_size=5))
def test_expressions_have_the_values_of_integers(tree: Any, choices: Any) -> None:
    try:
        size = built(tree)
    except (InconclusiveDimensionOperation, ZeroDivisionError):
        return
    assert pickle.loads(pickle.dumps(size)) == size
    for sizes in choices:
        expected = computed(tree, sizes)
        assert value(size, sizes) == expected
        if type(size) is SymbolicDim:
            assert least(size.terms) <= expected <= most(size.terms)


@reproducible
@given(expressions, expressions, st.lists(valuations, min_size=5, max_size=5))
def test_answers_hold_for_all_sizes(left: Any, right: Any, choices: Any) -> None:
    try:
        sides = built(left), built(right)
    except (InconclusiveDimensionOperation, ZeroDivisionError):
        return
    for compare in (operator.lt, operator.le, operator.gt, operator.ge):
        try:
            answer = compare(*sides)
        except InconclusiveDimensionOperation:
            continue
        for sizes in choices:
            assert answer == compare(computed(left, sizes), computed(right, sizes))


@reproducible
@given(expressions)
def test_identities(tree: Any) -> None:
    try:
        size = built(tree)
    except (InconclusiveDimensionOperation, ZeroDivisionError):
        return
    n, m = SYMBOLS[:2]
    assert size - size == 0
    assert max_dim(size, n) + min_dim(size, n) == size + n
    assert max_dim(size, n) == max_dim(n, size)
    assert max_dim(size, size) == size
    for parts in (2, 3, m):
        assert size // parts * parts + size % parts == size
        assert (size * parts) // parts == size
        assert divides(parts, size * parts)


@pytest.mark.parametrize("function", [operator.add, operator.sub, operator.mul])
def test_arithmetic_is_that_of_the_numbers(function: Callable[[Any, Any], Any]) -> None:
    for (x, y), sizes in product(product(EXPRESSIONS, EXPRESSIONS), SIZES):
        expected = function(value(x, sizes), value(y, sizes))
        assert value(function(x, y), sizes) == expected


@pytest.mark.parametrize("function", [operator.lt, operator.le, operator.gt, operator.ge])
def test_a_comparison_has_one_answer_or_none(function: Callable[[Any, Any], bool]) -> None:
    for x, y in product(EXPRESSIONS, EXPRESSIONS):
        try:
            answer = function(x, y)
        except InconclusiveDimensionOperation:
            continue
        for sizes in SIZES:
            assert answer == function(value(x, sizes), value(y, sizes))


def test_sizes_are_equal_if_they_always_are() -> None:
    assert (N + M) * (N - M) == N * N - M * M
    assert hash(N + M) == hash(M + N)
    assert N - N == 0
    assert type(N + 2 - N) is int
    assert N != M
    assert N != 1
    assert pickle.loads(pickle.dumps(N * M + 1)) == M * N + 1


@pytest.mark.parametrize(
    ("size", "text"),
    [
        *[(N, "n"), (2 * N * M - 3, "2*m*n - 3"), (-N, "- n"), (N * N + N, "n^2 + n")],
        *[(N // 2, "floordiv(n, 2)"), (N // M, "floordiv(n, m)"), (N**3, "n^3")],
        *[(N % 3, "mod(n, 3)"), (1 - 2 * (N % M), "- 2*mod(n, m) + 1")],
        *[(max_dim(N, M), "max(m, n)"), (2 * min_dim(N, 3) * M, "2*m*min(n, 3)")],
        *[(max_dim(N - 3, 0), "max(n - 3, 0)"), (max_dim(3 - N, 0), "max(n, 3) - n")],
    ],
)
def test_text(size: Any, text: str) -> None:
    assert repr(size) == text
    assert ShapedArray((size, 2), np.float32).str_short() == f"f32[{text},2]"


@pytest.mark.parametrize(
    "question",
    [
        *[lambda: N > M, lambda: N > 2, lambda: bool(N - 1), lambda: int(N), lambda: range(N)],
        *[lambda: N // 2 > 0, lambda: N - 3 >= 0, lambda: max(N, 3), lambda: 4 // (N - 2)],
    ],
)
def test_what_depends_on_the_sizes_is_refused(question: Callable[[], Any]) -> None:
    with pytest.raises(InconclusiveDimensionOperation, match=r"the symbolic size .*n.*\n"):
        question()


def test_questions_with_one_answer() -> None:
    assert N >= 1
    assert bool(N)
    assert N + 1 > 1
    assert not N < 1
    assert divides(2, 4 * N + 2)
    assert not divides(2, N)
    assert not divides(4, 6)
    assert bool(-N)
    assert N * M >= N
    assert (N + 3) // 2 >= 2
    assert N % 4 < 4
    assert divides(M, N * M)
    assert divides(4, (N // 2) * 8 + 4)
    assert max_dim(N, 1) == N
    assert max_dim(N, M) >= M
    assert clamp_dim(0, N, N + M) == N
    assert is_negative(N - 2)
    assert not is_negative(N - 1)
    assert not is_negative(0)


def test_quotients() -> None:
    assert (4 * N + 5) // 4 == N + 1
    assert (N * N - 1) // (N + 1) == N - 1
    assert (6 * N * M) // (2 * M) == 3 * N
    assert (N * M) // (2 * N) == M // 2
    for size in (N, N * M + 1, 2 * N - M):
        assert -(-size // 3) == (size + 2) // 3
    assert N // -2 == -N // 2
    assert divmod(2 * N + 1, 2) == (N, 1)
    assert divmod(2, N + 2) == (0, 2)
    assert 2 % N == 2 - 2 // N * N
    for zero in (0, N - N):
        with pytest.raises(ZeroDivisionError):
            N // zero


def test_ranges_of_symbols_decide() -> None:
    few, many = symbol("few", 2, 5), symbol("many", 8)
    assert few < many
    assert few // 6 == 0
    assert max_dim(few, many) == many
    assert many - 3 >= few
    assert symbol("few") != few
    assert list(symbols_in([N * few, 3, max_dim(M // 2, few)])) == ["few", "m", "n"]
    assert is_static((2, 3))
    assert not is_static((2, N))


def test_shapes() -> None:
    assert dims([np.int64(2), N]) == (2, N)
    assert type(dims([np.int64(2), N])[0]) is int
    with pytest.raises(TypeError):
        dims([2.5, N])
    assert broadcast_shapes([(N, 1), (M,)]) == (N, M)
    assert broadcast_shapes([]) == ()
    assert broadcast_shapes([(1, 0), (3, 1)]) == (3, 0)
    with pytest.raises(ValueError, match="differ"):
        broadcast_shapes([(N,), (M,)])
    aval = ShapedArray((N, 2), np.float32)
    assert aval.size == 2 * N
    assert aval is ShapedArray((symbol("n"), 2), np.float32)
