"""Shapes with symbols: making them, and what is known of their sizes."""

from __future__ import annotations

from collections.abc import Sequence
from operator import index
from typing import Any

from .. import tree
from ..core import ShapeDtypeStruct, aval_of
from ..core.bounds import least, most
from ..core.dims import Dim, SymbolicDim
from ..util.messages import described, message
from ._parsing import Reader, filled
from ._scope import SymbolicScope


def is_symbolic_dim(p: object) -> bool:
    """Whether the size of an axis is an expression in symbols, not a number.

    Example:
        >>> from morphax import export
        >>> [export.is_symbolic_dim(n) for n in export.symbolic_shape("a, 4")]
        [True, False]
    """
    return type(p) is SymbolicDim


def symbolic_dim_bounds(dimension: Any) -> tuple[float, float]:
    """The numbers between which the size of an axis is known to lie, both of them included.

    They may be further apart than need be, and are infinite where none is known.

    Args:
        dimension: an integer, or an expression in symbols.

    Returns:
        The least number and the greatest one.

    Raises:
        TypeError: if `dimension` is no size.

    Example:
        >>> from morphax import export
        >>> n, m = export.symbolic_shape("n, m", constraints=("n <= 9",))
        >>> [export.symbolic_dim_bounds(size) for size in (2 * n - 1, n - m, 4)]
        [(1, 17), (-inf, 8), (4, 4)]
    """
    if isinstance(dimension, SymbolicDim):
        return least(dimension.terms), most(dimension.terms)
    try:
        number = index(dimension)
    except TypeError:
        raise TypeError(
            message(
                "export.symbolic_dim_bounds, argument dimension",
                given=described(dimension),
                expected="an integer, or a size with symbols",
                fix="Pass a size of a shape, such as export.symbolic_shape('n, 4')[0].",
            )
        ) from None
    return number, number


def symbolic_shape(
    shape_spec: str | None,
    *,
    constraints: Sequence[str] = (),
    scope: SymbolicScope | None = None,
    like: Sequence[int | None] | None = None,
) -> tuple[Dim, ...]:
    """A shape whose sizes are numbers, and expressions in symbols, which stand for any size.

    Args:
        shape_spec: sizes with commas between them, such as ``"a, 2*b + 1, mod(a, 3), 4"``:
            ``+ - *``, powers ``a^2``, and the functions ``floordiv``, ``mod``, ``max`` and ``min``
            of numbers and of symbols.  ``_`` stands for the size of `like`, and ``...``, as all of
            `None` does, for some of them.
        constraints: what holds of the symbols; see `SymbolicScope`.
        scope: that of the symbols, with its constraints; a new one if left out.
        like: a shape, of which sizes are taken where `shape_spec` leaves them open.

    Returns:
        A tuple of ints and of symbolic sizes.

    Raises:
        ValueError: if the text is no shape, does not fit `like`, or both `scope` and `constraints`
            are given.

    Example:
        >>> from morphax import export
        >>> a, n = export.symbolic_shape("a, a + 2*b", constraints=("a >= b",))
        >>> n, n - a, (2 * a + 5) // 2, a % 3, export.symbolic_shape("a, _", like=(3, 4))
        (2*b + a, 2*b, a + 2, mod(a, 3), (a, 4))
    """
    where = "export.symbolic_shape, argument shape_spec"
    known = _scope("export.symbolic_shape", constraints, scope)
    return _shape(where, shape_spec, known, like)


def symbolic_args_specs(
    args: Any,
    shapes_specs: Any,
    constraints: Sequence[str] = (),
    scope: SymbolicScope | None = None,
) -> Any:
    """What stands for arguments of symbolic shapes, all of one scope.

    Args:
        args: a tree of arrays, or of what stands for them, with the dtypes.
        shapes_specs: for each of them a text, see `symbolic_shape`, or `None` for its own shape: a
            prefix of `args`.
        constraints, scope: see `symbolic_shape`.

    Returns:
        The tree `args` of `jax.ShapeDtypeStruct`.

    Raises:
        ValueError: if the texts are no shapes, or do not fit the arguments.

    Example:
        >>> from morphax import export, numpy as jnp
        >>> export.symbolic_args_specs((jnp.ones((3, 4)), jnp.ones(4)), ("a, _", "_"))
        (ShapeDtypeStruct(shape=(a, 4), dtype=float32), ShapeDtypeStruct(shape=(4,), dtype=float32))
    """
    where = "export.symbolic_args_specs, argument shapes_specs"
    known = _scope("export.symbolic_args_specs", constraints, scope)
    leaves, structure = tree.flatten(args)
    specs = tree.flatten_axes(where, structure, shapes_specs, "shapes_specs")
    return structure.unflatten(
        [_struct(where, x, spec, known) for x, spec in zip(leaves, specs, strict=True)]
    )


def _struct(where: str, x: Any, spec: str | None, scope: SymbolicScope) -> ShapeDtypeStruct:
    like = x if hasattr(x, "shape") and hasattr(x, "dtype") else aval_of(x)
    dtype = like.dtype if isinstance(like, ShapeDtypeStruct) else aval_of(x).dtype
    return ShapeDtypeStruct(_shape(where, spec, scope, like.shape), dtype)


def _scope(where: str, constraints: Sequence[str], scope: SymbolicScope | None) -> SymbolicScope:
    if scope is None:
        return SymbolicScope(constraints)
    if constraints:
        raise ValueError(
            message(
                f"{where}, arguments scope and constraints",
                given="both",
                expected="one of them: a scope has its constraints already",
                fix="Make the scope with the constraints: SymbolicScope(constraints).",
            )
        )
    return scope


def _shape(
    where: str, spec: Any, scope: SymbolicScope, like: Sequence[Any] | None
) -> tuple[Dim, ...]:
    if spec is not None and not isinstance(spec, str):
        raise ValueError(
            message(
                where,
                given=described(spec),
                expected="a string, or None",
                fix="Write 'a, 4' for the shape (a, 4).",
            )
        )
    sizes = ["..."] if spec is None else Reader(where, spec, scope.size).shape()
    return filled(where, sizes, like)
