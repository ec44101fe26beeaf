"""Random parameters for the words with ``$`` in texts of operations."""

from __future__ import annotations

import random
import re
from collections.abc import Callable

Draw = Callable[[random.Random, tuple[int, ...]], str]

DTYPES = "bool int8 int16 int32 uint8 uint16 uint32 float16 bfloat16 float32 complex64".split()
_word = re.compile(r"\$([a-z]+0?)")


def _axis0(rng: random.Random, shape: tuple[int, ...]) -> str:
    return str(rng.randrange(max(len(shape), 1)))


def _axis(rng: random.Random, shape: tuple[int, ...]) -> str:
    return str(rng.randrange(max(len(shape), 1)) - (len(shape) if rng.random() < 0.3 else 0))


def _axisopt(rng: random.Random, shape: tuple[int, ...]) -> str:
    return "None" if rng.random() < 0.4 else _axis(rng, shape)


def _reshape(rng: random.Random, shape: tuple[int, ...]) -> str:
    if len(shape) > 1 and rng.random() < 0.5:
        return str((shape[0], -1) if shape[0] else (-1, *shape[1:]))
    return rng.choice(["-1", "(-1, 1)", "(1, -1)", "(2, -1)"])


def _perm(rng: random.Random, shape: tuple[int, ...]) -> str:
    axes = list(range(len(shape)))
    rng.shuffle(axes)
    return str(tuple(axes))


def _padding(rng: random.Random, shape: tuple[int, ...]) -> str:
    one = [(rng.choice([-1, 0, 1]), rng.choice([-1, 0, 2]), rng.choice([0, 0, 1])) for _ in shape]
    return repr(one)


def _index(rng: random.Random, shape: tuple[int, ...]) -> str:
    return str(rng.choice([0, -1, 0, 1, -2, 2, 5, -7]))


def _slice(rng: random.Random, shape: tuple[int, ...]) -> str:
    return rng.choice(["1:", ":-1", "::2", "::-1", "-2:", ":2", "1:1", ":", "2:0:-1"])


def _array(rng: random.Random, shape: tuple[int, ...]) -> str:
    size = rng.choice([1, 2, 3])
    return repr([rng.choice([0, 1, -1, 1, 0, 2, -2, 9]) for _ in range(size)])


def _windows(rng: random.Random, shape: tuple[int, ...]) -> str:
    return str(tuple(rng.choice([1, 2, 2, 3]) for _ in shape))


def _strides(rng: random.Random, shape: tuple[int, ...]) -> str:
    return str(tuple(rng.choice([1, 1, 2]) for _ in shape))


def _contract(rng: random.Random, shape: tuple[int, ...]) -> str:
    axis = _axis0(rng, shape)
    return f"((({axis},), ({axis},)), ((), ()))"


def _one_of(*texts: str) -> Draw:
    return lambda rng, shape: rng.choice(texts)


DRAWS: dict[str, Draw] = {
    "axis": _axis,
    "axis0": _axis0,
    "axisopt": _axisopt,
    "reshape": _reshape,
    "perm": _perm,
    "padding": _padding,
    "index": _index,
    "slice": _slice,
    "array": _array,
    "window": _windows,
    "strides": _strides,
    "contract": _contract,
    "bit": _one_of("0", "1"),
    "one": _one_of("1", "2"),
    "int": _one_of("0", "1", "2", "3", "-1", "-2"),
    "scalar": _one_of("0.5", "2", "-1.5", "-1", "3", "True", "1.25"),
    "seed": _one_of("0", "1", "7"),
    "dtype": _one_of(*DTYPES),
    "float": _one_of("float32", "bfloat16", "float16"),
    "ord": _one_of("1", "2", "jnp.inf", "3"),
    "padmode": _one_of("'edge'", "'reflect'", "'wrap'", "'symmetric'", "'mean'", "'maximum'"),
    "convmode": _one_of("'full'", "'same'", "'valid'"),
    "takemode": _one_of("None", "'clip'", "'wrap'", "'fill'"),
    "getmode": _one_of("'clip'", "'fill'", "'wrap'", "None"),
    "scattermode": _one_of("'clip'", "'drop'", "None"),
}


def with_parameters(text: str, rng: random.Random, shape: tuple[int, ...]) -> str:
    """The text with each word replaced."""
    return _word.sub(lambda match: DRAWS[match[1]](rng, shape), text)
