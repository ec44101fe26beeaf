"""Regions of operations that hold programs, while they are written."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple, final

from .literals import tensor_type
from .module import Value

if TYPE_CHECKING:
    from .stablehlo import Builder


@final
class Region(NamedTuple):
    """A region of one block whose operations are being written.

    Args:
        inner: what writes them.
        arguments: of the block, without its token.
        token: the block's token, if it has one of its own.
        gives_token: whether the token is a further result.
    """

    inner: Builder
    arguments: list[Value]
    token: list[Value]
    gives_token: bool

    def closed(self, results: Sequence[Value]) -> str:
        """The text, once the results of the block are known."""
        self.inner.ops("stablehlo.return", (), *results, takes_token=self.gives_token)
        return region_text(self.inner.lines, [*self.arguments, *self.token])


def region_text(lines: Sequence[str], arguments: Sequence[Value]) -> str:
    """The lines as the only block of a region."""
    header = ", ".join([f"{v.name}: {tensor_type(v.aval)}" for v in arguments])
    block = f"^bb0({header}):\n" if arguments else ""
    return "{\n" + block + "\n".join(lines) + "\n}"
