"""A StableHLO module while it is written: the values in it, its functions, and what they share."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple, final

from ...config import current as current_config
from ...core import Jaxpr
from ...runtime.places import Places

# Larger constants bloat the text and are copied by the compiler; they are passed as operands.
_LARGEST_WRITTEN_CONSTANT = 64 * 1024


PLATFORM_INDEX = "?platform"
"""The symbol whose value tells on which of several platforms a program runs."""


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


class PlatformAsked(BaseException):
    """A rule wants to know the platform, in a module for several.

    It is no error of the rule, which shall not catch it.
    """


@final
class Module:
    """What the functions of one module share: names, functions, callbacks, inspections.

    Args:
        platform: where it will run; a lowering rule may write what is fastest there.  A sequence
            if it is for several platforms: what depends on them is written for each.
        locations: whether operations carry their name and the user's source line.
        largest_constant: in bytes, of those that are written; larger ones are operands.
        reduces_in_loops: whether reductions are XLA's own loops, never its kernel library's.
        meshes: those that are declared already, by their text, with their names.
        symbols: of the sizes in it; all functions take their values first.
        rules: for lowering, instead of those of primitives.
        num_devices: on how many it will run.
        places: where it will run, if that is known.
        calls_kernels: whether it may call native code of ours, so that no other process can run it.
    """

    def __init__(
        self,
        platform: str | Sequence[str] = "cpu",
        *,
        locations: bool = False,
        largest_constant: float = _LARGEST_WRITTEN_CONSTANT,
        reduces_in_loops: bool = False,
        meshes: Mapping[str, str] | None = None,
        symbols: Sequence[str] = (),
        rules: Mapping[Any, Callable[..., Any]] | None = None,
        num_devices: int = 1,
        places: Places | None = None,
        calls_kernels: bool = False,
    ) -> None:
        self.platforms = (platform,) if isinstance(platform, str) else tuple(platform)
        # The platform that is written for now, `None` while that is all of them.
        self.written_for: str | None = self.platforms[0] if len(self.platforms) == 1 else None
        self.locations = locations
        self._left_out_of_paths = current_config().hlo_source_file_canonicalization_regex
        self.largest_constant = largest_constant
        self.reduces_in_loops = reduces_in_loops
        self.calls_kernels = calls_kernels
        self.symbols = symbols if self.written_for else (PLATFORM_INDEX, *symbols)
        self.places = places
        self.num_devices = num_devices if places is None else len(places.devices)
        self.rules = rules or {}
        # Of values that depend on the platform alone, by name: their one element for each.
        self.elements: dict[str, Mapping[str, Any]] = {}
        # Whether something in it would be written in another way without the library.
        self.minds_library = False
        # Whether values that would be computed too often are brought to memory; what is known of
        # programs to this end.
        self.cuts_fusions = current_config().cut_fusions
        self.branches_formulas = current_config().branch_formulas
        self.cuts: dict[Jaxpr, Any] = {}
        # Whether loops whose members end at different times are divided into blocks of them.
        self.splits_loops = current_config().split_divergent_loops
        # Whether what is written now is run again and again.
        self.repeats = False
        # Whether it calls what this process alone knows.
        self.is_local = False
        self.functions: list[str] = []
        # By program, the mesh whose members run it, and what operations carry.
        self.callees: dict[Any, Function] = {}
        self.meshes = dict(meshes or {})
        self.used_names: set[str] = {"main"}
        self.callbacks: list[Callable[..., Any]] = []
        self.inspections: list[Callable[[Any], Any]] = []
        # What divides operations of it, which live as long as it may be compiled.
        self.partitioners: list[Any] = []
        self.channels = itertools.count(1)
        # Each stands for a further operand of functions, which are told apart by identity.
        self.positions: dict[Any, Any] = {}
        self.counter = 0

    @property
    def platform(self) -> str:
        """Where the program will run."""
        if self.written_for is None:
            raise PlatformAsked
        return self.written_for

    @property
    def may_call_kernels(self) -> bool:
        """Whether native code of ours may be called, which knows nothing of other devices."""
        return self.calls_kernels and self.is_for_one_cpu

    @property
    def is_for_one_cpu(self) -> bool:
        """Whether what is written now runs on one device, a CPU."""
        return self.written_for == "cpu" and self.num_devices == 1

    @contextmanager
    def only_for(self, platform: str) -> Iterator[None]:
        """What is written within is for one platform."""
        self.written_for, before = platform, self.written_for
        try:
            yield
        finally:
            self.written_for = before

    @contextmanager
    def repeating(self) -> Iterator[None]:
        """What is written within is run again and again."""
        self.repeats, before = True, self.repeats
        try:
            yield
        finally:
            self.repeats = before

    def source_file(self, path: str) -> str:
        """The path of a source file as locations name it."""
        return re.sub(self._left_out_of_paths, "", path) if self._left_out_of_paths else path

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


def function_text(
    symbol: str,
    arguments: Sequence[tuple[str, str]],
    results: Sequence[tuple[str, str]],
    lines: Sequence[str],
    attributes: tuple[Mapping[int, str], Mapping[int, str]],
) -> str:
    """A function: its symbol, names and types of arguments and results, and what it consists of.

    `attributes` are those of arguments and of results, by position.
    """
    of_arguments, of_results = attributes
    inputs = _with_attributes([f"{name}: {kind}" for name, kind in arguments], of_arguments)
    outputs = _with_attributes([kind for _, kind in results], of_results)
    body = "\n".join(["  " + line for line in lines])
    names = ", ".join([name for name, _ in results])
    types = ", ".join([kind for _, kind in results])
    ending = f"  return {names} : {types}" if results else "  return"
    return f"func.func {symbol}({inputs}) -> ({outputs}) {{\n{body}\n{ending}\n}}"


def _with_attributes(texts: Sequence[str], known: Mapping[int, str]) -> str:
    return ", ".join([f"{text} {known[i]}" if i in known else text for i, text in enumerate(texts)])
