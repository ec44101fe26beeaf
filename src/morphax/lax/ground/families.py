"""Families of elementwise primitives: the rules that they share.

A family fixes shapes, batching and lowering, so that an ordinary operation states only its name,
the dtypes it accepts, its NumPy meaning, its StableHLO name and its derivative.  Operands have the
result's shape or rank 0: a scalar is repeated by the engine, not by the program.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, ClassVar

import numpy as np

from ...core import (
    AxisFlow,
    BatchAxes,
    Primitive,
    ShapedArray,
    Zero,
    aval_of,
    is_zero,
    like,
    not_linear,
    same_axes,
)
from ...core.dims import Shape
from ...engines import loops
from ...engines.reference.fusion import dtype_name, loop_of_floats, single_operation
from ...engines.xla.stablehlo import Builder, Value, tensor_type
from ...errors import ShapeError
from ...util.messages import message
from .kinds import BOOLEAN, INTEGER, NUMBER, DtypeKind
from .linear_structure import add_tangents, broadcast_in_dim_p, broadcast_to, moved_axis, reduce_sum
from .narrow import COMPUTED_IN

# So many operations on floats one on complex numbers is about.
_OF_COMPLEX = 4


class Elementwise(Primitive):
    """Operations that act on each element by itself.

    The derivative with respect to operand number i is the method ``slots[i]``, `d_x`, `d_y`, …: it
    takes the tangent of that operand, then the operands and the result, and returns the tangent of
    the result.
    """

    accepts: ClassVar[DtypeKind] = NUMBER
    of_one_dtype = True
    reads = "alike"
    numpy: ClassVar[Callable[..., Any]]
    stablehlo: ClassVar[str]
    compiled: ClassVar[bool] = False  # whether `numpy` is but the twin of a compiled operation
    slots: ClassVar[tuple[str, ...]] = ("d_x", "d_y", "d_z")

    transpose = not_linear()
    narrow_in_loops = "rounded"

    def abstract_eval(self, *avals: Any, **params: Any) -> ShapedArray:
        shape = elementwise_shape(self.name, avals)
        for position, aval in enumerate(avals):
            self.accepts.check(self.name, position, aval)
            if aval.dtype != avals[0].dtype:
                raise TypeError(_mismatch(self.name, "dtypes", avals, _FIX_DTYPE))
        return like(*avals, shape=shape, dtype=self.result_dtype(avals[0].dtype))

    def axis_flow(self, *avals: Any, **params: Any) -> AxisFlow:
        return same_axes(*avals)

    def result_dtype(self, dtype: Any) -> Any:
        return dtype

    def evaluate(self, *operands: Any, **params: Any) -> Any:
        compute = type(self).numpy
        dtype = operands[0].dtype
        wide = COMPUTED_IN.get(dtype)
        if wide is None:
            return compute(*operands)
        return compute(*[x.astype(wide) for x in operands]).astype(self.result_dtype(dtype))

    def kernel(self, *avals: Any, **params: Any) -> Callable[..., Any] | None:
        dtype = avals[0].dtype
        is_narrow = dtype in COMPUTED_IN
        if self.compiled or is_narrow:
            result = np.dtype(self.result_dtype(dtype))
            name = self.fused(*avals, **params)
            loop = loop_of_floats(self.kernel, avals, result, params) if is_narrow else None
            for operation in (name, loop):
                if (made := single_operation(operation, avals, dtype=result)) is not None:
                    return made
        is_plain = getattr(self.evaluate, "__func__", None) is Elementwise.evaluate
        return type(self).numpy if is_plain and not is_narrow else None

    def fused(self, *avals: Any, **params: Any) -> str | None:
        return f"{self.name}_{dtype_name(avals[0].dtype)}"

    def lower(self, b: Builder, out: Any, *operands: Value, **params: Any) -> Value:
        # The short form serves the operations of StableHLO whose types are all one.
        uniform = self.stablehlo.startswith("stablehlo.") and operands[0].aval.dtype == out.dtype
        write = b.elementwise if uniform else b.op
        return write(self.stablehlo, out, *expanded(b, out.shape, operands))

    def to_loops(
        self, b: loops.Builder, out: Any, *operands: loops.Value, **params: Any
    ) -> loops.Value:
        is_complex = "c" in [x.dtype.kind for x in operands]
        cost = self.loop_cost(**params)
        if is_complex:
            if self.scalar_of_complex is None:
                b.refuse("complex numbers have no form of loops")
            operation = partial(self.scalar_of_complex, b.writer, **params)
            return b.elementwise(out, operation, *operands, cost=_OF_COMPLEX * cost)
        if type(self).scalar is not Elementwise.scalar:
            operation = partial(self.scalar, b.writer, **params)
        elif self.name in loops.SIGNATURES:
            operation = partial(b.writer.op, self.name)
        else:
            b.refuse("it has no form of loops")
        if not params and type(self).to_loops is Elementwise.to_loops:
            b.always(self, operation, cost)
        return b.elementwise(out, operation, *operands, cost=cost)

    def loop_cost(self, **params: Any) -> int:
        """About how long it takes in a loop program, where an addition takes 1."""
        return loops.cost_of(self.name)

    def scalar(self, w: loops.Writer, *operands: loops.Operand, **params: Any) -> loops.Operand:
        """The operation on scalars, in a loop program."""
        return w.op(self.name, *operands)

    # The same where an operand is complex; without it such numbers are left to XLA.
    scalar_of_complex: Callable[..., loops.Operand] | None = None

    def jvp(self, primals: Sequence[Any], tangents: Sequence[Any], **params: Any) -> Any:
        out = self.bind(*primals, **params)
        terms = [
            broadcast_to(getattr(self, slot)(t, *primals, out, **params), out.shape, out.aval.split)
            for slot, t in zip(self.slots, tangents, strict=False)
            if not is_zero(t)
        ]
        return out, sum_of_tangents(terms, out.aval)

    def batch(
        self, axes: BatchAxes, operands: Sequence[Any], dims: Sequence[Any], **params: Any
    ) -> tuple[Any, int]:
        return self.bind(*aligned_batch(axes, operands, dims), **params), 0


class ComputedWide(Elementwise):
    """Operations of several steps, which compiled programs do in float32 at least."""

    def lower(self, b: Builder, out: Any, *operands: Value, **params: Any) -> Value:
        wide = out.update(dtype=COMPUTED_IN.get(out.dtype, out.dtype))
        inputs = expanded(b, out.shape, operands)
        if wide is out:
            return self.lower_wide(b, out, *inputs)
        result = self.lower_wide(b, wide, *[b.op("stablehlo.convert", wide, v) for v in inputs])
        return b.op("stablehlo.convert", out, result)

    def lower_wide(self, b: Builder, out: Any, *operands: Value) -> Value:
        """The lowering for operands that are not narrow and have the shape of the result."""
        return b.op(self.stablehlo, out, *operands)


class LinearElementwise(Elementwise):
    """Elementwise operations of one operand that are linear in it: define `transpose_x`."""

    linear = True

    def transpose(self, ct: Any, x: Any, **params: Any) -> list[Any]:
        return [self.transpose_x(ct, x, **params)]

    def transpose_x(self, ct: Any, x: Any, **params: Any) -> Any:
        raise AssertionError(f"{self.name} defines transpose_x")


class Predicate(Elementwise):
    """Elementwise operations whose result is boolean; they have no derivative."""

    def result_dtype(self, dtype: Any) -> Any:
        return bool

    def abstract_eval(self, *avals: Any, **params: Any) -> ShapedArray:
        return super().abstract_eval(*avals, **params).strip_weak_type()

    def jvp(self, primals: Sequence[Any], tangents: Sequence[Any], **params: Any) -> Any:
        return without_derivative(self, primals, params)


class Piecewise(Elementwise):
    """Elementwise operations that are piecewise constant: their derivative is zero."""

    def jvp(self, primals: Sequence[Any], tangents: Sequence[Any], **params: Any) -> Any:
        return without_derivative(self, primals, params)


class Bitwise(Piecewise):
    """Operations on the bits of integers; on booleans, the logical ones."""

    accepts = BOOLEAN | INTEGER


def without_derivative(primitive: Primitive, primals: Sequence[Any], params: Any) -> Any:
    """The jvp of an operation that is piecewise constant."""
    out = primitive.bind(*primals, **params)
    return out, Zero(out.aval.to_tangent_aval())


def bilinear_jvp(
    primitive: Primitive, primals: Sequence[Any], tangents: Sequence[Any], params: dict[str, Any]
) -> tuple[Any, Any]:
    """The jvp of a product, linear in each of its two operands: ẋ y + x ẏ."""
    (x, y), (dx, dy) = primals, tangents
    out = primitive.bind(x, y, **params)
    terms = [
        primitive.bind(*operands, **params)
        for t, operands in ((dx, (dx, y)), (dy, (x, dy)))
        if not is_zero(t)
    ]
    return out, sum_of_tangents(terms, out.aval)


def sum_of_tangents(terms: Sequence[Any], aval: Any) -> Any:
    """The sum of tangents, `Zero` if there are none."""
    if not terms:
        return Zero(aval.to_tangent_aval())
    total = terms[0]
    for term in terms[1:]:
        total = add_tangents(total, term)
    return total


def elementwise_shape(name: str, avals: Sequence[Any]) -> Shape:
    """The shape that all operands share, those of rank 0 apart."""
    shapes = {a.shape for a in avals if a.shape}
    if len(shapes) > 1:
        raise ShapeError(_mismatch(name, "shapes", avals, _FIX_SHAPE))
    return shapes.pop() if shapes else ()


def _mismatch(name: str, what: str, avals: Sequence[Any], fix: str) -> str:
    return message(
        f"lax.{name}",
        given=" and ".join(a.str_short(short_dtypes=False) for a in avals),
        expected=f"operands of equal {what}",
        fix=fix,
    )


_FIX_DTYPE = "Convert one operand with astype, or use the jnp function, which promotes dtypes."
_FIX_SHAPE = "Use the jnp function, which broadcasts, or lax.broadcast_in_dim."


def expanded(b: Builder, shape: Sequence[int], operands: Sequence[Value]) -> list[Value]:
    """Operand values with those of rank 0 repeated to `shape`."""
    return [
        v if len(v.aval.shape) == len(shape) else b.broadcast(v, v.aval.update(shape=shape), ())
        for v in operands
    ]


def compare(b: Builder, out: Any, direction: str, x: Value, y: Value, order: str = "") -> Value:
    """``x direction y`` element by element, by the order of the dtype's kind unless given."""
    kind = order or _comparison_type(x.aval.dtype)
    result = b.new_value(out)
    operand = tensor_type(x.aval)
    b.lines.append(
        f"{result.name} = stablehlo.compare {direction}, {x.name}, {y.name}, {kind}{b.noted()} : "
        f"({operand}, {operand}) -> {tensor_type(out)}"
    )
    return result


def _comparison_type(dtype: Any) -> str:
    kind = getattr(dtype, "kind", "u")
    name = getattr(dtype, "name", "key")
    if kind == "b" or kind == "u" or name.startswith(("uint", "key")):
        return "UNSIGNED"
    return "SIGNED" if kind == "i" or name.startswith("int") else "FLOAT"


def aligned_batch(
    axes: BatchAxes, operands: Sequence[Any], dims: Sequence[int | None]
) -> list[Any]:
    """Operands of an elementwise operation with the batch axis in front.

    Operands of rank 0 that are not mapped stay as they are; all others get the batched shape.
    """
    avals = [aval_of(x) for x in operands]
    members = [a if d is None else a.without_axis(d) for a, d in zip(avals, dims, strict=True)]
    whole = max(members, key=lambda a: a.ndim)
    out = []
    for x, dim, member in zip(operands, dims, members, strict=True):
        if dim is None and not member.shape:
            out.append(x)
        elif dim is not None and member.ndim == whole.ndim:
            out.append(moved_axis(x, dim, 0))
        else:
            own = member if dim is None else whole
            batch = own.with_axis(0, axes.size, axes.sharding)
            targets = (0,) if dim is not None else tuple(range(1, batch.ndim))
            out.append(
                broadcast_in_dim_p.bind(
                    x,
                    shape=batch.shape,
                    broadcast_dimensions=targets,
                    sharding=batch.split,
                )
            )
    return out


def unbroadcast(ct: Any, aval: Any) -> Any:
    """The cotangent of an operand that may have been repeated to the result's shape."""
    if ct.aval.shape == aval.shape:
        return ct
    return reduce_sum(ct, tuple(range(ct.aval.ndim)))
