"""`jax.ffi`: functions that other languages compute."""

from __future__ import annotations

from .control.foreign.ffi_call import ffi_call as ffi_call
from .control.foreign.from_c import ForeignFunction as ForeignFunction
from .control.foreign.from_c import from_c as from_c
from .interpreters.ffi_lowering import build_ffi_lowering_function as build_ffi_lowering_function
from .interpreters.ffi_lowering import ffi_lowering as ffi_lowering
from .runtime.foreign_targets import include_dir as include_dir
from .runtime.foreign_targets import pycapsule as pycapsule
from .runtime.foreign_targets import register_ffi_target as register_ffi_target
from .runtime.foreign_targets import (
    register_ffi_target_as_batch_partitionable as register_ffi_target_as_batch_partitionable,
)
from .runtime.foreign_targets import register_ffi_type as register_ffi_type
from .runtime.foreign_targets import register_ffi_type_id as register_ffi_type_id
