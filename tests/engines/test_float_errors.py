"""NumPy's error state: ignored by our operations, and the user's own everywhere else."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import morphax.numpy as jnp
from morphax.engines.reference import float_errors

STRICT = {"divide": "raise", "over": "raise", "under": "raise", "invalid": "raise"}
FALLBACK = float_errors._switch(None)
FOUND = float_errors._switch(float_errors.variable_set_by(np.errstate(all="ignore")))


def test_the_setting_is_found() -> None:
    assert float_errors.variable_set_by(np.errstate(all="ignore")) is not None
    assert FOUND[0] is not FALLBACK[0]


@pytest.mark.parametrize(("ignore", "restore"), [FOUND, FALLBACK])
def test_errors_are_ignored_in_between(
    ignore: Callable[[], Any], restore: Callable[[Any], None]
) -> None:
    with np.errstate(all="raise"):
        outer = ignore()
        inner = ignore()
        assert np.float64(1) / np.zeros(()) == np.inf
        restore(inner)
        assert np.geterr() == dict.fromkeys(STRICT, "ignore")
        restore(outer)
        assert np.geterr() == STRICT


def test_operations_do_not_report_and_leave_the_users_setting() -> None:
    before = np.geterr()
    with np.errstate(all="raise"):
        assert (jnp.ones(2) / jnp.zeros(2)).tolist() == [np.inf, np.inf]
        assert np.geterr() == STRICT
        with pytest.raises(FloatingPointError):
            np.ones(2) / np.zeros(2)
    assert np.geterr() == before


def test_an_operation_that_fails_restores_the_setting() -> None:
    with np.errstate(all="raise"):
        with pytest.raises(TypeError, match="given:"):
            jnp.ones(2) @ jnp.ones(3)
        assert np.geterr() == STRICT


def test_threads_have_settings_of_their_own() -> None:
    seen: list[Any] = []

    def work() -> None:
        seen.append(float(jnp.log(jnp.zeros(()))))
        seen.append(np.geterr())

    default = np.geterr()
    with np.errstate(all="raise"):
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
        assert np.geterr() == STRICT
    assert seen[0] == -np.inf
    # Threads of later Pythons inherit the context of the one that starts them.
    assert seen[1] in (default, STRICT)
