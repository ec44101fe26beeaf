"""Host memory: what the compiled class and its twin share, then what only the pool can do."""

from __future__ import annotations

import ast
import gc
import os
import signal
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from morphax.util import host_memory
from morphax.util.available_memory import available_memory
from morphax.util.host_memory import OverallocatedMemory

try:
    from morphax._native import HostMemory as PooledMemory
except ImportError:  # a source checkout without the compiled module
    PooledMemory = None

MEMORIES = [
    pytest.param(OverallocatedMemory, id="twin"),
    pytest.param(
        PooledMemory,
        id="native",
        marks=pytest.mark.skipif(PooledMemory is None, reason="morphax._native is not compiled"),
    ),
]
DTYPES = [bool, np.int8, np.float32, np.complex128, ml_dtypes.bfloat16, "M8[s]", "i2,f8"]
STUB = Path(host_memory.__file__).resolve().parents[1] / "_native.pyi"


@pytest.fixture(params=MEMORIES)
def memory(request: pytest.FixtureRequest) -> Any:
    return request.param()


@pytest.fixture
def pool() -> Iterator[Any]:
    if PooledMemory is None:
        pytest.skip("morphax._native is not compiled")
    memory = PooledMemory()
    yield memory
    memory.release()


class TestInterface:
    """Both classes."""

    @pytest.mark.parametrize("dtype", DTYPES)
    @pytest.mark.parametrize("shape", [(), 5, (0,), (3, 0, 2), (7,), (129, 3), (1000, 1001)])
    def test_empty_is_aligned_and_of_the_asked_kind(
        self, memory: Any, shape: Any, dtype: Any
    ) -> None:
        array = memory.empty(shape, dtype)
        expected = np.empty(shape, dtype)
        assert (array.shape, array.dtype) == (expected.shape, expected.dtype)
        assert array.flags.c_contiguous
        assert array.flags.writeable
        assert memory.is_aligned(array)

    def test_every_size_is_aligned_and_as_large_as_it_says(self, memory: Any) -> None:
        sizes = [*range(600), *(2**e + d for e in range(10, 22) for d in (-1, 0, 1))]
        arrays = [memory.empty(size, np.uint8) for size in sizes]
        for index, array in enumerate(arrays):
            array.fill(index % 251)
        assert all(memory.is_aligned(array) for array in arrays)
        assert all((array == index % 251).all() for index, array in enumerate(arrays))

    @pytest.mark.parametrize("dtype", DTYPES)
    def test_aligned_copy_is_equal_and_separate(self, memory: Any, dtype: Any) -> None:
        source = np.zeros(60, np.dtype(dtype)).reshape(3, 4, 5).transpose(2, 0, 1)[1::2]
        copy = memory.aligned_copy(source)
        assert copy.dtype == source.dtype
        assert copy.flags.c_contiguous
        assert memory.is_aligned(copy)
        assert not np.shares_memory(copy, source)
        np.testing.assert_array_equal(copy, source)

    def test_is_aligned_looks_at_the_first_byte(self, memory: Any) -> None:
        array = memory.empty(128, np.uint8)
        assert [offset for offset in range(128) if memory.is_aligned(array[offset:])] == [0, 64]

    def test_a_view_keeps_the_memory(self, memory: Any) -> None:
        view = memory.empty(1000, np.int64)[10:20]
        view[:] = 7
        others = [memory.empty(1000, np.int64) for _ in range(10)]
        for other in others:
            other[:] = 0
        assert (view == 7).all()

    def test_enter_and_leave_keep_results_correct(self, memory: Any) -> None:
        previous = memory.enter()
        try:
            result = np.arange(1000.0) + 1
        finally:
            memory.leave(previous)
        np.testing.assert_array_equal(result, np.arange(1.0, 1001.0))

    def test_stats_have_the_same_keys(self, memory: Any) -> None:
        assert set(memory.stats()) == {"cap", "retained", "in_use", "hits", "misses"}
        memory.set_cap(12345)
        assert memory.stats()["cap"] == 12345
        memory.release()
        assert memory.stats()["retained"] == 0

    @pytest.mark.parametrize("dtype", [object, "S", "U", "i4,O"])
    def test_dtypes_without_plain_bytes_are_refused(self, memory: Any, dtype: Any) -> None:
        with pytest.raises(TypeError, match=r"argument dtype[^$]*given: +dtype\(.*\n.*fixed size"):
            memory.empty((3,), dtype)

    def test_negative_dimensions_are_refused(self, memory: Any) -> None:
        with pytest.raises(ValueError, match=r"argument shape[^$]*given: +dimension -2 on axis 1"):
            memory.empty((3, -2), np.float32)

    @pytest.mark.parametrize("method", ["is_aligned", "aligned_copy"])
    def test_only_arrays_are_accepted(self, memory: Any, method: str) -> None:
        with pytest.raises(TypeError, match=r"argument array[^$]*given: +list"):
            getattr(memory, method)([1, 2])

    @pytest.mark.parametrize("shape", [(2**40, 2**10), (2**62,), (2**40, 2**40), (2**20,) * 4])
    def test_impossible_sizes_are_refused(self, memory: Any, shape: tuple[int, ...]) -> None:
        with pytest.raises((MemoryError, ValueError)):
            memory.empty(shape, np.float64)
        assert memory.stats()["in_use"] == 0


class TestPool:
    """The compiled class."""

    def test_freed_memory_is_used_again(self, pool: Any) -> None:
        first = pool.empty(10_000, np.float32)
        address = first.ctypes.data
        del first
        assert pool.stats()["retained"] >= 40_000
        assert pool.empty((100, 100), np.float32).ctypes.data == address
        assert pool.stats()["hits"] == 1

    def test_every_allocation_is_accounted_for(self, pool: Any) -> None:
        arrays = [pool.empty(size, np.uint8) for size in (1, 64, 65, 1000, 5000, 10**6)]
        asked = sum(array.nbytes for array in arrays)
        used = pool.stats()["in_use"]
        assert asked <= used <= asked * 9 // 8 + 64 * len(arrays)
        arrays.clear()
        assert pool.stats() == {
            "cap": 1 << 30,
            "retained": used,
            "in_use": 0,
            "hits": 0,
            "misses": 6,
        }

    def test_the_cap_evicts_what_was_freed_longest_ago(self, pool: Any) -> None:
        pool.set_cap(3 * 4096)
        arrays = [pool.empty(4096, np.uint8) for _ in range(4)]
        addresses = [array.ctypes.data for array in arrays]
        while arrays:
            arrays.pop(0)
        assert pool.stats()["retained"] == 3 * 4096
        again = [pool.empty(4096, np.uint8) for _ in range(3)]
        assert [array.ctypes.data for array in again] == addresses[:0:-1]

    def test_eviction_crosses_size_classes(self, pool: Any) -> None:
        pool.set_cap(10_000)
        pool.empty(4096, np.uint8)
        pool.empty(1024, np.uint8)
        pool.empty(8192, np.uint8)
        assert pool.stats()["retained"] == 1024 + 8192

    def test_a_block_larger_than_the_cap_is_not_retained(self, pool: Any) -> None:
        pool.set_cap(4096)
        pool.empty(1024, np.uint8)
        pool.empty(8192, np.uint8)
        assert pool.stats()["retained"] == 1024

    def test_a_lower_cap_counts_at_once(self, pool: Any) -> None:
        arrays = [pool.empty(4096, np.uint8) for _ in range(4)]
        arrays.clear()
        pool.set_cap(8192)
        assert pool.stats()["retained"] == 8192
        pool.release()
        assert pool.stats()["retained"] == 0

    def test_numpy_allocates_here_between_enter_and_leave_only(self, pool: Any) -> None:
        ones = np.ones(1000)
        previous = pool.enter()
        inside = [ones + n for n in range(20)]
        pool.leave(previous)
        assert all(pool.is_aligned(array) for array in inside)
        assert pool.stats()["in_use"] == 20 * 8192
        outside = ones + 1
        assert pool.stats()["in_use"] == 20 * 8192
        inside.clear()
        assert pool.stats()["in_use"] == 0
        np.testing.assert_array_equal(outside, 2)

    def test_enter_nests_and_stays_in_its_thread(self, pool: Any) -> None:
        other = PooledMemory()
        outer = pool.enter()
        inner = other.enter()
        kept = [np.empty(100)]
        thread = threading.Thread(target=lambda: kept.append(np.empty(100)))
        thread.start()
        thread.join()
        other.leave(inner)
        kept.append(np.empty(100))
        pool.leave(outer)
        assert other.stats()["misses"] == pool.stats()["misses"] == 1

    def test_leave_wants_what_enter_returned(self, pool: Any) -> None:
        with pytest.raises(TypeError, match=r"argument previous[^$]*given: +NoneType"):
            pool.leave(None)

    def test_zeroed_and_resized_memory_through_numpy(self, pool: Any) -> None:
        pool.empty(80_000, np.uint8).fill(255)
        previous = pool.enter()
        zeros = np.zeros(10_000)
        grown = np.arange(100)
        grown.resize(5000, refcheck=False)
        shrunk = np.arange(5000)
        shrunk.resize(100, refcheck=False)
        pool.leave(previous)
        assert pool.stats()["hits"] >= 1
        assert not zeros.any()
        np.testing.assert_array_equal(grown[:101], [*range(100), 0])
        np.testing.assert_array_equal(shrunk, np.arange(100))

    def test_arrays_outlive_the_pool(self) -> None:
        if PooledMemory is None:
            pytest.skip("morphax._native is not compiled")
        memory = PooledMemory()
        wrapped = memory.empty(1000, np.int32)
        previous = memory.enter()
        owned = np.arange(1000)
        memory.leave(previous)
        del memory, previous
        gc.collect()
        wrapped[:] = 3
        assert owned.sum() + wrapped.sum() == 999 * 500 + 3000

    def test_threads_share_a_pool(self, pool: Any) -> None:
        failures: list[int] = []

        def work(seed: int) -> None:
            sizes = np.random.default_rng(seed).integers(1, 50_000, 400)
            held: list[np.ndarray] = []
            for size in sizes:
                array = pool.empty(int(size), np.uint8)
                array.fill(seed)
                held.append(array)
                if len(held) > 8 and not (held.pop(0) == seed).all():
                    failures.append(seed)

        threads = [threading.Thread(target=work, args=(seed,)) for seed in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert failures == []
        stats = pool.stats()
        assert stats["in_use"] == 0
        assert stats["hits"] + stats["misses"] == 6 * 400

    def test_memory_stays_flat(self, pool: Any) -> None:
        def churn(count: int) -> None:
            source = np.arange(300.0)
            for _ in range(count):
                pool.aligned_copy(source)
                previous = pool.enter()
                source + 1
                pool.leave(previous)
            for wrong in range(count // 10):
                with pytest.raises(TypeError):
                    pool.empty(wrong, object)

        # What other threads of the process take may be counted in one round, a leak is in each.
        growth = []
        churn(1000)
        for _ in range(3):
            before = resident_bytes()
            churn(30_000)
            growth.append(resident_bytes() - before)
        assert min(growth) < 600 << 10, growth
        assert pool.stats()["misses"] <= 4

    def test_an_idle_pool_gives_everything_back(self) -> None:
        if PooledMemory is None:
            pytest.skip("morphax._native is not compiled")
        memory = PooledMemory(1 << 30, 0.05)
        for _ in range(2):
            arrays = [memory.empty(8 << 20, np.uint8) for _ in range(3)]
            for array in arrays:
                array[:] = 1
            start = time.monotonic()
            del arrays, array
            retained = memory.stats()["retained"]
            if time.monotonic() - start < 0.05:  # a busy machine may come back later
                assert retained >= 24 << 20
            assert eventually(lambda: memory.stats()["retained"] == 0)

    def test_a_pool_in_use_keeps_what_it_has(self) -> None:
        if PooledMemory is None:
            pytest.skip("morphax._native is not compiled")
        memory = PooledMemory(1 << 30, 60.0)
        memory.empty(32 << 20, np.uint8)
        assert memory.empty(32 << 20, np.uint8).size == 32 << 20
        assert memory.stats()["hits"] == 1

    def test_a_pool_may_go_while_it_is_watched(self) -> None:
        if PooledMemory is None:
            pytest.skip("morphax._native is not compiled")
        for idle_seconds in (0.0, 1e-4, 60.0):
            for _ in range(20):
                memory = PooledMemory(1 << 30, idle_seconds)
                memory.empty(32 << 20, np.uint8)
                del memory

    @pytest.mark.skipif(not hasattr(os, "fork"), reason="no forks")
    def test_a_fork_finds_the_pool_free(self) -> None:
        if PooledMemory is None:
            pytest.skip("morphax._native is not compiled")
        memory = PooledMemory(1 << 30, 1e-4)
        for _ in range(20):
            memory.empty(32 << 20, np.uint8)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                child = os.fork()
            if not child:
                signal.alarm(20)
                memory.empty(32 << 20, np.uint8)
                given_back = eventually(lambda: memory.stats()["retained"] == 0)
                os._exit(0 if given_back else 1)
            assert os.waitpid(child, 0)[1] == 0

    def test_the_stub_names_what_there_is(self) -> None:
        if PooledMemory is None:
            pytest.skip("morphax._native is not compiled")
        classes = {
            node.name: {item.name for item in node.body if isinstance(item, ast.FunctionDef)}
            for node in ast.parse(STUB.read_text(encoding="utf-8")).body
            if isinstance(node, ast.ClassDef)
        }
        public = {name for name in vars(PooledMemory) if not name.startswith("_")}
        assert classes["HostMemory"] == public | {"__init__"}


def eventually(condition: Callable[[], bool]) -> bool:
    """Whether it comes true before a generous limit."""
    end = time.monotonic() + 20
    while not (done := condition()) and time.monotonic() < end:
        time.sleep(0.01)
    return done


def resident_bytes() -> int:
    status = Path("/proc/self/status")
    if not status.exists():
        pytest.skip("the resident size is read from /proc")
    line = next(line for line in status.read_text().splitlines() if line.startswith("VmRSS"))
    return int(line.split()[1]) * 1024


def test_the_cap_is_a_share_of_the_memory() -> None:
    assert 0 < host_memory.stats()["cap"] <= available_memory() / 16


def test_the_functions_of_the_module_share_one_memory() -> None:
    before = host_memory.stats()["misses"] + host_memory.stats()["hits"]
    array = host_memory.aligned_copy(host_memory.empty((3, 5), np.float32))
    assert host_memory.is_aligned(array)
    previous = host_memory.enter()
    host_memory.leave(previous)
    assert host_memory.stats()["misses"] + host_memory.stats()["hits"] == before + 2


def test_what_numpy_makes_in_a_pooled_function_is_ours() -> None:
    @host_memory.pooled
    def doubled(x: Any) -> Any:
        return x * 2.0

    results = [doubled(np.arange(40_000.0)) for _ in range(3)]
    is_twin = host_memory.HostMemory is OverallocatedMemory  # which cannot align what NumPy makes
    assert is_twin or all(map(host_memory.is_aligned, results))
    assert results[0].tolist() == (np.arange(40_000.0) * 2).tolist()
    with pytest.raises(TypeError):
        host_memory.pooled(lambda: None)(1)


def test_arrays_in_order() -> None:
    x = np.arange(240.0).reshape(2, 3, 40)
    assert host_memory.in_order(x) is x
    for view in (x.T, x.transpose(1, 0, 2), x[:, ::2, ::-1], np.broadcast_to(x, (2, *x.shape)).T):
        found = host_memory.in_order(view)
        assert found.flags.c_contiguous
        np.testing.assert_array_equal(found, view)


@pytest.mark.parametrize("dtype", ["float32", "bool", "complex64", "bfloat16"])
def test_views_of_repeated_arrays(dtype: str) -> None:
    cases = [((3, 1), (3, 4)), ((1, 3), (2, 3)), ((2, 1, 3), (2, 5, 3)), ((0, 1), (0, 2))]
    for aligned, shape in cases:
        size = int(np.prod(aligned))
        row = np.arange(2 * size).astype(np.dtype(dtype))
        for x in (row[:size], row[::2]):
            view = host_memory.repeated_view(aligned, shape, x.dtype)(x)
            np.testing.assert_array_equal(view, np.broadcast_to(x.reshape(aligned), shape))
