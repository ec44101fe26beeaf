"""From C source or a function pointer to loops over arrays."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from ...runtime.foreign_targets import address_of
from ...util.messages import described, message
from .c_compiler import find_compiler, load_library
from .loop_source import SYMBOL, LoopKind, Roles, library_source
from .loops import Code, Loop
from .prototypes import Prototype, of_ctypes, prototypes_in, read_prototype
from .prototypes import described as parameters_text
from .shapes import Shapes, read_shapes

_NARROW: Final = {
    "float64": np.dtype("float32"),
    "complex128": np.dtype("complex64"),
    "int64": np.dtype("int32"),
    "uint64": np.dtype("uint32"),
}

_made: Final[dict[str | None, Loop]] = {}


def c_loops(
    where: str,
    function: Any,
    prototype: str | None,
    shapes: str | None,
    flags: Sequence[str],
    compiler: str | None,
) -> tuple[str, Sequence[Loop], str]:
    """Name, loops and description of a C function: see `from_c`."""
    source = function if isinstance(function, str) else None
    pointer = 0 if source is not None else _address(where, function)
    declared = _prototype(where, function, source, prototype)
    cores, roles = _roles(where, declared, shapes)
    kinds = _kinds(declared, roles)
    text = library_source(source, declared, roles, cores.names, kinds)
    library, key = load_library(where, text, flags, find_compiler(where, compiler))
    loops = []
    for kind in kinds:
        # Equal sources are one function, and programs that call it are equal.
        digest = None if source is None else _digest(key, kind.symbol)
        known = _made.get(digest)
        if known is None:
            address = ctypes.cast(getattr(library, kind.symbol), ctypes.c_void_p).value or 0
            code = Code(address, pointer, True, (library, function), digest)
            known = Loop(declared.name, *_dtypes(declared, roles, kind), cores, code)
        if digest is not None:
            _made[digest] = known
        loops.append(known)
    return declared.name, loops, str(declared)


def _digest(key: str, symbol: str) -> str:
    # Loads OpenSSL, which takes 3 ms.
    from hashlib import sha256

    return sha256(f"{key} {symbol}".encode()).hexdigest()


def _address(where: str, function: Any) -> int:
    """The address of a function pointer; of Numba's, which have the attribute `address`."""
    return address_of(f"{where}, argument function", getattr(function, "address", function))


def _prototype(where: str, function: Any, source: str | None, text: str | None) -> Prototype:
    """The prototype as given, as the source has it, or as ctypes knows it."""
    given = None if text is None else read_prototype(where, text)
    if source is not None:
        return given or _only_one(where, source)
    known = of_ctypes(where, getattr(function, "ctypes", function), "function")
    if given is None and known is None:
        raise ValueError(
            message(
                f"{where}, argument prototype",
                given=f"none, for {described(function)}, whose types are not known",
                expected="the prototype of the function",
                fix="Pass it, such as 'double f(double)', or set argtypes and restype.",
            )
        )
    if given is not None and known is not None and not given.same_types(known):
        raise ValueError(
            message(
                f"{where}, argument prototype",
                given=f"'{given}'",
                expected=f"'{known}', which ctypes knows",
                fix="Correct the prototype, or argtypes and restype of the function.",
            )
        )
    chosen = given or known
    assert chosen is not None, "one of them is there"
    return chosen


def _only_one(where: str, source: str) -> Prototype:
    found = prototypes_in(source)
    if len(found) != 1:
        raise ValueError(
            message(
                f"{where}, argument prototype",
                given=f"none, for a source with the functions {found}",
                expected="which function is meant",
                fix="Pass its prototype, or make the others static.",
            )
        )
    return read_prototype(where, found[0])


def _roles(where: str, prototype: Prototype, shapes: str | None) -> tuple[Shapes, Roles]:
    """What each parameter is for, and the shapes of operands and results."""
    parameters = prototype.parameters
    if prototype.is_elementwise:
        count = len(parameters)
        if shapes is not None:
            raise ValueError(_shapes_refused(where, prototype, shapes))
        return Shapes(((),) * count, ((),)), Roles(tuple(range(count)), (), {})
    if shapes is None:
        raise ValueError(_shapes_missing(where, prototype))
    cores = read_shapes(where, shapes)
    sizes = {
        i: p.name
        for i, p in enumerate(parameters)
        if not p.is_pointer and p.dtype.kind in "iu" and p.name in cores.names
    }
    pointers = [i for i, p in enumerate(parameters) if p.is_pointer]
    if any([p.is_const for p in parameters]):
        results = [i for i in pointers if not parameters[i].is_const]
    else:
        results = pointers[len(pointers) - len(cores.results) :]
    operands = [i for i in range(len(parameters)) if i not in results and i not in sizes]
    by_value = [not parameters[i].is_pointer for i in operands]
    fits = len(operands) == len(cores.operands) and len(results) == len(cores.results)
    if not fits or any([v and c for v, c in zip(by_value, cores.operands, strict=False)]):
        raise ValueError(_roles_refused(where, prototype, cores, operands, results))
    return cores, Roles(tuple(operands), tuple(results), sizes)


def _kinds(prototype: Prototype, roles: Roles) -> list[LoopKind]:
    """The loops to write: for all dtypes as they are, and for arrays without 64-bit numbers."""
    parameters, result = prototype.parameters, prototype.result
    values = {i: parameters[i].dtype for i in roles.operands if not parameters[i].is_pointer}
    returned = result.dtype if result is not None and prototype.is_elementwise else None
    kinds = [LoopKind(SYMBOL, values, returned)]
    pointed = [p.dtype for i, p in enumerate(parameters) if p.is_pointer]
    narrow = {i: _NARROW.get(d.name, d) for i, d in values.items()}
    # An integer of 64 bits would lose its upper half without a word.
    loses = returned is not None and returned.kind in "iu" and returned.name in _NARROW
    if loses or any([d.name in _NARROW for d in pointed]):
        return kinds
    held = None if returned is None else _NARROW.get(returned.name, returned)
    if (narrow, held) != (values, returned):
        kinds.append(LoopKind(f"{SYMBOL}_narrow", narrow, held))
    return kinds


def _dtypes(
    prototype: Prototype, roles: Roles, kind: LoopKind
) -> tuple[tuple[np.dtype[Any], ...], tuple[np.dtype[Any], ...]]:
    """The dtypes of operands and results of a loop."""
    parameters = prototype.parameters
    taken = [kind.held.get(i, parameters[i].dtype) for i in roles.operands]
    given = [parameters[i].dtype for i in roles.results]
    return tuple(taken), tuple(given if kind.result is None else [kind.result])


def _shapes_refused(where: str, prototype: Prototype, shapes: str) -> str:
    return message(
        f"{where}, argument shapes",
        given=f"{shapes!r} for '{prototype}', which takes no pointers",
        expected="none: a function of numbers is applied element by element",
        fix="Leave it out.",
    )


def _shapes_missing(where: str, prototype: Prototype) -> str:
    return message(
        f"{where}, argument shapes",
        given=f"none, for '{prototype}', which takes pointers",
        expected="the shapes of the arrays that they point to",
        fix="Pass, for example, shapes='(n) -> (n)'; integers named n are given the size.",
    )


def _roles_refused(
    where: str, prototype: Prototype, shapes: Shapes, operands: list[int], results: list[int]
) -> str:
    def named(which: list[int]) -> str:
        return parameters_text([prototype.parameters[i] for i in which])

    return message(
        f"{where}, arguments prototype and shapes",
        given=f"operands {named(operands)}; results {named(results)}; shapes {shapes}",
        expected="a shape for each operand and result, () for numbers passed by value",
        fix="Pointers to const are operands, others results; name sizes as in shapes.",
    )
