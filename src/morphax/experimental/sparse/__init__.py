"""`jax.experimental.sparse`: arrays most of whose elements are zero.

Why it is so: docs/design/sparse.md.
"""

from __future__ import annotations

from . import linalg as linalg
from .base import CuSparseEfficiencyWarning as CuSparseEfficiencyWarning
from .base import JAXSparse as JAXSparse
from .base import SparseEfficiencyError as SparseEfficiencyError
from .base import SparseEfficiencyWarning as SparseEfficiencyWarning
from .bcoo import BCOO as BCOO
from .bcoo import bcoo_broadcast_in_dim as bcoo_broadcast_in_dim
from .bcoo import bcoo_concatenate as bcoo_concatenate
from .bcoo import bcoo_conv_general_dilated as bcoo_conv_general_dilated
from .bcoo import bcoo_dot_general as bcoo_dot_general
from .bcoo import bcoo_dot_general_p as bcoo_dot_general_p
from .bcoo import bcoo_dot_general_sampled as bcoo_dot_general_sampled
from .bcoo import bcoo_dot_general_sampled_p as bcoo_dot_general_sampled_p
from .bcoo import bcoo_dynamic_slice as bcoo_dynamic_slice
from .bcoo import bcoo_extract as bcoo_extract
from .bcoo import bcoo_extract_p as bcoo_extract_p
from .bcoo import bcoo_fromdense as bcoo_fromdense
from .bcoo import bcoo_fromdense_p as bcoo_fromdense_p
from .bcoo import bcoo_gather as bcoo_gather
from .bcoo import bcoo_multiply_dense as bcoo_multiply_dense
from .bcoo import bcoo_multiply_sparse as bcoo_multiply_sparse
from .bcoo import bcoo_reduce_sum as bcoo_reduce_sum
from .bcoo import bcoo_reshape as bcoo_reshape
from .bcoo import bcoo_rev as bcoo_rev
from .bcoo import bcoo_slice as bcoo_slice
from .bcoo import bcoo_sort_indices as bcoo_sort_indices
from .bcoo import bcoo_sort_indices_p as bcoo_sort_indices_p
from .bcoo import bcoo_spdot_general_p as bcoo_spdot_general_p
from .bcoo import bcoo_squeeze as bcoo_squeeze
from .bcoo import bcoo_sum_duplicates as bcoo_sum_duplicates
from .bcoo import bcoo_sum_duplicates_p as bcoo_sum_duplicates_p
from .bcoo import bcoo_todense as bcoo_todense
from .bcoo import bcoo_todense_p as bcoo_todense_p
from .bcoo import bcoo_transpose as bcoo_transpose
from .bcoo import bcoo_transpose_p as bcoo_transpose_p
from .bcoo import bcoo_update_layout as bcoo_update_layout
from .bcsr import BCSR as BCSR
from .bcsr import bcsr_broadcast_in_dim as bcsr_broadcast_in_dim
from .bcsr import bcsr_concatenate as bcsr_concatenate
from .bcsr import bcsr_dot_general as bcsr_dot_general
from .bcsr import bcsr_dot_general_p as bcsr_dot_general_p
from .bcsr import bcsr_extract as bcsr_extract
from .bcsr import bcsr_extract_p as bcsr_extract_p
from .bcsr import bcsr_fromdense as bcsr_fromdense
from .bcsr import bcsr_fromdense_p as bcsr_fromdense_p
from .bcsr import bcsr_sum_duplicates as bcsr_sum_duplicates
from .bcsr import bcsr_sum_duplicates_p as bcsr_sum_duplicates_p
from .bcsr import bcsr_todense as bcsr_todense
from .bcsr import bcsr_todense_p as bcsr_todense_p
from .coo import COO as COO
from .coo import coo_fromdense as coo_fromdense
from .coo import coo_fromdense_p as coo_fromdense_p
from .coo import coo_matmat as coo_matmat
from .coo import coo_matmat_p as coo_matmat_p
from .coo import coo_matvec as coo_matvec
from .coo import coo_matvec_p as coo_matvec_p
from .coo import coo_todense as coo_todense
from .coo import coo_todense_p as coo_todense_p
from .creation import empty as empty
from .creation import eye as eye
from .creation import random_bcoo as random_bcoo
from .creation import todense as todense
from .creation import todense_p as todense_p
from .csr import CSC as CSC
from .csr import CSR as CSR
from .csr import csr_fromdense as csr_fromdense
from .csr import csr_fromdense_p as csr_fromdense_p
from .csr import csr_matmat as csr_matmat
from .csr import csr_matmat_p as csr_matmat_p
from .csr import csr_matvec as csr_matvec
from .csr import csr_matvec_p as csr_matvec_p
from .csr import csr_todense as csr_todense
from .csr import csr_todense_p as csr_todense_p
from .derivatives import grad as grad
from .derivatives import jacfwd as jacfwd
from .derivatives import jacobian as jacobian
from .derivatives import jacrev as jacrev
from .derivatives import value_and_grad as value_and_grad
from .operators import install as _install
from .sparsify import sparsify as sparsify
from .sparsify_trace import SparseTracer as SparseTracer

_install()
