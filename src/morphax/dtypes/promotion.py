"""The dtype of a result, given those of the operands: a lattice and its least upper bound.

A dtype or a *weak* type (that of a Python scalar, which adapts to arrays of its kind) is a node.
An operation on several operands is done in the least upper bound of their nodes: the one common
upper bound that lies below all the others.  Weak nodes stand below the strong ones of their kind,
so ``bfloat16 + 1.0`` is bfloat16, and above those of lesser kinds, so ``int8 + 1.0`` is a weak
float.  The narrow types (below 16-bit float, below 8-bit integer) have nothing above them: they
combine with weak types, and with nothing else unless converted.

In *strict* mode strong types never combine, weak ones only with strong ones of their own or
a greater kind.

References: "Design of Type Promotion Semantics for JAX" (JEP 9407) and the page "Type promotion
semantics" of JAX's public documentation.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Final

import numpy as np

from ..config import current
from ..util.messages import message
from .catalogue import NARROW, SCALARS
from .convert import canonicalize, dtype, python_scalar_dtype
from .extended import ExtendedDType
from .kinds import scalar_type_of

Node = np.dtype[Any] | type
"""A strong type is an `np.dtype`; a weak one is a Python scalar type."""

Entry = tuple[Any, bool]
"""A dtype, and whether it is weak."""


class TypePromotionError(ValueError):
    """Operands have no dtype that all of them may become without being asked.

    Example:
        >>> import morphax.numpy as jnp
        >>> try:
        ...     jnp.ones(2, "int4") + jnp.ones(2, "int8")
        ... except TypePromotionError:
        ...     print("which of the two?")
        which of the two?
        >>> jnp.ones(2, "int4").astype("int8") + jnp.ones(2, "int8")
        Array([2, 2], dtype=int8)
    """

    __module__ = "morphax.dtypes"


class KeyPromotionError(TypePromotionError, TypeError):
    """Operands among which are keys, or other values that have no arithmetic.

    A `TypeError` too, as for all operands that an operator cannot take.

    Example:
        >>> import morphax as jax
        >>> try:
        ...     jax.random.key(0) + 1
        ... except KeyPromotionError:
        ...     print("a key is no number")
        a key is no number
        >>> jax.random.fold_in(jax.random.key(0), 1).shape
        ()
    """

    __module__ = "morphax.dtypes"


FIX_KEYS = (
    "Derive keys with jax.random.split or jax.random.fold_in(key, number), draw numbers with "
    "jax.random.uniform and the like, or take the words of a key with jax.random.key_data."
)
"""What to do instead of arithmetic with keys."""


_WIDENING: Final = {
    "uint8": ("uint16", "int16"), "uint16": ("uint32", "int32"), "uint32": ("uint64", "int64"),
    "int8": ("int16",), "int16": ("int32",), "int32": ("int64",),
    "bfloat16": ("float32",), "float16": ("float32",),
    "float32": ("float64", "complex64"), "float64": ("complex128",),
    "complex64": ("complex128",),
}  # fmt: skip
"""Strong types, each with the strong types directly above it."""

_LAST_INTEGERS: Final = ("int64", "uint64")
"""The integers whose only upper bounds are floats: no integer holds both."""


def _strong(kind: type) -> Iterator[Node]:
    """All dtypes of the kind of a Python scalar type."""
    return (d for d in SCALARS if scalar_type_of(d) is kind)


def _edges(strict: bool) -> dict[Node, set[Node]]:
    """The lattice: each node with nodes above it, among them all that lie directly above."""
    above: dict[Node, set[Node]] = {d: set() for d in SCALARS}
    for weak, greater in ((int, float), (float, complex), (complex, None)):
        above[weak] = {*_strong(weak), *([greater] if greater else [])}
    if strict:
        return above
    above[dtype(bool)] = {int}
    for name in _LAST_INTEGERS:
        above[dtype(name)] = {float}
    for name, wider in _WIDENING.items():
        above[dtype(name)] = {dtype(other) for other in wider}
    return above


def _upper_bounds(above: dict[Node, set[Node]]) -> dict[Node, frozenset[Node]]:
    """Each node with everything that lies on or above it: the transitive closure."""
    bounds: dict[Node, frozenset[Node]] = {}

    def close(node: Node) -> frozenset[Node]:
        if node not in bounds:
            bounds[node] = frozenset({node}).union(*map(close, above[node]))
        return bounds[node]

    for node in above:
        close(node)
    return bounds


_UPPER_BOUNDS: Final = {
    "standard": _upper_bounds(_edges(strict=False)),
    "strict": _upper_bounds(_edges(strict=True)),
}


def _least_upper_bound(nodes: Iterable[Node], mode: str) -> Node | None:
    """The common upper bound that lies below all others; `None` if there is none."""
    bounds = _UPPER_BOUNDS[mode]
    common = frozenset.intersection(*(bounds[node] for node in nodes))
    return next((node for node in common if common <= bounds[node]), None)


_results: dict[bool, dict[str, dict[tuple[Entry, ...], Entry]]] = {
    x64: {mode: {} for mode in _UPPER_BOUNDS} for x64 in (False, True)
}
_LONGEST_REMEMBERED: Final = 8


def promote(entries: tuple[Entry, ...]) -> Entry:
    """The dtype in which operands of the given dtypes combine, and whether it is weak.

    Args:
        entries: one (dtype, weak) pair per operand, at least one.

    Raises:
        TypePromotionError: if they have no least upper bound in the lattice of the present
            ``jax_numpy_dtype_promotion`` mode.

    Example:
        >>> import numpy as np
        >>> from morphax import dtypes
        >>> dtypes.promote(((np.dtype("int8"), False), (np.dtype("float32"), True)))
        (dtype('float32'), True)
    """
    config = current()
    results = _results[config.enable_x64][config.numpy_dtype_promotion]
    try:
        return results[entries]
    except KeyError:
        answer = _promote(entries, config.enable_x64, config.numpy_dtype_promotion)
        if len(entries) <= _LONGEST_REMEMBERED:
            results[entries] = answer
        return answer


def to_inexact(d: Any, weak: bool = False) -> Entry:
    """The floating type in which functions such as sin and sqrt take numbers of type `d`.

    Real and complex types stay.  A weak integer becomes a weak float.  Strong ones become the float
    that holds as many bits as there are arrays of: float64 for 64-bit integers while
    ``jax_enable_x64`` is on, and float32 for all others.  It is no promotion, so strict mode has no
    say in it.

    Raises:
        TypeError: if `d` is not numeric.

    Example:
        >>> import numpy as np
        >>> from morphax import dtypes
        >>> dtypes.to_inexact(np.dtype("int8"))
        (dtype('float32'), False)
    """
    if d not in SCALARS:
        raise TypeError(message(
            "a function of real numbers",
            given=f"the dtype {d}",
            expected="a boolean, integer, real or complex dtype",
            fix=FIX_KEYS,
        ))  # fmt: skip
    if scalar_type_of(d) in (float, complex):
        return d, weak
    if weak:
        return python_scalar_dtype(float), True
    return canonicalize(np.float64 if d in NARROW else np.float32), False


def _promote(entries: tuple[Entry, ...], x64: bool, mode: str) -> Entry:
    all_weak = all(weak for _, weak in entries)
    same_dtype = len({d for d, _ in entries}) == 1
    if same_dtype and not all_weak:
        return entries[0][0], False
    if any(isinstance(d, ExtendedDType) for d, _ in entries):
        raise KeyPromotionError(_refusal_of_keys(entries))
    if not all(d in SCALARS for d, _ in entries):
        raise KeyPromotionError(_refusal(entries, mode))
    # Weak types alone combine as strong ones, so that an unsigned weak type stays unsigned.
    as_strong = all_weak and mode == "standard"
    bound = _least_upper_bound({_node(d, weak and not as_strong) for d, weak in entries}, mode)
    if bound is None:
        raise TypePromotionError(_refusal(entries, mode))
    if isinstance(bound, type):
        return python_scalar_dtype(bound), True
    if all_weak:
        return _default_width(bound, x64), True
    wide_asked_for = any(d in NARROW and not weak for d, weak in entries)
    return (bound if x64 or wide_asked_for else NARROW.get(bound, bound)), False


def _default_width(d: np.dtype[Any], x64: bool) -> np.dtype[Any]:
    """The dtype of the kind of `d` that Python scalars of that kind get."""
    wide = next((wide for wide in NARROW if SCALARS[wide].kind is SCALARS[d].kind), d)
    return wide if x64 else NARROW.get(wide, wide)


def _node(d: np.dtype[Any], weak: bool) -> Node:
    kind = scalar_type_of(d)
    return kind if weak and kind is not bool else d


def _refusal_of_keys(entries: tuple[Entry, ...]) -> str:
    return message(
        "type promotion",
        given=", ".join(dict.fromkeys([str(d) for d, _ in entries])),
        expected="numeric dtypes: keys are no numbers and do not combine with any",
        fix=FIX_KEYS,
    )


def _refusal(entries: tuple[Entry, ...], mode: str) -> str:
    unique = dict.fromkeys(entries)
    given = ", ".join(f"{'weak ' if weak else ''}{d}" for d, weak in unique)
    expected = "numeric dtypes with a common upper bound in the promotion lattice"
    if mode == "strict":
        expected = "equal dtypes, or weak ones of no greater kind (mode 'strict')"
    return message(
        "type promotion",
        given=given,
        expected=expected,
        fix="Convert the operands to one dtype, for example with x.astype(y.dtype).",
    )
