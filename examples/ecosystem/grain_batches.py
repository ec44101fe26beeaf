"""Grain: a pipeline that shuffles, maps and batches feeds a regression."""

from __future__ import annotations

import grain
import jax
import jax.numpy as jnp
import numpy as np


class Rows:
    """A source of rows, random access by number."""

    def __len__(self) -> int:
        return 96

    def __getitem__(self, i: int) -> dict[str, np.ndarray]:
        x = np.array([np.sin(i), np.cos(3 * i), 1.0], np.float32)
        return {"x": x, "y": np.float32(x @ np.array([2.0, -1.0, 0.5]))}


def main() -> list[float]:
    dataset = (
        grain.MapDataset.source(Rows())
        .shuffle(seed=3)
        .map(lambda row: {**row, "x": row["x"] * 2})
        .repeat(3)
        .batch(16)
    )

    @jax.jit
    def step(w, batch):
        value, slope = jax.value_and_grad(lambda w: jnp.mean((batch["x"] @ w - batch["y"]) ** 2))(w)
        return w - 0.2 * slope, value

    w, values = jnp.zeros(3), []
    for batch in dataset.to_iter_dataset():
        w, value = step(w, batch)
        values.append(float(value))
    return [float(len(values)), *values[::6], *map(float, w)]


if __name__ == "__main__":
    print(main())
