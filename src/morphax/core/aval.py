"""Abstract values: what tracing knows of a value before it has one.

`ShapedArray` is immutable and *interned*: two equal avals are the same object, so equality is
identity, hashing is free, and every cache of the system may be keyed on avals.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from itertools import repeat
from operator import index
from typing import TYPE_CHECKING, Any
from weakref import WeakValueDictionary

import numpy as np

from .. import dtypes
from ..util.messages import message
from .dims import Dim, Shape, dims, is_static
from .manual_axis_type import ManualAxisType
from .mesh import AbstractSharding, split_text, varying_text

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


class ShapedArray(AbstractValue):
    """An array of which shape and dtype are known.

    Args:
        shape: sizes of the axes.
        dtype: NumPy dtype, or an extended one such as ``key<fry>``.
        weak_type: whether the dtype yields to others in promotion, as that of a Python scalar.
        sharding: how the array is split over a mesh of devices, `None` if that is left open; a
            `jax.sharding.NamedSharding` counts by the axes that types speak of.
        manual_axis_type: how the value is on manual mesh axes; or else
        vma: names of those over which the value varies.

    Example:
        >>> import numpy as np
        >>> from morphax.core import ShapedArray
        >>> ShapedArray((2, 3), np.float32)
        ShapedArray(float32[2,3])
        >>> ShapedArray((2,), np.int32) is ShapedArray((2,), "int32")
        True
    """

    __slots__ = (
        *("dtype", "is_on_mesh", "is_static", "shape", "size", "split"),
        *("vma", "weak_type"),
    )

    shape: Shape
    dtype: Any
    weak_type: bool
    # How the array is split over a mesh, `None` if that is left open; `sharding` shows it to users.
    split: AbstractSharding | None
    vma: frozenset[Any]
    is_on_mesh: bool
    # Whether all sizes are numbers.
    is_static: bool
    size: Dim

    def __new__(
        cls,
        shape: Iterable[Dim],
        dtype: DType,
        weak_type: bool = False,
        *,
        sharding: Any = None,
        manual_axis_type: ManualAxisType | None = None,
        vma: frozenset[Any] = frozenset(),
    ) -> ShapedArray:
        if manual_axis_type is not None:
            whole = cls(shape, dtype, weak_type, sharding=sharding)
            return whole.update_manual_axis_type(manual_axis_type)
        if type(dtype) is not np.dtype:
            dtype = dtypes.dtype(dtype)
        shape = tuple(shape)
        if sharding is not None and type(sharding) is not AbstractSharding:
            sharding = sharding.abstract(len(shape))
        key = (shape, dtype, weak_type, sharding, vma)
        found = _interned.get(key)
        if found is None:
            found = _interned.setdefault(key, cls._build(*key))
        return found

    @classmethod
    def _build(
        cls,
        shape: tuple[Any, ...],
        dtype: DType,
        weak_type: bool,
        sharding: AbstractSharding | None,
        vma: frozenset[Any],
    ) -> ShapedArray:
        if sharding is not None and len(sharding.spec) != len(shape):
            raise ValueError(
                message(
                    "ShapedArray, argument sharding",
                    given=f"{sharding.spec} for shape {shape}",
                    expected="an entry for each axis",
                    fix="Give an empty entry, (), for each axis that is whole.",
                )
            )
        self = object.__new__(cls)
        set_field = object.__setattr__
        set_field(self, "shape", dims(shape))
        set_field(self, "dtype", dtype)
        set_field(self, "weak_type", bool(weak_type))
        set_field(self, "split", sharding)
        set_field(self, "vma", vma)
        set_field(self, "is_on_mesh", sharding is not None or bool(vma))
        set_field(self, "is_static", is_static(shape))
        set_field(self, "size", math.prod(shape))
        return self

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"ShapedArray is immutable; use aval.update({name}=...)")

    def __reduce__(self) -> Any:
        return _rebuild, (self.shape, self.dtype, self.weak_type, self.split, self.vma)

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def sharding(self) -> Any:
        """How types say that the array is split: a `NamedSharding` over an `AbstractMesh`.

        Example:
            >>> import morphax as jax
            >>> jax.typeof(1.0).sharding
            NamedSharding(mesh=AbstractMesh((), axis_types=()), spec=P())
        """
        return _shown_sharding(self)

    @property
    def manual_axis_type(self) -> ManualAxisType:
        """How the array is on the axes along which members run a program."""
        return ManualAxisType(varying=self.vma)

    mat = manual_axis_type

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("len() of unsized object")
        return index(self.shape[0])

    def update(
        self,
        shape: Sequence[Dim] | None = None,
        dtype: DType | None = None,
        weak_type: bool | None = None,
        **changes: Any,
    ) -> ShapedArray:
        """The same aval with some fields changed; `sharding` and `vma` by keyword.

        Among other axes the array is not split as before: its sharding is open unless given.
        """
        is_split_so = shape is None or len(shape) == len(self.shape)
        kept = {"sharding": self.split if is_split_so else None, "vma": self.vma}
        return ShapedArray(
            self.shape if shape is None else shape,
            self.dtype if dtype is None else dtype,
            self.weak_type if weak_type is None else weak_type,
            **(kept | changes),
        )

    def update_weak_type(self, weak_type: bool) -> ShapedArray:
        """The same aval with another weak type."""
        return self.update(weak_type=weak_type)

    def update_manual_axis_type(self, mat: ManualAxisType) -> ShapedArray:
        """The same on other axes of members.

        Raises:
            ValueError: `mat` names sums that are still to be taken, of which types do not speak.

        Example:
            >>> import numpy as np
            >>> from morphax.core import ShapedArray
            >>> from morphax.sharding import ManualAxisType
            >>> varying = ManualAxisType(varying={"x"})
            >>> ShapedArray((2,), np.float32).update_manual_axis_type(varying)
            ShapedArray(float32[2]{V:x})
        """
        if mat.unreduced or mat.reduced:
            raise ValueError(
                message(
                    "ShapedArray.update_manual_axis_type, argument mat",
                    given=f"{mat}",
                    expected="axes along which the array varies: types say nothing of sums",
                    fix="Take the sum with jax.lax.psum.",
                )
            )
        return self.update(vma=mat.varying)

    def strip_weak_type(self) -> ShapedArray:
        return self.update(weak_type=False) if self.weak_type else self

    def to_tangent_aval(self) -> ShapedArray:
        tangent_dtype = dtypes.tangent_dtype(self.dtype)
        if tangent_dtype == self.dtype:
            return self
        return self.update(dtype=tangent_dtype, weak_type=False)

    def with_axis(self, axis: int, size: int, along: AbstractSharding | None = None) -> ShapedArray:
        """The aval of several such arrays along a new axis, which is split as a vector `along`."""
        shape, sharding = self.shape, self.split
        if along is not None:
            sharding = sharding or AbstractSharding(along.mesh, ((),) * len(shape))
        if sharding is not None:
            sharding = sharding.with_axis(axis, along)
        shape = (*shape[:axis], size, *shape[axis:])
        return ShapedArray(shape, self.dtype, self.weak_type, sharding=sharding, vma=self.vma)

    def without_axis(self, axis: int) -> ShapedArray:
        """The aval of one member of an array along an axis."""
        shape, sharding = self.shape, self.split
        if sharding is not None:
            sharding = sharding.without_axis(axis)
        shape = shape[:axis] + shape[axis + 1 :]
        return ShapedArray(shape, self.dtype, self.weak_type, sharding=sharding, vma=self.vma)

    def str_short(self, short_dtypes: bool = True, mesh_axis_types: bool = False) -> str:
        """``f32[8@x,3]``, the notation of printed jaxprs; `mesh_axis_types` adds those of axes."""
        splits = map(split_text, self.split.spec) if self.split is not None else repeat("")
        sizes = ",".join([f"{n}{split}" for n, split in zip(self.shape, splits, strict=False)])
        is_named = not short_dtypes and self.dtype != dtypes.float0
        name = str(self.dtype) if is_named else dtypes.short_name(self.dtype)
        kinds = self.split.mesh.types_text() if mesh_axis_types and self.split is not None else ""
        return f"{name}[{sizes}]{varying_text(self.vma)}{kinds}"

    def __str__(self) -> str:
        return ("~" if self.weak_type else "") + self.str_short(short_dtypes=False)

    def __repr__(self) -> str:
        weak = ", weak_type=True" if self.weak_type else ""
        return f"ShapedArray({self.str_short(short_dtypes=False)}{weak})"


def like(
    *operands: ShapedArray,
    shape: Iterable[Dim] | None = None,
    dtype: DType | None = None,
    weak_type: bool | None = None,
    sharding: AbstractSharding | None = None,
) -> ShapedArray:
    """The result of an operation, as its rule states it: like the operands, but for what is said.

    Shape and dtype are those of the first operand, and the result is weak if all operands are; an
    array like no operand is not.  How the result lies on a mesh is for `infer` to add.

    Example:
        >>> import numpy as np
        >>> from morphax.core import ShapedArray, like
        >>> x = ShapedArray((2, 3), np.float32, weak_type=True)
        >>> like(x, shape=(6,)), like(x, ShapedArray((), np.float32))
        (ShapedArray(float32[6], weak_type=True), ShapedArray(float32[2,3]))
    """
    if weak_type is None:
        weak_type = bool(operands) and all([x.weak_type for x in operands])
    return ShapedArray(
        operands[0].shape if shape is None else shape,
        operands[0].dtype if dtype is None else dtype,
        weak_type,
        sharding=sharding,
    )


_interned: WeakValueDictionary[Any, ShapedArray] = WeakValueDictionary()
_shown_sharding: Callable[[ShapedArray], Any]


def install_shown_sharding(shown: Callable[[ShapedArray], Any]) -> None:
    """Say what users see as the sharding of an aval; called once, by who knows its class."""
    global _shown_sharding
    _shown_sharding = shown


def _rebuild(
    shape: Shape,
    dtype: DType,
    weak_type: bool,
    sharding: AbstractSharding | None,
    vma: frozenset[Any],
) -> ShapedArray:
    return ShapedArray(shape, dtype, weak_type, sharding=sharding, vma=vma)
