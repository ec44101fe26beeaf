"""Ragged all-to-all against the loop that its documentation is, and arguments that are refused.

The table of collectives has a record of it, which drives places, groups, axes and derivatives.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import morphax as jax
import morphax.numpy as jnp
from morphax import lax

MEMBERS, ROWS, OUT_ROWS = 4, 9, 40


def drawn(seed: int, per: int) -> list[np.ndarray[Any, Any]]:
    """Slices for all members, some empty, that do not overlap where they are written."""
    rng = np.random.default_rng(seed)
    count = MEMBERS * per
    starts = rng.integers(0, ROWS, (MEMBERS, count))
    sizes = np.minimum(rng.integers(0, 4, (MEMBERS, count)), ROWS - starts)
    coming = sizes.reshape(MEMBERS, MEMBERS, per).swapaxes(0, 1).reshape(MEMBERS, count)
    first = np.cumsum(coming, 1) - coming + rng.integers(0, OUT_ROWS - coming.sum(1).max() + 1)
    places = first.reshape(MEMBERS, MEMBERS, per).swapaxes(0, 1).reshape(MEMBERS, count)
    return [x.astype(np.int32) for x in (starts, sizes, places, coming)]


def by_loop(operand: Any, output: Any, starts: Any, sizes: Any, places: Any, _: Any) -> Any:
    result = output.copy()
    per = starts.shape[1] // MEMBERS
    for source in range(MEMBERS):
        for i, (start, size, place) in enumerate(
            zip(starts[source], sizes[source], places[source], strict=True)
        ):
            result[i // per, place : place + size] = operand[source, start : start + size]
    return result


def exchange(*operands: Any) -> Any:
    return lax.ragged_all_to_all(*operands, axis_name="i")


MAPPED = jax.vmap(exchange, axis_name="i")
MESH = jax.make_mesh((MEMBERS,), ("i",))


def between_devices(*operands: Any) -> Any:
    def member(*parts: Any) -> Any:
        return exchange(*[x[0] for x in parts])[None]

    spec = jax.P("i")
    return jax.jit(jax.shard_map(member, mesh=MESH, in_specs=spec, out_specs=spec))(*operands)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("row", [(), (2, 3)], ids=str)
def test_is_the_loop(seed: int, row: tuple[int, ...]) -> None:
    rng = np.random.default_rng(100 + seed)
    operand = rng.normal(size=(MEMBERS, ROWS, *row)).astype(np.float32)
    output = rng.normal(size=(MEMBERS, OUT_ROWS, *row)).astype(np.float32)
    slices = drawn(seed, 1 + seed % 3)
    expected = by_loop(operand, output, *slices)
    np.testing.assert_array_equal(MAPPED(operand, output, *slices), expected)
    np.testing.assert_array_equal(between_devices(operand, output, *slices), expected)


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint32", "bfloat16", "complex64"])
def test_of_any_dtype(dtype: str) -> None:
    operand = jnp.arange(MEMBERS * ROWS).reshape(MEMBERS, ROWS).astype(dtype)
    output = jnp.zeros((MEMBERS, OUT_ROWS), dtype)
    slices = drawn(7, 2)
    expected = by_loop(np.asarray(operand), np.asarray(output), *slices)
    np.testing.assert_array_equal(between_devices(operand, output, *slices), expected)


def test_a_row_that_is_sent_twice_has_both_cotangents() -> None:
    operand, output = np.ones((MEMBERS, 1), np.float32), np.ones((MEMBERS, 4), np.float32)
    ones = np.ones((MEMBERS, MEMBERS), np.int32)
    places = ones * np.arange(MEMBERS, dtype=np.int32)[:, None]
    weights = np.arange(16, dtype=np.float32).reshape(MEMBERS, 4)

    for function in (MAPPED, between_devices):

        def loss(x: Any, y: Any, function: Any = function) -> Any:
            return (weights * function(x, y, 0 * ones, ones, places, ones)).sum()

        sent, written = jax.grad(loss, (0, 1))(operand, output)
        np.testing.assert_array_equal(sent[:, 0], weights.sum(0))
        np.testing.assert_array_equal(written, np.zeros_like(output))


def test_derivatives_are_those_under_vmap() -> None:
    rng = np.random.default_rng(3)
    operand = rng.normal(size=(MEMBERS, ROWS)).astype(np.float32)
    output = rng.normal(size=(MEMBERS, OUT_ROWS)).astype(np.float32)
    slices = drawn(3, 2)
    x, y = rng.normal(size=(2, MEMBERS, OUT_ROWS)).astype(np.float32)

    def gradients(function: Any) -> Any:
        def loss(a: Any, b: Any) -> Any:
            return (x * jnp.sin(function(a, b, *slices))).sum()

        first = jax.grad(loss, (0, 1))(operand, output)
        second = jax.grad(lambda b: (y * jax.grad(loss, 1)(operand, b)).sum())(output)
        return (*first, second)

    for given, expected in zip(gradients(between_devices), gradients(MAPPED), strict=True):
        np.testing.assert_allclose(given, expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("axes", [(0, 0, 0, 0, 0, 0), (1, 0, None, None, None, None), (None, 0, 1)])
def test_batches_of_exchanges(axes: tuple[int | None, ...]) -> None:
    rng = np.random.default_rng(0)
    axes = (*axes, *axes[-1:] * (6 - len(axes)))
    batch, single = 3, drawn(1, 2)
    members = [drawn(seed, 2) for seed in range(batch)]
    slices = [
        np.stack([m[k] for m in members]) if axes[2] is not None else single[k] for k in range(4)
    ]
    operand = rng.normal(size=(batch, MEMBERS, ROWS)).astype(np.float32)
    output = rng.normal(size=(batch, MEMBERS, OUT_ROWS)).astype(np.float32)
    operands = [operand[0] if axes[0] is None else operand, output, *slices]
    expected = [
        by_loop(*[x if d is None else x[k] for x, d in zip(operands, axes, strict=True)])
        for k in range(batch)
    ]
    # Behind the axis of members, the batch axis of a member's array is where `axes` says.
    moved = [
        x if d is None else np.moveaxis(x, 0, 1 + d) for x, d in zip(operands, axes, strict=True)
    ]
    function = jax.vmap(jax.vmap(exchange, in_axes=axes), axis_name="i")
    np.testing.assert_array_equal(function(*moved), np.stack(expected, 1))


def test_arrays_without_elements() -> None:
    slices = [np.zeros((MEMBERS, MEMBERS), np.int32)] * 4
    out = MAPPED(np.ones((MEMBERS, 0)), np.ones((MEMBERS, 3)), *slices)
    np.testing.assert_array_equal(out, np.ones((MEMBERS, 3)))
    assert MAPPED(np.ones((MEMBERS, 3)), np.ones((MEMBERS, 0)), *slices).shape == (MEMBERS, 0)


F, K = np.ones(3, np.float32), np.zeros(MEMBERS, np.int32)
REFUSED = [
    pytest.param((F, F, K * 1.0, K, K, K), ValueError, "argument input_offsets", id="no integers"),
    pytest.param((F, F, K, K[None], K, K), ValueError, "argument send_sizes", id="rank"),
    pytest.param((F, F, K, K, K[:2], K), ValueError, "argument output_offsets", id="number"),
    pytest.param((F, F, *[K[:3]] * 4), ValueError, "for 4 members", id="not for each member"),
    pytest.param((F, F.astype(int), K, K, K, K), TypeError, "one dtype", id="dtypes"),
    pytest.param((F, F[None], K, K, K, K), ValueError, "of one shape", id="rows"),
    pytest.param((F[0], F, K, K, K, K), ValueError, "along the first axis", id="scalar"),
]


@pytest.mark.parametrize(("operands", "error", "text"), REFUSED)
def test_refusals(operands: Any, error: Any, text: str) -> None:
    with pytest.raises(error, match=text) as caught:
        jax.vmap(lambda _: exchange(*operands), axis_name="i")(K)
    assert "fix:" in str(caught.value)


def test_platforms_with_an_operation_of_their_own() -> None:
    """The text that JAX 0.10.1 writes for these."""
    operands = [jax.ShapeDtypeStruct((MEMBERS, *s), d) for s, d in SHAPES]

    def member(*parts: Any) -> Any:
        return exchange(*[x[0] for x in parts])[None]

    mapped = jax.shard_map(member, mesh=MESH, in_specs=jax.P("i"), out_specs=jax.P("i"))
    text = jax.jit(mapped).trace(*operands).lower(lowering_platforms=("cuda",)).as_text()
    assert 'call_target_name = "ragged_all_to_all"' in text
    assert "replica_groups = dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>" in text


SHAPES = [((ROWS,), np.float32), ((OUT_ROWS,), np.float32), *[((MEMBERS,), np.int32)] * 4]
