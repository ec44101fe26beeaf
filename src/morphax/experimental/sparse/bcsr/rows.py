"""Rows as pointers and as indices: between BCSR and BCOO."""

from __future__ import annotations

from typing import Any

import numpy as np

from .... import lax
from .... import numpy as jnp
from ....core import Operand, aval_of
from ....engines.reference.replay import replayed
from ..bcoo.layout import batch_places, columns, padding_place, with_batch


# Operations on BCSR are those on BCOO, so that eager calls meet this by itself.
@replayed(2)
def coordinates(indices: Operand, indptr: Operand) -> Any:
    """Indices of BCOO, of shape ``(*batch, nse, 2)``; elements behind the last row are padding."""
    held, ends = aval_of(indices), aval_of(indptr)
    lead = np.broadcast_shapes(held.shape[:-1], ends.shape[:-1])
    indices, indptr = with_batch(indices, lead), with_batch(indptr, lead)
    nse, kind = held.shape[-1], jnp.promote_types(held.dtype, np.int32)
    # An element stands in the row whose number is that of the rows that end before it.
    ended = jnp.zeros((*lead, nse), kind)
    places = [jnp.broadcast_to(x, (*lead, ends.shape[-1] - 1)) for x in batch_places(lead)]
    ended = ended.at[(*places, indptr[..., 1:])].add(1, mode="drop")
    rows = jnp.cumsum(ended, -1, dtype=kind)
    return jnp.stack([rows, lax.convert_element_type(indices, kind)], -1)


def compressed(indices: Operand, rows: int, dtype: Any) -> tuple[Any, Any]:
    """Columns and row pointers of BCOO indices that are sorted, with all padding at the end."""
    first = jnp.asarray(indices)[..., 0]
    lead = first.shape[:-1]
    counts = jnp.zeros((*lead, rows + 1), np.int32)
    places = [jnp.broadcast_to(x, first.shape) for x in batch_places(lead)]
    counts = counts.at[(*places, first + 1)].add(1, mode="drop")
    pointers = jnp.cumsum(counts, -1, dtype=np.int32)
    return jnp.asarray(indices)[..., 1].astype(dtype), pointers.astype(dtype)


def padding_last(indices: Operand, sparse: tuple[int, ...]) -> Any:
    """BCOO indices, none negative, where all that is out of range stands behind the last row."""
    found, inside = columns(indices, sparse)
    dtype = aval_of(indices).dtype
    joined = jnp.stack(found, -1).astype(dtype)
    return jnp.where(inside[..., None], joined, padding_place(sparse, dtype))
