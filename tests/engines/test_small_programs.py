"""Programs on few numbers: the bits of single operations, whatever the program."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest

import morphax as jax
import morphax.numpy as jnp
from morphax import core, lax
from morphax.engines.reference import small_programs
from morphax.engines.reference.kernel_program import kernel_program
from morphax.engines.reference.small_programs import SmallProgram, parts_of

if small_programs.native is None:
    pytest.skip("without the compiled module there are none", allow_module_level=True)

_SPECIAL = {
    "float32": [0, -0.0, 1, -1, 0.5, -2.5, 3e38, 1e-42, np.inf, -np.inf, np.nan],
    "float64": [0, -0.0, 1, -1, 0.5, -2.5, 1e308, 5e-324, np.inf, -np.inf, np.nan],
    "int32": [0, 1, -1, 7, -8, 31, 2**31 - 1, -(2**31)],
    "int64": [0, 1, -1, 7, -8, 2**31, 2**63 - 1, -(2**63)],
}
Draw = np.random.Generator
Operation = Callable[[Draw, Any], Any]


def _halves(draw: Draw, x: Any) -> Any:
    size = x.shape[0] // 2
    return lax.add(x[:size], lax.rev(x[-size:], (0,))) if size else x


_OF_FLOATS: list[Operation] = [
    lambda draw, x: lax.mul(x, x),
    lambda draw, x: lax.sub(x, lax.full_like(x, 0.5)),
    lambda draw, x: lax.exp(lax.neg(lax.abs(x))),
    lambda draw, x: lax.tanh(x),
    lambda draw, x: lax.erfc(x),
    lambda draw, x: lax.max(x, lax.rev(x, (0,))),
    lambda draw, x: lax.rem(x, lax.full_like(x, 0.75)),
    lambda draw, x: lax.clamp(-1.0, x, 1.0),
    lambda draw, x: lax.select(lax.is_finite(x), x, lax.full_like(x, 2)),
    lambda draw, x: lax.convert_element_type(lax.convert_element_type(x, np.int32), x.dtype),
    lambda draw, x: lax.broadcast_in_dim(lax.reduce_sum(x, (0,)), x.shape, (1,)),
    lambda draw, x: lax.broadcast_in_dim(lax.reduce_sum(x, (1,)), x.shape, (0,)),
    lambda draw, x: lax.add(x, lax.broadcast(lax.reduce_sum(x, (0, 1)), x.shape)),
    lambda draw, x: lax.mul(x, lax.broadcast(lax.reduce_prod(x, (0, 1)), x.shape)),
    lambda draw, x: lax.broadcast_in_dim(lax.reduce_max(x, (1,)), x.shape, (0,)),
    lambda draw, x: lax.broadcast_in_dim(lax.reduce_min(x, (0,)), x.shape, (1,)),
    lambda draw, x: lax.cummax(x, int(draw.integers(2))),
    lambda draw, x: lax.cumsum(x, int(draw.integers(2))),
    lambda draw, x: lax.cumprod(x, int(draw.integers(2))),
    lambda draw, x: lax.transpose(x, (1, 0)),
    lambda draw, x: lax.reshape(x, (x.shape[1], x.shape[0])),
    lambda draw, x: lax.pad(x, x.dtype.type(-0.0), [(1, -1, 0), (0, 1, int(draw.integers(2)))]),
    lambda draw, x: lax.concatenate([x, lax.neg(x)], int(draw.integers(2))),
    lambda draw, x: lax.slice(x, (0, 0), x.shape, (1 + int(draw.integers(2)), 1)),
    lambda draw, x: lax.sign(lax.ceil(x)),
    lambda draw, x: lax.round(x, lax.RoundingMethod.TO_NEAREST_EVEN),
    _halves,
]
_OF_INTEGERS: list[Operation] = [
    lambda draw, x: lax.mul(x, x),
    lambda draw, x: lax.div(x, lax.rev(x, (1,))),
    lambda draw, x: lax.rem(x, lax.rev(x, (0,))),
    lambda draw, x: lax.abs(lax.sign(lax.sub(x, lax.full_like(x, 3)))),
    lambda draw, x: lax.shift_left(x, lax.full_like(x, 2)),
    lambda draw, x: lax.select(lax.lt(x, lax.full_like(x, 0)), lax.neg(x), x),
    lambda draw, x: lax.broadcast_in_dim(lax.reduce_sum(x, (0,)), x.shape, (1,)),
    lambda draw, x: lax.broadcast_in_dim(lax.reduce_max(x, (1,)), x.shape, (0,)),
    lambda draw, x: lax.clamp(x.dtype.type(-5), x, x.dtype.type(5)),
    lambda draw, x: lax.convert_element_type(lax.gt(x, lax.full_like(x, 0)), x.dtype),
    lambda draw, x: lax.cumsum(x, int(draw.integers(2))),
    lambda draw, x: lax.transpose(x, (1, 0)),
    _halves,
]


def _same_bits(x: Any, y: Any) -> bool:
    x, y = np.asarray(x), np.asarray(y)
    x, y = (
        np.where(np.isnan(v), v.dtype.type(np.nan), v) if v.dtype.kind == "f" else v for v in (x, y)
    )
    return x.dtype == y.dtype and x.shape == y.shape and x.tobytes() == y.tobytes()


@pytest.mark.parametrize("of", _SPECIAL)
@pytest.mark.parametrize("seed", range(30))
def test_any_program_has_the_bits_of_its_operations(of: str, seed: int) -> None:
    draw = np.random.default_rng(seed)
    operations = _OF_FLOATS if of.startswith("float") else _OF_INTEGERS
    chosen = [operations[i] for i in draw.integers(len(operations), size=8)]
    shape = tuple(draw.integers(1, 9, size=2))
    points = np.array(_SPECIAL[of], of)
    x = draw.choice(points, shape) if seed % 2 else draw.normal(size=shape).astype(of)

    def function(x: Any) -> Any:
        on_the_way = []
        for i, operation in enumerate(chosen):
            x = operation(np.random.default_rng([seed, i]), x)
            on_the_way.append(x)
        return x, on_the_way[seed % 8], on_the_way[0]

    with jax.enable_x64(of.endswith("64")):
        jaxpr = jax.make_jaxpr(function)(jnp.asarray(x)).jaxpr
        program = kernel_program(jaxpr, tuple)
        assert program is not None
        assert "small_program" in [getattr(v, "__name__", "") for v in _calls_of(program)]
        alone = core.apply_jaxpr(jaxpr, jnp.asarray(x))
    for result, expected in zip(program([x]), alone, strict=True):
        assert _same_bits(result, expected)


def _calls_of(program: Any) -> list[Any]:
    return list(program.function.__globals__.values())


@pytest.mark.parametrize("of", ["float32", "float64"])
@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("size", [1, 5, 16, 17, 1000])
def test_numbers_are_there_as_long_as_they_are_needed(seed: int, size: int, of: str) -> None:
    """Registers take each other's memory; parts, constants and results stay what they are."""
    draw = np.random.default_rng(seed)

    def function(x: Any, flags: Any) -> Any:
        values = [x, lax.select(flags, x, -x), jnp.full_like(x, 0.25)]
        for _ in range(30):
            a, b = (values[i] for i in draw.integers(len(values), size=2))
            kind = draw.integers(6)
            if kind == 0:
                values.append(lax.max(a, jnp.full_like(x, float(draw.integers(5)))))
            elif kind == 1:
                values.append(lax.select(lax.lt(a, b), a, b))
            elif kind == 2 and size > 1:
                values.append(jnp.concatenate([a[1:], b[:1]]))
            elif kind == 3:
                values.append(lax.sub(a, lax.broadcast(lax.reduce_max(b, (0,)), x.shape)))
            else:
                values.append(lax.add(lax.mul(a, lax.full_like(x, 0.5)), b))
        chosen = draw.integers(len(values), size=4)
        return [values[i] for i in chosen] + [lax.gt(values[-1], values[3]), values[-1][:1]]

    x, flags = draw.normal(size=size).astype(of), draw.random(size) > 0.5
    with jax.enable_x64(of == "float64"):
        jaxpr = jax.make_jaxpr(function)(x, flags).jaxpr
        program = kernel_program(jaxpr, list)
        assert program is not None
        expected = core.apply_jaxpr(jaxpr, jnp.asarray(x), jnp.asarray(flags))
    for _ in range(2):
        for result, alone in zip(program([x, flags]), expected, strict=True):
            assert _same_bits(result, alone)


@pytest.mark.parametrize("of", ["float32", "float64"])
@pytest.mark.parametrize("shape", [(1,), (7,), (8,), (9,), (129,), (1000,), (5, 33), (2, 3, 5)])
def test_sums_are_rounded_as_numpy_does(shape: tuple[int, ...], of: str) -> None:
    x = np.random.default_rng(0).normal(size=shape).astype(of)
    for axes in {(0,), (len(shape) - 1,), tuple(range(len(shape)))}:
        for name in ("reduce_sum", "reduce_prod"):
            reduce = partial(getattr(lax, name), axes=axes)
            with jax.enable_x64(of == "float64"):
                program = kernel_program(jax.make_jaxpr(reduce)(x).jaxpr)
            assert program is not None
            ufunc = np.add if name == "reduce_sum" else np.multiply
            for given in (x, np.zeros_like(x), -np.zeros_like(x), x.copy(order="F"), x[::-1]):
                assert _same_bits(program([given]), np.asarray(ufunc.reduce(given.copy(), axes)))


def _program_of(function: Any, *operands: Any) -> list[Any]:
    jaxpr = jax.make_jaxpr(function)(*operands).jaxpr
    return parts_of(jaxpr.eqns, jaxpr.outvars, {})


def test_moves_of_moves_are_one() -> None:
    (program,) = _program_of(
        lambda x: lax.squeeze(lax.slice(x, (1, 0), (2, 4)), (0,)) + 1, _ones(3, 4)
    )
    assert type(program) is SmallProgram
    assert len(program.equations) == 3


def test_functions_of_scipy_are_steps() -> None:
    """Their ufuncs have inner loops of float32, as NumPy's have."""
    (program,) = _program_of(lambda x: lax.exp(lax.erfc(lax.mul(x, x))), _ones(8))
    assert isinstance(program, SmallProgram)


def test_results_are_new_memory() -> None:
    """A result that is an operand, or part of one, does not keep or share its memory."""
    x = np.arange(12, dtype=np.float32).reshape(3, 4)
    jaxpr = jax.make_jaxpr(lambda x: (lax.reshape(x, (12,)), x[1], lax.neg(x)))(x).jaxpr
    program = kernel_program(jaxpr, tuple)
    assert program is not None
    for result in program([x]):
        assert not np.shares_memory(np.asarray(result), x)


def test_what_is_large_or_of_other_numbers_stays_as_it_was() -> None:
    assert not _has_small(lambda x: x * 2 + 1, _ones(2000))
    assert not _has_small(lambda x: x * 2 + 1, jnp.ones(5, jnp.complex64))
    assert not _has_small(lambda x: x * 2 + 1, _ones(0))
    assert not _has_small(lambda key: jax.random.bits(key, (4,)) + 1, jax.random.key(0))


def test_numbers_of_both_sizes_are_in_one_program() -> None:
    def function(x: Any, i: Any) -> Any:
        flags = lax.gt(x, lax.full_like(x, 0))
        wide = lax.convert_element_type(i, np.float64)[::-1]
        halves = lax.convert_element_type(lax.select(flags, x, wide), np.float32)
        numbers = lax.bitcast_convert_type(x + wide, np.int64)
        return numbers, lax.reduce_max(halves, (0,)), lax.cumsum(wide), flags, halves[1:3]

    x, i = np.array([1.5, -2.0, np.nan, -0.0]), np.array([7, -1, 2**30, 0], np.int32)
    with jax.enable_x64(True):
        jaxpr = jax.make_jaxpr(function)(x, i).jaxpr
        (part,) = parts_of(jaxpr.eqns, jaxpr.outvars, {})
        assert type(part) is SmallProgram
        program = kernel_program(jaxpr, tuple)
        assert program is not None
        alone = core.apply_jaxpr(jaxpr, jnp.asarray(x), jnp.asarray(i))
    for result, expected in zip(program([x, i]), alone, strict=True):
        assert _same_bits(result, expected)


def _has_small(function: Any, *operands: Any) -> bool:
    return any([type(item) is SmallProgram for item in _program_of(function, *operands)])


def _ones(*shape: int) -> Any:
    return jnp.ones(shape, jnp.float32)


def test_operands_of_another_size_are_refused() -> None:
    (program,) = _program_of(lambda x: x * 2 + x, _ones(4))
    kernel = program.kernel()
    with pytest.raises(ValueError, match="another size"):
        kernel(np.ones(5, np.float32))
    with pytest.raises(TypeError, match="another number"):
        kernel()
    with pytest.raises(TypeError, match="takes arrays"):
        kernel([1.0])


@pytest.mark.parametrize(
    ("steps", "error"),
    [
        ([("loop", [0], 3, 4, "neg_float32")], "other sizes"),
        ([("loop", [5], 4, 4, "neg_float32")], "before written"),
        ([("loop", [0], 4, 4, "random_bits_uint32")], "cannot be"),
        ([("take", [0], 2, 4, [0, 0], [3, 4])], "does not exist"),
        ([("part", [0], 4, 4, 1)], "does not exist"),
        ([("fold", [0], 1, 4, "max_float32", 1, 3)], "another size"),
        ([("fold", [0], 1, 8, "max_float64", 1, 4)], "other numbers"),
        ([("take", [0], 1, 8, [0], [0])], "other numbers"),
        ([("fill", [0], 4, 2)], "numbers of another size"),
        ([("inner", [0], 4, 4, np.add)], "other operands"),
        ([("inner", [0, 0], 4, 4, np.bitwise_and)], "without a loop"),
        ([("inner", [0, 0], 4, 8, np.add)], "other numbers"),
    ],
)
def test_wrong_steps_are_refused(steps: Any, error: str) -> None:
    with pytest.raises((ValueError, IndexError), match=error):
        small_programs.native.make([(4, 4)], [], steps, [(1, 11, (4,))])


def test_results_of_another_size_are_refused() -> None:
    steps = [("loop", [0], 4, 4, "neg_float32")]
    with pytest.raises(ValueError, match="another size"):
        small_programs.native.make([(4, 4)], [], steps, [(1, 12, (4,))])
