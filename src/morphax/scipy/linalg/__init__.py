"""`morphax.scipy.linalg`: linear algebra with SciPy's names and arguments.

`overwrite_a` and its like are accepted and without meaning, as arrays are immutable; so is
`check_finite`, as numbers are not known while tracing.
"""

from __future__ import annotations

from .general import det as det
from .general import inv as inv
from .general import lu as lu
from .general import lu_factor as lu_factor
from .general import lu_solve as lu_solve
from .general import qr as qr
from .general import solve as solve
from .structured import block_diag as block_diag
from .structured import toeplitz as toeplitz
from .triangular import cho_factor as cho_factor
from .triangular import cho_solve as cho_solve
from .triangular import cholesky as cholesky
from .triangular import solve_triangular as solve_triangular
