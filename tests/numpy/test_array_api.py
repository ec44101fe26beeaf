"""The Python array API standard: functions take what it says, and the namespace describes itself.

``array_api_signatures.txt`` lists the functions of version 2024.12 with their parameters, in the
notation of Python; ``…`` stands for any default.
"""

from __future__ import annotations

import inspect
from operator import attrgetter
from pathlib import Path

import numpy as np
import pytest

import morphax.numpy as jnp
from morphax import devices, enable_x64, jit

SIGNATURES = Path(__file__).with_name("array_api_signatures.txt").read_text().splitlines()


def parameters(text: str) -> tuple[list[str], list[str], list[str]]:
    """Parameters by position only, by position or name, and by name only."""
    names = [part.split("=")[0] for part in text.rstrip(")").split(", ") if part]
    if any(name.startswith("*") and len(name) > 1 for name in names):
        names = ["one", "two", "/", "*", *[n for n in names if not n.startswith("*")]]
    first = names.index("/") if "/" in names else 0
    last = names.index("*") if "*" in names else len(names)
    return names[:first], [n for n in names[first:last] if n != "/"], names[last + 1 :]


@pytest.mark.parametrize("line", SIGNATURES)
def test_functions_take_what_the_standard_says(line: str) -> None:
    name, _, rest = line.partition("(")
    signature = inspect.signature(attrgetter(name)(jnp))
    by_position, by_either, by_name = parameters(rest)
    signature.bind(*by_position, **dict.fromkeys([*by_either, *by_name]))
    signature.bind(*by_position, *by_either)


def test_parameters_are_read() -> None:
    assert parameters("x, /, shape, *, axis=…)") == (["x"], ["shape"], ["axis"])
    assert parameters("*arrays, indexing=…)") == (["one", "two"], [], ["indexing"])
    assert parameters(")") == ([], [], [])


def test_dtypes_by_kind() -> None:
    info = jnp.__array_namespace_info__()
    narrow = info.dtypes()
    assert len(narrow) == 9
    assert all(name == dtype.name for name, dtype in narrow.items())
    assert list(info.dtypes(kind="real floating")) == ["float32"]
    assert list(info.dtypes(kind=("bool", "complex floating"))) == ["bool", "complex64"]
    assert info.dtypes(kind=("numeric", "integral")) == info.dtypes(kind="numeric")
    assert info.dtypes(kind=()) == {}
    with enable_x64(True):
        assert len(info.dtypes()) == 13
        assert list(info.dtypes(kind="real floating")) == ["float32", "float64"]
        assert info.default_dtypes()["integral"] == np.int64
    with pytest.raises(ValueError, match=r"argument kind(.|\n)*'real floating'"):
        info.dtypes(kind="real")


def test_what_arrays_are_like_by_default() -> None:
    info = jnp.__array_namespace_info__()
    found = info.default_dtypes(device=devices()[0])
    assert found["real floating"] == jnp.zeros(1).dtype
    assert found["complex floating"] == jnp.asarray(1j).dtype
    assert found["integral"] == found["indexing"] == jnp.arange(3).dtype
    assert info.default_device() is None
    assert info.devices() == [None, *devices()]
    assert info.capabilities()["max dimensions"] == 64


def test_arrays_know_their_namespace() -> None:
    assert jnp.ones(2).__array_namespace__(api_version=jnp.__array_api_version__) is jnp
    assert jit(lambda x: x.__array_namespace__() is jnp)(1.0)
