"""References: the aval of a mutable array, its effects, and the cell that holds its value.

A reference stands for a place where an array is kept.  Operations on it have effects: an equation
says of which of its operands it reads, replaces or adds to the value, by position; a program says
so of its own operands (`invars`, then `constvars`).

While a program is *discharged* (see `core.discharge`), and in eager mode, each reference is a
`Cell`, whose value the operations look up and replace.  See docs/design/references.md.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any, final
from weakref import WeakValueDictionary

from ..util.messages import message
from .abstract_sharding import AbstractSharding
from .abstract_value import AbstractValue, Operand
from .aval import ShapedArray
from .dims import Dim, Shape
from .manual_axis_type import ManualAxisType
from .mesh import NamedAxes
from .partition_spec import PartitionSpec
from .trace import Tracer, current_trace


@final
class AbstractRef(AbstractValue):
    """A reference to an array of which shape and dtype are known; immutable and interned.

    Args:
        inner_aval: the aval of the array.
        memory_space: where the array is kept, `None` for the memory of the device.
        kind: a label for those who make the reference.

    Example:
        >>> import morphax as jax
        >>> import morphax.numpy as jnp
        >>> jax.typeof(jax.new_ref(jnp.zeros(3)))
        Ref{float32[3]}
    """

    __slots__ = ("_inner_aval", "_kind", "_memory_space")

    _inner_aval: ShapedArray
    _memory_space: Any
    _kind: Any

    def __new__(
        cls, inner_aval: ShapedArray, memory_space: Any = None, kind: Any = None
    ) -> AbstractRef:
        key = (inner_aval, memory_space, kind)
        found = _interned.get(key)
        if found is None:
            self = object.__new__(cls)
            self._inner_aval, self._memory_space, self._kind = key
            found = _interned.setdefault(key, self)
        return found

    def __reduce__(self) -> Any:
        return AbstractRef, (self.inner_aval, self.memory_space, self.kind)

    @property
    def inner_aval(self) -> ShapedArray:
        """The aval of the array."""
        return self._inner_aval

    @property
    def memory_space(self) -> Any:
        """Where the array is kept."""
        return self._memory_space

    @property
    def kind(self) -> Any:
        """The label given by those who made the reference."""
        return self._kind

    @property
    def shape(self) -> Shape:
        """The sizes of the axes."""
        return self.inner_aval.shape

    @property
    def dtype(self) -> Any:
        """The dtype of the elements."""
        return self.inner_aval.dtype

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return len(self.inner_aval.shape)

    @property
    def size(self) -> Dim:
        """The number of elements."""
        return self.inner_aval.size

    @property
    def weak_type(self) -> bool:
        """Whether the dtype yields to others in promotion."""
        return self.inner_aval.weak_type

    @property
    def sharding(self) -> Any:
        """How types say that the array is split over a mesh."""
        return self.inner_aval.sharding

    @property
    def split(self) -> AbstractSharding | None:
        """The same for rules of operations, `None` if that is left open."""
        return self.inner_aval.split

    @property
    def is_on_mesh(self) -> bool:  # type: ignore[override]
        """Whether the aval of the array says anything about a mesh."""
        return self.inner_aval.is_on_mesh

    @property
    def vma(self) -> frozenset[Any]:
        """The manual mesh axes over which the array varies."""
        return self.inner_aval.vma

    def shard(
        self,
        mesh: NamedAxes,
        manual_axes: frozenset[Hashable],
        check_vma: bool,
        spec: PartitionSpec,
    ) -> AbstractRef:
        """The type of a member's reference to its part."""
        part = self.inner_aval.shard(mesh, manual_axes, check_vma, spec)
        return AbstractRef(part, self.memory_space, self.kind)

    @property
    def manual_axis_type(self) -> ManualAxisType:
        """How the array is on the axes along which members run a program."""
        return self.inner_aval.manual_axis_type

    mat = manual_axis_type

    def __len__(self) -> int:
        return len(self.inner_aval)

    def update(  # type: ignore[override]
        self, inner_aval: ShapedArray | None = None, memory_space: Any = None, kind: Any = None
    ) -> AbstractRef:
        """The same aval with some fields changed; `None` keeps a field."""
        return AbstractRef(
            self.inner_aval if inner_aval is None else inner_aval,
            self.memory_space if memory_space is None else memory_space,
            self.kind if kind is None else kind,
        )

    def update_weak_type(self, weak_type: bool) -> AbstractRef:
        """The same aval, weakly typed or not."""
        return self.update(self.inner_aval.update(weak_type=weak_type))

    def update_manual_axis_type(self, mat: ManualAxisType) -> AbstractRef:
        """The same aval on other axes of members."""
        return self.update(self.inner_aval.update_manual_axis_type(mat))

    def strip_weak_type(self) -> AbstractRef:
        return self.update(self.inner_aval.strip_weak_type())

    def to_tangent_aval(self) -> AbstractRef:
        return self.update(self.inner_aval.to_tangent_aval())

    def str_short(self, short_dtypes: bool = False, mesh_axis_types: bool = False) -> str:
        """``Ref{f32[2,3]}``, the notation of printed jaxprs."""
        place = f"<{self.memory_space}>" if self.memory_space is not None else ""
        return f"Ref{place}{{{self.inner_aval.str_short(short_dtypes)}}}"

    def __repr__(self) -> str:
        return self.str_short()


_interned: WeakValueDictionary[Any, AbstractRef] = WeakValueDictionary()


@final
class Cell:
    """A reference whose value is known: `value` is what `ref[...]` gives now.

    Its `home` is the trace that was current when it was made.  The value is a number for that trace
    or for one of its parents; see `lax.ref_binding` for what other traces do to the cell.
    """

    __slots__ = ("__weakref__", "aval", "home", "value")

    def __init__(self, aval: AbstractRef, value: Operand) -> None:
        self.aval = aval
        self.value = value
        self.home = current_trace()

    def origin(self) -> str:
        """Where the reference comes from, for error text."""
        return "a reference made by new_ref"

    def __repr__(self) -> str:
        return f"Ref({self.value}, dtype={self.aval.dtype})"


def is_reference(x: object) -> bool:
    """Whether an operand stands for a reference: a cell, or a variable of a program."""
    return type(x) is Cell or (isinstance(x, Tracer) and type(x.aval) is AbstractRef)


def check_is_reference(x: Operand) -> None:
    """Raise `TypeError` for a reference where an array is needed."""
    if not is_reference(x):
        raise TypeError(
            message(
                "array operand",
                given=f"a reference, {x.aval}",
                expected="an array",
                fix="Read the reference: ref[...].",
            )
        )


def values_of(operands: Sequence[Operand]) -> list[Any]:
    """Operands with the values of references in place of their cells."""
    return [x.value if type(x) is Cell else x for x in operands]
