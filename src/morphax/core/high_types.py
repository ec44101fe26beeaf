"""Types that users define, with their own lowering to arrays: *high* types.

A program may have variables of high types, which transformations see as they are.  Before it is
compiled or evaluated it is *lowered* (`core.lowered_types`): each such value becomes the arrays
that it is made of.  A `HiType` says which these are; a value of a `MutableHiType` changes in place,
and so its arrays also depend on its *state*, static data that tracing follows: an `AvalQDD` is a
type together with a state ("quasi-dynamic data", in JAX's words).

See docs/design/hijax.md.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Any, NamedTuple, NoReturn, final

from ..util.messages import described, message
from ..util.records import dataclass
from .abstract_value import AbstractValue, Operand
from .values import aval_of, register_value_type

# The state of a value that changes in place: immutable, with an equality.
State = Hashable
# How a value of a high type is split into members: an axis, or whatever the type understands.
MappingSpec = Any


class aval_method(NamedTuple):
    """A method of traced values of a type, as an attribute of the type: called with the value.

    Args:
        fun: the method.
    """

    fun: Callable[..., Any]


class aval_property(NamedTuple):
    """A property of traced values of a type, as an attribute of the type.

    Args:
        fget: gets the value.
    """

    fget: Callable[[Any], Any]


def _must_override(type_: object, method: str) -> NoReturn:
    name = type(type_).__name__
    raise AssertionError(
        message(
            f"type {name}",
            given=f"a class without a method {method}",
            expected=f"{method}, which this use of values of the type needs",
            fix=f"Define {method} in {name}, or in a base of it.",
        )
    )


class _OffMesh(AbstractValue):
    """A type of values that are no arrays: it says nothing of weak dtypes and meshes."""

    is_high = True
    weak_type = False
    split = None
    vma: frozenset[Any] = frozenset()


class _Compared(_OffMesh):
    """A type that users define: they say which objects are the same type."""

    def __hash__(self) -> int:
        _must_override(self, "__hash__")

    def __eq__(self, other: object) -> bool:
        _must_override(self, "__eq__")

    def str_short(self, short_dtypes: bool = False, mesh_axis_types: bool = False) -> str:
        """The notation of printed jaxprs: by default that of Python."""
        return str(self)


class HiType(_Compared):
    """Base of types of values that do not change; subclasses define `__hash__`, `__eq__` and more.

    What is not defined here is needed by the uses that the text of each method names.

    Example:
        >>> from dataclasses import dataclass
        >>> import morphax as jax
        >>> import morphax.numpy as jnp
        >>> from morphax.experimental.hijax import HiType, ShapedArray, register_hitype
        >>> @dataclass(frozen=True)
        ... class Halves:
        ...     high: jax.Array
        ...     low: jax.Array
        >>> @dataclass(frozen=True)
        ... class HalvesType(HiType):
        ...     shape: tuple
        ...
        ...     def lo_ty(self):
        ...         return [ShapedArray(self.shape, jnp.float32)] * 2
        ...
        ...     def lower_val(self, hi_val):
        ...         return [hi_val.high, hi_val.low]
        ...
        ...     def raise_val(self, *lo_vals):
        ...         return Halves(*lo_vals)
        >>> register_hitype(Halves, lambda x: HalvesType(x.high.shape))
        >>> jax.jit(lambda x: x)(Halves(jnp.ones(2), jnp.zeros(2))).low
        Array([0., 0.], dtype=float32)
    """

    def lo_ty(self) -> list[AbstractValue]:
        """The types of the arrays that a value is made of."""
        _must_override(self, "lo_ty")

    def lower_val(self, hi_val: Any) -> list[Any]:
        """The arrays that a value is made of."""
        _must_override(self, "lower_val")

    def raise_val(self, *lo_vals: Any) -> Any:
        """The value that is made of these arrays."""
        _must_override(self, "raise_val")

    def to_tangent_aval(self) -> Any:
        """The type of tangents: for derivatives."""
        _must_override(self, "to_tangent_aval")

    def to_ct_aval(self) -> Any:
        """The type of cotangents, by default that of tangents."""
        return self.to_tangent_aval()

    def vspace_zero(self) -> Any:
        """The value zero, of a type of tangents."""
        _must_override(self, "vspace_zero")

    def vspace_add(self, x: Any, y: Any) -> Any:
        """The sum of two values, of a type of tangents."""
        _must_override(self, "vspace_add")

    def dec_rank(self, size: int | None, spec: MappingSpec) -> Any:
        """The type of one member of a batch of this type: for `vmap` and `scan`."""
        _must_override(self, "dec_rank")

    def inc_rank(self, size: int | None, spec: MappingSpec) -> Any:
        """The type of a batch of values of this type: for `vmap` and `scan`."""
        _must_override(self, "inc_rank")

    def leading_axis_spec(self) -> MappingSpec:
        """How `scan` takes and gives slices: along the first axis of the arrays."""
        _must_override(self, "leading_axis_spec")

    def shard(self, mesh: Any, manual_axes: frozenset[Any], check_vma: bool, spec: Any) -> Any:
        """The type of the part of a value that one device has."""
        _must_override(self, "shard")

    def unshard(self, mesh: Any, check_vma: bool, spec: Any) -> Any:
        """The type of the whole of which devices have parts of this type."""
        _must_override(self, "unshard")

    def nospec(self, mesh: Any, check_vma: bool, all_names: tuple[Any, ...]) -> Any:
        """How a value is split where nobody has said it."""
        _must_override(self, "nospec")


class MutableHiType(_Compared):
    """Base of types of values that change in place.

    Subclasses define `__hash__`, `__eq__` and what is needed of the methods below.  Values have a
    method `cur_qdd`, which tells their state.
    """

    has_qdd = True
    is_writer: bool = False

    def lo_ty(self) -> list[AbstractValue]:
        """Types of arrays depend on the state: see `lo_ty_qdd`."""
        _must_override(self, "lo_ty_qdd")

    def lo_ty_qdd(self, state: State, /) -> list[AbstractValue]:
        """The types of the arrays that a value in this state is made of."""
        _must_override(self, "lo_ty_qdd")

    def new_from_loval(self, state: State, /, *vals: Any) -> Any:
        """A value in this state that is made of these arrays."""
        _must_override(self, "new_from_loval")

    def read_loval(self, state: State, val: Any, /) -> list[Any]:
        """The arrays that a value, which is in this state, is made of."""
        _must_override(self, "read_loval")

    def read_loval_in(self, state: State, val: Any, /) -> list[Any]:
        """`read_loval` before a program, by default the same."""
        return self.read_loval(state, val)

    def read_loval_out(self, qdd: State, hi: Any, /) -> list[Any]:
        """`read_loval` after a program, by default the same."""
        return self.read_loval(qdd, hi)

    def update_from_loval(self, state: State, val: Any, /, *lo_vals: Any) -> None:
        """Bring a value into this state, made of these arrays."""
        _must_override(self, "update_from_loval")

    def update_from_loval2(self, state: State, val: Any, lo_vals_ft: Sequence[Any], /) -> None:
        """`update_from_loval` with the arrays as one argument."""
        self.update_from_loval(state, val, *lo_vals_ft)

    def to_tangent_aval(self) -> Any:
        """The type of tangents: for derivatives."""
        _must_override(self, "to_tangent_aval")

    def to_ct_aval(self) -> Any:
        """The type of cotangents, by default that of tangents."""
        return self.to_tangent_aval()

    @aval_method
    def type_state(self) -> State:
        """The state that the value is in now."""
        return cur_qdd(self)


class HiPspec:
    """Base of what says how a value of a high type is split over a mesh."""

    def to_lo(self) -> tuple[Any, ...]:
        """How each of the arrays is split that the value is made of."""
        _must_override(self, "to_lo")

    def to_tangent_spec(self) -> Any:
        """How tangents are split."""
        _must_override(self, "to_tangent_spec")

    def to_ct_spec(self) -> Any:
        """How cotangents are split, by default as tangents."""
        return self.to_tangent_spec()


@final
@dataclass(frozen=True)
class AvalQDD(_OffMesh):
    """The type of a value that changes in place, with its state.

    Args:
        aval: the type.
        qdd: the state.
    """

    aval: Any
    qdd: Any

    has_qdd = True

    @property
    def is_writer(self) -> bool:
        """Whether values are there to be written only."""
        return self.aval.is_writer

    def lo_ty(self) -> list[AbstractValue]:
        """The types of the arrays that a value is made of."""
        return self.aval.lo_ty_qdd(self.qdd)

    def read_loval(self, val: Any) -> list[Any]:
        """The arrays that a value is made of."""
        return self.aval.read_loval(self.qdd, val)

    def read_loval_in(self, val: Any) -> list[Any]:
        """The same, before a program."""
        return self.aval.read_loval_in(self.qdd, val)

    def read_loval_out(self, val: Any) -> list[Any]:
        """The same, after a program."""
        return self.aval.read_loval_out(self.qdd, val)

    def new_from_loval(self, *lovals: Any) -> Any:
        """A value that is made of these arrays."""
        return self.aval.new_from_loval(self.qdd, *lovals)

    def to_tangent_aval(self) -> Any:
        """The type of tangents."""
        return self.aval.to_tangent_aval()

    def str_short(self, short_dtypes: bool = False, mesh_axis_types: bool = False) -> str:
        return self.aval.str_short(short_dtypes)


@final
@dataclass(frozen=True)
class AvalMutableQDD:
    """The type of a value that an operation may change, as rules of avals see it.

    Args:
        aval: the type.
        mutable_qdd: its state, with the attribute `cur_val` and the method `update`.
    """

    aval: Any
    mutable_qdd: Any


@final
class MutableState:
    """The state of a value while a rule of avals runs."""

    __slots__ = ("cur_val", "init_val")

    def __init__(self, state: State) -> None:
        self.init_val = self.cur_val = state

    def update(self, val: State) -> None:
        """Say which state the operation leaves the value in."""
        self.cur_val = val


def typeof(x: Operand) -> Any:
    """The type of a value: what tracing knows of it.

    Args:
        x: an array, a traced value, a NumPy array, a Python number, or a value of a type that is
            registered.

    Raises:
        TypeError: `x` cannot be an operand.

    Example:
        >>> import morphax as jax
        >>> jax.typeof(1.0)
        ShapedArray(float32[], weak_type=True)
    """
    aval = aval_of(x)
    return aval.aval if type(aval) is AvalQDD else aval


def cur_qdd(x: Operand) -> State:
    """The state that a value which changes in place is in now.

    Args:
        x: a value of a `MutableHiType`, traced or not.

    Raises:
        TypeError: `x` is something else.
    """
    aval = aval_of(x)
    if type(aval) is AvalQDD:
        return aval.qdd
    raise TypeError(
        message(
            "cur_qdd",
            given=described(x),
            expected="a value of a type that changes in place",
            fix="Pass a value of a MutableHiType.",
        )
    )


def register_hitype(val_cls: type, typeof_fn: Callable[[Any], Any]) -> None:
    """Accept values of a class as operands, of a type that users define.

    Args:
        val_cls: the class of the values.
        typeof_fn: from a value to its type, a `HiType` or `MutableHiType`.

    Example:
        >>> from morphax.experimental.hijax import HiType, register_hitype
        >>> class Nothing:
        ...     pass
        >>> class NothingType(HiType):
        ...     __hash__ = object.__hash__
        ...     __eq__ = object.__eq__
        ...     __str__ = lambda self: "Nothing"
        >>> nothing = NothingType()
        >>> register_hitype(Nothing, lambda x: nothing)
        >>> import morphax as jax
        >>> print(jax.typeof(Nothing()))
        Nothing
    """

    def aval_of_value(x: Any) -> Any:
        aval = typeof_fn(x)
        return AvalQDD(aval, x.cur_qdd()) if aval.has_qdd else aval

    register_value_type(val_cls, aval_of_value)
