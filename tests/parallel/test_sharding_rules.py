"""Rules of factors: what they mean to the compiler, and what is no rule."""

from __future__ import annotations

from typing import Any

import pytest

from morphax.experimental.custom_partitioning import (
    BATCHING,
    ArrayMapping,
    CompoundFactor,
    SdyShardingRule,
)
from morphax.parallel.sharding_rules import parsed_rule, rule_text

MANY = " ".join([f"f{i}" for i in range(20)])
# Rule, sizes of factors and what is special, shapes of operands and of results, meaning.
MEANT: list[tuple[str, dict[str, Any], Any, Any, str]] = [
    ("i j, i j -> i j", {}, [(4, 8)] * 2, [(4, 8)], "([i, j], [i, j])->([i, j]) {i=4, j=8}"),
    ("ij,ij->ij", {}, [(4,)] * 2, [(4,)], "([i], [i])->([i]) {i=4}"),
    ("... -> ...", {}, [(4, 8)], [(4, 8)], "([i, j])->([i, j]) {i=4, j=8}"),
    ("...i -> ... i", {}, [(4, 8)], [(4, 8)], "([i, j])->([i, j]) {i=4, j=8}"),
    (
        *("...0 i, ...1 j -> ...0 i", {}, [(4, 8), (2, 2, 2)], [(4, 8)]),
        "([i, j], [k, l, m])->([i, j]) {i=4, j=8, k=2, l=2, m=2}",
    ),
    ("a_1 B2, -> a_1", {}, [(4, 8), ()], [(4,)], "([i, j], [])->([i]) {i=4, j=8}"),
    ("->", {}, [()], [()], "([])->([])"),
    ("i j -> i j, i", {}, [(4, 8)], [(4, 8), (4,)], "([i, j])->([i, j], [i]) {i=4, j=8}"),
    ("(a b) j -> a b j", {}, [(4, 8)], [(2, 2, 8)], "([ij, k])->([i, j, k]) {i=2, j=2, k=8}"),
    (
        *("(a b) j -> (a b) j", {"a": 2, "b": 2}, [(4, 8)], [(4, 8)]),
        "([ij, k])->([ij, k]) {i=2, j=2, k=8}",
    ),
    # What is stretched is split as far as the smaller size goes.
    ("i, i -> i", {}, [(1,), (8,)], [(8,)], "([i], [i])->([i]) {i=1}"),
    (
        *("i j, j k -> i k", {"reduction_factors": ("j",)}, [(4, 8), (8, 2)], [(4, 2)]),
        "([i, j], [j, k])->([i, k]) {i=4, j=8, k=2} reduction={j}",
    ),
    (
        "i j, j k -> i k",
        {"need_replication_factors": ("k", "i"), "permutation_factors": ("j",)},
        *([(4, 8), (8, 2)], [(4, 2)]),
        "([i, j], [j, k])->([i, k]) {i=4, j=8, k=2} need_replication={i, k} permutation={j}",
    ),
    (
        *(f"{MANY} -> f19", {}, [(1,) * 20], [(1,)]),
        "([i, j, k, l, m, n, o, p, q, r, s, t, u, v, w, x, y, z, z_1, z_2])->([z_2]) "
        "{i=1, j=1, k=1, l=1, m=1, n=1, o=1, p=1, q=1, r=1, s=1, t=1, u=1, v=1, w=1, x=1, y=1, z=1,"
        " z_1=1, z_2=1}",
    ),
]


def rule_of(text: str, keywords: dict[str, Any]) -> SdyShardingRule:
    special = {name: x for name, x in keywords.items() if name.endswith("_factors")}
    return parsed_rule(text, special, {n: x for n, x in keywords.items() if n not in special})


@pytest.mark.parametrize("case", MEANT, ids=lambda case: case[0][:20])
def test_what_a_rule_means(case: Any) -> None:
    text, keywords, operands, results, expected = case
    rule = rule_of(text, keywords)
    assert rule_text(rule, operands, results) == f"#sdy.op_sharding_rule<{expected}, custom>"


@pytest.mark.parametrize(
    "text",
    [
        *("i j", "", "i -> i -> i", "… i -> … i", "i ... -> i", "i-j -> i", "1i -> 1i", "_ -> _"),
        *("i (j -> i j", "i j) -> i", "((i k) m) -> i", "() j -> j", "(a) j -> a j"),
        *("(a b) -> (a b)", "(... a) -> a", "i . j -> i"),
    ],
)
def test_what_is_no_rule(text: str) -> None:
    with pytest.raises(ValueError, match="sharding rule"):
        rule_of(text, {})


@pytest.mark.parametrize(
    ("text", "keywords"),
    [
        ("(a b) -> (a b)", {"a": 2}),
        ("(a b) -> (a b)", {"a": 2, "b": -3}),
        ("i j -> i j", {"i": 4}),
        ("i j -> i j", {"z": 4}),
        ("i j -> i j", {"reduction_factors": ("z",)}),
        ("i j -> i j", {"reduction_factors": "i"}),
        ("i j -> i j", {"reduction_factors": ("i",), "permutation_factors": ("i",)}),
    ],
)
def test_wrong_factors(text: str, keywords: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="sharding rule"):
        rule_of(text, keywords)


@pytest.mark.parametrize(
    ("text", "keywords", "operands", "results"),
    [
        ("i -> i", {}, [(4, 8)], [(4, 8)]),
        ("i j -> i j", {}, [(4,)], [(4,)]),
        ("i, j -> i", {}, [(4,)], [(4,)]),
        ("i -> i, i", {}, [(4,)], [(4,)]),
        ("i i -> i", {}, [(4, 4)], [(4,)]),
        ("... i j -> i", {}, [(4,)], [(4,)]),
        ("..., ... -> ...", {}, [(4, 8), (8,)], [(4, 8)]),
        ("(a b) -> (a b)", {"a": 2, "b": 3}, [(4,)], [(4,)]),
    ],
)
def test_rules_for_other_arrays(text: str, keywords: Any, operands: Any, results: Any) -> None:
    with pytest.raises(ValueError, match="sharding rule"):
        rule_text(rule_of(text, keywords), operands, results)


def test_wrong_objects() -> None:
    with pytest.raises(TypeError, match="3 of type int"):
        parsed_rule(3, {}, {})
    wrong: list[Any] = [("i", BATCHING), (BATCHING, BATCHING), (1,), ("",), ("...",), ("…i",)]
    for axes in wrong:
        with pytest.raises(ValueError, match="as a factor"):
            ArrayMapping(*axes)
    few: list[Any] = [(), ("a",), ("a", 1), (BATCHING, "a"), (("a", "b"), "c")]
    for factors in few:
        with pytest.raises(ValueError, match="sharding rule"):
            CompoundFactor(*factors)
    assert ArrayMapping(f"{BATCHING}0", CompoundFactor("i", "j")) == ("…0", ("i", "j"))
