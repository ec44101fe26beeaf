"""`rng_uniform`: random numbers from a generator that the platform keeps, with no key.

Nobody can say which numbers come: each evaluation draws new ones, and those of compiled programs
come from XLA's own generator, or from a key that this has drawn.  Programs whose results are to be
repeated draw with `jax.random`.
"""

from __future__ import annotations

from collections.abc import Mapping
from threading import Lock
from typing import Any, NamedTuple, final

import numpy as np

from ...core import AxisFlow, NoRule, Primitive, ShapedArray, like, not_linear
from ...engines.xla.bits_calls import call_bits, may_call_bits
from ...engines.xla.stablehlo import Builder, Value
from ...util.messages import message
from ..ground.axes import canonical_shape

_DTYPES = ("bfloat16", "float16", "float32", "float64", "int32", "int64", "uint32", "uint64")


@final
class RngUniform(Primitive):
    """Numbers drawn evenly from [a, b).

    Params:
        shape: of the numbers.
    """

    name = "rng_uniform"
    jvp = NoRule("jvp", "what is drawn is no function of the bounds", error=NotImplementedError)
    transpose = not_linear()
    batch = NoRule("batch", "members would share what is drawn", error=NotImplementedError)

    def abstract_eval(self, a: Any, b: Any, *, shape: Any) -> ShapedArray:
        if a.dtype != b.dtype or a.ndim or b.ndim or str(a.dtype) not in _DTYPES:
            raise ValueError(
                message(
                    "lax.rng_uniform",
                    given=f"bounds {a.str_short()} and {b.str_short()}",
                    expected=f"two scalars of one dtype, one of {', '.join(_DTYPES)}",
                    fix="Convert the bounds, and draw once for each pair of them.",
                )
            )
        return like(a, b, shape=shape)

    def axis_flow(self, a: Any, b: Any, *, shape: Any) -> AxisFlow:
        return AxisFlow(((), ()), ((None,) * len(shape),))

    def evaluate(self, a: Any, b: Any, *, shape: Any) -> Any:
        dtype = a.dtype
        if dtype.kind in "iu":
            low, count = int(a), max(int(b) - int(a), 1)
            with _lock:
                drawn = _generator.integers(0, count, shape, np.uint64)
            return (drawn + np.uint64(low % 2**64)).astype(dtype)
        with _lock:
            drawn = _generator.random(shape)
        wide = np.result_type(dtype, np.float32)
        low, high = wide.type(a), wide.type(b)
        return (low + (high - low) * drawn.astype(wide)).astype(dtype)

    def lower(self, b: Builder, out: Any, low: Value, high: Value, *, shape: Any) -> Value:
        bits = _BITS.get(str(out.dtype))
        key = ShapedArray((), np.uint64)
        if bits is None or not may_call_bits(b, key, out.update(dtype=bits.dtype)):
            return _lower_generator(b, out, low, high)
        # XLA's generator takes 20 ns for a number; so it draws a key, and we the numbers.
        words = ShapedArray((2,), np.uint32)
        ends = [b.full(n, words.update(shape=())) for n in (0, 2**32 - 1)]
        drawn = call_bits(
            b, b.bitcast(_lower_generator(b, words, *ends), key), out.update(dtype=bits.dtype)
        )
        return _scaled(b, out, _lower_fractions(b, out, drawn, bits.unused), low, high)


class _Bits(NamedTuple):
    """The bits that a fraction is made of.

    Args:
        dtype: of as many bits as the float.
        unused: more than its significand has.
    """

    dtype: np.dtype[Any]
    unused: int


_BITS: Mapping[str, _Bits] = {
    "float32": _Bits(np.dtype(np.uint32), 9),
    "float64": _Bits(np.dtype(np.uint64), 12),
}


def _lower_generator(b: Builder, out: Any, low: Value, high: Value) -> Value:
    """Numbers of XLA's own generator."""
    sizes = b.constant(np.array(out.shape, np.int64), ShapedArray((out.ndim,), np.int64))
    uniform = "#stablehlo<rng_distribution UNIFORM>"
    return b.op("stablehlo.rng", out, low, high, sizes, rng_distribution=uniform)


def _lower_fractions(b: Builder, out: Any, bits: Value, unused: int) -> Value:
    """Bits as the fraction of a number from 1 to 2, less 1."""
    words = bits.aval
    one = int(np.array(1, out.dtype).view(words.dtype))
    fraction = b.elementwise("stablehlo.shift_right_logical", words, bits, b.full(unused, words))
    number = b.bitcast(b.elementwise("stablehlo.or", words, fraction, b.full(one, words)), out)
    return b.elementwise("stablehlo.subtract", out, number, b.full(1, out))


def _scaled(b: Builder, out: Any, fractions: Value, low: Value, high: Value) -> Value:
    """a + (b - a) u."""
    span = b.elementwise("stablehlo.subtract", low.aval, high, low)
    scaled = b.elementwise("stablehlo.multiply", out, fractions, b.broadcast(span, out, ()))
    return b.elementwise("stablehlo.add", out, b.broadcast(low, out, ()), scaled)


rng_uniform_p = RngUniform()
_generator = np.random.default_rng(0)
_lock = Lock()


def rng_uniform(a: Any, b: Any, shape: Any) -> Any:
    """a + (b - a) u, for numbers u drawn evenly from [0, 1), other ones at each call.

    Rounding may arrive at `b`.  Integers are those from `a` to `b - 1`.

    Prefer `jax.random.uniform`, whose numbers follow from a key on every platform.

    Args:
        a: lower bound, a scalar of dtype bfloat16, float16, float32, float64, or an integer of 32
            or 64 bits.
        b: upper bound, a scalar of the same dtype, larger than `a`.
        shape: of the result.

    Returns:
        Array of that shape and dtype.

    Raises:
        ValueError: the bounds are no scalars of one such dtype.
        NotImplementedError: under `grad` and `vmap`.

    Example:
        >>> import morphax as jax
        >>> jax.lax.rng_uniform(0.0, 1.0, (2, 3)).shape
        (2, 3)
    """
    return rng_uniform_p.bind(a, b, shape=canonical_shape("lax.rng_uniform, argument shape", shape))
