"""Programs that jaxlib before 0.11 miscompiles on the CPU unless an option avoids it.

A `dot_general` fused with a following reduction reads wrong rows in the last block: of n results,
the last few belong to rows shifted by some multiple of 32.  Which values come out, and from which
size on, depends on the machine, so only the right ones are compared.  Both operands must be
parameters of the program; a reduction of the product itself fails on 0.10.1 and 0.10.2, one of its
square on 0.10.2.

Reference: jax issue 39103.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from morphax import jit, lax, vmap
from morphax.array import Array
from morphax.core import DebugInfo, ShapedArray
from morphax.engines.xla.compile_options import compile_options
from morphax.engines.xla.executable import Executable
from morphax.engines.xla.library_fusions import FLAG
from morphax.engines.xla.lowering import LoweredProgram
from morphax.runtime.client import xla_client
from morphax.runtime.devices import default_device
from morphax.runtime.places import Places
from morphax.runtime.sharding import default_place

SIZES = (16385, 32769, 40000)
SHAPES = ((3, 3), (2, 3), (8, 8))
VARIANTS = {"itself": ("", "%y"), "square": ("%q = stablehlo.multiply %y, %y : tensor<{y}>", "%q")}
FIRST_VERSION_WITHOUT_THE_FAULT = 495


def program(rows: int, columns: int, n: int, operation: str, variant: str) -> LoweredProgram:
    """r[i] = Σⱼ or maxⱼ of y[j, i], or of its square, where y = m xᵀ."""
    line, reduced = VARIANTS[variant]
    y = f"{rows}x{n}xf32"
    start = "0.0" if operation == "add" else "0xFF800000"
    text = f"""
func.func @main(%x: tensor<{n}x{columns}xf32>, %m: tensor<{rows}x{columns}xf32>)
    -> tensor<{n}xf32> {{
  %y = stablehlo.dot_general %m, %x, contracting_dims = [1] x [1]
      : (tensor<{rows}x{columns}xf32>, tensor<{n}x{columns}xf32>) -> tensor<{y}>
  {line.format(y=y)}
  %z = stablehlo.constant dense<{start}> : tensor<f32>
  %r = stablehlo.reduce({reduced} init: %z) applies stablehlo.{operation} across dimensions = [0]
      : (tensor<{y}>, tensor<f32>) -> tensor<{n}xf32>
  return %r : tensor<{n}xf32>
}}
"""
    out = (ShapedArray((n,), np.float32),)
    return LoweredProgram(
        name="main",
        text=text,
        in_avals=(
            ShapedArray((n, columns), np.float32),
            ShapedArray((rows, columns), np.float32),
        ),
        out_avals=out,
        kept_operands=(0, 1),
        constant_operands=(),
        physical_out_avals=out,
        places=Places.all_at(default_place(), 2, 1),
        info=DebugInfo("jit", "main"),
        forwarded=(None,),
        callbacks=(),
        fuses_reductions=True,
    )


def operands(rows: int, columns: int, n: int) -> tuple[np.ndarray[Any, Any], ...]:
    """Rows (i, 0, …, 0), and a matrix with ones on its diagonal: then Σⱼ y[j, i] = i."""
    x = np.zeros((n, columns), np.float32)
    x[:, 0] = np.arange(n)
    return x, np.eye(rows, columns, dtype=np.float32)


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("operation", ["add", "maximum"])
@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize(("rows", "columns"), SHAPES)
def test_reduction_of_a_product(
    rows: int, columns: int, n: int, operation: str, variant: str
) -> None:
    executable = Executable.compile(program(rows, columns, n, operation, variant))
    (result,) = executable.run([Array.from_host(v) for v in operands(rows, columns, n)], False)
    expected = np.arange(n, dtype=np.float32)
    np.testing.assert_array_equal(
        result.to_host(), expected**2 if variant == "square" else expected
    )


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("variant", VARIANTS)
def test_through_the_frontend(variant: str, n: int) -> None:
    def of_row(m: Any, row: Any) -> Any:
        y = lax.dot(m, row)
        return lax.reduce_sum(lax.mul(y, y) if variant == "square" else y, (0,))

    x, m = operands(3, 3, n)
    result = jit(vmap(of_row, in_axes=(None, 0)))(m, x).to_host()
    expected = np.arange(n, dtype=np.float32)
    np.testing.assert_array_equal(result, expected**2 if variant == "square" else expected)


def test_every_compilation_for_the_cpu_avoids_the_fault() -> None:
    chosen = dict(compile_options(default_device()).env_option_overrides)
    if xla_client()._version >= FIRST_VERSION_WITHOUT_THE_FAULT:
        assert FLAG not in chosen
    else:
        assert "REDUCE" not in chosen[FLAG]
        assert "INDIVIDUAL_DOT" in chosen[FLAG]
