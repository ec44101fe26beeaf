"""The carry of a loop: it must keep its type, and may lose its weakness."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .. import tree
from ..core import Jaxpr, aval_of
from ..lax.convert import convert_element_type
from ..transforms.flattening import function_label
from ..util.messages import message
from .closing import converted_results


def promoted_carry(
    leaves: Sequence[Any], trace: Callable[[Sequence[Any]], tuple[Jaxpr, list[Any], Any]]
) -> tuple[list[Any], tuple[Jaxpr, list[Any], Any]]:
    """Trace the body with a carry whose weak types are those that it keeps.

    A component that starts weakly typed and comes back strongly typed takes the dtype that it comes
    back with; then the body is traced again.

    Args:
        leaves: the carry at the start.
        trace: carry → (body, captured tracers, anything); the body's first results are the carry.
    """
    carry = list(leaves)
    while True:
        jaxpr, captured, extra = trace(carry)
        outs = jaxpr.out_avals[: len(carry)]
        promoted = [_promoted(x, out) for x, out in zip(carry, outs, strict=True)]
        if all(a is b for a, b in zip(promoted, carry, strict=True)):
            weak = [aval_of(x).weak_type for x in carry]
            others = [a.weak_type for a in jaxpr.out_avals[len(carry) :]]
            return carry, (converted_results(jaxpr, [*weak, *others]), captured, extra)
        carry = promoted


def _promoted(x: Any, out: Any) -> Any:
    aval = aval_of(x)
    if not aval.weak_type or out.weak_type:
        return x
    # A Python number stays a literal of the program.
    is_number = type(x) in (bool, int, float, complex)
    return np.asarray(x, out.dtype)[()] if is_number else convert_element_type(x, out.dtype)


def check_carry(
    where: str,
    body: Callable[..., Any],
    in_tree: Any,
    out_tree: Any,
    in_avals: Sequence[Any],
    out_avals: Sequence[Any],
) -> None:
    """Raise `TypeError`, naming the component, if a step changes structure, shape or dtype."""
    label = function_label(body)
    if in_tree != out_tree:
        raise TypeError(
            message(
                f"{where}, carry of {label}",
                given=f"a carry of structure {in_tree} that comes back as {out_tree}",
                expected="a carry that keeps its structure",
                fix="Return the carry in the containers in which it came in.",
            )
        )
    paths = tree.leaves_with_path(in_tree.unflatten(range(in_tree.num_leaves)))
    for (path, _), before, after in zip(paths, in_avals, out_avals, strict=False):
        if before.shape == after.shape and _same_dtype(before, after):
            continue
        differs = "shape" if before.shape != after.shape else "dtype"
        raise TypeError(
            message(
                f"{where}, carry{tree.keystr(path)} of {label}",
                given=f"{before} that comes back as {after}: the {differs} differs",
                expected="a carry that keeps its shape and dtype",
                fix="Convert the value with astype, or start with a value of that type.",
            )
        )


def _same_dtype(before: Any, after: Any) -> bool:
    """Equal dtypes; a weakly typed start may take another dtype of the result."""
    return before.dtype == after.dtype or (before.weak_type and not after.weak_type)
