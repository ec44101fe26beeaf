"""`morphax.random`: random numbers that depend on nothing but a key.

A generator in this package has no state.  A *key* names a stream of random numbers; a function
draws from the stream of the key it is given, so the same key gives the same numbers, and different
distributions under one key are not independent.  Use a key once: `split` it for more.

>>> import morphax as jax
>>> key, subkey = jax.random.split(jax.random.key(0))
>>> noise = jax.random.normal(subkey, (3,))

A key is typed (from `key`) or raw (from `PRNGKey`); arrays of keys go through ``vmap``.
Parameters of distributions are arrays that can be broadcast to the ``shape`` of the result, which
is their common shape if it is `None`.  The ``dtype`` of the result is by default that of Python
floats.  A wrong kind of key, dtype or parameter raises `TypeError`, a wrong shape or value
`ValueError`.

The numbers are those of JAX for the same key, bit for bit where no transcendental function enters.
Outside ``jit``, `uniform` between bounds other than 0 and 1 may differ in the last bit, for the
compiler rounds a product and a sum at once.

What takes a factorisation of matrices is imported when it is first asked for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING as _TYPE_CHECKING

from ..util.on_demand import on_demand as _on_demand
from ._counts import binomial as binomial
from ._counts import multinomial as multinomial
from ._counts import poisson as poisson
from ._gamma import ball as ball
from ._gamma import beta as beta
from ._gamma import chisquare as chisquare
from ._gamma import dirichlet as dirichlet
from ._gamma import f as f
from ._gamma import gamma as gamma
from ._gamma import generalized_normal as generalized_normal
from ._gamma import loggamma as loggamma
from ._gamma import t as t
from ._gamma_numbers import random_gamma_p as random_gamma_p
from ._integers import randint as randint
from ._inversion import cauchy as cauchy
from ._inversion import exponential as exponential
from ._inversion import geometric as geometric
from ._inversion import gumbel as gumbel
from ._inversion import laplace as laplace
from ._inversion import logistic as logistic
from ._inversion import pareto as pareto
from ._inversion import rayleigh as rayleigh
from ._inversion import triangular as triangular
from ._inversion import weibull_min as weibull_min
from ._keys import Key as Key
from ._keys import PRNGKey as PRNGKey
from ._keys import clone as clone
from ._keys import fold_in as fold_in
from ._keys import key as key
from ._keys import key_data as key_data
from ._keys import key_dtype as key_dtype
from ._keys import key_impl as key_impl
from ._keys import split as split
from ._keys import wrap_key_data as wrap_key_data
from ._normal import double_sided_maxwell as double_sided_maxwell
from ._normal import lognormal as lognormal
from ._normal import maxwell as maxwell
from ._normal import normal as normal
from ._normal import truncated_normal as truncated_normal
from ._normal import wald as wald
from ._selection import categorical as categorical
from ._selection import choice as choice
from ._selection import permutation as permutation
from ._uniform import bernoulli as bernoulli
from ._uniform import bits as bits
from ._uniform import rademacher as rademacher
from ._uniform import uniform as uniform

if _TYPE_CHECKING:
    from ._matrices import multivariate_normal as multivariate_normal
    from ._matrices import orthogonal as orthogonal

__getattr__, __dir__ = _on_demand(
    __name__, (), {"._matrices": ("multivariate_normal", "orthogonal")}
)
