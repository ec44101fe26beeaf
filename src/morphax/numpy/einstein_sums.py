"""Sums of products in Einstein's notation.

Products of more than two operands are split into products of two; the order that costs least is
found by opt_einsum (Smith and Gray, *Journal of Open Source Software* 3(26), 2018).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, final

import numpy as np

from .. import dtypes, lax
from ..core import aval_of
from ..lax.contraction.precision import canonical_precision
from ..lax.elementwise.convert import convert
from ..lax.ground.axes import integer, members
from ..util.memo import memoize
from ..util.messages import message
from ..util.records import dataclass
from .contraction import (
    Contraction,
    Names,
    Preparation,
    Shape,
    common_sizes,
    plan_contraction,
    prepare,
)
from .operands import as_array, check_no_out, factors
from .partial_products import product_as


@final
@dataclass(frozen=True, slots=True)
class EinsumPlan:
    """How to compute an einsum.

    Args:
        steps: which two of the operands to take away and multiply; the product goes to the end.
        last: what happens to the operand that is left.
        permutation: of its axes, if they need one.
    """

    steps: tuple[tuple[int, int, Contraction], ...]
    last: Preparation
    permutation: tuple[int, ...] | None


def einsum(
    subscripts: Any,
    /,
    *operands: Any,
    out: None = None,
    optimize: Any = "auto",
    precision: Any = None,
    preferred_element_type: Any = None,
    _dot_general: Callable[..., Any] = lax.dot_general,
    out_sharding: Any = None,
) -> Any:
    """Sum of products of array elements, by the names of axes.

    Args:
        subscripts: a letter for each axis of each operand and of the result, as in
            ``"ij,jk->ik"``; ``...`` stands for any axes, which broadcast.  Letters missing behind
            ``->`` are summed over.  Operands and lists of integers, or of
            strings, may alternate instead.
        operands: arrays.
        out: must be `None`.
        optimize: the order of products: a strategy of opt_einsum, a path, or `False` for left to
            right.
        precision: how exactly an accelerator multiplies.
        preferred_element_type: dtype of the sums and of the result.
        _dot_general: what multiplies two arrays, in place of `lax.dot_general`: libraries count,
            quantise or lay out products by it.
        out_sharding: sharding of the result.

    Example:
        >>> import morphax.numpy as jnp
        >>> x = jnp.arange(6.0).reshape(2, 3)
        >>> jnp.einsum("ij,kj->ik", x, x)
        Array([[ 5., 14.],
               [14., 50.]], dtype=float32)
    """
    text, given = _as_text(subscripts, operands)
    if out_sharding is not None:
        summed = partial(
            einsum,
            text,
            out=out,
            optimize=optimize,
            precision=precision,
            preferred_element_type=preferred_element_type,
        )
        return product_as("jnp.einsum", out_sharding, summed, *given)
    check_no_out("einsum", out)
    arrays = factors("einsum", preferred_element_type, *given)
    result_dtype = arrays[0].aval.dtype
    if preferred_element_type is not None:
        result_dtype = dtypes.requested(preferred_element_type, "einsum")
        if arrays[0].aval.dtype == np.bool_:
            arrays = [convert(a, result_dtype) for a in arrays]
    path = tuple(map(tuple, optimize)) if isinstance(optimize, (list, tuple)) else optimize
    plan = _plan(text, tuple([a.aval.shape for a in arrays]), path)
    level = canonical_precision("jnp.einsum", precision)
    product = None if _dot_general is lax.dot_general else _dot_general
    for first, second, contraction in plan.steps:
        pair = arrays[first], arrays[second]
        arrays = [a for i, a in enumerate(arrays) if i not in (first, second)]
        arrays.append(contraction(*pair, level, result_dtype, product))
    result = plan.last(arrays[0])
    if plan.permutation is not None:
        result = lax.transpose(result, plan.permutation)
    return convert(result, result_dtype, aval_of(result).weak_type)


def einsum_by_steps(
    operands: Sequence[Any],
    contractions: Sequence[tuple[Any, ...]],
    precision: Any,
    preferred_element_type: Any,
    _dot_general: Callable[..., Any] = lax.dot_general,
) -> Any:
    """An einsum whose order is known: what ``opt_einsum.contract_path(einsum_call=True)`` gives.

    Args:
        operands: arrays.
        contractions: of each step, which of the operands it takes away, the names that it sums
            over, and its subscripts; the product goes to the end.
        precision, preferred_element_type, _dot_general: as for `einsum`.
    """
    arrays = list(operands)
    for taken, _, subscripts, *_ in contractions:
        given = [arrays[i] for i in taken]
        arrays = [x for i, x in enumerate(arrays) if i not in taken]
        arrays.append(
            einsum(
                subscripts,
                *given,
                precision=precision,
                preferred_element_type=preferred_element_type,
                _dot_general=_dot_general,
            )
        )
    return arrays[0]


def einsum_path(subscripts: Any, /, *operands: Any, optimize: Any = "auto") -> tuple[Any, Any]:
    """The order in which `einsum` would multiply, and a report of what it costs.

    Example:
        >>> import morphax.numpy as jnp
        >>> path, _ = jnp.einsum_path("ij,jk,k->i", jnp.ones((9, 9)), jnp.ones((9, 9)), jnp.ones(9))
        >>> path
        [(1, 2), (0, 1)]
    """
    import opt_einsum

    text, given = _as_text(subscripts, operands)
    shapes = [as_array("einsum_path", x).aval.shape for x in given]
    path, report = opt_einsum.contract_path(text, *shapes, shapes=True, optimize=optimize)
    return path, report


def _as_text(subscripts: Any, operands: Sequence[Any]) -> tuple[str, Sequence[Any]]:
    """Subscripts as one string; alternating operands and lists are rewritten."""
    if not operands:
        raise TypeError(
            message(
                "jnp.einsum",
                given=f"the subscripts {subscripts!r:.80} and no operands",
                expected="at least one array",
                fix="Pass the arrays after the subscripts.",
            )
        )
    if isinstance(subscripts, str):
        return subscripts.replace(" ", ""), operands
    items = [subscripts, *operands]
    result = items.pop() if len(items) % 2 else None
    terms = [_labels(x) for x in items[1::2]]
    out = None if result is None else _labels(result)
    symbols = _symbols([a for term in (*terms, out or ()) for a in term])
    text = ",".join(["".join([symbols[a] for a in term]) for term in terms])
    return (text if out is None else f"{text}->{''.join([symbols[a] for a in out])}"), items[::2]


def _labels(axes: Any) -> list[Any]:
    where = "jnp.einsum, argument subscripts"
    if hasattr(axes, "dtype") and (axes.ndim != 1 or axes.dtype.kind not in "iu"):
        raise TypeError(
            message(
                where,
                given=f"{aval_of(axes)} where axes of the operand before it are named",
                expected="a string, or lists of axes after the operands",
                fix='Write for instance jnp.einsum("ij,jk->ik", x, y).',
            )
        )
    return [
        a if a is Ellipsis or isinstance(a, str) else integer(where, a)
        for a in members(where, axes, "a string, or lists of axes after the operands")
    ]


def _symbols(labels: Sequence[Any]) -> dict[Any, str]:
    """A letter for each label, in their order, for that is the order of axes nobody names."""
    named = set(labels) - {Ellipsis}
    if len(set(map(type, named))) > 1:
        raise TypeError(
            message(
                "jnp.einsum, argument subscripts",
                given=f"the labels {', '.join(sorted(map(repr, named)))}",
                expected="integers or strings, not both: there is no order of them",
                fix="Use integers for all axes.",
            )
        )
    return {a: chr(ord("A") + i) for i, a in enumerate(sorted(named))} | {Ellipsis: "..."}


@memoize
def _plan(text: str, shapes: tuple[Shape, ...], optimize: Any) -> EinsumPlan:
    names, out = _names(text, shapes)
    sizes = common_sizes("einsum", names, shapes, ValueError)
    steps: list[tuple[int, int, Contraction]] = []
    left = list(zip(names, shapes, strict=True))
    for group in _path(text, shapes, optimize):
        taken = sorted(group)
        # Three operands at once are multiplied from left to right.
        while len(taken) > 1:
            first, second = taken[0], taken[1]
            pair = left[first], left[second]
            rest = [x for i, x in enumerate(left) if i not in (first, second)]
            contraction = _step(pair, [n for n, _ in rest], out, sizes)
            steps.append((first, second, contraction))
            left = [*rest, (contraction.names, tuple([sizes[a] for a in contraction.names]))]
            taken = [i - (i > first) - (i > second) for i in taken[2:]] + [len(left) - 1]
            taken.sort()
    last = prepare(*left[0], sizes, out)
    permutation = tuple([last.names.index(a) for a in out])
    in_order = permutation == tuple(range(len(out)))
    return EinsumPlan(tuple(steps), last, None if in_order else permutation)


def _step(pair: Any, others: list[Names], out: Names, sizes: dict[Any, int]) -> Contraction:
    """The product of two operands: the last one has its axes in order, others as they come."""
    (left, left_shape), (right, right_shape) = pair
    needed = out + tuple([a for names in others for a in names])
    if others:
        shared = [a for a in dict.fromkeys(left) if a in right and a in needed]
        free = [a for a in dict.fromkeys(left + right) if a in needed and a not in shared]
        kept = (*shared, *free)
        # A name of which this pair has only axes of size 1 comes from another operand.
        present = _present(left, left_shape, sizes) | _present(right, right_shape, sizes)
        kept = tuple([a for a in kept if a in present])
    else:
        kept = out
    return plan_contraction("einsum", (left, right), (left_shape, right_shape), kept)


def _present(names: Names, shape: Shape, sizes: dict[Any, int]) -> set[Any]:
    return {a for a, n in zip(names, shape, strict=True) if n == sizes[a]}


def _path(text: str, shapes: tuple[Shape, ...], optimize: Any) -> Any:
    """Which operands to take at each step."""
    if len(shapes) < 3 or optimize is False:
        return [tuple(range(len(shapes)))]
    if isinstance(optimize, tuple):
        return [p for p in optimize if p != ("einsum_path",)]
    import opt_einsum

    strategy = "optimal" if optimize is True else optimize
    return opt_einsum.contract_path(text, *shapes, shapes=True, optimize=strategy)[0]


def _names(text: str, shapes: tuple[Shape, ...]) -> tuple[list[Names], Names]:
    """Names of the axes of each operand and of the result; ``...`` becomes negative numbers."""
    inputs, arrow, output = text.partition("->")
    terms = inputs.split(",")
    if len(terms) != len(shapes):
        raise _error(
            text,
            shapes,
            f"as many operands as terms: the subscripts have {len(terms)}, separated by commas",
        )
    names = [_term(text, t, shapes, len(s)) for t, s in zip(terms, shapes, strict=True)]
    for operand, shape in zip(names, shapes, strict=True):
        # Axes of size 1 go with those of other operands only: a diagonal has one size.
        sizes = dict(zip(operand, shape, strict=True))
        if any([sizes[a] != n for a, n in zip(operand, shape, strict=True)]):
            raise _error(text, shapes, "axes of equal sizes where a term names a letter twice")
    widest = max([sum(type(a) is int for a in n) for n in names])
    free = tuple(range(-widest, 0))
    if arrow:
        out = _expanded(output, free)
    else:
        letters = [a for n in names for a in n if type(a) is str]
        out = free + tuple(sorted([a for a in set(letters) if letters.count(a) == 1]))
    known = {a for n in names for a in n}
    if len(set(out)) != len(out) or not known.issuperset(out):
        raise _error(text, shapes, "a result that names axes of the operands, each once")
    return names, out


# What cannot stand for an axis; everything else can.
_NO_LABELS = frozenset(".->, ")


def _term(text: str, term: str, shapes: tuple[Shape, ...], ndim: int) -> Names:
    count = ndim - len(term.replace("...", ""))
    letters = term.replace("...", "", 1)
    fits = count >= 0 if "..." in term else count == 0
    if not fits or not _NO_LABELS.isdisjoint(letters):
        raise _error(text, shapes, "one symbol for each axis, or '...' for several")
    return _expanded(term, tuple(range(-count, 0)))


def _expanded(term: str, free: tuple[int, ...]) -> Names:
    before, dots, after = term.partition("...")
    return (*before, *(free if dots else ()), *after)


def _error(text: str, shapes: tuple[Shape, ...], expected: str) -> ValueError:
    return ValueError(
        message(
            "jnp.einsum, argument subscripts",
            given=f"{text!r} for {len(shapes)} operand(s) of shapes {', '.join(map(str, shapes))}",
            expected=expected,
            fix="Write for instance 'ij,jk->ik' for the product of two matrices.",
        )
    )
