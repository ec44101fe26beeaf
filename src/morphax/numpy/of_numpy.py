"""NumPy's own ways to the numbers of functions whose programs have loops, or suit the compiler.

Each makes, for the avals of the results and of the operands, a function of the operands in NumPy;
or None, where the program is to do it.  See `engines.reference.replay`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .. import dtypes, lax
from ..engines.reference.fusion import bits_of, single_operation, steps_in_one
from ..util.compiled import part
from ..util.threads import shared

native: Any = part("sequential")

_kernels: Any = part("kernels")
_NATIVE_DTYPES = "fdFD"
_SEARCHED = "fdil"
# Fewer values NumPy has found before native code is told of them.
_WORTH_BLOCKS = 256
# Fewer numbers are clipped with what else the program does, in one call.
_MANY = 1024


def clip_of_numpy(out: Any, arr: Any, *limits: Any, **_: Any) -> Callable[..., Any] | None:
    """Of many numbers and two limits: one pass, where maximum and minimum are two."""
    dtype = out.dtype
    if arr.size <= _MANY or dtype != arr.dtype or dtype not in (np.float32, np.float64):
        return None
    if len(limits) != 2 or any([limit.ndim for limit in limits]):
        return None

    avals = arr, limits[0].update(dtype=dtype)
    larger, smaller = [p.kernel(*avals) or p.evaluate for p in (lax.max_p, lax.min_p)]

    def clip(x: Any, low: Any, high: Any) -> Any:
        low, high = low.astype(dtype), high.astype(dtype)
        if low and high:
            return np.clip(x, low, high)
        # To NumPy zeros of both signs are the same.
        return smaller(larger(x, low), high)

    return clip


def outer_of_numpy(result: Any, a: Any, b: Any, **_: Any) -> Callable[..., Any] | None:
    """Row by row, where NumPy's loop is called for each."""
    is_known = a.dtype == b.dtype == result.dtype and result.dtype.name in ("float32", "float64")
    return getattr(_kernels, "outer", None) if is_known else None


def hypot_of_numpy(out: Any, x: Any, y: Any) -> Callable[..., Any] | None:
    """One step, where the program has 25."""
    dtype = out.dtype
    # Numbers are converted first, as the program does it.
    avals = [v if v.ndim else v.update(dtype=dtype) for v in (x, y)]
    if {v.dtype for v in avals} != {dtype} or out.shape not in (x.shape, y.shape):
        return None
    made = single_operation(f"hypot_{dtype}", avals)
    if made is None or x.dtype == dtype == y.dtype:
        return made
    return lambda x, y: made(x.astype(dtype, copy=False), y.astype(dtype, copy=False))


def isclose_of_numpy(
    out: Any,
    a: Any,
    b: Any,
    *tolerances: Any,
    rtol: Any = 1e-05,
    atol: Any = 1e-08,
    equal_nan: bool = False,
) -> Callable[..., Any] | None:
    """Two steps, where the program has nine."""
    dtype = a.dtype
    known = a.shape == b.shape and dtype == b.dtype and dtype.name in ("float32", "float64")
    if equal_nan or tolerances or not known or not {type(rtol), type(atol)} <= {int, float}:
        return None
    # Operands and constants are numbers 0 to 3.
    steps = [
        (f"tolerance_{dtype}", (1, 2, 3), dtype),
        (f"close_{dtype}", (0, 1, 4), out.dtype),
    ]
    constants = [bits_of(np.asarray(x, dtype)) for x in (rtol, atol)]
    return steps_in_one(steps, (a, b), constants)


def nan_to_num_of_numpy(
    out: Any, x: Any, copy: bool = True, nan: Any = 0.0, posinf: Any = None, neginf: Any = None
) -> Callable[..., Any] | None:
    """One step where limits are opposites, and two of others; the program has nine."""
    dtype = x.dtype
    limits = np.finfo(dtype) if dtype.name in ("float32", "float64") else None
    if limits is None or not {type(v) for v in (nan, posinf, neginf)} <= {int, float, type(None)}:
        return None
    posinf, neginf = (
        limits.max if posinf is None else posinf,
        limits.min if neginf is None else neginf,
    )
    with np.errstate(over="ignore"):
        numbers = [np.asarray(v, dtype) for v in (nan, posinf, neginf)]
    constants = [bits_of(v) for v in numbers]
    # The operand and constants are numbers 0 to 3.
    if bits_of(np.asarray(-numbers[1])) == constants[2]:
        return steps_in_one([(f"finite_{dtype}", (0, 1, 2), dtype)], (x,), constants[:2])
    steps = [(f"bounded_{dtype}", (0, 2, 3), dtype), (f"number_{dtype}", (0, 1, 4), dtype)]
    return steps_in_one(steps, (x,), constants)


def gradient_of_numpy(*avals: Any, axis: Any = None, edge_order: Any = None) -> Any:
    """Slopes of a vector at distance 1 in place, where the program joins them to the ends.

    Distances come without a name, and are taken for an axis here.
    """
    is_vector = len(avals) == 2 and avals[1].ndim == 1 and avals[0].dtype == avals[1].dtype
    if not is_vector or axis is not None or edge_order is not None:
        return None
    dtype = avals[0].dtype
    if dtype.name not in ("float32", "float64"):
        return None

    def gradient(f: Any) -> Any:
        slopes = np.empty(f.shape, dtype)
        inside = slopes[1:-1]
        np.subtract(f[2:], f[:-2], inside)
        # A half, for to divide by 2 takes longer and gives the same.
        np.multiply(inside, dtype.type(0.5), inside)
        np.subtract(f[1:2], f[:1], slopes[:1])
        np.subtract(f[-1:], f[-2:-1], slopes[-1:])
        return slopes

    return gradient


def bitwise_count_of_numpy(out: Any, x: Any) -> Callable[..., Any] | None:
    """Without the magnitudes in between."""
    is_known = _kernels is not None and x.dtype.name in ("int32", "int64")
    return _kernels.bit_counts if is_known else None


def tril_of_numpy(out: Any, m: Any, k: int = 0) -> Callable[..., Any] | None:
    """Reads the triangle alone."""
    return _triangle(m, k, True)


def triu_of_numpy(out: Any, m: Any, k: int = 0) -> Callable[..., Any] | None:
    """The same of the other side."""
    return _triangle(m, k, False)


def _triangle(m: Any, k: int, is_lower: bool) -> Callable[..., Any] | None:
    if _kernels is None or not isinstance(m.dtype, np.dtype):
        return None
    number = max(-(2**40), min(int(k), 2**40))
    return lambda m: _kernels.triangle(m, number, is_lower)


def region_of_numpy(
    out: Any, x: Any, values: Any, lows: tuple[int, ...], steps: tuple[int, ...]
) -> Callable[..., Any] | None:
    """Writes the region alone, without the places of its elements."""
    if out.dtype != values.dtype or not isinstance(out.dtype, np.dtype):
        return None
    each = zip(lows, steps, values.shape, strict=True)
    region = tuple([slice(low, low + step * (n - 1) + 1, step) for low, step, n in each])

    def written(x: Any, values: Any) -> Any:
        result = x.copy()
        result[region] = values
        return result

    return written


def integer_power_of_numpy(out: Any, x: Any, y: Any) -> Callable[..., Any]:
    """One step, or NumPy's loop: bits of exponents count, so they are taken for unsigned."""
    dtype = out.dtype
    if x.dtype == y.dtype == dtype and out.shape in (x.shape, y.shape):
        made = single_operation(f"integer_power_{dtype}", (x, y))
        if made is not None:
            return made
    working = f"u{dtype.name.removeprefix('u')}"
    return lambda x, y: np.power(*[v.astype(dtype).view(working) for v in (x, y)]).view(dtype)


def floor_divide_of_numpy(out: Any, x: Any, y: Any) -> Callable[..., Any] | None:
    """Of integers by one number: NumPy multiplies by its reciprocal, and rounds down at once."""
    dtype = out.dtype
    if out.weak_type or dtype != x.dtype or dtype.kind not in "iu" or y.ndim or not x.ndim:
        return None
    quotients = shared(np.floor_divide, (x, x))
    # The quotients by 0 are those of the program, for 0 and for other numbers.
    of_zero, of_others = np.asarray([-1, -2 if dtype.kind == "i" else -1]).astype(dtype)

    def floor_divide(x: Any, y: Any) -> Any:
        y = y.astype(dtype)
        return quotients(x, y) if y else np.where(x == 0, of_zero, of_others)

    return floor_divide


def remainder_of_numpy(out: Any, x: Any, y: Any) -> Callable[..., Any] | None:
    """What such quotients leave; nothing of those by 0."""
    divided = floor_divide_of_numpy(out, x, y)
    if divided is None:
        return None
    product, difference = [shared(f, (x, x)) for f in (np.multiply, np.subtract)]

    def remainder(x: Any, y: Any) -> Any:
        y = y.astype(x.dtype)
        return difference(x, product(divided(x, y), y)) if y else np.zeros_like(x)

    return remainder


def diag_of_numpy(out: Any, v: Any, k: int = 0) -> Callable[..., Any]:
    """Writes the diagonal alone."""
    if v.ndim == 2:
        return lambda v: np.diagonal(v, k).copy()
    shape, step = out.shape, out.shape[-1] + 1
    start = k if k >= 0 else -k * out.shape[-1]

    def diag(v: Any) -> Any:
        # Keys are numbers in the memory of the host.
        matrix = np.zeros(shape, v.dtype)
        matrix.ravel()[start::step][: v.size] = v
        return matrix

    return diag


def bincount_of_numpy(out: Any, x: Any, length: int) -> Callable[..., Any]:
    """Counts without sums at places one by one."""

    def counts(x: Any) -> Any:
        # Numbers beyond the last one are counted behind it, and left out.
        places = np.minimum(np.maximum(x, 0), min(length, np.iinfo(x.dtype).max))
        found = np.bincount(places.astype(np.intp, copy=False), minlength=length)
        return found[:length].astype(out.dtype)

    return counts


def searchsorted_of_numpy(
    out: Any, a: Any, v: Any, side: str = "left", sorter: None = None, method: str = "scan"
) -> Callable[..., Any] | None:
    """A bisection for each value; of complex numbers the orders differ."""
    common = np.dtype(dtypes.result_type(a, v))
    if common.kind == "c":
        return None  # with a NaN in one part the order is another
    # NumPy's comparisons of narrow floats are slow.
    working = common if common.kind in "bui" or common.itemsize > 2 else np.dtype(np.float32)

    by_native = (
        _kernels is not None
        and working.char in _SEARCHED
        and out.dtype == np.int32
        and a.size > 0
        and v.size >= _WORTH_BLOCKS
    )

    def found(a: Any, v: Any) -> Any:
        a, v = [x.astype(common, copy=False).astype(working, copy=False) for x in (a, v)]
        if not by_native:
            return np.asarray(a.searchsorted(v, side)).astype(out.dtype, copy=False)
        places = np.empty(v.shape, np.int32)
        _kernels.places(np.ascontiguousarray(a), v.ravel(), side == "right", places.reshape(-1))
        return places

    return found


def digitize_of_numpy(
    out: Any, x: Any, bins: Any, right: bool = False, method: str | None = None
) -> Callable[..., Any] | None:
    """The same, for edges that may descend."""
    found = searchsorted_of_numpy(out, bins, x, "left" if right else "right")
    size = bins.shape[0]
    if found is None or size < 2:
        return None if found is None else lambda x, bins: found(bins, x)

    def digitize(x: Any, bins: Any) -> Any:
        first, last = bins[0], bins[-1]
        if last >= first or last != last:
            return found(bins, x)
        return size - found(bins[::-1], x)

    return digitize


def interp_of_numpy(
    out: Any, x: Any, xp: Any, fp: Any, left: Any = None, right: Any = None, period: Any = None
) -> Callable[..., Any] | None:
    """Slopes once for each piece of the line, of numbers of one dtype."""
    dtype = out.dtype
    is_known = x.dtype == xp.dtype == fp.dtype == dtype and dtype.name in ("float32", "float64")
    given = left is None and right is None and period is None
    if _kernels is None or not is_known or not given or xp.size < 2:
        return None

    def interp(x: Any, xp: Any, fp: Any) -> Any:
        result = np.empty(x.shape, dtype)
        points = [np.ascontiguousarray(v) for v in (xp, fp)]
        _kernels.interpolated(*points, np.ascontiguousarray(x).ravel(), result.reshape(-1))
        return result

    return interp


def poly_of_numpy(out: Any, zeros: Any) -> Callable[..., Any] | None:
    """Factor by factor, in place."""
    dtype = out.dtype
    if native is None or zeros.ndim > 1 or not zeros.size or dtype.char not in _NATIVE_DTYPES:
        return None

    def poly(zeros: Any) -> Any:
        coefficients = np.empty(out.shape, dtype)
        native.from_zeros(np.ascontiguousarray(zeros, dtype), coefficients)
        return coefficients

    return poly


def polyval_of_numpy(out: Any, p: Any, x: Any, unroll: int = 16) -> Callable[..., Any] | None:
    """Four powers at once, of which only the last leaves the registers."""
    dtype = out.dtype
    is_known = p.dtype == x.dtype == dtype and dtype.name in ("float32", "float64")
    if native is None or not is_known or p.ndim != 1 or not 0 < p.size <= unroll:
        return None

    def polyval(p: Any, x: Any) -> Any:
        values = np.empty(out.shape, dtype)
        places = np.ascontiguousarray(x).ravel()
        native.polynomial(np.ascontiguousarray(p), places, values.reshape(-1))
        return values

    return polyval


def polydiv_of_numpy(
    quotient: Any, remainder: Any, u: Any, v: Any, trim_leading_zeros: bool = False
) -> Callable[..., Any] | None:
    """Power by power, in place."""
    dtype, count = quotient.dtype, u.size - v.size + 1
    if native is None or count < 1 or dtype.char not in _NATIVE_DTYPES:
        return None

    def polydiv(u: Any, v: Any) -> tuple[Any, Any]:
        factors, rest = np.empty(count, dtype), np.array(u, dtype, ndmin=1)
        native.divided(np.ascontiguousarray(v, dtype), factors, rest)
        return factors, rest

    return polydiv


# Functions whose segments NumPy combines to the same numbers, and the kinds of these.
_COMBINED = {
    **dict.fromkeys(("add", "subtract", "multiply"), "iufc"),
    **dict.fromkeys(("maximum", "minimum"), "biuf"),
    **dict.fromkeys(("logical_and", "logical_or", "logical_xor"), "b"),
    **dict.fromkeys(("bitwise_and", "bitwise_or", "bitwise_xor"), "biu"),
}


def segments_of_numpy(
    name: str, check: Callable[[Any, int], None], out: Any, axis: int
) -> Callable[..., Any] | None:
    """Segments of an axis combined by a universal function.

    Args:
        name: of the function.
        check: refuses places outside of an axis of this size.
        out: the result.
        axis: to go along.
    """
    dtype = out.dtype
    if not isinstance(dtype, np.dtype) or dtype.kind not in _COMBINED.get(name, ""):
        return None
    combine = getattr(np, name).reduceat

    def combined(a: Any, places: Any) -> Any:
        try:
            return combine(a.astype(dtype, copy=False), places.astype(np.intp), axis, dtype)
        except IndexError:
            check(places, a.shape[axis])
            raise

    return combined
