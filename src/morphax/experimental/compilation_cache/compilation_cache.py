"""`jax.experimental.compilation_cache.compilation_cache`: choose the compile cache's directory.

The cache is on without this, in a directory of the user's own; see
``docs/design/compile-cache.md``.
"""

from __future__ import annotations

import os

from ...config import config
from ...engines.xla.compile_cache.programs import forget_stores

__all__ = ["reset_cache", "set_cache_dir"]


def set_cache_dir(path: str | os.PathLike[str] | None) -> None:
    """Keep compiled programs in this directory from now on.

    Args:
        path: the directory, which must be the user's own and is made if need be; `None` for the
            default.

    Example:
        >>> import tempfile
        >>> from morphax.experimental.compilation_cache import compilation_cache
        >>> folder = tempfile.mkdtemp()
        >>> compilation_cache.set_cache_dir(folder)
        >>> import morphax as jax
        >>> jax.config.jax_compilation_cache_dir == folder
        True
        >>> jax.config.update("jax_compilation_cache_dir", None)
    """
    config.update("jax_compilation_cache_dir", path and os.fspath(path))


def reset_cache() -> None:
    """Look at the cache's directory anew, as a new process does; the files in it stay.

    Needed after a directory that could not be used has been mended.
    """
    forget_stores()
