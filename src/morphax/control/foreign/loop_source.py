"""The C text of loops: a function of numbers or arrays, applied at each step.

A loop has the form of the inner loops of NumPy's ufuncs (operands and results, the number of steps
and the sizes that the function asks for, by how many bytes each pointer moves), and returns the
error code of the function.  It is compiled behind the user's source, after a declaration that says
the prototype again: the compiler refuses one that differs from the definition.

Where 64-bit numbers are off, arrays hold ``float`` for ``double``; the loop converts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple, final

import numpy as np

from .prototypes import Parameter, Prototype

SYMBOL: Final = "morphax_loop"
"""The name of the loop; that of arrays with 32-bit numbers ends in ``_narrow``."""

_HEADERS: Final = ("stdbool.h", "stddef.h", "stdint.h")
_HELD_AS: Final = {
    "bool": "bool",
    "complex64": "float _Complex",
    "complex128": "double _Complex",
    "float32": "float",
    "float64": "double",
    **{f"{sign}int{bits}": f"{sign}int{bits}_t" for sign in ("", "u") for bits in (8, 16, 32, 64)},
}


@final
class Roles(NamedTuple):
    """What the parameters of a function are for.

    Args:
        operands: numbers of the parameters that are operands, in order.
        results: of those that are results; empty for a function that returns its result.
        sizes: number of a parameter → the name of the size that it is given.
    """

    operands: tuple[int, ...]
    results: tuple[int, ...]
    sizes: Mapping[int, str]


@final
class LoopKind(NamedTuple):
    """A loop to write: its symbol, and the dtypes of arrays for parameters passed by value."""

    symbol: str
    held: Mapping[int, np.dtype[Any]]
    result: np.dtype[Any] | None


def library_source(
    source: str | None,
    prototype: Prototype,
    roles: Roles,
    size_names: Sequence[str],
    kinds: Sequence[LoopKind],
) -> str:
    """The text of a library: the user's source, if there is one, and loops over its function."""
    has_complex = "omplex" in str(prototype)
    headers = [*_HEADERS, *(["complex.h"] if has_complex else [])]
    lines = [f"#include <{name}>" for name in headers]
    if source is not None:
        lines += ['#line 1 "source"', source, '#line 1 "prototype"', f"extern {prototype};"]
    lines.append('#line 1 "loop"')
    lines += [_loop(kind, prototype, roles, size_names, source is None) for kind in kinds]
    return "\n".join(lines) + "\n"


def _loop(
    kind: LoopKind, prototype: Prototype, roles: Roles, size_names: Sequence[str], by_pointer: bool
) -> str:
    arrays = [*roles.operands, *roles.results]
    callee = f"(({prototype.pointer_type()})data)" if by_pointer else prototype.name
    arguments = [
        _argument(i, p, arrays, roles, size_names, kind) for i, p in enumerate(prototype.parameters)
    ]
    call = f"{callee}({', '.join(arguments)})"
    count = len(arrays) + (kind.result is not None)
    body = [
        f"int64_t {kind.symbol}(char** args, const intptr_t* sizes, const intptr_t* steps, "
        "void* data) {",
        "  (void)data;",
        *(_in_rows(kind, prototype, callee) if kind.result is not None else []),
        *[f"  char* a{k} = args[{k}];" for k in range(count)],
        "  for (intptr_t i = 0; i < sizes[0]; ++i) {",
    ]
    if kind.result is not None:
        held = _HELD_AS[kind.result.name]
        body.append(f"    *({held}*)a{count - 1} = ({held}){call};")
    elif prototype.result is not None:
        body.append(f"    const int64_t status = {call};")
        body.append("    if (status != 0) return status;")
    else:
        body.append(f"    {call};")
    body += [f"    a{k} += steps[{k}];" for k in range(count)]
    return "\n".join([*body, "  }", "  return 0;", "}"])


def _in_rows(kind: LoopKind, prototype: Prototype, callee: str) -> list[str]:
    """The loop over numbers that lie one behind the other, which compilers vectorise.

    No result lies in the memory of an operand.
    """
    assert kind.result is not None, "the function is one of numbers"
    held = [_HELD_AS[kind.held[i].name] for i in range(len(prototype.parameters))]
    given = _HELD_AS[kind.result.name]
    types = [*held, given]
    together = " && ".join([f"steps[{k}] == sizeof({t})" for k, t in enumerate(types)])
    taken = [f"const {t}* restrict p{k} = (const {t}*)args[{k}];" for k, t in enumerate(held)]
    last = len(held)
    values = [f"({p.c_type})p{k}[i]" for k, p in enumerate(prototype.parameters)]
    return [
        f"  if ({together}) {{",
        *[f"    {text}" for text in taken],
        f"    {given}* restrict p{last} = ({given}*)args[{last}];",
        "    for (intptr_t i = 0; i < sizes[0]; ++i)",
        f"      p{last}[i] = ({given}){callee}({', '.join(values)});",
        "    return 0;",
        "  }",
    ]


def _argument(
    i: int,
    parameter: Parameter,
    arrays: Sequence[int],
    roles: Roles,
    size_names: Sequence[str],
    kind: LoopKind,
) -> str:
    if i in roles.sizes:
        # The number of steps is in front.
        return f"({parameter.c_type})sizes[{1 + size_names.index(roles.sizes[i])}]"
    pointer = f"a{arrays.index(i)}"
    if parameter.is_pointer:
        return f"({parameter.c_type}*){pointer}"
    held = _HELD_AS[kind.held[i].name]
    return f"({parameter.c_type})*(const {held}*){pointer}"
