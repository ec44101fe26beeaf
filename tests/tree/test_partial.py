"""Partial applications as nodes of trees."""

from __future__ import annotations

import functools
import pickle
from typing import Any

import pytest

from morphax import tree
from morphax.tree_util import Partial


def collect(*args: Any, **kw: Any) -> tuple[Any, Any]:
    return args, kw


def test_arguments_are_children() -> None:
    partial = Partial(collect, 1, k=[2])
    assert tree.leaves(partial) == [1, 2]
    mapped = tree.map(str, partial)
    assert type(mapped) is Partial
    assert mapped(3, m=4) == (("1", 3), {"k": ["2"], "m": 4})


def shown(partial: Partial) -> str:
    """The text of a partial application, without the module that Python 3.13 puts before it."""
    return repr(partial).removeprefix("morphax.tree_util.")


def test_it_is_a_functools_partial() -> None:
    partial = Partial(collect, 1, k=2)
    assert isinstance(partial, functools.partial)
    assert (partial.func, partial.args, partial.keywords) == (collect, (1,), {"k": 2})
    assert shown(Partial(print, 1, k=2)) == "Partial(<built-in function print>, 1, k=2)"
    assert pickle.loads(pickle.dumps(partial))() == partial()
    assert (Partial.__module__, Partial.__qualname__) == ("morphax.tree_util", "Partial")


def test_the_function_belongs_to_the_structure() -> None:
    assert tree.structure(Partial(print, 1)) == tree.structure(Partial(print, 2))
    assert tree.structure(Partial(print, 1)) != tree.structure(Partial(len, 1))


@pytest.mark.parametrize("make", [Partial, functools.partial])
def test_another_partial_is_kept_whole(make: Any) -> None:
    inner = make(collect, 1, x=2)
    partial = Partial(inner, 3, y=4)
    assert partial(5, z=6) == ((1, 3, 5), {"x": 2, "y": 4, "z": 6})
    assert tree.leaves(partial) == [3, 4]
    assert partial.func == inner
    assert inner == partial.func
    assert hash(partial.func) == hash(inner)
    assert tree.structure(partial) == tree.structure(Partial(inner, 7, y=8))
    assert tree.structure(partial) != tree.structure(Partial(make(collect, 1, x=2), 3, y=4))
    assert tree.map(str, partial)() == ((1, "3"), {"x": 2, "y": "4"})
    assert pickle.loads(pickle.dumps(partial))() == partial()
    assert shown(partial) == f"Partial({inner!r}, 3, y=4)"


def test_names_of_parameters_are_free() -> None:
    assert Partial(collect, cls=1, self=2)() == ((), {"cls": 1, "self": 2})
    with pytest.raises(TypeError):
        Partial()
    with pytest.raises(TypeError, match="callable"):
        Partial(3)
