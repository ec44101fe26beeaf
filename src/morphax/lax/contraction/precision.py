"""How exactly matrix products and convolutions are computed: precisions and algorithms.

A precision is a hint that matters on accelerators alone: there float32 operands may be rounded to a
shorter format before they are multiplied.  An algorithm is a demand: it names the format of the
operands' components, that of the sum, and the number of products per component.  The reference
engine computes as exactly as it can whatever is asked.

Reference: StableHLO specification, dot_general, ``precision_config`` and ``algorithm``.
"""

from __future__ import annotations

from enum import Enum
from typing import Any, NamedTuple, final

import ml_dtypes
import numpy as np

from ...config import current as current_config
from ...engines.xla.stablehlo import element_type
from ...util.messages import message
from ...util.records import dataclass


@final
class Precision(Enum):
    """How exactly an accelerator multiplies float32 numbers.

    `DEFAULT` is fastest, `HIGH` takes a few passes, `HIGHEST` is full float32.  On the CPU all are
    full float32.

    Example:
        >>> import morphax as jax
        >>> jax.lax.Precision("float32")
        Precision.HIGHEST
    """

    DEFAULT = 0
    HIGH = 1
    HIGHEST = 2

    @classmethod
    def _missing_(cls, value: object) -> Precision | None:
        return _PRECISION_NAMES.get(value)

    def __repr__(self) -> str:
        return f"Precision.{self.name}"

    def __str__(self) -> str:
        return self.name


_PRECISION_NAMES: dict[object, Precision] = {
    None: Precision.DEFAULT,
    "default": Precision.DEFAULT,
    "fastest": Precision.DEFAULT,
    "bfloat16": Precision.DEFAULT,
    "high": Precision.HIGH,
    "bfloat16_3x": Precision.HIGH,
    "tensorfloat32": Precision.HIGH,
    "highest": Precision.HIGHEST,
    "float32": Precision.HIGHEST,
}


@final
@dataclass(frozen=True)
class DotAlgorithm:
    """A demand on how a matrix product is computed.

    Args:
        lhs_precision_type, rhs_precision_type: dtype that the operands' components are rounded to.
        accumulation_type: dtype of the sum.
        lhs_component_count, rhs_component_count: components that an operand is split into.
        num_primitive_operations: products of components that are added.
        allow_imprecise_accumulation: whether the sum may be less exact than its dtype.
    """

    lhs_precision_type: Any
    rhs_precision_type: Any
    accumulation_type: Any
    lhs_component_count: int = 1
    rhs_component_count: int = 1
    num_primitive_operations: int = 1
    allow_imprecise_accumulation: bool = False


_TF32 = "tf32"  # A format of registers, without arrays of its own.
_F8 = "f8"  # Any 8-bit float: that of the operand.
_8_BIT_FLOATS = (
    ml_dtypes.float8_e4m3fn,
    ml_dtypes.float8_e5m2,
    ml_dtypes.float8_e5m2fnuz,
    ml_dtypes.float8_e4m3fnuz,
    ml_dtypes.float8_e4m3b11fnuz,
)
_ANY_OUTPUT = (np.float32, np.float16, ml_dtypes.bfloat16, *_8_BIT_FLOATS)
_BF16_OR_F32 = (ml_dtypes.bfloat16, np.float32)


class _Recipe(NamedTuple):
    """What a preset stands for."""

    component: Any
    accumulation: Any
    operands: tuple[Any, ...] | None
    operations: int = 1
    fast: bool = False


_RECIPES: dict[str, _Recipe | None] = {
    "DEFAULT": None,
    "ANY_F8_ANY_F8_F32": _Recipe(_F8, np.float32, None),
    "ANY_F8_ANY_F8_F32_FAST_ACCUM": _Recipe(_F8, np.float32, None, fast=True),
    "ANY_F8_ANY_F8_ANY": _Recipe(_F8, None, None),
    "ANY_F8_ANY_F8_ANY_FAST_ACCUM": _Recipe(_F8, None, None, fast=True),
    "F16_F16_F16": _Recipe(np.float16, np.float16, (np.float16,)),
    "F16_F16_F32": _Recipe(np.float16, np.float32, (np.float16,)),
    "BF16_BF16_BF16": _Recipe(ml_dtypes.bfloat16, ml_dtypes.bfloat16, _BF16_OR_F32),
    "BF16_BF16_F32": _Recipe(ml_dtypes.bfloat16, np.float32, _BF16_OR_F32),
    "BF16_BF16_F32_X3": _Recipe(ml_dtypes.bfloat16, np.float32, (np.float32,), 3),
    "BF16_BF16_F32_X6": _Recipe(ml_dtypes.bfloat16, np.float32, (np.float32,), 6),
    "BF16_BF16_F32_X9": _Recipe(ml_dtypes.bfloat16, np.float32, (np.float32,), 9),
    "TF32_TF32_F32": _Recipe(_TF32, np.float32, (np.float32,)),
    "TF32_TF32_F32_X3": _Recipe(_TF32, np.float32, (np.float32,), 3),
    "F32_F32_F32": _Recipe(np.float32, np.float32, (np.float32,)),
    "F64_F64_F64": _Recipe(np.float64, np.float64, (np.float64,)),
}


class _PresetBase(Enum):
    @property
    def _recipe(self) -> _Recipe | None:
        return _RECIPES[self.name]

    @property
    def supported_lhs_types(self) -> tuple[Any, ...] | None:
        """Dtypes that operands may have, `None` if that is left to the platform."""
        return self._recipe.operands if self._recipe is not None else None

    supported_rhs_types = supported_lhs_types

    @property
    def accumulation_type(self) -> Any:
        """Dtype of the sum, `None` if that is left to the platform."""
        return self._recipe.accumulation if self._recipe is not None else None

    def supported_output_types(self, lhs_dtype: Any, rhs_dtype: Any) -> tuple[Any, ...] | None:
        """Dtypes that the product of such operands may be given in, `None` if any."""
        recipe = self._recipe
        if recipe is None or recipe.accumulation is None:
            return None
        if recipe.component == _F8:
            return _ANY_OUTPUT
        own = lhs_dtype == recipe.component and recipe.operations == 1
        return tuple(dict.fromkeys((recipe.accumulation, *((recipe.component,) if own else ()))))

    def __repr__(self) -> str:
        return f"DotAlgorithmPreset.{self.name}"

    def __str__(self) -> str:
        return self.name


# Enum's functional form: the members are the rows of the table.
DotAlgorithmPreset = _PresetBase(  # type: ignore[call-arg]
    "DotAlgorithmPreset", list(_RECIPES), module=__name__, qualname="DotAlgorithmPreset"
)
DotAlgorithmPreset.__doc__ = "Algorithms of matrix products with a name: operands, then the sum."

_Named = Precision | str | None
PrecisionLike = _Named | tuple[_Named, _Named] | DotAlgorithm | _PresetBase
Canonical = tuple[Precision, Precision] | DotAlgorithm | _PresetBase | None


def canonical_precision(where: str, precision: PrecisionLike) -> Canonical:
    """The parameter of an operation for a precision as users write it.

    Args:
        where: function, for messages.
        precision: `None` (the configured one), a name, a `Precision`, a pair of these, or a
            `DotAlgorithm` or its preset.

    Raises:
        ValueError: if it is none of these.
    """
    if precision is None:
        configured = current_config().default_matmul_precision
        return None if configured is None else canonical_precision(where, configured)
    if isinstance(precision, (DotAlgorithm, _PresetBase)):
        return precision
    if isinstance(precision, str) and precision in _RECIPES:
        return DotAlgorithmPreset[precision]  # type: ignore[index]
    pair = precision if isinstance(precision, (tuple, list)) else (precision, precision)
    if len(pair) == 2 and all([p is None or isinstance(p, (str, Precision)) for p in pair]):
        try:
            return Precision(pair[0]), Precision(pair[1])
        except ValueError:
            pass
    names = sorted([name for name in _PRECISION_NAMES if isinstance(name, str)])
    raise ValueError(
        message(
            f"{where}, argument precision",
            given=f"{precision!r}",
            expected=f"None, a Precision, one of {', '.join(names)}, a pair of these, "
            "a DotAlgorithm or a DotAlgorithmPreset",
            fix='Write precision="highest" for full float32 products.',
        )
    )


def precision_attribute(precision: Canonical) -> str:
    """The StableHLO attribute ``precision_config``."""
    pair = precision if isinstance(precision, tuple) else (Precision.DEFAULT,) * 2
    return f"[{', '.join([f'#stablehlo<precision {p.name}>' for p in pair])}]"


def output_dtype(precision: Canonical, lhs_dtype: Any, rhs_dtype: Any, wanted: Any) -> Any:
    """The dtype that the algorithm gives its product in: `wanted` if it can."""
    if isinstance(precision, _PresetBase):
        supported = precision.supported_output_types(lhs_dtype, rhs_dtype)
        if supported is not None and not any([wanted == t for t in supported]):
            return np.dtype(supported[0])
    return wanted


def algorithm_attribute(precision: Canonical, lhs_dtype: Any, rhs_dtype: Any) -> str | None:
    """The StableHLO attribute ``algorithm``, `None` if there is no demand."""
    algorithm = precision
    if isinstance(precision, _PresetBase):
        recipe = precision._recipe
        if recipe is None:
            return None
        sides = (lhs_dtype, rhs_dtype) if recipe.component == _F8 else (recipe.component,) * 2
        algorithm = DotAlgorithm(
            *sides,
            np.float32 if recipe.accumulation is None else recipe.accumulation,
            num_primitive_operations=recipe.operations,
            allow_imprecise_accumulation=recipe.fast,
        )
    if not isinstance(algorithm, DotAlgorithm):
        return None
    return (
        f"#stablehlo.dot_algorithm<lhs_precision_type = {_format(algorithm.lhs_precision_type)}, "
        f"rhs_precision_type = {_format(algorithm.rhs_precision_type)}, "
        f"accumulation_type = {_format(algorithm.accumulation_type)}, "
        f"lhs_component_count = {algorithm.lhs_component_count}, "
        f"rhs_component_count = {algorithm.rhs_component_count}, "
        f"num_primitive_operations = {algorithm.num_primitive_operations}, "
        f"allow_imprecise_accumulation = {str(algorithm.allow_imprecise_accumulation).lower()}>"
    )


def _format(dtype: Any) -> str:
    return _TF32 if isinstance(dtype, str) and dtype == _TF32 else element_type(np.dtype(dtype))
