"""Loops and branches in one another: XLA's compiler ends the process where they are many.

It recurses, in threads whose stacks are its own.  With jaxlib 0.10 branches 160 deep are compiled,
and 200 deep are not; loops 200 deep are, and 250 are not.
"""

from __future__ import annotations

import re
from typing import Final

from ...util.messages import message

DEEPEST: Final = 128
"""So many loops and branches may stand in one another."""

_FUNCTION: Final = re.compile(r"func\.func \w+ @(\S+?)\(")
_CALL: Final = re.compile(r"callee = @([\w.$-]+)")


def check_nesting(name: str, text: str) -> None:
    """Raise `ValueError` if a module is nested so deeply that it must not be compiled."""
    if text.count("stablehlo.while") + text.count("stablehlo.case") <= DEEPEST:
        return
    depth = nesting(text)
    if depth > DEEPEST:
        raise ValueError(
            message(
                f"compiling the program {name}",
                given=f"loops and branches {depth} deep in one another",
                expected=f"at most {DEEPEST}: XLA's compiler would end the process",
                fix="Write the nesting as one loop that carries where it is, or have the native "
                'engine compile it, within jax.cpu_engine("native").',
            )
        )


def nesting(text: str) -> int:
    """How many regions stand in one another, those of called functions among them."""
    of_functions: dict[str, int] = {}
    name, depth = "", 0
    for line in text.split("\n"):
        if started := _FUNCTION.search(line):
            name, depth = started[1], 0
            of_functions[name] = 0
            continue
        depth -= line.startswith("}")
        # A function stands before those that call it.
        called = of_functions.get(found[1], 0) if (found := _CALL.search(line)) else 0
        depth += line.endswith("{")
        of_functions[name] = max(of_functions.get(name, 0), depth + called)
    return max(of_functions.values(), default=0)
