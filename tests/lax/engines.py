"""Operations on both engines, for tests of the values that case tables cannot say."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import ml_dtypes
import numpy as np

from morphax import enable_x64, jit, lax


def array(values: Any, dtype: str) -> np.ndarray[Any, Any]:
    """A NumPy array of any dtype, by way of one that NumPy can read numbers into."""
    target = np.dtype(getattr(ml_dtypes, dtype, dtype))
    with np.errstate(all="ignore"):
        return np.asarray(values, None if target.kind == "V" else target).astype(target)


def pairs(values: np.ndarray[Any, Any]) -> list[np.ndarray[Any, Any]]:
    """Two arrays with all pairs of `values`."""
    return [np.ascontiguousarray(x).ravel() for x in np.meshgrid(values, values, indexing="ij")]


def complex_array(parts: Iterable[float], dtype: str = "complex64") -> np.ndarray[Any, Any]:
    """All complex numbers with such real and imaginary parts."""
    parts = list(parts)
    return np.array([complex(x, y) for x in parts for y in parts], dtype)


def check_engines_agree(
    function: Callable[..., Any], *operands: Any, rtol: float = 0.0, zeros: bool = True
) -> np.ndarray[Any, Any]:
    """The result of `function` on the reference engine, after `check_all_agree`."""
    return check_all_agree({"result": function}, *operands, rtol=rtol, zeros=zeros)["result"]


def check_all_agree(
    functions: Mapping[str, Callable[..., Any]] | Iterable[str],
    *operands: Any,
    rtol: float = 0.0,
    zeros: bool = True,
) -> dict[str, np.ndarray[Any, Any]]:
    """Both engines give the same numbers, NaN, infinities and (if `zeros`) signs of zeros.

    Args:
        functions: of `operands`, each with one result, or names of functions of `lax`; they are
            compiled as one program.
        operands: NumPy arrays.
        rtol: relative tolerance for finite numbers.
        zeros: whether the signs of zeros must agree.

    Returns:
        The results of the reference engine.
    """
    if not isinstance(functions, Mapping):
        functions = {name: getattr(lax, name) for name in functions}
    with enable_x64(True):
        eager = [function(*operands) for function in functions.values()]
        compiled = jit(lambda *xs: [f(*xs) for f in functions.values()])(*operands)
        # Of known operands the compiler computes the results, by code of another kind.
        folded = jit(lambda: [f(*operands) for f in functions.values()])()
    results = {}
    for name, e, c, k in zip(functions, eager, compiled, folded, strict=True):
        assert e.aval is c.aval, f"{name}: {e.aval} is not {c.aval}"
        _check_equal(name, e.to_host(), c.to_host(), rtol, zeros=zeros)
        _check_equal(f"{name} of constants", e.to_host(), k.to_host(), rtol, zeros=zeros)
        results[name] = e.to_host()
    return results


def _check_equal(name: str, eager: Any, compiled: Any, rtol: float, *, zeros: bool) -> None:
    assert eager.dtype == compiled.dtype
    if eager.dtype.kind in "biu" or eager.dtype.name.startswith(("int", "uint")):
        np.testing.assert_array_equal(eager, compiled, err_msg=name)
        return
    is_complex = eager.dtype.kind == "c"
    with np.errstate(all="ignore"):
        given, expected = (x.astype("c16" if is_complex else "f8") for x in (eager, compiled))
    for part in ("real", "imag"):
        g, e = getattr(given, part), getattr(expected, part)
        np.testing.assert_allclose(g, e, rtol, atol=rtol if is_complex else 0, err_msg=name)
        if zeros:
            both = (g == 0) & (e == 0)
            np.testing.assert_array_equal(np.signbit(g[both]), np.signbit(e[both]), err_msg=name)
