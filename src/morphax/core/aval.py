"""Abstract values: what tracing knows of a value before it has one.

`ShapedArray` is immutable and *interned*: two equal avals are the same object, so equality is
identity, hashing is free, and every cache of the system may be keyed on avals.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable, Sequence
from itertools import repeat
from operator import index
from typing import Any
from weakref import WeakValueDictionary

import numpy as np

from .. import dtypes
from ..util.messages import message
from .abstract_sharding import AbstractSharding, axes_text, split_text
from .abstract_value import AbstractValue, DType
from .dims import Dim, Shape, dims, is_static
from .manual_axis_type import ManualAxisType
from .mesh import NamedAxes
from .partition_spec import PartitionSpec


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

    def to_ct_aval(self) -> ShapedArray:
        tangent = self.to_tangent_aval()
        split = tangent.split
        if split is None or not split.has_sums:
            return tangent
        return tangent.update(sharding=split.of_cotangent())

    def shard(
        self,
        mesh: NamedAxes,
        manual_axes: frozenset[Hashable],
        check_vma: bool,
        spec: PartitionSpec,
    ) -> ShapedArray:
        """The type of a member's part of such an array, which `spec` splits evenly.

        What is unreduced over an axis, or reduced, is a number of the member's own.

        Example:
            >>> import numpy as np
            >>> import morphax as jax
            >>> from morphax.core import ShapedArray
            >>> mesh = jax.sharding.AbstractMesh((4,), ("x",))
            >>> ShapedArray((8, 3), np.float32).shard(mesh, frozenset({"x"}), True, jax.P("x"))
            ShapedArray(float32[2,3]{V:x})
        """
        splits = spec.splits(len(self.shape))
        shape = [n // mesh.parts(names) for n, names in zip(self.shape, splits, strict=True)]
        varying = mesh.in_types(spec.all_names) if check_vma else ()
        vma = self.vma.union(varying)
        inner, split = mesh.abstract_mesh.with_members(manual_axes), None
        if self.split is not None and inner.explicit_axes:
            kept = inner.explicit_axes
            within = tuple([tuple([n for n in names if n in kept]) for names in self.split.spec])
            sums = self.split.unreduced.intersection(kept), self.split.reduced.intersection(kept)
            split = AbstractSharding(inner, within, *sums)
        return ShapedArray(shape, self.dtype, self.weak_type, vma=vma, sharding=split)

    def unshard(self, mesh: NamedAxes, check_vma: bool, spec: PartitionSpec) -> ShapedArray:
        """The type of the parts of all members together, which `spec` says how to join.

        Example:
            >>> import numpy as np
            >>> import morphax as jax
            >>> from morphax.core import ShapedArray
            >>> mesh = jax.sharding.AbstractMesh((4,), ("x",))
            >>> ShapedArray((2, 3), np.float32).unshard(mesh, True, jax.P("x"))
            ShapedArray(float32[8,3])
        """
        splits, said = spec.splits(len(self.shape)), mesh.explicit_axes
        shape = [n * mesh.parts(names) for n, names in zip(self.shape, splits, strict=True)]
        split = None
        if said:
            own = self.split
            within = ((),) * len(shape) if own is None else own.spec
            joined = tuple(
                [
                    (*[n for n in names if n in said], *kept)
                    for names, kept in zip(splits, within, strict=True)
                ]
            )
            unreduced, reduced = spec.unreduced, spec.reduced
            if own is not None:
                unreduced, reduced = unreduced | own.unreduced, reduced | own.reduced
            split = AbstractSharding(mesh.abstract_mesh, joined, unreduced, reduced)
        around = self.vma.intersection(mesh.axis_names)
        vma = self.vma - spec.all_names - around.difference(mesh.in_types(around))
        return ShapedArray(shape, self.dtype, self.weak_type, vma=vma, sharding=split)

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
        said = axes_text(V=self.vma) if self.split is None else self.split.sums_text(self.vma)
        return f"{name}[{sizes}]{said}{kinds}"

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
