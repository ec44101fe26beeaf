"""Draw which device holds which part of an array: in text, and as a table of HTML in notebooks.

The parts of an array of one or two axes form a grid of equal cells.  A character is taken to be two
and a half times as high as it is wide.
"""

from __future__ import annotations

import colorsys
import html
import sys
from collections.abc import Callable, Iterator, Sequence
from importlib import import_module
from typing import Any

from ..control.callbacks.sharding_inspection import inspect_array_sharding
from ..runtime.sharding import Sharding
from ..util.messages import described, message

ColorMap = Callable[[float], tuple[float, float, float, float]]

_BASE_HEIGHT = 10
_WIDTH_OF_HEIGHT = 2.5
# Successive hues differ most if each is the golden section further.
_GOLDEN_SECTION = 0.618


def visualize_sharding(
    shape: Sequence[int],
    sharding: Sharding,
    *,
    use_color: bool = True,
    scale: float = 1.0,
    min_width: int = 9,
    max_width: int = 80,
    color_map: ColorMap | None = None,
) -> None:
    """Print a drawing of the parts of an array, each with its devices; in a notebook, show a table.

    Args:
        shape: of the array, with one or two axes.
        sharding: how it is laid out.
        use_color: give each part a background, if the output is a terminal or a notebook.
        scale: of the drawing.
        min_width: of a part, in characters with its border.
        max_width: of the drawing, as far as the names of devices allow.
        color_map: number in [0, 1] → red, green, blue, opacity.

    Raises:
        TypeError: `sharding` is no sharding.
        ValueError: `shape` has no axes, or more than two.

    Example:
        >>> import morphax as jax
        >>> device = jax.devices("cpu")[0]
        >>> jax.debug.visualize_sharding((3,), jax.sharding.SingleDeviceSharding(device))
        ┌───────┐
        │ CPU 0 │
        └───────┘
    """
    _check(shape, sharding)
    parts = _parts(shape, sharding)
    rows = [[parts[place] for place in sorted(parts) if place[0] == row] for row in _rows(parts)]
    labels = [[_label(devices) for devices in row] for row in rows]
    height, width = _cell_size(shape, labels, scale, min_width, max_width)
    colors = _colors(color_map) if use_color else None
    if _in_notebook():
        text = "\n".join(_drawn(labels, height, width, None))
        bundle = {"text/html": _table(labels, height, width, colors), "text/plain": text}
        import_module("IPython.display").display(bundle, raw=True)
    else:
        print("\n".join(_drawn(labels, height, width, colors if sys.stdout.isatty() else None)))


def visualize_array_sharding(arr: Any, **kwargs: Any) -> None:
    """Print a drawing of the parts of an array; inside `jit`, when it has been compiled.

    Args:
        arr: array with one or two axes.
        **kwargs: those of `visualize_sharding`.

    Example:
        >>> import morphax as jax, morphax.numpy as jnp
        >>> jax.debug.visualize_array_sharding(jnp.ones((4, 2)), scale=0.4)
        ┌───────┐
        │       │
        │ CPU 0 │
        │       │
        └───────┘
    """
    shape = tuple(arr.shape)
    inspect_array_sharding(
        arr, callback=lambda sharding: visualize_sharding(shape, sharding, **kwargs)
    )


def _in_notebook() -> bool:
    """Whether IPython runs this program for a page that shows HTML; it is not imported for that."""
    get_shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)
    # The shell of a terminal has no kernel that talks to a page.
    return hasattr(get_shell(), "kernel")


def _check(shape: Sequence[int], sharding: Any) -> None:
    if not isinstance(sharding, Sharding):
        raise TypeError(
            message(
                "jax.debug.visualize_sharding, argument sharding",
                given=described(sharding),
                expected="a sharding",
                fix="Pass x.sharding of an array x.",
            )
        )
    if len(shape) not in (1, 2):
        raise ValueError(
            message(
                "jax.debug.visualize_sharding, argument shape",
                given=f"{tuple(shape)}, with {len(shape)} axes",
                expected="one or two axes",
                fix="Reshape the array, or draw its slices.",
            )
        )


def _parts(shape: Sequence[int], sharding: Sharding) -> dict[tuple[int, int], list[Any]]:
    """The devices of each part, by row and column where it starts."""
    parts: dict[tuple[int, int], list[Any]] = {}
    for device, index in sharding.devices_indices_map(tuple(shape)).items():
        start = [s.start or 0 for s in index]
        parts.setdefault((0, *start)[-2:], []).append(device)  # type: ignore[arg-type]
    return parts


def _rows(parts: dict[tuple[int, int], list[Any]]) -> list[int]:
    return sorted({row for row, _ in parts})


def _label(devices: Sequence[Any]) -> str:
    """``CPU 0,1``."""
    return f"{devices[0].platform.upper()} {','.join(map(str, sorted(d.id for d in devices)))}"


def _cell_size(
    shape: Sequence[int], labels: list[list[str]], scale: float, min_width: int, max_width: int
) -> tuple[int, int]:
    """Height and width of a part, without its border."""
    columns, longest = len(labels[0]), max(len(label) for row in labels for label in row)
    height, width = 1, min_width - 2
    if len(shape) == 2:
        height = max(int(_BASE_HEIGHT * scale / len(labels)) - 1, 1)
        whole = _BASE_HEIGHT * _WIDTH_OF_HEIGHT * scale * shape[1] / max(shape[0], 1)
        width = max(int(whole / columns) - 2, width)
    width = min(width, (max_width - 1) // columns - 1)
    return height, max(width, longest)


def _colors(color_map: ColorMap | None) -> Iterator[tuple[int, int, int]]:
    """Red, green and blue of one part after another."""
    number = 0.0
    while True:
        red, green, blue = (
            colorsys.hsv_to_rgb(number, 0.6, 0.8) if color_map is None else color_map(number)[:3]
        )
        yield int(255 * red), int(255 * green), int(255 * blue)
        number = (number + _GOLDEN_SECTION) % 1.0


def _table(
    labels: list[list[str]],
    height: int,
    width: int,
    colors: Iterator[tuple[int, int, int]] | None,
) -> str:
    """The drawing as a table of HTML."""
    size = f"height: {height * 1.2:.1f}em; min-width: {width}ch"
    common = f"{size}; border: 1px solid; text-align: center; vertical-align: middle"

    def cell(label: str) -> str:
        color = "" if colors is None else _background(next(colors))
        return f'<td style="{common}{color}">{html.escape(label)}</td>'

    rows = "".join([f"<tr>{''.join(map(cell, row))}</tr>" for row in labels])
    return f'<table style="border-collapse: collapse; font-family: monospace">{rows}</table>'


def _background(color: tuple[int, int, int]) -> str:
    """The style of a cell of that colour, with text that can be read on it."""
    red, green, blue = color
    is_light = 0.299 * red + 0.587 * green + 0.114 * blue > 127
    ink = "black" if is_light else "white"
    return f"; background-color: rgb({red}, {green}, {blue}); color: {ink}"


def _drawn(
    labels: list[list[str]],
    height: int,
    width: int,
    colors: Iterator[tuple[int, int, int]] | None,
) -> Iterator[str]:
    """The lines of the drawing."""
    columns = len(labels[0])

    def border(left: str, middle: str, right: str) -> str:
        return left + middle.join(["─" * width] * columns) + right

    above = (height - 1) // 2
    yield border("┌", "┬", "┐")
    for i, row in enumerate(labels):
        if i:
            yield border("├", "┼", "┤")
        shades = [next(colors) if colors is not None else None for _ in row]
        for line in range(height):
            texts = [_centred(label if line == above else "", width) for label in row]
            yield "│" + "│".join(map(_shaded, texts, shades)) + "│"
    yield border("└", "┴", "┘")


def _centred(text: str, width: int) -> str:
    """`text` in the middle, or one character to the left of it."""
    before = (width - len(text)) // 2
    return " " * before + text + " " * (width - len(text) - before)


def _shaded(text: str, color: tuple[int, int, int] | None) -> str:
    if color is None:
        return text
    red, green, blue = color
    return f"\x1b[48;2;{red};{green};{blue}m{text}\x1b[0m"
