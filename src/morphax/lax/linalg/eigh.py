"""Eigenvalues and eigenvectors of Hermitian matrices: A V = V diag(w)."""

from __future__ import annotations

import enum
from collections.abc import Sequence
from typing import Any, final

import numpy as np

from ...core import aval_of
from ...core.dims import Shape
from ...engines.xla.library_calls import letter
from ...engines.xla.stablehlo import Builder, Value
from ...util.messages import message
from ..elementwise.arithmetic import add, mul
from ..elementwise.complex import real_dtype
from .iterated import IteratedFactorisation, call_iterated
from .lapack import BLOCK, Memory, Plan, lapack
from .lowered import INT32
from .matrix_stacks import Result, adjoint, product, square, symmetrized
from .spectra import (
    checked_subset,
    column_products,
    part,
    real_part,
    reciprocal_gaps,
    weighted,
)
from .triangular import triangle

_CHOSEN_BY_SIZE = "0 : ui8"
"""The algorithm, for cuSOLVER: Jacobi's for small matrices, else by a tridiagonal one."""


@final
class EighImplementation(enum.Enum):
    """Algorithms for `eigh`; on the CPU there is QR, LAPACK's."""

    QR = "qr"
    JACOBI = "jacobi"
    QDWH = "qdwh"


@final
class Eigh(IteratedFactorisation):
    """w, increasing, and V if `compute_vectors`, of A V = V diag(w); one triangle of A is read.

    Reference: of the derivatives, M. B. Giles, "Collected matrix derivative results for forward
    and reverse mode algorithmic differentiation", 2008, section 3.1; C. Boeddeker et al., "On the
    computation of complex-valued gradients with application to statistically optimum beamforming",
    arXiv:1701.00392, 2017.
    """

    name = "eigh"

    def results(
        self, dtype: Any, *shapes: Shape, compute_vectors: bool = True, **_: Any
    ) -> list[Result]:
        values = ((square(self.name, shapes[0]),), real_dtype(dtype))
        return [(shapes[0], dtype), values] if compute_vectors else [values]

    def evaluate_finite(self, x: Any, *, lower: bool, compute_vectors: bool = True) -> list[Any]:
        w, v, failed = lapack("syevd", x.dtype)(x, lower=lower, compute_v=compute_vectors)
        return [v, w, failed] if compute_vectors else [w, failed]

    def plan_finite(
        self, plan: Plan, x: Memory, *, lower: bool, compute_vectors: bool = True
    ) -> tuple[list[Memory], Memory]:
        dtype, size, info = x.dtype, x.shape[0], plan.info()
        w, squares = plan.memory(real_dtype(dtype), size), 2 * size**2 if compute_vectors else 0
        spaces = [plan.memory(dtype, 1 + (6 + BLOCK) * size + squares)]
        if dtype.kind == "c":
            spaces.append(plan.memory(w.dtype, 1 + 5 * size + squares))
        spaces.append(plan.memory(INT32, 3 + 5 * size))
        work = [argument for space in spaces for argument in (space, space.size)]
        if not compute_vectors:
            # The transpose has the same values.
            plan.call("syevd", dtype, "N", "U" if lower else "L", size, x, size, w, *work, info)
            return [w], info
        v = plan.transposed(x)
        plan.call("syevd", dtype, "V", "L" if lower else "U", size, v, size, w, *work, info)
        return [plan.transposed(v), w], info

    def lower(
        self, b: Builder, out: Any, *values: Value, lower: bool, compute_vectors: bool = True
    ) -> list[Value]:
        (x,) = values
        if not x.aval.size:
            return [b.full(0, aval) for aval in out]
        function = "heevd" if x.aval.dtype.kind == "c" else "syevd"
        mode = letter("V" if compute_vectors else "N")
        options = {"mode": mode, "uplo": letter("L" if lower else "U")}
        if b.module.platform == "cuda":
            options = {"algorithm": _CHOSEN_BY_SIZE, "uplo": options["uplo"]}
        found = call_iterated(b, function, [x.aval, out[-1]], x, {0: 0}, **options)
        return found if compute_vectors else found[1:]

    def jvp(
        self,
        primals: Sequence[Any],
        tangents: Sequence[Any],
        *,
        lower: bool,
        compute_vectors: bool = True,
    ) -> Any:
        """dw = diag(Vᴴ dA V), dV = V (F ∘ Vᴴ dA V) with F[i, j] = 1 / (w[j] − w[i])."""
        v, w = self.bind(*primals, lower=lower)
        moved = product(_hermitian(tangents[0], lower=lower), v)
        w_dot = real_part(column_products(v, moved))
        if not compute_vectors:
            return [w], [w_dot]
        inner = weighted(product(adjoint(v), moved), reciprocal_gaps(w))
        return [v, w], [product(v, inner), w_dot]


def _hermitian(x: Any, *, lower: bool) -> Any:
    """The Hermitian matrices of which `x` has one triangle."""
    both = add(triangle(x, lower=lower), triangle(x, lower=lower, diagonal=False))
    half = mul(both, np.asarray(0.5, aval_of(x).dtype))
    return add(half, adjoint(half))


eigh_p = Eigh()


def eigh(
    x: Any,
    *,
    lower: bool = True,
    symmetrize_input: bool = True,
    sort_eigenvalues: bool = True,
    subset_by_index: tuple[int, int] | None = None,
    implementation: EighImplementation | None = None,
) -> tuple[Any, Any]:
    """Eigenvectors and eigenvalues of Hermitian matrices: V, unitary, and w of A V = V diag(w).

    Derivatives of eigenvalues are finite always; where two are equal each is one of its one-sided
    derivatives, and only functions that treat them alike are differentiable.  Derivatives of
    eigenvectors are infinite or NaN there.  Of complex vectors, which have a free phase, that with
    vᴴ dv = 0 is meant.

    Args:
        x: matrices of shape `(..., n, n)`: float32, float64, complex64 or complex128.
        lower: which triangle is read, unless `symmetrize_input`.
        symmetrize_input: whether (A + Aᴴ) / 2 is meant, so that derivatives are those on all
            matrices.
        sort_eigenvalues: whether eigenvalues must increase; here they always do.
        subset_by_index: range (start, stop) of the places of the eigenvalues that are wanted.
        implementation: `None` or `EighImplementation.QR`.

    Returns:
        The pair (V, w), of shapes `(..., n, d)` and `(..., d)` where d is the number of eigenvalues
        that are wanted; NaN for matrices that are not finite.

    Raises:
        ShapeError: if the matrices are not square.
        ValueError: if the subset is no range.
        NotImplementedError: for an implementation that does not run on the CPU.

    Reference:
        LAPACK, syevd and heevd.

    Example:
        >>> import morphax.numpy as jnp
        >>> from morphax import lax
        >>> lax.linalg.eigh(jnp.array([[2.0, 1.0], [1.0, 2.0]]))[1]
        Array([1., 3.], dtype=float32)
    """
    if implementation not in (None, EighImplementation.QR):
        raise NotImplementedError(
            message(
                "lax.linalg.eigh, argument implementation",
                given=repr(implementation),
                expected="None or EighImplementation.QR: the others are not for the CPU",
                fix="Leave the argument out.",
            )
        )
    if symmetrize_input:
        x = symmetrized("eigh", x)
    v, w = eigh_p.bind(x, lower=bool(lower))
    if subset_by_index is None:
        return v, w
    subset = checked_subset("lax.linalg.eigh", subset_by_index, aval_of(w).shape[-1])
    return part(v, subset, -1), part(w, subset, -1)


def hermitian_eigenvalues(x: Any, *, lower: bool = True, symmetrize_input: bool = True) -> Any:
    """The eigenvalues that `eigh` gives, in a third of the time: no vectors are computed."""
    if symmetrize_input:
        x = symmetrized("eigh", x)
    return eigh_p.bind(x, lower=bool(lower), compute_vectors=False)[0]
