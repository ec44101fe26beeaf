"""The tables and functions of `interpreters.batching`."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import morphax as jax
import morphax.numpy as jnp
from morphax import lax
from morphax.core import ShapedArray
from morphax.extend.core import Primitive
from morphax.interpreters import batching

MATRIX = np.arange(6, dtype=np.float32).reshape(2, 3)


def sum_primitive() -> Primitive:
    p = Primitive("sum")
    p.def_impl(lambda x, y: np.asarray(x) + np.asarray(y))
    p.def_abstract_eval(lambda x, y: ShapedArray(np.broadcast_shapes(x.shape, y.shape), np.float32))
    return p


def test_batching_rule() -> None:
    p = sum_primitive()
    seen = []

    def rule(operands: Any, dims: Any) -> Any:
        seen.append(tuple(dims))
        return p.bind(operands[0], operands[1]), dims[0]

    batching.primitive_batchers[p] = rule
    assert batching.primitive_batchers[p] is rule
    out = jax.vmap(p.bind, in_axes=(1, batching.not_mapped), out_axes=1)(MATRIX, 1.0)
    np.testing.assert_array_equal(out, MATRIX + 1)
    assert seen == [(1, None)]


def test_rules_of_ordinary_primitives_can_be_called() -> None:
    out, dim = batching.primitive_batchers[lax.neg_p]((jnp.asarray(MATRIX),), (0,))
    assert dim == 0
    np.testing.assert_array_equal(out, -MATRIX)


@pytest.mark.parametrize(
    ("in_axes", "operands", "expected"),
    [
        ((0, 0), (MATRIX, MATRIX), 2 * MATRIX),
        ((0, 1), (MATRIX, MATRIX.T), 2 * MATRIX),
        ((0, None), (MATRIX, np.float32(1.0)), MATRIX + 1),
        ((0, None), (MATRIX, MATRIX[0]), MATRIX + MATRIX[0]),
        ((None, 1), (MATRIX[:, 0], MATRIX), MATRIX.T + MATRIX[:, 0]),
    ],
)
def test_broadcasting(in_axes: Any, operands: Any, expected: Any) -> None:
    p = sum_primitive()
    batching.defbroadcasting(p)
    np.testing.assert_array_equal(jax.vmap(p.bind, in_axes=in_axes)(*operands), expected)
    np.testing.assert_array_equal(
        jax.vmap(lambda *x: p.bind(*x), in_axes=in_axes)(*operands), expected
    )


def test_vectorized() -> None:
    p = sum_primitive()
    batching.defvectorized(p)
    out = jax.vmap(p.bind, in_axes=1, out_axes=1)(MATRIX, MATRIX)
    np.testing.assert_array_equal(out, 2 * MATRIX)
    with pytest.raises(ValueError, match=r"batch axes \(0, None\)"):
        jax.vmap(p.bind, in_axes=(0, None))(MATRIX, 1.0)


def test_reducer() -> None:
    p = Primitive("total")
    p.def_impl(lambda x, *, axes: np.sum(x, axes))
    p.def_abstract_eval(
        lambda x, *, axes: ShapedArray(
            tuple(n for i, n in enumerate(x.shape) if i not in axes), x.dtype
        )
    )
    batching.defreducer(p)
    out = jax.vmap(lambda x: p.bind(x, axes=(0,)), in_axes=1)(np.ones((2, 3, 4), np.float32))
    np.testing.assert_array_equal(out, np.full((3, 4), 2.0))


def test_rules_that_take_the_axis() -> None:
    p = sum_primitive()

    def fancy(axis: Any, operands: Any, dims: Any) -> Any:
        seen.append((axis.size, axis.name))
        return p.bind(*operands), 0

    def by_size(size: Any, name: Any, trace_type: Any, operands: Any, dims: Any) -> Any:
        seen.append((size, name, trace_type))
        return p.bind(*operands), 0

    seen: list[Any] = []
    batching.fancy_primitive_batchers[p] = fancy
    jax.vmap(p.bind, in_axes=(0, None), axis_name="i")(MATRIX, 1.0)
    batching.axis_primitive_batchers[p] = by_size
    jax.vmap(p.bind, in_axes=(0, None), axis_name="i")(MATRIX, 1.0)
    assert seen == [(2, "i"), (2, "i", None)]


def test_operation_over_a_named_axis() -> None:
    """A user-defined sum over mapped axes: it acts though its operand is not mapped."""
    p = Primitive("sum_over")
    p.def_impl(lambda x, *, axis_name: x)
    p.def_abstract_eval(lambda x, *, axis_name: x)

    def rule(axis: Any, operands: Any, dims: Any, *, axis_name: str) -> Any:
        assert axis.name == axis_name
        (x,), (dim,) = operands, dims
        return (x * axis.size, None) if dim is None else (jnp.sum(x, dim), None)

    batching.fancy_primitive_batchers[p] = rule
    out = jax.vmap(lambda x: (p.bind(x, axis_name="i"), p.bind(1.0, axis_name="i")), axis_name="i")
    total, count = out(jnp.arange(4.0))
    np.testing.assert_array_equal(total, np.full(4, 6.0))
    np.testing.assert_array_equal(count, np.full(4, 4.0))


def test_moves() -> None:
    np.testing.assert_array_equal(batching.bdim_at_front(MATRIX, 1, 3), MATRIX.T)
    assert batching.bdim_at_front(MATRIX, None, 4).shape == (4, 2, 3)
    assert batching.broadcast(MATRIX, 5, 1, None).shape == (2, 5, 3)
