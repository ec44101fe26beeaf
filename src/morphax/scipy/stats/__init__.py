"""`morphax.scipy.stats`: distributions, a module each, and statistics."""

from __future__ import annotations

from . import cauchy as cauchy
from . import expon as expon
from . import gumbel_l as gumbel_l
from . import gumbel_r as gumbel_r
from . import laplace as laplace
from . import logistic as logistic
from . import norm as norm
from . import pareto as pareto
from . import t as t
from . import uniform as uniform
