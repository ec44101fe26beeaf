"""Arguments of `initialize` that make no sense, in a process that computes alone."""

from __future__ import annotations

from typing import Any

import pytest

import morphax as jax

HERE = "127.0.0.1:1"


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ({}, "argument coordinator_address"),
        ({"coordinator_address": HERE}, "argument num_processes"),
        ({"coordinator_address": HERE, "num_processes": 1}, "argument process_id"),
        ({"num_processes": 1, "process_id": 0}, "argument coordinator_address"),
        ({"coordinator_address": "127.0.0.1"}, "'host:port'"),
        ({"coordinator_address": "h:x"}, "'host:port'"),
        ({"coordinator_address": ":1"}, "'host:port'"),
        ({"coordinator_address": "h:70000"}, "1 to 65535"),
        ({"coordinator_address": 7}, "'host:port'"),
        ({"coordinator_bind_address": "h"}, "argument coordinator_bind_address"),
        ({"num_processes": 0}, "at least 1"),
        ({"num_processes": 2.0}, "an int"),
        ({"process_id": True}, "an int"),
        ({"process_id": 2}, "from 0 to 1"),
        ({"process_id": -1}, "from 0 to 1"),
        ({"initialization_timeout": 0}, "argument initialization_timeout"),
        ({"heartbeat_timeout_seconds": -1}, "argument heartbeat_timeout_seconds"),
        ({"cluster_detection_method": "nonsense"}, "'deactivate'"),
    ],
)
def test_arguments_that_make_no_sense(
    monkeypatch: pytest.MonkeyPatch, arguments: dict[str, Any], text: str
) -> None:
    monkeypatch.setattr(jax.distributed.clusters, "DETECTORS", ())
    whole = {"coordinator_address": HERE, "num_processes": 2, "process_id": 1}
    alone = len(arguments) != 1 or "cluster_detection_method" in arguments
    given = arguments if alone or arguments == {"coordinator_address": HERE} else whole | arguments
    kind = TypeError if text == "an int" else ValueError
    with pytest.raises(kind, match=rf"(?s){text}.*") as error:
        jax.distributed.initialize(**given)
    assert all(part in str(error.value) for part in ("given:", "expected:", "fix:"))
    assert not jax.distributed.is_initialized()


def test_too_late() -> None:
    jax.devices("cpu")
    with pytest.warns(DeprecationWarning, match="partition_index"):
        with pytest.raises(RuntimeError, match=r"(?s)after the devices were asked for.*fix:"):
            jax.distributed.initialize(HERE, 2, 1, slice_index=0)
    jax.distributed.shutdown()
