"""The class `BCSR`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Self, final

import numpy as np

from .... import dtypes, tree
from .... import numpy as jnp
from ....core import DType, aval_of
from ....lax.shape.shape_operations import squeeze
from ....transforms.vmappable import register_vmappable
from ....util.messages import message
from ..base import JAXSparse
from ..bcoo import BCOO, bcoo_broadcast_in_dim, bcoo_concatenate
from ..bcoo.dense import fromdense_options
from ..bcoo.layout import SparseInfo, check_layout, with_batch
from .operations import bcsr_fromdense_p, bcsr_sum_duplicates, bcsr_todense
from .rows import compressed, coordinates, padding_last


@final
@tree.register_pytree_node_class
class BCSR(JAXSparse):
    """Sparse matrices in batched compressed row format.

    The first axes of the shape are batch axes, then come the rows and the columns, which are
    sparse, then dense axes.

    Args:
        args: data of shape ``(*batch, nse, *dense)``, integer indices of shape ``(*batch, nse)``,
            the column of each element, and integer indptr of shape ``(*batch, rows + 1)``: row i
            has the elements from ``indptr[i]`` up to ``indptr[i + 1]``.
        shape: ``(*batch, rows, columns, *dense)``.
        indices_sorted: promise that the columns of each row are in order.
        unique_indices: promise that they are different.

    Raises:
        ValueError: if data, indices, indptr and shape do not fit together.
        TypeError: if indices or indptr are no integers.

    Example:
        >>> import morphax.numpy as jnp
        >>> from morphax.experimental import sparse
        >>> m = sparse.BCSR.fromdense(jnp.array([[0.0, 2.0, 0.0], [1.0, 0.0, 4.0]]))
        >>> m.indices, m.indptr
        (Array([1, 0, 2], dtype=int32), Array([0, 1, 3], dtype=int32))
        >>> m @ jnp.ones(3)
        Array([2., 5.], dtype=float32)
    """

    _told = ("n_batch", "n_dense")

    data: Any
    indices: Any
    indptr: Any
    indices_sorted: bool
    unique_indices: bool

    def __init__(
        self,
        args: tuple[Any, Any, Any],
        *,
        shape: Sequence[int],
        indices_sorted: bool = False,
        unique_indices: bool = False,
    ) -> None:
        self.data, self.indices, self.indptr = map(jnp.asarray, args)
        super().__init__(args, shape=shape)
        self.indices_sorted = indices_sorted
        self.unique_indices = unique_indices
        self._check()

    def _check(self) -> None:
        stored, held, ends = [aval_of(x) for x in (self.data, self.indices, self.indptr)]
        kinds = all(dtypes.issubdtype(a.dtype, np.integer) for a in (held, ends))
        n_batch, shape = held.ndim - 1, self.shape
        n_dense = len(shape) - n_batch - 2
        batch = shape[:n_batch]
        fits = (
            n_batch >= 0
            and n_dense >= 0
            and ends.ndim == n_batch + 1
            and ends.shape[-1] == shape[n_batch] + 1
            and stored.shape[n_batch:] == (held.shape[-1], *shape[n_batch + 2 :])
            and all(
                size in (1, whole)
                for a in (stored, held, ends)
                for size, whole in zip(a.shape[:n_batch], batch, strict=True)
            )
        )
        if kinds and fits:
            return
        raise (ValueError if kinds else TypeError)(
            message(
                "BCSR",
                given=f"data {stored.str_short()}, indices {held.str_short()}, "
                f"indptr {ends.str_short()}, shape {shape}",
                expected="data of shape (*batch, nse, *dense), integer indices (*batch, nse) and "
                "integer indptr (*batch, rows + 1)",
                fix="Give for each element its column, and for each row where it begins.",
            )
        )

    @property
    def nse(self) -> int:
        """How many elements each batch stores, padding too."""
        return int(aval_of(self.indices).shape[-1])

    @property
    def dtype(self) -> DType:
        return aval_of(self.data).dtype

    @property
    def n_batch(self) -> int:
        """How many of the axes are batch axes, the first ones."""
        return int(aval_of(self.indices).ndim) - 1

    @property
    def n_sparse(self) -> int:
        """How many of the axes are sparse: two."""
        return 2

    @property
    def n_dense(self) -> int:
        """How many of the axes are dense, the last ones."""
        return self.ndim - self.n_batch - 2

    @property
    def _sparse_shape(self) -> tuple[int, ...]:
        return self.shape[self.n_batch : self.n_batch + 2]

    @property
    def _info(self) -> SparseInfo:
        return SparseInfo(self.shape, self.indices_sorted, self.unique_indices)

    def replaced(
        self,
        data: Any,
        indices: Any,
        indptr: Any,
        *,
        shape: Sequence[int] | None = None,
        indices_sorted: bool = False,
        unique_indices: bool = False,
    ) -> BCSR:
        """An array with other parts."""
        return BCSR(
            (data, indices, indptr),
            shape=self.shape if shape is None else shape,
            indices_sorted=indices_sorted,
            unique_indices=unique_indices,
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
    ) -> BCSR:
        """The elements of a dense array that are not zero; arguments of `bcsr_fromdense`."""
        return bcsr_fromdense(
            mat, nse=nse, index_dtype=index_dtype, n_dense=n_dense, n_batch=n_batch
        )

    @classmethod
    def from_bcoo(cls, arr: BCOO) -> BCSR:
        """The same array from coordinate format.

        Raises:
            NotImplementedError: unless it has two sparse axes.
        """
        if arr.n_sparse != 2:
            raise NotImplementedError(
                message(
                    "BCSR.from_bcoo",
                    given=f"{arr!r}, which has {arr.n_sparse} sparse axes",
                    expected="two sparse axes",
                    fix="Change the layout with update_layout.",
                )
            )
        n_batch = arr.n_batch
        batch, sparse = arr.shape[:n_batch], arr.shape[n_batch : n_batch + 2]
        places = padding_last(with_batch(arr.indices, batch), sparse)
        whole = arr.replaced(
            data=with_batch(arr.data, batch), indices=places, unique_indices=arr.unique_indices
        ).sort_indices()
        dtype = aval_of(arr.indices).dtype
        return cls(
            (whole.data, *compressed(whole.indices, sparse[0], dtype)),
            shape=arr.shape,
            indices_sorted=True,
            unique_indices=arr.unique_indices,
        )

    @classmethod
    def from_scipy_sparse(
        cls, mat: Any, *, index_dtype: Any = None, n_dense: int = 0, n_batch: int = 0
    ) -> BCSR:
        """A matrix of ``scipy.sparse``, of any format; arguments of `BCOO.from_scipy_sparse`."""
        if n_dense or n_batch:
            raise NotImplementedError(
                message(
                    "BCSR.from_scipy_sparse",
                    given=f"n_dense={n_dense} and n_batch={n_batch}",
                    expected="0, for matrices of SciPy have sparse axes only",
                    fix="Leave them out.",
                )
            )
        rows = mat.tocsr()
        kind = rows.indices.dtype if index_dtype is None else index_dtype
        places = rows.indices.astype(kind), rows.indptr.astype(kind)
        return cls((rows.data, *places), shape=rows.shape)

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
    ) -> BCSR:
        _check_matrices("sparse.empty", len(tuple(shape)), n_batch, n_dense)
        options: dict[str, Any] = {"n_batch": n_batch, "n_dense": n_dense, "nse": nse}
        return cls.from_bcoo(BCOO._empty(shape, dtype=dtype, index_dtype=index_dtype, **options))

    def todense(self) -> Any:
        """The same numbers as a dense array."""
        return bcsr_todense(self)

    def to_bcoo(self) -> BCOO:
        """The same array in coordinate format."""
        return BCOO(
            (self.data, coordinates(self.indices, self.indptr)),
            shape=self.shape,
            indices_sorted=self.indices_sorted,
            unique_indices=self.unique_indices,
        )

    def transpose(self, *args: Any, **kwargs: Any) -> BCSR:
        """Rows cannot become columns in this format.

        Raises:
            NotImplementedError: always.
        """
        raise NotImplementedError(
            message(
                "BCSR.transpose",
                given=f"{self!r}",
                expected="a format that holds rows and columns alike",
                fix="Say m.to_bcoo().transpose(axes).",
            )
        )

    def sum_duplicates(self, nse: int | None = None, remove_zeros: bool = True) -> BCSR:
        """Elements at equal places added up, sorted by place.

        Args:
            nse: how many elements the result holds; see `bcoo_sum_duplicates`.
            remove_zeros: whether stored zeros are left out.
        """
        if remove_zeros:
            return BCSR.from_bcoo(self.to_bcoo().sum_duplicates(nse=nse))
        return bcsr_sum_duplicates(self, nse=nse)

    def tree_flatten(self) -> tuple[tuple[Any, Any, Any], dict[str, Any]]:
        return (self.data, self.indices, self.indptr), {
            "shape": self.shape,
            "indices_sorted": self.indices_sorted,
            "unique_indices": self.unique_indices,
        }

    @classmethod
    def tree_unflatten(cls, aux_data: dict[str, Any], children: Sequence[Any]) -> Self:
        # Transformations put things into pytrees that are no arrays, so nothing is checked.
        array = object.__new__(cls)
        array.data, array.indices, array.indptr = children
        array.shape = aux_data["shape"]
        array.indices_sorted = aux_data["indices_sorted"]
        array.unique_indices = aux_data["unique_indices"]
        return array


def _check_matrices(where: str, ndim: int, n_batch: int, n_dense: int) -> None:
    check_layout(where, ndim, n_batch, n_dense)
    if ndim - n_batch - n_dense != 2:
        raise ValueError(
            message(
                f"{where} in BCSR format",
                given=f"{ndim} axes with n_batch={n_batch} and n_dense={n_dense}",
                expected="two axes besides, the rows and the columns",
                fix="Use BCOO for any number of sparse axes.",
            )
        )


def _member(
    part: Callable[[Any, Any], Any], position: Callable[[], Any], whole: BCSR, axis: int | None
) -> BCSR:
    """One member of a batch, for `vmap`."""
    if axis is None:
        return whole
    if not 0 <= axis < whole.n_batch:
        raise ValueError(
            message(
                "vmap, argument in_axes",
                given=f"axis {axis} of {whole!r}",
                expected=f"one of its {whole.n_batch} batch axes, counted from the front",
                fix="Only batch axes can be mapped over.",
            )
        )
    size = whole.shape[axis]
    parts = [
        part(x, axis) if aval_of(x).shape[axis] == size else squeeze(x, (axis,))
        for x in whole.tree_flatten()[0]
    ]
    shape = (*whole.shape[:axis], *whole.shape[axis + 1 :])
    return whole.replaced(*parts, shape=shape)


def _batch(
    whole: Callable[[Any, Any, Any], Any], size: int, member: BCSR, axis: int | None
) -> BCSR:
    """All members of a batch, for `vmap`."""
    if axis is not None and not 0 <= axis <= member.n_batch:
        raise ValueError(
            message(
                "vmap, argument out_axes",
                given=f"axis {axis} for {member!r}",
                expected=f"a place among its {member.n_batch} batch axes, which are the first ones",
                fix="Leave out_axes out.",
            )
        )
    parts = [whole(size, x, axis) for x in member.tree_flatten()[0]]
    shape = member.shape
    shape = shape if axis is None else (*shape[:axis], size, *shape[axis:])
    return member.replaced(*parts, shape=shape)


register_vmappable(BCSR, int, None, _member, _batch, None)


def bcsr_fromdense(
    mat: Any,
    *,
    nse: int | None = None,
    n_batch: int = 0,
    n_dense: int = 0,
    index_dtype: Any = jnp.int32,
) -> BCSR:
    """The elements of a dense array that are not zero; arguments of `bcoo_fromdense`.

    Raises:
        ValueError: unless two axes are neither batch nor dense axes.
    """
    dense = jnp.asarray(mat)
    _check_matrices("bcsr_fromdense", dense.ndim, n_batch, n_dense)
    options = fromdense_options("bcsr_fromdense", dense, nse, n_batch, n_dense, index_dtype)
    parts = bcsr_fromdense_p.bind(dense, **options)
    return BCSR(tuple(parts), shape=dense.shape, indices_sorted=True, unique_indices=True)


def bcsr_broadcast_in_dim(
    mat: BCSR, *, shape: Sequence[int], broadcast_dimensions: Sequence[int], sharding: Any = None
) -> BCSR:
    """The array repeated along new axes; arguments of `bcoo_broadcast_in_dim`."""
    return BCSR.from_bcoo(
        bcoo_broadcast_in_dim(
            mat.to_bcoo(),
            shape=shape,
            broadcast_dimensions=broadcast_dimensions,
            sharding=sharding,
        )
    )


def bcsr_concatenate(operands: Sequence[BCSR], *, dimension: int) -> BCSR:
    """Arrays one after the other along a batch or a sparse axis; as `bcoo_concatenate`."""
    parts = [mat.to_bcoo() if isinstance(mat, BCSR) else mat for mat in operands]
    return BCSR.from_bcoo(bcoo_concatenate(parts, dimension=dimension))
