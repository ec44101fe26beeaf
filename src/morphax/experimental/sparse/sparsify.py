"""`sparsify`: functions of dense arrays, applied to sparse ones."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from ... import numpy as jnp
from ... import tree
from ...core import frames_hidden_in
from ...lax.ground.axes import check_callable
from .base import JAXSparse
from .bcoo.array import BCOO
from .sparsify_rules import RULES
from .sparsify_trace import SparseTracer, run


def sparsify(f: Callable[..., Any], use_tracer: bool = False) -> Callable[..., Any]:
    """A function that does what `f` does, also where arguments are sparse.

    `f` is run once.  What it does to a sparse array is done to the stored elements, so far as the
    result is sparse again; `sparse.todense` makes it dense where it is not.

    Args:
        f: function of arrays or trees.
        use_tracer: not used.

    Returns:
        A function of the same arguments, any of which may be sparse.

    Raises:
        NotImplementedError: when called, if an operation would make a sparse array dense.

    Example:
        >>> import morphax.numpy as jnp
        >>> from morphax.experimental import sparse
        >>> @sparse.sparsify
        ... def f(m, v):
        ...     return 2 * m.T @ v
        >>> f(sparse.eye(3), jnp.arange(3.0))
        Array([0., 2., 4.], dtype=float32)
    """
    check_callable("sparsify", f)

    @functools.wraps(f)
    @frames_hidden_in
    def sparsified(*args: Any, **kwargs: Any) -> Any:
        leaves, in_tree = tree.flatten((args, kwargs), _is_sparse)
        out_tree: Any = None

        def function(*operands: Any) -> list[Any]:
            nonlocal out_tree
            inner_args, inner_kwargs = in_tree.unflatten(operands)
            results, out_tree = tree.flatten(f(*inner_args, **inner_kwargs), _is_sparse)
            return results

        results = run(RULES, function, _with_own_places(leaves))
        return out_tree.unflatten(results)

    return sparsified


def _with_own_places(leaves: list[Any]) -> list[Any]:
    """Arguments no two of which share their places, as under `jit`.

    How many elements a sum stores depends on it, so it must not on how the function is called.
    """
    met: set[int] = set()
    own = []
    for x in leaves:
        places = x.indices if isinstance(x, BCOO) else None
        if places is not None and id(places) in met:
            kept = {"indices_sorted": x.indices_sorted, "unique_indices": x.unique_indices}
            x = x.replaced(indices=jnp.copy(places), **kept)
        met.add(id(places))
        own.append(x)
    return own


def _is_sparse(x: object) -> bool:
    return isinstance(x, (JAXSparse, SparseTracer))
