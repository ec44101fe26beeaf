"""What distributions do to their arguments."""

from __future__ import annotations

from typing import Any

import numpy as np

from ... import dtypes, lax
from ... import numpy as jnp
from ...lax.elementwise.convert import convert
from ...numpy.operands import as_array, inexact_type, promoted_inexact
from ...util.messages import message
from ._ends import quotient

_ANALYTIC = ("cauchy.", "expon.ppf", "logistic.", "norm.", "pareto.ppf", "uniform.ppf")
"""Functions, or distributions, of one formula, which holds for complex numbers too."""

_LASTING = (
    *("binom.", "expon.", "gamma.logsf", "gamma.sf", "gennorm.", "gumbel_l.", "gumbel_r.cdf"),
    *("gumbel_r.log", "gumbel_r.p", "logistic.cdf", "logistic.sf", "pareto.logcdf"),
    *("poisson.logpmf", "poisson.pmf", "uniform.", "vonmises.", "wrapcauchy."),
)
"""Functions, or distributions, whose results are weak where the promoted arguments are."""


def arguments(name: str, *operands: Any) -> list[Any]:
    """Arrays of one floating dtype, for the function `name` of a distribution.

    They are weak if all are, for the result may be made of one of them alone.  In most functions
    JAX has constants of the dtype of the first one, which is weak only in a scalar: so integers
    beside Python's floats give a result that is not weak.

    Raises:
        TypeError: they are complex, and the function has cases, or is made of one that is real.
    """
    where = f"scipy.stats.{name}"
    arrays = [as_array(where, x) for x in promoted_inexact(where, *operands)]
    if dtypes.issubdtype(arrays[0].dtype, np.complexfloating) and not name.startswith(_ANALYTIC):
        raise TypeError(
            message(
                where,
                given=f"arguments that combine to {arrays[0].dtype}",
                expected="real numbers: complex ones have no order",
                fix="Give the real part, jnp.real(x), if the imaginary part is 0.",
            )
        )
    is_lasting = not arrays[0].aval.shape or name.startswith(_LASTING)
    if is_lasting and all([x.aval.weak_type for x in arrays]):
        return arrays
    return [convert(x, x.aval.dtype) if x.aval.weak_type else x for x in arrays]


def vectors(name: str, *operands: Any, is_lasting: bool = False) -> list[Any]:
    """Arrays of one floating dtype, of the shapes that they have; strong unless weak types last."""
    where = f"scipy.stats.{name}"
    arrays = [as_array(where, x) for x in operands]
    dtype, weak = inexact_type(where, *arrays)
    return [convert(x, dtype, weak and is_lasting) for x in arrays]


def shifted(name: str, x: Any, loc: Any, scale: Any, *shape: Any) -> list[Any]:
    """x − loc, then scale and the parameters of shape, as arrays of one dtype."""
    x, loc, scale, *rest = arguments(name, x, loc, scale, *shape)
    return [x - loc, scale, *rest]


def placed(name: str, x: Any, loc: Any, scale: Any, *shape: Any) -> list[Any]:
    """The same, with NaN for a scale that is not positive."""
    distance, scale, *rest = shifted(name, x, loc, scale, *shape)
    return [distance, positive(scale), *rest]


def standardized(name: str, x: Any, loc: Any, scale: Any, *shape: Any) -> list[Any]:
    """The same, with z = (x − loc) / scale first, for functions that are constant far out."""
    distance, scale, *rest = placed(name, x, loc, scale, *shape)
    return [quotient(distance, scale), scale, *rest]


def inside(is_outside: Any, distance: Any, other: Any) -> Any:
    """A distance, with another one where it is outside of the support; it moves with none."""
    return jnp.where(is_outside, lax.stop_gradient(other), distance)


def from_zero(distance: Any, scale: Any) -> tuple[Any, Any]:
    """A distance or, where it is negative, the scale; and where it is, beside a positive scale."""
    below = (distance < 0) & (scale > 0)
    return inside(below, distance, scale), below


def strong(x: Any) -> Any:
    """`x`, not of a weak type: results that JAX makes with cases or loops of a dtype are not."""
    return convert(x, x.aval.dtype)


def positive(x: Any) -> Any:
    """`x`, or NaN where it is not positive."""
    return jnp.where(x > 0, x, np.nan)


def probability(q: Any) -> Any:
    """`q`, or NaN where it is no probability."""
    return jnp.where((q >= 0) & (q <= 1), q, np.nan)


def never(p: Any) -> Any:
    """The logarithm of the probability of what cannot be, −∞, or NaN where `p` is NaN."""
    return jnp.where(jnp.isnan(p), np.nan, -np.inf)


def counted(name: str, k: Any, loc: Any, *parameters: Any) -> list[Any]:
    """k − loc, whether that is a counting number, and the parameters, as arrays of one dtype.

    Where it is none, 0 stands for it; NaN stays.
    """
    k, loc, *rest = arguments(name, k, loc, *parameters)
    count = k - loc
    is_count = (count >= 0) & (count == lax.floor(count)) & (count < np.inf)
    return [jnp.where(is_count | jnp.isnan(count), count, 0), is_count | jnp.isnan(count), *rest]


def log_of_one_plus_square(x: Any) -> Any:
    """log(1 + x²), where x² is beyond the largest number too: there it is 2 log(1 + |x|)."""
    is_far = lax.abs(x) > 2.0**60
    near = jnp.where(is_far, 0, x)
    power = jnp.where(is_far, lax.abs(x), near * near)
    return jnp.where(is_far, 2, 1) * lax.log1p(power)
