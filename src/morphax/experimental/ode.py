"""`jax.experimental.ode`: initial value problems dy/dt = f(y, t).

The method is that of Dormand and Prince: order 5 with an embedded one of order 4 for the error, and
a continuous extension of order 4 for the values at the times asked for.  The pullback integrates
the adjoint equation backwards in time, so its memory does not grow with the number of steps, in
pieces that lead back to the solution (`_adjoint_pieces.py`).

The method itself is shared with `morphax.science.integrate`, whose `solve_ivp` has more of them.

Reference: Chen, Rubanova, Bettencourt & Duvenaud, "Neural ordinary differential equations", NeurIPS
2018 (adjoint).

Limits: explicit, so not for stiff problems; there is no forward-mode derivative.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from math import inf
from typing import Any, NamedTuple, final

import numpy as np

from .. import dtypes, lax, tree
from .. import numpy as jnp
from ..control.custom.closure_convert import closure_convert
from ..control.custom.custom_vjp import custom_vjp
from ..control.jit.jit import jit
from ..core import aval_of, is_value
from ..scipy._runge_kutta import (
    DORMAND_PRINCE,
    Slope,
    Tolerance,
    first_step,
    interpolate,
)
from ..transforms.derivatives import vjp
from ..transforms.flattening import check_callable
from ..transforms.vmap import vmap
from ..util.messages import message
from ..util.records import dataclass
from ._adjoint_pieces import Solver, integrate_back
from ._ode_fields import Adjoint, Field, Layout, Tangent, check, inexact

# The step may grow and shrink by these factors.
_SAFETY, _LARGEST_GROWTH, _LARGEST_SHRINKAGE = 0.9, 10.0, 0.2
# The tolerances are meant for one step; an attempt to go back has at most so many.
_SLACK, _ATTEMPT = 100.0, 4096


def odeint(
    func: Callable[..., Any],
    y0: Any,
    t: Any,
    *args: Any,
    rtol: float = 1.4e-8,
    atol: float = 1.4e-8,
    mxstep: float = inf,
    hmax: float = inf,
) -> Any:
    """Solve dy/dt = func(y, t, *args) with y(t[0]) = y0, with an adaptive step.

    Args:
        func: (y, t, *args) → dy/dt, of the structure and shapes of y.
        y0: floating or complex arrays, or a tree of them.
        t: floating array of shape (n,): times, increasing or decreasing.
        *args: further arguments of `func`, arrays or trees.
        rtol, atol: the error of a step is at most ``atol + rtol |y|``, in the mean square.
        mxstep: steps at most between two times; there the solution is extrapolated.
        hmax: the longest step.

    Returns:
        y at each time, with a leading axis of size n.

    Raises:
        TypeError: `func` is no function, or `y0`, `t` or `args` have other dtypes.
        ValueError: `t` has no axis, or `func` returns other shapes than those of y.

    Example:
        >>> import morphax.numpy as jnp
        >>> from morphax.experimental.ode import odeint
        >>> y = odeint(lambda y, t: -y, 1.0, jnp.array([0.0, 1.0, 2.0]), rtol=1e-6, atol=1e-6)
        >>> print(y.round(4))
        [1.     0.3679 0.1353]
    """
    check_callable("odeint", func)
    for leaf in tree.leaves(args):
        check("args", is_value(leaf), leaf, "arrays and numbers", "Close over other values.")
    _check_floating("t", [t], np.floating)
    _check_floating("y0", tree.leaves(y0), np.inexact)
    t = jnp.asarray(t)
    if t.ndim != 1 or t.shape[0] == 0:
        raise ValueError(
            message(
                "odeint, argument t",
                given=f"{aval_of(t)}",
                expected="an axis of at least one time",
                fix="Pass an array of times, the first of which is that of y0.",
            )
        )
    converted, captured = closure_convert(func, y0, t[0], *args)
    field_function = converted if captured else func
    leaves, structure = tree.flatten((*args, *captured))
    layout = Layout.of(y0)
    field = Field(field_function, layout, structure)
    ys = _solve(field, _Control(rtol, atol, mxstep, hmax), layout.ravel(y0), t, *leaves)
    return vmap(layout.unravel)(ys)


def _check_floating(name: str, leaves: Sequence[Any], kind: Any) -> None:
    word = "floating" if kind is np.floating else "floating or complex"
    for leaf in leaves:
        fits = is_value(leaf) and dtypes.issubdtype(aval_of(leaf).dtype, kind)
        check(name, fits, leaf, f"a {word} dtype", "Convert the value, 1 to 1.0 say.")


@final
@dataclass(frozen=True, slots=True)
class _Control:
    """What bounds errors and steps, and whether too few steps are completed by extrapolation."""

    rtol: float
    atol: float
    mxstep: float
    hmax: float
    extrapolates: bool = True

    @property
    def tolerance(self) -> Tolerance:
        return Tolerance(self.rtol, self.atol)

    def of_attempt(self) -> _Control:
        """For a solution that may lead nowhere: NaN then, unless users bound the steps."""
        if self.mxstep <= _ATTEMPT:
            return self
        return replace(self, mxstep=_ATTEMPT, extrapolates=False)

    def of_return(self, dtype: Any) -> Tolerance:
        """By how much a way back may miss: errors of many steps are larger than that of one."""
        noise = float(dtypes.finfo(dtype).eps)
        return Tolerance(_SLACK * max(self.rtol, noise), _SLACK * self.atol)


class _State(NamedTuple):
    """An integration: after a step from `last_t` to `t`; `dense` is its continuous extension."""

    y: Any
    slope: Any
    t: Any
    step: Any
    last_t: Any
    dense: Any


def _integrate(field: Callable[..., Any], control: _Control, y0: Any, ts: Any, *args: Any) -> Any:
    """Values at the times `ts`, of shape (n, size of y)."""
    # In the time s = ± t all steps are positive.
    direction = jnp.where(ts[-1] < ts[0], -1.0, 1.0).astype(ts.dtype)

    def slope(s: Any, y: Any) -> Any:
        return (direction * field(y, direction * s, *args)).astype(y.dtype)

    def more(state: tuple[Any, _State], target: Any) -> Any:
        count, now = state
        return (now.t < target) & (now.step > 0) & (count < control.mxstep)

    def to_target(now: _State, target: Any) -> tuple[_State, Any]:
        def one_step(state: tuple[Any, _State]) -> tuple[Any, _State]:
            return state[0] + 1, _step(slope, state[1], control)

        _, now = lax.while_loop(lambda state: more(state, target), one_step, (0, now))
        width = now.t - now.last_t
        theta = jnp.where(width > 0, (target - now.last_t) / jnp.where(width > 0, width, 1), 0)
        # No step size satisfies the tolerance, where the slope is NaN for instance.
        failed = (now.t < target) & ~((now.step > 0) & control.extrapolates)
        return now, interpolate(now.dense, jnp.where(failed, jnp.nan, theta))

    times = direction * ts
    start = slope(times[0], y0)
    first = first_step(slope, times[0], y0, start, DORMAND_PRINCE.order, control.tolerance)
    dense = jnp.stack([y0, *[jnp.zeros_like(y0)] * 4])
    state = _State(
        y0, start, times[0], jnp.minimum(first, control.hmax).astype(ts.dtype), times[0], dense
    )
    _, ys = lax.scan(to_target, state, times[1:])
    return jnp.concatenate([y0[None], ys])


def _step(slope: Slope, now: _State, control: _Control) -> _State:
    """One step; a state that differs only in its step size if the error is too large."""
    h, order = now.step, DORMAND_PRINCE.order
    tried = DORMAND_PRINCE.attempt(slope, now.t, now.y, now.slope, h, None, control.tolerance)
    ratio = tried.ratio
    shrinkage = jnp.where(ratio < 1, 1.0, _LARGEST_SHRINKAGE)
    factor = jnp.clip(_SAFETY * ratio ** (-1 / order), shrinkage, _LARGEST_GROWTH)
    step = jnp.where(ratio == 0, h * _LARGEST_GROWTH, h * factor)
    step = jnp.minimum(step, control.hmax).astype(h.dtype)
    accepted = _State(tried.y, tried.slope, now.t + h, step, now.t, tried.dense)
    kept = now._replace(step=step)
    # Times of another precision have promoted what they were multiplied with.
    pairs = zip(accepted, kept, strict=True)
    return _State(*[jnp.where(ratio <= 1, a.astype(b.dtype), b) for a, b in pairs])


_STATIC = (0, 1)
_integrate_compiled = jit(_integrate, static_argnums=_STATIC)
_solve = custom_vjp(_integrate_compiled, nondiff_argnums=_STATIC)


def _forward(*operands: Any) -> tuple[Any, Any]:
    ys = _solve(*operands)
    return ys, (ys, operands[3], operands[4:])


def _backward(
    field: Callable[..., Any], control: _Control, residuals: Any, g: Any
) -> tuple[Any, ...]:
    """Integrate the adjoint equation from time to time, from the last to the first."""
    ys, ts, args = residuals
    sums = [jnp.zeros_like(x) for x in inexact(args)]
    layout = Layout.of([ys[0], g[0], ts[0], *sums])
    adjoint = Adjoint(field, layout)

    def one_interval(state: Any, here: Any) -> tuple[Any, Any]:
        y_bar, t_bar, sums = state
        y, ct, *times, y_earlier = here
        # If t moved, y(t) would: by the slope.
        moves = jnp.sum(field(y, times[0], *args) * ct).real.astype(ts.dtype)
        begin = layout.ravel([y, y_bar + ct, t_bar - moves, *sums])
        end = _pulled(adjoint, control, begin, y_earlier, jnp.stack(times), *args)
        _, y_bar, t_bar, *sums = layout.unravel(end)
        return (y_bar, t_bar, sums), moves

    start = jnp.zeros_like(g[0]), jnp.zeros_like(ts[0]), sums
    intervals = ys[1:], g[1:], ts[1:], ts[:-1], ys[:-1]
    (y_bar, t_bar, sums), moves = lax.scan(one_interval, start, intervals, reverse=True)
    totals = iter(sums)
    changes = [next(totals) if inexact([x]) else None for x in args]
    return (y_bar + g[0], jnp.concatenate([t_bar[None], moves]), *changes)


def _pull(
    adjoint: Adjoint, control: _Control, begin: Any, y_earlier: Any, times: Any, *args: Any
) -> Any:
    """The adjoint state at the second of two times, where the solution is known, from the first."""

    def solver(field: Callable[..., Any], control: _Control) -> Solver:
        def solve(value: Any, t: Any, to: Any) -> Any:
            return _solve(field, control, value, jnp.stack([t, to]), *args)[-1]

        return solve

    def replaced(state: Any, value: Any) -> tuple[Any, Any]:
        found, *rest = adjoint.layout.unravel(state)
        return found, adjoint.layout.ravel([value, *rest])

    return integrate_back(
        solver(adjoint, control.of_attempt()),
        solver(adjoint.field, control),
        replaced,
        control.of_return(y_earlier.dtype),
        begin,
        times[0],
        (times[1], y_earlier),
    )


_pulled = custom_vjp(_pull, nondiff_argnums=_STATIC)


def _pull_forward(*operands: Any) -> tuple[Any, Any]:
    return _pulled(*operands), operands[2:]


def _pull_backward(adjoint: Adjoint, control: _Control, residuals: Any, g: Any) -> tuple[Any, ...]:
    """Second derivatives: ⟨g, Jᵀ ȳ⟩ = ⟨ȳ, J g⟩, and J g is integrated forwards, beside y.

    So nothing grows that decays, and the derivatives of J g are those of a solution.  All is a
    function of the earlier value; the later one follows from it, and gets no cotangent.
    """
    begin, y, times, *args = residuals
    _, y_bar, *_ = adjoint.layout.unravel(begin)
    y_change, moved, *directions = adjoint.layout.unravel(g)
    layout = Layout.of([y, moved])
    tangent = Tangent(adjoint.field, layout, len(args))

    def forwards(y: Any, times: Any, *args: Any) -> Any:
        start = layout.ravel([y, moved])
        return _solve(tangent, control, start, times[::-1], *args, *directions)[-1]

    end, pull = vjp(forwards, y, times, *args)
    nothing = jnp.zeros_like(y)
    of_y, *others = pull(layout.ravel([nothing, y_bar]))
    begin_bar = adjoint.layout.ravel([nothing, layout.unravel(end)[1], *directions])
    return begin_bar, y_change + of_y, *others


_solve.defvjp(_forward, jit(_backward, static_argnums=_STATIC))
_pulled.defvjp(_pull_forward, _pull_backward)
