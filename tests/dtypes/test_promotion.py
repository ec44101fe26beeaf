"""Type promotion against a golden table, and the laws of a lattice.

The table `promotion_golden.txt` holds what JAX 0.10.1 answers for every pair of operands.  A line
``standard x32`` opens the block of a mode; row i of a block has one character per operand j <= i.
The operands are the dtypes of `SCALARS` in order but the 6-bit floats, which JAX got later; each
but bool and the types of ml_dtypes is followed by its weak twin.  A character stands for the
result: position 2 k in a-zA-Z0-9 is the k-th dtype, 2 k + 1 the same, weak; ``.`` is a refusal.
"""

from __future__ import annotations

import string
from itertools import combinations_with_replacement, product
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

from morphax import dtypes
from morphax.config import override
from morphax.dtypes import SCALARS, Entry, TypePromotionError

GOLDEN = Path(__file__).with_name("promotion_golden.txt").read_text().splitlines()
MODES = ["standard x32", "standard x64", "strict x32", "strict x64"]
SIX_BITS = [d for d in SCALARS if d.name.startswith("float6_")]
IN_TABLE = [d for d in SCALARS if d not in SIX_BITS]
RESULTS = dict(
    zip(string.ascii_letters + string.digits, product(IN_TABLE, (False, True)), strict=False)
)
OPERANDS = [
    (d, weak)
    for d, weak in product(IN_TABLE, (False, True))
    if not weak or (d.isbuiltin == 1 and d.kind != "b")
]
F32, I32 = np.dtype("float32"), np.dtype("int32")


def setting(mode: str) -> override:
    promotion, width = mode.split()
    return override(numpy_dtype_promotion=promotion, enable_x64=width == "x64")


def promoted(*entries: Entry) -> Entry | None:
    try:
        return dtypes.promote(entries)
    except TypePromotionError:
        return None


def described(entry: Entry | None) -> str:
    return "refused" if entry is None else f"{'weak ' * entry[1]}{entry[0]}"


@pytest.mark.skipif(len(IN_TABLE) < 30, reason="the table has types this ml_dtypes lacks")
@pytest.mark.parametrize("mode", MODES)
def test_all_pairs_as_jax(mode: str) -> None:
    start = GOLDEN.index(mode) + 1
    rows = GOLDEN[start : start + len(OPERANDS)]
    assert [len(row) for row in rows] == list(range(1, len(OPERANDS) + 1))
    with setting(mode):
        wrong = [
            f"{described(a)}, {described(b)}: {described(got)}, not {described(wanted)}"
            for a, row in zip(OPERANDS, rows, strict=True)
            for b, letter in zip(OPERANDS, row, strict=False)
            if (got := promoted(a, b)) != (wanted := RESULTS.get(letter))
        ]
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("mode", MODES)
def test_order_of_operands_does_not_matter(mode: str) -> None:
    with setting(mode):
        for a, b in combinations_with_replacement(OPERANDS, 2):
            assert promoted(a, b) == promoted(b, a)


@pytest.mark.parametrize("mode", ["standard x64", "strict x64"])
def test_strong_types_combine_associatively(mode: str) -> None:
    strong = [entry for entry in OPERANDS if not entry[1]]
    with setting(mode):
        for a, b, c in combinations_with_replacement(strong, 3):
            first = promoted(a, b)
            # uint64 with int64 is a weak float: what they would be in a third's presence differs.
            if first is not None and not first[1]:
                assert promoted(first, c) == promoted(a, b, c)


@pytest.mark.parametrize(
    ("operands", "x64", "expected"),
    [
        ([("uint8", False), ("int8", False), ("bfloat16", False)], False, ("bfloat16", False)),
        ([("uint64", False), ("int64", False), ("float16", False)], True, ("float16", False)),
        ([("int16", False), ("uint32", False), ("uint64", True)], False, ("int32", False)),
        ([("float64", True), ("float64", True), ("float64", True)], False, ("float32", True)),
        ([("int8", True), ("float16", True), ("complex64", True)], True, ("complex128", True)),
        ([("float64", False), ("float32", False), ("int64", True)], False, ("float64", False)),
    ],
)
def test_several_operands(
    operands: list[tuple[str, bool]], x64: bool, expected: tuple[str, bool]
) -> None:
    entries = tuple((dtypes.dtype(name), weak) for name, weak in operands)
    with override(enable_x64=x64):
        assert dtypes.promote(entries) == (dtypes.dtype(expected[0]), expected[1])


def test_many_operands_are_promoted_without_being_remembered() -> None:
    entries = ((F32, False), *[(I32, False)] * 100)
    assert dtypes.promote(entries) == (F32, False)
    assert all(
        len(key) <= 8
        for modes in dtypes.promotion._results.values()
        for results in modes.values()
        for key in results
    )


def test_a_type_alone_stays() -> None:
    key = dtypes.KeyType("fry", (2,), np.uint64)
    for d in (*SCALARS, dtypes.float0, key):
        assert dtypes.promote(((d, False),)) == (d, False)
        assert dtypes.promote(((d, False), (d, False))) == (d, False)


@pytest.mark.parametrize("foreign", [dtypes.float0, np.dtype("O"), np.dtype(np.longdouble)])
def test_types_outside_the_lattice_do_not_combine(foreign: np.dtype[np.void]) -> None:
    with pytest.raises(TypePromotionError, match="float32"):
        dtypes.promote(((F32, False), (foreign, False)))


def test_refusal_names_the_operands_and_the_remedy() -> None:
    entries = ((np.dtype(ml_dtypes.int4), False), (np.dtype(np.int8), False), (F32, True))
    with pytest.raises(TypePromotionError, match=r"int4, int8, weak float32") as caught:
        dtypes.promote(entries)
    assert "astype" in str(caught.value)
    assert isinstance(caught.value, ValueError)
    with (
        override(numpy_dtype_promotion="strict"),
        pytest.raises(TypePromotionError, match="'strict'"),
    ):
        dtypes.promote(((F32, False), (np.dtype("float16"), False)))


def test_repeated_questions_return_the_same_answer_object() -> None:
    entries = ((F32, False), (I32, True))
    assert dtypes.promote(entries) is dtypes.promote(entries)
