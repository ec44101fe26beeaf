"""Handwritten digits: the whole of morphax on real data, in under a minute.

Shows the jaxpr of a loss, checks a gradient against finite differences, computes one gradient per
example with ``vmap(grad)``, trains an MLP and a small CNN with a jitted step, and draws what it
saw.

    python examples/digits.py [--epochs N] [--output FILE] [--seed N]
"""

from __future__ import annotations

import argparse
import functools
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from sklearn.datasets import load_digits
from tqdm import tqdm

import morphax as jax
import morphax.numpy as jnp

Params = list[dict[str, Any]]
Predict = Callable[[Params, Any], Any]
BATCH = 128


class Digits(NamedTuple):
    """Images (n, 8, 8) with values in [0, 1], and labels (n,)."""

    images: np.ndarray[Any, Any]
    labels: np.ndarray[Any, Any]

    def batches(self, rng: np.random.Generator) -> Iterator[tuple[Any, Any]]:
        """One pass in random order; the rest that fills no batch is left out."""
        order = rng.permutation(len(self.labels))
        for start in range(0, len(order) - BATCH + 1, BATCH):
            chosen = order[start : start + BATCH]
            yield self.images[chosen], self.labels[chosen]


def load(rng: np.random.Generator) -> tuple[Digits, Digits]:
    """The digits that scikit-learn ships, one fifth of them kept for testing."""
    data = load_digits()
    order = rng.permutation(len(data.target))
    images = (data.images / 16.0).astype(np.float32)[order]
    labels = data.target.astype(np.int32)[order]
    cut = len(order) // 5
    return Digits(images[cut:], labels[cut:]), Digits(images[:cut], labels[:cut])


def dense(key: Any, inputs: int, outputs: int) -> dict[str, Any]:
    """Weights with variance 2 / inputs, which keeps the scale of activations through relu."""
    scale = np.sqrt(2.0 / inputs).astype(np.float32)
    return {"w": scale * jax.random.normal(key, (inputs, outputs)), "b": jnp.zeros(outputs)}


def init_mlp(key: Any) -> Params:
    sizes = [64, 128, 64, 10]
    keys = jax.random.split(key, len(sizes) - 1)
    return [dense(k, n, m) for k, n, m in zip(keys, sizes, sizes[1:], strict=False)]


def mlp(params: Params, images: Any) -> Any:
    """Logits (n, 10) of images (n, 8, 8)."""
    x = images.reshape(images.shape[0], -1)
    for layer in params[:-1]:
        x = jax.nn.relu(x @ layer["w"] + layer["b"])
    return x @ params[-1]["w"] + params[-1]["b"]


def init_cnn(key: Any) -> Params:
    first, second, last = jax.random.split(key, 3)
    return [
        {"w": np.float32(0.3) * jax.random.normal(first, (3, 3, 1, 16)), "b": jnp.zeros(16)},
        {"w": np.float32(0.1) * jax.random.normal(second, (3, 3, 16, 32)), "b": jnp.zeros(32)},
        dense(last, 2 * 2 * 32, 10),
    ]


def cnn(params: Params, images: Any) -> Any:
    """Logits (n, 10): two convolutions, each with 2×2 max pooling, and a dense layer."""
    x = images[..., None]
    for layer in params[:-1]:
        x = jax.lax.conv_general_dilated(
            x, layer["w"], (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC")
        )
        x = jax.nn.relu(x + layer["b"])
        n, height, width, channels = x.shape
        x = x.reshape(n, height // 2, 2, width // 2, 2, channels).max(axis=(2, 4))
    x = x.reshape(x.shape[0], -1)
    return x @ params[-1]["w"] + params[-1]["b"]


def cross_entropy(predict: Predict, params: Params, images: Any, labels: Any) -> Any:
    """Mean over images of −log p(label)."""
    log_p = jax.nn.log_softmax(predict(params, images))
    return -jnp.mean(jnp.take_along_axis(log_p, labels[:, None], axis=1))


class Adam(NamedTuple):
    """Adam's state: running means of gradients and of their squares (Kingma & Ba, ICLR 2015)."""

    step: Any
    mean: Params
    square: Params

    @classmethod
    def start(cls, params: Params) -> Adam:
        zeros = jax.tree.map(jnp.zeros_like, params)
        return cls(jnp.zeros((), jnp.int32), zeros, zeros)


@functools.partial(jax.jit, static_argnums=0)
def train_step(
    predict: Predict, params: Params, state: Adam, images: Any, labels: Any
) -> tuple[Params, Adam, Any]:
    """One step of Adam."""
    loss, grads = jax.value_and_grad(functools.partial(cross_entropy, predict))(
        params, images, labels
    )
    step = state.step + 1
    mean = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, state.mean, grads)
    square = jax.tree.map(lambda s, g: 0.999 * s + 0.001 * g * g, state.square, grads)
    size = 3e-3 * jnp.sqrt(1 - 0.999**step) / (1 - 0.9**step)
    params = jax.tree.map(lambda p, m, s: p - size * m / (jnp.sqrt(s) + 1e-8), params, mean, square)
    return params, Adam(step, mean, square), loss


@functools.partial(jax.jit, static_argnums=0)
def classify(predict: Predict, params: Params, images: Any) -> Any:
    return jnp.argmax(predict(params, images), axis=1)


class Trained(NamedTuple):
    """A trained model with its history."""

    name: str
    losses: list[float]
    accuracies: list[float]
    answers: np.ndarray[Any, Any]
    seconds: float


def train(
    name: str, predict: Predict, params: Params, data: tuple[Digits, Digits], epochs: int, seed: int
) -> Trained:
    """Train, measuring the accuracy on test images after every epoch."""
    training, test = data
    rng, state = np.random.default_rng(seed), Adam.start(params)
    losses: list[float] = []
    accuracies: list[float] = []
    start = time.perf_counter()
    with tqdm(range(epochs), desc=f"{name:3}", unit="epoch", disable=None) as bar:
        for _ in bar:
            for images, labels in training.batches(rng):
                params, state, loss = train_step(predict, params, state, images, labels)
                losses.append(float(loss))
            answers = np.asarray(classify(predict, params, test.images))
            accuracies.append(float(np.mean(answers == test.labels)))
            bar.set_postfix(loss=f"{losses[-1]:.3f}", accuracy=f"{accuracies[-1]:.3f}")
    return Trained(name, losses, accuracies, answers, time.perf_counter() - start)


def show_jaxpr() -> None:
    """What morphax sees of a loss: a small typed program."""

    def loss(w: Any, x: Any, y: Any) -> Any:
        return jnp.mean((jnp.tanh(x @ w) - y) ** 2)

    print("The jaxpr of a small loss:\n")
    print(jax.make_jaxpr(loss)(np.ones(3, np.float32), np.ones((2, 3), np.float32), 0.5))


def check_gradient(params: Params, digits: Digits) -> None:
    """The directional derivative by `grad` and by central differences, in 64 bits."""
    with jax.enable_x64(True):
        wide = jax.tree.map(lambda p: np.asarray(p, np.float64), params)
        images, labels = digits.images[:64].astype(np.float64), digits.labels[:64]
        rng = np.random.default_rng(1)
        # A short step: few of relu's kinks lie on it.
        direction = jax.tree.map(lambda p: rng.normal(size=p.shape) / p.size, wide)

        def along(t: float) -> float:
            moved = jax.tree.map(lambda p, d: p + t * d, wide, direction)
            return float(cross_entropy(mlp, moved, images, labels))

        gradient = jax.grad(functools.partial(cross_entropy, mlp))(wide, images, labels)
        products = jax.tree.map(lambda g, d: float(jnp.sum(g * d)), gradient, direction)
        exact = sum(jax.tree.leaves(products))
        step = 1e-5
        numeric = (along(step) - along(-step)) / (2 * step)
    error = abs(exact - numeric) / abs(numeric)
    print(f"\nGradient check: grad {exact:.9f}, finite differences {numeric:.9f} ({error:.1e} off)")


def show_per_example_gradients(params: Params, digits: Digits) -> None:
    """One gradient per image, by vmap of grad: which images would change the model most."""

    def loss(params: Params, image: Any, label: Any) -> Any:
        return cross_entropy(mlp, params, image[None], label[None])

    each = jax.jit(jax.vmap(jax.grad(loss), in_axes=(None, 0, 0)))
    gradients = each(params, digits.images[:256], digits.labels[:256])
    squares = [jnp.sum(g**2, axis=tuple(range(1, g.ndim))) for g in jax.tree.leaves(gradients)]
    norms = np.asarray(jnp.sqrt(sum(squares)))
    shape = gradients[0]["w"].shape
    print(f"\nPer-example gradients: the first layer's have shape {shape}")
    print(f"  norms from {norms.min():.2f} to {norms.max():.2f}, median {np.median(norms):.2f}")


def draw(results: list[Trained], test: Digits, path: Path) -> None:
    """Learning curves, and test digits that the last model misreads."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    misread = np.flatnonzero(results[-1].answers != test.labels)[:8]
    figure = plt.figure(figsize=(10, 6), layout="constrained")
    upper, lower = figure.subfigures(2, 1, height_ratios=[2, 1])
    loss_axes, accuracy_axes = upper.subplots(1, 2)
    for r in results:
        loss_axes.semilogy(r.losses, label=r.name, alpha=0.8)
        accuracy_axes.plot(np.arange(1, len(r.accuracies) + 1), r.accuracies, label=r.name)
    loss_axes.set(xlabel="step", ylabel="cross entropy", title="training loss")
    accuracy_axes.set(xlabel="epoch", ylabel="accuracy", title="test accuracy")
    accuracy_axes.axhline(0.97, color="gray", linestyle=":", label="97 %")
    loss_axes.legend()
    accuracy_axes.legend()
    lower.suptitle(f"digits that the {results[-1].name} misreads")
    if len(misread):
        for axes, i in zip(np.atleast_1d(lower.subplots(1, len(misread))), misread, strict=True):
            axes.imshow(test.images[i], cmap="gray_r")
            axes.set_title(f"{test.labels[i]} read as {results[-1].answers[i]}", fontsize=9)
            axes.axis("off")
    figure.savefig(path, dpi=110)
    plt.close(figure)


def parse(arguments: list[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Train classifiers of handwritten digits.")
    parser.add_argument("--epochs", type=int, default=30, help="passes over the training images")
    parser.add_argument("--output", type=Path, default=Path("digits.png"), help="picture to write")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args(arguments)
    if options.epochs < 1:
        parser.error(f"argument --epochs: got {options.epochs}, expected at least 1")
    if not options.output.parent.is_dir():
        parser.error(f"argument --output: there is no folder {options.output.parent}")
    return options


def main(arguments: list[str] | None = None) -> int:
    options = parse(arguments)
    start = time.perf_counter()
    data = load(np.random.default_rng(options.seed))
    mlp_key, cnn_key = jax.random.split(jax.random.key(options.seed))
    mlp_params, cnn_params = init_mlp(mlp_key), init_cnn(cnn_key)

    show_jaxpr()
    check_gradient(mlp_params, data[0])
    show_per_example_gradients(mlp_params, data[0])
    print(f"\nTraining on {len(data[0].labels)} images, testing on {len(data[1].labels)}:\n")
    results = [
        train("MLP", mlp, mlp_params, data, options.epochs, options.seed),
        train("CNN", cnn, cnn_params, data, options.epochs, options.seed),
    ]
    draw(results, data[1], options.output)

    print()
    for r in results:
        wrong = int(np.sum(r.answers != data[1].labels))
        print(f"{r.name}: {r.accuracies[-1]:.1%} of test digits right ({wrong} misread), "
              f"{r.seconds:.1f} s of training")  # fmt: skip
    print(f"Wrote {options.output}. The whole took {time.perf_counter() - start:.1f} s.")
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        print("\nStopped.")
        sys.exit(130)
