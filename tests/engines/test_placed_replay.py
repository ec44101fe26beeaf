"""Eager functions on another device than the host's: whole programs, as their operations."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import morphax as jax
import morphax.numpy as jnp
from benchmarks.groups import function_calls
from morphax.config import override
from morphax.dtypes import TypePromotionError
from morphax.engines.reference import placed_replay
from morphax.engines.reference.replay import replayed

# Neither has a value that another run would give again.
UNCOMPARED = ("rng_uniform", "empty")
SHARE = 16


@pytest.fixture
def other() -> Iterator[Any]:
    """A device that is not the host's, as the default."""
    device = jax.devices("cpu")[1]
    with jax.default_device(device):
        yield device


def _leaves(result: Any) -> list[Any]:
    found = jax.tree.leaves(result)
    return [jax.random.key_data(x) if _is_key(x) else x for x in found]


def _is_key(x: Any) -> bool:
    return isinstance(x, jax.Array) and jnp.issubdtype(x.dtype, jax.dtypes.prng_key)


def assert_same(whole: Any, alone: Any, text: str) -> None:
    for w, a in zip(_leaves(whole), _leaves(alone), strict=True):
        assert w.aval == a.aval, text
        assert (w.devices(), w.committed) == (a.devices(), a.committed), text
        w, a = np.asarray(w), np.asarray(a)
        if w.dtype.kind in "fc":
            np.testing.assert_allclose(w, a, rtol=2e-4, atol=2e-5, err_msg=text)
        else:
            np.testing.assert_array_equal(w, a, err_msg=text)


@pytest.mark.parametrize("committed", [False, True])
def test_public_functions_agree_with_their_operations(committed: bool, other: Any) -> None:
    names = function_calls.namespace(jax, 54, 7)
    for name, x in function_calls.operands(54, 7).items():
        names[name] = jax.device_put(x, other if committed else None)
    chosen = [
        text
        for text in function_calls.calls()[committed::SHARE]
        if not any([name in text for name in UNCOMPARED])
    ]
    for text in chosen:
        call = eval(f"lambda: {text}", names)
        try:
            whole = [call(), call()]
        except Exception as error:
            with override(replay_placed_calls=False), pytest.raises(type(error)):
                call()
            continue
        with override(replay_placed_calls=False):
            alone = call()
        for result in whole:
            assert_same(result, alone, text)


def test_one_program_is_compiled(other: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[str] = []

    def counting(name: str, *args: Any) -> Any:
        made.append(name)
        return placed_replay.placed_program(name, *args)

    monkeypatch.setattr("morphax.engines.reference.replay.placed_program", counting)

    @replayed(1)
    def scaled(x: Any, by: float = 2.0) -> Any:
        return jnp.sin(x) * by + jnp.cos(x)

    x = jnp.arange(3.0)
    for _ in range(3):
        np.testing.assert_allclose(scaled(x), np.sin(x) * 2 + np.cos(x), rtol=1e-6)
    assert made == ["scaled"]
    np.testing.assert_allclose(scaled(x, -0.0), np.cos(x), rtol=1e-6)
    np.testing.assert_allclose(scaled(x, by=0.0), np.cos(x), rtol=1e-6)
    scaled(x.astype(int))
    assert made == ["scaled"] * 4
    with override(replay_placed_calls=False):
        scaled(x[:2])
    with jax.debug_nans(True):
        scaled(x[:2])
    assert made == ["scaled"] * 4


SCALARS = (0.0, -0.0, 1, True, 1.0, 1j, 2.5, -1.5, 100, 127)


def test_scalars_are_told_apart(other: Any) -> None:
    """They stay on the device by aval and bits."""
    for x in (jnp.arange(3), jnp.arange(3.0), jnp.arange(3) > 1):
        for _ in range(2):
            for scalar in SCALARS:
                whole = x + scalar, jnp.copysign(1.0, scalar) if scalar != 1j else x
                with override(replay_placed_calls=False):
                    alone = x + scalar, jnp.copysign(1.0, scalar) if scalar != 1j else x
                assert_same(whole, alone, f"{x} + {scalar!r}")


def test_scalars_outlive_results_that_are_deleted(other: Any) -> None:
    @replayed(2)
    def second(x: Any, y: Any) -> Any:
        return jnp.asarray(y)

    x = jnp.arange(3.0)
    for _ in range(3):
        found = second(x, 7.0)
        assert float(found) == 7.0
        found.delete()
    step = jax.jit(lambda x: x + 1, donate_argnums=0)
    for _ in range(3):
        assert float(step(second(x, 7.0))) == 8.0


def test_settings_count(other: Any) -> None:
    x = jnp.arange(3)
    assert jnp.mean(x).dtype == jnp.float32
    with jax.enable_x64(True):
        assert jnp.mean(x).dtype in (jnp.float32, jnp.float64)
        assert (jnp.arange(3) + 1).dtype == jnp.int64
    assert (x + 1).dtype == jnp.int32
    with jax.numpy_dtype_promotion("strict"), pytest.raises(TypePromotionError):
        x + jnp.float32(1.0)


def test_committed_arrays_decide(two_devices: list[Any]) -> None:
    here, there = [jax.device_put(np.arange(3.0), d) for d in two_devices]
    for x, device in ((here, two_devices[0]), (there, two_devices[1])):
        for result in (jnp.mean(x), x * 2, jax.nn.softmax(x), jnp.stack([x, x])):
            assert (result.devices(), result.committed) == ({device}, True)
    assert not (jnp.arange(3.0) * 2).committed
    with pytest.raises(ValueError, match=r"(?s)fix:"):
        jnp.add(here, there)
    with pytest.raises(ValueError, match=r"(?s)fix:"):
        jnp.stack([here, there])


def test_lists_are_read_at_each_call(other: Any) -> None:
    parts = [jnp.zeros(2), jnp.ones(2)]
    assert jnp.concatenate(parts).sum() == 2
    parts[0] = parts[0] + 5
    assert jnp.concatenate(parts).sum() == 12
    parts.append(jnp.ones(1))
    assert jnp.concatenate(parts).shape == (5,)


NEW: dict[str, Callable[[], Any]] = {
    "scalar": lambda: jnp.array(3.0),
    "list": lambda: jnp.array([1.0, 2.0]),
    "numpy": lambda: jnp.asarray(np.ones(3)),
    "scalar type": lambda: jnp.float32(3),
    "arange": lambda: jnp.arange(3),
    "ones": lambda: jnp.ones(3),
    "linspace": lambda: jnp.linspace(0, 1, 3),
    "key": lambda: jax.random.key(0),
    "mgrid": lambda: jnp.mgrid[0:3],
    "row": lambda: jnp.r_[1:3],
    "nonzero": lambda: jnp.nonzero(np.ones(3))[0],
    "buffer": lambda: jnp.frombuffer(b"12345678", np.float32),
    "put": lambda: jax.device_put(np.ones(3)),
}


@pytest.mark.parametrize("label", NEW)
def test_new_arrays_are_on_the_default_device(label: str, other: Any) -> None:
    made = NEW[label]()
    assert (made.devices(), made.committed) == ({other}, False)


def test_places_of_nonzero(two_devices: list[Any]) -> None:
    x = jax.device_put(np.array([0.0, 1.0]), two_devices[1])
    (found,) = jnp.nonzero(x)
    assert (found.devices(), found.committed) == ({two_devices[1]}, True)
