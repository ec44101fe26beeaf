"""Tensorstore, which is installed apart from morphax, and how its errors are told."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any

from ...util.messages import message


def tensorstore(where: str) -> Any:
    """The library.

    Raises:
        ModuleNotFoundError: if it is not installed.
    """
    try:
        return import_module("tensorstore")
    except ModuleNotFoundError:
        text = message(
            where,
            given="a Python without the package tensorstore",
            expected="it to be installed, as it writes and reads the files",
            fix="Run pip install tensorstore.",
        )
        raise ModuleNotFoundError(text, name="tensorstore") from None


@contextmanager
def explained(where: str, spec: Any) -> Iterator[None]:
    """Tell what was being done when tensorstore reports an error.

    Args:
        where: the function that was called.
        spec: what tells where the array is.
    """
    try:
        yield
    except (ValueError, OverflowError) as error:
        # The error of tensorstore ends with the spec in all its length.
        told = str(error).partition(" [tensorstore_spec=")[0]
        text = message(
            where,
            given=f"the spec {spec!r:.200}, at which tensorstore fails: {told:.600}",
            expected="files that are whole, and fit to the shape and dtype of the array",
            fix="Compare the path with the one that was saved to, or save again to another one.",
        )
        raise ValueError(text) from error
