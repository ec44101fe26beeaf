"""`experimental.hijax`: types of the user's, immutable and mutable, under all transformations."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import morphax as jax
import morphax.numpy as jnp
from morphax import lax
from morphax.core import check_jaxpr
from morphax.experimental import cur_qdd
from morphax.experimental.hijax import (
    AvalQDD,
    HiPrim,
    HiPrimitive,
    HiType,
    MutableHiType,
    ShapedArray,
    VJPHiPrimitive,
    Zero,
    aval_method,
    aval_property,
    jvp_from_lin,
    linearize_from_jvp,
    register_hitype,
    vjp_from_jvp,
    vjp_from_lin,
)
from morphax.extend.core import Effect

X = np.arange(6, dtype=np.float32).reshape(2, 3) + 1


# An immutable type: an array in 8 bits, with a scale for each row.
@dataclass(frozen=True)
class Quantized:
    """Values ≈ numbers · scale."""

    numbers: Any
    scale: Any


@dataclass(frozen=True)
class QuantizedType(HiType):
    """Its type: the shape."""

    shape: tuple[int, ...]

    def lo_ty(self) -> list[Any]:
        return [
            ShapedArray(self.shape, jnp.int8),
            ShapedArray(self.shape[:-1], jnp.float32),
        ]

    def lower_val(self, hi_val: Quantized) -> list[Any]:
        return [hi_val.numbers, hi_val.scale]

    def raise_val(self, *lo_vals: Any) -> Quantized:
        return Quantized(*lo_vals)

    def to_tangent_aval(self) -> Any:
        return ShapedArray(self.shape, jnp.float32)

    def leading_axis_spec(self) -> str:
        return "rows"

    def dec_rank(self, size: int | None, spec: Any) -> QuantizedType:
        return QuantizedType(self.shape[1:])

    def inc_rank(self, size: int | None, spec: Any) -> QuantizedType:
        return QuantizedType((size or 0, *self.shape))

    def str_short(self, short_dtypes: bool = False, mesh_axis_types: bool = False) -> str:
        return f"Q{list(self.shape)}"

    twice = aval_method(lambda q: 2 * dequantize(q))
    halved = aval_property(lambda q: dequantize(q) / 2)
    bits = 8

    def _add(self, q: Any, other: Any) -> Any:
        return dequantize(q) + other


register_hitype(Quantized, lambda q: QuantizedType(tuple(q.numbers.shape)))


class Quantize(HiPrimitive):
    def abstract_eval(self, x: Any) -> Any:
        return QuantizedType(x.shape), set()

    def to_lojax(self, x: Any) -> Quantized:
        scale = jnp.max(jnp.abs(x), -1) / 127
        return Quantized(jnp.round(x / scale[..., None]).astype(jnp.int8), scale)

    def jvp(self, primals: Any, tangents: Any) -> Any:
        return quantize(*primals), tangents[0]


class Dequantize(HiPrimitive):
    def abstract_eval(self, q: Any) -> Any:
        return ShapedArray(q.shape, jnp.float32), set()

    def to_lojax(self, q: Quantized) -> Any:
        return q.numbers.astype(jnp.float32) * q.scale[..., None]

    def jvp(self, primals: Any, tangents: Any) -> Any:
        return dequantize(*primals), tangents[0]

    def transpose(self, ct: Any, q: Any) -> Any:
        return [ct]


quantize = Quantize("quantize").bind
dequantize = Dequantize("dequantize").bind


def requantized(q: Any, by: float = 1.0) -> Any:
    return quantize(dequantize(q) + by)


Q: Any = quantize(X)
VALUES = np.asarray(dequantize(Q))

# Functions of `X` and `Q` → arrays, which must be the same jitted and not.
EXPRESSIONS: dict[str, tuple[Callable[..., Any], Any]] = {
    "both ways": (lambda x, q: dequantize(quantize(x)), VALUES),
    "inner jit": (lambda x, q: jax.jit(dequantize)(jax.jit(quantize)(x)), VALUES),
    "identity": (lambda x, q: dequantize(jax.jit(lambda q: q)(q)), VALUES),
    "closed over": (lambda x, q: dequantize(Q) + x, VALUES + X),
    "cond": (lambda x, q: dequantize(lax.cond(x[0, 0] > 0, lambda q: q, requantized, q)), VALUES),
    "fori": (lambda x, q: dequantize(lax.fori_loop(0, 0, lambda i, q: requantized(q), q)), VALUES),
    "scan, xs": (
        lambda x, q: lax.scan(lambda c, q: (c + dequantize(q), None), jnp.zeros(3), q, length=2)[0],
        VALUES.sum(0),
    ),
    "scan, ys": (
        lambda x, q: dequantize(lax.scan(lambda c, x: (c, quantize(x)), 0, x)[1]),
        VALUES,
    ),
    "scan, consts": (
        lambda x, q: lax.scan(lambda c, x: (c + dequantize(q), None), jnp.zeros((2, 3)), x)[0],
        2 * VALUES,
    ),
    "grad": (lambda x, q: jax.grad(lambda q: (dequantize(q) ** 2).sum())(q), 2 * VALUES),
    "grad of jit": (
        lambda x, q: jax.grad(jax.jit(lambda q: (dequantize(q) ** 2).sum()))(q),
        2 * VALUES,
    ),
    "grad of two uses": (
        lambda x, q: jax.grad(lambda q: (dequantize(q) + dequantize(q)).sum())(q),
        2 * np.ones_like(X),
    ),
    "grad of checkpoint": (
        lambda x, q: jax.grad(jax.checkpoint(lambda q: (dequantize(q) ** 2).sum()))(q),
        2 * VALUES,
    ),
    "grad through": (
        lambda x, q: jax.grad(lambda x: (dequantize(quantize(x)) ** 2).sum())(x),
        2 * VALUES,
    ),
    "jvp": (lambda x, q: jax.jvp(dequantize, (q,), (x,))[1], X),
    "linearize": (lambda x, q: jax.linearize(dequantize, q)[1](x), X),
    "vjp": (lambda x, q: jax.vjp(dequantize, q)[1](x)[0], X),
    "method": (lambda x, q: jax.jit(lambda q: q.twice())(q), 2 * VALUES),
    "property": (lambda x, q: jax.jit(lambda q: q.halved)(q), VALUES / 2),
    "attribute": (lambda x, q: jax.jit(lambda q: x * q.bits)(q), 8 * X),
    "operator": (lambda x, q: jax.jit(lambda q: q + 1.0)(q), VALUES + 1),
}


@pytest.mark.parametrize("name", EXPRESSIONS)
def test_values_of_types_of_the_user(name: str) -> None:
    function, expected = EXPRESSIONS[name]
    np.testing.assert_allclose(function(X, Q), expected, rtol=1e-6)
    np.testing.assert_allclose(jax.jit(function)(X, Q), expected, rtol=1e-6)


def test_carry_of_a_loop() -> None:
    once = np.asarray(dequantize(requantized(requantized(Q))))
    looped = lax.fori_loop(0, 2, lambda i, q: requantized(q), Q)
    np.testing.assert_array_equal(dequantize(looped), once)
    _, compiled = jax.jit(lambda q: lax.while_loop(lambda c: c[0] < 2, _next, (0, q)))(Q)
    np.testing.assert_allclose(dequantize(compiled), once, rtol=1e-6)


def _next(carry: Any) -> Any:
    return carry[0] + 1, requantized(carry[1])


def test_custom_rules_take_values() -> None:
    @jax.custom_vjp
    def f(q: Any) -> Any:
        return dequantize(q).sum()

    f.defvjp(lambda q: (f(q), q), lambda q, ct: (3.0 * dequantize(q) * ct,))
    np.testing.assert_allclose(jax.grad(f)(Q), 3 * VALUES, rtol=1e-6)
    np.testing.assert_allclose(jax.jit(jax.grad(f))(Q), 3 * VALUES, rtol=1e-6)


def test_programs_show_types() -> None:
    program = jax.make_jaxpr(lambda x: dequantize(quantize(x)))(X)
    assert (
        str(program).split()
        == (
            "{ lambda ; a:f32[2,3]. let b:Q[2, 3] = quantize a c:f32[2,3] = dequantize b in (c,) }"
        ).split()
    )
    assert program.is_high
    traced = jax.jit(quantize).trace(X)
    assert str(traced.lojax.jaxpr.out_avals) == (
        "(ShapedArray(int8[2,3]), ShapedArray(float32[2]))"
    )
    assert not traced.lojax.jaxpr.is_high
    assert jax.eval_shape(quantize, X) == jax.typeof(Q) == QuantizedType((2, 3))
    assert "i8" in jax.jit(dequantize).lower(Q).as_text()
    check_jaxpr(program)


REFUSALS: dict[str, tuple[Callable[[], Any], type[Exception], str]] = {
    "array operation": (lambda: jax.jit(lax.sin)(Q), TypeError, "a user has defined"),
    "jnp": (lambda: jax.jit(jnp.add)(Q, 1.0), TypeError, "a user has defined"),
    "attribute": (lambda: jax.jit(lambda q: q.sum())(Q), AttributeError, "sum"),
    "no operator": (lambda: jax.jit(lambda q: q - 1)(Q), AttributeError, "_sub"),
    "vmap": (lambda: jax.vmap(dequantize)(Q), ValueError, "mapped over axis 0"),
    "no batching": (lambda: jax.vmap(quantize)(X), NotImplementedError, "batching"),
    "branches": (
        lambda: lax.cond(True, lambda q: q, dequantize, Q),
        TypeError,
        "equal shapes",
    ),
    "carry": (lambda: lax.fori_loop(0, 2, lambda i, q: dequantize(q), Q), TypeError, "carry"),
    "no lowering": (lambda: HiType().lo_ty(), AssertionError, "lo_ty"),
    "no state": (lambda: cur_qdd(1.0), TypeError, "changes in place"),
    "no rule": (lambda: HiPrimitive("empty").bind(1.0), AssertionError, "to_lojax"),
}


@pytest.mark.parametrize("name", REFUSALS)
def test_refusals_say_why(name: str) -> None:
    function, error, text = REFUSALS[name]
    with pytest.raises(error, match=text):
        function()


# A mutable type: a box with a tree of arrays in it, whose structure is its state.
@dataclass(frozen=True)
class BoxState:
    """What a box holds."""

    tree: Any
    avals: tuple[Any, ...]


class Box:
    """A place for a tree of arrays."""

    def __init__(self, value: Any) -> None:
        self.value = value

    def cur_qdd(self) -> BoxState:
        leaves, structure = jax.tree.flatten(self.value)
        return BoxState(structure, tuple(map(jax.typeof, leaves)))


class BoxEffect(Effect):
    """A box is read or written."""


EFFECT = BoxEffect()


@dataclass(frozen=True)
class BoxType(MutableHiType):
    """The type of all boxes."""

    def lo_ty_qdd(self, state: Any, /) -> list[Any]:
        return list(state.avals)

    def new_from_loval(self, state: Any, /, *vals: Any) -> Box:
        return Box(jax.tree.unflatten(state.tree, vals))

    def read_loval(self, state: Any, val: Any, /) -> list[Any]:
        return jax.tree.leaves(val.value)

    def update_from_loval(self, state: Any, val: Any, /, *lo_vals: Any) -> None:
        val.value = jax.tree.unflatten(state.tree, lo_vals)

    def to_tangent_aval(self) -> BoxType:
        return self

    def str_short(self, short_dtypes: bool = False, mesh_axis_types: bool = False) -> str:
        return "Box"


register_hitype(Box, lambda box: BoxType())


class Put(HiPrimitive):
    multiple_results = True

    def abstract_eval(self, box: Any, *leaves: Any, tree: Any) -> Any:
        box.mutable_qdd.update(BoxState(tree, leaves))
        return [], {EFFECT}

    def to_lojax(self, box: Any, *leaves: Any, tree: Any) -> Any:
        box.value = jax.tree.unflatten(tree, leaves)
        return []

    def jvp(self, primals: Any, tangents: Any, *, tree: Any) -> Any:
        if not all(isinstance(t, Zero) for t in tangents[1:]):
            raise ValueError("a box keeps no tangents")
        return self.bind(*primals, tree=tree), []


class Take(HiPrimitive):
    multiple_results = True

    def abstract_eval(self, box: Any, *, avals: Any) -> Any:
        return list(avals), {EFFECT}

    def to_lojax(self, box: Any, *, avals: Any) -> Any:
        return jax.tree.leaves(box.value)


class New(HiPrimitive):
    def abstract_eval(self, x: Any) -> Any:
        return AvalQDD(BoxType(), BoxState(jax.tree.structure(0), (x,))), {EFFECT}

    def to_lojax(self, x: Any) -> Box:
        return Box(x)


put_p, take_p, new_box = Put("put"), Take("take"), New("new_box").bind


def put(box: Any, value: Any) -> None:
    leaves, structure = jax.tree.flatten(value)
    put_p.bind(box, *leaves, tree=structure)


def take(box: Any) -> Any:
    state: Any = cur_qdd(box)
    return jax.tree.unflatten(state.tree, take_p.bind(box, avals=state.avals))


def _scanned(box: Any) -> Any:
    def step(carry: Any, x: Any) -> Any:
        put(box, take(box) + x)
        return carry, take(box)

    return lax.scan(step, 0.0, jnp.arange(3.0))[1]


def _looped(box: Any) -> Any:
    def step(i: Any) -> Any:
        put(box, 2 * take(box))
        return i + 1

    return lax.while_loop(lambda i: take(box) < 20, step, 0)


def _differentiated(box: Any) -> Any:
    def f(x: Any) -> Any:
        put(box, lax.stop_gradient(2 * x))
        return x**2 + take(box)

    return jax.grad(f)(take(box))


def _restructured(box: Any) -> Any:
    @jax.jit
    def pair(box: Any) -> None:
        put(box, (take(box), 1.0))

    pair(box)
    first, second = take(box)
    put(box, first + second)
    return first


# Programs on a box that holds 3 → result, what the box holds then.
ON_BOXES: dict[str, tuple[Callable[..., Any], Any, float]] = {
    "read": (lambda box: take(box) * 2, 6.0, 3.0),
    "written": (lambda box: (put(box, take(box) + 1), take(box))[1], 4.0, 4.0),
    "written twice": (lambda box: (put(box, 1.0), put(box, 2.0), 0.0)[2], 0.0, 2.0),
    "inner jit": (lambda box: jax.jit(lambda b: put(b, take(b) * 5))(box) or 0.0, 0.0, 15.0),
    "of another structure": (_restructured, 3.0, 4.0),
    "one branch": (
        lambda box: lax.cond(take(box) > 0, lambda: put(box, jnp.float32(7)), lambda: None) or 0.0,
        0.0,
        7.0,
    ),
    "scan": (_scanned, np.array([3.0, 4.0, 6.0]), 6.0),
    "while": (_looped, 3, 24.0),
    "grad": (_differentiated, 6.0, 6.0),
    "made inside": (lambda box: take(new_box(take(box))), 3.0, 3.0),
}


@pytest.mark.parametrize("name", ON_BOXES)
@pytest.mark.parametrize("how", ["eager", "jit", "closed over"])
def test_what_changes_in_place(name: str, how: str) -> None:
    function, result, left = ON_BOXES[name]
    if how == "closed over" and name == "of another structure":
        pytest.skip("the user asks the box outside of the program for its state")
    box = Box(jnp.float32(3.0))
    if how == "eager":
        found = function(box)
    elif how == "jit":
        found = jax.jit(function)(box)
    else:
        found = jax.jit(lambda: function(box))()
    np.testing.assert_allclose(found, result)
    np.testing.assert_allclose(box.value, left)


def test_calls_follow_the_state() -> None:
    traces = []

    @jax.jit
    def grow(box: Any, x: Any) -> None:
        traces.append(None)
        value = dict(take(box))
        value[str(len(value))] = x
        put(box, value)

    box = Box({})
    for x in (1.0, 2.0):
        grow(box, x)
    assert box.value == {"0": 1.0, "1": 2.0}
    grow(Box({}), 3.0)
    assert len(traces) == 2


def test_errors_leave_values_as_they_are() -> None:
    def f(box: Any) -> None:
        put(box, 5.0)
        raise KeyError

    box = Box(jnp.float32(3.0))
    with pytest.raises(KeyError):
        jax.jit(f)(box)
    assert box.value == 3.0


BOX_REFUSALS: dict[str, tuple[Callable[[Any], Any], type[Exception], str]] = {
    "twice": (lambda box: jax.jit(lambda a, b: put(a, 1.0))(box, box), ValueError, "one value"),
    "returned": (lambda box: jax.jit(lambda b: b)(box), TypeError, "do not change in place"),
    "differentiated": (lambda box: jax.grad(take)(box), TypeError, "argument box"),
    "tangent": (lambda box: jax.grad(lambda x: put(box, x) or x)(1.0), ValueError, "no tangents"),
    "loop": (
        lambda box: lax.fori_loop(0, 2, lambda i, c: (put(box, (1.0,)), c)[1], 0),
        TypeError,
        "changes the state",
    ),
    "branches": (
        lambda box: lax.cond(True, lambda: put(box, (1.0,)), lambda: None),
        TypeError,
        "changes the state",
    ),
    "batch": (
        lambda box: jax.vmap(lambda x: put(box, x))(jnp.ones(2)),
        NotImplementedError,
        "batching",
    ),
}


@pytest.mark.parametrize("name", BOX_REFUSALS)
def test_what_cannot_change_in_place(name: str) -> None:
    function, error, text = BOX_REFUSALS[name]
    with pytest.raises(error, match=text):
        function(Box(jnp.float32(3.0)))


# Operations with a signature.
class Power(VJPHiPrimitive):
    """xⁿ, with every rule."""

    def __init__(self, aval: Any, n: int) -> None:
        self.in_avals, self.out_aval, self.params = (aval,), aval, {"n": n}
        super().__init__()

    n: int

    def expand(self, x: Any) -> Any:  # type: ignore[override]
        return x**self.n

    def vjp_fwd(self, nzs_in: Any, x: Any) -> Any:  # type: ignore[override]
        return self(x), x

    def vjp_bwd_retval(self, res: Any, outgrad: Any) -> Any:  # type: ignore[override]
        return (outgrad * self.n * res ** (self.n - 1),)

    def jvp(self, primals: Any, tangents: Any) -> Any:
        (x,), (t,) = primals, tangents
        return self(x), t * self.n * x ** (self.n - 1)

    def batch_dim_rule(self, axis_data: Any, dims: Any) -> Any:  # type: ignore[override]
        return dims[0]


class Linearized(Power):
    """The same by `lin` and `linearized`."""

    vjp_fwd = VJPHiPrimitive.vjp_fwd
    jvp = VJPHiPrimitive.jvp

    def lin(self, nzs_in: Any, x: Any) -> Any:  # type: ignore[override]
        return self(x), self.n * x ** (self.n - 1)

    def linearized(self, residuals: Any, t: Any) -> Any:  # type: ignore[override]
        return residuals * t


class Handed(Power):
    """The same by `jvp` alone, as rules that follow from others need it."""

    vjp_fwd, vjp_bwd_retval = HiPrim.vjp_fwd, HiPrim.vjp_bwd_retval


class FromLin(Handed):
    """Reverse mode by what is linearized on the way."""

    lin, linearized = linearize_from_jvp
    vjp_fwd, vjp_bwd_retval = vjp_from_lin


class FromJvp(Handed):
    """Reverse mode by linearizing on the way back."""

    lin, linearized = linearize_from_jvp
    vjp_fwd, vjp_bwd_retval = vjp_from_jvp


class FromHand(Linearized):
    """Forward mode by the linear map."""

    jvp = jvp_from_lin


class Circular(FromLin):
    """Rules that follow from each other."""

    jvp = jvp_from_lin


DERIVED = (Power, FromLin, FromJvp, FromHand)


@pytest.mark.parametrize("kind", DERIVED)
@pytest.mark.parametrize("wrap", [lambda f: f, jax.jit], ids=["eager", "jit"])
def test_rules_that_follow_from_others(kind: Any, wrap: Any) -> None:
    f = wrap(lambda x: kind(jax.typeof(x), 3)(x))
    assert np.allclose(jax.grad(f)(2.0), 12.0)
    assert np.allclose(jax.jvp(f, (2.0,), (2.0,))[1], 24.0)
    if wrap is not jax.jit or kind is not Power:
        assert np.allclose(jax.linearize(f, 2.0)[1](2.0), 24.0)
    assert np.allclose(jax.grad(jax.grad(f))(2.0), 12.0)


def test_rules_go_in_no_circle() -> None:
    with pytest.raises(TypeError, match=r"(?s)Circular, jvp_from_lin.*fix:"):
        jax.jvp(lambda x: Circular(jax.typeof(x), 3)(x), (2.0,), (1.0,))


def power(x: Any) -> Any:
    return Power(jax.typeof(x), 3)(x)


def linearized(x: Any) -> Any:
    return Linearized(jax.typeof(x), 3)(x)


OF_SIGNATURE: dict[str, tuple[Callable[..., Any], Any]] = {
    "value": (power, 8.0),
    "grad": (jax.grad(power), 12.0),
    "grad of grad": (jax.grad(jax.grad(power)), 12.0),
    "jvp": (lambda x: jax.jvp(power, (x,), (2.0,))[1], 24.0),
    "vmap": (lambda x: jax.vmap(power)(x * jnp.ones(2)), [8.0, 8.0]),
    "vmap of grad": (lambda x: jax.vmap(jax.grad(power))(x * jnp.ones(2)), [12.0, 12.0]),
    "grad of vmap": (
        lambda x: jax.grad(lambda v: jax.vmap(power)(v).sum())(x * jnp.ones(2)),
        [12.0, 12.0],
    ),
    "grad of jit": (jax.grad(jax.jit(power)), 12.0),
    "grad of scan": (
        jax.grad(lambda x: lax.scan(lambda c, _: (power(c), None), x, None, length=2)[0]),
        9 * 2.0**8,
    ),
    "linearize": (lambda x: jax.linearize(linearized, x)[1](2.0), 24.0),
    "transposed lin": (jax.grad(linearized), 12.0),
}


@pytest.mark.parametrize("name", OF_SIGNATURE)
def test_operations_with_a_signature(name: str) -> None:
    function, expected = OF_SIGNATURE[name]
    np.testing.assert_allclose(function(2.0), expected)
    np.testing.assert_allclose(jax.jit(function)(2.0), expected)


def test_operations_with_a_signature_are_values() -> None:
    aval = jax.typeof(1.0)
    assert Power(aval, 2) == Power(aval, 2) != Power(aval, 3)
    assert hash(Power(aval, 2)) == hash(Power(aval, 2))
    assert repr(Power(aval, 2)) == "Power[{'n': 2}]"
    assert "call_hi_primitive[_prim=Power[{'n': 3}]]" in str(jax.make_jaxpr(power)(1.0))
    with pytest.raises(AssertionError, match="structure"):
        Power(aval, 2)(1.0, 2.0)
    with pytest.raises(NotImplementedError, match="grad support"):
        jax.grad(lambda x: _Expanded()(x))(1.0)
    with pytest.raises(AttributeError, match="in_avals"):
        VJPHiPrimitive()


class _Expanded(VJPHiPrimitive):
    def __init__(self) -> None:
        self.in_avals, self.out_aval, self.params = (jax.typeof(1.0),), jax.typeof(1.0), {}
        super().__init__()

    def expand(self, x: Any) -> Any:  # type: ignore[override]
        return x
