"""User-defined primitives for the tests: x y + z, and one with two results."""

from __future__ import annotations

from typing import Any

import numpy as np

from morphax.core import ShapedArray
from morphax.extend.core import Primitive
from morphax.extend.mlir.dialects import hlo
from morphax.interpreters import ad, batching, mlir


def multiply_add_primitive(name: str = "multiply_add") -> Primitive:
    """A fresh primitive x y + z with every rule."""
    p = Primitive(name)
    p.def_impl(lambda x, y, z: np.add(np.multiply(x, y), z))
    p.def_abstract_eval(lambda x, y, z: ShapedArray(x.shape, x.dtype))
    mlir.register_lowering(p, lambda ctx, x, y, z: [hlo.AddOp(hlo.MulOp(x, y), z).result])

    def jvp(primals: Any, tangents: Any) -> Any:
        x, y, z = primals
        dx, dy, dz = map(ad.instantiate_zeros, tangents)
        return p.bind(x, y, z), p.bind(dx, y, p.bind(x, dy, dz))

    def transpose(ct: Any, x: Any, y: Any, z: Any) -> Any:
        if ad.is_undefined_primal(x):
            return p.bind(ct, y, ad.zeros_like_aval(x.aval)), None, ct
        return None, p.bind(x, ct, ad.zeros_like_aval(y.aval)), ct

    ad.primitive_jvps[p] = jvp

    def batch(operands: Any, dims: Any) -> Any:
        sizes = [np.shape(x)[d] for x, d in zip(operands, dims, strict=True) if d is not None]
        first = [
            batching.bdim_at_front(x, d, sizes[0]) for x, d in zip(operands, dims, strict=True)
        ]
        return p.bind(*first), 0

    ad.primitive_transposes[p] = transpose
    batching.primitive_batchers[p] = batch
    return p


def halves_primitive() -> Primitive:
    """A fresh primitive with two results, (x/2, scale·x), linear in x."""
    p = Primitive("halves")
    p.multiple_results = True
    p.def_impl(lambda x, *, scale: [np.asarray(x) / 2, np.asarray(x) * scale])
    p.def_abstract_eval(lambda x, *, scale: [x, x])

    def lowering(ctx: Any, x: Any, *, scale: float) -> Any:
        out = ctx.avals_out[0]
        full = [
            mlir.ir_constant(np.full(out.shape, value, out.dtype), aval=out)
            for value in (0.5, scale)
        ]
        return [hlo.MulOp(x, value).result for value in full]

    mlir.register_lowering(p, lowering)

    def transpose(cts: Any, x: Any, *, scale: float) -> Any:
        half, scaled = map(ad.instantiate_zeros, cts)
        return [ad.add_tangents(p.bind(half, scale=1.0)[0], p.bind(scaled, scale=scale)[1])]

    ad.deflinear2(p, transpose)
    batching.defvectorized(p)
    return p
