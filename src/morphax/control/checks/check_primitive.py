"""The primitive `check`: fail if a state of checks says so.

Eagerly it raises at once.  In a staged program nobody can raise, so `checkify` must turn it into a
result first; a program that still contains it does not compile.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, final

from ...array import Array
from ...core import BatchAxes, Effect, NoResults, Operand, Param, ShapedArray
from ...core.effects import Effects
from ...engines import loops
from ...engines.reference.eager import RunsOnArrays
from ...engines.xla.stablehlo import Builder, Value
from ...lax.indexing.dynamic_slicing import dynamic_index_in_dim
from ...lax.reduction.argreductions import argmax
from ...util.messages import message
from ...util.records import dataclass
from .check_sites import BatchedError, Site, failure_of


class JaxRuntimeError(ValueError):
    """A check failed."""


@final
@dataclass(frozen=True)
class CheckEffect(Effect):
    """The equation may fail."""

    repeatable: ClassVar[bool] = True

    def __str__(self) -> str:
        return "Check"


@final
@dataclass(frozen=True)
class DebugCheckEffect(Effect):
    """The equation may fail once `checkify` has transformed it; else it does nothing."""

    repeatable: ClassVar[bool] = True
    vanishing: ClassVar[bool] = True

    def __str__(self) -> str:
        return "Check"


_effects: Effects = frozenset({CheckEffect()})
_debug_effects: Effects = frozenset({DebugCheckEffect()})


def has_checks(effects: Effects) -> bool:
    """Whether a program with these effects may fail, if only once `checkify` has transformed it."""
    return not effects.isdisjoint(_effects | _debug_effects)


@final
class Check(NoResults, RunsOnArrays):
    """Raise the first failure of a state; no results.

    Operands: the state, packed by the layout of `sites`.

    Params:
        sites: whose failures the state tells.
        debug: whether the check is for `checkify` alone, and means nothing without it.
    """

    name = "check"

    def printed_params(self, params: Mapping[str, Any]) -> dict[str, Any]:
        return {"debug": params["debug"]}

    def effects(self, *, debug: bool, **_: Param) -> Effects:
        return _debug_effects if debug else _effects

    def execute(
        self, pred: Array, code: Array, *values: Array, sites: tuple[Site, ...], debug: bool
    ) -> list[Any]:
        if not debug and pred.to_host():
            failure = failure_of(sites, code.to_host(), values)
            if isinstance(failure, BatchedError):  # of one member, whose error is raised
                (failure,) = failure.error_mapping.values()
            raise JaxRuntimeError(str(failure)) from failure
        return []

    def lower(
        self,
        b: Builder,
        outs: Sequence[ShapedArray],
        *operands: Value,
        sites: tuple[Site, ...],
        debug: bool,
    ) -> list[Value]:
        if not debug:
            raise _not_functionalized(sites)
        return []

    def to_loops(
        self,
        b: loops.Builder,
        outs: Sequence[ShapedArray],
        *operands: loops.Value,
        sites: tuple[Site, ...],
        debug: bool,
    ) -> list[loops.Value]:
        if not debug:
            raise _not_functionalized(sites)
        return []

    def batch(
        self,
        axes: BatchAxes,
        operands: Sequence[Operand],
        dims: Sequence[int | None],
        **params: Param,
    ) -> tuple[list[Any], list[Any]]:
        """Raise the failure of the first member that failed."""
        pred = operands[0]
        member = None if dims[0] is None else argmax(pred, dims[0], "int32")
        parts = [_of_member(x, d, member) for x, d in zip(operands, dims, strict=True)]
        self.bind(*parts, **params)
        return [], []


def _of_member(x: Operand, dim: int | None, member: Operand) -> Any:
    """The part of an operand that belongs to a member of the batch; any will do for `None`."""
    if dim is None:
        return x
    return dynamic_index_in_dim(x, 0 if member is None else member, dim, keepdims=False)


def _not_functionalized(sites: tuple[Site, ...]) -> ValueError:
    return ValueError(
        message(
            "compilation of checkify.check",
            given=f"a check in a staged program (jit, scan, while_loop, ...) {_place(sites)}",
            expected="checks that checkify has functionalized: a compiled program cannot raise",
            fix="Wrap the function: err, out = checkify.checkify(f)(...); err.throw(). "
            "Or use checkify.debug_check, which does nothing without checkify.",
        )
    )


def _place(sites: tuple[Site, ...]) -> str:
    places = {str(site.place) for site in sites if site.place is not None}
    return f"at {places.pop()}" if len(places) == 1 else f"at {len(places)} places"


check_p = Check()
