"""Calls of the LAPACK functions that jaxlib brings along, from compiled programs on the CPU.

LAPACK stores matrices by columns and we by rows, so that it sees the transpose of what lies in
memory.  `call_lapack` asks XLA for columns: where a rule writes its operands as transposes (and
solves the transposed problem), no element moves; otherwise XLA copies.

Loading LAPACK imports SciPy's (a quarter of a second), so it waits for the first program that calls
it; whoever runs such a program from the compile cache has lowered it too.

Reference: E. Anderson et al., LAPACK Users' Guide, 3rd ed., SIAM 1999.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np

from ...util.messages import message
from .client import jaxlib_module, xla_client
from .stablehlo import Builder, Value, i64_array

_PREFIXES = {"float32": "s", "float64": "d", "complex64": "c", "complex128": "z"}
_TYPED_HANDLERS = 1  # the version of XLA's interface to custom calls that all of them implement


@cache
def _load() -> None:
    """Make LAPACK known to XLA."""
    jaxlib_module("cpu._lapack").initialize()
    for name, function, _ in jaxlib_module("lapack").registrations()["cpu"]:
        xla_client().register_custom_call_target(name, function, "cpu", _TYPED_HANDLERS)


def call_lapack(
    b: Builder,
    function: str,
    outs: Sequence[Any],
    *operands: Value,
    ranks: Sequence[int],
    aliases: Mapping[int, int] | None = None,
    **attributes: str,
) -> list[Value]:
    """Call the LAPACK function of the operands' dtype: ``potrf`` is ``spotrf`` for float32.

    ``function`` is the name without the letter of the dtype, which is that of the first operand;
    the rest is as in `call_library`.
    """
    prefix = _PREFIXES[operands[0].aval.dtype.name]
    return call_library(
        b, f"lapack_{prefix}{function}", outs, *operands, ranks=ranks, aliases=aliases, **attributes
    )


def call_library(
    b: Builder,
    function: str,
    outs: Sequence[Any],
    *operands: Value,
    ranks: Sequence[int],
    aliases: Mapping[int, int] | None = None,
    **attributes: str,
) -> list[Value]:
    """Call a function of linear algebra that jaxlib brings along.

    Args:
        b: of the block that calls.
        function: its name.
        outs: avals of the results; all arrays have the same leading axes.
        *operands: of the call.
        ranks: of operands, then of results, without the leading axes; matrices lie by columns.
        aliases: result number → number of the operand that LAPACK overwrites with it.
        **attributes: MLIR text.

    Raises:
        NotImplementedError: if the program is not for the CPU.
    """
    if b.module.platform != "cpu":
        raise NotImplementedError(
            message(
                f"compiling {function} for {b.module.platform}",
                given="a program with a matrix factorisation",
                expected="the platform cpu",
                fix="Put the arguments on the CPU: jax.device_put(x, jax.devices('cpu')[0]).",
            )
        )
    _load()
    arrays = [*[v.aval for v in operands], *outs]
    layouts = [_layout(a.ndim, rank) for a, rank in zip(arrays, ranks, strict=True)]
    tuples = len(outs) > 1
    overwritten = [_alias(out, operand, tuples) for out, operand in (aliases or {}).items()]
    return b.ops(
        "stablehlo.custom_call",
        outs,
        *operands,
        call_target_name=f'"{function}_ffi"',
        api_version="4 : i32",
        backend_config=f"{{{', '.join([f'{k} = {v}' for k, v in attributes.items()])}}}",
        operand_layouts=f"[{', '.join(layouts[: len(operands)])}]",
        result_layouts=f"[{', '.join(layouts[len(operands) :])}]",
        output_operand_aliases=f"[{', '.join(overwritten)}]",
    )


def letter(character: str) -> str:
    """The attribute for an option that LAPACK names by a letter."""
    return f"{ord(character)} : ui8"


def transposed(b: Builder, x: Value) -> Value:
    """Each matrix of `x` transposed: LAPACK gets it without a copy."""
    ndim, shape = x.aval.ndim, x.aval.shape
    order = [*range(ndim - 2), ndim - 1, ndim - 2]
    out = x.aval.update(shape=(*shape[:-2], shape[-1], shape[-2]))
    return b.op("stablehlo.transpose", out, x, permutation=i64_array(order))


def nan_where_failed(b: Builder, out: Any, x: Value, info: Value) -> Value:
    """`x`, with NaN for the matrices of the stack for which `info` of LAPACK is not 0."""
    failed = info.aval.update(dtype=np.dtype(bool))
    zero = b.full(0, info.aval)
    good = b.op("stablehlo.compare", failed, info, zero, comparison_direction=_EQUAL)
    everywhere = b.broadcast(good, out.update(dtype=np.dtype(bool)), range(failed.ndim))
    nan = complex(np.nan, np.nan) if out.dtype.kind == "c" else np.nan
    return b.op("stablehlo.select", out, everywhere, x, b.full(nan, out))


_EQUAL = "#stablehlo<comparison_direction EQ>"


def _layout(ndim: int, rank: int) -> str:
    """The axes from minor to major: matrices by columns, all else by rows."""
    order = list(range(ndim))[::-1]
    if rank == 2:
        order[:2] = order[1::-1]
    return f"dense<{order}> : tensor<{ndim}xindex>"


def _alias(out: int, operand: int, tuples: bool) -> str:
    return (
        "#stablehlo.output_operand_alias<"
        f"output_tuple_indices = [{out if tuples else ''}], "
        f"operand_index = {operand}, operand_tuple_indices = []>"
    )
