"""`jax.extend.sharding`: shardings in the compiler's words, as objects of jaxlib and as bytes."""

from __future__ import annotations

from typing import Any

from ..runtime.client import xla_client
from ..runtime.gspmd_sharding import GSPMDSharding as GSPMDSharding
from ..util.messages import described, message

__all__ = [
    "GSPMDSharding",
    "get_hlo_sharding_from_serialized_proto",
    "get_op_sharding_from_serialized_proto",
    "get_serialized_proto_from_hlo_sharding",
]


def get_op_sharding_from_serialized_proto(sharding: bytes) -> Any:
    """The `OpSharding` of jaxlib that bytes stand for.

    Args:
        sharding: from `get_serialized_proto_from_hlo_sharding`.

    Raises:
        TypeError: if they are no bytes.
    """
    if not isinstance(sharding, bytes):
        raise TypeError(_wrong("get_op_sharding_from_serialized_proto", sharding, "bytes"))
    found = xla_client().OpSharding()
    found.ParseFromString(sharding)
    return found


def get_hlo_sharding_from_serialized_proto(sharding: bytes) -> Any:
    """The `HloSharding` of jaxlib that bytes stand for.

    Args:
        sharding: from `get_serialized_proto_from_hlo_sharding`.

    Raises:
        TypeError: if they are no bytes.

    Example:
        >>> from morphax.extend import sharding as s
        >>> s.get_hlo_sharding_from_serialized_proto(b"")
        {replicated}
    """
    return xla_client().HloSharding.from_proto(get_op_sharding_from_serialized_proto(sharding))


def get_serialized_proto_from_hlo_sharding(sharding: Any) -> bytes:
    """The bytes that stand for an `HloSharding` of jaxlib.

    Args:
        sharding: the sharding.

    Raises:
        TypeError: if it is something else.
    """
    if not isinstance(sharding, xla_client().HloSharding):
        where = "get_serialized_proto_from_hlo_sharding"
        raise TypeError(_wrong(where, sharding, "an HloSharding of jaxlib"))
    serialized: bytes = sharding.to_proto().SerializeToString()
    return serialized


def _wrong(where: str, given: Any, expected: str) -> str:
    return message(
        f"jax.extend.sharding.{where}, argument sharding",
        given=described(given),
        expected=expected,
        fix="Convert one into the other by the functions of jax.extend.sharding.",
    )
