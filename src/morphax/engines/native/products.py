"""Products of large matrices: the BLAS that SciPy ships.

Its functions are Fortran's: arguments are passed by address, and matrices lie column by column.  So
C = A B is asked for as Cᵀ = Bᵀ Aᵀ.

Reference: Dongarra, Du Croz, Hammarling & Duff, "A set of level 3 basic linear algebra
subprograms", ACM Transactions on Mathematical Software 16 (1990).
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from functools import cache

from ...util.scipy_libraries import linear_algebra
from ..loops.program import DType, Product
from .llvm_scalars import product_name, scalar_type

_PREFIX = "blas_"


def definition(dtype: DType) -> list[str]:
    """Lines of the function that programs call with matrices, sizes, distances and forms."""
    type_ = scalar_type(dtype)
    numbers = ("m", "n", "k", "step_c", "step_a", "step_b")
    forms = ("form_a", "form_b")
    taken = [*[f"ptr %{x}" for x in "cab"], *[f"i32 %{x}" for x in numbers]]
    lines = [
        f"declare void @{_name(dtype)}({', '.join(['ptr'] * 13)})",
        f"define internal void {product_name(dtype)}("
        f"{', '.join([*taken, *[f'i8 %{x}' for x in forms]])}) #1 {{",
    ]
    for name, of in [*[(x, "i32") for x in numbers], *[(x, "i8") for x in forms]]:
        lines += [f"  %{name}.at = alloca {of}", f"  store {of} %{name}, ptr %{name}.at"]
    for name, value in (("one", "1.0"), ("zero", "0.0")):
        lines += [f"  %{name} = alloca {type_}", f"  store {type_} {value}, ptr %{name}"]
    order = ("form_b", "form_a", "n", "m", "k")
    given = [f"%{x}.at" for x in order]
    given += ["%one", "%b", "%step_b.at", "%a", "%step_a.at", "%zero", "%c", "%step_c.at"]
    arguments = ", ".join([f"ptr {x}" for x in given])
    return [*lines, f"  call void @{_name(dtype)}({arguments})", "  ret void", "}"]


def call_of_product(statement: Product, pointers: Sequence[str]) -> str:
    """The call of that function; a matrix is told by how far its rows or columns are apart."""
    matrices = (statement.target, statement.left, statement.right)
    sizes = [f"i32 {size}" for size in statement.sizes]
    steps = [f"i32 {max(x.rows, x.columns)}" for x in matrices]
    # An "N" or a "T": whether rows lie without gaps.
    forms = [f"i8 {ord('N' if x.columns == 1 else 'T')}" for x in matrices[1:]]
    given = ", ".join([*[f"ptr {x}" for x in pointers], *sizes, *steps, *forms])
    return f"call void {product_name(statement.target.buffer.dtype)}({given})"


def _name(dtype: DType) -> str:
    return _PREFIX + ("sgemm" if dtype.itemsize == 4 else "dgemm")


BLAS_NAMES = (f"{_PREFIX}sgemm", f"{_PREFIX}dgemm")
"""What modules call the functions of the BLAS."""


@cache
def address_in_blas(name: str) -> int | None:
    """Where the function of that name in modules is; `None` if it is none of these."""
    if not name.startswith(_PREFIX):
        return None
    capsule = linear_algebra("cython_blas").__pyx_capi__[name.removeprefix(_PREFIX)]
    interface = ctypes.pythonapi
    name_of, pointer_of = interface.PyCapsule_GetName, interface.PyCapsule_GetPointer
    name_of.restype, name_of.argtypes = ctypes.c_char_p, [ctypes.py_object]
    pointer_of.restype, pointer_of.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    address: int = pointer_of(capsule, name_of(capsule))
    return address
