"""Vector fields of `odeint`: the user's function on vectors, its adjoint and its tangent."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, final

import numpy as np

from .. import dtypes, tree
from .. import numpy as jnp
from ..core import aval_of, is_value
from ..transforms.derivatives import vjp
from ..util.messages import message
from ..util.records import dataclass


def check(name: str, fits: bool, leaf: Any, expected: str, fix: str) -> None:
    """Raise `TypeError` about an argument of `odeint` unless it fits."""
    if not fits:
        given = str(aval_of(leaf)) if is_value(leaf) else f"{leaf!r:.80} of {type(leaf).__name__}"
        raise TypeError(
            message(f"odeint, argument {name}", given=given, expected=expected, fix=fix)
        )


@final
@dataclass(frozen=True, slots=True)
class Layout:
    """How a tree lies in a vector."""

    structure: Any
    avals: tuple[Any, ...]

    @classmethod
    def of(cls, example: Any) -> Layout:
        leaves, structure = tree.flatten(example)
        return cls(structure, tuple([aval_of(x).strip_weak_type() for x in leaves]))

    def ravel(self, value: Any) -> Any:
        dtype = dtypes.result_type(*[a.dtype for a in self.avals], np.float16)
        if all([a.dtype == self.avals[0].dtype for a in self.avals]):
            dtype = self.avals[0].dtype
        leaves = tree.leaves(value)
        for x, aval in zip(leaves, self.avals, strict=False):
            fits = dtypes.issubdtype(aval.dtype, np.complexfloating) or not jnp.iscomplexobj(x)
            fix = "Give the initial value, y0, a complex dtype."
            check("func", fits, x, f"slopes that are real, as the values, {aval}, are", fix)
        return jnp.concatenate([jnp.ravel(jnp.asarray(x)).astype(dtype) for x in leaves])

    def unravel(self, vector: Any) -> Any:
        ends = np.cumsum([a.size for a in self.avals])[:-1]
        parts = jnp.split(vector, ends)
        return self.structure.unflatten(
            [
                (x if dtypes.issubdtype(a.dtype, np.complexfloating) else jnp.real(x))
                .astype(a.dtype)
                .reshape(a.shape)
                for x, a in zip(parts, self.avals, strict=True)
            ]
        )


@final
@dataclass(frozen=True, slots=True)
class Field:
    """The user's function on vectors: (y, t, leaves of the further arguments) → dy/dt."""

    function: Callable[..., Any]
    layout: Layout
    arguments: Any

    def __call__(self, y: Any, t: Any, *leaves: Any) -> Any:
        args = self.arguments.unflatten(leaves)
        result = self.function(self.layout.unravel(y), t, *args)
        given = tree.structure(result), [aval_of(x).shape for x in tree.leaves(result)]
        expected = self.layout.structure, [a.shape for a in self.layout.avals]
        if given != expected:
            raise (TypeError if given[0] != expected[0] else ValueError)(
                message(
                    "odeint, result of func",
                    given=f"{given[0]} of shapes {given[1]}",
                    expected=f"{expected[0]} of shapes {expected[1]}, as y0",
                    fix="Return dy/dt in the containers and shapes of y.",
                )
            )
        return self.layout.ravel(result)


@final
@dataclass(frozen=True, slots=True)
class Adjoint:
    """The field of (y, ȳ, t̄, ā): the equation itself, and its adjoint.

    dȳ/dt = −(∂f/∂y)ᵀ ȳ,  dt̄/dt = −(∂f/∂t)ᵀ ȳ,  dā/dt = −(∂f/∂a)ᵀ ȳ.
    """

    field: Callable[..., Any]
    layout: Layout

    def __call__(self, state: Any, t: Any, *leaves: Any) -> Any:
        y, y_bar, *_ = self.layout.unravel(state)
        moved, pull = vjp(self.field, y, t, *leaves)
        y_change, t_change, *changes = pull(y_bar)
        rest = [-x for x in (y_change, t_change, *inexact(changes))]
        return self.layout.ravel([moved, *rest])


@final
@dataclass(frozen=True, slots=True)
class Tangent:
    """The field of (y, ẏ): the equation itself, and how the solution moves with what is given.

    dẏ/dt = (∂f/∂y) ẏ + (∂f/∂t) ṫ + (∂f/∂a) ȧ, where ṫ and ȧ follow the `count` leaves a.
    """

    field: Callable[..., Any]
    layout: Layout
    count: int

    def __call__(self, state: Any, t: Any, *values: Any) -> Any:
        y, direction = self.layout.unravel(state)
        leaves, directions = values[: self.count], values[self.count :]

        def field(y: Any, t: Any, *moving: Any) -> Any:
            given = iter(moving)
            merged = [next(given) if inexact([x]) else x for x in leaves]
            return self.field(y, t, *merged)

        # By two pullbacks: a field may have a custom one, and then nothing else.
        moved, pull = vjp(field, y, t, *inexact(leaves))
        _, push = vjp(pull, jnp.zeros_like(moved))
        return self.layout.ravel([moved, *push((direction, *directions))])


def inexact(leaves: Sequence[Any]) -> list[Any]:
    """Those of floating or complex dtype."""
    return [x for x in leaves if dtypes.issubdtype(aval_of(x).dtype, np.inexact)]
