"""Modules that outlive the process and the version that wrote them.

A *portable artifact* is a StableHLO module in the versioned dialect VHLO: every consumer of
StableHLO reads it that is not older than the version named in it, for at least five years.  CHLO
has no versions, so its operations are written out first.  Custom calls are as stable as their
targets.

Reference: the StableHLO specification, https://openxla.org/stablehlo/compatibility.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from typing import Any, Final

import numpy as np

from ...core import ShapedArray
from ...runtime.client import jaxlib_module
from ...util.messages import message
from .library_calls import load_lapack
from .mlir_context import bindings, dialect, parsed, passes, shared_context
from .module import Module
from .stablehlo import Builder, Value, function
from .symbolic_program import cast, refined

# What is computed twice in one block is written once: half as much of an unrolled network.
_SHORTEN: Final = "cse"
_WRITE_OUT: Final = (
    "func.func(chlo-legalize-to-stablehlo),func.func(shape-legalize-to-stablehlo),"
    f"canonicalize,{_SHORTEN}"
)
_STABLE_TARGETS: Final = frozenset(
    {
        *("shape_assertion", "stablehlo.dynamic_rng_bit_generator", "Sharding", "LayoutConstraint"),
        *("SPMDFullToShardShape", "SPMDShardToFullShape", "annotate_device_placement"),
        *("cu_threefry2x32_ffi", "dce_sink", "ApproxTopK", "TopK"),
        *("cusolver_getrf_ffi", "cusolver_potrf_ffi", "cusolver_geqrf_ffi", "cusolver_orgqr_ffi"),
        *("cusolver_ormqr_ffi", "cusolver_syevd_ffi", "cusolver_gesvd_ffi", "cusolver_gesvdj_ffi"),
        *("Eigh", "Qr", "ProductOfElementaryHouseholderReflectors", "LuDecomposition"),
    }
)
_TARGET: Final = re.compile(r'call_target_name = "([^"]+)"|custom_call @"?([^"( ]+)')
_STABLE_PREFIX: Final = "lapack_"
"""Of the functions of LAPACK that jaxlib registers, which keeps old ones for old programs."""


def portable_artifact(text: str) -> bytes:
    """A module as a portable artifact, for readers that are up to twelve weeks old."""
    stablehlo = dialect("stablehlo")
    kinds = stablehlo.StablehloCompatibilityRequirement
    version = stablehlo.get_version_from_compatibility_requirement(kinds.WEEK_12)
    module = parsed(text)
    _register_passes()
    with shared_context():
        pipeline = _WRITE_OUT if "chlo." in text else _SHORTEN
        passes().PassManager.parse(f"builtin.module({pipeline})").run(module.operation)
    if " sdy." in text or "{sdy." in text:
        serialize = jaxlib_module("_jax").mlir.serialize_portable_artifact
        return bytes(serialize(module.operation.get_asm(print_generic_op_form=True), version, True))
    return bytes(stablehlo.serialize_portable_artifact(module, version))


@cache
def _register_passes() -> None:
    jaxlib_module("mlir._mlir_libs._stablehlo").register_stablehlo_passes()


def module_of(artifact: bytes, where: str) -> Any:
    """The module in a portable artifact.

    Raises:
        ValueError: if the bytes are none.
    """
    stablehlo = dialect("stablehlo")
    try:
        return stablehlo.deserialize_portable_artifact(shared_context(), artifact)
    except (ValueError, RuntimeError, bindings().MLIRError) as error:
        raise ValueError(
            message(
                where,
                given=f"a module of {len(artifact)} bytes that cannot be read: {error}",
                expected="a portable StableHLO artifact, of a version that is not newer than "
                f"{stablehlo.get_current_version()}",
                fix="Export the function again, or read it with a newer jaxlib.",
            )
        ) from None


def load_libraries(artifact: bytes) -> None:
    """Make known to XLA what a module calls, as far as it is not yet."""
    if _STABLE_PREFIX.encode() in artifact:
        load_lapack()


def check_custom_calls(text: str, where: str, allowed: Sequence[str]) -> None:
    """`ValueError` if a module calls what may be gone when it is read.

    Args:
        text: of the module.
        where: whose it is, for errors.
        allowed: targets that the user answers for.
    """
    targets = {a or b for a, b in _TARGET.findall(text)}
    unstable = [
        target
        for target in sorted(targets.difference(_STABLE_TARGETS, allowed))
        if not target.startswith(_STABLE_PREFIX)
    ]
    if unstable:
        raise ValueError(
            message(
                where,
                given=f"custom calls of {', '.join(unstable)}",
                expected="custom calls whose targets stay as they are in later versions",
                fix="If you answer for them, pass disabled_checks="
                f"[DisabledSafetyCheck.custom_call({unstable[0]!r})].",
            )
        )


def embedded_call(
    b: Builder,
    name: str,
    module: Any,
    index: int | None,
    operands: Sequence[Value],
    avals: tuple[Sequence[ShapedArray], Sequence[ShapedArray]],
    outs: Sequence[ShapedArray],
) -> list[Value]:
    """Call, from a program, the function ``main`` of a module that is read back.

    Args:
        b: of the block that calls.
        name: that the function should have.
        module: the module, which is used up.
        index: the number of the platform among those of the module, if it takes that.
        operands: of the call.
        avals: of the operands and results of the module, perhaps with symbols of its own.
        outs: avals of the results of the call.
    """
    given = [x.aval for x in operands]
    is_static = all([aval.is_static for aval in (*given, *outs)])
    if is_static and not all([aval.is_static for aval in (*avals[0], *avals[1])]):
        text = Module(meshes=b.module.meshes)
        callee = _embed(text, name, module)

        def main(inner: Builder, *values: Value) -> Sequence[Value]:
            return _call(inner, callee, index, values, avals, outs)

        entry = function(text, "main", given, main, visibility="public ")
        meshes = [f"sdy.mesh @{name} = {mesh}" for mesh, name in text.meshes.items()]
        module = parsed(refined("\n".join([*meshes, *text.functions, entry.text])))
        index, avals = None, (given, outs)
    return _call(b, _embed(b.module, name, module), index, operands, avals, outs)


def _call(
    b: Builder,
    callee: str,
    index: int | None,
    operands: Sequence[Value],
    avals: tuple[Sequence[ShapedArray], Sequence[ShapedArray]],
    outs: Sequence[ShapedArray],
) -> list[Value]:
    number = [] if index is None else [b.constant(index, ShapedArray((), np.int32))]
    taken = [cast(b, x, aval) for x, aval in zip(operands, avals[0], strict=True)]
    results = b.ops("func.call", avals[1], *number, *taken, callee=f"@{callee}")
    return [cast(b, x, aval) for x, aval in zip(results, outs, strict=True)]


def _embed(text: Module, name: str, module: Any) -> str:
    """Add the functions of a module to another one, under new names; the new name of ``main``."""
    ir = bindings()
    with module.context, ir.Location.unknown():
        ops = [op.operation for op in module.body.operations]
        old = [op.attributes["sym_name"].value for op in ops]
        # The new names may be among the old ones.
        apart = [f"?{i}" for i in range(len(ops))]
        fresh = [
            _new_name(text, op, name if known == "main" else known)
            for op, known in zip(ops, old, strict=True)
        ]
        for names in (zip(old, apart, strict=True), zip(apart, fresh, strict=True)):
            for op, (before, after) in zip(ops, names, strict=True):
                ir.SymbolTable.replace_all_symbol_uses(before, after, module.operation)
                ir.SymbolTable.set_symbol_name(op, after)
        for op in ops:
            if op.name == "func.func":
                _make_private(op)
                # The short form of a slice of an array of rank 0 cannot be read back.
                asm = op.get_asm(use_local_scope=True, print_generic_op_form=True)
                text.functions.append(asm)
    return fresh[old.index("main")]


def _new_name(text: Module, op: Any, wish: str) -> str:
    if op.name == "sdy.mesh":
        return text.mesh_name(str(op.attributes["mesh"]).removeprefix("#sdy.mesh"))
    return text.fresh_name(wish)


def _make_private(op: Any) -> None:
    """A function of a module as one that others call: what is said of an entry goes."""
    ir = bindings()
    op.attributes["sym_visibility"] = ir.StringAttr.get("private")
    for attribute in ("arg_attrs", "res_attrs"):
        if attribute in op.attributes:
            del op.attributes[attribute]
