"""Which versions of jaxlib there may be: pip sees to it, but what lies on a path is not asked.

Another version would load, and compute: 0.10.2 compiles products of matrices wrongly on the CPU,
later ones call what we register by interfaces of their own.
"""

from __future__ import annotations

from typing import Final

from ..util.messages import message

_KNOWN: Final = ("0.10.1", "0.11.2", "0.12")


def check_version(version: str) -> None:
    """Refuse a jaxlib that nobody has tried.

    Args:
        version: of jaxlib, such as ``"0.12.0.1"``.

    Raises:
        ImportError: it is none of the known ones; what comes after these may be anything.
    """
    parts = version.split(".")
    if any([parts[: known.count(".") + 1] == known.split(".") for known in _KNOWN]):
        return
    raise ImportError(
        message(
            "morphax, loading jaxlib",
            given=f"jaxlib {version}",
            expected="jaxlib 0.10.1, 0.11.2 or 0.12, of which results are known to be right",
            fix="Install the one for this Python: `pip install --upgrade morphax`, and look for "
            "another jaxlib on sys.path.",
        )
    )
