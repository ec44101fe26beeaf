"""Methods of universal functions for any function of two operands: from element to element.

Nothing is assumed of ∘, so elements are combined one after the other, from left to right, in a
`scan`.  Segments of known places are laid end to end first, which makes one scan over all of them;
for places known only when the program runs, one over the axis for all segments together.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from .. import dtypes, lax
from ..core import ShapedArray, aval_of, stage_closed
from ..errors import ShapeError
from ..lax.elementwise.convert import convert
from ..lax.ground.dimension_numbers import GatherScatterMode
from ..util.messages import message
from .axes import canonical_axes, canonical_axis
from .index_plan import known_values
from .indexing import take_index
from .operands import BOOL, as_array
from .selection import where as where_
from .shaping import broadcast_to, moveaxis, ravel


class Fold(NamedTuple):
    """How elements are combined.

    Args:
        name: of the function, in text.
        function: ∘, of arrays that broadcast together.
        nin, nout: how many operands and results it has.
        identity: e with e ∘ x = x, or `None`.
    """

    name: str
    function: Callable[..., Any]
    nin: int
    nout: int
    identity: Any

    def reduce(
        self, a: Any, *, axis: Any, dtype: Any, keepdims: bool, initial: Any, where: Any
    ) -> Any:
        """((a₀ ∘ a₁) ∘ …): see `ufunc.reduce`."""
        check_mask(self.name, where)
        start = self.identity if initial is None else initial
        if start is None and where is not None:
            raise ValueError(self._no_start("where"))
        axes = canonical_axes(f"{self.name}.reduce", axis, a.aval.ndim)
        shape = a.aval.shape
        rows = leading(self._elements(a, dtype), axes)
        if where is not None:
            where = leading(broadcast_to(where, shape), axes)
        if start is None:
            if not rows.aval.shape[0]:
                raise ValueError(self._no_start("no elements"))
            start, rows = _row(rows, 0), lax.slice_in_dim(rows, 1, None)
        kept = rows.aval.shape[1:]
        start = broadcast_to(convert(as_array(self.name, start), rows.aval.dtype), kept)

        def step(total: Any, row: Any) -> tuple[Any, None]:
            element, takes_part = row
            combined = self._combined(total, element)
            return combined if takes_part is None else where_(takes_part, combined, total), None

        result, _ = lax.scan(step, start, (rows, where))
        return lax.expand_dims(result, axes) if keepdims and axes else result

    def accumulate(self, a: Any, *, axis: Any, dtype: Any) -> Any:
        """a₀, a₀ ∘ a₁, …: see `ufunc.accumulate`."""
        place = single_axis(f"{self.name}.accumulate", axis, a.aval.ndim)
        rows = moveaxis(self._elements(a, dtype), place, 0)
        if not rows.aval.shape[0]:
            return moveaxis(rows, 0, place)

        def step(total: Any, row: Any) -> tuple[Any, Any]:
            total = self._combined(total, row)
            return total, total

        first = _row(rows, 0)
        _, rest = lax.scan(step, first, lax.slice_in_dim(rows, 1, None))
        return moveaxis(lax.concatenate([lax.expand_dims(first, (0,)), rest], 0), 0, place)

    def outer(self, a: Any, b: Any) -> Any:
        """∘ of all pairs: see `ufunc.outer`."""
        ndim, more = a.aval.ndim, aval_of(b).ndim
        return self.function(lax.expand_dims(a, range(ndim, ndim + more)) if more else a, b)

    def at(self, a: Any, indices: Any, *b: Any) -> Any:
        """`a` after a[i] = a[i] ∘ b for one place after the other: see `ufunc.at`."""
        size, shape = a.aval.size, a.aval.shape
        numbers = lax.reshape(lax.iota(np.int32, size), shape)
        places = take_index(numbers, indices, GatherScatterMode.FILL_OR_DROP, size)
        given = [broadcast_to(as_array(f"{self.name}.at", v), places.aval.shape) for v in b]
        target = self._result_dtype(a, *given)

        def step(elements: Any, update: Any) -> tuple[Any, None]:
            place, *values = update
            old = lax.dynamic_index_in_dim(elements, place, 0, keepdims=False)
            new = convert(self.function(old, *values), target)
            return elements.at[place].set(new), None

        result, _ = lax.scan(step, ravel(convert(a, target)), tuple(map(ravel, (places, *given))))
        return lax.reshape(result, shape)

    def reduceat(self, a: Any, indices: Any, *, axis: Any, dtype: Any) -> Any:
        """∘ over segments that begin at `indices`: see `ufunc.reduceat`."""
        place = single_axis(f"{self.name}.reduceat", axis, a.aval.ndim)
        starts = as_array(f"{self.name}.reduceat", indices)
        if starts.aval.ndim != 1 or not dtypes.issubdtype(starts.aval.dtype, np.integer):
            raise (TypeError if starts.aval.ndim == 1 else ShapeError)(
                message(
                    f"jnp.{self.name}.reduceat, argument indices",
                    given=f"{starts.aval}",
                    expected="a vector of integers",
                    fix="Give the places where segments begin.",
                )
            )
        rows = moveaxis(self._elements(a, dtype), place, 0)
        known = known_values(starts)
        if known is None:
            return moveaxis(self._over_places(rows, starts), 0, place)
        return moveaxis(self._over_known_places(rows, known), 0, place)

    def _over_known_places(self, rows: Any, starts: np.ndarray[Any, Any]) -> Any:
        """Segments whose places are known, laid end to end: the work is their total length."""
        size = rows.aval.shape[0]
        self.check_places(starts, size)
        starts = starts.astype(np.int64)
        counts = np.maximum(np.append(starts[1:], size) - starts, 1)
        ends = np.cumsum(counts)
        begins = np.zeros(counts.sum(), bool)
        begins[ends - counts] = True
        taken = np.repeat(starts - (ends - counts), counts) + np.arange(counts.sum())
        begins = np.reshape(begins, (-1, *[1] * (rows.aval.ndim - 1)))

        def step(total: Any, row: Any) -> tuple[Any, Any]:
            element, begin = row
            total = where_(begin, element, self._combined(total, element))
            return total, total

        first = lax.full(rows.aval.shape[1:], 0, rows.aval.dtype)
        _, totals = lax.scan(step, first, (rows[taken.astype(np.int32)], begins))
        return totals[(ends - 1).astype(np.int32)]

    def _over_places(self, rows: Any, starts: Any) -> Any:
        """Segments at places known only when the program runs; all of them meet every element.

        A place out of bounds has no elements: what stands for it is NaN, or the least integer.
        """
        size, count = rows.aval.shape[0], starts.aval.shape[0]
        end = lax.full((1,), size, starts.aval.dtype)
        stops = lax.concatenate([lax.slice_in_dim(starts, 1, None), end], 0) if count else starts
        firsts = take_index(rows, starts, GatherScatterMode.FILL_OR_DROP, None)

        def step(totals: Any, row: Any) -> tuple[Any, None]:
            number, element = row
            inside = lax.bitwise_and(lax.gt(number, starts), lax.lt(number, stops))
            inside = lax.reshape(inside, (count, *[1] * (rows.aval.ndim - 1)))
            return where_(inside, self._combined(totals, element), totals), None

        numbers = lax.iota(starts.aval.dtype, size)
        return lax.scan(step, firsts, (numbers, rows))[0]

    def check_places(self, starts: np.ndarray[Any, Any], size: int) -> None:
        """Refuse segments that begin outside of the axis."""
        wrong = starts[(starts < 0) | (starts >= size)]
        if len(wrong):
            raise IndexError(
                message(
                    f"jnp.{self.name}.reduceat, argument indices",
                    given=f"{wrong[0]} for an axis of size {size}",
                    expected="places of elements, counted from the front",
                    fix="Give indices from 0 to the size of the axis less one.",
                )
            )

    def _combined(self, total: Any, element: Any) -> Any:
        return convert(self.function(total, element), element.aval.dtype)

    def _elements(self, a: Any, dtype: Any) -> Any:
        """`a` of the dtype that is asked for, or of that of results, strongly typed."""
        if dtype is None:
            return convert(a, self._result_dtype(a, a))
        return convert(a, dtypes.requested(dtype, self.name))

    def _result_dtype(self, *operands: Any) -> Any:
        """The dtype of what combines an element of each."""
        scalars = [ShapedArray((), aval_of(x).dtype) for x in operands]
        program = stage_closed(lambda *x: [as_array(self.name, self.function(*x))], scalars)
        return program.out_avals[0].dtype

    def _no_start(self, given: str) -> str:
        return message(
            f"jnp.{self.name}.reduce",
            given=f"{given}, and no value to begin with",
            expected="the argument initial, for the function has no identity",
            fix="Pass initial.",
        )


def check_mask(name: str, where: Any) -> None:
    """Refuse a `where` that is not boolean."""
    if where is not None and aval_of(as_array(f"{name}.reduce", where)).dtype != BOOL:
        raise ValueError(
            message(
                f"jnp.{name}.reduce, argument where",
                given=f"{aval_of(where)}",
                expected="booleans, which elements take part",
                fix="Compare with 0, or convert it with astype(bool).",
            )
        )


def single_axis(where: str, axis: Any, ndim: int) -> int:
    """The one axis to go along, counted from the front."""
    if axis is None:
        raise ValueError(
            message(
                f"jnp.{where}, argument axis",
                given="None",
                expected="one axis",
                fix="Flatten the array with jnp.ravel first.",
            )
        )
    return canonical_axis(where, axis, ndim)


def leading(a: Any, axes: tuple[int, ...]) -> Any:
    """`a` with `axes` first, as one."""
    rest = tuple([i for i in range(a.aval.ndim) if i not in axes])
    shape = a.aval.shape
    count = math.prod([shape[i] for i in axes])
    return lax.reshape(lax.transpose(a, (*axes, *rest)), (count, *[shape[i] for i in rest]))


def _row(rows: Any, i: int) -> Any:
    return lax.index_in_dim(rows, i, 0, keepdims=False)
