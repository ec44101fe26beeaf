"""Haliax: attention over named axes, normalised, and its gradient."""

from __future__ import annotations

import haliax as hax
import haliax.nn as hnn
import jax


def main() -> list[float]:
    Batch, Position, Key = hax.make_axes(Batch=2, Position=6, Key=4)
    Other = Position.alias("Other")
    keys = jax.random.split(jax.random.key(0), 3)
    q = hax.random.normal(keys[0], (Batch, Position, Key))
    k = hax.random.normal(keys[1], (Batch, Other, Key))
    v = hax.random.normal(keys[2], (Batch, Other, Key))

    def attention(q, k, v):
        scores = hax.dot(q, k, axis=Key) / Key.size**0.5
        mask = hax.arange(Position).broadcast_axis(Other) >= hax.arange(Other)
        weights = hnn.softmax(hax.where(mask, scores, -1e9), axis=Other)
        return hax.dot(weights, v, axis=Other)

    out = hax.named_jit(attention)(q, k, v)
    slope = jax.grad(lambda q: hax.sum(attention(q, k, v) ** 2).scalar())(q)
    summed = hax.sum(out, axis=(Batch, Position))
    return [*map(float, summed.array), float(hax.sum(slope**2).array)]


if __name__ == "__main__":
    print(main())
