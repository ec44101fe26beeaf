"""Clients, compile options, and the generator of random numbers."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import pytest

import morphax as jax
from morphax.extend import backend, random
from morphax.extend.lowering import LoweringRuleContext
from morphax.interpreters import mlir


def test_clients() -> None:
    assert backend.get_backend("cpu") is backend.backends()["cpu"]
    assert backend.get_backend().platform == jax.default_backend()
    assert backend.get_default_device() in jax.devices()
    assert backend.backend_xla_version("cpu") is None
    with pytest.raises(RuntimeError):
        backend.get_backend("abacus")


def test_caches_are_emptied_together() -> None:
    @lru_cache
    def count() -> list[int]:
        return []

    backend.register_backend_cache(count, "tests")
    first = count()
    assert count() is first
    backend.clear_in_memory_compilation_cache()
    assert count() is not first


def test_compile_options() -> None:
    options = backend.get_compile_options(
        1, 2, [[1, 0]], {"xla_cpu_enable_fast_math": "false"}, b"profile", False
    )
    build = options.executable_build_options
    assert (options.num_replicas, build.num_partitions) == (1, 2)
    assert build.use_spmd_partitioning
    assert options.env_option_overrides == [("xla_cpu_enable_fast_math", "false")]
    assert not backend.get_compile_options(1, 1).executable_build_options.use_spmd_partitioning


def test_lowering_contexts_are_one_class() -> None:
    assert LoweringRuleContext is mlir.LoweringRuleContext


def test_keys_of_seeds() -> None:
    impl = random.threefry_prng_impl
    key = random.seed_with_impl(impl, 7)
    assert (jax.random.key_data(key) == jax.random.key_data(jax.random.key(7))).all()
    keys = random.random_seed(np.arange(3), impl)
    assert keys.shape == (3,)
    assert (jax.random.key_data(keys)[2] == jax.random.key_data(jax.random.key(2))).all()


@pytest.mark.parametrize(
    ("count", "expected"),
    [
        (range(5), [2052595727, 3504730591, 2527474599, 1880214352, 1914734168]),
        ([[0, 1], [2, 3]], [[4128513521, 3192206206], [2345921600, 3057534555]]),
    ],
)
def test_threefry(count: object, expected: object) -> None:
    words = np.array(count, np.uint32)
    images = random.threefry_2x32(np.array([1, 2], np.uint32), words)
    assert images.tolist() == expected
    assert images.dtype == np.uint32
