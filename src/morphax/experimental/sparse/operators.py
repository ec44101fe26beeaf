"""What the operators of sparse arrays mean: mostly what they mean for dense ones, under `sparsify`.

They are installed here on the classes, which stand below the rules, as those of dense arrays are
installed by `morphax.numpy`.  An operation whose result would be dense is refused; it must be asked
for, by `todense`.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from typing import Any

from ... import numpy as jnp
from ...core import aval_of, is_value
from ...util.messages import message
from .base import JAXSparse
from .bcoo import BCOO, bcoo_multiply_sparse
from .bcoo.arithmetic import read_at_places
from .bcsr import BCSR
from .sparsify import sparsify


def _method(name: str, function: Callable[..., Any], text: str) -> Callable[..., Any]:
    """A method that does what `function` does to dense arrays."""
    sparsified = sparsify(function)

    def method(self: JAXSparse, *args: Any, **kwargs: Any) -> Any:
        return sparsified(self, *args, **kwargs)

    method.__name__, method.__doc__ = name, text
    return method


def _refused(where: str, x: Any, y: Any, expected: str) -> NotImplementedError:
    return NotImplementedError(
        message(
            f"{where} of a sparse array",
            given=" and ".join([_text(x), _text(y)]),
            expected=expected,
            fix="Make the sparse array dense first with todense().",
        )
    )


def _shape(x: Any) -> tuple[int, ...]:
    found: tuple[int, ...] = x.shape if isinstance(x, JAXSparse) else aval_of(x).shape
    return found


def _text(x: Any) -> str:
    return repr(x) if isinstance(x, JAXSparse) else str(aval_of(x))


def _dense(x: Any) -> Any:
    """The other operand, as an array that keeps its weak dtype if it is a number."""
    return x if isinstance(x, JAXSparse) or is_value(x) else jnp.asarray(x)


def add(x: Any, y: Any) -> Any:
    """The sum; of a sparse and a dense array of the same shape it is dense."""
    x, y = _dense(x), _dense(y)
    if _shape(x) != _shape(y):
        raise _refused("addition", x, y, "equal shapes, for a broadcast sum would be dense")
    return _sparse_add(x, y)


def subtract(x: Any, y: Any) -> Any:
    """The difference of two sparse arrays."""
    x, y = _dense(x), _dense(y)
    if not (isinstance(x, JAXSparse) and isinstance(y, JAXSparse)):
        raise _refused("subtraction", x, y, "two sparse arrays, for the difference would be dense")
    return _sparse_subtract(x, y)


def multiply(x: Any, y: Any) -> Any:
    """The product; of a dense operand only the places of the sparse one are read."""
    x, y = _dense(x), _dense(y)
    if isinstance(x, BCOO) and isinstance(y, BCOO):
        return bcoo_multiply_sparse(x, y)
    if not isinstance(x, BCOO):
        x, y = y, x
    return _at_places(jnp.multiply, x, y)


def divide(x: Any, y: Any) -> Any:
    """The quotient by a dense array; zeros that are not stored stay zero whatever divides them."""
    x, y = _dense(x), _dense(y)
    if isinstance(y, JAXSparse):
        raise _refused("division", x, y, "a dense divisor, for the quotient would be dense")
    return _at_places(jnp.true_divide, x, y)


def _at_places(function: Callable[[Any, Any], Any], x: BCOO, y: Any) -> BCOO:
    if jnp.broadcast_shapes(x.shape, _shape(y)) != x.shape:
        expected = "a dense operand that broadcasts to the shape of the sparse one"
        raise _refused("product", x, y, expected)
    return x.replaced(data=function(x.data, read_at_places(x, y)))


def _iterated(self: JAXSparse) -> Iterator[Any]:
    """The parts along the first axis."""
    if not self.shape:
        raise TypeError(
            message(
                "iteration",
                given=f"{self!r}",
                expected="a sparse array with an axis",
                fix="Make it dense with todense().",
            )
        )
    return iter([self[i] for i in range(self.shape[0])])


def _reflected(function: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    def operation(self: Any, other: Any) -> Any:
        return function(other, self)

    return operation


_sparse_add = sparsify(jnp.add)
_sparse_subtract = sparsify(jnp.subtract)
_matmul = sparsify(jnp.matmul)
_BINARY = {
    "add": add,
    "matmul": _matmul,
    "mul": multiply,
    "sub": subtract,
    "truediv": divide,
    "pow": sparsify(jnp.power),
}
_COMPARISONS = ("eq", "ne", "lt", "le", "gt", "ge")
_OTHERS: dict[str, tuple[Callable[..., Any], str]] = {
    "__abs__": (jnp.abs, "The absolute values."),
    "__getitem__": (operator.getitem, "A part, as of a dense array."),
    "__neg__": (jnp.negative, "The array times -1."),
    "__pos__": (jnp.positive, "The array itself."),
    "astype": (lambda x, *args, **kw: x.astype(*args, **kw), "The elements in another dtype."),
    "reshape": (
        lambda x, *args, **kw: x.reshape(*args, **kw),
        "See `bcoo_reshape`.",
    ),
    "sum": (lambda x, *args, **kw: x.sum(*args, **kw), "Sums along axes; dense if over all."),
}


def install() -> None:
    """Give the classes of sparse arrays their operators."""
    for name, function in _BINARY.items():
        setattr(BCOO, f"__{name}__", _forward(function))
        setattr(BCOO, f"__r{name}__", _reflected(function))
    for name, (function, text) in _OTHERS.items():
        setattr(BCOO, name, _method(name, function, text))
    for name in _COMPARISONS:
        setattr(BCOO, f"__{name}__", _forward(sparsify(getattr(operator, name))))
    BCOO.__iter__ = _iterated  # type: ignore[attr-defined]
    for kind in (BCSR,):
        kind.__matmul__ = _forward(_matmul)
        kind.__rmatmul__ = _reflected(_matmul)


def _forward(function: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    def operation(self: Any, other: Any) -> Any:
        return function(self, other)

    return operation
