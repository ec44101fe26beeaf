"""`scan`, `while_loop`, `fori_loop` and `map`: loops as one operation.

The values that a loop carries keep their structure, shapes and dtypes.  A carry that starts weakly
typed (a Python number) takes the dtype that the body gives it.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ... import dtypes, tree
from ...config import current as current_config
from ...core import (
    Jaxpr,
    Tracer,
    aval_of,
    frames_hidden,
    frames_hidden_here,
    is_concrete,
    stage_with_operands,
)
from ...core.dims import SymbolicDim, max_dim
from ...lax.elementwise.arithmetic import add
from ...lax.elementwise.comparison import lt
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
    check_carry,
    converted,
    end_carry,
    stacked,
    start_carry,
    varying,
)
from .loop_sizes import batch_length, check_bounds, leaf_names, scan_length, unrolled
from .scan_primitive import scan_p
from .while_bounds import bounds_in_force
from .while_derivatives import reversible_while_p
from .while_primitive import while_p

_no_kwargs = tree.structure({})


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
            in_tree, search = _arguments(init_tree, xs_tree), CarrySearch(avals)
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


def _arguments(*trees: PyTreeDef) -> PyTreeDef:
    """The structure of the arguments of a call by position."""
    return tree.treedef_tuple((tree.treedef_tuple(trees), _no_kwargs))


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


def _python_while(
    cond_fun: Callable[[Any], Any], body_fun: Callable[[Any], Any], value: Any
) -> tuple[Any, bool]:
    """The loop as far as the condition is known, for ``jax_disable_jit``; whether it is over."""
    while is_concrete(goes_on := cond_fun(value)):
        if not goes_on:
            return value, True
        value = body_fun(value)
    return value, False


@frames_hidden
def while_loop(
    cond_fun: Callable[[Any], Any], body_fun: Callable[[Any], Any], init_val: Any
) -> Any:
    """Apply `body_fun` while `cond_fun` is true.

        val = init_val
        while cond_fun(val): val = body_fun(val)

    Reverse mode needs a bound on the number of steps, which `reverse_while` gives.

    Args:
        cond_fun: value → boolean scalar.
        body_fun: value → value of the same structure, shapes and dtypes.
        init_val: the value at the start, a tree of arrays.

    Raises:
        TypeError: the value changes its structure, a shape or a dtype, or the condition is not a
            boolean scalar.

    Example:
        >>> import morphax as jax
        >>> jax.lax.while_loop(lambda x: x < 10, lambda x: 2 * x, 1)
        Array(16, dtype=int32, weak_type=True)
    """
    check_callable("lax.while_loop", cond_fun)
    check_callable("lax.while_loop", body_fun)
    if current_config().disable_jit:
        init_val, is_over = _python_while(cond_fun, body_fun, init_val)
        if is_over:
            return init_val
    leaves, structure = tree.flatten(init_val)
    check_values("lax.while_loop", lambda: leaf_names("init_val", init_val), leaves)
    avals = avals_of(leaves)

    recall = Recall((cond_fun, body_fun), ("while_loop", avals), (structure,))
    if recall.found is None:
        in_tree, search = _arguments(structure), CarrySearch(avals)
        while True:
            flat = FlatFunction(body_fun, in_tree, "lax.while_loop")
            info = debug_info("while_loop", body_fun, in_tree)
            body, caught = stage_with_operands(flat, search.avals, info)
            results = flat.out_tree, search.avals, body.out_avals
            check_carry("lax.while_loop", body_fun, structure, *results)
            search.offer(body, caught)
            if search.found is None:
                continue
            condition, captured = _condition(cond_fun, structure, search.avals)
            decided = condition.out_avals[0].vma
            if all([decided <= a.vma for a in search.avals]):
                break
            # Members that go round more or less often end with different values.
            search = CarrySearch([varying(a, decided) for a in search.avals])
        program = (search.found.without_captured(), condition, len(captured))
        recall.found = recall.keep(program, [*captured, *search.found.captured])
    (loop, condition, cond_nconsts), captured = recall.found
    bounds = bounds_in_force()
    primitive = while_p if bounds is None else reversible_while_p
    outs = primitive.bind(
        *captured,
        *start_carry(leaves, loop.avals),
        cond_jaxpr=condition,
        cond_nconsts=cond_nconsts,
        body_jaxpr=loop.body,
        body_nconsts=len(captured) - cond_nconsts,
        **({} if bounds is None else {"bounds": bounds}),
    )
    return structure.unflatten(end_carry(outs, loop))


def _condition(
    cond_fun: Callable[..., Any], structure: PyTreeDef, avals: Sequence[Any]
) -> tuple[Jaxpr, list[Any]]:
    in_tree = _arguments(structure)
    flat = FlatFunction(cond_fun, in_tree, "lax.while_loop")
    info = debug_info("while_loop", cond_fun, in_tree)
    jaxpr, captured = stage_with_operands(flat, avals, info)
    outs, structure = jaxpr.out_avals, flat.out_tree
    is_alone = structure == tree.structure(0)
    if is_alone and outs[0].shape == () and outs[0].dtype == np.bool_:
        return jaxpr, captured
    raise TypeError(
        message(
            f"lax.while_loop, result of the condition {function_label(cond_fun)}",
            given=f"{outs[0]}" if is_alone else f"{structure}",
            expected="a boolean scalar",
            fix="Reduce it, for instance with jnp.all or jnp.any."
            if is_alone
            else "Return the truth value alone.",
        )
    )


def fori_loop(
    lower: Any,
    upper: Any,
    body_fun: Callable[[Any, Any], Any],
    init_val: Any,
    *,
    unroll: int | bool | None = None,
) -> Any:
    """Loop over the integers from `lower` to `upper`, `upper` excluded.

        val = init_val
        for i in range(lower, upper): val = body_fun(i, val)

    Bounds that are Python ints (or concrete) make a loop that reverse mode can differentiate.

    Args:
        lower, upper: integer scalars.
        body_fun: (i, value) → value of the same structure, shapes and dtypes.
        init_val: the value at the start, a tree of arrays.
        unroll: steps per iteration of the compiled loop, for bounds known while tracing.

    Example:
        >>> import morphax as jax
        >>> jax.lax.fori_loop(0, 4, lambda i, x: x + i, 0)
        Array(6, dtype=int32, weak_type=True)
    """
    with frames_hidden_here:
        check_callable("lax.fori_loop, argument body_fun", body_fun)
        check_bounds(lower, upper)
        if not any(isinstance(b, Tracer) for b in (lower, upper)):
            first, last = [b if type(b) is SymbolicDim else int(b) for b in (lower, upper)]
            (_, value), _ = scan(
                _counting(body_fun),
                (first, init_val),
                None,
                length=max_dim(last - first, 0),
                unroll=1 if unroll is None else unroll,
            )
            return value
        if unroll is not None:
            raise ValueError(
                message(
                    "lax.fori_loop, argument unroll",
                    given=f"unroll={unroll} with bounds that are traced",
                    expected="bounds that are known while tracing",
                    fix="Pass Python ints as bounds, or leave out unroll.",
                )
            )
        dtype = dtypes.result_type(lower, upper)
        bounds = [b if aval_of(b).dtype == dtype else converted(b, dtype) for b in (lower, upper)]
        # The counter is as weak as its first value.
        one = 1 if aval_of(bounds[0]).weak_type else np.asarray(1, dtype)[()]
        _, _, value = while_loop(
            lambda state: lt(state[0], state[1]),
            lambda state: (
                add(state[0], one),
                state[1],
                body_fun(state[0], state[2]),
            ),
            (*bounds, init_val),
        )
        return value


def _counting(body_fun: Callable[[Any, Any], Any]) -> Callable[..., Any]:
    @functools.wraps(body_fun)
    def step(state: tuple[Any, Any], _: None) -> tuple[tuple[Any, Any], None]:
        i, value = state
        return (add(i, 1), body_fun(i, value)), None

    return step


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
