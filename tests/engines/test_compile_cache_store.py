"""The files of the compile cache: entries, the directory that holds them, and their faults."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from morphax.engines.xla.compile_cache import store
from morphax.engines.xla.compile_cache.entries import BrokenEntry, opened, sealed
from morphax.engines.xla.compile_cache.location import UnusableDirectory, directory, prepare
from morphax.engines.xla.compile_cache.store import Store

SECRET = bytes(range(32))
PAYLOAD = b"program " * 100
LIMIT = 1 << 20
posix = pytest.mark.skipif(os.name != "posix", reason="owners and modes of POSIX")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "cache"


@pytest.fixture
def cache(folder: Path) -> Store:
    return Store(folder)


def names(folder: Path, suffix: str = "") -> list[str]:
    """Of the files, without the one that accounts for what is written."""
    found = [path.name for path in folder.iterdir() if path.name != "written"]
    return sorted(name for name in found if name.endswith(suffix))


@pytest.mark.parametrize("payload", [b"", b"x", PAYLOAD, os.urandom(70_000)])
def test_an_entry_opens_to_its_payload(payload: bytes) -> None:
    assert opened(sealed(payload, "key", SECRET), "key", SECRET) == payload


def test_entries_are_compressed() -> None:
    assert len(sealed(PAYLOAD, "key", SECRET)) < len(PAYLOAD) // 4


ENTRY = sealed(PAYLOAD, "key", SECRET)


@pytest.mark.parametrize("position", range(len(ENTRY)))
def test_any_changed_byte_breaks_an_entry(position: int) -> None:
    changed = bytearray(ENTRY)
    changed[position] ^= 1
    with pytest.raises(BrokenEntry):
        opened(bytes(changed), "key", SECRET)


@pytest.mark.parametrize("length", [0, 1, 20, 21, 52, 53, 54, len(ENTRY) - 1])
def test_a_truncated_entry_is_broken(length: int) -> None:
    with pytest.raises(BrokenEntry):
        opened(ENTRY[:length], "key", SECRET)


def test_an_extended_entry_is_broken() -> None:
    with pytest.raises(BrokenEntry, match="digest"):
        opened(ENTRY + b"\0", "key", SECRET)


def test_an_entry_of_another_key_or_secret_is_broken() -> None:
    with pytest.raises(BrokenEntry, match="digest"):
        opened(ENTRY, "other key", SECRET)
    with pytest.raises(BrokenEntry, match="digest"):
        opened(ENTRY, "key", bytes(32))


def test_get_and_put(cache: Store, folder: Path) -> None:
    assert cache.get("a") is None
    cache.put("a", b"first", LIMIT)
    cache.put("b", b"second", LIMIT)
    cache.put("a", b"third", LIMIT)
    assert (cache.get("a"), cache.get("b")) == (b"third", b"second")
    assert Store(folder).get("a") == b"third", "another process has the same secret"
    cache.remove("a")
    cache.remove("a")
    assert cache.get("a") is None
    assert names(folder) == ["b.executable", "secret"]


@posix
def test_files_are_for_the_user_alone(cache: Store, folder: Path) -> None:
    cache.put("a", PAYLOAD, LIMIT)
    assert folder.stat().st_mode & 0o777 == 0o700
    assert {p.name: p.stat().st_mode & 0o777 for p in folder.iterdir()} == {
        "a.executable": 0o600,
        "secret": 0o600,
        "written": 0o600,
    }


@pytest.mark.parametrize("fault", ["short", "readable", "missing"])
def test_a_secret_that_is_none_is_replaced(cache: Store, folder: Path, fault: str) -> None:
    if fault == "readable" and os.name != "posix":
        pytest.skip("modes of POSIX")
    cache.put("a", PAYLOAD, LIMIT)
    secret = folder / "secret"
    before = secret.read_bytes()
    if fault == "short":
        secret.write_bytes(b"short")
    elif fault == "readable":
        secret.chmod(0o644)
    else:
        secret.unlink()
    after = Store(folder)
    assert secret.read_bytes() != before
    assert len(secret.read_bytes()) == 32
    with pytest.raises(BrokenEntry):
        after.get("a")


def test_the_first_of_two_secrets_counts(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder.mkdir(mode=0o700)
    other = bytes(reversed(range(32)))

    def lose(source: str, target: Path) -> None:
        target.write_bytes(other)
        raise FileExistsError(errno.EEXIST, "another process was first")

    monkeypatch.setattr(os, "link", lose)
    Store(folder)
    assert (folder / "secret").read_bytes() == other
    assert names(folder) == ["secret"]


def test_file_systems_without_links(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(source: str, target: Path) -> None:
        raise OSError(errno.EPERM, "no links here")

    monkeypatch.setattr(os, "link", refuse)
    Store(folder).put("a", PAYLOAD, LIMIT)
    assert Store(folder).get("a") == PAYLOAD
    assert names(folder) == ["a.executable", "secret"]


def use(folder: Path, key: str, seconds_ago: float) -> None:
    moment = time.time() - seconds_ago
    os.utime(folder / f"{key}.executable", (moment, moment))


def test_the_entries_used_longest_ago_go_first(cache: Store, folder: Path) -> None:
    for age, key in enumerate("abcd"):
        cache.put(key, os.urandom(1000), LIMIT)
        use(folder, key, 100 - age)
    size = cache.entries()[0].size
    cache.get("a")
    cache.trim(3 * size)
    assert names(folder, ".executable") == ["a.executable", "d.executable"], "a tenth more goes"
    cache.trim(2 * size)
    assert len(cache.entries()) == 2


def test_an_entry_above_the_limit_is_not_kept(cache: Store) -> None:
    cache.put("large", os.urandom(1000), 999)
    cache.put("none", b"", 0)
    assert cache.entries() == []


def test_much_writing_trims_at_once(cache: Store) -> None:
    for number in range(60):
        cache.put(f"{number}", os.urandom(950), 10_000)
    total = sum(entry.size for entry in cache.entries())
    assert 5_000 < total < 12_500, "the limit, and an eighth between two trims"


def test_exit_trims(folder: Path) -> None:
    program = (
        "import os, sys; from pathlib import Path\n"
        "from morphax.engines.xla.compile_cache.store import Store\n"
        "cache = Store(Path(sys.argv[1]))\n"
        "for number in range(9): cache.put(f'{number}', os.urandom(1000), 1 << 20)\n"
        "cache.put('last', os.urandom(1000), 8500)\n"
    )
    subprocess.run([sys.executable, "-c", program, str(folder)], check=True)
    assert 1 < len(names(folder, ".executable")) < 9


@posix
def test_processes_that_are_killed_are_accounted_for(folder: Path) -> None:
    program = (
        "import os, signal, sys; from pathlib import Path\n"
        "from morphax.engines.xla.compile_cache.store import Store\n"
        "cache = Store(Path(sys.argv[1]))\n"
        "for number in range(20):\n"
        "    if not os.fork():\n"
        "        for part in range(3): cache.put(f'{number}-{part}', os.urandom(1000), 20_000)\n"
        "        os.kill(os.getpid(), signal.SIGKILL)\n"
        "    os.wait()\n"
        "os._exit(0)\n"
    )
    subprocess.run([sys.executable, "-c", program, str(folder)], check=True)
    sizes = [path.stat().st_size for path in folder.glob("*.executable")]
    assert 10 < len(sizes)
    assert sum(sizes) < 20_000 * 9 / 8 + 1100, "the limit, and an eighth between two trims"


def test_unfinished_files_take_room_too(cache: Store, folder: Path) -> None:
    for number in range(10):
        cache.put(f"{number}", os.urandom(950), LIMIT)
    (folder / "1-2.unfinished").write_bytes(bytes(9000))
    cache.trim(12_000)
    assert 0 < len(cache.entries()) < 4


def test_trimming_leaves_foreign_and_recent_files(cache: Store, folder: Path) -> None:
    for name in ("notes.txt", "jit_f-cache", "new.unfinished", "old.unfinished"):
        (folder / name).write_bytes(b"x" * 1000)
    os.utime(folder / "old.unfinished", (0, 0))
    cache.trim(10)
    assert names(folder) == ["jit_f-cache", "new.unfinished", "notes.txt", "secret"]
    assert cache.clear() == 0
    assert names(folder) == ["jit_f-cache", "new.unfinished", "notes.txt", "secret"]


def test_counts(cache: Store, folder: Path) -> None:
    assert cache.counted("hits") == 0
    for _ in range(3):
        cache.count("hits")
    Store(folder).count("misses")
    assert (cache.counted("hits"), cache.counted("misses")) == (3, 1)
    cache.put("a", PAYLOAD, LIMIT)
    assert cache.clear() == 1
    assert (cache.counted("hits"), names(folder)) == (0, ["secret"])


def failing(code: int) -> Callable[..., Any]:
    def fail(*args: Any, **keywords: Any) -> Any:
        raise OSError(code, os.strerror(code))

    return fail


class FullFile:
    """A file on a disk that is full after some bytes."""

    def __init__(self, name: str, mode: str, opener: Any) -> None:
        self.file = open(name, mode, opener=opener)

    def __enter__(self) -> FullFile:
        return self

    def __exit__(self, *exception: Any) -> None:
        self.file.close()

    def write(self, content: bytes) -> None:
        self.file.write(content[:10])
        failing(errno.ENOSPC)()


@pytest.mark.parametrize(
    ("step", "replacement"),
    [
        ("open", failing(errno.ENOSPC)),
        ("open", failing(errno.EROFS)),
        ("open", FullFile),
        ("replace", failing(errno.ENOSPC)),
        ("replace", failing(errno.EACCES)),
    ],
)
def test_a_failed_write_leaves_nothing(
    cache: Store, folder: Path, step: str, replacement: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache.put("a", b"before", LIMIT)
    with monkeypatch.context() as patch:
        if step == "open":
            patch.setattr(store, "open", replacement, raising=False)
        else:
            patch.setattr(os, step, replacement)
        with pytest.raises(OSError, match=r"space|[Rr]ead|ermission"):
            cache.put("a", b"after", LIMIT)
    assert cache.get("a") == b"before"
    assert names(folder) == ["a.executable", "secret"]


def test_a_directory_that_can_only_be_read(
    cache: Store, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache.put("a", PAYLOAD, LIMIT)
    for name in ("utime", "replace", "unlink", "link"):
        monkeypatch.setattr(os, name, failing(errno.EROFS))
    monkeypatch.setattr(Path, "unlink", failing(errno.EROFS))
    monkeypatch.setattr(store, "open", failing(errno.EROFS), raising=False)
    again = Store(folder)
    assert again.get("a") == PAYLOAD
    again.count("hits")
    again.remove("a")
    again.trim(0)
    assert again.clear() == 0
    assert again.get("a") == PAYLOAD


def test_entries_that_disappear_meanwhile(
    cache: Store, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for key in "abc":
        cache.put(key, PAYLOAD, LIMIT)
    found = cache.entries()
    cache.clear()
    monkeypatch.setattr(cache, "entries", lambda: found)
    cache.trim(0)
    assert cache.clear() == 0


PROCESS = """
import os, sys
from pathlib import Path
from morphax.engines.xla.compile_cache.store import Store

cache, number = Store(Path(sys.argv[1])), int(sys.argv[2])
for turn in range(60):
    key = f"{turn % 7}"
    got = cache.get(key)
    assert got is None or got == key.encode() * 20_000, "an entry is whole"
    cache.put(key, key.encode() * 20_000, 1 << 20)
    if turn % 20 == number:
        cache.trim(300)
    cache.count("hits")
"""


def test_processes_share_a_directory(folder: Path) -> None:
    processes = [
        subprocess.Popen([sys.executable, "-c", PROCESS, str(folder), f"{number}"])
        for number in range(4)
    ]
    assert [process.wait() for process in processes] == [0] * 4
    cache = Store(folder)
    assert cache.counted("hits") == 240
    assert names(folder, ".unfinished") == []
    assert all(cache.get(entry.path.stem) for entry in cache.entries())


@pytest.mark.parametrize(
    ("variables", "configured", "expected"),
    [
        ({"XDG_CACHE_HOME": "/x/caches"}, None, "/x/caches/morphax"),
        ({"XDG_CACHE_HOME": "relative", "HOME": "/h"}, None, "/h/.cache/morphax"),
        ({"XDG_CACHE_HOME": "", "HOME": "/h"}, None, "/h/.cache/morphax"),
        ({"XDG_CACHE_HOME": "/x"}, "/chosen", "/chosen"),
        ({"HOME": "/h"}, "~/chosen", "/h/chosen"),
        ({"HOME": "/h"}, "", "/h/.cache/morphax"),
    ],
)
@posix
def test_the_directory(
    variables: dict[str, str],
    configured: str | None,
    expected: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert directory(configured) == Path(expected)


def test_a_relative_directory_is_found_from_here(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert directory("here") == tmp_path / "here"


def test_directories_that_are_none(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(UnusableDirectory, match="gs://bucket is not on a file system"):
        directory("gs://bucket")

    def homeless(path: Path) -> Path:
        raise RuntimeError("no home")

    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setattr(Path, "expanduser", homeless)
    with pytest.raises(UnusableDirectory, match="no home directory"):
        directory(None)


@posix
@pytest.mark.parametrize("mode", [0o720, 0o702, 0o777])
def test_a_directory_that_others_can_write_is_refused(folder: Path, mode: int) -> None:
    folder.mkdir()
    folder.chmod(mode)
    with pytest.raises(UnusableDirectory, match=f"open to others .mode {mode:04o}"):
        prepare(folder)
    assert names(folder) == []


@posix
def test_a_directory_of_somebody_else_is_refused(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder.mkdir(mode=0o700)
    monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 1)
    with pytest.raises(UnusableDirectory, match="belongs to user"):
        prepare(folder)


@posix
def test_a_directory_that_others_can_read_is_used(folder: Path) -> None:
    folder.mkdir(mode=0o755)
    prepare(folder)


def test_a_file_in_the_way_of_the_directory(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    for place in (tmp_path / "file", tmp_path / "file" / "below"):
        with pytest.raises(OSError, match="file"):
            prepare(place)
