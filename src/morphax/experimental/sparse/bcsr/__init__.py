"""`BCSR`, sparse matrices in batched compressed row format, and the operations on them.

Rows are held as `indptr`: those elements from ``indptr[i]`` up to ``indptr[i + 1]`` stand in row i.
`rows` takes this to the indices of BCOO and back, by which `operations` says all that it does.
"""

from __future__ import annotations

from .array import BCSR as BCSR
from .array import bcsr_broadcast_in_dim as bcsr_broadcast_in_dim
from .array import bcsr_concatenate as bcsr_concatenate
from .array import bcsr_fromdense as bcsr_fromdense
from .operations import bcsr_dot_general as bcsr_dot_general
from .operations import bcsr_dot_general_p as bcsr_dot_general_p
from .operations import bcsr_extract as bcsr_extract
from .operations import bcsr_extract_p as bcsr_extract_p
from .operations import bcsr_fromdense_p as bcsr_fromdense_p
from .operations import bcsr_sum_duplicates as bcsr_sum_duplicates
from .operations import bcsr_sum_duplicates_p as bcsr_sum_duplicates_p
from .operations import bcsr_todense as bcsr_todense
from .operations import bcsr_todense_p as bcsr_todense_p
