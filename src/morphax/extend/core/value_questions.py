"""Questions about values, for interpreters of other people."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import index
from typing import Any

import numpy as np

from ... import dtypes
from ...core import Tracer, aval_of
from ...errors import (
    ConcretizationTypeError,
    InconclusiveDimensionOperation,
    TracerBoolConversionError,
)
from ...util.messages import message


def valid_jaxtype(x: Any) -> bool:
    """Whether `x` may be an operand.

    Example:
        >>> from morphax import core
        >>> core.valid_jaxtype(1.5), core.valid_jaxtype("text")
        (True, False)
    """
    try:
        aval_of(x)
    except (TypeError, OverflowError):
        return False
    return True


def concrete_or_error(
    force: Callable[[Any], Any] | None, val: Any, context: str | None = ""
) -> Any:
    """`val`, which must be known while tracing, converted by `force`.

    Args:
        force: `int`, `float`, `np.asarray`, …, or `None` to leave the value as it is.
        val: the value.
        context: what it is needed for.

    Raises:
        ConcretizationTypeError: if the value is traced.
    """
    concrete = val.concrete() if isinstance(val, Tracer) else val
    if concrete is None and isinstance(val, Tracer):
        raise _unknown(context or "concrete_or_error", val, ConcretizationTypeError)
    return concrete if force is None else force(concrete)


def concretization_function_error(
    fun: Callable[..., Any], suggest_astype: bool = False
) -> Callable[[Any, Tracer], Any]:
    """The error of `fun`, a conversion such as `bool`, as a function of its owner and a tracer.

    `suggest_astype` lets the text name the conversion by dtype, which can be traced.
    """
    error = TracerBoolConversionError if fun is bool else ConcretizationTypeError
    where = f"{getattr(fun, '__name__', fun)}()"
    fix = f"Say x.astype({fun.__name__}), or mark" if suggest_astype else "Mark"

    def refuse(self: Any, arg: Tracer) -> Any:
        raise _unknown(where, arg, error, f"{fix} the argument static in jit.")

    return refuse


def _unknown(
    where: str,
    tracer: Tracer,
    error: type[TypeError],
    fix: str = "Mark the argument static in jit.",
) -> TypeError:
    given = f"{tracer.origin()}{tracer.dependence()}, {tracer.aval.str_short()}"
    expected = "a concrete value, known while the function is traced"
    return error(message(where, given=given, expected=expected, fix=fix))


def primal_dtype_to_tangent_dtype(primal_dtype: Any) -> Any:
    """The dtype of tangents of values of a dtype: itself, `float0` for integers and booleans.

    Example:
        >>> import morphax.numpy as jnp
        >>> from morphax import core
        >>> core.primal_dtype_to_tangent_dtype(jnp.dtype("int32"))
        dtype([('float0', 'V')])
    """
    return dtypes.tangent_dtype(np.dtype(primal_dtype))


def is_constant_dim(d: Any) -> bool:
    """Whether the size of an axis is a number.

    Example:
        >>> from morphax import core, export
        >>> core.is_constant_dim(3), core.is_constant_dim(export.symbolic_shape("n")[0])
        (True, False)
    """
    try:
        index(d)
    except (TypeError, InconclusiveDimensionOperation):
        return False
    return True


def is_constant_shape(s: Sequence[Any]) -> bool:
    """Whether all sizes of a shape are numbers.

    Example:
        >>> from morphax import core
        >>> core.is_constant_shape((2, 3))
        True
    """
    return all(map(is_constant_dim, s))
