"""Programs for all sizes, made static and compiled, against those traced for numbers."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import pytest

from morphax import core, lax
from morphax import numpy as jnp
from morphax.array import Array
from morphax.config import enable_x64
from morphax.control.branches.branching import cond
from morphax.control.callbacks.pure_callback import pure_callback
from morphax.control.jit.jit import jit
from morphax.control.loops.while_loops import while_loop
from morphax.core.dims import SymbolicDim, symbol, symbols_in
from morphax.engines.xla.executable import Executable
from morphax.engines.xla.mlir_context import parsed
from morphax.engines.xla.symbolic_program import lower_at, module_at, module_for_all_sizes
from morphax.errors import InconclusiveDimensionOperation
from morphax.transforms.gradients import grad
from morphax.transforms.vmap import vmap
from tests.cases.op_case import OpCase
from tests.lax.test_axis_flow import staged
from tests.lax.test_operations import CASES
from tests.lax.test_symbolic_sizes import choices
from tests.sampling import is_taken, sample

N, M = symbol("n"), symbol("m")


def run(jaxpr: core.Jaxpr, sizes: dict[str, int], arrays: Sequence[Any]) -> list[Any]:
    """The results of a symbolic program for given sizes."""
    executable = Executable.compile(lower_at(jaxpr, "program", sizes))
    return list(executable.run([Array.from_host(x) for x in arrays], False))


def check_like_static(
    function: Callable[..., Any], jaxpr: core.Jaxpr, sizes: dict[str, int], arrays: Sequence[Any]
) -> None:
    """The symbolic program has the results that the function has, traced for these arrays."""
    expected = jit(function)(*arrays)
    expected = list(expected) if isinstance(expected, (list, tuple)) else [expected]
    for given, truth in zip(run(jaxpr, sizes, arrays), expected, strict=True):
        assert given.aval == truth.aval
        if not isinstance(truth.dtype, np.dtype):
            given, truth = map(lax.random_unwrap_p.bind, (given, truth))
        np.testing.assert_allclose(
            *[np.asarray(x).astype(np.complex128) for x in (given, truth)], rtol=1e-5, atol=1e-6
        )


def sizes_of(symbols: dict[int, SymbolicDim], more: int) -> dict[int, int]:
    """Sizes by those that the symbols stand for in a record: these, larger ones or smaller ones."""
    sizes = {}
    for n, size in symbols.items():
        (known,) = symbols_in([size]).values()
        sizes[n] = int(min(max(n + more, known.least), known.most))
    return sizes


@pytest.fixture
def _wide_dtypes() -> Iterator[None]:
    with enable_x64(True):
        yield


def calls_libraries(jaxpr: core.Jaxpr) -> bool:
    """Whether an operation on operands of symbolic sizes needs numbers."""
    for eqn in jaxpr.eqns:
        sizes = [n for x in eqn.invars for n in getattr(x.aval, "shape", ())]
        if eqn.primitive.needs_numbers and any([isinstance(n, SymbolicDim) for n in sizes]):
            return True
        if any([calls_libraries(inner) for inner in core.jaxprs_in_params(eqn.params)]):
            return True
    return False


@pytest.mark.usefixtures("_wide_dtypes")
@pytest.mark.parametrize("case", sample(CASES, "lowered", 4), ids=lambda c: c.label)
def test_a_record_lowered_for_all_sizes_is_what_it_is_for_some(case: OpCase) -> None:
    drawn = case.draw(case.dtypes[0])
    for symbols in choices([x.shape for x in drawn]):
        avals = [core.ShapedArray([symbols.get(n, n) for n in x.shape], x.dtype) for x in drawn]
        try:
            jaxpr = staged(case.function, avals)
        except (InconclusiveDimensionOperation, TypeError, ValueError):
            continue
        if calls_libraries(jaxpr):
            with pytest.raises(InconclusiveDimensionOperation, match="sizes that are numbers"):
                module_for_all_sizes(jaxpr, "program")
            return
        if case.label in ("hessenberg/(2, 3, 3)", "hessenberg/(5, 5)"):
            # Whether there are reflections, for a matrix of one element has none, decides what is
            # written.
            with pytest.raises(InconclusiveDimensionOperation, match=r"constraints=|>= 1"):
                module_for_all_sizes(jaxpr, "program")
            return
        parsed(module_for_all_sizes(jaxpr, "program"))
        if not is_taken(case.label, "lowered", 40):
            parsed(lower_at(jaxpr, "program", {f"n{n}": n for n in symbols}).text)
            return
        for more in (0, 2, -9):
            sizes = sizes_of(symbols, more)
            arrays = [np.resize(x, [sizes.get(n, n) for n in x.shape]) for x in drawn]
            named = {f"n{n}": size for n, size in sizes.items()}
            check_like_static(case.function, jaxpr, named, arrays)
        return


def _inner_loop(x: Any) -> Any:
    def body(state: tuple[Any, Any]) -> tuple[Any, Any]:
        i, y = state
        return lax.add(i, 1), lax.mul(y, lax.full_like(y, 0.5))

    return while_loop(lambda state: lax.lt(state[0], 3), body, (0, x))[1]


PROGRAMS: dict[str, Callable[[Any], Any]] = {
    "merged axes": lambda x: lax.reshape(x, (x.size,)),
    "every other": lambda x: lax.slice_in_dim(x, 0, None, 2),
    "all but one": lambda x: lax.slice_in_dim(x, 1, None, axis=1),
    "gradient of a slice": grad(
        lambda x: lax.reduce_sum(lax.slice_in_dim(x, 0, None, 2) ** 2, (0, 1))
    ),
    "padded windows": lambda x: lax.reduce_window(x, -np.inf, lax.max, (2, 3), (2, 2), "SAME"),
    "perhaps no window": lambda x: lax.reduce_window(x, 0.0, lax.add, (2, 3), (2, 1), "VALID"),
    "gradient of windows": grad(
        lambda x: lax.reduce_sum(
            lax.reduce_window(x, 0.0, lax.add, (2, 2), (2, 2), "SAME") ** 2, (0, 1)
        )
    ),
    "computed windows": lambda x: lax.reduce_window(
        x, 1.0, lambda a, b: a * b + a * 0, (2, 2), (2, 2), "SAME"
    ),
    "gradient of a convolution": grad(
        lambda x: lax.reduce_sum(
            lax.conv(lax.expand_dims(x, (0, 1)), np.ones((1, 1, 3, 3), np.float32), (2, 2), "SAME")
            ** 2,
            (0, 1, 2, 3),
        )
    ),
    "block": lambda x: lax.dynamic_slice(
        x, (lax.argmax(lax.index_in_dim(x, 0, 0, False), 0, np.int32), -1), (x.shape[0] // 2, 1)
    ),
    "running sums": lambda x: lax.cumsum(x, 1),
    "sorted": lambda x: lax.sort([x, -x], dimension=0, num_keys=1),
    "counted": lambda x: lax.broadcasted_iota(np.int32, x.shape, 1),
    "bits": lambda x: lax.bitcast_convert_type(lax.bitcast_convert_type(x, np.uint8), np.float32),
    "indices": lambda x: jnp.concatenate([x[::2, -1], x[1:, 0], x[:3, 0], x[::-1, 0], x[-3:, 0]]),
    "updates": lambda x: x.at[0].set(1.0),
    "gradient of indices": grad(lambda x: jnp.sum(x[::-2, 1:] ** 2) + jnp.sum(x[:2] ** 3)),
    "flat": lambda x: jnp.zeros(x.shape).reshape(-1, x.shape[0]) + x.reshape(x.shape[1], -1),
    "branches": lambda x: cond(
        x[0, 0] > 0, lambda y: lax.sort(y, dimension=0), lambda y: y + 1.0, x
    ),
    "loop": _inner_loop,
    "call": lambda x: jit(lambda y: lax.reshape(y, (y.size,)))(lax.concatenate([x, x], 0)),
    "batch": vmap(lambda row: row - lax.reduce_max(row, (0,))),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_at_three_sizes(name: str) -> None:
    function = PROGRAMS[name]
    jaxpr = staged(function, [core.ShapedArray((N, M), np.float32)])
    core.check_jaxpr(jaxpr)
    rng = np.random.default_rng(0)
    for n, m in ((4, 6), (7, 3), (1, 1)):
        x = rng.normal(size=(n, m)).astype(np.float32)
        check_like_static(function, jaxpr, {"n": n, "m": m}, [x])


def test_sizes_are_arguments_of_functions() -> None:
    jaxpr = staged(lambda x: lax.slice_in_dim(x, 0, None, 2), [core.ShapedArray((N,), np.float32)])
    text = module_for_all_sizes(jaxpr, "halves")
    assert "@for_all_sizes(%1: tensor<i64>, %2: tensor<?xf32>) -> (tensor<?xf32>)" in text
    assert "stablehlo.get_dimension_size" in text
    assert "stablehlo.real_dynamic_slice" in text
    assert "tensor<5xf32>" in module_at(jaxpr, "halves", {"n": 5})


def test_sizes_that_follow_from_others() -> None:
    def function(x: Any, y: Any) -> Any:
        return lax.concatenate([lax.reshape(x, (x.size,)), y], 0)

    avals = [core.ShapedArray(shape, np.float32) for shape in ((2 * N + 1, 2), (N * M,))]
    with pytest.raises(ValueError, match="sizes m"):
        module_for_all_sizes(staged(function, avals), "f")
    avals = [core.ShapedArray(shape, np.float32) for shape in ((2 * N + 1, 2), (N + M,))]
    jaxpr = staged(function, avals)
    text = module_for_all_sizes(jaxpr, "f")
    # n is the first size less 1, divided by 2; m is the second less n.
    assert text.count("get_dimension_size") == 2
    check_like_static(function, jaxpr, {"n": 3, "m": 2}, [np.ones((7, 2), "f4"), np.zeros(5, "f4")])


def test_a_size_out_of_range() -> None:
    few = symbol("few", 2, 5)
    jaxpr = staged(lambda x: x[1], [core.ShapedArray((few,), np.float32)])
    with pytest.raises(ValueError, match="number from 2 to 5"):
        lower_at(jaxpr, "second", {"few": 1})


def test_callbacks_are_not_for_all_sizes() -> None:
    def function(x: Any) -> Any:
        return pure_callback(lambda y: y, core.ShapedArray((), np.float32), x[0])

    jaxpr = staged(function, [core.ShapedArray((N,), np.float32)])
    with pytest.raises(NotImplementedError, match="callbacks"):
        module_for_all_sizes(jaxpr, "f")
