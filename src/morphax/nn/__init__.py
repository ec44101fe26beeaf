"""`morphax.nn`: activation functions and what is near them.

The initializers draw random numbers and are imported when they are first asked for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING as _TYPE_CHECKING

from ..util.on_demand import on_demand as _on_demand
from .activations import gelu as gelu
from .activations import glu as glu
from .activations import identity as identity
from .activations import log1mexp as log1mexp
from .activations import log_sigmoid as log_sigmoid
from .activations import mish as mish
from .activations import sigmoid as sigmoid
from .activations import silu as silu
from .activations import soft_sign as soft_sign
from .activations import softplus as softplus
from .activations import squareplus as squareplus
from .activations import swish as swish
from .activations import tanh as tanh
from .attention import dot_product_attention as dot_product_attention
from .normalization import log_softmax as log_softmax
from .normalization import logmeanexp as logmeanexp
from .normalization import logsumexp as logsumexp
from .normalization import one_hot as one_hot
from .normalization import softmax as softmax
from .normalization import standardize as standardize
from .rectifiers import celu as celu
from .rectifiers import elu as elu
from .rectifiers import hard_sigmoid as hard_sigmoid
from .rectifiers import hard_silu as hard_silu
from .rectifiers import hard_swish as hard_swish
from .rectifiers import hard_tanh as hard_tanh
from .rectifiers import leaky_relu as leaky_relu
from .rectifiers import relu as relu
from .rectifiers import relu6 as relu6
from .rectifiers import selu as selu
from .rectifiers import sparse_plus as sparse_plus
from .rectifiers import sparse_sigmoid as sparse_sigmoid
from .scaled import scaled_matmul as scaled_matmul
from .scaled_dot import get_scaled_dot_general_config as get_scaled_dot_general_config
from .scaled_dot import scaled_dot_general as scaled_dot_general

if _TYPE_CHECKING:
    from . import initializers as initializers

__getattr__, __dir__ = _on_demand(__name__, ("initializers",), {})
