"""Repetitions that are no copies, and what comes first: the bits of single operations."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import morphax as jax
import morphax.numpy as jnp
from morphax import lax
from morphax.core import apply_jaxpr
from morphax.engines.reference import fusion
from morphax.engines.reference.kernel_program import kernel_program
from morphax.engines.reference.kernels import KernelCall

pytestmark = pytest.mark.skipif(fusion.native is None, reason="all repetitions are copies")

_OPERATIONS: list[Callable[[Any, Any], Any]] = [
    lax.mul,
    lax.max,
    lax.lt,
    lax.rem,
    lambda a, b: lax.add(a, lax.full_like(a, 2)),
    lambda a, b: lax.select(lax.lt(a, b), a, b),
    lambda a, b: lax.clamp(a, b, b),
    lambda a, b: lax.atan2(a, b),
    lambda a, b: lax.add(a, a),
]


def _program(function: Callable[..., Any], *operands: Any) -> tuple[KernelCall, Any]:
    jaxpr = jax.make_jaxpr(function)(*operands).jaxpr
    program = kernel_program(jaxpr, list)
    assert program is not None
    return program, apply_jaxpr(jaxpr, *map(jnp.asarray, operands))


@pytest.mark.parametrize("shape", [(40, 50), (1, 2000), (3, 1, 700), (520, 520)])
@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "int32", "float64"])
def test_repeated_operands(dtype: str, shape: tuple[int, ...]) -> None:
    rng = np.random.default_rng(0)
    operations = _OPERATIONS if shape[0] < 520 else [*_OPERATIONS[:2], *_OPERATIONS[-4:]]
    axes = [a for k in (1, 2, 3) for a in itertools.combinations(range(len(shape)), k)]

    def operand(kept: tuple[int, ...]) -> Any:
        return (rng.normal(size=[shape[i] for i in kept]) * 3).astype(jnp.dtype(dtype))

    with jax.enable_x64(dtype == "float64"):
        for (of_a, of_b), operation in itertools.product(
            itertools.product(axes, repeat=2), operations
        ):
            if dtype == "int32" and operation is _OPERATIONS[7]:
                continue
            a, b = operand(of_a), operand(of_b)

            def function(
                a: Any, b: Any, of_a: Any = of_a, of_b: Any = of_b, operation: Any = operation
            ) -> Any:
                spread = lax.broadcast_in_dim(a, shape, of_a), lax.broadcast_in_dim(b, shape, of_b)
                return [operation(*spread)]

            program, (alone,) = _program(function, a, b)
            result = np.asarray(program([a, b])[0])
            assert result.tobytes() == np.asarray(alone).tobytes()
            assert result.flags.c_contiguous
            assert not np.shares_memory(result, a)
            assert not np.shares_memory(result, b)


def test_no_view_leaves_a_program() -> None:
    x = np.arange(50, dtype=np.float32)

    def function(x: Any) -> Any:
        rows = lax.broadcast_in_dim(x, (40, 50), (1,))
        counted = lax.broadcasted_iota(np.float32, (40, 50), 0)
        return [rows, counted, rows * counted, lax.reshape(lax.broadcast(x, (40,)), (2000,))]

    program, alone = _program(function, x)
    for result, single in zip(program([x]), alone, strict=True):
        assert np.asarray(result).tobytes() == np.asarray(single).tobytes()
        assert np.asarray(result).base is None or np.asarray(result).flags.c_contiguous
        assert not np.shares_memory(np.asarray(result), x)


def test_what_takes_no_time_does_not_stand_between() -> None:
    x, q = np.linspace(-1, 1, 5000, dtype=np.float32), np.arange(7, dtype=np.float32)
    a = np.ones((200, 150), np.float32)
    calls: list[tuple[Callable[..., Any], tuple[Any, ...]]] = [
        (jnp.polyval, (q, x)),
        (jnp.triu, (a,)),
        (lambda a: a * jnp.sum(q) - a[0] * jnp.max(q), (a,)),
    ]
    for function, operands in calls:
        program, (alone,) = _program(lambda *v, f=function: [f(*v)], *operands)
        names = [getattr(v, "__name__", "") for v in program.function.__globals__.values()]
        assert names.count("chain") == 1
        assert np.asarray(program(list(operands))[0]).tobytes() == np.asarray(alone).tobytes()


@pytest.mark.parametrize(
    ("operand", "is_chain"), [(np.s_[:, :1], True), (np.s_[:1], True), (np.s_[:1, :1], False)]
)
def test_a_single_operation_on_what_repeats_is_a_chain(operand: Any, is_chain: bool) -> None:
    x = np.linspace(-3, 3, 4000, dtype=np.float32).reshape(400, 10)
    program, (alone,) = _program(
        lambda x, y: [lax.mul(x, jnp.broadcast_to(y, x.shape))], x, x[operand]
    )
    names = [getattr(v, "__name__", "") for v in program.function.__globals__.values()]
    assert ("chain" in names) is is_chain
    assert np.asarray(program([x, x[operand]])[0]).tobytes() == np.asarray(alone).tobytes()


@pytest.mark.parametrize("rows", [1, 3, 200, 1025])
@pytest.mark.parametrize("width", [2, 3, 7, 8, 9, 16, 17, 63, 64, 65, 511, 600])
@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "int32"])
def test_numbers_repeat_along_rows_of_all_lengths(rows: int, width: int, dtype: str) -> None:
    x = (np.arange(rows * width) % 97).reshape(rows, width).astype(dtype)
    with jax.enable_x64(True):
        for y in (x[:, :1], x[:1]):
            for _ in range(2):
                found = jnp.where(jnp.asarray(y) > 40, jnp.asarray(y) * 2, jnp.asarray(x))
            np.testing.assert_array_equal(found, np.where(y > 40, y * 2, x))
            np.testing.assert_array_equal(jnp.broadcast_to(y, x.shape), np.broadcast_to(y, x.shape))
