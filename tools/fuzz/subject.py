"""A program made ready to run: its function, made anew each time it is asked for, and arguments."""

from __future__ import annotations

import random
from collections.abc import Callable
from types import CodeType
from typing import Any

import numpy as np

import morphax as jax
import morphax.numpy as jnp

from .builder import kind_of
from .namespace import namespace
from .program import Program, widened

Main = Callable[..., Any]
_finfo: Any = jnp.finfo
NOISE_UNITS = 4.0
_COARSE = (("bfloat16", 2.0**-7), ("float16", 2.0**-10), ("float32", 2.0**-23))


def _noise(seed: str, epsilon: float | None) -> Callable[[Any, str], Any]:
    """A function that moves floating values by a few units in the last place."""

    def noise(x: Any, name: str) -> Any:
        if kind_of(x) not in ("f", "c"):
            return x
        rng = random.Random(f"{seed}/{name}")
        if not hasattr(x, "dtype") or getattr(x, "weak_type", False):
            return x * (1 + NOISE_UNITS * (epsilon or 2.0**-23) * rng.uniform(-1, 1))
        size = NOISE_UNITS * (epsilon or float(_finfo(x.dtype).eps))
        numbers = [1 + size * rng.choice([-1, -0.5, 0.5, 1]) for _ in range(int(np.prod(x.shape)))]
        return x * np.asarray(numbers).reshape(x.shape).astype(x.dtype)

    return noise


class Subject:
    """A program and its function; `wide` makes it one of 64-bit numbers."""

    def __init__(self, program: Program, wide: bool = False) -> None:
        self.program = program
        self.x64 = program.x64 or wide
        self.source = program.source()
        self.texts = [each.text() for each in program.inputs]
        self.epsilon: float | None = None
        if wide:
            everything = self.source + " ".join(self.texts)
            self.epsilon = next((size for name, size in _COARSE if name in everything), 2.0**-23)
            self.source = widened(self.source)
            self.texts = list(map(widened, self.texts))
        self._code = compile(self.source, "<program>", "exec")
        self._noisy: CodeType | None = None

    def main(self) -> Main:
        """The function, made anew."""
        scope = namespace()
        exec(self._code, scope)
        return scope["main"]

    def moved(self, sample: int) -> Main:
        """The function with each value moved a little."""
        if self._noisy is None:
            text = self.program.source(noisy=True)
            text = widened(text) if self.epsilon else text
            self._noisy = compile(text, "<noisy program>", "exec")
        scope = namespace()
        scope["noise"] = _noise(str(sample), self.epsilon)
        exec(self._noisy, scope)
        return scope["main"]

    def args(self) -> list[Any]:
        """The arguments."""
        scope = namespace()
        return [eval(text, scope) for text in self.texts]

    def members(self) -> tuple[list[Any], list[Any]]:
        """Two sets of arguments, of the same types; Python numbers are the same in both."""
        first = self.args()
        second = [jnp.roll(x, 1) if hasattr(x, "dtype") else x for x in first]
        return first, second

    def floats(self) -> list[int]:
        """The positions of arguments that can be differentiated by."""
        inputs = enumerate(self.program.inputs)
        return [i for i, each in inputs if "float" in each.type.dtype and not each.scalar]


def is_random(subject: Subject) -> bool:
    """Whether the program draws numbers, which are others in wider types."""
    return "random." in subject.source


def total(results: Any) -> Any:
    """One float of all results: a sum with different weights."""
    sums = [jnp.zeros(())]
    for i, leaf in enumerate(jax.tree_util.tree_leaves(results)):
        if kind_of(leaf) in ("f", "c"):
            sums.append(jnp.sum(jnp.real(leaf)) * (1 + 0.25 * (i % 3)))
    result = sums[0]
    for value in sums[1:]:
        result = result + value
    return result
