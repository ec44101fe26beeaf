"""What tests of the engines share."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import morphax as jax
from morphax.experimental.compilation_cache import compilation_cache


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    """A compile cache of its own."""
    compilation_cache.reset_cache()
    before = jax.config.jax_compilation_cache_dir
    compilation_cache.set_cache_dir(tmp_path / "cache")
    yield tmp_path / "cache"
    compilation_cache.set_cache_dir(before)
    compilation_cache.reset_cache()
