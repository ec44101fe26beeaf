"""Filters that run forwards and backwards, so that nothing is delayed.

The signal is extended at both ends, and the filter starts in the state that belongs to a signal
that has always been as at its start.

Reference: F. Gustafsson, "Determining the initial states in forward-backward filtering", IEEE
Transactions on Signal Processing 44 (1996) 988–992.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ... import numpy as jnp
from ...lax.ground.axes import canonical_axis, integer
from ...numpy.operands import concrete_values
from ..arguments import check_choice, inexact, refuse
from ._filters import (
    lfilter,
    lfilter_zi,
    normalized,
    sections_of,
    sosfilt,
    sosfilt_zi,
    zero_sections,
)

_PACKAGE = "science.signal"
_EXTENSIONS: dict[str, dict[str, str]] = {
    "odd": {"mode": "reflect", "reflect_type": "odd"},
    "even": {"mode": "reflect"},
    "constant": {"mode": "edge"},
}


def filtfilt(
    b: Any, a: Any, x: Any, axis: int = -1, padtype: str | None = "odd", padlen: int | None = None
) -> Any:
    """A signal filtered forwards and then backwards: the gain is |H|², the phase 0.

    Args:
        b, a: coefficients, see `lfilter`.
        x: signals (..., n, ...), real or complex; integers become floating.
        axis: the axis along which the samples follow one another.
        padtype: how signals go on beyond their ends: ``"odd"`` (2 x₀ − xₖ), ``"even"`` (xₖ),
            ``"constant"`` (x₀), or `None` for not at all.
        padlen: by how many samples, fewer than n; by default 3 max(p, q).

    Returns:
        Array of the shape of `x`.

    Raises:
        ValueError: if there is no such extension, or the signal is not longer than it.

    Example:
        >>> import morphax.numpy as jnp
        >>> from morphax.science.signal import filtfilt
        >>> filtfilt([0.5], [1.0, -0.5], jnp.full(8, 3.0))
        Array([3., 3., 3., 3., 3., 3., 3., 3.], dtype=float32)
    """
    where = f"{_PACKAGE}.filtfilt"
    b, a, x = inexact(where, b, a, x)
    b, a = normalized(where, b, a)
    taps = max(b.aval.size, a.aval.size)
    state = lfilter_zi(b, a) if taps > 1 else jnp.zeros((0,), x.aval.dtype)

    def run(x: Any, first: Any) -> Any:
        column = (-1, *(1,) * (x.aval.ndim - 1))
        return lfilter(b, a, x, axis=0, zi=jnp.reshape(state, column) * first)[0]

    return _both_ways(where, run, x, axis, padtype, padlen, 3 * taps)


def sosfiltfilt(
    sos: Any, x: Any, axis: int = -1, padtype: str | None = "odd", padlen: int | None = None
) -> Any:
    """A signal filtered forwards and then backwards by second-order sections; see `filtfilt`.

    The default of `padlen` is 3 (2 s + 1 − z), with z the number of sections whose last coefficient
    is 0, so the numbers must be known; under `jit` pass `padlen`.

    Raises:
        ConcretizationTypeError: if they are not.

    Example:
        >>> import morphax.numpy as jnp
        >>> from morphax.science.signal import sosfiltfilt
        >>> sosfiltfilt([[0.5, 0.0, 0.0, 1.0, -0.5, 0.0]], jnp.full(8, 3.0))
        Array([3., 3., 3., 3., 3., 3., 3., 3.], dtype=float32)
    """
    where = f"{_PACKAGE}.sosfiltfilt"
    sos, x = inexact(where, sos, x)
    sections_of(where, sos)
    default = 0
    if padlen is None and padtype is not None:
        fix = "Pass padlen=, the number of samples to extend the signal by."
        numbers = concrete_values(f"{where}, argument sos", sos, fix)
        default = 3 * (2 * len(numbers) + 1 - zero_sections(numbers))
    states = sosfilt_zi(sos)

    def run(x: Any, first: Any) -> Any:
        columns = (*states.aval.shape, *(1,) * (x.aval.ndim - 1))
        return sosfilt(sos, x, axis=0, zi=jnp.reshape(states, columns) * first)[0]

    return _both_ways(where, run, x, axis, padtype, padlen, default)


def _both_ways(
    where: str,
    run: Callable[[Any, Any], Any],
    x: Any,
    axis: int,
    padtype: Any,
    padlen: Any,
    default: int,
) -> Any:
    """`run` over signals (n, ...) extended by `padlen`, then over the result read backwards."""
    check_choice(where, "padtype", padtype, (*_EXTENSIONS, None))
    place = canonical_axis(f"{where}, argument axis", axis, x.aval.ndim)
    x = jnp.moveaxis(x, place, 0)
    size = x.aval.shape[0]
    edge = default if padlen is None else integer(f"{where}, argument padlen", padlen)
    if padtype is None:
        edge = 0
    if not 0 <= edge < size:
        refuse(
            where,
            "x",
            f"signals of {size} samples, extended by {edge}",
            "signals that are longer than the extension",
            "Pass a smaller padlen, or padtype=None.",
        )
    if edge:
        pairs = [(edge, edge), *[(0, 0)] * (x.aval.ndim - 1)]
        x = jnp.pad(x, pairs, **_EXTENSIONS[padtype])
    y = run(x, x[:1])
    y = run(y[::-1], y[-1:])[::-1]
    return jnp.moveaxis(y[edge : edge + size], 0, place)
