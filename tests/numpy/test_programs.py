"""The programs of common functions are those of JAX, to the letter."""

from __future__ import annotations

from typing import Any

import pytest

import morphax
import morphax.numpy as jnp
from tests.numpy.programs import PROGRAMS, text
from tests.numpy.record_golden import programs

GOLDEN = programs()


@pytest.mark.parametrize(("label", "shape", "function"), PROGRAMS, ids=[p[0] for p in PROGRAMS])
def test_program(label: str, shape: tuple[int, ...], function: Any) -> None:
    assert text(morphax, jnp, shape, function) == GOLDEN[label]
