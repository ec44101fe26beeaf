"""Which operations XLA may fuse into calls of its kernel library on the CPU: jaxlib before 0.11.

There the library (YNNPACK) has two faults.  A dot fused with a reduction of its product reads wrong
rows (jax issue 39103), so a program with a dot gets fusions of single dots and convolutions alone.
And its maximum and minimum of float32 drop NaN, as they still do in jaxlib 0.12.

Its reductions are up to 15 times as fast as XLA's own loops (sums of all of 256³ numbers but those
on the last axis, maxima of rows), and seldom slower (the sum of a large vector: twice the time).
So a program gets them when no dot can be in it.  This is decided by the module's whole text, with a
list of the operations that become no dot: XLA writes convolutions, triangular solves, Cholesky
decompositions and calls of its own as dots, and whatever is not on the list counts as one.
Windows count too, since XLA makes reductions of those that cover their operand, and so do
reductions by a computation: these may be a maximum that nobody guards (`lax.extremes`).
"""

from __future__ import annotations

import re
from typing import Final

from ...core import Jaxpr
from ...core.jaxpr import jaxprs_in_params
from ...runtime.native_calls import TARGETS

FLAG: Final = "xla_cpu_experimental_ynn_fusion_type"
"""The name of the compile option."""

_SINGLE: Final = ("INDIVIDUAL_DOT", "INDIVIDUAL_CONVOLUTION")
_REDUCTIONS: Final = "REDUCE"

_ELEMENTWISE: Final = (
    "abs add and atan2 bitcast_convert cbrt ceil clamp compare complex convert cosine "
    "count_leading_zeros divide exponential exponential_minus_one floor imag is_finite log "
    "log_plus_one logistic maximum minimum multiply negate not or popcnt power real "
    "reduce_precision remainder round_nearest_afz round_nearest_even rsqrt select shift_left "
    "shift_right_arithmetic shift_right_logical sign sine sqrt subtract tan tanh xor"
).split()
_STRUCTURAL: Final = (
    "broadcast_in_dim case concatenate constant dynamic_slice dynamic_update_slice gather if iota "
    "optimization_barrier pad reduce replica_id reshape return reverse rng_bit_generator scatter "
    "slice sort transpose while"
).split()
_DECOMPOSED: Final = (
    "acos acosh asin asinh atan atanh bessel_i1e cosh digamma erf erf_inv erfc lgamma next_after "
    "polygamma sinh tan zeta"
).split()

_PRODUCTS: Final = frozenset({"dot_general", "conv_general_dilated"})

_KNOWN: Final = frozenset(
    [f"stablehlo.{name}" for name in (*_ELEMENTWISE, *_STRUCTURAL)]
    + [f"chlo.{name}" for name in _DECOMPOSED]
    + ["func.func", "func.call", "tf.aliasing_output", "jax.buffer_donor"]
)
_COMPUTED_REDUCTION: Final = '"stablehlo.reduce"'
# What native code of ours computes is no dot either.
_OWN_TARGETS: Final = "|".join(TARGETS)
_OWN_CALL: Final = re.compile(rf'"stablehlo\.custom_call"[^\n]*?"(?:{_OWN_TARGETS})"[^\n]*')
# From the beginning of a word only: within the digits of a constant, which may be millions, each
# letter would begin a search to their end.
_QUALIFIED: Final = re.compile(r"\b[A-Za-z_]\w*\.[A-Za-z_]\w*")


def may_fuse_reductions(text: str) -> bool:
    """Whether nothing in a module can become a dot, or is an extreme that nobody guards."""
    if _COMPUTED_REDUCTION in text:
        return False
    return _KNOWN.issuperset(_QUALIFIED.findall(_OWN_CALL.sub("", text)))


def has_product(jaxpr: Jaxpr) -> bool:
    """Whether a dot or a convolution is surely in what becomes of a program."""
    return any(
        [
            eqn.primitive.name in _PRODUCTS or any(map(has_product, jaxprs_in_params(eqn.params)))
            for eqn in jaxpr.eqns
        ]
    )


def fusions(*, of_reductions: bool) -> str:
    """The value of `FLAG`."""
    kinds = (*_SINGLE, _REDUCTIONS) if of_reductions else _SINGLE
    return ",".join([f"LIBRARY_FUSION_TYPE_{kind}" for kind in kinds])
