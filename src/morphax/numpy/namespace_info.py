"""What the Python array API standard asks of a namespace: its dtypes, devices and capabilities.

Reference: Python array API standard, 2024.12, https://data-apis.org/array-api/2024.12/.
"""

from __future__ import annotations

from typing import Any, Final, final

import numpy as np

from .. import dtypes
from ..runtime.devices import devices as known_devices
from ..util.messages import message

_KINDS: Final = {
    "bool": ("bool",),
    "signed integer": ("int8", "int16", "int32", "int64"),
    "unsigned integer": ("uint8", "uint16", "uint32", "uint64"),
    "real floating": ("float32", "float64"),
    "complex floating": ("complex64", "complex128"),
}
_UNIONS: Final = {
    "integral": ("signed integer", "unsigned integer"),
    "numeric": ("signed integer", "unsigned integer", "real floating", "complex floating"),
}


@final
class ArrayNamespaceInfo:
    """Facts about `morphax.numpy`, as `__array_namespace_info__` gives them."""

    __slots__ = ()

    def capabilities(self) -> dict[str, bool | int]:
        """What works in programs that are traced: no shapes that depend on values."""
        return {"boolean indexing": False, "data-dependent shapes": False, "max dimensions": 64}

    def default_device(self) -> None:
        """The device that functions put arrays on: `None`, for that is not settled yet."""
        return None

    def devices(self) -> list[Any]:
        """All devices of this process, and `None` for the default one."""
        return [None, *known_devices()]

    def default_dtypes(self, *, device: Any = None) -> dict[str, np.dtype[Any]]:
        """The dtypes of arrays that nobody says otherwise, by kind.

        Args:
            device: any; all devices have the same dtypes.
        """
        real, whole = dtypes.python_scalar_dtype(float), dtypes.python_scalar_dtype(int)
        return {
            "real floating": real,
            "complex floating": dtypes.python_scalar_dtype(complex),
            "integral": whole,
            "indexing": whole,
        }

    def dtypes(
        self, *, device: Any = None, kind: str | tuple[str, ...] | None = None
    ) -> dict[str, np.dtype[Any]]:
        """The dtypes of the standard that arrays may have, by name.

        Those of 64 bits are among them if ``jax_enable_x64`` is on.

        Args:
            device: any; all devices have the same dtypes.
            kind: ``"bool"``, ``"signed integer"``, ``"unsigned integer"``, ``"integral"``, ``"real
                floating"``, ``"complex floating"``, ``"numeric"``, or a tuple of these.

        Raises:
            ValueError: if there is no such kind.

        Example:
            >>> import morphax.numpy as jnp
            >>> jnp.__array_namespace_info__().dtypes(kind="real floating")
            {'float32': dtype('float32')}
        """
        asked = tuple(_KINDS) if kind is None else kind if isinstance(kind, tuple) else (kind,)
        kinds = [each for name in asked for each in _UNIONS.get(name, (name,))]
        unknown = [name for name in kinds if name not in _KINDS]
        if unknown:
            raise ValueError(
                message(
                    "dtypes of __array_namespace_info__, argument kind",
                    given=f"{unknown[0]!r}",
                    expected=f"one of {', '.join(map(repr, (*_KINDS, *_UNIONS)))}, or a tuple",
                    fix="Leave it out for all dtypes.",
                )
            )
        named = [np.dtype(name) for each in dict.fromkeys(kinds) for name in _KINDS[each]]
        return {d.name: d for d in named if dtypes.canonicalize(d) == d}


def __array_namespace_info__() -> ArrayNamespaceInfo:
    """What the array API standard lets one ask of this module."""
    return ArrayNamespaceInfo()
