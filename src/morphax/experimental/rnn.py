"""`jax.experimental.rnn`: LSTM layers on batches of sequences of different lengths.

The weights of all layers are one vector, in the order in which cuDNN takes them: for each layer,
and in it for each direction, the matrix of the inputs and that of the states; then likewise the
biases.  A matrix has the rows of four gates: input, forget, cell, output.

In each step, with the logistic function σ and the state (h, c),

    i, f, o = σ(Wx + b + Rh + r),   g = tanh(Wx + b + Rh + r),   c ← f c + i g,   h ← o tanh c.

Reference: Hochreiter & Schmidhuber, "Long short-term memory", Neural Computation 9 (1997), with the
forget gate of Gers, Schmidhuber & Cummins (2000).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from .. import numpy as jnp
from .. import random
from ..control.loops.scans import scan
from ..lax.elementwise.hyperbolic import tanh as tanh
from ..nn.activations import sigmoid
from ..transforms.derivatives import vjp
from ..util.messages import message

__all__ = [
    "get_num_params_in_lstm",
    "init_lstm_weight",
    "lstm",
    "lstm_bwd",
    "lstm_fwd",
    "lstm_ref",
    "sigmoid",
    "swap_lstm_gates",
    "tanh",
    "unpack_lstm_weights",
]

_GATES = 4
Weights = dict[int, Any]


def _matrix_shapes(
    input_size: int, hidden_size: int, num_layers: int, bidirectional: bool
) -> Iterator[tuple[tuple[int, int], tuple[int, int]]]:
    """Shapes of the matrices of inputs and of states, for each layer and direction."""
    directions = 2 if bidirectional else 1
    rows = _GATES * hidden_size
    for position in range(num_layers * directions):
        inputs = input_size if position < directions else directions * hidden_size
        yield (rows, inputs), (rows, hidden_size)


def get_num_params_in_lstm(
    input_size: int, hidden_size: int, num_layers: int, bidirectional: bool
) -> int:
    """How many numbers the weights of an LSTM are.

    Example:
        >>> from morphax.experimental import rnn
        >>> rnn.get_num_params_in_lstm(3, 5, 1, bidirectional=False)
        200
    """
    shapes = _matrix_shapes(input_size, hidden_size, num_layers, bidirectional)
    return sum([rows * (inputs + states + 2) for (rows, inputs), (_, states) in shapes])


def init_lstm_weight(
    rng: Any, input_size: int, hidden_size: int, num_layers: int, bidirectional: bool
) -> Any:
    """Weights of an LSTM, uniform between -1/√hidden_size and 1/√hidden_size.

    Args:
        rng: a random key.
        input_size, hidden_size: numbers of inputs and of states in each step.
        num_layers: each but the first has the states of the one before as inputs.
        bidirectional: whether each layer goes through the sequence in both directions.

    Returns:
        A vector of `get_num_params_in_lstm` numbers.

    Example:
        >>> import morphax as jax
        >>> import morphax.numpy as jnp
        >>> from morphax.experimental import rnn
        >>> rnn.init_lstm_weight(jax.random.key(0), 2, 3, num_layers=1, bidirectional=False).shape
        (84,)
    """
    count = get_num_params_in_lstm(input_size, hidden_size, num_layers, bidirectional)
    bound = 1.0 / math.sqrt(hidden_size)
    return random.uniform(rng, (count,), jnp.float32, -bound, bound)


def unpack_lstm_weights(
    weights: Any, input_size: int, hidden_size: int, num_layers: int, bidirectional: bool
) -> tuple[Weights, Weights, Weights, Weights]:
    """The matrices and biases in a vector of weights.

    Returns:
        Matrices of inputs ``(4 hidden_size, inputs)``, matrices of states
        ``(4 hidden_size, hidden_size)``, and their biases; four dictionaries, by layer and
        direction: 0, 1, … are the directions of the first layer, then those of the second.

    Raises:
        ValueError: if there are too many or too few weights.

    Example:
        >>> import morphax as jax
        >>> import morphax.numpy as jnp
        >>> from morphax.experimental import rnn
        >>> weights = jnp.arange(84.0)
        >>> w_ih, w_hh, b_ih, b_hh = rnn.unpack_lstm_weights(weights, 2, 3, 1, bidirectional=False)
        >>> w_ih[0].shape, w_hh[0].shape, b_ih[0].shape
        ((12, 2), (12, 3), (12,))
    """
    count = get_num_params_in_lstm(input_size, hidden_size, num_layers, bidirectional)
    if jnp.shape(weights) != (count,):
        raise ValueError(
            message(
                "rnn, argument weights",
                given=f"an array of shape {jnp.shape(weights)}",
                expected=f"a vector of {count} numbers",
                fix="Make the weights with rnn.init_lstm_weight.",
            )
        )
    shapes = list(_matrix_shapes(input_size, hidden_size, num_layers, bidirectional))
    biases = [((rows,), (rows,)) for (rows, _), _ in shapes]
    found: tuple[Weights, ...] = ({}, {}, {}, {})
    start = 0
    for offset, each in ((0, shapes), (2, biases)):
        for position, pair in enumerate(each):
            for which, shape in enumerate(pair):
                end = start + math.prod(shape)
                found[offset + which][position] = jnp.reshape(weights[start:end], shape)
                start = end
    return found  # type: ignore[return-value]


def swap_lstm_gates(
    weights: Any, input_size: int, hidden_size: int, num_layers: int, bidirectional: bool
) -> Any:
    """A vector of weights with the cell gate and the output gate exchanged.

    So they stand in the order of MIOpen, AMD's library; and back.
    """
    parts = unpack_lstm_weights(weights, input_size, hidden_size, num_layers, bidirectional)
    swapped = [{k: _exchanged(x) for k, x in part.items()} for part in parts]
    pairs = (swapped[0], swapped[1]), (swapped[2], swapped[3])
    flat = [jnp.ravel(part[k]) for pair in pairs for k in pair[0] for part in pair]
    return jnp.concatenate(flat)


def _exchanged(x: Any) -> Any:
    i, f, g, o = jnp.split(x, _GATES)
    return jnp.concatenate([i, f, o, g])


def lstm(
    x: Any,
    h_0: Any,
    c_0: Any,
    weights: Any,
    seq_lengths: Any,
    input_size: int,
    hidden_size: int,
    num_layers: int,
    dropout: float,
    bidirectional: bool,
    precision: Any = None,
) -> tuple[Any, Any, Any]:
    """An LSTM, applied to a batch of sequences.

    Args:
        x: inputs, ``(batch, steps, input_size)``.
        h_0, c_0: states in the beginning, ``(directions · num_layers, batch, hidden_size)``.
        weights: a vector, see `init_lstm_weight`.
        seq_lengths: how many steps each sequence has, ``(batch,)``; what comes later is ignored.
        input_size, hidden_size, num_layers, bidirectional: as of `init_lstm_weight`.
        dropout: must be 0.
        precision: of the matrix products, as in `lax.dot_general`.

    Returns:
        The states h of the last layer after each step, ``(batch, steps, directions · hidden_size)``
        and zero after the end of a sequence; and the states h and c at the end, like `h_0`.

    Raises:
        NotImplementedError: if there is a dropout; JAX draws it in cuDNN only.
        ValueError: if shapes do not fit.

    Example:
        >>> import morphax as jax, morphax.numpy as jnp
        >>> from morphax.experimental import rnn
        >>> weights = rnn.init_lstm_weight(jax.random.key(0), 3, 5, 1, bidirectional=False)
        >>> state = jnp.zeros((1, 2, 5))
        >>> x, lengths = jnp.ones((2, 4, 3)), jnp.array([4, 2])
        >>> y, h, c = rnn.lstm(x, state, state, weights, lengths, 3, 5, 1, 0.0, False)
        >>> y.shape, h.shape
        ((2, 4, 5), (1, 2, 5))
    """
    parts = unpack_lstm_weights(weights, input_size, hidden_size, num_layers, bidirectional)
    sizes = input_size, hidden_size, num_layers
    return _layers(x, h_0, c_0, parts, seq_lengths, sizes, dropout, bidirectional, precision)


def lstm_ref(
    x: Any,
    h_0: Any,
    c_0: Any,
    W_ih: Weights,
    W_hh: Weights,
    b_ih: Weights,
    b_hh: Weights,
    seq_lengths: Any,
    input_size: int,
    hidden_size: int,
    num_layers: int,
    dropout: float,
    bidirectional: bool,
) -> tuple[Any, Any, Any]:
    """`lstm`, with weights as `unpack_lstm_weights` gives them."""
    parts = (W_ih, W_hh, b_ih, b_hh)
    sizes = input_size, hidden_size, num_layers
    return _layers(x, h_0, c_0, parts, seq_lengths, sizes, dropout, bidirectional, None)


def lstm_fwd(
    x: Any,
    h_0: Any,
    c_0: Any,
    w: Any,
    seq_lengths: Any,
    input_size: int,
    hidden_size: int,
    num_layers: int,
    dropout: float,
    bidirectional: bool,
    precision: Any,
) -> tuple[tuple[Any, Any, Any], Any]:
    """The results of `lstm`, and what `lstm_bwd` needs to know of its arguments."""

    def of_numbers(x: Any, h_0: Any, c_0: Any, w: Any) -> Any:
        sizes = input_size, hidden_size, num_layers
        return lstm(x, h_0, c_0, w, seq_lengths, *sizes, dropout, bidirectional, precision)

    return vjp(of_numbers, x, h_0, c_0, w)


def lstm_bwd(
    input_size: int,
    hidden_size: int,
    num_layers: int,
    dropout: float,
    bidirectional: bool,
    precision: Any,
    residuals: Any,
    gradients: tuple[Any, Any, Any],
) -> tuple[Any, Any, Any, Any, None]:
    """The cotangents of x, h_0, c_0 and the weights, from those of the results of `lstm_fwd`."""
    return (*residuals(tuple(gradients)), None)


def _layers(
    x: Any,
    h_0: Any,
    c_0: Any,
    parts: tuple[Weights, ...],
    seq_lengths: Any,
    sizes: tuple[int, int, int],
    dropout: float,
    bidirectional: bool,
    precision: Any,
) -> tuple[Any, Any, Any]:
    """All layers, one after the other."""
    _check(x, h_0, c_0, seq_lengths, sizes, dropout, bidirectional)
    directions = 2 if bidirectional else 1
    values = jnp.swapaxes(x, 0, 1)
    inside = jnp.arange(len(values))[:, None, None] < jnp.asarray(seq_lengths)[:, None]
    hs, cs = [], []
    for layer in range(sizes[2]):
        outs = []
        for direction in range(directions):
            k = layer * directions + direction
            weights = [part[k] for part in parts]
            state = jnp.asarray(h_0)[k], jnp.asarray(c_0)[k]
            (h, c), out = _passed(values, inside, state, weights, direction == 1, precision)
            hs.append(h)
            cs.append(c)
            outs.append(out)
        values = jnp.concatenate(outs, -1)
    return jnp.swapaxes(values, 0, 1), jnp.stack(hs), jnp.stack(cs)


def _passed(
    values: Any, inside: Any, state: tuple[Any, Any], weights: list[Any], reverse: bool, how: Any
) -> Any:
    """One direction of a layer: the state at the end, and h after each step."""
    w, r, b_w, b_r = weights
    driven = jnp.matmul(values, w.T, precision=how) + b_w + b_r

    def step(state: tuple[Any, Any], now: tuple[Any, Any]) -> tuple[tuple[Any, Any], Any]:
        (h, c), (from_inputs, is_inside) = state, now
        i, f, g, o = jnp.split(from_inputs + jnp.matmul(h, r.T, precision=how), _GATES, -1)
        next_c = sigmoid(f) * c + sigmoid(i) * tanh(g)
        next_h = sigmoid(o) * tanh(next_c)
        kept = jnp.where(is_inside, next_h, h), jnp.where(is_inside, next_c, c)
        return kept, jnp.where(is_inside, next_h, 0)

    return scan(step, state, (driven, inside), reverse=reverse)


def _check(
    x: Any,
    h_0: Any,
    c_0: Any,
    seq_lengths: Any,
    sizes: tuple[int, int, int],
    dropout: float,
    bidirectional: bool,
) -> None:
    if dropout:
        raise NotImplementedError(
            message(
                "rnn.lstm, argument dropout",
                given=str(dropout),
                expected="0: which numbers cuDNN drops cannot be told",
                fix="Apply layers one by one, with a dropout of your own between them.",
            )
        )
    inputs, states, layers = sizes
    batch, steps = (*jnp.shape(x), 0, 0)[:2]
    state = ((2 if bidirectional else 1) * layers, batch, states)
    given = tuple(map(jnp.shape, (x, h_0, c_0, seq_lengths)))
    expected = (batch, steps, inputs), state, state, (batch,)
    if given != expected:
        raise ValueError(
            message(
                "rnn.lstm, arguments x, h_0, c_0 and seq_lengths",
                given=f"shapes {', '.join(map(str, given))}",
                expected=", ".join(map(str, expected)),
                fix="The batch is the first axis of x, and the second one of the states.",
            )
        )
