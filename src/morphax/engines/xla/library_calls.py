"""Calls of LAPACK from compiled programs: what jaxlib brings for the CPU, and its peers for CUDA.

LAPACK stores matrices by columns and we by rows, so that it sees the transpose of what lies in
memory.  `call_lapack` asks XLA for columns: where a rule writes its operands as transposes (and
solves the transposed problem), no element moves; otherwise XLA copies.

LAPACK is SciPy's, and is loaded when the first program calls it; whoever runs such a program from
the compile cache has lowered it too.

Reference: E. Anderson et al., LAPACK Users' Guide, 3rd ed., SIAM 1999.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np

from ...runtime.client import jaxlib_module, xla_client
from ...runtime.kernels import prepare_hybrid
from ...util.compiled import part
from ...util.library_threads import ALONE, allow_control_of_threads
from ...util.messages import message
from ...util.scipy_libraries import alone
from .custom_calls import custom_call
from .stablehlo import Builder, Value, i64_array

_PREFIXES = {"float32": "s", "float64": "d", "complex64": "c", "complex128": "z"}
# What the plugin for CUDA registers for LAPACK's functions, with their operands and results.
_CUDA = {
    "getrf": "cusolver_getrf_ffi",
    "potrf": "cusolver_potrf_ffi",
    "geqrf": "cusolver_geqrf_ffi",
    "orgqr": "cusolver_orgqr_ffi",
    "ungqr": "cusolver_orgqr_ffi",
    "ormqr": "cusolver_ormqr_ffi",
    "unmqr": "cusolver_ormqr_ffi",
    "geqp3": "cuhybrid_geqp3",
    "syevd": "cusolver_syevd_ffi",
    "heevd": "cusolver_syevd_ffi",
    "sytrd": "cusolver_sytrd_ffi",
    "hetrd": "cusolver_sytrd_ffi",
    "tridiagonal_solve_perturbed": "cu_tridiagonal_solve_perturbed",
}
# Before the name of a function in programs that stay on this kind of machine: few of the library's
# threads share a call there, as far as native code may say so (`util/library_threads.py`).
_OURS = "morphax_"
_TRANSPOSES = {"N": "NO_TRANSPOSE", "T": "TRANSPOSE", "C": "ADJOINT"}
_TYPED_HANDLERS = 1  # the version of XLA's interface to custom calls that all of them implement


@cache
def load_lapack() -> None:
    """Make LAPACK known to XLA."""
    # jaxlib asks for these two, and would import the package around them, which takes 0.1 s.
    with alone("linalg", "cython_blas", "cython_lapack"):
        jaxlib_module("cpu._lapack").initialize()
    known = {name: f for name, f, _ in jaxlib_module("lapack").registrations()["cpu"]}
    ours, compiled = list(known.values()), part("library_handlers")
    if compiled is not None and allow_control_of_threads():
        ours = compiled.limited(ours, ALONE)
    known |= zip([f"{_OURS}{name}" for name in known], ours, strict=True)
    for name, function in known.items():
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

    Args:
        b: of the block that calls.
        function: name without the letter of the dtype, which is that of the first operand.
        outs: avals of the results; all arrays have the same leading axes.
        *operands: of the call.
        ranks: of operands, then of results, without the leading axes; matrices lie by columns.
        aliases: result number → number of the operand that LAPACK overwrites with it.
        **attributes: MLIR text.

    Raises:
        NotImplementedError: if the platform of the program has no such function.
    """
    target = _target(b, function, operands[0].aval.dtype)
    if b.module.platform == "cuda" and "uplo" in attributes:
        attributes["lower"] = flag(attributes.pop("uplo") == letter("L"))
    return call_library(b, target, outs, *operands, ranks=ranks, aliases=aliases, **attributes)


def call_library(
    b: Builder,
    target: str,
    outs: Sequence[Any],
    *operands: Value,
    ranks: Sequence[int],
    aliases: Mapping[int, int] | None = None,
    **attributes: str,
) -> list[Value]:
    """Call a function of a library by its whole name; the arguments are those of `call_lapack`."""
    if target.startswith("cuhybrid"):
        prepare_hybrid(b.module.platform)
    arrays = [*[v.aval for v in operands], *outs]
    layouts = [_layout(a.ndim, rank) for a, rank in zip(arrays, ranks, strict=True)]
    return custom_call(
        b,
        target,
        outs,
        *operands,
        layouts=layouts,
        config=f"{{{', '.join([f'{k} = {v}' for k, v in attributes.items()])}}}",
        aliases=aliases,
    )


def _target(b: Builder, function: str, dtype: Any) -> str:
    """The name that XLA knows the function by."""
    if b.module.platform == "cpu":
        load_lapack()
        if function == "tridiagonal_solve_perturbed":
            return f"{function}_ffi"  # no function of LAPACK: it is for all dtypes
        name = f"lapack_{_PREFIXES[dtype.name]}{function}_ffi"
        return f"{_OURS}{name}" if b.module.may_call_kernels else name
    if b.module.platform == "cuda" and function in _CUDA:
        return _CUDA[function]
    raise NotImplementedError(
        message(
            f"compiling {function} of LAPACK for {b.module.platform}",
            given="a program with a matrix factorisation",
            expected="a platform that has it: the CPU does",
            fix="Put the arguments on the CPU: jax.device_put(x, jax.devices('cpu')[0]).",
        )
    )


def call_trsm(
    b: Builder, a: Value, x: Value, *, left: bool, lower: bool, op: str, unit: bool
) -> Value:
    """The solution of a triangular system, op(A) X = B or X op(A) = B.

    Args:
        b: of the block that calls.
        a: triangular matrices.
        x: right-hand sides.
        left: whether the matrix is on the left of X.
        lower: whether the lower triangle is read.
        op: ``"N"`` for A, ``"T"`` for Aᵀ, ``"C"`` for Aᴴ.
        unit: whether the diagonal is taken for ones.
    """
    if b.module.platform != "cpu":
        return b.op(
            "stablehlo.triangular_solve",
            x.aval,
            a,
            x,
            left_side=flag(left),
            lower=flag(lower),
            unit_diagonal=flag(unit),
            transpose_a=f"#stablehlo<transpose {_TRANSPOSES[op]}>",
        )
    (found,) = call_lapack(
        b,
        "trsm",
        [x.aval],
        a,
        x,
        ranks=(2, 2, 2),
        aliases={0: 1},
        side=letter("L" if left else "R"),
        uplo=letter("L" if lower else "U"),
        trans_x=letter(op),
        diag=letter("U" if unit else "N"),
    )
    return found


def letter(character: str) -> str:
    """The attribute for an option that LAPACK names by a letter."""
    return f"{ord(character)} : ui8"


def flag(holds: bool) -> str:
    """The attribute for an option that holds or does not."""
    return str(holds).lower()


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


def _layout(ndim: int, rank: int) -> list[int]:
    """The axes from minor to major: matrices by columns, all else by rows."""
    order = list(range(ndim))[::-1]
    if rank == 2:
        order[:2] = order[1::-1]
    return order
