"""A child forked from a process that uses XLA raises errors instead of waiting for ever."""

from __future__ import annotations

import os

import pytest

from .process import run

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="no forks")

SETUP = """
        import warnings, numpy as np
        big, small = jnp.ones((1000, 1000)), jnp.ones(3)
        f = jax.jit(lambda x: x @ x); done = f(big); done.block_until_ready()
        g = jax.jit(lambda x: x * 2.0); g(1.0)
        compiled = g.lower(1.0).compile()
        pending = jax.jit(lambda x: jax.lax.fori_loop(0, 5000, lambda i, c: c @ x, x))(big)
        matrix = np.ones((500, 500)); matrix @ matrix
        def check(name, action, is_refused):
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                child = os.fork()
            if child:
                texts = [str(w.message) for w in caught if "XLA's threads" in str(w.message)]
                assert len(texts) == 1 and "'spawn'" in texts[0], texts
                assert os.waitpid(child, 0)[1] == 0, name
                return
            signal.alarm(30)
            try:
                action()
            except RuntimeError as error:
                assert is_refused and "XLA in a forked process" in str(error), (name, error)
            else:
                assert not is_refused, name
            sys.exit(0)
"""


BY_XLA = """
        jax.config.update("jax_cpu_engine", "xla")
"""


def test_what_needs_threads_raises() -> None:
    out = run(
        BY_XLA
        + SETUP
        + """
        check("warm", lambda: f(big), True)
        check("warm and small", lambda: g(1.0), True)
        check("compiled", lambda: compiled(1.0), True)
        check("cold", lambda: jax.jit(lambda x: x + 1.5)(2.0), True)
        check("gradient", lambda: jax.grad(g)(1.0), True)
        check("wait", lambda: pending.block_until_ready(), True)
        check("read", lambda: float(pending[0, 0]), True)
        check("tree", lambda: jax.block_until_ready([pending]), True)
        print("done", flush=True)
        os._exit(0)
        """
    )
    assert out == "done\n"


def test_what_needs_none_works() -> None:
    out = run(
        SETUP
        + """
        check("read", lambda: float(done[0, 0]), False)
        check("eager", lambda: float(jnp.sin(big).sum()), False)
        check("machine code", lambda: g(1.0), False)
        check("product", lambda: float((big @ big)[0, 0]), False)
        check("NumPy", lambda: (matrix @ matrix).sum(), False)
        check("gradient", lambda: jax.grad(lambda x: jnp.sin(x) ** 2)(1.0), False)
        check("vmap", lambda: jax.vmap(jnp.sin)(small).sum(), False)
        check("devices", lambda: jax.devices()[0].platform, False)
        check("collection", gc.collect, False)
        check("clear", jax.clear_caches, False)
        check("random", lambda: jax.random.normal(jax.random.key(0), (3,)), False)
        check("fork again", lambda: os.waitpid(os.fork() or os._exit(0), 0), False)
        assert f(big)[0, 0] == 1000.0
        print("done", flush=True)
        os._exit(0)
        """
    )
    assert out == "done\n"


def test_a_fork_before_anything_is_compiled_is_free() -> None:
    out = run(
        """
        jnp.sin(jnp.ones((300, 300))).sum()
        child = os.fork()
        assert jax.jit(lambda x: x + 1.0)(1.0) == 2.0
        if child:
            assert os.waitpid(child, 0)[1] == 0
            print("done")
        """
    )
    assert out == "done\n"


def test_a_child_needs_no_lock_that_another_thread_held() -> None:
    out = run(
        """
        from morphax.util import memo
        jnp.mean(jnp.ones(3))
        held = threading.Event()
        def hold():
            with memo._lock:
                held.set()
                time.sleep(0.5)
        thread = threading.Thread(target=hold)
        thread.start()
        held.wait()
        child = os.fork()
        if not child:
            signal.alarm(30)
            os._exit(int(jnp.mean(jnp.ones(60)) != 1))
        assert os.waitpid(child, 0)[1] == 0
        thread.join()
        print("done")
        """
    )
    assert out == "done\n"
