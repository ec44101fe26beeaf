"""The primitives that compute with Python: `pure_callback` and `io_callback`.

The function gets arrays on the host and returns arrays, whose shapes and dtypes the program has
been promised.  A pure call may happen any number of times, or never, as its results are needed; an
impure one happens as often as the program says.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NoReturn, final

import numpy as np

from ...array import Array
from ...array.colocation import placement_of
from ...core import (
    AxisFlow,
    BatchAxes,
    Effects,
    IOEffect,
    Operand,
    OrderedIOEffect,
    Param,
    gathered,
    no_effects,
    not_linear,
    outside_transformations,
)
from ...engines.reference.eager import as_array
from ...util.messages import message
from ..calls import bound
from ..vmap_methods import batched_avals, batched_call, one_by_one
from .flat_callback import FlatCallback, checked_results, owned
from .host_calls import CallsHost, HostFunction


class CallsPython(CallsHost):
    """Results are what a function in Python computes.

    Params:
        callback: a `FlatCallback`.
        result_avals: of the results.
        sharding: where the function runs; kept for the text of the program.
    """

    transpose = not_linear("nothing is known of what Python computes")
    # In the words of users.
    public_name: str

    def abstract_eval(
        self, *avals: Any, result_avals: tuple[Any, ...], **_: Param
    ) -> tuple[Any, ...]:
        return result_avals

    def axis_flow(self, *avals: Any, result_avals: tuple[Any, ...], **_: Param) -> AxisFlow:
        return gathered(*avals, results=result_avals)

    def params_of_batch(
        self, size: int, dims: Sequence[bool], params: dict[str, Param]
    ) -> dict[str, Param]:
        """The parameters of one call that does a whole batch."""
        return params | {"result_avals": batched_avals(size, params["result_avals"])}

    def execute(
        self, *operands: Array, callback: FlatCallback, result_avals: Sequence[Any], **params: Param
    ) -> list[Array]:
        if not result_avals and not self.effects(**params):
            return []
        with outside_transformations():
            result = callback(*operands)
        hosts = checked_results(self.public_name, callback, result, result_avals)
        results = [
            Array(aval, as_array(host).to_host())
            for aval, host in zip(result_avals, hosts, strict=True)
        ]
        return bound(results, *placement_of(operands, self.public_name))

    def on_host(
        self,
        avals: Sequence[Any],
        *,
        callback: FlatCallback,
        result_avals: Sequence[Any],
        **_: Param,
    ) -> HostFunction:
        def call(*values: np.ndarray[Any, Any]) -> list[np.ndarray[Any, Any]]:
            result = callback(*owned(values, avals))
            hosts = checked_results(self.public_name, callback, result, result_avals)
            return [np.ascontiguousarray(x).reshape(x.shape) for x in hosts]

        return call


def _refuse_derivative(name: str, fix: str) -> NoReturn:
    raise ValueError(
        message(
            f"differentiation of {name}",
            given="a call of Python whose operands depend on what is differentiated",
            expected="operations with a known derivative: what Python computes has none",
            fix=fix,
        )
    )


@final
class PureCallback(CallsPython):
    """Call a function without side effects; further param `vmap_method`."""

    name = "pure_callback"
    public_name = "jax.pure_callback"

    def effects(self, **_: Param) -> Effects:
        return no_effects

    def jvp(self, primals: Sequence[Operand], tangents: Sequence[Operand], **_: Param) -> NoReturn:
        _refuse_derivative(
            self.public_name,
            "Give the function that calls it a derivative with jax.custom_jvp or jax.custom_vjp, "
            "or wrap the operands in jax.lax.stop_gradient.",
        )

    def batch(
        self,
        axes: BatchAxes,
        operands: Sequence[Operand],
        dims: Sequence[int | None],
        **params: Param,
    ) -> tuple[list[Any], list[int | None]]:
        return batched_call(self.public_name, self, axes, operands, dims, params)


@final
class IOCallback(CallsPython):
    """Call a function for what it does; further param `ordered`."""

    name = "io_callback"
    public_name = "jax.experimental.io_callback"

    def effects(self, *, ordered: bool, **_: Param) -> Effects:
        return frozenset({OrderedIOEffect() if ordered else IOEffect()})

    def jvp(self, primals: Sequence[Operand], tangents: Sequence[Operand], **_: Param) -> NoReturn:
        _refuse_derivative(
            self.public_name, "Wrap the operands of the call in jax.lax.stop_gradient."
        )

    def batch(
        self,
        axes: BatchAxes,
        operands: Sequence[Operand],
        dims: Sequence[int | None],
        **params: Param,
    ) -> tuple[list[Any], list[int | None]]:
        if params["ordered"]:
            raise ValueError(
                message(
                    "vmap of jax.experimental.io_callback",
                    given="ordered=True",
                    expected="an unordered callback: members of a batch have no order",
                    fix="Pass ordered=False, or use lax.map instead of vmap.",
                )
            )
        return one_by_one(self, axes, operands, dims, params)


pure_callback_p = PureCallback()
io_callback_p = IOCallback()
