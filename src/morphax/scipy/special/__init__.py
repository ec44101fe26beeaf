"""Special functions: the error, gamma, Bessel and entropy families, and sums of exponentials.

Where a formula and its derivative differ in what is finite (x log y at x = 0), the derivative is
defined apart.
"""

from __future__ import annotations

from ._bessel import i0 as i0
from ._bessel import i0e as i0e
from ._bessel import i1 as i1
from ._bessel import i1e as i1e
from ._bessel_orders import bessel_jn as bessel_jn
from ._combinatorial import bernoulli as bernoulli
from ._combinatorial import comb as comb
from ._combinatorial import multigammaln as multigammaln
from ._combinatorial import poch as poch
from ._dilogarithm import spence as spence
from ._entropy import entr as entr
from ._entropy import kl_div as kl_div
from ._entropy import rel_entr as rel_entr
from ._entropy import xlog1py as xlog1py
from ._entropy import xlogy as xlogy
from ._errors import erf as erf
from ._errors import erfc as erfc
from ._errors import erfcinv as erfcinv
from ._errors import erfcx as erfcx
from ._errors import erfinv as erfinv
from ._errors import log_ndtr as log_ndtr
from ._errors import ndtr as ndtr
from ._errors import ndtri as ndtri
from ._exponential_integrals import exp1 as exp1
from ._exponential_integrals import expi as expi
from ._exponential_integrals import expn as expn
from ._faddeeva import wofz as wofz
from ._gamma import beta as beta
from ._gamma import betaln as betaln
from ._gamma import digamma as digamma
from ._gamma import factorial as factorial
from ._gamma import gamma as gamma
from ._gamma import gammaln as gammaln
from ._gamma import gammasgn as gammasgn
from ._gamma import polygamma as polygamma
from ._gamma import zeta as zeta
from ._gaussian_integrals import dawsn as dawsn
from ._gaussian_integrals import owens_t as owens_t
from ._hypergeometric import hyp1f1 as hyp1f1
from ._hypergeometric import hyp2f1 as hyp2f1
from ._incomplete import betainc as betainc
from ._incomplete import gammainc as gammainc
from ._incomplete import gammaincc as gammaincc
from ._legendre import lpmn as lpmn
from ._legendre import lpmn_values as lpmn_values
from ._legendre import sph_harm_y as sph_harm_y
from ._log_gamma import loggamma as loggamma
from ._oscillating_integrals import fresnel as fresnel
from ._oscillating_integrals import sici as sici
from ._powers import boxcox as boxcox
from ._powers import boxcox1p as boxcox1p
from ._sums import expit as expit
from ._sums import log_softmax as log_softmax
from ._sums import logit as logit
from ._sums import logsumexp as logsumexp
from ._sums import softmax as softmax
