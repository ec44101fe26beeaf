"""Prototypes of C functions: what they take and give, read from text or from `ctypes`.

A prototype is what nothing at run time can check: a function that is called with another one reads
wrong memory.  So types are those of a short list, whose sizes C and NumPy agree about, and where
the source is known the compiler compares.
"""

from __future__ import annotations

import ctypes
import re
from collections.abc import Sequence
from typing import Any, Final, final

import numpy as np

from ...util.messages import message
from ...util.records import dataclass

_C_TYPES: Final = {
    "bool": "bool",
    "_Bool": "bool",
    "float": "float32",
    "double": "float64",
    "float complex": "complex64",
    "float _Complex": "complex64",
    "double complex": "complex128",
    "double _Complex": "complex128",
    "signed char": "int8",
    "unsigned char": "uint8",
    "short": "int16",
    "unsigned short": "uint16",
    "int": "int32",
    "unsigned": "uint32",
    "unsigned int": "uint32",
    "long": f"int{8 * ctypes.sizeof(ctypes.c_long)}",
    "unsigned long": f"uint{8 * ctypes.sizeof(ctypes.c_long)}",
    "long long": "int64",
    "unsigned long long": "uint64",
    "size_t": f"uint{8 * ctypes.sizeof(ctypes.c_size_t)}",
    "ptrdiff_t": f"int{8 * ctypes.sizeof(ctypes.c_ssize_t)}",
    **{f"int{bits}_t": f"int{bits}" for bits in (8, 16, 32, 64)},
    **{f"uint{bits}_t": f"uint{bits}" for bits in (8, 16, 32, 64)},
}
# For texts made from ctypes: one name for each dtype.
_NAMES: Final = {dtype: name for name, dtype in reversed(_C_TYPES.items())}

# A result of a function of numbers is one more array; native code has room for 32.
_MOST_PARAMETERS: Final = 31

_FUNCTION: Final = re.compile(r"\s*([\w\s]*?[\s*]*)\b(\w+)\s*\(([^()]*)\)\s*;?\s*")
_QUALIFIERS: Final = re.compile(r"\b(?:const|restrict|__restrict|__restrict__|register|extern)\b")
# A definition at the outermost level of a source without comments and strings.
_DEFINITION: Final = re.compile(r"([\w\s*]+?\b\w+\s*\([^()]*\))\s*\{")
_NO_CODE: Final = re.compile(
    r"/\*.*?\*/|//[^\n]*|\"(?:\\.|[^\"\\])*\"|'(?:\\.|[^'\\])*'|^[ \t]*#(?:\\\n|[^\n])*",
    re.DOTALL | re.MULTILINE,
)


@final
@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter, or the result (without a name): its C type, and whether it is a pointer."""

    c_type: str
    name: str
    is_pointer: bool = False
    is_const: bool = False

    @property
    def dtype(self) -> np.dtype[Any]:
        """Of the values, or of those that it points to."""
        return np.dtype(_C_TYPES[self.c_type])

    def __str__(self) -> str:
        const = "const " if self.is_const else ""
        star = "*" if self.is_pointer else ""
        return f"{const}{self.c_type}{star} {self.name}".rstrip()


@final
@dataclass(frozen=True, slots=True)
class Prototype:
    """The name of a function, its parameters, and its result (`None` for ``void``)."""

    name: str
    parameters: tuple[Parameter, ...]
    result: Parameter | None

    @property
    def is_elementwise(self) -> bool:
        """Whether it takes and gives numbers, not arrays."""
        return not any([p.is_pointer for p in self.parameters])

    def same_types(self, other: Prototype) -> bool:
        """Whether parameters and results have the same types."""

        def types(prototype: Prototype) -> list[Any]:
            every = [*prototype.parameters, prototype.result]
            return [p and (p.dtype, p.is_pointer) for p in every]

        return types(self) == types(other)

    def pointer_type(self) -> str:
        """The C type of pointers to such functions."""
        return f"{self._result()}(*)({self._taken()})"

    def __str__(self) -> str:
        return f"{self._result()} {self.name}({self._taken()})"

    def _result(self) -> str:
        return "void" if self.result is None else str(self.result)

    def _taken(self) -> str:
        return ", ".join([str(p) for p in self.parameters])


def read_prototype(where: str, text: str) -> Prototype:
    """The prototype that a text such as ``"double f(double x, double y)"`` says.

    Raises:
        ValueError: it is none, or has a type that is not supported.
    """
    found = _FUNCTION.fullmatch(text)
    if found is None or not found[1].strip():
        raise _refused(where, repr(text), "type name(type name, …)")
    result = None if found[1].strip() == "void" else _parameter(where, text, found[1], named=False)
    taken = [part for part in found[3].split(",") if part.strip() not in ("", "void")]
    if not taken:
        raise _refused(where, f"{text!r}, which takes nothing", "a function of numbers or arrays")
    parameters = tuple([_parameter(where, text, part, named=True) for part in taken])
    names = [p.name for p in parameters if p.name]
    if len(set(names)) < len(names):
        raise _refused(where, repr(text), "parameters of different names")
    return _checked(where, Prototype(found[2], parameters, result))


def prototypes_in(source: str) -> list[str]:
    """The texts of the prototypes of all functions of a C source that others can call."""
    code = _NO_CODE.sub(" ", source)
    found, depth, outer = [], 0, []
    for part in re.split(r"([{}])", code):
        if part == "{":
            if depth == 0:
                outer.append("{")
            depth += 1
        elif part == "}":
            depth -= 1
            if depth == 0:
                outer.append(";")
        elif depth == 0:
            outer.append(part)
    for definition in _DEFINITION.finditer("".join(outer)):
        text = " ".join(definition[1].split())
        if not re.search(r"\bstatic\b", text):
            found.append(re.sub(r"\b(?:inline|extern)\b", "", text).strip())
    return found


def of_ctypes(where: str, function: Any, name: str) -> Prototype | None:
    """The prototype that `ctypes` knows of a function; `None` if `argtypes` are not set.

    Raises:
        ValueError: a type is not supported.
    """
    taken = getattr(function, "argtypes", None)
    if taken is None:
        return None
    parameters = tuple([_of_ctype(where, t, f"x{i}") for i, t in enumerate(taken)])
    restype = function.restype
    result = None if restype is None else _of_ctype(where, restype, "")
    return _checked(where, Prototype(name, parameters, result))


def _of_ctype(where: str, ctype: Any, name: str) -> Parameter:
    target = getattr(ctype, "_type_", None)
    is_pointer = isinstance(target, type)
    try:
        dtype = np.dtype(target if is_pointer else ctype).name
        return Parameter(_NAMES[dtype], name, is_pointer)
    except (TypeError, KeyError):
        raise _refused(where, f"the ctypes type {ctype!r}", _supported()) from None


def _parameter(where: str, text: str, part: str, *, named: bool) -> Parameter:
    words = _QUALIFIERS.sub(" ", part).replace("*", " * ").split()
    stars = words.count("*")
    words = [word for word in words if word != "*"]
    name = ""
    if named and " ".join(words) not in _C_TYPES and len(words) > 1:
        name = words.pop()
    c_type = " ".join(words)
    if c_type not in _C_TYPES or stars > int(named):
        given = f"{part.strip()!r} in {text!r}"
        raise _refused(where, given, _supported() + (", or one pointer to them" if named else ""))
    return Parameter(c_type, name, bool(stars), "const" in part.split("*")[0].split())


def _supported() -> str:
    return f"one of {', '.join(_C_TYPES)}"


def _checked(where: str, prototype: Prototype) -> Prototype:
    """The prototype, if its result is one that callers have a use for."""
    result, count = prototype.result, len(prototype.parameters)
    if count > _MOST_PARAMETERS:
        raise _refused(where, f"{count} parameters", f"at most {_MOST_PARAMETERS}")
    if prototype.is_elementwise and result is None:
        raise _refused(where, f"{str(prototype)!r}", "a function that returns a number")
    if not prototype.is_elementwise and result is not None and result.dtype != np.int32:
        expected = "a function of arrays that returns void, or int: 0, or the code of an error"
        raise _refused(where, f"{str(prototype)!r}", expected)
    return prototype


def _refused(where: str, given: str, expected: str) -> ValueError:
    return ValueError(
        message(
            f"{where}, argument prototype",
            given=given,
            expected=expected,
            fix="Write, for example, 'double f(double x, double y)', or "
            "'void f(const float* x, int64_t n, float* out)'.",
        )
    )


def described(parameters: Sequence[Parameter]) -> str:
    """Parameters in words, for error text."""
    return ", ".join([str(p) for p in parameters]) or "none"
