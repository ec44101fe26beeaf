"""jaxlib behind one door: the clients, their devices, and what differs between versions.

jaxlib is imported on first use, so that eager programs on the CPU never load it.  Versions:
0.10.1 (``xc._version`` 452) on Python 3.11, 0.12.x (505) on Python 3.12 and later.

There is one client per platform, made when it is first asked for.  The CPU is built into jaxlib;
other platforms are plugins (`plugins`), or users make their clients (`Factory`).
"""

from __future__ import annotations

import atexit
import gc
import logging
import os
import re
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache, partial
from importlib import import_module
from typing import Any, Final, final

import numpy as np

from ..config import current as current_config
from ..util.garbage import at_start_of_collection
from ..util.messages import message
from ..util.records import dataclass
from . import forks, kernels, native_calls, plugins
from .collected_arrays import guard_collected_arrays
from .device import GPUS, Device
from .interruptible import interruptible, uninterrupted
from .jaxlib_version import check_version
from .membership import Membership, membership

_logger = logging.getLogger(__name__)

_TYPED_HANDLERS: Final = 1

_FIRST_VERSION_WITH_SKIPPED_CHECKS_GONE = 495
_FIRST_VERSION_WITH_RIGHT_DOT_FUSION = 495
_FIRST_VERSION_WITH_QUIET_LOADING = 495
_FIRST_VERSION_WITH_MODULE_OF_HLO = 495
_FIRST_VERSION_WITH_VERSIONED_DLPACK = 505


@final
@dataclass(frozen=True, slots=True)
class Factory:
    """How the client of a platform is made.

    Args:
        name: of the platform.
        make: takes nothing, returns the client.
        priority: among platforms that nobody asks for by name; the CPU has 0.
        fails_quietly: whether the platform is passed over if its client cannot be made.
        is_experimental: whether a warning is logged when it is used.
    """

    name: str
    make: Callable[[], Any]
    priority: int
    fails_quietly: bool
    is_experimental: bool

    def client(self) -> Any:
        """A new client.

        Raises:
            RuntimeError: if it cannot be made.
        """
        if self.is_experimental:
            _logger.warning("The platform %r is experimental: it may compute wrongly.", self.name)
        try:
            made = self.make()
        except Exception as error:
            raise self._failed(f"a factory that raised {error!r}") from error
        if made is None:
            raise self._failed("a factory that returned None")
        return made

    def _failed(self, what: str) -> RuntimeError:
        return RuntimeError(
            message(
                f"making a client of the platform {self.name}",
                given=what,
                expected="a client of jaxlib",
                fix="Set jax_platforms to the platforms that can be used, such as 'cpu'.",
            )
        )


factories: dict[str, Factory] = {}
"""Those registered so far."""

_lock = threading.RLock()
running_clients: dict[str, Any] = {}
"""The clients that have been made, by platform."""
_interfaces: dict[str, Any] = {}


@cache
def jaxlib_module(name: str) -> Any:
    """A module of jaxlib, imported such that Ctrl-C comes before or after it.

    Raises:
        ImportError: if this version of jaxlib has no such module.
    """
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "1")
    return uninterrupted(partial(import_module, f"jaxlib.{name}"))


@cache
def xla_client() -> Any:
    """The module `jaxlib.xla_client`; `ImportError` if jaxlib is of a version that is not known."""
    check_version(jaxlib_module("version").__version__)
    return jaxlib_module("xla_client")


@cache
def extension() -> Any:
    """The extension module `jaxlib._jax`."""
    xla_client()
    _jax = jaxlib_module("_jax")
    Device.register(_jax.Device)
    # Notes of where each buffer was made take a third of a microsecond per call, and pile up.
    _jax.set_tracebacks_enabled(False)
    # Lets jaxlib drop Python objects, such as NumPy memory, that its own threads cannot.
    collector = at_start_of_collection(_jax.collect_garbage)
    gc.callbacks.append(collector)
    guard_collected_arrays(_jax.guard_lib)
    forks.watch(_jax, collector, running_clients)
    # Before any program is loaded, be it from a cache or from what another process has made.
    register = xla_client().register_custom_call_target
    for target, handler in native_calls.handlers():
        register(target, handler, "cpu", _TYPED_HANDLERS)
    return _jax


@cache
def hlo_classes() -> Any:
    """The module of jaxlib that has the classes of HLO programs."""
    if xla_client()._version < _FIRST_VERSION_WITH_MODULE_OF_HLO:
        return extension()
    return jaxlib_module("_hlo")


@cache
def loses_nan(dtype: Any) -> bool:
    """Whether XLA's own reductions by maximum and minimum may drop NaN on the CPU.

    They do where they are calls of its kernel library: in jaxlib 0.12 for all floats, before that
    for float32, in programs whose reductions it may fuse (`library_fusions`).
    """
    return not fusions_are_chosen() or dtype == np.float32


@cache
def fusions_are_chosen() -> bool:
    """Whether this version of jaxlib must be told which operations it may fuse on the CPU."""
    return bool(xla_client()._version < _FIRST_VERSION_WITH_RIGHT_DOT_FUSION)


@cache
def widens_bfloat16_to_move_it() -> bool:
    """Whether slices and updates of bfloat16 are computed in float32 on the CPU."""
    return bool(xla_client()._version < _FIRST_VERSION_WITH_RIGHT_DOT_FUSION)


@cache
def handler_keywords() -> dict[str, bool]:
    """Keywords that result handlers need in this version of jaxlib."""
    old = xla_client()._version < _FIRST_VERSION_WITH_SKIPPED_CHECKS_GONE
    return {"_skip_checks": True} if old else {}


@cache
def reports_advice_as_features() -> bool:
    """Whether this version of jaxlib complains about each program that it loads on the CPU."""
    return bool(xla_client()._version < _FIRST_VERSION_WITH_QUIET_LOADING)


@cache
def exports_versioned_dlpack() -> bool:
    """Whether this version of jaxlib can say in a DLPack capsule that the data is read-only."""
    return bool(xla_client()._version >= _FIRST_VERSION_WITH_VERSIONED_DLPACK)


def client(platform: str = "cpu") -> Any:
    """The PJRT client of a platform, made on first use.

    Args:
        platform: ``"cpu"``, or the platform of an installed plugin or of a factory: ``"cuda"``, …

    Raises:
        KeyError: if there is no such plugin.
        RuntimeError: if the plugin finds no device that it can use.
    """
    known = running_clients.get(platform)
    if known is not None:
        return known
    with _lock:
        if platform not in running_clients:
            extension()
            forks.check_process()
            running_clients[platform] = _new_client(platform)
        return running_clients[platform]


def is_running(platform: str) -> bool:
    """Whether the client of a platform has been made."""
    return platform in running_clients


def is_any_running() -> bool:
    """Whether some client has been made."""
    return bool(running_clients)


def plugin_interface(platform: str) -> Any:
    """The functions of the plugin of a platform whose client has been made, as a capsule."""
    return _interfaces[platform]


def forget_clients() -> None:
    """Let all clients go: arrays and programs of theirs keep them, others get new ones.

    Raises:
        RuntimeError: if they belong to several processes, who meet but once.
    """
    if membership() is not None and running_clients:
        raise RuntimeError(
            message(
                "forgetting the clients of the platforms",
                given="clients whose devices belong to several processes",
                expected="a process that computes alone",
                fix="Call jax.distributed.shutdown() first.",
            )
        )
    with _lock:
        running_clients.clear()
        device_list.cache_clear()
        for forget in _forgetters:
            forget()


_forgetters: list[Callable[[], None]] = []


def on_forget_clients(forget: Callable[[], None]) -> None:
    """Have `forget` called whenever the clients are forgotten."""
    _forgetters.append(forget)


def _new_client(platform: str) -> Any:
    if platform in factories:
        return factories[platform].client()
    return _cpu_client() if platform == "cpu" else _plugin_client(platform)


def _cpu_client() -> Any:
    count = current_config().num_cpu_devices
    keywords: dict[str, Any] = {"num_devices": count} if count > 0 else {}
    keywords["asynchronous"] = current_config().cpu_enable_async_dispatch
    forced = _FORCED_DEVICES.search(os.environ.get("XLA_FLAGS", ""))
    devices = count if count > 0 else int(forced[1]) if forced else 1
    make = xla_client().make_cpu_client
    own = membership()
    if own is None:
        return make(**keywords)
    with _threads_for(devices), _meeting("cpu"):
        return interruptible(partial(make, **keywords, **_keywords_of_member(own)))


def _keywords_of_member(own: Membership) -> dict[str, Any]:
    """What makes a client of the CPU one of several, in as many processes."""
    return {
        "distributed_client": own.client,
        "node_id": own.process,
        "num_nodes": own.processes,
        "collectives": _collectives(own),
        "get_local_topology_timeout_minutes": own.patience_minutes,
        "get_global_topology_timeout_minutes": own.patience_minutes,
    }


def _collectives(own: Membership) -> Any:
    """How CPUs of several processes communicate."""
    chosen = current_config().cpu_collectives_implementation
    if chosen == "gloo":
        return extension().make_gloo_tcp_collectives(own.client, hostname=own.host)
    if chosen == "mpi":
        found = extension().make_mpi_collectives()
        found.Init()
        atexit.register(found.Finalize)
        return found
    raise RuntimeError(
        message(
            "config option jax_cpu_collectives_implementation",
            given=f"{chosen!r}, which jaxlib has not been built with",
            expected="'gloo' or 'mpi'",
            fix="Leave it at 'gloo'.",
        )
    )


@contextmanager
def _meeting(platform: str) -> Iterator[None]:
    """Context of making a client for which all processes make theirs."""
    try:
        yield
    except extension().JaxRuntimeError as error:
        raise RuntimeError(
            message(
                f"making a client of the platform {platform} for several processes",
                given=f"a failure: {error}",
                expected="that all processes ask for their devices, within the time to join",
                fix="Call jax.devices() in all of them at the start, and see their output.",
            )
        ) from error


_FORCED_DEVICES: Final = re.compile(r"--xla_force_host_platform_device_count=(\d+)")


@contextmanager
def _threads_for(devices: int) -> Iterator[None]:
    """Context in which a client of the CPU gets threads for two runs on so many devices.

    The devices of a program wait for those of other processes, each on a thread, while those of
    the next run have begun: with fewer than twice as many threads both wait for ever.  Within one
    process, runs take turns instead (`turns`).
    """
    before = os.environ.get("NPROC")
    if before is not None:
        yield
        return
    os.environ["NPROC"] = str(max(2 * devices, os.cpu_count() or 1))
    try:
        yield
    finally:
        del os.environ["NPROC"]


def _plugin_client(platform: str) -> Any:
    xc, plugin = xla_client(), plugins.installed()[platform]
    if not xc.pjrt_plugin_loaded(platform):
        plugins.load_dependencies(plugin)
        c_api = xc.load_pjrt_plugin_dynamically(platform, str(plugin.library))
        _interfaces[platform] = c_api
        kernels.register(plugin, c_api, xc)
    if not xc.pjrt_plugin_initialized(platform):
        xc.initialize_pjrt_plugin(platform)
    own = membership()
    if own is None:
        return xc.make_c_api_client(platform, _plugin_options(platform))
    options = _plugin_options(platform) | {"node_id": own.process, "num_nodes": own.processes}
    if own.partition is not None:
        options["partition_index"] = own.partition
    with _meeting(platform):
        return interruptible(partial(xc.make_c_api_client, platform, options, own.client))


def _plugin_options(platform: str) -> dict[str, Any]:
    """What a plugin is told when its client is made."""
    settings = current_config()
    options: dict[str, Any] = {}
    if platform in GPUS:
        options |= xla_client().generate_pjrt_gpu_plugin_options()
        if settings.cuda_visible_devices != "all":
            options["visible_devices"] = [
                int(number) for number in settings.cuda_visible_devices.split(",")
            ]
    for pair in filter(None, (settings.pjrt_client_create_options or "").split(";")):
        name, _, value = pair.partition(":")
        options[name] = _option_value(value)
    return options


def _option_value(text: str) -> Any:
    """An option as the type that a plugin expects: a truth value, a number or text."""
    words = {"true": True, "false": False}
    if text.lower() in words:
        return words[text.lower()]
    for number in (int, float):
        try:
            return number(text)
        except ValueError:
            continue
    return text


@cache
def device_list(*devices: Any) -> Any:
    """Jaxlib's list of devices."""
    return extension().DeviceList(devices)
