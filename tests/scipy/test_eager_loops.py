"""Functions whose programs have loops: eager calls build them once."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import morphax as jax
import morphax.numpy as jnp
from morphax import image, monitoring
from morphax.experimental import sparse
from morphax.experimental.sparse.linalg import lobpcg_standard
from morphax.science import linalg as science_linalg
from morphax.science import signal as science_signal
from morphax.scipy import linalg, special, stats
from morphax.scipy.sparse import linalg as krylov

N = 12
RNG = np.random.default_rng(0)


def _vector() -> Any:
    return jnp.asarray(RNG.uniform(0.1, 0.9, N), jnp.float32)


def _matrix() -> Any:
    return jnp.asarray(RNG.uniform(0.1, 0.9, (N, N)), jnp.float32)


def _definite() -> Any:
    return jnp.eye(N) * N + _matrix()


# Each call has operands of its own, of the same shapes.
CALLS: dict[str, Callable[[], Any]] = {
    "bessel_jn": lambda: special.bessel_jn(_vector(), v=3),
    "sph_harm_y": lambda: special.sph_harm_y(
        jnp.array([3]), jnp.array([2]), _vector(), _vector(), n_max=4
    ),
    "rsf2csf": lambda: linalg.rsf2csf(*linalg.schur(_matrix())),
    "expm_frechet": lambda: linalg.expm_frechet(_matrix(), _matrix()),
    "eigh_tridiagonal": lambda: linalg.eigh_tridiagonal(
        _vector(), _vector()[1:], eigvals_only=True
    ),
    "cg": lambda: krylov.cg(_definite() + _definite().T, _vector()),
    "cg from x0": lambda: krylov.cg(_definite(), _vector(), x0=_vector(), maxiter=3),
    "bicgstab": lambda: krylov.bicgstab(_definite(), _vector(), M=jnp.eye(N)),
    "gmres": lambda: krylov.gmres(_definite(), _vector(), restart=3),
    "lobpcg": lambda: lobpcg_standard(_definite(), _vector()[:, None], m=4),
    "lobpcg of a sparse matrix": lambda: lobpcg_standard(
        sparse.BCOO.fromdense(_definite()), _vector()[:, None], m=4, tol=1e-3
    ),
    "lfilter": lambda: science_signal.lfilter([1.0, 0.5], [1.0, -0.2, 0.1], _vector()),
    "sosfilt": lambda: science_signal.sosfilt(jnp.ones((2, 6)), _vector()),
    "solve_banded": lambda: science_linalg.solve_banded((2, 2), _definite()[:5], _vector()),
    "solve_toeplitz": lambda: science_linalg.solve_toeplitz(_definite()[0], _vector()),
    "resize": lambda: image.resize(_matrix(), (2 * N, 5), "cubic"),
    "rankdata": lambda: stats.rankdata(_vector()),
}


@pytest.fixture
def built() -> Iterator[list[str]]:
    """The names of programs that are built meanwhile."""
    seen: list[str] = []

    def listen(event: str, duration: float, **kwargs: Any) -> None:
        if event == "/jax/core/compile/backend_compile_duration":
            seen.append(str(kwargs))

    monitoring.register_event_duration_secs_listener(listen)
    yield seen
    monitoring.unregister_event_duration_listener(listen)


@pytest.mark.parametrize("name", CALLS)
def test_warm_calls_build_nothing(name: str, built: list[str]) -> None:
    for _ in range(2):
        jax.block_until_ready(CALLS[name]())
    built.clear()
    jax.block_until_ready(CALLS[name]())
    assert built == []


@pytest.mark.parametrize("name", ["cg", "bicgstab", "gmres"])
def test_solvers_with_matrices_are_those_with_functions(name: str) -> None:
    solver = getattr(krylov, name)
    a, b = _definite(), _vector()
    a = a + a.T
    options = {"tol": 1e-6, "maxiter": 50, "x0": _vector(), "M": jnp.eye(N) / N}
    kept, info = solver(a, b, **options)
    given, expected = solver(lambda x: a @ x, b, **{**options, "M": lambda x: x / N})
    assert info == expected == 0
    np.testing.assert_allclose(kept, given, rtol=2e-5, atol=1e-6)
    np.testing.assert_allclose(kept, np.linalg.solve(a, b), rtol=2e-5, atol=1e-6)
    slope = jax.grad(lambda b: solver(a, b, **options)[0].sum())(b)
    np.testing.assert_allclose(slope, np.linalg.solve(a.T, np.ones(N)), rtol=2e-4, atol=1e-6)
    with pytest.raises(TypeError, match=rf"{name}, argument A"):
        solver("matrix", b)


def test_derivatives_of_exponentials_of_stacks() -> None:
    # Each matrix of the stack is squared as often as it needs.
    stack = jnp.stack([_matrix() * factor for factor in (0.01, 1.0, 20.0)])
    change = jnp.stack([_matrix()] * 3)
    values, slopes = linalg.expm_frechet(stack, change)
    expected, tangents = jax.jvp(linalg.expm, (stack,), (change,))
    compiled = jax.jit(linalg.expm_frechet)(stack, change)
    for found in ((values, slopes), compiled):
        np.testing.assert_allclose(found[0], expected, rtol=2e-4)
        np.testing.assert_allclose(found[1], tangents, rtol=2e-4)
    np.testing.assert_array_equal(linalg.expm_frechet(stack, change, compute_expm=False), slopes)
