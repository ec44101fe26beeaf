"""Transfer guards: which transfers are logged or refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import morphax as jax
import morphax.numpy as jnp
from morphax.errors import JaxRuntimeError
from morphax.runtime import transfer_guard

doubled = jax.jit(lambda x: 2 * x)
NUMBERS = np.ones(2, np.float32)

IMPLICIT: dict[str, Callable[[], Any]] = {
    "NumPy argument of jit": lambda: doubled(NUMBERS),
    "number argument of jit": lambda: doubled(2.0),
    "NumPy operand": lambda: jnp.zeros(2) + NUMBERS,
    "asarray": lambda: jnp.asarray(NUMBERS),
}
EXPLICIT: dict[str, Callable[[], Any]] = {"device_put": lambda: jax.device_put(NUMBERS)}
NONE: dict[str, Callable[[], Any]] = {
    "array argument of jit": lambda: doubled(jnp.ones(2)),
    "number operand": lambda: jnp.ones(2) + 1,
    "reading on the host": lambda: np.asarray(jnp.ones(2)),
    "device_get": lambda: jax.device_get(jnp.ones(2)),
    "constants of programs": jax.jit(lambda: jnp.ones(2) + NUMBERS),
}


@pytest.mark.parametrize("level", ["disallow", "disallow_explicit"])
@pytest.mark.parametrize("transfer", IMPLICIT.values(), ids=IMPLICIT.keys())
def test_implicit_transfers_are_refused(level: str, transfer: Callable[[], Any]) -> None:
    with jax.transfer_guard(level), pytest.raises(JaxRuntimeError) as caught:
        transfer()
    assert caught.value.error_code_string == "INVALID_ARGUMENT"
    assert "implicit host-to-device transfer" in str(caught.value)
    assert f"jax_transfer_guard_host_to_device is {level!r}" in str(caught.value)
    transfer()


@pytest.mark.parametrize("transfer", EXPLICIT.values(), ids=EXPLICIT.keys())
def test_explicit_transfers_are_refused_only_on_request(transfer: Callable[[], Any]) -> None:
    with jax.transfer_guard("disallow"):
        transfer()
    with (
        jax.transfer_guard_host_to_device("disallow_explicit"),
        pytest.raises(JaxRuntimeError, match="explicit host-to-device"),
    ):
        transfer()


@pytest.mark.parametrize("name", NONE)
def test_what_is_no_transfer(name: str) -> None:
    NONE[name]()
    with jax.transfer_guard("disallow_explicit"):
        NONE[name]()


def test_transfers_are_logged(caplog: pytest.LogCaptureFixture) -> None:
    with jax.transfer_guard("log"):
        doubled(NUMBERS)
        jax.device_put(NUMBERS)
        assert [r.name for r in caplog.records] == [transfer_guard.__name__]
    with jax.transfer_guard("log_explicit"):
        jax.device_put(NUMBERS)
    assert "explicit host-to-device transfer of a NumPy array" in caplog.text


def test_between_devices(two_devices: list[Any]) -> None:
    first, second = two_devices
    x = jax.device_put(jnp.ones(2), first)
    with jax.transfer_guard_device_to_device("disallow"):
        y = jax.device_put(x, second)
    with (
        jax.transfer_guard_device_to_device("disallow_explicit"),
        pytest.raises(JaxRuntimeError, match="explicit device-to-device transfer"),
    ):
        jax.device_put(y, first)


def test_one_direction_leaves_the_others() -> None:
    with jax.transfer_guard_device_to_host("disallow_explicit"):
        doubled(NUMBERS)
