"""Which functions and classes are declared to compute from their arguments alone."""

from __future__ import annotations

import builtins
import dataclasses
import io
import math
import operator
import os
import random
import time
from typing import Any

import numpy as np
import pytest

import morphax as jax
from morphax import lax
from morphax import numpy as jnp
from morphax.transforms.pure_functions import is_pure


def name(value: Any) -> str:
    return getattr(value, "__qualname__", type(value).__name__)


PURE = [
    abs,
    len,
    isinstance,
    ValueError,
    math.sin,
    operator.add,
    operator.itemgetter,
    tuple.__new__,
]
PURE += [np.sin, np.zeros, np.float32, np.linalg.norm, np.fft.fft, dict.fromkeys, str.join]
PURE += [jnp.sin, lax.scan, jax.grad, jax.jit, jax.ShapeDtypeStruct, jax.nn.softmax, jax.tree.map]
PURE += [jax.random.normal, dataclasses.replace, jax.custom_jvp, jnp.fft.fft, jnp.hanning]

IMPURE = [eval, exec, open, print, input, getattr, setattr, vars, dir, id, hash, globals, locals]
IMPURE += [builtins.__import__, operator.attrgetter, operator.methodcaller, np.load, np.fromfile]
IMPURE += [np.random.rand, np.random.default_rng, np.frompyfunc, np.vectorize, np.memmap]
IMPURE += [time.time, random.random, os.getenv, io.open, jax.live_arrays, jax.config.update]
IMPURE += [jnp.load, jnp.save, jnp.array_repr, jnp.set_printoptions]


@pytest.mark.parametrize("value", PURE, ids=name)
def test_on_the_list(value: Any) -> None:
    assert is_pure(value)


@pytest.mark.parametrize("value", IMPURE, ids=name)
def test_not_on_the_list(value: Any) -> None:
    assert not is_pure(value)


def test_names_prove_nothing() -> None:
    """Classes and functions that say they were defined in one of our modules."""
    made = type("Array", (), {"__module__": "morphax.array"})
    space: dict[str, Any] = {"__name__": "morphax.numpy"}
    exec("def sin(x): return x", space)
    assert not is_pure(made)
    assert not is_pure(space["sin"])
