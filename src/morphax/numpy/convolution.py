"""Convolution and correlation of vectors."""

from __future__ import annotations

from typing import Any

from .. import lax
from ..engines.reference.replay import replayed
from ..lax.elementwise.convert import convert
from ..util.messages import message
from .complex_numbers import conjugate
from .operands import as_array, inexact_type

_MODES = ("full", "same", "valid")


@replayed(2)
def convolve(
    a: Any,
    v: Any,
    mode: str = "full",
    *,
    precision: Any = None,
    preferred_element_type: Any = None,
) -> Any:
    """Σₖ a[k] v[n − k].

    Args:
        a, v: vectors.
        mode: which n: ``"full"`` where they overlap at all, ``"valid"`` where they do so
            entirely, ``"same"`` as many as the longer one has elements, in the middle.
        precision: how exactly an accelerator multiplies.
        preferred_element_type: dtype of the sums and of the result.

    Example:
        >>> import morphax.numpy as jnp
        >>> jnp.convolve(jnp.array([1.0, 2.0, 3.0]), jnp.array([1.0, 1.0]))
        Array([1., 3., 5., 3.], dtype=float32)
    """
    a, v = _operands("convolve", a, v, mode)
    if a.aval.size < v.aval.size:
        a, v = v, a
    return _slid(a, lax.rev(v, (0,)), mode, precision, preferred_element_type)


@replayed(2)
def correlate(
    a: Any,
    v: Any,
    mode: str = "valid",
    *,
    precision: Any = None,
    preferred_element_type: Any = None,
) -> Any:
    """Σₖ a[n + k] v̄[k]; arguments as those of `convolve`.

    Example:
        >>> import morphax.numpy as jnp
        >>> jnp.correlate(jnp.array([0, 1, 2, 0]), jnp.array([1, 2]))
        Array([2., 5., 2.], dtype=float32)
    """
    a, v = _operands("correlate", a, v, mode)
    if a.aval.size >= v.aval.size:
        return _slid(a, conjugate(v), mode, precision, preferred_element_type)
    swapped = _slid(v, conjugate(a), mode, precision, preferred_element_type)
    return conjugate(lax.rev(swapped, (0,)))


def _operands(name: str, a: Any, v: Any, mode: str) -> tuple[Any, Any]:
    a, v = as_array(name, a), as_array(name, v)
    dtype, weak = inexact_type(name, a, v)
    a, v = convert(a, dtype, weak), convert(v, dtype, weak)
    vectors = a.aval.ndim == v.aval.ndim == 1
    if vectors and a.aval.size and v.aval.size and mode in _MODES:
        return a, v
    raise ValueError(
        message(
            f"jnp.{name}",
            given=f"{a.aval} and {v.aval}, mode={mode!r}",
            expected=f"two vectors, not empty, and a mode of {_MODES}",
            fix="Map over further axes with vmap, or use lax.conv_general_dilated.",
        )
    )


def _slid(a: Any, v: Any, mode: str, precision: Any, preferred: Any) -> Any:
    """Products of `a` with the shorter `v`, laid at each place."""
    size = v.aval.size
    low = {"full": size - 1, "same": size // 2, "valid": 0}[mode]
    high = size - 1 - low if mode == "same" else low
    result = lax.conv_general_dilated(
        lax.expand_dims(a, (0, 1)),
        lax.expand_dims(v, (0, 1)),
        window_strides=(1,),
        padding=[(low, high)],
        precision=precision,
        preferred_element_type=preferred,
    )
    return lax.squeeze(result, (0, 1))
