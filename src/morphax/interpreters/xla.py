"""`jax.interpreters.xla`: values of other people's types, and primitives by compiled programs."""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Callable, MutableMapping
from typing import Any

import numpy as np

from .. import dtypes
from ..control.calls import run_compiled
from ..core import Primitive
from ..core.values import conversions, host_value
from ..dtypes.catalogue import SCALARS
from ..engines.reference.eager import as_array
from ..runtime.client import xla_client


def _canonical(x: Any) -> np.ndarray[Any, Any]:
    return host_value(x, dtypes.canonicalize(x.dtype))


def _number(x: Any) -> np.ndarray[Any, Any]:
    return host_value(x, dtypes.python_scalar_dtype(type(x)))


canonicalize_dtype_handlers: MutableMapping[type, Callable[[Any], Any]] = ChainMap(
    conversions,
    {
        np.ndarray: _canonical,
        **{dtype.type: _canonical for dtype in SCALARS},
        **dict.fromkeys((bool, int, float, complex), _number),
    },
)
"""From values that may be operands to arrays, by type.

A function that is set here is asked where NumPy does not convert the values by itself; what they
are is told by `jax.core.pytype_aval_mappings`.
"""


def __getattr__(name: str) -> Any:
    if name == "Backend":
        return xla_client().Client
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def apply_primitive(prim: Primitive, *args: Any, **params: Any) -> Any:
    """The result of one operation on arrays, compiled once per signature.

    An implementation for primitives that have a lowering rule:
    ``p.def_impl(functools.partial(apply_primitive, p))``.
    """
    results = run_compiled(prim, [as_array(x) for x in args], params)
    return results if prim.multiple_results else results[0]
