"""`deserialize`: bytes as an exported program again."""

from __future__ import annotations

from typing import Any

from ..core.dims import symbols_in
from ..engines.xla.portable import module_of
from ._checks import DisabledSafetyCheck
from ._export import (
    maximum_supported_calling_convention_version,
    minimum_supported_calling_convention_version,
)
from ._exported import Exported
from ._format import aval_of_data, parts_of, sharding_of_data
from ._refusal import refused
from ._scope import SymbolicScope
from ._trees import tree_of_data


def deserialize(blob: bytearray) -> Exported:
    """The exported program that `Exported.serialize` has made into bytes.

    Reading runs no code but what `register_pytree_node_serialization` was given, so bytes of others
    may be read; calling the program runs what is in it.

    Args:
        blob: the bytes.

    Raises:
        ValueError: if the bytes are no exported program, not all of it, or of another version.

    Example:
        >>> import morphax as jax
        >>> from morphax import export
        >>> blob = export.export(jax.jit(lambda x: x**2))(1.0).serialize(vjp_order=1)
        >>> jax.grad(export.deserialize(blob).call)(3.0)
        Array(6., dtype=float32, weak_type=True)
    """
    header, modules = parts_of(blob)
    try:
        return _read(header, modules)
    except (KeyError, TypeError, AttributeError, RecursionError, OverflowError) as error:
        raise refused(f"a header that is not well formed: {error!r:.200}") from None


def _read(header: dict[str, Any], modules: memoryview) -> Exported:
    version = header["calling_convention_version"]
    lowest = minimum_supported_calling_convention_version
    if not lowest <= version <= maximum_supported_calling_convention_version:
        raise refused(f"a program of version {version} of the calling convention")
    length = header["module_length"]
    artifact = bytes(modules[:length])
    if not isinstance(length, int) or len(artifact) != length:
        raise refused(f"a module of {len(artifact)} bytes")
    pullback = header["vjp"]
    vjp = None if pullback is None else _read(pullback, modules[length:])
    scope = SymbolicScope(tuple(header["constraints"]))
    exported = Exported(
        fun_name=_string(header["fun_name"]),
        in_tree=tree_of_data(header["in_tree"]),
        in_avals=tuple([aval_of_data(data, scope) for data in header["in_avals"]]),
        out_tree=tree_of_data(header["out_tree"]),
        out_avals=tuple([aval_of_data(data, scope) for data in header["out_avals"]]),
        _has_named_shardings=True,
        _in_named_shardings=tuple(map(sharding_of_data, header["in_shardings"])),
        _out_named_shardings=tuple(map(sharding_of_data, header["out_shardings"])),
        in_shardings_hlo=(None,) * len(header["in_avals"]),
        out_shardings_hlo=(None,) * len(header["out_avals"]),
        nr_devices=_natural(header["nr_devices"]),
        platforms=tuple(map(_string, header["platforms"])),
        ordered_effects=(),
        unordered_effects=(),
        disabled_safety_checks=tuple(
            [DisabledSafetyCheck(_string(name)) for name in header["disabled_safety_checks"]]
        ),
        mlir_module_serialized=artifact,
        calling_convention_version=version,
        module_kept_var_idx=tuple(map(_natural, header["module_kept_var_idx"])),
        uses_global_constants=bool(header["uses_global_constants"]),
        _get_vjp=None if vjp is None else lambda _: vjp,
    )
    _check(exported)
    return exported


def _check(exported: Exported) -> None:
    """The parts fit each other, and the module is one."""
    arguments, results = len(exported.in_avals), len(exported.out_avals)
    kept = exported.module_kept_var_idx
    known, used = [
        set(symbols_in([n for aval in avals for n in aval.shape]))
        for avals in (exported.in_avals, exported.out_avals)
    ]
    if (
        not used <= known
        or exported.in_tree.num_leaves != arguments
        or exported.out_tree.num_leaves != results
        or len(exported._in_named_shardings) != arguments
        or len(exported._out_named_shardings) != results
        or list(kept) != sorted({i for i in kept if i < arguments})
        or not exported.platforms
    ):
        raise refused("a header whose parts do not fit each other")
    # It may be of a version that this one cannot read.
    module_of(exported.mlir_module_serialized, "export.deserialize, argument blob")


def _string(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{value!r:.80} is no string")
    return value


def _natural(value: object) -> int:
    if type(value) is not int or value < 0:
        raise TypeError(f"{value!r:.80} is no number")
    return value
