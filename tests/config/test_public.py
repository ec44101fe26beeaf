from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from morphax.config import config, current, override


@pytest.fixture(autouse=True)
def _restored() -> Iterator[None]:
    before = config.values
    yield
    for name, value in before.items():
        config.update(name, value)


def test_update_and_all_ways_of_reading() -> None:
    config.update("jax_enable_x64", True)
    assert config.jax_enable_x64 is True
    assert config.x64_enabled is True
    assert config.read("jax_enable_x64") is True
    assert config.values["jax_enable_x64"] is True
    assert config.current() is current()


def test_reading_follows_the_context() -> None:
    with override(numpy_rank_promotion="raise"):
        assert config.jax_numpy_rank_promotion == "raise"
        assert config.read("jax_numpy_rank_promotion") == "raise"
        config.update("jax_numpy_rank_promotion", "warn")
        assert config.jax_numpy_rank_promotion == "raise"
    assert config.jax_numpy_rank_promotion == "warn"


@pytest.mark.parametrize(
    "use",
    [
        lambda name: config.update(name, True),
        lambda name: config.read(name),
        lambda name: getattr(config, name),
    ],
)
def test_unknown_names(use: Callable[[str], Any]) -> None:
    with pytest.raises(AttributeError, match=r"^jax\.config(?s:.)*jax_enable_x64"):
        use("jax_enable_x46")


def test_bad_values_name_the_argument() -> None:
    with pytest.raises(TypeError, match=r"^jax.config.update, argument val \(at .*test_public"):
        config.update("jax_enable_x64", "no")


def test_assignment_points_to_update() -> None:
    with pytest.raises(AttributeError, match=r"jax.config.update\('jax_enable_x64', True\)"):
        config.jax_enable_x64 = True


def test_options_are_listed() -> None:
    assert {"jax_enable_x64", "update", "read"} <= set(dir(config))
    config.update("jax_log_compiles", True)
    assert "jax_log_compiles=True" in repr(config)


class Parsed:
    """As ``absl.flags.FLAGS``."""

    def __init__(self, declared: dict[str, tuple[Any, ...]]) -> None:
        self.declared = declared
        self.given: dict[str, str] = {}

    def __call__(self, arguments: list[str], known_only: bool) -> None:
        self.given = dict(word.removeprefix("--").split("=") for word in arguments[1:])

    def __contains__(self, name: str) -> bool:
        return name in self.declared

    def __getitem__(self, name: str) -> Any:
        return SimpleNamespace(present=name in self.given, value=self.given.get(name))


class Flags(ModuleType):
    """As ``absl.flags``: remembers what was declared and what the command line said."""

    def __init__(self) -> None:
        super().__init__("absl.flags")
        self.declared: dict[str, tuple[Any, ...]] = {}
        self.FLAGS = Parsed(self.declared)

    def _declare(self, kind: str) -> Callable[..., None]:
        def declare(name: str, default: Any, *rest: Any) -> None:
            assert name not in self.declared, "absl refuses what is declared twice"
            self.declared[name] = (kind, default, *rest)

        return declare

    def __getattr__(self, name: str) -> Any:
        if name.startswith("DEFINE_"):
            return self._declare(name.removeprefix("DEFINE_"))
        raise AttributeError(name)


@pytest.fixture
def flags(monkeypatch: pytest.MonkeyPatch) -> Flags:
    absl, flags = ModuleType("absl"), Flags()
    absl.flags = flags  # type: ignore[attr-defined]
    absl.app = SimpleNamespace(call_after_init=lambda call: None)  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "absl", absl)
    monkeypatch.setitem(sys.modules, "absl.flags", flags)
    return flags


def test_options_come_from_the_command_line(flags: Flags, monkeypatch: pytest.MonkeyPatch) -> None:
    words = ["program", "--jax_numpy_rank_promotion=raise", "--", "--jax_platforms=tpu"]
    monkeypatch.setattr(sys, "argv", words)
    config.parse_flags_with_absl()
    config.parse_flags_with_absl()
    assert config.jax_numpy_rank_promotion == "raise"
    assert config.jax_platforms is None
    assert flags.declared["jax_enable_x64"][:2] == ("bool", False)
    assert flags.declared["jax_numpy_rank_promotion"][:3] == (
        "enum", "allow", ["allow", "warn", "raise"],
    )  # fmt: skip
    assert flags.declared["jax_num_cpu_devices"][:2] == ("integer", config.jax_num_cpu_devices)
