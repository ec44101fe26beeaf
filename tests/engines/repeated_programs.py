"""Programs with loops of Python's, made at random: steps that are found again, and near misses."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import numpy as np

import morphax as jax
import morphax.numpy as jnp
from morphax import lax

DTYPES = ("float32", "float64", "int32", "bfloat16", "complex64")
SPECIAL = (np.nan, np.inf, -np.inf, -0.0, 0.0)
ROWS = 24


def drawn_program(seed: int, *, dtype: str | None = None) -> tuple[Callable[..., Any], list[Any]]:
    """A function, and its operands."""
    rng = random.Random(seed)
    dtype = dtype or rng.choice(DTYPES)
    numbers = np.random.default_rng(seed)
    is_integer = dtype == "int32"
    # Long arrays are not kept in registers, and are changed where they lie.
    length = rng.choice((3, 3, 100))
    shapes = (length,), (length,), (), (ROWS, length), (ROWS,)
    made = [numbers.normal(size=shape) for shape in shapes]
    if not is_integer and rng.random() < 0.25:
        made = [np.where(numbers.random(x.shape) < 0.2, numbers.choice(SPECIAL), x) for x in made]
    operands = [np.asarray(x * 5 if is_integer else x).astype(dtype) for x in made]
    script = _Script(rng, length, is_integer, is_complex=dtype == "complex64")
    loops = [script.loop(depth=0) for _ in range(rng.choice((1, 1, 2, 2, 3)))]

    def program(x: Any, y: Any, s: Any, rows: Any, column: Any) -> Any:
        state = {"x": x, "y": y, "s": s}
        tables: dict[str, Any] = {"rows": rows, "column": column, "key": jax.random.key(5)}
        tables |= {"mask": jnp.real(x) > 0, "earlier": [x, y]}
        history: list[Any] = []
        for loop in loops:
            loop(state, tables, history, 0)
        return [*state.values(), *history[:: script.kept]]

    return program, operands


class _Script:
    """Draws statements: functions of the state, tables, the history, and the number of the step."""

    def __init__(self, rng: random.Random, length: int, is_integer: bool, is_complex: bool) -> None:
        self.rng, self.length = rng, length
        self.is_integer, self.is_complex = is_integer, is_complex
        self.kept = rng.choice((1, 3, 7, 1000, 1000))

    def loop(self, depth: int) -> Any:
        rng = self.rng
        count = rng.choice((3, 5, 8, 12, 20)) if depth == 0 else rng.choice((2, 4, 6))
        body = [self.statement(depth) for _ in range(rng.choice((1, 2, 3, 5)))]
        odd = rng.randrange(count) if rng.random() < 0.2 else -1
        extra = self.assignment()
        is_backwards = rng.random() < 0.2

        def run(state: Any, tables: Any, history: Any, _: int) -> None:
            for i in reversed(range(count)) if is_backwards else range(count):
                for statement in body:
                    statement(state, tables, history, i)
                if i == odd:
                    extra(state, tables, history, i)

        return run

    def statement(self, depth: int) -> Any:
        kind = self.rng.random()
        if kind < 0.1 and depth < 1:
            return self.loop(depth + 1)
        if kind < 0.2:
            name = self.rng.choice("xys")
            return lambda state, tables, history, i: history.append(state[name])
        if kind < 0.27:
            return self.update()
        if kind < 0.33:
            return self.exchange()
        if kind < 0.43:
            return self.control()
        if kind < 0.53:
            return self.with_memory()
        return self.assignment()

    def update(self) -> Any:
        value, turn = self.scalar(), self.rng.choice((0, 1))

        def run(state: Any, tables: Any, history: Any, i: int) -> None:
            place = (i * turn) % self.length
            state["x"] = (
                state["x"].at[place].add(value(state, tables, history, i).astype(state["x"].dtype))
            )

        return run

    def control(self) -> Any:
        """A loop, a branch, or an operation that changes arrays where they lie."""
        kind, value = self.rng.randrange(9), self.scalar()

        def run(state: Any, tables: Any, history: Any, i: int) -> None:
            x, y = state["x"], state["y"].astype(state["x"].dtype)
            one = value(state, tables, history, i).astype(x.dtype)
            if kind == 0:
                state["x"] = lax.fori_loop(0, 3, lambda k, x: x.at[k].set(x[0] + one), x)
            elif kind == 1:
                is_first = jnp.real(x[0]) > jnp.real(one)
                state["y"] = lax.cond(is_first, lambda: y.at[1].set(one), lambda: x * 2)
            elif kind == 2:
                state["x"] = lax.dynamic_update_slice(x, y[:2], (i % 2,))
            elif kind == 3:
                state["y"] = jnp.cumsum(x) + y
            elif kind == 4:
                state["x"] = x - ((tables["rows"] * one) @ y)[0]
            elif kind == 5:
                state["s"], state["y"] = lax.scan(lambda c, v: (c - v, c * one), one, y)
            elif kind == 6:
                state["x"] = jnp.sort(x) + y
            elif kind == 7:
                bits = jax.random.bits(jax.random.fold_in(jax.random.key(3), i), (self.length,))
                state["y"] = jnp.where(bits % 2 == 0, x, y)
            else:
                tables["rows"] = tables["rows"].at[i % ROWS].set(x * one)

        return run

    def with_memory(self) -> Any:
        """What is carried besides, keys, masks, earlier states; and functions with rules."""
        kind = self.rng.randrange(8)

        def run(state: Any, tables: Any, history: Any, i: int) -> None:
            x, y = state["x"], state["y"].astype(state["x"].dtype)
            if kind == 0:
                tables["key"], drawn = jax.random.split(tables["key"])
                bits = jax.random.bits(drawn, (self.length,), np.uint16)
                state["x"] = x + (bits % 8).astype(x.dtype)
            elif kind == 1:
                tables["mask"] ^= jnp.real(x) > jnp.real(y)
                state["y"] = jnp.where(tables["mask"], x, y)
            elif kind == 2:
                state["x"] = tables["earlier"][-2] - x * 2
            elif kind == 3:
                state["x"] = jnp.concatenate([x[:0], y]) + x[:0].sum()
            elif kind == 4:
                state["y"] = jax.checkpoint(lambda a, b: a * b - a)(x, y)
            elif kind == 5:
                state["x"] = _turned(x, y)
            elif kind == 6:
                state["y"] = jax.jvp(lambda a: a * a - y, (x,), (y,))[1] if _has_slopes(x) else -y
            else:
                slope = jax.grad(lambda a: jnp.sum(jnp.real(a * a * y)).astype(np.float32))
                state["x"] = x - slope(x) if _has_slopes(x) else x * -1
            tables["earlier"] = [*tables["earlier"][-2:], state["x"]]

        return run

    def exchange(self) -> Any:
        def run(state: Any, tables: Any, history: Any, i: int) -> None:
            state["x"], state["y"] = state["y"], state["x"]

        return run

    def assignment(self) -> Any:
        rng = self.rng
        name = rng.choice("xys")
        operand = self.scalar if name == "s" else self.vector
        operation = rng.choice(self.operations())
        a, b = operand(), operand()

        def run(state: Any, tables: Any, history: Any, i: int) -> None:
            args = [f(state, tables, history, i) for f in (a, b)]
            state[name] = operation(*args)

        return run

    def operations(self) -> list[Any]:
        ops: list[Any] = [
            lambda a, b: a + b * 2,
            lambda a, b: a - b,
            lambda a, b: a * b // 7 if self.is_integer else a * b * 0.5,
            _step,
        ]
        if not self.is_complex:
            ops += [jnp.maximum, lambda a, b: jnp.where(a > b, a, -b)]
        if not self.is_integer:
            ops += [lambda a, b: jnp.sin(a) + b, lambda a, b: jnp.tanh(a - b)]
            ops += [lambda a, b: a / (b * b + 1.5)]
        return ops

    def vector(self) -> Any:
        rng, kind = self.rng, self.rng.random()
        name = rng.choice("xy")
        if kind < 0.5:
            return lambda state, tables, history, i: state[name]
        if kind < 0.6:
            first, step = rng.choice(((0, 1), (20, -1), (3, 0), (2, 3)))
            return lambda state, tables, history, i: tables["rows"][(first + step * i) % ROWS]
        if kind < 0.7:
            return lambda state, tables, history, i: state[name][::-1]
        if kind < 0.8:
            return self.remembered(self.length)
        value = self.scalar()
        return lambda state, tables, history, i: value(state, tables, history, i) + state[name]

    def scalar(self) -> Any:
        rng, kind = self.rng, self.rng.random()
        if kind < 0.3:
            return lambda state, tables, history, i: state["s"]
        if kind < 0.45:
            return lambda state, tables, history, i: jnp.sum(state["y"])
        if kind < 0.6:
            first, step = rng.choice(((0, 1), (20, -1), (5, 0)))
            return lambda state, tables, history, i: tables["column"][(first + step * i) % ROWS]
        if kind < 0.7:
            return lambda state, tables, history, i: state["x"][i % self.length]
        if kind < 0.8:
            return self.remembered(0)
        slope, base = rng.choice((0, 0, 1, 0.1)), rng.choice((0, 0.5, -0.0, 2))
        number = (lambda v: int(v * 10)) if self.is_integer else (lambda v: v)
        return lambda state, tables, history, i: state["s"] * number(base + slope * i)

    def remembered(self, size: int) -> Any:
        """What was put into the history, a step after the other, in one of two directions."""
        turn, offset = self.rng.choice((1, -1)), self.rng.choice((0, 1, 2))

        def value(state: Any, tables: Any, history: Any, i: int) -> Any:
            found = history[(turn * i + offset) % len(history)] if history else state["s"]
            if size:
                return found + jnp.zeros_like(state["x"])
            return jnp.sum(found) if found.shape else found

        return value


def _has_slopes(x: Any) -> bool:
    return bool(jnp.issubdtype(x.dtype, np.inexact))


@jax.custom_vjp
def _turned(a: Any, b: Any) -> Any:
    """A difference whose derivative is that of another function."""
    return a - b


_turned.defvjp(lambda a, b: (a - b, b), lambda b, t: (t * b, -t))


@jax.jit
def _step(a: Any, b: Any) -> Any:
    return (b - a) * 2 + a * b
