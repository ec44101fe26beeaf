"""Operations that Python divides among the devices of a program, while XLA compiles it.

Such an operation is a custom call.  When XLA has decided how all values of the program are split,
it hands the splits of the operands and of the results to a function, which gives the program that
each device runs on its parts, and may ask for other splits; XLA moves the values there.

The function is found by a number that stands in the operation, and lives as long as the lowered
program.  XLA calls it on a thread of its own, hence with settings of the thread that lowered the
program, and outside of all transformations.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, NamedTuple, final
from weakref import WeakValueDictionary

from ...config import current as current_config
from ...config import override
from ...core import outside_transformations
from ...runtime.callback_exceptions import keep_exception
from ...runtime.client import plugin_interface, xla_client
from .literals import quoted
from .stablehlo import Builder, Value

_TARGET = "MorphaxPartitionedCall"


class Division(NamedTuple):
    """What each device does for an operation.

    Args:
        text: the module of that, on parts of the operands.
        operands, results: how they are to be split, as `HloSharding`s.
    """

    text: str
    operands: Sequence[Any]
    results: Sequence[Any]


Divide = Callable[[Sequence[Any], Sequence[Any]], Division]
"""From the splits of operands and of results, `HloSharding`s."""


@final
class Partitioner:
    """A function that divides an operation, under the settings of who made it."""

    __slots__ = ("__weakref__", "_divide", "_settings", "number")

    def __init__(self, divide: Divide) -> None:
        self._divide = divide
        self._settings = current_config().settings()
        self.number = str(next(_numbers))
        _known[self.number] = self

    def divide(self, operands: Sequence[Any], results: Sequence[Any]) -> Division:
        """How the operation is divided; what the function raises is kept for who compiles."""
        try:
            with outside_transformations(), override.of_settings(self._settings):
                return self._divide(operands, results)
        except BaseException as error:
            raise RuntimeError(keep_exception(error)) from None


_numbers = itertools.count(1)
_known: WeakValueDictionary[str, Partitioner] = WeakValueDictionary()


def divided(
    b: Builder,
    divide: Divide,
    outs: Sequence[Any],
    *operands: Value,
    rule: str = "",
    has_side_effect: bool = False,
) -> list[Value]:
    """Write an operation that `divide` puts a program in place of.

    Args:
        b: of the block; the program runs on several devices.
        divide: from the splits of operands and results.
        outs: avals of the results.
        *operands: of the operation.
        rule: by which splits go from operands to results, as an attribute of Shardy.
        has_side_effect: whether it is there if no result is used.
    """
    _register(b.module.platform)
    partitioner = Partitioner(divide)
    b.module.partitioners.append(partitioner)
    attributes: dict[str, Any] = {"sdy.sharding_rule": rule} if rule else {}
    return b.ops(
        "stablehlo.custom_call",
        outs,
        *operands,
        call_target_name=quoted(_TARGET),
        api_version="2 : i32",
        backend_config=quoted(partitioner.number),
        has_side_effect="true" if has_side_effect else "false",
        **attributes,
    )


@cache
def _register(platform: str) -> None:
    """Tell the compiler of a platform whom to ask."""
    interface = None if platform == "cpu" else plugin_interface(platform)
    xla_client().register_custom_call_partitioner(
        _TARGET,
        # Shardy propagates splits by rules in the text, and asks for none.
        lambda sharding, *_: sharding,
        _divide,
        lambda *_: None,
        can_side_effecting_have_replicated_sharding=True,
        c_api=interface,
    )


def _divide(
    shapes: Sequence[Any], operands: Sequence[Any], shape: Any, result: Any, number: bytes
) -> tuple[bytes, list[Any], Any]:
    """What jaxlib calls: shapes and splits of the operands, those of the result."""
    results = result.tuple_elements() if shape.is_tuple() else [result]
    division = _known[number.decode()].divide(operands, results)
    split = division.results[0]
    if shape.is_tuple():
        split = xla_client().HloSharding.tuple_sharding(shape, list(division.results))
    return division.text.encode(), list(division.operands), split
