"""Operations on large arrays: eager in the names of NumPy, compiled in those of lax."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from types import ModuleType
from typing import Any

import numpy as onp

from ..timing import Figures, Scale, best


@dataclass(frozen=True, slots=True)
class Operation:
    """One line: `call(namespace, x, rows, index)`, and PyTorch's spelling where it has another.

    Args:
        name: of the line.
        call: on a vector, a square matrix and indices into the vector.
        torch: PyTorch's spelling; `None` if it is the same, `False` if there is none.
    """

    name: str
    call: Callable[[Any, Any, Any, Any], Any]
    torch: Callable[[Any, Any, Any, Any], Any] | bool | None = None


NUMPY = (
    Operation("x + y", lambda np, x, a, i: x + x),
    Operation("sin", lambda np, x, a, i: np.sin(x)),
    Operation("exp", lambda np, x, a, i: np.exp(x)),
    Operation("tanh", lambda np, x, a, i: np.tanh(x)),
    Operation("x ** 3", lambda np, x, a, i: x**3),
    Operation("sum", lambda np, x, a, i: np.sum(x)),
    Operation("sum of rows", lambda np, x, a, i: a.sum(1)),
    Operation("std", lambda np, x, a, i: np.std(x)),
    Operation("argmax", lambda np, x, a, i: np.argmax(x)),
    Operation("cumsum", lambda np, x, a, i: np.cumsum(x, 0)),
    Operation("sort", lambda np, x, a, i: np.sort(x), lambda t, x, a, i: t.sort(x).values),
    Operation("argsort", lambda np, x, a, i: np.argsort(x)),
    Operation("unique", lambda np, x, a, i: np.unique(x)),
    Operation("median", lambda np, x, a, i: np.median(x)),
    Operation("where", lambda np, x, a, i: np.where(x > 0, x, -x)),
    Operation("x[index]", lambda np, x, a, i: x[i]),
    Operation("concatenate", lambda np, x, a, i: np.concatenate([x, x])),
    Operation("transpose, copied", lambda np, x, a, i: a.T + 0.0),
    Operation("a @ a", lambda np, x, a, i: a @ a),
    Operation("einsum ij,kj->ik", lambda np, x, a, i: np.einsum("ij,kj->ik", a, a)),
    Operation("rfft", lambda np, x, a, i: np.fft.rfft(x)),
    Operation("fft of rows", lambda np, x, a, i: np.fft.fft(a)),
)


LAX = (
    Operation(
        "softmax",
        lambda jax, x, a, im: jax.nn.softmax(a),
        lambda t, x, a, im: t.softmax(a, -1),
    ),
    Operation(
        "logsumexp",
        lambda jax, x, a, im: jax.nn.logsumexp(a, axis=-1),
        lambda t, x, a, im: t.logsumexp(a, -1),
    ),
    Operation(
        "layer norm",
        lambda jax, x, a, im: jax.nn.standardize(a),
        lambda t, x, a, im: t.nn.functional.layer_norm(a, a.shape[1:]),
    ),
    Operation(
        "gelu",
        lambda jax, x, a, im: jax.nn.gelu(x),
        lambda t, x, a, im: t.nn.functional.gelu(x, approximate="tanh"),
    ),
    Operation(
        "convolution 3×3, 16 channels",
        lambda jax, x, a, im: _convolution(jax, im, 16, groups=1),
        lambda t, x, a, im: t.conv2d(im, _kernel(im, 16), padding=1),
    ),
    Operation(
        "depthwise convolution 3×3",
        lambda jax, x, a, im: _convolution(jax, im, 1, groups=16),
        lambda t, x, a, im: t.conv2d(im, _kernel(im, 1), padding=1, groups=16),
    ),
    Operation(
        "max pooling 2×2",
        lambda jax, x, a, im: jax.lax.reduce_window(
            im, -float("inf"), jax.lax.max, (1, 1, 2, 2), (1, 1, 2, 2), "VALID"
        ),
        lambda t, x, a, im: t.nn.functional.max_pool2d(im, 2),
    ),
    Operation(
        "cumsum",
        lambda jax, x, a, im: jax.lax.cumsum(x),
        lambda t, x, a, im: t.cumsum(x, 0),
    ),
    Operation("sort", lambda jax, x, a, im: jax.lax.sort(x), lambda t, x, a, im: t.sort(x)),
    Operation("top_k", lambda jax, x, a, im: jax.lax.top_k(x, 8), lambda t, x, a, im: t.topk(x, 8)),
    Operation(
        "batched dot",
        lambda jax, x, a, im: jax.numpy.einsum("bcij,bckj->bcik", im, im),
        lambda t, x, a, im: t.einsum("bcij,bckj->bcik", im, im),
    ),
    Operation(
        "scatter-add",
        lambda jax, x, a, im: x.at[jax.numpy.arange(x.size) % 1000].add(x),
        False,
    ),
    Operation(
        "random normal",
        lambda jax, x, a, im: jax.random.normal(jax.random.key(0), x.shape) + x,
        lambda t, x, a, im: t.randn(x.shape) + x,
    ),
    Operation(
        "rfft", lambda jax, x, a, im: jax.numpy.fft.rfft(x), lambda t, x, a, im: t.fft.rfft(x)
    ),
    Operation(
        "rfft of a prime size",
        lambda jax, x, a, im: jax.numpy.fft.rfft(x[: _prime_below(x.size)]),
        lambda t, x, a, im: t.fft.rfft(x[: _prime_below(x.numel())]),
    ),
    Operation(
        "fft of columns",
        lambda jax, x, a, im: jax.numpy.fft.fft(a, axis=0),
        lambda t, x, a, im: t.fft.fft(a, dim=0),
    ),
    Operation(
        "fft of rows and columns, inverted",
        lambda jax, x, a, im: jax.numpy.fft.irfft2(jax.numpy.fft.rfft2(a), a.shape),
        lambda t, x, a, im: t.fft.irfft2(t.fft.rfft2(a), a.shape),
    ),
)


def _kernel(image: Any, inputs: int) -> Any:
    """A kernel for 16 results, from the numbers of the image."""
    return image[:1, :1, :3, :3].expand(16, inputs, 3, 3)


def _convolution(jax: Any, image: Any, inputs: int, groups: int) -> Any:
    """A convolution of 16 channels with a kernel made of the image's own numbers."""
    kernel = jax.numpy.broadcast_to(image[:1, :1, :3, :3], (16, inputs, 3, 3))
    return jax.lax.conv_general_dilated(image, kernel, (1, 1), "SAME", feature_group_count=groups)


def _arrays(scale: Scale) -> tuple[onp.ndarray[Any, Any], ...]:
    """A vector, a square matrix, indices, and images of 16 channels."""
    rng = onp.random.default_rng(0)
    n = scale.elements
    x = rng.normal(size=n).astype(onp.float32)
    side = max(4, min(512, int(n**0.5)))
    a = rng.normal(size=(side, side)).astype(onp.float32)
    index = rng.integers(0, n, n)
    pixels = max(4, min(64, int((n / 256) ** 0.5)))
    images = rng.normal(size=(max(1, min(16, n // 4096)), 16, pixels, pixels))
    return x, a, index, images.astype(onp.float32)


def _spelled(case: Operation, library: str) -> Callable[..., Any] | None:
    """The call of an operation in a library, if it has one."""
    if library != "torch" or case.torch is None:
        return case.call
    return case.torch or None  # type: ignore[return-value]


def numpy_table(package: ModuleType, scale: Scale) -> Figures:
    """Eager calls."""
    library = package.__name__
    np = package.numpy if library in ("morphax", "jax") else package
    x, a, index = (np.asarray(array) for array in _arrays(scale)[:3])
    ready = getattr(package, "block_until_ready", lambda result: result)
    return {
        f"np {case.name}": best(lambda call=call: ready(call(np, x, a, index)), scale)
        for case in NUMPY
        if (call := _spelled(case, library)) is not None
    }


def lax_table(package: ModuleType, scale: Scale) -> Figures:
    """Compiled calls; PyTorch's are eager."""
    library = package.__name__
    asarray = package.asarray if library == "torch" else package.numpy.asarray
    x, a, _, images = (asarray(array) for array in _arrays(scale))
    ready = getattr(package, "block_until_ready", lambda result: result)
    figures = {}
    for case in LAX:
        call = _spelled(case, library)
        if call is not None:
            program = partial(call, package)
            compiled = program if library == "torch" else package.jit(program)
            figures[f"jit {case.name}"] = best(lambda f=compiled: ready(f(x, a, images)), scale)
    return figures


def _prime_below(size: int) -> int:
    """The largest prime of at most `size`."""
    return next(n for n in range(size, 1, -1) if all(n % d for d in range(2, int(n**0.5) + 1)))
