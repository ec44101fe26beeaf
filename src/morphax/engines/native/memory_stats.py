"""What a native program takes up, under the names that jaxlib gives to these numbers."""

from __future__ import annotations

from typing import final

from ...util.records import dataclass


@final
@dataclass(frozen=True, slots=True)
class MemoryStats:
    """Bytes of a program.

    Args:
        argument_size_in_bytes, output_size_in_bytes: of operands and results.
        temp_size_in_bytes: of memory that it needs in between; small variables are on the stack.
        generated_code_size_in_bytes: of the object code.
    """

    argument_size_in_bytes: int
    output_size_in_bytes: int
    temp_size_in_bytes: int
    generated_code_size_in_bytes: int
    alias_size_in_bytes: int = 0
    host_argument_size_in_bytes: int = 0
    host_output_size_in_bytes: int = 0
    host_temp_size_in_bytes: int = 0
    host_alias_size_in_bytes: int = 0
    host_generated_code_size_in_bytes: int = 0

    @property
    def peak_memory_in_bytes(self) -> int:
        """Of operands, results and temporaries together, which are all there at once."""
        return self.argument_size_in_bytes + self.output_size_in_bytes + self.temp_size_in_bytes
