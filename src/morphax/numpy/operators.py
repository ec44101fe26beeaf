"""Operators and methods of arrays, installed here on `Array` and `Tracer`.

This is the one inversion of layers: the classes stand below `lax`, what their operators mean stands
here.  An operator hands unknown operand types back to Python (`NotImplemented`), so that classes of
other libraries can define the reflected operation.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..array import Array
from ..core import Tracer, is_value
from . import arithmetic


def _operator(function: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    def operator(self: Any, other: Any) -> Any:
        if not (hasattr(other, "aval") or is_value(other) or hasattr(other, "__jax_array__")):
            return NotImplemented
        return function(self, other)

    return operator


def _reflected(function: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    def operator(self: Any, other: Any) -> Any:
        if not (is_value(other) or hasattr(other, "__jax_array__")):
            return NotImplemented
        return function(other, self)

    return operator


_BINARY = {"add": arithmetic.add, "mul": arithmetic.multiply}
_UNARY = {"neg": arithmetic.negative}


def install() -> None:
    """Give `Array` and `Tracer` their operators."""
    for cls in (Array, Tracer):
        for name, function in _BINARY.items():
            setattr(cls, f"__{name}__", _operator(function))
            setattr(cls, f"__r{name}__", _reflected(function))
        for name, function in _UNARY.items():
            setattr(cls, f"__{name}__", function)


install()
