"""Platforms and devices: lists, defaults, names and refusals."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest

from morphax.config import override
from morphax.runtime import devices as module
from morphax.runtime.client import _option_value, client
from morphax.runtime.device import Device
from morphax.runtime.devices import (
    client_of,
    default_backend,
    default_device,
    device_count,
    devices,
    home_device,
    host_device,
    host_is_default,
    local_device_count,
    local_devices,
    process_count,
    process_index,
    process_indices,
)


def run(program: str, **environment: str) -> str:
    """What a program prints in a process of its own."""
    done = subprocess.run(
        [sys.executable, "-c", program],
        env={"PYTHONPATH": ":".join(sys.path), "PATH": "", **environment},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_lists(two_devices: list[Any]) -> None:
    everything = devices()
    assert everything == devices("cpu") == local_devices() == local_devices(0, "cpu")
    assert device_count() == local_device_count("cpu") == len(everything)
    assert [repr(d) for d in two_devices] == ["CpuDevice(id=0)", "CpuDevice(id=1)"]
    assert [d.id for d in everything] == list(range(len(everything)))
    assert devices(client("cpu")) == everything
    assert devices()[0] is everything[0]


def test_device(two_devices: list[Any]) -> None:
    device = two_devices[1]
    assert isinstance(device, Device)
    assert not isinstance("cpu", Device)
    facts = (device.id, device.platform, device.device_kind, device.process_index)
    assert facts == (1, "cpu", "cpu", 0)
    assert device.local_hardware_id == 1
    assert device.client is client("cpu")
    assert device.memory_stats() is None
    assert device.memory("pinned_host") in device.addressable_memories()
    assert device.default_memory().kind == "device"


def test_processes() -> None:
    assert (process_index(), process_count(), process_indices()) == (0, 1, [0])


def test_defaults(two_devices: list[Any]) -> None:
    assert default_backend() == "cpu"
    assert home_device() is host_device() is default_device() is two_devices[0]
    assert host_is_default()
    with override(default_device=two_devices[1]):
        assert default_device() is two_devices[1]
        assert not host_is_default()
    with override(default_device="cpu"):
        assert host_is_default()


@pytest.mark.parametrize("name", ["gpu", "cuda", "rocm", "tpu", "foo"])
def test_unknown_platforms(name: str) -> None:
    for function in (devices, device_count, local_device_count, process_index, client_of):
        with pytest.raises(RuntimeError, match=f"(?s)'{name}'.*here: cpu.*fix:"):
            function(name)


def test_unknown_process() -> None:
    with pytest.raises(ValueError, match=r"(?s)process_index.*7.*\[0\].*fix:"):
        local_devices(7)


def test_platform_that_fails_to_start(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(platform: str) -> Any:
        raise RuntimeError("no driver")

    monkeypatch.setattr(module, "client", fail)
    monkeypatch.setattr(module.plugins, "installed", lambda: {"cuda": None})
    for name in ("gpu", "cuda"):
        with pytest.raises(RuntimeError, match=r"(?s)'cuda'.*no driver.*fix:"):
            devices(name)
    with pytest.warns(RuntimeWarning, match="plugin for cuda .* no driver"):
        assert module.default_platform.__wrapped__() == "cpu"


@pytest.mark.parametrize(
    ("option", "outcome"),
    [
        ("cpu", "cpu"),
        ("cpu,cuda", "cpu"),
        ("cuda", "(?s)jax_platforms.*'cuda'.*no driver.*fix:"),
        ("foo", "(?s)jax_platforms.*'foo'.*here: cpu, cuda.*fix:"),
    ],
)
def test_configured_platforms(option: str, outcome: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(platform: str) -> Any:
        raise RuntimeError("no driver")

    monkeypatch.setattr(module, "client", fail)
    monkeypatch.setattr(module.plugins, "installed", lambda: {"cuda": None})
    with override(platforms=option):
        if outcome == "cpu":
            assert module.default_platform.__wrapped__() == "cpu"
            return
        with pytest.raises(RuntimeError, match=outcome):
            module.default_platform.__wrapped__()


def test_plugin_options_are_typed() -> None:
    texts = ["true", "12", "0.5", "text"]
    assert [_option_value(text) for text in texts] == [True, 12, 0.5, "text"]


def test_eager_programs_do_not_load_jaxlib() -> None:
    program = (
        "import sys, numpy as np, morphax\n"
        "from morphax import lax\n"
        "print(lax.add(np.ones(2, np.float32), 1.0), morphax.default_backend())\n"
        "print([m for m in sys.modules if m.startswith('jaxlib')])"
    )
    assert run(program) == "[2. 2.] cpu\n[]"


@pytest.mark.parametrize(
    "environment",
    [
        {"JAX_NUM_CPU_DEVICES": "3"},
        {"XLA_FLAGS": "--xla_force_host_platform_device_count=3"},
    ],
)
def test_number_of_cpu_devices(environment: dict[str, str]) -> None:
    program = "from morphax.runtime.devices import device_count; print(device_count())"
    assert run(program, **environment) == "3"


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (module.host_id, process_index),
        (module.host_count, process_count),
        (module.host_ids, process_indices),
    ],
)
def test_old_names(old: Any, new: Any) -> None:
    with pytest.warns(DeprecationWarning, match=f"call jax.{new.__name__}, which is the same"):
        assert old("cpu") == new("cpu")


def test_devices_know_their_host() -> None:
    assert devices("cpu")[0].host_id == 0
