"""Meshes, specs and named shardings: what they are, what they refuse, how programs take them."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest

import morphax as jax
import morphax.numpy as jnp
from morphax.experimental import mesh_utils
from morphax.sharding import AbstractMesh, AxisType, Mesh, NamedSharding, PartitionSpec

from ..stress.process import run

P = PartitionSpec
X = np.arange(12, dtype=np.float32).reshape(4, 3)


@pytest.fixture
def mesh(two_devices: list[Any]) -> Mesh:
    return Mesh(np.array(two_devices), "x")


SPECS = {
    "P()": P(),
    "P('x',)": P(("x",)),
    "P(None, 'x')": P((), "x"),
    "P(('x', 'y'), None)": P(["x", "y"], None),
    "P('x', unreduced={'y'})": P("x", unreduced={"y"}),
    "P(reduced={'y'})": P(reduced=frozenset("y")),
    "P(UNCONSTRAINED, 'x')": P(P.UNCONSTRAINED, "x"),
}


@pytest.mark.parametrize("text", SPECS)
def test_specs(text: str) -> None:
    spec = SPECS[text]
    assert repr(spec) == text
    assert spec == spec.update() == pickle.loads(pickle.dumps(spec))
    assert hash(spec) == hash(spec.update())
    assert spec != tuple(spec)
    assert list(spec) == [spec[i] for i in range(len(spec))] == list(spec.partitions)


def test_specs_as_sequences() -> None:
    spec = P("x", None, ("y", "z"))
    more = ("w",)
    assert spec + P("w") == spec + more == P("x", None, ("y", "z"), "w")
    assert more + P("x") == P("w", "x")
    assert spec[:2] == ("x", None)
    assert (spec.count(None), spec.index(("y", "z"))) == (1, 2)
    assert P("x") != P("x", None)


@pytest.mark.parametrize(
    "make",
    [
        lambda: P("x", unreduced={"x"}),
        lambda: P(("x", "y"), reduced={"y"}),
        lambda: P(unreduced={"x"}, reduced={"x"}),
        lambda: AbstractMesh((2, 2), ("x",)),
        lambda: AbstractMesh((2, 2), ("x", "x")),
        lambda: AbstractMesh((2,), ("x",), (AxisType.Auto,) * 2),
        lambda: Mesh(np.array(jax.devices("cpu")[:2]), ("x", "y")),
        lambda: Mesh(np.array(jax.devices("cpu")[:1] * 2), "x"),
        lambda: NamedSharding(jax.make_mesh((2,), ("x",)), P("y")),
        lambda: NamedSharding(jax.make_mesh((2,), ("x",)), P("x", "x")),
        lambda: NamedSharding(jax.make_mesh((2,), ("x",)), P(), "nowhere"),
        lambda: NamedSharding(jax.make_mesh((2,), ("x",)), P("x")).shard_shape((3,)),
        lambda: NamedSharding(jax.make_mesh((2,), ("x",)), P(None, "x")).shard_shape((4,)),
        lambda: NamedSharding(AbstractMesh((2,), ("x",)), P("x")).device_set,
        lambda: jax.make_mesh((10**6,), ("x",)),
        lambda: jax.device_put(X, P("x")),
        lambda: jax.device_put(X, NamedSharding(jax.make_mesh((2,), ("x",)), P(P.UNCONSTRAINED))),
    ],
)
def test_what_does_not_fit_is_refused(make: Any) -> None:
    with pytest.raises(ValueError, match=r"(?s)given:.*expected:.*fix:"):
        make()


@pytest.mark.parametrize(
    "make",
    [
        lambda: P(unreduced="x"),
        lambda: AbstractMesh((2,), ("x",), ("auto",)),
        lambda: Mesh(["cpu"], "x"),
        lambda: NamedSharding("mesh", P()),
        lambda: NamedSharding(jax.make_mesh((2,), ("x",)), ("x",)),
        lambda: jax.jit(jnp.sin, in_shardings="nonsense"),
        lambda: jax.make_array_from_callback((4,), "nonsense", lambda index: X[index]),
    ],
)
def test_what_is_of_another_type_is_refused(make: Any) -> None:
    with pytest.raises(TypeError, match=r"(?s)given:.*expected:.*fix:"):
        make()


def test_facts_of_meshes(two_devices: list[Any], mesh: Mesh) -> None:
    assert mesh is Mesh(two_devices, ("x",)) is pickle.loads(pickle.dumps(mesh))
    assert mesh is not Mesh(two_devices, "y")
    assert mesh.update(axis_names=("y",)) is Mesh(two_devices, "y")
    assert (mesh.size, dict(mesh.shape), mesh.shape_tuple) == (2, {"x": 2}, (("x", 2),))
    assert mesh.device_ids.tolist() == [0, 1]
    assert mesh.local_mesh is mesh
    assert not mesh.is_multi_process
    assert mesh.auto_axes == ("x",)
    assert mesh.are_all_axes_auto
    explicit = jax.make_mesh((2, 1), ("a", "b"))
    assert explicit is jax.make_mesh((2, 1), P("a", "b")) is jax.make_mesh((2, 1), iter("ab"))
    assert Mesh(two_devices, P("x")) is mesh
    assert explicit.are_all_axes_explicit
    assert explicit.manual_axes == ()
    assert Mesh((), ()).empty
    assert str(Mesh((), ())) == "Mesh()"
    abstract = mesh.abstract_mesh
    assert abstract.abstract_mesh is abstract
    assert abstract.abstract_device is not None
    assert abstract.abstract_device.platform == "cpu"
    manual = abstract.update_axis_types({"x": AxisType.Manual})
    assert manual.are_all_axes_manual
    assert manual.update(axis_types=(AxisType.Auto,)) == abstract


def test_facts_of_shardings(two_devices: list[Any], mesh: Mesh) -> None:
    s = NamedSharding(mesh, P("x"))
    assert s is NamedSharding(mesh, P("x")) is pickle.loads(pickle.dumps(s))
    assert s.shard_shape((4, 3)) == (2, 3)
    first, second = two_devices
    everything = slice(None)
    assert s.devices_indices_map((4, 3)) == {
        first: (slice(0, 2), everything),
        second: (slice(2, 4), everything),
    }
    assert s.is_equivalent_to(NamedSharding(mesh, P("x", None)), 2)
    assert not s.is_equivalent_to(NamedSharding(mesh, P(None, "x")), 2)
    assert (s.is_fully_replicated, NamedSharding(mesh, P()).is_fully_replicated) == (False, True)
    assert NamedSharding(mesh, P()).replicated_axes == {"x"}
    pinned = s.with_memory_kind("pinned_host")
    assert pinned.own_memory is s
    assert pinned.memory_kind == "pinned_host"
    assert s.update(spec=P()) is NamedSharding(mesh, P())
    assert NamedSharding(mesh.abstract_mesh, P("x")).shard_shape((4,)) == (2,)


def test_the_current_mesh(mesh: Mesh) -> None:
    assert jax.sharding.get_mesh().empty
    f = jax.jit(lambda x: jax.lax.with_sharding_constraint(x * 2, P("x")))
    with pytest.raises(RuntimeError, match=r"(?s)no current mesh.*fix:.*set_mesh"):
        f(X)
    with jax.set_mesh(mesh):
        assert jax.sharding.get_mesh() is mesh
        assert jax.sharding.get_abstract_mesh() == mesh.abstract_mesh
        assert jax.device_put(X, P("x")).sharding is NamedSharding(mesh, P("x"))
        assert f(X).sharding is NamedSharding(mesh, P("x"))
        g = jax.jit(lambda x, y: x + y, in_shardings=(P(), P("x")), out_shardings=P(None))
        assert g(X, X).sharding is NamedSharding(mesh, P(None))
    with mesh:
        assert f(X + 1).sharding is NamedSharding(mesh, P("x"))
        assert jax.sharding.get_mesh().empty
    with jax.sharding.use_abstract_mesh(mesh.abstract_mesh):
        assert jax.sharding.get_abstract_mesh().size == 2


def test_shardings_of_jit(two_devices: list[Any], mesh: Mesh) -> None:
    rows, whole = NamedSharding(mesh, P("x")), NamedSharding(mesh, P())
    f = jax.jit(
        lambda a, b: {"sum": a + b["y"], "two": b["y"] * 2},
        in_shardings=(rows, {"y": None}),
        out_shardings={"sum": whole, "two": None},
    )
    out = f(X, {"y": X})
    assert out["sum"].sharding is whole
    np.testing.assert_array_equal(out["sum"], 2 * X)
    np.testing.assert_array_equal(f(jax.device_put(X, rows), {"y": X})["two"], 2 * X)
    compiled = f.lower(X, {"y": X}).compile()
    assert compiled.input_shardings[0][0] is rows
    assert compiled.output_shardings["sum"] is whole
    with pytest.raises(ValueError, match=r"(?s)argument a.*committed to.*in_shardings.*fix:"):
        f(jax.device_put(X, whole), {"y": X})
    with pytest.raises(ValueError, match=r"(?s)argument b.*committed to.*fix:"):
        f(X, {"y": jax.device_put(X, two_devices[1])})
    with pytest.raises(ValueError, match=r"(?s)argument.*by name.*by position"):
        f(X, b={"y": X})
    other = NamedSharding(Mesh(two_devices[::-1], "x"), P("x"))
    with pytest.raises(ValueError, match=r"(?s)different devices.*same order"):
        jax.jit(jnp.add, in_shardings=(rows, other))(X, X)
    with pytest.raises(ValueError, match=r"(?s)cuts axis 0 into 2 parts.*not 3"):
        jax.jit(jnp.sin, in_shardings=rows)(X.T)
    inner = jax.jit(jnp.sin, out_shardings=rows)
    grads = jax.grad(lambda x: inner(x).sum())(jnp.asarray(X))
    np.testing.assert_allclose(grads, np.cos(X), rtol=1e-6)
    np.testing.assert_allclose(jax.vmap(inner)(X[None, :, None])[0, :, 0], np.sin(X), rtol=1e-6)


def test_trees_of_parts(mesh: Mesh) -> None:
    rows, whole = NamedSharding(mesh, P("x")), NamedSharding(mesh, P())
    make = jax.make_array_from_process_local_data
    assert make(None, None) is None
    pair = make(rows, (X, X[:, 0]))  # two arrays, and not one of both
    assert isinstance(pair, tuple)
    for found, expected in zip(pair, (X, X[:, 0]), strict=True):
        np.testing.assert_array_equal(found, expected)
        assert found.sharding == rows
    some = make({"a": whole, "b": rows, "c": None}, {"a": X, "b": [X, None], "c": None})
    assert (some["a"].sharding, some["b"][0].sharding, some["c"]) == (whole, rows, None)
    shaped = make(rows, [X, X[:, 0]], [X.shape, (None,)])
    assert [x.shape for x in shaped] == [X.shape, X.shape[:1]]


def test_arrays_of_parts(two_devices: list[Any], mesh: Mesh) -> None:
    rows = NamedSharding(mesh, P("x"))
    x = jax.make_array_from_callback((4, 3), rows, lambda index: X[index])
    np.testing.assert_array_equal(x, X)
    parts = [shard.data for shard in x.addressable_shards]
    assert [p.device for p in parts] == two_devices
    np.testing.assert_array_equal(x.addressable_data(1), X[2:])
    again = jax.make_array_from_single_device_arrays((4, 3), rows, parts[::-1])
    np.testing.assert_array_equal(again, X)
    np.testing.assert_array_equal(jax.make_array_from_process_local_data(rows, X), X)
    keys = jax.random.split(jax.random.key(0), 4)
    shards = [s.data for s in jax.device_put(np.arange(4), rows).addressable_shards]
    key_parts = [jax.device_put(keys[2 * i : 2 * i + 2], d) for i, d in enumerate(two_devices)]
    assert len(shards) == 2
    joined = jax.make_array_from_single_device_arrays((4,), rows, key_parts)
    np.testing.assert_array_equal(jax.random.key_data(joined), jax.random.key_data(keys))
    for wrong in (parts[:1], [parts[0], parts[0]], [p[:1] for p in parts]):
        with pytest.raises(ValueError, match=r"(?s)given:.*expected:.*fix:"):
            jax.make_array_from_single_device_arrays((4, 3), rows, wrong)


def test_programs_on_eight_devices() -> None:
    """However a matrix is split, each operation gives the numbers of one device."""
    out = run("""
        import numpy as np
        jax.config.update("jax_num_cpu_devices", 8)
        P = jax.P
        mesh = jax.sharding.Mesh(np.array(jax.devices()).reshape(4, 2), ("x", "y"))
        x = np.arange(32, dtype=np.float32).reshape(8, 4)
        functions = [
            lambda x: x.T, lambda x: x.sum(1, keepdims=True), lambda x: x @ x.T,
            lambda x: x.reshape(4, 2, 4), lambda x: jnp.concatenate([x, x]), lambda x: x[:7],
            lambda x: jnp.sort(x, 0), lambda x: jnp.cumsum(x, 0), lambda x: x.argmax(1),
            lambda x: jnp.pad(x, 1), lambda x: (x + 1).sum(),
            lambda x: jax.lax.pad(x, 0.0, [(-1, 2, 1), (1, -1, 2)]),
            jax.grad(lambda x: (x @ x.T).sum()), jax.vmap(lambda x: x / (1 + x.sum())),
        ]
        truths = [f(jnp.asarray(x)) for f in functions]
        specs = [P(), P("x"), P("y"), P(None, "x"), P("x", "y"), P(("x", "y")), P(("y", "x"))]
        for place, spec in enumerate(specs):
            sharded = jax.device_put(x, jax.NamedSharding(mesh, spec))
            for i, (f, truth) in enumerate(zip(functions, truths)):
                # Each function meets most of the ways: some eager, some compiled.
                runs = ([f], [jax.jit(f)], [])[(i + place) % 3]
                for y in [run(sharded) for run in runs]:
                    np.testing.assert_allclose(y, truth, rtol=1e-5)
                    assert isinstance(y.sharding, jax.NamedSharding) and y.committed
                    again = jnp.asarray(np.zeros(truth.shape, truth.dtype))
                    for shard in y.addressable_shards:
                        np.testing.assert_array_equal(shard.data, np.asarray(y)[shard.index])
        s = jax.device_put(x, jax.NamedSharding(mesh, P("x", "y")))
        assert jax.jit(lambda x: x.T)(s).sharding.spec == P("y", "x")
        f = jax.jit(lambda x: (x @ x.T).sum())
        for _ in range(1000):
            total = f(s)
        assert float(total) == float((x @ x.T).sum())
        print("done")
    """)
    assert out == "done\n"


def test_grids_of_devices(two_devices: list[Any]) -> None:
    grid = mesh_utils.create_device_mesh((2, 1), two_devices)
    assert grid.ravel().tolist() == two_devices
    hybrid = mesh_utils.create_hybrid_device_mesh
    assert hybrid((1, 2), (1, 1), two_devices, process_is_granule=True).shape == (1, 2)
    for wrong in (
        lambda: mesh_utils.create_device_mesh((3,), two_devices),
        lambda: hybrid((2,), (1,), two_devices),
        lambda: hybrid((1,), (2,), two_devices, process_is_granule=True),
        lambda: AbstractMesh((2,), ("x",)).devices,
    ):
        with pytest.raises(ValueError, match=r"(?s)given:.*expected:.*fix:"):
            wrong()


def test_handlers_of_kinds_of_devices(
    two_devices: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    given: list[Any] = []

    def handler(*args: Any, **kwargs: Any) -> Any:
        given.append((args, kwargs))
        return answer

    monkeypatch.setitem(mesh_utils.device_kind_handler_dict, two_devices[0].device_kind, handler)
    answer: Any = np.array(two_devices[::-1])
    grid = mesh_utils.create_device_mesh((2,), two_devices, contiguous_submeshes=True)
    assert grid.tolist() == two_devices[::-1]
    assert given == [(((2,), two_devices), {"contiguous_submeshes": True})]
    assert jax.make_mesh((2,), ("x",), devices=two_devices).devices.tolist() == two_devices[::-1]
    answer = None
    assert mesh_utils.create_device_mesh((2,), two_devices).tolist() == two_devices
    for wrong in (np.array(two_devices)[:1], np.array(two_devices)[:, None]):
        answer = wrong
        with pytest.raises(ValueError, match="device_kind_handler_dict"):
            mesh_utils.create_device_mesh((2,), two_devices)
