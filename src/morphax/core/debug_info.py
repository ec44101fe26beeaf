"""Whose program a jaxpr is: what error text and profiles say of it."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, final

from .. import tree
from ..util.records import dataclass

_PLACE = re.compile(r"(?P<name>\S*)(?: at (?P<file>.*):(?P<line>\d+))?")


@final
@dataclass(frozen=True, slots=True)
class DebugInfo:
    """Whose program a jaxpr is: for error text and profiles.

    Args:
        transform: the transformation that traced it: ``jit``, ``scan``, …
        function: name and place of the user's function, ``f at file.py:3``.
        name_arguments: gives one path per invar, such as ``params['w']``; called only for errors.
        result_paths: one path per result, such as ``result['loss']``, where somebody knows them.
    """

    transform: str
    function: str
    name_arguments: Callable[[], Sequence[str]] | None = None
    result_paths: tuple[str, ...] | None = None

    @property
    def function_name(self) -> str:
        return self.function.split(" ", 1)[0]

    def of_derived(self) -> DebugInfo:
        """Of a program made of this one, with other arguments."""
        return DebugInfo(self.transform, self.function)

    def argument_name(self, position: int) -> str:
        return self.argument_names(position + 1)[position]

    def argument_names(self, count: int) -> list[str]:
        """One name for each of so many arguments: to work out one takes as long as all."""
        known = self.name_arguments() if self.name_arguments is not None else ()
        return [*known[:count], *[f"number {i}" for i in range(len(known), count)]]

    @property
    def traced_for(self) -> str:
        """The transformation."""
        return self.transform

    @property
    def func_src_info(self) -> str:
        """Name and place of the function."""
        return self.function

    @property
    def func_name(self) -> str:
        """The name of the function."""
        return self.function_name

    @property
    def func_filename(self) -> str | None:
        """The file of the function, if that is known."""
        return self._place("file")

    @property
    def func_lineno(self) -> int | None:
        """The line of the function, if that is known."""
        line = self._place("line")
        return None if line is None else int(line)

    def _place(self, part: str) -> str | None:
        found = _PLACE.match(self.function)
        return None if found is None else found[part]

    @property
    def arg_names(self) -> tuple[str, ...] | None:
        """One path per argument, if they are known."""
        return None if self.name_arguments is None else tuple(self.name_arguments())

    def replace_func_name(self, name: str) -> DebugInfo:
        """The same of a function with another name at the same place."""
        place = self.function.partition(" ")[2]
        return replace(self, function=f"{name} {place}".rstrip())

    def with_unknown_names(self) -> DebugInfo:
        """The same without names of arguments and results."""
        return DebugInfo(self.transform, self.function)

    def set_result_paths(self, ans: Any) -> DebugInfo:
        """The same for a function that returned the tree `ans`."""
        leaves = tree.leaves_with_path(ans)
        return replace(self, result_paths=tuple(["result" + tree.keystr(p) for p, _ in leaves]))

    def resolve_result_paths(self) -> DebugInfo:
        """The same with the paths of results worked out, which they are."""
        return self

    def assert_arg_names(self, expected_count: int) -> None:
        """Assert that there are names for so many arguments, or none at all."""
        names = self.arg_names
        assert names is None or len(names) == expected_count, (expected_count, self)

    def assert_result_paths(self, expected_count: int) -> None:
        """Assert that there are paths for so many results, or none at all."""
        paths = self.result_paths
        assert paths is None or len(paths) == expected_count, (expected_count, self)

    def safe_arg_names(self, expected_count: int) -> tuple[str, ...]:
        """Names of so many arguments, empty where they are not known."""
        self.assert_arg_names(expected_count)
        return self.arg_names or ("",) * expected_count

    def safe_result_paths(self, expected_count: int) -> tuple[str, ...]:
        """Paths of so many results, empty where they are not known."""
        self.assert_result_paths(expected_count)
        return self.result_paths or ("",) * expected_count

    def filter_arg_names(self, keep: Sequence[bool]) -> tuple[str, ...] | None:
        """Names of the arguments that are kept."""
        self.assert_arg_names(len(keep))
        return _kept(self.arg_names, keep)

    def filter_result_paths(self, keep: Sequence[bool]) -> tuple[str, ...] | None:
        """Paths of the results that are kept."""
        self.assert_result_paths(len(keep))
        return _kept(self.result_paths, keep)


def _kept(names: Sequence[str] | None, keep: Sequence[bool]) -> tuple[str, ...] | None:
    if names is None:
        return None
    return tuple([name for name, kept in zip(names, keep, strict=True) if kept])


unknown_function = DebugInfo("trace", "<unknown>")
