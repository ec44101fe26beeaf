"""`checkpoint_name`: the identity that gives a value a name, for policies of `checkpoint`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, final

from ... import tree
from ...core import BatchAxes, Operand, Primitive, ShapedArray, not_linear
from ...engines import loops
from ...engines.xla.stablehlo import Builder, Value
from ...util.messages import message


@final
class Name(Primitive):
    """x; its tangent has no name.

    Params:
        name: the name.
    """

    name = "name"
    transpose = not_linear("tangents have no names")
    narrow_in_loops = "kept"

    def abstract_eval(self, x: ShapedArray, *, name: str) -> Any:
        return x

    def evaluate(self, x: Operand, *, name: str) -> Any:
        return x

    def lower(self, b: Builder, out: ShapedArray, x: Value, *, name: str) -> Value:
        return x

    def to_loops(
        self, b: loops.Builder, out: ShapedArray, x: loops.Value, *, name: str
    ) -> loops.Value:
        return x

    def jvp(
        self, primals: Sequence[Operand], tangents: Sequence[Operand], *, name: str
    ) -> tuple[Any, Any]:
        return self.bind(*primals, name=name), tangents[0]

    def batch(
        self, axes: BatchAxes, operands: Sequence[Operand], dims: Sequence[Any], *, name: str
    ) -> tuple[Any, Any]:
        return self.bind(*operands, name=name), dims[0]


name_p = Name()


def checkpoint_name(x: Any, name: str) -> Any:
    """`x`, under a name by which policies of `jax.checkpoint` know it.

    Args:
        x: an array or a tree of arrays; each leaf gets the name.
        name: any string, such as ``"attention"``.

    Example:
        >>> import morphax as jax
        >>> import morphax.numpy as jnp
        >>> from morphax.ad_checkpoint import checkpoint_name
        >>> def f(x):
        ...     return jnp.sin(checkpoint_name(jnp.sin(x), "inner"))
        >>> policy = jax.checkpoint_policies.save_only_these_names("inner")
        >>> jax.grad(jax.checkpoint(f, policy=policy))(0.0)
        Array(1., dtype=float32, weak_type=True)
    """
    if not isinstance(name, str):
        raise TypeError(
            message(
                "checkpoint_name, argument name",
                given=f"{name!r}",
                expected="a string",
                fix="Name the value with a string.",
            )
        )
    return tree.map(lambda leaf: name_p.bind(leaf, name=name), x)
