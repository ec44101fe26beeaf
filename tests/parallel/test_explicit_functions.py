"""What users call to say how arrays are split over explicit axes, in and around programs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
import pytest

import morphax as jax
import morphax.numpy as jnp
from morphax import NamedSharding, P, lax
from morphax.experimental import io_callback
from morphax.sharding import AxisType, auto_axes, explicit_axes, reshard
from tests.stress.process import run

X = np.arange(8, dtype=np.float32).reshape(4, 2)


@pytest.fixture
def mesh(two_devices: list[Any]) -> Iterator[Any]:
    found = jax.make_mesh((2,), ("x",), devices=two_devices)
    with jax.set_mesh(found):
        yield found


def kind(x: Any) -> str:
    return str(jax.typeof(x))


def test_other_axes_of_the_same_devices(mesh: Any) -> None:
    """A program may divide its devices anew, along axes that no mesh of devices has."""
    turned = jax.sharding.AbstractMesh((1, 2), ("b", "c"), (AxisType.Explicit,) * 2)

    def halves(x: Any) -> Any:
        with jax.sharding.use_abstract_mesh(turned):
            return reshard(x, P(None, "c")) * 2

    rows = reshard(X, P("x"))
    for out in (jax.jit(halves)(rows), halves(rows)):
        assert kind(out) == "float32[4,2@c]"
        assert out.sharding.mesh.devices.tolist() == [mesh.devices.tolist()]
        np.testing.assert_array_equal(out, 2 * X)


def test_calls_of_python_get_whole_operands(mesh: Any) -> None:
    rows, seen = reshard(X, P("x")), []

    def doubled(x: Any) -> Any:
        seen.append(x.shape)
        return 2 * np.asarray(x)

    whole = jax.ShapeDtypeStruct(X.shape, X.dtype)
    for call in (jax.pure_callback, io_callback):
        function = partial(call, doubled, whole)
        for out in (function(rows), jax.jit(function)(rows)):
            assert kind(out) == "float32[4,2]"
            np.testing.assert_array_equal(out + rows, 3 * X)
    assert set(seen) == {X.shape}


def test_resharding(mesh: Any) -> None:
    rows = reshard(X, P("x"))
    assert kind(rows) == "float32[4@x,2]"
    assert rows.sharding is NamedSharding(mesh, P("x", None))
    assert reshard(rows, P("x", None)) is rows
    both = reshard({"a": X, "b": X.T}, {"a": P("x"), "b": P(None, "x")})
    assert [kind(x) for x in (both["a"], both["b"])] == ["float32[4@x,2]", "float32[2,4@x]"]
    moved = jax.jit(lambda x: reshard(x, P(None, "x")) * 2)(rows)
    assert kind(moved) == "float32[4,2@x]"
    np.testing.assert_array_equal(moved, 2 * X)
    pulled = jax.grad(lambda x: (reshard(x, P(None, "x")) ** 2).sum())(rows)
    assert kind(pulled) == "float32[4@x,2]"
    np.testing.assert_array_equal(pulled, 2 * X)


MISUSED: list[tuple[type[Exception], str, Callable[[Any], Any]]] = [
    (ValueError, "names 'z'", lambda x: reshard(x, P("z"))),
    (ValueError, "at most once", lambda x: reshard(x, P("x", "x"))),
    (ValueError, "that 2 divides, not 3", lambda x: reshard(jnp.ones(3), P("x"))),
    (ValueError, "no more entries", lambda x: reshard(x, P(None, None, "x"))),
    (TypeError, r"a jax.P or a jax.NamedSharding", lambda x: reshard(x, "x")),
    (ValueError, "names 'z'", lambda x: reshard(x, P(unreduced={"z"}))),
    (TypeError, "is split", lambda x: jnp.dot(x.T, x, out_sharding=P(unreduced={"y"}))),
    (TypeError, "out_sharding", lambda x: jnp.zeros(4, out_sharding=3)),
    (TypeError, "argument out_sharding", lambda x: x.at[0].set(1.0, out_sharding=3)),
    (ValueError, "names 'z'", lambda x: x.at[0].set(1.0, out_sharding=P("z"))),
    (TypeError, "Make one of these axes whole", lambda x: x.T @ x),
    (TypeError, "do not lead to a result", lambda x: x @ x.T),
    (AssertionError, "reshard", lambda x: lax.with_sharding_constraint(x, P(None, "x"))),
    (ValueError, "in_shardings", lambda x: jax.jit(jnp.sin, in_shardings=P(None, "x"))(x)),
    (ValueError, "spmd_axis_name", lambda x: jax.vmap(jnp.sin, spmd_axis_name="y")(x)),
    (ValueError, "split differently", lambda x: jax.vmap(jnp.add)(x, reshard(x, P(None, "x")))),
    (ValueError, "whole along their first axis", lambda x: lax.scan(lambda c, s: (c, s), 0, x)),
    (TypeError, "at most once over each axis", lambda x: jax.vmap(lambda r: r + x)(x)),
    (TypeError, "argument out_sharding", lambda x: auto_axes(jnp.sin)(x)),
    (TypeError, "argument in_sharding", lambda x: explicit_axes(jnp.sin)(x)),
    (ValueError, "names of axes", lambda x: auto_axes(jnp.sin, axes="z", out_sharding=P())(x)),
    (AttributeError, "typeof", lambda x: jax.jit(lambda x: x.sharding)(x)),
]


@pytest.mark.parametrize(("error", "words", "use"), MISUSED)
def test_errors_name_the_remedy(mesh: Any, error: Any, words: str, use: Any) -> None:
    with pytest.raises(error, match=rf"(?s){words}") as caught:
        use(jax.device_put(X, P("x")))
    for part in ("given:", "expected:", "fix:"):
        assert part in str(caught.value)


def test_without_a_mesh(two_devices: list[Any]) -> None:
    for use in (
        lambda: reshard(X, P("x")),
        lambda: jnp.zeros(4, out_sharding=P("x")),
        lambda: auto_axes(jnp.sin, out_sharding=P("x"))(X),
    ):
        with pytest.raises(ValueError, match=r"(?s)no current mesh.*set_mesh"):
            use()
    mesh = jax.make_mesh((2,), ("alone",), devices=two_devices)
    assert kind(reshard(X, NamedSharding(mesh, P("alone")))) == "float32[4@alone,2]"
    other = jax.make_mesh((2,), ("other",), devices=two_devices)
    x, y = (jax.device_put(X, NamedSharding(m, P(m.axis_names[0]))) for m in (mesh, other))
    with pytest.raises(TypeError, match=r"(?s)one mesh, not.*'alone'.*'other'"):
        _ = x + y
    # Over the same devices, arrays go from mesh to mesh.
    assert kind(x + reshard(y, x.sharding)) == "float32[4@alone,2]"


def test_constraints_state_what_is_so(mesh: Any) -> None:
    x = jax.device_put(X, P("x"))
    assert lax.with_sharding_constraint(x, P("x")) is x
    assert lax.with_sharding_constraint(x, P("x", P.UNCONSTRAINED)) is x
    assert str(jax.make_jaxpr(lambda x: lax.with_sharding_constraint(x, P("x")))(x)).count("=") == 0


def test_shardings_of_programs(mesh: Any) -> None:
    seen: list[str] = []

    def f(x: Any) -> Any:
        seen.append(kind(x))
        return x * 2

    y = jax.jit(f, in_shardings=P("x"), out_shardings=P(None, "x"))(X)
    assert seen == ["float32[4@x,2]"]
    assert kind(y) == "float32[4,2@x]"
    np.testing.assert_array_equal(y, 2 * X)
    x = jax.device_put(X, P("x"))
    step = jax.jit(lambda x: x + 1, donate_argnums=0)
    np.testing.assert_array_equal(step(step(x)), X + 2)
    assert x.is_deleted()
    assert step._cache_size() == 1
    struct = jax.ShapeDtypeStruct((4, 2), "float32", sharding=NamedSharding(mesh, P("x")))
    compiled = jax.jit(jnp.sin).lower(struct).compile()
    assert compiled.output_shardings is NamedSharding(mesh, P("x"))
    assert kind(compiled(reshard(X, P("x")))) == "float32[4@x,2]"
    assert jax.eval_shape(jnp.sin, struct).sharding.spec == P("x", None)


def test_values_of_no_operand(mesh: Any) -> None:
    """What depends on no operand lies as its type says, or whole."""
    x = reshard(X, P("x"))
    assert kind(jax.jit(lambda: jnp.ones((4, 2), out_sharding=P("x")) + 1)()) == "float32[4@x,2]"
    assert kind(jax.jit(jnp.zeros_like)(x)) == "float32[4@x,2]"
    assert kind(jax.jit(lambda a: x + a)(1.0)) == "float32[4@x,2]"
    assert kind(jax.jit(lambda a: x)(1.0)) == "float32[4@x,2]"
    same, host = jax.jit(lambda a: (a, X))(x)
    assert (kind(same), kind(host)) == ("float32[4@x,2]", "float32[4,2]")
    assert host.sharding.is_fully_replicated
    numbers = jax.random.normal(jax.random.key(0), (4,), out_sharding=P("x"))
    np.testing.assert_allclose(numbers, jax.random.normal(jax.random.key(0), (4,)), rtol=1e-6)
    assert kind(numbers) == "float32[4@x]"
    weights = jax.nn.initializers.normal()(jax.random.key(0), (4, 2), out_sharding=P("x"))
    assert kind(weights) == "float32[4@x,2]"
    keys = reshard(jax.random.split(jax.random.key(0), 4), P("x"))
    assert kind(jax.vmap(jax.random.normal)(keys)) == "float32[4@x]"


def test_what_types_leave_open_follows(mesh: Any) -> None:
    x = reshard(X, P("x"))
    total, _ = jax.jit(lambda x: lax.scan(lambda c, s: (c + s, None), jnp.zeros(4), x.T))(x)
    assert kind(total) == "float32[4@x]"
    count, grown = lax.while_loop(
        lambda c: c[0] < 3, lambda c: (c[0] + 1, c[1] + x), (0, jnp.zeros((4, 2)))
    )
    assert (int(count), kind(grown)) == (3, "float32[4@x,2]")
    chosen = jax.jit(lambda x: lax.cond(x.sum() > 0, lambda: x, lambda: jnp.zeros((4, 2))))(x)
    assert kind(chosen) == "float32[4@x,2]"
    np.testing.assert_array_equal(jax.vmap(jnp.add)(x, X), 2 * X)
    squared = jax.vmap(jax.grad(lambda row: jnp.dot(row, row, out_sharding=P())))(x)
    np.testing.assert_allclose(squared, 2 * X)
    assert kind(squared) == "float32[4@x,2]"
    w = jnp.ones((2, 3))
    pulled = jax.grad(lambda w: (x @ w).sum())(w)
    assert kind(pulled) == "float32[2,3]"
    np.testing.assert_allclose(pulled, np.tile(X.sum(0)[:, None], 3))


def test_rules_of_users(mesh: Any) -> None:
    @jax.custom_vjp
    def f(x: Any) -> Any:
        return jnp.sin(x)

    f.defvjp(lambda x: (f(x), x), lambda x, ct: (ct * jnp.cos(x),))

    @jax.custom_jvp
    def g(x: Any) -> Any:
        return jnp.sin(x)

    g.defjvp(lambda primals, tangents: (g(*primals), tangents[0] * jnp.cos(primals[0])))
    x = reshard(X, P("x"))
    for h in (f, g, jax.checkpoint(jnp.sin)):
        for transform in (lambda f: f, jax.jit):
            _, pull = jax.vjp(transform(h), x)
            (pulled,) = pull(jnp.ones_like(x))
            assert kind(pulled) == "float32[4@x,2]"
            np.testing.assert_allclose(pulled, np.cos(X), rtol=1e-5, atol=1e-6)


def test_axes_of_the_compiler(mesh: Any) -> None:
    x = reshard(X, P("x"))
    seen: list[str] = []

    @auto_axes(out_sharding=P("x"))
    def backwards(x: Any) -> Any:
        seen.append(f"{kind(x)} {jax.sharding.get_abstract_mesh().axis_types}")
        return lax.with_sharding_constraint(jnp.sort(-x, 0), P("x"))

    for y in (backwards(x), jax.jit(backwards)(x), backwards(X)):
        assert kind(y) == "float32[4@x,2]"
        np.testing.assert_array_equal(y, -X[::-1])
    assert set(seen) == {"float32[4,2] (Auto,)"}
    assert kind(backwards(x, out_sharding=P())) == "float32[4,2]"
    gram = auto_axes(lambda x: {"a": x.T @ x, "b": x.sum()}, axes="x")
    out = gram(x, out_sharding={"a": P(), "b": P()})
    np.testing.assert_allclose(out["a"], X.T @ X)
    slopes = jax.grad(lambda x: backwards(x).sum())(x)
    assert kind(slopes) == "float32[4@x,2]"
    np.testing.assert_array_equal(slopes, -np.ones_like(X))
    inside = auto_axes(
        explicit_axes(lambda x: (seen.append(kind(x)), x)[1], in_sharding=P(None, "x")),
        out_sharding=P("x"),
    )
    np.testing.assert_array_equal(inside(x), X)
    assert seen[-1] == "float32[4,2@x]"


def test_mapped_axes_over_a_mesh(two_devices: list[Any]) -> None:
    mesh = jax.make_mesh((2,), ("x",), (AxisType.Auto,), devices=two_devices)

    def f(row: Any) -> Any:
        return lax.with_sharding_constraint(row * 2, P())

    with jax.set_mesh(mesh):
        y = jax.jit(jax.vmap(f, spmd_axis_name="x"))(X)
    assert y.sharding.spec == P("x")
    np.testing.assert_array_equal(y, 2 * X)


def test_programs_without_meshes_say_nothing() -> None:
    text = jax.jit(lambda x: jnp.sin(x) @ x).lower(np.ones((2, 2), np.float32)).as_text()
    assert "sdy" not in text
    assert jax.typeof(jnp.ones(2)).split is None


def test_training_over_both_axes() -> None:
    """Data parallel along one axis, tensor parallel along the other: the losses of one device."""
    out = run("""
        import numpy as np
        jax.config.update("jax_num_cpu_devices", 8)
        from morphax import P
        from morphax.sharding import reshard

        def loss(params, x, y, spread):
            h = jax.nn.gelu(x @ params["up"])
            say = {"out_sharding": P("data")} if spread else {}
            return jnp.square(jnp.dot(h, params["down"], **say) - y).mean()

        def train(params, x, y, spread):
            @jax.jit
            def step(params):
                value, slopes = jax.value_and_grad(loss)(params, x, y, spread)
                return value, jax.tree.map(lambda p, g: p - 0.1 * g, params, slopes)
            losses = []
            for _ in range(10):
                value, params = step(params)
                losses.append(float(value))
            return losses, params

        draw = np.random.default_rng(0)
        x, y = draw.normal(size=(16, 8)).astype("f4"), draw.normal(size=(16, 8)).astype("f4")
        params = {
            "up": draw.normal(size=(8, 32)).astype("f4") / 3,
            "down": draw.normal(size=(32, 8)).astype("f4") / 6,
        }
        alone, _ = train(params, x, y, False)
        with jax.set_mesh(jax.make_mesh((4, 2), ("data", "model"))):
            specs = {"up": P(None, "model"), "down": P("model")}
            spread, trained = train(
                reshard(params, specs), reshard(x, P("data")), reshard(y, P("data")), True
            )
        print({name: str(jax.typeof(p)) for name, p in trained.items()})
        np.testing.assert_allclose(spread, alone, rtol=1e-4)
        print(alone[-1] < alone[0])
    """)
    assert out.splitlines() == [
        "{'down': 'float32[32@model,8]', 'up': 'float32[8,32@model]'}",
        "True",
    ]


def test_zero_derivatives_have_their_type() -> None:
    """A program none of whose operands is used runs on the mesh of what it makes."""
    mesh = jax.make_mesh((2, 2), ("x", "y"), devices=jax.devices("cpu")[:4])
    with jax.set_mesh(mesh):
        a, b = reshard(np.ones((4, 4)), P("y", "x")), reshard(np.ones((1, 4)), P(None, "x"))
        for gradient in (jax.grad(lambda a, b: b.sum()), jax.jvp):
            if gradient is jax.jvp:
                out = jax.jit(lambda a: jax.jvp(jnp.sign, (a,), (a,))[1])(a)
            else:
                out = jax.jit(gradient)(a, b)
            assert str(jax.typeof(out)) == "float32[4@y,4@x]"
            assert out.sharding.spec == P("y", "x")
            assert not np.asarray(out).any()
        wide = [str(jax.typeof(x)) for x in jnp.broadcast_arrays(a, b, 1.0)]
        assert wide == ["float32[4@y,4@x]"] * 2 + ["~float32[4,4]"]


def test_functions_without_arguments_have_nothing_to_split() -> None:
    mesh = jax.make_mesh((2,), ("x",), axis_types=(AxisType.Auto,))
    with jax.set_mesh(mesh):
        made = explicit_axes(lambda: jnp.ones(4, out_sharding=P("x")))(in_sharding=None)
    assert made.sharding.spec == P("x")
