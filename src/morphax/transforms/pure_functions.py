"""The declared list of what computes from its arguments alone.

Functions on this list read nothing but their arguments, and what these lead to; classes on it make
objects that hold nothing but theirs.  Calling user code that they are given (``map(f, xs)``, an
operator of a user's class) is no exception: that code is walked where it is met.  Lists are by
object, so that another name for `eval` is not taken for `abs`, and a replaced builtin is seen.

On the list are named functions of the standard library and of NumPy, and what the packages
`_OUR_PACKAGES` of morphax define.  Of morphax, what depends on the configuration is told apart by
the trace key; what acts later (callbacks, rules) is looked for in the program itself
(`control.kept_objects`).  Not on it, and so without an identity for whoever calls them, are
functions that read files, clocks, addresses, the environment or hidden state (`id`, `hash`,
`print`, `open`, `numpy.random`, `time`), and those that find what they read by a name made at run
time (`getattr`, `eval`, `operator.attrgetter`).
"""

from __future__ import annotations

import abc
import builtins
import collections
import collections.abc
import contextlib
import dataclasses
import enum
import functools
import itertools
import math
import operator
import os
import site
import sys
import types
import typing
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import (
    BuiltinFunctionType,
    ClassMethodDescriptorType,
    CodeType,
    FunctionType,
    GetSetDescriptorType,
    MemberDescriptorType,
    MethodDescriptorType,
    ModuleType,
    WrapperDescriptorType,
)
from typing import Any, Final

import ml_dtypes
import numpy as np

from ..util.memo import memoize

_BUILTINS = (
    "abs all any ascii bin bool bytearray bytes callable chr classmethod complex dict divmod "
    "enumerate filter float format frozenset int isinstance issubclass iter len list map max min "
    "next object oct hex ord pow property range repr reversed round set slice sorted staticmethod "
    "str sum super tuple type zip"
)
_NUMPY = (
    "all allclose alltrue amax amin angle any append apply_along_axis arange argmax argmin "
    "argpartition argsort argwhere around array array_equal array_split asanyarray asarray "
    "ascontiguousarray astype atleast_1d atleast_2d atleast_3d average bartlett bincount blackman "
    "block broadcast_arrays broadcast_shapes broadcast_to can_cast choose clip column_stack "
    "common_type compress concat concatenate convolve copy corrcoef correlate count_nonzero cov "
    "cross cumprod cumsum cumulative_prod cumulative_sum delete diag diag_indices diagflat "
    "diagonal diff digitize dot dsplit dstack dtype ediff1d einsum einsum_path empty empty_like "
    "expand_dims extract eye fill_diagonal finfo fix flatnonzero flip fliplr flipud full full_like "
    "generic geomspace gradient hamming hanning histogram histogram_bin_edges hsplit hstack i0 "
    "identity iinfo imag in1d indices inner insert interp intersect1d isclose iscomplex "
    "iscomplexobj isdtype isfortran isin isneginf isposinf isreal isrealobj isscalar issubdtype "
    "ix_ kaiser kron lexsort linspace logspace matrix_transpose max mean median meshgrid min "
    "min_scalar_type moveaxis nan_to_num nanargmax nanargmin nancumprod nancumsum nanmax nanmean "
    "nanmedian nanmin nanpercentile nanprod nanquantile nanstd nansum nanvar ndarray ndim nonzero "
    "ones ones_like outer pad partition percentile permute_dims piecewise poly polyadd polyder "
    "polydiv polyfit polyint polymul polysub polyval prod promote_types ptp put_along_axis "
    "quantile ravel ravel_multi_index real real_if_close repeat require reshape resize result_type "
    "roll rollaxis roots rot90 round row_stack searchsorted select setdiff1d setxor1d shape sinc "
    "size sort sort_complex split squeeze stack std sum swapaxes take take_along_axis tensordot "
    "tile trace transpose trapezoid trapz tri tril tril_indices trim_zeros triu triu_indices "
    "union1d unique unique_all unique_counts unique_inverse unique_values unpackbits unravel_index "
    "unstack unwrap vander var vdot vsplit vstack where zeros zeros_like"
)
_NUMPY_LINALG = (
    "LinAlgError cholesky cond cross det diagonal eig eigh eigvals eigvalsh inv lstsq matmul "
    "matrix_norm matrix_power matrix_rank matrix_transpose multi_dot norm outer pinv qr slogdet "
    "solve svd svdvals tensordot tensorinv tensorsolve trace vecdot vector_norm"
)
_NUMPY_FFT = (
    "fft fft2 fftfreq fftn fftshift hfft ifft ifft2 ifftn ifftshift ihfft irfft irfft2 irfftn rfft "
    "rfft2 rfftfreq rfftn"
)

_DATACLASSES = (
    "FrozenInstanceError MISSING KW_ONLY _HAS_DEFAULT_FACTORY asdict astuple field fields "
    "is_dataclass replace"
)

# Functions made by a library for the classes of users (dataclasses, named tuples, enumerations) or
# around their functions.
_MADE: Final = (
    contextlib.contextmanager(iter),
    dataclasses.make_dataclass("_Sample", []).__repr__,
    *vars(collections.namedtuple("_Sample", "field")).values(),
    *[
        member
        for kind in (enum.Enum, enum.IntEnum, enum.StrEnum, enum.Flag, enum.IntFlag)
        for member in vars(kind).values()
    ],
    enum.EnumType,
    *[getattr(dataclasses, f"_{name}", None) for name in ("replace", "dataclass_getstate")],
    getattr(dataclasses, "_dataclass_setstate", None),
)

# Packages and modules of morphax whose functions compute from their arguments and the trace key.
_OUR_PACKAGES: Final = frozenset(
    "ad_checkpoint array control core custom_batching custom_derivatives debug dtypes errors image "
    "lax nn numpy ops parallel random ref scipy stages transforms tree tree_util typing".split()
)
_OUR_MODULES: Final = frozenset(
    "config.contexts engines.reference.nan_checks engines.reference.replay runtime.mesh "
    "runtime.named_sharding runtime.sharding runtime.gspmd_sharding util.memo "
    "util.messages".split()
)
# What these hold looks elsewhere: at the arrays that are alive, at files, at options of printing.
_NOT_OUR_MODULES: Final = frozenset({"array.live", "numpy.files", "numpy.printing"})
# `sysconfig` knows them too, and takes three milliseconds to say so.
_LIBRARY_FOLDERS: Final = (os.path.dirname(os.__file__), *site.getsitepackages())
_DESCRIPTORS: Final = frozenset(
    {
        ClassMethodDescriptorType,
        GetSetDescriptorType,
        MemberDescriptorType,
        MethodDescriptorType,
        WrapperDescriptorType,
    }
)
# The globals of our modules met so far, which are never freed.
_OUR_SPACES: Final[dict[int, dict[str, Any]]] = {}
_PACKAGE: Final = __name__.partition(".")[0]


def _named(module: ModuleType, names: str) -> Iterator[Any]:
    for name in names.split():
        if hasattr(module, name):  # some names come and go with the versions of NumPy
            yield getattr(module, name)


def _declared() -> Iterator[Any]:
    yield from _named(builtins, _BUILTINS)
    yield from [
        value
        for value in vars(builtins).values()
        if isinstance(value, type) and issubclass(value, BaseException)
    ]
    yield from [value for value in vars(math).values() if callable(value)]
    hidden = (operator.attrgetter, operator.methodcaller)
    yield from [v for v in vars(operator).values() if callable(v) and v not in hidden]
    yield from [value for value in vars(itertools).values() if callable(value)]
    yield from _named(functools, "cached_property partial reduce update_wrapper wraps cmp_to_key")
    yield from _named(collections, "OrderedDict defaultdict deque")
    yield from [getattr(collections.abc, name) for name in collections.abc.__all__]
    yield from _named(dataclasses, _DATACLASSES)
    yield from _named(types, "EllipsisType GenericAlias NoneType SimpleNamespace")
    yield from [v for v in vars(typing).values() if _is_notation(v)]
    yield from (contextlib.nullcontext, abc.ABC, abc.ABCMeta, type, enum.EnumType)
    yield from (enum.Enum, enum.IntEnum, enum.StrEnum, enum.Flag, enum.IntFlag)
    yield from [v for v in vars(np).values() if isinstance(v, np.ufunc)]
    yield from [v for v in vars(np).values() if isinstance(v, type) and issubclass(v, np.generic)]
    yield from _named(np, _NUMPY)
    yield from _named(np.linalg, _NUMPY_LINALG)
    yield from (ml_dtypes.finfo, ml_dtypes.iinfo)


def _is_notation(value: object) -> bool:
    """Whether a member of `typing` serves to write types down."""
    return type(value).__module__ == "typing" or value in (typing.Generic, typing.cast, typing.Any)


_DISPATCHED: Final = type(np.sum)
_PURE: Final[dict[int, Any]] = {id(value): value for value in _declared()}
_PURE_CODE: Final[Mapping[int, CodeType]] = {
    id(value.__code__): value.__code__
    for member in _MADE
    for value in (member, getattr(member, "__func__", None), getattr(member, "fget", None))
    if isinstance(value, FunctionType)
}


def is_pure(value: Any) -> bool:
    """Whether a function or a class is on the list, or belongs to morphax's own.

    Example:
        >>> import math, time
        >>> from morphax.transforms.pure_functions import is_pure
        >>> is_pure(math.sin), is_pure(time.time), is_pure(eval)
        (True, False, False)
    """
    if id(value) in _PURE:
        return True
    kind = type(value)
    if kind is _DISPATCHED:
        return _is_of_fft(value)
    if kind is FunctionType:
        return has_pure_code(value)
    if kind is BuiltinFunctionType:
        return isinstance(value.__self__, type) and is_pure(value.__self__)
    if kind in _DESCRIPTORS:
        return is_pure(value.__objclass__)
    return isinstance(value, type) and is_our_own(value)


def _is_of_fft(value: object) -> bool:
    """Whether a function of NumPy is one of `numpy.fft`, which is imported by who uses it only.

    An interrupt while it is imported leaves it half loaded, and the process without it for good.
    """
    module = sys.modules.get("numpy.fft")
    return module is not None and any(value is f for f in _named(module, _NUMPY_FFT))


def has_pure_code(function: FunctionType) -> bool:
    """Whether the code of a function, apart from its closure and its defaults, is on the list."""
    namespace = function.__globals__
    if id(namespace) in _OUR_SPACES or id(function.__code__) in _PURE_CODE:
        return True
    name = namespace.get("__name__", "")
    if not (_is_our_module(name) and vars(sys.modules[name]) is namespace):
        return False
    _OUR_SPACES[id(namespace)] = namespace
    return True


def is_constant(function: FunctionType, has_pure_code: bool) -> bool:
    """Whether a function is on the list as a whole: a function of ours is, if it is found there.

    What our transformations return is not: it has our code, and functions of users in its closure.
    """
    if id(function) in _PURE:
        return True
    if not (has_pure_code and is_our_own(function)):
        return False
    _PURE[id(function)] = function
    return True


def is_our_own(value: type | FunctionType) -> bool:
    """Whether a class or function is found where it says it was defined, in a module of ours."""
    module = str(getattr(value, "__module__", ""))
    if not _is_our_module(module):
        return False
    found: Any = sys.modules[module]
    for name in value.__qualname__.split("."):
        found = getattr(found, name, None)
    return found is value


def _is_our_module(module: object) -> bool:
    """Whether the name is that of a module of morphax which is on the list."""
    if type(module) is not str or not module.startswith(f"{_PACKAGE}."):
        return False
    inside = module.removeprefix(f"{_PACKAGE}.")
    if inside in _NOT_OUR_MODULES or module not in sys.modules:
        return False
    return inside.partition(".")[0] in _OUR_PACKAGES or inside in _OUR_MODULES


def is_library(namespace: Mapping[str, Any]) -> bool:
    """Whether globals are those of a module of morphax, of the standard library or installed."""
    name = namespace.get("__name__", "")
    return _is_library(name if isinstance(name, str) else "", str(namespace.get("__file__", "")))


@memoize
def _is_library(name: str, file: str) -> bool:
    if name.partition(".")[0] == _PACKAGE:
        return True
    if not file:  # a built-in module; a function made by `exec`, or in a notebook, is the user's
        return name in sys.builtin_module_names
    return any(Path(file).is_relative_to(folder) for folder in _LIBRARY_FOLDERS)


def is_our_module(module: ModuleType) -> bool:
    """Whether attributes of a module that are not there yet are imported when they are read."""
    return module.__name__.partition(".")[0] == _PACKAGE
