"""einops: images to patches and back, reductions, under jit and grad."""

from __future__ import annotations

import jax
import jax.numpy as jnp
from einops import einsum, pack, rearrange, reduce, repeat, unpack


@jax.jit
def energy(images: jax.Array) -> jax.Array:
    patches = rearrange(images, "b (h i) (w j) c -> b (h w) (i j c)", i=2, j=2)
    scores = einsum(patches, patches, "b n d, b m d -> b n m")
    weights = jax.nn.softmax(scores, axis=-1)
    mixed = einsum(weights, patches, "b n m, b m d -> b n d")
    back = rearrange(mixed, "b (h w) (i j c) -> b (h i) (w j) c", h=4, i=2, j=2)
    return reduce(back * images, "b h w c -> b", "mean").sum()


def main() -> list[float]:
    images = jnp.sin(jnp.arange(2 * 8 * 8 * 3.0)).reshape(2, 8, 8, 3)
    value, slope = jax.value_and_grad(energy)(images)
    packed, shapes = pack([images[0], images[0, 0]], "* c")
    first, second = unpack(packed, shapes, "* c")
    tall = repeat(second, "w c -> w h c", h=3)
    sums = [first.sum(), second.sum(), tall.sum(), (slope**2).sum()]
    return [float(value), *map(float, sums)]


if __name__ == "__main__":
    print(main())
