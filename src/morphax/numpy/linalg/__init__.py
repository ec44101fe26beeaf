"""`morphax.numpy.linalg`: linear algebra."""

from __future__ import annotations

from .condition import cond as cond
from .determinants import det as det
from .determinants import slogdet as slogdet
from .factorizations import cholesky as cholesky
from .factorizations import qr as qr
from .norms import matrix_norm as matrix_norm
from .norms import norm as norm
from .norms import vector_norm as vector_norm
from .products import cross as cross
from .products import diagonal as diagonal
from .products import matmul as matmul
from .products import matrix_power as matrix_power
from .products import matrix_transpose as matrix_transpose
from .products import multi_dot as multi_dot
from .products import outer as outer
from .products import tensordot as tensordot
from .products import trace as trace
from .products import vecdot as vecdot
from .pseudo_inverses import lstsq as lstsq
from .pseudo_inverses import matrix_rank as matrix_rank
from .pseudo_inverses import pinv as pinv
from .spectra import eig as eig
from .spectra import eigh as eigh
from .spectra import eigvals as eigvals
from .spectra import eigvalsh as eigvalsh
from .spectra import svd as svd
from .spectra import svdvals as svdvals
from .systems import inv as inv
from .systems import solve as solve
from .systems import tensorinv as tensorinv
from .systems import tensorsolve as tensorsolve
