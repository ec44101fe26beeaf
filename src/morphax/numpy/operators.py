"""Operators and methods of arrays, installed here on `Array` and `Tracer`.

This is the one inversion of layers: the classes stand below `lax`, what their operators mean stands
here.  An operator hands unknown operand types back to Python (`NotImplemented`), so that classes of
other libraries can define the reflected operation.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from typing import Any

from ..array import Array, public
from ..core import ShapedArray, Tracer, carriers, current_trace, hide_frames, is_value, root_trace
from ..core.dims import value_operators
from ..core.high_types import aval_method
from ..lax.shape.joining import unstack
from ..lax.shape.shape_operations import broadcast
from ..lax.shape.slicing import index_in_dim, slice_in_dim
from ..util.messages import message
from . import (
    arithmetic,
    averages,
    complex_numbers,
    creation,
    cumulative,
    logic,
    methods,
    products,
    reductions,
    rounding,
    searching,
    selection,
    shaping,
    sorted_vectors,
    sorting,
    tiling,
)
from .at import At
from .indexing import getitem

_ARITHMETIC = {
    "add": arithmetic.add,
    "sub": arithmetic.subtract,
    "mul": arithmetic.multiply,
    "truediv": arithmetic.true_divide,
    "floordiv": arithmetic.floor_divide,
    "mod": arithmetic.remainder,
    "divmod": arithmetic.divmod,
    "pow": arithmetic.power,
    "and": logic.bitwise_and,
    "or": logic.bitwise_or,
    "xor": logic.bitwise_xor,
    "lshift": logic.left_shift,
    "rshift": logic.right_shift,
    "matmul": products.matmul,
}
_COMPARISON = {
    "eq": logic.equal,
    "ne": logic.not_equal,
    "lt": logic.less,
    "le": logic.less_equal,
    "gt": logic.greater,
    "ge": logic.greater_equal,
}
_UNARY = {
    "neg": arithmetic.negative,
    "pos": arithmetic.positive,
    "abs": arithmetic.absolute,
    "invert": logic.bitwise_not,
}
_METHODS: dict[Any, tuple[str, ...]] = {
    complex_numbers: ("conj", "conjugate"),
    creation: ("copy",),
    cumulative: ("cumprod", "cumsum"),
    tiling: ("repeat",),
    methods: ("astype", "byteswap", "compress", "flatten", "reshape", "transpose", "view"),
    products: ("dot", "trace"),
    averages: ("mean", "std", "var"),
    reductions: ("all", "any", "max", "min", "prod", "ptp", "sum"),
    rounding: ("round",),
    searching: ("argmax", "argmin", "nonzero"),
    selection: ("choose", "clip", "diagonal", "take"),
    shaping: ("ravel", "squeeze", "swapaxes"),
    sorted_vectors: ("searchsorted",),
    sorting: ("argpartition", "argsort", "sort"),
}
_PROPERTIES = {
    "T": methods.transposed,
    "at": At,
    "flat": methods.flat,
    "imag": complex_numbers.imag,
    "mT": methods.transposed_matrices,
    "real": complex_numbers.real,
}
_TRACER_PROPERTIES = {"itemsize": methods.itemsize, "nbytes": methods.nbytes}

_SCALARS = frozenset({bool, int, float, complex})


def _takes_part(x: Any) -> bool:
    """Whether an operator may be applied to `x` without asking its class."""
    return is_value(x) or hasattr(x, "__jax_array__")


def _operator(function: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    def operator(self: Any, other: Any) -> Any:
        if type(other) in _SCALARS or type(other) in carriers or _takes_part(other):
            try:
                return function(self, other)
            except Exception as error:
                hide_frames(error)
                raise
        return NotImplemented

    return operator


def _reflected(function: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    def operator(self: Any, other: Any) -> Any:
        if type(other) in _SCALARS or type(other) in carriers or _takes_part(other):
            try:
                return function(other, self)
            except Exception as error:
                hide_frames(error)
                raise
        return NotImplemented

    return operator


_ROOT = root_trace()
_TAKEN_AT_ONCE = 64


def _iterate(self: Any) -> Iterator[Any]:
    """The slices along the leading axis."""
    if self.ndim == 0:
        raise TypeError(
            message(
                "iteration over an array",
                given=f"{self.aval}",
                expected="at least one axis",
                fix="Use the scalar itself.",
            )
        )
    if current_trace() is _ROOT:
        return _iterate_eagerly(self)
    return (index_in_dim(self, i, 0, keepdims=False) for i in range(self.shape[0]))


def _iterate_eagerly(x: Any) -> Iterator[Any]:
    """The slices, many of them taken at once; few enough that a loop may end early at no cost."""
    size = x.shape[0]
    for start in range(0, size, _TAKEN_AT_ONCE):
        stop = min(start + _TAKEN_AT_ONCE, size)
        yield from unstack(x if stop - start == size else slice_in_dim(x, start, stop))


def _copied(self: Any, memo: Any = None) -> Any:
    """What the module `copy` makes of a traced value."""
    return self.copy()


def install() -> None:
    """Give `Array`, `Tracer` and the class users see their operators, methods and attributes."""
    classes: tuple[Any, ...] = (Array, Tracer, public.Array)
    for cls in classes:
        for name, function in _ARITHMETIC.items():
            setattr(cls, f"__{name}__", _operator(function))
            setattr(cls, f"__r{name}__", _reflected(function))
        for name, function in _COMPARISON.items():
            setattr(cls, f"__{name}__", _operator(function))
        for name, unary in _UNARY.items():
            setattr(cls, f"__{name}__", unary)
        cls.__getitem__ = getitem
        cls.__iter__ = _iterate
        for module, names in _METHODS.items():
            for name in names:
                setattr(cls, name, getattr(module, name))
        for name, getter in _PROPERTIES.items():
            setattr(cls, name, property(getter))
        cls.__contains__ = methods.contains
        cls.__round__ = methods.round_to_digits
        cls.namespace = sys.modules[__package__]
        cls.__array_namespace__ = Array.__array_namespace__
    _install_on_traced()


def _install_on_traced() -> None:
    """Give traced values and their types what they alone have, as in JAX."""
    for name, getter in _TRACER_PROPERTIES.items():
        setattr(Tracer, name, property(getter))
    owners: Any = ((Tracer, broadcast), (ShapedArray, aval_method(broadcast)))
    for owner, method in owners:
        owner.broadcast = method
    for name in ("__copy__", "__deepcopy__"):
        setattr(Tracer, name, _copied)


def install_on_sizes() -> None:
    """Say what operators are for a symbolic size and what is no size."""
    for name, function in _ARITHMETIC.items():
        value_operators[f"__{name}__"] = _operator(function)
        value_operators[f"__r{name}__"] = _reflected(function)
    for name, function in _COMPARISON.items():
        value_operators[f"__{name}__"] = _operator(function)


install()
install_on_sizes()
