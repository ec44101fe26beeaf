"""Specs, as JAX makes them."""

from __future__ import annotations

import sys
from typing import Any

import pytest

import morphax as jax
import morphax.numpy as jnp
from morphax.experimental.array_serialization import (
    pytree_serialization,
    serialization,
    tensorstore_impl,
)

FILE = {"driver": "file"}
GCS, S3 = {"driver": "gcs", "bucket": "b"}, {"driver": "s3", "bucket": "b"}
X = jnp.ones((4, 2))
# Path, OCDBT or not, process → the kvstore.
KVSTORES: list[tuple[str, bool, int | None, dict[str, Any]]] = [
    ("/tmp/a", False, None, FILE | {"path": "/tmp/a"}),
    ("/tmp/a/", False, 2, FILE | {"path": "/tmp/process_2/a"}),
    ("a/b", False, None, FILE | {"path": "a/b"}),
    ("a/b", False, 2, FILE | {"path": "a/process_2/b"}),
    ("", False, None, FILE | {"path": "."}),
    ("/tmp/a", True, None, {"driver": "ocdbt", "base": FILE | {"path": "/tmp"}, "path": "a"}),
    ("/tmp", True, None, {"driver": "ocdbt", "base": FILE | {"path": "/"}, "path": "tmp"}),
    ("/a/b", True, 3, {"driver": "ocdbt", "base": FILE | {"path": "/a/process_3"}, "path": "b"}),
    ("gs://b/c/d", False, None, GCS | {"path": "c/d"}),
    ("s3://b/c/d", False, 1, S3 | {"path": "c/process_1/d"}),
    ("s3://b/c/d", True, 1, {"driver": "ocdbt", "base": S3 | {"path": "c/process_1"}, "path": "d"}),
]


@pytest.mark.parametrize(("path", "ocdbt", "process", "kvstore"), KVSTORES)
def test_kvstore(path: str, ocdbt: bool, process: int | None, kvstore: dict[str, Any]) -> None:
    for module, driver in ((serialization, "zarr"), (tensorstore_impl, "zarr3")):
        spec = module.get_tensorstore_spec(path, ocdbt=ocdbt, process_idx=process)
        assert spec == {"driver": driver, "kvstore": kvstore}


def test_metadata() -> None:
    spec = serialization.get_tensorstore_spec("/tmp/a", arr=X)
    assert spec["metadata"] == {"compressor": {"id": "zstd"}, "shape": (4, 2), "chunks": [4, 2]}
    spec = tensorstore_impl.get_tensorstore_spec("/tmp/a", arr=X)
    grid = {"name": "regular", "configuration": {"chunk_shape": [4, 2]}}
    assert spec["metadata"] == {
        "codecs": [],
        "shape": (4, 2),
        "data_type": "float32",
        "chunk_grid": grid,
    }


@pytest.mark.parametrize(
    ("spec", "is_remote"),
    [
        ("/tmp/a", False),
        ("gs://b", True),
        ("s3://b/c", True),
        ({}, False),
        ({"driver": "zarr", "kvstore": "gs://b/c"}, True),
        ({"kvstore": {"driver": "ocdbt", "base": "gs://x/y"}}, True),
        *[({"driver": "zarr", "kvstore": store}, "://" in path) for path, _, _, store in KVSTORES],
    ],
)
def test_remote(spec: Any, is_remote: bool) -> None:
    assert serialization.is_remote_storage(spec) == is_remote


def test_leaves_and_changes() -> None:
    for leaf, is_one in ((None, True), ({}, False), ({"driver": 1}, True), ({"kvstore": {}}, True)):
        assert tensorstore_impl.is_tensorstore_spec_leaf(leaf) == is_one
    assert not any(map(tensorstore_impl.is_tensorstore_spec_leaf, ([], "x", {"a": {"driver": 1}})))
    merge = tensorstore_impl.merge_nested_ts_specs
    assert merge({"a": 1}, None) == {"a": 1}
    assert merge({"a": {"b": 1}, "kvstore": {"x": 1, "y": 2}}, {"a": 3, "kvstore": {"y": 4}}) == {
        "a": 3,
        "kvstore": {"x": 1, "y": 4},
    }


def verified(path: str = "/tmp", ocdbt: bool = True, x: Any = X, **change: Any) -> None:
    spec = tensorstore_impl.get_tensorstore_spec("/tmp/a", ocdbt=ocdbt, arr=X) | change
    tensorstore_impl.verify_tensorstore_spec(spec, x, path, ocdbt, True)


def test_verified() -> None:
    verified()
    verified("/tmp/a", ocdbt=False)


@pytest.mark.parametrize(
    ("call", "error", "told"),
    [
        (lambda: verified("/tmp/a"), ValueError, "one of the path '/tmp/a'"),
        (lambda: verified(kvstore=FILE), ValueError, "driver 'ocdbt'"),
        (lambda: verified(x=None), ValueError, "the array"),
        (lambda: verified(x=jnp.ones(3)), ValueError, r"the shape \(3,\)"),
        (lambda: verified(x=X.astype(int)), ValueError, "the dtype int32"),
        (lambda: verified(metadata={}), ValueError, r"the shape \(4, 2\)"),
        (lambda: serialization.is_remote_storage(3), TypeError, "a spec or a path"),  # type: ignore[arg-type]
        (
            lambda: tensorstore_impl.get_tensorstore_spec("a/b"),
            ValueError,
            "given:    'a/b'\n.*absolute",
        ),
        (lambda: serialization.get_tensorstore_spec("gs://b"), ValueError, "a bucket and a path"),
        (
            lambda: serialization.get_tensorstore_spec("gs://b/c", ocdbt=True),
            ValueError,
            "a bucket, a directory in it",
        ),
    ],
)
def test_refused(call: Any, error: type[Exception], told: str) -> None:
    with pytest.raises(error, match=told):
        call()


def test_without_tensorstore(monkeypatch: pytest.MonkeyPatch) -> None:
    """Modules can be imported; what needs it says so."""
    monkeypatch.setitem(sys.modules, "tensorstore", None)
    here = jax.sharding.SingleDeviceSharding(jax.devices("cpu")[0])
    spec = serialization.get_tensorstore_spec("/tmp/a")
    calls: list[Any] = [
        lambda: pytree_serialization.save({"x": X}, "/tmp/a"),
        lambda: pytree_serialization.load("/tmp/a", here),
        lambda: serialization.run_serialization([X], [spec]),
        lambda: serialization.run_deserialization([here], [spec]),
        lambda: tensorstore_impl.combine_kvstores({}, []),
    ]
    for call in calls:
        with pytest.raises(ModuleNotFoundError, match="pip install tensorstore"):
            call()
    with pytest.raises(AttributeError, match="pip install tensorstore"):
        _ = tensorstore_impl.Transaction
    with pytest.raises(AttributeError, match="no attribute 'Nothing'"):
        _ = tensorstore_impl.Nothing
