"""`bcoo_transpose`: axes permuted, each among those of its kind."""

from __future__ import annotations

from collections.abc import Sequence
from operator import index
from typing import TYPE_CHECKING, Any, final

import numpy as np

from .... import lax
from .... import numpy as jnp
from ....core import Operand, Param
from ....util.messages import message
from ..operation import SparseOperation
from .layout import layout_of

if TYPE_CHECKING:
    from .array import BCOO


@final
class BCOOTranspose(SparseOperation):
    """The axes permuted: what is stored stays, with its indices in another order.

    Operands: data, indices.
    """

    name = "bcoo_transpose"
    multiple_results = True

    def compute(self, *operands: Operand, permutation: Any, spinfo: Any, **_: Param) -> Any:
        data, indices = operands
        layout = layout_of(data, indices, spinfo.shape)
        n_batch, end = layout.n_batch, layout.n_batch + layout.n_sparse
        batch = permutation[:n_batch]
        # In the data one axis, of the stored elements, stands for all sparse ones.
        dense = [axis - end + n_batch + 1 for axis in permutation[end:]]
        columns = [axis - n_batch for axis in permutation[n_batch:end]]
        data = lax.transpose(data, (*batch, n_batch, *dense))
        indices = lax.transpose(indices, (*batch, n_batch, n_batch + 1))
        if columns and columns != sorted(columns):
            indices = jnp.take(indices, np.array(columns), -1)
        return data, indices

    def batched_params(self, size: int, params: dict[str, Param]) -> dict[str, Any]:
        permutation: Any = params["permutation"]
        return {
            "permutation": (0, *[axis + 1 for axis in permutation]),
            "spinfo": params["spinfo"].batched(size),
        }


bcoo_transpose_p = BCOOTranspose()


def bcoo_transpose(mat: BCOO, *, permutation: Sequence[int]) -> BCOO:
    """The axes permuted.

    Args:
        mat: the array.
        permutation: for each axis of the result the axis of `mat`; batch axes stay in front, and
            dense ones at the end.

    Raises:
        TypeError: if it is no permutation of the axes.
        NotImplementedError: if it takes an axis to those of another kind.

    Example:
        >>> import morphax.numpy as jnp
        >>> from morphax.experimental import sparse
        >>> x = sparse.BCOO.fromdense(jnp.array([[0.0, 5.0, 6.0]]))
        >>> sparse.bcoo_transpose(x, permutation=(1, 0))
        BCOO(float32[3, 1], nse=2)
    """
    axes = tuple([index(axis) for axis in permutation])
    if sorted(axes) != list(range(mat.ndim)):
        raise TypeError(
            message(
                "bcoo_transpose, argument permutation",
                given=f"{axes} for an array of shape {mat.shape}",
                expected="each of its axes once",
                fix="Number axes from 0.",
            )
        )
    n_batch, end = mat.n_batch, mat.n_batch + mat.n_sparse
    parts = (axes[:n_batch], range(n_batch)), (axes[end:], range(end, mat.ndim))
    if any(sorted(given) != list(own) for given, own in parts):
        raise NotImplementedError(
            message(
                "bcoo_transpose, argument permutation",
                given=f"{axes} for {mat!r}",
                expected="batch axes among batch axes, and dense ones among dense ones",
                fix="Make them sparse first with update_layout.",
            )
        )
    data, indices = bcoo_transpose_p.bind(mat.data, mat.indices, permutation=axes, spinfo=mat._info)
    kept = axes[n_batch:end] == tuple(range(n_batch, end))
    return mat.replaced(
        data=data,
        indices=indices,
        shape=[mat.shape[axis] for axis in axes],
        indices_sorted=mat.indices_sorted and kept,
        unique_indices=mat.unique_indices,
    )
