"""The reference engine: what a program means, operation by operation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final, final

import numpy as np

from ...array import Array
from ...core import Jaxpr, Primitive, apply_jaxpr, aval_of, current_trace
from ...runtime import sharding as sharding_module
from ...runtime.devices import host_device, host_is_default
from ...runtime.sharding import Sharding, whole_on
from ..engine import Engine, Options, Plan, Verdict
from .float_errors import ignore_float_errors, restore_float_errors
from .kernels import application

if TYPE_CHECKING:
    from ...runtime.places import Places

MOST_INTERPRETED: Final = 16
"""A program of so many operations is interpreted as fast as a compiled one is called."""

# Above this many elements per operation a compiled program is worth its compilation.
_SMALL_SIZE: Final = 1024


@final
class Interpretation(Plan):
    """A program whose operations are evaluated one after the other."""

    def __init__(self, jaxpr: Jaxpr, places: Places) -> None:
        self.in_avals = jaxpr.in_avals
        self.out_avals = jaxpr.out_avals
        self.places = places
        self._jaxpr = jaxpr

    def run(self, operands: Sequence[Array], committed: bool) -> list[Array]:
        constant = current_trace().constant
        results = map(constant, apply_jaxpr(self._jaxpr, *operands))
        each = zip(results, self.places.results, strict=True)
        return [result.placed(place, committed) for result, place in each]

    def as_text(self) -> str:
        return str(self._jaxpr)


@final
class ReferenceEngine(Engine):
    """NumPy, in host memory: for single operations, and for small programs that run once."""

    name = "reference"

    def verdict(
        self,
        jaxpr: Jaxpr | None,
        place: Sharding,
        operations: float,
        options: Options | None = None,
    ) -> Verdict:
        if operations > MOST_INTERPRETED:
            return Verdict(False, "NumPy runs few operations only")
        if not is_in_host_memory(place):
            return Verdict(False, "NumPy computes in the memory of the host")
        is_small = jaxpr is None or all(
            aval_of(v).size <= _SMALL_SIZE for eqn in jaxpr.eqns for v in eqn.outvars
        )
        return Verdict(is_small, "few operations" if is_small else "large operations")

    def compile(self, jaxpr: Jaxpr, places: Places, options: Options) -> Interpretation:
        return Interpretation(jaxpr, places)

    def evaluate(
        self,
        primitive: Primitive,
        operands: Sequence[Array],
        params: dict[str, Any],
        place: Sharding,
        committed: bool,
    ) -> list[Array]:
        avals = tuple([x.aval for x in operands])
        call = application(primitive, params, avals)
        inputs = [x.to_host() for x in operands]
        setting = ignore_float_errors()
        try:
            result = call.function(*inputs)
        finally:
            restore_float_errors(setting)
        values = result if primitive.multiple_results else (result,)
        return [
            value
            if type(value) is Array
            else Array(aval, np.asarray(value), None, place, committed)
            for value, aval in zip(values, call.avals, strict=True)
        ]


def is_in_host_memory(place: Sharding) -> bool:
    """Whether NumPy computes there; asks no client about arrays at home on the CPU."""
    if place is sharding_module.home and host_is_default():
        return True
    return place is whole_on(host_device())


REFERENCE: Final = ReferenceEngine()
