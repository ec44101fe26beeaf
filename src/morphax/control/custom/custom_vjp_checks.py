"""Checks of what the rules of `custom_vjp` return, with errors that name the place in the tree."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ... import dtypes, tree
from ...config import current as current_config
from ...core import Operand, ShapedArray, aval_of, is_value, is_zero
from ...core.varying import varying_over
from ...lax.elementwise.convert import convert
from ...transforms.flattening import FlatFunction, argument_names
from ...util.messages import described, message
from .custom_rules import checked_result


def checked_cotangents(
    label: str, given: Any, flat: FlatFunction, avals: Sequence[Any]
) -> list[Any]:
    """One cotangent per operand, `None` where it is zero.

    Args:
        label: of the function.
        given: what the backward rule returned: a tuple with one cotangent per argument, in which
            `None` stands for the zero of a whole argument or of a part of it.
        flat: the function of leaves.
        avals: of the operands.
    """
    where = f"the backward rule of {label}"
    positions = flat.in_tree.unflatten(range(flat.in_tree.num_leaves))[0]
    if isinstance(given, list):
        given = tuple(given)
    leaves, structure = tree.flatten(given, is_leaf=lambda x: x is None)
    try:
        pairs = list(zip(leaves, structure.flatten_up_to(positions), strict=True))
    except ValueError:
        raise _wrong_structure(where, given, positions) from None
    if not isinstance(given, tuple) or any(
        [not (ct is None or type(part) is int or is_value(ct)) for ct, part in pairs]
    ):
        raise _wrong_structure(where, given, positions)
    results: list[Any] = [None] * len(avals)
    for ct, part in pairs:
        # One cotangent stands for all leaves of a part.
        for position in () if ct is None else tree.leaves(part):
            results[position] = _checked_cotangent(where, flat, position, ct, avals[position])
    return results


def _wrong_structure(where: str, given: Any, positions: Any) -> TypeError:
    return TypeError(
        message(
            where,
            given=f"cotangents of structure {tree.structure(given)}",
            expected=f"a tuple with one cotangent per argument, {tree.structure(positions)}",
            fix="Return a tuple of the arguments' structures; None stands for a part without a "
            "cotangent.",
        )
    )


def _checked_cotangent(
    where: str, flat: FlatFunction, position: int, ct: Operand, aval: ShapedArray
) -> Any:
    expected: Any = aval.to_ct_aval()
    if expected.is_high:
        return None if is_zero(ct) else ct
    if is_zero(ct) or expected.dtype == dtypes.float0:
        return None
    given = aval_of(ct) if is_value(ct) else None
    if given is not None and not given.vma <= expected.vma:
        raise ValueError(_unsummed(where, given, aval))
    if given is not None and given.vma != expected.vma:
        ct = varying_over(ct, expected.vma)
    if current_config().disable_bwd_checks and given is not None:
        return ct
    if given is not None and given.shape == expected.shape and given.dtype == expected.dtype:
        return ct
    if given is not None and given.shape == expected.shape and _yields(given, expected):
        return convert(ct, expected.dtype, expected.weak_type)
    is_shape = given is not None and given.shape != expected.shape
    raise (ValueError if is_shape else TypeError)(
        message(
            f"{where}, cotangent of {argument_names(flat.function, flat.in_tree)[position]}",
            given=described(ct) if given is None else f"{given}",
            expected=f"{expected}, for the argument is {aval}",
            fix="Return cotangents with the shapes and dtypes of the arguments.",
        )
    )


def _unsummed(where: str, given: Any, aval: Any) -> str:
    axes = ", ".join(map(repr, given.vma - aval.vma))
    return message(
        where,
        given=f"a cotangent {given}, which varies over the axes {axes} of the mesh",
        expected=f"one that is the same for all members, as the argument is: {aval}",
        fix=f"Sum it over the members that have read the argument: lax.psum(ct, {axes}).",
    )


def _yields(given: Any, expected: Any) -> bool:
    """Whether a weakly typed cotangent, such as the number 0, takes the expected dtype."""
    return given.weak_type and dtypes.result_type(given, expected) == expected.dtype


def checked_pair(label: str, result: Any, flat: FlatFunction) -> tuple[list[Any], Any]:
    """The leaves of the forward rule's result, and the residuals."""
    where = f"the forward rule of {label}"
    if not (isinstance(result, (tuple, list)) and len(result) == 2):
        raise TypeError(
            message(
                where,
                given=described(result),
                expected="a pair (result, residuals)",
                fix="Return a pair.",
            )
        )
    return checked_result(where, result[0], flat), result[1]
