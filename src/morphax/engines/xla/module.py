"""A StableHLO module while it is written: the values in it, its functions, and what they share."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, final

# Larger constants bloat the text and are copied by the compiler; they are passed as operands.
_LARGEST_WRITTEN_CONSTANT = 64 * 1024


@final
class Value:
    """An SSA value: its name and its aval, and its one element where that is a constant."""

    __slots__ = ("aval", "element", "name")

    def __init__(self, name: str, aval: Any) -> None:
        self.name = name
        self.aval = aval
        self.element: Any = None

    def seen_as(self, aval: Any) -> Value:
        """The same value, whose type is that of another aval too."""
        return Value(self.name, aval)


@final
class Module:
    """What the functions of one module share: names, functions, callbacks, inspections.

    Args:
        platform: where it will run; a lowering rule may write what is fastest there.
        locations: whether operations carry their name and the user's source line.
        largest_constant: in bytes, of those that are written; larger ones are operands.
        plain_extremes: whether XLA's own maxima and minima of floats are exact in this module.
        meshes: those that are declared already, by their text, with their names.
        symbols: of the sizes in it; all functions take their values first.
        num_devices: on how many it will run.
    """

    def __init__(
        self,
        platform: str = "cpu",
        *,
        locations: bool = False,
        largest_constant: float = _LARGEST_WRITTEN_CONSTANT,
        plain_extremes: bool = False,
        meshes: Mapping[str, str] | None = None,
        symbols: Sequence[str] = (),
        num_devices: int = 1,
    ) -> None:
        self.platform = platform
        self.locations = locations
        self.largest_constant = largest_constant
        self.plain_extremes = plain_extremes
        self.symbols = symbols
        self.num_devices = num_devices
        self.guards_extremes = False
        self.functions: list[str] = []
        # By program, the mesh whose members run it, and what operations carry.
        self.callees: dict[Any, Function] = {}
        self.meshes = dict(meshes or {})
        self.used_names: set[str] = {"main"}
        self.callbacks: list[Callable[..., Any]] = []
        self.inspections: list[Callable[[Any], Any]] = []
        self.channels = itertools.count(1)
        # Each stands for a further operand of functions, which are told apart by identity.
        self.positions: dict[Any, Any] = {}
        self.counter = 0

    def mesh_name(self, text: str) -> str:
        """The name of a mesh, which is declared once."""
        return self.meshes.setdefault(text, f"mesh{len(self.meshes)}")

    def fresh_name(self, wish: str) -> str:
        """A function name that is not in use, close to `wish`."""
        base = "".join(c if c.isalnum() or c == "_" else "_" for c in wish) or "function"
        name, n = base, 0
        while name in self.used_names:
            n += 1
            name = f"{base}_{n}"
        self.used_names.add(name)
        return name


class Function(NamedTuple):
    """A written function: text, name, and what it takes after its operands (`Builder.hoisted`)."""

    text: str
    name: str
    hoisted: Sequence[tuple[Any, Any]]
