"""Treescope: trees of arrays as text and pages, in a program and inside of a trace."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import treescope


def main() -> list[float]:
    tree = {"w": jnp.arange(12.0).reshape(3, 4), "key": jax.random.key(0), "f": jax.nn.relu}
    text = treescope.render_to_text(tree)
    lengths = [float("float32(3, 4)" in text), float("11" in text), float("relu" in text)]
    page = treescope.render_to_html(tree)
    lengths.append(float("treescope" in page))
    picture = treescope.render_array(tree["w"])
    lengths.append(float(len(picture._repr_html_()) > 1000))
    seen = []

    @jax.jit
    def traced(x):
        seen.append(treescope.render_to_text({"x": x}))
        return x.sum()

    return [*lengths, float(traced(tree["w"])), float("float32[3,4]" in seen[0])]


if __name__ == "__main__":
    print(main())
