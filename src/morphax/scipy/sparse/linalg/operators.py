"""Linear operators on trees of arrays, as functions of one vector.

Solvers work on one flat vector of the common dtype of the operator and the right-hand side.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .... import dtypes, tree
from .... import numpy as jnp
from ....core import aval_of, carries_aval, is_value
from ....errors import ShapeError
from ....lax.elementwise.convert import convert
from ....numpy.operands import as_array, inexact_type
from ....transforms.make_jaxpr import eval_shape
from ....util.messages import described, message
from ....util.records import dataclass
from .krylov import Operator


@dataclass(frozen=True)
class Vectors:
    """How trees of one structure and one dtype are laid out as vectors."""

    where: str
    structure: Any
    shapes: tuple[tuple[int, ...], ...]
    dtype: Any

    def flat(self, argument: str, value: Any) -> Any:
        """A tree as a vector (n,)."""
        leaves, structure = tree.flatten(value)
        arrays = [as_array(self.where, x) for x in leaves]
        if structure != self.structure:
            raise (ValueError if argument == "x0" else TypeError)(
                message(
                    f"{self.where}, argument {argument}",
                    given=f"{structure}",
                    expected=f"the structure of b, {self.structure}",
                    fix="Operators return what they take; x0 is like b.",
                )
            )
        shapes = tuple([x.aval.shape for x in arrays])
        if shapes != self.shapes:
            raise ShapeError(
                message(
                    f"{self.where}, argument {argument}",
                    given=f"arrays of shapes {list(shapes)}",
                    expected=f"the shapes of b, {list(self.shapes)}",
                    fix="Operators return what they take; x0 is like b.",
                )
            )
        return jnp.concatenate(
            [jnp.zeros(0, self.dtype), *[jnp.ravel(convert(x, self.dtype)) for x in arrays]]
        )

    def as_tree(self, vector: Any) -> Any:
        """A vector as a tree."""
        ends = np.cumsum([np.prod(shape, dtype=int) for shape in self.shapes])
        parts = [
            jnp.reshape(vector[end - np.prod(shape, dtype=int) : end], shape)
            for shape, end in zip(self.shapes, ends, strict=True)
        ]
        return tree.unflatten(self.structure, parts)

    def operator(self, argument: str, function: Operator) -> Operator:
        """A function of trees as a function of vectors."""
        return lambda vector: self.flat(argument, function(self.as_tree(vector)))


def vectors_of(where: str, function: Operator, b: Any, x0: Any) -> Vectors:
    """The vectors of a system: like `b`, of the dtype of all that enters the solution."""
    leaves, structure = tree.flatten(b)
    arrays = [as_array(where, x) for x in leaves]
    arrays += [as_array(where, x) for x in tree.leaves(x0)]
    dtype = inexact_type(where, *arrays)[0] if arrays else np.dtype(np.float32)
    shapes = tuple([x.aval.shape for x in arrays[: len(leaves)]])
    sample = tree.unflatten(structure, [jnp.zeros(shape, dtype) for shape in shapes])
    results = [x.dtype for x in tree.leaves(eval_shape(function, sample))]
    return Vectors(where, structure, shapes, dtypes.result_type(dtype, *results))


def operator_of(where: str, argument: str, value: Any, b: Any) -> Operator:
    """A function of trees from a function, or from a square matrix."""
    if callable(value):
        return value
    if not (is_value(value) or carries_aval(value)):
        raise TypeError(
            message(
                f"{where}, argument {argument}",
                given=described(value),
                expected="a matrix, or a function of vectors",
                fix="Convert lists with jnp.array.",
            )
        )
    shape = aval_of(value).shape
    if len(shape) != 2 or shape[0] != shape[1]:
        raise ShapeError(
            message(
                f"{where}, argument {argument}",
                given=f"an array of shape {shape}",
                expected="a square matrix (n, n)",
                fix="Map over stacks of matrices with jax.vmap.",
            )
        )
    sizes = [aval_of(x).shape[-2:][:1] for x in tree.leaves(b) if is_value(x) or carries_aval(x)]
    if sizes not in ([], [shape[:1]]):
        raise ShapeError(
            message(
                f"{where}, argument {argument}",
                given=f"a matrix of shape {shape} for b of {len(sizes)} arrays, {b!r:.80}",
                expected="as many rows as b has, which is one array",
                fix="Pass a function for trees of arrays.",
            )
        )
    return lambda x: jnp.matmul(value, x)
