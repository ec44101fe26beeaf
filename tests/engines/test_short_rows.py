"""Rows of two to four neighbours: vectors run over the rows, and give the bits of single steps."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

import morphax as jax
import morphax.numpy as jnp
from morphax import lax
from morphax.engines.loops.program import INDEX, Buffer, For, Index, Kind, Load, Name, Store
from morphax.engines.native import loop_plans
from morphax.engines.native.short_rows import loop_of_short_rows
from morphax.engines.native.woven_vectors import unwoven, woven
from morphax.scipy.spatial.transform import Rotation
from morphax.transforms.make_jaxpr import make_jaxpr
from tests.engines.machine_code_calls import call, compiled

# Of an array of (n, k) numbers and of one of n.
FUNCTIONS: dict[str, Callable[[Any, Any], Any]] = {
    "scaled": lambda x, y: x * y[:, None] + 1,
    "by columns": lambda x, y: (x - x[0]) * jnp.arange(x.shape[1]),
    "powers": lambda x, y: y[:, None] ** jnp.arange(x.shape[1]),
    "columns of powers": lambda x, y: jnp.vander(y, x.shape[1]),
    "reversed": lambda x, y: x[:, ::-1] * 2 - x,
    "rows backwards": lambda x, y: x[::-1] * y[:, None],
    "softmax": lambda x, y: jax.nn.softmax(x),
    "centred": lambda x, y: x - x.mean(1, keepdims=True),
    "largest": lambda x, y: x.max(1) + y,
    "units": lambda x, y: x / jnp.sqrt((x * x).sum(1, keepdims=True)),
    "running sums": lambda x, y: jnp.cumsum(x, 1),
    "multiplied": lambda x, y: x @ (jnp.arange(x.shape[1] ** 2.0).reshape(-1, x.shape[1]) - 1.5),
    "compared": lambda x, y: x > y[:, None],
    "one of each": lambda x, y: jax.nn.one_hot(jnp.rint(y).astype(int) % 3, x.shape[1]),
    "chosen": lambda x, y: jnp.where(y[:, None] > 0, x, jnp.exp(x)),
    "turned": lambda x, y: jnp.stack([x[:, 0], x[:, 1], -x[:, 0]], 0).T * y[:, None],
    "pairs": lambda x, y: (x + 2j) * y[:, None],
    "stacks of rows": lambda x, y: jnp.broadcast_to(x, (3, *x.shape)) * y[:, None] + x[0],
    "wide": lambda x, y: (x.astype(jnp.float64) * y[:, None]).astype(x.dtype),
    "whole numbers": lambda x, y: jnp.rint(x).astype(jnp.int32) * jnp.arange(x.shape[1]),
    "gathered": lambda x, y: y[(jnp.arange(x.shape[0]) * 7) % y.size][:, None] * x,
    "in place": lambda x, y: lax.fori_loop(0, 3, lambda i, z: z * y[:, None] * 0.5 + x, x),
}


def operands(rows: int, columns: int, dtype: str) -> list[Any]:
    rng = np.random.default_rng(rows)
    x = rng.normal(size=(rows, columns)).astype(dtype)
    y = rng.normal(size=rows).astype(dtype)
    special = [0.0, -0.0, np.nan, np.inf, -np.inf, 1.0, 1e-40, 4097.0]
    count = min(rows, len(special))
    y[:count], x[-count:, -1] = special[:count], special[:count]
    return [x, y]


@pytest.mark.sampled(4)
@pytest.mark.parametrize("label", FUNCTIONS)
@pytest.mark.parametrize("columns", [2, 3, 4])
@pytest.mark.parametrize("rows", [15, 16, 17, 24, 31, 70])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_bits_are_those_of_single_steps(
    label: str, columns: int, rows: int, dtype: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = operands(rows, columns, dtype)
    with jax.enable_x64(dtype == "float64" or label == "wide"):
        jaxpr = make_jaxpr(FUNCTIONS[label])(*given)
        (found,) = call(*compiled(jaxpr), *given)
        monkeypatch.setattr(loop_plans, "loop_of_short_rows", lambda loop, holders: None)
        (expected,) = call(*compiled(jaxpr), *given)
    if label == "powers":
        # The second power is a product where the exponent is known.
        np.testing.assert_allclose(found, expected, 4 * np.finfo(dtype).eps, 1e-45)
    else:
        np.testing.assert_array_equal(found, expected)
        kept = ~np.isnan(expected)
        assert found[kept].tobytes() == expected[kept].tobytes()


ROW, STEP = Name(1, INDEX, 0, 99), Name(2, INDEX, 0, 2)
F32 = np.dtype(np.float32)
X, OUT = Buffer("x", F32, (300,), Kind.INPUT), Buffer("out", F32, (300,), Kind.OUTPUT)
AT = Index.of(ROW).times(3).plus(Index.of(STEP))
V = Name(3, F32)


def rows(*row: Any, extent: int = 100, count: int = 3, of_rows: bool = True) -> For:
    inner = For(STEP, count, tuple(row), is_independent=True)
    return For(ROW, extent, (inner,), is_independent=of_rows)


def test_steps_of_a_row_are_statements() -> None:
    plan = loop_of_short_rows(rows(Load(V, X, Index.of(ROW)), Store(OUT, AT, V)), {})
    assert plan is not None
    assert (plan.extent, plan.width, plan.is_repeatable) == (100, 8, True)
    stores = [x.index.offset for x in plan.body if type(x) is Store]
    assert stores == [0, 1, 2]


REFUSED: dict[str, For] = {
    "few rows": rows(Load(V, X, Index.of(ROW)), Store(OUT, AT, V), extent=12),
    "long rows": rows(Load(V, X, Index.of(ROW)), Store(OUT, AT, V), count=5),
    "rows that depend": rows(Load(V, X, Index.of(ROW)), Store(OUT, AT, V), of_rows=False),
    "a gap": rows(Load(V, X, Index.of(ROW)), Store(OUT, AT, V), count=2),
    "two kinds of places": rows(
        Load(V, X, Index.of(ROW)), Store(OUT, AT, V), Store(OUT, Index.of(STEP), V)
    ),
    "a neighbour that is changed": rows(Load(V, OUT, AT.plus(3)), Store(OUT, AT, V)),
}


@pytest.mark.parametrize("label", REFUSED)
def test_what_is_not_written_out(label: str) -> None:
    assert loop_of_short_rows(REFUSED[label], {}) is None


@pytest.mark.parametrize("count", [2, 3, 4])
@pytest.mark.parametrize("width", [3, 4, 8])
def test_woven_vectors_are_taken_apart_again(count: int, width: int) -> None:
    values = {str(i): list(range(i * width, (i + 1) * width)) for i in range(count)}
    values["poison"] = [-1] * width

    def shuffle(first: str, second: str, places: Sequence[int]) -> str:
        both = [*values[first], *values[second]]
        values[name := f"v{len(values)}"] = [both[i] for i in places]
        return name

    names = [str(i) for i in range(count)]
    together = woven(names, width, shuffle)
    flat = [x for name in together for x in values[name]]
    assert flat == [turn * width + step for step in range(width) for turn in range(count)]
    assert [values[x] for x in unwoven(together, width, shuffle)] == [values[x] for x in names]


def test_rows_as_many_as_no_vector_has() -> None:
    # LLVM ended the process: of rows in vectors of six it lost a load.
    def angles(quaternions: Any) -> Any:
        return Rotation.from_quat(quaternions).as_euler("xyx")

    with jax.enable_x64(True):
        for count in (5, 6, 7, 12):
            x = np.random.default_rng(count).normal(size=(count, 4))
            (found,) = call(*compiled(make_jaxpr(angles)(x)), x)
            np.testing.assert_allclose(found, angles(x), 1e-13)
