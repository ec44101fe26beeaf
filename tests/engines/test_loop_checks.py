"""The checker of loop programs, and what fusion promises: programs that stay linear."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

import morphax as jax
import morphax.numpy as jnp
from morphax import lax
from morphax.engines.loops.callees import Callee, Routine
from morphax.engines.loops.check import InvalidLoopProgram, check
from morphax.engines.loops.program import (
    BOOL,
    INDEX,
    Assign,
    Buffer,
    Call,
    Const,
    Copy,
    For,
    If,
    Index,
    Kind,
    Load,
    LoopProgram,
    Matrix,
    Name,
    Product,
    Statement,
    Store,
    While,
    walk,
)
from morphax.transforms.make_jaxpr import make_jaxpr
from tests.engines.c_library import checked_program

F32 = np.dtype(np.float32)
X = Buffer("x", F32, (4,), Kind.INPUT)
OUT = Buffer("out", F32, (4,), Kind.OUTPUT)
SPARE = Buffer("spare", F32, (4,))
ONE, TRUE = Const(np.float32(1)), Const(np.True_)
STEP = Name(1, INDEX, 0, 3)
T = Name(2, F32)
FREE = Name(3, INDEX)
AT_STEP = Index.of(STEP)


def loop(*body: Statement, extent: int = 4) -> For:
    return For(STEP, extent, body)


A, B = Matrix(OUT, Index(), 2, 1), Matrix(X, Index(), 2, 1)
FILLED = loop(Store(OUT, AT_STEP, ONE))

MADE, SHORT = Buffer("made", F32, (4,)), Buffer("short", F32, (2,))
WIDE = Buffer("wide", np.dtype(np.float64), (4,))
AGAIN = Name(6, INDEX, 0, 3)
GIVEN = (For(AGAIN, 4, (Store(SPARE, Index.of(AGAIN), ONE),)),)
CALLEE = Callee(np.sin, ((F32, (4,)),), ((F32, (4,)),))
ROUTINE = Routine("morphax_draw", (0, 4, 1, 4), 200)

INVALID: dict[str, tuple[Sequence[Statement], str]] = {
    "no output": ([], "out is not written"),
    "name of nowhere": ([FILLED, Store(OUT, Index(), T)], "t2 is not known"),
    "name of an inner block": (
        [loop(Load(T, X, AT_STEP), Store(OUT, AT_STEP, T)), Store(OUT, Index(), T)],
        "t2 is not known",
    ),
    "name assigned twice": ([FILLED, Load(T, X, Index()), Load(T, X, Index())], "twice"),
    "dtype": ([FILLED, Store(OUT, Index(), Const(np.float64(1)))], "float64 for float32"),
    "operation": ([FILLED, Assign(T, "add", (ONE, TRUE))], "add of"),
    "beyond the end": ([loop(Load(T, X, AT_STEP.plus(1)))], "elements 1 to 4 of 4"),
    "before the start": ([loop(Load(T, X, AT_STEP.times(-1)))], "elements -3 to 0"),
    "index without bounds": (
        [FILLED, Assign(FREE, "convert", (ONE,)), Load(T, X, Index.of(FREE))],
        "t3 indexes and has no bounds",
    ),
    "bounds that do not follow": (
        [Assign(STEP, "add", (Const(np.int64(1)), Const(np.int64(1))))],
        "do not follow",
    ),
    "wrong counter": ([loop(Store(OUT, AT_STEP, ONE), extent=3)], "not those of the loop"),
    "read before written": ([Load(T, SPARE, Index()), FILLED], "spare is read before"),
    "written in one branch": ([If(TRUE, (FILLED,))], "out is not written"),
    "written in a loop that may not run": ([While((), TRUE, (FILLED,))], "out is not written"),
    "written input": ([FILLED, Store(X, Index(), ONE)], "the input x is written"),
    "copy to itself": ([FILLED, Copy(OUT, OUT, 4)], "copied to itself"),
    "copy beyond the end": ([FILLED, Copy(SPARE, X, 5)], "elements 0 to 4 of 4"),
    "product in place": (
        [FILLED, Product(A, Matrix(OUT, Index(), 2, 1), A, (2, 2, 2))],
        "no library",
    ),
    "product beyond the end": (
        [Product(A, B, Matrix(X, Index((), 1), 2, 1), (2, 2, 2))],
        "elements",
    ),
    "product with gaps": ([Product(A, Matrix(X, Index(), 1, 1), B, (2, 2, 2))], "with gaps"),
    "condition": ([FILLED, If(ONE, ())], "float32 for bool"),
    "call that reads what is not there": ([FILLED, Call(0, (SPARE,), (MADE,))], "read before"),
    "call with an input": ([FILLED, Call(0, (X,), (MADE,))], "not its own"),
    "call in place": ([FILLED, *GIVEN, Call(0, (SPARE,), (SPARE,))], "not its own"),
    "call with another dtype": ([FILLED, *GIVEN, Call(0, (SPARE,), (WIDE,))], "float64"),
    "routine with an input": ([FILLED, Call(ROUTINE, (X,), (MADE,))], "not its own"),
    "routine that reads what is not there": (
        [FILLED, Call(ROUTINE, (SPARE,), (MADE,))],
        "read before",
    ),
    "call beyond the end": ([FILLED, *GIVEN, Call(0, (SPARE,), (SHORT,))], "elements 0 to 3 of 2"),
}


@pytest.mark.parametrize("label", INVALID)
def test_invalid_programs(label: str) -> None:
    body, expected = INVALID[label]
    temporaries = (SPARE, MADE, SHORT, WIDE)
    program = LoopProgram("f", (X,), (OUT,), (), temporaries, tuple(body), (CALLEE,))
    with pytest.raises(InvalidLoopProgram, match=expected):
        check(program)


def test_triangle_is_in_bounds() -> None:
    """Of j < 4 and k < j + 1, the index j - k is from 0 to 3."""
    k = Name(4, INDEX, 0, 3, AT_STEP)
    inner = For(k, AT_STEP.plus(1), (Store(OUT, AT_STEP.plus(Index.of(k).times(-1)), ONE),))
    check(LoopProgram("f", (), (OUT,), (), (), (FILLED, For(Name(5, INDEX, 0, 3), 4, ()))))
    outer = For(STEP, 4, (inner,))
    first = Name(6, INDEX, 0, 3)
    filled = For(first, 4, (Store(OUT, Index.of(first), ONE),))
    check(LoopProgram("f", (), (OUT,), (), (), (filled, outer)))


def size_of(function: Callable[..., Any], *operands: Any) -> int:
    """How many statements there are."""
    program = checked_program(make_jaxpr(function)(*operands), "f")
    return sum(1 for _ in walk(program.body))


def reversed_reads(steps: int) -> Callable[[Any], Any]:
    def function(x: Any) -> Any:
        for _ in range(steps):
            x = jnp.sin(x) * 1.1 + x[::-1] * 0.1
        return x

    return function


def long_chain(steps: int) -> Callable[[Any], Any]:
    def function(x: Any) -> Any:
        for _ in range(steps):
            x = jnp.sin(x) * x
        return x

    return function


def broadcast_chain(steps: int) -> Callable[[Any], Any]:
    def function(x: Any) -> Any:
        for _ in range(steps):
            x = jnp.sum(jnp.exp(x)[None, :] * x[:, None], axis=1)
        return x

    return function


@pytest.mark.parametrize("make", [reversed_reads, long_chain, broadcast_chain])
def test_programs_are_linear(make: Callable[[int], Callable[[Any], Any]]) -> None:
    x = jnp.ones(10)
    few, many = [size_of(make(steps), x) for steps in (20, 200)]
    assert many < 11 * few


def copied_elements(function: Callable[..., Any], *operands: Any) -> int:
    """How many elements are copied in loops."""
    program = checked_program(make_jaxpr(function)(*operands), "f")
    loops = [s for s in walk(program.body) if isinstance(s, For)]
    return max(
        [s.size for each in loops for s in walk(each.body) if isinstance(s, Copy)], default=0
    )


def test_updates_in_loops_are_in_place() -> None:
    def mark(i: Any, x: Any) -> Any:
        return x.at[i].set(x[i] + x[0])

    def trace(x: Any) -> Any:
        def step(x: Any, i: Any) -> Any:
            before = x[i]
            return mark(i, x), before

        return lax.scan(step, x, jnp.arange(50))

    assert copied_elements(lambda x: lax.fori_loop(0, 9, mark, x), jnp.ones(1000)) == 0
    assert copied_elements(trace, jnp.ones(1000)) == 0
    # Here the old array is read after the update.
    both = copied_elements(
        lambda x: lax.fori_loop(0, 9, lambda i, x: mark(i, x) + x, x), jnp.ones(1000)
    )
    assert both <= 1000


def test_single_pass_over_a_chain() -> None:
    """A chain of operations on elements is one loop, without memory in between."""
    program = checked_program(make_jaxpr(jax.nn.gelu)(jnp.ones(1000)), "f")
    assert len(program.body) == 1
    assert not program.temporaries
    assert BOOL not in {x.dtype for x in program.inputs}
