"""Forms that unitary similarity brings a matrix to: Schur, Hessenberg, and tridiagonal."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, final

import numpy as np

from ...core import NoRule
from ...core.dims import Shape, max_dim
from ...engines.xla.library_calls import call_lapack, letter
from ...engines.xla.stablehlo import Builder, Value
from ...util.messages import message
from ..elementwise.complex import real_dtype
from .iterated import IteratedFactorisation, call_iterated
from .lapack import BLOCK, Memory, Plan, lapack
from .lowered import INT32
from .matrix_stacks import MatrixOperation, Result, square

# As wide as the address of a function.
_ADDRESS = np.dtype(np.intp)


def _no_derivative(reason: str) -> Any:
    return NoRule("jvp", reason, error=NotImplementedError)


@final
class Schur(IteratedFactorisation):
    """T and, if wanted, Q, unitary, of A = Q T Qᴴ.

    T is upper triangular; that of a real matrix has blocks of size 2 for pairs of eigenvalues.
    """

    name = "schur"
    jvp = _no_derivative("derivatives of the Schur form are not defined")

    def results(
        self, dtype: Any, *shapes: Shape, compute_schur_vectors: bool, **_: Any
    ) -> list[Result]:
        square(self.name, shapes[0])
        return [(shapes[0], dtype)] * (1 + compute_schur_vectors)

    def evaluate_finite(self, x: Any, *, compute_schur_vectors: bool) -> list[Any]:
        options = {"compute_v": compute_schur_vectors, "lwork": (BLOCK + 2) * len(x)}
        t, *_, q, _, failed = lapack("gees", x.dtype)(_no_choice, x, **options)
        return [t, q, failed] if compute_schur_vectors else [t, failed]

    def plan_finite(
        self, plan: Plan, x: Memory, *, compute_schur_vectors: bool
    ) -> tuple[list[Memory], Memory]:
        dtype, size, info = x.dtype, x.shape[0], plan.info()
        t, vectors = plan.transposed(x), plan.memory(dtype, size, size)
        numbers, work = plan.memory(dtype, size), plan.memory(dtype, (BLOCK + 2) * size)
        eigenvalues = [numbers] if dtype.kind == "c" else [numbers, plan.memory(dtype, size)]
        flags = plan.memory(INT32, size)
        rest = [plan.memory(real_dtype(dtype), size)] if dtype.kind == "c" else []
        # No function chooses eigenvalues, and none is counted.
        modes = ("V" if compute_schur_vectors else "N", "N")
        found: list[Any] = [
            t,
            size,
            flags,
            *eigenvalues,
            vectors,
            size,
            work,
            work.size,
            *rest,
            flags,
            info,
        ]
        plan.call("gees", dtype, *modes, plan.memory(_ADDRESS), size, *found)
        chosen = [t, vectors] if compute_schur_vectors else [t]
        return [plan.transposed(x) for x in chosen], info

    def lower(
        self, b: Builder, out: Any, *values: Value, compute_schur_vectors: bool
    ) -> list[Value]:
        (x,) = values
        aval = x.aval
        if not aval.size:
            return [b.full(0, aval) for aval in out]
        vector = aval.update(shape=aval.shape[:-1])
        chosen = aval.update(shape=aval.shape[:-2], dtype=np.dtype(np.int32))
        eigenvalues = [vector] * (1 if aval.dtype.kind == "c" else 2)
        found = call_iterated(
            b,
            "gees",
            [aval, aval, *eigenvalues, chosen],
            x,
            {0: 0},
            mode=letter("V" if compute_schur_vectors else "N"),
            sort=letter("N"),
        )
        return found[: len(out)]


def _no_choice(*_: Any) -> bool:
    """Of the eigenvalues that come first, none: they are in the order in which they are found."""
    return False


class _Reduction(MatrixOperation):
    """Reflections, and what they reduce a matrix to, found in finitely many steps."""

    multiple_results = True
    jvp = _no_derivative("derivatives of reflections are not defined")


@final
class Hessenberg(_Reduction):
    """H, zero below its first subdiagonal, of A = Q H Qᴴ: Q's reflections stand in the zeros."""

    name = "hessenberg"

    def results(self, dtype: Any, *shapes: Shape, **_: Any) -> list[Result]:
        return [(shapes[0], dtype), ((max_dim(square(self.name, shapes[0]) - 1, 0),), dtype)]

    def evaluate_one(self, *matrices: Any, **_: Any) -> list[Any]:
        (x,) = matrices
        if len(x) < 2:
            return [x, np.empty(0, x.dtype)]
        reduced, taus, _ = lapack("gehrd", x.dtype)(x, lwork=BLOCK * len(x))
        return [np.ascontiguousarray(reduced), taus]

    def plan(self, plan: Plan, *operands: Memory, **_: Any) -> list[Memory] | None:
        (x,) = operands
        size = x.shape[0]
        if size < 2:
            return None
        reduced, taus = plan.transposed(x), plan.memory(x.dtype, size - 1)
        work = plan.memory(x.dtype, BLOCK * size)
        rest = (reduced, size, taus, work, work.size, plan.info())
        plan.call("gehrd", x.dtype, size, 1, size, *rest)
        return [plan.transposed(reduced), taus]

    def lower(self, b: Builder, out: Any, *values: Value, **_: Any) -> list[Value]:
        (x,) = values
        size = x.aval.shape[-1]
        if not out[1].size:
            return [x, b.full(0, out[1])]
        info = x.aval.update(shape=x.aval.shape[:-2], dtype=np.dtype(np.int32))
        options = {"low": "1 : i32", "high": f"{size} : i32"}
        return call_lapack(
            b, "gehrd", [*out, info], x, ranks=(2, 2, 1, 0), aliases={0: 0}, **options
        )[:2]


@final
class Tridiagonal(_Reduction):
    """T, real tridiagonal, of A = Q T Qᴴ for Hermitian A; one triangle of A is read and written.

    The results are the triangle with T and the reflections of Q in it, T's diagonal, T's other
    diagonal, and the scalars of the reflections.
    """

    name = "tridiagonal"

    def results(self, dtype: Any, *shapes: Shape, **_: Any) -> list[Result]:
        size = square(self.name, shapes[0])
        others = max_dim(size - 1, 0)
        part = real_dtype(dtype)
        return [(shapes[0], dtype), ((size,), part), ((others,), part), ((others,), dtype)]

    def evaluate_one(self, *matrices: Any, lower: bool) -> list[Any]:
        (x,) = matrices
        if not x.size:
            return [np.empty(shape, dtype) for shape, dtype in self.results(x.dtype, x.shape)]
        *found, _ = lapack("sytrd", x.dtype)(x, lower=lower, lwork=BLOCK * len(x))
        return [np.ascontiguousarray(found[0]), *found[1:]]

    def plan(self, plan: Plan, *operands: Memory, lower: bool) -> list[Memory]:
        (x,) = operands
        size = x.shape[0]
        _, *others = self.results(x.dtype, x.shape)
        found, work = plan.transposed(x), plan.memory(x.dtype, BLOCK * size)
        parts = [plan.memory(np.dtype(dtype), *shape) for shape, dtype in others]
        rest = (work, work.size, plan.info())
        plan.call("sytrd", x.dtype, "L" if lower else "U", size, found, size, *parts, *rest)
        return [plan.transposed(found), *parts]

    def lower(self, b: Builder, out: Any, *values: Value, lower: bool) -> list[Value]:
        (x,) = values
        if not x.aval.size:
            return [b.full(0, aval) for aval in out]
        info = x.aval.update(shape=x.aval.shape[:-2], dtype=np.dtype(np.int32))
        return call_lapack(
            b,
            "hetrd" if x.aval.dtype.kind == "c" else "sytrd",
            [*out, info],
            x,
            ranks=(2, 2, 1, 1, 1, 0),
            aliases={0: 0},
            uplo=letter("L" if lower else "U"),
        )[:4]


schur_p = Schur()
hessenberg_p = Hessenberg()
tridiagonal_p = Tridiagonal()


def schur(
    x: Any,
    *,
    compute_schur_vectors: bool = True,
    sort_eig_vals: bool = False,
    select_callable: Callable[..., Any] | None = None,
) -> list[Any]:
    """Schur decompositions: T and Q, unitary, of A = Q T Qᴴ.

    T is upper triangular, with the eigenvalues on its diagonal; that of a real matrix is real and
    has a block of size 2 for each pair of conjugate eigenvalues.

    Args:
        x: matrices of shape `(..., n, n)`: float32, float64, complex64 or complex128.
        compute_schur_vectors: whether Q is returned.
        sort_eig_vals: eigenvalues have no order; must be false.
        select_callable: not used.

    Returns:
        `[T, Q]`, or `[T]`; NaN for matrices that are not finite.

    Raises:
        ShapeError: if the matrices are not square.
        NotImplementedError: for derivatives, and if eigenvalues are to be sorted.

    Reference:
        LAPACK, gees.

    Example:
        >>> import morphax.numpy as jnp
        >>> from morphax import lax
        >>> t, q = lax.linalg.schur(jnp.array([[2.0, 0.0], [1.0, 3.0]]))
        >>> bool(jnp.allclose(q @ t @ q.T, jnp.array([[2.0, 0.0], [1.0, 3.0]]), atol=1e-5))
        True
    """
    if sort_eig_vals:
        raise NotImplementedError(
            message(
                "lax.linalg.schur, argument sort_eig_vals",
                given="True",
                expected="False: eigenvalues are left in the order in which they are found",
                fix="Leave the argument out.",
            )
        )
    return list(schur_p.bind(x, compute_schur_vectors=bool(compute_schur_vectors)))


def hessenberg(a: Any) -> list[Any]:
    """Reduction of matrices to Hessenberg form: H of A = Q H Qᴴ, zero below its subdiagonal.

    Q is the product of reflections 1 − τ v vᴴ: v has a one on the subdiagonal, and the rest of it
    stands below, where H is zero.  `householder_product` multiplies them.

    Args:
        a: matrices of shape `(..., n, n)`: float32, float64, complex64 or complex128.

    Returns:
        `[h, taus]`: H and the reflections, `(..., n, n)`, and their scalars, `(..., n - 1)`.

    Raises:
        ShapeError: if the matrices are not square.
        NotImplementedError: for derivatives.

    Reference:
        LAPACK, gehrd.

    Example:
        >>> import morphax.numpy as jnp
        >>> from morphax import lax
        >>> h, taus = lax.linalg.hessenberg(jnp.ones((2, 2)))
        >>> taus
        Array([0.], dtype=float32)
    """
    return list(hessenberg_p.bind(a))


def tridiagonal(a: Any, *, lower: bool = True) -> list[Any]:
    """Reduction of Hermitian matrices to tridiagonal form: T, real, of A = Q T Qᴴ.

    Q is the product of reflections, as `hessenberg` has them; those of an upper triangle stand
    above the superdiagonal.

    Args:
        a: matrices of shape `(..., n, n)`: float32, float64, complex64 or complex128.
        lower: which triangle is read, and overwritten in the result.

    Returns:
        `[a, d, e, taus]`: the matrices `(..., n, n)` with T and the reflections in one triangle;
        the diagonal of T, `(..., n)`; its other diagonal, `(..., n - 1)`; the scalars of the
        reflections, `(..., n - 1)`.

    Raises:
        ShapeError: if the matrices are not square.
        NotImplementedError: for derivatives.

    Reference:
        LAPACK, sytrd and hetrd.

    Example:
        >>> import morphax.numpy as jnp
        >>> from morphax import lax
        >>> lax.linalg.tridiagonal(jnp.array([[2.0, 1.0], [1.0, 3.0]]))[1]
        Array([2., 3.], dtype=float32)
    """
    return list(tridiagonal_p.bind(a, lower=bool(lower)))
