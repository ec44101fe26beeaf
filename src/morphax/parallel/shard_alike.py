"""`shard_alike`: two values that lie alike, however that is.

Reference: Shardy's `sdy.sharding_group`, https://openxla.org/shardy/sdy_dialect.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, final

from .. import tree
from ..core import (
    AxisFlow,
    BatchAxes,
    Primitive,
    aval_of,
    each_alone,
    is_undefined_primal,
    is_zero,
)
from ..engines.xla.stablehlo import Builder, Value
from ..lax.ground.families import aligned_batch
from ..util.messages import message

_WHERE = "shard_alike"


@final
class ShardAlike(Primitive):
    """Both operands; what is known of how one lies holds for the other."""

    name = "shard_alike"
    multiple_results = True
    separate = True

    def abstract_eval(self, x: Any, y: Any) -> list[Any]:
        return [x, y]

    def axis_flow(self, x: Any, y: Any) -> AxisFlow:
        return each_alone(x, y)

    def evaluate(self, x: Any, y: Any) -> list[Any]:
        return [x, y]

    def lower(self, b: Builder, outs: Sequence[Any], x: Value, y: Value) -> list[Value]:
        group = f"{next(b.module.channels)} : i64"
        for value in (x, y):
            b.ops("sdy.sharding_group", (), value, group_id=group)
        return [x, y]

    def jvp(self, primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[Any, Any]:
        return self.bind(*primals), self._alike(tangents)

    def transpose(self, cts: Sequence[Any], *operands: Any) -> list[Any]:
        each = zip(self._alike(cts), operands, strict=True)
        return [ct if is_undefined_primal(x) and not is_zero(ct) else None for ct, x in each]

    def _alike(self, pair: Sequence[Any]) -> Sequence[Any]:
        return pair if any([is_zero(t) for t in pair]) else self.bind(*pair)

    def batch(
        self, axes: BatchAxes, operands: Sequence[Any], dims: Sequence[Any]
    ) -> tuple[Any, Any]:
        x, dim = operands[0], dims[0]
        if aval_of(x).ndim == (dim is not None):
            # Scalars can lie in but one way.
            return operands, dims
        return self.bind(*aligned_batch(axes, operands, dims)), (0, 0)


shard_alike_p = ShardAlike()


def shard_alike(x: Any, y: Any) -> tuple[Any, Any]:
    """Both, of which a compiled program lays out each array of one like that of the other.

    Args:
        x, y: arrays, or trees of them, of the same structure, shapes and dtypes.

    Returns:
        `x` and `y`.

    Raises:
        ValueError: if structures or shapes differ.

    Example:
        >>> import morphax as jax
        >>> from morphax.experimental.shard_alike import shard_alike
        >>> jax.jit(shard_alike)(1.0, 2.0)
        (Array(1., dtype=float32, weak_type=True), Array(2., dtype=float32, weak_type=True))
    """
    xs, structure = tree.flatten(x)
    ys, other = tree.flatten(y)
    if structure != other:
        raise ValueError(_differ("trees", structure, other))
    pairs = []
    for a, b in zip(xs, ys, strict=True):
        shapes = aval_of(a).shape, aval_of(b).shape
        if shapes[0] != shapes[1]:
            raise ValueError(_differ("shapes", *shapes))
        pairs.append(shard_alike_p.bind(a, b))
    first, second = ([pair[i] for pair in pairs] for i in (0, 1))
    return structure.unflatten(first), structure.unflatten(second)


def _differ(what: str, x: Any, y: Any) -> str:
    return message(
        f"{_WHERE}, arguments x and y",
        given=f"{what} {x} and {y}",
        expected=f"the same {what}",
        fix="Pass arrays of the same shapes, in the same structure.",
    )
