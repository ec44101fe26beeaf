"""Rows of tables of operations.

A row is a text and the kinds that its operands may have: a string for each, of ``b`` (bool), ``u``
(unsigned), ``i`` (int), ``f`` (float), ``c`` (complex).  Words that begin with ``$`` are replaced
by random parameters which suit the first operand; see `parameters`.
"""

from __future__ import annotations

NUMBER = "fiu"
ANY = "fiubc"
FLOAT = "f"
Row = tuple[str, tuple[str, ...]]


def calls(names: str, *kinds: str, module: str = "jnp") -> list[Row]:
    """Rows that call functions of these names."""
    operands = ", ".join(f"{{{i}}}" for i in range(len(kinds)))
    return [(f"{module}.{name}({operands})", kinds) for name in names.split()]


def texts(kinds: tuple[str, ...], *texts: str) -> list[Row]:
    """Rows of texts, for operands of these kinds."""
    return [(text, kinds) for text in texts]
