"""`morphax.scipy.stats`: distributions, a module each, and statistics."""

from __future__ import annotations

from . import bernoulli as bernoulli
from . import beta as beta
from . import betabinom as betabinom
from . import binom as binom
from . import cauchy as cauchy
from . import chi2 as chi2
from . import dirichlet as dirichlet
from . import expon as expon
from . import gamma as gamma
from . import gennorm as gennorm
from . import geom as geom
from . import gumbel_l as gumbel_l
from . import gumbel_r as gumbel_r
from . import laplace as laplace
from . import logistic as logistic
from . import multinomial as multinomial
from . import multivariate_normal as multivariate_normal
from . import nbinom as nbinom
from . import norm as norm
from . import pareto as pareto
from . import poisson as poisson
from . import t as t
from . import truncnorm as truncnorm
from . import uniform as uniform
from . import vonmises as vonmises
from . import wrapcauchy as wrapcauchy
from ._kernel_density import gaussian_kde as gaussian_kde
from ._ranks import mode as mode
from ._ranks import rankdata as rankdata
from ._ranks import sem as sem
