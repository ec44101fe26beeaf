"""morphax: composable transformations of array programs.

The public API is that of JAX: ``import morphax as jax`` works.  What users call is re-exported here
from where it is built; see docs/architecture.md.  Arrays and their functions come with the package;
transformations and further libraries are imported when they are first asked for, so that a program
waits for what it uses only.
"""

from __future__ import annotations

from typing import TYPE_CHECKING as _TYPE_CHECKING

from .util.paused_collection import importing as _importing

# These are nearly all modules.  What they make stays, so there is no garbage to look for.
with _importing():
    from . import dtypes as dtypes
    from . import errors as errors
    from . import lax as lax
    from . import monitoring as monitoring
    from . import numpy as numpy
    from . import tree as tree

from .array.live import live_arrays as live_arrays
from .array.placement import block_until_ready as block_until_ready
from .array.placement import copy_to_host_async as copy_to_host_async
from .array.placement import device_get as device_get
from .array.public import Array as Array
from .array.shards import Shard as Shard
from .config import array_garbage_collection_guard as array_garbage_collection_guard
from .config import auto_pcast as auto_pcast
from .config import check_tracer_leaks as check_tracer_leaks
from .config import checking_leaks as checking_leaks
from .config import config as config
from .config import cpu_engine as cpu_engine
from .config import debug_infs as debug_infs
from .config import debug_key_reuse as debug_key_reuse
from .config import debug_nans as debug_nans
from .config import default_device as default_device
from .config import default_matmul_precision as default_matmul_precision
from .config import default_prng_impl as default_prng_impl
from .config import disable_jit as disable_jit
from .config import enable_checks as enable_checks
from .config import enable_custom_prng as enable_custom_prng
from .config import enable_x64 as enable_x64
from .config import explain_cache_misses as explain_cache_misses
from .config import legacy_prng_key as legacy_prng_key
from .config import log_compiles as log_compiles
from .config import make_user_context as make_user_context
from .config import no_execution as no_execution
from .config import no_tracing as no_tracing
from .config import numpy_dtype_promotion as numpy_dtype_promotion
from .config import numpy_rank_promotion as numpy_rank_promotion
from .config import (
    remove_size_one_mesh_axis_from_type as remove_size_one_mesh_axis_from_type,
)
from .config import softmax_custom_jvp as softmax_custom_jvp
from .config import thread_guard as thread_guard
from .config import threefry_partitionable as threefry_partitionable
from .config import transfer_guard as transfer_guard
from .config import transfer_guard_device_to_device as transfer_guard_device_to_device
from .config import transfer_guard_device_to_host as transfer_guard_device_to_host
from .config import transfer_guard_host_to_device as transfer_guard_host_to_device
from .core import ShapeDtypeStruct as ShapeDtypeStruct
from .core.compile_time import ensure_compile_time_eval as ensure_compile_time_eval
from .core.high_types import typeof as typeof
from .dtypes import float0 as float0
from .engines.xla.pending import wait_for_effects as effects_barrier
from .lax.ground.placing import device_put as device_put
from .lax.reference.ref_functions import empty_ref as empty_ref
from .lax.reference.ref_functions import free_ref as free_ref
from .lax.reference.ref_functions import freeze as freeze
from .lax.reference.ref_functions import new_ref as new_ref
from .lax.reference.ref_indexing import ds as ds
from .lax.reference.references import Ref as Ref
from .runtime.device import Device as Device
from .runtime.devices import default_backend as default_backend
from .runtime.devices import device_count as device_count
from .runtime.devices import devices as devices
from .runtime.devices import host_count as host_count
from .runtime.devices import host_id as host_id
from .runtime.devices import host_ids as host_ids
from .runtime.devices import local_device_count as local_device_count
from .runtime.devices import local_devices as local_devices
from .runtime.devices import process_count as process_count
from .runtime.devices import process_index as process_index
from .runtime.devices import process_indices as process_indices
from .util.memo import clear_all as clear_caches
from .util.on_demand import on_demand as _on_demand

if _TYPE_CHECKING:
    from . import ad as ad
    from . import ad_checkpoint as ad_checkpoint
    from . import api_util as api_util
    from . import custom_batching as custom_batching
    from . import custom_derivatives as custom_derivatives
    from . import debug as debug
    from . import distributed as distributed
    from . import dlpack as dlpack
    from . import experimental as experimental
    from . import export as export
    from . import extend as extend
    from . import ffi as ffi
    from . import flatten_util as flatten_util
    from . import image as image
    from . import interpreters as interpreters
    from . import memory as memory
    from . import nn as nn
    from . import ops as ops
    from . import profiler as profiler
    from . import random as random
    from . import ref as ref
    from . import science as science
    from . import scipy as scipy
    from . import sharding as sharding
    from . import stages as stages
    from . import tools as tools
    from . import tree_util as tree_util
    from . import typing as typing
    from ._environment import print_environment_info as print_environment_info
    from .array.assembly import make_array_from_callback as make_array_from_callback
    from .array.assembly import (
        make_array_from_single_device_arrays as make_array_from_single_device_arrays,
    )
    from .array.process_parts import (
        make_array_from_process_local_data as make_array_from_process_local_data,
    )
    from .control.callbacks.pure_callback import pure_callback as pure_callback
    from .control.checkpoint.checkpoint import checkpoint as checkpoint
    from .control.checkpoint.checkpoint import remat as remat
    from .control.checkpoint.checkpoint_policies import checkpoint_policies as checkpoint_policies
    from .control.custom.closure_convert import closure_convert as closure_convert
    from .control.custom.closure_convert import custom_gradient as custom_gradient
    from .control.custom.custom_jvp import custom_jvp as custom_jvp
    from .control.custom.custom_vjp import custom_vjp as custom_vjp
    from .control.custom.fwd_and_bwd import fwd_and_bwd as fwd_and_bwd
    from .control.jit.jit import jit as jit
    from .control.loops.while_bounds import reverse_while as reverse_while
    from .core.partition_spec import P as P
    from .engines.effort_levels import CompilerEffortLevel as CompilerEffortLevel
    from .export._c_source import export_c as export_c
    from .lax.shape.resharding import reshard as reshard
    from .parallel.members.pmap import pmap as pmap
    from .parallel.members.shard_map import shard_map as shard_map
    from .parallel.members.smap import smap as smap
    from .parallel.meshes import make_mesh as make_mesh
    from .runtime.current_mesh import get_abstract_mesh as get_abstract_mesh
    from .runtime.current_mesh import get_mesh as get_mesh
    from .runtime.current_mesh import set_mesh as set_mesh
    from .runtime.current_mesh import use_abstract_mesh as use_abstract_mesh
    from .runtime.named_sharding import NamedSharding as NamedSharding
    from .transforms.derivatives import jvp as jvp
    from .transforms.derivatives import linear_transpose as linear_transpose
    from .transforms.derivatives import linearize as linearize
    from .transforms.derivatives import vjp as vjp
    from .transforms.gradients import grad as grad
    from .transforms.gradients import value_and_grad as value_and_grad
    from .transforms.jacobians import hessian as hessian
    from .transforms.jacobians import jacfwd as jacfwd
    from .transforms.jacobians import jacobian as jacobian
    from .transforms.jacobians import jacrev as jacrev
    from .transforms.make_jaxpr import eval_shape as eval_shape
    from .transforms.make_jaxpr import make_jaxpr as make_jaxpr
    from .transforms.naming import named_call as named_call
    from .transforms.naming import named_scope as named_scope
    from .transforms.vmap import vmap as vmap

__version__ = "0.10.2"
__version_info__ = (0, 10, 2)

__getattr__, __dir__ = _on_demand(
    __name__,
    (
        "ad",
        "ad_checkpoint",
        "api_util",
        "custom_batching",
        "custom_derivatives",
        "debug",
        "distributed",
        "dlpack",
        "experimental",
        "export",
        "extend",
        "ffi",
        "flatten_util",
        "image",
        "interpreters",
        "memory",
        "nn",
        "ops",
        "profiler",
        "random",
        "ref",
        "science",
        "scipy",
        "sharding",
        "stages",
        "tools",
        "tree_util",
        "typing",
    ),
    {
        "._environment": ("print_environment_info",),
        ".array.assembly": (
            "make_array_from_callback",
            "make_array_from_single_device_arrays",
        ),
        ".array.process_parts": ("make_array_from_process_local_data",),
        ".control.callbacks.pure_callback": ("pure_callback",),
        ".control.checkpoint.checkpoint": ("checkpoint", "remat"),
        ".control.checkpoint.checkpoint_policies": ("checkpoint_policies",),
        ".control.custom.closure_convert": ("closure_convert", "custom_gradient"),
        ".control.custom.custom_jvp": ("custom_jvp",),
        ".control.custom.custom_vjp": ("custom_vjp",),
        ".control.custom.fwd_and_bwd": ("fwd_and_bwd",),
        ".control.jit.jit": ("jit",),
        ".control.loops.while_bounds": ("reverse_while",),
        ".core.partition_spec": ("P",),
        ".engines.effort_levels": ("CompilerEffortLevel",),
        ".export._c_source": ("export_c",),
        ".parallel.members.pmap": ("pmap",),
        ".parallel.members.shard_map": ("shard_map",),
        ".parallel.members.smap": ("smap",),
        ".lax.shape.resharding": ("reshard",),
        ".parallel.meshes": ("make_mesh",),
        ".runtime.current_mesh": (
            "get_abstract_mesh",
            "get_mesh",
            "set_mesh",
            "use_abstract_mesh",
        ),
        ".runtime.named_sharding": ("NamedSharding",),
        ".transforms.derivatives": ("jvp", "linear_transpose", "linearize", "vjp"),
        ".transforms.gradients": ("grad", "value_and_grad"),
        ".transforms.jacobians": ("hessian", "jacfwd", "jacrev", "jacobian"),
        ".transforms.make_jaxpr": ("eval_shape", "make_jaxpr"),
        ".transforms.naming": ("named_call", "named_scope"),
        ".transforms.vmap": ("vmap",),
    },
)
