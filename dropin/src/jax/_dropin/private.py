"""The modules of `jax._src`, as far as libraries use them.

What is private to JAX has no place here.  But libraries reach for a few of these names, mostly
since no public one was there when they were written, and each of them is a name for something of
ours.  Getting one gets that; setting one sets it there: what libraries replace morphax calls.
"""

from __future__ import annotations

from importlib import import_module
from types import ModuleType
from typing import Any, Final, NamedTuple, final


class Name(NamedTuple):
    """What a private name stands for: a module of morphax, what is in it, and who asks for it."""

    module: str
    attribute: str
    reason: str


NAMES: Final = {
    # Tracebacks.
    "traceback_util.register_exclusion": Name(
        "util.frames", "treat_as_internal", "equinox, flax, jaxtyping: hide their own frames"
    ),
    "traceback_util.include_frame": Name(
        "util.frames", "is_users_frame", "equinox: shorten the traceback of a runtime error"
    ),
    "traceback_util.api_boundary": Name(
        "core.hidden_frames", "frames_hidden", "flax: decorate what users call"
    ),
    "traceback_util._exclude_paths": Name(
        "util.frames", "internal_paths", "flax: show and hide its frames again"
    ),
    # Programs, avals and traces.
    "core.AbstractValue": Name("core", "AbstractValue", "quax: the base of its own avals"),
    "core.Primitive": Name("extend.core", "Primitive", "jax-md: an operation of its own"),
    "core.ShapedArray": Name("core", "ShapedArray", "flax, jax-md, quax: build and know avals"),
    "core.Trace": Name("core", "Trace", "quax: the base of its trace"),
    "core.TraceTag": Name("extend.core", "TraceTag", "quax: marks its traces"),
    "core.Tracer": Name("core", "Tracer", "quax: the base of its tracer"),
    "core.jaxpr_as_fun": Name("extend.core", "jaxpr_as_fun", "quax: runs programs"),
    "core.physical_aval": Name(
        "engines.xla.literals", "physical_aval", "flax: the array behind its dtype"
    ),
    "core.set_current_trace": Name("extend.core", "set_current_trace", "quax: installs its trace"),
    "core.take_current_trace": Name("extend.core", "take_current_trace", "quax: goes below it"),
    "core.trace_state_clean": Name(
        "extend.core.trace_state",
        "trace_state_clean",
        "numpyro: cache no traced function",
    ),
    "ad_util.stop_gradient_p": Name(
        "extend.core.primitives", "stop_gradient_p", "lineax: gives it a transposition rule"
    ),
    "pjit.jit_p": Name("extend.core.primitives", "jit_p", "quax: a rule for jitted functions"),
    "ad_checkpoint.saved_residuals": Name(
        "control.checkpoint.saved_residuals", "saved_residuals", "haliax: what a policy saves"
    ),
    "state.types.AbstractRef": Name("core", "AbstractRef", "flax: recognise references"),
    "api_util.infer_argnums_and_argnames": Name(
        "control.jit.jit_options", "numbers_and_names", "e3nn: arguments, however passed"
    ),
    "api_util.flatten_fun_nokwargs": Name(
        "api_util", "flatten_fun_nokwargs", "quax: functions of leaves"
    ),
    # Dtypes.
    "dtypes.DType": Name("dtypes", "DType", "flax: annotations"),
    "dtypes.ExtendedDType": Name("dtypes", "ExtendedDType", "flax: a dtype of its own"),
    "dtypes.TypePromotionError": Name("dtypes", "TypePromotionError", "equinox: explains it"),
    "dtypes.dtype": Name("dtypes", "dtype", "optree: what ravelled trees are made of"),
    "dtypes.extended": Name("dtypes", "extended", "flax: the kind of its dtype"),
    "dtypes.finfo": Name("dtypes", "finfo", "flax: the smallest number of a float"),
    "dtypes.supports_inf": Name("dtypes.kinds", "supports_inf", "flax: the range of a float"),
    "dtypes.to_complex_dtype": Name(
        "dtypes.kinds", "to_complex_dtype", "tinygp: the roots of a real polynomial"
    ),
    "dtypes.result_type": Name("dtypes", "result_type", "optree: what ravelled trees are made of"),
    # Numbers in programs; here they are those of NumPy.
    "literals.TypedInt": Name("numpy", "integer", "quax: converts them to arrays"),
    "literals.TypedFloat": Name("numpy", "floating", "quax: converts them to arrays"),
    "literals.TypedComplex": Name("numpy", "complexfloating", "quax: converts them to arrays"),
    # Trees.
    "flatten_util.ravel_pytree": Name("flatten_util", "ravel_pytree", "blackjax"),
    "tree_util.flatten_one_level": Name("tree_util", "flatten_one_level", "orbax: key paths"),
    "tree_util._registry": Name("tree", "registered_types", "flax: is a type a node"),
    # Arrays.
    "numpy.einsum._einsum": Name(
        "numpy.einstein_sums", "einsum_by_steps", "haliax: in a known order"
    ),
    "state.indexing.Slice": Name("lax.reference.ref_indexing", "Slice", "haliax: annotations"),
    # Control flow, special functions.
    "lax.control_flow.scan": Name("lax", "scan", "pytensor"),
    "scipy.special.gammaln": Name("scipy.special", "gammaln", "jaxns"),
    # Checks of values.
    "public_test_util.check_close": Name("test_util", "check_close", "tinygp: tests of users"),
    "checkify.Error": Name("experimental.checkify", "Error", "flax: annotations"),
    "checkify.JaxException": Name(
        "control.checks.check_sites", "JaxException", "flax: annotations"
    ),
    "checkify.checkify": Name("experimental.checkify", "checkify", "flax: nnx.checkify"),
    "checkify.user_checks": Name("experimental.checkify", "user_checks", "flax: nnx.checkify"),
    # Meshes, and processes.
    "mesh.get_concrete_mesh": Name("sharding", "get_mesh", "haliax: the current mesh"),
    "distributed.global_state": Name(
        "runtime.membership", "process_state", "orbax: its process among others"
    ),
    # The compiler and what runs.
    "compiler.backend_compile_and_load": Name(
        "engines.xla.compilation", "compile_and_load", "chex: forbid compilation on a platform"
    ),
    "dispatch.wait_for_tokens": Name(
        "engines.xla.pending", "wait_for_effects", "equinox: what Python calls at its exit"
    ),
    "xla_bridge.get_backend": Name("extend.backend", "get_backend", "keras: tests by platform"),
    "xla_bridge._backends": Name(
        "runtime.client", "running_clients", "chex: is the CPU in use already"
    ),
}

_MODULES: Final = {"_src"} | {
    ".".join(["_src", *name.split(".")[:end]])
    for name in NAMES
    for end in range(1, name.count(".") + 1)
}

# Where a public name may be that a private one can be replaced by.
_PUBLIC: Final = (
    "", "extend.core", "extend.core.primitives", "extend.linear_util", "lax", "numpy", "tree_util",
    "dtypes", "errors", "sharding", "api_util", "custom_derivatives", "interpreters.ad",
    "interpreters.batching", "interpreters.mlir", "interpreters.partial_eval", "scipy.special",
)  # fmt: skip


def is_private_module(inner: str) -> bool:
    """Whether `jax._src…` has some of the names."""
    return inner in _MODULES


@final
class PrivateModule(ModuleType):
    """A module of `jax._src`: its names stand for those of `NAMES`."""

    def __getattr__(self, name: str) -> Any:
        if _inner(self, name) in _MODULES:
            return import_module(f"{self.__name__}.{name}")
        return getattr(*_place(self, name))

    def __setattr__(self, name: str, value: Any) -> None:
        if name.startswith("__") or isinstance(value, ModuleType):
            super().__setattr__(name, value)
        else:
            setattr(*_place(self, name), value)

    def __delattr__(self, name: str) -> None:
        delattr(*_place(self, name))

    def __dir__(self) -> list[str]:
        start = _inner(self, "")
        names = [*_MODULES, *(f"_src.{name}" for name in NAMES)]
        children = {n.removeprefix(start) for n in names if n.startswith(start)}
        return sorted(child for child in children if "." not in child)


def _inner(module: PrivateModule, name: str) -> str:
    return f"{module.__name__}.{name}".partition(".")[2]


def _place(module: PrivateModule, name: str) -> tuple[ModuleType, str]:
    """The module of morphax that a name stands for something in, and its name there."""
    entry = NAMES.get(_inner(module, name).removeprefix("_src."))
    if entry is None or name.startswith("__"):
        raise AttributeError(_absence(module.__name__, name), name=name, obj=module)
    return import_module(f"morphax.{entry.module}"), entry.attribute


def _absence(module: str, name: str) -> str:
    text = f"module {module!r} has no attribute {name!r}"
    if name.startswith("__"):
        return text
    homes = [path for path in _PUBLIC if hasattr(import_module(f"morphax.{path}".strip(".")), name)]
    public = [".".join(filter(None, ("jax", home, name))) for home in homes]
    return f"{text}: it is private to JAX. " + (
        f"Use {' or '.join(public)}." if public else "morphax has nothing public of this name."
    )
