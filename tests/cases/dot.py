"""Matrix products over every arrangement of axes."""

from __future__ import annotations

from typing import Any

import numpy as np

from morphax.lax.contraction.products import batch_matmul, dot, dot_general

from .op_case import ALL, FLOATS, INTEGERS, NUMBERS, OpCase, Operand

Axes = tuple[int, ...]


def _case(
    label: str,
    shapes: tuple[Axes, Axes],
    contracting: tuple[Axes, Axes],
    batch: tuple[Axes, Axes],
    formula: str,
    dtypes: tuple[str, ...] = ("float64", "float32", "complex64", "complex128", "int32"),
) -> OpCase:
    return OpCase(
        f"dot_general/{label}",
        lambda x, y: dot_general(x, y, (contracting, batch)),
        lambda x, y: _summed(formula, x, y),
        (Operand(shapes[0]), Operand(shapes[1])),
        dtypes=dtypes,
    )


def _summed(formula: str, x: Any, y: Any) -> Any:
    """`np.einsum`; of booleans, whether any product is true."""
    if x.dtype == np.bool_:
        return np.einsum(formula, x.astype(int), y.astype(int)) > 0
    return np.einsum(formula, x, y)


_NONE: tuple[Axes, Axes] = ((), ())

_ARRANGEMENTS = (
    _case("vector · vector", ((4,), (4,)), ((0,), (0,)), _NONE, "k,k->", NUMBERS),
    _case("matrix · vector", ((3, 4), (4,)), ((1,), (0,)), _NONE, "mk,k->m"),
    _case("vector · matrix", ((4,), (4, 3)), ((0,), (0,)), _NONE, "k,kn->n"),
    _case("matrix · matrix", ((2, 3), (3, 4)), ((1,), (0,)), _NONE, "mk,kn->mn", ALL),
    _case("transposed both", ((3, 2), (4, 3)), ((0,), (1,)), _NONE, "km,nk->mn"),
    _case("scalar · matrix", ((), (3, 4)), _NONE, _NONE, ",mn->mn"),
    _case("outer", ((3,), (4,)), _NONE, _NONE, "m,n->mn"),
    _case("batch", ((2, 3, 4), (2, 4, 5)), ((2,), (1,)), ((0,), (0,)), "bmk,bkn->bmn", ALL),
    _case("inner batch", ((3, 4, 2), (5, 2, 4)), ((1,), (2,)), ((2,), (1,)), "mkb,nbk->bmn"),
    _case("batch only", ((2, 3), (3, 2)), _NONE, ((0, 1), (1, 0)), "ab,ba->ab"),
    _case("two batch", ((2, 3, 4), (4, 3, 2)), ((1,), (1,)), ((0, 2), (2, 0)), "akb,bka->ab"),
    _case("contract two", ((2, 3, 4), (4, 5, 2)), ((0, 2), (2, 0)), _NONE, "akb,bna->kn"),
    _case("contract all", ((2, 3), (3, 2)), ((0, 1), (1, 0)), _NONE, "ab,ba->"),
    _case("empty contraction", ((2, 0), (0, 3)), ((1,), (0,)), _NONE, "mk,kn->mn"),
    _case("empty result", ((0, 2), (2, 3)), ((1,), (0,)), _NONE, "mk,kn->mn"),
    _case("empty batch", ((0, 2, 3), (0, 3, 2)), ((2,), (1,)), ((0,), (0,)), "bmk,bkn->bmn"),
)

_MATRICES = (Operand((3, 4)), Operand((4, 2)))
_PLAIN = (((1,), (0,)), _NONE)

CASES = (
    *_ARRANGEMENTS,
    OpCase("dot", dot, np.dot, _MATRICES, dtypes=FLOATS + INTEGERS),
    OpCase(
        "batch_matmul",
        batch_matmul,
        np.matmul,
        (Operand((2, 3, 4)), Operand((2, 4, 2))),
        dtypes=FLOATS,
    ),
    *[
        OpCase(
            f"dot_general/precision {name}",
            lambda x, y, name=name: dot_general(x, y, _PLAIN, precision=name),
            np.dot,
            _MATRICES,
            dtypes=("float64", "float32"),
        )
        for name in ("default", "high", "highest", ("highest", "default"))
    ],
    *[
        OpCase(
            f"dot_general/{given} as {preferred}",
            lambda x, y, p=preferred: dot_general(x, y, _PLAIN, preferred_element_type=p),
            lambda x, y: x.astype(np.int64 if x.dtype.kind in "biu" else x.dtype) @ y,
            (Operand((3, 4), low, high), Operand((4, 2), low, high)),
            dtypes=(given,),
            derivatives=0,
        )
        for given, preferred, low, high in (
            ("int8", "int32", -128, 128),
            ("uint8", "int32", 0, 256),
            ("bool", "int32", 0, 1),
            ("bfloat16", "float32", -2, 2),
            ("float16", "float32", -2, 2),
            ("float32", "float64", -2, 2),
            ("float32", "bfloat16", -2, 2),
            ("int32", "float32", -9, 9),
        )
    ],
    OpCase(
        "dot_general/mixed",
        lambda x, y: dot_general(x, y, _PLAIN),
        np.dot,
        (Operand((3, 4)), Operand((4, 2), dtype="float32")),
        dtypes=("float64", "complex128"),
        # The second operand has 24 bits, and steps of finite differences are rounded to them.
        derivatives=0,
    ),
)
