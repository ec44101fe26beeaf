"""`vectorize`: signatures, broadcasting, exclusions and errors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import morphax.numpy as jnp
from morphax import grad, jit


@pytest.mark.parametrize(
    ("signature", "function", "shapes"),
    [
        ("(n),(n)->()", lambda x, y: x @ y, ((5, 3), (3,))),
        ("(n,m),(m)->(n)", lambda a, v: a @ v, ((4, 1, 2, 3), (5, 3))),
        ("(n)->(n),()", lambda x: (x + 1, x.sum()), ((2, 3),)),
        ("( n ) , () -> ( n )", lambda x, s: x * s, ((2, 3), (4, 1))),
        ("(3)->()", lambda x: x[0], ((2, 3),)),
        ("(n),(m)->(n,m)", lambda x, y: x[:, None] * y, ((1, 3), (1, 2))),
    ],
)
def test_signatures(signature: str, function: Callable[..., Any], shapes: Any) -> None:
    rng = np.random.default_rng(0)
    arrays = [rng.normal(size=s).astype(np.float32) for s in shapes]
    plain = signature.replace(" ", "").replace("(3)", "(n)")
    expected = np.vectorize(function, signature=plain)(*arrays)
    vectorized = jnp.vectorize(function, signature=signature)
    for results in (vectorized(*arrays), jit(vectorized)(*arrays)):
        pairs = zip(
            results if isinstance(results, tuple) else (results,),
            expected if isinstance(expected, tuple) else (expected,),
            strict=True,
        )
        for given, truth in pairs:
            assert given.shape == truth.shape
            np.testing.assert_allclose(given, truth, rtol=1e-5)


def test_scalars_without_signature() -> None:
    add = jnp.vectorize(lambda x, y: x + y)
    assert add(jnp.ones((2, 1)), [1.0, 2.0, 3.0]).tolist() == [[2, 3, 4], [2, 3, 4]]
    assert add(1, 2).shape == ()
    assert add(jnp.ones((1, 3)), jnp.ones((1, 1))).shape == (1, 3)


def test_gradients_pass_through() -> None:
    square = jnp.vectorize(lambda x: x**2)
    assert grad(lambda x: square(x).sum())(jnp.arange(3.0)).tolist() == [0, 2, 4]


def test_excluded_arguments() -> None:
    scale = jnp.vectorize(lambda x, how: x * (2 if how == "double" else 1), excluded={1})
    assert scale(jnp.arange(3), "double").tolist() == [0, 2, 4]
    named = jnp.vectorize(lambda x, *, power: x**power, excluded={"power"})
    assert named(jnp.arange(3), power=2).tolist() == [0, 1, 4]
    optional = jnp.vectorize(lambda x, y: x if y is None else x + y)
    assert optional(jnp.arange(2), None).tolist() == [0, 1]


def test_the_signature_describes_none_but_not_what_is_excluded() -> None:
    def total(x: Any, y: Any, scale: Any) -> Any:
        return (x.sum() if y is None else x @ y) * scale

    f = jnp.vectorize(total, signature="(n),(n)->()", excluded={2})
    assert f(jnp.ones((2, 3)), None, 2.0).tolist() == [6.0, 6.0]
    assert f(jnp.ones((2, 3)), jnp.arange(3.0), 2.0).tolist() == [6.0, 6.0]


def test_a_tuple_of_one_result_stays_one() -> None:
    (result,) = jnp.vectorize(lambda x: (x.sum(),), signature="(n)->()")(jnp.ones((2, 3)))
    assert result.tolist() == [3.0, 3.0]


def test_name_and_text_are_those_of_the_function() -> None:
    def function(x: Any) -> Any:
        """What it does."""
        return x

    vectorized = jnp.vectorize(function)
    assert (vectorized.__name__, vectorized.__doc__) == ("function", "What it does.")


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda: jnp.vectorize(abs, signature="n->n"), ValueError, "parentheses"),
        (lambda: jnp.vectorize(abs, signature="(n)"), ValueError, "arrow"),
        (lambda: jnp.vectorize(abs, signature="(n m)->()"), ValueError, "parentheses"),
        (lambda: jnp.vectorize(abs, signature="(n,)->()"), ValueError, "parentheses"),
        (lambda: jnp.vectorize(abs, signature=["(n)->()"]), TypeError, "a string"),
        (lambda: jnp.vectorize(abs, excluded={-1}), ValueError, "not negative"),
        (lambda: jnp.vectorize(abs, excluded="x"), TypeError, "a collection"),
        (lambda: jnp.vectorize(abs, excluded=1), TypeError, "a collection"),
        (lambda: jnp.vectorize(abs, excluded={1.5}), TypeError, "positions"),
        (lambda: jnp.vectorize(abs)(x=1), TypeError, "excluded"),
        (lambda: jnp.vectorize(abs, signature="(n)->(n)")(1.0), ValueError, "core axes"),
        (lambda: jnp.vectorize(abs, signature="()->()")(1, 2), TypeError, "2 arguments"),
        (lambda: jnp.vectorize(abs, signature="(n)->()")(np.ones(3)), ValueError, "a result"),
        (lambda: jnp.vectorize(abs, signature="(n)->(),()")(np.ones(3)), TypeError, "one result"),
        (lambda: jnp.vectorize(jnp.add, signature="(n),(n)->(n)")(np.ones(3), np.ones(2)),
            ValueError, "size 3"),
        (lambda: jnp.vectorize(abs, signature="(4)->(4)")(np.ones(3)), ValueError, "size 4"),
    ],
)  # fmt: skip
def test_refused(call: Callable[[], Any], error: Any, text: str) -> None:
    with pytest.raises(error, match=text):
        call()
