"""Steps that Python has repeated are found again: the same numbers from shorter programs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

import morphax as jax
import morphax.numpy as jnp
from morphax.config import override
from morphax.core import Jaxpr, Literal, check_jaxpr
from morphax.engines.loops import repeats
from morphax.engines.loops.repeats import with_steps_found
from morphax.engines.loops.steps import Steps
from morphax.transforms.make_jaxpr import make_jaxpr
from tests.descriptions import described

from .repeated_programs import DTYPES, drawn_program

X = np.linspace(-1.0, 1.0, 5, dtype=np.float32)
ROWS = np.linspace(0.0, 1.0, 100, dtype=np.float32).reshape(20, 5)


def evaluated(jaxpr: Jaxpr, operands: Sequence[Any]) -> list[Any]:
    """The results of a program one operation after the other, loops step by step."""
    values: dict[Any, Any] = dict(zip(jaxpr.constvars, jaxpr.consts, strict=True))
    values |= zip(jaxpr.invars, operands, strict=True)

    def read(atom: Any) -> Any:
        return np.asarray(atom.val, atom.aval.dtype) if type(atom) is Literal else values[atom]

    for eqn in jaxpr.eqns:
        operation = OPERATIONS.get(eqn.primitive.name)
        found = (operation or eqn.primitive.bind)(*map(read, eqn.invars), **eqn.params)
        results = found if eqn.primitive.multiple_results else [found]
        values |= zip(eqn.outvars, results, strict=True)
    return [_on_host(read(atom)) for atom in jaxpr.outvars]


def _on_host(x: Any) -> Any:
    """An array of NumPy's, but of keys."""
    return x if jnp.issubdtype(x.dtype, jax.dtypes.prng_key) else np.asarray(x)


def _stacked(rows: Any) -> Any:
    is_host = isinstance(rows[0], np.ndarray)
    return np.stack(rows) if is_host else jnp.stack(rows)


def _steps(
    *operands: Any, jaxpr: Any, length: int, num_consts: int, num_carry: int, **_: Any
) -> Any:
    consts, rest = operands[:num_consts], operands[num_consts:]
    carry, xs = rest[:num_carry], [_on_host(x) for x in rest[num_carry:]]
    rows = []
    for i in range(length):
        results = evaluated(jaxpr, [*consts, *carry, *[x[i] for x in xs]])
        carry = results[:num_carry]
        rows.append(results[num_carry:])
    return [*carry, *[_stacked(ys) for ys in zip(*rows, strict=True)]]


def _view(x: Any, *, shape: tuple[int, ...], axes: Any) -> Any:
    at = np.indices(shape) if shape else ()
    places = [
        start + sum([factor * at[axis] for axis, factor in terms], np.zeros(shape, int))
        for start, terms in axes
    ]
    return np.asarray(x)[tuple(places)]


def _window(x: Any, *starts: Any, slice_sizes: tuple[int, ...]) -> Any:
    at = zip(map(int, starts), slice_sizes, strict=True)
    return np.asarray(x)[tuple([slice(start, start + size) for start, size in at])]


def _row(x: Any, filler: Any, *places: Any, shape: tuple[int, ...], axes: tuple[int, ...]) -> Any:
    out, here = np.full(shape, filler, np.asarray(x).dtype), [slice(None)] * len(shape)
    for axis, place in zip(axes, places, strict=True):
        here[axis] = slice(int(place), int(place) + 1)
    out[tuple(here)] = x
    return out


OPERATIONS = {
    "repeated_steps": _steps,
    "strided_view": _view,
    "moving_window": _window,
    "moving_row": _row,
}


def gradient_of(program: Callable[..., Any]) -> Callable[..., Any]:
    def total(*operands: Any) -> Any:
        return sum([jnp.sum(x) for x in jax.tree.leaves(program(*operands))])

    return jax.grad(total, argnums=(0, 1, 2))


@pytest.mark.parametrize("first", range(0, 160, 20))
def test_programs_made_at_random_have_the_same_results(first: int) -> None:
    with override(enable_x64=True):
        for seed in range(first, first + 20):
            program, operands = drawn_program(seed)
            if seed % 3 == 0 and operands[0].dtype.kind == "f":
                program = gradient_of(program)
            jaxpr = make_jaxpr(program)(*operands)
            shorter = with_steps_found(jaxpr)
            check_jaxpr(shorter)
            if shorter is not jaxpr:
                expected = described(evaluated(jaxpr, operands))
                assert described(evaluated(shorter, operands)) == expected, seed


def test_most_of_them_have_steps() -> None:
    found = 0
    with override(enable_x64=True):
        for seed in range(40):
            program, operands = drawn_program(seed)
            jaxpr = make_jaxpr(program)(*operands)
            found += with_steps_found(jaxpr) is not jaxpr
    assert found >= 15


@pytest.mark.parametrize("dtype", DTYPES)
def test_machine_code_has_the_same_bits(dtype: str) -> None:
    with override(enable_x64=True, cpu_engine="native"):
        for seed in (1, 3):
            program, operands = drawn_program(seed, dtype=dtype)
            results = []
            for finds in (True, False):
                with override(find_repeated_steps=finds):
                    results.append(described(jax.jit(program)(*operands)))
            assert results[0] == results[1]


@jax.jit
def step(x: Any, row: Any) -> Any:
    return jnp.sin(x) * 0.5 + row


def carried(x: Any) -> Any:
    for _ in range(20):
        x = x * 0.9 + 0.1
        x = x - 0.02 * (x * x)
    return x


def literals(x: Any) -> Any:
    for i in range(20):
        x = x + jnp.sin(x * (0.1 * i)) * 0.01
    return x


def rows_in_turn(x: Any) -> Any:
    for i in range(20):
        x = jnp.tanh(x * 0.5 + ROWS[i])
    return x


def every_other_row_backwards(x: Any) -> Any:
    rows = jnp.asarray(ROWS) * x
    for i in range(19, 0, -2):
        x = jnp.tanh(x * 0.5 + rows[i]) - jnp.cos(x) * 0.1
    return x


def calls(x: Any) -> Any:
    rows = jnp.asarray(ROWS) * x
    for i in range(20):
        x = step(x, rows[i])
    return x


def collected(x: Any) -> Any:
    found = []
    for _ in range(20):
        x = jnp.sin(x) * 0.9 + 0.1
        found.append(jnp.tanh(x + 1.0) / (x * x + 1.0))
    return sum(found[::4]), x


def momentum(x: Any) -> Any:
    v = jnp.zeros(5)
    for t in range(1, 20):
        v = 0.9 * v + x**3 - x
        x = x - 0.1 * v / (1.0 - 0.9**t)
    return x, v


def loops_in_loops(x: Any) -> Any:
    for _ in range(6):
        for i in range(20):
            x = x + jnp.sin(x * (0.1 * i)) * 0.01
        x = x / jnp.sqrt(jnp.sum(x * x) + 1.0)
    return x


def taken_apart(x: Any) -> Any:
    a, b = x[0], x[1]
    for _ in range(20):
        a, b = a * 0.9 + b * 0.1, jnp.sin(a) - b
    return a, b


def forwards_and_backwards(x: Any) -> Any:
    return jax.grad(lambda x: jnp.sum(carried(x)))(x)


def numbers_at_places(x: Any) -> Any:
    for i in range(20):
        x = x.at[i % 5].set(jnp.sin(x[0]) * 0.5)
    return x


def table(x: Any) -> Any:
    y = jnp.zeros(20)
    for i in range(2, 20):
        y = y.at[i].set(y[i - 1] * 0.5 + y[i - 2] * 0.3 + x[i % 5])
    return y


def gradient_by_rows(x: Any) -> Any:
    def cost(rows: Any) -> Any:
        s, total = jnp.zeros(5), 0.0
        for i in range(20):
            s = jnp.tanh(s * 0.5 + rows[i])
            total = total + jnp.sum(s**2) + rows[i, 0]
        return total

    return jax.grad(cost)(ROWS * x)


# The most equations that are left.
EXAMPLES = {
    carried: 1,
    literals: 2,
    rows_in_turn: 2,
    every_other_row_backwards: 4,
    calls: 4,
    collected: 12,
    momentum: 3,
    loops_in_loops: 8,
    taken_apart: 5,
    forwards_and_backwards: 6,
    numbers_at_places: 2,
    table: 8,
    gradient_by_rows: 60,
}


@pytest.mark.parametrize("program", EXAMPLES, ids=lambda f: f.__name__)
def test_steps_are_found(program: Callable[..., Any]) -> None:
    jaxpr = make_jaxpr(program)(X)
    shorter = with_steps_found(jaxpr)
    check_jaxpr(shorter)
    assert len(shorter.eqns) <= EXAMPLES[program]
    assert described(evaluated(shorter, [X])) == described(evaluated(jaxpr, [X]))


def irregular(x: Any) -> Any:
    for i in range(20):
        x = x * 0.9 + (0.1 if i % 3 else x)
    return x


def of_the_step_before_last(x: Any) -> Any:
    a, b = x, x + 1.0
    for _ in range(20):
        a, b = b, jnp.sin(a) * 0.5 + jnp.cos(b) * 0.1
    return b


def each_taken_apart(x: Any) -> Any:
    found = []
    for _ in range(30):
        x = jnp.sin(x) * 0.5
        found.append(x)
    return found


@pytest.mark.parametrize("program", [irregular, each_taken_apart])
def test_other_programs_stay(program: Callable[..., Any]) -> None:
    jaxpr = make_jaxpr(program)(X)
    assert with_steps_found(jaxpr) is jaxpr


def with_one_odd_step(odd: Any) -> Callable[..., Any]:
    """Twenty steps, of which one has another operand."""

    def program(x: Any, number: Any) -> Any:
        for i in range(20):
            x = jnp.cos(x * (odd(x, number) if i == 11 else number) - 0.5)
        return x

    return program


ODD: dict[str, Callable[[Any, Any], Any]] = {
    "literal": lambda x, number: np.float32(0.5),
    "result of the step": lambda x, number: x,
    "weakly typed": lambda x, number: 0.5,
    "of another dtype": lambda x, number: number.astype(np.float16),
    "negative zero": lambda x, number: np.float32(-0.0),
}


@pytest.mark.parametrize("odd", ODD)
@pytest.mark.parametrize("number", [np.float32(0.7), np.float32(0.0)])
def test_a_step_that_differs_is_none(odd: str, number: Any) -> None:
    program = with_one_odd_step(ODD[odd])
    for function in (program, lambda x: program(x, number)):
        operands = [X, number][: 2 if function is program else 1]
        jaxpr = make_jaxpr(function)(*operands)
        shorter = with_steps_found(jaxpr)
        check_jaxpr(shorter)
        assert described(evaluated(shorter, operands)) == described(evaluated(jaxpr, operands))


def test_zeros_of_both_signs_are_different_numbers() -> None:
    def program(x: Any) -> Any:
        for i in range(30):
            x = x * 0.5 + (-0.0 if i % 2 else 0.0)
        return x

    x = np.full(3, -0.0, np.float32)
    jaxpr = make_jaxpr(program)(x)
    assert len(with_steps_found(jaxpr).eqns) < 10
    (found,) = evaluated(with_steps_found(jaxpr), [x])
    assert described(found) == described(evaluated(jaxpr, [x])[0])


def test_long_loops_are_no_longer_programs() -> None:
    def program(x: Any, count: int) -> Any:
        for i in range(count):
            x = jnp.sin(x * (0.1 * (i % 5))) * 0.9 + x[::-1]
        return x

    sizes = [
        len(with_steps_found(make_jaxpr(program, static_argnums=1)(X, n)).eqns) for n in (40, 400)
    ]
    assert sizes[0] == sizes[1]


def remembered_in_blocks(x: Any, count: int) -> Any:
    """Steps that read what those of a loop before them have left, five in a row."""
    left = []
    for _ in range(count):
        x = jnp.sin(x) * 0.9 + jnp.cos(x) * 0.1 + jnp.tanh(x * x - 1.0) * 0.2
        left.append(x)
    for i in range(count):
        x = jnp.sin(x + left[(i % 5 * 2 + i // 5 * 4) % count]) + jnp.exp(-x * x) - 0.5
        x = jnp.tanh(jnp.cos(x) * 0.5 + x * x * 0.1 + jnp.sqrt(x * x + 1.0))
    return x


def test_runs_that_are_loops_one_by_one_are_looked_at_once(monkeypatch: Any) -> None:
    looked_at = []

    def steps(around: Any, start: int, period: int, count: int) -> Any:
        looked_at.append(period * count)
        return Steps(around, start, period, count)

    monkeypatch.setattr(repeats, "Steps", steps)
    jaxpr = make_jaxpr(remembered_in_blocks, static_argnums=1)(X, 300)
    shorter = with_steps_found(jaxpr)
    assert len(shorter.eqns) < len(jaxpr.eqns) / 4
    assert sum(looked_at) < 2 * len(jaxpr.eqns)
    assert described(evaluated(shorter, [X])) == described(evaluated(jaxpr, [X]))


@pytest.mark.parametrize(("size", "is_found"), [(64, True), (65, False)])
def test_large_constants_are_not_copied(size: int, is_found: bool) -> None:
    matrices = [np.full((size, size), 1.0 / (i + 1), np.float32) for i in range(20)]

    def program(x: Any) -> Any:
        for matrix in matrices:
            x = jnp.tanh(matrix @ x) * 0.9 + 0.1
        return x

    jaxpr = make_jaxpr(program)(np.ones(size, np.float32))
    assert (with_steps_found(jaxpr) is not jaxpr) is is_found


def test_what_has_effects_stays() -> None:
    def program(x: Any) -> Any:
        for i in range(20):
            x = jnp.sin(x) * 0.5 + 0.1
            jax.debug.print("{}", i)
        return x

    jaxpr = make_jaxpr(program)(X)
    assert with_steps_found(jaxpr) is jaxpr
