"""`custom_vjp`: functions whose pullback the user defines."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ... import errors, tree
from ...core import Operand, Tracer, aval_of
from ...transforms.derivative_maps import tangent_output
from ...transforms.flattening import FlatFunction, function_label
from ...util.messages import message
from .custom_rules import HasRules
from .custom_symbolic import CustomVJPPrimal
from .custom_vjp_checks import checked_cotangents, checked_pair
from .custom_vjp_primitives import Forward, Pull, custom_vjp_call_p
from .custom_vjp_remat import replaceable_forward


class custom_vjp(HasRules):
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

    _where = "custom_vjp"
    _primitive = custom_vjp_call_p

    def __init__(
        self,
        fun: Callable[..., Any],
        nondiff_argnums: Sequence[int] = (),
        nondiff_argnames: Sequence[str] = (),
    ) -> None:
        super().__init__(fun, nondiff_argnums, nondiff_argnames)
        self.fwd: Callable[..., Any] | None = None
        self.bwd: Callable[..., Any] | None = None
        self.optimize_remat = False

    def defvjp(
        self,
        fwd: Callable[..., Any],
        bwd: Callable[..., Any],
        symbolic_zeros: bool = False,
        optimize_remat: bool = False,
    ) -> None:
        """Set the rules.

        Args:
            fwd: takes what the function takes, returns (result, residuals).
            bwd: (nondiff arguments, residuals, cotangent of the result) → tuple of cotangents, one
                per argument; `None` stands for zero.
            symbolic_zeros: hand arrays to `fwd` as `CustomVJPPrimal`, which tells whether they are
                differentiated, and cotangents known to be zero to `bwd` as `SymbolicZero`.
            optimize_remat: under `checkpoint`, where the residuals are not needed, run the
                function itself instead of `fwd`.
        """
        self.fwd = fwd
        self.bwd = bwd
        self.symbolic_zeros = symbolic_zeros
        self.optimize_remat = optimize_remat

    def _check_defined(self) -> None:
        if self.fwd is None or self.bwd is None:
            raise AttributeError(
                message(
                    f"custom_vjp function {function_label(self.fun)}",
                    given="a call before the derivative is defined",
                    expected="a forward and a backward rule",
                    fix="Define them with f.defvjp(forward, backward).",
                )
            )

    def _rule(self, fixed: tuple[Any, ...], flat: FlatFunction, label: str) -> Forward:
        _refuse_tracers(label, fixed)
        fwd, bwd, in_tree, symbolic = self.fwd, self.bwd, flat.in_tree, self.symbolic_zeros
        assert fwd is not None, "the rules are defined"
        assert bwd is not None, "the rules are defined"
        positions = self.nondiff_argnums

        def forward(
            operands: Sequence[Operand], perturbed: Sequence[bool]
        ) -> tuple[list[Any], list[Any], Pull]:
            avals = [aval_of(x) for x in operands]
            given = map(CustomVJPPrimal, operands, perturbed) if symbolic else operands
            arguments = _with_fixed(in_tree.unflatten(given)[0], positions, fixed)
            outs, given_residuals = checked_pair(label, fwd(*arguments), flat)
            residuals, residual_tree = tree.flatten(given_residuals)
            out_tree = flat.out_tree

            def pull(residuals: Sequence[Operand], cts: Sequence[Operand]) -> list[Any]:
                shown = cts if symbolic else map(tangent_output, cts)
                given = bwd(*fixed, residual_tree.unflatten(residuals), out_tree.unflatten(shown))
                return checked_cotangents(label, given, flat, avals)

            return outs, residuals, pull

        return replaceable_forward(forward, flat) if self.optimize_remat else forward


def _with_fixed(
    dynamic: Sequence[Any], positions: Sequence[int], fixed: Sequence[Any]
) -> list[Any]:
    full = list(dynamic)
    for position, value in zip(positions, fixed, strict=False):
        full.insert(position, value)
    return full


def _refuse_tracers(label: str, fixed: Sequence[Any]) -> None:
    for leaf in tree.leaves(fixed):
        if isinstance(leaf, Tracer):
            raise errors.UnexpectedTracerError(
                message(
                    f"custom_vjp function {label}, nondiff_argnums or nondiff_argnames",
                    given=f"{leaf.origin()}, {leaf.aval.str_short()}",
                    expected="values that are no tracers, such as functions and settings",
                    fix="Pass it as an ordinary argument and return None for its cotangent.",
                )
            )
