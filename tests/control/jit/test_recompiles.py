"""The line that explains why a function is traced again."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
import pytest

import morphax as jax
import morphax.numpy as jnp
from morphax.control.jit.recompiles import Seen

LOGGER = "morphax.control.jit.recompiles"


@pytest.fixture(autouse=True)
def fresh() -> Iterator[None]:
    jax.clear_caches()
    yield
    jax.clear_caches()


def shapes() -> None:
    step = jax.jit(lambda batch: batch["x"] * 2)
    for n in (32, 32, 31, 17, 5):
        step({"x": jnp.ones((n, 2)), "y": jnp.ones(n)})


def weak_types() -> None:
    f = jax.jit(lambda x, y: x + y)
    f(1.0, 2)
    f(jnp.float32(1), 2)
    f(jnp.float32(1), jnp.int32(2))


def dtypes() -> None:
    f = jax.jit(lambda x: x)
    for dtype in (jnp.int8, jnp.int16, jnp.int32):
        f(jnp.ones(2, dtype))


def static_values() -> None:
    f = partial(jax.jit, static_argnames="n")(lambda x, n, mode="a": x * n)
    for n in range(4):
        f(1.0, n)


def structures() -> None:
    f = jax.jit(lambda x, y=None: x)
    f(1.0)
    f(1.0, 2.0)
    f(1.0, (2.0,))


def options() -> None:
    f = jax.jit(lambda x: x @ x)
    for precision in ("float32", "bfloat16", "highest"):
        with jax.default_matmul_precision(precision):
            f(jnp.ones((2, 2)))


def axes() -> None:
    def f(x: Any) -> Any:
        return jax.jit(lambda y: y * 2)(x)

    for name in "abc":
        jax.vmap(f, axis_name=name)(jnp.ones(2))


def growing_list() -> None:
    xs: list[Any] = []
    for _ in range(4):
        xs.append(jnp.ones(3))
        jax.jit(lambda x: x + sum(xs))(1.0)


def long_structures() -> None:
    f = jax.jit(lambda x: sum(x))
    for n in (500, 501, 502):
        f([1.0] * n)


def unseen_state() -> None:
    for i in range(4):
        numbers = iter([i])
        jax.jit(lambda x, numbers=numbers: x)(1.0)


class Equal:
    """Unequal values of one hash."""

    def __init__(self, value: int) -> None:
        self.value = value

    def __hash__(self) -> int:
        return 0

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Equal) and self.value == other.value


def static_objects_of_one_hash() -> None:
    f = partial(jax.jit, static_argnames="n")(lambda x, n: x * n.value)
    for n in (0, 1, 0, 2):
        f(1.0, Equal(n))


LINES: dict[str, tuple[Callable[[], None], str]] = {
    "shapes": (
        shapes,
        "traced the 3rd time: argument batch['x'] was float32[31,2], now float32[17,2] "
        "(shape: pad it to a fixed one if it changes often); so did 1 more, in shape",
    ),
    "weak types": (weak_types, "argument y was ~int32[], now int32[] (weak type: "),
    "dtypes": (dtypes, "argument x was int16[2], now int32[2] (dtype: "),
    "static values": (static_values, "static argument n was 1, now 2 (each value is a program"),
    "one hash": (static_objects_of_one_hash, "static argument n was a Equal, now another one"),
    "structures": (structures, "the structure of the arguments was "),
    "long structures": (long_structures, "*],), {})), now …"),
    "options": (options, "jax_default_matmul_precision was bfloat16, now highest"),
    "list": (
        growing_list,
        "the function is a new object at each call and closes over xs, which was a list of 2 "
        "items, now a list of 3 items (define and jit it once",
    ),
    "unseen state": (unseen_state, "a list_iterator, whose state cannot be seen"),
}


@pytest.mark.parametrize(("run", "text"), LINES.values(), ids=LINES.keys())
def test_the_third_trace_is_explained_once(
    run: Callable[[], None], text: str, caplog: pytest.LogCaptureFixture
) -> None:
    run()
    (record,) = [r for r in caplog.records if r.name == LOGGER]
    assert record.levelno == logging.WARNING
    assert text in record.getMessage()
    assert "\n" not in record.getMessage()
    assert __file__ in record.getMessage()


def test_two_traces_are_nothing_to_speak_of(caplog: pytest.LogCaptureFixture) -> None:
    f = jax.jit(lambda x: x)
    for n in (1, 2, 1, 2, 1):
        f(jnp.ones(n))
    assert not caplog.records


def test_functions_made_anew_that_are_the_same_need_no_line(
    caplog: pytest.LogCaptureFixture,
) -> None:
    for _ in range(5):
        jax.jit(lambda x: x * 2)(1.0)
    assert not caplog.records


def test_programs_of_one_helper_need_no_line(caplog: pytest.LogCaptureFixture) -> None:
    def repeated(f: Any, x: Any) -> None:
        step = jax.jit(lambda x: f(x))
        for _ in range(3):
            x = step(x)

    for n, f in ((1, jnp.sin), (1, jnp.cos), (2, jnp.exp), (2, jnp.tanh), (3, jnp.sqrt)):
        repeated(f, jnp.ones(n))
    assert not caplog.records
    repeated(jnp.abs, jnp.ones(1))
    assert "closes over f" in caplog.records[0].getMessage()


def test_traces_inside_programs_do_not_count(caplog: pytest.LogCaptureFixture) -> None:
    dense = jax.jit(lambda x: x * 2)

    @jax.jit
    def model() -> Any:
        return [dense(jnp.ones(n)) for n in range(6)]

    model()
    assert not caplog.records


def test_warnings_as_errors_do_not_fail() -> None:
    shapes()  # the suite runs with them


def test_each_miss_on_request(caplog: pytest.LogCaptureFixture) -> None:
    f = jax.jit(lambda x: x)
    with jax.explain_cache_misses(True):
        f(1.0)
        f(1.0)
        f(1)
    told = [r.getMessage() for r in caplog.records if r.name == LOGGER]
    assert [text.partition(": ")[2] for text in told] == [
        "it was not traced before",
        "argument x was ~float32[], now ~int32[] (dtype: convert it before the call)",
    ]


def test_no_tracing() -> None:
    f = jax.jit(lambda x: x)
    f(jnp.ones(2))
    with jax.no_tracing(True):
        f(np.ones(2, np.float32))
        with pytest.raises(RuntimeError) as caught:
            f(jnp.ones(3))
    told = str(caught.value)
    assert "argument x was float32[2], now float32[3]" in told
    assert "jax_no_tracing is on" in told
    assert f(jnp.ones(3)).shape == (3,)


def test_user_contexts_are_named(caplog: pytest.LogCaptureFixture) -> None:
    mode = jax.make_user_context("train")
    f = jax.jit(lambda x: x)
    for value in ("a", "b", "c"):
        with mode(value):
            f(1.0)
    assert "user contexts was" in caplog.text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (3, "3"),
        ("x" * 100, "'" + "x" * 39),
        ([1, 2], "a list of 2 items"),
        ({"a": 1}, "a dict of 1 items"),
        (jnp.ones(3), "an array float32[3]"),
        (object(), "a object"),
    ],
)
def test_values_of_the_user_are_kept_as_texts(value: Any, text: str) -> None:
    seen = Seen.of(value)
    assert seen.text == text
    assert seen == Seen.of(value)
    assert not any(x is value for x in seen if not isinstance(value, (int, str)))
