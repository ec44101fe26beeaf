"""Calls of random functions whose results in JAX 0.10.1 are recorded in ``golden.npz``.

`record_golden` makes the file, with an interpreter that has JAX; `test_golden` compares.  The calls
use nothing but NumPy and the module `random` they are given.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, final

import numpy as np

GOLDEN = Path(__file__).with_name("golden.npz")
INTEGERS = ("int8", "uint8", "int16", "uint16", "int32", "uint32")
FLOATS = ("float32", "float16", "bfloat16")


@final
@dataclass(frozen=True)
class GoldenCall:
    """One recorded call.

    Args:
        label: unique; the name of the record.
        draw: of the module `random`.
        ulps: how far numbers may be from the record, in units of the last place of 1/8 plus the
            number's magnitude; 0 for equality.
        x64: whether the call was made with 64-bit types.
    """

    label: str
    draw: Callable[[Any], Any]
    ulps: float = 0.0
    x64: bool = False


def _f32(*values: float) -> np.ndarray[Any, Any]:
    return np.array(values, np.float32)


def _keys() -> list[GoldenCall]:
    seeds = (0, 1, -1, 2**31, -(2**31), 2**32 - 1, 2**40 + 5, np.int64(2**40 + 5), np.uint8(200))
    calls = [
        GoldenCall(f"key {s!r} x64={x64}", lambda r, s=s: r.key(s), x64=x64)
        for s in (*seeds, np.int8(-3), np.int32(-3), np.uint32(2**31 + 3), True)
        for x64 in (False, True)
    ]
    return [
        *calls,
        GoldenCall("PRNGKey", lambda r: r.PRNGKey(42)),
        GoldenCall("split", lambda r: r.split(r.key(1), 40)),
        GoldenCall("split shape", lambda r: r.split(r.key(1), (2, 3))),
        GoldenCall("split raw", lambda r: r.split(r.PRNGKey(1))),
        GoldenCall("fold_in", lambda r: r.fold_in(r.key(1), 77)),
        GoldenCall("fold_in large", lambda r: r.fold_in(r.key(1), 2**32 - 1)),
        GoldenCall("fold_in negative", lambda r: r.fold_in(r.key(1), np.int32(-1))),
        GoldenCall("fold_in raw", lambda r: r.fold_in(r.PRNGKey(1), 77)),
        GoldenCall("clone", lambda r: r.clone(r.key(3))),
    ]


def _bits() -> list[GoldenCall]:
    dtypes = ("uint8", "uint16", "uint32", "uint64")
    return [
        *[
            GoldenCall(f"bits {d}", lambda r, d=d: r.bits(r.key(2), (5, 7), d), x64=True)
            for d in dtypes
        ],
        GoldenCall("bits scalar", lambda r: r.bits(r.key(2))),
        GoldenCall("bits empty", lambda r: r.bits(r.key(2), (3, 0))),
        GoldenCall("bits raw", lambda r: r.bits(r.PRNGKey(2), (4,))),
        GoldenCall("bits default", lambda r: r.bits(r.key(2), (4,)), x64=True),
    ]


def _uniform() -> list[GoldenCall]:
    eights = ("float8_e4m3fn", "float8_e5m2")
    return [
        *[
            GoldenCall(f"uniform {d}", lambda r, d=d: r.uniform(r.key(3), (40,), d))
            for d in (*FLOATS, *eights)
        ],
        GoldenCall("uniform float64", lambda r: r.uniform(r.key(3), (40,)), x64=True),
        # Compiled, the product and the sum are rounded once; operation by operation, twice.
        GoldenCall(
            "uniform bounds", lambda r: r.uniform(r.key(3), (40,), minval=-3.0, maxval=7.0), 4
        ),
        GoldenCall(
            "uniform arrays",
            lambda r: r.uniform(r.key(3), (9, 3), None, _f32(0, 1, 2), _f32(1, 3, 1)),
            8,
        ),
        GoldenCall("bernoulli", lambda r: r.bernoulli(r.key(4), 0.3, (60,))),
        GoldenCall("bernoulli p", lambda r: r.bernoulli(r.key(4), _f32(0, 0.5, 1), (9, 3))),
        GoldenCall(
            "bernoulli high", lambda r: r.bernoulli(r.key(4), _f32(0.1, 0.9), (9, 2), mode="high")
        ),
        GoldenCall("bernoulli float64", lambda r: r.bernoulli(r.key(4), 0.3, (60,)), x64=True),
        *[
            GoldenCall(f"rademacher {d}", lambda r, d=d: r.rademacher(r.key(5), (30,), d))
            for d in ("int8", "int32", "float32", "complex64", "uint8")
        ],
    ]


def _randint() -> list[GoldenCall]:
    bounds = ((0, 10), (0, 100_000), (-5, 5), (3, 3), (0, 256), (-300, 300), (0, 1 << 16))
    wide = ((0, 10), (-(2**62), 2**62), (0, 10**12))
    low, high = np.array([-3, 0, 100], np.int32), np.array([[7]], np.int8)
    return [
        *[
            GoldenCall(
                f"randint {d} {a} {b}", lambda r, a=a, b=b, d=d: r.randint(r.key(6), (20,), a, b, d)
            )
            for d in INTEGERS
            for a, b in bounds
        ],
        *[
            GoldenCall(
                f"randint int64 {a} {b}",
                lambda r, a=a, b=b: r.randint(r.key(6), (20,), a, b),
                x64=True,
            )
            for a, b in wide
        ],
        *[
            GoldenCall(
                f"randint {d} arrays", lambda r, d=d: r.randint(r.key(6), (9, 3), low, high, d)
            )
            for d in INTEGERS
        ],
        GoldenCall(
            "randint beyond",
            lambda r: r.randint(r.key(6), (20,), np.int32(3), np.uint32(2**32 - 1), "int32"),
        ),
        GoldenCall(
            "randint float bounds", lambda r: r.randint(r.key(6), (9, 2), _f32(0.5, 2), 7.9)
        ),
    ]


def _continuous() -> list[GoldenCall]:
    names = ("normal", "exponential", "gumbel", "laplace", "logistic", "cauchy", "maxwell")
    # float16 is computed in float32 and rounded after each operation, or after several at once.
    ulps = {"float32": 40, "float16": 8, "bfloat16": 2}
    return [
        *[
            GoldenCall(
                f"{name} {d}",
                lambda r, name=name, d=d: getattr(r, name)(r.key(7), (40,), d),
                ulps[d],
            )
            for name in names
            for d in FLOATS
        ],
        *[
            GoldenCall(
                f"{name} float64",
                lambda r, name=name: getattr(r, name)(r.key(7), (40,)),
                200,  # XLA's log1p is good to about so many
                x64=True,
            )
            for name in names
        ],
        GoldenCall("normal complex64", lambda r: r.normal(r.key(7), (20,), "complex64"), 40),
        GoldenCall("gumbel high", lambda r: r.gumbel(r.key(7), (40,), mode="high"), 40),
        GoldenCall(
            "truncated_normal", lambda r: r.truncated_normal(r.key(8), -1.0, 0.5, (40,)), 100
        ),
        GoldenCall(
            "truncated_normal arrays",
            lambda r: r.truncated_normal(r.key(8), -1, _f32(0, 1, 2), (9, 3)),
            100,
        ),
    ]


def _with_parameters() -> list[GoldenCall]:
    p = _f32(0.5, 1.0, 2.5)
    return [
        GoldenCall("lognormal", lambda r: r.lognormal(r.key(9), p, (9, 3)), 60),
        GoldenCall("pareto", lambda r: r.pareto(r.key(9), p, (9, 3)), 40),
        GoldenCall("rayleigh", lambda r: r.rayleigh(r.key(9), p), 40),
        GoldenCall("weibull_min", lambda r: r.weibull_min(r.key(9), p, 2.0, (9, 3)), 40),
        GoldenCall("triangular", lambda r: r.triangular(r.key(9), 0.0, p, 3.0, (9, 3)), 40),
        GoldenCall("geometric", lambda r: r.geometric(r.key(9), p / 4, (9, 3))),
        GoldenCall("geometric int8", lambda r: r.geometric(r.key(9), 0.3, (9,), "int8")),
        GoldenCall("wald", lambda r: r.wald(r.key(9), p, (9, 3)), 100),
        GoldenCall(
            "double_sided_maxwell", lambda r: r.double_sided_maxwell(r.key(9), 0.1, p, (5,)), 40
        ),
    ]


def _choices() -> list[GoldenCall]:
    table = np.arange(12, dtype=np.float32).reshape(4, 3)
    p = _f32(0.1, 0.0, 0.6, 0.3)
    logits = np.log(np.arange(1, 13, dtype=np.float32).reshape(3, 4))
    return [
        GoldenCall("permutation", lambda r: r.permutation(r.key(10), 50)),
        GoldenCall("permutation of few", lambda r: r.permutation(r.key(10), 1)),
        GoldenCall("permutation twice", lambda r: r.permutation(r.key(10), 1700)[:50]),
        GoldenCall("permutation rows", lambda r: r.permutation(r.key(10), table)),
        GoldenCall("permutation columns", lambda r: r.permutation(r.key(10), table, axis=-1)),
        GoldenCall(
            "permutation independent",
            lambda r: r.permutation(r.key(10), table, axis=1, independent=True),
        ),
        GoldenCall("choice", lambda r: r.choice(r.key(11), 5, (20,))),
        GoldenCall("choice one", lambda r: r.choice(r.key(11), 5)),
        GoldenCall("choice columns", lambda r: r.choice(r.key(11), table, (2, 2), axis=1)),
        GoldenCall("choice different", lambda r: r.choice(r.key(11), 9, (2, 3), replace=False)),
        GoldenCall("choice rows", lambda r: r.choice(r.key(11), table, (3,), replace=False)),
        GoldenCall("choice p", lambda r: r.choice(r.key(11), 4, (30,), p=p)),
        GoldenCall("choice p rows", lambda r: r.choice(r.key(11), table, (5,), p=p)),
        GoldenCall(
            "choice p different", lambda r: r.choice(r.key(11), 4, (3,), replace=False, p=p)
        ),
        GoldenCall("categorical", lambda r: r.categorical(r.key(12), logits)),
        GoldenCall("categorical many", lambda r: r.categorical(r.key(12), logits, shape=(20, 3))),
        GoldenCall("categorical axis", lambda r: r.categorical(r.key(12), logits, 0, (20, 4))),
        GoldenCall(
            "categorical high",
            lambda r: r.categorical(r.key(12), logits, shape=(9, 3), mode="high"),
        ),
        GoldenCall(
            "categorical different",
            lambda r: r.categorical(r.key(12), logits, 0, (2, 4), replace=False),
        ),
    ]


def _matrices() -> list[GoldenCall]:
    mean = np.arange(6, dtype=np.float32).reshape(2, 1, 3)
    roots = np.cos(np.arange(36, dtype=np.float32)).reshape(4, 3, 3)
    cov = roots @ roots.swapaxes(1, 2) + np.eye(3, dtype=np.float32)
    methods = ("cholesky", "eigh", "svd")
    sizes = ((3, None, "float32"), (3, 5, "float32"), (5, 3, "float32"), (3, 5, "complex64"))
    return [
        *[
            GoldenCall(
                f"multivariate_normal {m}",
                lambda r, m=m: r.multivariate_normal(r.key(15), mean, cov, (5, 2, 4), method=m),
                500,  # of sums that cancel
            )
            for m in methods
        ],
        GoldenCall(
            "multivariate_normal float64",
            lambda r: r.multivariate_normal(r.key(15), mean, cov.astype("float64")),
            200,
            x64=True,
        ),
        *[
            GoldenCall(
                f"orthogonal {n} {m} {d}",
                lambda r, n=n, m=m, d=d: r.orthogonal(r.key(15), n, (4,), d, m),
                100,
            )
            for n, m, d in sizes
        ],
    ]


def _gamma_and_counts() -> list[GoldenCall]:
    a = _f32(0.01, 0.3, 1.0, 2.5, 50.0)
    lam = _f32(0.0, 0.3, 5.0, 12.0, 50.0)
    trials, p = _f32(0, 3, 10, 40, 1000), _f32(0.1, 0.5, 0.9).reshape(3, 1)
    unusual = _f32(5, np.nan, -1, 10, 30, np.inf), _f32(0.3, 0.5, 0.5, np.nan, 0.5, 0.2)
    shares = _f32(0.1, 0.5, 0.4, 0.3, 0.3, 0.4).reshape(2, 3)
    return [
        GoldenCall("gamma", lambda r: r.gamma(r.key(13), a, (9, 5)), 40),
        GoldenCall("gamma float16", lambda r: r.gamma(r.key(13), a, (9, 5), "float16"), 16),
        GoldenCall("gamma float64", lambda r: r.gamma(r.key(13), a, (9, 5)), 200, x64=True),
        GoldenCall("loggamma", lambda r: r.loggamma(r.key(13), a, (9, 5)), 40),
        GoldenCall("beta", lambda r: r.beta(r.key(13), a, 0.5, (9, 5)), 40),
        GoldenCall("dirichlet", lambda r: r.dirichlet(r.key(13), a, (4,)), 40),
        GoldenCall("chisquare", lambda r: r.chisquare(r.key(13), a, (9, 5)), 60),
        GoldenCall("t", lambda r: r.t(r.key(13), a, (9, 5)), 60),
        GoldenCall("f", lambda r: r.f(r.key(13), a, a[::-1].copy()), 100),
        GoldenCall("generalized_normal", lambda r: r.generalized_normal(r.key(13), 3.0, (9,)), 40),
        GoldenCall("ball", lambda r: r.ball(r.key(13), 4, 3, (9,)), 40),
        GoldenCall("poisson", lambda r: r.poisson(r.key(14), lam, (9, 5))),
        GoldenCall("poisson int8", lambda r: r.poisson(r.key(14), 7.0, (9,), "int8")),
        GoldenCall("poisson many", lambda r: r.poisson(r.key(14), 30.0, (40,))),
        GoldenCall("binomial", lambda r: r.binomial(r.key(14), trials, p, (3, 3, 5))),
        GoldenCall("binomial unusual", lambda r: r.binomial(r.key(14), *unusual)),
        GoldenCall("multinomial", lambda r: r.multinomial(r.key(14), _f32(50, 7), shares)),
    ]


CALLS = (
    *_keys(),
    *_bits(),
    *_uniform(),
    *_randint(),
    *_continuous(),
    *_with_parameters(),
    *_choices(),
    *_gamma_and_counts(),
    *_matrices(),
)


def plain(values: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Values in a dtype of NumPy's own, exactly."""
    return values if values.dtype.kind in "biuc" else values.astype(np.float64)
