"""A pytest plugin that runs every n-th test: ``pytest -p tools.sample_tests --sample n``.

Which tests run depends on their names alone, so a failure comes back on the next run.
"""

from __future__ import annotations

import zlib

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    """Declare the option `--sample`."""
    parser.addoption("--sample", type=int, default=1, help="run one test in this many")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Keep the tests whose name falls into the sample."""
    step: int = config.getoption("sample")
    chosen = [item for item in items if zlib.crc32(item.nodeid.encode()) % step == 0]
    kept = set(chosen)
    config.hook.pytest_deselected(items=[item for item in items if item not in kept])
    items[:] = chosen
