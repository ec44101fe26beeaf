"""Executables as bytes that another process can load: the program with how to call it.

The bytes are a mark, a digest of the compiler and machine that made them, and a pickled recipe, in
it jaxlib's executable.  The recipe is read only where mark and digest are right.  As all pickled
data it must come from someone who is trusted.
"""

from __future__ import annotations

import pickle
from dataclasses import fields
from typing import Any, Final

from ...core import DebugInfo
from ...runtime.places import Places
from ...runtime.sharding import whole_on
from ...util.messages import message
from .compile_cache.keys import digest_of_target
from .compile_cache.loading import from_bytes
from .compile_options import compile_options
from .executable import Executable
from .lowering import LoweredProgram

_MARK: Final = b"morphax executable 1\n"
# What belongs to this process.
_OF_PROCESS: Final = ("places", "info", "callbacks", "inspections")


def saved(executable: Executable) -> bytes:
    """The bytes of an executable.

    Raises:
        ValueError: if it calls Python or what only this process knows, or runs on several devices.
    """
    program = executable.program
    if program.callbacks or program.is_local or len(program.places.devices) > 1:
        raise ValueError(
            message(
                f"serialization of the program {program.name}",
                given="a program of several devices, or one that calls Python or an address",
                expected="a program on one device, without callbacks and addresses",
                fix="Compile it in each process; the compile cache keeps what it can.",
            )
        )
    (device,) = program.places.devices
    recipe = {f.name: getattr(program, f.name) for f in fields(program)}
    for name in _OF_PROCESS:
        del recipe[name]
    payload = pickle.dumps((recipe, program.info.function, executable.serialized()))
    return _heading(device) + payload


def loaded(data: bytes, device: Any) -> Executable:
    """The executable of some bytes, on a device.

    Raises:
        pickle.UnpicklingError: if they are no executable.
        ValueError: if it was compiled by another version of the compiler, or for another machine.
    """
    heading = _heading(device)
    if not data.startswith(_MARK):
        raise pickle.UnpicklingError(
            message(
                "serialize_executable.deserialize_and_load, argument serialized",
                given=f"{len(data)} bytes that begin with {bytes(data[:12])!r}",
                expected="what serialize_executable.serialize has returned",
                fix="Serialize the compiled function again.",
            )
        )
    if not data.startswith(heading):
        raise ValueError(
            message(
                "serialize_executable.deserialize_and_load, argument serialized",
                given="an executable of another version of jaxlib, or for another kind of machine",
                expected=f"one for {device.client.platform}, {device.device_kind}, of this version",
                fix="Compile and serialize the function on a machine like this one.",
            )
        )
    recipe, function, payload = pickle.loads(data[len(heading) :])
    counts = len(recipe["in_avals"]), len(recipe["out_avals"])
    program = LoweredProgram(
        **recipe,
        places=Places.all_at(whole_on(device), *counts),
        info=DebugInfo("jit", function),
        callbacks=(),
    )
    executable = from_bytes(payload, compile_options(device), device)
    return Executable(program, executable, lambda: payload)


def _heading(device: Any) -> bytes:
    return _MARK + digest_of_target(device).encode()
