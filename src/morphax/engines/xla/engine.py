"""XLA as an engine: any program, on any platform, compiled as a whole."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, Final, final

from ...array import Array
from ...array.colocation import bound_places, joint_places
from ...core import Jaxpr, Primitive, call_program
from ...runtime.places import Places
from ...runtime.sharding import Sharding
from ...util.memo import memoize
from ..build_events import COMPILING, LOWERING, reported
from ..dumps import dump_module
from ..engine import Engine, Options, Verdict
from .executable import Executable
from .lowering import LoweredProgram, lower


@final
class XlaEngine(Engine):
    """The compiler behind `jit`."""

    name = "xla"

    def verdict(
        self,
        jaxpr: Jaxpr | None,
        place: Sharding,
        operations: float,
        options: Options | None = None,
    ) -> Verdict:
        return Verdict(True, "takes all programs")

    def compile(self, jaxpr: Jaxpr, places: Places, options: Options) -> Executable:
        with reported(LOWERING, f"jit({options.name})"):
            program = _lowered(jaxpr, options, places)
        dump_module(
            f"jit_{program.name}",
            lambda lines: _lowered(jaxpr, options, places, locations=lines).text,
        )
        with reported(COMPILING, f"jit({options.name})"):
            return Executable.compile(program, options.compiler)

    def evaluate(
        self,
        primitive: Primitive,
        operands: Sequence[Array],
        params: dict[str, Any],
        place: Sharding,
        committed: bool,
    ) -> list[Array]:
        avals = tuple([x.aval for x in operands])
        bound = bound_places(operands, place)
        executable = _executable(primitive, tuple(params.items()), avals, place, bound)
        return executable.run(operands, committed)


def _lowered(
    jaxpr: Jaxpr, options: Options, places: Places, *, locations: bool = False
) -> LoweredProgram:
    return lower(
        jaxpr,
        options.name,
        options.donated,
        places.program_platform,
        places=places,
        keep_unused=options.keep_unused,
        locations=locations,
    )


@partial(memoize, maxsize=1024)
def _executable(
    primitive: Primitive,
    params: tuple[tuple[str, Any], ...],
    avals: tuple[Any, ...],
    place: Sharding,
    bound: tuple[Sharding | None, ...] | None,
) -> Executable:
    """One operation as a program, which is compiled once per signature."""
    jaxpr = call_program(primitive, avals, dict(params))
    places = joint_places(place, bound, len(avals), len(jaxpr.outvars))
    return Executable.compile(_lowered(jaxpr, Options(primitive.name), places))


XLA: Final[XlaEngine] = XlaEngine()
