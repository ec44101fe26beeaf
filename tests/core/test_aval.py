"""Abstract values: interning, immutability, printing."""

from __future__ import annotations

import copy
import gc
import pickle
import weakref
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import morphax as jax
from morphax import core
from morphax.core import (
    AbstractMesh,
    AbstractSharding,
    AbstractValue,
    AxisType,
    ShapedArray,
    abstract_token,
)
from morphax.core.aval import _interned
from morphax.core.manual_axis_type import ManualAxisType
from morphax.dtypes import KeyType, float0

FRY = KeyType("fry", (2,), np.uint64)
ROWS = AbstractSharding(AbstractMesh((2,), ("x",), AxisType.Explicit), (("x",),))


@pytest.mark.parametrize(
    "other",
    [
        ShapedArray((2, 3), "float32"),
        ShapedArray([2, 3], np.float32),
        ShapedArray((np.int64(2), 3), np.dtype("float32")),
        ShapedArray((2, 3), np.float32, False, sharding=None, vma=frozenset()),
        ShapedArray((2, 3), np.float64).update(dtype=np.float32),
        ShapedArray((2, 3), np.float32, weak_type=True).strip_weak_type(),
    ],
)
def test_equal_avals_are_one_object(other: ShapedArray) -> None:
    assert other is ShapedArray((2, 3), np.float32)


@pytest.mark.parametrize(
    "other",
    [
        ShapedArray((3, 2), np.float32),
        ShapedArray((2, 3), np.float16),
        ShapedArray((2, 3), np.float32, weak_type=True),
        ShapedArray((2, 3), np.float32, sharding=ROWS.with_axis(1, None)),
        ShapedArray((2, 3), np.float32, vma=frozenset({"i"})),
        ShapedArray((2, 3, 1), np.float32),
        abstract_token,
    ],
)
def test_other_avals_are_unequal(other: AbstractValue) -> None:
    assert other != ShapedArray((2, 3), np.float32)


def test_unused_avals_are_forgotten() -> None:
    aval = ShapedArray((123, 457), np.float32)
    reference, size = weakref.ref(aval), len(_interned)
    del aval
    gc.collect()
    assert reference() is None
    assert len(_interned) < size


@pytest.mark.parametrize(
    "aval",
    [
        ShapedArray((), np.float32, weak_type=True),
        ShapedArray((0, 2), ml_dtypes.bfloat16),
        ShapedArray((2,), FRY),
        ShapedArray((2,), np.int8, vma=frozenset({"i", "j"})),
    ],
)
def test_copies_are_the_same_object(aval: ShapedArray) -> None:
    assert pickle.loads(pickle.dumps(aval)) is aval
    assert copy.copy(aval) is aval
    assert copy.deepcopy(aval) is aval


def test_fields() -> None:
    aval = ShapedArray([np.int32(2), 3], "int8")
    assert (aval.shape, aval.dtype, aval.weak_type) == ((2, 3), np.dtype(np.int8), False)
    assert (aval.ndim, aval.size, len(aval)) == (2, 6, 2)
    assert all(type(n) is int for n in aval.shape)
    assert ShapedArray((), "int8").size == 1


def test_len_of_a_scalar() -> None:
    with pytest.raises(TypeError, match="unsized"):
        len(ShapedArray((), np.float32))


@pytest.mark.parametrize("name", ["shape", "dtype", "weak_type", "other"])
def test_immutable(name: str) -> None:
    aval = ShapedArray((2,), np.float32)
    with pytest.raises(AttributeError, match=rf"immutable; use aval.update\({name}=...\)"):
        setattr(aval, name, None)


def test_update() -> None:
    aval = ShapedArray((2,), np.float32, True, sharding=ROWS, vma=frozenset({"i"}))
    updated = aval.update(shape=(3,), weak_type=False)
    assert updated is ShapedArray((3,), np.float32, sharding=ROWS, vma=frozenset({"i"}))
    assert aval.update() is aval
    with pytest.raises(TypeError):
        aval.update(size=3)


def test_sizes_are_integers() -> None:
    with pytest.raises(TypeError):
        ShapedArray((2.5,), np.float32)


@pytest.mark.parametrize(
    ("dtype", "tangent"),
    [
        (np.float32, np.float32),
        (ml_dtypes.bfloat16, ml_dtypes.bfloat16),
        (np.complex64, np.complex64),
        (np.int32, float0),
        (np.bool_, float0),
        (FRY, float0),
    ],
)
def test_tangent(dtype: Any, tangent: Any) -> None:
    assert ShapedArray((2,), dtype).to_tangent_aval() is ShapedArray((2,), tangent)


def test_token() -> None:
    assert abstract_token.str_short() == repr(abstract_token) == "Tok"
    assert abstract_token.strip_weak_type() is abstract_token
    assert abstract_token.to_tangent_aval().dtype == float0


@pytest.mark.parametrize(
    ("aval", "short", "text", "representation"),
    [
        (ShapedArray((), "int32"), "i32[]", "int32[]", "ShapedArray(int32[])"),
        (
            ShapedArray((), "int32", True),
            "i32[]",
            "~int32[]",
            "ShapedArray(int32[], weak_type=True)",
        ),
        (
            ShapedArray((2, 3), ml_dtypes.bfloat16),
            "bf16[2,3]",
            "bfloat16[2,3]",
            "ShapedArray(bfloat16[2,3])",
        ),
        (ShapedArray((0,), bool), "bool[0]", "bool[0]", "ShapedArray(bool[0])"),
        (ShapedArray((4,), FRY), "key<fry>[4]", "key<fry>[4]", "ShapedArray(key<fry>[4])"),
        (
            ShapedArray((4,), "uint8", vma=frozenset({"j", "i"})),
            "u8[4]{V:(i,j)}",
            "uint8[4]{V:(i,j)}",
            "ShapedArray(uint8[4]{V:(i,j)})",
        ),
    ],
)
def test_text(aval: ShapedArray, short: str, text: str, representation: str) -> None:
    assert aval.str_short() == short
    assert str(aval) == text
    assert repr(aval) == representation


def test_the_axes_of_members_in_one_object() -> None:
    aval = ShapedArray((2,), np.float32, vma=frozenset({"x"}))
    assert aval.mat == aval.manual_axis_type == ManualAxisType(varying={"x"})
    assert aval.update_manual_axis_type(ManualAxisType(varying={"y"})).vma == {"y"}
    assert ShapedArray((2,), np.float32, manual_axis_type=aval.mat) is aval
    assert aval.update(manual_axis_type=ManualAxisType()) is ShapedArray((2,), np.float32)
    assert aval.update_manual_axis_type(ManualAxisType()) is ShapedArray((2,), np.float32)
    assert abstract_token.update_manual_axis_type(aval.mat) is abstract_token
    with pytest.raises(ValueError, match="argument mat"):
        aval.update_manual_axis_type(ManualAxisType(unreduced={"y"}))


def test_parts_of_members_and_back() -> None:
    mesh = jax.sharding.AbstractMesh((4, 2), ("x", "y"))
    both = frozenset({"x", "y"})
    whole = ShapedArray((8, 4), np.float32)
    part = whole.shard(mesh, both, True, jax.P("x", "y"))
    assert str(part) == "float32[2,2]{V:(x,y)}"
    assert part.unshard(mesh, True, jax.P("x", "y")) is whole
    assert str(whole.shard(mesh, both, False, jax.P("x"))) == "float32[2,4]"
    for kind in (core.abstract_token, core.AbstractValue()):
        with pytest.raises(NotImplementedError, match="expected: an array"):
            kind.shard(mesh, both, True, jax.P())
        with pytest.raises(NotImplementedError, match="expected: an array"):
            kind.unshard(mesh, True, jax.P())


def test_tracers_can_be_repeated() -> None:
    assert jax.jit(lambda x: x.broadcast((2,)))(np.ones(3)).shape == (2, 3)
    assert not hasattr(jax.numpy.ones(3), "broadcast")
    assert core.Tracer.dimension_as_value is None
