"""What a random number generator is: four functions on the words of one key."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field
from math import prod
from typing import Any, final

import numpy as np

from ... import dtypes
from ...errors import ShapeError
from ...util.messages import message
from ...util.records import dataclass


@final
@dataclass(frozen=True, slots=True, repr=False)
class PRNGImpl:
    """A random number generator; those with equal functions are equal.

    Args:
        key_shape: shape of the ``uint32`` words of a key.
        seed: one integer → words.
        split: words, a shape → words of that many keys, of shape (*shape, *key_shape).
        random_bits: words, 8, 16, 32 or 64, a shape → unsigned integers of so many bits.
        fold_in: words, one ``uint32`` → words.
        name: the name that users see.
        tag: a short name, seen in key dtypes and jaxprs.
        is_named: whether users choose it by its name, so that the tag is its own.

    Raises:
        ValueError: if a key has no words.
    """

    key_shape: tuple[int, ...]
    seed: Callable[[Any], Any]
    split: Callable[[Any, tuple[int, ...]], Any]
    random_bits: Callable[[Any, int, tuple[int, ...]], Any]
    fold_in: Callable[[Any, Any], Any]
    name: str = "<unnamed>"
    tag: str = "?"
    is_named: bool = False
    key_dtype: dtypes.KeyType = field(init=False, compare=False)

    def __post_init__(self) -> None:
        shape = tuple(self.key_shape)
        if not prod(shape):
            raise ShapeError(
                message(
                    f"the random number generator {self.name}, argument key_shape",
                    given=f"{shape}",
                    expected="the shape of one word or more",
                    fix="Give the shape of the uint32 array that holds one key.",
                )
            )
        # One integer where there is one wide enough: see docs/design/keys.md.
        physical = np.uint64 if shape == (2,) else np.dtype([("words", np.uint32, shape)])
        generator = None if self.is_named else self
        object.__setattr__(self, "key_shape", shape)
        object.__setattr__(self, "key_dtype", dtypes.KeyType(self.tag, shape, physical, generator))

    def __reduce__(self) -> tuple[Any, ...]:
        functions = (self.seed, self.split, self.random_bits, self.fold_in)
        return PRNGImpl, (self.key_shape, *functions, self.name, self.tag, self.is_named)

    def __repr__(self) -> str:
        return self.tag

    __str__ = __repr__
