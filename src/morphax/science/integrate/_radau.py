"""The implicit method Radau IIA of order 5, for stiff problems.

The stages zᵢ = Y(t + cᵢ h) − y satisfy z = h (A ⊗ I) F(z), which a simplified Newton iteration
solves: the Jacobian J is that at the beginning of the step, and in the basis of the eigenvectors of
A⁻¹, which has one real and two conjugate eigenvalues, the system falls apart into a real and a
complex one of the size of y.  Derivatives of a step are those of the implicit function z, with the
Jacobians of the stages themselves, so they do not depend on how well Newton's method converged.

Reference: E. Hairer, G. Wanner, "Solving Ordinary Differential Equations II", 2nd edition, sections
IV.5 (the method) and IV.8 (its implementation: starting values, stopping, error, step size).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, final

import numpy as np

from ... import dtypes, lax
from ... import numpy as jnp
from ...control.custom.custom_root import custom_root
from ...scipy._runge_kutta import Attempt, Slope, Tolerance, interpolate, mean_square
from ...scipy.linalg import lu_factor, lu_solve
from ...transforms.jacobians import jacfwd
from ...transforms.vmap import vmap
from ...util.records import dataclass
from ..implicit_functions import dense_solve

_ROOT6 = np.sqrt(6.0)
_NODES = np.array([(4 - _ROOT6) / 10, (4 + _ROOT6) / 10, 1.0])
# Collocation at the nodes: A maps the slopes there to the integrals of their polynomial.
_INVERSE = np.linalg.inv(
    (_NODES[:, None] ** np.arange(1, 4) / np.arange(1, 4))
    @ np.linalg.inv(_NODES[:, None] ** np.arange(3))
)
_VALUES, _VECTORS = np.linalg.eig(_INVERSE)
_REAL = int(np.argmin(np.abs(_VALUES.imag)))
_COMPLEX = int(np.argmax(_VALUES.imag))
_DUAL = np.linalg.inv(_VECTORS)
_ERROR = np.array([-13 - 7 * _ROOT6, -13 + 7 * _ROOT6, -1]) / 3
_MOST_TURNS = 7


class _Newton(NamedTuple):
    """The iteration: stages (3, n), the size of the last change, and how it goes."""

    turn: Any
    stages: Any
    change: Any
    rate: Any
    has_converged: Any
    has_failed: Any


@final
@dataclass(frozen=True, slots=True)
class Radau:
    """One step of the method, with the interface of `ExplicitMethod`."""

    order = 4
    rows = 5
    is_implicit = True

    def attempt(
        self, field: Slope, t: Any, y: Any, first: Any, h: Any, guess: Any, tolerance: Tolerance
    ) -> Attempt:
        """A step of size h; `guess` is (dense, θ per h) of the step before, or of none."""
        jacobian = lax.stop_gradient(jacfwd(lambda y: field(t, y))(y))
        solve = _solver(h, jacobian)
        dense, per_size, is_first = guess
        ahead = vmap(lambda c: interpolate(dense, 1 + c * h * per_size))(_nodes(t))
        start = lax.stop_gradient(jnp.where(is_first, 0, ahead - y))
        limit = _newton_limit(tolerance, t.dtype)

        def residual(stages: Any) -> Any:
            return stages - h * _apply(np.linalg.inv(_INVERSE), _slopes(field, t, y, h, stages))

        def newton(_: Any, stages: Any) -> tuple[Any, _Newton]:
            end = _iterated(field, t, y, h, stages, solve, tolerance.scale(y), limit)
            return end.stages, end

        # What is known of the iteration has no derivative.
        stages, end = custom_root(residual, start, newton, dense_solve, has_aux=True)
        moved = y + stages[2]
        slope = field(t + h, moved)
        real, _ = solve
        known = _apply(_ERROR, stages) / h
        error = real(first + known)
        ratio = tolerance.ratio(error, y, moved)
        # The filtered estimate stays bounded for large h J, where the first one grows.
        filtered = tolerance.ratio(real(field(t, y + error) + known), y, moved)
        ratio = jnp.where(ratio > 1, filtered, ratio)
        safety = 0.9 * (2 * _MOST_TURNS + 1) / (2 * _MOST_TURNS + end.turn)
        evaluations = 3 * end.turn + 2
        safety = jnp.where(end.has_converged, safety, 0).astype(t.dtype)
        return Attempt(moved, slope, _extension(y, stages), ratio, safety, evaluations)


def _nodes(like: Any) -> Any:
    return jnp.asarray(_NODES, like.dtype)


def _apply(matrix: Any, stages: Any) -> Any:
    """The sum over stages with the weights of `matrix`, in the precision of the stages."""
    is_complex = np.iscomplexobj(matrix)
    dtype = dtypes.result_type(stages.dtype, np.complex64) if is_complex else stages.dtype
    return jnp.tensordot(jnp.asarray(matrix, dtype), stages.astype(dtype), 1, precision="highest")


def _slopes(field: Slope, t: Any, y: Any, h: Any, stages: Any) -> Any:
    return vmap(field)(t + _nodes(t) * h, y + stages)


def _newton_limit(tolerance: Tolerance, dtype: Any) -> Any:
    """How small the remaining error of the iteration shall be, in units of the tolerance."""
    relative = jnp.min(jnp.asarray(tolerance.relative))
    return jnp.maximum(10 * dtypes.finfo(dtype).eps / relative, jnp.minimum(0.03, relative**0.5))


def _solver(h: Any, jacobian: Any) -> tuple[Callable[[Any], Any], Callable[[Any], Any]]:
    """x ↦ (μ / h − J)⁻¹ x for the real and the complex eigenvalue μ."""
    identity = jnp.eye(jacobian.shape[0], dtype=jacobian.dtype)
    wide = dtypes.result_type(jacobian.dtype, np.complex64)
    real = lu_factor(float(_VALUES[_REAL].real) / h * identity - jacobian)
    value = jnp.asarray(complex(_VALUES[_COMPLEX]), wide)
    other = lu_factor(value / h * identity - jacobian)
    return (lambda x: lu_solve(real, x)), (lambda x: lu_solve(other, x))


def _iterated(
    field: Slope, t: Any, y: Any, h: Any, stages: Any, solve: Any, scale: Any, limit: Any
) -> _Newton:
    """Newton's iteration in the basis of eigenvectors; section IV.8."""
    real, other = solve

    def turned(stages: Any) -> Any:
        slopes = _slopes(field, t, y, h, stages)
        defect = slopes - _apply(_INVERSE, stages) / h
        first = real(_apply(_DUAL[_REAL].real, defect))
        second = other(_apply(_DUAL[_COMPLEX], defect))
        part = jnp.outer(jnp.asarray(_VECTORS[:, _COMPLEX], second.dtype), second)
        whole = jnp.outer(jnp.asarray(_VECTORS[:, _REAL].real, first.dtype), first)
        return whole + 2 * jnp.real(part)

    def go_on(state: _Newton) -> Any:
        return (state.turn < _MOST_TURNS) & ~state.has_converged & ~state.has_failed

    def advance(state: _Newton) -> _Newton:
        step = turned(state.stages)
        change = mean_square(step / scale)
        is_later = state.turn > 0
        rate = jnp.where(is_later, change / jnp.where(is_later, state.change, 1), 0)
        left = jnp.maximum(_MOST_TURNS - 1 - state.turn, 0)
        expected = rate**left / jnp.where(rate < 1, 1 - rate, 1) * change
        # Written so that NaN counts as failure.
        fails = ~jnp.isfinite(change) | (is_later & ~((rate < 1) & (expected <= limit)))
        small = rate / jnp.where(rate < 1, 1 - rate, 1) * change <= limit
        is_done = (change == 0) | (is_later & small & ~fails)
        return _Newton(state.turn + 1, state.stages + step, change, rate, is_done, fails)

    zero = jnp.zeros((), scale.dtype)
    no = jnp.zeros((), bool)
    start = _Newton(jnp.zeros((), np.int32), stages, zero, zero, no, no)
    return lax.while_loop(go_on, advance, start)


def _extension(y: Any, stages: Any) -> Any:
    """The cubic through the beginning and the stages."""
    c1, c2, _ = map(float, _NODES)
    first = (stages[0] / c1 - stages[2]) / (1 - c1)
    second = (stages[1] / c2 - stages[2]) / (1 - c2)
    bend = (first - second) / (c1 - c2)
    return jnp.stack([y, stages[2], first - c1 * bend, bend, jnp.zeros_like(y)])
