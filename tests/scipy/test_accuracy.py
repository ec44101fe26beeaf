"""Special functions and distributions against the table of how exact they are."""

from __future__ import annotations

import importlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import special as reference_special
from scipy import stats as reference_stats

import morphax as jax
from morphax.scipy import special
from tests.sampling import is_taken

from .accuracy_table import ORDINARY, REGIONS, STATS, UNITS, drawn

COUNT = 40
STEP = 1e-6
TRUTHS = json.loads(Path(__file__).with_name("accuracy_truths.json").read_text())
DTYPES = ("float64", "float32")

Function = Callable[..., Any]


def _functions(name: str) -> tuple[Function, Function]:
    """Ours, and SciPy's."""
    if name not in STATS:
        theirs = getattr(reference_special, name)
        # Orders are whole numbers, of which SciPy takes integers.
        whole = (lambda n, x: theirs(n.astype(int), x)) if name == "expn" else theirs
        return getattr(special, name), whole
    module, function = name.split(".")
    ours = importlib.import_module(f"morphax.scipy.stats.{module}")
    return getattr(ours, function), getattr(getattr(reference_stats, module), function)


def _values(result: Any) -> np.ndarray:
    """A row for each result, in float64."""
    return np.atleast_2d(np.asarray(result, np.float64))


def units(name: str, truth: Function, args: list[np.ndarray], dtype: str) -> np.ndarray:
    """What a rounding of the result and of each operand may change, by differences of `truth`."""
    values = _values(truth(*args))
    size = np.abs(values)
    if ".logp" in name:
        size = np.maximum(size, 1)
    for i, region in enumerate(REGIONS[name][0]):
        if region.kind == "whole":
            continue
        near = [[*args[:i], args[i] * (1 + step), *args[i + 1 :]] for step in (STEP, -STEP)]
        above, below = (_values(truth(*points)) for points in near)
        slope = np.abs(above - below) / (2 * STEP)
        size = size + np.where(np.isfinite(slope), slope, 0)
    info = np.finfo(dtype)
    return float(info.eps) * np.maximum(size, float(info.tiny))


def _worst(
    name: str, run: Function, args: list[Any], truth: Function, expected: Any, dtype: str
) -> tuple[float, str]:
    """The error in units, and where it is that large."""
    info = np.finfo(dtype)
    given = _values(run(*[x.astype(dtype) for x in args]))
    inside = (np.abs(expected) >= float(info.tiny)) & (np.abs(expected) <= float(info.max))
    off = np.where(inside, np.abs(given - expected) / units(name, truth, args, dtype), 0)
    off = np.where(np.isnan(off), np.inf, off)
    at = np.unravel_index(np.argmax(off), off.shape)
    return off[at], f"at {[float(x[at[-1]]) for x in args]}: {given[at]}, not {expected[at]}"


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", REGIONS)
def test_values_over_wide_ranges(name: str, dtype: str) -> None:
    ours, truth = _functions(name)
    is_stored = dtype == "float64" and name in TRUTHS
    args = (
        [np.array(x) for x in TRUTHS[name]["operands"]] if is_stored else drawn(name, dtype, COUNT)
    )
    is_compiled = is_taken(f"{name} {dtype}", "compiled", 10)
    most = UNITS.get(name, (ORDINARY, ORDINARY))[DTYPES.index(dtype)]
    with np.errstate(all="ignore"), jax.enable_x64(True):
        expected = _values(TRUTHS[name]["values"] if is_stored else truth(*args))
        for run in (ours, jax.jit(ours)) if is_compiled else (ours,):
            error, where = _worst(name, run, args, truth, expected, dtype)
            assert error <= most, f"{error:.3g} units {where}"


def test_exceptions_are_of_functions_in_the_table() -> None:
    assert set(UNITS) <= set(REGIONS)
    assert set(TRUTHS) <= set(REGIONS)
    assert all(min(units) >= ORDINARY for units in UNITS.values())
