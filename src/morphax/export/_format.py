"""Exported programs as bytes, and back: data only, which runs nothing when it is read.

The bytes are, in this order: a mark with the version of the format; the lengths of two parts, 8
bytes each, the lower first; the *header*, a JSON object; the *modules*, portable artifacts one
after another, that of the program first, then those of its pullbacks; and the SHA-256 digest of all
before.  The header tells all fields of `Exported`, those of the pullback under the key ``"vjp"``.
Sizes are texts that `symbolic_shape` reads, in the scope whose constraints the header tells.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

from .. import dtypes
from ..core import AbstractMesh, ShapedArray
from ..core.dims import SymbolicDim
from ..core.partition_spec import PartitionSpec
from ..random._keys import key_dtype
from ..runtime.named_sharding import NamedSharding
from ..util.messages import described, message
from ._parsing import Reader, filled
from ._refusal import refused
from ._scope import SymbolicScope
from ._trees import tree_as_data

if TYPE_CHECKING:
    from ._exported import Exported

_MARK: Final = b"\x93morphax export 1\n"
_LENGTH: Final = 8
_DIGEST: Final = 32
_WHERE: Final = "export.deserialize, argument blob"


def serialized(exported: Exported, vjp_order: int) -> bytearray:
    """An exported program, and its pullbacks up to an order, as bytes."""
    if not isinstance(vjp_order, int) or vjp_order < 0:
        raise ValueError(
            message(
                "Exported.serialize, argument vjp_order",
                given=f"{vjp_order!r}",
                expected="the number of times that the program shall be differentiable",
                fix="Pass 0, 1 or 2.",
            )
        )
    modules: list[bytes] = []
    header = json.dumps(_header(exported, vjp_order, modules), separators=(",", ":")).encode()
    body = b"".join(modules)
    blob = bytearray(_MARK)
    blob += len(header).to_bytes(_LENGTH, "little") + len(body).to_bytes(_LENGTH, "little")
    blob += header + body
    return blob + hashlib.sha256(blob).digest()


def parts_of(blob: Any) -> tuple[dict[str, Any], memoryview]:
    """The header and the modules in bytes.

    Raises:
        ValueError: if they are not what `serialized` has made.
    """
    if not isinstance(blob, (bytes, bytearray, memoryview)):
        raise TypeError(
            message(
                _WHERE,
                given=described(blob),
                expected="bytes",
                fix="Pass what exported.serialize() returns.",
            )
        )
    data = memoryview(blob).cast("B")
    start = len(_MARK) + 2 * _LENGTH
    if bytes(data[: len(_MARK)]) != _MARK:
        raise refused(f"{len(data)} bytes that begin with {bytes(data[: len(_MARK)])!r}")
    lengths = [
        int.from_bytes(data[i : i + _LENGTH], "little")
        for i in (start - 2 * _LENGTH, start - _LENGTH)
    ]
    if start + sum(lengths) + _DIGEST != len(data):
        raise refused(f"{len(data)} bytes, where there should be {start + sum(lengths) + _DIGEST}")
    if hashlib.sha256(data[:-_DIGEST]).digest() != bytes(data[-_DIGEST:]):
        raise refused("bytes that have been changed: their digest is another one")
    middle = start + lengths[0]
    try:
        header = json.loads(bytes(data[start:middle]).decode())
    except (ValueError, RecursionError) as error:
        raise refused(f"a header that is no JSON: {error}") from None
    if not isinstance(header, dict):
        raise refused("a header that is no JSON object")
    return header, data[middle:-_DIGEST]


def _header(exported: Exported, vjp_order: int, modules: list[bytes]) -> dict[str, Any]:
    modules.append(exported.mlir_module_serialized)
    where = f"serialization of the exported function {exported.fun_name}"
    scope = next(
        (n.scope for aval in exported.in_avals for n in aval.shape if type(n) is SymbolicDim), None
    )
    return {
        "fun_name": exported.fun_name,
        "constraints": list(scope.constraints) if isinstance(scope, SymbolicScope) else [],
        "in_tree": tree_as_data(exported.in_tree, where),
        "in_avals": list(map(_aval_as_data, exported.in_avals)),
        "out_tree": tree_as_data(exported.out_tree, where),
        "out_avals": list(map(_aval_as_data, exported.out_avals)),
        "in_shardings": list(map(_sharding_as_data, exported._in_named_shardings)),
        "out_shardings": list(map(_sharding_as_data, exported._out_named_shardings)),
        "nr_devices": exported.nr_devices,
        "platforms": list(exported.platforms),
        "disabled_safety_checks": [repr(check) for check in exported.disabled_safety_checks],
        "calling_convention_version": exported.calling_convention_version,
        "module_kept_var_idx": list(exported.module_kept_var_idx),
        "uses_global_constants": exported.uses_global_constants,
        "module_length": len(exported.mlir_module_serialized),
        "vjp": _header(exported.vjp(), vjp_order - 1, modules) if vjp_order else None,
    }


def _aval_as_data(aval: ShapedArray) -> list[Any]:
    name = "float0" if aval.dtype == dtypes.float0 else str(aval.dtype)
    return [name, ", ".join(map(str, aval.shape)), aval.weak_type]


def aval_of_data(data: Any, scope: SymbolicScope) -> ShapedArray:
    """The aval that a header tells."""
    match data:
        case [str(name), str(shape), bool(weak_type)]:
            sizes = filled(_WHERE, Reader(_WHERE, shape, scope.size).shape(), None)
            if any([type(n) is int and n < 0 for n in sizes]):
                raise refused(f"the shape {shape!r}")
            return ShapedArray(sizes, _dtype_of(name), weak_type)
    raise refused(f"the aval {data!r:.80}")


def _dtype_of(name: str) -> Any:
    if name == "float0":
        return dtypes.float0
    keys = {str(d): d for d in map(key_dtype, ("threefry2x32", "rbg", "unsafe_rbg"))}
    return keys[name] if name in keys else dtypes.check_numeric(dtypes.dtype(name), _WHERE)


def _sharding_as_data(place: NamedSharding | None) -> list[Any] | None:
    if place is None:
        return None
    axes = [[str(name), size] for name, size in place.mesh.shape_tuple]
    entries: Sequence[Any] = tuple(place.spec)
    spec = [list(names) if isinstance(names, tuple) else names for names in entries]
    return [axes, spec]


def sharding_of_data(data: Any) -> NamedSharding | None:
    """The sharding that a header tells, over a mesh without devices."""
    match data:
        case None:
            return None
        case [list(axes), list(spec)] if all(map(_is_axis, axes)):
            mesh = AbstractMesh(tuple([n for _, n in axes]), tuple([name for name, _ in axes]))
            entries = [tuple(entry) if isinstance(entry, list) else entry for entry in spec]
            return NamedSharding(mesh, PartitionSpec(*entries))
    raise refused(f"the sharding {data!r:.80}")


def _is_axis(data: Any) -> bool:
    match data:
        case [str(_), int(size)]:
            return size > 0
    return False
