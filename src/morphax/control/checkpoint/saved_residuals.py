"""What reverse-mode differentiation of a function keeps from the forward pass.

The function is staged and its program linearized: the residuals of the linearization are the values
in question, and the forward program tells where each comes from.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ... import tree
from ...core import Equation, Jaxpr, Literal, aval_of, jaxprs_in_params, stage_with_operands
from ...transforms.derivatives import is_differentiable
from ...transforms.flattening import (
    FlatFunction,
    argument_names,
    avals_of,
    check_callable,
    check_values,
    debug_info,
)
from ...transforms.staged_linearization import linearize_jaxpr
from .checkpoint_name import name_p


def saved_residuals(f: Callable[..., Any], *args: Any, **kwargs: Any) -> list[tuple[Any, str]]:
    """The values that the backward pass of `f` gets from its forward pass.

    Args:
        f: function of arrays or trees.
        *args, **kwargs: its arguments.

    Returns:
        The aval of each value, and where it comes from, in words.

    Example:
        >>> import morphax.numpy as jnp
        >>> from morphax.control.checkpoint.saved_residuals import saved_residuals
        >>> saved_residuals(lambda x: x * x, 3.0)
        [(ShapedArray(float32[], weak_type=True), 'from the argument x')]
    """
    check_callable("saved_residuals", f)
    leaves, in_tree = tree.flatten((args, kwargs))
    check_values("saved_residuals", lambda: argument_names(f, in_tree), leaves)
    flat = FlatFunction(f, in_tree, "saved_residuals")
    info = debug_info("saved_residuals", f, in_tree)
    jaxpr, captured = stage_with_operands(flat, avals_of(leaves), info)
    active = (*[False] * len(captured), *map(is_differentiable, leaves))
    rule = linearize_jaxpr(jaxpr, active)
    forward = rule.forward
    assert forward is not None, "a program is split, it is not run"
    residuals = set(forward.outvars[len(rule.out_active) :])
    found = [(aval_of(x), "from a constant") for x in _constants(rule.linear).values()]
    found += [
        (v.aval, "from a constant") for v in forward.invars[: len(captured)] if v in residuals
    ]
    arguments = forward.invars[len(captured) :]
    for name, v in zip(info.argument_names(len(arguments)), arguments, strict=True):
        if v in residuals:
            found.append((v.aval, f"from the argument {name}"))
    return found + _computed(forward, residuals)


def _constants(jaxpr: Jaxpr) -> dict[int, Any]:
    """The constants of a program and of those in it, each once."""
    found = {id(x): x for x in jaxpr.consts}
    for eqn in jaxpr.eqns:
        for inner in jaxprs_in_params(eqn.params):
            found |= _constants(inner)
    return found


def _computed(forward: Jaxpr, residuals: set[Any]) -> list[tuple[Any, str]]:
    """Residuals that equations of the forward program give, in their order."""
    names = {a: eqn.params["name"] for eqn in forward.eqns if eqn.primitive is name_p
             for a in (*eqn.invars, *eqn.outvars) if type(a) is not Literal}  # fmt: skip
    return [
        (v.aval, f"{_origin(eqn, names.get(v))} from {eqn.source or 'an unknown place'}")
        for eqn in forward.eqns
        for v in eqn.outvars
        if v in residuals
    ]


def _origin(eqn: Equation, name: str | None) -> str:
    if name is not None:
        return f"named '{name}'"
    if eqn.primitive.is_call:
        return f"output of jitted function '{eqn.params['name']}'"
    return f"output of {eqn.primitive}"


def print_saved_residuals(f: Callable[..., Any], *args: Any, **kwargs: Any) -> None:
    """Print the values that the backward pass of `f` gets from its forward pass, one per line.

    Args:
        f: function of arrays or trees.
        *args, **kwargs: its arguments.

    Example:
        >>> import morphax.numpy as jnp
        >>> from morphax.ad_checkpoint import print_saved_residuals
        >>> print_saved_residuals(jnp.dot, jnp.ones((2, 3)), jnp.ones(3))
        f32[2,3] from the argument a
        f32[3] from the argument b
    """
    for aval, origin in saved_residuals(f, *args, **kwargs):
        print(f"{aval.str_short(short_dtypes=True)} {origin}")
