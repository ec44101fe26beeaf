"""Several CPU devices, so that placement can be tested anywhere; set before the client exists."""

from __future__ import annotations

from typing import Any

import pytest

from morphax.config import config
from morphax.engines.devices import devices

config.update("jax_num_cpu_devices", 4)


@pytest.fixture
def two_devices() -> list[Any]:
    found = devices("cpu")[:2]
    assert len(found) == 2, "something made the CPU client before the tests could configure it"
    return list(found)
