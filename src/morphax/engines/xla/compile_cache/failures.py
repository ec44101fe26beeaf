"""What happens when the cache fails: the program goes on, and a log line says so once.

There is one line per kind of failure and process.  Users who would rather know set
``jax_raise_persistent_cache_errors``.
"""

from __future__ import annotations

import logging
from typing import Final

from ....config import current as current_config

_logger: Final = logging.getLogger(__name__)
_reported: Final[set[str]] = set()


def report(kind: str, error: Exception) -> None:
    """Log the first failure of a kind, or raise it if the user wants that.

    Args:
        kind: what failed, as the beginning of a sentence: ``"a compiled program cannot be kept"``.
        error: why.
    """
    if current_config().raise_persistent_cache_errors:
        raise error
    if kind not in _reported:
        _reported.add(kind)
        _logger.warning("compile cache: %s: %s", kind, error)


def forget_reports() -> None:
    """Log again from now on, as in a new process."""
    _reported.clear()
