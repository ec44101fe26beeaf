"""A trained model as a file: for batches of any size, with its gradient, for CPUs and GPUs.

The file is written by one process and used by another one, which has none of the model's code.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import morphax as jax
import morphax.numpy as jnp
from morphax import export

READER = """
import sys
import morphax as jax, morphax.numpy as jnp
from morphax import export

loss = export.deserialize(open(sys.argv[1], "rb").read())
weights = {"w": jnp.zeros(3), "b": jnp.zeros(())}
for batch in (4, 7, 32):
    x = jax.random.normal(jax.random.key(batch), (batch, 3))
    y = x @ jnp.array([1.0, -2.0, 0.5]) + 0.25
    for _ in range(200):
        slope = jax.grad(loss.call)(weights, x, y)
        weights = jax.tree.map(lambda w, g: w - 0.1 * g, weights, slope)
    print(f"batches of {batch:2}: w = {weights['w'].round(2)}, b = {weights['b']:.2f}")
"""


def loss(weights: dict[str, Any], x: Any, y: Any) -> Any:
    """Half the mean squared error of a linear model."""
    return jnp.mean((x @ weights["w"] + weights["b"] - y) ** 2) / 2


def main() -> None:
    """Export the loss for batches of two samples or more, and train in another process."""
    (batch,) = export.symbolic_shape("batch", constraints=("batch >= 2",))
    exported = export.export(jax.jit(loss), platforms=("cpu", "cuda"))(
        {"w": jax.ShapeDtypeStruct((3,), "float32"), "b": jax.ShapeDtypeStruct((), "float32")},
        jax.ShapeDtypeStruct((batch, 3), "float32"),
        jax.ShapeDtypeStruct((batch,), "float32"),
    )
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "loss"
        file.write_bytes(exported.serialize(vjp_order=1))
        print(f"{exported.in_avals[2]} and others, {file.stat().st_size} bytes", flush=True)
        subprocess.run([sys.executable, "-c", READER, str(file)], check=True)


if __name__ == "__main__":
    main()
