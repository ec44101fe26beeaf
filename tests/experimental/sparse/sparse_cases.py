"""The operations on BCOO arrays: one record each drives all their tests."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

import morphax.numpy as jnp
from morphax import lax
from morphax.experimental import sparse
from morphax.experimental.sparse import BCOO

from .stored import Layout, layouts, numbers

SMALL = layouts((4,), (2, 3), (2, 3, 2))
MATRICES = layouts((2, 3))


class SparseCase(NamedTuple):
    """An operation: what it does to a sparse array, and to the dense one with the same numbers.

    A `data_only` result is the data of an array with the places of the operand.
    """

    name: str
    function: Callable[[BCOO], Any]
    dense: Callable[[Any], Any]
    layouts: list[Layout]
    data_only: bool = False


def of(shape: tuple[int, ...]) -> list[Layout]:
    """The layout of an array with sparse axes only."""
    return [Layout(shape, 0, 0)]


def not_dense(found: list[Layout], axis: int = 0) -> list[Layout]:
    """Those layouts in which an axis is not dense."""
    return [layout for layout in found if axis < len(layout.shape) - layout.n_dense]


def same(x: Any) -> Any:
    return x


def _both(function: Callable[[Any], Any]) -> tuple[Callable[[Any], Any], Callable[[Any], Any]]:
    return function, function


MATRIX = numbers((3, 4), seed=1)
STORED = BCOO.fromdense(MATRIX)
KERNEL = BCOO.fromdense(MATRIX[None, None, 0])
ROWS = numbers((2, 5), seed=2)
CONTRACT = (((1,), (0,)), ((), ()))
FIRST = (((0,), (0,)), ((), ()))

CASES = (
    SparseCase("todense", sparse.todense, same, SMALL),
    SparseCase("todense_of_bcoo", sparse.bcoo_todense, same, SMALL),
    SparseCase("sort_indices", sparse.bcoo_sort_indices, same, SMALL),
    SparseCase("sum_duplicates", lambda m: sparse.bcoo_sum_duplicates(m, nse=8), same, SMALL),
    SparseCase("first_places", lambda m: m.sum_duplicates(nse=m.nse), same, SMALL),
    SparseCase("layout", lambda m: m.update_layout(n_batch=0, n_dense=0), same, SMALL),
    SparseCase(
        "all_batch",
        lambda m: m.update_layout(n_batch=2, n_dense=0, on_inefficient=None),
        same,
        MATRICES,
    ),
    SparseCase(
        "all_dense",
        lambda m: m.update_layout(n_batch=0, n_dense=2, on_inefficient=None),
        same,
        MATRICES,
    ),
    SparseCase(
        "transpose",
        lambda m: sparse.bcoo_transpose(m, permutation=(1, 0)),
        np.transpose,
        [Layout((2, 3), 0, 0), Layout((2, 3), 2, 0), Layout((2, 3), 0, 2)],
    ),
    SparseCase(
        "sum_first", lambda m: sparse.bcoo_reduce_sum(m, axes=(0,)), lambda x: x.sum(0), SMALL
    ),
    SparseCase(
        "sum_last",
        lambda m: sparse.bcoo_reduce_sum(m, axes=(m.ndim - 1,)),
        lambda x: x.sum(-1),
        SMALL,
    ),
    SparseCase(
        "sum_all", lambda m: sparse.bcoo_reduce_sum(m, axes=range(m.ndim)), lambda x: x.sum(), SMALL
    ),
    SparseCase("rev", lambda m: sparse.bcoo_rev(m, range(m.ndim)), jnp.flip, SMALL),
    SparseCase(
        "slice",
        lambda m: sparse.bcoo_slice(
            m, start_indices=(1,) * m.ndim, limit_indices=m.shape, strides=(2,) * m.ndim
        ),
        lambda x: x[(slice(1, None, 2),) * x.ndim],
        SMALL,
    ),
    SparseCase(
        "dynamic_slice",
        lambda m: sparse.bcoo_dynamic_slice(m, (-1,) * m.ndim, (1,) * m.ndim),
        lambda x: x[(slice(-1, None),) * x.ndim],
        SMALL,
    ),
    SparseCase(
        "concatenate",
        lambda m: sparse.bcoo_concatenate([m, m], dimension=0),
        lambda x: jnp.concatenate([x, x]),
        not_dense(SMALL),
    ),
    SparseCase(
        "new_axis",
        lambda m: sparse.bcoo_broadcast_in_dim(
            m, shape=(2, *m.shape), broadcast_dimensions=range(1, m.ndim + 1)
        ),
        lambda x: jnp.stack([x, x]),
        not_dense(SMALL),
    ),
    SparseCase(
        "squeeze",
        lambda m: sparse.bcoo_squeeze(m, dimensions=(-1,)),
        lambda x: x[..., 0],
        layouts((2, 3, 1)),
    ),
    SparseCase(
        "reshape",
        lambda m: sparse.bcoo_reshape(m, new_sizes=(3, 2)),
        lambda x: x.reshape(3, 2),
        of((2, 3)),
    ),
    SparseCase(
        "reshape_batch",
        lambda m: sparse.bcoo_reshape(m, new_sizes=(6, 4)),
        lambda x: x.reshape(6, 4),
        [Layout((2, 3, 4), 2, 0), Layout((2, 3, 4), 0, 1), Layout((2, 3, 4), 0, 0)],
    ),
    SparseCase(
        "rows", lambda m: m[jnp.array([1, 0, 1])], lambda x: x[jnp.array([1, 0, 1])], of((2, 3))
    ),
    SparseCase(
        "columns",
        lambda m: m[:, jnp.array([[2, 0]])],
        lambda x: x[:, jnp.array([[2, 0]])],
        of((2, 3)),
    ),
    SparseCase("element", lambda m: m[1, 2], lambda x: x[1, 2], of((2, 3))),
    SparseCase("negate", *_both(lambda m: -m), SMALL),
    SparseCase("scale", *_both(lambda m: 3 * m), SMALL),
    SparseCase("add", *_both(lambda m: m + m), SMALL),
    SparseCase("subtract", lambda m: m - m * 2, lambda x: -x, SMALL),
    SparseCase("square", *_both(lambda m: m**2), SMALL),
    SparseCase("absolute", *_both(abs), SMALL),
    SparseCase("product", *_both(lambda m: m * m), SMALL),
    SparseCase("times_row", *_both(lambda m: m * MATRIX[:, 0]), MATRICES),
    SparseCase("halves", *_both(lambda m: m / 2), SMALL),
    SparseCase(
        "multiply_dense",
        lambda m: sparse.bcoo_multiply_dense(m, jnp.asarray(ROWS[:, :1], m.dtype)),
        lambda x: x * ROWS[:, :1],
        MATRICES,
        data_only=True,
    ),
    SparseCase(
        "extract",
        lambda m: sparse.bcoo_extract(m, 2 * m.todense()),
        lambda x: 2 * x,
        SMALL,
    ),
    SparseCase(
        "contract_last",
        lambda m: sparse.bcoo_dot_general(m, MATRIX, dimension_numbers=CONTRACT),
        lambda x: x @ MATRIX,
        not_dense(MATRICES, 1),
    ),
    SparseCase(
        "contract_first",
        lambda m: sparse.bcoo_dot_general(ROWS, m, dimension_numbers=FIRST),
        lambda x: ROWS.T @ x,
        not_dense(MATRICES),
    ),
    SparseCase(
        "contract_all",
        lambda m: sparse.bcoo_dot_general(
            m, MATRIX[:, :2], dimension_numbers=(((0, 1), (1, 0)), ((), ()))
        ),
        lambda x: jnp.sum(x * MATRIX[:, :2].T),
        not_dense(MATRICES, 1),
    ),
    SparseCase(
        "batched_product",
        lambda m: sparse.bcoo_dot_general(m, ROWS, dimension_numbers=(((), ()), ((0,), (0,)))),
        lambda x: jnp.einsum("ij,ik->ijk", x, ROWS),
        [layout for layout in MATRICES if layout.n_batch],
    ),
    SparseCase(
        "sparse_product",
        lambda m: sparse.bcoo_dot_general(m, STORED, dimension_numbers=CONTRACT),
        lambda x: x @ MATRIX,
        [Layout((2, 3), 0, 0), Layout((2, 3), 1, 0)],
    ),
    SparseCase(
        "gram_matrix",
        lambda m: m @ m.T,
        lambda x: x @ x.T,
        of((2, 3)),
    ),
    SparseCase(
        "convolution",
        lambda m: sparse.bcoo_conv_general_dilated(
            m, KERNEL, window_strides=(2,), padding=[(2, 1)]
        ),
        lambda x: lax.conv_general_dilated(
            x, jnp.asarray(MATRIX[None, None, 0], x.dtype), (2,), [(2, 1)]
        ),
        [Layout((1, 1, 6), 0, 0), Layout((1, 1, 6), 2, 0)],
    ),
)
