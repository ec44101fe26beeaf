"""`custom_vjp`: functions whose pullback the user defines."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from .. import dtypes, tree
from ..core import aval_of, is_zero
from ..transforms.flattening import FlatFunction, function_label
from ..util.messages import message
from .custom_rules import bind_call, dispatch, nondiff_positions
from .custom_vjp_primitives import Forward, Pull, custom_vjp_call_p


class custom_vjp:
    """Define the pullback of a function yourself, for reverse mode.

    Args:
        fun: function of arrays or trees.
        nondiff_argnums, nondiff_argnames: arguments that are Python values; the backward rule
            gets them first.

    Example:
        >>> import morphax as jax
        >>> import morphax.numpy as jnp
        >>> @jax.custom_vjp
        ... def clip_gradient(x):
        ...     return x
        >>> def forward(x):
        ...     return x, None
        >>> def backward(residuals, ct):
        ...     return (jnp.clip(ct, -1.0, 1.0),)
        >>> clip_gradient.defvjp(forward, backward)
        >>> jax.grad(lambda x: 5.0 * clip_gradient(x))(3.0)
        Array(1., dtype=float32, weak_type=True)
    """

    def __init__(
        self,
        fun: Callable[..., Any],
        nondiff_argnums: Sequence[int] = (),
        nondiff_argnames: Sequence[str] = (),
    ) -> None:
        functools.update_wrapper(self, fun)
        self.fun = fun
        self.nondiff_argnums = nondiff_positions(fun, nondiff_argnums, nondiff_argnames)
        self.fwd: Callable[..., Any] | None = None
        self.bwd: Callable[..., Any] | None = None

    def defvjp(self, fwd: Callable[..., Any], bwd: Callable[..., Any]) -> None:
        """Set the rules.

        Args:
            fwd: takes what the function takes, returns (result, residuals).
            bwd: (nondiff arguments, residuals, cotangent of the result) → tuple of cotangents, one
                per argument; `None` stands for zero.
        """
        self.fwd = fwd
        self.bwd = bwd

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        label = function_label(self.fun)
        if self.fwd is None or self.bwd is None:
            raise AttributeError(
                message(
                    f"custom_vjp function {label}",
                    given="a call before the derivative is defined",
                    expected="a forward and a backward rule",
                    fix="Define them with f.defvjp(forward, backward).",
                )
            )
        call = bind_call("custom_vjp", self.fun, self.nondiff_argnums, args, kwargs)
        forward = self._rules(call.fixed, call.flat, label)

        params = {"forward": forward, "name": self.fun.__name__}
        outs = dispatch(custom_vjp_call_p, call, params)
        return call.flat.out_tree.unflatten(outs)

    def _rules(self, fixed: tuple[Any, ...], flat: FlatFunction, label: str) -> Forward:
        """The user's rules as functions of leaves."""
        fwd, bwd, in_tree = self.fwd, self.bwd, flat.in_tree
        assert fwd is not None, "the rules are defined"
        assert bwd is not None, "the rules are defined"
        positions = self.nondiff_argnums

        def forward(operands: Sequence[Any]) -> tuple[list[Any], list[Any], Pull]:
            arguments = _with_fixed(in_tree.unflatten(operands)[0], positions, fixed)
            result = fwd(*arguments)
            if not (isinstance(result, (tuple, list)) and len(result) == 2):
                raise TypeError(
                    message(
                        f"the forward rule of {label}",
                        given=f"a {type(result).__name__}",
                        expected="a pair (result, residuals)",
                        fix="Return a pair.",
                    )
                )
            outs, flat.out_tree = tree.flatten(result[0])
            residuals, residual_tree = tree.flatten(result[1])
            avals = [aval_of(x) for x in operands]
            out_tree = flat.out_tree

            def pull(kept: Sequence[Any], cts: Sequence[Any]) -> list[Any]:
                given = bwd(*fixed, residual_tree.unflatten(kept), out_tree.unflatten(cts))
                return _checked_cotangents(label, given, in_tree, avals)

            return outs, residuals, pull

        return forward

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        return self if instance is None else functools.partial(self, instance)


def _with_fixed(
    dynamic: Sequence[Any], positions: Sequence[int], fixed: Sequence[Any]
) -> list[Any]:
    full = list(dynamic)
    for position, value in zip(positions, fixed, strict=True):
        full.insert(position, value)
    return full


def _checked_cotangents(label: str, given: Any, in_tree: Any, avals: Sequence[Any]) -> list[Any]:
    """One cotangent per operand, `None` where it is zero."""
    expected = in_tree.unflatten(range(in_tree.num_leaves))[0]
    where = f"the backward rule of {label}"
    if not isinstance(given, (tuple, list)) or len(given) != len(expected):
        count = len(given) if isinstance(given, (tuple, list)) else type(given).__name__
        raise TypeError(
            message(
                where,
                given=f"{count} cotangents",
                expected=f"a tuple of {len(expected)}, one per argument",
                fix="Return a tuple; use None for arguments without a cotangent.",
            )
        )
    results: list[Any] = [None] * in_tree.num_leaves
    for ct, argument in zip(given, expected, strict=True):
        positions = tree.leaves(argument)
        if ct is None:
            continue
        leaves, structure = tree.flatten(ct, is_leaf=lambda x: x is None)
        if len(leaves) != len(positions):
            raise TypeError(
                message(
                    where,
                    given=f"a cotangent of structure {structure}",
                    expected=f"the structure of the argument, {tree.structure(argument)}",
                    fix="Return cotangents with the structure of the arguments.",
                )
            )
        for position, leaf in zip(positions, leaves, strict=True):
            results[position] = _checked_leaf(where, leaf, avals[position])
    return results


def _checked_leaf(where: str, ct: Any, aval: Any) -> Any:
    expected = aval.to_tangent_aval()
    if ct is None or is_zero(ct) or expected.dtype == dtypes.float0:
        return None
    given = aval_of(ct)
    if given.shape == expected.shape and given.dtype == expected.dtype:
        return ct
    raise TypeError(
        message(
            where,
            given=f"a cotangent {given} of an argument {aval}",
            expected=f"a cotangent {expected}",
            fix="Return cotangents with the shapes and dtypes of the arguments.",
        )
    )
