"""General products whose operands are rounded to narrow dtypes, block by block.

A block is a run of elements along the contracted axes, and has a scale of its own:

- ``"mxfp8"``: 32 elements in float8_e4m3fn; the scale is the least power of two, a float8_e8m0fnu,
  by which none of them overflows;
- ``"nvfp4"``: 16 elements in float4_e2m1fn; the scale is a float8_e4m3fn, beside one for all.

Elements are rounded to the values of these dtypes and multiplied in float32, so results are those
that hardware for them gives up to the order of sums.

References: Rouhani et al., "Microscaling data formats for deep learning", arXiv:2310.10537, 2023;
NVIDIA, "Pretraining large language models with NVFP4", arXiv:2509.25149, 2025.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Literal, final

import ml_dtypes
import numpy as np

from .. import dtypes, lax
from .. import numpy as jnp
from ..control.custom.custom_vjp import custom_vjp
from ..errors import ShapeError
from ..numpy.operands import as_array
from ..transforms.make_jaxpr import eval_shape
from ..util.messages import message
from ..util.records import dataclass

_LARGEST_FLOAT8, _LARGEST_FLOAT4 = 448.0, 6.0
# Of a float32 that is no denormal number.
_LEAST_EXPONENT, _GREATEST_EXPONENT = -126, 127
_RESULTS = tuple(map(np.dtype, ("float32", "float16", ml_dtypes.bfloat16)))


@final
@dataclass
class BlockScaleConfig:
    """How an operand is rounded: made by `get_scaled_dot_general_config`.

    Args:
        mode: ``"mxfp8"`` or ``"nvfp4"``.
        block_size: how many elements share a scale.
        data_type, scale_type: dtypes of elements and scales.
        global_scale: array of one number, which all elements are divided by first; or `None`.
        infer_only: whether derivatives are refused.
    """

    mode: str
    block_size: int
    data_type: Any
    scale_type: Any
    global_scale: Any
    infer_only: bool


def get_scaled_dot_general_config(
    mode: Literal["nvfp4", "mxfp8"], global_scale: Any = None
) -> BlockScaleConfig:
    """How `scaled_dot_general` is to round an operand.

    Args:
        mode: see `scaled_dot_general`.
        global_scale: for ``"nvfp4"``, array of one number; 1 by default.

    Raises:
        ValueError: there is no such mode.

    Example:
        >>> import morphax as jax
        >>> jax.nn.get_scaled_dot_general_config("mxfp8").block_size
        32
    """
    if mode == "nvfp4":
        scale = jnp.ones(1, np.float32) if global_scale is None else global_scale
        kinds = ml_dtypes.float4_e2m1fn, ml_dtypes.float8_e4m3fn
        return BlockScaleConfig(mode, 16, *kinds, scale, False)
    if mode == "mxfp8":
        kinds = ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e8m0fnu
        return BlockScaleConfig(mode, 32, *kinds, None, False)
    raise ValueError(
        message(
            "nn.get_scaled_dot_general_config, argument mode",
            given=f"{mode!r}",
            expected="'nvfp4' or 'mxfp8'",
            fix="Choose one of them.",
        )
    )


def scaled_dot_general(
    lhs: Any,
    rhs: Any,
    dimension_numbers: Any,
    preferred_element_type: Any = np.float32,
    configs: Sequence[BlockScaleConfig] | None = None,
    implementation: str | None = None,
) -> Any:
    """`lax.dot_general` of operands that are rounded to narrow dtypes, with scales for blocks.

    Its derivative is that of the product without rounding, and computed by such products: the
    cotangents are rounded too.

    Args:
        lhs, rhs: arrays of floating dtypes.
        dimension_numbers: `((lhs_contracted, rhs_contracted), (lhs_batch, rhs_batch))`.
        preferred_element_type: of the result: float32, float16 or bfloat16.
        configs: three of `get_scaled_dot_general_config`, for `lhs`, `rhs` and cotangents; `None`
            for `lax.dot_general` itself.
        implementation: without meaning.

    Returns:
        Array of the batch axes, the free axes of `lhs`, and those of `rhs`.  Blocks with NaN or ∞
        become NaN.

    Raises:
        ShapeError: the contracted elements are no multiple of the block size.
        TypeError: the dtype of the result is none of these.
        ValueError: there are not three configs.

    Example:
        >>> import morphax as jax, morphax.numpy as jnp
        >>> configs = [jax.nn.get_scaled_dot_general_config("mxfp8")] * 3
        >>> x = jnp.ones((2, 32))
        >>> jax.nn.scaled_dot_general(x, x, (((1,), (1,)), ((), ())), configs=configs)
        Array([[32., 32.],
               [32., 32.]], dtype=float32)
    """
    lhs, rhs = [as_array("nn.scaled_dot_general", x) for x in (lhs, rhs)]
    if configs is None:
        return lax.dot_general(
            lhs, rhs, dimension_numbers, preferred_element_type=preferred_element_type
        )
    target = dtypes.requested(preferred_element_type, "nn.scaled_dot_general")
    if target not in _RESULTS:
        expected = "float32, float16 or bfloat16"
        raise _refused(TypeError, "preferred_element_type", str(target), expected)
    if len(configs) != 3:
        expected = "three: for lhs, rhs and the cotangents"
        raise _refused(ValueError, "configs", f"{len(configs)} configs", expected)
    # This finds operands that do not fit, too.
    out = eval_shape(lambda a, b: lax.dot_general(a, b, dimension_numbers), lhs, rhs)
    contracted, batches = dimension_numbers
    a, b = [_in_rows(*given) for given in zip((lhs, rhs), batches, contracted, strict=True)]
    if any([a.aval.shape[2] % config.block_size for config in configs[:2]]):
        expected = "a multiple of the block sizes as number of contracted elements"
        raise _refused(ShapeError, "lhs", f"{lhs.aval} and {rhs.aval}", expected)
    found = lax.reshape(_product(configs)(a, b), out.shape)
    return lax.convert_element_type(found, target)


def _in_rows(x: Any, batch: Sequence[int], contracted: Sequence[int]) -> Any:
    """`x` as an array (B, R, K) of batch, free and contracted elements."""
    free = [axis for axis in range(x.aval.ndim) if axis not in (*batch, *contracted)]
    groups = tuple(batch), tuple(free), tuple(contracted)
    sizes = [math.prod([x.aval.shape[axis] for axis in group]) for group in groups]
    return lax.reshape(lax.transpose(x, sum(groups, ())), sizes)


def _product(configs: Sequence[BlockScaleConfig]) -> Any:
    """A Bᵀ for stacks (B, M, K) and (B, N, K), rounded; its derivative rounds alike."""
    left, right, back = configs

    @custom_vjp
    def product(a: Any, b: Any) -> Any:
        return _of_rounded(a, left, b, right)

    def forward(a: Any, b: Any) -> Any:
        return product(a, b), (a, b)

    def backward(operands: Any, ct: Any) -> Any:
        if any([config.infer_only for config in configs]):
            expected = "configs with infer_only=False"
            raise _refused(TypeError, "configs", "derivatives where infer_only=True", expected)
        a, b = operands
        # The contracted axis is another one, and so are the blocks.
        a_bar = _of_rounded(ct, back, jnp.matrix_transpose(b), right)
        b_bar = _of_rounded(jnp.matrix_transpose(ct), back, jnp.matrix_transpose(a), left)
        return [lax.convert_element_type(x, o.aval.dtype) for x, o in ((a_bar, a), (b_bar, b))]

    product.defvjp(forward, lambda operands, ct: tuple(backward(operands, ct)))
    return product


def _of_rounded(a: Any, config: BlockScaleConfig, b: Any, other: BlockScaleConfig) -> Any:
    return lax.dot_general(_rounded(a, config), _rounded(b, other), (((2,), (2,)), ((0,), (0,))))


def _rounded(x: Any, config: BlockScaleConfig) -> Any:
    """The rows (B, R, K) as float32 numbers that `config` has; the last block may be short."""
    rows, size = x.aval.shape[:2], x.aval.shape[2]
    x = lax.convert_element_type(x, np.float32)
    count = -(-size // config.block_size)
    padded = jnp.pad(x, ((0, 0), (0, 0), (0, count * config.block_size - size)))
    blocks = lax.reshape(padded, (*rows, count, config.block_size))
    shared = 1 if config.global_scale is None else config.global_scale
    shared = jnp.reshape(jnp.asarray(shared, np.float32), ())
    blocks = blocks / shared
    largest = jnp.max(jnp.abs(blocks), axis=-1, keepdims=True, initial=0)
    if config.mode == "mxfp8":
        limit, scale = _LARGEST_FLOAT8, _power_of_two(largest / np.float32(_LARGEST_FLOAT8))
    else:
        limit = _LARGEST_FLOAT4
        scale = jnp.clip(largest / np.float32(_LARGEST_FLOAT4), 0, _LARGEST_FLOAT8)
        scale = lax.convert_element_type(lax.convert_element_type(scale, config.scale_type), "f4")
    scale = jnp.where(jnp.isfinite(largest), scale, np.float32(np.nan))
    elements = jnp.clip(blocks / jnp.where(scale == 0, 1, scale), -limit, limit)
    elements = lax.convert_element_type(elements, config.data_type)
    found = lax.convert_element_type(elements, np.float32) * scale * shared
    return lax.reshape(found, padded.aval.shape)[..., :size]


def _power_of_two(x: Any) -> Any:
    """The least power of two that is not less than x ≥ 0."""
    fraction, exponent = jnp.frexp(x)
    exponent = jnp.where(fraction == 0.5, exponent - 1, exponent)
    exponent = jnp.clip(exponent, _LEAST_EXPONENT, _GREATEST_EXPONENT)
    return jnp.ldexp(np.float32(1), jnp.where(x == 0, _LEAST_EXPONENT, exponent))


def _refused(error: type[Exception], argument: str, given: str, expected: str) -> Exception:
    where, fix = f"nn.scaled_dot_general, argument {argument}", "Pass None for an exact product."
    return error(message(where, given=given, expected=expected, fix=fix))
