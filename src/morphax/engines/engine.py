"""The contract of what computes: an engine makes plans of programs, and a plan is run.

`choice` knows the engines and says which of them computes what.  See docs/design/placements.md.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Final, NamedTuple, final

from ..config import current as current_config
from ..config.options import CpuEngine
from ..config.values import checked
from ..core import Format, Jaxpr, Layout, Primitive, ShapedArray

if TYPE_CHECKING:
    from ..array import Array
    from ..runtime.places import Places
    from ..runtime.sharding import Sharding
    from .call_plan import CallPlan


CPU_ENGINE_OPTION: Final = "jax_cpu_engine"
"""The compiler option that overrides the configuration, for one program."""


class Options(NamedTuple):
    """What else a plan depends on.

    Args:
        name: of the program, seen in profiles.
        donated: positions of operands whose memory results may take over.
        keep_unused: whether operands that no result depends on are passed all the same.
        compiler: pairs of XLA flag and value.
        cpu_engine: which engine the user wants on a CPU: ``jax_cpu_engine``.
    """

    name: str
    donated: tuple[int, ...] = ()
    keep_unused: bool = False
    compiler: tuple[tuple[str, Any], ...] = ()
    cpu_engine: CpuEngine = "xla"

    @classmethod
    def chosen(
        cls,
        name: str,
        donated: tuple[int, ...],
        keep_unused: bool,
        compiler: Iterable[tuple[str, Any]],
    ) -> Options:
        """Options with the engine that the compiler options name, else the configuration.

        Raises:
            TypeError, ValueError: the options name no engine.
        """
        flags = dict(compiler)
        wanted = current_config().cpu_engine
        if CPU_ENGINE_OPTION in flags:
            where = f"jit of {name}, argument compiler_options"
            wanted = checked("cpu_engine", flags.pop(CPU_ENGINE_OPTION), where)
        return cls(name, donated, keep_unused, tuple(sorted(flags.items())), wanted)


class Unavailable(ImportError):
    """An engine that has accepted a program cannot work here: its compiler does not load.

    It knows from then on, and accepts only programs that the user has given to it.
    """


class Plan(ABC):
    """A program made ready for operands of its avals."""

    engine_name: str = ""
    """Of the engine that has made it."""
    choice: str = ""
    """Which one that is, and why, in words for users."""
    in_avals: tuple[ShapedArray, ...]
    out_avals: tuple[ShapedArray, ...]
    places: Places

    @abstractmethod
    def run(self, operands: Sequence[Array], committed: bool) -> list[Array]:
        """The results, at their places.

        Args:
            operands: of the avals; those at other places are copied.
            committed: whether the results are bound to their places, because some operand is.
        """

    def call_plan(self) -> CallPlan | None:
        """What `run` does, for callers in C++; `None` if only Python can do it."""
        return None

    def operand_formats(self) -> list[Format]:
        """How the program takes its operands; empty for one that it does not use."""
        return _formats(self.in_avals, self.places.operands)

    def result_formats(self) -> list[Format]:
        """How the program gives its results."""
        return _formats(self.out_avals, self.places.chosen_results())

    @abstractmethod
    def as_text(self) -> str:
        """The program as the engine runs it."""

    def cost_analysis(self) -> dict[str, float]:
        """What the engine estimates of it: operations and bytes moved."""
        return {}

    def memory_analysis(self) -> Any:
        """How many bytes it takes up, where that is known."""
        return None

    def runtime_executable(self) -> Any:
        """The object of the library that runs it, if there is one."""
        return None


@final
class Verdict(NamedTuple):
    """What an engine says of a program.

    Args:
        accepts: whether it is one to run it.
        reason: why, in words for users.
    """

    accepts: bool
    reason: str


class Engine(ABC):
    """Something that computes."""

    name: ClassVar[str]

    @abstractmethod
    def verdict(
        self,
        jaxpr: Jaxpr | None,
        place: Sharding,
        operations: float,
        options: Options | None = None,
    ) -> Verdict:
        """Whether the engine is one to run a program at a place.

        Args:
            jaxpr: the program, `None` for a single operation of whichever primitive.
            place: where to compute.
            operations: how many operations will be run, infinite if the plan is made to be kept.
            options: what the plan would depend on, if one is to be made.
        """

    @abstractmethod
    def compile(self, jaxpr: Jaxpr, places: Places, options: Options) -> Plan:
        """The plan of a program."""

    @abstractmethod
    def evaluate(
        self,
        primitive: Primitive,
        operands: Sequence[Array],
        params: dict[str, Any],
        place: Sharding,
        committed: bool,
    ) -> list[Array]:
        """The results of one operation at a place, bound to it if `committed`."""


def _formats(avals: Sequence[ShapedArray], places: Sequence[Sharding]) -> list[Format]:
    return [
        Format(place.element_order or Layout.row_major(len(aval.shape)), place.plain)
        for aval, place in zip(avals, places, strict=True)
    ]
