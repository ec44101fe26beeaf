"""Which loops become vectors, and that widths, tails and strides give what single steps give."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import morphax as jax
import morphax.numpy as jnp
from morphax import lax
from morphax.engines.loops.check import check
from morphax.engines.loops.program import (
    INDEX,
    Assign,
    Buffer,
    Const,
    For,
    Index,
    Kind,
    Load,
    LoopProgram,
    Name,
    Statement,
    Store,
)
from morphax.engines.native.llvm_text import llvm_module
from morphax.engines.native.machine_code import compile_loops
from morphax.engines.native.vector_loops import VectorLoop, vector_loop
from morphax.transforms.make_jaxpr import make_jaxpr
from tests.engines.c_library import checked_program
from tests.engines.machine_code_calls import call, compiled

F32 = np.dtype(np.float32)
X = Buffer("x", F32, (400,), Kind.INPUT)
OUT, SPARE = Buffer("out", F32, (400,), Kind.OUTPUT), Buffer("spare", F32, (400,))
STEP, INNER = Name(1, INDEX, 0, 19), Name(2, INDEX, 0, 19)
V, W = Name(3, F32), Name(4, F32)
AT = Index.of(STEP)


def loop(*body: Statement, is_independent: bool = True, counter: Name = STEP) -> For:
    return For(counter, 20, body, is_independent)


def plan(*body: Statement) -> VectorLoop | None:
    return vector_loop(loop(*body))


def test_what_becomes_a_vector() -> None:
    simple = plan(Load(V, X, AT), Store(OUT, AT, V))
    assert simple is not None
    assert (simple.extent, simple.width, simple.is_repeatable) == (20, 8, True)
    in_place = plan(Load(V, SPARE, AT), Assign(W, "neg", (V,)), Store(SPARE, AT, W))
    assert in_place is not None
    assert not in_place.is_repeatable


ROW = Index.of(Name(5, INDEX, 0, 9)).times(20)
# What a step reads of an array of which it writes a row, and whether no step writes there.
READ: dict[str, tuple[Index, bool]] = {
    "the row before": (AT.plus(ROW), True),
    "the row after": (AT.plus(ROW).plus(40), True),
    "an element less": (AT.plus(ROW).plus(1), False),
    "its end": (AT.plus(ROW).plus(39), False),
    "backwards before": (AT.times(-1).plus(ROW).plus(19), True),
    "backwards from its first": (AT.times(-1).plus(ROW).plus(20), False),
    "the last before": (ROW.plus(19), True),
    "its first": (ROW.plus(20), False),
    "every second before": (AT.times(2).plus(ROW).plus(-19), True),
    "every second": (AT.times(2).plus(ROW), False),
    "another row": (AT, False),
    "a row by another number": (AT.plus(ROW.times(2)), False),
}


@pytest.mark.parametrize("label", READ)
@pytest.mark.parametrize("backwards", [False, True])
def test_rows_of_one_array(label: str, backwards: bool) -> None:
    read, is_apart = READ[label]
    at = AT.times(-1).plus(19) if backwards else AT
    found = plan(Load(V, SPARE, read), Store(SPARE, at.plus(ROW).plus(20), V))
    assert (found is not None) is is_apart
    assert found is None or found.is_repeatable


@pytest.mark.parametrize("stride", [2, 3, 4])
def test_neighbours_that_one_step_stores(stride: int) -> None:
    stores = [Store(OUT, AT.times(stride).plus(i), V) for i in range(stride)]
    for order in (stores, stores[::-1]):
        woven = plan(Load(V, X, AT), *order)
        assert woven is not None
        assert (woven.width, woven.is_repeatable) == (8, True)


@pytest.mark.parametrize("dtype", ["float32", "float64", "int8", "bool"])
@pytest.mark.parametrize("stride", [2, 3, 4])
@pytest.mark.parametrize("size", [1, 3, 4, 7, 8, 16, 17, 31, 100])
def test_vectors_take_turns_in_memory(size: int, stride: int, dtype: str) -> None:
    kind, step = np.dtype(dtype), Name(1, INDEX, 0, size - 1)
    given = [Buffer(f"x{i}", kind, (size,), Kind.INPUT) for i in range(stride)]
    out, at = Buffer("out", kind, (size * stride,), Kind.OUTPUT), Index.of(step)
    names = [Name(2 + i, kind) for i in range(stride)]
    body = [
        *[Load(name, buffer, at) for name, buffer in zip(names, given, strict=True)],
        *[Store(out, at.times(stride).plus(i), name) for i, name in enumerate(names)][::-1],
    ]
    loops = (For(step, size, tuple(body), is_independent=True),)
    program = LoopProgram("f", tuple(given), (out,), (), (), loops)
    check(program)
    x = np.random.default_rng(size).integers(0, 2 if dtype == "bool" else 99, (stride, size))
    (found,) = call(program, compile_loops(program), *x.astype(kind))
    np.testing.assert_array_equal(found, x.T.ravel().astype(kind))


REFUSED: dict[str, list[Statement]] = {
    "every second": [Load(V, X, AT), Store(OUT, AT.times(2), V)],
    "all into one": [Load(V, X, AT), Store(OUT, Index(), V)],
    "a neighbour's": [Load(V, SPARE, AT.plus(1)), Store(SPARE, AT, V)],
    "the first of three": [Store(OUT, AT.times(3), Const(F32.type(i))) for i in range(2)],
    "a gap": [Store(OUT, AT.times(2).plus(i), Const(F32.type(i))) for i in (0, 3)],
    "twice": [Store(OUT, AT.times(2).plus(i), Const(F32.type(i))) for i in (0, 0)],
    "of two and of three": [
        Store(OUT, AT.times(2 + i).plus(i), Const(F32.type(i))) for i in range(2)
    ],
    "backwards": [Store(OUT, AT.times(-2).plus(40 + i), Const(F32.type(i))) for i in range(2)],
    "five neighbours": [Store(OUT, AT.times(5).plus(i), Const(F32.type(i))) for i in range(5)],
    "read back": [
        *[Store(SPARE, AT.times(2).plus(i), Const(F32.type(i))) for i in range(2)],
        Load(V, SPARE, AT.times(2)),
    ],
    "two places": [Store(OUT, AT, Const(F32.type(1))), Store(OUT, AT.plus(20), Const(F32.type(2)))],
}


@pytest.mark.parametrize("label", REFUSED)
def test_what_does_not(label: str) -> None:
    assert plan(*REFUSED[label]) is None


def test_dependent_steps_do_not() -> None:
    assert vector_loop(loop(Load(V, X, AT), Store(OUT, AT, V), is_independent=False)) is None


def test_loops_that_run_through_memory_are_one() -> None:
    def nest(row: int) -> VectorLoop | None:
        at = AT.times(row).plus(Index.of(INNER))
        return vector_loop(loop(loop(Load(V, X, at), Store(OUT, at, V), counter=INNER)))

    joined, rows = nest(20), nest(19)
    assert joined is not None
    assert joined.extent == 400
    assert rows is None


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "plain": lambda x: jnp.tanh(x) * 2,
    "reversed": lambda x: jnp.exp(-x[::-1]) + x,
    "strided": lambda x: jnp.where(x[::-1] > 0.2, x, -x) + jnp.arange(x.size) * 0.5,
    "integers": lambda x: (x * 20).astype(jnp.int8) // 3,
    "booleans": lambda x: (x > 0) & (x[::-1] < 0.5),
    "mixed widths": lambda x: (x.astype(jnp.float64) * 1e-3).astype(jnp.float32) + 1,
    "gathered": lambda x: x[(jnp.arange(x.size) * 7) % x.size] * 2,
    "in place": lambda x: lax.fori_loop(0, 3, lambda i, y: jnp.sin(y) + y * 0.1, x),
    "power": lambda x: jnp.abs(x) ** 1.5,
    "power of one base": lambda x: (jnp.abs(x[0]) + 0.5) ** x + 1.01**x * (-2.0) ** jnp.rint(x),
    "every second": lambda x: jnp.sort(jnp.concatenate([x, x]))[1::2] * 2,
    "every third": lambda x: jnp.sort(jnp.concatenate([x] * 3))[::3] + x,
    "every third, backwards": lambda x: jnp.sort(jnp.concatenate([x] * 3))[::-3] + x,
    "short rows": lambda x: jnp.outer(x, x[:3]).sum(0) + jnp.outer(x[:3], x).sum(1),
    "rows of pairs": lambda x: (x[:, None, None] * jnp.ones((9, 2), x.dtype)).sum(1) ** 2,
    "pairs": lambda x: (x + 1j * x[::-1]) * (2 - 1j),
    "wide pairs": lambda x: 1 / (x + 1j * x[::-1]),
    "chosen pairs": lambda x: jnp.where(x > 0, x + 2j, jnp.conj(x - 1j * x)),
    "pairs in place": lambda x: lax.fori_loop(0, 3, lambda i, z: z * z * 0.3 + 0.2j, x + 0j),
    "stacked": lambda x: jnp.stack([x, jnp.sin(x), x * x[::-1]], -1),
    "columns": lambda x: jnp.concatenate([x[:, None], jnp.ones((x.size, 1)), -x[:, None]], 1),
    "stacked pairs": lambda x: jnp.stack([x + 1j, 1j * x[::-1]], 1) * 2,
    "stacked truth values": lambda x: jnp.stack([x > 0, x[::-1] < 0.2], -1),
    "stacked and read": lambda x: jnp.stack([jnp.exp(x), x], -1) * jnp.exp(x)[:, None],
    "a stack of stacks": lambda x: jnp.stack([jnp.stack([x, -x], -1), jnp.ones((x.size, 2))], -1),
    "rows from rows": lambda x: jnp.stack([y := jnp.sin(x), z := jnp.cos(y[::-1]), z * y + 1]),
    "halves": lambda x: jnp.concatenate([x[1:], x[:1]]) * x,
}


@pytest.mark.sampled(4)
@pytest.mark.parametrize("label", FUNCTIONS)
@pytest.mark.parametrize("size", [1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 33, 70])
def test_sizes(label: str, size: int) -> None:
    x = np.random.default_rng(size).normal(size=size).astype(np.float32)
    with jax.enable_x64(True):
        jaxpr = make_jaxpr(FUNCTIONS[label])(x)
        expected = np.asarray(FUNCTIONS[label](x))
    (given,) = call(*compiled(jaxpr), x)
    if expected.dtype.kind in "fc":
        np.testing.assert_allclose(given, expected, 2e-6, 1e-6)
    else:
        np.testing.assert_array_equal(given, expected)


def test_powers_of_one_base_have_the_bits_of_single_ones() -> None:
    x = np.float32([0, -0.0, 1, -3, 0.5, 2.25, 88, -150, 1e4, -1e30, np.inf, -np.inf, np.nan])
    together = compiled(make_jaxpr(lambda b, x: b**x)(x[0], x))
    alone = compiled(make_jaxpr(lambda b, x: b**x)(x[0], x[0]))
    for base in np.float32([0, -0.0, 1, 1.01, 3, 1e-40, -2, np.inf, -np.inf, np.nan]):
        (found,) = call(*together, base, x)
        expected = np.stack([call(*alone, base, y)[0] for y in x])
        assert found.tobytes() == expected.tobytes()


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int32])
def test_what_is_chosen_is_stored_whole(dtype: type) -> None:
    x = np.random.default_rng(0).normal(size=(200, 37)).astype(np.float32)
    x[7, 3], x[:, 4], x[9, 4] = np.nan, -0.0, 0.0
    x[:, 5], x[8, 6] = -np.inf, np.inf
    with np.errstate(invalid="ignore"):
        given = x.astype(dtype)
    with jax.enable_x64(True):
        program, code = compiled(make_jaxpr(lambda x: lax.reduce_max(x, (0,)))(given))
    (found,) = call(program, code, given)
    np.testing.assert_array_equal(found, np.max(given, 0))
    if dtype is not np.int32:
        assert not np.signbit(found[4])
    # LLVM would make a slow store by a mask of it.
    assert re.search(r"(%x\d+) = freeze .*\n(?:.*\n)?  store .* \1, ptr", llvm_module(program))
    assert "freeze" not in llvm_module(checked_program(make_jaxpr(lambda x: x.sum(0))(x), "f"))
