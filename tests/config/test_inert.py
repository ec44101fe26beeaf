"""Options without an effect: setting one says so, once."""

from __future__ import annotations

import subprocess
import sys
import warnings

import pytest

import morphax as jax
from morphax.config import override, values
from morphax.config.options import FACTS

INERT = [name for name, facts in FACTS.items() if facts["inert"]]
OTHER = {"bool": lambda default: not default, "int": lambda default: default + 1}


@pytest.fixture(autouse=True)
def _as_in_a_new_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(values, "_told_to_be_inert", set())


@pytest.mark.parametrize("name", [n for n in INERT if FACTS[n]["annotation"] in OTHER])
def test_another_value_brings_one_warning(name: str) -> None:
    default = FACTS[name]["default"]
    value = OTHER[FACTS[name]["annotation"]](default)
    try:
        with pytest.warns(UserWarning, match=f"jax_{name}=.*\n.*no effect") as found:
            jax.config.update(f"jax_{name}", value)
        assert [warning.filename for warning in found] == [__file__]
        jax.config.update(f"jax_{name}", value)
    finally:
        jax.config.update(f"jax_{name}", default)


def test_values_that_tell_what_happens_anyway_bring_none() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        jax.config.update("jax_threefry_gpu_kernel_lowering", False)
        jax.config.update("jax_enable_x64", False)


def test_contexts_and_the_environment_bring_it_too() -> None:
    with (
        pytest.warns(UserWarning, match="no effect"),
        override(threefry_gpu_kernel_lowering=True),
    ):
        assert jax.config.jax_threefry_gpu_kernel_lowering
    told = subprocess.run(
        [sys.executable, "-c", "import morphax"],
        env={"JAX_SEND_TRACEBACK_TO_RUNTIME": "on", "PYTHONPATH": ":".join(sys.path)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert "environment variable JAX_SEND_TRACEBACK_TO_RUNTIME" in told.stderr
