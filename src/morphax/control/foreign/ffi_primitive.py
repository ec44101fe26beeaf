"""The primitive behind `ffi_call`: a call of a handler of XLA's foreign function interface.

Handlers are compiled code that only XLA can call, so eager mode compiles a program of the one call,
once per signature.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NoReturn, final

from ...array import Array
from ...core import (
    AbstractToken,
    BatchAxes,
    Effect,
    Effects,
    Operand,
    Param,
    no_effects,
    not_linear,
)
from ...engines.reference.eager import RunsOnArrays
from ...engines.xla.custom_calls import TYPED_CALL, custom_call
from ...engines.xla.literals import string_text
from ...engines.xla.stablehlo import Builder, Value
from ...util.messages import message
from ...util.records import dataclass
from ..calls import run_compiled
from ..vmap_methods import batched_avals, batched_call
from .attributes import Attributes, as_text


@final
@dataclass(frozen=True)
class FfiEffect(Effect):
    """The foreign function does something besides computing its results."""

    def __str__(self) -> str:
        return "FFI"


@final
class FfiCall(RunsOnArrays):
    """Results are what a foreign function computes.

    Params:
        result_avals: of the results.
        vmap_method: see `ffi_call`.
        target_name: under which the function is registered.
        has_side_effect: whether it is called even if no result is used.
        input_layouts, output_layouts: for each array, its axes from minor to major.
        input_output_aliases: pairs of operand and result that share memory.
        custom_call_api_version: of XLA's interface.
        legacy_backend_config: a text for functions of versions before `TYPED_CALL`.
        attributes: pairs of name and value.
    """

    name = "ffi_call"
    multiple_results = True
    transpose = not_linear("nothing is known of what a foreign function computes")

    def abstract_eval(
        self, *avals: Any, result_avals: tuple[Any, ...], **_: Param
    ) -> tuple[Any, ...]:
        return result_avals

    def effects(self, *, has_side_effect: bool, **_: Param) -> Effects:
        return frozenset({FfiEffect()}) if has_side_effect else no_effects

    def execute(self, *operands: Array, **params: Param) -> list[Array]:
        return run_compiled(self, operands, params)

    def jvp(
        self,
        primals: Sequence[Operand],
        tangents: Sequence[Operand],
        *,
        target_name: str,
        **_: Param,
    ) -> NoReturn:
        raise ValueError(
            message(
                f"differentiation of ffi_call of {target_name!r}",
                given="a call whose operands depend on what is differentiated",
                expected="operations with a known derivative: a foreign function has none",
                fix="Give the function that calls it a derivative with jax.custom_jvp or "
                "jax.custom_vjp, or wrap the operands in jax.lax.stop_gradient.",
            )
        )

    def batch(
        self,
        axes: BatchAxes,
        operands: Sequence[Operand],
        dims: Sequence[int | None],
        **params: Param,
    ) -> tuple[list[Any], list[int | None]]:
        where = f"ffi_call of {params['target_name']!r}"
        return batched_call(where, self, axes, operands, dims, params)

    def params_of_batch(
        self, size: int, dims: Sequence[bool], params: dict[str, Param]
    ) -> dict[str, Param]:
        """The parameters of one call that does a whole batch, whose axis is the major one."""
        layouts = zip(params["input_layouts"], dims, strict=True)
        results = zip(params["output_layouts"], params["result_avals"], strict=True)
        return params | {
            "result_avals": batched_avals(size, params["result_avals"]),
            "input_layouts": tuple([_grown(order) if on else order for order, on in layouts]),
            "output_layouts": tuple(
                [order if type(a) is AbstractToken else _grown(order) for order, a in results]
            ),
        }

    def lower(
        self,
        b: Builder,
        outs: Sequence[Any],
        *operands: Value,
        target_name: str,
        has_side_effect: bool,
        input_layouts: Sequence[Sequence[int]],
        output_layouts: Sequence[Sequence[int]],
        input_output_aliases: Sequence[tuple[int, int]],
        custom_call_api_version: int,
        legacy_backend_config: str | None,
        attributes: Attributes,
        **_: Param,
    ) -> list[Value]:
        typed = custom_call_api_version == TYPED_CALL
        return custom_call(
            b,
            target_name,
            outs,
            *operands,
            layouts=(*input_layouts, *output_layouts),
            config=as_text(attributes) if typed else string_text(legacy_backend_config or ""),
            aliases={result: operand for operand, result in input_output_aliases},
            api_version=custom_call_api_version,
            has_side_effect=has_side_effect,
        )


def _grown(minor_to_major: Sequence[int]) -> tuple[int, ...]:
    """The layout of an array with one more axis in front, the major one."""
    return (*[axis + 1 for axis in minor_to_major], 0)


ffi_call_p = FfiCall()
