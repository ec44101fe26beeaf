"""Scatters: windows of updates put into an array, or combined with what is there.

The derivative of `scatter` must know which of several updates of one place has stayed.  Windows are
numbered, and the numbers are scattered and gathered again: an update that finds its own number has
stayed.  Value and derivative are computed from the updates that have, so they agree also where the
order of updates is left to chance, as on GPUs.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, ClassVar, final

import numpy as np

from ... import dtypes
from ...core import Zero, aval_of, is_undefined_primal, is_zero, not_linear
from ...util.messages import message
from ..elementwise import selection
from ..elementwise.arithmetic import add, div, mul, neg, sub
from ..elementwise.comparison import eq, gt, lt, ne
from ..elementwise.selection import scalar_like, select_n_p
from ..ground.dimension_numbers import ScatterDimensionNumbers
from ..ground.families import Elementwise
from ..ground.kinds import BOOLEAN, NUMBER
from ..ground.linear_structure import instantiate, zeros
from ..shape.filling import iota
from ..shape.shape_operations import broadcast_in_dim, reshape
from .gather import AdditiveScattering, gathered_like, scatter_add_p
from .scatter_rules import (
    Scattering,
    accumulate,
    elements,
    in_rounds,
    scatter_params,
    update_program,
)


@final
class Scatter(Scattering):
    """Put windows of updates in the place of what is there."""

    name = "scatter"
    combines = ""

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
            zero = scalar_like(0, old)
            kept = select_n_p.bind(untouched, zero, old)
            put = select_n_p.bind(stayed, zero, new)
            return _add_at(kept, indices, put, params)

        return scattered(x, updates), scattered(instantiate(t_x), t_updates)

    def _survivors(self, x: Any, indices: Any, updates: Any, params: Any) -> tuple[Any, Any]:
        """Which elements of `x` no update replaces, and which updates no other replaces."""
        numbers = _window_numbers(updates.aval, params["dimension_numbers"])
        nowhere = zeros(x.aval.update(dtype=numbers.dtype, weak_type=False))
        owners = self.bind(nowhere, indices, numbers, **params)
        found = gathered_like(owners, indices, updates.aval, **params)
        return eq(owners, np.uint32(0)), eq(found, numbers)

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
    return broadcast_in_dim(reshape(count, sizes), updates.shape, batch_axes)


def _is_unique(indices: Any, updates: Any, params: Any) -> bool:
    """Whether no place is written to twice: by promise, or because there is one window."""
    return bool(params["unique_indices"]) or math.prod(indices.aval.shape[:-1]) <= 1


def _add_at(x: Any, indices: Any, updates: Any, params: Any) -> Any:
    """`scatter_add` with the parameters of another scatter."""
    program = update_program(add, x.aval.dtype)
    return scatter_add_p.bind(x, indices, updates, **(params | {"update_jaxpr": program}))


@final
class ScatterSub(AdditiveScattering):
    """Subtract windows of updates from an array."""

    name = "scatter-sub"
    combines = "sub"

    def write(self, target: Any, rows: Any, updates: Any) -> None:
        accumulate(np.subtract, target, rows, updates)

    def signed(self, ct: Any) -> Any:
        return neg(ct)


@final
class ScatterMul(Scattering):
    """Multiply an array by windows of updates."""

    name = "scatter-mul"
    combines = "mul"
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
            raise NotImplementedError(
                message(
                    "derivative of lax.scatter_mul with respect to updates",
                    given="indices that may name one place several times",
                    expected="indices that are promised to be unique",
                    fix="Pass unique_indices=True if they are, or multiply in another way.",
                )
            )
        scaled = self.bind(instantiate(t_x), indices, updates, **params)
        present = gathered_like(x, indices, updates.aval, **params)
        return out, _add_at(scaled, indices, mul(present, t_updates), params)

    def transpose(self, ct: Any, x: Any, indices: Any, updates: Any, **params: Any) -> list[Any]:
        return [self.bind(ct, indices, updates, **params), None, None]


class ExtremumScattering(Scattering):
    """Scatters that keep the largest or smallest of what comes together; ties share the tangent."""

    accepts = NUMBER | BOOLEAN
    ufunc: ClassVar[np.ufunc]
    pairwise: ClassVar[Elementwise]
    zero: ClassVar[float]
    beats: ClassVar[Callable[[Any, Any], Any]]

    transpose = not_linear()

    def write(self, target: Any, rows: Any, updates: Any) -> None:
        if target.dtype.kind == "c":
            in_rounds(self.pairwise.evaluate, target, rows, updates)
            return
        places = elements(target, rows)
        before = target.reshape(-1)[places]
        accumulate(self.ufunc, target, rows, updates)
        if dtypes.issubdtype(target.dtype, np.floating):
            self._mend_zeros(target.reshape(-1), places, before, updates.reshape(-1))

    def _mend_zeros(self, target: Any, places: Any, before: Any, updates: Any) -> None:
        """Let −0 be less than 0, where NumPy takes either for the extreme."""
        extremes = target[places]
        if extremes.all():
            return
        zero = target.dtype.type(self.zero)
        took_part = _is_same_zero(before, zero) | _is_same_zero(updates, zero)
        target[places[(extremes == 0) & took_part]] = zero

    def jvp(self, primals: Sequence[Any], tangents: Sequence[Any], **params: Any) -> Any:
        x, indices, updates = primals
        t_x, _, t_updates = tangents
        out = self.bind(*primals, **params)
        if is_zero(t_x) and is_zero(t_updates):
            return out, Zero(out.aval.to_tangent_aval())
        beats = ne if out.dtype.kind == "c" else type(self).beats
        x_loses = beats(out, x)
        updates_lose = beats(gathered_like(out, indices, updates.aval, **params), updates)

        def winners(old: Any, new: Any) -> Any:
            zero = scalar_like(0, out)
            kept = select_n_p.bind(x_loses, old, zero)
            put = select_n_p.bind(updates_lose, new, zero)
            return _add_at(kept, indices, put, params)

        one = scalar_like(1, out)
        return out, div(winners(instantiate(t_x), instantiate(t_updates)), winners(one, one))


def _is_same_zero(x: Any, zero: Any) -> Any:
    """Where `x` is zero with the sign of `zero`."""
    return (x == 0) & (np.signbit(x) == np.signbit(zero))


@final
class ScatterMax(ExtremumScattering):
    """Keep the largest of an array and the windows of updates, element by element."""

    name = "scatter-max"
    ufunc = np.maximum
    pairwise = selection.max_p
    zero = 0.0
    beats = gt


@final
class ScatterMin(ExtremumScattering):
    """Keep the smallest of an array and the windows of updates, element by element."""

    name = "scatter-min"
    ufunc = np.minimum
    pairwise = selection.min_p
    zero = -0.0
    beats = lt


scatter_p = Scatter()
scatter_sub_p = ScatterSub()
scatter_mul_p = ScatterMul()
scatter_max_p = ScatterMax()
scatter_min_p = ScatterMin()


def scatter(
    operand: Any,
    scatter_indices: Any,
    updates: Any,
    dimension_numbers: ScatterDimensionNumbers,
    *,
    indices_are_sorted: bool = False,
    unique_indices: bool = False,
    mode: Any = None,
) -> Any:
    """`operand` with windows of `updates` put at many places.

    With b an index of the axes of `scatter_indices` but its last, and o a place in a window,

        result[start(b) + o] = updates[b, o]

    where the axes of o are at `update_window_dims` of the updates.

    Args:
        operand: array of rank n.
        scatter_indices: integers (..., k): where windows start along the axes that
            ``dimension_numbers.scatter_dims_to_operand_dims`` lists.
        updates: the windows, of the operand's dtype.
        dimension_numbers: which axis is what.
        indices_are_sorted: promise about the indices that may save time.
        unique_indices: promise that no place is written to twice, which saves time in derivatives.
        mode: what becomes of windows that leave the operand: ``"drop"``, the default, ``"clip"``
            or ``"promise_in_bounds"``.

    Returns:
        Array of the shape of `operand`.  Of several updates of one place, the last stays on the
        CPU, any of them elsewhere.

    Raises:
        TypeError: if dtypes differ or the indices are not integers.
        ValueError: if the dimension numbers or shapes do not fit.

    Example:
        >>> import morphax as jax, morphax.numpy as jnp
        >>> rows = jax.lax.ScatterDimensionNumbers(
        ...     update_window_dims=(1,),
        ...     inserted_window_dims=(0,),
        ...     scatter_dims_to_operand_dims=(0,),
        ... )
        >>> jax.lax.scatter(jnp.zeros((3, 2)), jnp.array([[2]]), jnp.ones((1, 2)), rows)
        Array([[0., 0.],
               [0., 0.],
               [1., 1.]], dtype=float32)
    """
    params = scatter_params(
        None, operand, dimension_numbers, indices_are_sorted, unique_indices, mode
    )
    return scatter_p.bind(operand, scatter_indices, updates, **params)


def scatter_sub(
    operand: Any,
    scatter_indices: Any,
    updates: Any,
    dimension_numbers: ScatterDimensionNumbers,
    *,
    indices_are_sorted: bool = False,
    unique_indices: bool = False,
    mode: Any = None,
) -> Any:
    """`operand` with windows of `updates` subtracted at many places; see `scatter`.

    Example:
        >>> import morphax.numpy as jnp
        >>> from morphax import lax
        >>> rows = lax.ScatterDimensionNumbers((), (0,), (0,))
        >>> lax.scatter_sub(jnp.array([5, 5, 5]), jnp.array([[0], [2]]), jnp.array([1, 2]), rows)
        Array([4, 5, 3], dtype=int32)
    """
    params = scatter_params(
        sub, operand, dimension_numbers, indices_are_sorted, unique_indices, mode
    )
    return scatter_sub_p.bind(operand, scatter_indices, updates, **params)


def scatter_mul(
    operand: Any,
    scatter_indices: Any,
    updates: Any,
    dimension_numbers: ScatterDimensionNumbers,
    *,
    indices_are_sorted: bool = False,
    unique_indices: bool = False,
    mode: Any = None,
) -> Any:
    """`operand` multiplied by windows of `updates` at many places; see `scatter`.

    The derivative with respect to `updates` needs ``unique_indices=True``.

    Example:
        >>> import morphax.numpy as jnp
        >>> from morphax import lax
        >>> rows = lax.ScatterDimensionNumbers((), (0,), (0,))
        >>> lax.scatter_mul(jnp.array([5, 5, 5]), jnp.array([[0], [2]]), jnp.array([1, 2]), rows)
        Array([ 5,  5, 10], dtype=int32)
    """
    params = scatter_params(
        mul, operand, dimension_numbers, indices_are_sorted, unique_indices, mode
    )
    return scatter_mul_p.bind(operand, scatter_indices, updates, **params)


def scatter_max(
    operand: Any,
    scatter_indices: Any,
    updates: Any,
    dimension_numbers: ScatterDimensionNumbers,
    *,
    indices_are_sorted: bool = False,
    unique_indices: bool = False,
    mode: Any = None,
) -> Any:
    """The maximum of `operand` and of windows of `updates` at many places; see `scatter`.

    Example:
        >>> import morphax.numpy as jnp
        >>> from morphax import lax
        >>> rows = lax.ScatterDimensionNumbers((), (0,), (0,))
        >>> lax.scatter_max(jnp.array([5, 5, 5]), jnp.array([[0], [2]]), jnp.array([1, 9]), rows)
        Array([5, 5, 9], dtype=int32)
    """
    params = scatter_params(
        selection.max, operand, dimension_numbers, indices_are_sorted, unique_indices, mode
    )
    return scatter_max_p.bind(operand, scatter_indices, updates, **params)


def scatter_min(
    operand: Any,
    scatter_indices: Any,
    updates: Any,
    dimension_numbers: ScatterDimensionNumbers,
    *,
    indices_are_sorted: bool = False,
    unique_indices: bool = False,
    mode: Any = None,
) -> Any:
    """The minimum of `operand` and of windows of `updates` at many places; see `scatter`.

    Example:
        >>> import morphax.numpy as jnp
        >>> from morphax import lax
        >>> rows = lax.ScatterDimensionNumbers((), (0,), (0,))
        >>> lax.scatter_min(jnp.array([5, 5, 5]), jnp.array([[0], [2]]), jnp.array([1, 9]), rows)
        Array([1, 5, 5], dtype=int32)
    """
    params = scatter_params(
        selection.min, operand, dimension_numbers, indices_are_sorted, unique_indices, mode
    )
    return scatter_min_p.bind(operand, scatter_indices, updates, **params)
