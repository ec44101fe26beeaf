"""The entries of a matrix of derivatives, taken from its products and told apart by leaves."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ... import dtypes
from ... import numpy as jnp
from ...core import Operand, Tracer
from ...util.messages import message
from .colouring import Reading
from .patterns import Integers
from .products import Products


class Block(NamedTuple):
    """The entries of one leaf of the result and one leaf of x, row by row.

    Args:
        out, input: the numbers of the two leaves.
        rows, columns: where the entries stand in this block.
        data: the entries.
    """

    out: int
    input: int
    rows: Integers
    columns: Integers
    data: Operand


def blocks_of(products: Products, reading: Reading) -> list[Block]:
    """All blocks of J, also those without entries."""
    rows, columns = reading.rows, reading.columns
    if products.transposed:
        rows, columns = columns, rows
    order = np.lexsort((columns, rows))
    rows, columns = rows[order], columns[order]
    sources = reading.from_rows[order], reading.from_colours[order]
    values = products.of_colours(reading) if reading.num_colours else []
    outs, inputs = products.rows_and_columns
    tops, lefts = _starts(outs), _starts(inputs)
    blocks = []
    for i in range(len(outs)):
        band = slice(*np.searchsorted(rows, (tops[i], tops[i + 1])))
        for j in range(len(inputs)):
            inside = (columns[band] >= lefts[j]) & (columns[band] < lefts[j + 1])
            chosen = np.flatnonzero(inside) + band.start
            dtype = products.results[j if products.transposed else i].dtype
            data = _read(values, sources[0][chosen], sources[1][chosen], dtype)
            blocks.append(Block(i, j, rows[chosen] - tops[i], columns[chosen] - lefts[j], data))
    return blocks


def _read(values: Sequence[Any], rows: Integers, colours: Integers, dtype: Any) -> Any:
    """The elements at these rows of all products together, which have one dtype there."""
    if not rows.size:
        return jnp.zeros(0, dtype)
    starts = np.cumsum([0, *[x.shape[1] for x in values]])
    first, last = (int(np.searchsorted(starts, end, "right")) for end in (rows.min(), rows.max()))
    used = values[first - 1 : last]
    whole = used[0] if len(used) == 1 else jnp.concatenate(used, axis=1)
    return whole[colours.astype(np.int32), (rows - starts[first - 1]).astype(np.int32)]


def verified(where: str, products: Products, blocks: Sequence[Block]) -> list[Block]:
    """The blocks, if their product with a random vector is the product of the program.

    Raises:
        RuntimeError: if it is not; where that is not known yet, the blocks become NaN.
    """
    source = np.random.default_rng(0)
    vector = [
        jnp.asarray(source.uniform(0.5, 1.5, aval.shape)).astype(aval.dtype)
        for aval in products.vectors
    ]
    agree = jnp.asarray(True)
    for leaf, expected in enumerate(products.with_vector(vector)):
        flat = jnp.reshape(expected, -1)
        total = scale = jnp.zeros_like(flat)
        for b in blocks:
            target, other = (b.input, b.out) if products.transposed else (b.out, b.input)
            if target == leaf:
                rows, columns = (b.columns, b.rows) if products.transposed else (b.rows, b.columns)
                terms = (b.data * jnp.reshape(vector[other], -1)[columns]).astype(flat.dtype)
                total, scale = total.at[rows].add(terms), scale.at[rows].add(jnp.abs(terms))
        tolerance = float(dtypes.finfo(flat.dtype).eps) ** 0.5
        # Rows that cancel to rounding errors are measured by what cancels elsewhere.
        largest = jnp.max(jnp.where(jnp.isfinite(scale), scale, 0), initial=0)
        close = jnp.abs(total - flat) <= tolerance * jnp.maximum(largest, jnp.abs(flat)) / 2
        agree = agree & jnp.all(close | ~jnp.isfinite(flat))
    if isinstance(agree, Tracer):
        return [b._replace(data=jnp.where(agree, b.data, jnp.nan)) for b in blocks]
    if not agree:
        raise RuntimeError(
            message(
                f"{where}, check of the result",
                given="a function whose derivative has entries outside of the pattern that its "
                "program shows",
                expected="the same product with a random vector from the sparse matrix and from "
                "jax.jvp or jax.vjp",
                fix="Use jax.jacfwd, and look for operations with rules of yours that disagree "
                "with each other, such as custom_vmap.",
            )
        )
    return list(blocks)


def _starts(avals: Sequence[Any]) -> Integers:
    return np.cumsum([0, *[aval.size for aval in avals]])
