from __future__ import annotations

from importlib import import_module
from typing import Any

import pytest

from morphax.config import OptionContext, contexts, current

CONTEXTS = {name: c for name, c in vars(contexts).items() if isinstance(c, OptionContext)}


@pytest.mark.parametrize("name", CONTEXTS)
def test_context_goes_by_the_name_of_its_option(name: str) -> None:
    context = CONTEXTS[name]
    assert context.__name__ == name
    assert context.name == f"jax_{name}"
    assert context.name in (context.__doc__ or "")
    assert context.value == getattr(current(), name)
    assert name in import_module("morphax.config").__all__


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("enable_x64", True),
        ("debug_nans", True),
        ("numpy_rank_promotion", "raise"),
        ("numpy_dtype_promotion", "strict"),
        ("default_matmul_precision", "float32"),
        ("default_prng_impl", "rbg"),
        ("default_device", "cpu"),
        ("softmax_custom_jvp", True),
        ("transfer_guard_device_to_host", "log"),
    ],
)
def test_context_sets_its_option_for_the_block(name: str, value: Any) -> None:
    before = CONTEXTS[name].value
    with CONTEXTS[name](value):
        assert CONTEXTS[name].value == getattr(current(), name) == value
    with CONTEXTS[name](new_val=value):
        assert CONTEXTS[name].value == value
    assert CONTEXTS[name].value == before


def test_boolean_options_are_switched_on_by_default() -> None:
    with contexts.enable_x64():
        assert current().enable_x64
        with contexts.enable_x64(False):
            assert not current().enable_x64


def test_other_options_need_a_value() -> None:
    with pytest.raises(TypeError, match=r"jax.numpy_rank_promotion\('allow'\)"):
        contexts.numpy_rank_promotion()
    with contexts.default_device(None):
        assert current().default_device is None


def test_bad_values_are_refused_when_the_context_is_made() -> None:
    with pytest.raises(ValueError, match=r"^jax.numpy_rank_promotion \(at .*test_contexts"):
        contexts.numpy_rank_promotion("bad")
    with pytest.raises(ValueError, match=r"^jax.transfer_guard \(at "):
        contexts.transfer_guard("bad")


def test_context_is_no_truth_value() -> None:
    with pytest.raises(TypeError, match=r"Read jax.enable_x64.value"):
        bool(contexts.enable_x64)
    assert repr(contexts.enable_x64) == "<context manager of jax_enable_x64, now False>"


def test_contexts_with_names_of_their_own() -> None:
    with contexts.disable_jit():
        assert current().disable_jit
        with contexts.disable_jit(False):
            assert not current().disable_jit
    with contexts.checking_leaks():
        assert current().check_tracer_leaks
    with contexts.transfer_guard("disallow"):
        assert current().transfer_guard_device_to_device == "disallow"


def test_context_decorates_functions() -> None:
    @contexts.enable_x64(True)
    def wide() -> bool:
        return current().enable_x64

    assert wide()
    assert not current().enable_x64
