"""What is known of a value while tracing: the base of all its kinds."""

from __future__ import annotations

from collections.abc import Hashable
from typing import TYPE_CHECKING, Any

from ..util.messages import message
from .manual_axis_type import ManualAxisType
from .partition_spec import PartitionSpec

# An array, a tracer, a NumPy array, a scalar, or what else has an aval: they share no base class.
Operand = Any
# A parameter of an equation: each primitive knows the types of its own.
Param = Any
# A dtype of NumPy or an extended one, which share no base class, or what names one.
DType = Any


class AbstractValue:
    """What is known of a value while tracing."""

    __slots__ = ("__weakref__",)

    # Whether it says anything about a mesh of devices.
    is_on_mesh: bool = False
    # Whether the value is of a type that users define; whether such a value changes in place.
    is_high: bool = False
    has_qdd: bool = False

    def str_short(self, short_dtypes: bool = False, mesh_axis_types: bool = False) -> str:
        """The notation of printed jaxprs."""
        return type(self).__name__

    def update(self, **changes: Any) -> AbstractValue:
        """The same aval with some fields changed."""
        if not changes:
            return self
        raise TypeError(f"{type(self).__name__} has no fields {', '.join(changes)}")

    def update_weak_type(self, weak_type: bool) -> AbstractValue:
        """The same aval with another weak type, where the kind of aval has one."""
        return self

    def update_manual_axis_type(self, mat: ManualAxisType) -> AbstractValue:
        """The same on other axes of members, where the kind of aval says something of them."""
        return self

    def to_tangent_aval(self) -> AbstractValue:
        """The aval of a tangent of such a value."""
        raise TypeError(f"{type(self).__name__} has no tangent space")

    def lo_ty(self) -> list[AbstractValue]:
        """The types of the arrays that a value is made of: see `core.high_types`."""
        return [self]

    def lower_val(self, hi_val: Operand) -> list[Any]:
        """The arrays that a value is made of."""
        return [hi_val]

    def raise_val(self, *lo_vals: Operand) -> Any:
        """The value that is made of these arrays."""
        (value,) = lo_vals
        return value

    def to_ct_aval(self) -> Any:
        """The aval of a cotangent of such a value."""
        return self.to_tangent_aval()

    def at_least_vspace(self) -> AbstractValue:
        """`to_tangent_aval`, by the name that older rules of libraries call it."""
        return self.to_tangent_aval()

    def strip_weak_type(self) -> AbstractValue:
        return self

    def shard(
        self, mesh: Any, manual_axes: frozenset[Hashable], check_vma: bool, spec: PartitionSpec
    ) -> Any:
        """The type of a member's part of a value, which `spec` says how to part.

        Args:
            mesh: the mesh.
            manual_axes: its axes along which there are members.
            check_vma: whether types say over which axes values vary.
            spec: the axes of the mesh that the axes of the value are split over.
        """
        raise _in_one_piece(self)

    def unshard(self, mesh: Any, check_vma: bool, spec: PartitionSpec) -> Any:
        """The type of the parts of all members together, the reverse of `shard`."""
        raise _in_one_piece(self)


class HasAval:
    """Base of values that carry an `aval`: their shape, dtype and sizes are the aval's."""

    __slots__ = ()

    if TYPE_CHECKING:

        @property
        def aval(self) -> Any: ...

    @property
    def shape(self) -> tuple[int, ...]:
        """The sizes of the axes."""
        return self.aval.shape

    @property
    def dtype(self) -> Any:
        """The dtype of the elements."""
        return self.aval.dtype

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return len(self.aval.shape)

    @property
    def size(self) -> int:
        """The number of elements."""
        return self.aval.size


def _in_one_piece(aval: AbstractValue) -> NotImplementedError:
    return NotImplementedError(
        message(
            "shard_map, a value of which each member is to have a part",
            given=f"{aval}",
            expected="an array",
            fix="Pass the arrays that it is made of.",
        )
    )
