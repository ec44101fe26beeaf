"""Arrays whose elements do not lie row by row in memory have the numbers that others have.

A wrong reader of their memory would be silent, so everything that reads it is asked here, and a
sample of all records of the case tables.
"""

from __future__ import annotations

import copy
import io
import pickle
import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import morphax as jax
import morphax.numpy as jnp
from morphax import lax
from morphax.experimental.layout import Format, Layout, with_layout_constraint
from morphax.experimental.serialize_executable import deserialize_and_load, serialize
from morphax.runtime.places import Places
from tests.cases.op_case import OpCase
from tests.core.test_completeness import all_cases
from tests.sampling import is_taken

X = np.arange(24, dtype=np.float32).reshape(4, 6)
COLUMNS, ROWS = Layout((1, 0), ()), Layout((0, 1), ())
HERE = jax.sharding.SingleDeviceSharding(jax.devices("cpu")[0])
MESH = jax.make_mesh((2, 2), ("x", "y"), axis_types=(jax.sharding.AxisType.Auto,) * 2)
SPLIT = jax.NamedSharding(MESH, jax.P("x", "y"))
WHOLE = jax.NamedSharding(MESH, jax.P())


def columns(x: Any = X, sharding: Any = HERE) -> Any:
    """The numbers of `x`, the last axis being the one with the largest stride."""
    order = Layout(tuple(reversed(range(np.ndim(x)))))
    return jax.device_put(x, Format(order, sharding))


def layout(x: Any) -> Any:
    return x.format.layout


def without_jit(function: Any, x: Any) -> Any:
    with jax.disable_jit():
        return function(x)


READERS: dict[str, Callable[[Any], Any]] = {
    "asarray": np.asarray,
    "array": lambda x: np.array(x, copy=True),
    "buffer protocol": lambda x: np.frombuffer(memoryview(x).tobytes(), np.float32).reshape(4, 6),
    "tobytes": lambda x: np.frombuffer(x.tobytes(), np.float32).reshape(4, 6),
    "columns as bytes": lambda x: np.frombuffer(x.tobytes("F"), np.float32).reshape(6, 4).T,
    "tolist": lambda x: np.array(x.tolist(), np.float32),
    "item": lambda x: np.array([[x.item(i, j) for j in range(6)] for i in range(4)], np.float32),
    "flat item": lambda x: np.array([x.item(i) for i in range(24)], np.float32).reshape(4, 6),
    "rows": lambda x: np.stack([np.asarray(row) for row in x]),
    "index": lambda x: np.stack([x[:, i] for i in range(6)], 1),
    "dlpack": np.from_dlpack,
    "jax.dlpack": jax.dlpack.from_dlpack,
    "pickle": lambda x: pickle.loads(pickle.dumps(x)),
    "copy": copy.copy,
    "deep copy": copy.deepcopy,
    "x.copy": lambda x: x.copy(),
    "jnp.array": jnp.array,
    "jnp.asarray": jnp.asarray,
    "device_get": jax.device_get,
    "device_put": jax.device_put,
    "put there": lambda x: jax.device_put(x, HERE),
    "copied there": lambda x: jax.device_put(x, HERE, may_alias=False),
    "donated": lambda x: jax.device_put(x, HERE, donate=True),
    "on another device": lambda x: jax.device_put(x, jax.devices()[1]),
    "on all devices": lambda x: jax.device_put(x, SPLIT.update(spec=jax.P("x"))),
    "row by row": lambda x: jax.device_put(x, Format(ROWS, HERE)),
    "open": lambda x: jax.device_put(x, Format(None, HERE)),
    "to_device": lambda x: x.to_device(jax.devices()[2]),
    "shards": lambda x: x.addressable_shards[0].data,
    "assembled": lambda x: jax.make_array_from_single_device_arrays((4, 6), HERE, [x]),
    "text": lambda x: np.array(re.findall(r"[0-9.]+", str(x)), np.float32).reshape(4, 6),
    "npy": lambda x: (np.save(f := io.BytesIO(), x), f.seek(0), np.load(f))[2],
    "jit": jax.jit(lambda x: x + 0),
    "jit of nothing": jax.jit(lambda x: x),
    "not used": lambda x: jax.jit(lambda a, b: b, keep_unused=True)(x, x),
    "vmap": jax.vmap(lambda x: x * 1),
    "jvp": lambda x: jax.jvp(lambda x: x * x, (x,), (x / x.max(),))[0] ** 0.5,
    "grad": lambda x: jax.grad(lambda x: (x * x).sum() / 2)(x),
    "scan": lambda x: lax.scan(lambda c, a: (c, a), 0, x)[1],
    "while": lambda x: lax.fori_loop(0, 2, lambda i, a: a + 1, x) - 2,
    "cond": lambda x: lax.cond(True, lambda a: a, lambda a: a + 1, x),
    "checkpoint": jax.checkpoint(lambda x: x * 1),
    "callback": lambda x: jax.pure_callback(np.asarray, x, x),
    "reshape": lambda x: x.reshape(-1).reshape(4, 6),
    "ravel": lambda x: jnp.concatenate([x.ravel()[:12], x.ravel()[12:]]).reshape(4, 6),
    "transposed": lambda x: x.T.T,
    "view": lambda x: x.view(np.int32).view(np.float32),
    "at": lambda x: x.at[0, 0].set(0),
    "full_like": lambda x: jnp.zeros_like(x) + x,
    "with numpy": lambda x: np.add(x, 0),
    "closure": lambda x: jax.jit(lambda: x + 0)(),
    "constant": lambda x: jax.jit(lambda y: x * y)(1.0),
    "sorted": lambda x: jnp.sort(x, axis=1),
    "matmul": lambda x: x @ np.eye(6, dtype=np.float32),
    "reference": lambda x: jax.new_ref(x)[...],
    "shard_map": lambda x: jax.shard_map(
        lambda a: a + 0, mesh=MESH, in_specs=jax.P("x"), out_specs=jax.P("x")
    )(np.asarray(x)),
    "without jit": lambda x: without_jit(jax.jit(lambda x: x + 0), x),
}


@pytest.mark.parametrize("name", READERS)
def test_every_reader_sees_the_numbers(name: str) -> None:
    x = columns()
    assert layout(x) == COLUMNS
    np.testing.assert_array_equal(READERS[name](x), X)
    if name != "donated":
        np.testing.assert_array_equal(READERS[name](x), X)
        np.testing.assert_array_equal(x, X)


RECORDS = [c for c in all_cases() if is_taken(c.label, "order", 20)]


@pytest.mark.parametrize("case", RECORDS, ids=lambda c: c.label)
def test_operations_do_not_see_the_order(case: OpCase) -> None:
    operands = case.draw(case.dtypes[0])
    for run in (case.function, jax.jit(case.function)):
        with jax.enable_x64(True):
            given = [columns(x) if np.ndim(x) > 1 else x for x in operands]
            results, expected = jax.tree.leaves(run(*given)), jax.tree.leaves(run(*operands))
        for result, wanted in zip(results, expected, strict=True):
            assert result.dtype == wanted.dtype
            np.testing.assert_allclose(
                np.asarray(result, np.complex128), np.asarray(wanted, np.complex128), 1e-5, 1e-6
            )


DTYPES = ["bool", "int8", "uint16", "int64", "float16", "bfloat16", "complex64", "float8_e5m2"]


@pytest.mark.parametrize("dtype", [*DTYPES, "int4"])
def test_of_every_dtype(dtype: str) -> None:
    with jax.enable_x64(True):
        values = jnp.arange(30).reshape(2, 3, 5).astype(dtype)
        x = jax.device_put(values, Format(Layout((1, 2, 0)), HERE))
        assert layout(x).major_to_minor == (1, 2, 0)
        np.testing.assert_array_equal(np.asarray(x), np.asarray(values))
        again = jax.jit(lambda x: x, out_shardings=Format(Layout((2, 1, 0)), HERE))(x)
        assert layout(again).major_to_minor == (2, 1, 0)
        np.testing.assert_array_equal(np.asarray(again), np.asarray(values))


def test_keys_and_small_arrays() -> None:
    keys = jax.random.split(jax.random.key(0), (2, 3))
    moved = columns(keys)
    np.testing.assert_array_equal(jax.random.key_data(moved), jax.random.key_data(keys))
    np.testing.assert_array_equal(jax.random.uniform(moved[1, 2]), jax.random.uniform(keys[1, 2]))
    for shape in ((), (3,), (0, 2), (1, 1), (5, 1), (1, 5)):
        x = np.ones(shape, np.float32)
        np.testing.assert_array_equal(columns(x), x)
        np.testing.assert_array_equal(jax.jit(lambda x: x + 1)(columns(x)), x + 1)


@pytest.mark.parametrize("sharding", [HERE, SPLIT, WHOLE], ids=["one", "split", "whole"])
def test_programs_take_and_give_what_they_are_asked_for(sharding: Any) -> None:
    x = np.arange(64, dtype=np.float32).reshape(8, 8)
    form = Format(COLUMNS, sharding)
    for given in (x, jnp.asarray(x), columns(x, sharding), jax.device_put(x, sharding)):
        for wanted in (form, Format(ROWS, sharding), Format(Layout.AUTO, sharding)):
            for result in (form, Format(ROWS, sharding), Format(Layout.AUTO, sharding), None):
                f = jax.jit(lambda x: 2 * x.T, in_shardings=wanted, out_shardings=result)
                y = f(given)
                np.testing.assert_array_equal(y, 2 * x.T)
                np.testing.assert_array_equal(y + y, 4 * x.T)
                if isinstance(getattr(result, "layout", None), Layout):
                    assert layout(y) == result.layout
    y = jax.jit(lambda x: x + 1, in_shardings=form, out_shardings=form)(x)
    assert y.format == form
    assert y.sharding.is_equivalent_to(sharding, 2)
    assert {layout(s.data) for s in y.addressable_shards} == {COLUMNS}
    for shard in y.addressable_shards:
        np.testing.assert_array_equal(shard.data, (x + 1)[shard.index])
    parts = [s.data for s in y.addressable_shards]
    again = jax.make_array_from_single_device_arrays((8, 8), sharding, parts)
    assert layout(again) == COLUMNS
    np.testing.assert_array_equal(again, x + 1)
    mixed = [parts[0], *[jax.device_put(p, Format(ROWS, p.sharding)) for p in parts[1:]]]
    np.testing.assert_array_equal(
        jax.make_array_from_single_device_arrays((8, 8), sharding, mixed), x + 1
    )


def test_stages_know_the_orders() -> None:
    form = Format(COLUMNS, HERE)
    lowered = jax.jit(lambda x: x + 1, in_shardings=form, out_shardings=form).lower(X)
    assert lowered.as_text().count('mhlo.layout_mode = "{0,1}"') == 2
    compiled = lowered.compile()
    assert compiled.input_formats == ((form,), {})
    assert compiled.output_formats == form
    for given in (X, columns(), jax.device_put(X, HERE)):
        np.testing.assert_array_equal(compiled(given), X + 1)
        assert compiled(given).format == form
    automatic = jax.jit(lambda x: x.T, out_shardings=Format(Layout.AUTO)).lower(X).compile()
    assert automatic.output_formats.layout == layout(automatic(X))
    np.testing.assert_array_equal(automatic(X), X.T)
    for given in (columns(), jax.ShapeDtypeStruct(X.shape, X.dtype, sharding=form)):
        compiled = jax.jit(lambda x: x + 1).lower(given).compile()
        assert compiled.input_formats == ((form,), {})
        np.testing.assert_array_equal(compiled(X), X + 1)
        np.testing.assert_array_equal(compiled(columns()), X + 1)


def test_results_beside_one_that_the_compiler_lays_out() -> None:
    """XLA then may lay out the others as it likes, too."""
    column, free = Format(COLUMNS, HERE), Format(Layout.AUTO, HERE)
    for asked in ((column, None, free, column), (None, None, free, free), (free, None, None, None)):
        f = jax.jit(lambda a: (a, a.T, a + 1, 2 * a), out_shardings=asked)
        for given in (X, columns()):
            for result, expected in zip(f(given), (X, X.T, X + 1, 2 * X), strict=True):
                np.testing.assert_array_equal(result, expected)
                np.testing.assert_array_equal(result + result, 2 * expected)
                np.testing.assert_array_equal(jax.jit(lambda x: x * 1)(result), expected)
            if asked[3] is column:
                assert [layout(y) for y in f(given)] == [COLUMNS, ROWS, ROWS, COLUMNS]


def test_large_constants_lie_row_by_row() -> None:
    big = np.arange(300 * 400, dtype=np.float32).reshape(300, 400)
    for order in (COLUMNS, Layout.AUTO):
        form = Format(order, HERE)
        f = jax.jit(lambda x: (x + big).T, in_shardings=form, out_shardings=form)
        np.testing.assert_array_equal(f(big), 2 * big.T)


@pytest.mark.parametrize("order", [COLUMNS, Layout.AUTO], ids=str)
def test_programs_that_are_saved(order: Any) -> None:
    forms = {"in_shardings": Format(COLUMNS, HERE), "out_shardings": Format(order, HERE)}
    # What is saved is XLA's, and so is the order that is left open.
    by_xla = {"jax_cpu_engine": "xla"}
    compiled = jax.jit(lambda x: 2 * x.T, **forms).lower(X).compile(by_xla)
    again = deserialize_and_load(*serialize(compiled))
    assert again.input_formats == compiled.input_formats
    assert again.output_formats == compiled.output_formats
    for given in (X, columns()):
        np.testing.assert_array_equal(again(given), 2 * X.T)
        np.testing.assert_array_equal(again(given) + 0, 2 * X.T)
    exported = jax.export.deserialize(
        jax.export.export(jax.jit(lambda x: 2 * x.T, **forms))(X).serialize()
    )
    np.testing.assert_array_equal(exported.call(columns()), 2 * X.T)


def test_an_executable_that_lies_otherwise_than_its_places_say_is_refused() -> None:
    columns_in = jax.jit(lambda x: x + 1, in_shardings=Format(COLUMNS, HERE)).lower(X).compile()
    plan = columns_in.plan_by_xla()
    program = replace(plan.program, places=Places.all_at(HERE, 1, 1))
    with pytest.raises(AssertionError, match="XLA lays out"):
        type(plan)(program, plan.loaded, plan.serialized)


def test_results_lie_as_the_last_constraint_says() -> None:
    form = Format(COLUMNS, HERE)
    for f in (
        lambda x: with_layout_constraint(2 * x, COLUMNS),
        lambda x: lax.with_sharding_constraint(2 * x, form),
    ):
        for run in (f, jax.jit(f)):
            y = run(X)
            assert y.format == form
            np.testing.assert_array_equal(y, 2 * X)
        np.testing.assert_array_equal(jax.vmap(jax.jit(f), 1, 1)(X[:, None]), 2 * X[:, None])
        np.testing.assert_array_equal(jax.grad(lambda x: f(x).sum())(X), np.full_like(X, 2))  # noqa: B023
    rows = Format(ROWS, HERE)
    y = jax.jit(lambda x: with_layout_constraint(2 * x, COLUMNS), out_shardings=rows)(X)
    assert y.format == rows
    np.testing.assert_array_equal(y + y, 4 * X)
    taken = jax.jit(lambda x: x + 1, in_shardings=rows).lower(columns()).compile()
    assert taken.input_formats == ((rows,), {})
    np.testing.assert_array_equal(taken(columns()), X + 1)
    split = lax.with_sharding_constraint(np.ones((8, 8)), Format(COLUMNS, SPLIT))
    assert split.format == Format(COLUMNS, SPLIT)
    constrained = jax.jit(lambda x: lax.with_sharding_constraint(2 * x, Format(COLUMNS, SPLIT)))
    y = constrained(np.arange(64.0).reshape(8, 8))
    assert layout(y) == COLUMNS
    np.testing.assert_array_equal(y, 2 * np.arange(64.0).reshape(8, 8))
    text = str(jax.make_jaxpr(lambda x: lax.with_sharding_constraint(x, form))(X))
    assert "layout=Layout(major_to_minor=(1, 0), tiling=()" in text
    with pytest.raises(TypeError, match="argument shardings"):
        lax.with_sharding_constraint(X, Format(Layout.AUTO, HERE))


@pytest.mark.parametrize("order", [COLUMNS, ROWS, Layout.AUTO, None], ids=str)
@pytest.mark.filterwarnings("ignore:donation to")
def test_donated_memory(order: Any) -> None:
    f = jax.jit(lambda x: 2 * x, donate_argnums=0, out_shardings=Format(order, HERE))
    for make in (columns, lambda: jax.device_put(X, Format(ROWS, HERE))):
        x, kept = make(), make()
        y = f(x)
        np.testing.assert_array_equal(y, 2 * X)
        np.testing.assert_array_equal(f(y), 4 * X)
        if not x.is_deleted():
            np.testing.assert_array_equal(x, X)
        shared = jax.device_put(kept, HERE)
        np.testing.assert_array_equal(f(shared), 2 * X)
        np.testing.assert_array_equal(kept, X)


def test_places_are_interned() -> None:
    x, y = columns(), columns()
    assert x.place is y.place
    assert x.place is not x.place.own_memory
    assert x.sharding is HERE
    assert x.place.own_memory is HERE
    assert not x.place.is_equivalent_to(HERE, 2)
    assert not HERE.is_equivalent_to(x.place, 2)
    with pytest.raises(ValueError, match=r"(?s)memory 'pinned_host'.*default memory"):
        jax.device_put(X, Format(COLUMNS, HERE.with_memory_kind("pinned_host")))
    host = jax.device_put(columns(), jax.memory.Space.Host)
    np.testing.assert_array_equal(host, X)


def test_transfers_within_a_device_are_none() -> None:
    x = columns()
    with jax.transfer_guard("disallow"):
        np.testing.assert_array_equal(jax.jit(lambda x: x + 1)(x), X + 1)
