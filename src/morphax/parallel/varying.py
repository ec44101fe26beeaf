"""Values that vary along named axes, and values that are the same for all members.

Along an axis of a mesh the type of a value says which it is (``float32[2]{V:x}`` varies over "x").
`pvary` casts what is the same for all to what varies, and computes nothing; `psum_invariant` sums
what varies to what is the same.  Each is the transpose of the other: what all members read has the
sum of their cotangents, and the cotangent of a sum is what all members get.

Under `vmap` every value may differ between the members without being told.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any, final

from ..core import (
    AxisFlow,
    BatchAxes,
    NoRule,
    Primitive,
    ShapedArray,
    aval_of,
    axes_in_types,
    same_axes,
)
from ..core.varying import install_cast
from ..engines.xla.stablehlo import Builder, Value
from ..lax.ground.monoids import ADD
from ..util.messages import message
from .axis_names import named_axes
from .between_devices import reduced_by_devices
from .collective import NO_MEMBERS, Collective, map_operands

_KINDS = ("varying", "reduced", "unreduced")


@final
class PVary(Primitive):
    """The same value, as one that varies over the mesh axes `axes`."""

    name = "pvary"
    linear = True

    def abstract_eval(self, x: Any, *, axes: tuple[Any, ...]) -> Any:
        return x.update(vma=x.vma | frozenset(axes))

    def varies_over(
        self, names: frozenset[Hashable], *, axes: tuple[Any, ...], **_: Any
    ) -> frozenset[Hashable]:
        return names | frozenset(axes)

    def axis_flow(self, x: ShapedArray, **_: Any) -> AxisFlow:
        return same_axes(x)

    def evaluate(self, x: Any, **_: Any) -> Any:
        return x

    def lower(self, b: Builder, out: Any, x: Value, **_: Any) -> Value:
        return x

    def transpose(self, ct: Any, x: Any, *, axes: tuple[Any, ...]) -> list[Any]:
        return [psum_invariant_p.bind(ct, axes=axes)]

    def batch(
        self, batch: BatchAxes, operands: Any, dims: Any, *, axes: tuple[Any, ...]
    ) -> tuple[Any, Any]:
        return self.bind(*operands, axes=axes), dims[0]


@final
class VaryUnreducedCast(Primitive):
    """The same value, which varies over the mesh axes `axes`, as the summands of a sum over them.

    Types do not tell it from its operand; that it is used linearly is checked once the program is
    traced (`members.summands`).
    """

    name = "vary_unreduced_cast"
    linear = True

    def abstract_eval(self, x: Any, *, axes: tuple[Any, ...]) -> Any:
        return x

    def axis_flow(self, x: ShapedArray, **_: Any) -> AxisFlow:
        return same_axes(x)

    def evaluate(self, x: Any, **_: Any) -> Any:
        return x

    def lower(self, b: Builder, out: Any, x: Value, **_: Any) -> Value:
        return x

    def transpose(self, ct: Any, x: Any, *, axes: tuple[Any, ...]) -> list[Any]:
        """All members have the cotangent of the sum, which is that of each summand."""
        return [ct]

    def batch(
        self, batch: BatchAxes, operands: Any, dims: Any, *, axes: tuple[Any, ...]
    ) -> tuple[Any, Any]:
        return self.bind(*operands, axes=axes), dims[0]


@final
class PSumInvariant(Collective):
    """The sum over all members along the mesh axes `axes`, over which the operand varies."""

    name = "psum_invariant"
    names_param = "axes"
    collect = NoRule("collect", NO_MEMBERS)

    def abstract_eval(self, x: Any, *, axes: tuple[Any, ...]) -> Any:
        if frozenset(axes) <= x.vma:
            return x
        raise TypeError(
            message(
                "psum_invariant",
                given=f"{x} and the axes {axes}",
                expected="a value that varies over all of them",
                fix="Cast it with lax.pcast(x, axes, to='varying').",
            )
        )

    def varies_over(
        self, names: frozenset[Hashable], *, axes: tuple[Any, ...], **_: Any
    ) -> frozenset[Hashable]:
        return names - frozenset(axes)

    def transpose(self, ct: Any, x: Any, *, axes: tuple[Any, ...]) -> list[Any]:
        return [pvary_p.bind(ct, axes=axes)]

    def batch(
        self, batch: BatchAxes, operands: Any, dims: Any, /, **params: Any
    ) -> tuple[Any, Any]:
        return self.bind(*operands, **params), dims[0]

    def over_devices(
        self, b: Builder, out: Any, x: Value, groups: list[list[int]], **_: Any
    ) -> Value:
        return reduced_by_devices(b, ADD, out, x, groups)


pvary_p = PVary()
vary_unreduced_cast_p = VaryUnreducedCast()
psum_invariant_p = PSumInvariant()


def _cast(x: Any, names: frozenset[Hashable]) -> Any:
    return pvary_p.bind(x, axes=tuple(sorted(names, key=str)))


install_cast(_cast)


def pcast(x: Any, axis_name: Any, *, to: str) -> Any:
    """Have `x`, the same for all members along named axes, count as one that varies.

    Nothing is computed; the cotangent of the result is summed over the members.

    Args:
        x: array, or tree.
        axis_name: name of the axis, or a tuple of names.
        to: ``"varying"``, or ``"reduced"``, which is that here; ``"unreduced"`` is for what
            varies, and has it count as summands, which are used linearly, until they are summed.

    Returns:
        `x`; the very same under `vmap`, where all values count as varying.

    Raises:
        NameError: no axis of that name is in scope.
        ValueError: `to` is another kind, or `x` varies over such an axis of a mesh already; if
            ``"unreduced"``, that it does not.

    Example:
        >>> import morphax as jax
        >>> import morphax.numpy as jnp
        >>> jax.vmap(lambda x: jax.lax.pcast(x, "i", to="varying"), axis_name="i")(jnp.arange(2))
        Array([0, 1], dtype=int32)
    """
    where = "lax.pcast"
    names = named_axes(where, axis_name)
    in_types = axes_in_types(names)
    names_in_types = tuple([name for name in names if name in in_types])
    if to not in _KINDS or (names and not in_types and to != "varying"):
        raise ValueError(
            message(
                f"{where}, argument to",
                given=f"{to!r} for the axes {names}",
                expected="'varying'; among members with types, 'reduced' and 'unreduced' too",
                fix="Leave the cast out: psum adds what members hold, and its result is the same "
                "for all.",
            )
        )

    def cast(leaf: Any) -> Any:
        varied = in_types & aval_of(leaf).vma
        if to == "unreduced" and varied == in_types:
            return vary_unreduced_cast_p.bind(leaf, axes=names_in_types) if in_types else leaf
        if to == "unreduced":
            raise ValueError(_not_summands(where, leaf, in_types - varied))
        if varied:
            raise ValueError(
                message(
                    f"{where}, argument axis_name",
                    given=f"{aval_of(leaf)}, which varies over {', '.join(map(str, varied))}",
                    expected="a value that is the same for all members along the axes",
                    fix="Leave out the axes that it varies over.",
                )
            )
        return pvary_p.bind(leaf, axes=names_in_types) if in_types else leaf

    return map_operands(where, cast, x)


def _not_summands(where: str, x: Any, names: frozenset[Hashable]) -> str:
    return message(
        f"{where}, argument axis_name",
        given=f"{aval_of(x)}, which is the same along {', '.join(map(str, names))}",
        expected="a value that varies over the axes along which it is to be summed",
        fix="Cast what each member adds, before it is summed.",
    )
