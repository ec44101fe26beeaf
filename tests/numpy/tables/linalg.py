"""Linear algebra: factors, systems, determinants, powers and norms."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.cases.op_case import Operand
from tests.numpy.case import JnpCase, expression

FIELDS = ("float32", "complex64")
SOME = ("float32", "complex64", "int32")
PLAIN = ("float32",)


def _dominant(x: Any) -> Any:
    """A well conditioned matrix: `x` with 5 added to its diagonal."""
    return x + 5 * np.eye(x.shape[-1], dtype=x.dtype)


def _turned(x: Any) -> Any:
    """A well conditioned matrix with a negative determinant."""
    signs = np.where(np.arange(x.shape[-1]) == 1, -1, 1).astype(x.dtype)
    return _dominant(x) * signs


def _positive(x: Any) -> Any:
    """x xᴴ + 1, Hermitian."""
    return x @ x.conj().swapaxes(-1, -2) + np.eye(x.shape[-1], dtype=x.dtype)


def _named(name: str, *shapes: tuple[int, ...], **facts: Any) -> JnpCase:
    """A call of a function of `linalg` with keyword arguments."""
    options = facts.pop("options", {})
    label = f"linalg.{name}({','.join(f'{k}={v}' for k, v in options.items())}) {shapes}"

    def call(xp: Any, *arrays: Any) -> Any:
        return getattr(xp.linalg, name)(*arrays, **options)

    return expression(label, call, *map(Operand, shapes), **facts)


FACTORS = [
    *[
        expression(
            f"linalg.cholesky {shape} {upper}",
            lambda xp, x, upper=upper: xp.linalg.cholesky(_positive(x), upper=upper),
            Operand(shape),
            dtypes=FIELDS,
        )
        for shape, upper in (((3, 3), False), ((2, 3, 3), True), ((0, 0), False))
    ],
    *[
        _named("qr", shape, options={"mode": mode}, dtypes=FIELDS, derivatives=mode != "raw",
               tolerance=10)
        for shape, mode in (
            ((3, 3), "reduced"), ((4, 2), "reduced"), ((4, 2), "complete"), ((2, 4), "reduced"),
            ((4, 3), "r"), ((2, 3, 3), "raw"), ((0, 2), "complete"),
        )
    ],
    _named("qr", (3, 3), dtypes=("int32",), derivatives=False),
]  # fmt: skip


def _solve(left: tuple[int, ...], right: tuple[int, ...], **facts: Any) -> JnpCase:
    return expression(
        f"linalg.solve {left} {right}",
        lambda xp, a, b: xp.linalg.solve(_dominant(a), b),
        Operand(left),
        Operand(right),
        **facts,
    )


SYSTEMS = [
    _solve((3, 3), (3,), dtypes=SOME),
    _solve((3, 3), (3, 2), dtypes=FIELDS),
    _solve((2, 3, 3), (2, 3, 1), dtypes=PLAIN),
    _solve((2, 3, 3), (3,), dtypes=PLAIN),
    _solve((3, 3), (2, 3, 2), dtypes=PLAIN),
    _solve((1, 2, 3, 3), (4, 1, 3, 2), dtypes=PLAIN),
    _solve((0, 0), (0, 2), dtypes=PLAIN),
    *[
        expression(f"linalg.inv {shape}", lambda xp, x: xp.linalg.inv(_dominant(x)),
            Operand(shape), dtypes=SOME)
        for shape in ((3, 3), (2, 4, 4), (0, 0))
    ],
    expression("linalg.tensorsolve",
        lambda xp, a, b: xp.linalg.tensorsolve(
            _dominant(a.reshape(6, 6)).reshape(2, 3, 6), b), Operand((2, 3, 6)), Operand((2, 3)),
        dtypes=PLAIN),
    expression("linalg.tensorsolve axes",
        lambda xp, a, b: xp.linalg.tensorsolve(
            _dominant(a.reshape(6, 6)).reshape(2, 3, 6), b, axes=(0, 1)),
        Operand((2, 3, 6)), Operand((6,)), dtypes=PLAIN),
    expression("linalg.tensorinv",
        lambda xp, a: xp.linalg.tensorinv(_dominant(a.reshape(6, 6)).reshape(2, 3, 6)),
        Operand((2, 3, 6)), dtypes=PLAIN),
    expression("linalg.tensorinv 1",
        lambda xp, a: xp.linalg.tensorinv(_dominant(a.reshape(6, 6)).reshape(6, 2, 3), ind=1),
        Operand((2, 3, 6)), dtypes=PLAIN),
]  # fmt: skip
DETERMINANTS = [
    *[
        _named("det", shape, dtypes=SOME if shape in ((3, 3), (4, 4)) else FIELDS, tolerance=10)
        for shape in ((0, 0), (1, 1), (2, 2), (3, 3), (4, 4), (2, 5, 5), (0, 4, 4))
    ],
    *[
        expression(
            f"linalg.slogdet {shape}",
            lambda xp, x: xp.linalg.slogdet(_turned(x)),
            Operand(shape),
            dtypes=FIELDS,
        )
        for shape in ((3, 3), (2, 4, 4), (0, 0))
    ],
    expression(
        "linalg.slogdet by qr",
        lambda xp, x: xp.linalg.slogdet(_turned(x), **({} if xp is np else {"method": "qr"})),
        Operand((2, 4, 4)),
        dtypes=PLAIN,
    ),
]
PRODUCTS = [
    *[
        expression(
            f"linalg.matrix_power {n}",
            lambda xp, x, n=n: xp.linalg.matrix_power(_dominant(x), n),
            Operand((2, 3, 3)),
            dtypes=SOME if n >= 0 else FIELDS,
        )
        for n in (-2, -1, 0, 1, 2, 3, 6)
    ],
    *[
        expression(
            f"linalg.multi_dot {shapes}",
            lambda xp, *xs: xp.linalg.multi_dot(xs),
            *map(Operand, shapes),
            dtypes=PLAIN,
        )
        for shapes in (
            ((2, 3), (3, 4)),
            ((2, 3), (3, 4), (4, 5), (5, 1)),
            ((3,), (3, 4), (4,)),
            ((3,), (3, 4)),
            ((2, 0), (0, 3), (3, 2)),
        )
    ],
    _named("outer", (3,), (4,), dtypes=SOME),
    _named("cross", (2, 3), (2, 3), dtypes=SOME),
    _named("cross", (3, 2), (3, 2), options={"axis": 0}, dtypes=PLAIN),
    _named("diagonal", (2, 3, 4), options={"offset": 1}, dtypes=SOME),
    _named("trace", (2, 3, 4), options={"offset": -1}, dtypes=SOME),
    _named("matmul", (2, 3), (3, 4), dtypes=SOME),
    _named("matrix_transpose", (2, 3, 4), dtypes=SOME),
    _named("vecdot", (2, 3), (3,), dtypes=SOME),
    _named("tensordot", (2, 3, 4), (3, 4, 2), options={"axes": 2}, dtypes=PLAIN),
]
NORMS = [
    *[
        _named("norm", (2, 3, 4), options={"ord": order, "axis": axis, "keepdims": keep},
               dtypes=FIELDS)
        for order, axis, keep in (
            (2, (1, 2), False), (-2, (0, 2), True), ("nuc", (2, 1), False), ("nuc", (0, 1), True),
        )
    ],
    *[
        _named("vector_norm", (2, 3), options=options, dtypes=FIELDS)
        for options in (
            {}, {"ord": 1}, {"ord": 3, "axis": 0}, {"ord": np.inf, "keepdims": True},
            {"ord": -np.inf, "axis": (0, 1)},
        )
    ],
]  # fmt: skip

CASES: list[JnpCase] = [*FACTORS, *SYSTEMS, *DETERMINANTS, *PRODUCTS, *NORMS]
