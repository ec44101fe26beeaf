"""The entries of a matrix of derivatives, taken from its products and told apart by leaves."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ... import dtypes
from ... import numpy as jnp
from ...core import Operand, ShapedArray, Tracer
from ...util.messages import message
from .colouring import Reading
from .patterns import Integers
from .products import Products

Shape = tuple[int, ...]


class Places(NamedTuple):
    """Where the entries of one leaf of the result and one leaf of x stand, row by row.

    Args:
        out, input: the numbers of the two leaves.
        rows, columns: where the entries stand in this block, each of whose leaves is a vector.
        indices: where they stand in the array, by its axes.
        from_rows, from_colours: where each is read in the products.
    """

    out: int
    input: int
    rows: Integers
    columns: Integers
    indices: NDArray[np.int32]
    from_rows: Integers
    from_colours: Integers


class Block(NamedTuple):
    """The entries of one leaf of the result and one leaf of x.

    Args:
        places: where they stand.
        data: the entries.
    """

    places: Places
    data: Operand


def blocks_of(products: Products, way: str) -> list[Block]:
    """All blocks of J, also those without entries; `way` names a reading of the dependence."""
    dependence = products.dependence
    reading: Reading = getattr(dependence, way)
    outs, inputs = products.rows_and_columns
    every = dependence.laid_out(
        (way, products.transposed),
        lambda: _places(reading, products.transposed, _shapes(outs), _shapes(inputs)),
    )
    values = products.of_colours(reading) if reading.num_colours else []
    ends = [p.input if products.transposed else p.out for p in every]
    return [
        Block(p, _read(values, p.from_rows, p.from_colours, products.results[end].dtype))
        for p, end in zip(every, ends, strict=True)
    ]


def _shapes(avals: Sequence[ShapedArray]) -> list[Shape]:
    return [aval.shape for aval in avals]


def _places(
    reading: Reading, transposed: bool, outs: Sequence[Shape], inputs: Sequence[Shape]
) -> list[Places]:
    """The entries of each block, those of J row by row."""
    rows, columns = reading.rows, reading.columns
    if transposed:
        rows, columns = columns, rows
    order = np.lexsort((columns, rows))
    rows, columns = rows[order], columns[order]
    from_rows, from_colours = reading.from_rows[order], reading.from_colours[order]
    tops, lefts = _starts(outs), _starts(inputs)
    places = []
    for i, j in np.ndindex(len(outs), len(inputs)):
        band = slice(*np.searchsorted(rows, (tops[i], tops[i + 1])))
        inside = (columns[band] >= lefts[j]) & (columns[band] < lefts[j + 1])
        chosen = np.flatnonzero(inside) + band.start
        own = rows[chosen] - tops[i], columns[chosen] - lefts[j]
        indices = _indices(own, (outs[i], inputs[j]))
        places.append(Places(i, j, *own, indices, from_rows[chosen], from_colours[chosen]))
    return places


def _indices(numbers: tuple[Integers, Integers], shapes: tuple[Shape, Shape]) -> NDArray[np.int32]:
    """The coordinates of entries along the axes of two arrays."""
    axes = [
        axis
        for x, shape in zip(numbers, shapes, strict=True)
        for axis in (np.unravel_index(x, shape) if shape else ())
    ]
    stacked = np.stack(axes, -1) if axes else np.zeros((numbers[0].size, 0))
    return stacked.astype(np.int32)


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
            at = b.places
            target, other = (at.input, at.out) if products.transposed else (at.out, at.input)
            if target == leaf:
                rows, columns = (at.rows, at.columns)[:: -1 if products.transposed else 1]
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


def _starts(shapes: Sequence[Shape]) -> Integers:
    return np.cumsum([0, *[math.prod(shape) for shape in shapes]])
