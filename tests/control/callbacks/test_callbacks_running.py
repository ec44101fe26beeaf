"""How programs with callbacks run: errors, threads, one core, nothing lost at exit."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import traceback
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import morphax as jax
import morphax.numpy as jnp
from morphax.experimental import io_callback

SCALAR = jax.ShapeDtypeStruct((), np.float32)


def explode(x: Any) -> Any:
    try:
        raise ZeroDivisionError("first")
    except ZeroDivisionError as error:
        raise LookupError(f"bad value {float(x)}") from error


CALLS = {
    "print": lambda x: jax.debug.callback(explode, x),
    "ordered print": lambda x: jax.debug.callback(explode, x, ordered=True),
    "pure": lambda x: jax.pure_callback(explode, SCALAR, x),
    "io": lambda x: io_callback(explode, SCALAR, x),
    "ordered io": lambda x: io_callback(explode, SCALAR, x, ordered=True),
    "branch": lambda x: jax.lax.cond(x > 0, lambda: jax.debug.callback(explode, x), lambda: None),
    "loop": lambda x: jax.lax.fori_loop(0, 3, lambda i, c: io_callback(explode, SCALAR, c), x),
    "large": lambda x: jax.debug.callback(lambda a: explode(a[0, 0]), jnp.ones((500, 500)) * x),
    "inside a callback": lambda x: jax.debug.callback(jax.jit(CALLS["pure"]), x),
}


@pytest.mark.parametrize("engine", [lambda f: f, jax.jit], ids=["eager", "jit"])
@pytest.mark.parametrize("name", CALLS)
def test_exceptions_arrive_as_themselves(name: str, engine: Any) -> None:
    f = engine(CALLS[name])
    with pytest.raises(LookupError, match=r"^bad value 2\.0$") as caught:
        f(2.0)
    assert isinstance(caught.value.__cause__, ZeroDivisionError)
    functions = [frame.name for frame in traceback.extract_tb(caught.value.__traceback__)]
    assert functions[0] == "test_exceptions_arrive_as_themselves"
    assert functions[-1] == "explode"
    # Nothing is left over for later programs.
    jax.effects_barrier()
    assert jax.jit(lambda x: x + 1)(1.0) == 2.0
    with pytest.raises(LookupError, match=r"^bad value 3\.0$"):
        f(3.0)


def test_end_of_the_program_and_interrupts_arrive_too() -> None:
    def leave(x: Any) -> None:
        raise SystemExit(7)

    def interrupt(x: Any) -> None:
        raise KeyboardInterrupt

    with pytest.raises(SystemExit) as caught:
        jax.jit(lambda x: jax.debug.callback(leave, x))(1.0)
    assert caught.value.code == 7
    with pytest.raises(KeyboardInterrupt):
        jax.jit(lambda x: jax.debug.callback(interrupt, x))(1.0)


def test_a_program_stops_at_its_first_error() -> None:
    seen: list[float] = []

    @jax.jit
    def f(x: Any) -> None:
        jax.debug.callback(lambda v: seen.append(float(v)), x, ordered=True)
        jax.debug.callback(explode, x, ordered=True)
        jax.debug.callback(lambda v: seen.append(float(v)), x, ordered=True)

    with pytest.raises(LookupError):
        f(1.0)
    assert seen == [1.0]


def test_threads_get_their_own_errors() -> None:
    f = jax.jit(CALLS["pure"])
    wrong: list[Any] = []

    def work(i: int) -> None:
        for _ in range(20):
            try:
                f(float(i))
            except LookupError as error:
                if str(error) != f"bad value {i}.0":
                    wrong.append(error)
            else:
                wrong.append(i)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_output_is_there_when_the_call_returns() -> None:
    seen = []
    f = jax.jit(lambda x: jax.debug.callback(lambda v: seen.append(v[0, 0]), jnp.sin(x) @ x))
    for i in range(3):
        f(jnp.ones((400, 400)))
        assert len(seen) == i + 1
    assert jax.effects_barrier() is None


def test_callbacks_run_outside_all_transformations() -> None:
    def python(x: Any) -> Any:
        assert not isinstance(x, jax.core.Tracer)
        return jax.jit(jax.vmap(jax.grad(lambda y: jnp.sin(y))))(jnp.stack([x, x]))[0]

    def f(x: Any) -> Any:
        return jax.pure_callback(python, SCALAR, x, vmap_method="sequential") * x

    xs = np.arange(3, dtype=np.float32)
    for g in (jax.vmap(f, axis_name="i"), jax.jit(jax.vmap(f, axis_name="i"))):
        np.testing.assert_allclose(g(xs), np.cos(xs) * xs, rtol=1e-5)
    shown: list[Any] = []
    jax.grad(lambda x: (jax.debug.callback(lambda v: shown.append(jnp.sin(v)), x), x)[1])(1.0)
    assert float(shown[0]) == pytest.approx(np.sin(1.0))


def run(program: str, *prefix: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run a program in a process of its own."""
    source = Path(jax.__file__).parent.parent
    command: Sequence[str] = [*prefix, sys.executable, "-c", program]
    settings = os.environ | {"PYTHONPATH": str(source)} | environment
    return subprocess.run(
        command, capture_output=True, text=True, timeout=120, env=settings, check=False
    )


AT_EXIT = """
import morphax as jax, morphax.numpy as jnp
@jax.jit
def f(x):
    for _ in range(10): x = x @ x / 300
    jax.debug.print("unordered {}", x[0, 0])
    jax.debug.print("ordered {}", x[0, 0], ordered=True)
f(jnp.ones((300, 300)))
"""


def test_output_is_not_lost_at_exit() -> None:
    done = run(AT_EXIT)
    assert done.returncode == 0, done.stderr
    assert sorted(done.stdout.split()) == sorted("unordered 1.0 ordered 1.0".split())


def test_errors_at_exit_are_shown() -> None:
    done = run(AT_EXIT.replace('jax.debug.print("u', "jax.debug.callback(lambda v: 1 / 0, x)\n#"))
    assert done.returncode == 1
    assert "ZeroDivisionError" in done.stderr


NESTED = """
import morphax as jax, morphax.numpy as jnp, threading
def make(depth):
    def python(a):
        if depth:
            jax.jit(make(depth - 1))(jnp.asarray(a)).block_until_ready()
        else:
            jax.jit(lambda a: jnp.sort(a @ a, axis=0) @ a)(a + 1).block_until_ready()
    def f(a):
        b = a @ a
        for ordered in (False, True):
            jax.debug.callback(python, jnp.sin(b) @ a, ordered=ordered)
        return b @ a
    return f
a = jnp.ones((200, 200))
threads = [threading.Thread(target=lambda: jax.jit(make(1))(a).block_until_ready()) for _ in "ab"]
for t in threads: t.start()
for t in threads: t.join()
print("done")
"""


@pytest.mark.skipif(not hasattr(os, "sched_getaffinity"), reason="taskset is a tool of Linux")
def test_no_deadlock_on_one_core() -> None:
    """Large programs whose callbacks run large programs, with one thread to compute on."""
    core = str(min(os.sched_getaffinity(0)))
    done = run(NESTED, "taskset", "-c", core, NPROC="1")
    assert done.stdout == "done\n", done.stderr


@pytest.mark.parametrize("engine", [lambda f: f, jax.jit], ids=["eager", "jit"])
def test_named_axes_are_not_those_of_the_program(engine: Any) -> None:
    def python(x: Any) -> None:
        with pytest.raises(NameError):
            jax.lax.axis_index("i")

    f = jax.vmap(engine(lambda x: jax.debug.callback(python, x)), axis_name="i")
    f(np.arange(2))
    jax.vmap(lambda x: engine(lambda: jax.debug.callback(python, 1.0))(), axis_name="i")(
        np.arange(2)
    )
