"""Every option of the package: one field of `Config` each, and nothing else declares options.

The field's annotation is the option's type and, where it is a `Literal`, its choices; the default
is the field's default; `option` adds what it means and whether it belongs to the trace key.  The
public name of field ``enable_x64`` is ``jax_enable_x64``, its environment variables are
``JAX_ENABLE_X64`` and ``MORPHAX_ENABLE_X64`` (the latter wins).

An option is part of the trace key when the same function traced, lowered or compiled under another
value of it may become another program.  Caches of programs compare `Config.trace_key`, which is one
object for equal settings.

An `inert` option has no effect yet: it is known, so that programs written for JAX run, and whoever
sets it to something other than its default is warned, once.  "Accepted" in a description means
that there is nothing to choose here: the described behaviour is the only one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import field, fields, replace
from typing import Any, Final, Literal, final

from ..util.memo import memoize
from ..util.records import dataclass
from .trace_key import TraceKey, trace_key_of

Guard = Literal["allow", "log", "disallow", "log_explicit", "disallow_explicit"]
OnError = Literal["ignore", "raise"]
MatmulPrecision = Literal[
    "default", "high", "highest", "bfloat16", "tensorfloat32", "float32",
    "ANY_F8_ANY_F8_F32", "ANY_F8_ANY_F8_F32_FAST_ACCUM", "ANY_F8_ANY_F8_ANY",
    "ANY_F8_ANY_F8_ANY_FAST_ACCUM", "F16_F16_F16", "F16_F16_F32", "BF16_BF16_BF16",
    "BF16_BF16_F32", "BF16_BF16_F32_X3", "BF16_BF16_F32_X6", "BF16_BF16_F32_X9",
    "TF32_TF32_F32", "TF32_TF32_F32_X3", "F32_F32_F32", "F64_F64_F64",
]  # fmt: skip
Generator = Literal["threefry2x32", "rbg", "unsafe_rbg"]
TracebackFiltering = Literal["off", "tracebackhide", "remove_frames", "quiet_remove_frames", "auto"]
LogLevel = Literal["NOTSET", "DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL"]
Optimization = Literal["UNKNOWN", "O0", "O1", "O2", "O3"]
CpuEngine = Literal["auto", "xla", "native"]

DEFAULT_CPU_ENGINE: Final[CpuEngine] = "auto"


def option(
    default: Any,
    meaning: str,
    *,
    trace: bool = False,
    also_sets: tuple[str, ...] = (),
    check: Callable[[Any], bool] | None = None,
    inert: bool | tuple[Any, ...] = False,
) -> Any:
    """Declare an option.

    Args:
        default: its value when neither the environment nor the program sets it.
        meaning: one sentence for the documentation.
        trace: whether programs depend on it.
        also_sets: options that take the same value when this one is set.
        check: decides whether a value of type `object` is acceptable.
        inert: whether it has no effect, so that a value other than the default brings a warning; or
            such values as tell what happens anyway, and bring none.
    """
    facts = {"meaning": meaning, "trace": trace, "also_sets": also_sets, "check": check}
    return field(default=default, metadata={**facts, "inert": inert})


def _is_device(value: Any) -> bool:
    return isinstance(value, str) or hasattr(value, "platform")


@final
@dataclass(frozen=True, slots=True, eq=False, kw_only=True, repr=False)
class Config:
    """All settings at one moment."""

    # Numbers.
    enable_x64: bool = option(
        False, "Allow 64-bit types; otherwise 32-bit ones stand in for them.", trace=True
    )
    explicit_x64_dtypes: Literal["warn", "error", "allow"] = option(
        "warn", "What an explicit request for a 64-bit dtype does while they are off.", trace=True
    )
    numpy_dtype_promotion: Literal["standard", "strict"] = option(
        "standard", "Whether operands of different dtypes combine or must be converted.", trace=True
    )
    numpy_rank_promotion: Literal["allow", "warn", "raise"] = option(
        "allow", "Whether operands of different rank are broadcast.", trace=True
    )
    default_matmul_precision: MatmulPrecision | None = option(
        None, "The precision of matrix products and convolutions that name none.", trace=True
    )
    softmax_custom_jvp: bool = option(
        False, "Differentiate softmax by a rule of its own.", trace=True
    )

    # Random numbers.
    default_prng_impl: Generator = option(
        "threefry2x32", "The generator of keys that name none.", trace=True
    )
    threefry_partitionable: bool = option(
        True, "Draw Threefry bits so that shards need no communication.", trace=True
    )
    threefry_gpu_kernel_lowering: bool = option(
        False, "Use a GPU kernel for Threefry instead of generated code.", trace=True, inert=True
    )
    enable_custom_prng: bool = option(
        False, "Make PRNGKey return typed keys instead of raw words.", trace=True
    )
    legacy_prng_key: Literal["allow", "warn", "error"] = option(
        "allow", "What passing raw words instead of a typed key does.", trace=True
    )
    random_seed_offset: int = option(0, "A number added to every seed.", trace=True)
    high_dynamic_range_gumbel: bool = option(
        False, "Draw Gumbel variates with a longer tail, at some cost.", trace=True
    )
    debug_key_reuse: bool = option(False, "Raise an error when a key is used twice.", trace=True)

    structural_identity: bool = option(
        True, "Recognise functions made anew, such as lambdas in a loop, by all that they read."
    )
    remember_sparsity: bool = option(
        True, "Find the pattern of a sparse derivative once for programs that are the same."
    )

    # Finding mistakes.
    debug_nans: bool = option(False, "Raise FloatingPointError where a result is NaN.")
    debug_infs: bool = option(False, "Raise FloatingPointError where a result is infinite.")
    disable_jit: bool = option(False, "Run jitted functions operation by operation.", trace=True)
    enable_checks: bool = option(False, "Check internal invariants; slow.", trace=True)
    check_tracer_leaks: bool = option(
        False, "Raise LeakCheckError when a tracer outlives its trace.", trace=True
    )
    check_static_indices: bool = option(
        False, "Raise IndexError for static indices out of range.", trace=True
    )
    mutable_array_checks: bool = option(
        True, "Check that references to a program do not alias.", trace=True, inert=True
    )
    disable_bwd_checks: bool = option(
        False, "Skip the type check of what backward rules return.", trace=True
    )
    error_checking_behavior_nan: OnError = option(
        "ignore", "What a NaN does in a checked program.", trace=True, inert=True
    )
    error_checking_behavior_divide: OnError = option(
        "ignore", "What a division by zero does in a checked program.", trace=True, inert=True
    )
    error_checking_behavior_oob: OnError = option(
        "ignore", "What an index out of range does in a checked program.", trace=True, inert=True
    )
    no_tracing: bool = option(False, "Raise an error when a program must be traced.")
    no_execution: bool = option(False, "Raise an error when a program is executed.")
    thread_guard: bool = option(
        False, "Raise an error where threads start programs of several processes.", inert=True
    )
    traceback_filtering: TracebackFiltering = option(
        "auto", "How frames of this package are hidden in tracebacks (off: not at all)."
    )
    tracer_error_num_traceback_frames: int = option(
        5, "How many frames errors about tracers show.", inert=True
    )
    debug_leaked_clients_on_clear_backends: bool = option(
        False, "Raise an error if a client survives clear_backends.", inert=True
    )
    array_garbage_collection_guard: Literal["allow", "log", "fatal"] | None = option(
        None, "What happens when a result of a compiled program is freed by the cycle collector."
    )

    # Derivatives.
    reverse_while_max_steps: int = option(
        0,
        "Differentiate while_loop in reverse mode, up to so many steps; 0 means not at all.",
        trace=True,
    )
    reverse_while_memory: int = option(
        -1, "Bytes of carries that such a loop may keep; -1 means two levels of parts.", trace=True
    )

    # Devices and placement.
    platforms: str | None = option(
        None, "Comma-separated platforms to use, first one default; None means all that work."
    )
    platform_name: str = option("", "The default platform; prefer jax_platforms.")
    default_device: object | None = option(
        None,
        "Where arrays go that name no device: a device or a platform name.",
        trace=True,
        check=_is_device,
    )
    num_cpu_devices: int = option(
        -1, "How many CPU devices there are; -1 means what XLA_FLAGS says, else one."
    )
    cuda_visible_devices: str = option("all", "Comma-separated CUDA devices to use.")
    cpu_enable_async_dispatch: bool = option(
        True, "Return from CPU programs before they have finished."
    )
    cpu_engine: CpuEngine = option(
        DEFAULT_CPU_ENGINE,
        "What compiles for a CPU: XLA, our own engine, or whichever is known to be faster.",
        trace=True,
    )
    quick_first_code: bool = option(
        True, "Run code that is made quickly until better code is worth its time."
    )
    chain_code: bool = option(True, "Make machine code of eager operations that have taken long.")
    change_in_place: bool = option(True, "Change what loops carry where it lies.", trace=True)
    branch_formulas: bool = option(True, "Leave out ways of formulas without need.", trace=True)
    find_repeated_steps: bool = option(True, "Write steps that repeat as loops.", trace=True)
    cut_fusions: bool = option(True, "Compute no value of a chain too often.", trace=True)
    derive_residuals: bool = option(
        True, "Compute residuals of loops again that quickly follow from others.", trace=True
    )
    split_divergent_loops: bool = option(True, "Run members of loops in blocks.", trace=True)
    replay_first_calls: bool = option(False, "Make programs of eager functions at first calls.")
    replay_placed_calls: bool = option(True, "Compile eager functions whole on other devices.")
    replay_transformed_calls: bool = option(True, "Transform eager functions as one operation.")
    known_parts: bool = option(True, "Read and write few elements of eager arrays at once.")
    keep_freed_memory: bool = option(True, "Let the C library keep large results that are freed.")
    cpu_collectives_implementation: Literal["gloo", "mpi", "megascale"] = option(
        "gloo", "How CPU processes communicate."
    )
    pjrt_client_create_options: str | None = option(
        None, "Options for the creation of the PJRT client: key:value;key:value."
    )
    distributed_debug: bool = option(False, "Log the start of distributed execution.", inert=True)
    transfer_guard: Guard | None = option(
        None,
        "What transfers between host and devices do, in all directions.",
        also_sets=(
            "transfer_guard_host_to_device",
            "transfer_guard_device_to_device",
            "transfer_guard_device_to_host",
        ),
    )
    transfer_guard_host_to_device: Guard | None = option(
        None, "What transfers from the host to a device do."
    )
    transfer_guard_device_to_device: Guard | None = option(
        None, "What transfers between devices do."
    )
    transfer_guard_device_to_host: Guard | None = option(
        None, "What transfers from a device to the host do."
    )
    remove_size_one_mesh_axis_from_type: bool = option(
        False, "Leave mesh axes of size one out of array types.", trace=True
    )
    auto_pcast: bool = option(
        True,
        "Cast what is the same for all members of shard_map where it meets what varies.",
        trace=True,
    )
    use_shardy_partitioner: bool = option(
        True, "Accepted: programs are partitioned by Shardy.", inert=True
    )

    # Compilation.
    enable_compilation_cache: bool = option(True, "Keep compiled programs on disk.")
    compilation_cache_dir: str | None = option(
        None, "Where compiled programs are kept; None means morphax in the user's cache directory."
    )
    compilation_cache_max_size: int = option(
        -1, "Bytes that the compilation cache may take; -1 means 512 MiB."
    )
    compilation_cache_check_contents: bool = option(
        False, "Compile on a hit too and raise an error if the programs differ."
    )
    compilation_cache_include_metadata_in_key: bool = option(
        False, "Accepted: compiled programs contain no source locations.", inert=True
    )
    persistent_cache_min_compile_time_secs: float = option(
        0.0, "Keep what took this long to compile."
    )
    persistent_cache_min_entry_size_bytes: int = option(0, "Keep programs of at least this size.")
    persistent_cache_enable_xla_caches: str = option(
        "xla_gpu_per_fusion_autotune_cache_dir",
        "Accepted: XLA's own caches are not kept.",
        inert=True,
    )
    raise_persistent_cache_errors: bool = option(
        False, "Raise errors of the compilation cache instead of warning."
    )
    optimization_level: Optimization = option(
        "UNKNOWN", "How hard the compiler tries; UNKNOWN leaves it to XLA.", trace=True
    )
    disable_most_optimizations: bool = option(
        False, "Compile fast, for programs that run once.", trace=True
    )
    compiler_enable_remat_pass: bool = option(
        True, "Let XLA recompute values to save memory.", trace=True
    )
    compiler_detailed_logging_min_ops: int = option(
        10, "Log details of compilation for programs of at least this many operations.", inert=True
    )
    embedded_constants_max_bytes: int = option(
        32, "Constants up to this size are written into programs.", trace=True, inert=True
    )
    captured_constants_warn_bytes: int = option(
        2_000_000_000,
        "Warn when a program captures constants of this size; -1 means never.",
    )
    captured_constants_report_frames: int = option(
        0, "How many frames the report of captured constants shows; -1 means all.", inert=True
    )
    use_simplified_jaxpr_constants: bool = option(
        False, "Accepted: constants are always part of a jaxpr.", inert=True
    )
    use_direct_linearize: bool = option(
        True, "Accepted: linearisation never goes through partial evaluation.", inert=True
    )

    # Export and dumps.
    export_calling_convention_version: int = option(
        10, "The calling convention of exported programs.", inert=True
    )
    export_ignore_forward_compatibility: bool = option(
        False, "Use StableHLO features that older consumers may lack in exported programs."
    )
    dump_ir_to: str = option("", "Write each program to this directory; empty means nowhere.")
    dump_ir_modes: str = option(
        "stablehlo", "What to write there, comma-separated: stablehlo, jaxpr."
    )
    include_debug_info_in_dumps: bool = option(True, "Write source locations there too.")
    include_full_tracebacks_in_locations: bool = option(
        True,
        "Give operations the whole stack of source locations, not the innermost one.",
        inert=True,
    )
    traceback_in_locations_limit: int = option(
        100, "How many frames such a stack has at most; -1 means all.", inert=True
    )
    hlo_source_file_canonicalization_regex: str | None = option(
        None, "A pattern removed from file names in source locations."
    )
    source_url_schema: str | None = option(
        None, "The form of links to source lines in reports.", inert=True
    )
    send_traceback_to_runtime: Literal["off", "on", "full"] = option(
        "off", "Whether the runtime learns the traceback of each call.", inert=True
    )

    # Logging and printing.
    logging_level: LogLevel = option("NOTSET", "The level of this package's loggers.")
    debug_log_modules: str = option("", "Comma-separated modules that log debug messages.")
    log_compiles: bool = option(False, "Log each trace and compilation with its time.")
    log_checkpoint_residuals: bool = option(
        False, "Log what rematerialised functions save.", trace=True
    )
    explain_cache_misses: bool = option(False, "Log why a jitted function was traced again.")
    pprint_use_color: bool = option(True, "Colour printed jaxprs on terminals.", inert=True)

    pallas_enable_debug_checks: bool = option(
        False, "Execute pl.debug_check in kernels.", trace=True, inert=True
    )
    pallas_verbose_errors: bool = option(
        False, "Show the kernel's whole IR in errors of lowering.", inert=True
    )

    user_values: tuple[tuple[Any, type, Any], ...] = ()
    """Contexts of `user_contexts` that are set, each with the type and value it is set to."""
    trace_key: TraceKey = field(init=False)
    debugs_execution: bool = field(init=False)
    """Whether an option asks programs to run otherwise than compiled and unobserved."""
    watches_calls: bool = field(init=False)
    """Whether calls of compiled functions need more than their program: that, or a guard."""

    def __post_init__(self) -> None:
        debugs = self.disable_jit or self.debug_nans or self.debug_infs or self.no_execution
        debugs = debugs or self.debug_key_reuse
        guards = self.transfer_guard_host_to_device not in (None, "allow")
        object.__setattr__(self, "debugs_execution", debugs)
        object.__setattr__(self, "watches_calls", debugs or guards)
        settings = tuple(getattr(self, name) for name in (*_TRACED, "user_values"))
        object.__setattr__(self, "trace_key", trace_key_of(settings))

    def replace(self, settings: tuple[tuple[str, Any], ...]) -> Config:
        """This configuration with other values for some fields."""
        return _replaced(self, settings)

    def settings(self) -> dict[str, Any]:
        """All settings by field name."""
        return {name: getattr(self, name) for name in FACTS}


FACTS: Final[dict[str, Mapping[str, Any]]] = {
    f.name: {**f.metadata, "annotation": f.type, "default": f.default}
    for f in fields(Config)
    if f.metadata
}
"""What each field's declaration says."""

_TRACED: Final = tuple(name for name, facts in FACTS.items() if facts["trace"])


# Context managers switch between few configurations, often: making one costs many attributes.
@memoize
def _replaced(config: Config, settings: tuple[tuple[str, Any], ...]) -> Config:
    return replace(config, **dict(settings))
