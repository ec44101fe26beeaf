"""Functions of numbers take those of Python and NumPy, from the first call on."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from operator import attrgetter
from typing import Any

import numpy as np
import pytest

import morphax as jax
import morphax.numpy as jnp
from morphax.config import override

_OTHERS = "angle around fix i0 imag isneginf isposinf nan_to_num real sinc unwrap".split()
_UNARY = sorted({n for n in dir(np) if getattr(getattr(np, n), "nin", 0) == 1} | {*_OTHERS})
_BINARY = sorted({n for n in dir(np) if getattr(getattr(np, n), "nin", 0) == 2})
_NUMBERS = (1.5, 2, True, 0, np.float32(-0.5), np.int8(3), 1j)


@pytest.fixture(autouse=True)
def _first_calls() -> Iterator[None]:
    """Functions themselves run, where other tests have them replayed."""
    jax.clear_caches()
    with override(replay_first_calls=False):
        yield


def _result(function: Any, *operands: Any) -> Any:
    """The result as an array of NumPy, or that there is none."""
    try:
        return np.asarray(function(*operands))
    except (TypeError, ValueError, OverflowError) as error:
        return type(error)


def _agree(name: str, *numbers: Any) -> None:
    function = getattr(jnp, name)
    found = _result(function, *numbers)
    expected = _result(function, *[jnp.asarray(x) for x in numbers])
    if isinstance(expected, type):
        # Of two arrays what Python's numbers would widen may be refused, never the other way.
        return
    assert not isinstance(found, type), f"{name} refuses {numbers}: {found}"
    np.testing.assert_allclose(found, expected, rtol=1e-6)


@pytest.mark.parametrize("name", [n for n in _UNARY if hasattr(jnp, n)])
def test_functions_of_one_number(name: str) -> None:
    for x in _NUMBERS:
        _agree(name, x)


@pytest.mark.parametrize("name", [n for n in _BINARY if hasattr(jnp, n)])
def test_functions_of_two_numbers(name: str) -> None:
    for x, y in itertools.product(_NUMBERS, repeat=2):
        _agree(name, x, y)


def _is_of_one_number(function: Any) -> bool:
    try:
        result = function(np.float32(0.7))
    except Exception:
        return False
    return isinstance(result, jax.Array) and result.dtype == np.float32 and not result.shape


@pytest.mark.parametrize("module", ["nn", "scipy.special"])
def test_slopes_at_a_number_of_python(module: str) -> None:
    """Rules for derivatives get the number itself, which has no dtype."""
    functions = attrgetter(module)(jax)
    found = {n: getattr(functions, n) for n in dir(functions) if n[0] != "_"}
    of_one = {n: f for n, f in found.items() if callable(f) and _is_of_one_number(f)}
    assert {"nn": "gelu", "scipy.special": "ndtri"}[module] in of_one
    for name, function in of_one.items():
        expected = jax.grad(function)(jnp.float32(0.7))
        for slope in (jax.grad(function)(0.7), jax.jvp(function, (0.7,), (1.0,))[1]):
            np.testing.assert_allclose(slope, expected, rtol=1e-5, err_msg=name)


_OF_SIZES = ("tril_indices", "triu_indices", "bartlett", "blackman", "hamming", "hanning")
_OF_ARRAYS = ("broadcast_arrays", "permute_dims", "positive", "squeeze", "transpose")
_GIVE_ARRAYS = [n for n in _UNARY if hasattr(jnp, n)] + [*_OF_SIZES, *_OF_ARRAYS, "fft.fftfreq"]


@pytest.mark.parametrize("name", _GIVE_ARRAYS)
def test_results_are_on_the_default_device(name: str, two_devices: list[Any]) -> None:
    for given in (2.5, 3, True, 1j, np.float32(2)):
        with jax.default_device(two_devices[1]):
            try:
                found = jax.tree.leaves(attrgetter(name)(jnp)(given))
            except (TypeError, ValueError):
                continue
        assert {x.device for x in found} <= {two_devices[1]}, given
