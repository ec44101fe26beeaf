from __future__ import annotations

from dataclasses import FrozenInstanceError

import pytest

from morphax.config.options import FACTS, Config, TraceKey
from morphax.config.values import checked, describe

NAMES = list(FACTS)


@pytest.mark.parametrize("name", NAMES)
def test_declaration_is_complete(name: str) -> None:
    option = describe(name)
    assert option.meaning.endswith(".")
    assert option.meaning[0].isupper()
    assert option.kind in (bool, int, float, str, object)
    assert checked(name, option.default, "test") == option.default
    assert type(option.default) in (option.kind, type(None))
    assert option.nullable or option.default is not None
    assert all(describe(other).choices == option.choices for other in option.also_sets)


def test_defaults_users_know() -> None:
    config = Config()
    assert not config.enable_x64
    assert config.numpy_dtype_promotion == "standard"
    assert config.numpy_rank_promotion == "allow"
    assert config.default_prng_impl == "threefry2x32"
    assert config.default_matmul_precision is None
    assert config.platforms is None


def test_a_configuration_does_not_change() -> None:
    config = Config()
    with pytest.raises(FrozenInstanceError):
        config.enable_x64 = True  # type: ignore[misc]


def test_replace_changes_the_named_fields_only() -> None:
    config = Config().replace((("enable_x64", True), ("log_compiles", True)))
    changed = {name for name in NAMES if getattr(config, name) != FACTS[name]["default"]}
    assert changed == {"enable_x64", "log_compiles"}
    assert config.settings() == {name: getattr(config, name) for name in NAMES}


@pytest.mark.parametrize("name", NAMES)
def test_the_trace_key_changes_with_the_options_declared_for_it(name: str) -> None:
    option = describe(name)
    value = next(v for v in _some_values(name) if v != option.default)
    changed = Config().replace(((name, value),))
    assert (changed.trace_key is not Config().trace_key) == option.trace


def _some_values(name: str) -> tuple[object, ...]:
    option = describe(name)
    return option.choices or {
        bool: (False, True), int: (7,), float: (7.5,), str: ("x",), object: ("cpu",),
    }[option.kind]  # fmt: skip


def test_equal_settings_have_one_trace_key() -> None:
    there = Config().replace((("enable_x64", True),))
    back = there.replace((("enable_x64", False),))
    assert back is not Config()
    assert back.trace_key is Config().trace_key
    assert isinstance(there.trace_key, TraceKey)
    assert hash(there.trace_key) != hash(back.trace_key)
