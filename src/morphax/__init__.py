"""morphax: composable transformations of array programs.

The public API is that of JAX: ``import morphax as jax`` works.  What users call is re-exported here
from where it is built; see docs/architecture.md.
"""

# First, for its face reaches up to `control` (see its text).
from __future__ import annotations

from . import lax as lax

# isort: split
from . import custom_derivatives as custom_derivatives
from . import debug as debug
from . import dlpack as dlpack
from . import dtypes as dtypes
from . import errors as errors
from . import flatten_util as flatten_util
from . import nn as nn
from . import numpy as numpy
from . import random as random
from . import scipy as scipy
from . import sharding as sharding
from . import stages as stages
from . import tree as tree
from . import tree_util as tree_util
from . import typing as typing
from .array.placement import block_until_ready as block_until_ready
from .array.placement import copy_to_host_async as copy_to_host_async
from .array.placement import device_get as device_get
from .array.public import Array as Array
from .config import config as config
from .config import default_device as default_device
from .config import default_matmul_precision as default_matmul_precision
from .config import default_prng_impl as default_prng_impl
from .config import disable_jit as disable_jit
from .config import enable_x64 as enable_x64
from .config import log_compiles as log_compiles
from .config import numpy_dtype_promotion as numpy_dtype_promotion
from .config import numpy_rank_promotion as numpy_rank_promotion
from .config import threefry_partitionable as threefry_partitionable
from .control.closure_convert import closure_convert as closure_convert
from .control.closure_convert import custom_gradient as custom_gradient
from .control.compile_time import ensure_compile_time_eval as ensure_compile_time_eval
from .control.custom_jvp import custom_jvp as custom_jvp
from .control.custom_vjp import custom_vjp as custom_vjp
from .control.jit import jit as jit
from .core import ShapeDtypeStruct as ShapeDtypeStruct
from .core import aval_of as typeof
from .engines.devices import default_backend as default_backend
from .engines.devices import device_count as device_count
from .engines.devices import devices as devices
from .engines.devices import local_device_count as local_device_count
from .engines.devices import local_devices as local_devices
from .engines.devices import process_count as process_count
from .engines.devices import process_index as process_index
from .engines.devices import process_indices as process_indices
from .engines.xla.device import Device as Device
from .lax.placing import device_put as device_put
from .transforms.derivatives import jvp as jvp
from .transforms.derivatives import linear_transpose as linear_transpose
from .transforms.derivatives import linearize as linearize
from .transforms.derivatives import vjp as vjp
from .transforms.gradients import grad as grad
from .transforms.gradients import hessian as hessian
from .transforms.gradients import jacfwd as jacfwd
from .transforms.gradients import jacrev as jacrev
from .transforms.gradients import value_and_grad as value_and_grad
from .transforms.make_jaxpr import eval_shape as eval_shape
from .transforms.make_jaxpr import make_jaxpr as make_jaxpr
from .transforms.naming import named_call as named_call
from .transforms.naming import named_scope as named_scope
from .transforms.vmap import vmap as vmap
from .util.memo import clear_all as clear_caches

jacobian = jacrev

__version__ = "0.10.2"
__version_info__ = (0, 10, 2)
