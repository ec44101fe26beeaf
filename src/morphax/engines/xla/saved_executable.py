"""Executables as bytes that another process can load: the program with how to call it.

The bytes are a mark, a digest of the compiler and machine that made them, a digest of what follows,
and a pickled recipe with jaxlib's executable in it.  The recipe is read only where mark and digests
are right, and may name nothing but avals, dtypes and arrays: reading it calls no other code.  The
executable is machine code and runs when the program is called, so the bytes must come from someone
who is trusted; the digests find damage, not forgery.
"""

from __future__ import annotations

import io
import pickle
from collections.abc import Sequence
from dataclasses import fields
from typing import Any, Final, final

import ml_dtypes

from ...core import DebugInfo, Layout
from ...runtime.places import Places
from ...runtime.sharding import Sharding, whole_on
from ...util.messages import message
from .compile_cache.keys import digest_of_target
from .compile_cache.loading import from_bytes
from .compile_options import compile_options
from .executable import Executable
from .lowering import LoweredProgram
from .portable import load_libraries

_MARK: Final = b"morphax executable 3\n"
_DIGEST_BYTES: Final = 32
# What a recipe is made of, besides Python's own containers, numbers and texts.
_NAMED: Final = frozenset(
    {
        ("morphax.array.array", "_rebuild"),
        ("morphax.core.aval", "_rebuild"),
        ("morphax.dtypes.extended", "KeyType"),
        ("morphax.engines.xla.lowering", "Forwarded"),
        ("numpy", "dtype"),
        ("numpy", "ndarray"),
        ("numpy._core.multiarray", "_reconstruct"),
        ("numpy._core.multiarray", "scalar"),
        ("numpy._core.numeric", "_frombuffer"),
        *[("ml_dtypes", name) for name in ml_dtypes.__all__ if name not in ("finfo", "iinfo")],
    }
)
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
    places = executable.places
    orders = _texts(program.in_avals, places.operands), _texts(program.out_avals, places.results)
    payload = pickle.dumps((recipe, orders, program.info.function, executable.serialized()))
    try:
        _read(payload)
    except pickle.UnpicklingError as error:
        raise ValueError(
            message(
                f"serialization of the program {program.name}",
                given=f"a program with more than arrays: {error}",
                expected="avals and constants of plain dtypes, on one device",
                fix="Compile it in each process; the compile cache keeps what it can.",
            )
        ) from None
    return _heading(device) + _digest(payload) + payload


def loaded(data: bytes, device: Any) -> Executable:
    """The executable of some bytes, on a device.

    Raises:
        pickle.UnpicklingError: if they are no executable.
        ValueError: if it was compiled by another version of the compiler, or for another machine.
    """
    heading = _heading(device)
    if not data.startswith(_MARK):
        raise _damaged(f"{len(data)} bytes that begin with {bytes(data[:12])!r}")
    if not data.startswith(heading):
        raise ValueError(
            message(
                "serialize_executable.deserialize_and_load, argument serialized",
                given="an executable of another version of jaxlib, or for another kind of machine",
                expected=f"one for {device.client.platform}, {device.device_kind}, of this version",
                fix="Compile and serialize the function on a machine like this one.",
            )
        )
    body = data[len(heading) :]
    if _digest(body[_DIGEST_BYTES:]) != body[:_DIGEST_BYTES]:
        raise _damaged(f"{len(data)} bytes that are not as they were written")
    recipe, orders, function, payload = _read(body[_DIGEST_BYTES:])
    places = Places.all_at(whole_on(device), *map(len, orders))
    program = LoweredProgram(
        **recipe,
        places=places.in_order(*[[t and Layout.from_xla(t) for t in texts] for texts in orders]),
        info=DebugInfo("jit", function),
        callbacks=(),
    )
    load_libraries(program.text.encode())
    executable = from_bytes(payload, compile_options(device), device)
    return Executable(program, executable, lambda: payload)


def _texts(avals: Sequence[Any], places: Sequence[Sharding | None]) -> list[str | None]:
    """How elements lie in memory, in XLA's notation; `None` where they lie row by row."""
    orders = [None if place is None else place.element_order for place in places]
    each = zip(avals, orders, strict=True)
    return [None if order is None else order.to_xla(aval.ndim) for aval, order in each]


@final
class _Reader(pickle.Unpickler):
    """Reads pickled data that names what recipes are made of, and nothing else."""

    def find_class(self, module_name: str, global_name: str) -> Any:
        if (module_name, global_name) in _NAMED:
            return super().find_class(module_name, global_name)
        raise _damaged(f"a recipe that names {module_name}.{global_name}")


def _read(payload: bytes) -> Any:
    return _Reader(io.BytesIO(payload)).load()


def _digest(payload: bytes) -> bytes:
    from hashlib import sha256

    return sha256(payload).digest()


def _damaged(given: str) -> pickle.UnpicklingError:
    return pickle.UnpicklingError(
        message(
            "serialize_executable.deserialize_and_load, argument serialized",
            given=given,
            expected="what serialize_executable.serialize has returned",
            fix="Serialize the compiled function again.",
        )
    )


def _heading(device: Any) -> bytes:
    return _MARK + digest_of_target(device).encode()
