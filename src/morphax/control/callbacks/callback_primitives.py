"""The primitives that compute with Python: `pure_callback` and `io_callback`.

The function gets arrays on the host and returns arrays, whose shapes and dtypes the program has
been promised.  A pure call may happen any number of times, or never, as its results are needed; an
impure one happens as often as the program says.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NoReturn, final

import numpy as np

from ...array import Array
from ...core import (
    BatchAxes,
    Effects,
    IOEffect,
    Operand,
    OrderedIOEffect,
    Param,
    Primitive,
    aval_of,
    has_ordered,
    no_effects,
    not_linear,
    outside_transformations,
)
from ...engines.callbacks import call_python
from ...engines.reference.eager import RunsOnArrays, as_array
from ...engines.xla.stablehlo import Builder, Value
from ...lax.ground.linear_structure import broadcast_in_dim_p, moved_axis
from ...transforms.batching import to_axis
from ...util.messages import message
from ..bodies.wiring import Parts
from ..loops.scan_primitive import scan_p
from .flat_callback import FlatCallback, checked_results, owned


class CallsPython(RunsOnArrays):
    """Results are what a function in Python computes.

    Params:
        callback: a `FlatCallback`.
        result_avals: of the results.
        sharding: where the function runs; kept for the text of the program.
    """

    multiple_results = True
    transpose = not_linear("nothing is known of what Python computes")
    # In the words of users.
    public_name: str

    def abstract_eval(
        self, *avals: Any, result_avals: tuple[Any, ...], **_: Param
    ) -> tuple[Any, ...]:
        return result_avals

    def execute(
        self, *operands: Array, callback: FlatCallback, result_avals: Sequence[Any], **params: Param
    ) -> list[Array]:
        if not result_avals and not self.effects(**params):
            return []
        with outside_transformations():
            result = callback(*operands)
        hosts = checked_results(self.public_name, callback, result, result_avals)
        return [
            Array(aval, as_array(host).to_host())
            for aval, host in zip(result_avals, hosts, strict=True)
        ]

    def lower(
        self,
        b: Builder,
        outs: Sequence[Any],
        *operands: Value,
        callback: FlatCallback,
        result_avals: Sequence[Any],
        **params: Param,
    ) -> list[Value]:
        def call(*values: np.ndarray[Any, Any]) -> list[np.ndarray[Any, Any]]:
            result = callback(*owned(values, operands))
            hosts = checked_results(self.public_name, callback, result, result_avals)
            return [np.ascontiguousarray(x).reshape(x.shape) for x in hosts]

        effects = self.effects(**params)
        return call_python(
            b,
            call,
            outs,
            *operands,
            ordered=has_ordered(effects),
            has_side_effect=bool(effects),
        )


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
        method = params["vmap_method"]
        if method is None:
            raise NotImplementedError(
                message(
                    "vmap of jax.pure_callback",
                    given="vmap_method=None",
                    expected=f"one of {', '.join(map(repr, VMAP_METHODS))}",
                    fix="Pass vmap_method: 'sequential' is always right, 'broadcast_all' is fast "
                    "for functions that treat leading axes as a batch.",
                )
            )
        return VMAP_METHODS[method](self, axes, operands, dims, params)


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
        return _one_by_one(self, axes, operands, dims, params)


def _one_by_one(
    primitive: Primitive,
    axes: BatchAxes,
    operands: Sequence[Operand],
    dims: Sequence[int | None],
    params: dict[str, Param],
    unroll: int = 1,
) -> tuple[list[Any], list[int | None]]:
    """A call for each member of the batch, in turn."""
    mapped = [d is not None for d in dims]
    consts = [x for x, on in zip(operands, mapped, strict=True) if not on]
    slices = [moved_axis(x, d, 0) for x, d in zip(operands, dims, strict=True) if d is not None]

    def step(*values: Operand) -> list[Any]:
        same, own = iter(values[: len(consts)]), iter(values[len(consts) :])
        return primitive.bind(*[next(own if on else same) for on in mapped], **params)

    operands_by_role = Parts(consts=consts, carry=[], xs=slices)
    steps = {"length": axes.size, "reverse": False, "unroll": unroll}
    outs = scan_p.staged({"jaxpr": step}, operands_by_role, **steps)
    return outs, [0] * len(outs)


def _unrolled(
    primitive: Primitive,
    axes: BatchAxes,
    operands: Sequence[Operand],
    dims: Sequence[int | None],
    params: dict[str, Param],
) -> tuple[list[Any], list[int | None]]:
    return _one_by_one(primitive, axes, operands, dims, params, unroll=max(axes.size, 1))


def _at_once(
    prepare: Callable[[BatchAxes, Any], Any],
) -> Callable[..., tuple[list[Any], list[int | None]]]:
    """One call on whole batches; `prepare` makes something of operands that are not mapped."""

    def method(
        primitive: Primitive,
        axes: BatchAxes,
        operands: Sequence[Operand],
        dims: Sequence[int | None],
        params: dict[str, Param],
    ) -> tuple[list[Any], list[int | None]]:
        batches = [
            prepare(axes, x) if d is None else moved_axis(x, d, 0)
            for x, d in zip(operands, dims, strict=True)
        ]
        result_avals = tuple(
            [aval.update(shape=(axes.size, *aval.shape)) for aval in params["result_avals"]]
        )
        outs = primitive.bind(*batches, **params | {"result_avals": result_avals})
        return outs, [0] * len(outs)

    return method


def _with_size_one(axes: BatchAxes, x: Operand) -> Any:
    shape = aval_of(x).shape
    return broadcast_in_dim_p.bind(
        x,
        shape=(1, *shape),
        broadcast_dimensions=tuple(range(1, len(shape) + 1)),
        sharding=None,
    )


VMAP_METHODS: dict[str, Callable[..., tuple[list[Any], list[int | None]]]] = {
    "sequential": _one_by_one,
    "sequential_unrolled": _unrolled,
    "expand_dims": _at_once(_with_size_one),
    "broadcast_all": _at_once(lambda axes, x: to_axis(axes, x, None, 0)),
    "legacy_vectorized": _at_once(lambda axes, x: x),
}

pure_callback_p = PureCallback()
io_callback_p = IOCallback()
