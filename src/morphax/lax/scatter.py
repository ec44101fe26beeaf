"""Scatters: windows of updates put into an array, or combined with what is there.

The derivative of `scatter` must know which of several updates of one place has stayed.  Windows are
numbered, and the numbers are scattered and gathered again: an update that finds its own number has
stayed.  Value and derivative are computed from the updates that have, so they agree also where the
order of updates is left to chance, as on GPUs.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, ClassVar, final

import numpy as np

from ..core import Zero, aval_of, is_undefined_primal, is_zero, not_linear
from ..util.messages import message
from .arithmetic import add, div, mul, neg, sub
from .comparison import eq, gt, lt, total_order_key
from .convert import convert
from .dimension_numbers import ScatterDimensionNumbers
from .filling import iota
from .gather import AdditiveScattering, accumulate, gathered_like, scatter_add, scatter_add_p
from .kinds import BOOLEAN, NUMBER
from .narrow import widened
from .scattering import Scattering, elements, in_rounds, scatter_params, update_program
from .selection import max, max_p, min, min_p, select_n
from .shape import broadcast, broadcast_in_dim
from .spine import instantiate, zeros


@final
class Scatter(Scattering):
    """Put windows of updates in the place of what is there."""

    name = "scatter"

    def write(self, target: Any, rows: Any, updates: Any) -> None:
        target[rows] = updates

    def jvp(self, primals: Sequence[Any], tangents: Sequence[Any], **params: Any) -> Any:
        x, indices, updates = primals
        t_x, _, t_updates = tangents
        if is_zero(t_x) and is_zero(t_updates):
            out = self.bind(*primals, **params)
            return out, Zero(out.aval.to_tangent_aval())
        if is_zero(t_updates) or _is_unique(indices, updates, params):
            tangent = self.bind(instantiate(t_x), indices, instantiate(t_updates), **params)
            return self.bind(*primals, **params), tangent
        untouched, stayed = self._survivors(x, indices, updates, params)

        def scattered(old: Any, new: Any) -> Any:
            kept = select_n(untouched, zeros(old.aval), old)
            put = select_n(stayed, zeros(new.aval), new)
            return _add_at(kept, indices, put, params)

        return scattered(x, updates), scattered(instantiate(t_x), t_updates)

    def _survivors(self, x: Any, indices: Any, updates: Any, params: Any) -> tuple[Any, Any]:
        """Which elements of `x` no update replaces, and which updates no other replaces."""
        numbers = _window_numbers(updates.aval, params["dimension_numbers"])
        nowhere = zeros(x.aval.update(dtype=numbers.dtype, weak_type=False))
        owners = self.bind(nowhere, indices, numbers, **params)
        found = gathered_like(owners, indices, updates.aval, **params)
        return eq(owners, nowhere), eq(found, numbers)

    def transpose(self, ct: Any, x: Any, indices: Any, updates: Any, **params: Any) -> list[Any]:
        # Applied to updates that are linear only where each place has one at most.
        ct_x = ct_updates = None
        if is_undefined_primal(x):
            ct_x = self.bind(ct, indices, zeros(aval_of(updates)), **params)
        if is_undefined_primal(updates):
            ct_updates = gathered_like(ct, indices, updates.aval, **params)
        return [ct_x, None, ct_updates]


def _window_numbers(updates: Any, numbers: Any) -> Any:
    """For each element of the updates, the number of its window, counted from 1."""
    window_axes = numbers[0]
    batch_axes = [i for i in range(updates.ndim) if i not in window_axes]
    sizes = [updates.shape[i] for i in batch_axes]
    count = add(iota(np.uint32, math.prod(sizes)), np.uint32(1))
    return broadcast_in_dim(count.reshape(sizes), updates.shape, batch_axes)


def _is_unique(indices: Any, updates: Any, params: Any) -> bool:
    """Whether no place is written to twice: by promise, or because there is one window."""
    return params["unique_indices"] or math.prod(indices.aval.shape[:-1]) <= 1


def _add_at(x: Any, indices: Any, updates: Any, params: Any) -> Any:
    """`scatter_add` with the parameters of another scatter."""
    program = update_program(add, x.aval.dtype)
    return scatter_add_p.bind(x, indices, updates, **(params | {"update_jaxpr": program}))


@final
class ScatterSub(AdditiveScattering):
    """Subtract windows of updates from an array."""

    name = "scatter-sub"

    def write(self, target: Any, rows: Any, updates: Any) -> None:
        accumulate(np.subtract, target, rows, updates)

    def signed(self, ct: Any) -> Any:
        return neg(ct)


@final
class ScatterMul(Scattering):
    """Multiply an array by windows of updates."""

    name = "scatter-mul"
    accepts = NUMBER

    def write(self, target: Any, rows: Any, updates: Any) -> None:
        accumulate(np.multiply, target, rows, updates)

    def jvp(self, primals: Sequence[Any], tangents: Sequence[Any], **params: Any) -> Any:
        x, indices, updates = primals
        t_x, _, t_updates = tangents
        out = self.bind(*primals, **params)
        if is_zero(t_updates):
            if is_zero(t_x):
                return out, Zero(out.aval.to_tangent_aval())
            return out, self.bind(t_x, indices, updates, **params)
        if not _is_unique(indices, updates, params):
            raise ValueError(_FACTORS_MAY_COINCIDE())
        scaled = self.bind(instantiate(t_x), indices, updates, **params)
        present = gathered_like(x, indices, updates.aval, **params)
        return out, _add_at(scaled, indices, mul(present, t_updates), params)

    def transpose(self, ct: Any, x: Any, indices: Any, updates: Any, **params: Any) -> list[Any]:
        return [self.bind(ct, indices, updates, **params), None, None]
