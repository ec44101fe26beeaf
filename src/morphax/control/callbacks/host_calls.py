"""What primitives that call Python have in common: how programs make the call."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...core import Param, has_ordered
from ...engines import loops
from ...engines.callbacks import call_python, call_python_in_loops
from ...engines.reference.eager import RunsOnArrays
from ...engines.xla.stablehlo import Builder, Value

HostFunction = Callable[..., Sequence[np.ndarray[Any, Any]]]


class CallsHost(RunsOnArrays):
    """Results are those of a function of arrays on the host."""

    multiple_results = True

    def on_host(self, avals: Sequence[Any], **params: Param) -> HostFunction:
        """The function, of arrays that it may not keep; its results lie row by row.

        Args:
            avals: of the operands.
            **params: of the operation.
        """
        raise TypeError(f"{type(self).__name__} is abstract")

    def lower(
        self, b: Builder, outs: Sequence[Any], *operands: Value, **params: Param
    ) -> list[Value]:
        effects = self.effects(**params)
        return call_python(
            b,
            self.on_host([x.aval for x in operands], **params),
            outs,
            *operands,
            ordered=has_ordered(effects),
            has_side_effect=bool(effects),
        )

    def to_loops(
        self, b: loops.Builder, outs: Sequence[Any], *operands: loops.Value, **params: Param
    ) -> list[loops.Value]:
        function = self.on_host(b.operand_avals, **params)
        return call_python_in_loops(b, function, outs, *operands)
