"""Threads that trace, transform, run and clear at once get the answers of one thread."""

from __future__ import annotations

from .process import run

PROGRAM = """
import random, traceback
import numpy as np

xs = [jnp.arange(float(n)) for n in range(3, 9)]
shared = jax.jit(lambda x: jnp.sin(x) * 2.0 + x)

@jax.custom_vjp
def clipped(x):
    return x * 2.0
clipped.defvjp(lambda x: (x * 2.0, x), lambda x, ct: (jnp.minimum(ct, 0.5),))

def cleared(x):
    jax.clear_caches()
    return x

# What is computed with jax, and with NumPy.
TASKS = [
    (lambda x, k: shared(x), lambda x, k: np.sin(x) * 2 + x),
    (lambda x, k: jax.jit(lambda x: x * k + 1.0)(x), lambda x, k: x * k + 1),
    (lambda x, k: jax.grad(lambda x: (x**3 * k).sum())(x), lambda x, k: 3 * x * x * k),
    (lambda x, k: jax.vmap(lambda a: a * k + jnp.cos(a))(x), lambda x, k: x * k + np.cos(x)),
    (lambda x, k: jax.lax.scan(lambda c, a: (c + a * k, c), 0.0, x)[0], lambda x, k: sum(x * k)),
    (
        lambda x, k: jax.lax.cond(x.sum() > 5, lambda a: a * k, lambda a: a - k, x),
        lambda x, k: x * k if x.sum() > 5 else x - k,
    ),
    (
        lambda x, k: jax.jit(jax.value_and_grad(lambda x: jnp.sum(jnp.tanh(x) * k)))(x)[1],
        lambda x, k: (1 - np.tanh(x) ** 2) * k,
    ),
    (lambda x, k: cleared(x) + k, lambda x, k: x + k),
    (lambda x, k: jnp.sort(-x)[::2] + k, lambda x, k: np.sort(-x)[::2] + k),
    (lambda x, k: jax.jvp(shared, (x,), (x,))[1], lambda x, k: (np.cos(x) * 2 + 1) * x),
    (
        lambda x, k: jax.lax.while_loop(
            lambda c: c[0] < k, lambda c: (c[0] + 1, c[1] + 1.0), (0, x)
        )[1],
        lambda x, k: x + k,
    ),
    (lambda x, k: jax.grad(lambda x: clipped(x).sum())(x), lambda x, k: 0.5 + 0 * x),
    (lambda x, k: jax.random.split(jax.random.key(k), 2).shape[0] * x, lambda x, k: 2 * x),
    (lambda x, k: jax.make_jaxpr(lambda x: x + k)(x).eqns[0].outvars[0].aval.size, 
     lambda x, k: x.size),
]
errors, runs = [], []

def work(seed, end):
    rng, count = random.Random(seed), 0
    while time.time() < end:
        task = rng.randrange(len(TASKS))
        x, k = rng.choice(xs), rng.randrange(1, 5)
        ours, expected = TASKS[task]
        try:
            np.testing.assert_allclose(
                np.asarray(ours(x, k)), expected(np.asarray(x), k), rtol=2e-5, atol=1e-5
            )
        except Exception:
            errors.append(f"task {task}: {traceback.format_exc()}")
        count += 1
    runs.append(count)

sys.setswitchinterval(1e-5)
end = time.time() + SECONDS
threads = [threading.Thread(target=work, args=(seed, end)) for seed in range(8)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(*errors[:3], sep="\\n")
print(len(runs), min(runs) > 0, len(errors))
"""


def test_threads_do_not_disturb_each_other() -> None:
    out = run(PROGRAM.replace("SECONDS", "8"))
    assert out.splitlines()[-1] == "8 True 0", out


def test_threads_that_need_the_same_program_compile_it_once() -> None:
    out = run("""
        from morphax import monitoring
        compiled = []
        monitoring.register_event_duration_secs_listener(
            lambda event, seconds, **_: compiled.append(event)
            if "backend_compile" in event else None
        )
        x = jnp.ones(3)
        def f(x):
            return x * 2.0 + 1.0
        f = jax.jit(f)
        f.trace(x)
        start = threading.Barrier(8)
        def work():
            start.wait()
            assert f(x)[0] == 3.0
        threads = [threading.Thread(target=work) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        print(len(compiled))
    """)
    assert int(out) == 1


def test_configuration_belongs_to_its_thread() -> None:
    out = run("""
        ready, done = threading.Event(), threading.Event()
        seen = []
        def other():
            ready.wait()
            seen.append(jnp.arange(3.0).dtype.name)
            done.set()
        thread = threading.Thread(target=other)
        thread.start()
        with jax.enable_x64(True):
            ready.set()
            done.wait()
            seen.append(jnp.arange(3.0).dtype.name)
        thread.join()
        print(*seen)
    """)
    assert out.split() == ["float32", "float64"]
