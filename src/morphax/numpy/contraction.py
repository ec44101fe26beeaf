"""Contractions of arrays whose axes have names: the common ground of all products.

Axes of one name run together.  A name that is missing from the result is summed over; if it occurs
in one operand only, before the product.  What to do is planned once for each set of names and
shapes; the product itself is one `dot_general`, unless nothing is summed over and its axes were to
be transposed: then it is one of operands that repeat.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Any, final

import numpy as np

from .. import lax
from ..core import aval_of
from ..lax.contraction.dot import dot_general_p
from ..lax.elementwise.arithmetic import mul_p
from ..lax.ground.linear_structure import broadcast_in_dim_p, transpose_p
from ..util.memo import memoize
from ..util.messages import message
from ..util.records import dataclass

Names = tuple[Hashable, ...]
Shape = tuple[int, ...]


@final
@dataclass(frozen=True, slots=True)
class Preparation:
    """What happens to one operand by itself.

    Args:
        squeezed: axes of size 1 whose name has another size in another operand.
        diagonals: for each repeated name a permutation that moves its axes to the end, the shape
            with these axes merged, and the distance of diagonal elements in the merged axis.
        summed: axes to sum over then.
        names: of the axes that are left.
    """

    squeezed: tuple[int, ...]
    diagonals: tuple[tuple[tuple[int, ...], Shape, int], ...]
    summed: tuple[int, ...]
    names: Names

    def __call__(self, x: Any) -> Any:
        if self.squeezed:
            x = lax.squeeze(x, self.squeezed)
        for permutation, merged, distance in self.diagonals:
            x = lax.reshape(lax.transpose(x, permutation), merged)
            x = lax.slice_in_dim(x, 0, merged[-1], distance, axis=-1)
        if not self.summed:
            return x
        # Of truth values sums are alternatives, as in products of theirs.
        return (lax.reduce_or if aval_of(x).dtype == np.bool_ else lax.reduce_sum)(x, self.summed)


def prepare(names: Names, shape: Shape, sizes: dict[Any, int], keep: Names) -> Preparation:
    """The plan for an operand from which only the names in `keep` are needed."""
    squeezed = tuple([i for i, a in enumerate(names) if shape[i] == 1 != sizes[a]])
    left = [a for i, a in enumerate(names) if i not in squeezed]
    diagonals = []
    for name in dict.fromkeys(left):
        count = left.count(name)
        if count > 1:
            same = [i for i, a in enumerate(left) if a == name]
            others = [i for i, a in enumerate(left) if a != name]
            left = [left[i] for i in others] + [name]
            n = sizes[name]
            merged = (*[sizes[a] for a in left[:-1]], n**count)
            diagonals.append(((*others, *same), merged, max(sum(n**i for i in range(count)), 1)))
    summed = tuple([i for i, a in enumerate(left) if a not in keep])
    rest = tuple([a for a in left if a in keep])
    return Preparation(squeezed, tuple(diagonals), summed, rest)


def common_sizes(
    where: str, names: Sequence[Names], shapes: Sequence[Shape], error: type[Exception] = TypeError
) -> dict[Any, int]:
    """The size of each name; axes of size 1 go with any."""
    sizes: dict[Any, int] = {}
    for operand, shape in zip(names, shapes, strict=True):
        for name, n in zip(operand, shape, strict=True):
            known = sizes.get(name, 1)
            if n != known and 1 not in (n, known):
                raise error(
                    message(
                        f"jnp.{where}",
                        given="operands of shapes " + " and ".join(map(str, shapes)),
                        expected=f"equal sizes of axes that run together, but {known} and {n} meet",
                        fix="Transpose or reshape an operand.",
                    )
                )
            sizes[name] = known if n == 1 else n
    return sizes


@final
@dataclass(frozen=True, slots=True)
class Contraction:
    """The plan for the product of two operands.

    Args:
        left, right: what happens to each of them before.
        swapped: whether the right one comes first in the product.
        numbers: the dimension numbers of `dot_general`.
        permutation: of the product's axes, if they need one.
        names: of the result's axes.
    """

    left: Preparation
    right: Preparation
    swapped: bool
    numbers: Any
    permutation: tuple[int, ...] | None
    names: Names

    def __call__(
        self,
        x: Any,
        y: Any,
        precision: Any,
        element_type: Any,
        dot_general: Callable[..., Any] | None = None,
    ) -> Any:
        x, y = self.left(x), self.right(y)
        if dot_general is None and self._is_product(aval_of(x), aval_of(y), element_type):
            return mul_p.bind(*self._aligned(x, y))
        if self.swapped:
            x, y = y, x
        if dot_general is not None:
            product = dot_general(
                x, y, self.numbers, precision, preferred_element_type=element_type
            )
        else:
            product = dot_general_p.bind(
                x,
                y,
                dimension_numbers=self.numbers,
                precision=precision,
                preferred_element_type=element_type,
                out_sharding=None,
            )
        if self.permutation is None:
            return product
        return transpose_p.bind(product, permutation=self.permutation)

    def _is_product(self, x: Any, y: Any, element_type: Any) -> bool:
        """Whether operands repeated along axes have this product, of elements one by one."""
        if self.permutation is None or self.numbers[0] != ((), ()):
            return False
        if any([a.weak_type or a.is_on_mesh or a.dtype != element_type for a in (x, y)]):
            return False
        if element_type == np.bool_:
            return False
        # To repeat an array does not change the order of its axes.
        return all([list(axes) == sorted(axes) for axes in self._axes()])

    def _axes(self) -> list[tuple[int, ...]]:
        """The axes of the result that each operand has."""
        given = self.left.names, self.right.names
        return [tuple([self.names.index(a) for a in names]) for names in given]

    def _aligned(self, x: Any, y: Any) -> list[Any]:
        pairs = list(zip((x, y), self._axes(), strict=True))
        sizes = {axis: n for a, axes in pairs for axis, n in zip(axes, a.shape, strict=True)}
        shape = tuple([sizes[axis] for axis in range(len(self.names))])
        return [
            a
            if len(axes) == len(shape)
            else broadcast_in_dim_p.bind(a, shape=shape, broadcast_dimensions=axes, sharding=None)
            for a, axes in pairs
        ]


@memoize
def plan_contraction(
    where: str, names: tuple[Names, Names], shapes: tuple[Shape, Shape], out: Names
) -> Contraction:
    """The plan for a result whose axes are `out`, in this order."""
    sizes = common_sizes(where, names, shapes)
    left = prepare(names[0], shapes[0], sizes, out + names[1])
    right = prepare(names[1], shapes[1], sizes, out + names[0])
    # A name squeezed out of one operand is summed over where it is alone.
    left = prepare(names[0], shapes[0], sizes, out + right.names)
    right = prepare(names[1], shapes[1], sizes, out + left.names)
    numbers, product = _dimension_numbers(left.names, right.names, out)
    swapped = False
    if product != out:
        other_numbers, other = _dimension_numbers(right.names, left.names, out)
        if other == out:
            numbers, product, swapped = other_numbers, other, True
    permutation = None if product == out else tuple([product.index(a) for a in out])
    return Contraction(left, right, swapped, numbers, permutation, out)


def _dimension_numbers(left: Names, right: Names, out: Names) -> tuple[Any, Names]:
    """The dimension numbers of a product, and the names of its axes."""
    shared = [a for a in left if a in right]
    batch = [a for a in shared if a in out]
    contracted = [a for a in shared if a not in out]
    numbers = tuple(
        [
            (tuple([left.index(a) for a in group]), tuple([right.index(a) for a in group]))
            for group in (contracted, batch)
        ]
    )
    free = [a for a in left if a not in shared] + [a for a in right if a not in shared]
    return numbers, (*batch, *free)
