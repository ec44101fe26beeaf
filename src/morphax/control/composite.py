"""`lax.composite`: a function that compilers may know by its name.

The compiler that knows the name puts an operation of its own in place of the function; all others
compile the function, which is called the decomposition.  Derivatives and batches are those of the
decomposition: the name stands for that function alone.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, final

import numpy as np

from .. import tree
from ..core import (
    BatchAxes,
    Jaxpr,
    Operand,
    Param,
    Tracer,
    apply_jaxpr,
    has_ordered,
    is_zero,
    not_linear,
    stage_with_operands,
)
from ..engines.xla.literals import dense_text, element_type, quoted
from ..engines.xla.stablehlo import Builder, Value
from ..errors import UnexpectedTracerError
from ..lax.ground.axes import check_callable
from ..transforms.batching import open_batch
from ..transforms.flattening import (
    FlatFunction,
    argument_names,
    avals_of,
    check_values,
    debug_info,
)
from ..transforms.jvp import open_jvp
from ..util.messages import described, message
from .calls import split_tangents
from .program_call import ProgramCall

# What StableHLO takes for the name of an operation.
_OPERATION = re.compile(r"[a-zA-Z][a-zA-Z0-9_]*([.][a-zA-Z0-9_$]+)+")


@final
class Composite(ProgramCall):
    """Apply the decomposition, by name.

    Params:
        jaxpr: the decomposition.
        name, version: by which compilers know it.
        attributes: pairs of a name and an attribute in the text of MLIR.
    """

    name = "composite"
    transpose = not_linear("its derivative is that of the decomposition")

    def jvp(
        self,
        primals: Sequence[Operand],
        tangents: Sequence[Operand],
        *,
        jaxpr: Jaxpr,
        **params: Param,
    ) -> tuple[list[Any], list[Any]]:
        fragment = open_jvp(jaxpr, tuple([not is_zero(t) for t in tangents]))
        given = [t for t in tangents if not is_zero(t)]
        results = apply_jaxpr(fragment.jaxpr, *primals, *given)
        return split_tangents(results, fragment.out_active, jaxpr.out_avals)

    def batch(
        self,
        axes: BatchAxes,
        operands: Sequence[Operand],
        dims: tuple[int | None, ...],
        **params: Param,
    ) -> tuple[list[Any], Sequence[int | None]]:
        fragment = open_batch(params["jaxpr"], dims, axes)
        return apply_jaxpr(fragment.jaxpr, *operands), fragment.out_dims

    def lower(
        self, b: Builder, outs: Sequence[Any], *operands: Value, **params: Param
    ) -> list[Value]:
        jaxpr, attributes = params["jaxpr"], params["attributes"]
        if has_ordered(jaxpr.effects):
            return b.inline(jaxpr, *operands)
        callee = b.callee(params["name"], jaxpr)
        constants = [b.closed_over(value, aval) for value, aval in callee.hoisted]
        pairs = ", ".join([f"{quoted(key)} = {text}" for key, text in attributes])
        return b.ops(
            "stablehlo.composite",
            outs,
            *operands,
            *constants,
            name=quoted(params["name"]),
            version=f"{params['version']} : i32",
            decomposition=f"@{callee.name}",
            composite_attributes=f"{{{pairs}}}",
        )


composite_p = Composite()


def composite(decomposition: Callable[..., Any], name: str, version: int = 0) -> Callable[..., Any]:
    """A function that does what `decomposition` does, and is written as an operation with a name.

    Positional arguments are operands.  Keyword arguments are attributes: numbers, strings and
    arrays that are known while tracing; the decomposition gets them too.

    Args:
        decomposition: function of arrays or trees.
        name: of the operation, such as ``"my.op"``.
        version: of the operation.

    Raises:
        ValueError: the name is none of an operation.
        UnexpectedTracerError: an attribute is traced.
        TypeError: an attribute is neither number nor string nor array.

    Example:
        >>> import morphax as jax, morphax.numpy as jnp
        >>> twice = jax.lax.composite(lambda x, scale=2.0: x * scale, name="my.scale")
        >>> twice(jnp.arange(3.0))
        Array([0., 2., 4.], dtype=float32)
    """
    check_callable("lax.composite, argument decomposition", decomposition)
    if not isinstance(name, str) or not _OPERATION.fullmatch(name):
        raise ValueError(
            message(
                "lax.composite, argument name",
                given=repr(name),
                expected="words joined by dots, two at least",
                fix='Put a name of your own in front, such as "my.op".',
            )
        )

    @functools.wraps(decomposition)
    def named(*args: Any, **attributes: Any) -> Any:
        texts = _attributes(name, attributes)
        leaves, in_tree = tree.flatten((args, {}))
        where = "lax.composite"
        check_values(where, lambda: argument_names(decomposition, in_tree), leaves)
        flat = FlatFunction(functools.partial(decomposition, **attributes), in_tree, where)
        info = debug_info(where, decomposition, in_tree)
        jaxpr, captured = stage_with_operands(flat, avals_of(leaves), info)
        results = composite_p.bind(
            *captured, *leaves, jaxpr=jaxpr, name=name, version=version, attributes=texts
        )
        return flat.out_tree.unflatten(results)

    return named


def _attributes(name: str, values: Mapping[str, Any]) -> tuple[tuple[str, str], ...]:
    return tuple([(key, _attribute(name, key, value)) for key, value in sorted(values.items())])


def _attribute(name: str, key: str, value: Any) -> str:
    """A value known while tracing, in the text of MLIR."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        return quoted(value)
    if isinstance(value, int):
        return f"{value} : i64"
    if isinstance(value, float) and np.isfinite(value):
        return f"{value:.17e} : f64"
    error = UnexpectedTracerError if isinstance(value, Tracer) else TypeError
    if not isinstance(value, Tracer) and hasattr(value, "dtype"):
        array = np.asarray(value)
        shape = "".join([f"{n}x" for n in array.shape])
        return f"{dense_text(array)} : tensor<{shape}{element_type(array.dtype)}>"
    raise error(
        message(
            f"lax.composite {name!r}, attribute {key}",
            given=described(value),
            expected="a number, a string or an array that is known while tracing",
            fix="Pass what is computed as a positional argument.",
        )
    )
