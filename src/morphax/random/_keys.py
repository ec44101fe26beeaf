"""Keys: from seeds, from other keys, and from and to raw words.

A key is typed, of dtype ``key<fry>``, or *raw*, an array of its ``uint32`` words as `PRNGKey` makes
it.  Every function takes either; those that return keys return the kind they were given.
"""

from __future__ import annotations

from collections.abc import Sequence
from operator import index
from typing import Any, NewType

import numpy as np

from .. import dtypes, lax
from ..array.public import Array
from ..config import current as current_config
from ..core import Tracer, aval_of, is_value
from ..engines.reference.replay import replayed
from ..lax.ground.axes import canonical_shape
from ..lax.ground.kinds import INTEGER
from ..lax.random.generators import PRNGImpl
from ..lax.random.key_use import random_clone_p
from ..lax.random.random_bits import random_unwrap_p, random_wrap_p
from ..util.messages import described, message, warn_user
from ._generators import GENERATORS, fold_in_key, generator_of, seeded, split_keys

Key = NewType("Key", Array)
"""The type of keys, for annotations: a typed key, or an array of them."""

_INT64 = np.iinfo(np.int64)
_warnings_given: dict[Any, Any] = {}


def implementation(where: str, impl: Any = None, dtype: Any = None) -> PRNGImpl:
    """The generator that `impl` (a name, a key dtype or a generator) or `dtype` names."""
    if impl is not None and dtype is not None:
        raise ValueError(
            message(
                where,
                given=f"both impl={impl!r} and dtype={dtype}",
                expected="one of the two, or neither",
                fix="Leave one out.",
            )
        )
    wanted = impl if impl is not None else dtype
    if wanted is None:
        wanted = current_config().default_prng_impl
    if isinstance(wanted, PRNGImpl):
        return wanted
    if isinstance(wanted, dtypes.KeyType):
        return generator_of(wanted)
    if isinstance(wanted, str) and wanted in GENERATORS:
        return GENERATORS[wanted]
    error = ValueError if isinstance(wanted, str) else TypeError
    raise error(
        message(
            where,
            given=f"the generator {wanted!r}",
            expected=f"one of {', '.join(map(repr, GENERATORS))}, or its key dtype",
            fix="Leave the argument out, or choose one of these.",
        )
    )


def is_typed(key: Any) -> bool:
    """Whether `key` has a key dtype, rather than being an array of words."""
    return is_value(key) and isinstance(aval_of(key).dtype, dtypes.KeyType)


def typed_keys(function: str, keys: Any) -> Any:
    """`keys`, typed or raw, as an array of typed keys of any shape."""
    aval = aval_of(keys) if is_value(keys) else None
    if aval is not None and isinstance(aval.dtype, dtypes.KeyType):
        return keys
    where = f"random.{function}, argument key"
    impl = implementation(where)
    shape = impl.key_shape
    if aval is None or _given_dtype(keys) != np.uint32 or aval.shape[-len(shape) :] != shape:
        raise TypeError(
            message(
                where,
                given=described(keys) if aval is None else f"{_given_dtype(keys)}{[*aval.shape]}",
                expected=f"a key, or the words of one, uint32[{', '.join(map(str, shape))}]",
                fix="Make a key with jax.random.key(seed), and pass it before the other arguments.",
            )
        )
    _judge_raw(where)
    return random_wrap_p.bind(keys, impl=impl)


def _given_dtype(words: Any) -> Any:
    """Their dtype; of NumPy's arrays as they are, for words of 64 bits lose half when narrowed.

    A member of a batch is one of the array that is mapped over.
    """
    whole = words.get_referent() if isinstance(words, Tracer) else words
    own = isinstance(whole, (np.ndarray, np.generic))
    return whole.dtype if own else aval_of(words).dtype


def _judge_raw(where: str) -> None:
    """Warn of raw keys, or refuse them, if ``jax_legacy_prng_key`` says so."""
    mode = current_config().legacy_prng_key
    if mode == "allow":
        return
    text = message(
        where,
        given="the raw words of a key",
        expected=f"a typed key (jax_legacy_prng_key={mode!r})",
        fix="Make keys with jax.random.key instead of PRNGKey.",
    )
    if mode == "error":
        raise ValueError(text)
    warn_user(text, _warnings_given)


def single_key(function: str, key: Any) -> Any:
    """`key`, typed or raw, as one typed key."""
    typed = typed_keys(function, key)
    shape = aval_of(typed).shape
    if not shape:
        return typed
    raise ValueError(
        message(
            f"random.{function}, argument key",
            given=f"an array of keys of shape {shape}",
            expected="one key",
            fix="Choose one key, keys[i], or map over them with jax.vmap.",
        )
    )


def keys_from(keys: Any, count: int = 2) -> Sequence[Any]:
    """`count` arrays of typed keys, of the shape of `keys`, split from them."""
    return lax.unstack(split_keys(keys, (count,)), axis=-1)


def _like(key: Any, result: Any) -> Any:
    """Typed keys, as raw words if `key` was raw."""
    return result if is_typed(key) else random_unwrap_p.bind(result)


def _seed_value(where: str, seed: Any) -> Any:
    """A seed as one integer array, tracer or NumPy scalar."""
    config = current_config()
    if isinstance(seed, int):
        if not _INT64.min <= seed <= _INT64.max:
            raise OverflowError(
                message(
                    where,
                    given=f"{seed}",
                    expected="an integer of at most 64 bits, signed",
                    fix="Keep the low bits, seed % 2**63.",
                )
            )
        wide = np.int64(seed)
        seed = wide if config.enable_x64 else wide.astype(np.int32)
    aval = aval_of(seed) if is_value(seed) else None
    if aval is None or aval.shape or aval.dtype not in INTEGER:
        raise TypeError(
            message(
                where,
                given=described(seed) if aval is None else aval.str_short(short_dtypes=False),
                expected="one integer",
                fix="Map over several seeds with jax.vmap; split a key to get several."
                if aval is not None and aval.shape
                else "Pass an integer, for instance int(seed).",
            )
        )
    offset = config.random_seed_offset
    return lax.add(seed, np.asarray(offset).astype(aval.dtype)) if offset else seed


def key(seed: Any, *, impl: Any = None, dtype: Any = None) -> Any:
    """The key of a seed.

    Args:
        seed: an integer; of 64 bits with ``jax_enable_x64``, else its low 32 bits count.
        impl: the generator's name, ``"threefry2x32"`` (the default), ``"rbg"`` or
            ``"unsafe_rbg"``; or what `morphax.extend.random.define_prng_impl` returned.
        dtype: the generator's key dtype, instead of `impl`.

    Returns:
        A scalar of the generator's key dtype, ``key<fry>`` for the default one.

    Raises:
        TypeError: `seed` is not one integer.
        OverflowError: it has more than 64 bits.

    Example:
        >>> import morphax as jax
        >>> jax.random.key(0).dtype
        key<fry>
    """
    seed = _seed_value("random.key, argument seed", seed)
    return seeded(seed, implementation("random.key", impl, dtype))


def PRNGKey(seed: Any, *, impl: Any = None) -> Any:
    """The key of a seed, as its raw ``uint32`` words; see `key`, which makes typed keys.

    Example:
        >>> import morphax as jax
        >>> jax.random.PRNGKey(7)
        Array([0, 7], dtype=uint32)
    """
    seed = _seed_value("random.PRNGKey, argument seed", seed)
    typed = seeded(seed, implementation("random.PRNGKey", impl))
    return typed if current_config().enable_custom_prng else random_unwrap_p.bind(typed)


def key_dtype(impl_spec: Any = None) -> dtypes.KeyType:
    """The dtype of the keys of a generator, by default of the one that `key` uses.

    Args:
        impl_spec: the name of a generator, or a generator.

    Example:
        >>> import morphax as jax
        >>> jax.random.key_dtype()
        key<fry>
    """
    return implementation("random.key_dtype, argument impl_spec", impl_spec).key_dtype


def key_impl(keys: Any) -> str | PRNGImpl:
    """The name of the generator that `keys` belong to, or the generator itself if it has none.

    Args:
        keys: an array of keys, typed or as words.

    Raises:
        TypeError: `keys` are no keys.

    Example:
        >>> import morphax as jax
        >>> jax.random.key_impl(jax.random.key(0))
        'threefry2x32'
    """
    impl = generator_of(aval_of(typed_keys("key_impl", keys)).dtype)
    return impl.name if impl.is_named else impl


def key_data(keys: Any) -> Any:
    """The words of keys: uint32[..., 2], or other sizes for other generators.

    Example:
        >>> import morphax as jax
        >>> jax.random.key_data(jax.random.key(7))
        Array([0, 7], dtype=uint32)
    """
    return random_unwrap_p.bind(typed_keys("key_data", keys))


def wrap_key_data(key_bits_array: Any, *, impl: Any = None, dtype: Any = None) -> Any:
    """Typed keys of their words, uint32[..., 2] by default; the inverse of `key_data`.

    Args:
        key_bits_array: words, an array of dtype uint32 whose last axes are those of a key.
        impl: the generator that the keys belong to; the default one without it.
        dtype: the key dtype, instead of `impl`.

    Returns:
        Keys of the shape of the other axes.

    Raises:
        TypeError: the words are of another dtype, or their last axes do not fit.

    Example:
        >>> import morphax as jax
        >>> jax.random.wrap_key_data(jax.random.key_data(jax.random.key(0))).dtype
        key<fry>
    """
    where = "random.wrap_key_data"
    kind = implementation(where, impl, dtype)
    if is_value(key_bits_array) and _given_dtype(key_bits_array) != np.uint32:
        raise TypeError(
            message(
                f"{where}, argument key_bits_array",
                given=f"words of dtype {_given_dtype(key_bits_array)}",
                expected="words of dtype uint32",
                fix="Convert them with astype(np.uint32), if they are less than 2³².",
            )
        )
    return random_wrap_p.bind(key_bits_array, impl=kind)


@replayed(1)
def split(key: Any, num: int | Sequence[int] = 2) -> Any:
    """Keys that are independent of each other and of `key`.

    Use a key once: split it first, draw from one part and keep the other for later.

    Args:
        key: one key.
        num: how many keys, or the shape of an array of keys.

    Returns:
        Array of keys of shape (num,); of raw words, (num, 2), if `key` is raw.

    Raises:
        ValueError: `key` is an array of keys, or a number is negative.

    Example:
        >>> import morphax as jax
        >>> jax.random.split(jax.random.key(0), 3).shape
        (3,)
    """
    shape = canonical_shape("random.split, argument num", num)
    return _like(key, split_keys(single_key("split", key), shape))


def fold_in(key: Any, data: Any) -> Any:
    """A key made of `key` and a number, for instance the number of a step or of a device.

    Args:
        key: one key.
        data: an integer, of which 32 bits count.

    Returns:
        One key, of the kind of `key`.

    Raises:
        TypeError: `data` is an array.
        OverflowError: it is a Python integer outside [0, 2³²).

    Example:
        >>> import morphax as jax
        >>> jax.random.key_data(jax.random.fold_in(jax.random.key(0), 1))
        Array([ 928981903, 3453687069], dtype=uint32)
    """
    where = "random.fold_in, argument data"
    typed = single_key("fold_in", key)
    if isinstance(data, int):
        number = _uint32(where, index(data))
    else:
        aval = aval_of(data)
        if aval.shape:
            raise TypeError(
                message(
                    where,
                    given=aval.str_short(short_dtypes=False),
                    expected="one integer",
                    fix="Map over the array with jax.vmap.",
                )
            )
        number = lax.convert_element_type(data, np.uint32)
    return _like(key, fold_in_key(typed, number))


def _uint32(where: str, data: int) -> np.uint32:
    if 0 <= data < 1 << 32:
        return np.uint32(data)
    raise OverflowError(
        message(
            where,
            given=f"{data}",
            expected="an integer in [0, 2**32)",
            fix="Pass data % 2**32, or fold the high bits in as a second number.",
        )
    )


def clone(key: Any) -> Any:
    """The same key or keys, which may be used once more where reuse is checked.

    Args:
        key: a key, or an array of keys.

    Example:
        >>> import morphax as jax
        >>> with jax.debug_key_reuse(True):
        ...     key = jax.random.key(0)
        ...     x = jax.random.normal(key)
        ...     y = jax.random.normal(jax.random.clone(key))
    """
    return _like(key, random_clone_p.bind(typed_keys("clone", key)))
