"""What the solvers return."""

from __future__ import annotations

from dataclasses import field
from typing import Any, final

import numpy as np

from ... import numpy as jnp
from ...control.checks.checks import debug_check
from ...tree import register_dataclass
from ...util.records import dataclass
from ..solver_arguments import said

MAX_TURNS, NO_PROGRESS, NOT_FINITE, NO_BOX = -1, -2, -3, -4
_FAILURES = {
    MAX_TURNS: "The limit of iterations or evaluations was reached.",
    NO_PROGRESS: "No step was found that makes progress.",
    NOT_FINITE: "The function, or its derivative, is NaN or infinite.",
    NO_BOX: "A lower bound is above its upper bound.",
}
_SUCCESSES = {
    0: "The solution has been found to the tolerance.",
    1: "The gradient is within gtol.",
    2: "The change of the objective is within ftol.",
    3: "The change of x is within xtol.",
}


@final
@register_dataclass
@dataclass(frozen=True, slots=True)
class OptimizeResult:
    """What a solver found, a pytree; fields that a solver does not have are None.

    Attributes:
        x: the solution (n,), or where the solver was when it gave up.
        fun: the function there.
        jac: its derivative there.
        cost: half the sum of squares there.
        optimality: the largest element of the gradient that no bound holds.
        active_mask: −1 or 1 for each number at its lower or upper bound, otherwise 0.
        nfev: how often the function was evaluated.
        njev: how often its derivative was.
        nit: the number of iterations.
        status: what ended the iteration; negative for failures, which `message` explains.

    Example:
        >>> from morphax.science.optimize import root
        >>> found = root(lambda x: x**2 + 1, [1.0])
        >>> bool(found.success), found.message
        (False, 'No step was found that makes progress.')
    """

    x: Any
    status: Any
    fun: Any = None
    jac: Any = None
    cost: Any = None
    optimality: Any = None
    active_mask: Any = None
    nfev: Any = None
    njev: Any = None
    nit: Any = None
    where: str = field(default="", metadata={"static": True})

    @property
    def success(self) -> Any:
        """Whether a solution was found."""
        return self.status >= 0

    @property
    def message(self) -> Any:
        """The status in words; a list of them for a batch."""
        return said(self.status, _FAILURES | _SUCCESSES)

    def checked(self) -> OptimizeResult:
        """The result itself, whose success `checkify` sees to."""
        debug_check(self.success, self.where + " failed with status {status}", status=self.status)
        return self


def ended(status: Any, is_finite: Any) -> Any:
    """A status, which is that of failure where numbers are not finite."""
    return jnp.where(is_finite, status, NOT_FINITE).astype(np.int32)


def all_finite(*values: Any) -> Any:
    """Whether no number is NaN or infinite."""
    finite = jnp.ones((), bool)
    for x in values:
        finite = finite & jnp.all(jnp.isfinite(x))
    return finite
