"""From a jaxpr to the text of a StableHLO module, and how to call what it becomes.

Before text is written, the program is trimmed: dead equations go, unused operands are not passed,
results that are operands, constants or literals are forwarded instead of computed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, final

import numpy as np

from ...array import Array
from ...core import Jaxpr, Literal, ShapedArray
from ...core.dce import eliminate_dead_code
from .stablehlo import Module, function_text, host_constant, physical_dtype

# Larger constants bloat the text and are copied by the compiler; they are passed as operands.
_LARGEST_EMBEDDED_CONSTANT = 64 * 1024


@final
@dataclass(frozen=True, slots=True)
class Forwarded:
    """A result that needs no computation: operand number `operand`, or a constant."""

    operand: int | None = None
    constant: Array | None = None

    def of(self, operands: Sequence[Array]) -> Array:
        if self.operand is not None:
            return operands[self.operand]
        assert self.constant is not None, "a forwarded result is an operand or a constant"
        return self.constant


@final
@dataclass(frozen=True, slots=True)
class LoweredProgram:
    """A module's text with the recipe for calling it.

    Args:
        text: the StableHLO module.
        in_avals, out_avals: of the program as the user sees it.
        kept_operands: positions of the operands that the module takes.
        constant_operands: constants passed after them.
        physical_out_avals: of the module's own results.
        forwarded: for each result of the program, `None` if the module computes it.
        callbacks: Python functions that the module calls, by index.
    """

    text: str
    in_avals: tuple[ShapedArray, ...]
    out_avals: tuple[ShapedArray, ...]
    kept_operands: tuple[int, ...]
    constant_operands: tuple[Array, ...]
    physical_out_avals: tuple[ShapedArray, ...]
    forwarded: tuple[Forwarded | None, ...]
    callbacks: tuple[Callable[..., Any], ...]


def lower(
    jaxpr: Jaxpr, name: str, donated: Sequence[int] = (), platform: str = "cpu"
) -> LoweredProgram:
    """Write the module that computes `jaxpr`.

    Args:
        jaxpr: the program.
        name: of the module, seen in profiles.
        donated: positions of operands whose memory results may take over.
        platform: where it will run.
    """
    forwarded = _forwarded_results(jaxpr)
    trimmed, used = eliminate_dead_code(jaxpr, [f is None for f in forwarded])
    kept = [i for i, is_used in enumerate(used) if is_used]
    large = [_is_large(value) for value in trimmed.consts]
    constants = list(zip(trimmed.constvars, trimmed.consts, large, strict=True))
    entry = trimmed.replace(
        invars=tuple([trimmed.invars[i] for i in kept] + [v for v, _, big in constants if big]),
        constvars=tuple([v for v, _, big in constants if not big]),
        consts=tuple([c for _, c, big in constants if not big]),
    )
    module = Module(platform)
    attributes = {k: "{jax.buffer_donor = true}" for k, i in enumerate(kept) if i in set(donated)}
    main = function_text(module, "main", entry, visibility="public ", argument_attributes=attributes)
    body = "\n".join([*module.functions, main])
    return LoweredProgram(
        text=f"module @{module.fresh_name('jit_' + name)} {{\n{body}\n}}\n",
        in_avals=jaxpr.in_avals,
        out_avals=jaxpr.out_avals,
        kept_operands=tuple(kept),
        constant_operands=tuple([_as_array(c) for _, c, big in constants if big]),
        physical_out_avals=tuple([_physical(v.aval) for v in entry.outvars]),
        forwarded=tuple(forwarded),
        callbacks=tuple(module.callbacks),
    )


def _forwarded_results(jaxpr: Jaxpr) -> list[Forwarded | None]:
    known = {v: Forwarded(operand=i) for i, v in enumerate(jaxpr.invars)}
    for var, value in zip(jaxpr.constvars, jaxpr.consts, strict=True):
        known[var] = Forwarded(constant=_as_array(value))
    return [
        _literal_result(a) if type(a) is Literal else known.get(a)  # type: ignore[arg-type]
        for a in jaxpr.outvars
    ]


def _literal_result(literal: Literal) -> Forwarded:
    host = np.asarray(literal.val, physical_dtype(literal.aval.dtype))
    return Forwarded(constant=Array(literal.aval, host))


def _as_array(value: Any) -> Array:
    return value if type(value) is Array else Array.from_host(value)


def _is_large(value: Any) -> bool:
    return host_constant(value).nbytes > _LARGEST_EMBEDDED_CONSTANT


def _physical(aval: ShapedArray) -> ShapedArray:
    return ShapedArray(aval.shape, physical_dtype(aval.dtype))
