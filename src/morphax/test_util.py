"""`jax.test_util`: derivatives against finite differences.

A directional derivative is compared with the central difference (f(x + εv/2) − f(x − εv/2)) / ε in
a random direction v; a pullback with the directional derivative by ⟨ȳ, ∂f v⟩ = ⟨∂fᵀ ȳ, v⟩.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from . import dtypes, tree
from .core import aval_of
from .transforms.derivatives import jvp, vjp
from .util.messages import message

# Tolerances and steps of the difference, by the bytes of the least exact dtype that takes part: the
# error of a central difference is about precision / step + step².
Tolerance = float | Mapping[Any, float] | None
"""One number, or one by dtype."""

_TOLERANCE = {2: 1e-1, 4: 2e-3, 8: 1e-5}
_STEPS = {2: 1e-1, 4: 1e-3, 8: 1e-4}
_STEP = 1e-4
# A few units in the last place: what results of the same formula differ by.
_ROUNDING = {
    kind: 8 * float(dtypes.finfo(kind).eps)
    for kind in ("float16", "bfloat16", "float32", "float64", "complex64", "complex128")
}


def check_grads(
    f: Callable[..., Any],
    args: Sequence[Any],
    order: int,
    modes: Sequence[str] = ("fwd", "rev"),
    atol: Tolerance = None,
    rtol: Tolerance = None,
    eps: float | None = None,
) -> None:
    """Check derivatives of `f` up to an order against finite differences.

    Args:
        f: function of arrays or trees.
        args: its arguments, where derivatives are taken.
        order: highest order to check.
        modes: ``"fwd"`` for `jvp`, ``"rev"`` for `vjp`, or both.
        atol, rtol: tolerances, a number or a dictionary from dtypes to numbers; by default those of
            the dtype.
        eps: step of the difference, by default that of the dtype.

    Raises:
        AssertionError: a derivative is wrong.
        ValueError: `modes` names another mode.

    Example:
        >>> import morphax.numpy as jnp
        >>> from morphax.test_util import check_grads
        >>> check_grads(jnp.sin, (1.0,), order=1)
    """
    modes = (modes,) if isinstance(modes, str) else tuple(modes)
    unknown = set(modes) - {"fwd", "rev"}
    if unknown:
        raise ValueError(
            message(
                "test_util.check_grads, argument modes",
                given=f"{sorted(unknown)}",
                expected="'fwd' and 'rev'",
                fix="Pass modes=('fwd', 'rev') or one of them.",
            )
        )
    args = tuple(args)
    step = _STEPS.get(_least_bytes(args), _STEP) if eps is None else eps
    _check(f, args, order, modes, (atol, rtol, step), f"derivatives of {f!r}")


def _check(
    f: Callable[..., Any],
    args: tuple[Any, ...],
    order: int,
    modes: tuple[str, ...],
    tolerances: tuple[Tolerance, Tolerance, float],
    label: str,
) -> None:
    if order < 1:
        return
    tangents = _random_like(args, 0)
    if "fwd" in modes:
        text = f"{label}, forward"
        forward = functools.partial(jvp, f)
        check_jvp(f, forward, args, *tolerances, text)
        _check(lambda *x: forward(x, tangents)[1], args, order - 1, modes, tolerances, text)
    if "rev" in modes:
        text = f"{label}, reverse"
        check_vjp(f, functools.partial(vjp, f), args, *tolerances, text)
        cotangent = _random_like(f(*args), 1)
        _check(lambda *x: vjp(f, *x)[1](cotangent), args, order - 1, modes, tolerances, text)


def check_jvp(
    f: Callable[..., Any],
    f_jvp: Callable[..., Any],
    args: Sequence[Any],
    atol: Tolerance = None,
    rtol: Tolerance = None,
    eps: float = _STEP,
    err_msg: str = "",
) -> None:
    """Check a directional derivative against a finite difference.

    Args:
        f: function of arrays or trees.
        f_jvp: ``(primals, tangents)`` → (result, tangent), such as ``partial(jvp, f)``.
        args: where the derivative is taken.
        atol, rtol: tolerances, a number or a dictionary from dtypes to numbers; by default those of
            the dtype.
        eps: step of the difference.
        err_msg: text put before the error.

    Raises:
        AssertionError: the derivative is wrong.

    Example:
        >>> from functools import partial
        >>> import morphax as jax, morphax.numpy as jnp
        >>> from morphax.test_util import check_jvp
        >>> check_jvp(jnp.sin, partial(jax.jvp, jnp.sin), (1.0,))
    """
    args = tuple(args)
    tangents = _random_like(args, 0)
    value, tangent = f_jvp(args, tangents)
    _assert_close(value, f(*args), atol, rtol, f"{err_msg} value of f_jvp")
    numeric = _difference(f, args, tangents, eps)
    _assert_close(tangent, numeric, atol, rtol, f"{err_msg} tangent of f_jvp")


def check_vjp(
    f: Callable[..., Any],
    f_vjp: Callable[..., Any],
    args: Sequence[Any],
    atol: Tolerance = None,
    rtol: Tolerance = None,
    eps: float = _STEP,
    err_msg: str = "",
) -> None:
    """Check a pullback against a finite difference.

    Args:
        f: function of arrays or trees.
        f_vjp: arguments → (result, pullback), such as ``partial(vjp, f)``.
        args: where the derivative is taken.
        atol, rtol: tolerances, a number or a dictionary from dtypes to numbers; by default those of
            the dtype.
        eps: step of the difference.
        err_msg: text put before the error.

    Raises:
        AssertionError: the pullback is wrong.

    Example:
        >>> from functools import partial
        >>> import morphax as jax, morphax.numpy as jnp
        >>> from morphax.test_util import check_vjp
        >>> check_vjp(jnp.sin, partial(jax.vjp, jnp.sin), (1.0,))
    """
    args = tuple(args)
    value, pullback = f_vjp(*args)
    _assert_close(value, f(*args), atol, rtol, f"{err_msg} value of f_vjp")
    tangents = _random_like(args, 0)
    cotangent = _random_like(value, 1)
    expected = _inner(cotangent, _difference(f, args, tangents, eps))
    given = _inner(pullback(cotangent), tangents)
    coarsest = _coarsest((args, value))
    relative, absolute = _limit(rtol, coarsest), _limit(atol, coarsest)
    np.testing.assert_allclose(
        given, expected, relative, absolute, err_msg=f"{err_msg} cotangents of f_vjp"
    )


def check_close(
    xs: Any, ys: Any, atol: Tolerance = None, rtol: Tolerance = None, err_msg: str = ""
) -> None:
    """Raise `AssertionError` unless the leaves of two trees are of equal shapes and close.

    Args:
        xs, ys: trees of as many leaves.
        atol, rtol: |x − y| ≤ atol + rtol |y|, one number or one by dtype; by default a few units in
            the last place.
        err_msg: what the error begins with.

    Example:
        >>> import morphax.numpy as jnp
        >>> from morphax.test_util import check_close
        >>> check_close({"a": jnp.float32(0.3)}, {"a": jnp.float32(0.1) * 3})
        >>> check_close(1.0, 1.1)
        Traceback (most recent call last):
            ...
        AssertionError: ...
    """
    for (path, x), y in zip(tree.leaves_with_path(xs), tree.leaves(ys), strict=True):
        if np.shape(x) != np.shape(y):
            shapes = f"shapes {np.shape(x)} and {np.shape(y)} differ"
            raise AssertionError(f"{err_msg}{tree.keystr(path)}: {shapes}")
    absolute, relative = (_ROUNDING if t is None else t for t in (atol, rtol))
    _assert_close(xs, ys, absolute, relative, err_msg)


def _random_like(x: Any, seed: int) -> Any:
    """Random tangents of a tree of values, `float0` for integers."""
    generator = np.random.default_rng(seed)

    def tangent(leaf: Any) -> Any:
        aval = aval_of(leaf).to_tangent_aval()
        if aval.dtype == dtypes.float0:
            return np.zeros(aval.shape, dtypes.float0)
        # None is small, for a wrong derivative would go unnoticed.
        signs = generator.choice([-1.0, 1.0], (2, *aval.shape))
        numbers = signs * generator.uniform(0.5, 1.5, (2, *aval.shape))
        is_complex = dtypes.issubdtype(aval.dtype, np.complexfloating)
        values = numbers[0] + 1j * numbers[1] if is_complex else numbers[0]
        return np.asarray(values).astype(aval.dtype)

    return tree.map(tangent, x)


def _difference(f: Callable[..., Any], args: tuple[Any, ...], tangents: Any, eps: float) -> Any:
    def moved(scale: float) -> Any:
        return f(*tree.map(lambda x, t: _moved(x, t, scale), args, tangents))

    return tree.map(
        lambda above, below: (_wide(above) - _wide(below)) / eps, moved(eps / 2), moved(-eps / 2)
    )


def _moved(x: Any, t: Any, scale: float) -> Any:
    if t.dtype == dtypes.float0:
        return x
    return (_wide(x) + scale * _wide(t)).astype(aval_of(x).dtype)


def _wide(x: Any) -> Any:
    array = np.asarray(x)
    if array.dtype == dtypes.float0:
        return np.zeros(array.shape)
    is_complex = dtypes.issubdtype(array.dtype, np.complexfloating)
    return array.astype(np.complex128 if is_complex else np.float64)


def _least_bytes(x: Any) -> int:
    """The bytes of a real number of the least exact dtype in a tree."""
    return _real_bytes(_coarsest(x))


def _coarsest(x: Any) -> Any:
    """The least exact dtype in a tree."""
    kinds = [aval_of(leaf).dtype for leaf in tree.leaves(x)]
    inexact = [d for d in kinds if dtypes.issubdtype(d, np.inexact)]
    return min(inexact, key=_real_bytes, default=np.dtype(np.float64))


def _real_bytes(dtype: Any) -> int:
    return int(dtype.itemsize) // (2 if dtypes.issubdtype(dtype, np.complexfloating) else 1)


def _inner(x: Any, y: Any) -> Any:
    """Re Σ x y over all leaves that have tangents."""
    pairs = zip(tree.leaves(x), tree.leaves(y), strict=True)
    return sum([np.sum(_wide(a) * _wide(b)).real for a, b in pairs])


def _limit(tolerance: Tolerance, dtype: Any) -> float:
    """The tolerance for numbers of `dtype`: given for all, for the dtype, or by default."""
    by_dtype = tolerance if isinstance(tolerance, Mapping) else {}
    given = {dtypes.dtype(key): value for key, value in by_dtype.items()}.get(dtype)
    if given is None and isinstance(tolerance, (int, float)):
        return tolerance
    if given is None and not dtypes.issubdtype(dtype, np.inexact):
        return 0.0
    return _TOLERANCE.get(_real_bytes(dtype), _TOLERANCE[2]) if given is None else given


def _assert_close(given: Any, expected: Any, atol: Tolerance, rtol: Tolerance, label: str) -> None:
    for (path, x), y in zip(tree.leaves_with_path(given), tree.leaves(expected), strict=True):
        array = np.asarray(x)
        if array.dtype == dtypes.float0:
            continue
        relative, absolute = _limit(rtol, array.dtype), _limit(atol, array.dtype)
        np.testing.assert_allclose(
            _wide(x), _wide(y), relative, absolute, err_msg=f"{label}{tree.keystr(path)}"
        )
