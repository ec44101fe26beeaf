"""Ctrl-C returns to the prompt at once, whatever the main thread waits for, and spoils nothing."""

from __future__ import annotations

import sys

import pytest

from morphax.util.compiled import part

from .process import run

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="signals differ")

IN_PARTS = """
jax.config.update("jax_num_cpu_devices", 4)
mesh = jax.make_mesh((4,), ("i",))
parts = jax.device_put(jnp.ones((8, 300)), jax.NamedSharding(mesh, jax.P("i")))
def summed(n):
    def steps(x):
        for _ in range(n):
            x = jnp.tanh(x @ jnp.ones((300, 300)) + jax.lax.pmean(x, "i"))
        return x
    return jax.jit(jax.shard_map(steps, mesh=mesh, in_specs=jax.P("i"), out_specs=jax.P("i")))
short = summed(1)
for _ in range(5): short(parts).block_until_ready()
def endless_parts(x):
    step = lambda i, c: c @ jnp.ones((300, 300)) / 300
    return jax.jit(lambda x: jax.lax.fori_loop(0, 10**7, step, x))(x)
"""

# Prepares, and what is then interrupted: each would take far longer than the test may.
WAITS = {
    "trace": ("", "jax.jit(long(10**7)).trace(x)"),
    "trace of a gradient": ("", "jax.make_jaxpr(jax.grad(lambda x: long(10**7)(x).sum()))(x)"),
    "lowering": (
        "traced = jax.jit(long(100_000)).trace(x)",
        "[traced.lower() for _ in range(1000)]",
    ),
    "compile": (
        "lowered = jax.jit(long(8000)).lower(x)",
        "lowered.compile({'jax_cpu_engine': 'xla'})",
    ),
    "compile to machine code": ("lowered = jax.jit(long(60_000)).lower(x)", "lowered.compile()"),
    "execution of a loop": (
        "f = jax.jit(lambda x: jax.lax.fori_loop(0, 2_000_000_000, lambda i, c: jnp.sin(c), x))",
        "f(1.0)",
    ),
    "execution of a loop that was short before": (
        "f = jax.jit(lambda n: jax.lax.fori_loop(0, n, lambda i, c: jnp.sin(c), 1.0))\n"
        "f(10**6); f(10**6)",
        "f(2_000_000_000)",
    ),
    "wait for a result": ("y = endless(big)", "y.block_until_ready()"),
    "wait for a tree": ("y = endless(big)", "jax.block_until_ready([x, y])"),
    "reading a result": ("y = endless(big)", "float(y[0, 0])"),
    "execution of a loop in parts": (IN_PARTS, "endless_parts(parts).block_until_ready()"),
    "waiting for a turn": (
        IN_PARTS + "threading.Thread(target=endless_parts, args=(parts,), daemon=True).start()\n"
        "time.sleep(1.0)",
        "short(parts).block_until_ready()",
    ),
    "interpreted loop": (
        "",
        "jax.lax.while_loop(lambda c: c >= 0.0, lambda c: c + 1.0, 0.0)",
    ),
    "callbacks": (
        "f = jax.jit(lambda x: jax.lax.fori_loop(0, 10**6, "
        "lambda i, c: jax.pure_callback(slow, c, c), x))",
        "f(x)",
    ),
}


@pytest.mark.parametrize("name", WAITS)
def test_an_interrupt_ends_a_wait(name: str) -> None:
    before, waiting = WAITS[name]
    setup = before.replace("\n", "\n        ")
    out = run(
        f"""
        x, big = jnp.ones(3), jnp.ones((1500, 1500))
        def long(n):
            def f(x):
                for i in range(n // 2):
                    x = jnp.sin(x) * 1.5
                return x
            return f
        def slow(x):
            time.sleep(0.01)
            return x
        def endless(x):
            return jax.jit(lambda x: jax.lax.fori_loop(0, 10**4, lambda i, c: c @ x, x))(x)
        sent = []
        def interrupt():
            time.sleep(0.4)
            sent.append(time.perf_counter())
            os.kill(os.getpid(), signal.SIGINT)
        {setup}
        threading.Thread(target=interrupt, daemon=True).start()
        try:
            {waiting}
            print("was not interrupted")
        except KeyboardInterrupt:
            print(time.perf_counter() - sent[0], flush=True)
        f = jax.jit(lambda x: x * 3.0)
        assert f(x)[0] == 3.0 and jax.grad(lambda x: f(x) ** 2)(1.0) == 18.0
        assert jax.vmap(f)(x).shape == (3,) and jnp.sin(x).sum() > 0
        assert not isinstance(x + 1.0, jax.core.Tracer)
        print("usable", flush=True)
        os._exit(0)  # what was left goes on in the background
        """,
        seconds=120,
    )
    seconds, usable = out.split()
    assert float(seconds) < 1.0
    assert usable == "usable"


@pytest.mark.skipif(part("contexts") is None, reason="morphax._native is not compiled")
def test_interrupts_at_any_moment_leave_tracing_usable() -> None:
    """Signals at many moments of one program: each time the next use works."""
    out = run("""
        import random
        x = jnp.ones(3)
        def step(c, a):
            return c + jnp.sin(a) * c, c
        def program(x, k):
            total, _ = jax.lax.scan(step, x.sum(), x * k)
            return jax.vmap(lambda a: jnp.where(a > 0, a * total, -a))(x).sum()
        def trace(k):
            start = time.perf_counter()
            jax.make_jaxpr(jax.grad(lambda x: program(x, k)))(x)
            return time.perf_counter() - start
        # Python 3.11 turns an exception amid an import into another where a class is made.
        trace(-1.0)
        seconds = min(trace(-2.0 - i) for i in range(5))
        rng, hits = random.Random(0), 0
        signal.signal(signal.SIGALRM, signal.default_int_handler)
        for i in range(150):
            try:
                signal.setitimer(signal.ITIMER_REAL, rng.uniform(1e-5, seconds))
                trace(float(i))
                signal.setitimer(signal.ITIMER_REAL, 0)
            except KeyboardInterrupt:
                hits += 1
            assert not isinstance(x + 1.0, jax.core.Tracer)
        assert abs(jax.grad(lambda x: (x * x).sum())(x)[0] - 2.0) < 1e-6
        assert abs(jax.jit(lambda x: program(x, 2.0))(x) - program(x, 2.0)) < 1e-3
        print(hits)
    """)
    assert int(out) > 0


@pytest.mark.parametrize("moment", ["parse_assembly", "create_pass_builder", "create_context"])
def test_an_interrupt_between_calls_of_llvm_frees_nothing_twice(moment: str) -> None:
    """A context that was freed before its module ended the process."""
    pytest.importorskip("llvmlite")
    out = run(f"""
        from llvmlite import binding
        usual = binding.{moment}
        def interrupted(*args):
            made = usual(*args)
            signal.raise_signal(signal.SIGINT)
            return made
        jax.config.update("jax_cpu_engine", "native")
        for number in range(3):
            f = jax.jit(lambda x: jnp.sin(x) * number)
            binding.{moment} = interrupted
            try:
                f(1.0)
            except KeyboardInterrupt:
                print("interrupted")
            binding.{moment} = usual
            gc.collect()
            jax.clear_caches()
            assert abs(float(f(1.0)) - 0.84147 * number) < 1e-3
        print("usable")
    """)
    assert out.split()[-1] == "usable"
    assert "interrupted" in out


def test_a_call_given_up_does_not_end_the_process_at_its_end() -> None:
    out = run("""
        from morphax.runtime.interruptible import interruptible
        def slow():
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(1.0)
            print("came back", flush=True)
        try:
            interruptible(slow)
        except KeyboardInterrupt:
            print("given up", flush=True)
    """)
    assert out == "given up\ncame back\n"


def test_a_signal_that_wakes_nobody_is_seen() -> None:
    """As one that comes after Python has looked for signals and before it waits for the lock."""
    out = run("""
        from morphax.runtime.interruptible import interruptible
        def slow():
            signal.pthread_kill(threading.get_ident(), signal.SIGINT)
            time.sleep(1.0)
            print("came back", flush=True)
        try:
            interruptible(slow)
        except KeyboardInterrupt:
            print("given up", flush=True)
    """)
    assert out == "given up\ncame back\n"


def test_a_handler_of_the_users_is_run_while_waiting() -> None:
    out = run("""
        seen = []
        signal.signal(signal.SIGINT, lambda number, frame: seen.append(number))
        lowered = jax.jit(lambda x: jax.lax.fori_loop(0, 40_000_000, lambda i, c: jnp.sin(c), x))
        f = lowered.lower(1.0).compile()
        threading.Timer(0.05, os.kill, (os.getpid(), signal.SIGINT)).start()
        y = f(1.0)
        print(seen == [signal.SIGINT], bool(y < 1.0))
    """)
    assert out.split() == ["True", "True"]


def test_errors_of_calls_on_another_thread_reach_the_caller() -> None:
    out = run("""
        from morphax.runtime.interruptible import interruptible, may_be_interrupted
        assert may_be_interrupted()
        def fails():
            assert threading.current_thread() is not threading.main_thread()
            raise KeyError("here")
        try:
            interruptible(fails)
        except KeyError as error:
            print(error)
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        print(interruptible(threading.current_thread) is threading.main_thread())
    """)
    assert out.split() == ["'here'", "True"]


# Sends the signal between the start of the import and well after its end, over many processes.
@pytest.mark.parametrize("moment", range(8))
def test_an_interrupt_while_jaxlib_is_imported(moment: int) -> None:
    out = run(
        f"""
        def interrupt():
            time.sleep({moment} * 0.02)
            os.kill(os.getpid(), signal.SIGINT)
        thread = threading.Thread(target=interrupt)
        raised = 0
        try:
            thread.start()
            jax.jit(lambda x: x * 3.0)(2.0)
            thread.join()
            time.sleep(1)
        except KeyboardInterrupt:
            raised += 1
        assert raised == 1
        assert jax.jit(lambda x: x * 3.0)(2.0) == 6.0
        print("usable", flush=True)
        """
    )
    assert out == "usable\n"


@pytest.mark.parametrize("name", ["SIGINT", "SIGALRM", "SIGTERM"])
def test_handlers_that_raise_wait_for_the_end_of_the_import(name: str) -> None:
    out = run(
        f"""
        from morphax.runtime.interruptible import uninterrupted
        class Stop(BaseException): pass
        def handler(*_): raise Stop
        signal.signal(signal.{name}, handler)
        done = []
        def work():
            for _ in range(3):
                os.kill(os.getpid(), signal.{name})
                time.sleep(0.05)
            done.append(True)
            return 3
        try:
            uninterrupted(work)
        except Stop:
            assert done == [True]
            print("stopped", flush=True)
        assert uninterrupted(lambda: 3) == 3
        """
    )
    assert out == "stopped\n"


@pytest.mark.skipif(part("garbage") is None, reason="morphax._native is not compiled")
def test_no_interrupt_is_lost_in_a_collection() -> None:
    out = run(
        """
        def handler(*_): raise KeyboardInterrupt
        signal.signal(signal.SIGALRM, handler)
        jax.jit(lambda x: x * 3.0)(2.0)
        gc.set_threshold(1)
        raised = 0
        for k in range(200):
            try:
                signal.setitimer(signal.ITIMER_REAL, 1e-4 + 1e-6 * (k % 97))
                while True:
                    [[i] for i in range(50)]
            except KeyboardInterrupt:
                raised += 1
        print(raised)
        """
    )
    assert out == "200\n"


def test_a_wait_that_lasts_leaves_the_processor_to_the_program() -> None:
    out = run(
        """
        import resource
        def turns():
            return resource.getrusage(resource.RUSAGE_THREAD).ru_nvcsw
        with jax.cpu_engine("xla"):
            g = jax.jit(lambda x: jnp.linalg.svd(jnp.linalg.svd(x)[0])[0])
            y = g(jnp.ones((500, 500)))
            y.block_until_ready()
            start, before = time.perf_counter(), turns()
            y = g(jnp.ones((500, 500)))
            y.block_until_ready()
        # The wait itself ends every 50 ms, to look for signals.
        print(turns() - before < 200 + 40 * (time.perf_counter() - start))
        """
    )
    assert out == "True\n"


def test_without_further_threads_calls_are_made_on_the_main_one() -> None:
    out = run(
        """
        def refused(self):
            raise RuntimeError("can't start new thread")
        threading.Thread.start = refused
        with jax.cpu_engine("native"):
            f = jax.jit(lambda x: jax.lax.fori_loop(0, 100, lambda i, c: jnp.sin(c) + x, x))
            print(f(jnp.ones(3)))
        with jax.cpu_engine("xla"):
            print(jax.jit(lambda x: x + 1)(jnp.ones(3)))
        """
    )
    assert len(out.splitlines()) == 2
