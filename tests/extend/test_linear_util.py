"""Functions with transformations that run once per call."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from morphax.extend import linear_util as lu
from morphax.extend.core import DebugInfo


def function(x: float, y: float, k: float = 1.0) -> list[float]:
    return [x * y * k, x]


@lu.transformation
def scaled(scale: float, *args: Any) -> Iterator[Any]:
    outs = yield [x * scale for x in args], {}
    yield [x + 1.0 for x in outs]


@lu.transformation_with_aux
def counted(*args: Any) -> Iterator[Any]:
    outs = yield args, {}
    yield outs, len(outs)


@lu.transformation2
def scaled2(f: Any, scale: float, *args: Any) -> Any:
    return f(*[x * scale for x in args])


@lu.transformation_with_aux2
def counted2(f: Any, store: Any, label: str, *args: Any) -> Any:
    outs = f(*args)
    store.store((label, len(outs)))
    return outs


def test_plain_function() -> None:
    wrapped = lu.wrap_init(function, {"k": 3.0})
    assert wrapped.call_wrapped(1.0, 2.0) == [6.0, 1.0]
    assert wrapped.params == (("k", 3.0),)
    assert wrapped.__name__ == "function"
    assert (wrapped.transforms, wrapped.stores, wrapped.in_type) == ((), (), None)


def test_transformations_nest() -> None:
    wrapped = lu.wrap_init(function)
    assert scaled(wrapped, 10.0).call_wrapped(1.0, 2.0) == [201.0, 11.0]
    assert scaled2(scaled(wrapped, 10.0), 2.0).call_wrapped(1.0, 2.0) == [801.0, 21.0]
    assert str(scaled2(wrapped, 2.0)).splitlines()[0] == "Wrapped function:"
    assert len(scaled2(scaled(wrapped, 10.0), 2.0).transforms) == 2


def test_auxiliary_values() -> None:
    wrapped, aux = counted(lu.wrap_init(function))
    with pytest.raises(lu.StoreException, match="no value yet"):
        aux()
    assert wrapped.call_wrapped(1.0, 2.0) == [2.0, 1.0]
    assert aux() == 2
    with pytest.raises(lu.StoreException, match="a second value"):
        wrapped.call_wrapped(1.0, 2.0)
    wrapped, aux = counted2(lu.wrap_init(function), "outs")
    wrapped.call_wrapped(1.0, 2.0)
    assert aux() == ("outs", 2)


def test_equal_values_may_be_stored_again() -> None:
    wrapped, _ = counted2(lu.wrap_init(function), "outs", use_eq_store=True)
    wrapped.call_wrapped(1.0, 2.0)
    assert wrapped.call_wrapped(1.0, 3.0) == [3.0, 1.0]


def test_merged_auxiliary_values() -> None:
    first, aux1 = counted(lu.wrap_init(function))
    second, aux2 = counted(lu.wrap_init(function))
    with pytest.raises(lu.StoreException, match="0 auxiliary values"):
        lu.merge_linear_aux(aux1, aux2)
    second.call_wrapped(1.0, 2.0)
    assert lu.merge_linear_aux(aux1, aux2) == (False, 2)
    first.call_wrapped(1.0, 2.0)
    with pytest.raises(lu.StoreException, match="2 auxiliary values"):
        lu.merge_linear_aux(aux1, aux2)


def test_equal_functions_share_results() -> None:
    calls = []

    def explain(fun: Any, is_new: bool, known: Any, key: Any, seconds: float) -> None:
        calls.append(is_new)

    remembered = lu.cache(lambda fun, *args: fun.call_wrapped(*args), explain=explain)

    def run(*args: float) -> tuple[Any, Any]:
        wrapped, aux = counted(lu.wrap_init(function))
        return remembered(wrapped, *args), aux()

    assert run(1.0, 2.0) == run(1.0, 2.0) == ([2.0, 1.0], 2)
    assert run(2.0, 2.0) == ([4.0, 2.0], 2)
    assert calls == [True, False]
    remembered.evict_function(function)
    run(1.0, 2.0)
    remembered.cache_clear()
    run(1.0, 2.0)
    assert calls == [True, False, True, True]


def test_debug_info() -> None:
    info = DebugInfo("jit", "function at file.py:3", ("x", "y"), ("result",))
    wrapped = lu.wrap_init(function, debug_info=info)
    assert wrapped.debug_info is info
    assert wrapped.with_unknown_names().debug_info.arg_names is None
    other = DebugInfo("vmap", "g", None, None)
    assert wrapped.replace_debug_info(other).debug_info is other
    assert wrapped == wrapped.replace_debug_info(other)
    _, _ = counted2(wrapped, "outs", unk_names=True)
