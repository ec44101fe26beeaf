"""`jax.experimental.random`: a generator of random numbers that keeps its own state.

Draw number n uses the key ``fold_in(base, n)``, and the count n stands in a reference
(`morphax.new_ref`).  So a generator is passed to compiled functions, loops and `vmap` as any other
reference is, with the same limits: it cannot be returned from them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, final

import numpy as np

from .. import dtypes, lax, random, tree
from .. import numpy as jnp
from ..core import AbstractRef, aval_of, current_trace, is_value, root_trace
from ..dtypes import KeyType
from ..lax.ground.kinds import INTEGER
from ..lax.reference.ref_functions import new_ref
from ..lax.reference.references import Ref
from ..util.messages import described, message
from ..util.records import dataclass

Size = int | Sequence[int] | None

__all__ = ["StatefulPRNG", "stateful_rng"]


@final
@dataclass(frozen=True)
class StatefulPRNG:
    """A generator whose draws differ from call to call; `stateful_rng` makes one.

    It is a node of trees, with both attributes as children.

    Args:
        _base_key: a typed key.
        _counter: a reference to an integer, the number of draws so far.

    Raises:
        ValueError: the key is raw, or the counter is no reference to an integer.

    Example:
        >>> from morphax.experimental import random
        >>> rng = random.stateful_rng(42)
        >>> rng.integers(0, 10, size=3)
        Array([4, 1, 9], dtype=int32)
        >>> rng.integers(0, 10, size=3)
        Array([5, 2, 4], dtype=int32)
    """

    _base_key: Any
    _counter: Ref

    def __post_init__(self) -> None:
        # Trees are built of other things than arrays, too: of specifications, or axes of vmap.
        if type(self._base_key) is int and not isinstance(self._counter, Ref):
            return
        _check_part("_base_key", self._base_key, _is_key(self._base_key), "a typed key")
        _check_part("_counter", self._counter, _is_counter(self._counter), "an integer reference")

    def key(self, shape: int | Sequence[int] = ()) -> Any:
        """A new key, or an array of keys of this shape, independent of all others that are drawn.

        Example:
            >>> import morphax as jax
            >>> from morphax.experimental import random
            >>> jax.random.key_data(random.stateful_rng(0).key())
            Array([1797259609, 2579123966], dtype=uint32)
        """
        if aval_of(self._base_key).shape:
            raise ValueError(
                message(
                    "StatefulPRNG.key",
                    given=f"generators of shape {aval_of(self._base_key).shape}, made by split",
                    expected="one generator",
                    fix="Map over them with jax.vmap, or make a list of generators with spawn.",
                )
            )
        count = self._counter[...]
        key = random.fold_in(self._base_key, lax.convert_element_type(count, np.uint32))
        self._counter[...] += 1
        return key if shape == () else random.split(key, shape)

    def random(self, size: Size = None, dtype: Any = float) -> Any:
        """Numbers evenly distributed on [0, 1)."""
        return self.uniform(size=size, dtype=dtype)

    def uniform(self, low: Any = 0, high: Any = 1, size: Size = None, *, dtype: Any = float) -> Any:
        """Numbers evenly distributed on [low, high).

        Args:
            low: lower bound, an array (...).
            high: upper bound, likewise.
            size: shape of the result; the one that the bounds share if `None`.
            dtype: a floating dtype.

        Raises:
            ValueError: shapes that do not fit, or many generators instead of one.
        """
        shape = _drawn_shape("uniform", size, low, high)
        low, high = [jnp.asarray(bound) for bound in (low, high)]
        return random.uniform(self.key(), shape, _dtype(dtype), low, high)

    def normal(self, loc: Any = 0, scale: Any = 1, size: Size = None, *, dtype: Any = float) -> Any:
        """``loc + scale · z`` for normal numbers z of mean 0 and variance 1.

        Args:
            loc: the mean, an array (...).
            scale: the standard deviation, an array (...).
            size: shape of z; the one that the parameters share if `None`.
            dtype: a floating or complex dtype.

        Raises:
            ValueError: shapes that do not fit, or many generators instead of one.
        """
        shape = _drawn_shape("normal", size, loc, scale)
        z = random.normal(self.key(), shape, _dtype(dtype))
        return (z * jnp.asarray(scale) + jnp.asarray(loc)).astype(z.dtype)

    def integers(self, low: Any, high: Any = None, size: Size = None, *, dtype: Any = int) -> Any:
        """Integers evenly distributed on [low, high), or on [0, low) without `high`.

        Args:
            low: lower bound, an integer array (...).
            high: upper bound, exclusive, likewise.
            size: shape of the result; the one that the bounds share if `None`.
            dtype: an integer dtype.

        Raises:
            ValueError: shapes that do not fit, or many generators instead of one.
        """
        if high is None:
            low, high = 0, low
        shape = _drawn_shape("integers", size, low, high)
        return random.randint(self.key(), shape, low, high, _dtype(dtype))

    def spawn(self, n_children: int) -> list[StatefulPRNG]:
        """A list of generators, independent of each other and of this one.

        Example:
            >>> from morphax.experimental import random
            >>> [r.integers(0, 10, 2) for r in random.stateful_rng(123).spawn(2)]
            [Array([4, 5], dtype=int32), Array([2, 1], dtype=int32)]
        """
        return [StatefulPRNG(key, new_ref(0)) for key in self.key(n_children)]

    def split(self, num: int | Sequence[int]) -> StatefulPRNG:
        """As many generators in one, for `vmap`.

        Args:
            num: how many, or the shape of an array of them.

        Example:
            >>> import morphax as jax, morphax.numpy as jnp
            >>> from morphax.experimental import random
            >>> rngs = random.stateful_rng(123).split(3)
            >>> jax.vmap(lambda rng, x: x + rng.uniform())(rngs, jnp.zeros(3))
            Array([0.35525954, 0.21937883, 0.5336956 ], dtype=float32)
        """
        keys = self.key(num)
        return StatefulPRNG(keys, new_ref(jnp.zeros(keys.shape, int)))


def stateful_rng(seed: Any = None, *, impl: Any = None) -> StatefulPRNG:
    """A generator whose draws differ from call to call, as `numpy.random.default_rng` makes it.

    Args:
        seed: an integer, as in `morphax.random.key`; `None` takes one from the operating system,
            outside of transformations only.
        impl: the generator's name, as in `morphax.random.key`.

    Raises:
        TypeError: `seed` is not one integer, or it is missing inside a transformation.

    Example:
        >>> import morphax as jax
        >>> from morphax.experimental import random
        >>> rng = random.stateful_rng(42)
        >>> rng.uniform()
        Array(0.5302608, dtype=float32)
        >>> jax.jit(rng.uniform)()
        Array(0.72766423, dtype=float32)
    """
    if seed is None:
        if current_trace() is not root_trace():
            raise TypeError(
                message(
                    "stateful_rng, argument seed",
                    given="no seed, inside a transformed function",
                    expected="a seed, since such a function may run many times or never",
                    fix="Pass a seed, or make the generator outside and pass it as an argument.",
                )
            )
        seed = np.random.default_rng().integers(1 << 32, dtype=np.uint32)
    return StatefulPRNG(random.key(seed, impl=impl), new_ref(0))


def _is_key(x: object) -> bool:
    return is_value(x) and isinstance(aval_of(x).dtype, KeyType)


def _is_counter(x: object) -> bool:
    aval = getattr(x, "aval", None)
    return type(aval) is AbstractRef and aval.dtype in INTEGER


def _check_part(name: str, given: Any, fits: bool, expected: str) -> None:
    # Arrays and numbers that are wrong are mistakes; placeholders of trees are none.
    if fits or not (is_value(given) or isinstance(given, Ref)):
        return
    raise ValueError(
        message(
            f"StatefulPRNG, argument {name}",
            given=described(given),
            expected=expected,
            fix="Call jax.experimental.random.stateful_rng(seed).",
        )
    )


def _dtype(dtype: Any) -> Any:
    """Python's types stand for the dtype of their width now."""
    return dtypes.canonicalize(dtype) if dtype in (float, int, complex) else dtype


def _drawn_shape(method: str, size: Size, *parameters: Any) -> tuple[int, ...]:
    if size is not None:
        return (size,) if isinstance(size, int) else tuple(size)
    shapes = [aval_of(p).shape if is_value(p) else np.shape(p) for p in parameters]
    return lax.broadcast_shapes(*shapes)


tree.register_dataclass(StatefulPRNG, data_fields=["_base_key", "_counter"], meta_fields=[])
