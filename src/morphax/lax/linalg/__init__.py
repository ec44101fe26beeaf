"""`morphax.lax.linalg`: factorisations of matrices, and linear systems.

Start with `matrix_stacks`, the rules that all share; a file holds a factorisation, its rules side
by side, and the functions that bind it.  `iterated` is for those that LAPACK finds by iteration,
`spectra` for derivatives by the gaps of a spectrum.  `engines.xla.library_calls` calls LAPACK from
compiled programs, `lapack` from eager ones.  Why it is so: docs/design/linear-algebra.md.
"""

from __future__ import annotations

from .cholesky import cholesky as cholesky
from .cholesky import cholesky_p as cholesky_p
from .cholesky_update import cholesky_update as cholesky_update
from .cholesky_update import cholesky_update_p as cholesky_update_p
from .eig import EigImplementation as EigImplementation
from .eig import eig as eig
from .eig import eig_p as eig_p
from .eigh import EighImplementation as EighImplementation
from .eigh import eigh as eigh
from .eigh import eigh_p as eigh_p
from .householder import householder_product as householder_product
from .householder import householder_product_p as householder_product_p
from .householder import ormqr as ormqr
from .householder import ormqr_p as ormqr_p
from .lu import lu as lu
from .lu import lu_p as lu_p
from .lu import lu_pivots_to_permutation as lu_pivots_to_permutation
from .lu import lu_pivots_to_permutation_p as lu_pivots_to_permutation_p
from .polar import qdwh as qdwh
from .qr import qr as qr
from .qr import qr_p as qr_p
from .similar_forms import hessenberg as hessenberg
from .similar_forms import hessenberg_p as hessenberg_p
from .similar_forms import schur as schur
from .similar_forms import schur_p as schur_p
from .similar_forms import tridiagonal as tridiagonal
from .similar_forms import tridiagonal_p as tridiagonal_p
from .svd import SvdAlgorithm as SvdAlgorithm
from .svd import svd as svd
from .svd import svd_p as svd_p
from .symmetric_product import symmetric_product as symmetric_product
from .symmetric_product import symmetric_product_p as symmetric_product_p
from .triangular import triangular_solve as triangular_solve
from .triangular import triangular_solve_p as triangular_solve_p
from .tridiagonal_systems import tridiagonal_solve as tridiagonal_solve
from .tridiagonal_systems import tridiagonal_solve_p as tridiagonal_solve_p
