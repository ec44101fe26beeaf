"""The trace of `sparsify`: operations on sparse arrays, each by a rule for its primitive.

A `SparseTracer` is a sparse array that looks like a dense one: it has an aval, and the operators
and methods of arrays.  An operation on it is looked up in the rules of the trace; what has no
sparse operand goes to the parent trace as it is.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, final

from ...core import (
    Jaxpr,
    Operand,
    Param,
    Primitive,
    Tracer,
    aval_of,
    current_trace,
    new_trace,
    set_current_trace,
)
from ...core.trace import Trace
from ...util.messages import message
from .base import JAXSparse

Rule = Callable[[Primitive, Sequence[Any], dict[str, Any]], Any]
"""Primitive, operands (sparse or dense), parameters → result, or list of results."""


@final
class SparseTracer(Tracer):
    """A sparse array in a function that `sparsify` runs."""

    __slots__ = ("value",)

    def __init__(self, trace: SparseTrace, *, spvalue: JAXSparse) -> None:
        aval = aval_of(spvalue.data)
        super().__init__(trace, aval.update(shape=spvalue.shape, weak_type=False))
        self.value = spvalue

    def get_referent(self) -> Any:
        return self.value

    def origin(self) -> str:
        return f"{self.value!r} in a function that sparsify runs"


@final
class SparseTrace(Trace):
    """Applies each operation to sparse arrays by a rule.

    Args:
        parent: the trace that operations on dense arrays go to.
        rules: the rule for each primitive.
    """

    __slots__ = ("rules",)
    parent: Trace

    def __init__(self, parent: Trace, rules: Mapping[Primitive, Rule]) -> None:
        super().__init__(parent)
        self.rules = rules

    def process(
        self, primitive: Primitive, operands: Sequence[Operand], params: dict[str, Param]
    ) -> Any:
        values = list(map(self.read, operands))
        if not any([isinstance(x, JAXSparse) for x in values]):
            return self.parent.process(primitive, values, params)
        rule = self.rules.get(primitive)
        if rule is None:
            raise refusal(primitive.name, values)
        with set_current_trace(self.parent):
            result = rule(primitive, values, params)
        return list(map(self.wrap, result)) if primitive.multiple_results else self.wrap(result)

    def read(self, x: Any) -> Any:
        """The sparse array behind a tracer; others are themselves."""
        return x.value if type(x) is SparseTracer and x._trace is self else x

    def wrap(self, x: Any) -> Any:
        """A sparse array as a tracer; others are themselves."""
        return SparseTracer(self, spvalue=x) if isinstance(x, JAXSparse) else x


def run(
    rules: Mapping[Primitive, Rule], function: Callable[..., Sequence[Any]], values: Sequence[Any]
) -> list[Any]:
    """Call a function of arrays and sparse arrays; its results are such again."""
    trace = SparseTrace(current_trace(), rules)
    operands = list(map(trace.wrap, values))
    with new_trace(trace):
        results = function(*operands)
    return list(map(trace.read, results))


def run_program(rules: Mapping[Primitive, Rule], jaxpr: Jaxpr, values: Sequence[Any]) -> list[Any]:
    """Apply a program to arrays and sparse arrays."""
    return run(rules, lambda *operands: current_trace().splice(jaxpr, operands), values)


def refusal(name: str, values: Sequence[Any]) -> NotImplementedError:
    """The error of an operation without a rule for these operands."""
    given = [repr(x) if isinstance(x, JAXSparse) else str(aval_of(x)) for x in values]
    return NotImplementedError(
        message(
            f"sparsify, operation {name}",
            given=", ".join(given),
            expected="an operation whose result is sparse where its operands are",
            fix="Make the operand dense first with sparse.todense.",
        )
    )
