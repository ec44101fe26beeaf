"""Attributes of foreign calls: Python values as parameters of an equation, and as MLIR text.

An attribute is static.  Its type is part of what it says: a handler that asks for a ``float`` is
given a NumPy float32, not a Python float, which is a ``double``.

============================  ==================================================
bool                          ``bool``
int                           ``int64_t``
float                         ``double``
str, bytes                    ``std::string_view``
scalars of NumPy              of their own dtype
NumPy arrays                  ``Span<const T>``, elements in row-major order
tuples                        an array of attributes, which handlers cannot read
dicts                         ``Dictionary``
============================  ==================================================
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, final

import numpy as np

from ... import dtypes
from ...core import ShapedArray
from ...engines.xla.literals import dense_text, element_type, string_text, tensor_type
from ...util.messages import described, message
from ...util.records import dataclass

Attributes = tuple[tuple[str, Any], ...]

_MOST_BITS = 64


@final
class HashableArray:
    """A NumPy array as a parameter: equal to one of the same dtype, shape and bits."""

    __slots__ = ("_key", "val")

    def __init__(self, val: np.ndarray[Any, Any]) -> None:
        self.val = np.array(val, order="C")
        self.val.flags.writeable = False
        self._key = (self.val.dtype, self.val.shape, self.val.tobytes())

    def __eq__(self, other: object) -> bool:
        return type(other) is HashableArray and self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)

    def __repr__(self) -> str:
        return f"HashableArray({self.val!r})"


@final
@dataclass(frozen=True, slots=True, repr=False)
class FrozenDict:
    """A dict of attributes as a parameter."""

    items: Attributes

    def __repr__(self) -> str:
        return f"FrozenDict({dict(self.items)})"


def as_parameters(where: str, attributes: Mapping[str, Any]) -> Attributes:
    """Attributes as a parameter of an equation, by name.

    Raises:
        TypeError: a value is of a kind that has no attribute, or is traced.
        OverflowError: an integer has more than 64 bits.
    """
    return tuple(
        [(k, _parameter(f"{where}, attribute {k}", attributes[k])) for k in sorted(attributes)]
    )


def _parameter(where: str, value: Any) -> Any:
    if isinstance(value, int | float) and not isinstance(value, bool | np.generic):
        value = int(value) if isinstance(value, int) else float(value)
    if type(value) is int and not -(2 ** (_MOST_BITS - 1)) <= value < 2 ** (_MOST_BITS - 1):
        raise OverflowError(
            message(
                where,
                given=str(value),
                expected=f"an integer of at most {_MOST_BITS} bits, with its sign",
                fix="Pass numpy.uint64(value) if the handler takes one, else a smaller number.",
            )
        )
    if type(value) in (bool, int, float, str, bytes):
        return value
    if isinstance(value, np.ndarray) and _is_numeric(value.dtype):
        return HashableArray(value)
    if isinstance(value, np.generic) and _is_numeric(value.dtype) and value.dtype.kind != "c":
        return value
    if type(value) is tuple:
        return tuple([_parameter(f"{where}[{i}]", item) for i, item in enumerate(value)])
    if isinstance(value, Mapping) and all([isinstance(name, str) for name in value]):
        return FrozenDict(as_parameters(where, value))
    raise TypeError(
        message(
            where,
            given=described(value),
            expected="a bool, a number or an array of NumPy's, a text, or tuples or dicts of them",
            fix="Attributes are static: convert an array with numpy.asarray, a list with tuple, "
            "and pass what is traced as an operand.",
        )
    )


def _is_numeric(dtype: np.dtype[Any]) -> bool:
    return dtype.kind == "b" or dtypes.issubdtype(dtype, np.number)


def as_text(attributes: Attributes) -> str:
    """Attributes as a dictionary of MLIR."""
    pairs = [f"{string_text(name)} = {_text(value)}" for name, value in attributes]
    return f"{{{', '.join(pairs)}}}"


def _text(value: Any) -> str:
    if type(value) is bool:
        return "true" if value else "false"
    if type(value) is int:
        return f"{value} : i64"
    if type(value) is float:
        return _scalar_text(np.float64(value))
    if isinstance(value, str | bytes):
        return string_text(value)
    if type(value) is HashableArray:
        array = value.val
        return f"{dense_text(array)} : {tensor_type(ShapedArray(array.shape, array.dtype))}"
    if type(value) is FrozenDict:
        return as_text(value.items)
    if type(value) is tuple:
        return f"[{', '.join([_text(item) for item in value])}]"
    return _scalar_text(value)


def _scalar_text(value: np.generic) -> str:
    if value.dtype == bool:
        return "true" if value else "false"
    # Of an array of one element: ``dense<text>``.
    text = dense_text(np.asarray(value)).removeprefix("dense<").removesuffix(">")
    return f"{text} : {element_type(value.dtype)}"
