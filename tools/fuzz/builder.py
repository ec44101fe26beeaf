"""Make programs: each new line is evaluated at once, so that types and values are known.

A line that fails, or gives numbers that are too large to be compared, is not taken.  In
loops, and in functions that are mapped, parameters have the values of the first step or member.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

import morphax as jax
import morphax.numpy as jnp

from .errors import is_internal
from .namespace import namespace
from .program import Block, Line, Type, is_name, line_text

KINDS = {"b": "b", "u": "u", "i": "i", "f": "f", "V": "f", "c": "c"}
MOST_NUMBERS = 200
DEEPEST = 4
# So many of the lines that fail end a program: they must fail alike in all ways.
KEPT_ERRORS = 0.01

Want = Callable[[Any], bool]


def kind_of(value: Any) -> str:
    """One letter for a dtype: bool, unsigned, int, float, complex; empty for other values."""
    dtype = getattr(value, "dtype", None)
    if dtype is None:
        return {bool: "b", int: "i", float: "f", complex: "c"}.get(type(value), "")
    if jnp.issubdtype(dtype, jnp.floating):
        return "f"
    return KINDS.get(np.dtype(dtype).kind, "") if isinstance(dtype, np.dtype) else ""


def type_of(value: Any) -> Type | None:
    """The type of an array; None of anything else."""
    if not kind_of(value) or not hasattr(value, "shape"):
        return None
    return Type(tuple(value.shape), str(value.dtype))


class Builder:
    """Lines of one function, with the values of the names that it sees."""

    def __init__(self, rng: random.Random, special: bool = False) -> None:
        self.rng = rng
        self.special = special
        self.values: dict[str, Any] = {}
        self.lines: list[Line] = []
        self.own: set[str] = set()  # parameters, and what is made of them
        self.depth = 0
        self.count = [0]
        self.stop = False

    def child(self, sees_names: bool = True) -> Builder:
        """A builder for a function inside this one, which sees its names or only parameters."""
        inner = Builder(self.rng, self.special)
        inner.values = dict(self.values) if sees_names else {}
        inner.depth = self.depth + 1
        inner.count = self.count
        return inner

    def name(self) -> str:
        """A new variable."""
        self.count[0] += 1
        return f"v{self.count[0]}"

    def param(self, value: Any) -> str:
        """A new variable that has this value."""
        name = self.name()
        self.values[name] = value
        self.own.add(name)
        return name

    def pick(self, want: Want, recent: float = 0.7) -> str | None:
        """A variable with a value that is wanted, rather a late one."""
        names = [name for name, value in self.values.items() if want(value)]
        own = [name for name in names if name in self.own]
        if own and self.rng.random() < 0.6:
            names = own
        if not names:
            return None
        late = names[-4:]
        return self.rng.choice(late if self.rng.random() < recent else names)

    def evaluate(self, line: Line) -> list[Any]:
        """The values of the targets."""
        body = line_text(line, "    ")
        source = "\n".join(["def run():", *body, f"    return [{', '.join(line.targets)}]"])
        scope = namespace()
        scope.update(self.values)
        exec(compile(source, "<line>", "exec"), scope)
        with jax.disable_jit():
            return list(scope["run"]())

    def add(
        self,
        text: str,
        operands: Iterable[str] = (),
        blocks: Iterable[Block] = (),
        targets: int = 1,
        any_value: bool = False,
    ) -> list[str] | None:
        """Append a line and return its targets, or None where it cannot be used."""
        names = tuple(self.name() for _ in range(targets))
        line = Line(names, text, tuple(operands), tuple(blocks))
        try:
            values = self.evaluate(line)
            if any_value or all(map(self.acceptable, values)):
                self.take(line, values)
                return list(names)
        except Exception as error:
            if is_internal(error) or (self.depth == 0 and self.rng.random() < KEPT_ERRORS):
                self.lines.append(line)
                self.stop = True
        return None

    def add_failing(self, text: str, operands: Iterable[str]) -> None:
        """Append a line as the last one, whether it fails or not."""
        self.lines.append(Line((self.name(),), text, tuple(operands)))
        self.stop = True

    def take(self, line: Line, values: list[Any]) -> None:
        """Append a line that has these values."""
        types = tuple(map(type_of, values))
        self.lines.append(Line(line.targets, line.text, line.operands, line.blocks, types))
        self.values.update(zip(line.targets, values, strict=True))
        if self.own.intersection(line.operands):
            self.own.update(line.targets)

    def acceptable(self, value: Any) -> bool:
        """Whether numbers are few and moderate enough to go on with."""
        kind = kind_of(value)
        if not kind:
            return True
        numbers = np.asarray(value)
        if numbers.size > MOST_NUMBERS:
            return False
        if kind == "b" or self.special:
            return True
        if kind in "iu":
            return bool(np.all(np.abs(numbers.astype(np.int64)) <= 10**4))
        wide = numbers.astype(np.complex128 if kind == "c" else np.float64)
        if not np.all(np.isfinite(wide)):
            return self.rng.random() < 0.1
        return bool(np.all(np.abs(wide) <= 300))

    def cast(self, name: str, like: Any) -> str | None:
        """A variable of the type of `like`, computed from `name`."""
        value, wanted = self.values[name], type_of(like)
        if wanted is None or not kind_of(value):
            return None
        if type_of(value) == wanted and not getattr(value, "weak_type", False):
            return name
        text = "{0}" if type_of(value) else "jnp.asarray({0})"
        if kind_of(value) == "c" and kind_of(like) != "c":
            text = f"jnp.real({text})"
        if getattr(value, "shape", ()) != wanted.shape:
            text = f"jnp.broadcast_to(jnp.sum({text}), {wanted.shape})"
        made = self.add(f"{text}.astype(jnp.{wanted.dtype})", [name], any_value=True)
        return made[0] if made else None

    def result(self, kinds: str = "fiubc") -> str | None:
        """A variable to return: the last one made here, if it is of one of these kinds."""
        made = [target for line in self.lines for target in line.targets]
        made = [name for name in made if kind_of(self.values.get(name))]
        fitting = [name for name in made if kind_of(self.values[name]) in kinds]
        if fitting:
            return fitting[-1] if self.rng.random() < 0.8 else self.rng.choice(fitting)
        return self.pick(lambda value: kind_of(value) != "" and kind_of(value) in kinds)

    def block(self, params: list[str], results: Iterable[str], as_tuple: bool = False) -> Block:
        """The function of the lines made so far."""
        return Block(tuple(params), tuple(self.lines), tuple(results), as_tuple)

    def operand(self, want: Want, literal: float = 0.0) -> str | None:
        """A variable that is wanted, or with some probability a literal."""
        if self.rng.random() < literal:
            return self.rng.choice(["2", "-1", "0.5", "1.5", "True", "3", "-2.0", "0", "1"])
        return self.pick(want)

    def value_of(self, operand: str) -> Any:
        """The value of a variable or a literal."""
        return self.values[operand] if is_name(operand) else eval(operand, {})
