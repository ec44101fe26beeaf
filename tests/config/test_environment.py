from __future__ import annotations

import os
import subprocess
import sys

import pytest

from morphax.config.environment import settings_from


def test_variables_set_options() -> None:
    environment = {
        "JAX_ENABLE_X64": "1",
        "MORPHAX_NUMPY_RANK_PROMOTION": "raise",
        "JAX_UNRELATED": "x",
        "HOME": "/",
        "JAX_": "x",
    }
    assert settings_from(environment) == {"enable_x64": True, "numpy_rank_promotion": "raise"}


@pytest.mark.parametrize("own", ["0", "1"])
def test_our_own_prefix_wins(own: str) -> None:
    other = "1" if own == "0" else "0"
    for environment in (
        {"JAX_ENABLE_X64": other, "MORPHAX_ENABLE_X64": own},
        {"MORPHAX_ENABLE_X64": own, "JAX_ENABLE_X64": other},
    ):
        assert settings_from(environment) == {"enable_x64": own == "1"}


def test_a_guard_for_all_directions_yields_to_one_for_a_single_direction() -> None:
    settings = settings_from(
        {"JAX_TRANSFER_GUARD": "log", "JAX_TRANSFER_GUARD_HOST_TO_DEVICE": "disallow"}
    )
    assert settings == {
        "transfer_guard": "log",
        "transfer_guard_host_to_device": "disallow",
        "transfer_guard_device_to_device": "log",
        "transfer_guard_device_to_host": "log",
    }


def test_errors_name_the_variable() -> None:
    with pytest.raises(ValueError, match="environment variable JAX_NUM_CPU_DEVICES"):
        settings_from({"JAX_NUM_CPU_DEVICES": "many"})


def test_a_process_starts_with_its_environment() -> None:
    program = "from morphax.config import config; print(config)"
    inherited = {k: v for k, v in os.environ.items() if not k.startswith(("JAX_", "MORPHAX_"))}
    environment = inherited | {"JAX_ENABLE_X64": "true", "MORPHAX_LOG_COMPILES": "on"}
    run = subprocess.run(
        [sys.executable, "-c", program],
        env=environment, capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert run.stdout == "jax.config(jax_enable_x64=True, jax_log_compiles=True)\n"
