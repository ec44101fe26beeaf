"""The aval of tokens, which order effects."""

from __future__ import annotations

from typing import Any, NoReturn, final

from .. import dtypes
from ..util.messages import message
from .abstract_sharding import AbstractSharding
from .abstract_value import AbstractValue
from .aval import ShapedArray


@final
class AbstractToken(AbstractValue):
    """The aval of a token, which orders effects: it has no axes, no numbers, and no dtype."""

    __slots__ = ()
    shape = ()
    ndim = 0
    size = 0
    weak_type = False
    vma: frozenset[Any] = frozenset()
    split: AbstractSharding | None = None

    def __repr__(self) -> str:
        return "Tok"

    def str_short(self, short_dtypes: bool = False, mesh_axis_types: bool = False) -> str:
        return "Tok"

    @property
    def dtype(self) -> NoReturn:
        raise AttributeError(
            message(
                "dtype of a token",
                given="a token (Tok), which has no numbers",
                expected="an array",
                fix="Pass tokens to lax.after_all and to operations that take them.",
            )
        )

    def to_tangent_aval(self) -> AbstractValue:
        return ShapedArray((), dtypes.float0)


abstract_token = AbstractToken()
