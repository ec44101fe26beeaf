"""`BCOO`, sparse arrays in batched coordinate format, and the operations on them.

Start with `layout` (how an array is stored), then `dense` (the simplest operations); `array` is the
class.  The other files are families of operations, each with its primitives.
"""

from __future__ import annotations

from .arithmetic import bcoo_multiply_dense as bcoo_multiply_dense
from .arithmetic import bcoo_multiply_sparse as bcoo_multiply_sparse
from .arithmetic import bcoo_reduce_sum as bcoo_reduce_sum
from .array import BCOO as BCOO
from .array import bcoo_fromdense as bcoo_fromdense
from .contraction import bcoo_dot_general_p as bcoo_dot_general_p
from .contraction import bcoo_dot_general_sampled as bcoo_dot_general_sampled
from .contraction import bcoo_dot_general_sampled_p as bcoo_dot_general_sampled_p
from .convolution import bcoo_conv_general_dilated as bcoo_conv_general_dilated
from .dense import bcoo_extract as bcoo_extract
from .dense import bcoo_extract_p as bcoo_extract_p
from .dense import bcoo_fromdense_p as bcoo_fromdense_p
from .dense import bcoo_todense as bcoo_todense
from .dense import bcoo_todense_p as bcoo_todense_p
from .order import bcoo_sort_indices as bcoo_sort_indices
from .order import bcoo_sort_indices_p as bcoo_sort_indices_p
from .order import bcoo_sum_duplicates as bcoo_sum_duplicates
from .order import bcoo_sum_duplicates_p as bcoo_sum_duplicates_p
from .permutation import bcoo_transpose as bcoo_transpose
from .permutation import bcoo_transpose_p as bcoo_transpose_p
from .relayout import bcoo_update_layout as bcoo_update_layout
from .shape_operations import bcoo_broadcast_in_dim as bcoo_broadcast_in_dim
from .shape_operations import bcoo_concatenate as bcoo_concatenate
from .shape_operations import bcoo_reshape as bcoo_reshape
from .shape_operations import bcoo_rev as bcoo_rev
from .shape_operations import bcoo_squeeze as bcoo_squeeze
from .slicing import bcoo_dynamic_slice as bcoo_dynamic_slice
from .slicing import bcoo_gather as bcoo_gather
from .slicing import bcoo_slice as bcoo_slice
from .sparse_contraction import bcoo_dot_general as bcoo_dot_general
from .sparse_contraction import bcoo_spdot_general_p as bcoo_spdot_general_p
