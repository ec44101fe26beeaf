"""Make the program of a seed and an index."""

from __future__ import annotations

import random
from functools import partial
from typing import Any

import numpy as np

import morphax as jax
import morphax.numpy as jnp

from .builder import Builder, kind_of
from .forms import Forms
from .identity import fresh_functions
from .namespace import namespace
from .operations import FAMILIES
from .parameters import with_parameters
from .program import Block, Input, Program, Type
from .wrong import WRONG

_iinfo: Any = jnp.iinfo
DTYPES = {
    "float32": 45,
    "int32": 12,
    "bool": 6,
    "uint8": 5,
    "int8": 5,
    "int16": 2,
    "uint16": 2,
    "uint32": 3,
    "float16": 5,
    "bfloat16": 6,
    "complex64": 6,
}
DTYPES_X64 = {**DTYPES, "float64": 40, "int64": 12, "uint64": 3, "complex128": 4}
SPECIAL = [0.0, -0.0, float("inf"), float("-inf"), float("nan"), 1.0, -1.0, 0.5, 2.0, 1e30, -1e-30]
WRAPPERS = [
    "{}",
    "{}",
    "jax.jit(lambda v: {})({{0}})",
    "jax.vmap(lambda v: {})({{0}}[None])",
    "jax.checkpoint(lambda v: {})({{0}})",
    "jax.eval_shape(lambda v: {}, {{0}}).ndim",
    "lax.cond(True, lambda v: {}, lambda v: {}, {{0}})",
]


def _number(rng: random.Random, dtype: str, special: bool) -> Any:
    """A number that is exact in every type: a multiple of an eighth, or a small integer."""
    if dtype == "bool":
        return rng.random() < 0.5
    if "int" in dtype:
        info = _iinfo(dtype)
        if special and rng.random() < 0.4:
            return int(rng.choice([info.min, info.max, 0, info.max - 1]))
        return rng.randint(0, 6) if dtype.startswith("uint") else rng.randint(-3, 5)
    if special and rng.random() < 0.4:
        return rng.choice(SPECIAL)
    number = rng.randint(-16, 16) / 8
    return complex(number, rng.randint(-8, 8) / 8) if "complex" in dtype else number


def _shapes(rng: random.Random) -> list[tuple[int, ...]]:
    d, e = (rng.choice([0, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3, 3, 4, 5]) for _ in range(2))
    return [(), (d,), (d,), (e,), (d, e), (d, e), (1, e), (d, 1), (d, d), (2, d, e)]


def _input(rng: random.Random, name: str, shapes: list[tuple[int, ...]], b: Builder) -> Input:
    dtypes = DTYPES_X64 if jax.config.jax_enable_x64 else DTYPES
    dtype = rng.choices(list(dtypes), list(dtypes.values()))[0]
    shape = rng.choice(shapes)
    if rng.random() < 0.05:
        value = rng.choice([2.5, -1, 3, 0.5, True])
        return Input(name, Type((), "float32"), (value,), scalar=True)
    numbers = [_number(rng, dtype, b.special) for _ in range(int(np.prod(shape)))]
    if dtype == "float16":
        numbers = [0.5 if abs(number) in (1e30, 1e-30) else number for number in numbers]
    return Input(name, Type(shape, dtype), tuple(numbers))


def _fits(value: Any, kinds: str, array: bool) -> bool:
    kind = kind_of(value)
    return kind != "" and kind in kinds and (hasattr(value, "shape") or not array)


def _operation(b: Builder) -> bool:
    rows = b.rng.choices([rows for _, rows in FAMILIES], [weight for weight, _ in FAMILIES])[0]
    text, kinds = b.rng.choice(rows)
    operands: list[str] = []
    for position, wanted in enumerate(kinds):
        methods = f"{{{position}}}." in text or f"{{{position}}}[" in text or "lax." in text
        literal = 0.2 if position and not methods else 0.0
        operand = b.operand(partial(_fits, kinds=wanted, array=methods), literal)
        if operand is None:
            return False
        operands.append(operand)
    shape = tuple(getattr(b.value_of(operands[0]), "shape", ()))
    return b.add(with_parameters(text, b.rng, shape), operands) is not None


class _Growth:
    """How lines are chosen."""

    def __init__(self) -> None:
        forms = Forms(self.grow)
        self.forms = [(weight, form) for weight, form in forms.table]
        self.forms.append((3, fresh_functions))

    def grow(self, b: Builder, lines: int) -> None:
        """Append about so many lines."""
        chance = (0.3, 0.22, 0.15, 0.1, 0.0)[min(b.depth, 4)]
        for _ in range(4 * lines):
            if b.stop or lines <= 0:
                return
            if b.rng.random() < chance:
                weights = [weight for weight, _ in self.forms]
                lines -= b.rng.choices([form for _, form in self.forms], weights)[0](b)
            else:
                lines -= _operation(b)


_growth = _Growth()


def _append_wrong(b: Builder) -> None:
    name = b.pick(lambda value: hasattr(value, "shape"))
    if name is None:
        return
    text = b.rng.choice(WRONG)[0]
    wrapper = b.rng.choice(WRAPPERS)
    inside = text if wrapper == "{}" else text.replace("{0}", "v")
    b.add_failing(
        wrapper.format(*[inside] * wrapper.replace("{{", "").count("{}")).replace("{{0}}", "{0}"),
        [name],
    )


def make(seed: int, index: int) -> Program:
    """The program; the same one for the same arguments."""
    rng = random.Random(f"{seed}/{index}")
    x64 = rng.random() < 0.12
    with jax.enable_x64(x64):
        return _make(rng, x64)


def _make(rng: random.Random, x64: bool) -> Program:
    b = Builder(rng, special=rng.random() < 0.15)
    shapes = _shapes(rng)
    inputs = [_input(rng, b.name(), shapes, b) for _ in range(rng.choice([1, 2, 2, 3]))]
    scope = namespace()
    for each in inputs:
        b.values[each.name] = eval(each.text(), scope)
    _growth.grow(b, rng.choice([2, 3, 4, 5, 6]))
    if not b.stop and rng.random() < 0.04:
        _append_wrong(b)
    main = b.block([each.name for each in inputs], _results(b), as_tuple=True)
    return Program(tuple(inputs), main, x64, b.special)


def _results(b: Builder) -> list[str]:
    """What was made last, and some of the rest."""
    made = [name for line in b.lines for name in line.targets]
    fitting = [n for n in made if n not in b.values or kind_of(b.values[n])]
    return fitting[-6:] or [name for name in b.values][:1]


def rebuilt(program: Program, main: Block) -> Program:
    """The program with another function."""
    return Program(program.inputs, main, program.x64, program.special)
