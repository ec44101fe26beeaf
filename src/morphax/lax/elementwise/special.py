"""Special functions: the error function and the gamma function with their relatives.

The reference engine takes them from SciPy, which is loaded when the first of them is computed, and
corrects what XLA defines otherwise at poles, infinities and −0.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any, Final, final

import numpy as np

from ...engines import loops
from ...engines.xla.fusion_cuts import in_memory
from ...engines.xla.stablehlo import Builder, Value
from ...util.scipy_libraries import special_functions
from ..ground import inverse_error
from ..ground import log_gamma as log_gamma_formulas
from ..ground.families import ComputedWide
from ..ground.formulas import formula_of_arrays
from ..ground.kinds import FLOATING
from ..ground.loop_formulas import formula_of_scalars
from .arithmetic import mul, neg
from .digamma import digamma_of_single
from .exponential import exp
from .inverse_erf import inverse_erf
from .log_gamma import log_gamma_of_single
from .powers import square
from .zeta import polygamma

_SLOPE_OF_ERF = 2 / math.sqrt(math.pi)


class SpecialFunction(ComputedWide):
    """A function of real numbers."""

    accepts = FLOATING


# Of x P(x²) / Q(x²), from the highest power on; `native/elementary.h` says where they come from.
_ERF_P: Final = (
    3.0666887007443569e-9,
    7.506987398110698e-7,
    2.1235384359127947e-5,
    5.077600096870992e-4,
    4.8759426387525968e-3,
    5.783446991209568e-2,
    1.9846894333505922e-1,
    1.128379167088231,
)
_ERF_Q: Final = (
    7.4050607031153935e-8,
    4.4379451348781912e-6,
    1.0965981524610709e-4,
    1.6919389447471635e-3,
    1.7540215054388706e-2,
    1.2099508556922484e-1,
    5.0922185444170934e-1,
    1.0,
)
_ERF_IS_ONE: Final = 3.95


def _erf(x: Any) -> Any:
    if x.dtype == np.float32:
        z = np.clip(x.astype(np.float64), -_ERF_IS_ONE, _ERF_IS_ONE)
        square = z * z
        p, q = _ERF_P[0], _ERF_Q[0]
        for i in range(1, len(_ERF_P)):
            p, q = p * square + _ERF_P[i], q * square + _ERF_Q[i]
        return (z * (p / q)).astype(np.float32)
    return special_functions().erf(x)


@final
class Erf(SpecialFunction):
    """2/√π ∫₀ˣ exp(−s²) ds, element by element."""

    name = "erf"
    compiled = True
    numpy = _erf
    stablehlo = "chlo.erf"

    def d_x(self, t: Any, x: Any, out: Any) -> Any:
        return mul(t, mul(_SLOPE_OF_ERF, exp(neg(square(x)))))


def _erfc(x: Any) -> Any:
    return special_functions().erfc(x)


@final
class Erfc(SpecialFunction):
    """1 − erf x, element by element, accurate for large x."""

    name = "erfc"
    compiled = True
    numpy = _erfc
    stablehlo = "chlo.erfc"

    def kernel(self, *avals: Any, **params: Any) -> Callable[..., Any] | None:
        """In double precision SciPy's function itself: chains call its inner loop."""
        if avals[0].dtype != np.float64:
            return super().kernel(*avals, **params)
        return special_functions().erfc

    def d_x(self, t: Any, x: Any, out: Any) -> Any:
        return mul(t, mul(-_SLOPE_OF_ERF, exp(neg(square(x)))))


def _erf_inv(x: Any) -> Any:
    if x.dtype == np.float32:
        return inverse_erf(x)
    return np.where(x == 0, x, special_functions().erfinv(x))


_LONGEST_SHORT_ROW: Final = 7
_WORTH_A_CUT: Final = 1 << 12  # elements


def _has_short_rows(b: Builder, out: Any) -> bool:
    """Whether the compiler for the CPU unrolls the loop over the last axis of many elements."""
    module = b.module
    if not (module.is_for_one_cpu and module.cuts_fusions):
        return False
    is_large = out.is_static and len(out.shape) > 1 and out.size >= _WORTH_A_CUT
    return is_large and 1 < out.shape[-1] <= _LONGEST_SHORT_ROW


@final
class ErfInv(SpecialFunction):
    """The inverse of erf, element by element."""

    name = "erf_inv"
    compiled = True
    numpy = _erf_inv
    stablehlo = "chlo.erf_inv"

    def lower(self, b: Builder, out: Any, *operands: Value, **params: Any) -> Value:
        if _has_short_rows(b, out):
            # With uniform numbers drawn in its loop it would not vectorise.
            operands = tuple([in_memory(b, x) for x in operands])
        if out.dtype == np.float64:
            return formula_of_arrays(b, out, inverse_error.inverse_erf, *operands)
        return super().lower(b, out, *operands, **params)

    def scalar(self, w: loops.Writer, x: loops.Operand) -> loops.Operand:
        if x.dtype == np.float64:
            return formula_of_scalars(w, inverse_error.inverse_erf_of_each, x)
        return loops.special.inverse_erf(w, x)

    def d_x(self, t: Any, x: Any, out: Any) -> Any:
        return mul(t, mul(1 / _SLOPE_OF_ERF, exp(square(out))))


def _lgamma(x: Any) -> Any:
    return np.where(np.isinf(x), np.inf, special_functions().gammaln(x)).astype(x.dtype)


@final
class Lgamma(SpecialFunction):
    """log |Γ(x)|, element by element; ∞ at the poles 0, −1, −2 and so on."""

    name = "lgamma"
    compiled = True
    numpy = _lgamma

    def lower_wide(self, b: Builder, out: Any, *operands: Value) -> Value:
        is_single = out.dtype == np.float32
        if (
            is_single and b.module.written_for == "cpu"
        ):  # By sums in float64, which others are slow at.
            return formula_of_arrays(b, out, log_gamma_of_single, *operands)
        rule = partial(log_gamma_formulas.log_gamma, is_single=is_single)
        return formula_of_arrays(b, out, rule, *operands, dtype=out.dtype)

    def scalar(self, w: loops.Writer, *operands: loops.Operand, **params: Any) -> loops.Operand:
        if operands[0].dtype == np.float32:
            return formula_of_scalars(w, log_gamma_of_single, *operands)
        return super().scalar(w, *operands, **params)

    def d_x(self, t: Any, x: Any, out: Any) -> Any:
        return mul(t, digamma(x))


@final
class LgammaOfDraws(SpecialFunction):
    """log |Γ(x)| with the roundings of XLA's series, which draws compare with random numbers.

    They are so the numbers of eager mode, of `native/counts.cpp`, and JAX's.
    """

    name = "lgamma_of_draws"
    numpy = _lgamma
    stablehlo = "chlo.lgamma"

    def scalar(self, w: loops.Writer, *operands: loops.Operand, **_: Any) -> loops.Operand:
        return w.op("lgamma", *operands)

    def d_x(self, t: Any, x: Any, out: Any) -> Any:
        return mul(t, digamma(x))


def _digamma(x: Any) -> Any:
    return np.where(x == 0, np.nan, special_functions().psi(x)).astype(x.dtype)


def _digamma_for(dtype: Any) -> Callable[..., Any]:
    return log_gamma_formulas.digamma if dtype == np.float64 else digamma_of_single


@final
class Digamma(SpecialFunction):
    """ψ(x) = Γ′(x) / Γ(x), element by element; NaN at the poles 0, −1, −2 and so on."""

    name = "digamma"
    compiled = True
    numpy = _digamma

    def lower(self, b: Builder, out: Any, *operands: Value, **params: Any) -> Value:
        return formula_of_arrays(b, out, _digamma_for(out.dtype), *operands)

    def scalar(self, w: loops.Writer, x: loops.Operand) -> loops.Operand:
        return formula_of_scalars(w, _digamma_for(x.dtype), x)

    def d_x(self, t: Any, x: Any, out: Any) -> Any:
        return mul(t, polygamma(1.0, x))


erf_p = Erf()
erfc_p = Erfc()
erf_inv_p = ErfInv()
lgamma_p = Lgamma()
lgamma_of_draws_p = LgammaOfDraws()
digamma_p = Digamma()


def erf(x: Any) -> Any:
    """The error function 2/√π ∫₀ˣ exp(−s²) ds, element by element.

    Args:
        x: array of floating dtype.

    Raises:
        TypeError: `x` is of another dtype; the function of `jax.numpy` converts it.

    Example:
        >>> import morphax as jax
        >>> import morphax.numpy as jnp
        >>> jax.lax.erf(jnp.array([0.0, jnp.inf]))
        Array([0., 1.], dtype=float32)
    """
    return erf_p.bind(x)


def erfc(x: Any) -> Any:
    """1 − erf x, element by element, accurate for large `x`.

    Args:
        x: array of floating dtype.

    Raises:
        TypeError: `x` is of another dtype; the function of `jax.numpy` converts it.

    Example:
        >>> import morphax as jax
        >>> import morphax.numpy as jnp
        >>> jax.lax.erfc(jnp.array([0.0, jnp.inf]))
        Array([1., 0.], dtype=float32)
    """
    return erfc_p.bind(x)


def erf_inv(x: Any) -> Any:
    """The inverse of `erf`, element by element: ±∞ at ±1, NaN beyond.

    Args:
        x: array of floating dtype.

    Raises:
        TypeError: `x` is of another dtype; the function of `jax.numpy` converts it.

    Example:
        >>> import morphax as jax
        >>> import morphax.numpy as jnp
        >>> jax.lax.erf_inv(jnp.array([0.0, 1.0, 2.0]))
        Array([ 0., inf, nan], dtype=float32)
    """
    return erf_inv_p.bind(x)


def lgamma(x: Any) -> Any:
    """The logarithm of |Γ(x)|, element by element; ∞ at the poles 0, −1, −2 and so on.

    Args:
        x: array of floating dtype.

    Raises:
        TypeError: `x` is of another dtype; the function of `jax.numpy` converts it.

    Example:
        >>> import morphax as jax
        >>> import morphax.numpy as jnp
        >>> jax.lax.lgamma(jnp.array([1.0, 2.0, 0.0]))
        Array([ 0.,  0., inf], dtype=float32)
    """
    return lgamma_p.bind(x)


def digamma(x: Any) -> Any:
    """ψ(x) = Γ′(x) / Γ(x), element by element; NaN at the poles 0, −1, −2 and so on.

    Args:
        x: array of floating dtype.

    Raises:
        TypeError: `x` is of another dtype; the function of `jax.numpy` converts it.

    Example:
        >>> import morphax as jax
        >>> import morphax.numpy as jnp
        >>> jax.lax.digamma(jnp.array([0.0, jnp.inf]))
        Array([nan, inf], dtype=float32)
    """
    return digamma_p.bind(x)
