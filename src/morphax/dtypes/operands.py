"""The dtype of operands that may be anything: scalars, arrays, tracers, names of dtypes."""

from __future__ import annotations

from typing import Any, Final, Literal, overload

import numpy as np

from ..config import current
from ..util.messages import message, warn_user
from .catalogue import NARROW, SCALARS, float0
from .convert import WIDE_PYTHON, canonicalize, dtype
from .extended import ExtendedDType
from .kinds import scalar_type_of
from .promotion import Entry, promote

_DEFAULT_WIDTH = (int, float, complex, None)
_PYTHON_ENTRIES: Final[dict[bool, dict[type, Entry]]] = {
    x64: {
        kind: (wide if x64 else NARROW.get(wide, wide), kind is not bool)
        for kind, wide in WIDE_PYTHON.items()
    }
    for x64 in (False, True)
}
_warnings_given: dict[Any, Any] = {}
_times_warned = 0


def requested(x: Any, where: str) -> Any:
    """The dtype for a caller's ``dtype=x``, canonical, with a warning if it was narrowed.

    ``float`` and ``int`` ask for the default width; ``"float64"`` and ``np.float64`` ask for 64
    bits, which ``jax_explicit_x64_dtypes`` grants, refuses, or narrows with a warning.

    Args:
        x: anything that names a dtype.
        where: the function and argument, for messages: ``"jnp.zeros, argument dtype"``.

    Raises:
        TypeError: if `x` names no dtype that arrays may have.
        ValueError: if it asks for 64 bits that are refused.
    """
    wide = check_numeric(dtype(x), where)
    config = current()
    # Identity, because np.dtype("float64") == float holds.
    if wide not in NARROW or config.enable_x64 or any(x is kind for kind in _DEFAULT_WIDTH):
        return canonicalize(wide)
    if config.explicit_x64_dtypes == "allow":
        return wide
    if config.explicit_x64_dtypes == "error":
        raise ValueError(message(
            where,
            given=f"{wide}, while 64-bit types are off",
            expected=f"{NARROW[wide]}, or another dtype of at most 32 bits per real number",
            fix='Call jax.config.update("jax_enable_x64", True) at the start of the program.',
        ))  # fmt: skip
    _warn_narrowed(wide, where)
    return NARROW[wide]


def times_warned() -> int:
    """How often a warning told that a dtype was narrowed, or that imaginary parts are lost."""
    return _times_warned


def warn_of_lost_parts(where: str, given: Any, target: Any) -> None:
    """Warn that complex numbers become real ones, unless the user says so with ``x.real``."""
    text = message(
        where,
        given=f"complex numbers, {given}, for the dtype {target}",
        expected="real numbers: the imaginary parts are lost",
        fix="Take x.real or abs(x) first.",
    )
    _warn(text, np.exceptions.ComplexWarning)


def _warn(text: str, kind: type[Warning]) -> None:
    global _times_warned
    _times_warned += 1
    warn_user(text, _warnings_given, kind)


def _warn_narrowed(wide: Any, where: str) -> None:
    text = (
        f"{where}: {wide} becomes {NARROW[wide]} because 64-bit types are off. "
        'Turn them on with jax.config.update("jax_enable_x64", True), or set JAX_ENABLE_X64=1.'
    )
    _warn(text, UserWarning)


def check_numeric(d: Any, where: str) -> Any:
    """`d` itself if arrays may have this dtype.

    Raises:
        TypeError: for strings, objects, dates, foreign byte orders and the like.
    """
    if d in SCALARS or d == float0 or isinstance(d, ExtendedDType):
        return d
    raise TypeError(message(
        where,
        given=f"the dtype {d!r}",
        expected="a boolean, integer, real or complex dtype in native byte order",
        fix="Convert the data to such a dtype with NumPy first.",
    ))  # fmt: skip


def entry(x: Any) -> Entry:
    """The (dtype, weak) pair of one operand.

    Args:
        x: a Python scalar or its type, an array, tracer or abstract value, a NumPy array or
            scalar, or anything that names a dtype.

    Raises:
        TypeError: if `x` has no dtype that arrays may have.
    """
    kind = type(x)
    scalar = _PYTHON_ENTRIES[current().enable_x64].get(x if kind is type else kind)
    if scalar is not None:
        return scalar
    if hasattr(x, "aval"):
        return x.dtype, getattr(x, "weak_type", False)
    own = getattr(x, "dtype", None)  # the scalar types of morphax have one, those of NumPy none
    if (
        isinstance(x, (str, np.dtype, ExtendedDType))
        or x is None
        or (isinstance(x, type) and not isinstance(own, np.dtype))
    ):
        return requested(x, "result_type"), False
    if not isinstance(own, (np.dtype, ExtendedDType)):
        raise TypeError(message(
            "result_type",
            given=f"{x!r} of type {type(x).__name__}",
            expected="scalars, arrays and dtypes",
            fix="Convert lists and tuples with jnp.asarray first.",
        ))  # fmt: skip
    return canonicalize(check_numeric(own, "result_type")), bool(getattr(x, "weak_type", False))


@overload
def result_type(*args: Any, return_weak_type_flag: Literal[False] = False) -> Any: ...
@overload
def result_type(*args: Any, return_weak_type_flag: Literal[True]) -> Entry: ...


def result_type(*args: Any, return_weak_type_flag: bool = False) -> Any:
    """The dtype in which the arguments combine.

    Args:
        *args: scalars, arrays and dtypes, at least one.
        return_weak_type_flag: whether to return (dtype, weak) instead.

    Raises:
        TypePromotionError: if they do not combine.
        ValueError: if there are no arguments.

    Example:
        >>> import morphax as jax, morphax.numpy as jnp
        >>> jax.dtypes.result_type(jnp.zeros(3, "bfloat16"), 1.0)
        dtype(bfloat16)
    """
    if not args:
        raise ValueError(message(
            "result_type",
            given="no arguments",
            expected="at least one scalar, array or dtype",
            fix="Pass the operands.",
        ))  # fmt: skip
    result = promote(tuple(map(entry, args)))
    return result if return_weak_type_flag else result[0]


def promote_types(a: Any, b: Any) -> Any:
    """The dtype in which two dtypes combine, as ``jnp.promote_types``.

    Unlike `result_type` it does not narrow: ``float`` stands for a weak float, and a weak result
    for the 64-bit type.

    Args:
        a: anything that names a dtype.
        b: the same.

    Raises:
        TypePromotionError: if they do not combine.

    Example:
        >>> import morphax.numpy as jnp
        >>> jnp.promote_types(jnp.int32, jnp.bfloat16)
        dtype(bfloat16)
    """
    weak_kinds = (int, float, complex)
    pair = tuple((dtype(x), any(x is kind for kind in weak_kinds)) for x in (a, b))
    combined, weak = promote(pair)
    return dtype(scalar_type_of(combined)) if weak else combined
