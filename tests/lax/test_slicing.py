"""Edges of slices, static and dynamic, and of padding: bounds, index dtypes, error texts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from morphax import grad, jit, lax, make_jaxpr
from tests.lax.engines import check_engines_agree

X = np.arange(12, dtype=np.float32).reshape(3, 4)
LONG = np.arange(300, dtype=np.int32)
ZERO = np.float32(0)


def test_slices_do_not_hold_their_operand() -> None:
    base = lax.full((1000,), 1.0)
    part = lax.slice(base, (0,), (2,)).to_host()
    assert not np.shares_memory(part, base.to_host())


def test_weak_types_of_padding_and_blocks() -> None:
    weak = lax.full((3, 4), 1.0)
    config = [(1, 1, 0)] * 2
    assert lax.pad(weak, 1.0, config).aval.weak_type
    assert not lax.pad(weak, ZERO, config).aval.weak_type
    assert not lax.pad(X, 1.0, config).aval.weak_type
    assert lax.slice(weak, (0, 0), (1, 1)).aval.weak_type
    assert lax.dynamic_slice(weak, (0, 0), (1, 1)).aval.weak_type
    assert not lax.dynamic_update_slice(weak, weak, (0, 0)).aval.weak_type


def test_cotangent_of_padding_ignores_what_is_not_padding() -> None:
    def weighted(value: Any) -> Any:
        padded = lax.pad(np.zeros(2, np.float32), value, [(1, 1, 0)])
        return lax.reduce_sum(lax.mul(padded, np.array([1, np.inf, np.inf, 2], np.float32)), (0,))

    assert float(grad(weighted)(np.float32(1)).to_host()) == 3.0


@pytest.mark.parametrize("dtype", ["int8", "int16", "int32", "int64", "uint8", "uint32", "uint64"])
@pytest.mark.parametrize("start", [0, 1, 100, 126, "lowest", "highest"])
def test_starts_of_any_dtype_and_size(dtype: str, start: Any) -> None:
    info = np.iinfo(dtype)
    place = {"lowest": info.min, "highest": info.max}.get(start, start)
    i = np.asarray(place, dtype)
    first = min(max(place + 300 if place < 0 else place, 0), 297)
    block = check_engines_agree(lambda x, i: lax.dynamic_slice(x, (i,), (3,)), LONG, i)
    assert block.tolist() == list(range(first, first + 3))
    replaced = check_engines_agree(
        lambda x, i: lax.dynamic_update_slice(x, LONG[:3], (i,)), LONG, i
    )
    assert replaced[first : first + 3].tolist() == [0, 1, 2]


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int32"])
def test_python_integers_yield_to_other_starts(dtype: str) -> None:
    def block(x: Any, i: Any) -> Any:
        return lax.dynamic_slice(x, (-2, i), (1, 2))

    x = np.arange(600, dtype=np.int32).reshape(300, 2)
    assert check_engines_agree(block, x, np.asarray(1, dtype)).tolist() == [[596, 597]]


def test_starts_beyond_every_dtype() -> None:
    assert lax.dynamic_slice(LONG, (2**70,), (1,)).to_host().tolist() == [299]
    assert lax.dynamic_slice(LONG, (-(2**70),), (1,)).to_host().tolist() == [0]


def test_known_starts_stay_known() -> None:
    (eqn,) = make_jaxpr(lambda x: lax.dynamic_slice(x, (9, -1), (1, 1)))(X).eqns
    assert [int(start.val) for start in eqn.invars[1:]] == [9, 3]


def test_starts_below_zero_may_mean_zero() -> None:
    def block(x: Any, i: Any) -> Any:
        return lax.dynamic_slice(x, (i, i), (1, 1), allow_negative_indices=[False, True])

    assert check_engines_agree(block, X, np.int32(-1)).tolist() == [[3.0]]


def test_one_compiled_program_serves_all_starts() -> None:
    block = jit(lambda x, i: lax.dynamic_index_in_dim(x, i, keepdims=False))
    assert [block(X, i).to_host()[0] for i in (-1, 0, 1, 7)] == [8.0, 0.0, 4.0, 8.0]


REFUSED = [
    (lambda: lax.slice(X, (0,), (1, 1)), ValueError, r"start_indices[\s\S]*2, one per axis"),
    (lambda: lax.slice(X, (0, 0), (4, 4)), ValueError, r"lax\.slice[\s\S]*limit <= size"),
    (lambda: lax.slice(X, (2, 0), (1, 4)), ValueError, r"lax\.slice[\s\S]*start <= limit"),
    (lambda: lax.slice(X, (-1, 0), (1, 4)), ValueError, r"lax\.slice[\s\S]*0 <= start"),
    (lambda: lax.slice(X, (0, 0), (1, 4), (0, 1)), ValueError, r"lax\.slice[\s\S]*stride > 0"),
    (lambda: lax.slice_in_dim(X, 0, 1, axis=2), ValueError, r"lax\.slice_in_dim, argument axis"),
    (lambda: lax.index_in_dim(X, 4, 1), IndexError, r"lax\.index_in_dim[\s\S]*\[-4, 4\)"),
    (lambda: lax.pad(X, 0, [(0, 0, 0)] * 2), TypeError, r"padding_value[\s\S]*float32"),
    (lambda: lax.pad(X, X[0], [(0, 0, 0)] * 2), ValueError, r"padding_value[\s\S]*a scalar"),
    (lambda: lax.pad(X, ZERO, [(0, 0, 0)]), ValueError, r"padding_config[\s\S]*2 triples"),
    (lambda: lax.pad(X, ZERO, [(0, 0, -1)] * 2), ValueError, r"padding_config[\s\S]*interior"),
    (lambda: lax.pad(X, ZERO, [(-2, -2, 0)] * 2), ValueError, r"padding_config[\s\S]*negative"),
    (lambda: lax.dynamic_slice(X, (0,), (1, 1)), ValueError, r"start_indices[\s\S]*2, one per"),
    (lambda: lax.dynamic_slice(X, (0, 0.5), (1, 1)), TypeError, r"start_indices[\s\S]*integers"),
    (lambda: lax.dynamic_slice(X, (True, 0), (1, 1)), TypeError, r"start_indices[\s\S]*integers"),
    (
        lambda: lax.dynamic_slice(X, (np.int8(0), np.int16(0)), (1, 1)),
        TypeError,
        r"start_indices[\s\S]*integers of one dtype",
    ),
    (
        lambda: lax.dynamic_slice(X, (np.zeros(2, int), 0), (1, 1)),
        ValueError,
        r"start_indices[\s\S]*2 scalars",
    ),
    (lambda: lax.dynamic_slice(X, (0, 0), (4, 1)), ValueError, r"slice_sizes[\s\S]*fits into"),
    (lambda: lax.dynamic_slice(X, (0, 0), (1,)), ValueError, r"slice_sizes[\s\S]*rank 2"),
    (lambda: lax.dynamic_update_slice(X, X[0], (0, 0)), ValueError, r"update[\s\S]*rank 2"),
    (
        lambda: lax.dynamic_update_slice(X, X.astype(int), (0, 0)),
        TypeError,
        r"lax\.dynamic_update_slice, argument update[\s\S]*float32",
    ),
    (lambda: lax.dynamic_index_in_dim(X, 0, axis=2), ValueError, r"argument axis[\s\S]*rank 2"),
]


@pytest.mark.parametrize(("call", "error", "text"), REFUSED)
def test_wrong_calls_are_refused(
    call: Callable[[], Any], error: type[Exception], text: str
) -> None:
    with pytest.raises(error, match=text):
        call()
