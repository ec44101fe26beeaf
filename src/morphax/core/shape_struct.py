"""`ShapeDtypeStruct`: shape and dtype of an array, without the array."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any, final

from .. import dtypes
from ..util.messages import described, message
from .abstract_value import AbstractValue
from .layout import Format
from .manual_axis_type import ManualAxisType
from .partition_spec import PartitionSpec

_FIELDS = ("shape", "dtype", "sharding", "weak_type", "manual_axis_type", "is_ref")


@final
class ShapeDtypeStruct:
    """Stands for an array of which only shape, dtype and sharding matter.

    Args:
        shape: sizes of the axes.
        dtype: of the elements.
        sharding: layout over devices, if any; or a `Format`, which is that and one in memory; or a
            `jax.P` over the current mesh.
        weak_type: whether the dtype yields to others in promotion.
        manual_axis_type: how the array varies over axes of a mesh that are mapped by hand.
        is_ref: whether it stands for a reference to the array.

    Raises:
        ValueError: if the dtype is left open.

    Example:
        >>> import morphax as jax
        >>> jax.ShapeDtypeStruct((2, 3), "float32")
        ShapeDtypeStruct(shape=(2, 3), dtype=float32)
    """

    __slots__ = ("dtype", "format", "is_ref", "manual_axis_type", "shape", "weak_type")

    def __init__(
        self,
        shape: Any,
        dtype: Any,
        *,
        sharding: Any = None,
        weak_type: bool = False,
        manual_axis_type: Any = None,
        is_ref: bool = False,
    ) -> None:
        if dtype is None:
            raise ValueError(
                message(
                    "ShapeDtypeStruct, argument dtype",
                    given="None",
                    expected="the dtype of the elements",
                    fix="Name it: jax.ShapeDtypeStruct(shape, 'float32').",
                )
            )
        self.shape = _sizes(shape)
        if type(sharding) is PartitionSpec:
            sharding = _meanings[0](sharding, "ShapeDtypeStruct, argument sharding", TypeError)
        _check_layout(sharding, len(self.shape))
        self.dtype = dtypes.dtype(dtype)
        self.format = sharding if isinstance(sharding, Format) else Format(None, sharding)
        self.weak_type = weak_type
        self.manual_axis_type = manual_axis_type
        self.is_ref = is_ref

    @staticmethod
    def like(x: Any) -> ShapeDtypeStruct:
        """What stands for `x`: an array, a traced value, another structure, or a reference.

        The sharding is taken over from a concrete array if the array is committed to it.

        Example:
            >>> import morphax as jax, morphax.numpy as jnp
            >>> jax.ShapeDtypeStruct.like(jnp.ones((2, 3)))
            ShapeDtypeStruct(shape=(2, 3), dtype=float32)
        """
        found = {name: getattr(x, name) for name in _FIELDS if hasattr(x, name)}
        is_open = isinstance(x, AbstractValue) and getattr(x, "split", None) is None
        if is_open or not getattr(x, "committed", True):
            found.pop("sharding", None)
        if found.get("manual_axis_type") == ManualAxisType():
            found.pop("manual_axis_type")
        if not {"shape", "dtype"} <= found.keys():
            raise TypeError(
                message(
                    "ShapeDtypeStruct.like, argument x",
                    given=described(x),
                    expected="a value with a shape and a dtype",
                    fix="Convert numbers and lists with jnp.asarray.",
                )
            )
        return ShapeDtypeStruct(**found)

    @staticmethod
    def of_aval(aval: Any) -> Any:
        """What stands for any array of an aval; for any value of a high type, the type itself."""
        if aval.is_high:
            return aval
        sharding = None if aval.split is None else aval.sharding
        return ShapeDtypeStruct(aval.shape, aval.dtype, weak_type=aval.weak_type, sharding=sharding)

    @property
    def sharding(self) -> Any:
        return self.format.sharding

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> int:
        return math.prod(self.shape)

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("len() of unsized object")
        return int(self.shape[0])

    def _fields(self) -> tuple[Any, ...]:
        return self.format, *[getattr(self, name) for name in _FIELDS]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ShapeDtypeStruct) and self._fields() == other._fields()

    def __hash__(self) -> int:
        return hash((self.shape, self.dtype, self.weak_type))

    def update(self, **changes: Any) -> ShapeDtypeStruct:
        """The same structure with some fields changed."""
        fields = {name: getattr(self, name) for name in _FIELDS} | {"sharding": self.format}
        return ShapeDtypeStruct(**(fields | changes))

    def __repr__(self) -> str:
        facts = {
            "shape": self.shape,
            "dtype": self.dtype,
            "sharding": self.sharding,
            "format": self.format.layout,
            "weak_type": self.weak_type or None,
            "is_ref": self.is_ref or None,
        }
        shown = ", ".join([f"{name}={fact}" for name, fact in facts.items() if fact is not None])
        return f"ShapeDtypeStruct({shown})"


_Meaning = Callable[[PartitionSpec, str, type[Exception]], Any]

_meanings: list[_Meaning] = []


def install_meaning_of_specs(function: _Meaning) -> None:
    """Say what a spec means under the current mesh; called once, by who knows the mesh."""
    _meanings.append(function)


def _check_layout(sharding: object, ndim: int) -> None:
    if sharding is None or isinstance(sharding, Format):
        return
    if hasattr(type(sharding), "device_set"):
        entries = len(getattr(sharding, "spec", ()))
        if entries <= ndim:
            return
        raise ValueError(
            message(
                "ShapeDtypeStruct, argument sharding",
                given=f"{sharding!r}, which speaks of {entries} axes, for an array of {ndim}",
                expected="no more entries than the array has axes",
                fix="Shorten the spec.",
            )
        )
    raise ValueError(
        message(
            "ShapeDtypeStruct, argument sharding",
            given=described(sharding),
            expected="None, a jax.sharding.Sharding, or a Format",
            fix="Pass the sharding of an array: x.sharding.",
        )
    )


def _sizes(shape: object) -> tuple[Any, ...]:
    """The sizes, which may be symbols or static indices: whatever a sequence holds."""
    if isinstance(shape, Iterable):
        return tuple(shape)
    raise TypeError(
        message(
            "ShapeDtypeStruct, argument shape",
            given=described(shape),
            expected="a sequence of sizes",
            fix="Write (n,) for one axis of size n.",
        )
    )
