"""Explicit Runge-Kutta methods with an embedded one for the error, and their continuous extension.

A step from (t, y) of size h evaluates slopes kᵢ at t + cᵢ h; the new value is y + h Σ bᵢ kᵢ.  The
last stage is the step itself, so its slope is the first of the next step.  Between its ends the
solution is a polynomial in θ = (t − start) / h with coefficients dᵢ, `rows` of them:
d₀ + θ (d₁ + (1 − θ) (d₂ + θ (d₃ + (1 − θ) (d₄ + …)))).

References:
    J. Dormand, P. Prince, "A family of embedded Runge-Kutta formulae", Journal of Computational and
    Applied Mathematics 6 (1980).
    P. Bogacki, L. Shampine, "A 3(2) pair of Runge-Kutta formulas", Applied Mathematics Letters 2
    (1989).
    E. Hairer, S. Nørsett, G. Wanner, "Solving Ordinary Differential Equations I", 2nd edition,
    sections II.4 (step size), II.5 (methods) and II.6 (continuous extension).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, final

from .. import numpy as jnp
from ..util.records import dataclass

# dy/dt as a function of t and y.
Slope = Callable[[Any, Any], Any]


class Attempt(NamedTuple):
    """A step that may be taken: its end, the error in units of the tolerance, what it cost."""

    y: Any
    slope: Any
    dense: Any
    ratio: Any
    # The most that the step size may be changed by the error; zero where the step has no value.
    safety: Any
    evaluations: Any


@final
@dataclass(frozen=True, slots=True)
class ExplicitMethod:
    """Nodes cᵢ and rows of stages from the second on, and the weights of error and extension.

    `order` is one more than that of the embedded method: the power of h in the error.
    """

    order: int
    nodes: tuple[float, ...]
    stages: tuple[tuple[float, ...], ...]
    error: tuple[float, ...]
    extension: tuple[float, ...]

    rows = 5
    is_implicit = False

    def evaluate(self, field: Slope, t: Any, y: Any, first: Any, h: Any) -> tuple[Any, list[Any]]:
        """The value after a step, and the slopes of all stages."""
        slopes, moved = [first], y
        for node, weights in zip(self.nodes, self.stages, strict=True):
            moved = y + h * combined(weights, slopes)
            slopes.append(field(t + node * h, moved))
        return moved, slopes

    def dense(self, y: Any, moved: Any, h: Any, slopes: Sequence[Any]) -> Any:
        """The coefficients of the continuous extension."""
        return hermite(
            y, moved, h * slopes[0], h * slopes[-1], h * combined(self.extension, slopes)
        )

    def attempt(
        self, field: Slope, t: Any, y: Any, first: Any, h: Any, guess: Any, tolerance: Tolerance
    ) -> Attempt:
        """A step of size h; `guess` is for implicit methods."""
        moved, slopes = self.evaluate(field, t, y, first, h)
        ratio = tolerance.ratio(h * combined(self.error, slopes), y, moved)
        dense = self.dense(y, moved, h, slopes)
        return Attempt(moved, slopes[-1], dense, ratio, 0.9, len(self.nodes))


class Tolerance(NamedTuple):
    """The error of a step is at most ``absolute + relative |y|``, in the mean square."""

    relative: Any
    absolute: Any

    def scale(self, y: Any) -> Any:
        return self.absolute + self.relative * jnp.abs(y)

    def ratio(self, error: Any, y: Any, moved: Any) -> Any:
        """The error of a step from y to `moved`, in units of the tolerance."""
        return mean_square(error / self.scale(jnp.maximum(jnp.abs(y), jnp.abs(moved))))


def combined(weights: Sequence[float], slopes: Sequence[Any]) -> Any:
    """Σ wᵢ kᵢ, without the terms that are zero."""
    return sum([w * k for w, k in zip(weights, slopes, strict=True) if w])


def mean_square(x: Any) -> Any:
    """The root of the mean square."""
    return jnp.sqrt(jnp.mean(jnp.square(jnp.abs(x))))


def hermite(y: Any, moved: Any, first: Any, last: Any, rest: Any) -> Any:
    """The extension with given values and h-fold slopes at both ends; section II.6."""
    change = moved - y
    bend = first - change
    rest = jnp.broadcast_to(jnp.asarray(rest, y.dtype), y.shape)
    return jnp.stack([y, change, bend, change - last - bend, rest])


def interpolate(dense: Any, theta: Any) -> Any:
    """The value of a continuous extension, whose coefficients are the first axis of `dense`."""
    rest = 1 - theta
    value = dense[-1]
    for row in reversed(range(dense.shape[0] - 1)):
        value = dense[row] + (rest if row % 2 else theta) * value
    return value.astype(dense.dtype)


def first_step(field: Slope, t: Any, y: Any, first: Any, order: int, tolerance: Tolerance) -> Any:
    """A first guess of the step size; section II.4."""
    scale = tolerance.scale(y)
    d0, d1 = mean_square(y / scale), mean_square(first / scale)
    h0 = jnp.where((d0 < 1e-5) | (d1 < 1e-5), 1e-6, 0.01 * d0 / jnp.where(d1 > 0, d1, 1))
    h0 = h0.astype(t.dtype)
    ahead = field(t + h0, (y + h0 * first).astype(y.dtype))
    d2 = mean_square((ahead - first) / scale) / h0
    largest = jnp.maximum(d1, d2)
    h1 = jnp.where(
        largest <= 1e-15,
        jnp.maximum(1e-6, h0 * 1e-3),
        (0.01 / jnp.where(largest > 0, largest, 1)) ** (1 / order),
    )
    return jnp.minimum(100 * h0, h1).astype(t.dtype)


DORMAND_PRINCE = ExplicitMethod(
    order=5,
    nodes=(1 / 5, 3 / 10, 4 / 5, 8 / 9, 1.0, 1.0),
    stages=(
        (1 / 5,),
        (3 / 40, 9 / 40),
        (44 / 45, -56 / 15, 32 / 9),
        (19372 / 6561, -25360 / 2187, 64448 / 6561, -212 / 729),
        (9017 / 3168, -355 / 33, 46732 / 5247, 49 / 176, -5103 / 18656),
        (35 / 384, 0.0, 500 / 1113, 125 / 192, -2187 / 6784, 11 / 84),
    ),
    error=(71 / 57600, 0.0, -71 / 16695, 71 / 1920, -17253 / 339200, 22 / 525, -1 / 40),
    extension=(
        -12715105075 / 11282082432,
        0.0,
        87487479700 / 32700410799,
        -10690763975 / 1880347072,
        701980252875 / 199316789632,
        -1453857185 / 822651844,
        69997945 / 29380423,
    ),
)
BOGACKI_SHAMPINE = ExplicitMethod(
    order=3,
    nodes=(1 / 2, 3 / 4, 1.0),
    stages=((1 / 2,), (0.0, 3 / 4), (2 / 9, 1 / 3, 4 / 9)),
    error=(5 / 72, -1 / 12, -1 / 9, 1 / 8),
    extension=(0.0, 0.0, 0.0, 0.0),
)
