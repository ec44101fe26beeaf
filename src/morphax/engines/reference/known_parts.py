"""Elements of eager arrays that an index names, read or written without a program.

`x[3]`, `x[1:-1]`, `x[places]` and `x.at[3].set(v)` are one step of NumPy's, and the way to the
operation that would do it takes ten times as long.  What is understood is listed: arrays at home
of NumPy's own dtypes, of few elements; ints, slices, `None`, `...`, and arrays of integers and
masks as parts of an index; nothing out of bounds.  That means the same to NumPy.  All else, `None`
says, is to be done with more care.  See docs/design/eager-replay.md.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np

from ...array import Array
from ...config import current as current_config
from ...core import current_trace, root_trace
from ...util.compiled import part, twin_in
from ...util.memo import MemoTable
from .eager import allow_short_ways
from .float_errors import ignore_float_errors, restore_float_errors

_ROOT = root_trace()
_FEW: Final = 1 << 12
_MOST: Final = 1 << 18
_EVERYWHERE: Final = 100
_MOST_PARTS: Final = 32

_compiled: Any = part("indexing")
_avals: MemoTable[Any] = MemoTable()


def part_of(x: Any, index: Any) -> Any:
    """`x[index]`; `None` where the index is to be read with more care."""
    found = known_part(_avals, x, index)
    if found is NotImplemented:
        shape = x.to_host()[_read_index(index)[0]].shape
        _avals.add((x.aval, shape), x.aval.update(shape=shape))
        found = known_part(_avals, x, index)
    return None if found is NotImplemented else found


@twin_in(_compiled)
def known_part(avals: MemoTable[Any], x: Any, index: Any) -> Any:
    """`x[index]`, with an aval that is in the table.

    `None` where the index is to be read with more care, `NotImplemented` where the table lacks the
    aval.
    """
    numbers = _numbers_of(x) if _may_be_short() else None
    parts, places = _read_index(index) if numbers is not None else (None, None)
    if numbers is None or parts is None:
        return None
    # What arrays read has as many elements at most; of none NumPy says less about the index.
    if places is not None and not 0 < places * numbers.size <= _MOST:
        return None
    found = _item_of(numbers, parts)
    if found is None or found.size > _FEW or _is_all(found, numbers):
        return None
    aval = avals.get((x.aval, found.shape))
    if aval is None:
        return NotImplemented
    # Elements are copied: a view would keep all of the array in memory.
    is_own = places is not None and found.flags.c_contiguous
    return Array(aval, found if is_own else found.copy("C"))


@twin_in(_compiled)
def known_update(
    x: Any, index: Any, function: Callable[..., Any] | None, values: Any
) -> Array | None:
    """`x` with `values` at an index, or combined with what is there by a function of NumPy's.

    `None` where that is to be done with more care.
    """
    numbers = _numbers_of(x) if _may_be_short() else None
    if numbers is None or numbers.size > _FEW:
        return None
    # Sums and products of truth values and of complex numbers are not NumPy's.
    if function is not None and numbers.dtype.kind not in "iuf":
        return None
    parts, arrays = _read_index(index)
    if parts is None or arrays is not None:
        return None
    changed = numbers.copy("C")
    places = _item_of(changed, parts)
    if places is None or places.size == 0:
        return None
    update = _as_update(values, numbers.dtype, places.shape)
    if update is None:
        return None
    _write(places, function, update)
    return Array(x.aval, changed)


def _may_be_short() -> bool:
    config = current_config()
    return current_trace() is _ROOT and config.known_parts and allow_short_ways(config)


def _numbers_of(x: Any) -> np.ndarray[Any, Any] | None:
    """The numbers of an array at home, of one of NumPy's own dtypes; `None` of anything else."""
    if type(x) is not Array or x._committed:
        return None
    host = x.to_host() if x._host is None else x._host
    # What else there is (random keys, numbers of a few bits) has another form in memory.
    is_own = type(host) is np.ndarray and host.dtype.isbuiltin == 1 and host.dtype.kind in "biufc"
    return host if is_own and host.dtype == x.aval.dtype else None


def _read_index(index: Any) -> tuple[tuple[Any, ...] | None, int | None]:
    """An index as NumPy is to be given it, and how many elements arrays in it have.

    `None` for a part that is none of those that are understood, and where there are no arrays.
    """
    parts: list[Any] = []
    places = None
    given = index if type(index) is tuple else (index,)
    if len(given) > _MOST_PARTS:
        return None, None
    for x in given:
        if type(x) is int or x is None or x is Ellipsis or _is_slice(x):
            parts.append(x)
            continue
        numbers = _numbers_of(x)
        if numbers is None or numbers.size > _FEW:
            return None, None
        is_mask = numbers.dtype == np.bool_ and numbers.ndim > 0
        if not (is_mask or numbers.dtype.kind in "iu"):
            return None, None
        places = (places or 0) + numbers.size
        parts.append(numbers)
    # So that single elements are arrays, too.
    has_rest = any([x is Ellipsis for x in parts])
    return tuple(parts) if has_rest else (*parts, Ellipsis), places


def _is_slice(x: Any) -> bool:
    bounds = (x.start, x.stop, x.step) if type(x) is slice else (0.0,)
    return all([b is None or type(b) is int for b in bounds])


def _item_of(numbers: Any, parts: tuple[Any, ...]) -> Any:
    """What NumPy reads; `None` where it raises: out of bounds other elements are meant here."""
    try:
        found = numbers[parts]
    except Exception:
        return None
    return found if type(found) is np.ndarray else None


def _is_all(found: Any, whole: Any) -> bool:
    def lies(x: Any) -> Any:
        return x.__array_interface__["data"][0], x.shape, x.strides

    return bool(lies(found) == lies(whole))


def _as_update(values: Any, dtype: Any, shape: tuple[int, ...]) -> Any:
    """What is written into elements of an array, or combined; `None` if that is not clear."""
    if type(values) is Array:
        numbers = _numbers_of(values)
        fits = numbers is not None and (numbers.ndim == 0 or numbers.shape == shape)
        return numbers if fits and values.aval.dtype == dtype else None
    holds = {int: "iuf", float: "f"}.get(type(values), "")
    if dtype.kind not in holds or not abs(values) <= _EVERYWHERE:
        return None
    return None if values < 0 and dtype.kind == "u" else np.asarray(values, dtype)


def _write(places: Any, function: Callable[..., Any] | None, values: Any) -> None:
    """Elements of `places` become, or are combined with, `values`."""
    if function is None:
        places[...] = values
        return
    setting = ignore_float_errors()
    try:
        function(places, values, places)
    finally:
        restore_float_errors(setting)
