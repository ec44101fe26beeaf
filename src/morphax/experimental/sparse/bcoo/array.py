"""The class `BCOO`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Self, final

import numpy as np

from .... import numpy as jnp
from .... import tree
from ....core import DType, Operand, aval_of
from ....lax.shape.shape_operations import squeeze
from ....transforms.vmappable import register_vmappable
from ....util.messages import message
from ..base import JAXSparse
from .dense import bcoo_fromdense_p, bcoo_todense, fromdense_options
from .layout import Layout, SparseInfo, check_layout, index_type, layout_of, padding_place
from .order import bcoo_sort_indices, bcoo_sum_duplicates, without_zeros
from .permutation import bcoo_transpose
from .relayout import bcoo_update_layout


@final
@tree.register_pytree_node_class
class BCOO(JAXSparse):
    """A sparse array in batched coordinate format: stored elements, and the place of each.

    The first axes of the shape are batch axes, the last ones dense, those between them sparse.

    Args:
        args: data of shape ``(*batch, nse, *dense)``, and integer indices of shape
            ``(*batch, nse, n_sparse)``, the place of each element along the sparse axes.  Elements
            at equal places add up, and those out of range do not count.
        shape: of the array, ``(*batch, *sparse, *dense)``.
        indices_sorted: promise that the places of each batch are in lexicographic order.
        unique_indices: promise that they are different.

    Raises:
        ValueError: if data, indices and shape do not fit together.
        TypeError: if the indices are no integers.

    Example:
        >>> import morphax.numpy as jnp
        >>> from morphax.experimental import sparse
        >>> m = sparse.BCOO.fromdense(jnp.array([[0.0, 2.0, 0.0], [1.0, 0.0, 4.0]]))
        >>> m
        BCOO(float32[2, 3], nse=3)
        >>> m.indices
        Array([[0, 1],
               [1, 0],
               [1, 2]], dtype=int32)
        >>> m @ jnp.ones(3)
        Array([2., 5.], dtype=float32)
    """

    _told = ("n_batch", "n_dense")

    data: Any
    indices: Any
    indices_sorted: bool
    unique_indices: bool

    def __init__(
        self,
        args: tuple[Any, Any],
        *,
        shape: Sequence[int],
        indices_sorted: bool = False,
        unique_indices: bool = False,
    ) -> None:
        data, indices = args
        self.data, self.indices = jnp.asarray(data), jnp.asarray(indices)
        super().__init__(args, shape=shape)
        self.indices_sorted = indices_sorted
        self.unique_indices = unique_indices
        layout_of(self.data, self.indices, self.shape)

    @property
    def nse(self) -> int:
        """How many elements each batch stores, padding too."""
        return int(aval_of(self.indices).shape[-2])

    @property
    def dtype(self) -> DType:
        return aval_of(self.data).dtype

    @property
    def n_batch(self) -> int:
        """How many of the axes are batch axes, the first ones."""
        return int(aval_of(self.indices).ndim) - 2

    @property
    def n_sparse(self) -> int:
        """How many of the axes are sparse."""
        return int(aval_of(self.indices).shape[-1])

    @property
    def n_dense(self) -> int:
        """How many of the axes are dense, the last ones."""
        return self.ndim - self.n_batch - self.n_sparse

    @property
    def layout(self) -> Layout:
        """The numbers of axes of each kind, and of stored elements."""
        return Layout(self.n_batch, self.n_sparse, self.n_dense, self.nse)

    @property
    def _info(self) -> SparseInfo:
        return SparseInfo(self.shape, self.indices_sorted, self.unique_indices)

    def replaced(
        self,
        *,
        data: Operand | None = None,
        indices: Operand | None = None,
        shape: Sequence[int] | None = None,
        indices_sorted: bool | None = None,
        unique_indices: bool | None = None,
    ) -> BCOO:
        """This array with some of its parts replaced.

        New places are neither sorted nor different unless said so.
        """
        same = indices is None
        is_sorted = self.indices_sorted and same if indices_sorted is None else indices_sorted
        is_unique = self.unique_indices and same if unique_indices is None else unique_indices
        return BCOO(
            (self.data if data is None else data, self.indices if same else indices),
            shape=self.shape if shape is None else shape,
            indices_sorted=is_sorted,
            unique_indices=is_unique,
        )

    def first(self, count: int) -> BCOO:
        """The array with the first `count` stored elements of each batch alone."""
        front = (slice(None),) * self.n_batch
        return self.replaced(
            data=self.data[(*front, slice(count))],
            indices=self.indices[(*front, slice(count))],
            indices_sorted=self.indices_sorted,
            unique_indices=self.unique_indices,
        )

    @classmethod
    def fromdense(
        cls,
        mat: Any,
        *,
        nse: int | None = None,
        index_dtype: Any = np.int32,
        n_dense: int = 0,
        n_batch: int = 0,
    ) -> BCOO:
        """The elements of a dense array that are not zero; arguments of `bcoo_fromdense`."""
        return bcoo_fromdense(
            mat, nse=nse, index_dtype=index_dtype, n_dense=n_dense, n_batch=n_batch
        )

    @classmethod
    def from_scipy_sparse(
        cls, mat: Any, *, index_dtype: Any = None, n_dense: int = 0, n_batch: int = 0
    ) -> BCOO:
        """A matrix of ``scipy.sparse``, of any format.

        Args:
            mat: the matrix.
            index_dtype: of the indices; that of SciPy if left out, as far as it is enabled.
            n_dense, n_batch: must be 0, for SciPy has sparse axes only.

        Raises:
            NotImplementedError: if `n_dense` or `n_batch` is not 0.
        """
        if n_dense or n_batch:
            raise NotImplementedError(
                message(
                    "BCOO.from_scipy_sparse",
                    given=f"n_dense={n_dense} and n_batch={n_batch}",
                    expected="0, for matrices of SciPy have sparse axes only",
                    fix="Call update_layout on the result.",
                )
            )
        coordinates = mat.tocoo()
        rows = np.stack([coordinates.row, coordinates.col], -1)
        indices = jnp.asarray(rows if index_dtype is None else rows.astype(index_dtype))
        return cls((jnp.asarray(coordinates.data), indices), shape=coordinates.shape)

    @classmethod
    def _empty(
        cls,
        shape: Sequence[int],
        *,
        dtype: Any = None,
        index_dtype: Any = "int32",
        n_dense: int = 0,
        n_batch: int = 0,
        nse: int = 0,
    ) -> BCOO:
        shape = tuple(shape)
        check_layout("sparse.empty", len(shape), n_batch, n_dense)
        layout = Layout(n_batch, len(shape) - n_batch - n_dense, n_dense, nse)
        batch, sparse = layout.batch(shape), layout.sparse(shape)
        kind = index_type("sparse.empty", index_dtype, sparse)
        data = jnp.zeros((*batch, nse, *layout.dense(shape)), dtype)
        indices = jnp.broadcast_to(padding_place(sparse, kind), (*batch, nse, len(sparse)))
        return cls((data, indices), shape=shape, indices_sorted=True, unique_indices=True)

    @classmethod
    def _eye(
        cls,
        N: int,
        M: int,
        k: int,
        *,
        dtype: Any = None,
        index_dtype: Any = "int32",
        n_batch: int = 0,
        n_dense: int = 0,
    ) -> BCOO:
        check_layout("sparse.eye", 2, n_batch, n_dense)
        kind = index_type("sparse.eye", index_dtype, (N, M)[n_batch : 2 - n_dense])
        first, last = max(0, -k), min(N, M - k)
        rows = np.arange(first, max(first, last))
        if n_dense or n_batch == 2:
            dense = jnp.zeros((N, M), dtype).at[rows, rows + k].set(1)
            nse = 1 if n_batch or n_dense == 2 else len(rows)
            return cls.fromdense(dense, nse=nse, index_dtype=kind, n_batch=n_batch, n_dense=n_dense)
        if n_batch:
            held = np.arange(N)
            inside = (held >= first) & (held < last)
            data = jnp.asarray(inside[:, None], jnp.zeros((), dtype).dtype)
            places = np.where(inside, held + k, M)[:, None, None]
        else:
            data = jnp.ones(len(rows), dtype)
            places = np.stack([rows, rows + k], -1)
        return cls(
            (data, jnp.asarray(places, kind)),
            shape=(N, M),
            indices_sorted=True,
            unique_indices=True,
        )

    def todense(self) -> Any:
        """The same numbers as a dense array."""
        return bcoo_todense(self)

    def transpose(self, axes: Sequence[int] | None = None) -> BCOO:
        """The axes permuted, reversed if `axes` is left out; see `bcoo_transpose`."""
        permutation = range(self.ndim)[::-1] if axes is None else axes
        return bcoo_transpose(self, permutation=permutation)

    def sort_indices(self) -> BCOO:
        """The same array with what is stored sorted by place."""
        return bcoo_sort_indices(self)

    def sum_duplicates(self, nse: int | None = None, remove_zeros: bool = True) -> BCOO:
        """Elements at equal places added up, sorted by place.

        Args:
            nse: how many elements the result holds; see `bcoo_sum_duplicates`.
            remove_zeros: whether stored zeros are left out.
        """
        return bcoo_sum_duplicates(without_zeros(self) if remove_zeros else self, nse=nse)

    def update_layout(
        self,
        *,
        n_batch: int | None = None,
        n_dense: int | None = None,
        on_inefficient: str | None = "error",
    ) -> BCOO:
        """The same array with other numbers of batch and dense axes; see `bcoo_update_layout`."""
        return bcoo_update_layout(
            self, n_batch=n_batch, n_dense=n_dense, on_inefficient=on_inefficient
        )

    def tree_flatten(self) -> tuple[tuple[Any, Any], dict[str, Any]]:
        return (self.data, self.indices), {
            "shape": self.shape,
            "indices_sorted": self.indices_sorted,
            "unique_indices": self.unique_indices,
        }

    @classmethod
    def tree_unflatten(cls, aux_data: dict[str, Any], children: Sequence[Any]) -> Self:
        # Transformations put things into pytrees that are no arrays, so nothing is checked.
        array = object.__new__(cls)
        array.data, array.indices = children
        array.shape = aux_data["shape"]
        array.indices_sorted = aux_data["indices_sorted"]
        array.unique_indices = aux_data["unique_indices"]
        return array


def _member(
    part: Callable[[Any, Any], Any], position: Callable[[], Any], whole: BCOO, axis: int | None
) -> BCOO:
    """One member of a batch, for `vmap`."""
    if axis is None:
        return whole
    if not 0 <= axis < whole.n_batch:
        raise ValueError(
            message(
                "vmap, argument in_axes",
                given=f"axis {axis} of {whole!r}",
                expected=f"one of its {whole.n_batch} batch axes, counted from the front",
                fix="Make it one with update_layout(n_batch=...).",
            )
        )

    def taken_out(x: Any) -> Any:
        # An axis of size 1 stands for all members.
        if aval_of(x).shape[axis] == whole.shape[axis]:
            return part(x, axis)
        return squeeze(x, (axis,))

    return whole.replaced(
        data=taken_out(whole.data),
        indices=taken_out(whole.indices),
        shape=[*whole.shape[:axis], *whole.shape[axis + 1 :]],
        indices_sorted=whole.indices_sorted,
        unique_indices=whole.unique_indices,
    )


def _batch(
    whole: Callable[[Any, Any, Any], Any], size: int, member: BCOO, axis: int | None
) -> BCOO:
    """All members of a batch, for `vmap`."""
    if axis is not None and not 0 <= axis <= member.n_batch:
        raise ValueError(
            message(
                "vmap, argument out_axes",
                given=f"axis {axis} for {member!r}",
                expected=f"a place among its {member.n_batch} batch axes, which are the first ones",
                fix="Leave out_axes out, and transpose the result.",
            )
        )
    data, indices = whole(size, member.data, axis), whole(size, member.indices, axis)
    shape = member.shape
    return member.replaced(
        data=data,
        indices=indices,
        shape=shape if axis is None else (*shape[:axis], size, *shape[axis:]),
        indices_sorted=member.indices_sorted,
        unique_indices=member.unique_indices,
    )


register_vmappable(BCOO, int, None, _member, _batch, None)


def bcoo_fromdense(
    mat: Any,
    *,
    nse: int | None = None,
    n_batch: int = 0,
    n_dense: int = 0,
    index_dtype: Any = jnp.int32,
) -> BCOO:
    """The elements of a dense array that are not zero, with their places.

    Args:
        mat: the dense array.
        nse: how many elements of each batch are stored: the first ones in row-major order, and
            padding if there are less.  If left out, as many as the fullest batch has, which must
            then not be traced.
        n_batch: the number of batch axes, the first ones.
        n_dense: the number of dense axes, the last ones; a block of them is one element.
        index_dtype: of the indices.

    Raises:
        ValueError: if there are less axes than `n_batch` and `n_dense` together, or `index_dtype`
            cannot hold a size.
        TypeError: if `index_dtype` is no integer dtype.
        ConcretizationTypeError: if `nse` is left out and the array is traced.

    Example:
        >>> import morphax.numpy as jnp
        >>> from morphax.experimental import sparse
        >>> sparse.bcoo_fromdense(jnp.eye(3), nse=5)
        BCOO(float32[3, 3], nse=5)
    """
    dense = jnp.asarray(mat)
    options = fromdense_options("bcoo_fromdense", dense, nse, n_batch, n_dense, index_dtype)
    parts = bcoo_fromdense_p.bind(dense, **options)
    return BCOO(tuple(parts), shape=dense.shape, indices_sorted=True, unique_indices=True)
