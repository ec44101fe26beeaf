"""References: arrays that change in place, for users.

    ref = jax.new_ref(x)          ref[i]         ref[i] = v          ref[...] += v

A `Ref` is made eagerly or inside a transformed function, may be an argument of one, and may be
closed over.  It is not an array: `ref[...]` is the array it holds.  See docs/design/references.md.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, final

from ...array import Array
from ...core import (
    AbstractRef,
    Cell,
    Format,
    HasAval,
    Layout,
    StagingTracer,
    aval_of,
    presented,
)
from ...util.messages import message
from .ref_access import Transform, add_to, look_up, replace
from .ref_binding import Reference
from .ref_indexing import Index, parse_index
from .ref_primitives import new_ref_p


@final
class Ref(Reference, HasAval):
    """A reference to an array: a place whose value changes.

    Users make references with `new_ref`, and get them as arguments of transformed functions.

    Args:
        aval: the type of the reference.
        refs: what it stands for.

    Example:
        >>> import morphax as jax
        >>> import morphax.numpy as jnp
        >>> ref = jax.new_ref(jnp.zeros(3))
        >>> ref[1] = 5.0
        >>> ref[...] += 1.0
        >>> ref
        Ref([1., 6., 1.], dtype=float32)
    """

    __slots__ = ()

    def __init__(self, aval: AbstractRef, refs: Any) -> None:
        if refs.aval is not aval:
            raise TypeError(
                message(
                    "Ref",
                    given=f"the type {aval} and {refs!r:.80}",
                    expected="what a reference of that type stands for",
                    fix="Make references with jax.new_ref.",
                )
            )
        super().__init__(refs)

    @property
    def ref(self) -> Ref:
        """The reference itself, of which it is the whole."""
        return self

    @property
    def transforms(self) -> tuple[Transform, ...]:
        """No transforms: it is the whole."""
        return ()

    @property
    def aval(self) -> AbstractRef:
        """The type of the reference, such as ``Ref{float32[3]}``."""
        return self.content.aval

    @property
    def sharding(self) -> Any:
        """How the value is laid out over devices."""
        return self._array("sharding").sharding

    @property
    def format(self) -> Any:
        """How the value is laid out in memory and over devices."""
        return Format(Layout.row_major(self.ndim), self.sharding)

    @property
    def committed(self) -> bool:
        """Whether the value binds the operations that use it to its place."""
        return self._array("committed").committed

    @property
    def at(self) -> At:
        """``ref.at[index]``: a reference to a part, with the methods of a reference."""
        return At(self)

    def addupdate(self, x: Any, idx: Index = ()) -> None:
        """``ref[idx] += x``; a place that is named twice is added to twice."""
        add_to(self, idx, x)

    def unsafe_buffer_pointer(self) -> int:
        """The address of the value now, until the next change."""
        return self._array("unsafe_buffer_pointer").unsafe_buffer_pointer()

    def origin(self) -> str:
        """Where the reference comes from, for error text."""
        return self.content.origin()

    def _array(self, attribute: str) -> Array:
        """The value, an array of this moment; `TypeError` if it is traced."""
        value = getattr(self.content, "value", None)
        if type(value) is Array:
            return value
        raise TypeError(
            message(
                f"{attribute} of a reference",
                given=f"{self.aval} in a traced program",
                expected="a reference that holds a concrete array",
                fix="Ask outside of the transformed function.",
            )
        )

    def __getitem__(self, index: Index) -> Any:
        return look_up(self, index)

    def __setitem__(self, index: Index, value: Any) -> None:
        replace(self, index, value)

    def __len__(self) -> int:
        return len(self.aval)

    def __bool__(self) -> bool:
        return True

    __iter__ = None

    def __array__(self, *args: Any, **kwargs: Any) -> Any:
        raise TypeError(
            message(
                "use of a reference as an array",
                given=f"{self.aval}",
                expected="an array",
                fix="Read the reference: ref[...].",
            )
        )

    __jax_array__ = __array__

    def __reduce__(self) -> Any:
        return _rebuilt, (self._array("pickle"), self.aval.memory_space, self.aval.kind)

    def __repr__(self) -> str:
        value = getattr(self.content, "value", None)
        if type(value) is Array:
            return f"Ref{repr(value).removeprefix('Array')}"
        return f"{type(self.content).__name__}({self.aval})"


def _rebuilt(value: Array, memory_space: Any, kind: Any) -> Ref:
    content = new_ref_p.bind(value, memory_space=memory_space, kind=kind)
    return Ref(content.aval, content)


@final
class At:
    """The attribute `at` of references and their parts: index it to refer to a part."""

    __slots__ = ("_whole",)

    def __init__(self, whole: Ref | TransformedRef) -> None:
        self._whole = whole

    def __getitem__(self, index: Index) -> TransformedRef:
        whole = self._whole
        indexer, operands = parse_index("ref.at[...]", whole.shape, index)
        return TransformedRef(whole.ref, (*whole.transforms, (indexer, tuple(operands))))


@final
class TransformedRef:
    """A part of a reference, as a reference of its own.

    Args:
        ref: the whole.
        transforms: which part: pairs of an indexer and its operands, each pair of the part that the
            one before names.

    Example:
        >>> import morphax as jax
        >>> import morphax.numpy as jnp
        >>> ref = jax.new_ref(jnp.zeros((2, 3)))
        >>> row = ref.at[1]
        >>> row[0] = 5.0
        >>> ref
        Ref([[0., 0., 0.],
               [5., 0., 0.]], dtype=float32)
    """

    __slots__ = ("ref", "transforms")

    def __init__(self, ref: Ref, transforms: Sequence[Transform]) -> None:
        self.ref = ref
        self.transforms = tuple(transforms)

    @property
    def shape(self) -> tuple[int, ...]:
        """The sizes of the axes."""
        indexer, operands = self.transforms[-1]
        return indexer.result_shape([aval_of(x) for x in operands])

    @property
    def dtype(self) -> Any:
        """The dtype of the elements."""
        return self.ref.dtype

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """The number of elements."""
        return math.prod(self.shape)

    @property
    def at(self) -> At:
        """A reference to a part of this part."""
        return At(self)

    def get(self, idx: Index = ()) -> Any:
        """The value of a part, or of the whole."""
        return look_up(self, idx)

    def set(self, value: Any, idx: Index = ()) -> None:
        """Replace a part, or the whole."""
        replace(self, idx, value)

    def swap(self, value: Any, idx: Index = ()) -> Any:
        """Replace a part, or the whole, and return what it was."""
        return replace(self, idx, value)

    def __getitem__(self, index: Index) -> Any:
        return look_up(self, index)

    def __setitem__(self, index: Index, value: Any) -> None:
        replace(self, index, value)

    def __repr__(self) -> str:
        indices = "".join([f"[{t.text(map(str, operands))}]" for t, operands in self.transforms])
        return f"TransformedRef({self.ref.aval}{indices})"


def as_references(leaves: Sequence[Any]) -> list[Any]:
    """Leaves as users may see them: a `Ref` for each cell or variable that is a reference."""
    return [
        Ref(x.aval, x)
        if type(x) is Cell or (type(x) is StagingTracer and type(x.aval) is AbstractRef)
        else x
        for x in presented(leaves)
    ]
