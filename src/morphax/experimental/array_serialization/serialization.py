"""Arrays written and read one by one, or while the program goes on.

`GlobalAsyncCheckpointManager` copies the numbers, and returns; a thread waits until the files are
written, and then calls a function that may, say, give the directory its final name.  A next call
waits for that thread, so there is never more than one checkpoint on its way.
"""

from __future__ import annotations

import os
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any

from ...array.array import Array
from ...util.messages import message
from ._coroutines import ByteLimit, completed, together
from ._meeting import BarrierTimeoutError as BarrierTimeoutError
from ._meeting import Meeting
from ._specs import is_remote_storage as is_remote_storage
from ._specs import spec_of_path
from .tensorstore_impl import async_deserialize as async_deserialize
from .tensorstore_impl import async_serialize as async_serialize

_GIGABYTE = 10**9


def get_tensorstore_spec(
    ckpt_path: str | os.PathLike[str],
    *,
    ocdbt: bool = False,
    process_idx: int | None = None,
    arr: Any = None,
    driver: str = "zarr",
) -> dict[str, Any]:
    """The spec of an array at a path; by default a directory with files of its own.

    Args:
        ckpt_path: of the array, or ``gs://bucket/…`` or ``s3://bucket/…``.
        ocdbt: whether it is in an OCDBT store, of many arrays in few files; then the last part of
            the path is its name, and the rest must be absolute.
        process_idx: the number of the process whose own directory it is in, if each has one.
        arr: the array that is to be written, whose shape, dtype and parts go into the spec.
        driver: ``zarr`` or ``zarr3``.

    Raises:
        ValueError: if the path is relative, or has no bucket.

    Example:
        >>> from morphax.experimental.array_serialization import serialization
        >>> serialization.get_tensorstore_spec("/tmp/model/weights")
        {'driver': 'zarr', 'kvstore': {'driver': 'file', 'path': '/tmp/model/weights'}}
    """
    return spec_of_path(ckpt_path, ocdbt=ocdbt, process=process_idx, arr=arr, driver=driver)


def run_serialization(arrays: Sequence[Any], tensorstore_specs: Sequence[Any]) -> None:
    """Write arrays, and return when the files are there.

    Args:
        arrays: the arrays.
        tensorstore_specs: where, one for each; see `get_tensorstore_spec`.

    Raises:
        TypeError: if something is no array.
        ValueError: if the lengths differ, or an array cannot be written.
    """
    pairs = _matched("run_serialization", "arrays", arrays, tensorstore_specs)

    async def write() -> None:
        await together([async_serialize(x, spec) for x, spec in pairs])

    completed(write())


def run_deserialization(
    shardings: Sequence[Any],
    tensorstore_specs: Sequence[Any],
    global_shapes: Sequence[Sequence[int]] | None = None,
    dtypes: Sequence[Any] | None = None,
    concurrent_gb: int = 32,
) -> list[Array]:
    """Read arrays; see `tensorstore_impl.async_deserialize` of each.

    Args:
        shardings: how they shall lie.
        tensorstore_specs: where they are, one for each.
        global_shapes: of the results, where they differ from those that are stored.
        dtypes: of the results, where they differ.
        concurrent_gb: how many gigabytes may be read at once.

    Raises:
        TypeError: if something is no sharding.
        ValueError: if the lengths differ, or an array is not there, damaged or cannot be split so.
    """
    where = "run_deserialization"
    pairs = _matched(where, "shardings", shardings, tensorstore_specs)
    none = [None] * len(pairs)
    shapes = _matched(where, "global_shapes", global_shapes or none, tensorstore_specs)
    kinds = _matched(where, "dtypes", dtypes or none, tensorstore_specs)

    async def read() -> list[Array]:
        limit = ByteLimit(concurrent_gb * _GIGABYTE)
        return await together(
            [
                async_deserialize(sharding, spec, shape, dtype, limit)
                for (sharding, spec), (shape, _), (dtype, _) in zip(
                    pairs, shapes, kinds, strict=True
                )
            ]
        )

    return completed(read())


def _matched(
    where: str, argument: str, values: Sequence[Any], specs: Sequence[Any]
) -> list[tuple[Any, Any]]:
    for name, given in ((argument, values), ("tensorstore_specs", specs)):
        if not isinstance(given, (list, tuple)):
            raise TypeError(
                message(
                    f"{where}, argument {name}",
                    given=f"a value of type {type(given).__name__}",
                    expected="a list",
                    fix="Write [x] for one.",
                )
            )
    if len(values) != len(specs):
        raise ValueError(
            message(
                f"{where}, arguments {argument} and tensorstore_specs",
                given=f"{len(values)} and {len(specs)}",
                expected="as many of the one as of the other",
                fix="Pass one spec for each.",
            )
        )
    return list(zip(values, specs, strict=True))


class AsyncManager:
    """Waits on a thread until files are written.

    Args:
        timeout_secs: how long processes wait for each other.

    Example:
        >>> from morphax.experimental.array_serialization import serialization
        >>> manager = serialization.AsyncManager(timeout_secs=60)
        >>> manager.wait_until_finished()
    """

    def __init__(self, timeout_secs: int = 300) -> None:
        self._timeout_secs = timeout_secs
        self._thread: threading.Thread | None = None
        self._error: BaseException | None = None
        self._futures: list[Any] = []

    def check_for_errors(self) -> None:
        """Raise the error of the last writing, if there was one, once."""
        error, self._error = self._error, None
        if error is not None:
            raise error

    def wait_until_finished(self) -> None:
        """Return when what was begun is written; raises its error, if there was one."""
        if self._thread is not None:
            self._thread.join()
            self._thread = None
        self.check_for_errors()

    def _add_futures(self, futures: Sequence[Any]) -> None:
        """Let the next thread wait for these."""
        self._futures = list(futures)

    def _start_async_commit(self, on_commit_callback: Callable[[], None] | None) -> None:
        """Begin to wait; then process 0 calls the function, for which the others wait."""
        meeting = Meeting(self._timeout_secs)
        futures, self._futures = self._futures, []

        def finish() -> None:
            try:
                for future in futures:
                    future.result()
                meeting.wait_for_all("written")
                if on_commit_callback is not None and meeting.process == 0:
                    on_commit_callback()
                meeting.wait_for_all("committed")
            except BaseException as error:
                self._error = error

        # No daemon: the interpreter waits for it, and half-written checkpoints are none.
        self._thread = threading.Thread(target=finish, name="morphax-serialization")
        self._thread.start()


class GlobalAsyncCheckpointManagerBase(ABC):
    """What writes checkpoints while the program goes on, and reads them."""

    @abstractmethod
    def check_for_errors(self) -> None:
        """Raise the error of the last writing, if there was one."""

    @abstractmethod
    def wait_until_finished(self) -> None:
        """Return when what was begun is written."""

    @abstractmethod
    def serialize(
        self, arrays: Any, tensorstore_specs: Any, *, on_commit_callback: Callable[[], None]
    ) -> None:
        """Begin to write arrays."""

    @abstractmethod
    def deserialize(
        self,
        shardings: Sequence[Any],
        tensorstore_specs: Sequence[Any],
        global_shapes: Sequence[Any] | None = None,
        dtypes: Sequence[Any] | None = None,
    ) -> list[Array]:
        """Read arrays."""


class GlobalAsyncCheckpointManager(AsyncManager, GlobalAsyncCheckpointManagerBase):
    """Writes arrays while the program goes on, and reads them.

    Args:
        timeout_secs: how long processes wait for each other.

    Example:
        >>> from morphax.experimental.array_serialization import serialization
        >>> manager = serialization.GlobalAsyncCheckpointManager()
        >>> manager.check_for_errors()
    """

    def serialize(
        self,
        arrays: Sequence[Any],
        tensorstore_specs: Sequence[Any],
        *,
        on_commit_callback: Callable[[], None] | None = None,
        transaction: Any = None,
    ) -> None:
        """Copy the numbers of arrays, and begin to write them.

        Args:
            arrays: the arrays.
            tensorstore_specs: where, one for each.
            on_commit_callback: called, by process 0, when all processes have written theirs.
            transaction: a `tensorstore.Transaction` within which all is written.

        Raises:
            TypeError: if something is no array.
            ValueError: if the lengths differ, or an array cannot be written.
        """
        self.wait_until_finished()
        pairs = _matched("serialize", "arrays", arrays, tensorstore_specs)
        futures: list[Any] = []

        async def copy() -> None:
            await together(
                [
                    async_serialize(x, spec, commit_future=futures, transaction=transaction)
                    for x, spec in pairs
                ]
            )

        completed(copy())
        self._add_futures([] if transaction is not None else futures)
        self._start_async_commit(on_commit_callback)

    def serialize_with_paths(
        self,
        arrays: Sequence[Any],
        paths: Sequence[str],
        *,
        on_commit_callback: Callable[[], None] | None = None,
        transaction: Any = None,
    ) -> None:
        """As `serialize`, each array into a directory of its own.

        Args:
            arrays: the arrays.
            paths: of the directories.
            on_commit_callback: called, by process 0, when all processes have written theirs.
            transaction: a `tensorstore.Transaction` within which all is written.
        """
        specs = [get_tensorstore_spec(path) for path in paths]
        self.serialize(
            arrays, specs, on_commit_callback=on_commit_callback, transaction=transaction
        )

    def deserialize(
        self,
        shardings: Sequence[Any],
        tensorstore_specs: Sequence[Any],
        global_shapes: Sequence[Any] | None = None,
        dtypes: Sequence[Any] | None = None,
        concurrent_gb: int = 32,
    ) -> list[Array]:
        """Read arrays, as `run_deserialization`, once nothing is being written any more."""
        self.wait_until_finished()
        return run_deserialization(
            shardings, tensorstore_specs, global_shapes, dtypes, concurrent_gb
        )

    def deserialize_with_paths(
        self,
        shardings: Sequence[Any],
        paths: Sequence[str],
        global_shapes: Sequence[Any] | None = None,
        dtypes: Sequence[Any] | None = None,
        concurrent_gb: int = 32,
    ) -> list[Array]:
        """Read what `serialize_with_paths` has written."""
        specs = [get_tensorstore_spec(path) for path in paths]
        return self.deserialize(shardings, specs, global_shapes, dtypes, concurrent_gb)
