"""Shared set-up: importing the package installs the root trace, and the host has several devices.

Placement can so be tested anywhere; the number is set here because it counts only before the CPU
client exists.  Eager functions are replayed from their first call on, so that tests which call them
once are tests of that; `test_replay.py` compares these calls with those that are not replayed.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from typing import Any

import pytest

import morphax
from tests import sampling

morphax.config.update("jax_num_cpu_devices", 4)
morphax.config.update("jax_replay_first_calls", True)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    dropped = sampling.left_out(items)
    config.hook.pytest_deselected(items=[item for item in items if item in dropped])
    items[:] = [item for item in items if item not in dropped]


@pytest.fixture
def two_devices() -> list[Any]:
    found = morphax.devices("cpu")[:2]
    assert len(found) == 2, "something made the CPU client before the tests could configure it"
    return list(found)


@pytest.fixture
def thawed() -> Iterator[None]:
    """Search for cycles among the modules of tests too (see the other `conftest.py`)."""
    gc.unfreeze()
    yield
    gc.freeze()
