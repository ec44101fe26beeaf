"""Sequences of calls that differ in one thing at a time: nothing of one is taken for another's.

A call is a text with its gaps filled, operands, a way to call it and a setting.  A sequence draws
some two dozen calls from few of each, so that every one comes back when its neighbours are known.
Each result must be that of a call in a process that remembers nothing.
"""

from __future__ import annotations

import contextlib
import random
import re
import sys
import threading
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
import pytest

import morphax as jax
import morphax.numpy as jnp
from morphax import lax
from morphax.config import override
from tests.descriptions import described
from tests.sampling import IS_WHOLE

SEQUENCES = 200 if IS_WHOLE else 12
THREADS = 8 if IS_WHOLE else 4

TEXTS = """
jnp.sum(x, axis={axis}, keepdims={truth})
jnp.sum(x, dtype={dtype}, initial={number})
jnp.max(x, {axis}, initial={number})
jnp.var(x, {axis}, ddof={number})
jnp.where(x > 0.4, x, {number})
jnp.where(x > 0.4, {number}, {number})
jnp.clip(x, {number}, {number})
x ** {number}
{number} - x
x // {number}
x[{index}]
x.at[{index}].set({number})
jnp.take(x, {index}, axis={axis}, mode={mode}, fill_value={number})
jnp.full_like(x, {number}, dtype={dtype})
jnp.concatenate([x, x * {number}], {axis})
jnp.stack([x.ravel()[0], {number}])
jnp.round(x, {axis})
jnp.cumsum(x, {axis}, dtype={dtype})
jnp.linspace({number}, {number}, 5, endpoint={truth})
jax.nn.softmax(x, axis={axis})
jax.nn.log_softmax(x, {axis})
jax.nn.standardize(x, {axis})
jnp.std(x, {axis}, keepdims={truth})
jnp.mean(x, {axis}, dtype={dtype}, keepdims={truth})
jnp.median(x, {axis}, keepdims={truth})
jnp.nanvar(x, {axis}, ddof={number})
jax.nn.leaky_relu(x, {number})
jax.nn.logsumexp(x, {axis}, keepdims={truth})
lax.fori_loop(0, 3, lambda i, c: c * {number} + x, x)
lax.scan(lambda c, t: (c + t, c * {number}), x.sum(), x)
lax.cond(x.ravel()[0] > {number}, lambda c: c + 1, lambda c: c * {number}, x)
jax.random.normal(jax.random.key(0), x.shape, {dtype}) * {number}
""".split("\n")[1:-1]
FILLINGS = {
    "axis": "None 0 1 -1 (0,) True np.int32(0)",
    "truth": "True False 1 0 np.bool_(True)",
    "dtype": "None float jnp.float32 'float32' jnp.int8 'bfloat16' bool complex",
    "number": "0.0 -0.0 1 True -1 300 2.5 float('nan') np.float32(0.5) np.int8(3) jnp.float32(2) "
    "jnp.asarray(2.0) 2j np.array(2.0)",
    "index": "0 -1 slice(1,3) None jnp.array([0,2]) jnp.array([0,99]) np.array([1,0]) True",
    "mode": "None 'clip' 'wrap' 'fill'",
}
OPERANDS = [
    *[f"jnp.array({x})" for x in ("[0.3, 1.5, -0.0]", "[[0.3, 1.5, 0.7]]", "0.5", "[1, 0, 3]")],
    "jnp.array([0.3, 1.5, 0.7], jnp.float16)",
    "jnp.array([1, 2, 3], jnp.uint8)",
    "jnp.array([True, False, True])",
    "jnp.array([0.3, 1j, 2.0])",
    "jnp.array([jnp.nan, jnp.inf, -0.0])",
    "jax.device_put(jnp.array([0.3, 1.5, 0.7]), jax.devices()[0])",
    "jnp.zeros((0, 3))",
    "np.array([0.3, 1.5, 0.7])",
    "np.float32(0.5)",
]
SETTINGS: dict[str, Callable[[], Any]] = {
    "usual": contextlib.nullcontext,
    "x64": lambda: jax.enable_x64(True),
    "strict": lambda: jax.numpy_dtype_promotion("strict"),
    "ranks": lambda: jax.numpy_rank_promotion("raise"),
    "nans": lambda: jax.debug_nans(True),
    "no jit": lambda: jax.disable_jit(),
    "rbg": lambda: jax.default_prng_impl("rbg"),
    "other bits": lambda: jax.threefry_partitionable(False),
    "NumPy's errors": lambda: np.errstate(all="raise"),
    "scope": lambda: jax.named_scope("scope"),
}


def summed(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    def total(x: Any) -> Any:
        parts = [jnp.abs(y) ** 2 for y in jax.tree.leaves(function(x))]
        return sum([jnp.sum(y) for y in parts if jnp.issubdtype(y.dtype, jnp.floating)], 0.0)

    return total


WAYS: dict[str, Callable[[Callable[[Any], Any], Any], Any]] = {
    "eager": lambda f, x: f(x),
    "grad": lambda f, x: jax.grad(summed(f))(x),
    "jvp": lambda f, x: jax.jvp(f, (x,), (x,)),
    "vmap": lambda f, x: jax.vmap(f)(jnp.stack([x, x])),
    "members of gradients": lambda f, x: jax.vmap(jax.grad(summed(f)))(jnp.stack([x, x])),
    "jit": lambda f, x: jax.jit(lambda y: f(y))(x),
}


class Call(NamedTuple):
    text: str
    operand: str
    way: str
    setting: str

    def result(self) -> list[Any]:
        """What can be seen of it, or the class of its error."""
        space = {"jax": jax, "jnp": jnp, "np": np, "lax": lax}
        try:
            with SETTINGS[self.setting]():
                operand = eval(self.operand, space)
                return described(WAYS[self.way](eval(f"lambda x: {self.text}", space), operand))
        except Exception as error:
            return [type(error)]


def sequence(seed: int) -> Iterator[Call]:
    rng = random.Random(seed)
    text = rng.choice(TEXTS)

    def filled() -> str:
        return re.sub(r"\{(\w+)\}", lambda gap: rng.choice(FILLINGS[gap[1]].split()), text)

    texts, operands = [filled() for _ in range(4)], rng.sample(OPERANDS, 2)
    ways = ["eager", *rng.sample(["grad", "jvp", "vmap", "members of gradients", "jit"], 2)]
    settings = ["usual", "usual", rng.choice(list(SETTINGS))]
    for _ in range(24):
        yield Call(*map(rng.choice, (texts, operands, ways, settings)))


def alone(call: Call) -> list[Any]:
    """The result in a process that remembers nothing."""
    jax.clear_caches()
    with override(replay_transformed_calls=False, structural_identity=False):
        return call.result()


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("first_calls", [True, False], ids=["at once", "after a while"])
def test_each_call_has_its_own_result(first_calls: bool) -> None:
    for seed in range(SEQUENCES):
        with override(replay_first_calls=first_calls):
            found = [(call, call.result()) for call in sequence(seed)]
        wanted = {call: alone(call) for call, _ in found}
        for call, result in found:
            assert result == wanted[call], (seed, call)


@pytest.mark.filterwarnings("ignore")
def test_threads_with_settings_of_their_own_do_not_meet() -> None:
    calls = [call for seed in range(SEQUENCES) for call in [*sequence(seed)][:8]]
    found: list[tuple[Call, list[Any]]] = []

    def work(seed: int) -> None:
        mine = random.Random(seed).sample(calls, len(calls) // 2)
        found.extend([(call, call.result()) for call in mine])

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(THREADS)]
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(interval)
    wanted = {call: alone(call) for call, _ in found}
    assert len(found) == THREADS * (len(calls) // 2)
    assert [call for call, result in found if result != wanted[call]] == []
