"""The types of array elements: what they are called, how they combine, which are numbers.

The public module is ``jax.dtypes``.  The rest of the package uses the functions below it:

- `dtype`, `canonicalize`, `requested`: from a dtype-like value to the dtype;
- `promote`, `result_type`, `entry`: the promotion lattice on (dtype, weak) pairs;
- `to_inexact`: the float in which functions of real numbers take integers;
- `issubdtype`, `scalar_type_of`: kinds;
- `ExtendedDType`, `KeyType`: dtypes that NumPy does not have.

Everything here is memoised: the cost of a repeated question is a look-up in a dictionary.
"""

from __future__ import annotations

from ml_dtypes import finfo, iinfo

from .catalogue import NARROW, SCALARS, float0
from .convert import (
    DType,
    bfloat16,
    canonicalize,
    canonicalize_dtype,
    dtype,
    is_python_scalar,
    itemsize_bits,
    python_scalar_dtype,
    short_name,
    tangent_dtype,
)
from .extended import ExtendedDType, KeyType, extended, may_convert, prng_key
from .kinds import issubdtype, scalar_type_of
from .operands import check_numeric, entry, promote_types, requested, result_type
from .primal_tangent import PrimalTangentDType, primal_tangent_dtype
from .promotion import (
    FIX_KEYS,
    Entry,
    KeyPromotionError,
    TypePromotionError,
    promote,
    to_inexact,
)

__all__ = [
    "FIX_KEYS",
    "NARROW",
    "SCALARS",
    "DType",
    "Entry",
    "ExtendedDType",
    "KeyPromotionError",
    "KeyType",
    "PrimalTangentDType",
    "TypePromotionError",
    "bfloat16",
    "canonicalize",
    "canonicalize_dtype",
    "check_numeric",
    "dtype",
    "entry",
    "extended",
    "finfo",
    "float0",
    "iinfo",
    "is_python_scalar",
    "issubdtype",
    "itemsize_bits",
    "may_convert",
    "primal_tangent_dtype",
    "prng_key",
    "promote",
    "promote_types",
    "python_scalar_dtype",
    "requested",
    "result_type",
    "scalar_type_of",
    "short_name",
    "tangent_dtype",
    "to_inexact",
]
