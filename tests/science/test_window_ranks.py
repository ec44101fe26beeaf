"""Samples of a rank in windows, by native code, by the program and by the twin."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
import scipy.ndimage

import morphax as jax
from morphax.core import like
from morphax.engines.xla import window_rank_calls
from morphax.runtime.native_calls import WINDOW_RANKS_TARGET
from morphax.science import ndimage
from morphax.science.ndimage._window_ranks import window_rank_p
from morphax.util.compiled import part

needs_native = pytest.mark.skipif(part("window_ranks") is None, reason="native code is not there")
RNG = np.random.default_rng(0)

# Shapes of images and of windows; the last has holes.
WINDOWS: list[tuple[tuple[int, ...], np.ndarray[Any, Any]]] = [
    ((9,), np.ones(3, bool)),
    ((5000,), np.ones(200, bool)),
    ((1, 7), np.ones((1, 7), bool)),
    ((40, 30), np.ones((13, 11), bool)),
    ((6, 9, 12), np.ones((2, 3, 4), bool)),
    ((70, 90), RNG.random((9, 8)) < 0.5),
]


def _window(kept: np.ndarray[Any, Any]) -> tuple[tuple[int, ...], ...]:
    return tuple(map(tuple, np.argwhere(kept).tolist()))


@needs_native
@pytest.mark.parametrize("dtype", ["i4", "i8"])
@pytest.mark.parametrize("number", range(len(WINDOWS)))
def test_native_code_finds_what_the_twin_finds(number: int, dtype: str) -> None:
    image, kept = WINDOWS[number]
    offsets, shape = _window(kept), tuple(np.subtract(image, kept.shape) + 1)
    limits = np.iinfo(dtype)
    for low, high in ((-3, 3), (limits.min, limits.max)):
        keys = RNG.integers(low, high, image, dtype, endpoint=True)
        for rank in {0, len(offsets) // 2, len(offsets) - 1}:
            params = {"offsets": offsets, "shape": shape, "rank": rank}
            expected = window_rank_p.evaluate(keys, **params)
            with jax.enable_x64(True):
                run = lambda x, p=params: window_rank_p.bind(x, **p)  # noqa: E731
                np.testing.assert_array_equal(run(keys), expected)
                np.testing.assert_array_equal(jax.jit(run)(keys), expected)


def test_without_native_code_windows_are_sorted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(window_rank_calls, "part", lambda name: None)
    image, kept = WINDOWS[3]
    params = {"offsets": _window(kept), "shape": (28, 20), "rank": 70}
    keys = RNG.integers(-9, 9, image, "i4")
    run = jax.jit(lambda x: window_rank_p.bind(x, **params))
    assert WINDOW_RANKS_TARGET not in run.lower(keys).as_text()
    expected = window_rank_p.evaluate(keys, **params)
    np.testing.assert_array_equal(run(keys), expected)
    np.testing.assert_array_equal(window_rank_p.bind(keys, **params), expected)


def test_batches_have_places_in_their_own_images() -> None:
    image, kept = WINDOWS[3]
    params = {"offsets": _window(kept), "shape": (28, 20), "rank": 7}
    keys = RNG.integers(-9, 9, (*image, 3), "i4")
    found = jax.vmap(lambda x: window_rank_p.bind(x, **params), 2)(keys)
    expected = [window_rank_p.evaluate(keys[..., i].copy(), **params) for i in range(3)]
    np.testing.assert_array_equal(found, expected)


@needs_native
def test_what_native_code_refuses() -> None:
    native: Any = part("window_ranks")
    keys, out = np.arange(6, dtype=np.int32), np.zeros(4, np.int32)
    row = lambda *numbers: np.array(numbers, np.int64)  # noqa: E731
    good = [keys, row(0, 1, 2), row(0), row(2), row(6), row(4), 1, out]
    native.find(*good)
    np.testing.assert_array_equal(out, [1, 2, 3, 4])
    for place, wrong in (
        *((1, row(0, 1, 3)), (1, row(-1, 1, 2)), (2, row()), (3, row(3)), (4, row(7))),
        *((4, row(2, 3)), (5, row(7)), (5, row(0)), (6, 3), (6, -1), (7, out[1:])),
    ):
        with pytest.raises(ValueError, match="windows that do not lie in their image"):
            native.find(*[wrong if i == place else x for i, x in enumerate(good)])


@pytest.mark.parametrize("shape", [(300, 40), (40, 300), (4, 5, 60)])
def test_filters_slide_along_any_axis(shape: tuple[int, ...]) -> None:
    image = RNG.normal(size=shape).astype(np.float32)
    for size in itertools.permutations((2, 70, 1)[: len(shape)]):
        sizes = tuple(map(min, size, [2 * n for n in shape]))
        found = ndimage.percentile_filter(image, 30, sizes)
        np.testing.assert_array_equal(found, scipy.ndimage.percentile_filter(image, 30, sizes))


def test_axes_that_windows_do_not_extend_along_go_along() -> None:
    offsets = tuple([(0, i) for i in range(3)])
    keys = like(shape=(4, 9), dtype=np.dtype(np.int32))
    flow = window_rank_p.axis_flow(keys, offsets=offsets, shape=(4, 7), rank=1)
    assert flow.operands == flow.results == ((0, None),)
