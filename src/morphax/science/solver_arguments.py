"""What the solvers are given: vectors of numbers, functions with further arguments, options."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, final

import numpy as np

from .. import dtypes, tree
from .. import numpy as jnp
from ..array import Array
from ..control.custom.closure_convert import closure_convert
from ..core import aval_of, is_value
from ..errors import ShapeError
from ..lax.elementwise.convert import convert
from ..numpy.operands import inexact_type
from ..transforms.flattening import check_callable
from ..util.messages import described, message
from ..util.records import dataclass


@final
@dataclass(frozen=True, slots=True)
class FlatFunction:
    """A function of `count` operands and of a tree of arguments, which are given as leaves."""

    function: Callable[..., Any]
    count: int
    structure: Any

    def __call__(self, *operands: Any) -> Any:
        first, leaves = operands[: self.count], operands[self.count :]
        return self.function(*first, *self.structure.unflatten(leaves))


def flat_function(
    where: str, fun: Callable[..., Any], examples: Sequence[Any], args: Any
) -> tuple[FlatFunction, list[Any]]:
    """`fun` without hidden differentiable inputs, and all that it is to be given as leaves."""
    check_callable(where, fun)
    further = arguments(where, args)
    converted, captured = closure_convert(fun, *examples, *further)
    leaves, structure = tree.flatten((*further, *captured))
    return FlatFunction(converted if captured else fun, len(examples), structure), leaves


def arguments(where: str, args: Any) -> tuple[Any, ...]:
    """The further arguments of a function: a tuple of trees of arrays."""
    further = () if args is None else args
    if not isinstance(further, tuple):
        raise TypeError(
            message(
                f"{where}, argument args",
                given=described(args),
                expected="a tuple",
                fix="Write (a,) for one argument.",
            )
        )
    for leaf in tree.leaves(further):
        if not is_value(leaf):
            raise TypeError(
                message(
                    f"{where}, argument args",
                    given=described(leaf),
                    expected="arrays, numbers, or trees of them",
                    fix="Close over values of other types.",
                )
            )
    return further


def inexact(where: str, name: str, x: Any, is_real: bool = False) -> Any:
    """An array of floating or complex dtype, made of numbers, lists or arrays."""
    value = jnp.asarray(x)
    value = convert(value, inexact_type(where, value)[0])
    if is_real and dtypes.issubdtype(value.dtype, np.complexfloating):
        raise TypeError(
            message(
                f"{where}, argument {name}",
                given=f"{value.aval}",
                expected="real numbers",
                fix="Use real and imaginary parts as separate numbers.",
            )
        )
    return value


def vector(where: str, name: str, x: Any, is_real: bool = False) -> Any:
    """A vector (n,) with at least one element; a number is one of length 1."""
    value = inexact(where, name, x, is_real)
    if value.ndim > 1 or value.size == 0:
        raise ShapeError(
            message(
                f"{where}, argument {name}",
                given=f"{value.aval}",
                expected="a vector (n,) with n > 0",
                fix="Use jax.flatten_util.ravel_pytree for other structures.",
            )
        )
    return jnp.atleast_1d(value)


def choice(where: str, name: str, given: Any, choices: Mapping[str, Any]) -> Any:
    """What one of some words stands for."""
    if not (isinstance(given, str) and given in choices):
        raise ValueError(
            message(
                f"{where}, argument {name}",
                given=described(given),
                expected=f"one of {', '.join(map(repr, choices))}",
                fix="Pass one of these words.",
            )
        )
    return choices[given]


def count(where: str, name: str, given: Any) -> int:
    """A positive integer that is known while tracing, for it sizes memory."""
    number = isinstance(given, (int, np.integer)) and not isinstance(given, bool)
    if not number or given < 1:
        raise (ValueError if number else TypeError)(
            message(
                f"{where}, argument {name}",
                given=described(given),
                expected="a positive int that is known while tracing",
                fix="Pass a Python int.",
            )
        )
    return int(given)


def is_known(x: Any) -> bool:
    """Whether the values of an array can be looked at now."""
    return isinstance(x, (Array, np.ndarray, np.generic, int, float))


def said(status: Any, messages: dict[int, str]) -> Any:
    """The text of a status; a list of texts for a batch."""
    if not is_known(status):
        return "The status is not known while tracing."
    if np.ndim(status):
        return [said(s, messages) for s in np.asarray(status)]
    return messages[int(status)]


def check_known(condition: Any, where: str, *, given: str, expected: str, fix: str) -> None:
    """Raise `ValueError` if a condition on values is known to be false."""
    if is_known(condition) and not bool(condition):
        raise ValueError(message(where, given=given, expected=expected, fix=fix))


def check_tolerances(where: str, least: float = -np.inf, **tolerances: Any) -> None:
    """Refuse tolerances that are known to be NaN, which nothing is within, or less than `least`."""
    for name, x in tolerances.items():
        if is_known(x) and not np.all(np.asarray(x) >= least):
            raise ValueError(
                message(
                    f"{where}, argument {name}",
                    given=f"{x}",
                    expected="a number" if least < 0 else f"a number ≥ {least:g}",
                    fix="Leave it out for the default.",
                )
            )


def result_like(where: str, result: Any, expected: Any) -> Any:
    """What a user's function returned, in the dtype and of the shape that is asked for."""
    value = jnp.asarray(result)
    if value.shape != expected.shape:
        raise ShapeError(
            message(
                where,
                given=f"{value.aval}",
                expected=f"shape {tuple(expected.shape)}",
                fix="Return an array of that shape.",
            )
        )
    is_complex = dtypes.issubdtype(value.dtype, np.complexfloating)
    if is_complex and not dtypes.issubdtype(expected.dtype, np.complexfloating):
        raise TypeError(
            message(
                where,
                given=f"{value.aval}",
                expected=f"real numbers, as those of {aval_of(expected)}",
                fix="Begin with complex numbers: x + 0j.",
            )
        )
    return value.astype(expected.dtype)


def zero_tangents(values: Any) -> Any:
    """Zeros of the tangent types of a tree of values."""

    def zero(x: Any) -> Any:
        if dtypes.issubdtype(aval_of(x).dtype, np.inexact):
            return jnp.zeros_like(x)
        return np.zeros(aval_of(x).shape, dtypes.float0)

    return tree.map(zero, values)


def parts_like(values: Any, examples: Sequence[Any]) -> list[Any]:
    """A vector cut into arrays with the shapes and dtypes of others."""
    parts, start = [], 0
    for x in examples:
        part, start = values[start : start + x.size], start + x.size
        is_complex = dtypes.issubdtype(x.dtype, np.complexfloating)
        parts.append((part if is_complex else part.real).astype(x.dtype).reshape(x.shape))
    return parts


def options(
    where: str, known: Mapping[str, Any], given: Mapping[str, Any] | None, others: Mapping[str, Any]
) -> dict[str, Any]:
    """All options of a solver: those given, then `others`, then the defaults in `known`."""
    chosen = dict(given or {})
    unknown = sorted(chosen.keys() - known.keys())
    if unknown:
        raise TypeError(
            message(
                f"{where}, argument options",
                given=", ".join(map(repr, unknown)),
                expected=f"options among {', '.join(known)}",
                fix="Leave out what this method does not have.",
            )
        )
    return {**known, **others, **chosen}
