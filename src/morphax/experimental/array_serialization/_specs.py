"""Specs: what tells tensorstore where an array is and how it is written, as JSON.

An array is written by a *driver* (``zarr`` or ``zarr3``, versions of one format) into a *kvstore*,
a table of named bytes: files in a directory, objects in a bucket, or an OCDBT store (one table of
many arrays in few files), which lies in one of the former.
"""

from __future__ import annotations

import os
import posixpath
import re
from collections.abc import Mapping
from typing import Any, Final

import numpy as np

from ...util.messages import described, message

_BUCKETS: Final = {"gs": "gcs", "s3": "s3"}
_REMOTE_DRIVERS: Final = frozenset({"gcs", "gfile", "s3", "http"})
Spec = dict[str, Any]


def spec_of_path(
    path: str | os.PathLike[str], *, ocdbt: bool, process: int | None, arr: Any, driver: str
) -> Spec:
    """The spec of an array at a path or ``gs://bucket/…`` or ``s3://bucket/…``.

    Args:
        path: of the array; in an OCDBT store, the last part is its name in the store.
        ocdbt: whether it is in such a store.
        process: the number of the process whose own directory the store is in, if each has one.
        arr: the array to be written, whose shape and parts go into the spec; none for reading.
        driver: ``zarr`` or ``zarr3``.
    """
    place, name = _split(path)
    folder, last = posixpath.split(name)
    if process is not None:
        folder = posixpath.join(folder, f"process_{process}")
    kvstore: Spec = place | {"path": posixpath.join(folder, last)}
    if ocdbt:
        if "bucket" in place and not folder:
            raise _unusable(path, "a bucket, a directory in it and the name of the array")
        if "bucket" not in place and not posixpath.isabs(folder):
            raise _unusable(path, "an absolute path, as an OCDBT store needs")
        kvstore = {"driver": "ocdbt", "base": place | {"path": folder}, "path": last}
    spec: Spec = {"driver": driver, "kvstore": kvstore}
    if arr is not None:
        spec["metadata"] = metadata_of(arr, driver)
    return spec


def _split(path: str | os.PathLike[str]) -> tuple[Spec, str]:
    """Where the path is: the driver with its bucket; and the path there."""
    text = os.fspath(path)
    scheme, mark, rest = text.partition("://")
    if not mark or scheme not in _BUCKETS:
        return {"driver": "file"}, os.path.normpath(text)
    bucket, _, name = rest.partition("/")
    name = name.strip("/")
    if not bucket or not name:
        raise _unusable(path, "a bucket and a path in it")
    return {"driver": _BUCKETS[scheme], "bucket": bucket}, name


def _unusable(path: Any, expected: str) -> ValueError:
    return ValueError(
        message(
            "get_tensorstore_spec, argument ckpt_path",
            given=repr(path),
            expected=expected,
            fix="Pass os.path.abspath('folder/name'), or 'gs://bucket/folder/name'.",
        )
    )


def metadata_of(arr: Any, driver: str) -> Spec:
    """What the spec says of an array that is to be written: a chunk is a part of a device."""
    chunk = [max(size, 1) for size in arr.sharding.shard_shape(arr.shape)]
    if driver != "zarr3":
        return {"compressor": {"id": "zstd"}, "shape": arr.shape, "chunks": chunk}
    grid = {"name": "regular", "configuration": {"chunk_shape": chunk}}
    name = np.dtype(arr.dtype).name
    return {"codecs": [], "shape": arr.shape, "data_type": name, "chunk_grid": grid}


def is_remote_storage(tspec: Mapping[str, Any] | str) -> bool:
    """Whether a spec or a path is of a store that is reached over a network.

    Args:
        tspec: the spec, or a path.

    Example:
        >>> from morphax.experimental.array_serialization import serialization
        >>> serialization.is_remote_storage("gs://bucket/folder")
        True
        >>> serialization.is_remote_storage("/tmp/folder")
        False
    """
    if isinstance(tspec, str):
        return re.match(r"[a-z][a-z0-9]*://", tspec) is not None and tspec[:7] != "file://"
    if not isinstance(tspec, Mapping):
        raise TypeError(
            message(
                "is_remote_storage, argument tspec",
                given=described(tspec),
                expected="a spec or a path",
                fix="Pass what get_tensorstore_spec returns.",
            )
        )
    parts = [tspec[key] for key in ("kvstore", "base") if key in tspec]
    return tspec.get("driver") in _REMOTE_DRIVERS or any(map(is_remote_storage, parts))


def is_tensorstore_spec_leaf(leaf: Any) -> bool:
    """Whether a value in a tree of specs is one spec: `None`, or a dictionary with its keys.

    Args:
        leaf: the value.

    Example:
        >>> from morphax.experimental.array_serialization import tensorstore_impl
        >>> tensorstore_impl.is_tensorstore_spec_leaf({"driver": "zarr3"})
        True
    """
    return leaf is None or (isinstance(leaf, dict) and not leaf.keys().isdisjoint(_KEYS))


_KEYS: Final = ("driver", "kvstore")


def merge_nested_ts_specs(dict1: dict[Any, Any], dict2: dict[Any, Any] | None) -> dict[Any, Any]:
    """A spec with changes; within ``kvstore`` they are made key by key.

    Args:
        dict1: the spec.
        dict2: the changes, `None` for none.

    Example:
        >>> from morphax.experimental.array_serialization import tensorstore_impl
        >>> spec = {"driver": "zarr", "kvstore": {"driver": "file", "path": "/a"}}
        >>> tensorstore_impl.merge_nested_ts_specs(spec, {"kvstore": {"path": "/b"}})
        {'driver': 'zarr', 'kvstore': {'driver': 'file', 'path': '/b'}}
    """
    if dict2 is None:
        return dict1
    kvstore = dict1.get("kvstore", {}) | dict2.get("kvstore", {})
    return dict1 | dict2 | {"kvstore": kvstore}


def verify_tensorstore_spec(
    spec: Mapping[str, Any],
    arr: Any,
    path: str | os.PathLike[str],
    ocdbt: bool,
    check_metadata: bool = True,
) -> None:
    """Raise unless a spec is one of an array in a store.

    Args:
        spec: the spec.
        arr: the array, with a shape and a dtype.
        path: of the directory that the OCDBT store is in, or else of the array.
        ocdbt: whether it has to be in an OCDBT store.
        check_metadata: whether shape and dtype have to be those of the array.

    Raises:
        ValueError: if it is not.
    """
    kvstore = spec.get("kvstore", {})
    if ocdbt and kvstore.get("driver") != "ocdbt":
        raise _unfit("spec", spec, "one with the driver 'ocdbt' for its kvstore")
    if check_metadata:
        _check_metadata(spec, arr)
    own = kvstore.get("base", {}).get("path", "") if ocdbt else kvstore.get("path", "")
    if os.path.normpath(own) != os.path.normpath(path):
        raise _unfit("spec", spec, f"one of the path {os.fspath(path)!r}")


def _check_metadata(spec: Mapping[str, Any], arr: Any) -> None:
    if arr is None:
        raise _unfit("arr", None, "the array, to compare the metadata with")
    found = spec.get("metadata", {})
    if tuple(found.get("shape", ())) != arr.shape:
        raise _unfit("spec", found, f"the shape {arr.shape} in its metadata, as of the array")
    name = found.get("data_type", arr.dtype.name)
    if name != arr.dtype.name:
        raise _unfit("spec", found, f"the dtype {arr.dtype.name} in its metadata, as of the array")


def _unfit(argument: str, given: Any, expected: str) -> ValueError:
    return ValueError(
        message(
            f"verify_tensorstore_spec, argument {argument}",
            given=f"{given!r:.300}",
            expected=expected,
            fix="Make it with get_tensorstore_spec(path, arr=array), and change what must differ.",
        )
    )
