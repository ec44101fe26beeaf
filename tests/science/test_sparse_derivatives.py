"""Sparse Jacobians and Hessians are the dense ones, and as sparse as the programs show."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import morphax as jax
import morphax.numpy as jnp
from morphax import lax, tree
from morphax.experimental.sparse import BCOO
from morphax.science import sparse_hessian, sparse_jacobian
from morphax.science.sparsity import loops
from tests.cases.op_case import OpCase
from tests.lax.test_operations import CASES, _of_differentiable
from tests.sampling import sample
from tests.science.sparsity_programs import FORWARD_ONLY, STEPS, random_program


@pytest.fixture(autouse=True)
def _wide_dtypes() -> Iterator[None]:
    with jax.enable_x64(True):
        yield


def check_equal(sparse: Any, dense: Any) -> None:
    """Equal but for roundings; a batch of other size may be added up in another order."""
    matrices = tree.leaves(sparse, is_leaf=lambda node: isinstance(node, BCOO))
    for matrix, expected in zip(matrices, tree.leaves(dense), strict=True):
        given, truth = np.asarray(matrix.todense()), np.asarray(expected)
        assert (given.shape, given.dtype) == (truth.shape, truth.dtype)
        largest = np.abs(truth[np.isfinite(truth)]).max(initial=1.0)
        np.testing.assert_allclose(given, truth, rtol=1e-9, atol=1e-10 * largest)


def check_derivatives(f: Callable[..., Any], x: Any, *, reverse: bool) -> None:
    check_equal(sparse_jacobian(f, x, mode="forward", check=True), jax.jacfwd(f)(x))
    if not reverse:
        return
    check_equal(sparse_jacobian(f, x, mode="reverse", check=True), jax.jacrev(f)(x))
    check_equal(sparse_jacobian(f, x), jax.jacfwd(f)(x))

    def total(x: Any) -> Any:
        return jnp.sum(jnp.sin(f(x)))

    check_equal(sparse_hessian(total, x, check=True), jax.hessian(total)(x))


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("most_equations", [0, 5000], ids=["whole loops", "steps"])
def test_random_programs(seed: int, most_equations: int, monkeypatch: pytest.MonkeyPatch) -> None:
    jax.clear_caches()
    monkeypatch.setattr(loops, "_MOST_EQUATIONS", most_equations)
    names, f, x = random_program(2 * seed + bool(most_equations))
    check_derivatives(f, jnp.asarray(x), reverse=FORWARD_ONLY.isdisjoint(names))


@pytest.mark.parametrize("name", STEPS)
def test_each_step(name: str) -> None:
    rng = np.random.default_rng(7)
    f, x = STEPS[name](5, rng), jnp.asarray(rng.normal(size=5))
    check_equal(sparse_jacobian(f, x, mode="forward"), jax.jacfwd(f)(x))


def _records() -> list[OpCase]:
    return [case for case in CASES if case.derivatives and "float64" in case.dtypes]


@pytest.mark.parametrize("case", sample(_records(), "sparse", 5), ids=lambda case: case.label)
def test_every_operation(case: OpCase) -> None:
    """No entry of any operation's Jacobian is missing from its pattern."""
    function, points = _of_differentiable(case, case.draw("float64"))

    def f(x: Any) -> list[Any]:
        return [out for out in tree.leaves(function(*x)) if out.dtype == jnp.float64]

    x = tuple(map(jnp.asarray, points))
    check_equal(sparse_jacobian(f, x, mode="forward"), jax.jacfwd(f)(x))


# What the pattern of each program has, for n = 6: as few entries as can be known without values.
COUNTS: dict[str, tuple[Callable[..., Any], int]] = {
    "tridiagonal": (lambda x: 2 * x[1:-1] - x[:-2] - x[2:], 12),
    "convolution": (lambda x: jnp.convolve(x, jnp.array([1.0, -2.0, 1.0]), "same"), 16),
    "windows": (lambda x: lax.reduce_window(x, 0.0, lax.add, (2,), (1,), "VALID"), 10),
    "known matrix": (lambda x: jnp.eye(6, k=1) @ x, 5),
    "known mask": (lambda x: jnp.where(jnp.arange(6) < 2, x, 0.0), 2),
    "overwritten": (lambda x: (x * x).at[jnp.arange(3)].set(1.0), 3),
    "running sum": (jnp.cumsum, 21),
    "loop over places": (
        lambda x: lax.fori_loop(0, 5, lambda i, y: y.at[i].set(x[i] * x[i + 1]), x),
        11,
    ),
    "steps": (
        lambda x: lax.scan(lambda y, _: (y * jnp.roll(y, 1), None), x, None, length=2)[0],
        18,
    ),
    "map": (lambda x: lax.map(jnp.sin, x), 6),
    "rows": (lambda x: jnp.sum(x.reshape(3, 2) ** 2, axis=1), 6),
    "batched solve": (
        lambda x: lax.linalg.triangular_solve(
            jnp.broadcast_to(jnp.eye(2), (3, 2, 2)), x.reshape(3, 2, 1), left_side=True
        ),
        12,
    ),
    "nothing": (lambda x: jnp.ones(6), 0),
    "stopped": (lambda x: lax.stop_gradient(x) * x[0], 6),
}


@pytest.mark.parametrize("name", COUNTS)
def test_count_of_entries(name: str) -> None:
    f, expected = COUNTS[name]
    x = jnp.linspace(0.5, 2.0, 6)
    jacobian = sparse_jacobian(f, x, check=True)
    assert jacobian.nse == expected
    check_equal(jacobian, jax.jacfwd(f)(x))


def test_long_map_keeps_elements_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loops, "_MOST_EQUATIONS", 0)
    x = jnp.linspace(0.5, 2.0, 6)
    assert sparse_jacobian(lambda x: lax.map(jnp.sin, x), x).nse == 6
    newton = STEPS["newton"](6, np.random.default_rng(0))
    assert sparse_jacobian(newton, x).nse == 6


def test_trees_and_shapes() -> None:
    def f(x: dict[str, Any]) -> tuple[Any, Any]:
        return x["a"][:, 1:] * x["b"], jnp.sum(x["b"] ** 2)

    x = {"a": jnp.arange(6.0).reshape(2, 3), "b": jnp.arange(2.0)}
    jacobian = sparse_jacobian(f, x, check=True)
    check_equal(jacobian, jax.jacfwd(f)(x))
    assert jacobian[0]["a"].shape == (2, 2, 2, 3)
    assert jacobian[1]["a"].nse == 0
    check_equal(
        sparse_hessian(lambda x: f(x)[1] + jnp.sum(f(x)[0]), x),
        jax.hessian(lambda x: f(x)[1] + jnp.sum(f(x)[0]))(x),
    )


def test_dtypes_of_leaves() -> None:
    def f(x: tuple[Any, Any]) -> tuple[Any, Any]:
        return x[0] * x[1].astype(jnp.float64), x[1] * 2

    x = jnp.ones(2), jnp.ones(2, jnp.float32)
    check_equal(sparse_jacobian(f, x), jax.jacfwd(f)(x))
    check_equal(sparse_jacobian(f, x, mode="reverse"), jax.jacrev(f)(x))


@pytest.mark.parametrize(
    "x", [jnp.zeros(0), 3.0, jnp.zeros((2, 0))], ids=["empty", "scalar", "flat"]
)
def test_special_shapes(x: Any) -> None:
    check_equal(sparse_jacobian(lambda x: x * x, x), jax.jacfwd(lambda x: x * x)(x))
    check_equal(sparse_hessian(lambda x: jnp.sum(x**3), x), jax.hessian(lambda x: jnp.sum(x**3))(x))
    assert sparse_jacobian(lambda x: (), x) == ()


def test_special_values() -> None:
    x = jnp.array([0.0, -0.0, jnp.inf, -jnp.inf, jnp.nan])
    given = sparse_jacobian(lambda x: jnp.sqrt(x) * jnp.roll(x, 1), x).todense()
    expected = jax.jacfwd(lambda x: jnp.sqrt(x) * jnp.roll(x, 1))(x)
    # Where the dense product multiplies a structural zero by an infinity, the sparse one has zero.
    stored = np.asarray(sparse_jacobian(lambda x: x * jnp.roll(x, 1), jnp.ones(5)).todense()) != 0
    np.testing.assert_array_equal(np.asarray(given)[stored], np.asarray(expected)[stored])


def test_under_transformations() -> None:
    def f(x: Any) -> Any:
        return jnp.sin(x[1:] * x[:-1])

    def data(x: Any) -> Any:
        return sparse_jacobian(f, x).data

    x = jnp.arange(1.0, 5.0)
    np.testing.assert_allclose(jax.jit(data)(x), data(x), rtol=1e-14)
    xs = jnp.stack([x, 2 * x])
    np.testing.assert_allclose(jax.vmap(data)(xs), jnp.stack([data(x), data(2 * x)]), rtol=1e-14)
    dense = jax.grad(lambda x: jnp.sum(jax.jacfwd(f)(x) ** 2))(x)
    np.testing.assert_allclose(jax.grad(lambda x: jnp.sum(data(x) ** 2))(x), dense, rtol=1e-12)


def test_indices_that_are_traced_are_unknown() -> None:
    def count(places: Any) -> Any:
        return sparse_jacobian(lambda x: x[places], jnp.ones(4)).data.size

    assert count(jnp.array([1, 2])) == 2
    assert jax.eval_shape(lambda i: jnp.zeros(count(i)), jnp.array([1, 2])).shape == (8,)


def _by_wrong_rule() -> Callable[..., Any]:
    @jax.custom_batching.custom_vmap
    def doubled(x: Any) -> Any:
        return 2 * x

    @doubled.def_vmap
    def rule(size: int, batched: Any, x: Any) -> tuple[Any, bool]:
        return 3 * x, True

    return doubled


def test_check_finds_rules_that_disagree() -> None:
    f, x = _by_wrong_rule(), jnp.ones(3)
    with pytest.raises(RuntimeError, match="check of the result"):
        sparse_jacobian(f, x, check=True)
    data = jax.jit(lambda x: sparse_jacobian(f, x, check=True).data)(x)
    assert np.isnan(data).all()


def test_custom_vjp_is_taken_in_reverse() -> None:
    @jax.custom_vjp
    def scaled(x: Any) -> Any:
        return 2 * x

    scaled.defvjp(lambda x: (2 * x, None), lambda _, ct: (3 * ct,))
    check_equal(sparse_jacobian(scaled, jnp.ones(3)), 3 * jnp.eye(3))


def test_asymmetric_rules_are_not_mirrored() -> None:
    """A rule of the user may make a "Hessian" that is not symmetric; it is what hessian gives."""

    @jax.custom_jvp
    def total(x: Any) -> Any:
        return jnp.sum(x) * x[0]

    total.defjvp(
        lambda primals, tangents: (total(primals[0]), jnp.sum(tangents[0] * primals[0][0]))
    )
    x = jnp.arange(1.0, 6.0)
    given = sparse_hessian(total, x, check=True)
    check_equal(given, jax.hessian(total)(x))
    assert not np.allclose(given.todense(), given.todense().T)


REFUSALS: dict[str, tuple[Callable[[], Any], type[Exception], str]] = {
    "integers": (lambda: sparse_jacobian(lambda x: x, jnp.arange(3)), TypeError, "floating dtype"),
    "integer result": (
        lambda: sparse_jacobian(lambda x: jnp.argsort(x), jnp.ones(3)),
        TypeError,
        "arrays of floating dtype",
    ),
    "complex result": (lambda: sparse_jacobian(lambda x: x * 1j, 1.0), TypeError, "real and the"),
    "no function": (lambda: sparse_jacobian(3, 1.0), TypeError, "a callable"),  # type: ignore[arg-type]
    "mode": (lambda: sparse_jacobian(jnp.sin, 1.0, mode="x"), ValueError, "argument mode"),
    "vector": (lambda: sparse_hessian(jnp.sin, jnp.ones(2)), TypeError, "a scalar"),
    "dense": (
        lambda: sparse_jacobian(jax.nn.softmax, jnp.ones(100_000)),
        ValueError,
        "pattern of dependence",
    ),
    "running sum": (lambda: sparse_jacobian(jnp.cumsum, jnp.ones(100_000)), ValueError, "at most"),
}


@pytest.mark.parametrize("name", REFUSALS)
def test_refusals(name: str) -> None:
    call, kind, text = REFUSALS[name]
    with pytest.raises(kind, match=text):
        call()


def test_references_from_outside_are_refused() -> None:
    ref = jax.new_ref(jnp.ones(3))
    with pytest.raises(TypeError, match="references are its own"):
        sparse_jacobian(lambda x: x * ref[...], jnp.ones(3))
