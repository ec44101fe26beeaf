"""Programs as data, and their text.

A `Block` is a function: parameters, lines, results.  A `Line` assigns what an expression gives, and
may hold blocks of its own, which are printed as functions before it and see the names around them.
The text of a line is a format string: ``{0}`` is its first operand, ``{b0}`` its first block,
``{t0}`` its first target.  Text of several lines assigns its targets itself.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import NamedTuple

PRELUDE = """\
import functools
import types
import numpy as np
import morphax as jax
import morphax.numpy as jnp
from morphax import lax, nn, random
"""

# Read by lines that test whether a function made anew is seen to be another one.
STATE = """\
class Holder:
    shared = 0.0

    def __init__(self, k):
        self.k = k

    def times(self, v):
        return v * self.k

    __call__ = times


@functools.partial(jax.tree_util.register_dataclass, data_fields=["w"], meta_fields=["kind"])
class Layer:
    def __init__(self, w, kind):
        self.w, self.kind = w, kind

    def __call__(self, v):
        return v * self.w * STATE.k + self.kind


SCALE = 1.0
STATE = Holder(0.0)
"""

WIDER = {
    **dict.fromkeys(("float16", "bfloat16", "float32"), "float64"),
    "complex64": "complex128",
}
_narrow = re.compile(r"\b(" + "|".join(WIDER) + r")\b")
_name = re.compile(r"[a-z]\d+")


class Type(NamedTuple):
    """Shape and dtype of a value."""

    shape: tuple[int, ...]
    dtype: str


@dataclass(frozen=True)
class Block:
    """A function; one result is returned bare, unless `as_tuple` is set."""

    params: tuple[str, ...]
    lines: tuple[Line, ...]
    results: tuple[str, ...]
    as_tuple: bool = False


@dataclass(frozen=True)
class Line:
    """An assignment; `types` are those of the targets, where they are arrays."""

    targets: tuple[str, ...]
    text: str
    operands: tuple[str, ...] = ()
    blocks: tuple[Block, ...] = ()
    types: tuple[Type | None, ...] = ()


@dataclass(frozen=True)
class Input:
    """An argument of the program: a constructor's text and the array's values."""

    name: str
    type: Type
    values: tuple[object, ...]
    scalar: bool = False  # made from a Python number: of weak type

    def text(self) -> str:
        if self.scalar:
            return f"jnp.asarray({_value_text(self.values[0])})"
        shape = self.type.shape
        flat = "[" + ", ".join(map(_value_text, self.values)) + "]"
        text = f"jnp.array({flat}, jnp.{self.type.dtype})"
        return text if shape == (len(self.values),) else f"{text}.reshape({shape})"


@dataclass(frozen=True)
class Program:
    """The function ``main``, its arguments, and whether 64-bit types are enabled."""

    inputs: tuple[Input, ...]
    main: Block
    x64: bool = False
    special: bool = False  # with infinities, NaN and extreme integers

    def source(self, noisy: bool = False) -> str:
        """The text of ``main``; with `noisy`, each value passes through a function ``noise``."""
        return "\n".join(_function("main", self.main, "", noisy)) + "\n"

    def script(self) -> str:
        """A script that can be run by itself."""
        source = self.source()
        parts = [PRELUDE]
        if self.x64:
            parts.append('jax.config.update("jax_enable_x64", True)\n')
        if "STATE" in source or "Holder" in source or "SCALE" in source:
            parts.append(STATE)
        parts.append("\n" + source)
        parts.append(f"args = [{', '.join(each.text() for each in self.inputs)}]\n")
        return "".join(parts)

    @property
    def size(self) -> int:
        """What shrinking makes smaller: lines of text, then numbers in the arguments."""
        numbers = sum(len(each.values) for each in self.inputs)
        return 1000 * len(self.source().splitlines()) + 10 * numbers + len(self.source())


def widened(text: str) -> str:
    """The text with every floating type replaced by the one of 64 bits."""
    return _narrow.sub(lambda match: WIDER[match[0]], text)


def is_name(operand: str) -> bool:
    """Whether an operand is a variable: the others are literals."""
    return _name.fullmatch(operand) is not None


def names_in(lines: tuple[Line, ...], results: tuple[str, ...]) -> Iterator[str]:
    """Every variable that is read, also by blocks within."""
    yield from filter(is_name, results)
    for line in lines:
        yield from filter(is_name, line.operands)
        for block in line.blocks:
            yield from names_in(block.lines, block.results)


def substituted(block: Block, name: str, by: str) -> Block:
    """The block with one variable replaced where it is read."""

    def new(operands: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(by if operand == name else operand for operand in operands)

    lines = tuple(
        replace(
            line,
            operands=new(line.operands),
            blocks=tuple(substituted(inner, name, by) for inner in line.blocks),
        )
        for line in block.lines
    )
    return replace(block, lines=lines, results=new(block.results))


def _value_text(value: object) -> str:
    text = repr(value)
    return re.sub(r"\b(nan|inf)\b", r"jnp.\1", text)


def _function(name: str, block: Block, indent: str, noisy: bool) -> list[str]:
    inside = indent + "    "
    text = [f"{indent}def {name}({', '.join(block.params)}):"]
    if noisy:
        text += [f"{inside}{param} = noise({param}, {param!r})" for param in block.params]
    for line in block.lines:
        text += line_text(line, inside, noisy)
    results = ", ".join(block.results)
    if block.as_tuple:
        results = f"({results},)" if len(block.results) == 1 else f"({results})"
    return [*text, f"{inside}return {results}"]


def line_text(line: Line, indent: str, noisy: bool = False) -> list[str]:
    """The text of one assignment, after that of its blocks."""
    text: list[str] = []
    names = {f"t{i}": target for i, target in enumerate(line.targets)}
    for i, block in enumerate(line.blocks):
        names[f"b{i}"] = f"{line.targets[0]}_f{i}"
        text += _function(names[f"b{i}"], block, indent, noisy)
    body = line.text.format(*line.operands, **names)
    if "\n" in body:
        text += [indent + part if part else part for part in body.rstrip("\n").split("\n")]
    else:
        text.append(f"{indent}{', '.join(line.targets)} = {body}")
    if noisy:
        text += [f"{indent}{target} = noise({target}, {target!r})" for target in line.targets]
    return text
