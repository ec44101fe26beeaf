"""Whether trees are worked on by the compiled core or by the functions of this package.

A function under `@twin` defines what its namesake in `native/tree_*.cpp` does; everything else, the
texts of errors above all, is shared.
"""

from __future__ import annotations

from typing import Any

from ..util.compiled import part, twin_in

compiled: Any | None = part("tree")
twin = twin_in(compiled)
