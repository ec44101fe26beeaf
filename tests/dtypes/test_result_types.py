"""Dtypes and weak types of what public functions return, as recorded from JAX 0.10.1.

`result_types_golden.json` holds a sample by hash of calls on abstract operands, with 64-bit types
(`x64`), without (`x32`), and under strict promotion; there ``!`` stands for a refusal.  Left out
are weak booleans, which JAX has in places and which mean nothing, and the differences that the
docstrings state.  An operand is written ``s:int8/3`` (an array int8[3]), ``w:float/2,2`` (a weak
one), ``py:2.5`` (a Python scalar), ``nps:``, ``np0:`` or ``np3:`` (NumPy's scalars and arrays).
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import morphax as jax
from morphax import lax, nn, ops, random
from morphax import numpy as jnp
from morphax.numpy import linalg
from morphax.scipy import special

GOLDEN = json.loads((Path(__file__).parent / "result_types_golden.json").read_text())
NAMES = {
    "jax": jax,
    "jnp": jnp,
    "lax": lax,
    "nn": nn,
    "ops": ops,
    "random": random,
    "linalg": linalg,
    "special": special,
    "np": np,
}
WEAK = {"int": int, "float": float, "complex": complex}
PARTS = 24


@pytest.fixture(params=GOLDEN)
def mode(request: pytest.FixtureRequest) -> Iterator[str]:
    with (
        jax.enable_x64(request.param == "x64"),
        jax.numpy_dtype_promotion("strict" if request.param == "strict" else "standard"),
    ):
        yield request.param


def named(name: str) -> np.dtype[Any]:
    return np.dtype(getattr(ml_dtypes, name, None) or name)


def operand(text: str) -> Any:
    """What an operand stands for: a structure if it is traced, else the value itself."""
    kind, rest = text.split(":", 1)
    if kind == "py":
        return {"True": True, "2": 2, "3": 3, "2.5": 2.5}.get(rest) or _number(rest)
    if kind == "key":
        return random.split(random.key(0), int(rest)) if rest else random.key(0)
    name, _, sizes = rest.partition("/")
    if kind in ("s", "w"):
        dtype = jnp.asarray(WEAK[name](1)).dtype if kind == "w" else named(name)
        shape = tuple(map(int, filter(None, sizes.split(","))))
        dtype = jax.dtypes.canonicalize_dtype(dtype)
        return jax.ShapeDtypeStruct(shape, dtype, weak_type=kind == "w")
    return named(name).type(1) if kind == "nps" else np.ones(3 if kind == "np3" else (), name)


def _number(text: str) -> Any:
    return complex(text) if "j" in text else float(text) if "." in text else int(text)


def called(expression: str, operands: str) -> str:
    """The types of the leaves of the result, traced."""
    given = [operand(text) for text in operands.split()]
    is_traced = [isinstance(x, jax.ShapeDtypeStruct) for x in given]

    def call(*traced: Any) -> Any:
        rest = iter(traced)
        values = [next(rest) if on else x for x, on in zip(given, is_traced, strict=True)]
        return eval(expression, NAMES | dict(zip("abcdef", values, strict=False)))

    try:
        out = jax.eval_shape(call, *[x for x, on in zip(given, is_traced, strict=True) if on])
    except (TypeError, ValueError):
        return "!"
    return " ".join(map(_shown, jax.tree.leaves(out)))


def _shown(leaf: Any) -> str:
    weak = "*" if leaf.weak_type and leaf.dtype != bool else ""
    return f"{leaf.dtype}{weak}[{','.join(map(str, leaf.shape))}]"


@pytest.mark.parametrize("part", range(PARTS))
@pytest.mark.filterwarnings("ignore")
def test_results_have_the_recorded_types(part: int, mode: str) -> None:
    table = list(GOLDEN[mode].items())[part::PARTS]
    cases = [(e, o, expected) for e, row in table for o, expected in row.items()]
    got = {f"{e} of {o}": called(e, o) for e, o, _ in cases}
    assert got == {f"{e} of {o}": expected for e, o, expected in cases}
