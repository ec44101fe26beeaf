"""`jax.profiler`: recorded profiles, marks in them, and profiles of memory."""

from __future__ import annotations

import gzip
import json
import socket
from pathlib import Path
from typing import Any

import pytest

import morphax as jax
from morphax import profiler


def recorded(folder: Path, **options: Any) -> dict[str, dict[str, Any]]:
    """The marks of a profile of a small program, by name, with what is noted with each."""
    with profiler.trace(folder, **options):
        run()
    (file,) = folder.glob("plugins/profile/*/*.xplane.pb")
    data = profiler.ProfileData.from_file(str(file))
    return {
        event.name: dict(event.stats)
        for plane in data.planes
        for line in plane.lines
        for event in line.events
    }


@profiler.annotate_function
def marked(x: Any) -> Any:
    """Double."""
    return 2 * x


def run() -> None:
    assert profiler.TraceAnnotation.is_enabled()
    with profiler.StepTraceAnnotation("train", step_num=3):
        with profiler.TraceAnnotation("load", rows=128, source="disk") as mark:
            mark.set_metadata(late=1)
        jax.jit(lambda x: x + 1.0)(2.0).block_until_ready()
    assert marked(2) == 4
    assert profiler.annotate_function(abs, name="size", unit="m")(-3) == 3


def test_marks_are_recorded(tmp_path: Path) -> None:
    marks = recorded(tmp_path)
    assert marks["train"] == {"_r": 1, "step_num": 3}
    assert marks["load"] == {"rows": 128, "source": "disk", "late": 1}
    assert marks["marked"] == {}
    assert marks["size"] == {"unit": "m"}
    assert not list(tmp_path.glob("**/perfetto_trace.json.gz"))


def test_options(tmp_path: Path) -> None:
    options = profiler.ProfileOptions()
    options.host_tracer_level = options.python_tracer_level = 0
    with profiler.trace(tmp_path, profiler_options=options):
        assert not profiler.TraceAnnotation.is_enabled()


def test_the_file_for_perfetto(tmp_path: Path) -> None:
    recorded(tmp_path, create_perfetto_trace=True)
    (file,) = tmp_path.glob("plugins/profile/*/perfetto_trace.json.gz")
    with gzip.open(file, "rt") as text:
        events = json.load(text)["traceEvents"]
    assert "train" in {event.get("name") for event in events}


def test_marks_cost_nothing_to_results() -> None:
    assert not profiler.TraceAnnotation.is_enabled()
    assert marked(3) == 6
    assert (marked.__name__, marked.__doc__) == ("marked", "Double.")


def test_errors_pass_through(tmp_path: Path) -> None:
    with pytest.raises(KeyError), profiler.trace(tmp_path), profiler.TraceAnnotation("a"):
        raise KeyError
    with profiler.trace(tmp_path):  # the first one ended
        pass


def test_one_profile_at_a_time(tmp_path: Path) -> None:
    with profiler.trace(tmp_path):
        with pytest.raises(RuntimeError, match=r"start_trace[\s\S]*Call jax.profiler.stop_trace"):
            profiler.start_trace(tmp_path)
    with pytest.raises(RuntimeError, match=r"stop_trace[\s\S]*no profile is recorded"):
        profiler.stop_trace()


def test_memory_profiles(tmp_path: Path) -> None:
    x = jax.jit(lambda x: x + 1.0)(2.0)
    file = tmp_path / "memory.prof"
    profiler.save_device_memory_profile(file)
    assert gzip.decompress(file.read_bytes())
    assert gzip.decompress(profiler.device_memory_profile("cpu"))
    assert x == 3.0
    with pytest.raises(RuntimeError, match=r"device_memory_profile, argument backend[\s\S]*abacus"):
        profiler.device_memory_profile("abacus")


def test_unknown_names() -> None:
    with pytest.raises(AttributeError, match="no attribute 'ProfileThing'"):
        assert profiler.ProfileThing
    assert {"ProfileData", "ProfileEvent", "ProfileOptions", "ProfilePlane"} <= set(dir(profiler))


def test_a_server_runs_once() -> None:
    with socket.socket() as probe:
        probe.bind(("localhost", 0))
        port = probe.getsockname()[1]
    with pytest.raises(ValueError, match="while no server runs"):
        jax.profiler.stop_server()
    for wrong, error in (
        ("9999", TypeError),
        (True, TypeError),
        (0, ValueError),
        (70000, ValueError),
    ):
        with pytest.raises(error, match="a number from 1 to 65535"):
            jax.profiler.start_server(wrong)  # type: ignore[arg-type]
        with pytest.raises(error, match="a number from 1 to 65535"):
            jax.profiler.register_subprocess(1, wrong)  # type: ignore[arg-type]
    server = jax.profiler.start_server(port)
    assert type(server).__name__ == "ProfilerServer"
    with pytest.raises(ValueError, match="while a server runs"):
        jax.profiler.start_server(port)
    with socket.create_connection(("localhost", port), timeout=10):
        pass
    jax.profiler.stop_server()
    del server
