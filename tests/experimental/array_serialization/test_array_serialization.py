"""Arrays and trees in files: other meshes, other dtypes, damage, donation and interruption."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import morphax as jax
import morphax.numpy as jnp
from morphax import NamedSharding, P, ShapeDtypeStruct
from morphax.experimental.array_serialization import (
    pytree_serialization,
    serialization,
    tensorstore_impl,
)
from morphax.sharding import AxisType, SingleDeviceSharding

ts = pytest.importorskip("tensorstore")
load, save = pytree_serialization.load, pytree_serialization.save
NUMBERS = np.arange(32, dtype=np.float32).reshape(8, 4)


def sharding(shape: tuple[int, ...], spec: P, kind: AxisType = AxisType.Auto) -> NamedSharding:
    devices = jax.devices("cpu")[: int(np.prod(shape))]
    names = ("x", "y")[: len(shape)]
    return NamedSharding(jax.make_mesh(shape, names, (kind,) * len(shape), devices=devices), spec)


def one() -> SingleDeviceSharding:
    return SingleDeviceSharding(jax.devices("cpu")[0])


def tree() -> Any:
    x = jax.device_put(NUMBERS, sharding((2, 2), P("x", "y")))
    return {"x": x, "rest": [jnp.float32(3), None, (jnp.arange(3),)]}


@pytest.fixture
def there(tmp_path: Path) -> Iterator[Path]:
    """A checkpoint."""
    save(tree(), tmp_path / "step")
    yield tmp_path / "step"
    assert [
        p.name for p in tmp_path.iterdir() if ".partial" in p.name or "replaced" in p.name
    ] == []


@pytest.mark.parametrize(
    ("shape", "spec"),
    [
        ((2, 2), P("x", "y")),
        ((4, 1), P("x", "y")),
        ((1, 4), P("x", "y")),
        ((2, 2), P(("y", "x"))),
        ((4,), P(None)),
        ((2,), P(None, "x")),
        ((1,), P("x")),
    ],
)
@pytest.mark.parametrize("kind", [AxisType.Auto, AxisType.Explicit])
def test_another_mesh(there: Path, shape: tuple[int, ...], spec: P, kind: AxisType) -> None:
    place = sharding(shape, spec, kind)
    back = load(there, {"x": place, "rest": one()})
    np.testing.assert_array_equal(np.asarray(back["x"]), NUMBERS)
    assert back["x"].sharding == place
    assert back["rest"][0] == 3
    assert back["rest"][1] is None
    assert back["rest"][2][0].tolist() == [0, 1, 2]


def test_what_is_wanted(there: Path) -> None:
    stub = pytree_serialization.load_pytreedef(there)
    assert stub["x"] == ShapeDtypeStruct((8, 4), jnp.float32)
    half = ShapeDtypeStruct((8, 4), jnp.bfloat16, sharding=one())
    back = load(there, {"x": half, "rest": one()}, mask={"x": True, "rest": [False, False, True]})
    assert back["x"].dtype == jnp.bfloat16
    assert back["rest"][0] is None
    assert back["rest"][2][0].tolist() == [0, 1, 2]


DTYPES = "bool int2 int4 int8 uint8 int16 uint16 int32 uint32 float16 bfloat16 float32 complex64 "
FLOAT8 = [name for name in dir(ml_dtypes) if name.startswith(("float8_e", "float4_e"))]


@pytest.mark.parametrize("driver", ["zarr", "zarr3", "tree"])
@pytest.mark.parametrize("name", [*DTYPES.split(), *FLOAT8])
def test_dtypes(name: str, driver: str, tmp_path: Path) -> None:
    x = jnp.arange(6).astype(name)
    if name not in dir(ts):
        return
    if driver == "tree":
        save(x, tmp_path / "x")
        back = load(tmp_path / "x", one())
    else:
        spec = serialization.get_tensorstore_spec(str(tmp_path / "x"), driver=driver)
        serialization.run_serialization([x], [spec])
        (back,) = serialization.run_deserialization([one()], [spec])
    assert back.dtype == x.dtype
    assert np.asarray(back).tobytes() == np.asarray(x).tobytes()


def test_special_numbers(tmp_path: Path) -> None:
    x = np.array([0.0, -0.0, np.nan, np.inf, -np.inf, 5e-324, 1e-45], np.float32)
    x.view(np.uint32)[2] += 5
    save([jnp.asarray(x), jnp.zeros((0, 3))], tmp_path / "x")
    back = load(tmp_path / "x", one())
    np.testing.assert_array_equal(np.asarray(back[0]).view(np.uint32), x.view(np.uint32))
    assert back[1].shape == (0, 3)
    with jax.enable_x64(True):
        save(jnp.asarray([1 << 40, -1]), tmp_path / "wide")
        assert load(tmp_path / "wide", one()).tolist() == [1 << 40, -1]
    with pytest.warns(UserWarning, match="int64"):
        assert load(tmp_path / "wide", one()).tolist() == [0, -1]
    kinds = [ShapeDtypeStruct((7,), jnp.int8, sharding=one()), one()]
    assert load(tmp_path / "x", kinds)[0].tolist() == [0, 0, 0, 127, -128, 0, 0]


@pytest.mark.parametrize(
    ("shape", "spec"), [((16, 4), P("x")), ((5, 3), P()), ((8, 2), P("x", "y")), ((0, 4), P("x"))]
)
def test_other_shapes(shape: tuple[int, ...], spec: P, tmp_path: Path) -> None:
    at = [serialization.get_tensorstore_spec(str(tmp_path / "x"))]
    serialization.run_serialization([tree()["x"]], at)
    place = sharding((2, 2), spec)
    (back,) = serialization.run_deserialization([place], at, [shape], ["int32"], concurrent_gb=0)
    wanted = np.zeros(shape)
    kept = NUMBERS[: shape[0], : shape[1]]
    wanted[: kept.shape[0], : kept.shape[1]] = kept
    np.testing.assert_array_equal(np.asarray(back), wanted)
    assert back.dtype == jnp.int32


def test_donated_while_it_is_written(tmp_path: Path) -> None:
    """What is saved are the numbers of when it was called."""
    step = jax.jit(lambda x: x * 2, donate_argnums=0)
    x = jax.device_put(np.ones((256, 256), np.float32), sharding((2, 2), P("x", "y")))
    saved = pytree_serialization.nonblocking_save(x, tmp_path / "x")
    assert saved.pytree == ShapeDtypeStruct((256, 256), jnp.float32)
    for _ in range(5):
        x = step(x)
    assert saved.result(60) is None
    assert saved.done()

    async def awaited() -> Any:
        return await pytree_serialization.nonblocking_load(tmp_path / "x", one())

    assert bool((asyncio.run(awaited()) == 1).all())


def test_within_a_running_loop(tmp_path: Path) -> None:
    async def notebook() -> Any:
        save({"x": jnp.ones(3)}, tmp_path / "x")
        return load(tmp_path / "x", one())

    assert asyncio.run(notebook())["x"].tolist() == [1, 1, 1]


def test_every_file_is_checked(there: Path, tmp_path: Path) -> None:
    """A byte that is another, or a file that is cut or gone, gives an error or changes nothing."""
    rng = np.random.default_rng(0)
    places = {"x": one(), "rest": one()}
    whole = load(there, places)
    files = sorted(p.relative_to(there) for p in there.rglob("*") if p.is_file())
    assert len(files) > 3
    errors = 0
    for name in files:
        data = (there / name).read_bytes()
        changes: list[bytes | None] = [None, b"", data[: len(data) // 2], data[:-1]]
        for place in rng.integers(len(data), size=6):
            flipped = data[place] ^ (1 << int(rng.integers(8)))
            changes.append(data[:place] + bytes([flipped]) + data[place + 1 :])
        for changed in changes:
            copy = tmp_path / "copy"
            shutil.copytree(there, copy)
            (copy / name).unlink()
            if changed is not None:
                (copy / name).write_bytes(changed)
            try:
                back = load(copy, places)
            except (ValueError, OSError):
                errors += 1
            else:
                assert jax.tree.structure(back) == jax.tree.structure(whole)
                for x, y in zip(jax.tree.leaves(back), jax.tree.leaves(whole), strict=True):
                    np.testing.assert_array_equal(np.asarray(x), np.asarray(y))
            shutil.rmtree(copy)
    assert errors > 30


def rewritten(there: Path, change: Callable[[dict[str, Any]], None]) -> None:
    path = there / "pytreedef.json"
    data = json.loads(path.read_text())
    change(data)
    path.write_text(json.dumps(data))


@pytest.mark.parametrize(
    ("leaves", "told"),
    [
        (["Array(float32[8, 4])"] * 3, "for a tree of 4"),
        (["Array(float99[8, 4])"] * 4, "the dtype 'float99'"),
        (["Array(float32[8, -4])"] * 4, "the leaf"),
        ([1, 2, 3, 4], "the leaf 1"),
        (["Array(float32[])", None, "Array(int32[3])", "Array(float32[8, 5])"], "is said to be"),
        (["Array(float32[])", None, "Array(int32[3])", "Array(int32[8, 4])"], "is said to be"),
    ],
)
def test_leaves_that_do_not_fit(there: Path, leaves: list[Any], told: str) -> None:
    rewritten(there, lambda data: data.update(__jax_leaf_ids=leaves))
    with pytest.raises(ValueError, match=told):
        load(there, one())


def test_only_checkpoints_are_replaced(there: Path, tmp_path: Path) -> None:
    save({"y": jnp.ones(2)}, there)
    assert load(there, one())["y"].tolist() == [1, 1]
    with pytest.raises(ValueError, match="overwrite=False"):
        save(tree(), there, overwrite=False)
    (tmp_path / "file").write_text("x")
    with pytest.raises(NotADirectoryError):
        save(tree(), tmp_path / "file")
    with pytest.raises(RuntimeError, match="'file'"):
        save(tree(), tmp_path)
    with pytest.raises(FileNotFoundError):
        save(tree(), tmp_path / "none" / "step")
    (tmp_path / "link").symlink_to(there)
    save({"z": jnp.ones(2)}, tmp_path / "link")
    assert list(load(there, one())) == ["z"]


def test_failure_leaves_the_old_one(there: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: Any) -> None:
        raise OSError("no space left")

    with monkeypatch.context() as patched:
        patched.setattr(os, "fsync", full)
        with pytest.raises(OSError, match="no space"):
            save({"y": jnp.ones(2)}, there)
    assert load(there, one())["x"].shape == (8, 4)


def test_manager(tmp_path: Path) -> None:
    manager = serialization.GlobalAsyncCheckpointManager(timeout_secs=5)
    x, paths, done = tree()["x"], [str(tmp_path / "x")], []
    manager.serialize_with_paths([x], paths, on_commit_callback=lambda: done.append(1))
    manager.check_for_errors()
    manager.wait_until_finished()
    assert done == [1]
    (back,) = manager.deserialize_with_paths([sharding((4,), P("x"))], paths)
    np.testing.assert_array_equal(np.asarray(back), NUMBERS)
    manager.serialize_with_paths([x], paths, on_commit_callback=lambda: 1 // 0)
    with pytest.raises(ZeroDivisionError):
        manager.wait_until_finished()
    manager.wait_until_finished()
    with pytest.raises(TypeError, match="abstract"):
        serialization.GlobalAsyncCheckpointManagerBase()  # type: ignore[abstract]


def test_coroutines(tmp_path: Path) -> None:
    x, spec = tree()["x"], serialization.get_tensorstore_spec(str(tmp_path / "x"))
    transaction = tensorstore_impl.Transaction()
    asyncio.run(tensorstore_impl.async_serialize(x, spec, transaction=transaction))
    assert not (tmp_path / "x").exists()
    transaction.commit_sync()
    futures: list[Any] = []
    asyncio.run(tensorstore_impl.async_serialize(x, spec, commit_future=futures))
    assert all(isinstance(future, tensorstore_impl.Future) for future in futures)
    assert len([future.result() for future in futures]) == 4
    back = asyncio.run(serialization.async_deserialize(one(), ts.Spec(spec)))
    np.testing.assert_array_equal(np.asarray(back), NUMBERS)
    store = ts.open(spec).result()
    footprint = tensorstore_impl.estimate_read_memory_footprint
    assert footprint(store, ts.IndexDomain(shape=[3, 1])) == 4 * 2 * 4
    assert footprint(store, ts.IndexDomain(inclusive_min=[9, 0], exclusive_max=[12, 4])) == 0


def specs(tmp_path: Path) -> list[Any]:
    return [serialization.get_tensorstore_spec(str(tmp_path / "x"))]


@pytest.mark.parametrize(
    ("call", "error", "told"),
    [
        (lambda p: save({"x": np.ones(3)}, p / "a"), ValueError, "a leaf array"),
        (lambda p: save({"x": 3}, p / "a"), ValueError, "a leaf 3 of type int"),
        (lambda p: save(jax.random.key(0), p / "a"), TypeError, "key_data"),
        (lambda p: save({1: jnp.ones(3)}, p / "a"), TypeError, "the key 1"),
        (lambda p: save(jnp.ones(3), "gs://bucket/a"), RuntimeError, "file system of this machine"),
        (lambda p: save(jnp.ones(3), 3), TypeError, "int"),
        (
            lambda p: save(jnp.ones(3), p / "a", ts_specs={"kvstore": {"driver": "file"}}),
            ValueError,
            "driver 'ocdbt'",
        ),
        (lambda p: save([jnp.ones(3)], p / "a", ts_specs=[]), ValueError, "argument ts_specs"),
        (lambda p: load(p / "none", one()), FileNotFoundError, "pytreedef"),
        (lambda p: load(p / "step", None), TypeError, "None of type NoneType"),
        (lambda p: load(p / "step", P("x")), TypeError, "a sharding of an array"),
        (lambda p: load(p / "step", {"x": one()}), ValueError, "argument shardings"),
        (lambda p: load(p / "step", one(), mask={"x": True}), ValueError, "argument mask"),
        (
            lambda p: load(p / "step", {"x": sharding((4,), P(None, None, "x")), "rest": one()}),
            ValueError,
            "3 axes",
        ),
        (
            lambda p: load(p / "step", {"x": ShapeDtypeStruct((8, 4), "f4"), "rest": one()}),
            TypeError,
            "with one",
        ),
        (
            lambda p: load(p / "step", one(), ts_specs={"driver": "zarr"}),
            ValueError,
            "tensorstore fails",
        ),
        (
            lambda p: serialization.run_deserialization([one()], specs(p)),
            ValueError,
            "does not exist",
        ),
        (
            lambda p: serialization.run_serialization([jnp.ones(3)] * 2, specs(p)),
            ValueError,
            "2 and 1",
        ),
        (lambda p: serialization.run_serialization(jnp.ones(3), specs(p)), TypeError, "a list"),
        (
            lambda p: serialization.run_serialization([1.0], specs(p)),
            TypeError,
            "1.0 of type float",
        ),
        (
            lambda p: serialization.run_serialization([jnp.ones(3)], [{"driver": "nothing"}]),
            ValueError,
            "nothing",
        ),
        (
            lambda p: serialization.run_serialization([jnp.ones(3).astype("uint4")], specs(p)),
            ValueError,
            "uint4",
        ),
        (
            lambda p: tensorstore_impl.combine_kvstores(
                {"driver": "ocdbt", "base": f"file://{p}/all/"}, [{"driver": "none"}]
            ),
            ValueError,
            "none",
        ),
    ],
)
def test_refused(
    there: Path, tmp_path: Path, call: Callable[[Path], Any], error: type[Exception], told: str
) -> None:
    with pytest.raises(error, match=told):
        call(tmp_path)
    assert not (tmp_path / "a").exists()
