"""Families of operations at sizes that matter: factorisations, FFT, convolutions, axes, loops."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from ..timing import Figures, Scale, best

Draw = Callable[..., Any]


class Line(NamedTuple):
    """A call of one compiled function.

    Args:
        name: of the line.
        function: of (the package, operand).
        operand: a NumPy array.
    """

    name: str
    function: Callable[[Any, Any], Any]
    operand: Any


def _cut(scale: Scale, *sizes: int) -> tuple[int, ...]:
    """Sizes, cut down where the run is tiny."""
    return sizes if scale.elements >= 100_000 else tuple([min(n, 8) for n in sizes])


def _dominant(draw: Draw, *shape: int) -> Any:
    """Well conditioned symmetric matrices."""
    x = draw(*shape)
    return x + x.swapaxes(-1, -2) + 4 * np.sqrt(shape[-1]) * np.eye(shape[-1], dtype=x.dtype)


_FACTORISATIONS: dict[str, Callable[[Any, Any], Any]] = {
    "cholesky": lambda jax, a: jax.numpy.linalg.cholesky(a),
    "lu": lambda jax, a: jax.lax.linalg.lu(a),
    "qr": lambda jax, a: jax.numpy.linalg.qr(a),
    "solve": lambda jax, a: jax.numpy.linalg.solve(a, a[..., :1]),
    "eigh": lambda jax, a: jax.numpy.linalg.eigh(a),
    "svd": lambda jax, a: jax.numpy.linalg.svd(a),
}


def _factorisations(draw: Draw, scale: Scale) -> Iterator[Line]:
    for name, function in _FACTORISATIONS.items():
        for shape in ((64, 64), (512, 512), (1024, 1024), (1000, 16, 16)):
            if shape[0] == 1024 and name in ("eigh", "svd"):
                continue  # a second each
            size = "×".join(map(str, shape))
            yield Line(f"{name} of {size}", function, _dominant(draw, *_cut(scale, *shape)))


def _transforms(draw: Draw, scale: Scale) -> Iterator[Line]:
    sizes = {"2²⁰": (1 << 20,), "a prime, 100,003": (100_003,), "1000×256": (1000, 256)}
    for name, shape in sizes.items():
        x = draw(*_cut(scale, *shape))
        yield Line(f"rfft of {name}", lambda jax, x: jax.numpy.fft.rfft(x), x)
        yield Line(f"fft of {name}", lambda jax, x: jax.numpy.fft.fft(x), x.astype(np.complex64))
    image = draw(*_cut(scale, 512, 512)).astype(np.complex64)
    yield Line("fft2 of 512×512", lambda jax, x: jax.numpy.fft.fft2(x), image)


def _convolutions(draw: Draw, scale: Scale) -> Iterator[Line]:
    for layout, kernel_layout in (("NCHW", "OIHW"), ("NHWC", "HWIO")):
        for side, pixels in ((1, 64), (3, 64), (7, 64), (31, 64)):
            (pixels,) = _cut(scale, pixels)
            channels = 4 if side > 7 else 16
            shape = (4, channels, pixels, pixels)
            image = draw(*[shape["NCHW".index(axis)] for axis in layout])
            sizes = (channels, channels, min(side, pixels), min(side, pixels))
            kernel = draw(*[sizes["OIHW".index(axis)] for axis in kernel_layout])
            yield Line(
                f"convolution {side}×{side}, {layout}",
                lambda jax, x, k=kernel, names=(layout, kernel_layout, layout): (
                    jax.lax.conv_general_dilated(x, k, (1, 1), "SAME", dimension_numbers=names)
                ),
                image,
            )


def _axes(draw: Draw, scale: Scale) -> Iterator[Line]:
    x = draw(*_cut(scale, 128, 96, 80))
    for axis in range(3):
        for name in ("sum", "max", "argmax", "cumsum"):
            yield Line(
                f"{name} along axis {axis} of 3",
                lambda jax, x, name=name, axis=axis: getattr(jax.numpy, name)(x, axis),
                x,
            )
        yield Line(
            f"concatenate along axis {axis} of 3",
            lambda jax, x, axis=axis: jax.numpy.concatenate([x, x, x], axis),
            x,
        )
    for order in ((0, 2, 1), (2, 1, 0), (1, 2, 0)):
        yield Line(
            f"transpose to {order}",
            lambda jax, x, order=order: jax.numpy.transpose(x, order),
            x,
        )


def _large(draw: Draw, scale: Scale) -> Iterator[Line]:
    x = draw(*_cut(scale, 10_000_000))
    yield Line("max of 10⁷", lambda jax, x: x.max(), x)
    yield Line("argmax of 10⁷", lambda jax, x: x.argmax(), x)
    yield Line("x + 1 of 10⁷", lambda jax, x: x + 1, x)
    rows = draw(*_cut(scale, 3000, 1000))
    yield Line("max of 3000 rows", lambda jax, x: x.max(1), rows)
    yield Line(
        "pad 1000² by reflection", lambda jax, x: jax.numpy.pad(x, 5, "reflect"), rows[:1000]
    )
    vectors = draw(*_cut(scale, 100_000, 3))
    yield Line("cross of 100,000", lambda jax, x: jax.numpy.cross(x, x[::-1]), vectors)


def _chains(draw: Draw, scale: Scale) -> Iterator[Line]:
    def repeated(jax: Any, x: Any, count: int) -> Any:
        for _ in range(count):
            x = jax.numpy.sin(x) * 1.1 + x[::-1] * 0.1
        return x

    x = draw(*_cut(scale, 100))
    for count in (20, 40):  # JAX's time grows exponentially
        yield Line(
            f"{count} reversed reads", lambda jax, x, count=count: repeated(jax, x, count), x
        )


def _heat(jax: Any, u: Any) -> Any:
    roll = jax.numpy.roll
    return u + 0.1 * (roll(u, 1, 0) + roll(u, -1, 0) + roll(u, 1, 1) + roll(u, -1, 1) - 4 * u)


def _runge_kutta(jax: Any, y: Any) -> Any:
    def slope(y: Any) -> Any:
        return jax.numpy.sin(y) * 0.9 - y * jax.numpy.roll(y, 1)

    one = slope(y)
    two = slope(y + 0.005 * one)
    three = slope(y + 0.005 * two)
    return y + 0.01 / 6 * (one + 2 * two + 2 * three + slope(y + 0.01 * three))


_STEPS: dict[str, Callable[[Any, Any], Any]] = {
    "x * 0.999 + 0.001": lambda jax, x: x * 0.999 + 0.001,
    "relaxation by sines": lambda jax, x: x - 0.1 * jax.numpy.sin(x),
    "Runge–Kutta": _runge_kutta,
}


def _loops(draw: Draw, scale: Scale) -> Iterator[Line]:
    def after_steps(jax: Any, step: Callable[[Any, Any], Any], x: Any, steps: int) -> Any:
        return jax.lax.fori_loop(0, steps, lambda _, x: step(jax, x), x)

    def slope(jax: Any, step: Callable[[Any, Any], Any], x: Any) -> Any:
        return jax.grad(lambda x: (after_steps(jax, step, x, 10) ** 2).sum())(x)

    x = draw(*_cut(scale, 100_000))
    for name, step in _STEPS.items():
        yield Line(f"30 steps on 10⁵, {name}", lambda jax, x, f=step: after_steps(jax, f, x, 30), x)
        yield Line(f"gradient of 10 steps, {name}", lambda jax, x, f=step: slope(jax, f, x), x)
    field = draw(*_cut(scale, 300, 300))
    yield Line("30 steps on 300², heat", lambda jax, x: after_steps(jax, _heat, x, 30), field)


def compiled(jax: Any, scale: Scale) -> Figures:
    """Compiled calls, operands on the device."""
    rng = np.random.default_rng(0)

    def draw(*shape: int) -> Any:
        return rng.normal(size=shape).astype(np.float32)

    figures = {}
    for family in (_factorisations, _transforms, _convolutions, _axes, _large, _chains, _loops):
        for line in family(draw, scale):
            program = jax.jit(lambda x, f=line.function: f(jax, x))
            operand = jax.numpy.asarray(line.operand)
            figures[f"jit {line.name}"] = best(
                lambda f=program, x=operand: jax.block_until_ready(f(x)), scale
            )
    return figures
