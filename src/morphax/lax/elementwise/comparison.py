"""Comparisons, element by element.

IEEE order: NaN differs from everything, itself included, and −0 equals 0.  *Total* order, used by
sorting, has −NaN < −∞ < … < −0 < 0 < … < ∞ < NaN.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any, ClassVar, final

import numpy as np

from ...engines import loops
from ...engines.xla.literals import held_as_key_data, physical_aval
from ...engines.xla.stablehlo import Builder, Value
from ..ground.families import Predicate, compare, expanded
from ..ground.kinds import ANY, FLOATING, ORDERED
from ..ground.operands import standardize
from ..ground.sums import reduce_with
from .ordered_bits import bits_in_order


class Comparison(Predicate):
    """A comparison, named by its StableHLO direction."""

    quick = True
    accepts = ORDERED
    direction: ClassVar[str]

    def evaluate(self, x: Any, y: Any) -> Any:
        return type(self).numpy(x, y)

    def kernel(self, *avals: Any, **params: Any) -> Callable[..., Any] | None:
        is_plain = getattr(self.evaluate, "__func__", None) is Comparison.evaluate
        return type(self).numpy if is_plain else None

    def lower(self, b: Builder, out: Any, x: Value, y: Value) -> Value:
        x, y = expanded(b, out.shape, (x, y))
        return compare(b, out, self.direction, x, y)


class Equality(Comparison):
    """A comparison that keys know too.

    Keys that are rows of words are equal if all their words are; NumPy's functions do not take such
    elements, Python's operators do.
    """

    accepts = ANY
    lowers_key_data = True
    operator: ClassVar[Callable[[Any, Any], Any]]
    scalar_of_complex = Predicate.scalar

    def evaluate(self, x: Any, y: Any) -> Any:
        return type(self).operator(x, y)

    def kernel(self, *avals: Any, **params: Any) -> Callable[..., Any] | None:
        return None if held_as_key_data(avals[0]) else type(self).numpy

    def lower(self, b: Builder, out: Any, x: Value, y: Value) -> Value:
        if not held_as_key_data(x.aval):
            return super().lower(b, out, x, y)
        x, y = [v.seen_as(physical_aval(v.aval)) for v in expanded(b, out.shape, (x, y))]
        words = compare(b, x.aval.update(dtype=bool), self.direction, x, y)
        both, identity = ("and", True) if self.direction == "EQ" else ("or", False)
        return reduce_with(b, f"stablehlo.{both}", identity, out, words, (len(out.shape),))


@final
class Eq(Equality):
    """Whether x = y, element by element."""

    name = "eq"
    numpy = np.equal
    operator = operator.eq
    direction = "EQ"


@final
class Ne(Equality):
    """Whether x ≠ y, element by element."""

    name = "ne"
    numpy = np.not_equal
    operator = operator.ne
    direction = "NE"


@final
class Lt(Comparison):
    """Whether x < y, element by element."""

    name = "lt"
    numpy = np.less
    direction = "LT"


@final
class Le(Comparison):
    """Whether x ≤ y, element by element."""

    name = "le"
    numpy = np.less_equal
    direction = "LE"


@final
class Gt(Comparison):
    """Whether x > y, element by element."""

    name = "gt"
    numpy = np.greater
    direction = "GT"


@final
class Ge(Comparison):
    """Whether x ≥ y, element by element."""

    name = "ge"
    numpy = np.greater_equal
    direction = "GE"


_LARGEST = {n: np.iinfo(f"i{n}").max for n in (1, 2, 4, 8)}


def total_order_key(x: Any) -> Any:
    """Integers in the total order of the elements of a NumPy array; other dtypes as they are.

    The bits of non-negative floats are in order as they stand; for negative ones all but the sign
    are inverted, as their magnitudes run backwards.
    """
    if x.dtype.kind in "biu" or x.dtype.name.startswith(("int", "uint")):
        return x
    bits = x.view(f"i{x.dtype.itemsize}")
    return np.where(bits < 0, bits ^ _LARGEST[bits.itemsize], bits)


class TotalOrderComparison(Comparison):
    """A comparison in the total order of floats."""

    def evaluate(self, x: Any, y: Any) -> Any:
        return type(self).numpy(total_order_key(x), total_order_key(y))

    def scalar(self, w: loops.Writer, x: loops.Operand, y: loops.Operand) -> loops.Operand:
        keys = loops.scalars.ordered_bits(w, x), loops.scalars.ordered_bits(w, y)
        return w.op(self.direction.lower(), *keys)

    def lower(self, b: Builder, out: Any, x: Value, y: Value) -> Value:
        x, y = expanded(b, out.shape, (x, y))
        if x.aval.dtype in FLOATING:
            # XLA's own total order is not: of one NaN twice it says that it differs from itself.
            x, y = bits_in_order(b, x), bits_in_order(b, y)
        return compare(b, out, self.direction, x, y)


@final
class EqTo(TotalOrderComparison):
    """x = y in the total order, element by element."""

    name = "eq_to"
    numpy = np.equal
    direction = "EQ"


@final
class LtTo(TotalOrderComparison):
    """x < y in the total order, element by element."""

    name = "lt_to"
    numpy = np.less
    direction = "LT"


@final
class LeTo(TotalOrderComparison):
    """x ≤ y in the total order, element by element."""

    name = "le_to"
    numpy = np.less_equal
    direction = "LE"


eq_p = Eq()
ne_p = Ne()
lt_p = Lt()
le_p = Le()
gt_p = Gt()
ge_p = Ge()
eq_to_p = EqTo()
lt_to_p = LtTo()
le_to_p = LeTo()


def eq(x: Any, y: Any) -> Any:
    """Whether x = y, element by element; NaN equals nothing.

    Args:
        x, y: arrays of one dtype and shape; a number may stand beside an array.

    Raises:
        TypeError: dtypes or shapes differ, or are others; the function of `jax.numpy` promotes.

    Example:
        >>> import morphax as jax
        >>> import morphax.numpy as jnp
        >>> jax.lax.eq(jnp.array([1, 2, 3]), 2)
        Array([False,  True, False], dtype=bool)
    """
    return eq_p.bind(*standardize(x, y))


def ne(x: Any, y: Any) -> Any:
    """Whether x ≠ y, element by element; NaN differs from everything.

    Args:
        x, y: arrays of one dtype and shape; a number may stand beside an array.

    Raises:
        TypeError: dtypes or shapes differ, or are others; the function of `jax.numpy` promotes.

    Example:
        >>> import morphax as jax
        >>> import morphax.numpy as jnp
        >>> jax.lax.ne(jnp.array([1, 2, 3]), 2)
        Array([ True, False,  True], dtype=bool)
    """
    return ne_p.bind(*standardize(x, y))


def lt(x: Any, y: Any) -> Any:
    """Whether x < y, element by element.

    Args:
        x, y: arrays of one dtype and shape; a number may stand beside an array.

    Raises:
        TypeError: dtypes or shapes differ, or are others; the function of `jax.numpy` promotes.

    Example:
        >>> import morphax as jax
        >>> import morphax.numpy as jnp
        >>> jax.lax.lt(jnp.array([1, 2, 3]), 2)
        Array([ True, False, False], dtype=bool)
    """
    return lt_p.bind(*standardize(x, y))


def le(x: Any, y: Any) -> Any:
    """Whether x ≤ y, element by element.

    Args:
        x, y: arrays of one dtype and shape; a number may stand beside an array.

    Raises:
        TypeError: dtypes or shapes differ, or are others; the function of `jax.numpy` promotes.

    Example:
        >>> import morphax as jax
        >>> import morphax.numpy as jnp
        >>> jax.lax.le(jnp.array([1, 2, 3]), 2)
        Array([ True,  True, False], dtype=bool)
    """
    return le_p.bind(*standardize(x, y))


def gt(x: Any, y: Any) -> Any:
    """Whether x > y, element by element.

    Args:
        x, y: arrays of one dtype and shape; a number may stand beside an array.

    Raises:
        TypeError: dtypes or shapes differ, or are others; the function of `jax.numpy` promotes.

    Example:
        >>> import morphax as jax
        >>> import morphax.numpy as jnp
        >>> jax.lax.gt(jnp.array([1, 2, 3]), 2)
        Array([False, False,  True], dtype=bool)
    """
    return gt_p.bind(*standardize(x, y))


def ge(x: Any, y: Any) -> Any:
    """Whether x ≥ y, element by element.

    Args:
        x, y: arrays of one dtype and shape; a number may stand beside an array.

    Raises:
        TypeError: dtypes or shapes differ, or are others; the function of `jax.numpy` promotes.

    Example:
        >>> import morphax as jax
        >>> import morphax.numpy as jnp
        >>> jax.lax.ge(jnp.array([1, 2, 3]), 2)
        Array([False,  True,  True], dtype=bool)
    """
    return ge_p.bind(*standardize(x, y))
