from __future__ import annotations

import subprocess
import sys

import pytest

from morphax.runtime.jaxlib_version import check_version


@pytest.mark.parametrize("version", ["0.10.1", "0.12.0", "0.12.0.1", "0.12.1"])
def test_versions_that_are_known(version: str) -> None:
    check_version(version)


@pytest.mark.parametrize(
    "version", ["0.9.0", "0.10.0", "0.10.2", "0.10.10", "0.1", "0.13.0", "1.12"]
)
def test_other_versions_are_refused(version: str) -> None:
    with pytest.raises(ImportError, match=f"jaxlib {version}\n"):
        check_version(version)


def test_a_program_stops_before_it_computes() -> None:
    program = """
import jaxlib.version
jaxlib.version.__version__ = "0.10.2"
import morphax as jax, morphax.numpy as jnp
for _ in range(2):
    try:
        jax.jit(jnp.sort)(jnp.ones(100_000))
    except ImportError as error:
        assert "jaxlib 0.10.2" in str(error) and "fix:" in str(error)
    else:
        raise AssertionError
"""
    told = subprocess.run(
        [sys.executable, "-c", program],
        env={"PYTHONPATH": ":".join(sys.path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert told.returncode == 0, told.stderr
