"""Remembered results: `ResultTable`."""

from __future__ import annotations

import pytest

from morphax.util.memo import ResultTable, clear_all


def test_results_are_worked_out_once() -> None:
    calls: list[tuple[int, int]] = []

    def add(x: int, y: int) -> int:
        calls.append((x, y))
        return x + y

    table = ResultTable(add)
    assert [table[1, 2], table[1, 2], table[2, 2]] == [3, 3, 4]
    assert calls == [(1, 2), (2, 2)]


def test_a_full_table_starts_anew() -> None:
    table = ResultTable(lambda x: x, max_entries=2)
    assert [table[(x,)] for x in range(5)] == list(range(5))
    assert list(table) == [(4,)]


def test_failures_are_not_remembered() -> None:
    table = ResultTable(lambda x: 1 // x)
    for _ in range(2):
        with pytest.raises(ZeroDivisionError):
            table[(0,)]
    assert not table


def test_clearing_all_caches_clears_tables() -> None:
    table = ResultTable(lambda x: x)
    assert table[(1,)] == 1
    clear_all()
    assert not table
