"""`jax.profiler`: record what programs do over time, and what takes up memory on devices.

    with jax.profiler.trace("/tmp/profile"):
        y = f(x).block_until_ready()

writes a profile for XProf and TensorBoard.  Marks name stretches of the user's own program in it:
`TraceAnnotation`, `StepTraceAnnotation` and `annotate_function`.

`start_server` lets such tools connect while a program runs, and take a profile when they like.

References: https://openxla.org/xprof, https://perfetto.dev/docs.
"""

from __future__ import annotations

import gzip
import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from os import PathLike, fspath
from pathlib import Path
from types import TracebackType
from typing import Any, TypeVar, final

from .engines.xla.profiling import profile_data, profiler
from .runtime.devices import client_of
from .util.local_page import serve_once
from .util.messages import described, message

F = TypeVar("F", bound=Callable[..., Any])

# Classes of jaxlib, which is loaded when one of them is first asked for.
_CLASSES = {
    "ProfileData": profile_data,
    "ProfileEvent": profile_data,
    "ProfileOptions": profiler,
    "ProfilePlane": profile_data,
}


def __getattr__(name: str) -> Any:
    if name in _CLASSES:
        return getattr(_CLASSES[name](), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}", name=name)


def __dir__() -> list[str]:
    return sorted([*globals(), *_CLASSES])


@final
class _Running:
    """The session that records now, if any, and what becomes of its record."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.session: Any = None
        self.folder = Path()
        self.makes_perfetto_file = self.shows_perfetto = False


_running = _Running()


@final
class _Server:
    """The server that runs now, if any."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.current: Any = None


_server = _Server()


def start_trace(
    log_dir: str | PathLike[str],
    create_perfetto_link: bool = False,
    create_perfetto_trace: bool = False,
    profiler_options: Any = None,
) -> None:
    """Begin to record what host and devices do; `stop_trace` ends it and writes the profile.

    Args:
        log_dir: the folder for the profile, made if there is none.
        create_perfetto_link: at the end, print a link that shows the profile in the browser, and
            wait until it was followed.
        create_perfetto_trace: write ``perfetto_trace.json.gz`` too, for https://ui.perfetto.dev.
        profiler_options: a `ProfileOptions`.

    Raises:
        RuntimeError: a profile is being recorded already.

    Example:
        >>> import tempfile
        >>> import morphax as jax
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     jax.profiler.start_trace(folder)
        ...     y = jax.jit(lambda x: x + 1.0)(2.0).block_until_ready()
        ...     jax.profiler.stop_trace()
    """
    with _running.lock:
        if _running.session is not None:
            raise RuntimeError(
                message(
                    "profiler.start_trace",
                    given=f"a call while a profile for {_running.folder} is recorded",
                    expected="one profile at a time",
                    fix="Call jax.profiler.stop_trace first.",
                )
            )
        # Devices report to a session only if they exist when it begins.
        client_of(None, "profiler.start_trace")
        options = profiler().ProfileOptions() if profiler_options is None else profiler_options
        _running.session = profiler().ProfilerSession(options)
        _running.folder = Path(log_dir)
        _running.makes_perfetto_file = create_perfetto_trace or create_perfetto_link
        _running.shows_perfetto = create_perfetto_link


def stop_trace() -> None:
    """End the recording that `start_trace` began, and write the profile.

    Raises:
        RuntimeError: no profile is being recorded.

    Example:
        >>> from morphax import profiler
        >>> profiler.stop_trace()
        Traceback (most recent call last):
            ...
        RuntimeError: ...
    """
    with _running.lock:
        if _running.session is None:
            raise RuntimeError(
                message(
                    "profiler.stop_trace",
                    given="a call while no profile is recorded",
                    expected="a profile that jax.profiler.start_trace began",
                    fix="Use `with jax.profiler.trace(folder):`, which does both.",
                )
            )
        session, _running.session = _running.session, None
        session.stop_and_export(fspath(_running.folder))
        if _running.makes_perfetto_file:
            trace_file = _write_perfetto(_running.folder)
            if _running.shows_perfetto:
                serve_once(trace_file, "https://ui.perfetto.dev/#!/?url=", port=9001)


def start_server(port: int, requires_backend: bool = True) -> Any:
    """Let XProf and TensorBoard take profiles of this process while it runs.

    The server is jaxlib's.  It listens on all network interfaces and asks nobody for a password:
    whoever reaches the port can take profiles, which name files and functions.  Start it where a
    firewall stands in front.

    Args:
        port: the port to listen on.
        requires_backend: whether devices are set up first; they report to no profile that began
            before they were.

    Returns:
        jaxlib's server, which runs while it is referred to, as it is until `stop_server`.

    Raises:
        ValueError: a server runs already.
        TypeError: `port` is no number.
    """
    with _server.lock:
        if _server.current is not None:
            raise ValueError(
                message(
                    "profiler.start_server",
                    given="a call while a server runs",
                    expected="one server in a process",
                    fix="Call jax.profiler.stop_server first.",
                )
            )
        number = _port_number("profiler.start_server, argument port", port)
        if requires_backend:
            client_of(None, "profiler.start_server")
        _server.current = profiler().start_server(number)
        return _server.current


def stop_server() -> None:
    """End the server that `start_server` began.

    Raises:
        ValueError: none runs.
    """
    with _server.lock:
        if _server.current is None:
            raise ValueError(
                message(
                    "profiler.stop_server",
                    given="a call while no server runs",
                    expected="a server that jax.profiler.start_server began",
                    fix="Start one first.",
                )
            )
        _server.current = None


def register_subprocess(pid: int, port: int) -> Callable[[], None]:
    """Have profiles of this process tell of another one, too: a worker that loads data, say.

    Args:
        pid: the number of that process.
        port: of the server that it has begun by `start_server`.

    Returns:
        A function that ends this.  So does its end as an object.

    Raises:
        RuntimeError: that process is known already, or its server does not answer.
    """
    number = _port_number("profiler.register_subprocess, argument port", port)
    return profiler().register_subprocess(pid, number)


def _port_number(where: str, port: Any) -> int:
    """A number that a port can have; jaxlib ends the process at others."""
    is_number = hasattr(port, "__index__") and not isinstance(port, bool)
    if is_number and 0 < port.__index__() < 2**16:
        return int(port.__index__())
    text = message(
        where,
        given=described(port),
        expected="a number from 1 to 65535",
        fix="Pass 9999, for instance.",
    )
    raise ValueError(text) if is_number else TypeError(text)


@contextmanager
def trace(
    log_dir: str | PathLike[str],
    create_perfetto_link: bool = False,
    create_perfetto_trace: bool = False,
    profiler_options: Any = None,
) -> Iterator[None]:
    """Context in which a profile is recorded; the arguments are those of `start_trace`.

    Example:
        >>> import tempfile
        >>> import morphax as jax
        >>> with tempfile.TemporaryDirectory() as folder, jax.profiler.trace(folder):
        ...     y = jax.jit(lambda x: x + 1.0)(2.0).block_until_ready()
    """
    start_trace(log_dir, create_perfetto_link, create_perfetto_trace, profiler_options)
    try:
        yield
    finally:
        stop_trace()


def _write_perfetto(folder: Path) -> Path:
    """The newest profile in the folder as a file that Perfetto reads."""
    newest = max(folder.glob("plugins/profile/*"), key=lambda run: run.stat().st_mtime)
    (source,) = newest.glob("*.trace.json.gz")
    with gzip.open(source, "rt", encoding="utf-8") as file:
        record = json.load(file)
    # Perfetto wants the events alone.
    record.pop("metadata", None)
    target = newest / "perfetto_trace.json.gz"
    with gzip.open(target, "wt", encoding="utf-8") as file:
        json.dump(record, file)
    return target


class TraceAnnotation:
    """A context that is marked in profiles; it costs almost nothing while none is recorded.

    Args:
        name: what to call it.
        **kwargs: numbers and strings to note with it.

    Example:
        >>> import morphax as jax
        >>> with jax.profiler.TraceAnnotation("load data", rows=128):
        ...     rows = list(range(128))
    """

    __slots__ = ("_mark",)

    def __init__(self, name: str, /, **kwargs: Any) -> None:
        self._mark = profiler().TraceMe(name, **kwargs)

    def __enter__(self) -> TraceAnnotation:
        self._mark.__enter__()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._mark.__exit__(kind, error, traceback)

    def set_metadata(self, **kwargs: Any) -> None:
        """Note more numbers and strings."""
        self._mark.set_metadata(**kwargs)

    @staticmethod
    def is_enabled() -> bool:
        """Whether a profile is recorded now."""
        return bool(profiler().TraceMe.is_enabled())


class StepTraceAnnotation(TraceAnnotation):
    """A context that is marked as a step, such as one of training, of which profilers keep times.

    Args:
        name: what to call it.
        **kwargs: numbers and strings to note with it, ``step_num`` among them.

    Example:
        >>> import morphax as jax
        >>> for i in range(2):
        ...     with jax.profiler.StepTraceAnnotation("train", step_num=i):
        ...         loss = 1.0 / (i + 1)
    """

    __slots__ = ()

    def __init__(self, name: str, **kwargs: Any) -> None:
        # The key by which XProf knows steps.
        super().__init__(name, _r=1, **kwargs)


def annotate_function(func: F, name: str | None = None, **decorator_kwargs: Any) -> F:
    """A function whose calls are marked in profiles.

    Args:
        func: the function.
        name: what to call its calls; its own name by default.
        **decorator_kwargs: numbers and strings to note with each.

    Example:
        >>> import morphax as jax
        >>> @jax.profiler.annotate_function
        ... def load(i):
        ...     return i + 1
        >>> load(1)
        2
    """
    label = str(name or getattr(func, "__name__", type(func).__name__))

    @wraps(func)
    def marked(*args: Any, **kwargs: Any) -> Any:
        with TraceAnnotation(label, **decorator_kwargs):
            return func(*args, **kwargs)

    return marked  # type: ignore[return-value]


def device_memory_profile(backend: str | None = None) -> bytes:
    """What takes up memory on the devices of a platform now, as a gzipped profile of pprof.

    Buffers of compiled programs count; arrays in the memory of the host do not.

    Args:
        backend: a platform's name, as in `jax.devices`.

    Example:
        >>> import morphax as jax
        >>> jax.profiler.device_memory_profile()[:2].hex()
        '1f8b'
    """
    owner = client_of(backend, "profiler.device_memory_profile, argument backend")
    return gzip.compress(owner.heap_profile())


def save_device_memory_profile(filename: str | PathLike[str], backend: str | None = None) -> None:
    """Write `device_memory_profile` to a file, which `pprof` shows.

    Args:
        filename: the file.
        backend: a platform's name, as in `jax.devices`.
    """
    Path(filename).write_bytes(device_memory_profile(backend))
