"""Problems of `morphax.science`, compiled, beside SciPy on the same numbers in double precision.

Each problem is written once: for our library and `morphax.numpy`, and for SciPy and NumPy.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from functools import partial
from types import SimpleNamespace
from typing import Any

import numpy as np

from ..timing import Figures, Scale, best

PACKAGES = ("integrate", "interpolate", "ndimage", "optimize", "signal")
Problem = Callable[..., Any]


def _trajectory(method: str, library: Any, np: Any, y: Any) -> Any:
    """The end of a trajectory of Lorenz's equations, from y at time 0 to time 5."""

    def slope(t: Any, y: Any) -> Any:
        return np.stack([10 * (y[1] - y[0]), y[0] * (28 - y[2]) - y[1], y[0] * y[1] - 8 / 3 * y[2]])

    solve = library.integrate.solve_ivp
    return solve(slope, (0.0, 5.0), y, method=method, rtol=1e-6, atol=1e-9).y[:, -1]


def _integral(library: Any, np: Any, a: Any) -> Any:
    return library.integrate.quad(lambda x: np.exp(-a * x * x), 0.0, 2.0)[0]


def _root(library: Any, np: Any, a: Any) -> Any:
    return library.optimize.brentq(lambda x: np.cos(x) - a * x, 0.0, 2.0)


def _fit(library: Any, np: Any, start: Any, t: Any, y: Any) -> Any:
    residuals = lambda p: p[0] * np.exp(-p[1] * t) + p[2] - y  # noqa: E731
    return library.optimize.least_squares(residuals, start).x


def _minimum(library: Any, np: Any, start: Any) -> Any:
    """Of Rosenbrock's function, whose gradient SciPy is given; ours differentiates."""

    def value(x: Any) -> Any:
        return np.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)

    known = getattr(library.optimize, "rosen_der", None)
    given = {} if known is None else {"jac": known}
    return library.optimize.minimize(value, start, method="L-BFGS-B", **given).x


def _interpolated(name: str, library: Any, np: Any, x: Any, y: Any, places: Any) -> Any:
    return getattr(library.interpolate, name)(x, y)(places)


def _filtered(name: str, library: Any, np: Any, b: Any, a: Any, x: Any) -> Any:
    return getattr(library.signal, name)(b, a, x)


def _smoothed(library: Any, np: Any, x: Any) -> Any:
    return library.signal.savgol_filter(x, 11, 3)


def _peaks(library: Any, np: Any, x: Any) -> Any:
    # Ours must know how many there may be; SciPy has no such argument.
    size = {} if library.signal.__name__.startswith("scipy") else {"size": x.shape[0] // 2}
    return library.signal.find_peaks(x, **size)[0]


def _image(name: str, parameters: Mapping[str, Any], library: Any, np: Any, image: Any) -> Any:
    return getattr(library.ndimage, name)(image, **parameters)


FILTERS: dict[str, dict[str, Any]] = {
    "gaussian_filter": {"sigma": 2.0},
    "uniform_filter": {"size": 5},
    "median_filter": {"size": 3},
    "maximum_filter": {"size": 5},
    "sobel": {},
    "laplace": {},
}


def _problems(scale: Scale) -> dict[str, tuple[Problem, list[Any]]]:
    """All problems, and their numbers."""
    rng = np.random.default_rng(0)
    count = max(64, scale.elements // 10)
    t, signal = np.linspace(0, 4, 100), rng.normal(size=count)
    decay = 2.5 * np.exp(-1.3 * t) + 0.5 + 0.01 * rng.normal(size=t.size)
    x = np.sort(rng.uniform(size=1000))
    through = [x, np.sin(6 * x), rng.uniform(x[0], x[-1], count)]
    # A low-pass filter of two poles, by the bilinear transformation.
    low_pass = [np.array([0.0675, 0.1349, 0.0675]), np.array([1.0, -1.143, 0.4128]), signal]
    image = rng.normal(size=(256, 256) if scale.repetitions > 1 else (16, 16))
    methods = ("RK45", "DOP853", "Radau") if scale.repetitions > 1 else ("RK45",)
    return {
        **{f"solve_ivp, {m}": (partial(_trajectory, m), [np.ones(3)]) for m in methods},
        "quad": (_integral, [1.0]),
        "brentq": (_root, [1.0]),
        "least_squares": (_fit, [np.ones(3), t, decay]),
        "minimize, L-BFGS-B": (_minimum, [np.zeros(20)]),
        **{
            name: (partial(_interpolated, name), through)
            for name in ("CubicSpline", "PchipInterpolator")
        },
        **{name: (partial(_filtered, name), low_pass) for name in ("lfilter", "filtfilt")},
        "savgol_filter": (_smoothed, [signal]),
        "find_peaks": (_peaks, [signal]),
        **{name: (partial(_image, name, given), [image]) for name, given in FILTERS.items()},
    }


def compiled(jax: Any, scale: Scale) -> Figures:
    """Warm calls of compiled problems."""
    figures = {}
    with jax.enable_x64(True):
        for name, (problem, numbers) in _problems(scale).items():
            function = jax.jit(partial(problem, jax.science, jax.numpy))
            operands = [jax.numpy.asarray(x) for x in numbers]
            figures[name] = best(partial(_waited, jax, function, operands), scale)
    return figures


def _waited(jax: Any, function: Problem, operands: list[Any]) -> Any:
    return jax.block_until_ready(function(*operands))


def by_scipy(scale: Scale) -> Figures:
    """The same calls of SciPy."""
    packages = {name: importlib.import_module(f"scipy.{name}") for name in PACKAGES}
    library = SimpleNamespace(**packages)
    return {
        name: best(partial(problem, library, np, *numbers), scale)
        for name, (problem, numbers) in _problems(scale).items()
    }
