"""`quad`: integrals of functions of one number, by bisecting where the error is largest.

The integral is taken over t in (0, 1): x = a + (b − a) t, or x = a + (1 − t) / t up to infinity, or
x = 1 / (1 − t) − 1 / t along the whole line.  Singularities at the ends are weakened by the further
substitution t = u² (3 − 2 u), whose slope is zero there.  On each interval of u the rule of Gauss
and Kronrod with 21 nodes gives the value, and its difference to that of 10 nodes the error.

Derivatives by the limits are the values there (Leibniz), those by arguments integrals again, each
with an error estimate of its own.

References:
    R. Piessens, E. de Doncker-Kapenga, C. Überhuber, D. Kahaner, "QUADPACK", Springer 1983: the
    rule and its error (QK21), bisection (QAG), infinite limits (QAGI).
    L. Shampine, "Vectorized adaptive quadrature in MATLAB", Journal of Computational and Applied
    Mathematics 211 (2008): the weakening of singular ends.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, final

import numpy as np

from ... import dtypes, lax
from ... import numpy as jnp
from ...control.checks.checks import debug_check
from ...control.custom.custom_jvp import custom_jvp
from ...control.custom.custom_linear_call import linear_call
from ...control.jit.jit import jit
from ...core import aval_of
from ...errors import ShapeError
from ...transforms.derivatives import jvp, vjp
from ...transforms.make_jaxpr import eval_shape
from ...transforms.vmap import vmap
from ...util.messages import message
from ...util.records import dataclass
from ..first_calls import meets_first, repeated
from ..solver_arguments import (
    check_tolerances,
    count,
    flat_function,
    inexact,
    parts_like,
    said,
    zero_tangents,
)
from ._gauss_kronrod import NODES, Parts, on_interval, transformed

_WHERE = "quad"
DONE, TOO_MANY, NOT_FINITE = 0, -2, -3
_MESSAGES = {
    DONE: "The integral has been found to the tolerance.",
    TOO_MANY: "More than limit intervals are needed; the integral may not exist.",
    NOT_FINITE: "The function is NaN or infinite within the limits.",
}


class QuadInfo(NamedTuple):
    """How an integral was found, a pytree.

    Attributes:
        neval: how often the function was evaluated.
        last: the number of intervals.
        status: 0 if the error is small enough; −2 if that would take more than `limit` intervals;
            −3 if the function is NaN or infinite.
    """

    neval: Any
    last: Any
    status: Any

    @property
    def success(self) -> Any:
        """Whether the error is small enough."""
        return self.status >= 0

    @property
    def message(self) -> Any:
        """The status in words; a list of them for a batch."""
        return said(self.status, _MESSAGES)


class _Task(NamedTuple):
    """The numbers of an integral; the error may be max(absolute, relative |I|, floor ∫|f|)."""

    low: Any
    high: Any
    absolute: Any
    relative: Any
    floor: Any
    leaves: Sequence[Any]


def quad(
    func: Callable[..., Any],
    a: Any,
    b: Any,
    args: tuple[Any, ...] = (),
    full_output: bool = False,
    epsabs: Any = 1.49e-8,
    epsrel: Any = 1.49e-8,
    limit: int = 50,
) -> Any:
    """∫ func(x, *args) dx from a to b.

    Args:
        func: function of a number with a floating or complex value; it may be singular at the
            limits, but is not to be infinite or NaN between them.
        a, b: real limits, in any order, also infinite.
        args: further arguments of `func`, arrays or trees.
        full_output: whether to return how the integral was found.
        epsabs, epsrel: the error shall be at most ``max(epsabs, epsrel |integral|)``, or what the
            precision of the dtype allows for.
        limit: the most intervals.  Known while tracing, as `full_output`.

    Returns:
        ``(y, abserr)``: the integral and an estimate of its error.  The integral is NaN if the
        tolerance was not reached.  With `full_output` ``(y, abserr, info)``, where `y` is what was
        found by then, and ``info.success``, ``info.message`` say what became of it.

    Raises:
        TypeError: an argument has another type or dtype.
        ValueError: `func` or a limit is no number.

    References:
        R. Piessens, E. de Doncker-Kapenga, C. Überhuber, D. Kahaner, "QUADPACK", Springer 1983.

    Example:
        >>> import morphax as jax, morphax.numpy as jnp
        >>> from morphax.science.integrate import quad
        >>> y, error = quad(lambda x, a: jnp.exp(-a * x * x), -jnp.inf, jnp.inf, args=(2.0,))
        >>> y.round(4)
        Array(1.2533, dtype=float32)
    """
    check_tolerances(_WHERE, epsabs=epsabs, epsrel=epsrel)
    low, high = _limit(a, "a"), _limit(b, "b")
    dtype = dtypes.result_type(low.dtype, high.dtype)
    low, high = low.astype(dtype), high.astype(dtype)
    function, leaves = flat_function(_WHERE, func, (low,), args)
    leaves = [jnp.asarray(x) for x in leaves]
    out = eval_shape(function, low, *leaves)
    if not hasattr(out, "shape") or out.shape:
        raise ShapeError(
            message(
                f"{_WHERE}, result of func",
                given=f"{out}",
                expected="a number",
                fix="Use vmap over a component or an argument for many integrals.",
            )
        )
    eps = float(dtypes.finfo(dtypes.result_type(dtype, out.dtype)).eps)
    absolute, relative = [
        lax.stop_gradient(inexact(_WHERE, name, x, is_real=True).astype(dtype))
        for name, x in (("epsabs", epsabs), ("epsrel", epsrel))
    ]
    relative = jnp.maximum(relative, 50 * eps)
    task = _Task(low, high, absolute, relative, jnp.asarray(100 * eps, dtype), leaves)
    most = count(_WHERE, "limit", limit)
    integral = _bisect if meets_first(func) else _integral
    values, error, info = integral(_Column(function), most, task)
    debug_check(info.success, "quad failed with status {status}", status=info.status)
    if full_output:
        return values[0], error, info
    return jnp.where(info.success, values[0], np.nan), error


def _limit(x: Any, name: str) -> Any:
    value = inexact(_WHERE, name, x, is_real=True)
    if value.ndim:
        raise ShapeError(
            message(
                f"{_WHERE}, argument {name}",
                given=f"{value.aval}",
                expected="a number",
                fix="Use vmap for many limits.",
            )
        )
    return value


@final
@dataclass(frozen=True, slots=True)
class _Column:
    """A function of numbers as one with vectors (1,) as values."""

    function: Callable[..., Any]

    def __call__(self, x: Any, *leaves: Any) -> Any:
        value = jnp.asarray(self.function(x, *leaves))
        return value.astype(dtypes.result_type(value.dtype, x.dtype)).reshape(1)


def _bisect(function: Callable[..., Any], most: int, task: _Task) -> tuple[Any, Any, QuadInfo]:
    """The integral of a function with values (k,), its error in the largest component, the rest."""
    sign = jnp.where(task.low <= task.high, 1, -1).astype(task.low.dtype)
    low, high = jnp.minimum(task.low, task.high), jnp.maximum(task.low, task.high)

    def along(u: Any, v: Any) -> Any:
        return transformed(lambda x: function(x, *task.leaves), low, high, u, v)

    whole = on_interval(along, jnp.zeros_like(low), jnp.ones_like(low))
    filled = [jnp.zeros((most, *x.shape), x.dtype) for x in whole]
    parts = Parts(*[f.at[0].set(x) for f, x in zip(filled, whole, strict=True)])

    def sums(parts: Parts) -> tuple[Any, Any, Any]:
        value, error = jnp.sum(parts.value, 0), jnp.sum(parts.error)
        limit = jnp.maximum(task.absolute, task.relative * jnp.max(jnp.abs(value)))
        return value, error, jnp.maximum(limit, task.floor * jnp.sum(parts.size))

    def go_on(state: tuple[Any, Parts]) -> Any:
        number, parts = state
        _, error, limit = sums(parts)
        return (number < most) & (error > limit)

    def split(state: tuple[Any, Parts]) -> tuple[Any, Parts]:
        number, parts = state
        worst = jnp.argmax(parts.error)
        low, high = parts.low[worst], parts.high[worst]
        middle = 0.5 * (low + high)
        halves = vmap(lambda a, b: on_interval(along, a, b))(
            jnp.stack([low, middle]), jnp.stack([middle, high])
        )
        places = jnp.stack([worst, number])
        return number + 1, Parts(*[p.at[places].set(h) for p, h in zip(parts, halves, strict=True)])

    one = jnp.ones((), dtypes.result_type(int))
    number, parts = repeated(go_on, split, (one, parts))
    value, error, limit = sums(parts)
    is_finite = jnp.isfinite(error) & jnp.all(jnp.isfinite(value))
    failure = jnp.where(is_finite, TOO_MANY, NOT_FINITE)
    # An empty interval has the integral zero, whatever the function is there.
    is_empty = low == high
    # A limit that is NaN is no end of an interval, though values at its nodes may be finite.
    no_interval = jnp.isnan(low) | jnp.isnan(high)
    value = jnp.where(no_interval, np.nan, value)
    failure = jnp.where(no_interval, NOT_FINITE, failure)
    is_done = is_finite & (error <= limit) & ~no_interval
    status = jnp.where(is_done | is_empty, DONE, failure)
    evaluations = NODES.size * (2 * number - 1)
    info = QuadInfo(evaluations, number, status.astype(np.int32))
    return jnp.where(is_empty, 0, sign * value), jnp.where(is_empty, 0, error), info


def _inside(low: Any, high: Any) -> Any:
    """A finite place between limits that may be infinite."""
    bottom = jnp.where(jnp.isfinite(low), low, jnp.where(jnp.isfinite(high), high - 2, -1))
    top = jnp.where(jnp.isfinite(high), high, bottom + 2)
    return bottom + 0.5 * (top - bottom)


_integral = custom_jvp(jit(_bisect, static_argnums=(0, 1)), nondiff_argnums=(0, 1))


@_integral.defjvp
def _integral_jvp(
    function: Callable[..., Any], most: int, primals: Any, tangents: Any
) -> tuple[Any, Any]:
    (task,), (moved,) = primals, tangents
    value, error, info = _integral(function, most, task)
    leaves = list(task.leaves)
    places = [i for i, x in enumerate(leaves) if dtypes.issubdtype(aval_of(x).dtype, np.inexact)]
    change = [moved.leaves[i] for i in places], moved.low, moved.high
    # Errors of derivatives are measured by the size of what is integrated.
    careful = task._replace(
        absolute=jnp.zeros_like(task.absolute), floor=jnp.maximum(task.floor, task.relative)
    )
    derivative = _Derivative(function, most, tuple(places))
    pushed = linear_call(derivative.push, derivative.pull, careful, change)
    return (value, error, info), (pushed, jnp.zeros_like(error), zero_tangents(info))


@final
@dataclass(frozen=True, slots=True)
class _Derivative:
    """The tangent of an integral, and its transpose."""

    function: Callable[..., Any]
    most: int
    places: tuple[int, ...]

    def moving(self, x: Any, leaves: Sequence[Any]) -> tuple[Callable[[Any], Any], list[Any]]:
        """The function of those arguments that have derivatives."""

        def function(values: Sequence[Any]) -> Any:
            full = list(leaves)
            for place, value in zip(self.places, values, strict=True):
                full[place] = value
            return self.function(x, *full)

        return function, [leaves[i] for i in self.places]

    def at_ends(self, task: _Task, moving: tuple[Any, Any] = (True, True)) -> tuple[Any, Any]:
        """How the integral changes with its limits; infinite ones do not move.

        Where one stays, nothing is asked of the function, which may be infinite there.
        """
        inside = _inside(task.low, task.high)
        values = []
        for x, moves in zip((task.low, task.high), moving, strict=True):
            counts = jnp.isfinite(x) & moves
            value = self.function(jnp.where(counts, x, inside), *task.leaves)
            values.append(jnp.where(counts, value, 0))
        return -values[0], values[1]

    def push(self, task: _Task, change: Any) -> Any:
        """The tangent, of those of the moving arguments and of the limits."""
        moved, low, high = change
        at_low, at_high = self.at_ends(task, (low != 0, high != 0))
        out = at_low * low + at_high * high
        if not self.places:
            return out
        tangent = _Tangent(self, len(task.leaves))
        leaves = [*task.leaves, *moved]
        return out + self.found(tangent, task._replace(leaves=leaves))

    def pull(self, task: _Task, ct: Any) -> Any:
        """The cotangents of the moving arguments and of the limits."""
        at_low, at_high = self.at_ends(task)
        ends = [jnp.sum(end * ct).real.astype(task.low.dtype) for end in (at_low, at_high)]
        if not self.places:
            return [], *ends
        found = self.found(_Cotangent(self), task._replace(leaves=[*task.leaves, ct]))
        return parts_like(found, [task.leaves[i] for i in self.places]), *ends

    def found(self, function: Callable[..., Any], task: _Task) -> Any:
        """An integral, NaN if its tolerance was not reached."""
        value, _, info = _integral(function, self.most, task)
        return jnp.where(info.success, value, np.nan)


@final
@dataclass(frozen=True, slots=True)
class _Tangent:
    """x, arguments, tangents of the moving ones → that of the function's value."""

    derivative: _Derivative
    arguments: int

    def __call__(self, x: Any, *leaves: Any) -> Any:
        arguments, moved = leaves[: self.arguments], leaves[self.arguments :]
        function, moving = self.derivative.moving(x, arguments)
        return jvp(function, (moving,), (list(moved),))[1]


@final
@dataclass(frozen=True, slots=True)
class _Cotangent:
    """x, arguments, cotangent of the value → those of the moving arguments, as one vector."""

    derivative: _Derivative

    def __call__(self, x: Any, *leaves: Any) -> Any:
        *arguments, ct = leaves
        function, moving = self.derivative.moving(x, arguments)
        (changes,) = vjp(function, moving)[1](ct)
        dtype = dtypes.result_type(x.dtype, *[c.dtype for c in changes])
        return jnp.concatenate([c.ravel().astype(dtype) for c in changes])
