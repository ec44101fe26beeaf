"""`set_xla_metadata`: notes to the compiler on operations, which XLA calls frontend attributes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, final

from ... import tree
from ...core import AxisFlow, BatchAxes, Primitive, not_linear, same_axes
from ...core.attributes import with_attributes
from ...engines.xla.notes import annotated
from ...engines.xla.stablehlo import Builder, Value


@final
class XlaMetadataValue(Primitive):
    """x, and a note on the operation that has computed it.

    What is no result of an operation, such as an argument, has nothing to carry the note.
    """

    name = "xla_metadata_value"
    transpose = not_linear("its tangent is passed on without a note")

    def abstract_eval(self, x: Any, **_: Any) -> Any:
        return x

    def axis_flow(self, x: Any, **_: Any) -> AxisFlow:
        return same_axes(x)

    def evaluate(self, x: Any, **_: Any) -> Any:
        return x

    def lower(self, b: Builder, out: Any, x: Value, *, xla_metadata_kvs: Any) -> Value:
        for i, line in enumerate(b.lines):
            results = line.partition(" = ")[0].split(", ")
            if x.name in results and " = stablehlo.constant " not in line:
                b.lines[i] = annotated(line, dict(xla_metadata_kvs))
        return x

    def jvp(self, primals: Sequence[Any], tangents: Sequence[Any], **params: Any) -> Any:
        return self.bind(*primals, **params), tangents[0]

    def batch(
        self, axes: BatchAxes, operands: Sequence[Any], dims: Sequence[Any], **params: Any
    ) -> tuple[Any, Any]:
        return self.bind(*operands, **params), dims[0]


xla_metadata_value_p = XlaMetadataValue()


def set_xla_metadata(x: Any = None, **kwargs: Any) -> Any:
    """Note names and values on operations, for the passes of the compiler that know them.

    They are the frontend attributes of the HLO of compiled programs, and change no result.

    Args:
        x: an array or a tree of arrays, for the operations that computed them; a function, for all
            operations in it; left out, for the operations of a block.
        **kwargs: names and values; a value is written as text, a boolean as ``true`` or ``false``.

    Returns:
        The arrays; a function; or a context manager, which also decorates functions.

    Example:
        >>> import morphax as jax, morphax.numpy as jnp
        >>> from morphax.experimental.xla_metadata import set_xla_metadata
        >>> def f(x):
        ...     with set_xla_metadata(level=3):
        ...         y = jnp.sin(x)
        ...     return 2 * y
        >>> print(jax.jit(f).lower(1.0).as_text().splitlines()[2])
          %2 = stablehlo.sine %1 {mhlo.frontend_attributes = {level = "3"}} : tensor<f32>
    """
    pairs = {name: _text(value) for name, value in kwargs.items()}
    if x is None:
        return with_attributes(pairs)
    if callable(x):
        return with_attributes(pairs)(x)
    kvs = tuple(pairs.items())
    return tree.map(lambda leaf: xla_metadata_value_p.bind(leaf, xla_metadata_kvs=kvs), x)


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
