"""`morphax.lax`: the primitives, one class each, and the functions that bind them."""

from .arithmetic import add, add_p, mul, mul_p, neg, neg_p
from .trigonometric import cos, cos_p, sin, sin_p
