"""Dtypes that NumPy does not have: their elements are opaque to arithmetic.

An `ExtendedDType` stands where an `np.dtype` stands (`aval.dtype`), but its elements can only be
moved: reshaped, indexed, concatenated, selected.  What it is made of is one element of
`physical_dtype` per logical element, so every such operation acts on the physical array with an
unchanged shape.

`KeyType` is the type of random keys, one instance per generator.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable
from math import prod
from typing import Any, ClassVar, final

import numpy as np
from numpy.typing import DTypeLike

from ..util.messages import message


class extended(np.generic):
    """The abstract scalar class of all extended dtypes; use it with `issubdtype`.

    Example:
        >>> import morphax as jax
        >>> jax.dtypes.issubdtype(jax.random.key(0).dtype, jax.dtypes.extended)
        True
    """


class prng_key(extended):
    """The abstract scalar class of random key dtypes; use it with `issubdtype`.

    Example:
        >>> import morphax as jax
        >>> jax.dtypes.issubdtype(jax.random.key(0).dtype, jax.dtypes.prng_key)
        True
    """


class ExtendedDType(ABC):
    """What an extended dtype must tell; instances compare and hash by identity.

    One that a library defines has `_rules`, whose ``physical_element_aval(dtype)`` says what an
    element is made of: a scalar of a dtype of NumPy.  It may also say which dtypes it
    is converted from and to (``convert_from``, ``convert_to``), what its tangents are
    (``tangent_dtype``) and how cotangents add up (``add``).
    """

    __slots__ = ()

    type: ClassVar[Any] = extended
    _rules: ClassVar[Any]

    @property
    @abstractmethod
    def name(self) -> str:
        """The name printed in jaxprs and array representations."""

    @property
    def itemsize(self) -> int:
        """Bytes per element."""
        return self.physical_dtype.itemsize

    @property
    def physical_dtype(self) -> np.dtype[Any]:
        """The NumPy dtype that holds one element."""
        element = self._rules.physical_element_aval(self)
        if element.shape:
            raise ValueError(message(
                f"{type(self).__name__}._rules.physical_element_aval",
                given=f"elements of shape {element.shape}",
                expected="elements of one number, of shape ()",
                fix="Choose a dtype that is as wide as all numbers of an element together.",
            ))  # fmt: skip
        return np.dtype(element.dtype)

    def rule(self, name: str) -> Any:
        """What the library that defines the dtype says of an operation, `None` if nothing."""
        return getattr(getattr(self, "_rules", None), name, None)

    def __repr__(self) -> str:
        return self.name

    __str__ = __repr__


def may_convert(old: Any, new: Any) -> bool:
    """Whether elements are converted: numbers always, others as those who define them say."""
    if old == new or (not isinstance(old, ExtendedDType) and not isinstance(new, ExtendedDType)):
        return True
    into = new.rule("convert_from") if isinstance(new, ExtendedDType) else None
    out_of = old.rule("convert_to") if isinstance(old, ExtendedDType) else None
    return bool(into is not None and into(new, old)) or bool(
        out_of is not None and out_of(new, old)
    )


@final
class KeyType(ExtendedDType):
    """The dtype of the keys of one random number generator.

    Args:
        tag: the generator's short name, printed as ``key<tag>``.
        key_shape: the shape of a key's raw ``uint32`` words, ``(2,)`` for Threefry.
        physical_dtype: the NumPy dtype that holds all words of one key, ``uint64`` for Threefry.
        generator: what makes and uses the keys, if it is no generator that has a name.

    There is one instance per tag and generator: a second call with equal arguments returns the
    first result.

    Raises:
        ValueError: if `tag` is taken by a key type of another shape or physical dtype, or if
            the physical dtype has not the size of the words.

    Example:
        >>> import numpy as np
        >>> from morphax.dtypes import KeyType
        >>> KeyType("fry", (2,), np.uint64), KeyType("fry", (2,), np.uint64).itemsize
        (key<fry>, 8)
    """

    __slots__ = ("_physical_dtype", "generator", "key_shape", "tag")

    type = prng_key
    _instances: ClassVar[dict[Any, KeyType]] = {}

    tag: str
    key_shape: tuple[int, ...]
    generator: Hashable
    _physical_dtype: np.dtype[Any]

    def __new__(
        cls,
        tag: str,
        key_shape: tuple[int, ...],
        physical_dtype: DTypeLike,
        generator: Hashable = None,
    ) -> KeyType:
        physical = np.dtype(physical_dtype)
        if physical.itemsize != 4 * prod(key_shape):
            raise ValueError(message(
                "KeyType, argument physical_dtype",
                given=f"{physical} of {physical.itemsize} bytes for key shape {key_shape}",
                expected=f"a dtype of {4 * prod(key_shape)} bytes, four per word",
                fix="Choose a dtype as wide as all words of a key together.",
            ))  # fmt: skip
        candidate = super().__new__(cls)
        candidate.tag, candidate.key_shape = tag, tuple(key_shape)
        candidate._physical_dtype, candidate.generator = physical, generator
        known = cls._instances.setdefault((tag, generator), candidate)
        if (known.key_shape, known.physical_dtype) != (candidate.key_shape, physical):
            raise ValueError(message(
                "KeyType, argument tag",
                given=f"{tag!r}, taken by {known} with key shape {known.key_shape}",
                expected="a tag of its own for each generator",
                fix="Choose another tag.",
            ))  # fmt: skip
        return known

    @property
    def name(self) -> str:
        return f"key<{self.tag}>"

    @property
    def physical_dtype(self) -> np.dtype[Any]:
        return self._physical_dtype

    def __reduce__(self) -> tuple[Any, ...]:
        return (KeyType, (self.tag, self.key_shape, self._physical_dtype, self.generator))
