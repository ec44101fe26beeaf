"""Singular values and vectors: A = U diag(s) Vᴴ."""

from __future__ import annotations

import enum
from collections.abc import Sequence
from typing import Any, final

import numpy as np

from ...core import aval_of
from ...core.dims import Shape, min_dim
from ...engines.xla.library_calls import letter
from ...engines.xla.stablehlo import Builder, Value
from ...runtime.devices import default_platform
from ...util.messages import message
from ..elementwise.arithmetic import add, div, mul, sub
from ..elementwise.complex import complex as complex_of
from ..elementwise.complex import imag, real_dtype
from ..ground.families import compare
from ..ground.linear_structure import zeros
from ..shape.filling import full
from .iterated import IteratedFactorisation, call_iterated
from .lapack import BLOCK, Memory, Plan, lapack
from .lowered import INT32
from .matrix_stacks import Result, adjoint, product
from .spectra import (
    checked_subset,
    column_products,
    part,
    real_part,
    reciprocal_gaps,
    reciprocal_sums,
    scaled_columns,
    weighted,
)
from .svd_cuda import lower_svd


@final
class SvdAlgorithm(enum.Enum):
    """Algorithms for `svd`; on the CPU divide and conquer, which is the default, and QR.

    CUDA has QR, rotations (Jacobi) and polar decompositions; rotations are its default for matrices
    of up to 1024 rows and columns.
    """

    DEFAULT = "default"
    QR = "QR"
    JACOBI = "Jacobi"
    POLAR = "polar"
    DIVIDE_AND_CONQUER = "divide_and_conquer"


@final
class Svd(IteratedFactorisation):
    """s, falling, and U and Vᴴ if `compute_uv`, of A = U diag(s) Vᴴ.

    Reference: of the derivatives, J. Townsend, "Differentiating the singular value decomposition",
    2016; for complex matrices Z.-Q. Wan and S.-X. Zhang, "Automatic differentiation for complex
    valued SVD", arXiv:1909.02659, 2019.
    """

    name = "svd"

    def results(
        self, dtype: Any, *shapes: Shape, compute_uv: bool, full_matrices: bool, **_: Any
    ) -> list[Result]:
        m, n = shapes[0]
        rank = min_dim(m, n)
        values = ((rank,), real_dtype(dtype))
        if not compute_uv:
            return [values]
        left, right = (m, n) if full_matrices else (rank, rank)
        return [values, ((m, left), dtype), ((right, n), dtype)]

    def evaluate_finite(
        self, x: Any, *, compute_uv: bool, full_matrices: bool, algorithm: SvdAlgorithm
    ) -> list[Any]:
        function = _function(algorithm)
        options: dict[str, Any] = {"compute_uv": compute_uv, "full_matrices": full_matrices}
        if max(x.shape) > BLOCK:
            needed, _ = lapack(f"{function}_lwork", x.dtype)(*x.shape, **options)
            options["lwork"] = int(needed.real)
        u, s, vh, failed = lapack(function, x.dtype)(x, **options)
        return [s, u, vh, failed] if compute_uv else [s, failed]

    def plan_finite(
        self, plan: Plan, x: Memory, *, compute_uv: bool, full_matrices: bool, algorithm: Any
    ) -> tuple[list[Memory], Memory]:
        function = _function(algorithm)
        dtype, (m, n), info = x.dtype, x.shape, plan.info()
        low, high = min(m, n), max(m, n)
        s = plan.memory(real_dtype(dtype), low)
        sides = ((m, n) if full_matrices else (low, low)) if compute_uv else (1, 1)
        u, vh = plan.memory(dtype, sides[0], m), plan.memory(dtype, n, sides[1])
        needed, _ = lapack(f"{function}_lwork", dtype)(
            m, n, compute_uv=compute_uv, full_matrices=full_matrices
        )
        work = plan.memory(dtype, int(needed.real))
        rest = []
        if dtype.kind == "c":
            numbers = 5 * low + low * max(5 * low + 2, 2 * (high + low) + 1)
            rest = [plan.memory(s.dtype, numbers)]
        mode = ("A" if full_matrices else "S") if compute_uv else "N"
        letters = [mode]
        if algorithm is SvdAlgorithm.QR:
            letters = [mode, mode]
        else:
            rest.append(plan.memory(INT32, 8 * low))
        matrices = (plan.transposed(x), m, s, u, m, vh, sides[1])
        plan.call(function, dtype, *letters, m, n, *matrices, work, work.size, *rest, info)
        return [s, plan.transposed(u), plan.transposed(vh)] if compute_uv else [s], info

    def lower(
        self,
        b: Builder,
        out: Any,
        *values: Value,
        compute_uv: bool,
        full_matrices: bool,
        algorithm: SvdAlgorithm,
    ) -> list[Value]:
        (x,) = values
        (*stack, m, n), rank = x.aval.shape, min_dim(*x.aval.shape[-2:])
        if not x.aval.size:
            return [b.full(0, out[0]), *[_identity(b, aval) for aval in out[1:]]]
        if b.module.platform == "cuda":
            found = lower_svd(
                b, out[0], x, full_matrices=full_matrices, method=_OF_CUSOLVER.get(algorithm)
            )
            return found if compute_uv else found[:1]
        sides = (m, n) if full_matrices else (rank, rank)
        u, vh = [x.aval.update(shape=(*stack, *s)) for s in ((m, sides[0]), (sides[1], n))]
        mode = ("A" if full_matrices else "S") if compute_uv else "N"
        outs = [x.aval, out[0], u, vh]
        found = call_iterated(b, _function(algorithm), outs, x, {0: 0}, mode=letter(mode))[1:]
        return found if compute_uv else found[:1]

    def jvp(
        self,
        primals: Sequence[Any],
        tangents: Sequence[Any],
        *,
        compute_uv: bool,
        full_matrices: bool,
        algorithm: SvdAlgorithm,
    ) -> Any:
        """ds = Re diag(Uᴴ dA V), and the vectors as `_vectors_moved` says."""
        m, n = aval_of(primals[0]).shape[-2:]
        if compute_uv and full_matrices and m != n:
            raise NotImplementedError(_NO_FULL_DERIVATIVE)
        s, u, vh = self.bind(*primals, compute_uv=True, full_matrices=False, algorithm=algorithm)
        v = adjoint(vh)
        moved = product(tangents[0], v)
        diagonal = column_products(u, moved)
        if not compute_uv:
            return [s], [real_part(diagonal)]
        u_dot, v_dot = _vectors_moved(s, u, v, moved, tangents[0], diagonal)
        return [s, u, vh], [real_part(diagonal), u_dot, adjoint(v_dot)]


_OF_CUSOLVER = {
    SvdAlgorithm.QR: "gesvd",
    SvdAlgorithm.JACOBI: "gesvdj",
    SvdAlgorithm.POLAR: "gesvdp",
}


def _function(algorithm: SvdAlgorithm) -> str:
    """LAPACK's."""
    if algorithm not in (SvdAlgorithm.QR, SvdAlgorithm.DIVIDE_AND_CONQUER):
        raise _not_for_the_cpu(algorithm)
    return "gesvd" if algorithm is SvdAlgorithm.QR else "gesdd"


_NO_FULL_DERIVATIVE = message(
    "differentiation of svd",
    given="vectors of a matrix that is not square, with full_matrices=True",
    expected="derivatives of vectors that belong to singular values: the others are any basis",
    fix="Pass full_matrices=False.",
)


def _vectors_moved(
    s: Any, u: Any, v: Any, moved: Any, change: Any, diagonal: Any
) -> tuple[Any, Any]:
    """dU = U Ω + (1 − U Uᴴ) dA V / s and dV = V Ψ + (1 − V Vᴴ) dAᴴ U / s.

    With P = Uᴴ dA V, beside the diagonal, Ω + Ψ is (P + Pᴴ)[i, j] / (s[j] − s[i]) and Ω − Ψ is
    (P − Pᴴ)[i, j] / (s[j] + s[i]).  On it they are 0; of complex vectors, whose common phase is
    free, that with vᴴ dv = 0 is meant, so that uᴴ du = i Im(uᴴ dA v) / s.
    """
    rows, columns = aval_of(u).shape[-2], aval_of(v).shape[-2]
    inner = product(adjoint(u), moved)
    outer = adjoint(inner)
    both = weighted(add(inner, outer), reciprocal_gaps(s))
    apart = weighted(sub(inner, outer), reciprocal_sums(s))
    half = np.asarray(0.5, aval_of(u).dtype)
    u_dot = product(u, mul(add(both, apart), half))
    v_dot = product(v, mul(sub(both, apart), half))
    inverse = div(full(aval_of(s).shape, 1, aval_of(s).dtype), s)
    if rows > columns:
        u_dot = add(u_dot, scaled_columns(sub(moved, product(u, inner)), inverse))
    if columns > rows:
        rest = sub(product(adjoint(change), u), product(v, outer))
        v_dot = add(v_dot, scaled_columns(rest, inverse))
    if aval_of(u).dtype.kind == "c":
        turned = mul(imag(diagonal), inverse)
        u_dot = add(u_dot, scaled_columns(u, complex_of(zeros(aval_of(turned)), turned)))
    return u_dot, v_dot


def _identity(b: Builder, out: Any) -> Value:
    """Identity matrices: vectors of matrices without elements."""
    places = out.update(dtype=np.dtype(np.int32))
    rows, columns = [b.iota(places, out.ndim - i) for i in (2, 1)]
    same = compare(b, out.update(dtype=np.dtype(bool)), "EQ", rows, columns)
    return b.convert(same, out.dtype)


svd_p = Svd()


def svd(
    x: Any,
    *,
    full_matrices: bool = True,
    compute_uv: bool = True,
    subset_by_index: tuple[int, int] | None = None,
    algorithm: SvdAlgorithm | None = None,
) -> Any:
    """Singular value decompositions: U, s and Vᴴ of A = U diag(s) Vᴴ.

    Derivatives of singular values are finite always; where two are equal each is one of its
    one-sided derivatives, and only functions that treat them alike are differentiable; so at 0.
    Derivatives of vectors are infinite or NaN where two values are equal, and, unless the matrix
    is square, where one is 0.  Of complex vectors, which have a free common phase, that with
    vᴴ dv = 0 is meant.

    Args:
        x: matrices of shape `(..., m, n)`: float32, float64, complex64 or complex128.
        full_matrices: whether U and Vᴴ are square; otherwise they have k = min(m, n) columns and
            rows, those of the singular values.
        compute_uv: whether U and Vᴴ are returned.
        subset_by_index: range (start, stop) of the places of the singular values that are wanted.
        algorithm: `None`, or one of `SvdAlgorithm` that the platform has.

    Returns:
        The triple (U, s, Vᴴ), of shapes `(..., m, k)`, `(..., k)` and `(..., k, n)`, or s alone; s
        falls.  NaN for matrices that are not finite.

    Raises:
        ShapeError: if `x` is no stack of matrices.
        ValueError: if the subset is no range, or is wanted with full matrices.
        NotImplementedError: for an algorithm that the platform has not; for derivatives of full
            matrices unless `x` is square.

    Reference:
        LAPACK, gesdd; for `SvdAlgorithm.QR`, gesvd; on CUDA cuSOLVER's gesvdj, gesvd, gesvdp.

    Example:
        >>> import morphax.numpy as jnp
        >>> from morphax import lax
        >>> lax.linalg.svd(jnp.array([[3.0, 0.0], [4.0, 0.0]]), compute_uv=False)
        Array([5., 0.], dtype=float32)
    """
    algorithm = _checked_algorithm(algorithm)
    s, *vectors = svd_p.bind(
        x, compute_uv=bool(compute_uv), full_matrices=bool(full_matrices), algorithm=algorithm
    )
    if subset_by_index is not None:
        size = aval_of(s).shape[-1]
        subset = checked_subset("lax.linalg.svd", subset_by_index, size)
        if compute_uv and full_matrices and subset != (0, size):
            raise ValueError(_NO_FULL_SUBSET)
        s = part(s, subset, -1)
        if compute_uv and not full_matrices:
            vectors = [part(vectors[0], subset, -1), part(vectors[1], subset, -2)]
    return (vectors[0], s, vectors[1]) if compute_uv else s


_NO_FULL_SUBSET = message(
    "lax.linalg.svd",
    given="subset_by_index and full_matrices=True",
    expected="one of them",
    fix="Pass full_matrices=False.",
)


def _checked_algorithm(algorithm: SvdAlgorithm | None) -> SvdAlgorithm:
    """The algorithm that is meant; CUDA has no divide and conquer, and takes what is quicker."""
    if algorithm in (None, SvdAlgorithm.DEFAULT, SvdAlgorithm.DIVIDE_AND_CONQUER):
        return SvdAlgorithm.DIVIDE_AND_CONQUER
    if algorithm is not SvdAlgorithm.QR and default_platform() == "cpu":
        raise _not_for_the_cpu(algorithm)
    return algorithm


def _not_for_the_cpu(algorithm: SvdAlgorithm) -> NotImplementedError:
    return NotImplementedError(
        message(
            "lax.linalg.svd, argument algorithm",
            given=repr(algorithm),
            expected="None or SvdAlgorithm.DEFAULT, QR or DIVIDE_AND_CONQUER: the others are not "
            "for the CPU",
            fix="Leave the argument out.",
        )
    )
