"""Kinds of dtypes that operations accept, and the check that says so in error text."""

from __future__ import annotations

from typing import Any, final

import numpy as np

from ... import dtypes
from ...util.memo import memoize
from ...util.messages import message
from ...util.records import dataclass


@final
@dataclass(frozen=True, slots=True)
class DtypeKind:
    """A set of dtypes, named as users know it; sets are joined with ``|``."""

    names: tuple[str, ...]
    members: tuple[Any, ...]

    def __or__(self, other: DtypeKind) -> DtypeKind:
        return DtypeKind(self.names + other.names, self.members + other.members)

    def __contains__(self, dtype: Any) -> bool:
        return _is_member(self, dtype)

    @property
    def text(self) -> str:
        """The set in words."""
        signs = ("signed integer", "unsigned integer")
        names = list(self.names)
        if set(signs) <= set(names):
            names = ["integer" if n == signs[0] else n for n in names if n != signs[1]]
        return " or ".join(names)

    def check(self, primitive: str, position: int, aval: Any) -> None:
        """Raise `TypeError` unless the dtype of operand number `position` is in the set."""
        if aval.dtype in self:
            return
        raise TypeError(
            message(
                f"lax.{primitive}, operand {position}",
                given=aval.str_short(short_dtypes=False),
                expected=f"a dtype that is {self.text}",
                fix=self._fix(aval.dtype),
            )
        )

    def _fix(self, dtype: Any) -> str:
        if isinstance(dtype, dtypes.ExtendedDType):
            return dtypes.FIX_KEYS
        return f"Convert the operand, for instance with x.astype({self._example()!r})."

    def _example(self) -> str:
        examples = {np.floating: "float32", np.complexfloating: "complex64", np.bool_: "bool"}
        examples |= {np.float32: "float32"}
        return next((examples[m] for m in self.members if m in examples), "int32")


@memoize
def _is_member(kind: DtypeKind, dtype: Any) -> bool:
    return any(dtypes.issubdtype(dtype, member) for member in kind.members)


FLOATING = DtypeKind(("floating",), (np.floating,))
PARTS = DtypeKind(("float32", "float64"), (np.float32, np.float64))
COMPLEX = DtypeKind(("complex",), (np.complexfloating,))
SIGNED = DtypeKind(("signed integer",), (np.signedinteger,))
UNSIGNED = DtypeKind(("unsigned integer",), (np.unsignedinteger,))
BOOLEAN = DtypeKind(("boolean",), (np.bool_,))
KEY = DtypeKind(("random key",), (dtypes.prng_key,))
INTEGER = SIGNED | UNSIGNED
INEXACT = FLOATING | COMPLEX
REAL = FLOATING | INTEGER
NUMBER = REAL | COMPLEX
ORDERED = REAL | BOOLEAN
ANY = NUMBER | BOOLEAN | KEY
