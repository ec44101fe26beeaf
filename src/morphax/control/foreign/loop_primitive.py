"""The primitive of functions made by `from_c`: a foreign function, applied along a batch."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, final

import numpy as np

from ...core import (
    AxisFlow,
    BatchAxes,
    Operand,
    Param,
    Primitive,
    ShapedArray,
    Zero,
    aval_of,
    not_linear,
)
from ...engines.callbacks import call_python
from ...engines.xla.custom_calls import custom_call
from ...engines.xla.stablehlo import Builder, Value
from ...lax.elementwise.arithmetic import mul
from ...lax.ground.linear_structure import add_tangents, broadcast_in_dim_p, moved_axis
from ...util.messages import message
from .loops import TARGET, Call, Loop, native, register_target

Derivative = Callable[..., Any]
"""Operands → the partial derivatives of the result, one for each operand."""


@final
class ForeignCall(Primitive):
    """What a foreign function computes.

    Operands have the axes of the batch in front, all of them or none.

    Params:
        loop: the function over arrays.
        derivative: its partial derivatives, or `None`.
    """

    name = "foreign_call"
    multiple_results = True
    needs_numbers = True
    transpose = not_linear("nothing is known of what a foreign function computes")

    def abstract_eval(self, *avals: Any, loop: Loop, **_: Param) -> list[ShapedArray]:
        call = _call(loop, avals)
        results = zip(call.results, loop.out_dtypes, strict=True)
        return [ShapedArray(shape, dtype) for shape, dtype in results]

    def axis_flow(self, *avals: Any, loop: Loop, **_: Param) -> AxisFlow:
        batch = tuple(range(len(_call(loop, avals).batch)))
        cores = loop.shapes
        operands = [
            (*(batch if len(aval.shape) > len(core) else ()), *[None] * len(core))
            for aval, core in zip(avals, cores.operands, strict=True)
        ]
        results = [(*batch, *[None] * len(core)) for core in cores.results]
        return AxisFlow(tuple(operands), tuple(results))

    def evaluate(self, *operands: np.ndarray[Any, Any], loop: Loop, **_: Param) -> list[Any]:
        return loop.run(loop.call([x.shape for x in operands]), operands)

    def kernel(self, *avals: Any, loop: Loop, **_: Param) -> Callable[..., list[Any]]:
        call = _call(loop, avals)
        return lambda *operands: loop.run(call, operands)

    def lower(
        self, b: Builder, outs: Sequence[Any], *operands: Value, loop: Loop, **_: Param
    ) -> list[Value]:
        call = _call(loop, [v.aval for v in operands])
        b.module.is_local = b.module.is_local or loop.is_local
        if native is None or not loop.code.function:
            return call_python(
                b, lambda *xs: loop.run(call, xs), outs, *operands, has_side_effect=False
            )
        if b.module.platform != "cpu":
            raise NotImplementedError(
                message(
                    f"compiling a call of {loop.name} for {b.module.platform}",
                    given="a function of the host",
                    expected="a program for the CPU",
                    fix="Put the arguments on the CPU: jax.device_put(x, jax.devices('cpu')[0]).",
                )
            )
        register_target()
        if not call.sizes[0]:
            return [b.full(0, out) for out in outs]
        return custom_call(
            b,
            TARGET,
            outs,
            *operands,
            layouts=[range(len(x.shape))[::-1] for x in (*[v.aval for v in operands], *outs)],
            config=f"{{loop = {loop.number} : i64, sizes = {_dense(call.sizes)}, "
            f"steps = {_dense(call.steps)}}}",
        )

    def jvp(
        self,
        primals: Sequence[Operand],
        tangents: Sequence[Any],
        *,
        loop: Loop,
        derivative: Derivative | None,
    ) -> tuple[list[Any], list[Any]]:
        if derivative is None:
            raise ValueError(_no_derivative(loop.name))
        outs = self.bind(*primals, loop=loop, derivative=derivative)
        given = derivative(*primals)
        partials = given if isinstance(given, tuple | list) else (given,)
        if len(partials) != len(primals):
            raise TypeError(_wrong_partials(loop, f"{len(partials)} values"))
        out = aval_of(outs[0])
        total: Any = Zero(out)
        for partial, tangent in zip(partials, tangents, strict=True):
            if type(tangent) is Zero:
                continue
            _check_partial(loop, partial, out)
            term = mul(_spread(partial, out.shape), _spread(tangent, out.shape))
            total = term if type(total) is Zero else add_tangents(total, term)
        return outs, [total]

    def batch(
        self,
        axes: BatchAxes,
        operands: Sequence[Operand],
        dims: Sequence[int | None],
        *,
        loop: Loop,
        **params: Param,
    ) -> tuple[list[Any], list[int]]:
        members = []
        for x, d in zip(operands, dims, strict=True):
            shape = aval_of(x).shape
            members.append(shape if d is None else (*shape[:d], *shape[d + 1 :]))
        batch = loop.call(members).batch
        batched = []
        for x, d, shape, core in zip(operands, dims, members, loop.shapes.operands, strict=True):
            own = shape[len(shape) - len(core) :]
            if d is None and shape == own:
                batched.append(x)
                continue
            front = x if d is None else moved_axis(x, d, 0)
            has_batch = len(shape) > len(own)
            kept = [*([] if d is None else [0])]
            kept += range(1, len(batch) + 1) if has_batch else []
            rank = 1 + len(batch)
            kept += range(rank, rank + len(own))
            whole = (axes.size, *batch, *own)
            batched.append(_broadcast(front, whole, kept))
        outs = self.bind(*batched, loop=loop, **params)
        return outs, [0] * len(outs)


def _call(loop: Loop, avals: Sequence[Any]) -> Call:
    return loop.call([aval.shape for aval in avals])


def _dense(values: Sequence[int]) -> str:
    text = ", ".join(map(str, values))
    return f"array<i64: {text}>" if text else "array<i64>"


def _broadcast(x: Operand, shape: tuple[int, ...], axes: Sequence[int]) -> Any:
    if aval_of(x).shape == shape:
        return x
    return broadcast_in_dim_p.bind(x, shape=shape, broadcast_dimensions=tuple(axes), sharding=None)


def _spread(x: Any, shape: tuple[int, ...]) -> Any:
    """`x`, a number or an array of this shape, as an array of this shape."""
    return _broadcast(x, shape, range(len(shape) - len(aval_of(x).shape), len(shape)))


def _check_partial(loop: Loop, partial: Any, out: ShapedArray) -> None:
    """Raise `TypeError` unless a partial derivative has the type of the result."""
    given = None if partial is None else aval_of(partial)
    if given is None or given.dtype != out.dtype or given.shape not in ((), out.shape):
        raise TypeError(_wrong_partials(loop, "None" if given is None else str(given), str(out)))


def _wrong_partials(loop: Loop, given: str, expected: str = "") -> str:
    count = len(loop.in_dtypes)
    return message(
        f"derivative of the foreign function {loop.name}",
        given=given,
        expected=f"{count} partial derivatives, one for each operand"
        + (f", each {expected} or a number of that dtype" if expected else ""),
        fix="Return a tuple of arrays made of the arguments, such as (jnp.cos(x) * y, jnp.sin(x)).",
    )


def _no_derivative(name: str) -> str:
    return message(
        f"differentiation of the foreign function {name}",
        given="a call whose operands depend on what is differentiated",
        expected="a function with a derivative",
        fix="Pass derivative= to from_c, give the function that calls it a derivative with "
        "jax.custom_jvp or jax.custom_vjp, or wrap the operands in jax.lax.stop_gradient.",
    )


foreign_call_p = ForeignCall()
