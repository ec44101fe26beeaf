"""Sums and extremes over all members along named axes.

A sum over members is its own transpose: x̄ⱼ = Σᵢ ȳᵢ, for the sum reaches every member.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Sequence
from typing import Any, ClassVar, final

import numpy as np

from .. import dtypes, tree
from ..core import BatchAxes, aval_of, axes_in_types, not_differentiable, not_linear
from ..core.varying import varying_over
from ..engines.xla.stablehlo import Builder, Value
from ..lax.elementwise.arithmetic import div
from ..lax.elementwise.convert import convert
from ..lax.ground.axes import canonical_axes
from ..lax.ground.linear_structure import reduce_sum
from ..lax.ground.monoids import ADD, MAX, MIN, Monoid
from ..lax.reduction.reductions import lower_reduction, reduce_max, reduce_min
from ..util.messages import message
from .axis_names import joint_size, names_and_positions
from .between_devices import gathered_by_devices, reduced_by_devices
from .collective import Collective, batch_sum, map_operands
from .gathering import jointly
from .groups import Groups, canonical_groups, group_size
from .varying import psum_invariant_p

_INT32 = np.dtype(np.int32)

Reduce = Callable[[Any, Sequence[int]], Any]


class Reduction(Collective):
    """Combine the values of all members along named axes.

    Params:
        axes: names of the axes.
        axis_index_groups: positions of the members that communicate, `None` for all.
    """

    names_param = "axes"
    monoid: ClassVar[Monoid]

    def abstract_eval(self, x: Any, *, axes: Any, axis_index_groups: Any) -> Any:
        return x

    def batch(
        self, batch: BatchAxes, operands: Any, dims: Any, /, **params: Any
    ) -> tuple[Any, Any]:
        return self.bind(*operands, **params), dims[0]

    def over_several(self, x: Any, names: tuple[Any, ...], params: dict[str, Any]) -> Any:
        if params["axis_index_groups"] is not None:
            return jointly(self, x, names, params)
        for name in names:
            x = self.bind(x, axes=(name,), axis_index_groups=None)
        return x

    def over_devices(
        self, b: Builder, out: Any, x: Value, groups: list[list[int]], **params: Any
    ) -> Value:
        return reduced_by_devices(b, self.monoid, out, x, groups)


class Extreme(Reduction):
    """What the largest and the smallest value share: all members get the same."""

    linear = False

    def varies_over(
        self, names: frozenset[Hashable], *, axes: tuple[Any, ...], axis_index_groups: Any
    ) -> frozenset[Hashable]:
        return names if axis_index_groups else names - frozenset(axes)

    def over_devices(
        self, b: Builder, out: Any, x: Value, groups: list[list[int]], **params: Any
    ) -> Value:
        if not dtypes.issubdtype(out.dtype, np.inexact):
            return super().over_devices(b, out, x, groups, **params)
        # XLA's own maxima between devices lose NaN and the sign of zero.
        members = gathered_by_devices(b, x, groups, 0)
        return lower_reduction(b, self.monoid, out, members, (0,))


@final
class PSum(Reduction):
    """Sum over all members."""

    name = "psum"
    monoid = ADD

    def over_batch(self, batch: BatchAxes, x: Any, dim: int | None, **_: Any) -> tuple[Any, None]:
        return batch_sum(batch, x, dim), None

    def transpose(self, ct: Any, x: Any, **params: Any) -> Any:
        return [self.bind(ct, **params)]


@final
class PMax(Extreme):
    """Largest value of all members."""

    name = "pmax"
    monoid = MAX
    jvp = not_differentiable("the maximum over members has no derivative rule in JAX either")
    transpose = not_linear()

    def over_batch(self, batch: BatchAxes, x: Any, dim: int | None, **_: Any) -> tuple[Any, None]:
        return (x if dim is None else reduce_max(x, (dim,))), None


@final
class PMin(Extreme):
    """Smallest value of all members."""

    name = "pmin"
    monoid = MIN
    jvp = not_differentiable("the minimum over members has no derivative rule in JAX either")
    transpose = not_linear()

    def over_batch(self, batch: BatchAxes, x: Any, dim: int | None, **_: Any) -> tuple[Any, None]:
        return (x if dim is None else reduce_min(x, (dim,))), None


psum_p = PSum()
pmax_p = PMax()
pmin_p = PMin()


def psum(x: Any, axis_name: Any, *, axis_index_groups: Any = None) -> Any:
    """Sum of `x` over all members along a named axis.

    Args:
        x: array or tree.
        axis_name: name of the axis, or a tuple of names; integers in it are axes of `x` itself,
            which are summed over too.
        axis_index_groups: lists of positions, which part the members into groups of one size; each
            group has a sum of its own.

    Returns:
        The sum, the same for all members that communicate.  The sum of a Python number is its
        product with their number, and booleans are summed as integers.

    Raises:
        NameError: no axis of that name is in scope.
        ValueError: the groups do not hold each member once.

    Example:
        >>> import morphax as jax
        >>> import morphax.numpy as jnp
        >>> jax.vmap(lambda x: x / jax.lax.psum(x, "i"), axis_name="i")(jnp.array([1.0, 3.0]))
        Array([0.25, 0.75], dtype=float32)
    """
    return _reduce("lax.psum", psum_p, reduce_sum, x, axis_name, axis_index_groups)


def pmean(x: Any, axis_name: Any, *, axis_index_groups: Any = None) -> Any:
    """Mean of `x` over all members along a named axis; arguments as for `psum`.

    Example:
        >>> import morphax as jax
        >>> import morphax.numpy as jnp
        >>> x = jnp.arange(4.0)
        >>> pairs = [[0, 1], [2, 3]]
        >>> jax.vmap(lambda x: jax.lax.pmean(x, "i", axis_index_groups=pairs), axis_name="i")(x)
        Array([0.5, 0.5, 2.5, 2.5], dtype=float32)
    """
    total = _reduce("lax.pmean", psum_p, reduce_sum, x, axis_name, axis_index_groups)
    names, positions = names_and_positions(axis_name)
    size = joint_size(names)
    size = group_size(canonical_groups("lax.pmean", axis_index_groups, size), size)

    def mean(total: Any, x: Any) -> Any:
        shape = aval_of(x).shape
        count = size * math.prod([shape[p] for p in positions])
        return total / count if _is_number(total) else div(_floating(total), count)

    return tree.map(mean, total, x)


def pmax(x: Any, axis_name: Any, *, axis_index_groups: Any = None) -> Any:
    """Largest value of `x` of all members along a named axis; arguments as for `psum`.

    Example:
        >>> import morphax as jax
        >>> import morphax.numpy as jnp
        >>> jax.vmap(lambda x: jax.lax.pmax(x, "i"), axis_name="i")(jnp.array([1, 3, 2]))
        Array([3, 3, 3], dtype=int32)
    """
    return _reduce("lax.pmax", pmax_p, reduce_max, x, axis_name, axis_index_groups)


def pmin(x: Any, axis_name: Any, *, axis_index_groups: Any = None) -> Any:
    """Smallest value of `x` of all members along a named axis; arguments as for `psum`.

    Example:
        >>> import morphax as jax
        >>> import morphax.numpy as jnp
        >>> jax.vmap(lambda x: jax.lax.pmin(x, "i"), axis_name="i")(jnp.array([4, 3, 5]))
        Array([3, 3, 3], dtype=int32)
    """
    return _reduce("lax.pmin", pmin_p, reduce_min, x, axis_name, axis_index_groups)


def _reduce(
    where: str, primitive: Reduction, within: Reduce, x: Any, axis_name: Any, groups: Any
) -> Any:
    names, positions = names_and_positions(axis_name)
    if not names and not positions:
        return map_operands(where, lambda leaf: leaf, x)
    size = joint_size(names)
    groups = canonical_groups(where, groups, size)

    def reduced(leaf: Any) -> Any:
        _check_numbers(where, leaf)
        if primitive is psum_p:
            if _is_number(leaf) and not positions:
                return leaf * group_size(groups, size)
            leaf = convert(leaf, _INT32) if aval_of(leaf).dtype == bool else leaf
        if positions:
            leaf = within(leaf, canonical_axes(where, positions, aval_of(leaf).ndim))
        return _over_members(where, primitive, leaf, names, groups)

    return map_operands(where, reduced, x)


def _check_numbers(where: str, x: Any) -> None:
    if dtypes.issubdtype(aval_of(x).dtype, dtypes.extended):
        raise TypeError(
            message(
                f"{where}, argument x",
                given=f"{aval_of(x).str_short()}",
                expected="numbers",
                fix="Pass the words of keys, jax.random.key_data(keys), or lax.all_gather them.",
            )
        )


def _over_members(
    where: str, primitive: Reduction, x: Any, names: tuple[Any, ...], groups: Groups
) -> Any:
    """The reduction along axes, of which the types may speak of some or all."""
    in_types = axes_in_types(names)
    if in_types:
        # Along an axis where the value is the same, the extreme is that value; a sum might have
        # been taken already, or not.
        is_sum = primitive is psum_p
        x = _varying_over_all(where, x, in_types) if is_sum else varying_over(x, in_types)
        if is_sum and groups is None:
            x = psum_invariant_p.bind(x, axes=tuple([n for n in names if n in in_types]))
            names = tuple([n for n in names if n not in in_types])
    return primitive.bind(x, axes=names, axis_index_groups=groups) if names else x


def _varying_over_all(where: str, x: Any, in_types: frozenset[Hashable]) -> Any:
    """A value that varies over all these axes of the mesh; `ValueError` if it does over some."""
    varies = aval_of(x).vma & in_types
    if not varies or varies == in_types:
        return varying_over(x, in_types)
    rest = ", ".join(map(repr, in_types - varies))
    raise ValueError(
        message(
            f"{where}, argument axis_name",
            given=f"{aval_of(x)}, which is the same for all members along {rest}",
            expected="a value that varies over all of the axes, or over none",
            fix=f"Leave out {rest}; or cast it before, with lax.pcast(x, {rest}, to='varying').",
        )
    )


def _is_number(x: Any) -> bool:
    return isinstance(x, (bool, int, float, complex, np.number))


def _floating(x: Any) -> Any:
    dtype = aval_of(x).dtype
    inexact = dtypes.issubdtype(dtype, np.inexact)
    return x if inexact else convert(x, dtypes.to_inexact(dtype, aval_of(x).weak_type)[0])
