"""`jax.interpreters`: the rules of primitives, for those who write primitives and interpreters.

`ad` (derivatives), `batching` (vmap), `mlir` (compilation), `partial_eval` (staging), `xla`.
"""

from __future__ import annotations

from . import ad as ad
from . import batching as batching
from . import mlir as mlir
from . import partial_eval as partial_eval
from . import xla as xla
