"""Functions whose division among devices the user defines, against the functions themselves."""

from __future__ import annotations

import gc
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import morphax as jax
import morphax.numpy as jnp
from morphax import NamedSharding, P
from morphax.experimental.custom_partitioning import (
    BATCHING,
    ArrayMapping,
    SdyShardingRule,
    custom_partitioning,
)
from morphax.sharding import Mesh

MESH = Mesh(np.array(jax.devices("cpu")[:4]).reshape(2, 2), ("x", "y"))
VALUES = np.arange(32.0, dtype=np.float32).reshape(4, 8)


def over(*spec: Any) -> NamedSharding:
    return NamedSharding(MESH, P(*spec))


X = jax.device_put(VALUES, over("x", "y"))


def divided(
    fun: Callable[..., Any],
    rule: Any,
    parts: Callable[..., Any] | None = None,
    *,
    calls: list[Any] | None = None,
    wanted: tuple[Any, Any] | None = None,
    static: Any = (),
    **keywords: Any,
) -> Any:
    """`fun` whose parts `parts` computes, split as the compiler proposes, or as `wanted`."""
    function = custom_partitioning(fun, static_argnums=static)

    def partition(*args: Any) -> Any:
        if calls is not None:
            calls.append(args)
        *_, mesh, arguments, result = args
        proposed = jax.tree.map(lambda s: s.sharding, (result, arguments))
        return (mesh, parts or fun, *(wanted or proposed))

    assert function.def_partition(partition, sharding_rule=rule, **keywords) is partition
    return function


def test_a_function_of_parts() -> None:
    calls: list[Any] = []
    f = divided(jnp.sin, "i j -> i j", calls=calls)
    y = jax.jit(f)(X)
    assert y.sharding is X.sharding
    np.testing.assert_allclose(y, np.sin(VALUES), rtol=1e-6)
    ((mesh, (argument,), result),) = calls
    assert mesh is MESH
    assert argument.shape == (4, 8) == result.shape
    assert argument.dtype == np.float32
    assert argument.sharding is X.sharding is result.sharding


def test_collectives_over_the_axes_of_the_mesh() -> None:
    f = divided(
        lambda x, y: x @ y.T,
        "i k, j k -> i j",
        lambda x, y: jax.lax.psum(x @ y.T, "y"),
        wanted=(over("x"), (over("x", "y"), over(None, "y"))),
        reduction_factors=("k",),
    )
    compiled = jax.jit(f).lower(X, X).compile()
    assert "all-reduce" in compiled.as_text()
    y = compiled(X, X)
    assert y.sharding.spec == P("x")
    np.testing.assert_allclose(y, VALUES @ VALUES.T)


def test_collectives_of_several_calls_do_not_meet() -> None:
    """They run at the same time, and in other groups than those around them."""

    def summed(axis: str) -> Any:
        return divided(
            lambda x: 2 * x,
            "i j -> i j",
            lambda x: jax.lax.psum(x, axis),
            wanted=(over(), (over(),)),
        )

    @jax.jit
    def f(x: Any, z: Any) -> Any:
        return [summed("x")(x), summed("y")(z), summed("x")(z), (x * z).sum()]

    z = jax.device_put(VALUES[::-1].copy(), over("y"))
    for _ in range(20):
        one, two, three, total = f(X, z)
        np.testing.assert_array_equal(one, 2 * VALUES)
        np.testing.assert_array_equal(two, 2 * VALUES[::-1])
        np.testing.assert_array_equal(three, 2 * VALUES[::-1])
        np.testing.assert_allclose(total, (VALUES * VALUES[::-1]).sum())


def test_the_mesh_may_be_another_one() -> None:
    row = Mesh(np.array(jax.devices("cpu")[:4]), ("z",))
    split = NamedSharding(row, P("z"))
    f = custom_partitioning(lambda x: 4 * x)
    f.def_partition(
        lambda *_: (row, lambda x: jax.lax.psum(x, "z") / x * x, split, (split,)),
        sharding_rule="i j -> i j",
    )
    ones = jax.device_put(np.ones((4, 8), np.float32), over("x"))
    np.testing.assert_array_equal(jax.jit(f)(ones), np.full((4, 8), 4.0))


@pytest.mark.parametrize("structure", ["tuple", "dict"])
def test_trees(structure: str) -> None:
    def f(x: Any) -> Any:
        a, b = jnp.sin(x["u"]), x["u"].sum(1)
        return (a, b) if structure == "tuple" else {"a": a, "b": b}

    wanted: Any = ((over("x"), over("x")), ({"u": over("x")},))
    if structure == "dict":
        wanted = ({"a": over("x"), "b": over("x")}, wanted[1])
    rule = SdyShardingRule(
        (ArrayMapping(BATCHING, "j"),),
        (ArrayMapping("i", "j"), ArrayMapping("i")),
        need_replication_factors=("j",),
    )
    given = jax.jit(divided(f, rule, wanted=wanted))({"u": X})
    for a, b in zip(jax.tree.leaves(given), jax.tree.leaves(f({"u": VALUES})), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-5)


def test_splits_that_the_user_asks_for_are_made() -> None:
    f = divided(lambda x: jnp.cumsum(x), "i -> i", wanted=(over(), (over(),)))
    x = jax.device_put(VALUES[0], over(("x", "y")))
    np.testing.assert_array_equal(jax.jit(f)(x), np.cumsum(VALUES[0]))
    assert "all-gather" in jax.jit(f).lower(x).compile().as_text()


def test_static_and_named_arguments() -> None:
    calls: list[Any] = []
    f = divided(
        lambda x, n, y: n * x + y,
        lambda n, mesh, operands, results: f"i j, i j -> {'i j' if n == 3 else '?'}",
        lambda x, y: 3 * x + y,
        calls=calls,
        static=1,
    )
    np.testing.assert_array_equal(jax.jit(lambda x: f(x, 3, y=x))(X), 4 * VALUES)
    assert calls[0][0] == 3
    with pytest.raises(TypeError, match="hashed"):
        f(X, [3], X)


@pytest.mark.parametrize("where", ["eagerly", "on one device", "nested", "in a loop"])
def test_where_it_is_called(where: str) -> None:
    calls: list[Any] = []
    f = divided(lambda x: x + 1, "... -> ...", calls=calls)
    if where == "eagerly":
        np.testing.assert_array_equal(f(X), VALUES + 1)
        assert f(X).sharding is X.sharding
    elif where == "on one device":
        np.testing.assert_array_equal(jax.jit(f)(VALUES), VALUES + 1)
        assert "custom_call" not in jax.jit(f).lower(VALUES).as_text()
    elif where == "nested":
        np.testing.assert_array_equal(jax.jit(lambda x: jax.jit(f)(f(x)))(X), VALUES + 2)
    else:
        body = jax.jit(lambda x: jax.lax.fori_loop(0, 3, lambda _, x: f(x), x))
        np.testing.assert_array_equal(body(X), VALUES + 3)
    assert bool(calls) == (where in ("nested", "in a loop"))


def test_the_operation_lives_as_long_as_the_lowered_program() -> None:
    lowered = jax.jit(divided(jnp.sin, "i j -> i j")).lower(X)
    gc.collect()
    np.testing.assert_allclose(lowered.compile()(X), np.sin(VALUES), rtol=1e-6)


def test_shardings_in_the_words_of_the_compiler() -> None:
    calls: list[Any] = []
    f = divided(jnp.sin, "i j -> i j", calls=calls, decode_shardings=False)
    np.testing.assert_allclose(jax.jit(f)(X), np.sin(VALUES), rtol=1e-6)
    sharding = calls[0][1][0].sharding
    assert not isinstance(sharding, NamedSharding)
    assert sharding.is_equivalent_to(X.sharding, 2)


def test_parts_keep_the_settings_of_the_program() -> None:
    with jax.enable_x64(True):
        x = jax.device_put(VALUES.astype(np.float64), over("x"))
        f = divided(lambda x: x + np.pi, "i j -> i j")
        assert jax.jit(f)(x).dtype == np.float64


def test_derivatives_and_batches_are_refused() -> None:
    f = divided(jnp.sin, "i j -> i j")
    for transformed in (jax.grad(lambda x: f(x).sum()), jax.vmap(f)):
        with pytest.raises(NotImplementedError, match="custom_partitioning"):
            transformed(VALUES)


WRONG: dict[str, tuple[dict[str, Any], type[Exception], str]] = {
    "shape": ({"parts": lambda x: x[:1]}, ValueError, "returns float32"),
    "dtype": ({"parts": lambda x: x.astype(int)}, ValueError, "returns int32"),
    "number": ({"parts": lambda x: (x, x)}, ValueError, "returns"),
    "exception": ({"parts": lambda x: 1 / 0}, ZeroDivisionError, "division by zero"),
    "structure": ({"wanted": (over("x"), over("x"))}, ValueError, "structure"),
    "spec": ({"wanted": (P("x"), (P("x"),))}, ValueError, "sharding over the devices"),
    "fewer devices": (
        {"wanted": (NamedSharding(Mesh(jax.devices("cpu")[:2], "z"), P("z")), (over("x"),))},
        ValueError,
        "sharding over the devices",
    ),
    "callback": ({"parts": lambda x: jax.debug.print("{}", x) or x}, ValueError, "calls Python"),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_partitions(name: str) -> None:
    keywords, error, text = WRONG[name]
    with pytest.raises(error, match=text):
        jax.jit(divided(lambda x: x + 0, "i j -> i j", **keywords))(X)


OTHER = Mesh(np.array(jax.devices("cpu")[:2]), ("z",))
DEFINITIONS: list[tuple[dict[str, Any], type[Exception], str]] = [
    ({"partition": lambda *_: 3, "sharding_rule": "i j -> i j"}, TypeError, "returned 3"),
    (
        {"partition": lambda m, a, r: (OTHER, abs, r, a), "sharding_rule": "i j -> i j"},
        ValueError,
        "mesh of the devices",
    ),
    (
        {"partition": lambda *_: 3, "infer_sharding_from_operands": lambda *_: None},
        NotImplementedError,
        "sharding_rule",
    ),
    ({"partition": lambda *_: 3, "sharding_rule": lambda *_: 5}, ValueError, "returned 5"),
    ({"partition": None}, TypeError, "argument partition"),
]


@pytest.mark.parametrize("number", range(len(DEFINITIONS)))
def test_wrong_definitions(number: int) -> None:
    keywords, error, text = DEFINITIONS[number]
    f = custom_partitioning(lambda x: x + 0)

    def defined_and_called() -> None:
        f.def_partition(**keywords)
        jax.jit(f)(X)

    with pytest.raises(error, match=text):
        defined_and_called()


def test_wrong_calls() -> None:
    with pytest.raises(AttributeError, match="before def_partition"):
        custom_partitioning(abs)(X)
    with pytest.raises(TypeError, match="argument fun"):
        custom_partitioning(3)  # type: ignore[arg-type]
    with pytest.raises(IndexError, match="static_argnums"):
        divided(lambda x: x, "i j -> i j", static=3)(X)
    keys = jax.device_put(jax.random.split(jax.random.key(0, impl="rbg"), 4), over("x"))
    with pytest.raises(TypeError, match="keys"):
        jax.jit(divided(lambda x: x, "i -> i"))(keys)


def test_arrays_of_keys() -> None:
    keys = jax.random.split(jax.random.key(0), 4)
    f = jax.vmap(lambda key: jax.random.fold_in(key, 7))
    given = jax.jit(divided(f, "i -> i"))(jax.device_put(keys, over("x")))
    assert (given == f(keys)).all()


@pytest.mark.parametrize("names", [{"x", "y"}, {"x"}], ids=["both", "x"])
def test_members_call_the_function_itself(names: set[str]) -> None:
    calls: list[Any] = []
    f = divided(jnp.sin, "i j -> i j", calls=calls)
    mapped = jax.shard_map(f, mesh=MESH, in_specs=P("x"), out_specs=P("x"), axis_names=names)
    np.testing.assert_allclose(jax.jit(mapped)(X), np.sin(VALUES), rtol=1e-6)
    assert calls == []
