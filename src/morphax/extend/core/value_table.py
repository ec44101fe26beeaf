"""`pytype_aval_mappings`: avals of values by type, as a table that other people's code fills."""

from __future__ import annotations

from collections.abc import Callable, Iterator, MutableMapping
from operator import attrgetter
from typing import Any, final

from ...core.values import _aval_by_type, register_value_type


@final
class AvalTable(MutableMapping[type, Callable[[Any], Any]]):
    """A view of what `aval_of` knows of types.

    A type has the rule of its nearest base that has one; a type whose values carry an aval gives
    that.

    Example:
        >>> import numpy as np
        >>> from morphax.core import pytype_aval_mappings
        >>> pytype_aval_mappings[np.ndarray](np.ones(3, np.float32))
        ShapedArray(float32[3])
    """

    def __getitem__(self, type_: type) -> Callable[[Any], Any]:
        for base in type_.__mro__:
            if base in _aval_by_type:
                return _aval_by_type[base]
        if hasattr(type_, "aval"):
            return attrgetter("aval")
        raise KeyError(type_)

    def __setitem__(self, type_: type, aval_of_value: Callable[[Any], Any]) -> None:
        register_value_type(type_, aval_of_value)

    def __delitem__(self, type_: type) -> None:
        del _aval_by_type[type_]

    def __iter__(self) -> Iterator[type]:
        return iter(_aval_by_type)

    def __len__(self) -> int:
        return len(_aval_by_type)


pytype_aval_mappings = AvalTable()
