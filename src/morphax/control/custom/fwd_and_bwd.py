"""`fwd_and_bwd`: the two halves of reverse mode as functions of their own."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from ...transforms.derivatives import vjp
from ...transforms.flattening import check_callable
from ...transforms.gradients import ArgNums, check_argnums, is_single, with_others_fixed
from ..jit.jit import jit


def fwd_and_bwd(
    fun: Callable[..., Any], argnums: ArgNums, has_aux: bool = False, jitted: bool = True
) -> tuple[Callable[..., Any], Callable[[Any, Any], Any]]:
    """A forward pass that returns residuals, and a backward pass that takes them.

    Args:
        fun: function of arrays or trees.
        argnums: which positional arguments to differentiate.
        has_aux: whether `fun` returns a pair of result and auxiliary data.
        jitted: whether to compile both passes.

    Returns:
        ``(fwd, bwd)``.  ``fwd`` takes what `fun` takes and returns ``(f(x), f_vjp)``, and the
        auxiliary data third if `has_aux`.  ``bwd(f_vjp, ct)`` returns the cotangent of the argument
        (a tuple of them if `argnums` is a sequence).

    Example:
        >>> import morphax as jax
        >>> fwd, bwd = jax.fwd_and_bwd(lambda x, y: x * y, argnums=(0, 1))
        >>> y, f_vjp = fwd(2.0, 3.0)
        >>> bwd(f_vjp, 1.0)
        (Array(3., dtype=float32, weak_type=True), Array(2., dtype=float32, weak_type=True))
    """
    check_callable("fwd_and_bwd", fun)
    check_argnums("fwd_and_bwd", argnums)

    @functools.wraps(fun)
    def fwd(*args: Any, **kwargs: Any) -> Any:
        chosen, partial = with_others_fixed("fwd_and_bwd", fun, argnums, args, kwargs)
        return vjp(partial, *chosen, has_aux=has_aux)

    def bwd(f_vjp: Callable[[Any], Any], outgrad: Any) -> Any:
        cotangents = f_vjp(outgrad)
        return cotangents[0] if is_single(argnums) else cotangents

    return (jit(fwd), jit(bwd)) if jitted else (fwd, bwd)
