"""`morphax.numpy`: the functions of NumPy for arrays that can be traced."""

from . import operators as _operators
from .arithmetic import add as add
from .arithmetic import multiply as multiply
from .arithmetic import negative as negative
