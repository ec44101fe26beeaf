"""The tables and functions of `interpreters.ad`."""

from __future__ import annotations

from collections.abc import MutableMapping
from typing import Any

import numpy as np
import pytest

import morphax as jax
import morphax.numpy as jnp
from morphax import lax
from morphax.core import NoRule, ShapedArray
from morphax.extend import linear_util
from morphax.extend.core import Primitive
from morphax.interpreters import ad, batching

SCALAR = ShapedArray((), np.float32)


def product_primitive() -> Primitive:
    p = Primitive("scaled_product")
    p.def_impl(lambda x, y, *, scale: np.asarray(x) * np.asarray(y) * scale)
    p.def_abstract_eval(lambda x, y, *, scale: x)
    return p


def test_tables_are_mappings_over_all_primitives() -> None:
    assert isinstance(ad.primitive_jvps, MutableMapping)
    assert {lax.sin_p, lax.neg_p, lax.add_p} <= set(ad.primitive_jvps)
    assert lax.sin_p not in ad.primitive_transposes
    assert "sin" not in ad.primitive_jvps
    assert len(ad.primitive_jvps) == len(list(ad.primitive_jvps))
    assert ad.primitive_transposes.get(lax.sin_p) is None
    with pytest.raises(KeyError):
        ad.primitive_transposes[lax.sin_p]


def test_rules_of_ordinary_primitives_can_be_called() -> None:
    out, tangent = ad.primitive_jvps[lax.sin_p]((np.float32(0.0),), (np.float32(2.0),))
    assert (out, tangent) == (0.0, 2.0)
    out, tangent = ad.primitive_jvps[lax.neg_p]((np.float32(1.0),), (np.float32(2.0),))
    assert (out, tangent) == (-1.0, -2.0)
    rule = ad.get_primitive_transpose(lax.neg_p)
    (ct,) = rule(np.float32(3.0), ad.UndefinedPrimal(SCALAR))
    assert ct == -3.0


def test_rules_are_set_on_the_primitive() -> None:
    p = product_primitive()

    def rule(primals: Any, tangents: Any, *, scale: float) -> Any:
        return p.bind(*primals, scale=scale), tangents[0]

    ad.primitive_jvps[p] = rule
    assert p.jvp is rule
    assert ad.primitive_jvps[p] is rule
    del ad.primitive_jvps[p]
    assert p not in ad.primitive_jvps
    assert isinstance(vars(type(p))["jvp"], NoRule)
    with pytest.raises(KeyError):
        del ad.primitive_jvps[p]


def test_a_rule_of_an_ordinary_primitive_can_be_replaced() -> None:
    def tenfold(primals: Any, tangents: Any) -> Any:
        return lax.neg(*primals), 10.0 * tangents[0]

    assert jax.grad(lax.neg)(1.0) == -1.0
    ad.primitive_jvps[lax.neg_p] = tenfold
    try:
        assert jax.grad(lax.neg)(1.0) == 10.0
    finally:
        del lax.neg_p.jvp, lax.neg_p.linear
        jax.clear_caches()
    assert jax.grad(lax.neg)(1.0) == -1.0


def test_no_transpose_rule() -> None:
    with pytest.raises(NotImplementedError, match="scaled_product"):
        ad.get_primitive_transpose(product_primitive())


def test_bilinear() -> None:
    p = product_primitive()
    seen = []

    def left(ct: Any, x: Any, y: Any, *, scale: float) -> Any:
        seen.append(("left", ad.is_undefined_primal(x), ad.is_undefined_primal(y)))
        return p.bind(ct, y, scale=scale)

    def right(ct: Any, x: Any, y: Any, *, scale: float) -> Any:
        seen.append(("right", ad.is_undefined_primal(x), ad.is_undefined_primal(y)))
        return p.bind(x, ct, scale=scale)

    ad.defbilinear(p, left, right)
    batching.defbroadcasting(p)
    gradient = jax.grad(lambda x, y: p.bind(x, y, scale=2.0), argnums=(0, 1))(3.0, 5.0)
    assert gradient == (10.0, 6.0)
    assert sorted(seen) == [("left", True, False), ("right", False, True)]
    assert jax.hessian(lambda x: p.bind(x, x, scale=2.0))(1.0) == 4.0


@pytest.mark.parametrize("define", [ad.defjvp, ad.defjvp2])
def test_one_rule_per_operand(define: Any) -> None:
    p = product_primitive()
    seen = []

    def d_x(t: Any, *others: Any, scale: float) -> Any:
        seen.append([float(x) for x in others])
        return t * others[-1] * scale

    define(p, d_x, None)
    out, tangent = jax.jvp(lambda x, y: p.bind(x, y, scale=2.0), (3.0, 5.0), (1.0, 1.0))
    assert (out, tangent) == (30.0, 10.0)
    assert seen == [[3.0, 5.0] if define is ad.defjvp else [30.0, 3.0, 5.0]]
    assert jax.jvp(lambda y: p.bind(3.0, y, scale=2.0), (5.0,), (1.0,)) == (30.0, 0.0)


def test_linear_in_all_operands_together() -> None:
    p = Primitive("sum")
    p.def_impl(lambda x, y: np.asarray(x) + np.asarray(y))
    p.def_abstract_eval(lambda x, y: x)
    ad.deflinear(p, lambda ct: [ct, ct])
    assert jax.grad(p.bind, argnums=(0, 1))(1.0, 2.0) == (1.0, 1.0)
    assert jax.jvp(lambda x: p.bind(x, 3.0), (2.0,), (7.0,)) == (5.0, 7.0)


def test_tangents() -> None:
    zero = ad.Zero(SCALAR)
    assert ad.instantiate_zeros(zero) == 0.0
    assert ad.instantiate_zeros(3.0) == 3.0
    assert zero.instantiate() == 0.0
    assert ad.add_tangents(zero, 2.0) == ad.add_tangents(2.0, zero) == 2.0
    assert ad.add_tangents(1.0, 2.0) == ad.add_jaxvals(1.0, 2.0) == 3.0
    assert ad.zeros_like_aval(ShapedArray((2,), np.int32)).tolist() == [0, 0]
    assert ad.Zero.from_primal_value(1).aval.dtype == jax.dtypes.float0
    staged = jax.make_jaxpr(lambda x: x + ad.Zero(SCALAR).instantiate())(1.0)
    assert staged.out_avals[0].shape == ()


def test_jvp_of_flat_functions() -> None:
    def function(x: Any, y: Any) -> list[Any]:
        return [x * y, jnp.sin(y)]

    wrapped = linear_util.wrap_init(function)
    outs, tangents = ad.jvp(wrapped, (2.0, 0.0), (1.0, ad.Zero(SCALAR)))
    assert [float(x) for x in outs] == [0.0, 0.0]
    assert [float(t) for t in tangents] == [0.0, 0.0]
    _, tangents = ad.jvp(function, (2.0, 0.0), (1.0, ad.Zero(SCALAR)), instantiate=False)
    assert isinstance(tangents[1], ad.Zero)
    outs, tangents, aux = ad.jvp(
        lambda x: ([x * x], {"twice": 2 * x}), (3.0,), (1.0,), has_aux=True
    )
    assert (outs[0], tangents[0], aux["twice"]) == (9.0, 6.0, 6.0)


def test_scopes_inside_show_the_transformation() -> None:
    def function(x: Any) -> list[Any]:
        with jax.named_scope("layer"):
            return [jnp.sin(x)]

    jaxpr = jax.make_jaxpr(lambda x: ad.jvp(function, (x,), (1.0,))[1])(1.0)
    assert str(jaxpr.eqns[-1].source_info.name_stack) == "jvp(layer)"


def test_linearize_gives_results_and_a_program_of_tangents() -> None:
    def function(x: Any, y: Any) -> Any:
        return [jnp.sin(x) * y, jnp.float32(3.0)], {"aux": x}

    x, y = jnp.float32(0.5), jnp.float32(2.0)
    results, is_zero, program, residuals, aux = ad.linearize(function, x, y, has_aux=True)
    assert is_zero == [False, True]
    assert aux == {"aux": x}
    np.testing.assert_allclose(results, [np.sin(0.5) * 2, 3])
    (tangent,) = jax.core.eval_jaxpr(program, residuals, jnp.float32(1), jnp.float32(10))
    np.testing.assert_allclose(tangent, np.cos(0.5) * 2 + 10 * np.sin(0.5), rtol=1e-6)


def test_linearize_under_staging_stages_the_results() -> None:
    def square(x: Any) -> Any:
        (y,), _, program, residuals = ad.linearize(lambda x: [x * x], x)
        return y, jax.core.eval_jaxpr(program, residuals, jnp.ones_like(x))[0]

    np.testing.assert_array_equal(jax.jit(square)(jnp.float32(3)), (9, 6))
