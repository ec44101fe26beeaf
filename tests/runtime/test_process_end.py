"""Threads of the user that compute while the process ends: it ends as if they were not there."""

from __future__ import annotations

import subprocess
import sys

import pytest

from morphax.util.compiled import part

_SCRIPT = """
import threading, time
import numpy as np
import morphax as jax
import morphax.numpy as jnp

x = np.ones((100, 100), np.float32)
{function}

def run():
    while True:
        jax.block_until_ready(f(x))

for _ in range(3):
    threading.Thread(target=run, daemon=True).start()
jax.block_until_ready(f(x))
time.sleep(0.05)
print("at the end")
"""

_FUNCTIONS = {
    "eager": "f = lambda x: jnp.sin(x) @ x",
    "copies of NumPy's": "f = jnp.array",
    "native": "f = jax.jit(lambda x: jnp.sin(x) + 1)",
    "a loop": "f = jax.jit(lambda x: jax.lax.fori_loop(0, 100, lambda _, c: jnp.sin(c), x))",
    "xla": "f = jax.jit(lambda x: jnp.sort(x @ x), compiler_options={'jax_cpu_engine': 'xla'})",
    "compiled": "f = jax.jit(lambda x: jnp.sin(x)).lower(x).compile()",
    "traced anew": "f = lambda x: jax.jit(lambda y: jnp.sin(y) + time.time())(x)",
    "Python within": "f = jax.jit(lambda x: jax.pure_callback(np.sin, x, x))",
}


@pytest.mark.skipif(part("process_end") is None, reason="threads wait in compiled code")
@pytest.mark.sampled(1)
@pytest.mark.parametrize("kind", _FUNCTIONS)
def test_the_process_ends_while_other_threads_compute(kind: str) -> None:
    script = _SCRIPT.format(function=_FUNCTIONS[kind])
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=120, check=False
    )
    assert (done.returncode, done.stdout) == (0, "at the end\n"), done.stderr
