"""Texts in modules are written as JSON writes them."""

from __future__ import annotations

import json

import pytest

from morphax.engines.xla.literals import quoted


@pytest.mark.parametrize("text", ["", 'a "name"', "\\", *map(chr, range(33)), "\x7f\xa0é\u2028😀"])
def test_quoted_texts_are_those_of_json(text: str) -> None:
    assert quoted(text) == json.dumps(text, ensure_ascii=False)
