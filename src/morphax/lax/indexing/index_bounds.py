"""What lies outside the array: bounds of windows, and what fills those that leave it.

A start is compared with the largest one that keeps the window inside, in the dtype of the indices.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ... import dtypes
from ...core.dims import min_dim
from ...dtypes.numbers import as_bits
from ...engines import loops
from ...engines.xla.stablehlo import Builder, Value
from ...runtime.opaque import is_opaque
from ...util.messages import described, message
from ..ground.dimension_numbers import GatherScatterMode
from ..ground.families import compare
from ..ground.sums import reduce_with


def clamped_indices(
    b: Builder, x: Any, indices: Value, numbers: Any, sizes: Sequence[int]
) -> Value:
    """Indices moved to where windows lie inside the operand."""
    aval = indices.aval
    low = b.constant(0, aval.update(shape=()))
    high = largest_starts(b, x, indices, numbers, sizes)
    return b.op("stablehlo.clamp", aval, b.broadcast(low, aval, ()), indices, high)


def largest_starts(b: Builder, x: Any, indices: Value, numbers: Any, sizes: Sequence[int]) -> Value:
    """The largest start of a window along each indexed axis, in the shape and dtype of indices."""
    aval = indices.aval
    bound = int(dtypes.iinfo(aval.dtype).max)
    limits = [min_dim(x.shape[d] - sizes[d], bound) for d in numbers[2]]
    return b.broadcast(b.sizes(limits, aval.dtype), aval, (len(aval.shape) - 1,))


def dimensions_text(kind: str, names: Sequence[str], numbers: Any, indices: Value) -> str:
    """The attribute that holds dimension numbers."""
    fields = [f"{name} = {list(axes)}" for name, axes in zip(names, numbers, strict=True) if axes]
    fields.append(f"index_vector_dim = {len(indices.aval.shape) - 1}")
    return f"#stablehlo.{kind}<{', '.join(fields)}>"


def windows_inside(
    b: Builder, x: Any, indices: Value, numbers: Any, slice_sizes: Sequence[int]
) -> Value:
    """For each window, whether it lies in the operand."""
    tests = indices.aval.update(dtype=bool, weak_type=False)
    high = largest_starts(b, x, indices, numbers, slice_sizes)
    not_low = compare(b, tests, "GE", indices, b.full(0, indices.aval))
    not_high = compare(b, tests, "LE", indices, high)
    both = b.elementwise("stablehlo.and", tests, not_low, not_high)
    last = len(tests.shape) - 1
    batch = tests.update(shape=tests.shape[:-1])
    return reduce_with(b, "stablehlo.and", True, batch, both, (last,))


def gathered_in_loops(
    b: loops.Builder,
    out: Any,
    x: loops.Value,
    indices: loops.Value,
    *,
    dimension_numbers: Any,
    slice_sizes: Any,
    mode: GatherScatterMode,
    fill_value: Any,
    **_: Any,
) -> loops.Value:
    """A gather as a loop program."""
    fill = None
    if mode is GatherScatterMode.FILL_OR_DROP:
        fill = b.writer.number(filler(fill_value, x.dtype), x.dtype)
    windows = loops.indexing.Windows.of(dimension_numbers, slice_sizes)
    return loops.indexing.gathered(b, out, x, indices, windows, fill)


def filler(fill_value: Any, dtype: Any) -> Any:
    """The fill value as a NumPy scalar."""
    return np.asarray(fill_value).astype(dtype)[()]


def default_fill_value(dtype: Any) -> Any:
    """What stands for elements that do not exist: NaN, or the integer farthest from zero."""
    if is_opaque(dtype):
        return default_fill_value(np.dtype(np.uint32))
    if isinstance(dtype, dtypes.ExtendedDType):
        return default_fill_value(dtype.physical_dtype)
    if dtypes.issubdtype(dtype, np.inexact):
        return np.nan
    if dtype.kind == "b":
        return True
    info = dtypes.iinfo(dtype)
    return int(info.min) or int(info.max)


def fill_parameter(fill_value: Any, dtype: Any) -> Any:
    """A fill value as a parameter: a Python or NumPy scalar, and of NaN always the same one."""
    if fill_value is None:
        return default_fill_value(dtype)
    if type(fill_value) is int:
        fill_value = as_bits("lax.gather, argument fill_value", fill_value, dtype)
    value = fill_value if np.isscalar(fill_value) else np.asarray(fill_value)[()]
    if isinstance(value, (str, bytes)) or np.ndim(value):
        raise ValueError(
            message(
                "lax.gather, argument fill_value",
                given=described(fill_value),
                expected="one number",
                fix="Pass a scalar; to fill with several, choose with jnp.where.",
            )
        )
    return np.nan if isinstance(value, float) and value != value else value


def is_its_own_sum(fill_value: Any) -> bool:
    """Whether a parameter fills nothing, or with zero or NaN: what several devices do adds up."""
    return fill_value is None or bool(fill_value == 0) or bool(fill_value != fill_value)
