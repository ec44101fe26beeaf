"""Lines and scopes that equations carry."""

from __future__ import annotations

from typing import Any

import morphax as jax
from morphax import lax
from morphax.extend import source_info_util as si
from morphax.util import frames


def staged(function: Any) -> Any:
    return jax.make_jaxpr(function)(1.0).eqns[0]


def test_name_stacks() -> None:
    stack = si.new_name_stack("a")
    assert str(si.new_name_stack()) == ""
    assert str(stack.extend("b")) == "a/b"
    assert str(stack + stack) == "a/a"
    assert str(stack.transform("vmap")) == "a/vmap()"
    assert str(stack.transform("vmap").extend("b").extend("c")) == "a/vmap(b/c)"
    assert stack.stack == ("a",)
    assert si.NameStack(stack) == stack
    assert repr(stack) == "NameStack(('a',))"


def test_contexts_nest_and_end() -> None:
    with si.extend_name_stack("a") as stack:
        assert str(stack) == "a"
        with si.transform_name_stack("jvp"), si.extend_name_stack("b"):
            assert str(si.current_name_stack()) == "a/jvp(b)"
            with si.reset_name_stack():
                assert str(si.current_name_stack()) == ""
            with si.set_name_stack(si.new_name_stack("c")):
                assert str(si.current().name_stack) == "c"
    assert str(si.current_name_stack()) == ""


def test_decorator() -> None:
    @si.extend_name_stack("layer")
    def layer(x: Any) -> Any:
        return lax.sin(x)

    assert str(staged(layer).source_info.name_stack) == "layer"
    assert str(staged(layer).source_info.name_stack) == "layer"


def test_scopes_are_printed_and_compiled() -> None:
    def function(x: Any) -> Any:
        with si.extend_name_stack("a"), si.transform_name_stack("vmap"), si.extend_name_stack("b"):
            return lax.sin(x)

    assert "# [a/vmap(b)]" in jax.make_jaxpr(function)(1.0).pretty_print(name_stack=True)
    assert "a/vmap(b/sin)" in jax.jit(function).lower(1.0).as_text(debug_info=True)


def test_equations_of_another_line() -> None:
    original = staged(lax.sin)
    info = original.source_info

    def again(x: Any) -> Any:
        with si.user_context(info.traceback, name_stack=si.new_name_stack("copy")):
            return lax.cos(x)

    copy = staged(again)
    assert copy.source == original.source
    assert str(copy.source_info.name_stack) == "copy"
    with si.user_context(None):
        assert staged(lax.sin).source is not None


def test_summary() -> None:
    assert si.summarize(staged(lax.sin).source_info).startswith(__file__)
    assert si.summarize(si.new_source_info()) == "unknown"
    assert si.current().traceback.file == __file__
    assert si.current().replace(traceback=None).traceback is None


def test_excluded_files() -> None:
    try:
        si.register_exclusion(__file__)
        assert staged(lax.sin).source.file != __file__
    finally:
        frames.internal_paths.remove(__file__)
    assert staged(lax.sin).source.file == __file__
