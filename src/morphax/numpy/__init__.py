"""`morphax.numpy`: the functions of NumPy for arrays that can be traced.

What is made with custom derivatives, or seldom needed, is imported when it is first asked for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING as _TYPE_CHECKING

from ..array.conversion import ARRAY_API_VERSION as __array_api_version__
from ..array.public import Array as ndarray
from ..util.on_demand import on_demand as _on_demand
from . import operators as _operators
from .arithmetic import abs as abs
from .arithmetic import absolute as absolute
from .arithmetic import divide as divide
from .arithmetic import divmod as divmod
from .arithmetic import floor_divide as floor_divide
from .arithmetic import fmod as fmod
from .arithmetic import mod as mod
from .arithmetic import positive as positive
from .arithmetic import power as pow
from .arithmetic import power as power
from .arithmetic import remainder as remainder
from .arithmetic import true_divide as true_divide
from .averages import average as average
from .averages import mean as mean
from .averages import std as std
from .averages import var as var
from .complex_numbers import angle as angle
from .complex_numbers import conj as conj
from .complex_numbers import conjugate as conjugate
from .complex_numbers import imag as imag
from .complex_numbers import iscomplex as iscomplex
from .complex_numbers import isreal as isreal
from .complex_numbers import real as real
from .creation import array as array
from .creation import asarray as asarray
from .creation import copy as copy
from .creation import empty as empty
from .creation import empty_like as empty_like
from .creation import full as full
from .creation import full_like as full_like
from .creation import ones as ones
from .creation import ones_like as ones_like
from .creation import zeros as zeros
from .creation import zeros_like as zeros_like
from .cumulative import cumprod as cumprod
from .cumulative import cumsum as cumsum
from .cumulative import cumulative_prod as cumulative_prod
from .cumulative import cumulative_sum as cumulative_sum
from .cumulative import nancumprod as nancumprod
from .cumulative import nancumsum as nancumsum
from .logic import bitwise_count as bitwise_count
from .logic import bitwise_invert as bitwise_invert
from .logic import bitwise_left_shift as bitwise_left_shift
from .logic import bitwise_not as bitwise_not
from .logic import bitwise_right_shift as bitwise_right_shift
from .logic import equal as equal
from .logic import greater as greater
from .logic import greater_equal as greater_equal
from .logic import invert as invert
from .logic import left_shift as left_shift
from .logic import less as less
from .logic import less_equal as less_equal
from .logic import logical_not as logical_not
from .logic import not_equal as not_equal
from .logic import right_shift as right_shift
from .products import dot as dot
from .products import inner as inner
from .products import matmul as matmul
from .products import matvec as matvec
from .products import outer as outer
from .products import tensordot as tensordot
from .products import trace as trace
from .products import vdot as vdot
from .products import vecdot as vecdot
from .products import vecmat as vecmat
from .reductions import all as all
from .reductions import amax as amax
from .reductions import amin as amin
from .reductions import any as any
from .reductions import count_nonzero as count_nonzero
from .reductions import max as max
from .reductions import min as min
from .reductions import minmax as minmax
from .reductions import prod as prod
from .reductions import ptp as ptp
from .reductions import sum as sum
from .rounding import around as around
from .rounding import ceil as ceil
from .rounding import floor as floor
from .rounding import modf as modf
from .rounding import rint as rint
from .rounding import round as round
from .rounding import trunc as trunc
from .searching import argmax as argmax
from .searching import argmin as argmin
from .searching import argwhere as argwhere
from .searching import bincount as bincount
from .searching import flatnonzero as flatnonzero
from .searching import nanargmax as nanargmax
from .searching import nanargmin as nanargmin
from .searching import nonzero as nonzero
from .selection import choose as choose
from .selection import clip as clip
from .selection import compress as compress
from .selection import diagonal as diagonal
from .selection import take as take
from .selection import take_along_axis as take_along_axis
from .selection import where as where
from .shaping import astype as astype
from .shaping import broadcast_arrays as broadcast_arrays
from .shaping import broadcast_to as broadcast_to
from .shaping import expand_dims as expand_dims
from .shaping import matrix_transpose as matrix_transpose
from .shaping import moveaxis as moveaxis
from .shaping import ndim as ndim
from .shaping import permute_dims as permute_dims
from .shaping import ravel as ravel
from .shaping import reshape as reshape
from .shaping import rollaxis as rollaxis
from .shaping import shape as shape
from .shaping import size as size
from .shaping import squeeze as squeeze
from .shaping import swapaxes as swapaxes
from .shaping import transpose as transpose
from .sorted_vectors import digitize as digitize
from .sorted_vectors import searchsorted as searchsorted
from .sorting import argpartition as argpartition
from .sorting import argsort as argsort
from .sorting import lexsort as lexsort
from .sorting import partition as partition
from .sorting import sort as sort
from .sorting import sort_complex as sort_complex
from .sorting import top_k as top_k
from .tiling import repeat as repeat
from .tiling import tile as tile
from .trigonometric import acos as acos
from .trigonometric import acosh as acosh
from .trigonometric import arccos as arccos
from .trigonometric import arccosh as arccosh
from .trigonometric import arcsin as arcsin
from .trigonometric import arcsinh as arcsinh
from .trigonometric import arctan as arctan
from .trigonometric import arctan2 as arctan2
from .trigonometric import arctanh as arctanh
from .trigonometric import asin as asin
from .trigonometric import asinh as asinh
from .trigonometric import atan as atan
from .trigonometric import atan2 as atan2
from .trigonometric import atanh as atanh
from .trigonometric import cos as cos
from .trigonometric import cosh as cosh
from .trigonometric import deg2rad as deg2rad
from .trigonometric import degrees as degrees
from .trigonometric import rad2deg as rad2deg
from .trigonometric import radians as radians
from .trigonometric import sin as sin
from .trigonometric import sinh as sinh
from .trigonometric import tan as tan
from .trigonometric import tanh as tanh
from .ufunc import frompyfunc as frompyfunc
from .ufunc import ufunc as ufunc
from .vectorize import vectorize as vectorize

if _TYPE_CHECKING:
    from ..numpy.application import apply_along_axis as apply_along_axis
    from ..numpy.application import apply_over_axes as apply_over_axes
    from ..numpy.application import piecewise as piecewise
    from ..numpy.bessel import i0 as i0
    from ..numpy.bit_packing import packbits as packbits
    from ..numpy.bit_packing import unpackbits as unpackbits
    from ..numpy.blocks import block as block
    from ..numpy.choices import extract as extract
    from ..numpy.choices import select as select
    from ..numpy.convolution import convolve as convolve
    from ..numpy.convolution import correlate as correlate
    from ..numpy.divisors import gcd as gcd
    from ..numpy.divisors import lcm as lcm
    from ..numpy.einstein_sums import einsum as einsum
    from ..numpy.einstein_sums import einsum_path as einsum_path
    from ..numpy.extremes import fmax as fmax
    from ..numpy.extremes import fmin as fmin
    from ..numpy.files import from_dlpack as from_dlpack
    from ..numpy.files import fromfile as fromfile
    from ..numpy.files import fromiter as fromiter
    from ..numpy.files import fromstring as fromstring
    from ..numpy.files import load as load
    from ..numpy.files import save as save
    from ..numpy.files import savez as savez
    from ..numpy.flat_indices import ravel_multi_index as ravel_multi_index
    from ..numpy.flat_indices import unravel_index as unravel_index
    from ..numpy.grids import frombuffer as frombuffer
    from ..numpy.grids import fromfunction as fromfunction
    from ..numpy.grids import geomspace as geomspace
    from ..numpy.grids import indices as indices
    from ..numpy.grids import ix_ as ix_
    from ..numpy.grids import logspace as logspace
    from ..numpy.grids import meshgrid as meshgrid
    from ..numpy.index_tricks import c_ as c_
    from ..numpy.index_tricks import index_exp as index_exp
    from ..numpy.index_tricks import mgrid as mgrid
    from ..numpy.index_tricks import ogrid as ogrid
    from ..numpy.index_tricks import r_ as r_
    from ..numpy.index_tricks import s_ as s_
    from ..numpy.insertion import delete as delete
    from ..numpy.insertion import insert as insert
    from ..numpy.insertion import resize as resize
    from ..numpy.insertion import trim_zeros as trim_zeros
    from ..numpy.interpolation import interp as interp
    from ..numpy.joining import append as append
    from ..numpy.joining import column_stack as column_stack
    from ..numpy.joining import concat as concat
    from ..numpy.joining import concatenate as concatenate
    from ..numpy.joining import dstack as dstack
    from ..numpy.joining import hstack as hstack
    from ..numpy.joining import stack as stack
    from ..numpy.joining import vstack as vstack
    from ..numpy.magnitudes import fabs as fabs
    from ..numpy.magnitudes import hypot as hypot
    from ..numpy.magnitudes import sign as sign
    from ..numpy.matrix_indices import diag_indices as diag_indices
    from ..numpy.matrix_indices import diag_indices_from as diag_indices_from
    from ..numpy.matrix_indices import mask_indices as mask_indices
    from ..numpy.matrix_indices import tril_indices as tril_indices
    from ..numpy.matrix_indices import tril_indices_from as tril_indices_from
    from ..numpy.matrix_indices import triu_indices as triu_indices
    from ..numpy.matrix_indices import triu_indices_from as triu_indices_from
    from ..numpy.namespace_info import __array_namespace_info__ as __array_namespace_info__
    from ..numpy.padding import pad as pad
    from ..numpy.polynomial_fits import polyfit as polyfit
    from ..numpy.polynomial_fits import roots as roots
    from ..numpy.polynomials import poly as poly
    from ..numpy.polynomials import polyadd as polyadd
    from ..numpy.polynomials import polyder as polyder
    from ..numpy.polynomials import polydiv as polydiv
    from ..numpy.polynomials import polyint as polyint
    from ..numpy.polynomials import polymul as polymul
    from ..numpy.polynomials import polysub as polysub
    from ..numpy.polynomials import polyval as polyval
    from ..numpy.powers import cbrt as cbrt
    from ..numpy.powers import float_power as float_power
    from ..numpy.powers import reciprocal as reciprocal
    from ..numpy.powers import sqrt as sqrt
    from ..numpy.powers import square as square
    from ..numpy.printing import ComplexWarning as ComplexWarning
    from ..numpy.printing import array_repr as array_repr
    from ..numpy.printing import array_str as array_str
    from ..numpy.printing import get_printoptions as get_printoptions
    from ..numpy.printing import printoptions as printoptions
    from ..numpy.printing import set_printoptions as set_printoptions
    from ..numpy.quantiles import median as median
    from ..numpy.quantiles import nanmedian as nanmedian
    from ..numpy.quantiles import nanpercentile as nanpercentile
    from ..numpy.quantiles import nanquantile as nanquantile
    from ..numpy.quantiles import percentile as percentile
    from ..numpy.quantiles import quantile as quantile
    from ..numpy.ranks import atleast_1d as atleast_1d
    from ..numpy.ranks import atleast_2d as atleast_2d
    from ..numpy.ranks import atleast_3d as atleast_3d
    from ..numpy.ranks import broadcast_shapes as broadcast_shapes
    from ..numpy.rearranging import flip as flip
    from ..numpy.rearranging import fliplr as fliplr
    from ..numpy.rearranging import flipud as flipud
    from ..numpy.rearranging import roll as roll
    from ..numpy.rearranging import rot90 as rot90
    from ..numpy.replacement import place as place
    from ..numpy.replacement import put as put
    from ..numpy.replacement import put_along_axis as put_along_axis
    from ..numpy.sets import intersect1d as intersect1d
    from ..numpy.sets import isin as isin
    from ..numpy.sets import setdiff1d as setdiff1d
    from ..numpy.sets import setxor1d as setxor1d
    from ..numpy.sets import union1d as union1d
    from ..numpy.sets import unique as unique
    from ..numpy.sets import unique_all as unique_all
    from ..numpy.sets import unique_counts as unique_counts
    from ..numpy.sets import unique_inverse as unique_inverse
    from ..numpy.sets import unique_values as unique_values
    from ..numpy.sine_cardinal import sinc as sinc
    from ..numpy.splitting import array_split as array_split
    from ..numpy.splitting import dsplit as dsplit
    from ..numpy.splitting import hsplit as hsplit
    from ..numpy.splitting import split as split
    from ..numpy.splitting import unstack as unstack
    from ..numpy.splitting import vsplit as vsplit
    from ..numpy.trapezoidal_rule import trapezoid as trapezoid
    from ..numpy.vector_products import cross as cross
    from ..numpy.vector_products import kron as kron
    from ..numpy.windows import bartlett as bartlett
    from ..numpy.windows import blackman as blackman
    from ..numpy.windows import hamming as hamming
    from ..numpy.windows import hanning as hanning
    from ..numpy.windows import kaiser as kaiser
    from . import fft as fft
    from . import linalg as linalg
    from .covariance import corrcoef as corrcoef
    from .covariance import cov as cov
    from .differences import diff as diff
    from .differences import ediff1d as ediff1d
    from .differences import gradient as gradient
    from .differences import unwrap as unwrap
    from .exponential import exp as exp
    from .exponential import exp2 as exp2
    from .exponential import expm1 as expm1
    from .exponential import log as log
    from .exponential import log1p as log1p
    from .exponential import log2 as log2
    from .exponential import log10 as log10
    from .floats import copysign as copysign
    from .floats import frexp as frexp
    from .floats import heaviside as heaviside
    from .floats import ldexp as ldexp
    from .floats import nan_to_num as nan_to_num
    from .floats import nextafter as nextafter
    from .floats import spacing as spacing
    from .histograms import histogram as histogram
    from .histograms import histogram2d as histogram2d
    from .histograms import histogram_bin_edges as histogram_bin_edges
    from .histograms import histogramdd as histogramdd
    from .matrices import diag as diag
    from .matrices import diagflat as diagflat
    from .matrices import eye as eye
    from .matrices import fill_diagonal as fill_diagonal
    from .matrices import identity as identity
    from .matrices import tri as tri
    from .matrices import tril as tril
    from .matrices import triu as triu
    from .matrices import vander as vander
    from .nan_reductions import nanmax as nanmax
    from .nan_reductions import nanmean as nanmean
    from .nan_reductions import nanmin as nanmin
    from .nan_reductions import nanprod as nanprod
    from .nan_reductions import nanstd as nanstd
    from .nan_reductions import nansum as nansum
    from .nan_reductions import nanvar as nanvar
    from .predicates import allclose as allclose
    from .predicates import array_equal as array_equal
    from .predicates import array_equiv as array_equiv
    from .predicates import can_cast as can_cast
    from .predicates import finfo as finfo
    from .predicates import iinfo as iinfo
    from .predicates import isclose as isclose
    from .predicates import iscomplexobj as iscomplexobj
    from .predicates import isdtype as isdtype
    from .predicates import isfinite as isfinite
    from .predicates import isinf as isinf
    from .predicates import isnan as isnan
    from .predicates import isneginf as isneginf
    from .predicates import isposinf as isposinf
    from .predicates import isrealobj as isrealobj
    from .predicates import isscalar as isscalar
    from .predicates import issubdtype as issubdtype
    from .predicates import iterable as iterable
    from .predicates import promote_types as promote_types
    from .predicates import result_type as result_type
    from .predicates import signbit as signbit
    from .progressions import arange as arange
    from .progressions import linspace as linspace
    from .scalar_types import bfloat16 as bfloat16
    from .scalar_types import bool as bool
    from .scalar_types import bool_ as bool_
    from .scalar_types import cdouble as cdouble
    from .scalar_types import character as character
    from .scalar_types import complex64 as complex64
    from .scalar_types import complex128 as complex128
    from .scalar_types import complex_ as complex_
    from .scalar_types import complexfloating as complexfloating
    from .scalar_types import csingle as csingle
    from .scalar_types import double as double
    from .scalar_types import dtype as dtype
    from .scalar_types import e as e
    from .scalar_types import euler_gamma as euler_gamma
    from .scalar_types import flexible as flexible
    from .scalar_types import float4_e2m1fn as float4_e2m1fn
    from .scalar_types import float6_e2m3fn as float6_e2m3fn
    from .scalar_types import float6_e3m2fn as float6_e3m2fn
    from .scalar_types import float8_e3m4 as float8_e3m4
    from .scalar_types import float8_e4m3 as float8_e4m3
    from .scalar_types import float8_e4m3b11fnuz as float8_e4m3b11fnuz
    from .scalar_types import float8_e4m3fn as float8_e4m3fn
    from .scalar_types import float8_e4m3fnuz as float8_e4m3fnuz
    from .scalar_types import float8_e5m2 as float8_e5m2
    from .scalar_types import float8_e5m2fnuz as float8_e5m2fnuz
    from .scalar_types import float8_e8m0fnu as float8_e8m0fnu
    from .scalar_types import float16 as float16
    from .scalar_types import float32 as float32
    from .scalar_types import float64 as float64
    from .scalar_types import float_ as float_
    from .scalar_types import floating as floating
    from .scalar_types import generic as generic
    from .scalar_types import inexact as inexact
    from .scalar_types import inf as inf
    from .scalar_types import int1 as int1
    from .scalar_types import int2 as int2
    from .scalar_types import int4 as int4
    from .scalar_types import int8 as int8
    from .scalar_types import int16 as int16
    from .scalar_types import int32 as int32
    from .scalar_types import int64 as int64
    from .scalar_types import int_ as int_
    from .scalar_types import integer as integer
    from .scalar_types import nan as nan
    from .scalar_types import newaxis as newaxis
    from .scalar_types import number as number
    from .scalar_types import object_ as object_
    from .scalar_types import pi as pi
    from .scalar_types import signedinteger as signedinteger
    from .scalar_types import single as single
    from .scalar_types import uint as uint
    from .scalar_types import uint1 as uint1
    from .scalar_types import uint2 as uint2
    from .scalar_types import uint4 as uint4
    from .scalar_types import uint8 as uint8
    from .scalar_types import uint16 as uint16
    from .scalar_types import uint32 as uint32
    from .scalar_types import uint64 as uint64
    from .scalar_types import unsignedinteger as unsignedinteger
    from .ufuncs import add as add
    from .ufuncs import bitwise_and as bitwise_and
    from .ufuncs import bitwise_or as bitwise_or
    from .ufuncs import bitwise_xor as bitwise_xor
    from .ufuncs import logaddexp as logaddexp
    from .ufuncs import logaddexp2 as logaddexp2
    from .ufuncs import logical_and as logical_and
    from .ufuncs import logical_or as logical_or
    from .ufuncs import logical_xor as logical_xor
    from .ufuncs import maximum as maximum
    from .ufuncs import minimum as minimum
    from .ufuncs import multiply as multiply
    from .ufuncs import negative as negative
    from .ufuncs import subtract as subtract

__getattr__, __dir__ = _on_demand(
    __name__,
    ("fft", "linalg"),
    {
        "..numpy.application": ("apply_along_axis", "apply_over_axes", "piecewise"),
        "..numpy.bessel": ("i0",),
        "..numpy.bit_packing": ("packbits", "unpackbits"),
        "..numpy.blocks": ("block",),
        "..numpy.choices": ("extract", "select"),
        "..numpy.convolution": ("convolve", "correlate"),
        "..numpy.covariance": ("corrcoef", "cov"),
        "..numpy.differences": ("diff", "ediff1d", "gradient", "unwrap"),
        "..numpy.divisors": ("gcd", "lcm"),
        "..numpy.einstein_sums": ("einsum", "einsum_path"),
        "..numpy.exponential": ("exp", "exp2", "expm1", "log", "log10", "log1p", "log2"),
        "..numpy.extremes": ("fmax", "fmin"),
        "..numpy.files": (
            "from_dlpack",
            "fromfile",
            "fromiter",
            "fromstring",
            "load",
            "save",
            "savez",
        ),
        "..numpy.flat_indices": ("ravel_multi_index", "unravel_index"),
        "..numpy.floats": (
            "copysign",
            "frexp",
            "heaviside",
            "ldexp",
            "nan_to_num",
            "nextafter",
            "spacing",
        ),
        "..numpy.grids": (
            "frombuffer",
            "fromfunction",
            "geomspace",
            "indices",
            "ix_",
            "logspace",
            "meshgrid",
        ),
        "..numpy.histograms": ("histogram", "histogram2d", "histogram_bin_edges", "histogramdd"),
        "..numpy.index_tricks": ("c_", "index_exp", "mgrid", "ogrid", "r_", "s_"),
        "..numpy.insertion": ("delete", "insert", "resize", "trim_zeros"),
        "..numpy.interpolation": ("interp",),
        "..numpy.joining": (
            "append",
            "column_stack",
            "concat",
            "concatenate",
            "dstack",
            "hstack",
            "stack",
            "vstack",
        ),
        "..numpy.magnitudes": ("fabs", "hypot", "sign"),
        "..numpy.matrices": (
            "diag",
            "diagflat",
            "eye",
            "fill_diagonal",
            "identity",
            "tri",
            "tril",
            "triu",
            "vander",
        ),
        "..numpy.matrix_indices": (
            "diag_indices",
            "diag_indices_from",
            "mask_indices",
            "tril_indices",
            "tril_indices_from",
            "triu_indices",
            "triu_indices_from",
        ),
        "..numpy.namespace_info": ("__array_namespace_info__",),
        "..numpy.nan_reductions": (
            "nanmax",
            "nanmean",
            "nanmin",
            "nanprod",
            "nanstd",
            "nansum",
            "nanvar",
        ),
        "..numpy.padding": ("pad",),
        "..numpy.polynomial_fits": ("polyfit", "roots"),
        "..numpy.polynomials": (
            "poly",
            "polyadd",
            "polyder",
            "polydiv",
            "polyint",
            "polymul",
            "polysub",
            "polyval",
        ),
        "..numpy.powers": ("cbrt", "float_power", "reciprocal", "sqrt", "square"),
        "..numpy.predicates": (
            "allclose",
            "array_equal",
            "array_equiv",
            "can_cast",
            "finfo",
            "iinfo",
            "isclose",
            "iscomplexobj",
            "isdtype",
            "isfinite",
            "isinf",
            "isnan",
            "isneginf",
            "isposinf",
            "isrealobj",
            "isscalar",
            "issubdtype",
            "iterable",
            "promote_types",
            "result_type",
            "signbit",
        ),
        "..numpy.printing": (
            "ComplexWarning",
            "array_repr",
            "array_str",
            "get_printoptions",
            "printoptions",
            "set_printoptions",
        ),
        "..numpy.progressions": ("arange", "linspace"),
        "..numpy.quantiles": (
            "median",
            "nanmedian",
            "nanpercentile",
            "nanquantile",
            "percentile",
            "quantile",
        ),
        "..numpy.ranks": ("atleast_1d", "atleast_2d", "atleast_3d", "broadcast_shapes"),
        "..numpy.rearranging": ("flip", "fliplr", "flipud", "roll", "rot90"),
        "..numpy.replacement": ("place", "put", "put_along_axis"),
        "..numpy.scalar_types": (
            "bfloat16",
            "bool",
            "bool_",
            "cdouble",
            "character",
            "complex128",
            "complex64",
            "complex_",
            "complexfloating",
            "csingle",
            "double",
            "dtype",
            "e",
            "euler_gamma",
            "flexible",
            "float16",
            "float32",
            "float4_e2m1fn",
            "float64",
            "float6_e2m3fn",
            "float6_e3m2fn",
            "float8_e3m4",
            "float8_e4m3",
            "float8_e4m3b11fnuz",
            "float8_e4m3fn",
            "float8_e4m3fnuz",
            "float8_e5m2",
            "float8_e5m2fnuz",
            "float8_e8m0fnu",
            "float_",
            "floating",
            "generic",
            "inexact",
            "inf",
            "int1",
            "int16",
            "int2",
            "int32",
            "int4",
            "int64",
            "int8",
            "int_",
            "integer",
            "nan",
            "newaxis",
            "number",
            "object_",
            "pi",
            "signedinteger",
            "single",
            "uint",
            "uint1",
            "uint16",
            "uint2",
            "uint32",
            "uint4",
            "uint64",
            "uint8",
            "unsignedinteger",
        ),
        "..numpy.sets": (
            "intersect1d",
            "isin",
            "setdiff1d",
            "setxor1d",
            "union1d",
            "unique",
            "unique_all",
            "unique_counts",
            "unique_inverse",
            "unique_values",
        ),
        "..numpy.sine_cardinal": ("sinc",),
        "..numpy.splitting": ("array_split", "dsplit", "hsplit", "split", "unstack", "vsplit"),
        "..numpy.trapezoidal_rule": ("trapezoid",),
        "..numpy.ufuncs": (
            "add",
            "bitwise_and",
            "bitwise_or",
            "bitwise_xor",
            "logaddexp",
            "logaddexp2",
            "logical_and",
            "logical_or",
            "logical_xor",
            "maximum",
            "minimum",
            "multiply",
            "negative",
            "subtract",
        ),
        "..numpy.vector_products": ("cross", "kron"),
        "..numpy.windows": ("bartlett", "blackman", "hamming", "hanning", "kaiser"),
    },
)
