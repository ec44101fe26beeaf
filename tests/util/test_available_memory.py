"""Memory that a process may use, read from files like those of Linux."""

from __future__ import annotations

from pathlib import Path

import pytest

from morphax.util.available_memory import available_memory

HUGE = 9223372036854771712


def groups(root: Path, own: str, limits: dict[str, str]) -> tuple[str, str]:
    for name, text in limits.items():
        path = root / "groups" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    (root / "own").write_text(own)
    return str(root / "groups"), str(root / "own")


@pytest.mark.parametrize(
    ("own", "limits", "expected"),
    [
        ("0::/\n", {"memory.max": "5000000\n"}, 5_000_000),
        ("0::/a/b\n", {"a/memory.max": "4000\n", "a/b/memory.max": "max\n"}, 4000),
        ("0::/a/b\n", {"a/memory.max": "4000\n", "a/b/memory.max": "3000\n"}, 3000),
        ("0::/../../x\n", {"memory.max": "2000\n"}, 2000),
        ("5:cpu,memory:/a\n", {"memory/a/memory.limit_in_bytes": "6000\n"}, 6000),
        ("5:cpu:/a\n7:memory:/b\n", {"memory/memory.limit_in_bytes": "7000"}, 7000),
        ("7:memory:/b\n0::/c\n", {"memory/b/memory.limit_in_bytes": f"{HUGE}"}, None),
        ("0::/\n", {"memory.max": "max\n"}, None),
        ("0::/\n", {"memory.max": "-1\n"}, None),
        ("0::/\n", {"memory.max": "0\n"}, None),
        ("nonsense\n", {"memory.max": "nonsense\n"}, None),
        ("", {}, None),
    ],
)
def test_limits_of_groups(
    own: str, limits: dict[str, str], expected: int | None, tmp_path: Path
) -> None:
    unlimited = available_memory(str(tmp_path), str(tmp_path / "none"))
    found = available_memory(*groups(tmp_path, own, limits))
    assert found == (unlimited if expected is None else expected)
    assert unlimited > 1 << 27
