"""Operations whose texts name sizes: each is static where the sizes are numbers, else dynamic.

Lowering rules say what they want by the methods of `SizeVerbs`, which the builder inherits, and
need not know of the two forms.  A symbolic size is a number that the program computes: a function
in a module with symbols takes their values as its first arguments, 64-bit integers.

Reference: the StableHLO specification, and its RFC on dynamism,
https://openxla.org/stablehlo/dynamism.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from itertools import chain
from typing import TYPE_CHECKING, Any, Final, final

import numpy as np

from ... import dtypes
from ...core import Equation, ShapedArray
from ...core.dims import Dim, SymbolicDim, is_static
from ...core.polynomials import Polynomial, symbols_of, value_of
from ...errors import InconclusiveDimensionOperation, UnexpectedDimVar
from ...util.messages import message
from ...util.records import dataclass
from .literals import held_as_key_data, i64_array, i64_matrix, physical_aval, physical_dtype

if TYPE_CHECKING:
    from .stablehlo import Value

SIZE: Final = ShapedArray((), np.int64)
"""The type of sizes that a program computes."""


class SizeVerbs:
    """What the builder of a block writes for operations that name sizes."""

    __slots__ = ()

    if TYPE_CHECKING:
        op: Callable[..., Value]
        region: Callable[..., str]
        ops: Callable[..., list[Value]]
        constant: Callable[[Any, Any], Value]
        remembered: Callable[[Hashable, Callable[[], Value]], Value]
        symbol_values: Callable[[], Mapping[str, Value]]

    def full(self, value: Any, aval: Any) -> Value:
        """An array of one value everywhere."""
        scalar = self.constant(value, aval.update(shape=()))
        return scalar if not aval.shape else self.broadcast(scalar, aval, ())

    def convert(self, x: Value, dtype: Any) -> Value:
        """`x` with its elements converted to `dtype`; `x` itself if they have it."""
        if x.aval.dtype == dtype:
            return x
        return self.op("stablehlo.convert", x.aval.update(dtype=dtype), x)

    def size(self, size: Dim, aval: Any) -> Value:
        """A size as a scalar of the program."""
        if type(size) is not SymbolicDim:
            return self.constant(size, aval)
        value = self.remembered(size, lambda: self._computed(size.terms))
        return value if aval.dtype == SIZE.dtype else self.op("stablehlo.convert", aval, value)

    def _computed(self, terms: Polynomial) -> Value:
        known = self.symbol_values()
        for symbol in symbols_of(terms):
            if symbol.name not in known:
                raise UnexpectedDimVar(_unexpected(symbol.name, list(known)))
        symbols = {name: _Number(self, v) for name, v in known.items()}
        return value_of(
            terms,
            symbols,
            lambda n: _Number(self, self.constant(n, SIZE)),
            lambda n: n.at_least(_Number(self, self.constant(0, SIZE))),
        ).value

    def sizes(self, sizes: Sequence[Dim], dtype: Any = np.int64) -> Value:
        """A vector of sizes."""
        vector = ShapedArray((len(sizes),), dtype)
        if is_static(sizes):
            return self.constant(np.array(sizes, dtype), vector)
        key = "sizes", tuple(sizes), dtype
        return self.remembered(
            key, lambda: self._vector([self.size(n, vector.update(shape=())) for n in sizes])
        )

    def _vector(self, numbers: Sequence[Value]) -> Value:
        """A vector of scalars."""
        scalar = numbers[0].aval
        parts = [self.op("stablehlo.reshape", scalar.update(shape=(1,)), x) for x in numbers]
        vector = scalar.update(shape=(len(numbers),))
        return self.op("stablehlo.concatenate", vector, *parts, dimension="0 : i64")

    def reshape(self, x: Value, out: Any) -> Value:
        """The elements of `x` in the shape of `out`."""
        if out.is_static:
            return self.op("stablehlo.reshape", out, x)
        return self.op("stablehlo.dynamic_reshape", out, x, self.sizes(physical_aval(out).shape))

    def transpose(self, x: Value, out: Any, permutation: Sequence[int]) -> Value:
        """The axes of `x` in another order."""
        return self.op("stablehlo.transpose", out, x, permutation=i64_array(permutation))

    def broadcast(self, x: Value, out: Any, dimensions: Sequence[int]) -> Value:
        """Broadcast `x`, whose axes become the axes `dimensions` of the result."""
        if held_as_key_data(out):
            dimensions = [*dimensions, len(out.shape)]
        axes = i64_array(dimensions)
        if out.is_static:
            return self.op("stablehlo.broadcast_in_dim", out, x, broadcast_dimensions=axes)
        shape = self.sizes(physical_aval(out).shape)
        return self.op(
            "stablehlo.dynamic_broadcast_in_dim", out, x, shape, broadcast_dimensions=axes
        )

    def iota(self, out: Any, dimension: int) -> Value:
        """0, 1, 2, … along an axis."""
        axis = f"{dimension} : i64"
        if out.is_static:
            return self.op("stablehlo.iota", out, iota_dimension=axis)
        shape = self.sizes(out.shape)
        return self.op("stablehlo.dynamic_iota", out, shape, iota_dimension=axis)

    def slice(
        self,
        x: Value,
        out: Any,
        starts: Sequence[Dim],
        limits: Sequence[Dim],
        strides: Sequence[int] | None = None,
    ) -> Value:
        """The elements ``start, start + stride, …`` below `limit`, along each axis."""
        steps = strides or (1,) * len(starts)
        # A limit that is not a number makes a start or a size that is none.
        if out.is_static and is_static(starts):
            return self.op(
                "stablehlo.slice",
                out,
                x,
                start_indices=i64_array(starts),
                limit_indices=i64_array(limits),
                strides=i64_array(steps),
            )
        bounds = [self.sizes(values) for values in (starts, limits, steps)]
        return self.op("stablehlo.real_dynamic_slice", out, x, *bounds)

    def slice_along(
        self, x: Value, axis: int, start: Dim, stop: Dim, step: int = 1, out: Any = None
    ) -> Value:
        """A slice of `x` along one axis."""
        shape = x.aval.shape
        starts, limits, strides = [0] * len(shape), list(shape), [1] * len(shape)
        starts[axis], limits[axis], strides[axis] = start, stop, step
        if out is None:
            sizes = list(shape)
            sizes[axis] = -(-(stop - start) // step)
            out = x.aval.update(shape=sizes)
        return self.slice(x, out, starts, limits, strides)

    def pad(
        self, x: Value, out: Any, padding_value: Value, config: Sequence[tuple[Dim, Dim, int]]
    ) -> Value:
        """`x` with padding ``(low, high, interior)`` along each axis."""
        low, high, interior = zip(*config, strict=True) if config else ((), (), ())
        if is_static((*low, *high, *interior)):
            return self.op(
                "stablehlo.pad",
                out,
                x,
                padding_value,
                edge_padding_low=i64_array(low),
                edge_padding_high=i64_array(high),
                interior_padding=i64_array(interior),
            )
        widths = [self.sizes(values) for values in (low, high, interior)]
        return self.op("stablehlo.dynamic_pad", out, x, padding_value, *widths)

    def dynamic_slice(
        self, x: Value, out: Any, starts: Sequence[Value], slice_sizes: Sequence[Dim]
    ) -> Value:
        """The block of `x` of a given size that starts at computed places, moved inside."""
        if is_static(slice_sizes):
            sizes = i64_array(slice_sizes)
            return self.op("stablehlo.dynamic_slice", out, x, *starts, slice_sizes=sizes)
        vector = SIZE.update(shape=(len(starts),))
        asked = self._vector([self.op("stablehlo.convert", SIZE, start) for start in starts])
        room = [n - size for n, size in zip(x.aval.shape, slice_sizes, strict=True)]
        ends = (self.sizes((0,) * len(room)), asked, self.sizes(room))
        first = self.op("stablehlo.clamp", vector, *ends)
        limits = self.op("stablehlo.add", vector, first, self.sizes(slice_sizes))
        steps = self.sizes((1,) * len(room))
        return self.op("stablehlo.real_dynamic_slice", out, x, first, limits, steps)

    def gather(
        self, x: Value, out: Any, indices: Value, slice_sizes: Sequence[Dim], **attributes: str
    ) -> Value:
        """Windows of `x` of a given size, from the places that indices name."""
        if is_static(slice_sizes):
            sizes = i64_array(slice_sizes)
            return self.op("stablehlo.gather", out, x, indices, slice_sizes=sizes, **attributes)
        sizes_value = self.sizes(slice_sizes)
        return self.op("stablehlo.dynamic_gather", out, x, indices, sizes_value, **attributes)

    def convolution(
        self, x: Value, y: Value, out: Any, padding: Sequence[tuple[Dim, Dim]], **attributes: str
    ) -> Value:
        """A convolution of `x` and `y` with ``(low, high)`` padding along spatial axes."""
        if is_static(chain.from_iterable(padding)):
            pads = i64_matrix(padding)
            return self.op("stablehlo.convolution", out, x, y, padding=pads, **attributes)
        pads_value = self._pairs(padding)
        return self.op("stablehlo.dynamic_conv", out, x, y, pads_value, **attributes)

    def random_bits(self, state: Value, out: Any, algorithm: str) -> list[Value]:
        """The state after some bits were drawn, and the bits."""
        outs, name = (state.aval, out), f"#stablehlo<rng_algorithm {algorithm}>"
        if out.is_static:
            return self.ops("stablehlo.rng_bit_generator", outs, state, rng_algorithm=name)
        return self.ops(
            "stablehlo.custom_call",
            outs,
            state,
            self.sizes(out.shape),
            call_target_name='"stablehlo.dynamic_rng_bit_generator"',
            rng_algorithm=name,
        )

    def bitcast(self, x: Value, out: Any) -> Value:
        """The bits of `x` read as another dtype; along the last axis if elements are cut or joined.

        The pass that makes shapes static does not know this operation if it is cut or joined.
        """
        wide, narrow = (_bits(v) for v in (x.aval, out))
        if wide == narrow or (x.aval.is_static and out.is_static):
            return self.op("stablehlo.bitcast_convert", out, x)
        if wide < narrow:
            return self._joined(x, out, wide, f"uint{narrow}")
        parts = out.update(dtype=f"uint{wide}", weak_type=False)
        whole = self.bitcast(x, parts.update(shape=x.aval.shape))
        repeated = self.broadcast(whole, parts, range(len(x.aval.shape)))
        places = self._bit_places(parts, narrow)
        shifted = self.op("stablehlo.shift_right_logical", parts, repeated, places)
        cut = self.op("stablehlo.convert", parts.update(dtype=f"uint{narrow}"), shifted)
        return self.bitcast(cut, out)

    def _joined(self, x: Value, out: Any, bits: int, dtype: str) -> Value:
        digits = x.aval.update(dtype=f"uint{bits}", weak_type=False)
        parts, scalar = digits.update(dtype=dtype), digits.update(dtype=dtype, shape=())
        wide = self.op("stablehlo.convert", parts, self.bitcast(x, digits))
        shifted = self.op("stablehlo.shift_left", parts, wide, self._bit_places(parts, bits))
        body = self.region(
            (scalar, scalar), lambda inner, *pair: [inner.op("stablehlo.or", scalar, *pair)]
        )
        last = i64_array([len(parts.shape) - 1])
        whole = out.update(dtype=dtype, weak_type=False)
        zero = self.constant(0, scalar)
        sums = self.op("stablehlo.reduce", whole, shifted, zero, regions=[body], dimensions=last)
        return self.bitcast(sums, out)

    def _bit_places(self, aval: Any, bits: int) -> Value:
        """Where the parts of an element, of so many bits each, begin in it."""
        width = self.broadcast(self.constant(bits, aval.update(shape=())), aval, ())
        return self.op("stablehlo.multiply", aval, self.iota(aval, len(aval.shape) - 1), width)

    def _pairs(self, rows: Sequence[tuple[Dim, Dim]]) -> Value:
        flat = self.sizes(tuple(chain.from_iterable(rows)))
        return self.op("stablehlo.reshape", SIZE.update(shape=(len(rows), 2)), flat)


def _unexpected(name: str, known: Sequence[str]) -> str:
    return message(
        "lowering a symbolic size",
        given=f"the symbol {name}, which is in the shape of no argument",
        expected=f"symbols among {', '.join(known) or 'none: all shapes of arguments are known'}",
        fix="Pass an argument with an axis of that size.",
    )


def check_numbers(eqn: Equation) -> None:
    """Raise if a size of this operation, which takes none, is a symbol."""
    avals: list[Any] = [atom.aval for atom in (*eqn.invars, *eqn.outvars)]
    if all([is_static(aval.shape) for aval in avals]):
        return
    raise InconclusiveDimensionOperation(
        message(
            f"compiling {eqn.primitive.name}",
            given=" and ".join([str(aval) for aval in avals]),
            expected="sizes that are numbers: the operation is a call of a library",
            fix="Compile the program for each size.",
        )
    )


def _bits(aval: Any) -> int:
    """How many bits an element has."""
    return dtypes.itemsize_bits(physical_dtype(aval.dtype))


@final
@dataclass(frozen=True, slots=True)
class _Number:
    """A size that is being computed, with the operators of a polynomial."""

    b: SizeVerbs
    value: Value

    def __add__(self, other: _Number) -> _Number:
        return self._with("add", other)

    def __mul__(self, other: _Number) -> _Number:
        return self._with("multiply", other)

    def __floordiv__(self, other: _Number) -> _Number:
        # StableHLO rounds towards zero, and gives the remainder the sign of the dividend.
        rest = self._with("remainder", other)._with("add", other)._with("remainder", other)
        return self._with("subtract", rest)._with("divide", other)

    def at_least(self, other: _Number) -> _Number:
        """The larger of two."""
        return self._with("maximum", other)

    def _with(self, name: str, other: _Number) -> _Number:
        return _Number(self.b, self.b.op(f"stablehlo.{name}", SIZE, self.value, other.value))
