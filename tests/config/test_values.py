from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from morphax.config.values import attribute_of, checked, describe, from_text


class Device:
    platform = "cpu"


@pytest.mark.parametrize(
    ("attribute", "value", "expected"),
    [
        ("enable_x64", True, True),
        ("enable_x64", 1, True),
        ("enable_x64", np.bool_(False), False),
        ("enable_x64", None, False),
        ("num_cpu_devices", np.int64(4), 4),
        ("num_cpu_devices", None, -1),
        ("persistent_cache_min_compile_time_secs", 2, 2.0),
        ("platforms", "cpu,cuda", "cpu,cuda"),
        ("platforms", None, None),
        ("platform_name", None, ""),
        ("numpy_rank_promotion", "raise", "raise"),
        ("default_matmul_precision", None, None),
        ("default_device", "cpu", "cpu"),
    ],
)
def test_acceptable_values(attribute: str, value: Any, expected: Any) -> None:
    got = checked(attribute, value, "test")
    assert got == expected
    assert type(got) is type(expected)


def test_a_device_is_acceptable_as_it_is() -> None:
    device = Device()
    assert checked("default_device", device, "test") is device


@pytest.mark.parametrize(
    ("attribute", "value"),
    [
        ("enable_x64", "False"),
        ("enable_x64", 2),
        ("enable_x64", 1.0),
        ("num_cpu_devices", 2.0),
        ("num_cpu_devices", True),
        ("num_cpu_devices", "2"),
        ("persistent_cache_min_compile_time_secs", "1"),
        ("platforms", 3),
        ("numpy_rank_promotion", 3),
        ("default_device", 3),
    ],
)
def test_values_of_the_wrong_kind(attribute: str, value: Any) -> None:
    # As in JAX, but for truth values, which may be anything there.
    is_number = attribute in ("enable_x64", "persistent_cache_min_compile_time_secs")
    with pytest.raises(TypeError if is_number else ValueError) as caught:
        checked(attribute, value, "somewhere")
    text = str(caught.value)
    assert text.startswith("somewhere (at ")
    assert f"{value!r} of type {type(value).__name__} for jax_{attribute}" in text
    assert describe(attribute).expected in text


def test_values_outside_the_choices() -> None:
    with pytest.raises(ValueError, match="one of 'allow', 'warn', 'raise'"):
        checked("numpy_rank_promotion", "Raise", "test")
    with pytest.raises(ValueError, match="or None"):
        checked("transfer_guard", "never", "test")


@pytest.mark.parametrize(
    ("attribute", "text", "expected"),
    [
        ("enable_x64", "1", True),
        ("enable_x64", "Yes", True),
        ("enable_x64", " off ", False),
        ("num_cpu_devices", "8", 8),
        ("persistent_cache_min_compile_time_secs", "0.5", 0.5),
        ("platforms", "", ""),
        ("default_device", "cpu", "cpu"),
        ("default_matmul_precision", "float32", "float32"),
    ],
)
def test_values_from_text(attribute: str, text: str, expected: Any) -> None:
    assert from_text(attribute, text, "test") == expected


@pytest.mark.parametrize(
    ("attribute", "text"),
    [
        ("enable_x64", "maybe"),
        ("enable_x64", ""),
        ("num_cpu_devices", "two"),
        ("numpy_rank_promotion", "bad"),
    ],
)
def test_text_without_meaning(attribute: str, text: str) -> None:
    with pytest.raises(ValueError, match=rf"{text!r} of type str for jax_{attribute}"):
        from_text(attribute, text, "test")


def test_public_names() -> None:
    assert attribute_of("jax_enable_x64", "test") == "enable_x64"
    assert describe("enable_x64").name == "jax_enable_x64"
    assert describe("enable_x64").environment == ("JAX_ENABLE_X64", "MORPHAX_ENABLE_X64")


@pytest.mark.parametrize(
    ("name", "near"),
    [
        ("jax_enable_x46", "jax_enable_x64"),
        ("enable_x64", "jax_enable_x64"),
        ("jax_debug_nan", "jax_debug_nans"),
        ("zzz", "jax.config.values"),
        (3, "jax.config.values"),
    ],
)
def test_unknown_names_are_met_with_near_ones(name: Any, near: str) -> None:
    with pytest.raises(AttributeError, match=rf"the option {name!r}(?s:.)*fix: .*{near}"):
        attribute_of(name, "test")
