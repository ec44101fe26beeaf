"""Types of results over explicit axes of a mesh: a table against JAX, traced and compiled."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import morphax as jax
import morphax.numpy as jnp
from morphax import NamedSharding, P, lax
from morphax.sharding import AbstractMesh, AxisType, reshard, use_abstract_mesh
from tests.stress.process import run

from .explicit_rows import DIFFERENT, OPERANDS, SAME

MESH = AbstractMesh((4, 2), ("x", "y"), AxisType.Explicit)
EXPECTED = SAME | {text: ours for text, (_, ours, _) in DIFFERENT.items()}


@pytest.fixture
def mesh(two_devices: list[Any]) -> Iterator[Any]:
    found = jax.make_mesh((2,), ("x",), devices=two_devices)
    with jax.set_mesh(found):
        yield found


def abstract_operands() -> dict[str, Any]:
    return {
        name: jax.ShapeDtypeStruct(shape, "float32", sharding=NamedSharding(MESH, P(*spec)))
        for name, (shape, spec) in OPERANDS.items()
    } | {"i": jax.ShapeDtypeStruct((8,), "int32", sharding=NamedSharding(MESH, P("x")))}


def evaluated(text: str) -> Callable[[dict[str, Any]], Any]:
    code = compile(text, "<row>", "eval")
    names = {"jax": jax, "jnp": jnp, "lax": lax, "np": np, "reshard": reshard, "P": P}
    names |= {"NamedSharding": NamedSharding, "mesh": MESH}
    # The functions of a row see its operands as globals.
    return lambda operands: eval(code, names | operands | {"k": jax.random.key(0)})


@pytest.mark.parametrize("text", EXPECTED)
def test_types_are_those_of_jax(text: str) -> None:
    with use_abstract_mesh(MESH):
        if EXPECTED[text] is None:
            with pytest.raises((TypeError, ValueError, AssertionError), match="fix:"):
                jax.eval_shape(evaluated(text), abstract_operands())
            return
        out = jax.eval_shape(evaluated(text), abstract_operands())
    found = jax.core.ShapedArray(out.shape, out.dtype, sharding=out.sharding)
    assert str(found) == EXPECTED[text]


def test_values_and_places_are_those_of_types() -> None:
    """Each value is that of one device, each array lies as its type says, eager as compiled."""
    out = run(
        """
        import zlib
        import numpy as np
        jax.config.update("jax_num_cpu_devices", 8)
        jax.config.update("jax_explain_cache_misses", False)
        from morphax import P, NamedSharding, lax
        from morphax.sharding import reshard
        from tests.parallel.explicit_rows import DIFFERENT, OPERANDS, SAME

        expected = SAME | {text: ours for text, (_, ours, _) in DIFFERENT.items()}
        mesh = jax.make_mesh((4, 2), ("x", "y"))
        names = {"np": np, "P": P, "reshard": reshard, "NamedSharding": NamedSharding}
        names |= {"jax": jax, "jnp": jnp, "lax": lax, "mesh": mesh, "k": jax.random.key(0)}
        draw = np.random.default_rng(0)
        numbers = {n: draw.uniform(0.5, 1.5, s).astype("f4") for n, (s, _) in OPERANDS.items()}
        square = numbers["c"][:, :4] + 4 * np.eye(4, dtype="f4")
        numbers["c"][:, :4] = square + square.swapaxes(1, 2)
        specs = {name: P(*spec) for name, (_, spec) in OPERANDS.items()} | {"i": P("x")}
        numbers["i"] = np.arange(8, dtype="i4") % 4
        whole = {name: jnp.asarray(x) for name, x in numbers.items()}
        counted = 0
        with jax.set_mesh(mesh):
            split = {name: reshard(x, specs[name]) for name, x in numbers.items()}
            for text, kind in expected.items():
                if kind is None or zlib.crc32(text.encode()) % 6:
                    continue
                eager = eval(text, names | split)
                keys = list(split)
                f = jax.jit(lambda *xs: eval(text, names | dict(zip(keys, xs))))
                compiled = f(*split.values())
                plain = eval(text, names | whole)
                for y in (eager, compiled):
                    assert str(jax.typeof(y)).lstrip("~") == kind, (text, jax.typeof(y))
                    said = tuple(jax.typeof(y).sharding.spec)
                    if isinstance(y.sharding, NamedSharding):
                        lies = tuple(y.sharding.spec) + (None,) * (y.ndim - len(y.sharding.spec))
                        assert lies == said, (text, lies, said)
                    else:
                        assert not any(said), text
                    np.testing.assert_allclose(y, plain, rtol=2e-4, atol=1e-5, err_msg=text)
                counted += 1
        print(counted > 20)
        """,
        300,
    )
    assert out.splitlines()[-1] == "True"


def test_types_of_arrays(mesh: Any) -> None:
    x = jax.device_put(np.arange(8.0, dtype=np.float32).reshape(4, 2), P("x"))
    assert str(jax.typeof(x)) == "float32[4@x,2]"
    assert repr(x.aval) == "ShapedArray(float32[4@x,2])"
    assert jax.typeof(x).sharding == NamedSharding(mesh.abstract_mesh, P("x", None))
    assert jax.typeof(x).str_short(mesh_axis_types=True) == "f32[4@x,2]({Explicit: ('x',)})"
    assert jax.typeof(1.0).sharding == NamedSharding(mesh.abstract_mesh, P())
    assert x.addressable_shards[0].data.aval.split is None
    assert jax.device_put(x, mesh.devices.flat[1]).aval.split is None
    assert str(jnp.zeros_like(x).aval) == "float32[4@x,2]"
    parts = [shard.data for shard in x.addressable_shards]
    again = jax.make_array_from_single_device_arrays(x.shape, x.sharding, parts)
    assert again.aval is x.aval
    auto = jax.device_put(x, NamedSharding(mesh.update(axis_types=(AxisType.Auto,)), P("x")))
    assert auto.aval.split is None
    assert (auto + 1).sharding.mesh.axis_types == (AxisType.Auto,)


def test_types_on_one_device() -> None:
    mesh = jax.make_mesh((1, 1), ("x", "y"))
    assert mesh.axis_types == (AxisType.Explicit,) * 2
    x = jax.device_put(np.ones((4, 2), np.float32), NamedSharding(mesh, P("x")))
    for y in (x * 2, jax.jit(lambda x: x * 2)(x), jax.grad(lambda x: (x * x).sum())(x)):
        assert str(jax.typeof(y)) == "float32[4@x,2]"
        np.testing.assert_array_equal(y, np.full((4, 2), 2))


def test_axes_of_both_types() -> None:
    out = run("""
        import numpy as np
        jax.config.update("jax_num_cpu_devices", 8)
        from morphax import P, NamedSharding
        from morphax.sharding import AxisType, auto_axes, explicit_axes, reshard
        kinds = AxisType.Auto, AxisType.Explicit
        mesh = jax.make_mesh((4, 2), ("x", "y"), kinds)
        A = np.arange(32, dtype=np.float32).reshape(8, 4)
        with jax.set_mesh(mesh):
            x = jax.device_put(A, P("x", "y"))
            print(jax.typeof(x), jnp.sin(x).aval, jnp.sin(x).sharding.spec)
            print(jax.jit(lambda x: x.sum(1))(x).aval, reshard(x, P("y")).sharding.spec)
            y = jax.lax.with_sharding_constraint(x, P("x"))
            assert y.aval is x.aval
            print(y.sharding.spec)
            seen = []
            f = explicit_axes(lambda a: (seen.append(jax.typeof(a)), a + 1)[1], in_sharding=P("x"))
            z = f(x)
            print(*seen, z.aval, z.sharding.spec)
            np.testing.assert_array_equal(z, A + 1)
            w = auto_axes(lambda a: jnp.sort(a, 1)[:, ::-1], out_sharding=P(None, "y"))(x)
            print(w.aval)
            np.testing.assert_array_equal(w, A[:, ::-1])
    """)
    assert out.splitlines() == [
        "float32[8,4@y] float32[8,4@y] P('x', 'y')",
        "float32[8] P(('y', 'x'), None)",
        "P('x', 'y')",
        "float32[8@x,4] float32[8,4] P('x', None)",
        "float32[8,4@y]",
    ]
