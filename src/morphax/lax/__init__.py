"""`morphax.lax`: the operations that transformations know, and the functions that bind them.

Its packages are rooms for families of primitives, one class each; start with
`elementwise.arithmetic` and `ground.families`.  This file is the public face of ``jax.lax``, which
also holds loops, branches and collectives from higher floors (see docs/architecture.md).
"""

from __future__ import annotations

from typing import TYPE_CHECKING as _TYPE_CHECKING

from ..util.on_demand import on_demand as _on_demand
from .contraction.dot import DotDimensionNumbers as DotDimensionNumbers
from .contraction.dot import dot_general as dot_general
from .contraction.dot import dot_general_p as dot_general_p
from .contraction.precision import DotAlgorithm as DotAlgorithm
from .contraction.precision import DotAlgorithmPreset as DotAlgorithmPreset
from .contraction.precision import Precision as Precision
from .contraction.precision import PrecisionLike as PrecisionLike
from .elementwise.arithmetic import add as add
from .elementwise.arithmetic import add_p as add_p
from .elementwise.arithmetic import div as div
from .elementwise.arithmetic import div_p as div_p
from .elementwise.arithmetic import mul as mul
from .elementwise.arithmetic import mul_p as mul_p
from .elementwise.arithmetic import neg as neg
from .elementwise.arithmetic import neg_p as neg_p
from .elementwise.arithmetic import rem as rem
from .elementwise.arithmetic import rem_p as rem_p
from .elementwise.arithmetic import sub as sub
from .elementwise.arithmetic import sub_p as sub_p
from .elementwise.bitwise import and_p as and_p
from .elementwise.bitwise import bitwise_and as bitwise_and
from .elementwise.bitwise import bitwise_not as bitwise_not
from .elementwise.bitwise import bitwise_or as bitwise_or
from .elementwise.bitwise import bitwise_xor as bitwise_xor
from .elementwise.bitwise import not_p as not_p
from .elementwise.bitwise import or_p as or_p
from .elementwise.bitwise import shift_left as shift_left
from .elementwise.bitwise import shift_left_p as shift_left_p
from .elementwise.bitwise import shift_right_arithmetic as shift_right_arithmetic
from .elementwise.bitwise import shift_right_arithmetic_p as shift_right_arithmetic_p
from .elementwise.bitwise import shift_right_logical as shift_right_logical
from .elementwise.bitwise import shift_right_logical_p as shift_right_logical_p
from .elementwise.bitwise import xor_p as xor_p
from .elementwise.comparison import eq as eq
from .elementwise.comparison import eq_p as eq_p
from .elementwise.comparison import eq_to_p as eq_to_p
from .elementwise.comparison import ge as ge
from .elementwise.comparison import ge_p as ge_p
from .elementwise.comparison import gt as gt
from .elementwise.comparison import gt_p as gt_p
from .elementwise.comparison import le as le
from .elementwise.comparison import le_p as le_p
from .elementwise.comparison import le_to_p as le_to_p
from .elementwise.comparison import lt as lt
from .elementwise.comparison import lt_p as lt_p
from .elementwise.comparison import lt_to_p as lt_to_p
from .elementwise.comparison import ne as ne
from .elementwise.comparison import ne_p as ne_p
from .elementwise.complex import complex as complex
from .elementwise.complex import complex_p as complex_p
from .elementwise.complex import conj as conj
from .elementwise.complex import conj_p as conj_p
from .elementwise.complex import imag as imag
from .elementwise.complex import imag_p as imag_p
from .elementwise.complex import real as real
from .elementwise.complex import real_p as real_p
from .elementwise.convert import bitcast_convert_type as bitcast_convert_type
from .elementwise.convert import bitcast_convert_type_p as bitcast_convert_type_p
from .elementwise.convert import convert_element_type as convert_element_type
from .elementwise.convert import convert_element_type_p as convert_element_type_p
from .elementwise.exponential import exp as exp
from .elementwise.exponential import exp2 as exp2
from .elementwise.exponential import exp2_p as exp2_p
from .elementwise.exponential import exp_p as exp_p
from .elementwise.exponential import expm1 as expm1
from .elementwise.exponential import expm1_p as expm1_p
from .elementwise.exponential import log as log
from .elementwise.exponential import log1p as log1p
from .elementwise.exponential import log1p_p as log1p_p
from .elementwise.exponential import log2 as log2
from .elementwise.exponential import log2_p as log2_p
from .elementwise.exponential import log_p as log_p
from .elementwise.exponential import logistic as logistic
from .elementwise.exponential import logistic_p as logistic_p
from .elementwise.powers import cbrt as cbrt
from .elementwise.powers import cbrt_p as cbrt_p
from .elementwise.powers import integer_pow as integer_pow
from .elementwise.powers import integer_pow_p as integer_pow_p
from .elementwise.powers import one_minus_square as one_minus_square
from .elementwise.powers import one_minus_square_p as one_minus_square_p
from .elementwise.powers import pow as pow
from .elementwise.powers import pow_p as pow_p
from .elementwise.powers import reciprocal as reciprocal
from .elementwise.powers import rsqrt as rsqrt
from .elementwise.powers import rsqrt_p as rsqrt_p
from .elementwise.powers import sqrt as sqrt
from .elementwise.powers import sqrt_p as sqrt_p
from .elementwise.powers import square as square
from .elementwise.powers import square_p as square_p
from .elementwise.rounding import RoundingMethod as RoundingMethod
from .elementwise.rounding import ceil as ceil
from .elementwise.rounding import ceil_p as ceil_p
from .elementwise.rounding import floor as floor
from .elementwise.rounding import floor_p as floor_p
from .elementwise.rounding import is_finite as is_finite
from .elementwise.rounding import is_finite_p as is_finite_p
from .elementwise.rounding import round as round
from .elementwise.rounding import round_p as round_p
from .elementwise.selection import max as max
from .elementwise.selection import max_p as max_p
from .elementwise.selection import min as min
from .elementwise.selection import min_p as min_p
from .elementwise.selection import select as select
from .elementwise.selection import select_n as select_n
from .elementwise.selection import select_n_p as select_n_p
from .elementwise.trigonometric import acos as acos
from .elementwise.trigonometric import acos_p as acos_p
from .elementwise.trigonometric import asin as asin
from .elementwise.trigonometric import asin_p as asin_p
from .elementwise.trigonometric import atan as atan
from .elementwise.trigonometric import atan2 as atan2
from .elementwise.trigonometric import atan2_p as atan2_p
from .elementwise.trigonometric import atan_p as atan_p
from .elementwise.trigonometric import cos as cos
from .elementwise.trigonometric import cos_p as cos_p
from .elementwise.trigonometric import sin as sin
from .elementwise.trigonometric import sin_p as sin_p
from .elementwise.trigonometric import tan as tan
from .elementwise.trigonometric import tan_p as tan_p
from .ground.accuracy import AccuracyMode as AccuracyMode
from .ground.accuracy import Tolerance as Tolerance
from .ground.dimension_numbers import GatherDimensionNumbers as GatherDimensionNumbers
from .ground.dimension_numbers import GatherScatterMode as GatherScatterMode
from .ground.dimension_numbers import ScatterDimensionNumbers as ScatterDimensionNumbers
from .ground.linear_structure import add_any_p as add_any_p
from .ground.linear_structure import broadcast_in_dim_p as broadcast_in_dim_p
from .ground.linear_structure import reduce_sum_p as reduce_sum_p
from .ground.linear_structure import transpose_p as transpose_p
from .ground.placing import device_put_p as device_put_p
from .indexing.dynamic_slicing import dynamic_index_in_dim as dynamic_index_in_dim
from .indexing.dynamic_slicing import dynamic_slice as dynamic_slice
from .indexing.dynamic_slicing import dynamic_slice_in_dim as dynamic_slice_in_dim
from .indexing.dynamic_slicing import dynamic_slice_p as dynamic_slice_p
from .indexing.dynamic_slicing import dynamic_update_index_in_dim as dynamic_update_index_in_dim
from .indexing.dynamic_slicing import dynamic_update_slice as dynamic_update_slice
from .indexing.dynamic_slicing import dynamic_update_slice_in_dim as dynamic_update_slice_in_dim
from .indexing.dynamic_slicing import dynamic_update_slice_p as dynamic_update_slice_p
from .indexing.gather import gather as gather
from .indexing.gather import gather_p as gather_p
from .indexing.gather import scatter_add as scatter_add
from .indexing.gather import scatter_add_p as scatter_add_p
from .indexing.scatter import scatter as scatter
from .indexing.scatter import scatter_max as scatter_max
from .indexing.scatter import scatter_max_p as scatter_max_p
from .indexing.scatter import scatter_min as scatter_min
from .indexing.scatter import scatter_min_p as scatter_min_p
from .indexing.scatter import scatter_mul as scatter_mul
from .indexing.scatter import scatter_mul_p as scatter_mul_p
from .indexing.scatter import scatter_p as scatter_p
from .indexing.scatter import scatter_sub as scatter_sub
from .indexing.scatter import scatter_sub_p as scatter_sub_p
from .ordering.sorting import sort as sort
from .ordering.sorting import sort_key_val as sort_key_val
from .ordering.sorting import sort_p as sort_p
from .ordering.sorting import top_k as top_k
from .ordering.sorting import top_k_p as top_k_p
from .reduction.argreductions import argmax as argmax
from .reduction.argreductions import argmax_p as argmax_p
from .reduction.argreductions import argmin as argmin
from .reduction.argreductions import argmin_p as argmin_p
from .reduction.associative_scan import associative_scan as associative_scan
from .reduction.cumulative import cumlogsumexp as cumlogsumexp
from .reduction.cumulative import cumlogsumexp_p as cumlogsumexp_p
from .reduction.cumulative import cummax as cummax
from .reduction.cumulative import cummax_p as cummax_p
from .reduction.cumulative import cummin as cummin
from .reduction.cumulative import cummin_p as cummin_p
from .reduction.cumulative import cumprod as cumprod
from .reduction.cumulative import cumprod_p as cumprod_p
from .reduction.cumulative import cumsum as cumsum
from .reduction.cumulative import cumsum_p as cumsum_p
from .reduction.reductions import reduce_and as reduce_and
from .reduction.reductions import reduce_and_p as reduce_and_p
from .reduction.reductions import reduce_max as reduce_max
from .reduction.reductions import reduce_max_p as reduce_max_p
from .reduction.reductions import reduce_min as reduce_min
from .reduction.reductions import reduce_min_p as reduce_min_p
from .reduction.reductions import reduce_or as reduce_or
from .reduction.reductions import reduce_or_p as reduce_or_p
from .reduction.reductions import reduce_prod as reduce_prod
from .reduction.reductions import reduce_prod_p as reduce_prod_p
from .reduction.reductions import reduce_sum as reduce_sum
from .reduction.reductions import reduce_xor as reduce_xor
from .reduction.reductions import reduce_xor_p as reduce_xor_p
from .shape.common_shapes import broadcast_shapes as broadcast_shapes
from .shape.filling import broadcasted_iota as broadcasted_iota
from .shape.filling import copy_p as copy_p
from .shape.filling import empty as empty
from .shape.filling import empty_p as empty_p
from .shape.filling import full as full
from .shape.filling import full_like as full_like
from .shape.filling import iota as iota
from .shape.filling import iota_p as iota_p
from .shape.joining import concatenate as concatenate
from .shape.joining import concatenate_p as concatenate_p
from .shape.joining import split as split
from .shape.joining import split_p as split_p
from .shape.joining import stack as stack
from .shape.joining import stack_p as stack_p
from .shape.joining import unstack as unstack
from .shape.joining import unstack_p as unstack_p
from .shape.shape_operations import broadcast as broadcast
from .shape.shape_operations import broadcast_in_dim as broadcast_in_dim
from .shape.shape_operations import broadcast_to_rank as broadcast_to_rank
from .shape.shape_operations import collapse as collapse
from .shape.shape_operations import expand_dims as expand_dims
from .shape.shape_operations import reshape as reshape
from .shape.shape_operations import reshape_p as reshape_p
from .shape.shape_operations import rev as rev
from .shape.shape_operations import rev_p as rev_p
from .shape.shape_operations import squeeze as squeeze
from .shape.shape_operations import squeeze_p as squeeze_p
from .shape.shape_operations import transpose as transpose
from .shape.slicing import index_in_dim as index_in_dim
from .shape.slicing import pad as pad
from .shape.slicing import pad_p as pad_p
from .shape.slicing import slice as slice
from .shape.slicing import slice_in_dim as slice_in_dim
from .shape.slicing import slice_p as slice_p

if _TYPE_CHECKING:
    from ..control.branches.branching import cond as cond
    from ..control.branches.branching import switch as switch
    from ..control.branches.cond_primitive import cond_p as cond_p
    from ..control.branches.platform_choice import platform_dependent as platform_dependent
    from ..control.composite import composite as composite
    from ..control.custom.custom_linear_solve import custom_linear_solve as custom_linear_solve
    from ..control.custom.custom_linear_solve import linear_solve_p as linear_solve_p
    from ..control.custom.custom_root import custom_root as custom_root
    from ..control.loops.scan_primitive import scan_p as scan_p
    from ..control.loops.scans import map as map
    from ..control.loops.scans import scan as scan
    from ..control.loops.while_loops import fori_loop as fori_loop
    from ..control.loops.while_loops import while_loop as while_loop
    from ..control.loops.while_primitive import while_p as while_p
    from ..control.scatter_apply import scatter_apply as scatter_apply
    from ..control.scatter_apply import scatter_apply_p as scatter_apply_p
    from ..lax.fourier.fft import FftType as FftType
    from ..lax.fourier.fft import fft as fft
    from ..lax.fourier.fft import fft_p as fft_p
    from ..parallel.exchange import all_to_all as all_to_all
    from ..parallel.exchange import all_to_all_p as all_to_all_p
    from ..parallel.exchange import pswapaxes as pswapaxes
    from ..parallel.gathering import all_gather as all_gather
    from ..parallel.gathering import all_gather_p as all_gather_p
    from ..parallel.gathering import psum_scatter as psum_scatter
    from ..parallel.permutation import pbroadcast as pbroadcast
    from ..parallel.permutation import ppermute as ppermute
    from ..parallel.permutation import ppermute_p as ppermute_p
    from ..parallel.permutation import pshuffle as pshuffle
    from ..parallel.positions import axis_index as axis_index
    from ..parallel.positions import axis_index_p as axis_index_p
    from ..parallel.positions import axis_size as axis_size
    from ..parallel.ragged_exchange import ragged_all_to_all as ragged_all_to_all
    from ..parallel.ragged_exchange import ragged_all_to_all_p as ragged_all_to_all_p
    from ..parallel.reductions import pmax as pmax
    from ..parallel.reductions import pmax_p as pmax_p
    from ..parallel.reductions import pmean as pmean
    from ..parallel.reductions import pmin as pmin
    from ..parallel.reductions import pmin_p as pmin_p
    from ..parallel.reductions import psum as psum
    from ..parallel.reductions import psum_p as psum_p
    from ..parallel.sending import precv as precv
    from ..parallel.sending import psend as psend
    from ..parallel.varying import pcast as pcast
    from . import linalg as linalg
    from .contraction.products import batch_matmul as batch_matmul
    from .contraction.products import dot as dot
    from .contraction.ragged import RaggedDotDimensionNumbers as RaggedDotDimensionNumbers
    from .contraction.ragged import ragged_dot as ragged_dot
    from .contraction.ragged import ragged_dot_general as ragged_dot_general
    from .contraction.scaled import scaled_dot as scaled_dot
    from .elementwise.bessel import bessel_i0e as bessel_i0e
    from .elementwise.bessel import bessel_i0e_p as bessel_i0e_p
    from .elementwise.bessel import bessel_i1e as bessel_i1e
    from .elementwise.bessel import bessel_i1e_p as bessel_i1e_p
    from .elementwise.clamping import clamp as clamp
    from .elementwise.clamping import clamp_p as clamp_p
    from .elementwise.hyperbolic import acosh as acosh
    from .elementwise.hyperbolic import acosh_p as acosh_p
    from .elementwise.hyperbolic import asinh as asinh
    from .elementwise.hyperbolic import asinh_p as asinh_p
    from .elementwise.hyperbolic import atanh as atanh
    from .elementwise.hyperbolic import atanh_p as atanh_p
    from .elementwise.hyperbolic import cosh as cosh
    from .elementwise.hyperbolic import cosh_p as cosh_p
    from .elementwise.hyperbolic import sinh as sinh
    from .elementwise.hyperbolic import sinh_p as sinh_p
    from .elementwise.hyperbolic import tanh as tanh
    from .elementwise.hyperbolic import tanh_p as tanh_p
    from .elementwise.incomplete_beta import betainc as betainc
    from .elementwise.incomplete_beta import (
        regularized_incomplete_beta_p as regularized_incomplete_beta_p,
    )
    from .elementwise.incomplete_gamma import igamma as igamma
    from .elementwise.incomplete_gamma import igamma_grad_a as igamma_grad_a
    from .elementwise.incomplete_gamma import igamma_grad_a_p as igamma_grad_a_p
    from .elementwise.incomplete_gamma import igamma_p as igamma_p
    from .elementwise.incomplete_gamma import igammac as igammac
    from .elementwise.incomplete_gamma import igammac_p as igammac_p
    from .elementwise.incomplete_gamma import random_gamma_grad as random_gamma_grad
    from .elementwise.integers import clz as clz
    from .elementwise.integers import clz_p as clz_p
    from .elementwise.integers import mulhi as mulhi
    from .elementwise.integers import mulhi_p as mulhi_p
    from .elementwise.integers import population_count as population_count
    from .elementwise.integers import population_count_p as population_count_p
    from .elementwise.magnitude import abs as abs
    from .elementwise.magnitude import abs_p as abs_p
    from .elementwise.magnitude import nextafter as nextafter
    from .elementwise.magnitude import nextafter_p as nextafter_p
    from .elementwise.magnitude import sign as sign
    from .elementwise.magnitude import sign_p as sign_p
    from .elementwise.polynomial import polynomial as polynomial
    from .elementwise.precision import reduce_precision as reduce_precision
    from .elementwise.precision import reduce_precision_p as reduce_precision_p
    from .elementwise.special import digamma as digamma
    from .elementwise.special import digamma_p as digamma_p
    from .elementwise.special import erf as erf
    from .elementwise.special import erf_inv as erf_inv
    from .elementwise.special import erf_inv_p as erf_inv_p
    from .elementwise.special import erf_p as erf_p
    from .elementwise.special import erfc as erfc
    from .elementwise.special import erfc_p as erfc_p
    from .elementwise.special import lgamma as lgamma
    from .elementwise.special import lgamma_p as lgamma_p
    from .elementwise.zeta import polygamma as polygamma
    from .elementwise.zeta import polygamma_p as polygamma_p
    from .elementwise.zeta import zeta as zeta
    from .elementwise.zeta import zeta_p as zeta_p
    from .indexing.index_take import index_take as index_take
    from .ordering.approximate import approx_max_k as approx_max_k
    from .ordering.approximate import approx_min_k as approx_min_k
    from .ordering.approximate import approx_top_k_p as approx_top_k_p
    from .random.bit_generator import RandomAlgorithm as RandomAlgorithm
    from .random.bit_generator import rng_bit_generator as rng_bit_generator
    from .random.bit_generator import rng_bit_generator_p as rng_bit_generator_p
    from .random.key_use import random_clone_p as random_clone_p
    from .random.random_bits import random_bits_p as random_bits_p
    from .random.random_bits import random_fold_in_p as random_fold_in_p
    from .random.random_bits import random_seed_p as random_seed_p
    from .random.random_bits import random_split_p as random_split_p
    from .random.random_bits import random_unwrap_p as random_unwrap_p
    from .random.random_bits import random_wrap_p as random_wrap_p
    from .random.threefry import threefry2x32_p as threefry2x32_p
    from .random.uniform import rng_uniform as rng_uniform
    from .random.uniform import rng_uniform_p as rng_uniform_p
    from .reduction.computed_reductions import reduce as reduce
    from .reduction.computed_reductions import reduce_p as reduce_p
    from .shape.dce_sink import dce_sink as dce_sink
    from .shape.dce_sink import dce_sink_p as dce_sink_p
    from .shape.likeness import broadcast_like as broadcast_like
    from .shape.likeness import dtype as dtype
    from .shape.likeness import shape_as_value as shape_as_value
    from .shape.likeness import stage as stage
    from .shape.likeness import stage_p as stage_p
    from .shape.optimization_barrier import optimization_barrier as optimization_barrier
    from .shape.optimization_barrier import optimization_barrier_p as optimization_barrier_p
    from .shape.sharding_constraint import sharding_constraint_p as sharding_constraint_p
    from .shape.sharding_constraint import with_sharding_constraint as with_sharding_constraint
    from .shape.stop_gradient import stop_gradient as stop_gradient
    from .shape.stop_gradient import stop_gradient_p as stop_gradient_p
    from .shape.tiling import tile as tile
    from .shape.tiling import tile_p as tile_p
    from .shape.tokens import after_all as after_all
    from .shape.tokens import after_all_p as after_all_p
    from .shape.tokens import create_token as create_token
    from .shape.tokens import create_token_p as create_token_p
    from .window.computed_windows import reduce_window as reduce_window
    from .window.computed_windows import reduce_window_p as reduce_window_p
    from .window.convolution import conv_general_dilated_p as conv_general_dilated_p
    from .window.convolution_axes import ConvDimensionNumbers as ConvDimensionNumbers
    from .window.convolution_axes import (
        ConvGeneralDilatedDimensionNumbers as ConvGeneralDilatedDimensionNumbers,
    )
    from .window.convolution_axes import conv_dimension_numbers as conv_dimension_numbers
    from .window.convolution_axes import conv_general_permutations as conv_general_permutations
    from .window.convolution_axes import conv_general_shape_tuple as conv_general_shape_tuple
    from .window.convolution_axes import conv_shape_tuple as conv_shape_tuple
    from .window.convolution_axes import conv_transpose_shape_tuple as conv_transpose_shape_tuple
    from .window.convolution_functions import conv as conv
    from .window.convolution_functions import conv_general_dilated as conv_general_dilated
    from .window.convolution_functions import (
        conv_general_dilated_local as conv_general_dilated_local,
    )
    from .window.convolution_functions import (
        conv_general_dilated_patches as conv_general_dilated_patches,
    )
    from .window.convolution_functions import conv_transpose as conv_transpose
    from .window.convolution_functions import conv_with_general_padding as conv_with_general_padding
    from .window.select_and_scatter import select_and_scatter_p as select_and_scatter_p
    from .window.window_geometry import padtype_to_pads as padtype_to_pads
    from .window.window_geometry import reduce_window_shape_tuple as reduce_window_shape_tuple
    from .window.window_reductions import reduce_window_max_p as reduce_window_max_p
    from .window.window_reductions import reduce_window_min_p as reduce_window_min_p
    from .window.window_reductions import reduce_window_sum_p as reduce_window_sum_p
    from .window.window_selection import select_and_gather_add_p as select_and_gather_add_p
    from .window.window_selection import select_and_scatter_add_p as select_and_scatter_add_p

__getattr__, __dir__ = _on_demand(
    __name__,
    ("linalg",),
    {
        "..control.branches.branching": ("cond", "switch"),
        "..control.branches.cond_primitive": ("cond_p",),
        "..control.branches.platform_choice": ("platform_dependent",),
        "..control.composite": ("composite",),
        "..control.custom.custom_linear_solve": ("custom_linear_solve", "linear_solve_p"),
        "..control.custom.custom_root": ("custom_root",),
        "..control.loops.scans": ("map", "scan"),
        "..control.loops.while_loops": ("fori_loop", "while_loop"),
        "..control.loops.scan_primitive": ("scan_p",),
        "..control.loops.while_primitive": ("while_p",),
        "..control.scatter_apply": ("scatter_apply", "scatter_apply_p"),
        "..lax.contraction.products": ("batch_matmul", "dot"),
        "..lax.contraction.ragged": (
            "RaggedDotDimensionNumbers",
            "ragged_dot",
            "ragged_dot_general",
        ),
        "..lax.contraction.scaled": ("scaled_dot",),
        "..lax.elementwise.bessel": ("bessel_i0e", "bessel_i0e_p", "bessel_i1e", "bessel_i1e_p"),
        "..lax.elementwise.clamping": ("clamp", "clamp_p"),
        "..lax.elementwise.hyperbolic": (
            "acosh",
            "acosh_p",
            "asinh",
            "asinh_p",
            "atanh",
            "atanh_p",
            "cosh",
            "cosh_p",
            "sinh",
            "sinh_p",
            "tanh",
            "tanh_p",
        ),
        "..lax.elementwise.incomplete_beta": ("betainc", "regularized_incomplete_beta_p"),
        "..lax.elementwise.incomplete_gamma": (
            "igamma",
            "igamma_grad_a",
            "igamma_grad_a_p",
            "igamma_p",
            "igammac",
            "igammac_p",
            "random_gamma_grad",
        ),
        "..lax.elementwise.integers": (
            "clz",
            "clz_p",
            "mulhi",
            "mulhi_p",
            "population_count",
            "population_count_p",
        ),
        "..lax.elementwise.magnitude": (
            "abs",
            "abs_p",
            "nextafter",
            "nextafter_p",
            "sign",
            "sign_p",
        ),
        "..lax.elementwise.polynomial": ("polynomial",),
        "..lax.elementwise.precision": ("reduce_precision", "reduce_precision_p"),
        "..lax.elementwise.special": (
            "digamma",
            "digamma_p",
            "erf",
            "erf_inv",
            "erf_inv_p",
            "erf_p",
            "erfc",
            "erfc_p",
            "lgamma",
            "lgamma_p",
        ),
        "..lax.elementwise.zeta": ("polygamma", "polygamma_p", "zeta", "zeta_p"),
        "..lax.fourier.fft": ("FftType", "fft", "fft_p"),
        "..lax.indexing.index_take": ("index_take",),
        "..lax.ordering.approximate": ("approx_max_k", "approx_min_k", "approx_top_k_p"),
        "..lax.random.bit_generator": (
            "RandomAlgorithm",
            "rng_bit_generator",
            "rng_bit_generator_p",
        ),
        "..lax.random.key_use": ("random_clone_p",),
        "..lax.random.random_bits": (
            "random_bits_p",
            "random_fold_in_p",
            "random_seed_p",
            "random_split_p",
            "random_unwrap_p",
            "random_wrap_p",
        ),
        "..lax.random.threefry": ("threefry2x32_p",),
        "..lax.random.uniform": ("rng_uniform", "rng_uniform_p"),
        "..lax.reduction.computed_reductions": ("reduce", "reduce_p"),
        "..lax.shape.dce_sink": ("dce_sink", "dce_sink_p"),
        "..lax.shape.likeness": ("broadcast_like", "dtype", "shape_as_value", "stage", "stage_p"),
        "..lax.shape.optimization_barrier": ("optimization_barrier", "optimization_barrier_p"),
        "..lax.shape.sharding_constraint": ("sharding_constraint_p", "with_sharding_constraint"),
        "..lax.shape.stop_gradient": ("stop_gradient", "stop_gradient_p"),
        "..lax.shape.tiling": ("tile", "tile_p"),
        "..lax.shape.tokens": ("after_all", "after_all_p", "create_token", "create_token_p"),
        "..lax.window.computed_windows": ("reduce_window", "reduce_window_p"),
        "..lax.window.convolution": ("conv_general_dilated_p",),
        "..lax.window.convolution_axes": (
            "ConvDimensionNumbers",
            "ConvGeneralDilatedDimensionNumbers",
            "conv_dimension_numbers",
            "conv_general_permutations",
            "conv_general_shape_tuple",
            "conv_shape_tuple",
            "conv_transpose_shape_tuple",
        ),
        "..lax.window.convolution_functions": (
            "conv",
            "conv_general_dilated",
            "conv_general_dilated_local",
            "conv_general_dilated_patches",
            "conv_transpose",
            "conv_with_general_padding",
        ),
        "..lax.window.select_and_scatter": ("select_and_scatter_p",),
        "..lax.window.window_geometry": ("padtype_to_pads", "reduce_window_shape_tuple"),
        "..lax.window.window_reductions": (
            "reduce_window_max_p",
            "reduce_window_min_p",
            "reduce_window_sum_p",
        ),
        "..lax.window.window_selection": ("select_and_gather_add_p", "select_and_scatter_add_p"),
        "..parallel.exchange": ("all_to_all", "all_to_all_p", "pswapaxes"),
        "..parallel.gathering": ("all_gather", "all_gather_p", "psum_scatter"),
        "..parallel.permutation": ("pbroadcast", "ppermute", "ppermute_p", "pshuffle"),
        "..parallel.positions": ("axis_index", "axis_index_p", "axis_size"),
        "..parallel.ragged_exchange": ("ragged_all_to_all", "ragged_all_to_all_p"),
        "..parallel.reductions": ("pmax", "pmax_p", "pmean", "pmin", "pmin_p", "psum", "psum_p"),
        "..parallel.sending": ("precv", "psend"),
        "..parallel.varying": ("pcast",),
    },
)
