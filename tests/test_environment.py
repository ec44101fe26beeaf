"""The text for reports of faults."""

from __future__ import annotations

import numpy as np
import pytest

import morphax as jax


def test_environment(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("JAX_EXAMPLE", "7")
    text = jax.print_environment_info(return_string=True)
    lines = dict(line.split(": ", 1) for line in text.splitlines())
    assert lines["morphax"] == jax.__version__
    assert lines["numpy"] == np.__version__
    assert lines["JAX_EXAMPLE"] == "7"
    assert {"jaxlib", "python", "devices", "processes", "platform"} <= lines.keys()
    assert jax.print_environment_info() is None
    assert capsys.readouterr().out == text + "\n"
