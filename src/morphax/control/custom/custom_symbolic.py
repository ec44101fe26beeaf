"""What rules with ``symbolic_zeros=True`` see: which arguments are differentiated, known zeros.

The forward rule of such a `custom_vjp` gets a `CustomVJPPrimal` in place of each array; its
backward rule, and the rule of such a `custom_jvp`, get `SymbolicZero` in place of a cotangent or
tangent that is zero by the structure of the program, and may return it.
"""

from __future__ import annotations

from typing import Any, final

from ...core import Operand, Zero
from ...transforms.derivative_maps import tangent_output
from ...tree import map as map_tree
from ...util.messages import described, message
from ...util.records import dataclass

SymbolicZero = Zero


@final
@dataclass(frozen=True, slots=True)
class CustomVJPPrimal:
    """An array among the arguments of a forward rule.

    Args:
        value: the array.
        perturbed: whether the result is differentiated with respect to it.
    """

    value: Any
    perturbed: bool


def custom_vjp_primal_tree_values(tree: Any) -> Any:
    """The arguments of a forward rule with arrays in place of `CustomVJPPrimal`.

    Args:
        tree: a tree whose leaves are `CustomVJPPrimal`.

    Raises:
        TypeError: a leaf is something else.

    Example:
        >>> from morphax.custom_derivatives import CustomVJPPrimal, custom_vjp_primal_tree_values
        >>> custom_vjp_primal_tree_values({"w": CustomVJPPrimal(2.0, True)})
        {'w': 2.0}
    """
    return map_tree(_value, tree)


def _value(leaf: Operand) -> Any:
    if type(leaf) is CustomVJPPrimal:
        return leaf.value
    raise TypeError(
        message(
            "custom_vjp_primal_tree_values",
            given=f"a leaf {described(leaf)}",
            expected="leaves of type CustomVJPPrimal",
            fix="Call it on the arguments of a forward rule set with symbolic_zeros=True.",
        )
    )


def zero_from_primal(val: Any, symbolic_zeros: bool = False) -> Any:
    """The zero among the tangents of a value, or of each leaf of a tree.

    Args:
        val: a value, or a tree of values.
        symbolic_zeros: whether to return a `SymbolicZero` instead of an array of zeros.

    Example:
        >>> from morphax.custom_derivatives import zero_from_primal
        >>> zero_from_primal(2.0)
        Array(0., dtype=float32, weak_type=True)
    """
    zeros = map_tree(Zero.from_primal_value, val)
    return zeros if symbolic_zeros else map_tree(tangent_output, zeros)
