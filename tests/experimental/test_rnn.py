"""LSTM layers: against a loop in NumPy, sequence by sequence."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import morphax as jax
import morphax.numpy as jnp
from morphax.experimental import rnn
from morphax.test_util import check_grads

BATCH, STEPS, INPUTS, STATES = 3, 4, 3, 2
LENGTHS = np.array([4, 2, 0])


def logistic(x: Any) -> Any:
    return 1 / (1 + np.exp(-x))


def looped(x: Any, h_0: Any, c_0: Any, weights: Any, layers: int, directions: int) -> Any:
    """The definition, one sequence and one step at a time."""
    h_n, c_n = h_0.copy(), c_0.copy()
    for layer in range(layers):
        outs = np.zeros((BATCH, STEPS, directions * STATES))
        for d in range(directions):
            k = layer * directions + d
            w, r, b, s = [np.asarray(part[k], np.float64) for part in weights]
            for n in range(BATCH):
                steps = range(LENGTHS[n])
                for t in reversed(steps) if d else steps:
                    i, f, g, o = np.split(w @ x[n, t] + b + r @ h_n[k, n] + s, 4)
                    c_n[k, n] = logistic(f) * c_n[k, n] + logistic(i) * np.tanh(g)
                    h_n[k, n] = logistic(o) * np.tanh(c_n[k, n])
                    outs[n, t, d * STATES : (d + 1) * STATES] = h_n[k, n]
        x = outs
    return x, h_n, c_n


def drawn(layers: int, both: bool) -> tuple[Any, ...]:
    rng = np.random.default_rng(0)
    shape = ((2 if both else 1) * layers, BATCH, STATES)
    states = rng.standard_normal((2, *shape))
    return rng.standard_normal((BATCH, STEPS, INPUTS)), states[0], states[1]


@pytest.mark.parametrize(("layers", "both"), [(1, False), (2, True)])
def test_values_and_derivatives(layers: int, both: bool) -> None:
    with jax.enable_x64(True):
        x, h, c = drawn(layers, both)
        sizes = INPUTS, STATES, layers
        vector = rnn.init_lstm_weight(jax.random.key(0), *sizes, both).astype(np.float64)
        assert vector.shape == (rnn.get_num_params_in_lstm(*sizes, both),)
        parts = rnn.unpack_lstm_weights(vector, *sizes, both)
        expected = looped(x, h, c, parts, layers, 2 if both else 1)

        def f(x: Any, h: Any, c: Any, w: Any) -> Any:
            return rnn.lstm(x, h, c, w, LENGTHS, *sizes, 0.0, both)

        results = f(x, h, c, vector)
        for given in (
            results,
            jax.jit(f)(x, h, c, vector),
            rnn.lstm_ref(x, h, c, *parts, LENGTHS, *sizes, 0.0, both),
        ):
            jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-12), given, expected)
        if layers == 1:
            check_grads(jax.jit(f), (x, h, c, vector), order=1, modes=("rev",))
        outs, residuals = rnn.lstm_fwd(x, h, c, vector, LENGTHS, *sizes, 0.0, both, None)
        ones = jax.tree.map(jnp.ones_like, outs)
        *cotangents, of_lengths = rnn.lstm_bwd(*sizes, 0.0, both, None, residuals, ones)
        assert of_lengths is None
        for given, wanted in zip(cotangents, jax.vjp(f, x, h, c, vector)[1](ones), strict=True):
            np.testing.assert_allclose(given, wanted, rtol=1e-12)


def test_gates_are_exchanged_and_back() -> None:
    sizes = 2, 1, 1, False
    vector = jnp.arange(float(rnn.get_num_params_in_lstm(*sizes)))
    swapped = rnn.swap_lstm_gates(vector, *sizes)
    np.testing.assert_array_equal(swapped[:8], [0, 1, 2, 3, 6, 7, 4, 5])
    np.testing.assert_array_equal(rnn.swap_lstm_gates(swapped, *sizes), vector)


def test_weights_are_drawn_between_bounds() -> None:
    weights = rnn.init_lstm_weight(jax.random.key(0), 3, 25, 1, True)
    assert float(abs(weights).max()) <= 0.2
    assert float(weights.std()) == pytest.approx(0.2 / np.sqrt(3), rel=0.05)


def test_refusals() -> None:
    x, h, c = drawn(1, False)
    weights = rnn.init_lstm_weight(jax.random.key(0), INPUTS, STATES, 1, False)
    sizes = INPUTS, STATES, 1
    with pytest.raises(NotImplementedError, match="dropout"):
        rnn.lstm(x, h, c, weights, LENGTHS, *sizes, 0.5, False)
    with pytest.raises(ValueError, match="argument weights"):
        rnn.lstm(x, h, c, weights[1:], LENGTHS, *sizes, 0.0, False)
    for wrong in [(x[..., 1:], h, c, LENGTHS), (x, h[:, 1:], c, LENGTHS), (x, h, c, LENGTHS[1:])]:
        with pytest.raises(ValueError, match="arguments x, h_0, c_0 and seq_lengths"):
            rnn.lstm(*wrong[:3], weights, wrong[3], *sizes, 0.0, False)
