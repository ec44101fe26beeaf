"""Arrays written and read within coroutines, and specs that say where.

A chunk of the stored array is what one device holds, so that devices do not wait for each other.
Writing copies the numbers before it returns: what happens to the array afterwards, such as
donation, changes no file.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from math import ceil, prod
from typing import Any

import numpy as np

from ... import dtypes
from ...array.array import Array
from ...array.assembly import checked_sharding, make_array_from_callback
from ...core import Format, ShapeDtypeStruct
from ...lax.elementwise.convert import converted
from ...runtime.membership import membership
from ...runtime.sharding import Index, Sharding
from ...util.messages import described, message
from ._coroutines import ByteLimit, completed, together
from ._library import explained, tensorstore
from ._specs import is_tensorstore_spec_leaf as is_tensorstore_spec_leaf
from ._specs import merge_nested_ts_specs as merge_nested_ts_specs
from ._specs import metadata_of, spec_of_path
from ._specs import verify_tensorstore_spec as verify_tensorstore_spec

_LIBRARY_NAMES = ("Future", "Transaction")
# Chunks that devices have not determined.
_CHUNK_ELEMENTS = 100_000_000
_CONTEXT = {
    "file_io_concurrency": {"limit": 128},
    "data_copy_concurrency": {"limit": 128},
    "cache_pool": {"total_bytes_limit": 10_000_000_000},
}


def __getattr__(name: str) -> Any:
    """`Future` and `Transaction` are classes of tensorstore."""
    where = f"{__name__}.{name}"
    if name not in _LIBRARY_NAMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        return getattr(tensorstore(where), name)
    except ModuleNotFoundError as error:
        raise AttributeError(str(error)) from error


def get_tensorstore_spec(
    ckpt_path: str | os.PathLike[str],
    ocdbt: bool = True,
    process_idx: int | None = None,
    arr: Any = None,
    driver: str = "zarr3",
) -> dict[str, Any]:
    """The spec of an array at a path.

    Args:
        ckpt_path: of the array, or ``gs://bucket/…`` or ``s3://bucket/…``.  In an OCDBT store the
            last part is its name, and the rest must be absolute.
        ocdbt: whether it is in an OCDBT store, of many arrays in few files.
        process_idx: the number of the process whose own directory it is in, if each has one.
        arr: the array that is to be written, whose shape, dtype and parts go into the spec.
        driver: ``zarr3`` or ``zarr``.

    Raises:
        ValueError: if the path is relative, or has no bucket.

    Example:
        >>> from morphax.experimental.array_serialization import tensorstore_impl
        >>> tensorstore_impl.get_tensorstore_spec("/tmp/model/weights")
        {'driver': 'zarr3',
         'kvstore': {'driver': 'ocdbt', 'base': {'driver': 'file', 'path': '/tmp/model'},
                     'path': 'weights'}}
    """
    return spec_of_path(ckpt_path, ocdbt=ocdbt, process=process_idx, arr=arr, driver=driver)


async def async_serialize(
    arr_inp: Any,
    tensorstore_spec: Any,
    commit_future: list[Any] | None = None,
    context: Any = None,
    chunk_layout: Any = None,
    primary_host: int | None = None,
    replica_id: int = 0,
    transaction: Any = None,
) -> None:
    """Write the parts of an array that this process's devices hold.

    Args:
        arr_inp: the array.
        tensorstore_spec: where, see `get_tensorstore_spec`.
        commit_future: a list to which futures are added that are done when the files are written;
            without it, that is awaited.
        context: a `tensorstore.Context` in place of the usual one.
        chunk_layout: a `tensorstore.ChunkLayout`, where the spec does not say how chunks lie.
        primary_host: the number of the process that creates the array, of several; all, if left
            out.
        replica_id: of several devices that hold the same part, which one writes it.
        transaction: a `tensorstore.Transaction`, within which all is written.

    Raises:
        TypeError: if it is no array, or has no numbers, as an array of keys.
        ValueError: if it is an array of this process alone among several, or tensorstore cannot
            write
            it: another array is there already, or the dtype or the directory will not do.
    """
    where = "async_serialize"
    ts = tensorstore(where)
    x = _checked_array(where, arr_inp)
    own = membership()
    if own is not None and own.processes > 1 and x.is_fully_addressable and primary_host is None:
        raise _of_one_process(where, x)
    spec = _spec_as_data(tensorstore_spec)
    spec.setdefault("metadata", metadata_of(x, spec.get("driver", "")))
    spec.setdefault("dtype", np.dtype(x.dtype).name)
    is_first = primary_host is None or own is None or own.process == primary_host
    with explained(where, tensorstore_spec):
        # One process makes the array; for the others it is as if it were there.
        creation = {"create": True} if is_first else {"assume_metadata": True}
        opening = ts.open(
            ts.Spec(spec),
            open=True,
            **creation,
            context=_context(ts) if context is None else context,
            chunk_layout=_chunk_layout(ts) if chunk_layout is None else chunk_layout,
            transaction=transaction,
        )
        store = await opening
        parts = [s for s in x.addressable_shards if s.replica_id == replica_id]
        started = [store[s.index].write(np.asarray(s.data)) for s in parts]
        if commit_future is not None:
            commit_future.extend([write.commit for write in started])
        for write in started:
            await (write.commit if commit_future is None else write.copy)


def _checked_array(where: str, x: Any) -> Array:
    if isinstance(x, Array) and not dtypes.issubdtype(x.dtype, dtypes.extended):
        return x
    given = x.aval.str_short() if isinstance(x, Array) else described(x)
    raise TypeError(
        message(
            f"{where}, argument arr_inp",
            given=given,
            expected="a jax.Array of numbers",
            fix="Put NumPy arrays on devices with jax.device_put; of keys, write "
            "jax.random.key_data(keys).",
        )
    )


def _of_one_process(where: str, x: Array) -> ValueError:
    return ValueError(
        message(
            f"{where}, argument arr_inp",
            given=f"an array {x.aval.str_short()} of this process alone, of several processes that "
            "would all write it",
            expected="an array over the devices of all processes",
            fix="Make it by jax.make_array_from_process_local_data, with jax.P() for the "
            "same numbers everywhere, or pass primary_host in one process.",
        )
    )


def _spec_as_data(spec: Any) -> dict[str, Any]:
    """A copy of a spec, given as one of tensorstore's or as a dictionary."""
    return dict(spec) if isinstance(spec, Mapping) else spec.to_json()


def _context(ts: Any) -> Any:
    return ts.Context(_CONTEXT)


def _chunk_layout(ts: Any) -> Any:
    grid = ts.ChunkLayout.Grid(elements=_CHUNK_ELEMENTS)
    return ts.ChunkLayout(read_chunk=grid, write_chunk=grid)


async def async_deserialize(
    in_type: Sharding | Format | ShapeDtypeStruct,
    tensorstore_spec: Any,
    global_shape: Sequence[int] | None = None,
    dtype: Any = None,
    byte_limiter: ByteLimit | None = None,
    context: Any = None,
    chunk_layout: Any = None,
    assume_metadata: bool = False,
) -> Array:
    """Read the parts of an array that this process's devices shall hold.

    Args:
        in_type: how the array shall lie, or a `jax.ShapeDtypeStruct` with a sharding; its dtype
            counts, its shape does not.
        tensorstore_spec: where it is, see `get_tensorstore_spec`.
        global_shape: of the result, if it differs from the one that is stored: what is beyond is
            cut off, what is lacking is zero.
        dtype: of the result, instead of the one that is stored.
        byte_limiter: bounds how many bytes are read at once.
        context: a `tensorstore.Context` in place of the usual one.
        chunk_layout: a `tensorstore.ChunkLayout`, where the files do not say how chunks lie.
        assume_metadata: believe the spec's metadata instead of reading them.

    Raises:
        TypeError: if `in_type` is no sharding, and has none.
        ValueError: if there is no such array, its files are damaged, or the shape cannot be split
            so.
    """
    where = "async_deserialize"
    ts = tensorstore(where)
    sharding, dtype = _target(where, in_type, dtype)
    with explained(where, tensorstore_spec):
        store = await ts.open(
            ts.Spec(_spec_as_data(tensorstore_spec)),
            open=True,
            assume_metadata=assume_metadata,
            context=_context(ts) if context is None else context,
            chunk_layout=_chunk_layout(ts) if chunk_layout is None else chunk_layout,
        )
    shape = tuple(store.shape) if global_shape is None else tuple(global_shape)
    if len(shape) != store.rank:
        raise _rank_differs(where, shape, tuple(store.shape))
    place = checked_sharding(where, sharding)
    place.shard_shape(shape)
    wanted = {_bounds(i, shape) for i in place.addressable_devices_indices_map(shape).values()}
    domains = {key: _domain(ts, key) for key in wanted}
    needed = sum([estimate_read_memory_footprint(store, domain) for domain in domains.values()])
    limit = ByteLimit(needed) if byte_limiter is None else byte_limiter
    async with limit.held(needed):
        with explained(where, tensorstore_spec):
            parts = [_read(ts, store, domain, dtype) for domain in domains.values()]
            read = dict(zip(domains, await together(parts), strict=True))
        # Putting the numbers on devices is work, during which other arrays can be read.
        return make_array_from_callback(
            shape, sharding, lambda index: read[_bounds(index, shape)], dtype=_held(store, dtype)
        )


def _target(where: str, in_type: Any, dtype: Any) -> tuple[Any, Any]:
    """How the result lies, and its dtype if it is not the one that is stored."""
    sharding = in_type
    if isinstance(in_type, ShapeDtypeStruct):
        sharding = in_type.sharding
        dtype = in_type.dtype if dtype is None else dtype
    if not isinstance(sharding, (Sharding, Format)):
        raise TypeError(
            message(
                f"{where}, argument in_type",
                given=described(in_type),
                expected="a sharding of an array, or a jax.ShapeDtypeStruct with one",
                fix="Pass jax.NamedSharding(mesh, jax.P('x')), or "
                "jax.sharding.SingleDeviceSharding(device).",
            )
        )
    return sharding, dtype


def _held(store: Any, dtype: Any) -> Any:
    """The dtype of the result; with a warning where 64 bits become 32."""
    wanted = store.dtype.numpy_dtype if dtype is None else dtype
    return dtypes.requested(wanted, "async_deserialize, argument dtype")


def _bounds(index: Index, shape: tuple[int, ...]) -> tuple[tuple[int, int], ...]:
    pairs = zip(index, shape, strict=True)
    return tuple([part.indices(size)[:2] for part, size in pairs])


def _domain(ts: Any, bounds: tuple[tuple[int, int], ...]) -> Any:
    least, end = [b[0] for b in bounds], [b[1] for b in bounds]
    return ts.IndexDomain(inclusive_min=least, exclusive_max=end)


async def _read(ts: Any, store: Any, domain: Any, dtype: Any) -> np.ndarray[Any, Any]:
    """The numbers in a domain; zeros where it lies outside of what is stored."""
    found = store.domain.intersect(domain)
    kept = np.zeros(domain.shape, store.dtype.numpy_dtype)
    if found.size:
        here = tuple(
            [
                slice(
                    part.inclusive_min - whole.inclusive_min,
                    part.exclusive_max - whole.inclusive_min,
                )
                for part, whole in zip(found, domain, strict=True)
            ]
        )
        kept[here] = await store[found].read()
    return converted(kept, _held(store, dtype))


def _rank_differs(where: str, shape: tuple[int, ...], stored: tuple[int, ...]) -> ValueError:
    return ValueError(
        message(
            f"{where}, argument global_shape",
            given=f"{shape}, of {len(shape)} axes",
            expected=f"the shape of an array of {len(stored)} axes, as the stored one of the shape "
            f"{stored} has",
            fix="Leave global_shape out, and reshape what was read.",
        )
    )


def estimate_read_memory_footprint(t: Any, domain: Any) -> int:
    """How many bytes of memory are needed to read a part of a stored array: whole chunks are read.

    Args:
        t: the array, a `tensorstore.TensorStore`.
        domain: the part, a `tensorstore.IndexDomain`.
    """
    found = t.domain.intersect(domain)
    if not found.size:
        return 0
    chunks = t.chunk_layout.read_chunk.shape or found.shape
    covered = [
        (ceil(part.exclusive_max / chunk) - part.inclusive_min // chunk) * chunk
        for part, chunk in zip(found, chunks, strict=True)
    ]
    return prod(covered) * t.dtype.numpy_dtype.itemsize


def combine_kvstores(
    combined_kvstore: dict[str, Any], kvstores: Sequence[dict[str, Any]], context: Any = None
) -> None:
    """Put what is in several OCDBT stores into one; by one process, after all have written.

    The values stay where they are and are referred to, so the stores lie below the combined one.

    Args:
        combined_kvstore: the spec of the store that is written.
        kvstores: the specs of those that are read.
        context: a `tensorstore.Context` in place of the usual one.

    Raises:
        ValueError: if one is not there, or is damaged.
    """
    where = "combine_kvstores"
    ts = tensorstore(where)
    shared = _context(ts) if context is None else context

    async def combine() -> None:
        target = await ts.KvStore.open(combined_kvstore, context=shared)
        async with ts.Transaction() as transaction:
            for spec in kvstores:
                source = await ts.KvStore.open(spec, context=shared)
                await source.experimental_copy_range_to(target.with_transaction(transaction))

    with explained(where, kvstores):
        completed(combine())
