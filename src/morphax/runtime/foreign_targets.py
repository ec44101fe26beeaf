"""Functions and types of other languages that XLA knows by name (its foreign function interface).

A *target* is a native function that compiled programs call by name.  Names are those of the whole
process; a name cannot be given to another function, for compiled programs hold it.

References: XLA, "Foreign function interface", https://openxla.org/xla/custom_call.
"""

from __future__ import annotations

import ctypes
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from ..util.messages import described, message
from .client import extension, jaxlib_module, xla_client
from .failures import raise_failure, reported_by_xla

TYPED_API: Final = 1
"""The version of the interface of handlers that are typed; version 0 passes plain pointers."""

_CAPSULE: Final = "PyCapsule"
# The base of all functions of ctypes, which it does not name.
_Function: Final[Any] = type(ctypes.pythonapi.PyCapsule_New).__mro__[1]


def include_dir() -> str:
    """The directory of the C and C++ headers that come with jaxlib.

    Example:
        >>> import os
        >>> import morphax as jax
        >>> os.path.exists(os.path.join(jax.ffi.include_dir(), "xla", "ffi", "api", "ffi.h"))
        True
    """
    return str(Path(jaxlib_module("version").__file__).parent / "include")


def pycapsule(funcptr: Any) -> Any:
    """A function of a shared library as the capsule that `register_ffi_target` takes.

    Args:
        funcptr: a function of a library that `ctypes` has loaded, or an address.

    Raises:
        TypeError: it is none of these.
        ValueError: it is a null pointer.

    Example:
        >>> import ctypes
        >>> import morphax as jax
        >>> type(jax.ffi.pycapsule(ctypes.pythonapi.Py_IncRef)).__name__
        'PyCapsule'
    """
    address = address_of("ffi.pycapsule, argument funcptr", funcptr)
    new = ctypes.pythonapi.PyCapsule_New
    new.restype = ctypes.py_object
    new.argtypes = (ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p)
    # Without a name: XLA asks for none.
    return new(address, None, None)


def address_of(where: str, function: Any) -> int:
    """The address of a native function: of ctypes, or a number.

    Raises:
        TypeError: it is neither.
        ValueError: it is null.
    """
    address: int | None = -1
    if isinstance(function, int) and not isinstance(function, bool):
        address = function
    elif function is None or isinstance(function, _Function | ctypes.c_void_p):
        pointer: Any = function
        address = ctypes.cast(pointer, ctypes.c_void_p).value
    if address == -1:
        raise TypeError(
            message(
                where,
                given=described(function),
                expected="a function of a library loaded with ctypes, or its address",
                fix="Write ctypes.CDLL(path).name_of_the_function.",
            )
        )
    if not address or address < 0:
        raise ValueError(
            message(
                where,
                given=f"{described(function)}, whose address is {address}",
                expected="the address of a function",
                fix="Load the library, and take the function from it, before.",
            )
        )
    return address


def register_ffi_target(
    name: str, fn: Any, platform: str = "cpu", api_version: int = TYPED_API, **kwargs: Any
) -> None:
    """Make a native function known to XLA under a name, for `ffi_call`.

    Before the first use of a platform, XLA is told when that begins, and refuses then.

    Args:
        name: unique in the process.
        fn: the handler, as a capsule (`pycapsule`); or a dict of handlers by the stage they serve,
            of which ``"execute"`` must be there.
        platform: where it can run, such as ``"cpu"`` or ``"CUDA"``.
        api_version: 1 for typed handlers, 0 for functions of plain pointers.
        **kwargs: passed on to jaxlib: ``traits``.

    Raises:
        TypeError: `name` is no text, or `fn` neither capsule nor dict of capsules.
        JaxRuntimeError: XLA refuses the handler: another one has the name, it was built with newer
            headers than this jaxlib has, or there is no such version.

    Example:
        >>> import ctypes
        >>> import morphax as jax
        >>> library = ctypes.CDLL("./library.so")  # doctest: +SKIP
        >>> jax.ffi.register_ffi_target("f", jax.ffi.pycapsule(library.f))  # doctest: +SKIP
    """
    where = "ffi.register_ffi_target"
    _check_name(where, name)
    handlers = list(fn.values()) if isinstance(fn, Mapping) else [fn]
    for handler in handlers:
        if type(handler).__name__ != _CAPSULE:
            raise TypeError(
                message(
                    f"{where}, argument fn",
                    given=described(handler),
                    expected="a capsule, or a dict of capsules by stage",
                    fix="Wrap the function: jax.ffi.pycapsule(library.function).",
                )
            )
    extension()
    try:
        xla_client().register_custom_call_target(name, fn, platform, api_version, **kwargs)
    except reported_by_xla() as error:
        raise_failure(error, f"{where} of {name!r}")


def register_ffi_target_as_batch_partitionable(name: str) -> None:
    """Say that a target can be run on parts of a batch: on shards along leading axes.

    Without it, programs on several devices gather its operands and run it on whole arrays on each.

    Args:
        name: of the target.

    Raises:
        TypeError: `name` is no text.
    """
    _check_name("ffi.register_ffi_target_as_batch_partitionable", name)
    extension()
    xla_client().register_custom_call_as_batch_partitionable(name)


def register_ffi_type(
    name: str, type_registration: Mapping[str, Any], platform: str = "cpu"
) -> None:
    """Make a C++ type known to XLA, which handlers keep as their state or take as an attribute.

    Args:
        name: unique in the process.
        type_registration: ``"type_id"``, a capsule of a pointer to the ``XLA_FFI_TypeId`` of the
            type, and ``"type_info"``, one to its ``XLA_FFI_TypeInfo``, if there is one.
        platform: where the handlers run.

    Raises:
        TypeError: `name` is no text, or `type_registration` no dict.
        JaxRuntimeError: XLA refuses the type.
    """
    where = "ffi.register_ffi_type"
    _check_name(where, name)
    if not isinstance(type_registration, Mapping):
        raise TypeError(
            message(
                f"{where}, argument type_registration",
                given=described(type_registration),
                expected='a dict with the capsules "type_id" and, if there is one, "type_info"',
                fix="Write {'type_id': capsule}, with a capsule that the library makes.",
            )
        )
    extension()
    try:
        xla_client().register_custom_type(name, type_registration, platform)
    except reported_by_xla() as error:
        raise_failure(error, f"{where} of {name!r}")


def register_ffi_type_id(name: str, obj: Any, platform: str = "cpu") -> None:
    """What older versions of jaxlib had in the place of `register_ffi_type`.

    Raises:
        ValueError: always; so does JAX on the versions of jaxlib that are supported.
    """
    raise ValueError(
        message(
            f"ffi.register_ffi_type_id of {name!r} for {platform}",
            given=described(obj),
            expected="register_ffi_type, which has replaced it",
            fix=f"Write jax.ffi.register_ffi_type({name!r}, {{'type_id': obj}}).",
        )
    )


def _check_name(where: str, name: object) -> None:
    if not isinstance(name, str):
        raise TypeError(
            message(
                f"{where}, argument name",
                given=described(name),
                expected="a text",
                fix="Pass the name that ffi_call will use.",
            )
        )
