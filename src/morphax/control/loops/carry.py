"""The carry of a loop: it must keep its type, and may lose its weakness."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Any, NamedTuple, final

import numpy as np

from ... import dtypes, tree
from ...core import DType, Jaxpr, Operand, ShapedArray, aval_of
from ...core.varying import varying_over
from ...lax.elementwise.convert import convert, convert_element_type
from ...lax.shape.joining import stack
from ...lax.shape.resharding import resharded
from ...transforms.flattening import function_label
from ...tree import PyTreeDef
from ...util.messages import message
from ..closing import converted_results

_NO_KWARGS = tree.structure({})


def arguments_tree(*trees: PyTreeDef) -> PyTreeDef:
    """The structure of the arguments of a call by position."""
    return tree.treedef_tuple((tree.treedef_tuple(trees), _NO_KWARGS))


class Carry(NamedTuple):
    """A body traced with a carry whose weak types are those that it keeps.

    Args:
        avals: of the carry at the start.
        body: the program; its first results are the carry.
        weak: which components the body gives back weakly typed, and so does the loop.
        captured: tracers that it takes as leading operands.
        extra: what else the tracing gave.
    """

    avals: tuple[Any, ...]
    body: Jaxpr
    weak: tuple[bool, ...]
    captured: Sequence[Any]
    extra: Any

    def without_captured(self) -> Carry:
        """What may be remembered longer than the tracers live."""
        return self._replace(captured=())


@final
class CarrySearch:
    """The body is traced until the carry comes back with the dtypes that went in, and as varying.

    A component that starts weakly typed and comes back with a dtype that it promotes to takes that
    dtype; one that comes back varying over further axes of the mesh does so from the start; one
    whose type leaves open how it is split is split as it comes back.  Then the body is traced
    again.  A component that only comes back strongly typed stays weak in the body, where it yields
    to others, and is strong behind the loop, as in JAX.

    Whoever searches traces the body itself, as long as nothing is `found`: a function that did it
    would be one frame more of the stack wherever loops are nested.

    Args:
        avals: of the carry at the start.

    Attributes:
        avals: of the carry, with which to trace the body next.
        found: the carry, once it comes back so.
    """

    def __init__(self, avals: Sequence[Any]) -> None:
        self.avals = tuple(avals)
        self.found: Carry | None = None

    def offer(self, jaxpr: Jaxpr, captured: Sequence[Any], extra: Any = None) -> None:
        """What tracing gave: the body, the tracers that it captures, anything else."""
        carry = self.avals
        outs = jaxpr.out_avals[: len(carry)]
        self.avals = tuple(map(_promoted, carry, outs))
        if self.avals == carry:
            body = converted_results(jaxpr, [*carry, *jaxpr.out_avals[len(carry) :]])
            weak = tuple([a.weak_type for a in outs])
            self.found = Carry(carry, body, weak, captured, extra)


def _promoted(aval: ShapedArray, out: ShapedArray) -> Any:
    if aval.is_high:
        return aval
    if not out.vma <= aval.vma:
        aval = varying(aval, out.vma)
    if aval.split is None and out.split is not None:
        aval = aval.update(sharding=out.split)
    if not aval.weak_type or out.dtype == aval.dtype:
        return aval
    return out.update(weak_type=False, vma=aval.vma, sharding=aval.split)


def varying(aval: ShapedArray, names: frozenset[Hashable]) -> ShapedArray:
    """The aval of such a value that varies over further axes of the mesh."""
    return aval.update(vma=aval.vma | names)


def start_carry(leaves: Sequence[Any], avals: Sequence[Any]) -> list[Any]:
    """The carry at the start, strongly typed where the loop asks for it, and as varying."""
    return [_started(x, aval) for x, aval in zip(leaves, avals, strict=True)]


def _started(x: Operand, aval: ShapedArray) -> Any:
    own = aval_of(x)
    if own is aval or aval.is_high:
        return x
    if own.update(vma=aval.vma, sharding=aval.split) is not aval:
        x = converted(x, aval.dtype)
    return varying_over(resharded(x, aval.split), aval.vma)


def end_carry(outs: Sequence[Any], loop: Carry) -> list[Any]:
    """The results of a loop: its carry, as weakly typed as the body gives it back."""
    carry = [
        convert(x, a.dtype, weak_type=weak) if weak is not a.weak_type else x
        for x, a, weak in zip(outs, loop.avals, loop.weak, strict=False)
    ]
    return [*carry, *outs[len(carry) :]]


def converted(x: Operand, dtype: DType) -> Any:
    """A value of a dtype, strongly typed."""
    # A Python number stays a literal of the program.
    is_number = type(x) in (bool, int, float, complex)
    return np.asarray(x, dtype)[()] if is_number else convert_element_type(x, dtype)


def check_carry(
    where: str,
    body: Callable[..., Any],
    in_tree: PyTreeDef,
    out_tree: PyTreeDef,
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
        if before.is_high or after.is_high:
            if before == after:
                continue
            raise TypeError(
                message(
                    f"{where}, carry{tree.keystr(path)} of {label}",
                    given=f"{before} that comes back as {after}",
                    expected="a carry that keeps its type",
                    fix="Return a value of the type that the loop starts with.",
                )
            )
        if before.shape == after.shape and _same_dtype(before, after):
            if None in (before.split, after.split) or before.split == after.split:
                continue
            raise TypeError(
                message(
                    f"{where}, carry{tree.keystr(path)} of {label}",
                    given=f"{before} that comes back as {after}: it is split otherwise",
                    expected="a carry that stays as it is split over the mesh",
                    fix="Split it back with jax.sharding.reshard.",
                )
            )
        differs = "shape" if before.shape != after.shape else "dtype"
        raise TypeError(
            message(
                f"{where}, carry{tree.keystr(path)} of {label}",
                given=f"{before} that comes back as {after}: the {differs} differs",
                expected="a carry that keeps its shape and dtype",
                fix=_fix_shape(before, after) if differs == "shape" else _fix_dtype(before, after),
            )
        )


def _fix_shape(before: ShapedArray, after: ShapedArray) -> str:
    start = f"Start with a value of shape {after.shape}"
    if after.ndim < before.ndim:
        return f"{start}, or give the result the shape {before.shape} with jnp.broadcast_to."
    if after.ndim > before.ndim:
        return f"{start}, made with jnp.zeros or jnp.broadcast_to, or reduce the result."
    return f"{start}, or keep the shape in every step: a loop cannot grow or shrink an array."


def _fix_dtype(before: ShapedArray, after: ShapedArray) -> str:
    if any(isinstance(a.dtype, dtypes.ExtendedDType) for a in (before, after)):
        return "Return a value of the kind that the loop starts with; keys and numbers differ."
    return f"Start with a value of {after.dtype}, or convert the result with astype."


def _same_dtype(before: ShapedArray, after: ShapedArray) -> bool:
    """Equal dtypes; a weakly typed start may become what it promotes to beside the result."""
    if before.dtype == after.dtype:
        return True
    return before.weak_type and dtypes.result_type(before, after) == after.dtype


def stacked(*ys: Operand) -> Any:
    """Slices in one array; the first may be of the dtype of a weak carry."""
    avals = set(map(aval_of, ys))
    if len(avals) > 1:
        dtype = dtypes.result_type(*ys)
        ys = tuple([converted(y, dtype) for y in ys])
    return stack(ys)
