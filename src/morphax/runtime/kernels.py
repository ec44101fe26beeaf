"""Make the kernels that come with a GPU plugin known to XLA.

Programs call them by name: factorisations (cuSOLVER), sparse products (cuSPARSE), random bits,
Triton kernels, and the callbacks into Python.  The package is compiled; importing it needs neither
a GPU nor another frontend.
"""

from __future__ import annotations

from functools import cache, partial
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from .plugins import Plugin, installed

_LIBRARIES = ("_linalg", "_solver", "_sparse", "_prng", "_rnn", "_hybrid", "_triton")
_TYPED_HANDLERS = 1  # the version of XLA's interface to custom calls that all of them implement


def register(plugin: Plugin, c_api: Any, xla_client: Any) -> None:
    """Register the kernels of `plugin`, whose PJRT interface is `c_api`."""
    if plugin.kernels is None or find_spec(plugin.kernels) is None:
        return
    platform = plugin.platform.upper()
    runtime = import_module(f"{plugin.kernels}.{plugin.platform}_plugin_extension")
    handler = partial(runtime.register_custom_call_target, c_api)
    xla_client.register_custom_call_handler(platform, handler)
    xla_client.register_custom_type_handler(platform, partial(runtime.register_custom_type, c_api))
    for name, type_id in runtime.ffi_types().items():
        xla_client.register_custom_type(name, type_id, platform)
    targets = dict(runtime.ffi_handlers())
    for library in _LIBRARIES:
        if find_spec(f"{plugin.kernels}.{library}") is not None:
            targets |= import_module(f"{plugin.kernels}.{library}").registrations()
    for name, function in targets.items():
        xla_client.register_custom_call_target(name, function, platform, _TYPED_HANDLERS)


@cache
def prepare_hybrid(platform: str) -> None:
    """Load the LAPACK of the host for the kernels of `platform` that compute in part on the host.

    Without a plugin, programs are only written.
    """
    plugin = installed().get(platform)
    if plugin is None or plugin.kernels is None:
        return
    if find_spec(f"{plugin.kernels}._hybrid") is not None:
        import_module(f"{plugin.kernels}._hybrid").initialize()
