"""Layers: shapes, parameters and outputs as recorded, and what holds for layers of layers.

`stax_golden.json` holds, of what JAX computes with the same key, the output shape; the shape and
the sum of each parameter; and of the outputs the shape, the first six and the sum.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import morphax as jax
from morphax import numpy as jnp
from morphax.example_libraries import stax

GOLDEN = json.loads((Path(__file__).parent / "stax_golden.json").read_text())
KEY = jax.random.PRNGKey(0)
AXES = ("NHWC", "HWIO", "NHWC")
LAYERS: dict[str, tuple[Any, tuple[int, ...]]] = {
    "Dense": (stax.Dense(3), (-1, 4)),
    "Conv": (stax.Conv(3, (2, 2)), (1, 5, 5, 2)),
    "Conv same": (stax.Conv(3, (2, 2), (2, 2), "SAME"), (-1, 5, 5, 2)),
    "GeneralConv": (stax.GeneralConv(("NCHW", "OIHW", "NHWC"), 3, (2, 2)), (1, 2, 5, 5)),
    "ConvTranspose": (stax.ConvTranspose(3, (2, 2), (2, 2), "SAME"), (1, 3, 3, 2)),
    "Conv1DTranspose": (stax.Conv1DTranspose(3, (2,), (2,)), (1, 3, 2)),
    "GeneralConvTranspose": (stax.GeneralConvTranspose(AXES, 3, (3, 3)), (1, 3, 3, 2)),
    "BatchNorm": (stax.BatchNorm(), (2, 3, 3, 2)),
    "BatchNorm axis 0": (stax.BatchNorm(axis=0), (4, 3)),
    "BatchNorm no center": (stax.BatchNorm(center=False), (2, 3, 3, 2)),
    "BatchNorm no scale": (stax.BatchNorm(scale=False), (2, 3, 3, 2)),
    "MaxPool": (stax.MaxPool((2, 2)), (1, 5, 5, 2)),
    "SumPool same": (stax.SumPool((2, 2), (2, 2), "SAME"), (1, 5, 5, 2)),
    "AvgPool same": (stax.AvgPool((2, 2), (2, 2), "SAME"), (1, 5, 5, 2)),
    "AvgPool NCHW": (stax.AvgPool((2, 2), (2, 2), "VALID", "NCHW"), (1, 2, 5, 5)),
    "MaxPool NWC": (stax.MaxPool((2,), spec="NWC"), (1, 5, 2)),
    "Flatten": (stax.Flatten, (2, 3, 4)),
    "Dropout": (stax.Dropout(0.5), (4, 4)),
    "serial": (
        stax.serial(stax.Dense(4), stax.Relu, stax.Dropout(0.9), stax.Dense(2), stax.LogSoftmax),
        (-1, 3),
    ),
    "parallel": (
        stax.serial(
            stax.FanOut(2),
            stax.parallel(stax.Dense(4), stax.serial(stax.Dense(4), stax.Dropout(0.7))),
            stax.FanInSum,
        ),
        (2, 3),
    ),
    "concat": (
        stax.serial(stax.FanOut(2), stax.parallel(stax.Tanh, stax.Gelu), stax.FanInConcat()),
        (2, 3),
    ),
    "shape_dependent": (stax.shape_dependent(lambda shape: stax.Dense(shape[-1])), (2, 3)),
    "Tanh": (stax.Tanh, (2, 3)),
    "Relu": (stax.Relu, (2, 3)),
    "Exp": (stax.Exp, (2, 3)),
    "LogSoftmax": (stax.LogSoftmax, (2, 3)),
    "Softmax": (stax.Softmax, (2, 3)),
    "Softplus": (stax.Softplus, (2, 3)),
    "Sigmoid": (stax.Sigmoid, (2, 3)),
    "Elu": (stax.Elu, (2, 3)),
    "LeakyRelu": (stax.LeakyRelu, (2, 3)),
    "Selu": (stax.Selu, (2, 3)),
    "Gelu": (stax.Gelu, (2, 3)),
    "Identity": (stax.Identity, (2, 3)),
}


def inputs_of(shape: tuple[int, ...]) -> np.ndarray[Any, Any]:
    sizes = [abs(n) for n in shape]
    return np.linspace(-1, 1, int(np.prod(sizes))).reshape(sizes).astype(np.float32)


def test_every_layer_is_recorded() -> None:
    assert LAYERS.keys() == GOLDEN.keys()


@pytest.mark.parametrize("name", LAYERS)
def test_as_recorded(name: str) -> None:
    (init, apply), shape = LAYERS[name]
    golden = GOLDEN[name]
    output_shape, params = init(KEY, shape)
    assert list(output_shape) == golden["shape"]
    for leaf, (*sizes, total) in zip(jax.tree.leaves(params), golden["params"], strict=True):
        assert list(leaf.shape) == sizes
        assert float(leaf.sum()) == pytest.approx(total, abs=2e-4)
    out = jax.jit(apply)(params, inputs_of(shape), rng=KEY)
    sizes, first, total = golden["out"]
    assert list(out.shape) == sizes
    np.testing.assert_allclose(np.ravel(out)[:6], first, atol=2e-5)
    assert float(out.sum()) == pytest.approx(total, abs=2e-3)


@pytest.mark.parametrize("name", ["Conv", "AvgPool NCHW", "MaxPool", "ConvTranspose"])
def test_batches_of_any_size(name: str) -> None:
    (init, _), (_, *rest) = LAYERS[name]
    known, _ = init(KEY, (1, *rest))
    unknown, _ = init(KEY, (-1, *rest))
    assert unknown == (-1, *known[1:])


def test_gradients_train() -> None:
    init, apply = stax.serial(stax.Dense(8), stax.Tanh, stax.Dense(1))
    _, params = init(KEY, (-1, 2))
    x = inputs_of((16, 2))
    y = x[:, :1] * x[:, 1:]

    def loss(params: Any) -> Any:
        return jnp.mean((apply(params, x) - y) ** 2)

    before = loss(params)
    step = jax.jit(lambda p: jax.tree.map(lambda x, g: x - 0.1 * g, p, jax.grad(loss)(p)))
    for _ in range(20):
        params = step(params)
    assert loss(params) < 0.5 * before


def test_no_layers_are_the_identity() -> None:
    init, apply = stax.serial()
    assert init(KEY, (2, 3)) == ((2, 3), [])
    assert apply([], 5.0, rng=KEY) == 5.0


def test_dropout_for_tests_keeps_everything() -> None:
    _, apply = stax.Dropout(0.5, mode="test")
    x = inputs_of((4, 4))
    np.testing.assert_array_equal(apply((), x), x)


def test_refusals() -> None:
    with pytest.raises(ValueError, match=r"argument mode[\s\S]*'Train'"):
        stax.Dropout(0.5, mode="Train")
    with pytest.raises(ValueError, match=r"without rng=[\s\S]*rng=key"):
        stax.serial(stax.Dropout(0.5))[1]([()], inputs_of((2,)))
