"""What a module of LLVM IR has beside the function that computes: found while that is written."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import field
from typing import final

from ...util.records import dataclass
from ..loops.program import Buffer, DType
from .llvm_functions import Key, definitions
from .llvm_scalars import memory_type
from .products import definition


@final
@dataclass(slots=True)
class ModuleParts:
    """Functions that are called.

    Args:
        functions: operation, dtype, width; and how often it is called.
        products: the dtypes of matrices that are multiplied.
        names: of functions that are parts of the program, by what they are.
        sizes: of these: how many lines they have, and how many of them loops run again.
        texts: of these.
        declarations: of functions outside.
    """

    functions: dict[Key, int] = field(default_factory=dict)
    products: dict[DType, None] = field(default_factory=dict)
    names: dict[Hashable, str] = field(default_factory=dict)
    sizes: dict[str, tuple[int, int]] = field(default_factory=dict)
    texts: list[list[str]] = field(default_factory=list)
    declarations: dict[str, None] = field(default_factory=dict)

    @property
    def lines(self) -> list[str]:
        """Lines that define all of them."""
        lines = [*self.declarations, *definitions(self.functions)]
        for dtype in self.products:
            lines += definition(dtype)
        for text in self.texts:
            lines += text
        return lines


def function_text(
    name: str,
    parameters: Iterable[str],
    local: Iterable[tuple[str, Buffer]],
    body: Iterable[str],
    *,
    convention: str = "",
) -> list[str]:
    """A function of the module that computes something.

    Args:
        name: of it.
        parameters: with their types.
        local: its own buffers, with the names of their addresses.
        body: its lines.
        convention: how it is called.
    """
    return [
        f"define internal {convention}void {name}({', '.join(parameters)}) #0 {{",
        *[_variable(pointer, buffer) for pointer, buffer in local],
        *body,
        "  ret void",
        "}",
    ]


def _variable(name: str, buffer: Buffer) -> str:
    type_, size = memory_type(buffer.dtype), max(buffer.size, 1)
    align = buffer.dtype.itemsize if size == 1 else 32
    type_ = type_ if size == 1 else f"[{size} x {type_}]"
    return f"  {name} = alloca {type_}, align {align}"
