"""`jax.api_util`: flattening of functions and arguments for writers of transformations."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from morphax import api_util, tree
from morphax import numpy as jnp
from morphax.extend import linear_util

PAIR = tree.structure((1, (2, 3)))
ARGUMENTS = tree.structure(((1, (2, 3)), {"b": [4, 5], "a": 6}))


def wrapped(f: Callable[..., Any]) -> linear_util.WrappedFun:
    return linear_util.wrap_init(f, debug_info=api_util.debug_info("test", f, (), {}))


def test_flatten_fun() -> None:
    flat, out_tree = api_util.flatten_fun(
        wrapped(lambda x, y, *, z: {"sum": x + y[0] * z}), tree.structure(((1, (2,)), {"z": 3}))
    )
    assert flat.call_wrapped(1, 2, 3) == [7]
    assert out_tree() == tree.structure({"sum": 0})


def test_flatten_fun_nokwargs() -> None:
    flat, out_tree = api_util.flatten_fun_nokwargs(wrapped(lambda x, y: (y, x)), PAIR)
    assert flat.call_wrapped(1, 2, 3) == [2, 3, 1]
    assert out_tree() == tree.structure(((2, 3), 1))


@pytest.mark.parametrize(
    ("kept", "dynamic"), [(0, (1,)), ((0, 2), (1, 3)), ((2, 0), (1, 3)), (-1, (3,)), ((), ())]
)
def test_argnums_partial(kept: Any, dynamic: tuple[int, ...]) -> None:
    f, args = api_util.argnums_partial(wrapped(lambda *xs: xs), kept, (1, 2, 3))
    assert args == dynamic
    assert f.call_wrapped(*args) == (1, 2, 3)
    doubled = f.call_wrapped(*[10 * x for x in args])
    assert doubled == tuple(10 * x if x in args else x for x in (1, 2, 3))


def test_fixed_arguments_that_cannot_be_hashed() -> None:
    f, args = api_util.argnums_partial(
        wrapped(lambda *xs: xs), 0, (1, [2]), require_static_args_hashable=False
    )
    assert f.call_wrapped(*args) == (1, [2])


@pytest.mark.parametrize(
    ("numbers", "names", "expected"),
    [
        ((0,), (), (True, False, False, False, False, False)),
        ((1,), ("b",), (False, True, True, False, True, True)),
        ((), ("a", "c"), (False, False, False, True, False, False)),
        ((9,), (), (False,) * 6),
    ],
)
def test_donation_vector(numbers: Any, names: Any, expected: tuple[bool, ...]) -> None:
    assert api_util.donation_vector(numbers, names, ARGUMENTS) == expected


def test_donation_without_keywords() -> None:
    assert api_util.donation_vector((1,), (), PAIR, kws=False) == (False, True, True)


@pytest.mark.parametrize(
    ("axes", "expected"),
    [(0, [0, 0, 0]), ((0, None), [0, None, None]), ((0, (1, 2)), [0, 1, 2]), (None, [None] * 3)],
)
def test_flatten_axes(axes: Any, expected: list[Any]) -> None:
    assert api_util.flatten_axes("in_axes", PAIR, axes) == expected


def test_axes_of_keywords() -> None:
    assert api_util.flatten_axes("in_axes", ARGUMENTS, (0, 1), kws=True) == [0] * 3 + [1] * 3


@pytest.mark.parametrize(
    ("x", "text"),
    [(2.0, "~float32[]"), (np.ones((2, 3), np.int8), "int8[2,3]"), (jnp.ones(2), "float32[2]")],
)
def test_shaped_abstractify(x: Any, text: str) -> None:
    assert str(api_util.shaped_abstractify(x)) == text


def function(x: Any, y: Any, *z: Any, k: int = 1, **w: Any) -> Any:
    return x


def test_debug_info() -> None:
    info = api_util.debug_info(
        "jit",
        function,
        (1, {"q": 2}, 3, 4),
        {"k": 1, "m": 2},
        static_argnums=(2,),
        static_argnames=("k",),
        result_paths_thunk=lambda: ("result",),
    )
    assert (info.traced_for, info.func_name) == ("jit", "function")
    assert info.arg_names == ("x", "y['q']", "z[1]", "w['m']")
    assert info.result_paths == ("result",)
    other = api_util.debug_info("jit", function, (), {}, sourceinfo="f at there.py:3")
    assert (other.func_filename, other.func_lineno) == ("there.py", 3)


REFUSED: dict[str, tuple[Callable[[], Any], str]] = {
    "lengths": (lambda: api_util.safe_map(pow, [1, 2], [3]), r"lengths \[2, 1\]"),
    "donated and static": (
        lambda: api_util.rebase_donate_argnums((1,), (1,)),
        r"\[1\] as donated and as static",
    ),
    "no prefix": (
        lambda: api_util.flatten_axes("in_axes", PAIR, (0, 1, 2), tupled_args=True),
        r"in_axes[\s\S]*the tuple of arguments is a tuple of length 2",
    ),
    "no such argument": (
        lambda: api_util.argnums_partial(wrapped(function), (5,), (1, 2)),
        r"5 for 2 arguments[\s\S]*\[-2, 2\)",
    ),
    "unhashable": (
        lambda: api_util.argnums_partial(wrapped(function), 0, (1, [2])),
        r"function function[\s\S]*\[2\] of type list",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refusals(name: str) -> None:
    call, text = REFUSED[name]
    with pytest.raises(ValueError, match=text):
        call()
