"""Steps of library programs, timed: what it takes to trace and compile one, and to run it.

Usage: ``python benchmarks/ecosystem_steps.py [NAME]``.  With a name two numbers of milliseconds are
printed: the first call, in the time of all threads on a processor, which other programs on the
machine disturb least; and the fastest of the warm ones, by the clock.  Without one the names are.
Nothing is read from a cache on disk, and compilers are loaded before, by a small and a large
program: a process does that once, whatever it compiles.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp

Step = Callable[[], Any]
WARM = 100


def optax_adamw() -> Step:
    import optax

    keys = jax.random.split(jax.random.key(0), 4)
    params = [jax.random.normal(key, (64, 64)) / 8 for key in keys[:3]]
    x = jax.random.normal(keys[3], (32, 64))
    optimizer = optax.chain(optax.clip_by_global_norm(1.0), optax.adamw(1e-3))
    state = optimizer.init(params)

    @jax.jit
    def step(params: Any, state: Any) -> Any:
        def loss(params: Any) -> Any:
            hidden = x
            for w in params:
                hidden = jnp.tanh(hidden @ w)
            return jnp.mean(hidden**2)

        updates, state = optimizer.update(jax.grad(loss)(params), state, params)
        return optax.apply_updates(params, updates), state

    return lambda: step(params, state)


def equinox_mlp() -> Step:
    import equinox as eqx

    model = eqx.nn.MLP(8, 1, 64, 4, key=jax.random.key(0))
    x = jax.random.normal(jax.random.key(1), (64, 8))

    @eqx.filter_jit
    def step(model: Any) -> Any:
        return eqx.filter_grad(lambda m: jnp.mean(jax.vmap(m)(x) ** 2))(model)

    return lambda: step(model)


def flax_cnn() -> Step:
    import flax.linen as nn

    class Net(nn.Module):
        @nn.compact
        def __call__(self, x: Any) -> Any:
            for features in (8, 16):
                x = nn.relu(nn.BatchNorm(use_running_average=False)(nn.Conv(features, (3, 3))(x)))
                x = nn.avg_pool(x, (2, 2), (2, 2))
            return nn.Dense(10)(x.reshape(len(x), -1))

    images = jax.random.normal(jax.random.key(0), (16, 16, 16, 1))
    variables = Net().init(jax.random.key(1), images)

    @jax.jit
    def step(params: Any) -> Any:
        given = {"batch_stats": variables["batch_stats"]}
        return jax.grad(
            lambda p: jnp.mean(
                Net().apply({"params": p, **given}, images, mutable=["batch_stats"])[0] ** 2
            )
        )(params)

    return lambda: step(variables["params"])


def flax_nnx_mlp() -> Step:
    from flax import nnx

    rngs = nnx.Rngs(0)
    model = nnx.Sequential(nnx.Linear(8, 64, rngs=rngs), nnx.relu, nnx.Linear(64, 1, rngs=rngs))
    x = jax.random.normal(jax.random.key(0), (64, 8))
    step = nnx.jit(nnx.grad(lambda model, x: jnp.mean(model(x) ** 2)))
    return lambda: nnx.state(step(model, x))


def haiku_mlp() -> Step:
    import haiku as hk

    net = hk.without_apply_rng(hk.transform(lambda x: hk.nets.MLP([64, 64, 64, 1])(x)))
    x = jax.random.normal(jax.random.key(0), (64, 8))
    params = net.init(jax.random.key(1), x)
    step = jax.jit(jax.grad(lambda p: jnp.mean(net.apply(p, x) ** 2)))
    return lambda: step(params)


def numpyro_nuts() -> Step:
    import numpyro
    import numpyro.distributions as dist
    from numpyro.infer import NUTS
    from numpyro.infer.util import initialize_model

    x = jax.random.normal(jax.random.key(0), (50,))

    def model(y: Any) -> None:
        slope = numpyro.sample("slope", dist.Normal(0.0, 1.0))
        scale = numpyro.sample("scale", dist.HalfNormal(1.0))
        numpyro.sample("y", dist.Normal(slope * x, scale), obs=y)

    found = initialize_model(jax.random.key(1), model, model_args=(2 * x,))
    kernel = NUTS(potential_fn=found.potential_fn)
    state = kernel.init(jax.random.key(2), 10, found.param_info, (), {})
    step = jax.jit(lambda state: kernel.sample(state, (), {}))
    return lambda: step(state).z


def diffrax_solve() -> Step:
    import diffrax

    def solve(y: Any) -> Any:
        term = diffrax.ODETerm(lambda t, y, args: jnp.stack([y[1], -jnp.sin(y[0])]))
        found = diffrax.diffeqsolve(
            term, diffrax.Tsit5(), 0.0, 5.0, 0.1, y,
            stepsize_controller=diffrax.PIDController(rtol=1e-4, atol=1e-6),
        )  # fmt: skip
        return jnp.sum(found.ys**2)

    step = jax.jit(jax.grad(solve))
    return lambda: step(jnp.array([1.0, 0.0]))


def blackjax_hmc() -> Step:
    import blackjax

    kernel = blackjax.hmc(
        lambda x: -0.5 * jnp.sum(x**2), step_size=0.1, inverse_mass_matrix=jnp.ones(10),
        num_integration_steps=10,
    )  # fmt: skip
    state, step = kernel.init(jnp.ones(10)), jax.jit(kernel.step)
    return lambda: step(jax.random.key(0), state)[0].position


def optimistix_newton() -> Step:
    import optimistix

    def residuals(y: Any, shift: Any) -> Any:
        return y**3 + jnp.roll(y, 1) - shift

    solver = optimistix.Newton(rtol=1e-5, atol=1e-5)
    step = jax.jit(
        jax.grad(lambda s: jnp.sum(optimistix.root_find(residuals, solver, jnp.ones(6), s).value))
    )
    return lambda: step(jnp.arange(6.0) + 1.0)


def distrax_density() -> Step:
    import distrax

    def density(params: Any, x: Any) -> Any:
        flow = distrax.Transformed(
            distrax.MultivariateNormalDiag(jnp.zeros(4), jnp.ones(4)),
            distrax.Chain([distrax.Block(distrax.ScalarAffine(p, jnp.exp(p)), 1) for p in params]),
        )
        return jnp.mean(flow.log_prob(x))

    x = jax.random.normal(jax.random.key(0), (32, 4))
    step = jax.jit(jax.grad(density))
    return lambda: step([jnp.full(4, 0.1)] * 4, x)


STEPS = {
    step.__name__: step
    for step in (
        optax_adamw, equinox_mlp, flax_cnn, flax_nnx_mlp, haiku_mlp, numpyro_nuts, diffrax_solve,
        blackjax_hmc, optimistix_newton, distrax_density,
    )
}  # fmt: skip


def milliseconds(step: Step, clock: Callable[[], float]) -> float:
    start = clock()
    jax.block_until_ready(step())
    return 1e3 * (clock() - start)


def main(name: str) -> tuple[float, float]:
    """Milliseconds to trace and compile a step, and to run it."""
    jax.config.update("jax_enable_compilation_cache", False)
    step = STEPS[name]()
    for size in (3, 1 << 15):
        jax.block_until_ready(jax.jit(jnp.sin)(jnp.ones(size)))
    first = milliseconds(step, time.process_time)
    return first, min(milliseconds(step, time.perf_counter) for _ in range(WARM))


if __name__ == "__main__":
    print(json.dumps(main(sys.argv[1]) if len(sys.argv) > 1 else list(STEPS)))
