"""Eigenvalues and eigenvectors of matrices of no special form: A V = V diag(w)."""

from __future__ import annotations

import enum
from collections.abc import Sequence
from typing import Any, final

import numpy as np

from ...core import aval_of
from ...core.dims import Shape
from ...engines.xla.library_calls import flag, letter
from ...engines.xla.stablehlo import Builder, Value
from ...util.messages import message
from ..elementwise.arithmetic import add, div, neg
from ..elementwise.comparison import eq
from ..elementwise.complex import complex as complex_of
from ..elementwise.complex import complex_dtype, conj, imag, real, real_dtype
from ..elementwise.convert import convert
from ..elementwise.magnitude import abs as abs_
from ..elementwise.selection import select
from ..ground.linear_structure import reduce_sum, zeros
from ..reduction.argreductions import argmax
from ..shape.filling import broadcasted_iota
from ..shape.shape_operations import broadcast_in_dim
from .iterated import IteratedFactorisation, call_iterated
from .lapack import BLOCK, Memory, Plan, lapack
from .linear_systems import solved
from .magnitudes import extreme, in_units, unit_of
from .matrix_stacks import Result, adjoint, product, square
from .spectra import column_products, on_diagonal, reciprocal_gaps, scaled_columns, weighted


@final
class EigImplementation(enum.Enum):
    """Libraries for `eig`; on the CPU there is LAPACK."""

    CUSOLVER = "cusolver"
    MAGMA = "magma"
    LAPACK = "lapack"


@final
class Eig(IteratedFactorisation):
    """w of A V = V diag(w), and, where wanted, the left and the right eigenvectors, all complex.

    Reference: of the derivatives, M. B. Giles, "Collected matrix derivative results for forward
    and reverse mode algorithmic differentiation", 2008, section 3.1; C. Boeddeker et al., "On the
    computation of complex-valued gradients with application to statistically optimum beamforming",
    arXiv:1701.00392, 2017.
    """

    name = "eig"

    def results(
        self,
        dtype: Any,
        *shapes: Shape,
        compute_left_eigenvectors: bool,
        compute_right_eigenvectors: bool,
        **_: Any,
    ) -> list[Result]:
        size, dtype = square(self.name, shapes[0]), complex_dtype(dtype)
        sides = compute_left_eigenvectors + compute_right_eigenvectors
        return [((size,), dtype), *[((size, size), dtype)] * sides]

    def evaluate_finite(
        self,
        x: Any,
        *,
        compute_left_eigenvectors: bool,
        compute_right_eigenvectors: bool,
        **_: Any,
    ) -> list[Any]:
        unit = unit_of(x)
        *w, left, right, failed = lapack("geev", x.dtype)(
            x if unit == 1 else x / unit,
            compute_vl=compute_left_eigenvectors,
            compute_vr=compute_right_eigenvectors,
            lwork=(BLOCK + 2) * len(x),
        )
        sides = [left] * compute_left_eigenvectors + [right] * compute_right_eigenvectors
        if unit != 1:
            w = [part * unit for part in w]
        if len(w) == 1:
            return [*w, *sides, failed]
        return [w[0] + 1j * w[1], *[_unpacked(side, w[1]) for side in sides], failed]

    def plan_finite(
        self,
        plan: Plan,
        x: Memory,
        *,
        compute_left_eigenvectors: bool,
        compute_right_eigenvectors: bool,
        **_: Any,
    ) -> tuple[list[Memory], Memory]:
        dtype, size, info = x.dtype, x.shape[0], plan.info()
        is_complex = dtype.kind == "c"
        unit = plan.in_units(x, extreme(dtype))
        matrix = plan.transposed(x)
        flags = (compute_left_eigenvectors, compute_right_eigenvectors)
        sides = [plan.memory(dtype, *((size, size) if wanted else (1, 1))) for wanted in flags]
        w = [plan.memory(dtype, size) for _ in range(1 if is_complex else 2)]
        work = plan.memory(dtype, (BLOCK + 2) * size)
        rest = [plan.memory(real_dtype(dtype), 2 * size)] if is_complex else []
        letters = ["V" if wanted else "N" for wanted in flags]
        vectors = [argument for side in sides for argument in (side, side.shape[0])]
        found = (*w, *vectors, work, work.size, *rest, info)
        plan.call("geev", dtype, *letters, size, matrix, size, *found)
        for part in w:
            plan.times(part, unit)
        chosen = [side for side, wanted in zip(sides, flags, strict=True) if wanted]
        if is_complex:
            return [*w, *[plan.transposed(side) for side in chosen]], info
        return [plan.complex_of(*w), *[plan.vectors_of(side, w[1]) for side in chosen]], info

    def lower(
        self,
        b: Builder,
        outs: Any,
        *values: Value,
        compute_left_eigenvectors: bool,
        compute_right_eigenvectors: bool,
        **_: Any,
    ) -> list[Value]:
        (x,) = values
        if not x.aval.size:
            return [b.full(0, aval) for aval in outs]
        w = outs[0]
        is_complex = x.aval.dtype.kind == "c"
        parts = [w] if is_complex else [w.update(dtype=x.aval.dtype)] * 2
        sides = [x.aval.update(dtype=w.dtype)] * 2
        flags = [
            letter("V" if wanted else "N")
            for wanted in (compute_left_eigenvectors, compute_right_eigenvectors)
        ]
        x, unit = in_units(b, x)
        function, options = "geev", dict(zip(("compute_left", "compute_right"), flags, strict=True))
        if b.module.platform == "cuda":
            function = "cuhybrid_eig_comp" if is_complex else "cuhybrid_eig_real"
            options = {
                "left": flag(compute_left_eigenvectors),
                "right": flag(compute_right_eigenvectors),
                "magma": '"auto"',
            }
        *found, left, right = call_iterated(b, function, [*parts, *sides], x, {}, **options)
        scale = b.broadcast(unit, w.update(dtype=unit.aval.dtype), range(w.ndim - 1))
        if is_complex:
            scale = b.op("stablehlo.complex", w, scale, b.full(0, scale.aval))
        found = [b.elementwise("stablehlo.multiply", v.aval, v, scale) for v in found]
        eigenvalues = found[0] if is_complex else b.op("stablehlo.complex", w, *found)
        chosen = [left] * compute_left_eigenvectors + [right] * compute_right_eigenvectors
        return [eigenvalues, *chosen]

    def jvp(
        self,
        primals: Sequence[Any],
        tangents: Sequence[Any],
        *,
        compute_left_eigenvectors: bool,
        compute_right_eigenvectors: bool,
        enable_eigvec_derivs: bool,
    ) -> Any:
        """dw = diag(V⁻¹ dA V), and the vectors as `_vectors_moved` says."""
        if (compute_left_eigenvectors or compute_right_eigenvectors) and not enable_eigvec_derivs:
            raise NotImplementedError(_NO_VECTOR_DERIVATIVE)
        w, *left, right = self.bind(
            *primals,
            compute_left_eigenvectors=compute_left_eigenvectors,
            compute_right_eigenvectors=True,
            enable_eigvec_derivs=True,
        )
        change = convert(tangents[0], aval_of(w).dtype)
        inner = solved(right, product(change, right))
        stack = aval_of(inner).ndim - 2
        aval = aval_of(inner)
        diagonal = select(on_diagonal(aval), inner, zeros(aval))
        outs, moved = [w], [reduce_sum(diagonal, (stack,))]
        if compute_left_eigenvectors:
            # They are the right ones of Aᴴ.
            opposite = solved(left[0], product(adjoint(change), left[0]))
            outs.append(left[0])
            moved.append(_vectors_moved(conj(w), left[0], opposite))
        if compute_right_eigenvectors:
            outs.append(right)
            moved.append(_vectors_moved(w, right, inner))
        return outs, moved


_NO_VECTOR_DERIVATIVE = message(
    "differentiation of eig",
    given="eigenvectors of a matrix of no special form",
    expected="eigenvalues only: vectors have derivatives only if all eigenvalues differ and one "
    "element of each vector is largest",
    fix="Use jnp.linalg.eigvals, or pass enable_eigvec_derivs=True to lax.linalg.eig.",
)


def _unpacked(vectors: Any, imaginary: Any) -> Any:
    """Complex vectors: a conjugate pair of them is kept as its real and its imaginary part."""
    found = vectors.astype(complex_dtype(vectors.dtype))
    *member, first = np.nonzero(imaginary > 0)
    if first.size:
        columns, real = [x.swapaxes(-1, -2) for x in (found, vectors)]
        pair = columns[(*member, first)] + 1j * real[(*member, first + 1)]
        columns[(*member, first)], columns[(*member, first + 1)] = pair, pair.conj()
    return found


def _vectors_moved(w: Any, v: Any, inner: Any) -> Any:
    """dV = V (F ∘ V⁻¹ dA V) + V diag(c), with F[i, j] = 1 / (w[j] − w[i]).

    The numbers c keep each vector of norm 1, and its largest element real, as LAPACK has them.
    """
    moved = product(v, weighted(inner, reciprocal_gaps(w)))
    aval = aval_of(v)
    if not aval.size:
        return moved
    rows = aval.ndim - 2
    largest = argmax(abs_(v), rows, np.int32)
    axes = (*range(rows), rows + 1)
    places = broadcasted_iota(np.int32, aval.shape, rows)
    is_largest = eq(places, broadcast_in_dim(largest, aval.shape, axes))
    pivots, turns = [
        reduce_sum(select(is_largest, x, zeros(aval_of(x))), (rows,))
        for x in (real(v), imag(moved))
    ]
    stretched = real(column_products(v, moved))
    return add(moved, scaled_columns(v, neg(complex_of(stretched, div(turns, pivots)))))


eig_p = Eig()


def eig(
    x: Any,
    *,
    compute_left_eigenvectors: bool = True,
    compute_right_eigenvectors: bool = True,
    enable_eigvec_derivs: bool = False,
    implementation: EigImplementation | None = None,
    use_magma: bool | None = None,
) -> list[Any]:
    """Eigenvalues w, left eigenvectors uᴴ A = w uᴴ and right eigenvectors A v = w v.

    Each vector has norm 1, and its largest element is real.  Derivatives of eigenvalues are finite
    unless the matrix is defective; where two are equal, only functions that treat them alike are
    differentiable.

    Args:
        x: matrices of shape `(..., n, n)`: float32, float64, complex64 or complex128.
        compute_left_eigenvectors: whether they are returned.
        compute_right_eigenvectors: whether they are returned.
        enable_eigvec_derivs: whether vectors may be differentiated: they have derivatives if all
            eigenvalues differ and no other element of a vector is as large as its largest; no
            program can tell in advance.
        implementation: `None` or `EigImplementation.LAPACK`.
        use_magma: `None` or `False`; MAGMA is not for the CPU.

    Returns:
        `[w, left, right]`, complex, of shapes `(..., n)` and `(..., n, n)`, vectors as columns;
        without those that are not wanted.  NaN for matrices that are not finite.

    Raises:
        ShapeError: if the matrices are not square.
        ValueError: for an implementation that does not run on the CPU.
        NotImplementedError: for derivatives of vectors, unless they are enabled.

    Reference:
        LAPACK, geev.

    Example:
        >>> import morphax.numpy as jnp
        >>> from morphax import lax
        >>> x = jnp.array([[0.0, 1.0], [-1.0, 0.0]])
        >>> w, left, right = lax.linalg.eig(x)
        >>> w
        Array([0.+1.j, 0.-1.j], dtype=complex64)
    """
    if use_magma or implementation not in (None, EigImplementation.LAPACK):
        raise ValueError(
            message(
                "lax.linalg.eig, argument implementation",
                given=f"implementation={implementation!r}, use_magma={use_magma!r}",
                expected="EigImplementation.LAPACK: the others are not for the CPU",
                fix="Leave the arguments out.",
            )
        )
    found = eig_p.bind(
        x,
        compute_left_eigenvectors=bool(compute_left_eigenvectors),
        compute_right_eigenvectors=bool(compute_right_eigenvectors),
        enable_eigvec_derivs=bool(enable_eigvec_derivs),
    )
    return list(found)
