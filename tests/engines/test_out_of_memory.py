"""Memory that the system does not have, while functions of ours run in XLA's programs."""

from __future__ import annotations

import subprocess
import sys

import pytest

pytest.importorskip("resource")

PROGRAM = """
import resource
import numpy as np
import morphax as jax
from morphax import lax

x = jax.device_put(np.ones((4, 16_000_000), np.float32))
with jax.cpu_engine("xla"):
    largest = jax.jit(lambda x: lax.reduce_max(x, (0,))).lower(x).compile()
assert "morphax_extreme" in largest.as_text()
with open("/proc/self/statm") as file:
    used = int(file.read().split()[0]) * resource.getpagesize()
# There is room for the result, and not for one of each thread.
resource.setrlimit(resource.RLIMIT_AS, (used + 100_000_000,) * 2)
try:
    largest(x).block_until_ready()
except jax.errors.JaxRuntimeError as error:
    print(error)
else:
    print("done")
"""


@pytest.mark.skipif(sys.platform != "linux", reason="limits of memory are Linux's")
def test_a_function_that_finds_no_memory_names_the_program_and_says_what_to_do() -> None:
    found = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", PROGRAM],
        capture_output=True,
        text=True,
        check=False,
    )
    assert found.returncode == 0, found.stderr
    if found.stdout.strip() == "done":
        pytest.skip("one thread needs no memory")
    for part in ("RESOURCE_EXHAUSTED: running the program <lambda>", "out of memory", "smaller"):
        assert part in found.stdout
