"""Sparse arrays from nothing: `empty`, `eye` and `random_bcoo`; and `todense`, for any array."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from operator import index
from typing import Any, final

import numpy as np

from ... import dtypes, random, tree
from ... import numpy as jnp
from ...core import BatchAxes, Operand, Param
from ...transforms.vmap import vmap
from ...util.messages import message
from .base import JAXSparse
from .bcoo import BCOO
from .bcoo.layout import check_layout
from .operation import SparseOperation


@final
class ToDense(SparseOperation):
    """The dense array of a sparse one of any format; of a dense one, itself.

    Operands: the leaves of the array.

    Params:
        tree: its structure.
    """

    name = "todense"

    def compute(self, *operands: Operand, tree: Any, **_: Param) -> Any:
        return _made_dense(tree.unflatten(operands))

    def batch(
        self,
        axes: BatchAxes,
        operands: Sequence[Operand],
        dims: Sequence[int | None],
        **params: Param,
    ) -> tuple[Any, Any]:
        """That of the format."""
        treedef: Any = params["tree"]
        return vmap(lambda *leaves: _made_dense(treedef.unflatten(leaves)), tuple(dims))(
            *operands
        ), 0


todense_p = ToDense()


def _made_dense(array: Any) -> Any:
    return array.todense() if isinstance(array, JAXSparse) else array


def todense(arr: JAXSparse | Any) -> Any:
    """The same numbers as a dense array; a dense array is given back.

    Inside of `sparsify` the argument may be either.

    Example:
        >>> from morphax.experimental import sparse
        >>> sparse.todense(sparse.eye(2))
        Array([[1., 0.],
               [0., 1.]], dtype=float32)
    """
    leaves, structure = tree.flatten(arr)
    if not isinstance(arr, JAXSparse) and not (len(leaves) == 1 and leaves[0] is arr):
        return arr
    return todense_p.bind(*leaves, tree=structure)


def empty(
    shape: Sequence[int],
    dtype: Any = None,
    index_dtype: Any = "int32",
    sparse_format: str = "bcoo",
    **kwds: Any,
) -> JAXSparse:
    """A sparse array of zeros, with nothing stored.

    Args:
        shape, dtype: of the array.
        index_dtype: of its indices.
        sparse_format: ``"bcoo"``, ``"bcsr"``, ``"coo"``, ``"csr"`` or ``"csc"``.
        **kwds: what the format takes besides: ``nse``, and ``n_batch`` and ``n_dense``.

    Raises:
        ValueError: if there is no such format.

    Example:
        >>> from morphax.experimental import sparse
        >>> sparse.empty((2, 3))
        BCOO(float32[2, 3], nse=0)
    """
    kind = _format("sparse.empty", sparse_format)
    sizes = tuple([index(size) for size in shape])
    return kind._empty(sizes, dtype=dtype, index_dtype=index_dtype, **kwds)


def eye(
    N: int,
    M: int | None = None,
    k: int = 0,
    dtype: Any = None,
    index_dtype: Any = "int32",
    sparse_format: str = "bcoo",
    **kwds: Any,
) -> JAXSparse:
    """A sparse matrix with ones along a diagonal.

    Args:
        N, M: the numbers of rows and of columns, as many as rows if `M` is left out.
        k: the diagonal, counted from the main one to the right.
        dtype: of the elements.
        index_dtype: of its indices.
        sparse_format: as that of `empty`.
        **kwds: what the format takes besides: ``n_batch`` and ``n_dense``.

    Raises:
        ValueError: if there is no such format.

    Example:
        >>> from morphax.experimental import sparse
        >>> sparse.eye(2, 3, k=1).todense()
        Array([[0., 1., 0.],
               [0., 0., 1.]], dtype=float32)
    """
    kind = _format("sparse.eye", sparse_format)
    rows = index(N)
    columns = rows if M is None else index(M)
    return kind._eye(rows, columns, index(k), dtype=dtype, index_dtype=index_dtype, **kwds)


def _format(where: str, name: str) -> type[JAXSparse]:
    base: Any = JAXSparse
    formats = {kind.__name__.lower(): kind for kind in _final_classes(base)}
    if name not in formats:
        raise ValueError(
            message(
                f"{where}, argument sparse_format",
                given=repr(name),
                expected=f"one of {', '.join(sorted(formats))}",
                fix="Leave it out for the most general one.",
            )
        )
    return formats[name]


def _final_classes(kind: type[JAXSparse]) -> list[type[JAXSparse]]:
    """The classes that nobody derives from."""
    derived = kind.__subclasses__()
    return [final for cls in derived for final in _final_classes(cls)] if derived else [kind]


def random_bcoo(
    key: Any,
    shape: Sequence[int],
    *,
    dtype: Any = jnp.float64,
    indices_dtype: Any = None,
    nse: int | float = 0.2,
    n_batch: int = 0,
    n_dense: int = 0,
    unique_indices: bool = True,
    sorted_indices: bool = False,
    generator: Callable[..., Any] = random.uniform,
    **kwds: Any,
) -> BCOO:
    """A random BCOO array.

    Args:
        key: random key.
        shape: of the array.
        dtype: of its elements; 64-bit ones are narrowed unless they are enabled.
        indices_dtype: of its indices.
        nse: how many elements each batch stores; a float below 1 is the share of all.
        n_batch, n_dense: the numbers of batch and of dense axes.
        unique_indices: whether all places of a batch differ.
        sorted_indices: whether they are sorted.
        generator: (key, shape, dtype, **kwds) → the stored elements.
        **kwds: further arguments of `generator`.

    Raises:
        ValueError: if there are not so many axes or places.

    Example:
        >>> import morphax as jax
        >>> from morphax.experimental import sparse
        >>> sparse.random_bcoo(jax.random.key(0), (3, 4), nse=3)
        BCOO(float32[3, 4], nse=3)
    """
    sizes = tuple([index(size) for size in shape])
    check_layout("random_bcoo", len(sizes), n_batch, n_dense)
    end = len(sizes) - n_dense
    batch, sparse = sizes[:n_batch], sizes[n_batch:end]
    count = _stored_count(nse, math.prod(sparse))
    kind = dtypes.canonicalize_dtype(np.int32 if indices_dtype is None else indices_dtype)
    data_key, index_key = random.split(key)
    value_type = dtypes.canonicalize_dtype(dtype)
    data = generator(data_key, shape=(*batch, count, *sizes[end:]), dtype=value_type, **kwds)

    def places(key: Any) -> Any:
        if not count or not sparse:
            return jnp.zeros((count, len(sparse)), kind)
        flat = random.choice(key, math.prod(sparse), shape=(count,), replace=not unique_indices)
        return jnp.stack([x.astype(kind) for x in jnp.unravel_index(flat, sparse)], -1)

    if batch:
        rows = vmap(places)(random.split(index_key, math.prod(batch)))
    else:
        rows = places(index_key)
    indices = rows.reshape((*batch, count, len(sparse)))
    result = BCOO((data, indices), shape=sizes, unique_indices=unique_indices)
    return result.sort_indices() if sorted_indices else result


def _stored_count(nse: int | float, count: int) -> int:
    """How many elements are stored of `count`."""
    if isinstance(nse, float) and 0 < nse < 1:
        return int(np.ceil(nse * count))
    if nse != int(nse) or not 0 <= nse <= count:
        raise ValueError(
            message(
                "random_bcoo, argument nse",
                given=f"{nse} for {count} places",
                expected="a number of elements up to that of places, or a share below 1",
                fix="Check the shape and the layout.",
            )
        )
    return int(nse)
