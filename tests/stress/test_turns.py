"""Programs whose devices wait for each other, run after run, on few cores: none waits for ever."""

from __future__ import annotations

import pytest

from .process import run

SETUP = """
import numpy as np
jax.config.update("jax_num_cpu_devices", 8)
mesh = jax.make_mesh((8,), ("i",))
x = jax.device_put(np.arange(16, dtype=np.float32), jax.NamedSharding(mesh, jax.P("i")))
def steps(x):
    for _ in range(5):
        x = x - 0.5 * jax.lax.pmean(x, "i")
    return x, jax.lax.psum(x, "i")
members = jax.shard_map(steps, mesh=mesh, in_specs=jax.P("i"), out_specs=(jax.P("i"), jax.P()))
f, giving = jax.jit(members), jax.jit(members, donate_argnums=0)
gathered = jax.jit(lambda x: x[::-1] + x.sum())
halved = jax.jit(lambda x: 0.5 * x)
"""

RUNS = {
    "of one thread": """
# Nobody waits; each takes the results of the one before, or their memory; results are dropped.
for _ in range(1000): y, _ = f(x)
for _ in range(300): y, _ = f(y)
for _ in range(300): y, _ = giving(y)
for _ in range(300): f(x)
for i in range(300):
    y, s = f(x)
    gathered(y)
    if i % 3 == 0: float(s[0])
""",
    "of several threads": """
def go():
    for i in range(100):
        y, s = f(x)
        if i % 50 == 0: s.block_until_ready()
threads = [threading.Thread(target=go) for _ in range(4)]
for thread in threads: thread.start()
for thread in threads: thread.join()
y, _ = f(x)
""",
    "among others that take no turns": """
def go():
    y = x
    for i in range(200):
        y, s = f(halved(halved(y)))
        z = halved(halved(s))
        if i % 50 == 0: z.block_until_ready()
threads = [threading.Thread(target=go) for _ in range(3)]
for thread in threads: thread.start()
go()
for thread in threads: thread.join()
y = x
for _ in range(500): y = halved(f(halved(y))[0])
""",
    "with handlers of signals that run programs": """
for _ in range(4): f(x)
def handler(*_):
    f(x)
    signal.setitimer(signal.ITIMER_REAL, 1e-3)
signal.signal(signal.SIGALRM, handler)
handler()
for i in range(300): y, _ = f(x)
signal.signal(signal.SIGALRM, signal.SIG_IGN)
""",
}


@pytest.mark.parametrize("name", RUNS)
def test_runs_end(name: str) -> None:
    out = run(SETUP + RUNS[name] + "\nprint(np.isfinite(np.asarray(y)).all())", seconds=120)
    assert out == "True\n"


def test_interrupts_leave_turns_usable() -> None:
    """Signals at many moments of launches and waits."""
    out = run(
        SETUP
        + """
import random
rng, hits = random.Random(0), 0
expected = np.asarray(f(x)[0])
signal.signal(signal.SIGALRM, signal.default_int_handler)
for _ in range(400):
    try:
        signal.setitimer(signal.ITIMER_REAL, rng.uniform(1e-5, 3e-3))
        for _ in range(4):
            y, s = f(x)
        s.block_until_ready()
        signal.setitimer(signal.ITIMER_REAL, 0)
    except KeyboardInterrupt:
        hits += 1
    assert np.array_equal(f(x)[0], expected)
print(hits > 0)
""",
        seconds=60,
    )
    assert out == "True\n"
