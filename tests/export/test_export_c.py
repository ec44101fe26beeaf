"""`export_c`: whole programs in C against the same programs compiled by XLA."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import morphax as jax
import morphax.numpy as jnp
from morphax import lax
from morphax.engines.loops import NotALoopProgram
from tests.engines.c_library import WARNINGS, CLibrary, compiler

Case = tuple[Callable[..., Any], tuple[Any, ...]]
RNG = np.random.default_rng(0)


def draw(*shape: int) -> np.ndarray[Any, Any]:
    return RNG.standard_normal(shape).astype(np.float32)


def train_step(w1: Any, b1: Any, w2: Any, b2: Any, x: Any, y: Any, rate: Any) -> Any:
    """One step of gradient descent of a perceptron with one hidden layer."""

    def loss(params: Any) -> Any:
        w1, b1, w2, b2 = params
        return jnp.mean((jnp.tanh(x @ w1 + b1) @ w2 + b2 - y) ** 2)

    params = (w1, b1, w2, b2)
    value, slopes = jax.value_and_grad(loss)(params)
    return value, jax.tree.map(lambda p, g: p - rate * g, params, slopes)


def kalman_filter(mean: Any, covariance: Any, measured: Any) -> Any:
    """A particle in the plane, of which noisy positions are measured."""
    step = jnp.eye(4) + 0.1 * jnp.eye(4, k=2)
    seen, noise = jnp.eye(2, 4), 0.01 * jnp.eye(4)

    def update(state: Any, z: Any) -> Any:
        m, p = state
        m, p = step @ m, step @ p @ step.T + noise
        s = seen @ p @ seen.T + 0.1 * jnp.eye(2)
        gain = jnp.linalg.solve(s, seen @ p).T
        m = m + gain @ (z - seen @ m)
        return (m, p - gain @ seen @ p), m

    return lax.scan(update, (mean, covariance), measured)


def lorenz(start: Any) -> Any:
    """The Lorenz system by the method of Runge and Kutta."""

    def slope(s: Any) -> Any:
        x, y, z = s
        return jnp.stack([10.0 * (y - x), x * (28.0 - z) - y, x * y - 8.0 / 3.0 * z])

    def step(s: Any, _: Any) -> Any:
        k1 = slope(s)
        k2 = slope(s + 0.005 * k1)
        k3 = slope(s + 0.005 * k2)
        k4 = slope(s + 0.01 * k3)
        s = s + 0.01 / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
        return s, s

    return lax.scan(step, start, None, length=200)


def waves(z: Any, w: Any) -> Any:
    """Complex numbers: products, quotients, functions, transforms, and a loop that carries them."""
    turned, path = lax.scan(lambda c, x: (c * x / w[0], jnp.sqrt(c)), z[0], w)
    spectrum = jnp.fft.ifft(jnp.fft.fft(z) * jnp.exp(w))
    return turned, path, spectrum, jnp.abs(z @ w), jnp.where(z.real > 0, jnp.tanh(z), w.conj())


def noisy(seed: Any, x: Any) -> Any:
    key, other = jax.random.split(jax.random.key(seed))
    dropped = jax.random.bernoulli(key, 0.5, x.shape) * x
    return dropped + jax.random.normal(other, x.shape), jax.random.permutation(key, 7)


def newton(x: Any) -> Any:
    """√x by Newton's method, until it changes no more."""
    return lax.while_loop(
        lambda s: jnp.abs(s[0] * s[0] - x) > 1e-5 * x,
        lambda s: (0.5 * (s[0] + x / s[0]), s[1] + 1),
        (x, 0),
    )


def sensitivity(rates: Any, x: Any) -> Any:
    """The derivative of a loop with branches in it."""

    def step(x: Any, rate: Any) -> Any:
        return lax.cond(x[0] > 0, lambda x: x - rate * jnp.sin(x), lambda x: x[::-1] * rate, x), x

    return jax.grad(lambda r: jnp.sum(lax.scan(step, x, r)[0] ** 2))(rates)


def histogram(values: Any) -> Any:
    """Counts of numbers in a loop, in place; and what `sort` and `cumsum` make of them."""

    def count(i: Any, counts: Any) -> Any:
        return counts.at[jnp.clip(jnp.int32(values[i] * 2 + 5), 0, 9)].add(1)

    counts = lax.fori_loop(0, values.shape[0], count, jnp.zeros(10, jnp.int32))
    return counts, jnp.cumsum(jnp.sort(counts)), jnp.argmax(counts)


def swapped(x: Any, y: Any) -> Any:
    """A carry whose components change places."""
    return lax.fori_loop(0, 5, lambda i, s: (s[1], s[0] + s[1][::-1]), (x, y))


def decompositions(a: Any) -> Any:
    spd = a @ a.T + jnp.eye(4)
    return jnp.linalg.cholesky(spd), jnp.linalg.inv(spd), jnp.linalg.slogdet(a)


EXAMPLES: dict[str, Case] = {
    "train_step": (
        train_step,
        (draw(5, 8), draw(8), draw(8, 3), draw(3), draw(16, 5), draw(16, 3), np.float32(0.1)),
    ),
    "kalman_filter": (kalman_filter, (draw(4), np.eye(4, dtype=np.float32), draw(50, 2))),
    "lorenz": (lorenz, (np.array([1, 2, 3], np.float32),)),
    "noisy": (noisy, (np.int32(3), draw(3, 5))),
    "newton": (newton, (np.float32(7.0),)),
    "sensitivity": (sensitivity, (np.float32([0.1, 0.4, 0.2]), draw(4))),
    "histogram": (histogram, (draw(100),)),
    "swapped": (swapped, (draw(3), draw(3))),
    "decompositions": (decompositions, (draw(4, 4),)),
    "waves": (waves, (draw(12) + 1j * draw(12), draw(12) + 1j * draw(12))),
    "softmax": (lambda x: (jax.nn.softmax(x), jax.hessian(jax.nn.logsumexp)(x[0])), (draw(3, 6),)),
    "vmapped": (jax.vmap(newton), (np.float32([2.0, 30.0, 0.5]),)),
    "reversed_reads": (
        lambda x: lax.fori_loop(0, 3, lambda i, x: jnp.sin(x) * 1.1 + x[::-1] * 0.1, x),
        (draw(10),),
    ),
    "convolved": (lambda x, k: jnp.convolve(x, k, mode="same"), (draw(20), draw(5))),
    "indexed": (
        lambda x, i: (x[i], x.at[i, 0].mul(2.0), x[:, ::-2].sum(0), jnp.take(x, i, axis=1)),
        (draw(6, 5), np.int32([0, -1, 9, 2])),
    ),
}


def test_examples(tmp_path: Path) -> None:
    library = CLibrary(tmp_path, ("-O2", "-fsanitize=undefined", "-fno-sanitize-recover"))
    names = {label: library.add(f, *operands) for label, (f, operands) in EXAMPLES.items()}
    for label, (f, operands) in EXAMPLES.items():
        expected = jax.tree.leaves(jax.jit(f)(*operands))
        found = library.call(names[label], *operands)
        assert len(found) == len(expected), label
        for given, truth in zip(found, map(np.asarray, expected), strict=True):
            if truth.dtype.kind in "fc":
                np.testing.assert_allclose(given, truth, rtol=2e-4, atol=2e-5, err_msg=label)
            else:
                np.testing.assert_array_equal(given, truth, err_msg=label)


MAIN = """
#include <stdio.h>
#include "%(name)s.h"
static float outs[%(size)d], ins[64];
int main(void) {
    for (int i = 0; i < 64; i++) { ins[i] = 0.1f * (float)i; }
%(workspace)s    %(name)s(%(arguments)s);
    for (int i = 0; i < %(size)d; i++) { printf("%%.9g ", (double)outs[i]); }
    return 0;
}
"""


def test_sanitized_program(tmp_path: Path) -> None:
    """A program of its own, with memory that is watched; `outs` holds no element too many."""
    x = np.float32(0.1) * np.arange(64, dtype=np.float32).reshape(8, 8)

    def f(x: Any) -> Any:
        table = jnp.sort((x @ x.T).reshape(-1))[::-1]
        return lax.scan(lambda c, v: (jnp.roll(c, 1) + v, c[0]), table[:5], table)[1]

    written = jax.export_c(f, x)
    written.write(tmp_path)
    workspace = "    static struct f_workspace workspace;\n" if written.workspace_bytes else ""
    arguments = "ins, outs, &workspace" if workspace else "ins, outs"
    text = MAIN % {"name": "f", "size": 64, "workspace": workspace, "arguments": arguments}
    (tmp_path / "main.c").write_text(text)
    flags = [*WARNINGS, "-g", "-fsanitize=address,undefined", "-fno-sanitize-recover"]
    command = [compiler(), *flags, "main.c", "f.c", "-lm", "-o", "main"]
    built = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert not built.returncode, built.stderr[:3000]
    done = subprocess.run([str(tmp_path / "main")], capture_output=True, text=True, check=False)
    assert not done.returncode, done.stderr[:3000]
    found = np.array(done.stdout.split(), np.float32)
    np.testing.assert_allclose(found, jax.jit(f)(x), rtol=1e-4)


def test_text_is_the_same_each_time() -> None:
    f, operands = EXAMPLES["kalman_filter"]
    assert jax.export_c(f, *operands) == jax.export_c(f, *operands)


def test_names_of_parameters() -> None:
    def f(int: Any, params: Any, *, t1: Any) -> Any:
        return {"exp": int + params["w"], "b-c": t1}

    header = jax.export_c(f, 1.0, {"w": jnp.ones(3)}, t1=2).header
    names = "float int_value, const float params_w[3], int32_t t1_value, int32_t *out_b_c, "
    assert f"void f({names}float out_exp[3]);" in " ".join(header.split()).replace("( ", "(")


def test_refusals() -> None:
    with pytest.raises(NotALoopProgram, match=r"svd, at .*test_export_c(.|\n)*svd, it has no form"):
        jax.export_c(jnp.linalg.svd, jnp.ones((3, 3)), name="f")
    with pytest.raises(NotALoopProgram, match="float8_e5m2"):
        jax.export_c(lambda x: x * 2, jnp.ones(3, jnp.float8_e5m2), name="f")
    with pytest.raises(ValueError, match=r"<lambda>(.|\n)*Pass another one"):
        jax.export_c(lambda x: x, 1.0)
    with pytest.raises(ValueError, match="while"):
        jax.export_c(lambda x: x, 1.0, name="while")
