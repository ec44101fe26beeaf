"""The pages of `docs/reference` say what the modules hold."""

from __future__ import annotations

import types

from tools import reference


def test_pages_are_up_to_date() -> None:
    assert reference.outdated() == [], "run: python tools/reference.py"


def test_every_name_has_a_line() -> None:
    empty = [
        f"{path.stem}: {row}"
        for path, text in reference.pages().items()
        for row in text.splitlines()
        if row.endswith("|  |")
    ]
    assert not empty


def test_names_without_all_are_those_of_the_module() -> None:
    module = types.ModuleType("morphax.example")
    exec("from typing import Any\ndef f(): pass\n_hidden = 1", vars(module))
    module.f.__module__ = module.__name__
    assert reference.public_names(module) == ["f"]


def test_summary_is_the_first_sentence() -> None:
    def function() -> None:
        """Either a | b.  And more.

        Not this.
        """

    function.__module__ = "morphax.example"
    assert reference.summary(function) == "Either a \\| b"


def test_what_is_not_ours_is_named() -> None:
    assert reference.summary(dict) == "`builtins.dict`"
    assert reference.summary(1.5) == "`1.5`"


def test_options_are_told_with_their_values() -> None:
    rows = reference.options_page().splitlines()
    (engine,) = [row for row in rows if row.startswith("| `jax_cpu_engine`")]
    assert "`'auto'` |" in engine
    assert engine.endswith("One of `'auto'`, `'xla'`, `'native'`. |")
    (inert,) = [row for row in rows if row.startswith("| `jax_pprint_use_color`")]
    assert r"` \* |" in inert
