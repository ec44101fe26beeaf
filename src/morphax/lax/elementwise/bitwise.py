"""Operations on the bits of integers; on booleans, the logical ones.

A shift takes its distance as an unsigned number; by the width of the dtype or more it leaves
nothing but copies of the sign (`shift_right_arithmetic`) or zeros.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, final

import numpy as np

from ... import dtypes
from ...engines import loops
from ..ground.families import Bitwise
from ..ground.kinds import INTEGER
from ..ground.narrow import widened
from ..ground.operands import standardize


@final
class And(Bitwise):
    """x ∧ y, bit by bit."""

    name = "and"
    quick = True
    numpy = np.bitwise_and
    stablehlo = "stablehlo.and"


@final
class Or(Bitwise):
    """x ∨ y, bit by bit."""

    name = "or"
    quick = True
    numpy = np.bitwise_or
    stablehlo = "stablehlo.or"


@final
class Xor(Bitwise):
    """x ⊻ y, bit by bit."""

    name = "xor"
    quick = True
    numpy = np.bitwise_xor
    stablehlo = "stablehlo.xor"


@final
class Not(Bitwise):
    """¬x, bit by bit."""

    name = "not"
    quick = True
    numpy = np.bitwise_not
    stablehlo = "stablehlo.not"


def integer_dtype(kind: str, dtype: Any) -> Any:
    """The integer dtype as wide as `dtype`, of kind ``"int"`` or ``"uint"``."""
    return dtypes.dtype(f"{kind}{dtypes.itemsize_bits(dtype)}")


class Shift(Bitwise):
    """A shift of x by y places, by a function of NumPy on integers of kind `kind`."""

    accepts = INTEGER
    kind: ClassVar[str]

    def kernel(self, x: Any, *others: Any, **params: Any) -> Callable[..., Any] | None:
        dtype, shifted = x.dtype, type(self).numpy
        if not isinstance(dtype, np.dtype) or dtype.kind not in "iu":
            return None
        working = integer_dtype(self.kind, dtype)
        if working == dtype:
            return shifted
        return lambda x, y: shifted(x.view(working), y.view(working)).view(dtype)

    def evaluate(self, x: Any, y: Any) -> Any:
        # NumPy's shifts agree with XLA's for any distance, negative ones being huge.
        working = integer_dtype(self.kind, x.dtype)
        shifted = type(self).numpy(*[widened(v.view(working)) for v in (x, y)])
        return np.asarray(shifted.astype(working)).view(x.dtype)

    def scalar(self, w: loops.Writer, x: loops.Operand, y: loops.Operand) -> loops.Operand:
        return loops.scalars.shifted(w, self.name, x, y)


@final
class ShiftLeft(Shift):
    """x · 2ʸ, modulo the width."""

    name = "shift_left"
    kind = "uint"
    numpy = np.left_shift
    stablehlo = "stablehlo.shift_left"


@final
class ShiftRightArithmetic(Shift):
    """⌊x / 2ʸ⌋: copies of the sign move in."""

    name = "shift_right_arithmetic"
    kind = "int"
    numpy = np.right_shift
    stablehlo = "stablehlo.shift_right_arithmetic"


@final
class ShiftRightLogical(Shift):
    """⌊x / 2ʸ⌋ of the bits as an unsigned number: zeros move in."""

    name = "shift_right_logical"
    kind = "uint"
    numpy = np.right_shift
    stablehlo = "stablehlo.shift_right_logical"


and_p = And()
or_p = Or()
xor_p = Xor()
not_p = Not()
shift_left_p = ShiftLeft()
shift_right_arithmetic_p = ShiftRightArithmetic()
shift_right_logical_p = ShiftRightLogical()


def bitwise_and(x: Any, y: Any) -> Any:
    """Logical and, x ∧ y, bit by bit.

    Args:
        x, y: arrays of one integer dtype, or booleans, and of one shape.

    Raises:
        TypeError: dtypes or shapes differ, or are others; the function of `jax.numpy` promotes.

    Example:
        >>> import morphax as jax
        >>> import morphax.numpy as jnp
        >>> jax.lax.bitwise_and(jnp.array([6, 5]), 3)
        Array([2, 1], dtype=int32)
    """
    return and_p.bind(*standardize(x, y))


def bitwise_or(x: Any, y: Any) -> Any:
    """Logical or, x ∨ y, bit by bit.

    Args:
        x, y: arrays of one integer dtype, or booleans, and of one shape.

    Raises:
        TypeError: dtypes or shapes differ, or are others; the function of `jax.numpy` promotes.

    Example:
        >>> import morphax as jax
        >>> import morphax.numpy as jnp
        >>> jax.lax.bitwise_or(jnp.array([6, 5]), 3)
        Array([7, 7], dtype=int32)
    """
    return or_p.bind(*standardize(x, y))


def bitwise_xor(x: Any, y: Any) -> Any:
    """Exclusive or, x ⊻ y, bit by bit.

    Args:
        x, y: arrays of one integer dtype, or booleans, and of one shape.

    Raises:
        TypeError: dtypes or shapes differ, or are others; the function of `jax.numpy` promotes.

    Example:
        >>> import morphax as jax
        >>> import morphax.numpy as jnp
        >>> jax.lax.bitwise_xor(jnp.array([6, 5]), 3)
        Array([5, 6], dtype=int32)
    """
    return xor_p.bind(*standardize(x, y))


def bitwise_not(x: Any) -> Any:
    """¬x, bit by bit.

    Args:
        x: array of integer dtype, or booleans.

    Raises:
        TypeError: `x` is of another dtype.

    Example:
        >>> import morphax as jax
        >>> import morphax.numpy as jnp
        >>> jax.lax.bitwise_not(jnp.array([0, 5]))
        Array([-1, -6], dtype=int32)
    """
    return not_p.bind(x)


def shift_left(x: Any, y: Any) -> Any:
    """`x` shifted left by `y` places, element by element; zeros move in.

    Args:
        x, y: arrays of one integer dtype and shape; shifts by the width or more leave no bit.

    Raises:
        TypeError: dtypes or shapes differ, or are others; the function of `jax.numpy` promotes.

    Example:
        >>> import morphax as jax
        >>> import morphax.numpy as jnp
        >>> jax.lax.shift_left(jnp.array([1, 3]), 2)
        Array([ 4, 12], dtype=int32)
    """
    return shift_left_p.bind(*standardize(x, y))


def shift_right_arithmetic(x: Any, y: Any) -> Any:
    """`x` shifted right by `y` places, element by element; copies of the sign bit move in.

    Args:
        x, y: arrays of one integer dtype and shape; shifts by the width or more leave signs.

    Raises:
        TypeError: dtypes or shapes differ, or are others; the function of `jax.numpy` promotes.

    Example:
        >>> import morphax as jax
        >>> import morphax.numpy as jnp
        >>> jax.lax.shift_right_arithmetic(jnp.array([-8, 8]), 2)
        Array([-2,  2], dtype=int32)
    """
    return shift_right_arithmetic_p.bind(*standardize(x, y))


def shift_right_logical(x: Any, y: Any) -> Any:
    """`x` shifted right by `y` places, element by element; zeros move in.

    Args:
        x, y: arrays of one integer dtype and shape; shifts by the width or more leave no bit.

    Raises:
        TypeError: dtypes or shapes differ, or are others; the function of `jax.numpy` promotes.

    Example:
        >>> import morphax as jax
        >>> import morphax.numpy as jnp
        >>> jax.lax.shift_right_logical(jnp.array([-8, 8]), 2)
        Array([1073741822,          2], dtype=int32)
    """
    return shift_right_logical_p.bind(*standardize(x, y))
