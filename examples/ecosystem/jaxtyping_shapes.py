"""jaxtyping: shapes in annotations, checked at run time, under jit too."""

from __future__ import annotations

import jax
import jax.numpy as jnp
from beartype import beartype
from jaxtyping import Array, Float, Int, TypeCheckError, jaxtyped


@jaxtyped(typechecker=beartype)
def score(
    x: Float[Array, "n d"], w: Float[Array, " d"], at: Int[Array, " k"]
) -> Float[Array, " k"]:
    return (x @ w)[at]


def main() -> list[float]:
    x, w, at = jnp.arange(6.0).reshape(3, 2), jnp.array([1.0, -2.0]), jnp.array([0, 2])
    value = score(x, w, at).sum() + jax.jit(score)(x, w, at).sum()
    slope = jax.grad(lambda w: jax.jit(score)(x, w, at).sum())(w)
    refused = 0
    for wrong in ((x, jnp.ones(3), at), (x, w, at.astype(float)), (x[0], w, at)):
        try:
            score(*wrong)
        except TypeCheckError:
            refused += 1
    return [float(value), *map(float, slope), float(refused)]


if __name__ == "__main__":
    print(main())
