"""The compile cache: what is kept and loaded, what tells programs apart, and that nothing fails."""

from __future__ import annotations

import contextlib
import errno
import logging
import os
import platform
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import morphax as jax
import morphax.numpy as jnp
from morphax import cache as command
from morphax.config import override
from morphax.engines.xla.compile_cache import failures, keys, programs, store
from morphax.engines.xla.compile_cache.entries import sealed
from morphax.engines.xla.compile_cache.store import Store
from morphax.engines.xla.compile_options import compile_options
from morphax.experimental.compilation_cache import compilation_cache
from morphax.runtime.client import extension
from morphax.runtime.devices import default_device

X = np.arange(4, dtype=np.float32)


@pytest.fixture(autouse=True)
def folder(tmp_path: Path) -> Iterator[Path]:
    """A new cache for each test, which keeps every program of XLA, as in a new process."""
    failures.forget_reports()
    compilation_cache.reset_cache()
    before = jax.config.jax_compilation_cache_dir
    compilation_cache.set_cache_dir(tmp_path / "cache")
    with jax.cpu_engine("xla"):
        yield tmp_path / "cache"
    compilation_cache.set_cache_dir(before)
    failures.forget_reports()
    compilation_cache.reset_cache()


@pytest.fixture
def compilations(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The texts of the modules that were compiled, not loaded."""
    texts: list[str] = []
    original = programs.load_or_compile

    def noted(text: str, options: Any, device: Any, compile_module: Callable[[], Any]) -> Any:
        def compile_and_note() -> Any:
            texts.append(text)
            return compile_module()

        return original(text, options, device, compile_and_note)

    monkeypatch.setattr("morphax.engines.xla.executable.load_or_compile", noted)
    return texts


def f(x: Any) -> Any:
    return jnp.sin(x) * 2 + 1


def fresh(function: Callable[..., Any] = f, *operands: Any, **options: Any) -> Any:
    """The result in a process that remembers no program."""
    jax.clear_caches()
    return jax.jit(function, **options)(*operands or (X,))


def entries(folder: Path) -> list[Path]:
    return sorted(folder.glob("*.executable"))


def test_a_program_is_compiled_once(compilations: list[str], folder: Path) -> None:
    first, second = fresh(), fresh()
    np.testing.assert_array_equal(first, second)
    assert len(compilations) == 1
    assert len(entries(folder)) == 1
    cache = Store(folder)
    assert (cache.counted("hits"), cache.counted("misses")) == (1, 1)


def test_programs_are_told_apart(compilations: list[str]) -> None:
    for function in (jnp.sin, jnp.cos):
        for operand in (X, X[:2], X.astype(np.int32)):
            fresh(function, operand)
    fresh(jnp.sin, X, donate_argnums=0)
    fresh(jnp.sin, X, compiler_options={"xla_cpu_enable_fast_math": True})
    fresh(jnp.sin, jax.device_put(X, jax.devices("cpu")[1]))
    assert len(compilations) == 9


def test_the_compiler_and_the_machine_are_in_the_key(monkeypatch: pytest.MonkeyPatch) -> None:
    device = default_device()
    options = compile_options(device)
    seen = [keys.key_of("module", options, device), keys.key_of("module ", options, device)]
    changes: list[tuple[str, Any]] = [
        ("_FORMAT", keys._FORMAT + 1),
        ("_compiler", lambda: ("0.99.0", "another jaxlib")),
        ("processor", lambda: "model: another CPU\nflags: avx512f"),
        ("_core_count", lambda: 999),
    ]
    for name, other in changes:
        with monkeypatch.context() as patch:
            patch.setattr(keys, name, other)
            keys._host.cache_clear()
            keys._target.cache_clear()
            seen.append(keys.key_of("module", options, device))
    for name in ("XLA_FLAGS", "TF_XLA_FLAGS", "LIBTPU_INIT_ARGS", "NPROC"):
        with monkeypatch.context() as patch:
            patch.setenv(name, "3")
            keys._compiler.cache_clear()
            seen.append(keys.key_of("module", options, device))
    for cached in (keys._compiler, keys._host, keys._target):
        cached.cache_clear()
    assert len(set(seen)) == len(seen)
    assert keys.key_of("module", options, device) == seen[0]


def test_a_cpu_that_is_not_described_is_known_by_its_host(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(platform, "node", lambda: "this host")

    def no_file(*args: Any, **keywords: Any) -> Any:
        raise FileNotFoundError

    monkeypatch.setattr(keys, "open", no_file, raising=False)
    assert keys.processor() == "this host"


@pytest.mark.skipif(not os.path.exists("/proc/cpuinfo"), reason="a file of Linux")
def test_the_speed_of_a_cpu_is_not_in_the_key() -> None:
    names = {line.partition(":")[0].strip() for line in keys.processor().splitlines()}
    assert names & {"flags", "Features", "isa", "cpu"}
    assert not names & {"cpu MHz", "bogomips", "BogoMIPS", "processor", "apicid"}


def test_another_compiler_does_not_load_our_programs(
    compilations: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    fresh()
    monkeypatch.setattr(keys, "_compiler", lambda: ("0.99.0",))
    fresh()
    assert len(compilations) == 2


def test_loaded_programs_are_whole() -> None:
    """Donation, forwarded and several results, analyses and text survive."""

    def g(x: Any, y: Any) -> Any:
        return y, x @ y + 1, jnp.sort(x), 3.0

    x, y = np.random.default_rng(0).random((2, 5, 5), dtype=np.float32)
    results, facts = [], []
    for _ in range(2):
        jax.clear_caches()
        given = jnp.array(x)
        compiled = jax.jit(g, donate_argnums=0).lower(given, y).compile()
        facts.append(
            (compiled.as_text(), compiled.cost_analysis(), f"{compiled.memory_analysis()}")
        )
        results.append(compiled(given, y))
        assert given.is_deleted()
    assert facts[0] == facts[1]
    for first, second in zip(*results, strict=True):
        np.testing.assert_array_equal(first, second)


def test_programs_that_call_python_are_not_kept(folder: Path) -> None:
    seen = []
    for number in range(2):

        def call(x: Any, number: int = number) -> Any:
            def see(value: Any) -> Any:
                seen.append(number)
                return value

            return jax.pure_callback(see, jax.ShapeDtypeStruct((4,), np.float32), x) + 1

        np.testing.assert_array_equal(fresh(call), X + 1)
    assert seen == [0, 1]
    assert entries(folder) == []


def test_programs_that_are_dumped_are_compiled(
    compilations: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(2):
        fresh(f, X, compiler_options={"xla_dump_to": str(tmp_path / f"dump {number}")})
    assert len(compilations) == 2
    monkeypatch.setenv("XLA_FLAGS", "--xla_dump_to=somewhere")
    fresh()
    fresh()
    assert len(compilations) == 4


@pytest.mark.parametrize(
    "setting",
    [
        {"enable_compilation_cache": False},
        {"persistent_cache_min_compile_time_secs": 1000.0},
        {"persistent_cache_min_entry_size_bytes": 1 << 30},
        {"compilation_cache_max_size": 0},
    ],
)
def test_settings_that_keep_a_program_out(
    setting: dict[str, Any], compilations: list[str], folder: Path
) -> None:
    with override(**setting):
        fresh()
        fresh()
    assert len(compilations) == 2
    assert entries(folder) == []


def test_a_limit(folder: Path) -> None:
    fresh()
    size = entries(folder)[0].stat().st_size
    with override(compilation_cache_max_size=3 * size):
        for number in range(6):
            fresh(lambda x, number=number: f(x) + number)
    assert 1 <= len(entries(folder)) <= 3


def damage(path: Path, change: Callable[[bytes], bytes]) -> None:
    path.write_bytes(change(path.read_bytes()))


def planted(folder: Path, payload: bytes) -> Callable[[bytes], bytes]:
    """An entry whose digest is right, as a fault of ours would make it."""
    key = entries(folder)[0].stem
    return lambda entry: sealed(payload, key, (folder / "secret").read_bytes())


DAMAGES: dict[str, Callable[[Path], Callable[[bytes], bytes]]] = {
    "empty": lambda folder: lambda entry: b"",
    "truncated": lambda folder: lambda entry: entry[: len(entry) // 2],
    "corrupt": lambda folder: lambda entry: entry[:-1] + bytes([entry[-1] ^ 1]),
    "garbage": lambda folder: lambda entry: os.urandom(len(entry)),
    "foreign": lambda folder: lambda entry: sealed(b"x", entries(folder)[0].stem, bytes(32)),
    "no executable": lambda folder: planted(folder, b"this is no executable"),
    "no bytes": lambda folder: planted(folder, b""),
}


@pytest.mark.parametrize("kind", DAMAGES)
def test_an_entry_that_is_no_good_is_replaced(
    kind: str, compilations: list[str], folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    expected = fresh()
    good = entries(folder)[0].read_bytes()
    for _ in range(3):
        damage(entries(folder)[0], DAMAGES[kind](folder))
        np.testing.assert_array_equal(fresh(), expected)
    assert len(compilations) == 4
    assert len(caplog.records) == 1, "one line per process"
    assert "an entry is not used, and removed" in caplog.text
    fresh()
    assert len(compilations) == 4
    assert len(entries(folder)[0].read_bytes()) > len(good) // 2


def in_place_of(path: Path, kind: str) -> None:
    """Something that is no file of ours, under the name of one."""
    path.unlink(missing_ok=True)
    if kind == "pipe":
        os.mkfifo(path)
    elif kind == "socket":
        with socket.socket(socket.AF_UNIX) as server, contextlib.chdir(path.parent):
            server.bind(path.name)
    elif kind == "directory":
        path.mkdir()
    elif kind == "filled directory":
        path.mkdir()
        (path / "file").touch()
    elif kind == "huge":
        path.touch()
        os.truncate(path, 1 << 40)
    else:
        path.symlink_to({"link to a device": "/dev/zero", "dangling link": "nothing"}[kind])


POSIX_KINDS = ("pipe", "socket", "link to a device", "dangling link")
KINDS = ("directory", "filled directory", "huge", *(POSIX_KINDS if os.name == "posix" else ()))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", ["entry", "secret", "hits", "misses", "written"])
def test_what_is_no_file_is_neither_waited_for_nor_followed(
    kind: str,
    name: str,
    compilations: list[str],
    folder: Path,
    caplog: pytest.LogCaptureFixture,
) -> None:
    expected = fresh()
    in_place_of(entries(folder)[0] if name == "entry" else folder / name, kind)
    compilation_cache.reset_cache()
    for _ in range(3):
        np.testing.assert_array_equal(fresh(), expected)
    assert len(caplog.records) <= 2, "one line per kind of failure"
    assert len(compilations) <= (4 if kind == "filled directory" else 2)


def test_an_entry_under_the_name_of_another_is_not_used(
    compilations: list[str], folder: Path
) -> None:
    fresh(lambda x: x - 1)
    (wrong,) = entries(folder)
    fresh()
    (right,) = set(entries(folder)) - {wrong}
    wrong.rename(right)
    np.testing.assert_array_equal(fresh(), f(X))
    assert len(compilations) == 3


def raising(code: int) -> Callable[..., Any]:
    def fail(*args: Any, **keywords: Any) -> Any:
        raise OSError(code, os.strerror(code))

    return fail


def test_an_entry_that_cannot_be_read(
    compilations: list[str],
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    expected = fresh()
    original = store.read

    def failing(path: Path) -> Any:
        return raising(errno.EIO)() if path.suffix == ".executable" else original(path)

    with monkeypatch.context() as patch:
        patch.setattr(store, "read", failing)
        np.testing.assert_array_equal(fresh(), expected)
        np.testing.assert_array_equal(fresh(), expected)
    assert len(compilations) == 3
    assert len(caplog.records) == 1
    assert "an entry cannot be read" in caplog.text


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EROFS, errno.EDQUOT])
def test_a_directory_that_cannot_be_written(
    code: int,
    compilations: list[str],
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    fresh()
    with monkeypatch.context() as patch:
        patch.setattr(store, "open", raising(code), raising=False)
        patch.setattr(os, "utime", raising(code))
        fresh()
        assert len(compilations) == 1, "it can still be read"
        for number in range(2):
            np.testing.assert_array_equal(fresh(lambda x, n=number: x + n), X + number)
    assert len(caplog.records) == 1
    assert "a compiled program cannot be kept" in caplog.text
    assert os.strerror(code) in caplog.text


@pytest.mark.parametrize(
    "fault", ["not a directory", "no home", "not a file system", "a null", "no text"]
)
def test_a_directory_that_cannot_be_used(
    fault: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    def homeless(path: Path) -> Path:
        raise RuntimeError("no home")

    (tmp_path / "file").write_bytes(b"")
    place = {
        "not a directory": f"{tmp_path}/file",
        "no home": None,
        "not a file system": "gs://b",
        "a null": f"{tmp_path}/a\0b",
        "no text": f"{tmp_path}/\ud800",
    }
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setattr(Path, "expanduser", homeless)
    with override(compilation_cache_dir=place[fault]):
        np.testing.assert_array_equal(fresh(), f(X))
        np.testing.assert_array_equal(fresh(), f(X))
    assert len(caplog.records) == 1
    assert "compiled programs are not kept" in caplog.text


@pytest.mark.skipif(os.name != "posix", reason="modes of POSIX")
def test_a_mended_directory_is_used_after_a_reset(
    folder: Path, compilations: list[str], caplog: pytest.LogCaptureFixture
) -> None:
    folder.mkdir()
    folder.chmod(0o777)
    fresh()
    assert "open to others" in caplog.text
    folder.chmod(0o700)
    fresh()
    assert entries(folder) == []
    compilation_cache.reset_cache()
    fresh()
    fresh()
    assert len(entries(folder)) == 1
    assert len(compilations) == 3


def test_errors_are_raised_where_users_want_that(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fresh()
    with override(raise_persistent_cache_errors=True):
        damage(entries(folder)[0], lambda entry: b"")
        with pytest.raises(Exception, match="no entry of this format"):
            fresh()
        monkeypatch.setattr(store, "open", raising(errno.ENOSPC), raising=False)
        with pytest.raises(OSError, match=os.strerror(errno.ENOSPC)):
            fresh(lambda x: x + 5)


def test_contents_can_be_checked(folder: Path, compilations: list[str]) -> None:
    with override(compilation_cache_check_contents=True):
        fresh()
        fresh()
        assert len(compilations) == 2
        (ours,) = entries(folder)
        fresh(lambda x: x - 1)
        (other,) = set(entries(folder)) - {ours}
        cache = Store(folder)
        payload = cache.get(other.stem)
        assert payload is not None
        cache.put(ours.stem, payload, 1 << 20)
        with pytest.raises(RuntimeError, match=r"(?s)check_contents.*given:.*fix:.*cache clear"):
            fresh()


def test_executables_without_a_serialised_form(
    folder: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def refuse(loaded: Any, device: Any) -> bytes:
        raise extension().JaxRuntimeError("UNIMPLEMENTED: no such form")

    monkeypatch.setattr(programs, "to_bytes", refuse)
    np.testing.assert_array_equal(fresh(), f(X))
    assert entries(folder) == []
    assert caplog.records == []


def test_hits_and_misses_are_events() -> None:
    heard = []
    jax.monitoring.register_event_listener(lambda event, **facts: heard.append(event))
    try:
        fresh()
        fresh()
    finally:
        jax.monitoring.clear_event_listeners()
    start = "/jax/compilation_cache/"
    assert [event.removeprefix(start) for event in heard if event.startswith(start)] == [
        "compile_requests_use_cache", "cache_misses", "compile_requests_use_cache", "cache_hits",
    ]  # fmt: skip


def test_compiling_in_threads(folder: Path) -> None:
    def work(number: int) -> Any:
        # Not the same function: equal programs are compiled, written and loaded at once.
        return [jax.jit(lambda x, i=i: (x * i, number)[0])(X).tolist() for i in range(2, 5)]

    for _ in range(2):
        jax.clear_caches()
        with ThreadPoolExecutor(6) as threads:
            results = list(threads.map(work, range(6)))
        assert results == [[(X * i).tolist() for i in range(2, 5)]] * 6
    assert len(entries(folder)) == 3


PROCESS = """
import sys
import morphax as jax, morphax.numpy as jnp, numpy as np
from morphax import random

def loss(params, x):
    for w, b in params.values():
        x = jnp.tanh(x @ w + b)
    y = jax.lax.scan(lambda c, row: (c + row.sum(), jnp.sort(row)), 0.0, x)
    return jax.nn.logsumexp(y[1]) + y[0]

params = {name: (jnp.ones((4, 4)), jnp.zeros(4)) for name in ("first", "second", "third")}
value, grads = jax.jit(jax.value_and_grad(loss))(params, jnp.eye(4))
draw = jax.jit(lambda key: random.normal(key, (3,)))(random.key(0))
print(value, [np.asarray(g).tobytes().hex() for g in jax.tree.leaves(grads)], draw)
"""


def run_process(folder: Path, seed: str) -> subprocess.CompletedProcess[str]:
    """A process with another order of sets, so that no text or key depends on it."""
    variables = {"PYTHONHASHSEED": seed, "MORPHAX_COMPILATION_CACHE_DIR": str(folder)}
    return subprocess.run(
        [sys.executable, "-c", PROCESS],
        env=os.environ | variables,
        capture_output=True,
        text=True,
        check=True,
    )


def test_the_next_process_loads_all_and_says_nothing(folder: Path) -> None:
    first = run_process(folder, "1")
    cache = Store(folder)
    compiled = cache.counted("misses")
    assert compiled >= 2
    second = run_process(folder, "2")
    assert (cache.counted("misses"), cache.counted("hits")) == (compiled, compiled)
    assert first.stdout == second.stdout
    assert (first.stderr, second.stderr) == ("", "")


def test_the_command(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert command.main([]) == 0
    assert capsys.readouterr().out.startswith("no compile cache yet; programs will be kept in ")
    assert not folder.exists()
    fresh()
    fresh()
    assert command.main(["show"]) == 0
    lines = dict(line.split(": ", 1) for line in capsys.readouterr().out.splitlines())
    facts = {name: value.strip() for name, value in lines.items()}
    assert facts.pop("size").endswith(" of at most 512 MiB")
    assert facts == {"directory": str(folder), "programs": "1", "hits": "1", "misses": "1"}
    with override(enable_compilation_cache=False):
        command.main([])
    assert "(switched off)" in capsys.readouterr().out
    assert command.main(["clear"]) == 0
    assert capsys.readouterr().out == f"removed 1 programs from {folder}\n"
    assert entries(folder) == []


def test_the_command_where_the_cache_cannot_be(capsys: pytest.CaptureFixture[str]) -> None:
    with override(compilation_cache_dir="s3://bucket"):
        assert command.main(["show"]) == 1
    assert "s3://bucket is not on a file system" in capsys.readouterr().err


def test_set_cache_dir(tmp_path: Path) -> None:
    compilation_cache.set_cache_dir(tmp_path / "chosen")
    assert jax.config.jax_compilation_cache_dir == str(tmp_path / "chosen")
    fresh()
    assert len(entries(tmp_path / "chosen")) == 1
    compilation_cache.set_cache_dir(None)
    assert jax.config.jax_compilation_cache_dir is None


def test_messages_go_to_a_logger_of_the_package(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, "morphax"):
        for _ in range(2):
            failures.report("something", OSError("why"))
    assert [record.getMessage() for record in caplog.records] == ["compile cache: something: why"]
