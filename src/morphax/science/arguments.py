"""What functions of `morphax.science` do to their arguments: convert them, check them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NoReturn

import numpy as np

from .. import numpy as jnp
from ..core import Tracer
from ..errors import ShapeError
from ..lax.elementwise.complex import real_dtype
from ..lax.elementwise.convert import convert
from ..numpy.operands import as_array, concrete_values, inexact_type
from ..util.messages import described, message


def inexact(where: str, *given: Any) -> list[Any]:
    """Arrays of their common floating or complex dtype; lists are converted."""
    arrays = [array(where, x) for x in given]
    dtype, _ = inexact_type(where, *arrays)
    return [convert(x, dtype) for x in arrays]


def real_and_inexact(where: str, x: Any, y: Any) -> tuple[Any, Any]:
    """Real places and real or complex values, of one precision."""
    x = array(where, x)
    if x.aval.dtype.kind == "c":
        refuse(where, "x", f"{x.aval}", "real numbers", "Take the real part.")
    together, y = inexact(where, x, y)
    return convert(x, real_dtype(together.aval.dtype)), y


def array(where: str, x: Any) -> Any:
    """`x` as an array or tracer; lists are converted, as SciPy does."""
    return as_array(where, jnp.asarray(x) if isinstance(x, (list, tuple)) else x)


def known(x: Any) -> np.ndarray[Any, Any] | None:
    """The numbers of `x`, or `None` while they are not known."""
    if isinstance(x, Tracer):
        value = x.concrete()
        return None if value is None else np.asarray(value)
    return np.asarray(x)


def known_number(where: str, argument: str, value: Any) -> float:
    """A real number that must be known while tracing."""
    if isinstance(value, Tracer):
        value = concrete_values(f"{where}, argument {argument}", value, "Pass a number.")
    # Lists are never numbers, and those of several lengths no arrays.
    found = np.asarray(None if isinstance(value, (list, tuple)) else value)
    if found.shape or found.dtype.kind not in "biuf":
        raise TypeError(
            message(
                f"{where}, argument {argument}",
                given=described(value),
                expected="a real number",
                fix="Pass a Python number.",
            )
        )
    return float(found)


def refuse(where: str, argument: str, given: str, expected: str, fix: str) -> NoReturn:
    """Refuse the value of an argument."""
    raise ValueError(
        message(f"{where}, argument {argument}", given=given, expected=expected, fix=fix)
    )


def refuse_shape(where: str, argument: str, given: str, expected: str, fix: str) -> NoReturn:
    """Refuse the shape of an argument."""
    raise ShapeError(
        message(f"{where}, argument {argument}", given=given, expected=expected, fix=fix)
    )


def check_choice(where: str, argument: str, value: Any, choice: Sequence[Any]) -> None:
    """Refuse what is none of a few values."""
    if not any(value is x or (type(value) is type(x) and value == x) for x in choice):
        expected = " or ".join(map(repr, choice))
        refuse(where, argument, f"{value!r}", expected, "Choose one of them.")


def increasing(
    where: str, argument: str, x: Any, *data: Any, strictly: bool = True
) -> Sequence[Any]:
    """`x` and data on it; refused if `x` does not increase, and NaN where that is seen later."""
    numbers = known(x)
    if numbers is None:
        steps = x[1:] - x[:-1]
        in_order = (steps > 0 if strictly else steps >= 0) & (steps < np.inf)
        return [jnp.where(jnp.all(in_order), v, np.nan) for v in (x, *data)]
    steps = np.diff(numbers)
    if not ((steps > 0 if strictly else steps >= 0) & np.isfinite(steps)).all():
        refuse(
            where,
            argument,
            np.array2string(numbers, threshold=8),
            "finite numbers " + ("that increase, none twice" if strictly else "in ascending order"),
            "Sort them, and what belongs to them.",
        )
    return x, *data
