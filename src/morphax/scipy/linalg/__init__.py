"""`morphax.scipy.linalg`: linear algebra with SciPy's names and arguments.

`overwrite_a` and its like are accepted and without meaning, as arrays are immutable; so is
`check_finite`, as numbers are not known while tracing.
"""

from __future__ import annotations

from .exponentials import expm as expm
from .exponentials import expm_frechet as expm_frechet
from .general import det as det
from .general import inv as inv
from .general import lu as lu
from .general import lu_factor as lu_factor
from .general import lu_solve as lu_solve
from .general import qr as qr
from .general import qr_multiply as qr_multiply
from .general import solve as solve
from .matrix_functions import funm as funm
from .matrix_functions import sqrtm as sqrtm
from .polar import polar as polar
from .schur_forms import rsf2csf as rsf2csf
from .schur_forms import solve_sylvester as solve_sylvester
from .special_matrices import companion as companion
from .special_matrices import dft as dft
from .special_matrices import fiedler as fiedler
from .special_matrices import fiedler_companion as fiedler_companion
from .special_matrices import hadamard as hadamard
from .special_matrices import hankel as hankel
from .special_matrices import helmert as helmert
from .special_matrices import hilbert as hilbert
from .special_matrices import invhilbert as invhilbert
from .special_matrices import invpascal as invpascal
from .special_matrices import leslie as leslie
from .special_matrices import pascal as pascal
from .spectra import eigh as eigh
from .spectra import eigh_tridiagonal as eigh_tridiagonal
from .spectra import hessenberg as hessenberg
from .spectra import schur as schur
from .spectra import svd as svd
from .structured import block_diag as block_diag
from .structured import circulant as circulant
from .structured import convolution_matrix as convolution_matrix
from .structured import toeplitz as toeplitz
from .triangular import cho_factor as cho_factor
from .triangular import cho_solve as cho_solve
from .triangular import cholesky as cholesky
from .triangular import solve_triangular as solve_triangular
