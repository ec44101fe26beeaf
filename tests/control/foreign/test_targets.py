"""Registration of functions and types of other languages."""

from __future__ import annotations

import ctypes
import os
from typing import Any

import numpy as np
import pytest

import morphax as jax
from morphax import ffi
from morphax.errors import JaxRuntimeError
from tests.control.foreign.library import handlers


def test_headers_are_there() -> None:
    assert os.path.exists(os.path.join(ffi.include_dir(), "xla", "ffi", "api", "c_api.h"))


def test_capsules() -> None:
    function = handlers().scale
    address = ctypes.cast(function, ctypes.c_void_p).value
    pointer = ctypes.pythonapi.PyCapsule_GetPointer
    pointer.restype, pointer.argtypes = ctypes.c_void_p, (ctypes.py_object, ctypes.c_char_p)
    for given in (function, address, ctypes.c_void_p(address)):
        assert pointer(ffi.pycapsule(given), None) == address


@pytest.mark.parametrize(
    ("given", "error"),
    [
        *[(x, TypeError) for x in ("f", 1.5, True, print)],
        *[(x, ValueError) for x in (None, 0, -3, ctypes.c_void_p())],
    ],
)
def test_what_is_no_function(given: Any, error: type[Exception]) -> None:
    with pytest.raises(error, match=r"ffi\.pycapsule, argument funcptr"):
        ffi.pycapsule(given)


def test_names_belong_to_one_function() -> None:
    library = handlers()
    ffi.register_ffi_target("test_scale", ffi.pycapsule(library.scale))
    with pytest.raises(JaxRuntimeError, match="Duplicate FFI handler"):
        ffi.register_ffi_target("test_scale", ffi.pycapsule(library.combine))


def test_state_and_stages() -> None:
    library = handlers()
    for name in ("state_type_id", "state_type_info"):
        getattr(library, name).restype = ctypes.c_void_p
    ids = {"type_id": library.state_type_id(), "type_info": library.state_type_info()}
    ffi.register_ffi_type("test_state", {k: ffi.pycapsule(v) for k, v in ids.items()})
    stages = {"instantiate": library.make_state, "execute": library.count_calls}
    ffi.register_ffi_target("test_count", {k: ffi.pycapsule(f) for k, f in stages.items()})
    call = ffi.ffi_call("test_count", jax.ShapeDtypeStruct((1,), np.float32), has_side_effect=True)
    program = jax.jit(call)
    assert [float(program()[0]) for _ in range(3)] == [1, 2, 3]


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda c: ffi.register_ffi_target(3, c), TypeError, "argument name"),
        (lambda c: ffi.register_ffi_target("g", handlers().scale), TypeError, "pycapsule"),
        (lambda c: ffi.register_ffi_target("g", None), TypeError, "argument fn"),
        (lambda c: ffi.register_ffi_target("g", {"execute": 3}), TypeError, "argument fn"),
        (lambda c: ffi.register_ffi_target("g", {"other": c}), JaxRuntimeError, "execute"),
        (lambda c: ffi.register_ffi_target("g", c, api_version=7), JaxRuntimeError, "7"),
        (lambda c: ffi.register_ffi_target_as_batch_partitionable(3), TypeError, "name"),
        (lambda c: ffi.register_ffi_type("t", c), TypeError, "type_registration"),
        (lambda c: ffi.register_ffi_type("t", {}), JaxRuntimeError, "type_id"),
        (lambda c: ffi.register_ffi_type_id("t", c), ValueError, "register_ffi_type"),
    ],
)
def test_what_is_refused(call: Any, error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text):
        call(ffi.pycapsule(handlers().scale))


def test_partitionable_targets() -> None:
    handlers()
    ffi.register_ffi_target_as_batch_partitionable("test_scale")
