"""Functions and the points where their derivatives are special, for `test_special_points`.

They take the package as an argument, so that what JAX does can be recorded in the same words.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

_KINKS = np.array([3.0, -3.0, 6.0, 1.0, -1.0], np.float32)
_SIDES = np.array([np.inf, -np.inf], np.float32)
POINTS = np.concatenate(
    [
        np.array([0, -0.0, 1e-8, -1e-8, 1e-3, -1e-3, 0.5, -0.5, 1.5, -2.5], np.float32),
        _KINKS,
        *[np.nextafter(_KINKS, side) for side in _SIDES],
        np.array([np.inf, -np.inf, np.nan], np.float32),
    ]
)
_EPS = np.finfo(np.float32).eps
ROWS = np.array(
    [
        [0, 0, 0, 0], [1, 1, 1, 1], [-1, 1, -1, 1], [1, 2, 2, 0], [3, 1, 2, 0], [-1, -2, -3, -4],
        [0, 0, 2, 3], [1, 0, 2, 0], [-0.0, 0, 1, -1], [5, 5, 1, 1], [np.inf, 1, 2, 3],
        [np.inf, np.inf, 1, 2], [-np.inf, 1, 2, 3], [-np.inf, -np.inf, 1, 2], [np.nan, 1, 2, 3],
        [1, 2, np.nan, np.nan], [1, 1 + _EPS, 1, 1 - _EPS],
    ],
    np.float32,
)  # fmt: skip
MASK = np.array([True, True, False, True])
_WEIGHTS = np.array([1.0, 2.0, 3.0, 4.0], np.float32)
_NN = """relu relu6 sigmoid softplus soft_sign silu log_sigmoid hard_tanh hard_sigmoid hard_silu
    gelu elu celu selu leaky_relu mish"""
_LAX = """abs neg sign floor ceil round exp exp2 expm1 log log1p logistic sin cos tan asin acos atan
    sinh cosh tanh asinh acosh atanh sqrt rsqrt cbrt square reciprocal erf erfc erf_inv lgamma
    digamma bessel_i0e bessel_i1e"""
_JNP = "fabs trunc rint log2 log10 sinc nan_to_num angle deg2rad"
_SPECIAL = "ndtr gamma factorial i0 i1 logit entr"


def elementwise(jax: Any) -> dict[str, Callable[[Any], Any]]:
    """Functions of one number, by name."""
    jnp, nn = jax.numpy, jax.nn
    homes = [(nn, _NN), (jax.lax, _LAX), (jnp, _JNP), (jax.scipy.special, _SPECIAL)]
    named = {name: getattr(home, name) for home, names in homes for name in names.split()}
    powers = {f"power({p!r})": lambda x, p=p: jnp.power(x, p) for p in (0, 1, 2, 3, -1)}
    fractions = {f"power({p!r})": lambda x, p=p: jnp.power(x, p) for p in (0.0, 0.5, 1.0, 2.0)}
    return {
        **named,
        **powers,
        **fractions,
        "0 ** x": lambda x: jnp.power(0.0, x),
        "2 ** x": lambda x: jnp.power(2.0, x),
        "gelu exact": lambda x: nn.gelu(x, approximate=False),
        "clip": lambda x: jnp.clip(x, 0.0, 1.0),
        "clamp": lambda x: jax.lax.clamp(-1.0, x, 1.0),
        "maximum": lambda x: jnp.maximum(x, 0.0),
        "minimum": lambda x: jnp.minimum(6.0, x),
        "fmax": lambda x: jnp.fmax(x, 0.0),
        "where": lambda x: jnp.where(x > 0, jnp.sqrt(x), 0.0),
        "mod": lambda x: jnp.mod(x, 1.0),
        "fmod": lambda x: jnp.fmod(x, 1.0),
        "modf": lambda x: jnp.modf(x)[0],
        "logaddexp": lambda x: jnp.logaddexp(x, 0.0),
        "polygamma": lambda x: jax.scipy.special.polygamma(1, x),
        "interp": lambda x: jnp.interp(x, jnp.array([0.0, 1.0, 3.0]), jnp.array([0.0, 2.0, 1.0])),
    }


def reductions(jax: Any) -> dict[str, Callable[[Any], Any]]:
    """Functions of a vector, by name."""
    jnp, nn, lax = jax.numpy, jax.nn, jax.lax
    plain = """sum mean var std prod max min ptp nansum nanmean nanvar nanprod nanmax nanmin median
        nanmedian cumsum cumprod sort"""
    table: dict[str, Callable[[Any], Any]] = {name: getattr(jnp, name) for name in plain.split()}
    for name in ("sum", "mean", "var", "std", "prod", "nanvar", "nanmean"):
        table[f"{name} where"] = functools.partial(getattr(jnp, name), where=MASK)
    for name in ("max", "min", "nanmax", "nanmin"):
        table[f"{name} initial"] = functools.partial(getattr(jnp, name), initial=1.0)
        table[f"{name} where"] = functools.partial(getattr(jnp, name), where=MASK, initial=1.0)
    for order in (None, 0, 1, 2, 3, -1, 0.5, np.inf, -np.inf):
        table[f"norm {order}"] = lambda x, order=order: jnp.linalg.norm(x, ord=order)
    for order in ("fro", 1, -1, np.inf, -np.inf):
        table[f"matrix norm {order}"] = lambda x, order=order: jnp.linalg.norm(
            x.reshape(2, 2), ord=order
        )
    for fraction in (0.25, 0.5, 1 / 3):
        table[f"quantile {fraction:.2f}"] = lambda x, q=fraction: jnp.quantile(x, q)
    for name in ("softmax", "log_softmax", "logsumexp", "logmeanexp", "standardize"):
        table[name] = getattr(nn, name)
        table[f"{name} where"] = functools.partial(getattr(nn, name), where=MASK)
    for name in ("cumsum", "cumprod", "cummax", "cummin", "cumlogsumexp"):
        table[f"{name} reverse"] = functools.partial(getattr(lax, name), reverse=True)
    table["cummax"] = lax.cummax
    table["cumlogsumexp"] = lax.cumlogsumexp
    table["top_k"] = lambda x: lax.top_k(x, 2)[0]
    return table


def slopes(jax: Any, function: Callable[[Any], Any]) -> Callable[[Any], list[Any]]:
    """x → f′(x) and f″(x) of an elementwise function, each forward and in reverse."""

    def forward(f: Any) -> Any:
        return lambda x: jax.jvp(f, (x,), (jax.numpy.ones_like(x),))[1]

    def reverse(f: Any) -> Any:
        return lambda x: jax.vjp(f, x)[1](jax.numpy.ones_like(x))[0]

    maps = (forward(function), reverse(function))
    return lambda x: [maps[0](x), maps[1](x), forward(maps[0])(x), reverse(maps[1])(x)]


def gradients(jax: Any, function: Callable[[Any], Any]) -> Callable[[Any], list[Any]]:
    """Rows → gradient and Hessian of a weighted sum of the results, forward and in reverse."""

    def of_row(row: Any) -> list[Any]:
        def total(x: Any) -> Any:
            out = jax.numpy.ravel(function(x))
            return jax.numpy.dot(out, jax.numpy.asarray(_WEIGHTS, out.dtype)[: out.size])

        return [
            jax.jacfwd(total)(row),
            jax.grad(total)(row),
            jax.jacfwd(jax.grad(total))(row),
            jax.jacrev(jax.grad(total))(row),
        ]

    return jax.vmap(of_row)
