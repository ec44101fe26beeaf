"""Library functions that eager derivatives and batches take as one operation."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import morphax as jax
import morphax.numpy as jnp
from benchmarks.groups import function_calls
from morphax import lax
from morphax.config import override
from morphax.control.program_call import replayed_p
from morphax.core import aval_of, check_jaxpr
from morphax.engines.reference import replay_signatures
from morphax.engines.reference.replay import replayed
from tests.descriptions import numbers
from tests.tracing import calls_of

X = jnp.array([0.3, -0.0, 1.5, 0.7])
Way = Callable[[Callable[..., Any], Any], Any]
PARTS = 8


def with_weights(function: Callable[..., Any]) -> Callable[..., Any]:
    """The sum of all that is real among results, each number with another weight."""

    def weighted(*operands: Any) -> Any:
        parts = [x for x in jax.tree.leaves(function(*operands)) if is_real(x)]
        weights = [jnp.cos(jnp.arange(1.0, x.size + 1)).reshape(x.shape) for x in parts]
        return sum([jnp.sum(x * w) for x, w in zip(parts, weights, strict=True)], jnp.zeros(()))

    return weighted


def is_real(x: Any) -> bool:
    return jnp.issubdtype(jnp.result_type(x), jnp.floating)


def gradient(function: Callable[..., Any], operands: Any) -> Any:
    return jax.grad(with_weights(function), tuple(range(len(operands))))(*operands)


def tangents(function: Callable[..., Any], operands: Any) -> Any:
    return jax.jvp(function, operands, operands)


def second_derivatives(function: Callable[..., Any], operands: Any) -> Any:
    return jax.jvp(jax.grad(with_weights(function)), operands, operands)


def members(function: Callable[..., Any], operands: Any) -> Any:
    return jax.vmap(function)(*[jnp.stack([x, x * 0.9]) for x in operands])


def gradients_of_members(function: Callable[..., Any], operands: Any) -> Any:
    batches = [jnp.stack([x, x * 0.9]) for x in operands]
    return jax.vmap(jax.grad(with_weights(function)))(*batches)


WAYS: list[Way] = [gradient, tangents, second_derivatives, members, gradients_of_members]


def result_of(way: Way, function: Callable[..., Any], operands: Any) -> Any:
    """What the second call gives, or the class of its error."""
    try:
        for _ in range(2):
            result = jax.tree.leaves(way(function, operands))
    except Exception as error:
        return type(error)
    return result


def public_functions() -> list[tuple[str, Callable[..., Any], list[Any]]]:
    """Calls with operands to differentiate by: texts, functions and operands."""
    names = {k: jnp.asarray(x) for k, x in function_calls.operands(10, 4).items()}
    space = function_calls.namespace(jax, 10, 4) | names
    found = []
    for text in function_calls.calls():
        used = [k for k in names if re.search(rf"(?<![\w.]){k}(?!\w)", text)]
        real = [k for k in used if is_real(names[k])]
        if real and "rng_uniform" not in text:
            function = eval(f"lambda {', '.join(real)}: {text}", space)
            found.append((text, function, [names[k] for k in real]))
    return found


@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.__name__)
def test_results_are_those_of_single_operations(way: Way) -> None:
    for text, function, operands in public_functions()[WAYS.index(way) :: PARTS]:
        with override(replay_transformed_calls=False):
            alone = result_of(way, function, operands)
        with override(replay_first_calls=True):
            whole = result_of(way, function, operands)
        if isinstance(alone, type):
            assert whole is alone, text
            continue
        assert list(map(aval_of, whole)) == list(map(aval_of, alone)), text
        for x, y in zip(map(numbers, whole), map(numbers, alone), strict=True):
            if y.dtype.kind not in "fc":
                assert x.tobytes() == y.tobytes(), text
                continue
            # Cotangents of one operand may be added up in another order.
            scale = np.max(np.abs(y[np.isfinite(y)]), initial=1e-30)
            np.testing.assert_allclose(x, y, 1e-6, 1e-6 * scale, err_msg=text)


@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.__name__)
def test_functions_are_staged_after_few_calls(way: Way) -> None:
    runs: list[Any] = []

    @replayed(1)
    def shifted(x: Any, by: Any = 1.0) -> Any:
        runs.append(x)
        return jnp.exp(jnp.add(x, by)) * 2.0

    with override(replay_first_calls=False):
        found = [result_of(way, lambda x: shifted(x), [X]) for _ in range(4)]
    assert len(runs) == 5  # Four times by itself, and once to be staged.
    for results in zip(*found, strict=True):
        assert len({x.tobytes() for x in results}) == 1


def test_single_operations_are_soon_left_alone() -> None:
    @replayed(1)
    def sine(x: Any) -> Any:
        return lax.sin(x)

    code = replay_signatures.signature_of.__code__
    gradient_of = jax.grad(lambda x: sine(sine(x)))
    assert calls_of(code, lambda: [gradient_of(0.5) for _ in range(3)]) == 6
    for _ in range(20):
        gradient_of(0.5)
    assert not calls_of(code, lambda: gradient_of(0.5))


def test_the_program_is_typed() -> None:
    jaxpr = jax.make_jaxpr(lambda x: jax.nn.softmax(x) * x)(X)

    def whole(x: Any) -> Any:
        return replayed_p.bind(x, jaxpr=jaxpr)[0]

    for function in (
        whole,
        lambda x: jax.jvp(whole, (x,), (x,)),
        jax.grad(lambda x: whole(x).sum()),
        jax.vmap(whole, in_axes=0),
        jax.vmap(jax.grad(lambda x: whole(x).sum())),
    ):
        operand = jnp.stack([X, X])
        program = jax.make_jaxpr(function)(operand if "vmap" in str(function) else X)
        check_jaxpr(program)
        assert "replayed" in str(program)
    for engine in ("xla", "native"):
        with override(cpu_engine=engine):
            np.testing.assert_allclose(jax.jit(whole)(X), whole(X), 1e-6, 1e-7)


def test_bound_arrays_are_computed_where_they_are() -> None:
    bound = jax.device_put(X, jax.devices("cpu")[0])
    function = jax.grad(lambda x: jnp.var(jax.nn.softmax(x)))
    for _ in range(6):
        result = function(bound)
        assert result.committed
        np.testing.assert_allclose(result, function(X), 1e-5, 1e-8)


@pytest.mark.parametrize("way", [jax.vmap, lambda f: jax.vmap(jax.vmap(f))])
def test_numpys_arrays_are_seen_by_the_function(way: Any) -> None:
    """Words of 64 bits are refused where 32 are meant, though a member of a batch has 32."""
    words = np.ones((3, 4, 2), np.uint64) if way is not jax.vmap else np.ones((3, 2), np.uint64)
    for _ in range(8):
        with pytest.raises(TypeError, match="uint64"):
            way(jax.random.bits)(words)
    narrow = jnp.asarray(words.astype(np.uint32))
    for _ in range(8):
        assert way(jax.random.bits)(narrow).shape == words.shape[:-1]


def test_user_rules_are_asked() -> None:
    asked = []

    @jax.custom_jvp
    def doubled(x: Any) -> Any:
        return 2 * x

    @doubled.defjvp
    def rule(primals: Any, given: Any) -> Any:
        asked.append(True)
        return doubled(*primals), 3 * given[0]

    @replayed(1)
    def function(x: Any) -> Any:
        return doubled(jnp.sin(x)) * 1.0

    for _ in range(6):
        assert jax.grad(function)(0.0) == 3.0
    assert asked


def test_numbers_decide_as_before() -> None:
    @replayed(1)
    def halved(x: Any) -> Any:
        while x > 1:
            x = x / 2
        return x * x

    for _ in range(6):
        assert jax.grad(halved)(3.0) == 0.375
        assert jax.grad(halved)(0.5) == 1.0


def test_what_is_watched_is_done_one_by_one() -> None:
    function = jax.grad(lambda x: jnp.sum(jnp.var(jnp.sqrt(x))))
    for _ in range(6):
        function(X + 1)
    with override(debug_nans=True), pytest.raises(FloatingPointError):
        function(X - 1)


def test_axes_with_names_are_known() -> None:
    def member(x: Any) -> Any:
        return jax.nn.softmax(x) - lax.pmean(x, "i")

    batch = jnp.stack([X, X + 1])
    for _ in range(6):
        found = jax.vmap(member, axis_name="i")(batch)
        np.testing.assert_allclose(found, jax.jit(jax.vmap(member, axis_name="i"))(batch), 1e-6)


@pytest.mark.parametrize(
    "way", ["jax.grad(f)(0.5)", "jax.jvp(f, (0.5,), (1.0,))", "jax.vmap(f)(x)"]
)
def test_a_process_that_has_done_nothing_else_applies_programs(way: str) -> None:
    """The module of the operation was loaded by other uses only, by all tests among them."""
    program = (
        "import morphax as jax, morphax.numpy as jnp; x = jnp.ones(3)\n"
        "f = lambda y: jnp.var(x * y) + jax.nn.softmax(x * y)[0]\n"
        f"for _ in range(8): {way}\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
