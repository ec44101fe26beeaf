"""Look at what a function computes without computing it: `make_jaxpr`, `eval_shape`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from typing import Any

from .. import tree
from ..core import (
    DebugInfo,
    Jaxpr,
    ShapeDtypeStruct,
    close_open,
    extended_axis_env,
    frames_hidden,
    frames_hidden_in,
    is_value,
    stage,
)
from ..engines.reference.key_reuse import check_program
from ..lax.ground.axes import integer_tuple
from ..tree import PyTreeDef
from ..util.messages import message
from .derivatives import shape_aval
from .flattening import FlatFunction, check_avals, check_callable, debug_info, wraps


def make_jaxpr(
    fun: Callable[..., Any],
    static_argnums: int | Sequence[int] = (),
    axis_env: Sequence[tuple[Any, int]] | None = None,
    return_shape: bool = False,
    abstracted_axes: Any = None,
) -> Callable[..., Any]:
    """A function that returns the jaxpr of `fun` for the arguments it is given.

    Args:
        fun: function of arrays or trees.
        static_argnums: positions of arguments that are Python values.
        axis_env: names and sizes of axes that collectives in `fun` may refer to.
        return_shape: whether to return the shapes of the result as well.
        abstracted_axes: must be `None`: the sizes of axes are known while tracing.

    Example:
        >>> import morphax as jax
        >>> import morphax.numpy as jnp
        >>> jax.make_jaxpr(lambda x: jnp.log(x) / jnp.log(2.0))(3.0)
        { lambda ; a:f32[]. let
            b:f32[] = log a
            c:f32[] = log 2.0:f32[]
            d:f32[] = div b c
          in (d,) }
    """
    check_callable("make_jaxpr", fun)
    if abstracted_axes is not None:
        raise _fixed_sizes(abstracted_axes)
    numbers = (static_argnums,) if isinstance(static_argnums, int) else static_argnums
    static = integer_tuple("make_jaxpr, argument static_argnums", numbers)

    @wraps(fun)
    @frames_hidden_in
    def traced(*args: Any, **kwargs: Any) -> Any:
        positions = _chosen(static, len(args))
        dynamic = [x for i, x in enumerate(args) if i not in positions]

        @wraps(fun)
        def of_dynamic(*values: Any, **named: Any) -> Any:
            given = iter(values)
            return fun(*[x if i in positions else next(given) for i, x in enumerate(args)], **named)

        jaxpr, out_tree = _staged("make_jaxpr", of_dynamic, dynamic, kwargs, axis_env or ())
        return (jaxpr, _shapes(jaxpr, out_tree)) if return_shape else jaxpr

    return traced


@frames_hidden
def eval_shape(fun: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Shapes and dtypes of the result of `fun`, without computing it.

    Args:
        fun: function of arrays or trees; of its results, some may be `ShapeDtypeStruct`.
        *args, **kwargs: arrays, or anything that has a shape and a dtype.

    Returns:
        The structure of the result with `ShapeDtypeStruct` leaves.

    Example:
        >>> import morphax as jax
        >>> import morphax.numpy as jnp
        >>> jax.eval_shape(jnp.dot, jnp.ones((2, 3)), jnp.ones((3, 4))).shape
        (2, 4)
    """
    check_callable("eval_shape", fun)
    leaves, in_tree = tree.flatten((args, kwargs))
    flat = FlatFunction(fun, in_tree, "eval_shape", accepts=_has_shape)
    structs: list[ShapeDtypeStruct | None] = []

    def computed(*operands: Any) -> list[Any]:
        results = flat(*operands)
        structs.extend([x if type(x) is ShapeDtypeStruct else None for x in results])
        return [x for x, known in zip(results, structs, strict=True) if known is None]

    info = debug_info("eval_shape", fun, in_tree)
    jaxpr, consts = stage(computed, _avals(leaves, info), info)
    check_program(close_open(jaxpr, consts))
    avals = iter(jaxpr.out_avals)
    return flat.out_tree.unflatten(
        [ShapeDtypeStruct.of_aval(next(avals)) if known is None else known for known in structs]
    )


def _has_shape(x: object) -> bool:
    """Whether `eval_shape` has an answer for a result: a shape may be known without a value."""
    return is_value(x) or type(x) is ShapeDtypeStruct


def _staged(
    transform: str,
    fun: Callable[..., Any],
    args: Sequence[Any],
    kwargs: dict[str, Any],
    axis_env: Sequence[tuple[Any, int]],
) -> tuple[Jaxpr, Any]:
    leaves, in_tree = tree.flatten((tuple(args), kwargs))
    flat = FlatFunction(fun, in_tree, transform)
    info = debug_info(transform, fun, in_tree)
    with _axes_in_scope(axis_env):
        jaxpr, consts = stage(flat, _avals(leaves, info), info)
    closed = close_open(jaxpr, consts)
    check_program(closed)
    return closed, flat.out_tree


def _avals(leaves: Sequence[Any], info: DebugInfo) -> list[Any]:
    """The avals of what the function is asked about; an error names the argument."""
    try:
        return [shape_aval(x) for x in leaves]
    except (OverflowError, TypeError):
        names = info.safe_arg_names(len(leaves))
        check_avals(info.transform, lambda: names, leaves, shape_aval)
        raise


def _axes_in_scope(axis_env: Sequence[tuple[Any, int]]) -> ExitStack:
    stack = ExitStack()
    for name, size in axis_env:
        stack.enter_context(extended_axis_env(name, size))
    return stack


def _shapes(jaxpr: Jaxpr, out_tree: PyTreeDef) -> Any:
    return out_tree.unflatten(list(map(ShapeDtypeStruct.of_aval, jaxpr.out_avals)))


def _chosen(static: tuple[int, ...], count: int) -> set[int]:
    """Which of `count` positional arguments are static."""
    for n in static:
        if not -count <= n < count:
            raise ValueError(
                message(
                    "make_jaxpr, argument static_argnums",
                    given=f"number {n} in a call with {count} positional arguments",
                    expected="numbers of positional arguments, counted from 0",
                    fix="Pass static arguments by position, and count them from 0.",
                )
            )
    return {n % count for n in static}


def _fixed_sizes(abstracted_axes: Any) -> NotImplementedError:
    return NotImplementedError(
        message(
            "make_jaxpr, argument abstracted_axes",
            given=f"{abstracted_axes!r:.80}",
            expected="None: programs are traced for arguments of known sizes",
            fix="Leave abstracted_axes out, and trace once for each shape.",
        )
    )
