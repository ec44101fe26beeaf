"""What `solve_ivp` returns."""

from __future__ import annotations

from typing import Any, final

import numpy as np

from ... import numpy as jnp
from ...scipy._runge_kutta import interpolate
from ...transforms.vmap import vmap
from ...tree import register_dataclass
from ...util.records import dataclass
from ..solver_arguments import said
from ._steps import GOES_ON, NOT_FINITE, TOO_MANY, TOO_SMALL, Piece, Record

NOT_ORDERED = -4
STOPPED = 1
MESSAGES = {
    GOES_ON: "The solver successfully reached the end of the integration interval.",
    STOPPED: "A termination event occurred.",
    TOO_SMALL: "Required step size is less than spacing between numbers.",
    TOO_MANY: "More than max_steps steps are needed.",
    NOT_FINITE: "The function, or the solution, is NaN or infinite.",
    NOT_ORDERED: "Values in t_eval are not within t_span, or not in the order of integration.",
}


def value_of(piece: Piece, t: Any) -> Any:
    """The solution at a time that lies in a piece."""
    return interpolate(piece.dense, (t - piece.start) / piece.width)


@final
@register_dataclass
@dataclass(frozen=True, slots=True)
class OdeSolution:
    """A solution as a function of time, a pytree; ``sol(t)`` has the shape (n, *shape of t).

    Attributes:
        direction: 1 or −1, for integration backwards.
        begin, end: the times, multiplied by `direction`, between which there is a solution.
        record: its pieces.

    Example:
        >>> from morphax.science.integrate import solve_ivp
        >>> sol = solve_ivp(lambda t, y: -y, (0.0, 1.0), [1.0], dense_output=True).sol
        >>> sol(0.5).round(2)
        Array([0.61], dtype=float32)
    """

    direction: Any
    begin: Any
    end: Any
    record: Record

    def __call__(self, t: Any) -> Any:
        """The solution at times of any shape; NaN where there is none."""
        times = self.direction * jnp.asarray(t, self.end.dtype)
        flat = times.ravel()
        values = vmap(self._at)(flat)
        return jnp.moveaxis(values, 0, -1).reshape(*values.shape[1:], *times.shape)

    def _at(self, t: Any) -> Any:
        index = jnp.searchsorted(self.record.ends, t)
        start, width, dense = [x[index] for x in self.record.piece]
        is_inside = (t >= self.begin) & (t <= self.end)
        return jnp.where(is_inside, value_of(Piece(start, width, dense), t), np.nan)


@final
@register_dataclass
@dataclass(frozen=True, slots=True)
class OdeResult:
    """What an integration found, a pytree.

    Attributes:
        t: times (m,).
        y: the solution there (n, m); NaN at times that were not reached.
        sol: the solution as a function of time, or None.
        t_events, y_events: for each event its times (k,) and the solution there (k, n); or None.
            Where values are not known, k is `max_steps`, and NaN follows the last occurrence.
        nfev: how often the function was evaluated, apart from derivatives.
        njev: how often its Jacobian was, by implicit methods.
        nlu: how many matrices were factored.
        nsteps: how many steps were taken.
        status: 0 at the end of the interval, 1 if an event ended the integration; −1 if the steps
            became too small, −2 if there would have been too many, −3 if a number was NaN or
            infinite, −4 if `t_eval` is not in order.

    Example:
        >>> from morphax.science.integrate import solve_ivp
        >>> found = solve_ivp(lambda t, y: y**2, (0.0, 2.0), [1.0])
        >>> bool(found.success), found.message
        (False, 'Required step size is less than spacing between numbers.')
    """

    t: Any
    y: Any
    sol: OdeSolution | None
    t_events: list[Any] | None
    y_events: list[Any] | None
    nfev: Any
    njev: Any
    nlu: Any
    nsteps: Any
    status: Any

    @property
    def success(self) -> Any:
        """Whether the end was reached, or an event that is terminal."""
        return self.status >= 0

    @property
    def message(self) -> Any:
        """The status in words; a list of them for a batch."""
        return said(self.status, MESSAGES)
