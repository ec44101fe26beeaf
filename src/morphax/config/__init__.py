"""Options: declared in `options`, held in `state`, shown to users by `config` and `contexts`.

Library code reads ``current().enable_x64`` at its entry points and passes values down; caches of
programs include ``current().trace_key``.  Users see the object ``jax.config`` and the context
managers, which the package's face re-exports.
"""

from __future__ import annotations

from . import logs as logs
from .contexts import (
    OptionContext,
    array_garbage_collection_guard,
    auto_pcast,
    check_tracer_leaks,
    checking_leaks,
    cpu_engine,
    debug_infs,
    debug_key_reuse,
    debug_nans,
    default_device,
    default_matmul_precision,
    default_prng_impl,
    disable_jit,
    enable_checks,
    enable_custom_prng,
    enable_x64,
    explain_cache_misses,
    legacy_prng_key,
    log_compiles,
    no_execution,
    no_tracing,
    numpy_dtype_promotion,
    numpy_rank_promotion,
    remove_size_one_mesh_axis_from_type,
    softmax_custom_jvp,
    thread_guard,
    threefry_partitionable,
    transfer_guard,
    transfer_guard_device_to_device,
    transfer_guard_device_to_host,
    transfer_guard_host_to_device,
)
from .options import Config
from .public import config
from .state import check_updates, current, override
from .trace_key import TraceKey
from .user_contexts import make_user_context

__all__ = [
    "Config",
    "OptionContext",
    "TraceKey",
    "array_garbage_collection_guard",
    "auto_pcast",
    "check_tracer_leaks",
    "check_updates",
    "checking_leaks",
    "config",
    "cpu_engine",
    "current",
    "debug_infs",
    "debug_key_reuse",
    "debug_nans",
    "default_device",
    "default_matmul_precision",
    "default_prng_impl",
    "disable_jit",
    "enable_checks",
    "enable_custom_prng",
    "enable_x64",
    "explain_cache_misses",
    "legacy_prng_key",
    "log_compiles",
    "make_user_context",
    "no_execution",
    "no_tracing",
    "numpy_dtype_promotion",
    "numpy_rank_promotion",
    "override",
    "remove_size_one_mesh_axis_from_type",
    "softmax_custom_jvp",
    "thread_guard",
    "threefry_partitionable",
    "transfer_guard",
    "transfer_guard_device_to_device",
    "transfer_guard_device_to_host",
    "transfer_guard_host_to_device",
]
