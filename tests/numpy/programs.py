"""Functions whose programs print as those of JAX."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

X, V, I = (4, 6), (4,), ()  # noqa: E741 - operands: a matrix, a vector, a vector of integers

# Label, shape of the operand, function of the module and the operand.
PROGRAMS: list[tuple[str, tuple[int, ...], Callable[[Any, Any], Any]]] = [
    ("sum", X, lambda jnp, x: jnp.sum(x, 0)),
    ("sum keepdims", X, lambda jnp, x: x.sum(keepdims=True)),
    ("sum of short floats", V, lambda jnp, x: jnp.sum(x.astype("bfloat16"))),
    ("mean", X, lambda jnp, x: jnp.mean(x)),
    ("mean of short floats", V, lambda jnp, x: jnp.mean(x.astype("bfloat16"))),
    ("max", X, lambda jnp, x: jnp.max(x, 0, keepdims=True)),
    ("all", V, lambda jnp, x: jnp.all(x > 0)),
    ("argmax", V, lambda jnp, x: jnp.argmax(x)),
    ("matmul", X, lambda jnp, x: x @ x.T),
    ("matmul broadcast", X, lambda jnp, x: x[:, None, :] @ x.T),
    ("dot", V, lambda jnp, x: jnp.dot(x, x)),
    ("inner", X, lambda jnp, x: jnp.inner(x, x)),
    ("vecdot", X, lambda jnp, x: jnp.vecdot(x, x)),
    ("tensordot", X, lambda jnp, x: jnp.tensordot(x, x, 2)),
    ("einsum", X, lambda jnp, x: jnp.einsum("ij,kj->ki", x, x)),
    ("einsum batch", X, lambda jnp, x: jnp.einsum("bi,bj->bij", x, x)),
    ("einsum sum", X, lambda jnp, x: jnp.einsum("ij->i", x)),
    ("stack", V, lambda jnp, x: jnp.stack([x, x])),
    ("concatenate", V, lambda jnp, x: jnp.concatenate([x, x])),
    ("unstack", X, lambda jnp, x: jnp.unstack(x)),
    ("tile", X, lambda jnp, x: jnp.tile(x, 2)),
    ("repeat", X, lambda jnp, x: jnp.repeat(x, 2, 0)),
    ("reshape", X, lambda jnp, x: x.reshape(3, -1)),
    ("transpose", X, lambda jnp, x: x.T),
    ("moveaxis", X, lambda jnp, x: jnp.moveaxis(x, 0, 1)),
    ("squeeze", V, lambda jnp, x: jnp.squeeze(x[None])),
    ("new axes", X, lambda jnp, x: x[None, :, None]),
    ("integer index", X, lambda jnp, x: x[1]),
    ("slice and integer", X, lambda jnp, x: x[1:, 2]),
    ("reversed", X, lambda jnp, x: x[:, ::-1]),
    ("broadcast_to", V, lambda jnp, x: jnp.broadcast_to(x, (2, 4))),
    ("full_like", V, lambda jnp, x: jnp.full_like(x, 2)),
    ("zeros", V, lambda jnp, x: jnp.zeros(3)),
    ("arange", V, lambda jnp, x: jnp.arange(3)),
    ("minimum", V, lambda jnp, x: jnp.minimum(x, 0)),
    ("power", V, lambda jnp, x: -(x**2) / 3),
    ("integers and a float", I, lambda jnp, x: x + 1.5),
    ("integers divided", I, lambda jnp, x: x / 2),
    ("exponential", V, lambda jnp, x: jnp.exp(x) * jnp.log(x) + jnp.tanh(x)),
    ("comparisons", V, lambda jnp, x: (x > 0) & (x < 1)),
    ("rounding", V, lambda jnp, x: jnp.floor(x) + jnp.ceil(x)),
    ("astype", V, lambda jnp, x: x.astype("int32")),
    ("logical_not", V, lambda jnp, x: jnp.logical_not(x)),
]


def text(jax: Any, jnp: Any, shape: tuple[int, ...], function: Any) -> str:
    """The printed program."""
    operand = jnp.arange(4) if shape == I else jnp.ones(shape)
    return str(jax.make_jaxpr(lambda x: function(jnp, x))(operand))
