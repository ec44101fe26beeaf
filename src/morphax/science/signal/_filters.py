"""Linear recursive filters of signals, sample by sample.

The filter aₒ yₙ = Σₖ bₖ xₙ₋ₖ − Σₖ₌₁ aₖ yₙ₋ₖ runs in the transposed direct form II: its state z is
what later samples are still given, one number for each delay.  A loop over the samples keeps the
rounding, and with it the stability, of the recursion; compiled, it takes some ten nanoseconds a
sample.  It is not unrolled: XLA compiles larger steps to code that is slower by far.

Reference: A. V. Oppenheim and R. W. Schafer, Discrete-Time Signal Processing, 3rd ed., Pearson
2010, 6.3.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from ... import lax
from ... import numpy as jnp
from ...control.jit.jit import jit
from ...control.loops.scans import scan
from ...lax.ground.axes import canonical_axis
from ...scipy.linalg.special_matrices import companion
from ..arguments import inexact, known, refuse, refuse_shape

_PACKAGE = "science.signal"


def lfilter(b: Any, a: Any, x: Any, axis: int = -1, zi: Any = None) -> Any:
    """A signal filtered by the rational transfer function Σ bₖ z⁻ᵏ / Σ aₖ z⁻ᵏ.

    Args:
        b: numerator (p,).
        a: denominator (q,), a₀ ≠ 0; all coefficients are divided by it.
        x: signals (..., n, ...), real or complex; integers become floating.
        axis: the axis along which the samples follow one another.
        zi: the state at the start, of the shape of `x` with max(p, q) − 1 along `axis`, or one that
            broadcasts to it; by default 0.

    Returns:
        Array of the shape of `x`, or, if `zi` is given, a pair of it and the state at the end.

    Raises:
        ValueError: if the coefficients are no vectors or empty, a₀ is 0, or `zi` does not fit.

    Example:
        >>> import morphax.numpy as jnp
        >>> from morphax.science.signal import lfilter
        >>> lfilter([1.0], [1.0, -0.5], jnp.array([1.0, 0.0, 0.0, 2.0]))
        Array([1.   , 0.5  , 0.25 , 2.125], dtype=float32)
    """
    where = f"{_PACKAGE}.lfilter"
    given = [] if zi is None else [zi]
    b, a, x, *given = inexact(where, b, a, x, *given)
    b, a = normalized(where, b, a)
    place = canonical_axis(f"{where}, argument axis", axis, x.aval.ndim)
    x = jnp.moveaxis(x, place, 0)
    order = max(b.aval.size, a.aval.size) - 1
    shape = (order, *x.aval.shape[1:])
    state = jnp.zeros(shape, x.aval.dtype)
    if given:
        state = _state(where, given[0], x, place, shape)
    run = _convolved if a.aval.size == 1 else _recursive
    y, state = run(padded(b, order + 1), padded(a, order + 1), x, state)
    y = jnp.moveaxis(y, 0, place)
    return (y, jnp.moveaxis(state, 0, place)) if given else y


def _state(where: str, zi: Any, x: Any, place: int, shape: tuple[int, ...]) -> Any:
    fits = zi.aval.ndim == x.aval.ndim and zi.aval.shape[place] == shape[0]
    if fits:
        zi = jnp.moveaxis(zi, place, 0)
        fits = all(n in (1, m) for n, m in zip(zi.aval.shape[1:], shape[1:], strict=True))
    if not fits:
        refuse_shape(
            where,
            "zi",
            f"{zi.aval} for signals {x.aval}, whose first axis is that of the samples",
            f"{shape[0]} numbers along the axis of the samples, and axes like the signals'",
            "Multiply lfilter_zi(b, a) by the first samples.",
        )
    return jnp.broadcast_to(zi, shape)


def normalized(where: str, b: Any, a: Any) -> tuple[Any, Any]:
    """Coefficients divided by a₀; scalars count as vectors."""
    b, a = jnp.atleast_1d(b), jnp.atleast_1d(a)
    for name, v in (("b", b), ("a", a)):
        if v.aval.ndim != 1 or not v.aval.size:
            refuse_shape(where, name, f"{v.aval}", "a vector that is not empty", "Use jax.vmap.")
    first = known(a[0])
    if first is not None and first == 0:
        refuse(where, "a", "coefficients whose first one is 0", "a₀ ≠ 0", "Leave out zeros.")
    return b / a[0], a / a[0]


def padded(v: Any, size: int) -> Any:
    """A vector with zeros behind it."""
    return jnp.pad(v, (0, size - v.aval.size))


# Loops, which eager calls would compile each time.
@partial(jit, inline=True)
def _recursive(b: Any, a: Any, x: Any, state: Any) -> tuple[Any, Any]:
    """Signals (n, ...) filtered, and the state at the end."""
    if not x.aval.size:
        return x, state
    column = (-1, *(1,) * (x.aval.ndim - 1))
    forward, back = jnp.reshape(b[1:], column), jnp.reshape(a[1:], column)
    zero = jnp.zeros((1, *x.aval.shape[1:]), x.aval.dtype)

    def step(z: Any, sample: Any) -> tuple[Any, Any]:
        y = b[0] * sample + z[0]
        return jnp.concatenate([z[1:], zero]) + forward * sample - back * y, y

    state, y = scan(step, state, x)
    return y, state


def _convolved(b: Any, _: Any, x: Any, state: Any) -> tuple[Any, Any]:
    """The same without feedback: a convolution, of which the end is the state."""
    size, order = x.aval.shape[0], b.aval.size - 1
    if not x.aval.size:
        return x, state
    rows = jnp.reshape(x, (size, -1)).T
    found = lax.conv_general_dilated(
        rows[:, None],
        lax.rev(b, (0,))[None, None],
        window_strides=(1,),
        padding=[(order, order)],
        precision=lax.Precision.HIGHEST,
    )
    whole = jnp.reshape(found[:, 0].T, (size + order, *x.aval.shape[1:]))
    # The state lies over the first samples, or beyond the last one of a short signal.
    whole = whole.at[:order].add(state)
    return whole[:size], whole[size:]


def lfilter_zi(b: Any, a: Any) -> Any:
    """The state of a filter that has been given ones for ever: that of its step response.

    Args:
        b, a: coefficients, see `lfilter`, two at least in one of them.

    Returns:
        Vector of length max(p, q) − 1; not finite where the filter has a pole at 1.

    Raises:
        ValueError: as `lfilter`, or if the filter has no state.

    Example:
        >>> from morphax.science.signal import lfilter, lfilter_zi
        >>> b, a = [0.5], [1.0, -0.5]
        >>> lfilter(b, a, [1.0, 1.0], zi=lfilter_zi(b, a))[0]
        Array([1., 1.], dtype=float32)
    """
    where = f"{_PACKAGE}.lfilter_zi"
    b, a = normalized(where, *inexact(where, b, a))
    size = max(b.aval.size, a.aval.size)
    if size < 2:
        refuse_shape(where, "a", "coefficients of order 0", "order 1 at least", "Skip the call.")
    b, a = padded(b, size), padded(a, size)
    matrix = jnp.eye(size - 1, dtype=a.aval.dtype) - companion(a).T
    return jnp.linalg.solve(matrix, b[1:] - a[1:] * b[0])


def sections_of(where: str, sos: Any) -> None:
    """Refuse what is no array of second-order sections."""
    if sos.aval.ndim != 2 or sos.aval.shape[1] != 6 or not sos.aval.size:
        refuse_shape(
            where, "sos", f"{sos.aval}", "sections (s, 6): b₀ b₁ b₂ a₀ a₁ a₂", "Use output='sos'."
        )
    first = known(sos[:, 3])
    if first is not None and (first != 1).any():
        refuse(where, "sos", f"a₀ = {first}", "a₀ = 1", "Divide each section by it.")


def sosfilt(sos: Any, x: Any, axis: int = -1, zi: Any = None) -> Any:
    """A signal filtered by sections of second order, one after the other.

    Args:
        sos: sections (s, 6), each b₀ b₁ b₂ 1 a₁ a₂.
        x: signals (..., n, ...), real or complex; integers become floating.
        axis: the axis along which the samples follow one another.
        zi: the states at the start, s times the shape of `x` with 2 along `axis`; by default 0.

    Returns:
        Array of the shape of `x`, or, if `zi` is given, a pair of it and the states at the end.

    Raises:
        ValueError: if the sections or `zi` have another shape, or a₀ is not 1.

    Example:
        >>> import morphax.numpy as jnp
        >>> from morphax.science.signal import sosfilt
        >>> sosfilt([[1.0, 0.0, 0.0, 1.0, -0.5, 0.0]] * 2, jnp.array([1.0, 0.0, 0.0]))
        Array([1.  , 1.  , 0.75], dtype=float32)
    """
    where = f"{_PACKAGE}.sosfilt"
    given = [] if zi is None else [zi]
    sos, x, *given = inexact(where, sos, x, *given)
    sections_of(where, sos)
    place = canonical_axis(f"{where}, argument axis", axis, x.aval.ndim)
    count = sos.aval.shape[0]
    shape = (count, *x.aval.shape[:place], 2, *x.aval.shape[place + 1 :])
    if given and given[0].aval.shape != shape:
        refuse_shape(
            where, "zi", f"{given[0].aval}", f"shape {shape}", "Start from sosfilt_zi(sos)."
        )
    x = jnp.moveaxis(x, place, 0)
    state = jnp.moveaxis(given[0], place + 1, 1) if given else None
    y, state = _in_sections(sos, x, state)
    y = jnp.moveaxis(y, 0, place)
    return (y, jnp.moveaxis(state, 1, place + 1)) if given else y


# Loops, which eager calls would compile each time.
@partial(jit, inline=True)
def _in_sections(sos: Any, x: Any, state: Any) -> tuple[Any, Any]:
    count = sos.aval.shape[0]
    if state is None:
        state = jnp.zeros((count, 2, *x.aval.shape[1:]), x.aval.dtype)
    if not x.aval.size:
        return x, state

    def step(states: Any, sample: Any) -> tuple[Any, Any]:
        following = []
        for i, (first, second) in enumerate(states):
            b0, b1, b2, _, a1, a2 = [sos[i, j] for j in range(6)]
            y = b0 * sample + first
            following.append((b1 * sample - a1 * y + second, b2 * sample - a2 * y))
            sample = y
        return following, sample

    states = [(state[i, 0], state[i, 1]) for i in range(count)]
    states, y = scan(step, states, x)
    return y, jnp.stack([jnp.stack(pair) for pair in states])


def sosfilt_zi(sos: Any) -> Any:
    """The states (s, 2) of sections that have been given ones for ever; see `lfilter_zi`.

    Example:
        >>> from morphax.science.signal import sosfilt_zi
        >>> sosfilt_zi([[0.5, 0.0, 0.0, 1.0, -0.5, 0.0]])
        Array([[0.5, 0. ]], dtype=float32)
    """
    where = f"{_PACKAGE}.sosfilt_zi"
    (sos,) = inexact(where, sos)
    sections_of(where, sos)
    states, gain = [], jnp.ones((), sos.aval.dtype)
    for i in range(sos.aval.shape[0]):
        b, a = sos[i, :3], sos[i, 3:]
        states.append(gain * lfilter_zi(b, a))
        gain = gain * jnp.sum(b) / jnp.sum(a)
    return jnp.stack(states)


def zero_sections(sos: Any) -> int:
    """How many of the last coefficients are 0, of numerators or denominators, whichever is less."""
    numbers = np.asarray(sos)
    return int(min((numbers[:, 2] == 0).sum(), (numbers[:, 5] == 0).sum()))
