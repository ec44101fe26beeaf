"""Generated damage to the files of the compile cache: numbers stay right, nothing is raised."""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import morphax as jax
import morphax.numpy as jnp
from morphax.engines.xla.compile_cache import failures, store
from morphax.engines.xla.compile_cache.entries import BrokenEntry
from morphax.engines.xla.compile_cache.location import UnusableDirectory
from morphax.engines.xla.compile_cache.store import Store
from morphax.experimental.compilation_cache import compilation_cache

pytestmark = pytest.mark.skipif(os.name != "posix", reason="links, pipes and modes of POSIX")

X = np.arange(4, dtype=np.float32)
LIMIT = 1 << 20


def scanned(x: Any) -> Any:
    return jax.lax.scan(lambda c, y: (jnp.sin(c + y) * 1.1, c * y), x, X)[0]


PROGRAMS: list[tuple[Any, Callable[[Any], Any]]] = [
    ("xla", lambda x: jnp.sin(x) * 2 + 1),
    ("xla", lambda x: x - 1),
    ("native", lambda x: jnp.sin(x) * 2 + 1),
    ("native", lambda x: x - 1),
    ("native", scanned),
]


def results(*, as_new_process: bool) -> list[bytes]:
    """What all programs give, compiled or loaded anew."""
    jax.clear_caches()
    if as_new_process:
        compilation_cache.reset_cache()
    found = []
    for engine, function in PROGRAMS:
        with jax.cpu_engine(engine):
            found.append(np.asarray(jax.jit(function)(X)).tobytes())
    return found


class Folder:
    """A cache with entries that can be damaged, and made whole again."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.whole = {file.name: file.read_bytes() for file in path.iterdir()}
        self.names = sorted(self.whole)

    def make_whole(self) -> None:
        if self.path.is_dir():
            shutil.rmtree(self.path)
        self.path.unlink(missing_ok=True)
        self.path.mkdir(mode=0o700)
        for name, content in self.whole.items():
            (self.path / name).write_bytes(content)
            (self.path / name).chmod(0o600)


Damage = Callable[[random.Random, Folder, Path], object]


def truncated(draw: random.Random, folder: Folder, path: Path) -> None:
    os.truncate(path, draw.randrange(path.stat().st_size + 1))


def flipped(draw: random.Random, folder: Folder, path: Path) -> None:
    content = bytearray(path.read_bytes())
    for _ in range(draw.choice([1, 2, 8, 64])):
        content[draw.randrange(len(content))] ^= 1 << draw.randrange(8)
    path.write_bytes(content)


def spliced(draw: random.Random, folder: Folder, path: Path) -> None:
    start = path.read_bytes()[: draw.randrange(path.stat().st_size + 1)]
    path.write_bytes(start + folder.whole[draw.choice(folder.names)])


def filled(draw: random.Random, folder: Folder, path: Path) -> None:
    path.unlink()
    path.mkdir()
    (path / "file").touch()


def piped(draw: random.Random, folder: Folder, path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


def led_elsewhere(draw: random.Random, folder: Folder, path: Path) -> None:
    path.unlink()
    path.symlink_to(draw.choice(["/dev/zero", "nothing", path.name, "/etc/passwd", ".."]))


def linked(draw: random.Random, folder: Folder, path: Path) -> None:
    path.unlink()
    there = [name for name in folder.names if (folder.path / name).is_file()]
    os.link(folder.path / draw.choice(there), path)


DAMAGES: dict[str, Damage] = {
    "truncated": truncated,
    "flipped": flipped,
    "spliced": spliced,
    "empty": lambda draw, folder, path: path.write_bytes(b""),
    "zeros": lambda draw, folder, path: path.write_bytes(bytes(path.stat().st_size)),
    "another": lambda draw, folder, path: path.write_bytes(folder.whole[draw.choice(folder.names)]),
    "removed": lambda draw, folder, path: path.unlink(),
    "directory": filled,
    "pipe": piped,
    "link": led_elsewhere,
    "hard link": linked,
    "huge": lambda draw, folder, path: os.truncate(path, 1 << 40),
    "mode": lambda draw, folder, path: path.chmod(draw.choice([0, 0o200, 0o666, 0o777])),
    "mode of all": lambda draw, folder, path: folder.path.chmod(draw.choice([0, 0o500, 0o777])),
    "all removed": lambda draw, folder, path: shutil.rmtree(folder.path, ignore_errors=True),
}


def test_damaged_files_change_no_number(folder: Path) -> None:
    expected = results(as_new_process=True)
    cache = Folder(folder)
    draw = random.Random(20)
    for case in range(4 * len(DAMAGES)):
        kind = list(DAMAGES)[case % len(DAMAGES)]
        cache.make_whole()
        hit = draw.sample(cache.names, draw.choice([1, 1, 2, len(cache.names)]))
        for name in hit:
            if (folder / name).exists():
                DAMAGES[kind](draw, cache, folder / name)
        # A process that has read the directory before, or one that has not.
        as_new = draw.random() < 0.5
        for _ in range(2):
            assert results(as_new_process=as_new) == expected, (kind, hit, as_new)
        if folder.is_dir():
            folder.chmod(0o700)
    cache.make_whole()


def test_sealed_bytes_that_are_no_program_are_compiled_anew(
    folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    failures.forget_reports()
    expected = results(as_new_process=True)
    for entry in list(folder.glob("*.executable")):
        Store(folder).put(entry.stem, b"this is no program", LIMIT)
    assert results(as_new_process=True) == expected
    assert {record.getMessage().partition(": ")[2][:38] for record in caplog.records} == {
        "an entry is not used, and removed: no ",
        "an entry is not used, and removed: INV",
    } or len(caplog.records) == 1, "one line for each kind of failure"


def test_a_directory_that_is_removed_meanwhile_is_made_again(folder: Path) -> None:
    cache = Store(folder)
    cache.put("a", b"first", LIMIT)
    shutil.rmtree(folder)
    assert cache.get("a") is None
    cache.put("a", b"second", LIMIT)
    assert Store(folder).get("a") == b"second"


def test_processes_agree_on_a_directory_that_was_made_anew(folder: Path) -> None:
    cache = Store(folder)
    cache.put("a", b"first", LIMIT)
    shutil.rmtree(folder)
    other = Store(folder)
    other.put("a", b"second", LIMIT)
    assert cache.get("a") == b"second"
    shutil.rmtree(folder)
    other = Store(folder)
    cache.put("a", b"third", LIMIT)
    assert other.get("a") == b"third"


def test_a_directory_that_is_opened_to_others_meanwhile_is_left_alone(folder: Path) -> None:
    cache = Store(folder)
    folder.chmod(0o777)
    with pytest.raises(UnusableDirectory, match="open to others"):
        cache.put("a", b"first", LIMIT)
    assert not list(folder.glob("*.executable"))


@pytest.mark.parametrize("name", ["secret", "written"])
def test_a_file_that_the_user_may_not_open_is_replaced(
    name: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    Store(folder).put("a", b"first", LIMIT)
    marked = (folder / name).stat().st_ino
    # While this is there no other file gets the number.
    os.link(folder / name, folder.parent / "held")
    original = os.open

    def refusing(path: Any, *given: Any, **named: Any) -> int:
        # As the system does where its mode is 0; but not to the superuser, who may run this.
        if Path(path).name == name and Path(path).exists() and os.stat(path).st_ino == marked:
            raise PermissionError(13, "Permission denied")
        return original(path, *given, **named)

    monkeypatch.setattr(os, "open", refusing)
    cache = Store(folder)
    cache.put("b", b"second", LIMIT)
    assert Store(folder).get("b") == b"second"


def test_an_entry_larger_than_the_memory_is_none(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def exhausted(path: Path) -> bytes:
        raise MemoryError

    cache = Store(folder)
    monkeypatch.setattr(store, "read", exhausted)
    with pytest.raises(BrokenEntry, match="memory"):
        cache.get("a")


def limited(folder: Path, most: int) -> list[int]:
    """Sizes of the entries that a process keeps whose files may have so many bytes."""
    program = (
        "import os, resource, sys; from pathlib import Path\n"
        "from morphax.engines.xla.compile_cache.store import DIRECTORY_FAILURES, Store\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[2]),) * 2)\n"
        "for number in range(20):\n"
        "    payload = os.urandom(100 * number)\n"
        "    try:\n"
        "        cache = Store(Path(sys.argv[1]))\n"
        "        cache.put(f'{number}', payload, 1 << 20)\n"
        "        assert cache.get(f'{number}') == payload\n"
        "    except DIRECTORY_FAILURES: pass\n"
    )
    subprocess.run([sys.executable, "-c", program, str(folder), str(most)], check=True)
    assert not list(folder.glob("*.unfinished"))
    return sorted(file.stat().st_size for file in folder.glob("*.executable"))


def test_files_that_may_not_be_large_are_whole_or_not_there(folder: Path) -> None:
    assert limited(folder, 20) == []
    some = limited(folder, 1000)
    assert 5 < len(some) < 15
    assert max(some) <= 1000


WRITER = """
import os, random, sys
from pathlib import Path
from morphax.engines.xla.compile_cache.store import Store

draw = random.Random(int(sys.argv[2]))
cache = Store(Path(sys.argv[1]))
print("ready", flush=True)
while True:
    key = str(draw.randrange(7))
    got = cache.get(key)
    assert got is None or got == key.encode() * 200_000, "an entry is whole"
    cache.put(key, key.encode() * 200_000, 1 << 20)
    if draw.random() < 0.2:
        cache.trim(1500)
"""


def test_writers_that_are_killed_leave_whole_entries(folder: Path) -> None:
    draw = random.Random(4)
    for number in range(3):
        writers = [
            subprocess.Popen(
                [sys.executable, "-c", WRITER, str(folder), f"{number}{which}"],
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
            )
            for which in range(2)
        ]
        for writer in writers:
            assert writer.stdout is not None
            assert writer.stdout.readline() == "ready\n"
        for writer in writers:
            with pytest.raises(subprocess.TimeoutExpired):
                writer.wait(draw.random() * 0.1)
            writer.kill()
            assert writer.communicate()[1] == ""
            assert writer.returncode == -signal.SIGKILL
    cache = Store(folder)
    for entry in cache.entries():
        key = entry.path.stem
        assert cache.get(key) == key.encode() * 200_000
