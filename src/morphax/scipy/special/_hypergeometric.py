"""The hypergeometric functions ₁F₁ and ₂F₁, and their derivatives.

Those with respect to x are such functions again.  Those with respect to the parameters have no
closed form; they are differences of eighth order of the functions, taken in float64.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, final

from ...core import not_differentiable
from ...lax.ground.formulas import Notation
from ...lax.ground.long_formulas import LongFormula
from ...numpy.half_precision import in_float32
from ._confluent import confluent
from ._gauss import gauss
from ._operands import real_operands, strong

# f′(x) h = Σ wₖ (f(x + k h) − f(x − k h)) for k = 1, …, 4.
_WEIGHTS = (4 / 5, -1 / 5, 4 / 105, -1 / 280)
_STEP = 2.0**-7
_ONCE = not_differentiable("it is a difference of values, which has too few digits for another")


def _slope(function: Callable[..., Any], position: int, lower: int) -> Callable[..., Any]:
    """The formula of a derivative with respect to the parameter at `position`.

    The parameter at `lower` has poles, near which steps are short.
    """

    def formula(m: Notation, *operands: Any) -> Any:
        place = operands[position]
        h = _STEP + 0.0 * sum(operands[1:], operands[0])
        if position == lower:
            nearest = m.floor(m.where(place < 0.5, place, 0.0) + 0.5)
            distance = abs(place - nearest) * (1 / 64)
            h = m.where(distance < _STEP, distance, h)

        def goes_on(j: Any, total: Any) -> Any:
            return j < 8.0

        def step(j: Any, total: Any) -> Sequence[Any]:
            k = j - m.where(j < 4.0, 4.0, 3.0)
            weight: Any = 0.0
            for number, w in enumerate(_WEIGHTS, 1):
                weight = m.where(k == float(number), w, m.where(k == float(-number), -w, weight))
            moved = [p + k * h if i == position else p for i, p in enumerate(operands)]
            return j + 1.0, total + weight * function(m, *moved)

        return m.iterate(goes_on, step, (0.0, 0.0 * h))[1] / h

    return formula


@final
class Hyp1f1(LongFormula):
    """₁F₁(a; b; x), element by element."""

    name = "hyp1f1"
    slots = ("d_a", "d_b", "d_x")
    formula = confluent

    def d_a(self, t: Any, a: Any, b: Any, x: Any, out: Any) -> Any:
        return t * hyp1f1_slope_a_p.bind(a, b, x)

    def d_b(self, t: Any, a: Any, b: Any, x: Any, out: Any) -> Any:
        return t * hyp1f1_slope_b_p.bind(a, b, x)

    def d_x(self, t: Any, a: Any, b: Any, x: Any, out: Any) -> Any:
        return t * (a / b * self.bind(a + 1, b + 1, x))


@final
class Hyp1f1SlopeA(LongFormula):
    """The derivative of ₁F₁(a; b; x) with respect to a, element by element."""

    name = "hyp1f1_slope_a"
    slots = ("d_a", "d_b", "d_x")
    formula = _slope(confluent, 0, 1)
    d_a = d_b = _ONCE

    def d_x(self, t: Any, a: Any, b: Any, x: Any, out: Any) -> Any:
        raised = a + 1, b + 1, x
        return t * ((hyp1f1_p.bind(*raised) + a * self.bind(*raised)) / b)


@final
class Hyp1f1SlopeB(LongFormula):
    """The derivative of ₁F₁(a; b; x) with respect to b, element by element."""

    name = "hyp1f1_slope_b"
    slots = ("d_a", "d_b", "d_x")
    formula = _slope(confluent, 1, 1)
    d_a = d_b = _ONCE

    def d_x(self, t: Any, a: Any, b: Any, x: Any, out: Any) -> Any:
        raised = a + 1, b + 1, x
        return t * (a / b * (self.bind(*raised) - hyp1f1_p.bind(*raised) / b))


@final
class Hyp2f1(LongFormula):
    """₂F₁(a, b; c; x), element by element."""

    name = "hyp2f1"
    slots = ("d_a", "d_b", "d_c", "d_x")
    formula = gauss

    def d_a(self, t: Any, a: Any, b: Any, c: Any, x: Any, out: Any) -> Any:
        return t * hyp2f1_slope_a_p.bind(a, b, c, x)

    def d_b(self, t: Any, a: Any, b: Any, c: Any, x: Any, out: Any) -> Any:
        return t * hyp2f1_slope_a_p.bind(b, a, c, x)

    def d_c(self, t: Any, a: Any, b: Any, c: Any, x: Any, out: Any) -> Any:
        return t * hyp2f1_slope_c_p.bind(a, b, c, x)

    def d_x(self, t: Any, a: Any, b: Any, c: Any, x: Any, out: Any) -> Any:
        return t * (a * (b / c) * self.bind(a + 1, b + 1, c + 1, x))


@final
class Hyp2f1SlopeA(LongFormula):
    """The derivative of ₂F₁(a, b; c; x) with respect to a, element by element."""

    name = "hyp2f1_slope_a"
    slots = ("d_a", "d_b", "d_c", "d_x")
    formula = _slope(gauss, 0, 2)
    d_a = d_b = d_c = _ONCE

    def d_x(self, t: Any, a: Any, b: Any, c: Any, x: Any, out: Any) -> Any:
        raised = a + 1, b + 1, c + 1, x
        return t * (b / c * (hyp2f1_p.bind(*raised) + a * self.bind(*raised)))


@final
class Hyp2f1SlopeC(LongFormula):
    """The derivative of ₂F₁(a, b; c; x) with respect to c, element by element."""

    name = "hyp2f1_slope_c"
    slots = ("d_a", "d_b", "d_c", "d_x")
    formula = _slope(gauss, 2, 2)
    d_a = d_b = d_c = _ONCE

    def d_x(self, t: Any, a: Any, b: Any, c: Any, x: Any, out: Any) -> Any:
        raised = a + 1, b + 1, c + 1, x
        return t * (a * (b / c) * (self.bind(*raised) - hyp2f1_p.bind(*raised) / c))


hyp1f1_p = Hyp1f1()
hyp1f1_slope_a_p = Hyp1f1SlopeA()
hyp1f1_slope_b_p = Hyp1f1SlopeB()
hyp2f1_p = Hyp2f1()
hyp2f1_slope_a_p = Hyp2f1SlopeA()
hyp2f1_slope_c_p = Hyp2f1SlopeC()


@in_float32
def hyp1f1(a: Any, b: Any, x: Any) -> Any:
    """Kummer's function ₁F₁(a; b; x) = Σ (a)ₖ xᵏ / ((b)ₖ k!), (a)ₖ being a (a+1) … (a+k−1).

    Derivatives with respect to a and b are differences, of some twelve digits in float64, and have
    none with respect to a and b.

    Args:
        a, b, x: arrays (...) that broadcast, floating.

    Returns:
        Array (...): ∞ where b is 0 or a negative integer and the series no polynomial that ends
        before; NaN where a negative b and large numbers leave fewer than six digits.

    Raises:
        TypeError: an operand is a list.
        ValueError: an operand is complex.

    Reference:
        Pearson, Olver & Porter (2017); DLMF, 13.2.

    Example:
        >>> from morphax.scipy import special
        >>> special.hyp1f1(1.0, 2.0, 1.0)  # e − 1
        Array(1.7182819, dtype=float32)
    """
    return strong(hyp1f1_p.bind(*real_operands("hyp1f1", a, b, x)))


@in_float32
def hyp2f1(a: Any, b: Any, c: Any, x: Any) -> Any:
    """Gauss's function ₂F₁(a, b; c; x) = Σ (a)ₖ (b)ₖ xᵏ / ((c)ₖ k!), continued to x < −1.

    Derivatives with respect to a, b and c are differences, as of `hyp1f1`.

    Args:
        a, b, c, x: arrays (...) that broadcast, floating.

    Returns:
        Array (...): if the series is no polynomial, ∞ for x > 1, ±∞ for x = 1 unless c > a + b, and
        ∞ where c is 0 or a negative integer; NaN where fewer than six digits are left, as of a
        negative c, or of parameters of very different sizes, next to large numbers.

    Raises:
        TypeError: an operand is a list.
        ValueError: an operand is complex.

    Reference:
        Pearson, Olver & Porter (2017); DLMF, 15.2.

    Example:
        >>> from morphax.scipy import special
        >>> special.hyp2f1(1.0, 1.0, 2.0, 0.5)  # 2 log 2
        Array(1.3862944, dtype=float32)
    """
    return strong(hyp2f1_p.bind(*real_operands("hyp2f1", a, b, c, x)))
