"""Names that C allows, from names of arguments and results."""

from __future__ import annotations

import re
from collections.abc import Iterable

from .operations import MATH_OF_ONE, MATH_OF_TWO

_KEYWORDS = """
    alignas alignof asm auto bool break case catch char class const constexpr continue default
    delete do double else enum explicit export extern false float for friend goto if inline int long
    mutable namespace new nullptr operator private protected public register restrict return short
    signed sizeof static struct switch template this throw true try typedef typename typeof union
    unsigned using virtual void volatile while workspace main NAN INFINITY HUGE_VAL memcpy
""".split()
_RESERVED = frozenset(_KEYWORDS).union(
    *[(name, f"{name}f") for name in (*MATH_OF_ONE, *MATH_OF_TWO)]
)
# What printers call scalars and counters.
_OF_PRINTERS = re.compile(r"[ti][0-9]+|.*_t|_.*|(U?INT)[0-9]+_.*")
_IDENTIFIER = re.compile(r"[A-Za-z][A-Za-z0-9_]*")


def is_function_name(name: str) -> bool:
    """Whether a function in C may have a name."""
    is_identifier = _IDENTIFIER.fullmatch(name) is not None
    return is_identifier and name not in _RESERVED and not _OF_PRINTERS.fullmatch(name)


def parameter_names(texts: Iterable[str], function: str) -> list[str]:
    """Different names for the parameters of a function, as near to the given texts as can be."""
    taken = {function}
    names = []
    for text in texts:
        words = [word for word in re.split(r"[^A-Za-z0-9]+", text) if word]
        name = "_".join(words) or "x"
        if not name[0].isalpha():
            name = f"x_{name}"
        if not is_function_name(name) or name.startswith(f"{function}_"):
            name = f"{name}_value"
        count, unique = 2, name
        while unique in taken:
            unique, count = f"{name}_{count}", count + 1
        taken.add(unique)
        names.append(unique)
    return names
