"""One call of each public function of `random`, `image`, `ops`, `scipy` and `experimental.sparse`.

`CALLS` is text, a call on each line, written over the names of `operands` and `namespace`.
"""

from __future__ import annotations

import importlib
from functools import partial
from typing import Any

import numpy as np

CALLS = """
random.bits(key, (n,))
random.uniform(key, (n,))
random.normal(key, (n,))
random.randint(key, (n,), 0, 10)
random.bernoulli(key, 0.3, (n,))
random.exponential(key, (n,))
random.gumbel(key, (n,))
random.laplace(key, (n,))
random.logistic(key, (n,))
random.cauchy(key, (n,))
random.maxwell(key, (n,))
random.double_sided_maxwell(key, 0.0, 1.0, (n,))
random.lognormal(key, 1.0, (n,))
random.pareto(key, 2.0, (n,))
random.rayleigh(key, 2.0, (n,))
random.wald(key, 2.0, (n,))
random.weibull_min(key, 1.0, 2.0, (n,))
random.generalized_normal(key, 2.0, (n,))
random.geometric(key, 0.3, (n,))
random.rademacher(key, (n,))
random.truncated_normal(key, -1.0, 1.0, (n,))
random.triangular(key, 0.0, 0.5, 1.0, (n,))
random.gamma(key, 2.0, (n,))
random.gamma(key, x, (n,))
random.loggamma(key, 2.0, (n,))
random.chisquare(key, 2.0, (n,))
random.beta(key, 2.0, 3.0, (n,))
random.f(key, 2.0, 3.0, (n,))
random.t(key, 3.0, (n,))
random.poisson(key, 3.0, (n,))
random.poisson(key, 30.0, (n,))
random.poisson(key, x, (n,))
random.binomial(key, 10.0, 0.3, (n,))
random.binomial(key, 100.0, 0.3, (n,))
random.binomial(key, 10.0, x, (n,))
random.multinomial(key, 10, p / p.sum())
random.dirichlet(key, p)
random.dirichlet(key, p, (n,))
random.permutation(key, n)
random.permutation(key, a)
random.choice(key, n, (n,))
random.choice(key, n, (n,), replace=False)
random.choice(key, n, (n,), p=x)
random.categorical(key, logits)
random.categorical(key, logits, shape=(n,))
random.ball(key, 3, 2, (n,))
random.multivariate_normal(key, mean, cov)
random.multivariate_normal(key, mean, cov, (n,))
random.orthogonal(key, 4)
random.key(3)
random.PRNGKey(3)
random.split(key)
random.split(key, n)
random.fold_in(key, 3)
random.key_data(key)
init.glorot_normal()(key, (d, d))
init.glorot_uniform()(key, (d, d))
init.he_normal()(key, (d, d))
init.he_uniform()(key, (d, d))
init.lecun_normal()(key, (d, d))
init.lecun_uniform()(key, (d, d))
init.orthogonal()(key, (d, d))
init.normal()(key, (d, d))
init.truncated_normal()(key, (d, d))
init.uniform()(key, (d, d))
init.delta_orthogonal()(key, (3, 3, 4, 4))
init.variance_scaling(1.0, 'fan_avg', 'normal')(key, (d, d))
init.zeros(key, (d, d))
init.constant(2.0)(key, (d, d))
image.resize(img, (2*d, 2*d), 'nearest')
image.resize(img, (2*d, 2*d), 'linear')
image.resize(img, (2*d, 2*d), 'cubic')
image.resize(img, (2*d, 2*d), 'lanczos3')
image.resize(img, (2*d, 2*d), 'lanczos5')
image.resize(img3, (d//2, d//2, 3), 'linear')
image.resize(img, (d//2, d//2), 'cubic', antialias=False)
image.scale_and_translate(img, (d, d), (0, 1), v[:2]+.5, w[:2], 'linear')
ops.segment_max(x, ids, 8)
ops.segment_min(x, ids, 8)
ops.segment_prod(x, ids, 8)
ops.segment_sum(x, ids, 8)
ops.segment_sum(x, ids, 8, indices_are_sorted=True)
sl.block_diag(a, b)
sl.cho_factor(s)[0]
sl.cho_solve((s, True), v)
sl.cholesky(s)
sl.circulant(v)
sl.companion(v)
sl.det(s)
sl.dft(d)
sl.eigh(s)
sl.eigh(s, eigvals_only=True)
sl.eigh_tridiagonal(v, w[1:], eigvals_only=True)
sl.expm(a)
sl.expm(s * 4)
sl.expm_frechet(a, b)
sl.fiedler(v)
sl.hadamard(8)
sl.hankel(v)
sl.helmert(d)
sl.hessenberg(a)
sl.hilbert(d)
sl.inv(s)
sl.leslie(v, w[1:])
sl.lu(s)
sl.lu_factor(s)
sl.lu_solve((s, jnp.arange(d)), v)
sl.pascal(d)
sl.polar(s)
sl.polar(a, method='svd')
sl.qr(a)
sl.qr(a, mode='economic')
sl.qr_multiply(a, b)
sl.rsf2csf(a, b)
sl.schur(a)
sl.schur(a, output='complex')
sl.solve(s, v)
sl.solve(s, v, assume_a='pos')
sl.solve_sylvester(s, s, b)
sl.solve_triangular(s, v, lower=True)
sl.sqrtm(s)
sl.svd(a)
sl.toeplitz(v)
sl.funm(s, jnp.exp)
sp.bernoulli(8)
sp.bessel_jn(z, v=3)
sp.beta(x, y)
sp.betainc(x, y, z)
sp.betaln(x, y)
sp.digamma(x)
sp.entr(x)
sp.erf(x)
sp.erfc(x)
sp.erfcx(x)
sp.erfinv(x)
sp.exp1(x)
sp.expi(x)
sp.expit(x)
sp.expn(2, x)
sp.factorial(x)
sp.fresnel(x)
sp.gamma(x)
sp.gammainc(x, y)
sp.gammaincc(x, y)
sp.gammaln(x)
sp.gammasgn(x)
sp.hyp1f1(x, y, z)
sp.hyp2f1(x, y, z, x)
sp.i0(x)
sp.i0e(x)
sp.i1(x)
sp.i1e(x)
sp.kl_div(x, y)
sp.log_ndtr(x)
sp.log_softmax(x)
sp.loggamma(x)
sp.logit(x)
sp.logsumexp(x)
sp.multigammaln(x + 2, 2)
sp.ndtr(x)
sp.ndtri(x)
sp.owens_t(x, y)
sp.poch(x, y)
sp.polygamma(2, x)
sp.rel_entr(x, y)
sp.sici(x)
sp.softmax(x)
sp.spence(x)
sp.sph_harm_y(jnp.array([3]), jnp.array([2]), x[:1], y[:1], n_max=4)
sp.xlog1py(x, y)
sp.xlogy(x, y)
sp.zeta(x + 1, y)
lax.igamma_grad_a(x, y)
lax.random_gamma_grad(x, y)
lax.bessel_i1e(x)
lax.lgamma(x)
lax.igamma(x*50, y*50)
lax.igammac(x*50, y*50)
sp.betainc(x*50, y*50, z)
stats.bernoulli.cdf(i, z)
stats.bernoulli.logpmf(i, z)
stats.bernoulli.pmf(i, z)
stats.bernoulli.ppf(x, z)
stats.beta.cdf(x, y, z)
stats.beta.logcdf(x, y, z)
stats.beta.logpdf(x, y, z)
stats.beta.logsf(x, y, z)
stats.beta.pdf(x, y, z)
stats.beta.sf(x, y, z)
stats.betabinom.logpmf(i, 10, y, z)
stats.betabinom.pmf(i, 10, y, z)
stats.binom.logpmf(i, 10, z)
stats.binom.pmf(i, 10, z)
stats.cauchy.cdf(x)
stats.cauchy.isf(x)
stats.cauchy.logcdf(x)
stats.cauchy.logpdf(x)
stats.cauchy.logsf(x)
stats.cauchy.pdf(x)
stats.cauchy.ppf(x)
stats.cauchy.sf(x)
stats.chi2.cdf(x, y)
stats.chi2.logcdf(x, y)
stats.chi2.logpdf(x, y)
stats.chi2.logsf(x, y)
stats.chi2.pdf(x, y)
stats.chi2.sf(x, y)
stats.expon.cdf(x)
stats.expon.logcdf(x)
stats.expon.logpdf(x)
stats.expon.logsf(x)
stats.expon.pdf(x)
stats.expon.ppf(x)
stats.expon.sf(x)
stats.gamma.cdf(x, y)
stats.gamma.logcdf(x, y)
stats.gamma.logpdf(x, y)
stats.gamma.logsf(x, y)
stats.gamma.pdf(x, y)
stats.gamma.sf(x, y)
stats.gennorm.cdf(x, y)
stats.gennorm.logpdf(x, y)
stats.gennorm.pdf(x, y)
stats.geom.logpmf(i, z)
stats.geom.pmf(i, z)
stats.gumbel_l.cdf(x)
stats.gumbel_l.logcdf(x)
stats.gumbel_l.logpdf(x)
stats.gumbel_l.logsf(x)
stats.gumbel_l.pdf(x)
stats.gumbel_l.ppf(x)
stats.gumbel_l.sf(x)
stats.gumbel_r.cdf(x)
stats.gumbel_r.logcdf(x)
stats.gumbel_r.logpdf(x)
stats.gumbel_r.logsf(x)
stats.gumbel_r.pdf(x)
stats.gumbel_r.ppf(x)
stats.gumbel_r.sf(x)
stats.laplace.cdf(x)
stats.laplace.logpdf(x)
stats.laplace.pdf(x)
stats.logistic.cdf(x)
stats.logistic.isf(x)
stats.logistic.logpdf(x)
stats.logistic.pdf(x)
stats.logistic.ppf(x)
stats.logistic.sf(x)
stats.nbinom.logpmf(i, 10, z)
stats.nbinom.pmf(i, 10, z)
stats.norm.cdf(x)
stats.norm.isf(x)
stats.norm.logcdf(x)
stats.norm.logpdf(x)
stats.norm.logsf(x)
stats.norm.pdf(x)
stats.norm.ppf(x)
stats.norm.sf(x)
stats.pareto.cdf(x, y)
stats.pareto.logcdf(x, y)
stats.pareto.logpdf(x, y)
stats.pareto.logsf(x, y)
stats.pareto.pdf(x, y)
stats.pareto.ppf(x, y)
stats.pareto.sf(x, y)
stats.poisson.cdf(i, y)
stats.poisson.logpmf(i, y)
stats.poisson.pmf(i, y)
stats.t.logpdf(x, y)
stats.t.pdf(x, y)
stats.truncnorm.cdf(x, -1.0, 2.0)
stats.truncnorm.logcdf(x, -1.0, 2.0)
stats.truncnorm.logpdf(x, -1.0, 2.0)
stats.truncnorm.logsf(x, -1.0, 2.0)
stats.truncnorm.pdf(x, -1.0, 2.0)
stats.truncnorm.sf(x, -1.0, 2.0)
stats.uniform.cdf(x)
stats.uniform.logpdf(x)
stats.uniform.pdf(x)
stats.uniform.ppf(x)
stats.vonmises.logpdf(x, y)
stats.vonmises.pdf(x, y)
stats.wrapcauchy.logpdf(x, z)
stats.wrapcauchy.pdf(x, z)
stats.poisson.entropy(y)
stats.dirichlet.logpdf(p/p.sum(), p)
stats.dirichlet.pdf(p/p.sum(), p)
stats.multinomial.logpmf(i[:4], i[:4].sum(), p/p.sum())
stats.multinomial.pmf(i[:4], i[:4].sum(), p/p.sum())
stats.multivariate_normal.logpdf(pts, mean, cov)
stats.multivariate_normal.pdf(pts, mean, cov)
stats.mode(i)
stats.rankdata(x)
stats.rankdata(x, method='dense')
stats.sem(x)
stats.gaussian_kde(x)(y[:8])
stats.gaussian_kde(x).logpdf(y[:8])
signal.convolve(x, ker)
signal.convolve(x, y)
signal.convolve2d(img, ker2)
signal.correlate(x, ker)
signal.correlate2d(img, ker2)
signal.csd(x, y, nperseg=8)
signal.detrend(x)
signal.detrend(x, type='constant')
signal.fftconvolve(x, y)
signal.istft(signal.stft(x, nperseg=8)[2], nperseg=8)
signal.stft(x, nperseg=8)
signal.welch(x, nperseg=8)
optimize.minimize(rosen, p, method='BFGS')
ndimage.map_coordinates(img, [coords[0], coords[1]], 1)
ndimage.map_coordinates(img, [coords[0], coords[1]], 0, mode='wrap')
ndimage.map_coordinates(img, [coords[0], coords[1]], 1, mode='reflect')
interpolate.RegularGridInterpolator((grid, grid), gv)(xi)
interpolate.RegularGridInterpolator((grid, grid), gv, method='nearest')(xi)
spl.cg(s, v)
spl.bicgstab(s, v)
spl.gmres(s, v)
vq.vq(codes, book)
integrate.trapezoid(x)
integrate.trapezoid(x, y)
fft.dct(x)
fft.dctn(img)
fft.idct(x)
fft.idctn(img)
Rotation.from_quat(quat).as_matrix()
Rotation.from_rotvec(rots).as_matrix()
Rotation.from_rotvec(rotv).as_quat()
Rotation.from_euler('xyz', rotv).as_matrix()
Rotation.from_rotvec(rotv).as_euler('xyz')
Rotation.from_rotvec(rots).apply(pts)
Rotation.from_rotvec(rots).inv().as_rotvec()
Rotation.from_rotvec(rots).mean().as_quat()
(Rotation.from_rotvec(rotv)*Rotation.from_quat(quat)).as_quat()
Rotation.from_rotvec(rotv).magnitude()
Rotation.from_matrix(cov).as_quat()
Slerp.init(jnp.arange(4.0), Rotation.from_rotvec(pts[:4]))(z[:3]).as_quat()
sparse.BCOO.fromdense(sparse_, nse=NSE).data
S @ v
S @ b
v @ S
S.T @ b
S.todense()
(S * 2).data
(S + S).todense()
(S * sparse_).data
S.sum()
S.sum(0).todense()
S.sum_duplicates(nse=NSE).data
S.sort_indices().data
S[1:3].todense()
S.reshape((d*d,)).todense()
(S @ S).todense()
sparse.bcoo_concatenate([S, S], dimension=0).todense()
sparse.BCSR.from_bcoo(S) @ v
BR @ b
BR.todense()
CO @ v
CS @ v
sparse.sparsify(mulsum)(S, v)
sparse.bcoo_dot_general_sampled(a, b, S.indices, dimension_numbers=(((1,),(0,)),((),())))
sparse.eye(d).todense()
sparse.random_bcoo(key, (d, d), nse=.1).data
sparse.bcoo_extract(S, a).data
S.T.todense()
ssl.spsolve(BRs.data, BRs.indices, BRs.indptr, v)
ssl.lobpcg_standard(s, jnp.stack([v,w],1)[:, :1])
sparse.bcoo_multiply_dense(S, a)
sparse.bcoo_reduce_sum(S, axes=(0,)).todense()
sparse.bcoo_slice(S, start_indices=(0,0), limit_indices=(4,4)).todense()
"""

_DISTRIBUTIONS = """
bernoulli beta betabinom binom cauchy chi2 dirichlet expon gamma gennorm geom gumbel_l gumbel_r
laplace logistic multinomial multivariate_normal nbinom norm pareto poisson t truncnorm uniform
vonmises wrapcauchy
"""


def calls() -> list[str]:
    """The calls, as text."""
    return [line for line in CALLS.splitlines() if line]


def operands(size: int, side: int) -> dict[str, Any]:
    """Numbers of each kind: vectors of so many, matrices of so many rows."""
    rng = np.random.default_rng(size)

    def uniform(*shape: int) -> Any:
        return (0.1 + 0.8 * rng.random(shape)).astype(np.float32)

    square = uniform(side, side)
    return {
        **{name: uniform(size) for name in "xyz"},
        **{name: uniform(side) for name in "vw"},
        "i": rng.integers(0, 10, size).astype(np.int32),
        "ids": np.sort(rng.integers(0, 8, size)).astype(np.int32),
        "a": square,
        "b": uniform(side, side),
        "s": (square @ square.T + 2 * np.eye(side)).astype(np.float32),
        "p": uniform(4),
        "mean": uniform(3),
        "cov": np.eye(3, dtype=np.float32) + np.float32(0.1),
        "pts": uniform(size, 3),
        "quat": uniform(4),
        "rotv": uniform(3),
        "rots": uniform(size, 3),
        "img": uniform(side, side),
        "img3": uniform(side, side, 3),
        "codes": uniform(size, 4),
        "book": uniform(8, 4),
        "grid": np.sort(uniform(side)),
        "gv": uniform(side, side),
        "xi": uniform(size, 2),
        "ker": uniform(5),
        "ker2": uniform(3, 3),
        "coords": uniform(2, size) * (side - 1),
        "sparse_": uniform(side, side) * (rng.random((side, side)) < 0.1),
        "logits": uniform(8),
    }


def module_of(jax: Any, name: str) -> Any:
    """A module of the package."""
    return importlib.import_module(f"{jax.__name__}.{name}")


def namespace(jax: Any, size: int, side: int) -> dict[str, Any]:
    """All that calls name: operands, modules, sizes, functions that other functions take."""
    jnp, module = jax.numpy, partial(module_of, jax)
    for name in _DISTRIBUTIONS.split():
        module(f"scipy.stats.{name}")
    sparse, rotations = module("experimental.sparse"), module("scipy.spatial.transform")
    arrays = {name: jnp.asarray(x) for name, x in operands(size, side).items()}
    count = int(np.count_nonzero(arrays["sparse_"]))
    matrix = sparse.BCOO.fromdense(arrays["sparse_"], nse=count)
    return arrays | {
        **{name: module(name) for name in ("random", "image", "ops")},
        **{name: module(f"scipy.{name}") for name in _SCIPY},
        "jnp": jnp,
        "lax": jax.lax,
        "init": module("nn.initializers"),
        "sl": module("scipy.linalg"),
        "sp": module("scipy.special"),
        "spl": module("scipy.sparse.linalg"),
        "vq": module("scipy.cluster.vq"),
        "Rotation": rotations.Rotation,
        "Slerp": rotations.Slerp,
        "sparse": sparse,
        "ssl": module("experimental.sparse.linalg"),
        "n": size,
        "d": side,
        "NSE": count,
        "key": jax.random.key(0),
        "S": matrix,
        "BR": sparse.BCSR.from_bcoo(matrix),
        "BRs": sparse.BCSR.fromdense(arrays["s"]),
        "CO": sparse.COO.fromdense(arrays["sparse_"]),
        "CS": sparse.CSR.fromdense(arrays["sparse_"]),
        "rosen": lambda p: jnp.sum(100 * (p[1:] - p[:-1] ** 2) ** 2 + (1 - p[:-1]) ** 2),
        "mulsum": lambda S, v: (S @ v) * 2,
    }


_SCIPY = ("stats", "signal", "optimize", "ndimage", "interpolate", "integrate", "fft")
