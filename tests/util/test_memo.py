"""Remembered results: `MemoTable`, `ResultTable`, `memoize`, and what they may weigh."""

from __future__ import annotations

import gc
import random
import threading
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from morphax.util import memo
from morphax.util.memo import MemoTable, ResultTable, clear_all, memoize, missing, total_weight


class Program:
    """Something of a weight."""

    def __init__(self, weight: int) -> None:
        self.remembered_weight = weight


@pytest.fixture(autouse=True)
def empty() -> Iterator[None]:
    clear_all()
    yield
    clear_all()


def test_results_are_worked_out_once() -> None:
    calls: list[tuple[int, int]] = []

    def add(x: int, y: int) -> int:
        calls.append((x, y))
        return x + y

    table = ResultTable(add)
    assert [table[1, 2], table[1, 2], table[2, 2]] == [3, 3, 4]
    assert calls == [(1, 2), (2, 2)]


def test_a_full_table_forgets_what_was_not_asked_for() -> None:
    calls: list[int] = []

    def identity(x: int) -> int:
        calls.append(x)
        return x

    table = ResultTable(identity, max_entries=8)
    for x in range(100):
        assert table[(x,)] == x
        assert table[(0,)] == 0
        assert table.num_entries <= 8
    assert calls == list(range(100))
    table[(1,)]
    assert calls[-1] == 1


def test_failures_are_not_remembered() -> None:
    table = ResultTable(lambda x: 1 // x)
    for _ in range(2):
        with pytest.raises(ZeroDivisionError):
            table[(0,)]
    assert not table


def test_none_is_a_result() -> None:
    calls = []
    table: MemoTable[None] = MemoTable()
    assert table[1] is missing
    assert table.add(1, None) is None
    assert table[1] is None
    remembered = memoize(lambda x: calls.append(x))
    assert remembered(1) is remembered(1) is None
    assert calls == [1]


def test_the_first_result_is_kept() -> None:
    table: MemoTable[Program] = MemoTable()
    first = Program(3)
    assert table.add(1, first) is first
    assert table.add(1, Program(5)) is first
    assert table[1] is first
    assert table.weight == 3


def test_what_a_key_keeps_alive_counts() -> None:
    remembered = memoize(lambda program, others: 0)
    remembered(Program(7), (Program(2), 1))
    assert total_weight() == 9


def test_clearing_all_caches_clears_tables() -> None:
    table = ResultTable(lambda x: x)
    assert table[(1,)] == 1
    clear_all()
    assert not table
    assert table.num_entries == table.weight == 0


@pytest.mark.parametrize(("one", "other"), [(0.0, -0.0), (1, True), (1, 1.0), ((0.0,), (-0.0,))])
def test_equal_arguments_that_differ(one: Any, other: Any) -> None:
    same = memoize(lambda x: repr(x))
    for x, y in ((one, other), (other, one)):
        clear_all()
        assert (same(x), same(y), same(x)) == (repr(x), repr(y), repr(x))


def test_arguments_without_a_key_are_worked_out_each_time() -> None:
    calls = []
    remembered = memoize(lambda x: calls.append(x))
    remembered([1])
    remembered([1])
    assert calls == [[1], [1]]


def test_arguments_by_name() -> None:
    remembered = memoize(lambda x, y=0: (x, y))
    assert remembered(1, y=2) == (1, 2)
    assert remembered(1, y=2) is remembered(1, y=2)
    assert remembered(1) == (1, 0)


def test_weights_are_those_of_what_is_held(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memo, "_MAX_WEIGHT", 1000)
    held: weakref.WeakSet[Program] = weakref.WeakSet()

    def make(i: int) -> Program:
        program = Program(i % 7 * 10)
        held.add(program)
        return program

    tables = [ResultTable(make, max_entries=40) for _ in range(5)]
    choose = random.Random(0)
    for _ in range(3000):
        table = choose.choice(tables)
        table[(choose.randrange(200),)]
        assert total_weight() <= 1000
        assert memo._recent_weight == sum(t._recent_weight for t in tables)
    gc.collect()
    assert total_weight() == sum(p.remembered_weight for p in held)
    for table in tables:
        results = [*table.values(), *table._older.values()]
        assert table.weight == sum(p.remembered_weight for p in results)
        assert table.num_entries == len(results) <= 40
    del results
    clear_all()
    gc.collect()
    assert total_weight() == memo._recent_weight == len(held) == 0


def test_what_is_in_use_stays_while_much_passes() -> None:
    """Work of more than half of the bound, in two tables, beside entries that are asked for."""
    made: list[Any] = []

    def make(name: Any) -> Program:
        made.append(name)
        return Program(100)

    live, passing = ResultTable(make), ResultTable(make)
    in_use = [("live", i) for i in range(20)]
    for i in range(3000):  # 300,000 equations' worth
        passing[(i,)]
        if i % 10 == 0:
            for name in in_use:
                live[(name,)]
                assert live.num_entries == 20 or i == 0
        assert total_weight() <= memo._MAX_WEIGHT
    assert len(made) == 3000 + 20
    assert passing.num_entries > 1000


def test_the_oldest_go_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memo, "_MAX_WEIGHT", 100)
    table = ResultTable(lambda i: Program(10))
    for i in range(50):
        table[(i,)]
        names = sorted(name for (name,) in (*table, *table._older))
        assert names == list(range(i - len(names) + 1, i + 1))
        assert len(names) >= min(i + 1, 6)


def test_one_result_heavier_than_the_bound_is_given_all_the_same() -> None:
    table = ResultTable(lambda i: Program(10**9))
    program = table[(1,)]
    assert program.remembered_weight == 10**9
    table[(2,)]
    table[(3,)]
    assert total_weight() <= 2 * 10**9


def _in_threads(count: int, work: Callable[[int], None]) -> None:
    failures: list[BaseException] = []
    start = threading.Barrier(count)

    def run(number: int) -> None:
        try:
            start.wait()
            work(number)
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=run, args=(i,)) for i in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures, failures[0]


def test_many_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memo, "_MAX_WEIGHT", 500)
    tables = [ResultTable(lambda i: (i, Program(i % 5)), max_entries=30) for _ in range(3)]
    remembered = memoize(lambda i: (i, Program(i % 5)), maxsize=16)

    def work(number: int) -> None:
        choose = random.Random(number)
        for step in range(2000):
            i = choose.randrange(100)
            assert choose.choice(tables)[(i,)][0] == i
            assert remembered(i)[0] == i
            if step % 500 == 499 and number == 0:
                clear_all()

    _in_threads(8, work)
    for table in tables:
        held = [*table.values(), *table._older.values()]
        assert table.weight == sum(program.remembered_weight for _, program in held)
        assert len(held) == table.num_entries <= 30
    assert total_weight() <= 500


def test_threads_agree_on_one_result() -> None:
    remembered = memoize(lambda i: Program(1))
    seen: list[list[Program]] = [[] for _ in range(8)]
    _in_threads(8, lambda number: seen[number].extend(remembered(i) for i in range(200)))
    assert all(a is b for row in seen for a, b in zip(row, seen[0], strict=True))


def test_destructors_may_use_the_tables(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memo, "_MAX_WEIGHT", 40)

    class Last(Program):
        def __del__(self) -> None:
            table[(-1,)]

    table = ResultTable(lambda i: Last(10) if i >= 0 else Program(0))
    for i in range(30):
        table[(i,)]
    assert total_weight() <= 40


def test_hashes_may_use_the_tables() -> None:
    class Nested:
        def __init__(self, depth: int) -> None:
            self.depth = depth

        def __hash__(self) -> int:
            if self.depth:
                remembered(Nested(self.depth - 1))
            return self.depth

        def __eq__(self, other: object) -> bool:
            return isinstance(other, Nested) and self.depth == other.depth

    remembered = memoize(lambda nested: nested.depth)
    assert remembered(Nested(5)) == 5
    assert remembered(Nested(5)) == 5
