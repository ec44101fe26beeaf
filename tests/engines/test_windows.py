"""Windows of few numbers, taken and replaced: the bits of single operations."""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
import pytest

import morphax as jax
import morphax.numpy as jnp
from morphax import core, lax
from morphax.engines.reference import small_programs
from morphax.engines.reference.kernel_program import kernel_program

if small_programs.native is None:
    pytest.skip("without the compiled module there are no small programs", allow_module_level=True)

_POINTS = {
    "float32": np.array([0, -0.0, 1.5, -2, 3e38, 1e-42, np.inf, -np.inf, np.nan], np.float32),
    "int32": np.array([0, 1, -1, 7, 2**31 - 1, -(2**31)], np.int32),
    "uint32": np.array([0, 1, 7, 2**32 - 1], np.uint32),
    "float64": np.array([0, -0.0, 1.5, -2, 1e308, 5e-324, np.inf, -np.inf, np.nan]),
    "int64": np.array([0, 1, -1, 7, 2**63 - 1, -(2**63)]),
    "bool": np.array([False, True]),
}
_STARTS = np.array([0, 1, 2, 3, -1, 5, 100, 2**31 - 1, -(2**31)], np.int32)
_WIDE_STARTS = np.array([0, 1, 2, 3, -1, 5, 2**32, 2**32 + 1, 2**63 - 1, -(2**63)])
_MODES = ("clip", "fill", "promise_in_bounds")
_SCATTERS = (lax.scatter, lax.scatter_add, lax.scatter_sub, lax.scatter_mul)


def _check(function: Any, *operands: Any) -> None:
    """The function as one small program, and operation by operation."""
    jaxpr = jax.make_jaxpr(function)(*operands).jaxpr
    program = kernel_program(jaxpr)
    assert program is not None
    space = program.function.__globals__
    assert [name for name in space if name.startswith("k")], "there are calls"
    named = [getattr(value, "__name__", "") for value in space.values()]
    assert named.count("small_program") == 1
    (alone,) = core.apply_jaxpr(jaxpr, *map(jnp.asarray, operands))
    result, alone = np.asarray(program(list(operands))), np.asarray(alone)
    assert result.dtype == alone.dtype
    assert result.shape == alone.shape
    if result.dtype.kind == "f":
        nan = result.dtype.type(np.nan)
        result, alone = (np.where(np.isnan(x), nan, x) for x in (result, alone))
    assert result.tobytes() == alone.tobytes()


def _numbers(draw: np.random.Generator) -> tuple[Any, ...]:
    """The shape of an array, that of indices, dimension numbers, the sizes of a window."""
    shape = tuple(map(int, draw.integers(1, 5, draw.integers(1, 4))))
    axes = [int(i) for i in draw.permutation(len(shape))]
    indexed = tuple(axes[: draw.integers(1, len(shape) + 1)])
    batch = [int(i) for i in draw.integers(1, 4, draw.integers(0, 3))]
    batched = [i for i in axes if i not in indexed][:1] if draw.random() < 0.4 else []
    positions = tuple(range(len(batched)))
    batch = [shape[i] for i in batched] + batch[len(batched) :]
    sizes = [1 if i in batched else int(draw.integers(1, n + 1)) for i, n in enumerate(shape)]
    dropped = tuple(
        [i for i, n in enumerate(sizes) if n == 1 and i not in batched and draw.random() < 0.7]
    )
    rank = len(batch) + len(shape) - len(dropped) - len(batched)
    kept = len(shape) - len(dropped) - len(batched)
    offset = tuple(sorted(map(int, draw.choice(rank, kept, replace=False)))) if kept else ()
    numbers = offset, dropped, indexed, tuple(batched), positions
    return shape, (*batch, len(indexed)), numbers, tuple(sizes)


@pytest.fixture
def wide(dtype: str) -> Iterator[None]:
    with jax.enable_x64(dtype.endswith("64")):
        yield


@pytest.mark.usefixtures("wide")
@pytest.mark.parametrize("dtype", _POINTS)
@pytest.mark.parametrize("seed", range(40))
def test_gathers_and_scatters(seed: int, dtype: str) -> None:
    draw = np.random.default_rng([seed, len(dtype)])
    shape, of_indices, numbers, sizes = _numbers(draw)
    x = draw.choice(_POINTS[dtype], shape)
    starts = _WIDE_STARTS if dtype.endswith("64") and seed % 2 else _STARTS
    indices = draw.choice(starts, of_indices)
    gathers = lax.GatherDimensionNumbers(*numbers)
    for mode in _MODES:
        _check(partial(lax.gather, dimension_numbers=gathers, slice_sizes=sizes, mode=mode),
               x, indices)  # fmt: skip
    updates = draw.choice(_POINTS[dtype], lax.gather(x, indices, gathers, sizes).shape)
    for scatter in _SCATTERS[: 1 if dtype == "bool" else None]:
        for mode in _MODES:
            scatters = lax.ScatterDimensionNumbers(*numbers)
            _check(partial(scatter, dimension_numbers=scatters, mode=mode), x, indices, updates)


@pytest.mark.usefixtures("wide")
@pytest.mark.parametrize("shape", [(1,), (7,), (3, 4), (2, 3, 2)])
@pytest.mark.parametrize("dtype", _POINTS)
def test_dynamic_slices(shape: tuple[int, ...], dtype: str) -> None:
    draw = np.random.default_rng(math.prod(shape))
    x = draw.choice(_POINTS[dtype], shape)
    for _ in range(12):
        sizes = tuple([int(draw.integers(1, n + 1)) for n in shape])
        wide = dtype.endswith("64") and draw.random() < 0.5
        starts = [np.asarray(draw.choice(_WIDE_STARTS if wide else _STARTS)) for _ in shape]
        _check(lambda x, *s, sizes=sizes: lax.dynamic_slice_p.bind(x, *s, slice_sizes=sizes),
               x, *starts)  # fmt: skip
        update = draw.choice(_POINTS[dtype], sizes)
        _check(lambda x, u, *s: lax.dynamic_update_slice_p.bind(x, u, *s), x, update, *starts)


def test_what_is_computed_on_the_way() -> None:
    """Starts, operands and updates may come of other steps, and be parts and constants."""
    x = np.random.default_rng(0).normal(size=(4, 5)).astype(np.float32)
    i = np.array([3, -1, 9, 0, 3], np.int32)

    def function(x: Any, i: Any) -> Any:
        taken = jnp.take(x * 2, i[1:] + 1, axis=0)
        put = (x - 1).at[i[::-1], 2].add(taken[0] * 3)
        known = lax.dynamic_slice(put, (jnp.int32(1), i[3]), (2, 3))
        return known.at[i[:2], jnp.array([0, 2])].set(jnp.array([5.0, 6.0])) + put[:2, :3]

    _check(function, x, i)


def test_repeated_places_take_updates_in_their_order() -> None:
    x, i = np.zeros(3, np.float32), np.array([2, 0, 2, 2, 7], np.int32)
    u = np.array([1, 2, 1e8, -1e8, 3], np.float32)
    for scatter, expected in ((lax.scatter, -1e8), (lax.scatter_add, 0.0)):
        put = partial(
            scatter, dimension_numbers=lax.ScatterDimensionNumbers((), (0,), (0,)), mode="drop"
        )
        _check(put, x, i[:, None], u)
        result = put(jnp.asarray(x), jnp.asarray(i)[:, None], jnp.asarray(u))
        assert result[2] == np.float32(expected)


@pytest.mark.parametrize(
    ("change", "error"),
    [
        ((5, [5]), IndexError),
        ((5, [-1]), IndexError),
        ((7, [3]), IndexError),
        ((6, [2000]), ValueError),
        ((8, [-1]), IndexError),
        ((9, [1, 1]), ValueError),
        ((1, [0]), ValueError),
        ((3, 8), ValueError),
    ],
)
def test_windows_outside_of_memory_are_refused(change: tuple[int, Any], error: type) -> None:
    step: list[Any] = ["windows", [0, 1], 1, 4, "", [1], [0], [0], [3], [1], True, 0]
    operands, results = [(5, 4), (1, 4)], [(2, 11, (1,))]
    small_programs.native.make(operands, [], [tuple(step)], results)
    step[change[0]] = change[1]
    with pytest.raises(error):
        small_programs.native.make(operands, [], [tuple(step)], results)
