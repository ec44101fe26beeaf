"""The stages of a jitted function: traced to a jaxpr, lowered to StableHLO, compiled by XLA.

`jit` itself is made of them: its call looks up the `Traced` of the signature and applies it.  Each
stage can be looked at, and gives the next one.

    Traced --lower--> Lowered --compile--> Compiled
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, final, runtime_checkable

from .. import tree
from ..array import Array
from ..core import (
    Jaxpr,
    ShapeDtypeStruct,
    StagingTrace,
    Tracer,
    aval_of,
    current_trace,
)
from ..engines.reference.eager import EvalTrace, as_array
from ..engines.xla import inspection
from ..engines.xla.executable import Executable
from ..engines.xla.lowering import LoweredProgram, lower
from ..util.messages import message
from .executables import compiled, run
from .jit_primitive import jit_p

CompilerOptions = dict[str, str | bool | int | float]


@final
@dataclass(frozen=True, slots=True)
class ArgInfo:
    """One array argument of a staged function: its aval, and whether it is donated."""

    _aval: Any
    donated: bool

    @property
    def shape(self) -> tuple[int, ...]:
        """The sizes of its axes."""
        return self._aval.shape  # type: ignore[no-any-return]

    @property
    def dtype(self) -> Any:
        """The dtype of its elements."""
        return self._aval.dtype


@runtime_checkable
class Wrapped(Protocol):
    """A function that can be traced, lowered and compiled ahead of its call, as `jit` returns it."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Run the function."""

    def trace(self, *args: Any, **kwargs: Any) -> Traced:
        """The function as a jaxpr, for arguments like these."""

    def lower(self, *args: Any, **kwargs: Any) -> Lowered:
        """The function as a StableHLO module, for arguments like these."""


class Stage:
    """What all stages know of a function: structures and avals of its arguments and results."""

    __slots__ = ("_program",)

    def __init__(self, program: Program) -> None:
        self._program = program

    @property
    def in_tree(self) -> Any:
        """The structure of ``(args, kwargs)``, without static arguments."""
        return self._program.in_tree

    @property
    def out_tree(self) -> Any:
        """The structure of the result."""
        return self._program.out_tree

    @property
    def in_avals(self) -> Any:
        """``(args, kwargs)`` with avals as leaves."""
        return self.in_tree.unflatten(self._program.in_avals)

    @property
    def args_info(self) -> Any:
        """``(args, kwargs)`` with `ArgInfo` leaves."""
        donated = self._program.donated
        return self.in_tree.unflatten(
            [ArgInfo(aval, i in donated) for i, aval in enumerate(self._program.in_avals)]
        )

    @property
    def out_info(self) -> Any:
        """The result with `ShapeDtypeStruct` leaves."""
        return self.out_tree.unflatten(
            [
                ShapeDtypeStruct(a.shape, a.dtype, weak_type=a.weak_type)
                for a in self._program.jaxpr.out_avals
            ]
        )

    @property
    def donate_argnums(self) -> tuple[int, ...]:
        """Which leaves of the arguments are donated."""
        return self._program.donated
