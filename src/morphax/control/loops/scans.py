"""`scan` and `map`: loops over slices as one operation.

The values that a loop carries keep their structure, shapes and dtypes.  A carry that starts weakly
typed (a Python number) takes the dtype that the body gives it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ... import tree
from ...config import current as current_config
from ...core import aval_of, frames_hidden, frames_hidden_here, stage_with_operands
from ...lax.shape.joining import concatenate
from ...lax.shape.shape_operations import collapse, reshape
from ...lax.shape.slicing import index_in_dim, slice_in_dim
from ...transforms.flattening import (
    FlatFunction,
    avals_of,
    check_callable,
    check_values,
    debug_info,
    function_label,
)
from ...transforms.vmap import vmap
from ...tree import PyTreeDef
from ...util.messages import message
from ..bodies.wiring import slice_aval
from ..remembered import Recall
from .carry import (
    CarrySearch,
    arguments_tree,
    check_carry,
    end_carry,
    stacked,
    start_carry,
)
from .loop_sizes import batch_length, leaf_names, scan_length, unrolled
from .scan_primitive import scan_p


def scan(
    f: Callable[..., Any],
    init: Any,
    xs: Any = None,
    length: int | None = None,
    reverse: bool = False,
    unroll: int | bool = 1,
    _split_transpose: bool = False,
) -> tuple[Any, Any]:
    """Loop over slices along the leading axis, carrying a value and stacking results.

        carry, ys = init, []
        for x in xs: carry, y = f(carry, x); ys.append(y)

    Args:
        f: (carry, slice of xs) → (carry, slice of ys).
        init: the carry at the start, a tree of arrays.
        xs: arrays of shape (length, ...), a tree of them, or `None`.
        length: number of steps, needed if `xs` has no leaves.
        reverse: go from the last slice to the first; ys are in the order of xs all the same.
        unroll: steps per iteration of the compiled loop; `True` for all.

    Returns:
        The last carry, and ys stacked along a leading axis.

    Raises:
        ValueError: lengths differ or are unknown.
        TypeError: the carry changes its structure, a shape or a dtype.

    Example:
        >>> import morphax as jax
        >>> import morphax.numpy as jnp
        >>> jax.lax.scan(lambda c, x: (c + x, c), 0.0, jnp.arange(3.0))
        (Array(3., dtype=float32), Array([0., 0., 1.], dtype=float32, weak_type=True))
    """
    with frames_hidden_here:
        check_callable("lax.scan", f)
        xs_leaves, xs_tree = tree.flatten(xs)
        check_values("lax.scan", lambda: leaf_names("xs", xs), xs_leaves)
        steps = scan_length(xs, xs_leaves, length)
        if current_config().disable_jit and steps:
            return _python_scan(f, init, xs_leaves, xs_tree, steps, reverse)
        init_leaves, init_tree = tree.flatten(init)
        check_values("lax.scan", lambda: leaf_names("init", init), init_leaves)
        avals = avals_of(init_leaves)
        slice_avals = tuple([slice_aval(aval_of(x), steps) for x in xs_leaves])

        recall = Recall((f,), ("scan", avals, slice_avals), (init_tree, xs_tree))
        if recall.found is None:
            in_tree, search = arguments_tree(init_tree, xs_tree), CarrySearch(avals)
            while search.found is None:
                flat = FlatFunction(f, in_tree, "lax.scan")
                info = debug_info("scan", f, in_tree)
                jaxpr, caught = stage_with_operands(flat, [*search.avals, *slice_avals], info)
                carry_tree = _carry_tree(f, flat.out_tree, jaxpr.out_avals)
                check_carry("lax.scan", f, init_tree, carry_tree, search.avals, jaxpr.out_avals)
                search.offer(jaxpr, caught, flat.out_tree)
            recall.found = recall.keep(search.found.without_captured(), list(search.found.captured))
        loop, captured = recall.found
        outs = scan_p.bind(
            *captured,
            *start_carry(init_leaves, loop.avals),
            *xs_leaves,
            jaxpr=loop.body,
            length=steps,
            num_carry=len(avals),
            num_consts=len(captured),
            reverse=bool(reverse),
            unroll=unrolled(unroll, steps),
        )
        return loop.extra.unflatten(end_carry(outs, loop))


def _carry_tree(f: Callable[..., Any], out_tree: PyTreeDef, avals: Sequence[Any]) -> Any:
    children = out_tree.children()
    if out_tree == tree.structure((0, 0)) or (len(children) == 2 and _is_pair(out_tree)):
        return children[0]
    raise TypeError(
        message(
            f"lax.scan, result of {function_label(f)}",
            given=f"{avals[0]}" if out_tree == tree.structure(0) else f"{out_tree}",
            expected="a pair (carry, slice of ys)",
            fix="Return two values; None for the second if nothing is stacked.",
        )
    )


def _is_pair(out_tree: PyTreeDef) -> bool:
    example = out_tree.unflatten([0] * out_tree.num_leaves)
    return isinstance(example, (tuple, list)) and len(example) == 2


def _python_scan(
    f: Callable[..., Any],
    init: Any,
    leaves: Sequence[Any],
    xs_tree: PyTreeDef,
    steps: int,
    reverse: bool,
) -> tuple[Any, Any]:
    """The loop itself, for ``jax_disable_jit``."""
    carry, rows = init, []
    for i in range(steps - 1, -1, -1) if reverse else range(steps):
        carry, y = f(
            carry, xs_tree.unflatten([index_in_dim(x, i, 0, keepdims=False) for x in leaves])
        )
        rows.append(y)
    if reverse:
        rows.reverse()
    return carry, tree.map(stacked, *rows)


@frames_hidden
def map(f: Callable[..., Any], xs: Any, *, batch_size: int | None = None) -> Any:
    """Apply `f` to each slice along the leading axis, one after the other.

    Args:
        f: slice of xs → result.
        xs: arrays of shape (n, ...), or a tree of them.
        batch_size: slices that are computed together, by `vmap`.

    Example:
        >>> import morphax as jax
        >>> import morphax.numpy as jnp
        >>> jax.lax.map(lambda x: x * x, jnp.arange(3))
        Array([0, 1, 4], dtype=int32)
    """
    check_callable("lax.map", f)
    leaves, structure = tree.flatten(xs)
    check_values("lax.map", lambda: leaf_names("xs", xs), leaves)
    length = scan_length(xs, leaves, None, "lax.map")
    if batch_size is None or batch_length(batch_size) == 0:
        return scan(lambda _, x: (None, f(x)), None, xs)[1]
    whole = length - length % batch_size
    in_batches = [
        reshape(slice_in_dim(x, 0, whole), (whole // batch_size, batch_size, *aval_of(x).shape[1:]))
        for x in leaves
    ]
    batched = scan(lambda _, x: (None, vmap(f)(x)), None, structure.unflatten(in_batches))[1]
    done = tree.map(lambda y: collapse(y, 0, 2), batched)
    if whole == length:
        return done
    rest = vmap(f)(structure.unflatten([slice_in_dim(x, whole, length) for x in leaves]))
    return tree.map(lambda a, b: concatenate([a, b], 0), done, rest)
