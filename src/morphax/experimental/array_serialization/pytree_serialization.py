"""Trees of arrays in a directory, written and read by their shards.

==================  =========================================================================
``pytreedef.json``  the structure of the tree, and shape and dtype of each leaf; written last
``array_store``     an OCDBT store with the array of leaf 3 in Zarr format as ``3``, say
==================  =========================================================================

A directory is written under another name beside its own, and then renamed, in place of what was
there: whatever happens meanwhile, under its own name there is a whole checkpoint or none.  All
numbers have a checksum, so that damaged files are noticed.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextvars import copy_context
from pathlib import Path
from typing import Any, Final

from ... import dtypes, tree
from ...array.array import Array
from ...core import ShapeDtypeStruct
from ...util.messages import described, message
from ._coroutines import ByteLimit, completed, together
from ._directories import (
    STORE,
    STRUCTURE,
    local_path,
    new_directory,
    put_in_place,
    removed_on_error,
    write_text,
)
from ._library import explained, tensorstore
from ._meeting import Meeting
from ._tree_format import refused
from .pytree_serialization_utils import (
    LEAVES_KEY,
    PyTreeFuture,
    deserialize_pytreedef,
    serialize_pytreedef,
)
from .tensorstore_impl import (
    async_deserialize,
    async_serialize,
    combine_kvstores,
    get_tensorstore_spec,
    is_tensorstore_spec_leaf,
    merge_nested_ts_specs,
    verify_tensorstore_spec,
)

__all__ = ["load", "load_pytreedef", "nonblocking_load", "nonblocking_save", "save"]

_BYTES_AT_ONCE: Final = 32 * 10**9
_SECONDS: Final = 300
_LEAF: Final = re.compile(r"Array\(([a-z0-9_]+)\[((?:\d+(?:, \d+)*)?)\]\)")


def save(
    data: Any,
    directory: str | os.PathLike[str],
    *,
    overwrite: bool = True,
    ts_specs: Any = None,
) -> None:
    """Write a tree of arrays into a directory; all processes call it.

    Args:
        data: the tree.  Leaves are arrays or `None`; classes of nodes are registered by
            `jax.export.register_pytree_node_serialization`.
        directory: its path.  The directory it is in must be there.
        overwrite: whether a checkpoint that is there may be replaced.  Nothing else ever is.
        ts_specs: specs of tensorstore, or a tree of them, whose parts replace those of the usual
            one.

    Raises:
        FileNotFoundError: if there is no directory to write it into.
        ModuleNotFoundError: if tensorstore is not installed.
        NotADirectoryError: if the path is that of a file.
        RuntimeError: if there are files that are no checkpoint's, or the path is one of a network.
        TypeError: if a dictionary has keys that are no strings.
        ValueError: if a leaf is no array, a class is not registered, or there is a checkpoint that
            may not be replaced.

    Example:
        >>> import tempfile
        >>> import morphax as jax, morphax.numpy as jnp
        >>> from morphax.experimental.array_serialization import pytree_serialization
        >>> def there_and_back(tree, sharding):
        ...     with tempfile.TemporaryDirectory() as folder:
        ...         pytree_serialization.save(tree, folder + "/step_100")
        ...         return pytree_serialization.load(folder + "/step_100", sharding)
    """
    nonblocking_save(data, directory, overwrite=overwrite, ts_specs=ts_specs).result()


def load(
    directory: str | os.PathLike[str], shardings: Any, *, mask: Any = None, ts_specs: Any = None
) -> Any:
    """Read a tree of arrays from a directory; all processes call it.

    Args:
        directory: its path.
        shardings: how the arrays shall lie: a sharding, a `jax.ShapeDtypeStruct` with a sharding,
            whose dtype the result has, or a tree of them, of which a leaf may stand for a whole
            branch.
        mask: a tree likewise, with `False` for arrays that shall be `None` and not be read.
        ts_specs: specs of tensorstore, or a tree of them, as they were saved with.

    Raises:
        FileNotFoundError: if there is no checkpoint.
        ModuleNotFoundError: if tensorstore is not installed.
        TypeError: if something is no sharding.
        ValueError: if the trees do not fit, an array cannot be split so, or files are damaged.
    """
    return nonblocking_load(directory, shardings, mask=mask, ts_specs=ts_specs).result()


def load_pytreedef(directory: str | os.PathLike[str]) -> Any:
    """The tree in a directory, with a `jax.ShapeDtypeStruct` for each array.

    Args:
        directory: its path.

    Raises:
        FileNotFoundError: if there is no checkpoint.
        ValueError: if the file is damaged, or a class of nodes is not registered.
    """
    path = local_path("load_pytreedef", directory) / STRUCTURE
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise refused(f"{path}, which is no JSON: {error}") from None
    structure = deserialize_pytreedef(data)
    names = data.get(LEAVES_KEY)
    if not isinstance(names, list) or len(names) != structure.num_leaves:
        raise refused(f"leaves {names!r:.80} for a tree of {structure.num_leaves}")
    return structure.unflatten([_leaf_of_text(name) for name in names])


def _leaf_of_text(text: Any) -> ShapeDtypeStruct | None:
    if text is None:
        return None
    found = _LEAF.fullmatch(text) if isinstance(text, str) else None
    if found is None:
        raise refused(f"the leaf {text!r:.80}")
    name, sizes = found.groups()
    try:
        dtype = dtypes.dtype(name)
    except TypeError:
        raise refused(f"the dtype {name!r:.80}") from None
    return ShapeDtypeStruct(tuple([int(n) for n in sizes.split(", ") if n]), dtype)


def _text_of_leaf(leaf: ShapeDtypeStruct | None) -> str | None:
    return None if leaf is None else f"Array({leaf.dtype.name}[{', '.join(map(str, leaf.shape))}])"


def _is_none(x: Any) -> bool:
    return x is None


def nonblocking_save(
    data: Any,
    directory: str | os.PathLike[str],
    *,
    overwrite: bool = True,
    ts_specs: Any = None,
) -> PyTreeFuture:
    """As `save`, but return when the numbers are copied, and write them meanwhile.

    Args:
        data: the tree.
        directory: the path of its directory.
        overwrite: whether a checkpoint that is there may be replaced.
        ts_specs: specs of tensorstore, or a tree of them.

    Returns:
        A future, of `None`, whose `pytree` has a `jax.ShapeDtypeStruct` for each array.
    """
    where = "pytree_serialization.save"
    ts = tensorstore(where)
    target = local_path(where, directory)
    leaves, structure = tree.flatten(data, is_leaf=_is_none)
    stubs = [_stub(where, leaf) for leaf in leaves]
    written = serialize_pytreedef(structure) | {LEAVES_KEY: [_text_of_leaf(s) for s in stubs]}
    changes = _spread(where, "ts_specs", ts_specs, structure, is_tensorstore_spec_leaf)
    meeting = Meeting(_SECONDS)
    partial = _agreed(meeting, lambda: new_directory(where, target, overwrite))
    store = partial / STORE
    own = store if meeting.processes == 1 else store / f"process_{meeting.process}"
    # All arrays at once, so that the store has few files.
    transaction = ts.Transaction()

    async def copy() -> None:
        arrays = [(i, x) for i, x in enumerate(leaves) if x is not None]
        specs = [_spec(own, i, x, changes[i]) for i, x in arrays]
        futures: list[Any] = []
        await together(
            [
                async_serialize(x, spec, commit_future=futures, transaction=transaction)
                for (_, x), spec in zip(arrays, specs, strict=True)
            ]
        )

    def finish() -> None:
        with removed_on_error(partial):
            with explained(where, {"path": str(own)}):
                transaction.commit_async().result()
            meeting.wait_for_all("written")
            if meeting.process == 0:
                if own != store:
                    _combine(store, meeting.processes)
                write_text(partial / STRUCTURE, json.dumps(written, indent=2))
                put_in_place(partial, target)
            meeting.wait_for_all("renamed")

    with removed_on_error(partial):
        completed(copy())
    return _begun(finish, structure.unflatten(stubs))


def nonblocking_load(
    directory: str | os.PathLike[str], shardings: Any, *, mask: Any = None, ts_specs: Any = None
) -> PyTreeFuture:
    """As `load`, but return at once, and read meanwhile.

    Args:
        directory: the path of the directory.
        shardings: how the arrays shall lie.
        mask: which to read.
        ts_specs: specs of tensorstore, or a tree of them.

    Returns:
        A future of the tree, whose `pytree` has a `jax.ShapeDtypeStruct` for each array.
    """
    where = "pytree_serialization.load"
    tensorstore(where)
    store = local_path(where, directory) / STORE
    stub = load_pytreedef(directory)
    stubs, structure = tree.flatten(stub, is_leaf=_is_none)
    places = _spread(where, "shardings", shardings, structure, _is_none)
    wanted = [True] * len(stubs)
    if mask is not None:
        wanted = _spread(where, "mask", mask, structure, None)
    changes = _spread(where, "ts_specs", ts_specs, structure, is_tensorstore_spec_leaf)
    read = [i for i, s in enumerate(stubs) if s is not None and wanted[i]]

    async def fetch() -> list[Array]:
        limit = ByteLimit(_BYTES_AT_ONCE)
        jobs = [_read(store, i, stubs[i], places[i], changes[i], limit) for i in read]
        return await together(jobs)

    def finish() -> Any:
        found = dict(zip(read, asyncio.run(fetch()), strict=True))
        return structure.unflatten([found.get(i) for i in range(len(stubs))])

    return _begun(finish, stub)


async def _read(
    store: Path, i: int, stub: ShapeDtypeStruct, place: Any, change: Any, limit: ByteLimit
) -> Array:
    """An array, if it is the one that the structure tells of."""
    spec = merge_nested_ts_specs(get_tensorstore_spec(store / str(i)), change)
    # Not by the stub: the file says itself what it holds.
    x = await async_deserialize(place, spec, byte_limiter=limit)
    expected = stub.dtype if not isinstance(place, ShapeDtypeStruct) else place.dtype
    if (x.shape, x.dtype) != (stub.shape, dtypes.canonicalize(expected)):
        raise refused(f"array {i} {x.aval.str_short()}, which is said to be {_text_of_leaf(stub)}")
    return x


def _begun(work: Callable[[], Any], stub: Any) -> PyTreeFuture:
    with_one_thread = ThreadPoolExecutor(1, thread_name_prefix="morphax-serialization")
    # With the settings of the caller, such as the width of numbers.
    inner: Future[Any] = with_one_thread.submit(copy_context().run, work)
    with_one_thread.shutdown(wait=False)
    future = PyTreeFuture(inner)
    future.pytree = stub
    return future


def _stub(where: str, leaf: Any) -> ShapeDtypeStruct | None:
    if leaf is None:
        return None
    if not isinstance(leaf, Array):
        raise ValueError(
            message(
                f"{where}, argument data",
                given=f"a leaf {described(leaf)}",
                expected="arrays of jax, or None, for leaves",
                fix="Make arrays of numbers with jnp.asarray, or jax.device_put.",
            )
        )
    if dtypes.issubdtype(leaf.dtype, dtypes.extended):
        raise TypeError(
            message(
                f"{where}, argument data",
                given=f"a leaf {leaf.aval.str_short()}",
                expected="arrays of numbers",
                fix="Save jax.random.key_data(keys), and jax.random.wrap_key_data it when loaded.",
            )
        )
    return ShapeDtypeStruct(leaf.shape, leaf.dtype)


def _spread(
    where: str, argument: str, prefix: Any, structure: Any, is_leaf: Callable[[Any], bool] | None
) -> list[Any]:
    """A value for each leaf, from a tree whose leaves stand for branches."""
    whole = structure.unflatten(range(structure.num_leaves))
    try:
        return tree.leaves(tree.broadcast(prefix, whole, is_leaf=is_leaf), is_leaf=is_leaf)
    except ValueError as error:
        raise ValueError(
            message(
                f"{where}, argument {argument}",
                given=f"a tree that differs from that of the arrays: {error}",
                expected="one value for all, or a tree with the same nodes, as deep as it is",
                fix="Make it by jax.tree.map of load_pytreedef(directory).",
            )
        ) from None


def _spec(store: Path, i: int, x: Array, change: Any) -> dict[str, Any]:
    """Where and how leaf `i` is written: in the store of its process, with checksums."""
    spec = get_tensorstore_spec(store / str(i), arr=x)
    spec["metadata"]["codecs"] = [{"name": "crc32c"}]
    merged = merge_nested_ts_specs(spec, change)
    verify_tensorstore_spec(merged, x, store, ocdbt=True)
    return merged


def _combine(store: Path, processes: int) -> None:
    base = {"driver": "file", "path": str(store)}
    parts = [
        {"driver": "ocdbt", "base": base | {"path": str(store / f"process_{i}")}}
        for i in range(processes)
    ]
    combine_kvstores({"driver": "ocdbt", "base": base}, parts)


def _agreed(meeting: Meeting, make: Callable[[], Path]) -> Path:
    """The directory that process 0 has made, on all processes; its error, on all."""
    error = None
    news = ["", ""]
    if meeting.process == 0:
        try:
            news = [str(make()), ""]
        except (OSError, RuntimeError, ValueError) as failure:
            error = failure
            news = ["", str(failure)]
    path, told = meeting.told(news)
    if error is not None:
        raise error
    if told:
        raise RuntimeError(told)
    return Path(path)
