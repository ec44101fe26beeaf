"""The names of `morphax.tree_util` are those of `morphax.tree`."""

from __future__ import annotations

import pytest

from morphax import tree, tree_util


@pytest.mark.parametrize("name", tree_util.__all__)
def test_one_object_under_two_names(name: str) -> None:
    assert getattr(tree_util, name) is getattr(tree, name.removeprefix("tree_"))
