"""Parameters out of range, where the numbers that are drawn would not show it.

Most distributions answer a wrong parameter with NaN.  Those of truth values and integers cannot, so
values that are known are looked at before anything is drawn; compiled programs take what comes.

Arrays may have elements that nobody will read, and numbers that rounding moved out of range, as it
does to 1 − Σ pᵢ.  So elements that are NaN pass, and give what they give in JAX; and so does what
lies out of range by less than √ε of the dtype.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import dtypes
from ..array import Array
from ..runtime.devices import host_is_default
from ..util.messages import message
from ._arguments import check_real, is_number

_LARGEST = float(np.finfo(np.float64).max)


def check_probability(function: str, p: Any) -> None:
    """Raise `ValueError` for what is known and not in [0, 1]."""
    fix = "Clip it, jnp.clip(p, 0, 1), if rounding moved it out of range."
    _check_range(function, "p", p, 1.0, "a probability, in [0, 1]", fix, exactly=False)


def check_rate(function: str, name: str, rate: Any) -> None:
    """Raise `ValueError` for expected counts that are known, and negative or infinite."""
    expected = "a finite number that is not negative"
    fix = f"Clip it, jnp.clip({name}, 0), if rounding made it negative."
    _check_range(function, name, rate, _LARGEST, expected, fix, exactly=True)


def _check_range(
    function: str, name: str, x: Any, largest: float, expected: str, fix: str, *, exactly: bool
) -> None:
    if is_number(x):
        given = "" if 0 <= x <= largest else f"{x}"
    else:
        given = _out_of_range(_known(x), largest, exactly)
    if given:
        where = f"random.{function}, argument {name}"
        raise ValueError(message(where, given=given, expected=expected, fix=fix))


def _known(x: Any) -> np.ndarray[Any, Any] | None:
    """The numbers of an array that lie in host memory."""
    if type(x) is Array and host_is_default() and not x._committed:
        return x.to_host()
    return x if isinstance(x, np.ndarray) else None


def _rounding(values: np.ndarray[Any, Any]) -> float:
    """How far rounding may have moved numbers around 1."""
    is_exact = values.dtype.kind in "iub"
    return 0.0 if is_exact else float(np.sqrt(float(dtypes.finfo(values.dtype).eps)))


def _out_of_range(values: np.ndarray[Any, Any] | None, largest: float, exactly: bool) -> str:
    """What the range of the values is, if that is more than 0 to `largest`; NaN does not count."""
    if values is None or not values.size:
        return ""
    slack = 0.0 if exactly else _rounding(values)
    numbers = values if values.dtype.kind in "fiub" else values.astype(np.float32)
    low, high = [float(f.reduce(numbers, axis=None)) for f in (np.fmin, np.fmax)]
    is_outside = low < -slack or high > largest + slack
    return f"an array of numbers from {low} to {high}" if is_outside else ""


def check_weights(function: str, p: Any) -> None:
    """Raise `ValueError` for an array that is known and has negative numbers or NaN in it.

    Only ratios matter, so any sum will do, but 0.
    """
    check_real(function, p)
    values = _known(p)
    if values is None or not values.size:
        return
    smallest, largest = values.min(), values.max()
    if largest > 0 and smallest >= -_rounding(values) * float(largest):
        return
    raise ValueError(
        message(
            f"random.{function}, argument p",
            given=f"{values.tolist()!r:.80}",
            expected="probabilities, or numbers in proportion to them: ≥ 0, and not all 0",
            fix="Clip them, jnp.maximum(p, 0), if rounding made them negative.",
        )
    )


def check_drawn(function: str, drawn: Any, *moments: Any) -> None:
    """Raise `ValueError` if known vectors are NaN, and the moments that they were drawn with not.

    That is what factors of a matrix that is not positive definite make of them.
    """
    numbers = _known(drawn)
    if numbers is None or not np.isnan(numbers).any():
        return
    known = [_known(x) for x in moments]
    if any(x is None or not np.isfinite(x).all() for x in known):
        return
    raise ValueError(
        message(
            f"random.{function}, argument cov",
            given="a matrix that is not positive definite",
            expected="symmetric matrices whose eigenvalues are positive",
            fix='Pass method="eigh" if eigenvalues may be 0, or make the diagonal larger.',
        )
    )
