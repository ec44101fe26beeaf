"""What all stages of a jitted function know of its arguments and results."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, final

from ...core import ShapeDtypeStruct
from ...tree import PyTreeDef, flatten
from ...util.messages import message
from ...util.records import dataclass


@final
@dataclass(frozen=True, slots=True)
class ArgInfo:
    """One array argument of a staged function: its aval, and whether it is donated."""

    _aval: Any
    donated: bool

    @property
    def shape(self) -> tuple[int, ...]:
        """The sizes of its axes."""
        return self._aval.shape

    @property
    def dtype(self) -> Any:
        """The dtype of its elements."""
        return self._aval.dtype


class Stage:
    """What all stages know of arguments and results.

    Args:
        in_tree: structure of ``(args, kwargs)``, without the static arguments.
        out_tree: structure of the result.
        in_avals, out_avals: of the leaves of both.
        donate_argnums: which leaves of the arguments are donated.
    """

    __slots__ = ("_flat_in_avals", "_flat_out_avals", "donate_argnums", "in_tree", "out_tree")

    def __init__(
        self,
        in_tree: PyTreeDef,
        out_tree: PyTreeDef,
        in_avals: Sequence[Any],
        out_avals: Sequence[Any],
        donate_argnums: tuple[int, ...],
    ) -> None:
        self.in_tree = in_tree
        self.out_tree = out_tree
        self._flat_in_avals = in_avals
        self._flat_out_avals = out_avals
        self.donate_argnums = donate_argnums

    @property
    def in_avals(self) -> Any:
        """``(args, kwargs)`` with avals as leaves."""
        return self.in_tree.unflatten(self._flat_in_avals)

    @property
    def args_info(self) -> Any:
        """``(args, kwargs)`` with `ArgInfo` leaves."""
        donated = self.donate_argnums
        infos = [ArgInfo(aval, i in donated) for i, aval in enumerate(self._flat_in_avals)]
        return self.in_tree.unflatten(infos)

    @property
    def out_info(self) -> Any:
        """The result with `ShapeDtypeStruct` leaves."""
        return self.out_tree.unflatten(list(map(ShapeDtypeStruct.of_aval, self._flat_out_avals)))


def of_args_info(args_info: Any) -> tuple[PyTreeDef, tuple[Any, ...], tuple[int, ...]]:
    """Structure and avals of arguments, and which of them are donated, from `Stage.args_info`."""
    infos, in_tree = flatten(args_info)
    donated = tuple([i for i, info in enumerate(infos) if info.donated])
    return in_tree, tuple([info._aval for info in infos]), donated


def one_platform(platforms: Sequence[str] | None) -> str | None:
    """The platform to lower for, if one is named; `ValueError` if there are several."""
    if platforms is None or len(platforms) == 1:
        return platforms[0] if platforms else None
    raise ValueError(
        message(
            "lower, argument lowering_platforms",
            given=f"{tuple(platforms)}",
            expected="one platform",
            fix="Lower once for each platform.",
        )
    )


def is_stablehlo(dialect: str | None) -> bool:
    """Whether text is wanted in StableHLO, not in HLO; `ValueError` if in neither."""
    if dialect in (None, "stablehlo", "hlo"):
        return dialect != "hlo"
    raise ValueError(
        message(
            "Lowered, argument dialect",
            given=f"{dialect!r}",
            expected="'stablehlo' or 'hlo'",
            fix="Leave it out for StableHLO.",
        )
    )
