"""How BCOO stores: which axes are batch, sparse and dense axes, and which places count.

An array with `n_batch` batch, `n_sparse` sparse and `n_dense` dense axes, in this order, is held as

- data, of shape ``(*batch, nse, *dense)``,
- indices, of shape ``(*batch, nse, n_sparse)``: where along the sparse axes each element stands.

A batch axis may have size 1 in either of them, for all members.  Elements at equal places add up.
An element whose index is out of range along any sparse axis is padding: it never contributes.  A
negative index counts from the end, as elsewhere.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, final

import numpy as np

from .... import dtypes, lax
from .... import numpy as jnp
from ....core import Operand, aval_of
from ....core.dims import is_static
from ....errors import ConcretizationTypeError
from ....lax.shape.filling import size_value
from ....util.messages import message


class SparseInfo(NamedTuple):
    """What is static about a sparse array, besides the shapes of what it holds."""

    shape: tuple[int, ...]
    indices_sorted: bool = False
    unique_indices: bool = False

    def batched(self, size: int) -> SparseInfo:
        """That of a batch of so many arrays."""
        return self._replace(shape=(size, *self.shape))


@final
class Layout(NamedTuple):
    """Numbers of axes, and of stored elements."""

    n_batch: int
    n_sparse: int
    n_dense: int
    nse: int

    def batch(self, shape: Sequence[int]) -> tuple[int, ...]:
        """The sizes of the batch axes among those of all."""
        return tuple(shape[: self.n_batch])

    def sparse(self, shape: Sequence[int]) -> tuple[int, ...]:
        """The sizes of the sparse axes among those of all."""
        return tuple(shape[self.n_batch : self.n_batch + self.n_sparse])

    def dense(self, shape: Sequence[int]) -> tuple[int, ...]:
        """The sizes of the dense axes among those of all."""
        return tuple(shape[self.n_batch + self.n_sparse :])


def layout_of(data: Operand, indices: Operand, shape: Sequence[int]) -> Layout:
    """The layout that arrays and a shape imply.

    Raises:
        ValueError: if they do not fit together.
    """
    stored, places = aval_of(data), aval_of(indices)
    if places.ndim < 2:
        raise _misfit(stored, places, shape, "indices of at least two axes")
    n_batch, n_sparse = places.ndim - 2, places.shape[-1]
    n_dense = len(shape) - n_batch - n_sparse
    if n_dense < 0:
        raise _misfit(stored, places, shape, "as many axes as the indices have columns, or more")
    layout = Layout(n_batch, n_sparse, n_dense, places.shape[-2])
    batch = layout.batch(shape)
    if stored.ndim != n_batch + 1 + n_dense or stored.shape[n_batch] != layout.nse:
        raise _misfit(stored, places, shape, f"data of shape (*batch, {layout.nse}, *dense)")
    if stored.shape[n_batch + 1 :] != layout.dense(shape):
        raise _misfit(stored, places, shape, f"data whose last axes are {layout.dense(shape)}")
    for given in (stored.shape, places.shape):
        pairs = zip(given[:n_batch], batch, strict=True)
        if any(size not in (1, whole) for size, whole in pairs):
            raise _misfit(stored, places, shape, f"first axes {batch}, or of size 1")
    if not dtypes.issubdtype(places.dtype, np.integer):
        raise TypeError(str(_misfit(stored, places, shape, "indices of an integer dtype")))
    return layout


def _misfit(data: Any, indices: Any, shape: Sequence[int], expected: str) -> ValueError:
    return ValueError(
        message(
            "BCOO",
            given=f"data {data.str_short()}, indices {indices.str_short()}, shape {tuple(shape)}",
            expected=expected,
            fix="Give data of shape (*batch, nse, *dense), and for each stored element its index "
            "along each sparse axis.",
        )
    )


def check_layout(where: str, ndim: int, n_batch: int, n_dense: int) -> None:
    """Raise `ValueError` unless an array of `ndim` axes has so many batch and dense ones."""
    if n_batch < 0 or n_dense < 0 or n_batch + n_dense > ndim:
        raise ValueError(
            message(
                where,
                given=f"n_batch={n_batch} and n_dense={n_dense} for an array of {ndim} axes",
                expected="numbers of axes, together at most as many as there are",
                fix="The other axes are sparse.",
            )
        )


def index_type(where: str, dtype: Any, sparse: Sequence[int]) -> np.dtype[Any]:
    """The dtype of indices along sparse axes of these sizes.

    Raises:
        TypeError: if it is no integer dtype.
        ValueError: if it cannot hold the sizes that are known, which are the indices of padding.
    """
    kind = dtypes.canonicalize_dtype(dtype)
    if not dtypes.issubdtype(kind, np.integer):
        raise TypeError(_wrong_index_type(where, kind, "an integer dtype"))
    largest = max([size for size in sparse if isinstance(size, int)], default=0)
    if largest > np.iinfo(kind).max:
        raise ValueError(_wrong_index_type(where, kind, f"one that holds {largest}"))
    return kind


def _wrong_index_type(where: str, given: Any, expected: str) -> str:
    return message(
        f"{where}, argument index_dtype",
        given=f"{given}",
        expected=expected,
        fix="Leave it out, or say jnp.int32.",
    )


def columns(indices: Operand, sparse: Sequence[int]) -> tuple[list[Any], Any]:
    """The indices along each sparse axis, and where all of them are in range.

    Both have the shape ``(*batch, nse)``.  Of padding the indices are 0, so that all columns can be
    used to gather.
    """
    aval = aval_of(indices)
    # The sizes must fit too.
    wide = indices if aval.dtype.itemsize >= 4 else lax.convert_element_type(indices, np.int32)
    found, inside = [], lax.full(aval.shape[:-1], True)
    for axis, size in enumerate(sparse):
        column = lax.index_in_dim(wide, axis, -1, keepdims=False)
        column = jnp.where(column < 0, column + size, column)
        inside = inside & (column >= 0) & (column < size)
        found.append(column)
    return [jnp.where(inside, column, 0) for column in found], inside


def batch_places(batch: Sequence[int], dtype: Any = np.int32) -> list[Any]:
    """For each batch axis the number of the member, to be broadcast against ``(*batch, nse)``."""
    rank = len(batch) + 1
    places = []
    for axis, size in enumerate(batch):
        sizes = [1] * rank
        sizes[axis] = size
        places.append(lax.broadcasted_iota(dtype, sizes, axis))
    return places


def masked(data: Operand, inside: Operand) -> Any:
    """The data with zeros for padding; `inside` has the first axes of it, or size 1."""
    rank, extra = aval_of(inside).ndim, aval_of(data).ndim - aval_of(inside).ndim
    kept = lax.expand_dims(inside, range(rank, rank + extra))
    return jnp.where(kept, data, jnp.zeros_like(data))


def with_batch(x: Operand, batch: Sequence[int]) -> Any:
    """Data or indices with the whole batch, where axes of size 1 stood for it."""
    shape = aval_of(x).shape
    return jnp.broadcast_to(x, (*batch, *shape[len(batch) :]))


def padding_place(sparse: Sequence[int], dtype: Any) -> Any:
    """The index of what is stored and does not count: one past the end of each sparse axis."""
    if not is_static(sparse):
        return jnp.stack([size_value(size, np.dtype(dtype)) for size in sparse])
    return jnp.asarray(np.array(sparse, np.int64).reshape(len(sparse)), dtype)


def taken(x: Operand, order: Operand) -> Any:
    """Stored elements of each batch in another order: `x` is data or indices of the whole batch."""
    shape = aval_of(order).shape
    return x[(*batch_places(shape[:-1]), order)]


def scatter_sum(shape: Sequence[int], places: Sequence[Any], data: Operand) -> Any:
    """Zeros of `shape` to which data are added at `places`, which index its first axes.

    Truth values add up to whether any is true.
    """
    aval = aval_of(data)
    if aval.dtype == np.bool_:
        counted = lax.convert_element_type(data, np.int32)
        return scatter_sum(shape, places, counted) != 0
    lead = aval.ndim - len(shape) + len(places)
    if not places:
        return jnp.sum(data, tuple(range(lead)), dtype=aval.dtype)
    places = [jnp.broadcast_to(place, aval.shape[:lead]) for place in places]
    return jnp.zeros(shape, aval.dtype).at[tuple(places)].add(data, mode="drop")


def concrete_number(where: str, count: Any, kind: type[Exception] = ConcretizationTypeError) -> int:
    """A number of stored elements; an error of `kind` if it is not known while tracing."""
    try:
        return int(count)
    except ConcretizationTypeError:
        raise kind(
            message(
                f"{where}, argument nse",
                given="an array that is traced, and no number of elements to store",
                expected="nse, since the size of the result must be known while tracing",
                fix="Pass nse=..., the most elements that there can be.",
            )
        ) from None
