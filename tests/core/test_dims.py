"""Sizes of axes that are expressions: their algebra, and the questions that they answer or not."""

from __future__ import annotations

import operator
import pickle
from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np
import pytest

from morphax.core import ShapedArray
from morphax.core.dims import SymbolicDim, broadcast_shapes, dims, divides, is_negative, symbol
from morphax.errors import InconclusiveDimensionOperation

N, M = symbol("n"), symbol("m")
EXPRESSIONS = [0, 3, N, M, 2 * N, N + 1, N * M, N - M, -N, (N + M) * (N - M), N * N + 2]
SIZES = [{"n": 1, "m": 1}, {"n": 3, "m": 2}, {"n": 2, "m": 7}]


def value(size: Any, sizes: dict[str, int]) -> int:
    return size.evaluate(sizes) if type(size) is SymbolicDim else size


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
    [(N, "n"), (2 * N * M - 3, "2*m*n - 3"), (-N, "- n"), (N * N + N, "n^2 + n")],
)
def test_text(size: Any, text: str) -> None:
    assert repr(size) == text
    assert ShapedArray((size, 2), np.float32).str_short() == f"f32[{text},2]"


@pytest.mark.parametrize(
    "question",
    [lambda: N > M, lambda: N > 2, lambda: bool(N - 1), lambda: int(N), lambda: range(N)],
)
def test_what_depends_on_the_sizes_is_refused(question: Callable[[], Any]) -> None:
    with pytest.raises(InconclusiveDimensionOperation, match="symbolic size n"):
        question()


def test_questions_with_one_answer() -> None:
    assert N >= 1
    assert bool(N)
    assert N + 1 > 1
    assert not N < 1
    assert divides(2, 4 * N + 2)
    assert not divides(2, N)
    assert not divides(4, 6)
    assert is_negative(N - 2)
    assert not is_negative(N - 1)
    assert not is_negative(0)


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
