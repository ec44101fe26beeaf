"""What each operation does to patterns: the operations that are understood, by kind.

Of all others it is assumed that each element of the results depends on each element of the
operands.  A rule gets an equation of which some operand depends on inputs, and the flows of its
operands; it returns a pattern for each result.  Operations that move elements are not described
here a second time: they are carried out on the elements' numbers.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ... import lax
from ...control.checkpoint.checkpoint_name import name_p
from ...core import Equation, Primitive
from ...lax.ground.dimension_numbers import GatherDimensionNumbers, slice_sizes_of_updates
from ...lax.ground.families import Elementwise
from ...lax.linalg.matrix_stacks import MatrixOperation
from ...lax.reduction.cumulative import Cumulative
from ...lax.reduction.reductions import Reduction
from .flow import Flow, active_patterns, shape_of, size_of, sizes_of_results
from .patterns import (
    AxisPair,
    Pattern,
    along_axes,
    chosen_rows,
    composed,
    everything,
    related,
    stacked,
    union,
)
from .window_relations import convolution_pairs, running_relation, selection_pairs, window_pairs

Rule = Callable[[Equation, Sequence[Flow]], list[Pattern]]


def rule_of(primitive: Primitive) -> Rule:
    """What the operation does to patterns, or what any operation may do."""
    if rule := _RULES.get(primitive):
        return rule
    for family, of_family in _FAMILIES.items():
        if isinstance(primitive, family):
            return of_family
    return all_on_all


def all_on_all(eqn: Equation, operands: Sequence[Flow]) -> list[Pattern]:
    """Each element of the results on each of the operands."""
    active = active_patterns(operands)
    return [everything(size, active) for size in sizes_of_results(eqn)]


def _elementwise(eqn: Equation, operands: Sequence[Flow]) -> list[Pattern]:
    """Operands of rank 0 are repeated."""
    (size,) = sizes_of_results(eqn)
    found = []
    for a, flow in zip(eqn.invars, operands, strict=True):
        if flow.pattern is not None:
            repeated = not shape_of(a) and shape_of(eqn.outvars[0]) != ()
            copies = np.ones(size, np.int64) if repeated else None
            found.append(flow.pattern if copies is None else chosen_rows(flow.pattern, copies))
    return [union(found)]


def _unchanged(eqn: Equation, operands: Sequence[Flow]) -> list[Any]:
    """Result i is operand i."""
    return [flow.pattern for flow in operands]


def _moved(eqn: Equation, operands: Sequence[Flow], data: slice = slice(None)) -> list[Pattern]:
    """Results consist of elements of the operands `data`; the other operands are known."""
    numbers: list[Any] = [None] * len(operands)
    moved = range(len(operands))[data]
    for i, flow in enumerate(operands):
        if i not in moved and flow.known is not None:
            numbers[i] = flow.known.read()
    given, start = [], 1
    for i in moved:
        shape, pattern = shape_of(eqn.invars[i]), operands[i].pattern
        if pattern is None:
            numbers[i] = np.zeros(shape, np.int64)
            continue
        numbers[i] = np.arange(start, start + math.prod(shape)).reshape(shape)
        given.append(pattern)
        start += math.prod(shape)
    params = eqn.params | ({"fill_value": 0} if "fill_value" in eqn.params else {})
    results = eqn.primitive.evaluate(*numbers, **params)
    pattern = stacked(given)
    return [
        chosen_rows(pattern, places)
        for places in (results if eqn.primitive.multiple_results else [results])
    ]


def _with_indices(data: slice, otherwise: Callable[[Equation, int], list[AxisPair]]) -> Rule:
    """Elements of the operands `data`, chosen by the others.

    If the others are not known, only the axes that `otherwise` pairs go together.
    """

    def rule(eqn: Equation, operands: Sequence[Flow]) -> list[Pattern]:
        places = set(range(len(operands))) - set(range(len(operands))[data])
        if all([operands[i].known is not None for i in places]):
            return _moved(eqn, operands, data)
        shape = shape_of(eqn.outvars[0])
        found = [
            along_axes(flow.pattern, shape_of(a), shape, otherwise(eqn, i))
            for i, (a, flow) in enumerate(zip(eqn.invars, operands, strict=True))
            if i not in places and flow.pattern is not None
        ]
        return [union(found + _from_indices(eqn, [operands[i] for i in places]))]

    return rule


def _from_indices(eqn: Equation, indices: Sequence[Flow]) -> list[Pattern]:
    """What comes from the choice of elements, if that depends on inputs."""
    chosen_by = active_patterns(indices)
    return [everything(size_of(eqn.outvars[0]), chosen_by)] if chosen_by else []


def _flow_pairs(eqn: Equation, operand: int, result: int = 0) -> list[AxisPair]:
    """The axes that go together according to the primitive."""
    rule = eqn.primitive.axis_flow
    assert rule is not None, "the operations of this list say how their axes go together"
    flow = rule(*[a.aval for a in eqn.invars], **eqn.params)
    given, wanted = shape_of(eqn.invars[operand]), shape_of(eqn.outvars[result])
    places = {label: i for i, label in enumerate(flow.operands[operand]) if label is not None}
    return [
        AxisPair(places[label], i)
        for i, label in enumerate(flow.results[result])
        if label in places and given[places[label]] == wanted[i]
    ]


def _by_axes(eqn: Equation, operands: Sequence[Flow]) -> list[Pattern]:
    """Along the axes that go together, place on place; along others, all on all."""
    return [
        union(
            [
                along_axes(flow.pattern, shape_of(a), shape_of(v), _flow_pairs(eqn, i, result))
                for i, (a, flow) in enumerate(zip(eqn.invars, operands, strict=True))
                if flow.pattern is not None
            ]
        )
        for result, v in enumerate(eqn.outvars)
    ]


def _whole_axes(eqn: Equation, operand: int) -> list[AxisPair]:
    """The axes along which a block is as long as the array."""
    sizes = zip(shape_of(eqn.invars[operand]), shape_of(eqn.outvars[0]), strict=True)
    return [AxisPair(i, i) for i, (given, wanted) in enumerate(sizes) if given == wanted]


def _select(eqn: Equation, operands: Sequence[Flow]) -> list[Pattern]:
    known = operands[0].known is not None
    return _moved(eqn, operands, slice(1, None)) if known else _elementwise(eqn, operands)


def _scatter(eqn: Equation, operands: Sequence[Flow]) -> list[Pattern]:
    """The array's own elements, and those of the updates where they are put."""
    array, indices, updates = operands
    target, source = shape_of(eqn.outvars[0]), shape_of(eqn.invars[2])
    size = math.prod(target)
    found = _from_indices(eqn, [indices])
    hit = None if indices.known is None else _targets(eqn, indices.known.read(), source)
    if array.pattern is not None:
        kept = np.arange(1, size + 1)
        if eqn.primitive is lax.scatter_p and hit is not None:
            kept = np.where(np.isin(kept, hit), 0, kept)
        found.append(chosen_rows(array.pattern, kept))
    if updates.pattern is not None:
        if hit is None:
            pairs = _flow_pairs(eqn, 2)
            found.append(along_axes(updates.pattern, source, target, pairs))
        else:
            (sources,) = np.nonzero(hit)
            shape = size, math.prod(source)
            found.append(composed(related(hit[sources] - 1, sources, shape), updates.pattern))
    return [union(found)]


def _targets(eqn: Equation, indices: NDArray[Any], updates: Sequence[int]) -> NDArray[Any]:
    """The number of the element that each update is put on, 0 if on none."""
    target = shape_of(eqn.outvars[0])
    if math.prod(target) == 0:
        return np.zeros(math.prod(updates), np.int64)
    dimension_numbers = eqn.params["dimension_numbers"]
    numbers = lax.gather_p.evaluate(
        np.arange(1, math.prod(target) + 1).reshape(target),
        indices,
        dimension_numbers=GatherDimensionNumbers(*dimension_numbers),
        slice_sizes=slice_sizes_of_updates(target, tuple(updates), dimension_numbers),
        mode=eqn.params["mode"],
        fill_value=0,
    )
    return np.asarray(numbers).reshape(-1)


def _product(eqn: Equation, operands: Sequence[Flow]) -> list[Pattern]:
    """A product with a matrix that is known follows its entries."""
    for position, other in enumerate(reversed(operands)):
        if other.known is not None:
            pattern = operands[position].pattern
            return [composed(_known_relation(eqn, position, other.known.read()), pattern)]
    return _by_axes(eqn, operands)


def _known_relation(eqn: Equation, active: int, matrix: NDArray[Any]) -> Pattern:
    """Which elements of the operand `active` are multiplied by what is not 0."""
    contracted, batched = eqn.params["dimension_numbers"]
    x, size = shape_of(eqn.invars[active]), size_of(eqn.outvars[0])
    own, other = (
        (contracted[active], batched[active]),
        (contracted[1 - active], batched[1 - active]),
    )

    def in_order(numbers: NDArray[Any], axes: Any) -> tuple[NDArray[Any], list[int]]:
        """Batch axes, contracted axes, then the free ones."""
        sums, batch = axes
        free = [i for i in range(numbers.ndim) if i not in (*sums, *batch)]
        groups = [math.prod([numbers.shape[i] for i in g]) for g in (batch, sums, free)]
        return numbers.transpose((*batch, *sums, *free)).reshape(groups), groups

    sources, (_, _, own_free) = in_order(np.arange(math.prod(x)).reshape(x), own)
    entries, (batch, _, other_free) = in_order(matrix, other)
    left, right = (own_free, other_free) if active == 0 else (other_free, own_free)
    targets = np.arange(size).reshape(batch, left, right)
    if active == 1:
        targets = targets.transpose(0, 2, 1)
    b, s, f = np.nonzero(entries)
    return related(targets[b, :, f], sources[b, s, :], (size, math.prod(x)))


def _running(eqn: Equation, operands: Sequence[Flow]) -> list[Pattern]:
    """Each place along the axis on those up to it."""
    shape, axis = shape_of(eqn.outvars[0]), eqn.params["axis"]
    relation = running_relation(shape[axis], reverse=eqn.params["reverse"])
    pairs = [AxisPair(i, i, relation if i == axis else None) for i in range(len(shape))]
    return [along_axes(operands[0].pattern, shape, shape, pairs)]


def _paired(pairs_of: Callable[[Equation, int], list[AxisPair]]) -> Rule:
    """Along the axes that a function of the equation and the operand pairs."""

    def rule(eqn: Equation, operands: Sequence[Flow]) -> list[Pattern]:
        shape = shape_of(eqn.outvars[0])
        found = [
            along_axes(flow.pattern, shape_of(a), shape, pairs_of(eqn, i))
            for i, (a, flow) in enumerate(zip(eqn.invars, operands, strict=True))
            if flow.pattern is not None
        ]
        return [union(found)]

    return rule


_FAMILIES: dict[type[Primitive], Rule] = {
    Elementwise: _elementwise,
    Reduction: _by_axes,
    MatrixOperation: _by_axes,
    Cumulative: _running,
}

_RULES: dict[Primitive, Rule] = {
    **dict.fromkeys([lax.add_any_p, lax.convert_element_type_p], _elementwise),
    **dict.fromkeys(
        [
            lax.copy_p,
            lax.device_put_p,
            lax.optimization_barrier_p,
            lax.sharding_constraint_p,
            lax.stop_gradient_p,
            name_p,
        ],
        _unchanged,
    ),
    **dict.fromkeys(
        [
            lax.broadcast_in_dim_p,
            lax.concatenate_p,
            lax.pad_p,
            lax.reshape_p,
            lax.rev_p,
            lax.slice_p,
            lax.split_p,
            lax.squeeze_p,
            lax.stack_p,
            lax.tile_p,
            lax.transpose_p,
            lax.unstack_p,
        ],
        _moved,
    ),
    lax.gather_p: _with_indices(slice(0, 1), _flow_pairs),
    lax.dynamic_slice_p: _with_indices(slice(0, 1), _whole_axes),
    lax.dynamic_update_slice_p: _with_indices(slice(0, 2), _whole_axes),
    lax.select_n_p: _select,
    **dict.fromkeys(
        [
            lax.scatter_p,
            lax.scatter_add_p,
            lax.scatter_max_p,
            lax.scatter_min_p,
            lax.scatter_mul_p,
            lax.scatter_sub_p,
        ],
        _scatter,
    ),
    lax.dot_general_p: _product,
    **dict.fromkeys(
        [lax.argmax_p, lax.argmin_p, lax.fft_p, lax.reduce_sum_p, lax.sort_p, lax.top_k_p],
        _by_axes,
    ),
    lax.conv_general_dilated_p: _paired(convolution_pairs),
    **dict.fromkeys(
        [lax.reduce_window_sum_p, lax.reduce_window_max_p, lax.reduce_window_min_p],
        _paired(window_pairs),
    ),
    **dict.fromkeys(
        [lax.select_and_gather_add_p, lax.select_and_scatter_add_p], _paired(selection_pairs)
    ),
}
