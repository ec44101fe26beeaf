"""Methods, attributes and operators of arrays."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from tests.cases.op_case import Operand
from tests.numpy.case import ALL, JnpCase, expression

X = Operand((3, 4), distinct=True)
V = Operand((4,), distinct=True)
SQUARE = Operand((4, 4))
SOME = ("float32", "int32")
INTEGER = ("int32",)
NONZERO = Operand((4,), 1.0, 3.0)

Method = Callable[[Any], Any]

# Called on an array of shape (3, 4).
METHODS: dict[str, Method] = {
    "T": lambda x: x.T,
    "astype": lambda x: x.astype("int32"),
    "clip": lambda x: x.clip(-1, 1),
    "conj": lambda x: x.conj(),
    "conjugate": lambda x: x.conjugate(),
    "copy": lambda x: x.copy(),
    "cumprod": lambda x: x.cumprod(1),
    "cumsum": lambda x: x.cumsum(axis=0),
    "diagonal": lambda x: x.diagonal(1),
    "dot": lambda x: x.dot(x.T),
    "flatten": lambda x: x.flatten(),
    "imag": lambda x: x.imag,
    "mT": lambda x: x.mT,
    "max": lambda x: x.max(0),
    "mean": lambda x: x.mean(axis=1, keepdims=True),
    "min": lambda x: x.min(),
    "prod": lambda x: x.prod(axis=1),
    "ravel": lambda x: x.ravel(),
    "real": lambda x: x.real,
    "repeat": lambda x: x.repeat(2, axis=0),
    "reshape one": lambda x: x.reshape((4, 3)),
    "reshape several": lambda x: x.reshape(2, -1),
    "reshape order": lambda x: x.reshape(6, 2, order="F"),
    "sort": lambda x: x.T.copy().transpose(),
    "squeeze": lambda x: x[None].squeeze(0),
    "std": lambda x: x.std(0, ddof=1),
    "sum": lambda x: x.sum(),
    "sum options": lambda x: x.sum(axis=-1, keepdims=True),
    "swapaxes": lambda x: x.swapaxes(0, 1),
    "take": lambda x: x.take(np.array([1, 0]), axis=1),
    "trace": lambda x: x.trace(),
    "transpose": lambda x: x.transpose(),
    "transpose one": lambda x: x.transpose((1, 0)),
    "transpose several": lambda x: x.transpose(1, 0),
    "var": lambda x: x.var(),
}
DISCRETE: dict[str, Method] = {
    "all": lambda x: x.all(axis=0),
    "any": lambda x: x.any(),
    "argmax": lambda x: x.argmax(1),
    "argmin": lambda x: x.argmin(),
    "argsort": lambda x: x.argsort(axis=0, stable=True),
    "round": lambda x: x.round(1),
    "round()": lambda x: x.round(),
    "searchsorted": lambda x: x.cumsum().clip(0, 0).searchsorted(x[0]),
    "compress": lambda x: x.compress(np.array([True, False, True]), axis=0),
}
OPERATORS: dict[str, Callable[[Any, Any], Any]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
    "//": operator.floordiv,
    "%": operator.mod,
    "divmod": divmod,
    "**": operator.pow,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "==": operator.eq,
    "!=": operator.ne,
}
BITWISE: dict[str, Callable[[Any, Any], Any]] = {
    "&": operator.and_,
    "|": operator.or_,
    "^": operator.xor,
    "<<": operator.lshift,
    ">>": operator.rshift,
}
UNARY: dict[str, Method] = {"-": operator.neg, "+": operator.pos, "abs": abs}

# Keys with which an array of shape (5, 6, 7) is indexed; they are differentiated as well.
INDICES: dict[str, Any] = {
    "int": 2,
    "negative": -1,
    "ints": (1, -2, 3),
    "slice": slice(1, 4),
    "step": (slice(None, None, 2), slice(5, 1, -2)),
    "backwards": slice(None, None, -1),
    "ellipsis": (..., 3),
    "new axes": (None, 1, ..., None),
    "array": np.array([0, 3, -1]),
    "arrays": (np.array([0, 3]), np.array([[1], [2]])),
    "array and slice": (slice(1, 3), np.array([0, 3, 5])),
    "array and int": (np.array([1, 2]), slice(None), 3),
    "apart": (np.array([0, 1]), slice(None), np.array([2, 3])),
    "mask": np.arange(5) > 2,
    "mask of two axes": np.arange(30).reshape(5, 6) % 7 == 0,
    "mask inside": (slice(None), np.arange(6) % 2 == 0),
    "empty array": np.zeros((0,), np.int32),
    "empty slice": slice(4, 2),
    "new axis and array": (None, np.array([1, 2]), None, slice(2)),
}


def _positive(x: Any, y: Any, f: Any) -> Any:
    return f(abs(x) + 1, y)


CASES: list[JnpCase] = [
    *[
        expression(f"x.{name}", lambda xp, x, f=f: f(x), X, dtypes=SOME,
            derivatives=name != "astype", tolerance=2.0)
        for name, f in METHODS.items()
    ],
    *[
        expression(f"x.{name}", lambda xp, x, f=f: f(x), X, dtypes=SOME if "round" not in name else
            SOME[:1], derivatives=False)
        for name, f in DISCRETE.items()
    ],
    *[
        expression(f"x {name} y", lambda xp, x, y, f=f: f(abs(x) + 1, y), X, NONZERO, dtypes=SOME,
            derivatives=name in "+-*/**")
        for name, f in OPERATORS.items()
    ],
    *[
        expression(f"x {name} 2", lambda xp, x, f=f: f(x, 2), X, dtypes=(*SOME, "bfloat16"),
            derivatives=name in "+-*/**")
        for name, f in OPERATORS.items()
    ],
    *[
        expression(f"3 {name} x", lambda xp, x, f=f: f(3, x), NONZERO, dtypes=SOME,
            derivatives=name in "+-*/**")
        for name, f in OPERATORS.items()
    ],
    *[
        expression(f"x {name} y", lambda xp, x, y, f=f: f(x, y), Operand((3, 4), 0, 5),
            Operand((4,), 0, 5), dtypes=INTEGER)
        for name, f in BITWISE.items()
    ],
    *[
        expression(f"{name}x", lambda xp, x, f=f: f(x), X, dtypes=("float32", "int32", "complex64"))
        for name, f in UNARY.items()
    ],
    expression("~x", lambda xp, x: ~x, X, dtypes=("int32", "bool")),
    expression("x @ y", lambda xp, x: x @ x.T, X, dtypes=SOME),
    expression("round(x)", lambda xp, x: round(x, 1), V, dtypes=("float32",), derivatives=False,
        reference=lambda x: np.round(x, 1)),
    *[
        expression(f"x[{name}]", lambda xp, x, k=key: x[k], Operand((5, 6, 7)), dtypes=("float32",
            "bool") if name == "array" else ("float32",))
        for name, key in INDICES.items()
    ],
    expression("x[traced]", lambda xp, x, i: x[i, 1:], Operand((5, 6)), Operand((3,), -5, 5,
        dtype="int32", differentiable=False), dtypes=SOME),
    expression("x[traced scalar]", lambda xp, x, i: x[i], Operand((5, 6)), Operand((), -5, 5,
        dtype="int32", differentiable=False), dtypes=SOME),
]  # fmt: skip

EVERY = ALL
