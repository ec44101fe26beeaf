"""Drawings of shardings, compared with recorded ones."""

from __future__ import annotations

import sys
import types
from collections.abc import Mapping, Sequence
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest

import morphax as jax
import morphax.numpy as jnp
from morphax.sharding import Sharding, SingleDeviceSharding

HERE = SingleDeviceSharding(jax.devices("cpu")[0])


class Grid(Sharding):
    """Devices in a grid, `repeated` times; stands for a sharding over a mesh."""

    def __init__(self, rows: int, columns: int, repeated: int = 1) -> None:
        self._parts = rows, columns
        self._repeated = repeated

    @property
    def device_set(self) -> set[Any]:
        return set()

    @property
    def memory_kind(self) -> str:
        return "device"

    @property
    def is_fully_replicated(self) -> bool:
        return False

    def with_memory_kind(self, kind: str) -> Sharding:
        return self

    def shard_shape(self, global_shape: Sequence[int]) -> tuple[int, ...]:
        return tuple(global_shape)

    def distribute(self, x: Any, *, copy: bool = False) -> Any:
        return x

    def devices_indices_map(self, global_shape: Sequence[int]) -> Mapping[Any, Any]:
        parts = self._parts[-len(global_shape) :]
        index = {}
        for number in range(int(np.prod(parts)) * self._repeated):
            place = np.unravel_index(number // self._repeated, parts)
            sizes = [n // p for n, p in zip(global_shape, parts, strict=True)]
            index[FakeDevice(number)] = tuple(
                slice(int(i) * s, int(i + 1) * s) if p > 1 else slice(None)
                for i, s, p in zip(place, sizes, parts, strict=True)
            )
        return index


class FakeDevice:
    platform = "tpu"

    def __init__(self, number: int) -> None:
        self.id = number


DRAWINGS = [
    ((3,), HERE, {}, ["┌───────┐", "│ CPU 0 │", "└───────┘"]),
    ((3,), HERE, {"scale": 2.0, "min_width": 12}, ["┌──────────┐", "│  CPU 0   │", "└──────────┘"]),
    (
        (4, 2),
        HERE,
        {"scale": 0.5},
        ["┌───────┐", "│       │", "│ CPU 0 │", "│       │", "│       │", "└───────┘"],
    ),
    (
        (9, 90),
        HERE,
        {"scale": 0.1, "max_width": 20},
        ["┌──────────────────┐", "│      CPU 0       │"],
    ),
    (
        (8, 16),
        Grid(4, 2),
        {},
        [
            "┌───────────────────────┬───────────────────────┐",
            "│         TPU 0         │         TPU 1         │",
            "├───────────────────────┼───────────────────────┤",
            "│         TPU 2         │         TPU 3         │",
        ],
    ),
    (
        (8, 16),
        Grid(2, 4),
        {},
        [
            "┌──────────┬──────────┬──────────┬──────────┐",
            "│          │          │          │          │",
            "│  TPU 0   │  TPU 1   │  TPU 2   │  TPU 3   │",
            "│          │          │          │          │",
            "│          │          │          │          │",
            "├──────────┼──────────┼──────────┼──────────┤",
        ],
    ),
    (
        (8, 16),
        Grid(4, 1, repeated=2),
        {},
        ["┌" + "─" * 48 + "┐", "│" + " " * 20 + "TPU 0,1" + " " * 21 + "│"],
    ),
    ((8,), Grid(1, 4, repeated=2), {}, ["┌───────┬───────┬───────┬───────┐", "│TPU 0,1│TPU 2,3│"]),
    ((8,), Grid(1, 2, repeated=4), {"max_width": 9}, ["┌───────────┬───────────┐"]),
]


@pytest.mark.parametrize(("shape", "sharding", "options", "lines"), DRAWINGS)
def test_drawing(shape: Any, sharding: Any, options: Any, lines: list[str], capsys: Any) -> None:
    jax.debug.visualize_sharding(shape, sharding, **options)
    drawn = capsys.readouterr().out.splitlines()
    assert len({len(line) for line in drawn}) == 1
    assert [d[: len(line)] for d, line in zip(drawn, lines, strict=False)] == lines


def test_whole_height(capsys: pytest.CaptureFixture[str]) -> None:
    jax.debug.visualize_sharding((4, 4), HERE)
    drawn = capsys.readouterr().out.splitlines()
    assert (len(drawn), len(drawn[0])) == (11, 25)
    assert "CPU 0" in drawn[5]


@pytest.mark.parametrize("engine", [lambda f: f, jax.jit], ids=["eager", "jit"])
def test_arrays(engine: Any, capsys: pytest.CaptureFixture[str]) -> None:
    engine(lambda x: jax.debug.visualize_array_sharding(x, use_color=False))(jnp.ones(3))
    assert capsys.readouterr().out == "┌───────┐\n│ CPU 0 │\n└───────┘\n"


def test_colors(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    jax.debug.visualize_sharding((8,), Grid(1, 2))
    first, second = capsys.readouterr().out.splitlines()[1].split("│")[1:3]
    assert first.startswith("\x1b[48;2;")
    assert first.split("m")[0] != second.split("m")[0]
    jax.debug.visualize_sharding((8,), HERE, color_map=lambda t: (1.0, t, 0.0, 1.0))
    assert "\x1b[48;2;255;0;0m CPU 0 \x1b[0m" in capsys.readouterr().out
    jax.debug.visualize_sharding((8,), HERE, use_color=False)
    assert "\x1b" not in capsys.readouterr().out


def notebook(monkeypatch: pytest.MonkeyPatch, **members: Any) -> list[dict[str, str]]:
    """What is shown by an IPython whose shell has these members."""
    shown: list[dict[str, str]] = []
    library, display = types.ModuleType("IPython"), types.ModuleType("IPython.display")
    shell = types.SimpleNamespace(**members)
    monkeypatch.setattr(library, "get_ipython", lambda: shell, raising=False)
    show = lambda bundle, raw: shown.append(bundle) if raw else None  # noqa: E731
    monkeypatch.setattr(display, "display", show, raising=False)
    monkeypatch.setitem(sys.modules, "IPython", library)
    monkeypatch.setitem(sys.modules, "IPython.display", display)
    return shown


def test_notebooks(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    shown = notebook(monkeypatch, kernel=None)
    jax.debug.visualize_sharding((8, 8), Grid(2, 2), color_map=lambda t: (t, 0.0, 0.0, 1.0))
    assert capsys.readouterr().out == ""
    (bundle,) = shown
    table = ElementTree.fromstring(bundle["text/html"])
    assert [[cell.text for cell in row] for row in table] == [
        ["TPU 0", "TPU 1"],
        ["TPU 2", "TPU 3"],
    ]
    styles = [cell.get("style", "") for row in table for cell in row]
    assert "background-color: rgb(0, 0, 0); color: white" in styles[0]
    assert len(set(styles)) == 4
    assert bundle["text/plain"].startswith("┌")
    jax.debug.visualize_sharding((3,), HERE, use_color=False)
    assert "color:" not in shown[1]["text/html"]


def test_shells_in_terminals(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert notebook(monkeypatch) == []
    jax.debug.visualize_sharding((3,), HERE)
    assert "CPU 0" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("shape", "sharding", "error", "text"),
    [
        ((), HERE, ValueError, "with 0 axes"),
        ((1, 2, 3), HERE, ValueError, "with 3 axes"),
        ((1,), None, TypeError, "argument sharding"),
    ],
)
def test_refusals(shape: Any, sharding: Any, error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=rf"visualize_sharding(.|\n)*{text}(.|\n)*fix:"):
        jax.debug.visualize_sharding(shape, sharding)
