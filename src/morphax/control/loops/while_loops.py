"""`while_loop` and `fori_loop`: loops that a condition ends, or a count.

The values that a loop carries keep their structure, shapes and dtypes, as those of `scan` do.
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
from ...transforms.flattening import (
    FlatFunction,
    avals_of,
    check_callable,
    check_values,
    debug_info,
    function_label,
)
from ...tree import PyTreeDef
from ...util.messages import message
from .. import loops
from ..remembered import Recall
from .carry import (
    CarrySearch,
    arguments_tree,
    check_carry,
    converted,
    end_carry,
    start_carry,
    varying,
)
from .loop_sizes import check_bounds, leaf_names
from .scans import scan
from .while_bounds import bounds_in_force
from .while_primitive import while_p


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
        in_tree, search = arguments_tree(structure), CarrySearch(avals)
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
    primitive = while_p if bounds is None else loops.while_derivatives.reversible_while_p
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
    in_tree = arguments_tree(structure)
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


def _python_while(
    cond_fun: Callable[[Any], Any], body_fun: Callable[[Any], Any], value: Any
) -> tuple[Any, bool]:
    """The loop as far as the condition is known, for ``jax_disable_jit``; whether it is over."""
    while is_concrete(goes_on := cond_fun(value)):
        if not goes_on:
            return value, True
        value = body_fun(value)
    return value, False


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
