"""Which numbers programs of loops have, and in which of them a primitive's rule may be written."""

from __future__ import annotations

from functools import cache
from typing import Any

from ...core import Primitive, ShapedArray
from ..xla.literals import physical_dtype
from .operations import PART_OF, SCALAR_DTYPES
from .program import DType


def narrow_form(primitive: Primitive) -> str:
    """How it is done on narrow floats: see `Primitive.narrow_in_loops`."""
    if primitive.narrow_in_loops is not None:
        return primitive.narrow_in_loops
    if primitive.moves or primitive.reads == "elsewhere":
        return "kept"
    return "rounded" if primitive.linear else "refused"


def takes_complex(primitive: Primitive) -> bool:
    """Whether its rule is one for complex numbers too: it moves them, or says so."""
    if primitive.complex_in_loops is not None:
        return primitive.complex_in_loops
    return narrow_form(primitive) != "refused"


def is_complex_aval(aval: Any) -> bool:
    """Whether the elements are complex."""
    return type(aval) is ShapedArray and aval.dtype in PART_OF


@cache
def held_dtype(dtype: Any) -> DType | None:
    """The dtype that holds elements, if loop programs have it."""
    physical = physical_dtype(dtype)
    return physical if physical in SCALAR_DTYPES or physical in PART_OF else None
