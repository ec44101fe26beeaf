"""The records that a run takes of the large tables, chosen by their names.

Thousands of records, each tested in many ways, take longer than a run may.  A test therefore takes
one record in so many, by a hash of its own name and the record's, and of each operation at least
one (`sample`); or one combination of its parameters in so many, and each value of a parameter at
least once (``@pytest.mark.sampled(one_in)``).  Of a test with many parameters that says nothing a
run takes a third to an eighth, and at least one of each operation.  They are the same in every run,
so that a failure comes back, and others for another test.  ``MORPHAX_TEST_WHOLE=1`` takes all
(``make test-whole``), ``MORPHAX_TEST_SALT=1``, ``2`` … take others.
"""

from __future__ import annotations

import os
import re
import zlib
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar

PARTS = {40: 8, 12: 4, 6: 3}
"""From so many combinations of parameters on a run takes one in so many of a test."""

SALT = os.environ.get("MORPHAX_TEST_SALT", "")
IS_WHOLE = os.environ.get("MORPHAX_TEST_WHOLE", "") not in ("", "0")

Record = TypeVar("Record")


def label(record: Any) -> str:
    """The name of a record: the id it is tested under, or its label."""
    return str(getattr(record, "id", None) or record.label)


def operation(name: str) -> str:
    """What a record is of: its name up to the first sign that belongs to no name."""
    found = re.match(r"\w[\w.]*", name)
    return found[0] if found else name


def is_taken(name: str, test: str, one_in: int) -> bool:
    """Whether a test takes the record of this name, whatever else there is."""
    return IS_WHOLE or _order(name, test) % one_in == 0


def sample(
    records: Iterable[Record],
    test: str,
    one_in: int,
    name: Callable[[Record], str] = label,
    group: Callable[[str], str] = operation,
) -> list[Record]:
    """The records that `test` takes, in their order: at least one of each group of names."""
    records = list(records)
    first: dict[str, str] = {}
    for text in sorted(map(name, records), key=lambda text: _order(text, test)):
        first.setdefault(group(text), text)
    kept = set(first.values())
    return [r for r in records if name(r) in kept or is_taken(name(r), test, one_in)]


def few(records: Sequence[Record], count: int) -> Sequence[Record]:
    """The first records, where one is as good as another: seeds of random programs."""
    return records if IS_WHOLE else records[:count]


def left_out(items: Sequence[Any]) -> set[Any]:
    """Which of pytest's tests are combinations of parameters that this run does not take."""
    combinations: defaultdict[str, list[Any]] = defaultdict(list)
    for item in items:
        if hasattr(item, "callspec"):
            combinations[item.nodeid.partition("[")[0]].append(item)
    return {
        item
        for test, found in combinations.items()
        for item in (
            _without_their_values(found)
            if found[0].get_closest_marker("sampled")
            else _other_parts(test, found)
        )
    }


def _without_their_values(items: Sequence[Any]) -> Iterable[Any]:
    (one_in,) = items[0].get_closest_marker("sampled").args
    count = Counter(value for item in items for value in _values(item))
    wanted = {value for value, times in count.items() if times > 1}
    in_order = sorted(items, key=lambda item: _order(item.nodeid, "sampled"))
    for place, item in enumerate(in_order):
        values = wanted & _values(item)
        if place and not values and not is_taken(item.nodeid, "sampled", one_in):
            yield item
        wanted -= values


def _values(item: Any) -> set[tuple[str, int]]:
    """The values of the parameters: combinations have the same objects."""
    return {(name, id(value)) for name, value in item.callspec.params.items()}


def _other_parts(test: str, items: Sequence[Any]) -> set[Any]:
    one_in = next((part for count, part in PARTS.items() if len(items) >= count), 1)
    return set(items) - set(sample(items, test, one_in, lambda item: item.callspec.id, _kind))


def _kind(name: str) -> str:
    """The operation, without the number that tells seeds and values without a name apart."""
    return operation(name).rstrip("0123456789")


def _order(name: str, test: str) -> int:
    return zlib.crc32(f"{test} {name}{SALT}".encode())
