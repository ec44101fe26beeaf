"""Dtypes and weak types of what public functions return, as recorded from JAX 0.10.1.

`result_types_golden.json` holds a sample by hash of calls on abstract operands, with 64-bit types
(`x64`), without (`x32`), and under strict promotion; there ``!`` stands for a refusal.  Left out
are weak booleans, which JAX has in places and which mean nothing, strong tangents of weak results
(ours are weak), and the differences that the docstrings state.  An operand is written
``s:int8/3`` (an array int8[3]), ``w:float/2,2`` (a weak one), ``py:2.5`` (a Python scalar), and
``nps:``, ``np0:`` or ``np3:`` (NumPy's scalars and arrays).
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


ARRAYS = (jnp.ones(3), jnp.float32(1), np.ones(3), np.ones(()), random.key(0))
TAKES_DTYPE = {
    "zeros": lambda d: jnp.zeros(3, dtype=d),
    "array": lambda d: jnp.array(1, dtype=d),
    "astype": lambda d: jnp.ones(3).astype(d),
    "sum": lambda d: jnp.sum(jnp.ones(3), dtype=d),
    "lax.full": lambda d: lax.full((2,), 1, d),
    "promote_types": lambda d: jnp.promote_types(d, d),
}


@pytest.mark.parametrize("name", TAKES_DTYPE)
@pytest.mark.parametrize("array", ARRAYS, ids=repr)
def test_arrays_are_no_dtypes(name: str, array: Any) -> None:
    with pytest.raises(TypeError if isinstance(array, np.ndarray) else ValueError, match="array"):
        TAKES_DTYPE[name](array)
    with pytest.raises((TypeError, ValueError), match="array"):
        jax.jit(TAKES_DTYPE[name])(jnp.ones(3))


@pytest.mark.parametrize("implementation", ["threefry2x32", "rbg", "philox4x32"])
def test_a_number_fills_the_words_of_keys(implementation: str) -> None:
    try:
        keys = random.split(random.key(0, impl=implementation), 3)
    except (TypeError, ValueError):
        pytest.skip(f"there is no generator {implementation}")

    def filled(keys: Any) -> Any:
        made = (
            *(jnp.zeros_like(keys), jnp.ones_like(keys), jnp.empty_like(keys)),
            *(jnp.full_like(keys, 7), jnp.zeros(3, keys.dtype), lax.empty((3,), keys.dtype)),
        )
        return [random.key_data(k) for k in made]

    for words in (filled(keys), jax.jit(filled)(keys)):
        assert [np.unique(w).tolist() for w in words] == [[0], [1], [0], [7], [0], [0]]
    matrix = random.key_data(jnp.diag(keys))
    np.testing.assert_array_equal(matrix[1, 1], random.key_data(keys)[1])
    assert not matrix[0, 1].any()


def test_eager_results_have_the_types_of_traced_ones(mode: str) -> None:
    weak, strong = jnp.asarray(2.0), jnp.ones(3)
    calls = {
        "powers": lambda: (weak ** np.int8(2), 2 ** jnp.ones(3, "int8"), jnp.power(True, 3)),
        "reductions": lambda: (jnp.sum(weak), jnp.max(weak), jnp.mean(weak), jnp.std(weak)),
        "joins": lambda: (jnp.stack([weak, weak]), jnp.append(weak, 1.0), jnp.diff(strong)),
        "updates": lambda: (jnp.stack([weak]).at[0].set(3.0), jnp.pad(weak[None], 1)),
        "tangents": lambda: jax.jvp(jnp.sin, (2.0,), (np.ones((), strong.dtype),)),
        "gradients": lambda: jax.grad(lambda x, y: jnp.sum(x * y), (0, 1))(weak, strong),
    }
    for name, call in calls.items():
        eager = [(x.dtype, x.aval.weak_type) for x in jax.tree.leaves(call())]
        traced = [(x.dtype, x.weak_type) for x in jax.tree.leaves(jax.eval_shape(call))]
        assert eager == traced, name


def test_kinds_of_dtypes_are_all_checked() -> None:
    assert not jnp.isdtype(jnp.int8, "float32")
    assert jnp.isdtype(jnp.float32, ("bool", "float32"))
    with pytest.raises(ValueError, match="kind"):
        jnp.isdtype(jnp.int8, ("numeric", "nonsense"))


def test_strict_promotion_has_no_say_in_functions_of_real_numbers() -> None:
    with jax.numpy_dtype_promotion("strict"):
        assert jnp.sin(jnp.arange(3)).dtype == jnp.float32
        assert jnp.mean(jnp.arange(3)) == 1
        with pytest.raises(ValueError, match="promotion"):
            jnp.zeros(3, "int32").at[0].set(2.5)


def test_log_sums_to_base_two_are_weak_if_they_are_scalars() -> None:
    weak = jnp.broadcast_to(jnp.asarray(2.5), (3,))
    for operands, is_weak in (
        ((2.5, 2.5), True),
        ((weak[0], 1), True),
        ((weak[0], jnp.float32(1)), False),
        ((weak, 2.5), False),
        ((2.5, weak), False),
    ):
        for f in (jnp.logaddexp2, jax.jit(jnp.logaddexp2)):
            assert f(*operands).weak_type is is_weak
