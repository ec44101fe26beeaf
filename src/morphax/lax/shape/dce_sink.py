"""Values that must be computed though nothing uses them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, final

from ... import tree
from ...core import NoResults, is_zero
from ...core.effects import Effect, Effects
from ...engines.xla.stablehlo import Builder, Value, tensor_type
from ...util.records import dataclass


@final
@dataclass(frozen=True)
class KeptEffect(Effect):
    """What the equation uses is computed although nothing comes of it."""

    repeatable: ClassVar[bool] = True

    def __str__(self) -> str:
        return "NoDCE"


@final
class DCESink(NoResults):
    """Use a value, so that dead code elimination leaves it.

    Params:
        prevent_mlir_dce: whether the compiler must compute it too.
    """

    name = "dce_sink"

    def effects(self, **_: Any) -> Effects:
        return frozenset({KeptEffect()})

    def evaluate(self, x: Any, **_: Any) -> list[Any]:
        return []

    def lower(
        self, b: Builder, outs: Sequence[Any], x: Value, *, prevent_mlir_dce: bool
    ) -> list[Value]:
        if prevent_mlir_dce:
            b.lines.append(
                f"stablehlo.custom_call @dce_sink({x.name}) "
                f"{{api_version = 4 : i32, backend_config = {{}}, has_side_effect = true}} : "
                f"({tensor_type(x.aval)}) -> ()"
            )
        return []

    def jvp(
        self, primals: Sequence[Any], tangents: Sequence[Any], **params: Any
    ) -> tuple[list[Any], list[Any]]:
        for x in (*primals, *[t for t in tangents if not is_zero(t)]):
            self.bind(x, **params)
        return [], []


dce_sink_p = DCESink()


def dce_sink(val: Any, *, prevent_mlir_dce: bool = False) -> None:
    """Have a value computed although nothing uses it.

    Args:
        val: array, or tree.
        prevent_mlir_dce: bind the compiler too, which otherwise sees that nothing uses the value.

    Example:
        >>> import morphax as jax, morphax.numpy as jnp
        >>> jax.make_jaxpr(lambda x: jax.lax.dce_sink(jnp.sin(x)))(1.0)
        { lambda ; a:f32[]. let
            b:f32[] = sin a
            dce_sink[prevent_mlir_dce=False] b
          in () }
    """
    for leaf in tree.leaves(val):
        dce_sink_p.bind(leaf, prevent_mlir_dce=prevent_mlir_dce)
