"""Sessions as users have them: functions, arrays and objects that change between calls.

A session is a text of some forty statements.  Each is drawn from `STATEMENTS`, where ``{x}`` stands
for an array that is there, ``{n}`` for one of NumPy's, ``{o}`` for an object, ``{f}`` for a
function of one array, ``{g}`` for a global variable, ``{k}`` for a number and ``{i}`` for an index;
``{+x}`` is a new name.  Numbers are small and few, so that what differs is not rounding.
"""

from __future__ import annotations

import random
import re
from typing import Any

import numpy as np

import morphax as jax

NUMBERS = "0.0 -0.0 1.0 0.5 -1.0 2.0 1 2 0 True np.float32(1.5) np.int32(2) np.float64(0.5)".split()

# Functions of `v`, by what they read.
FUNCTIONS = (
    "v * {g} + {x}",
    "v + {n}",
    "{o}.scaled(v) + {g}",
    "v * {o}.k + BOX[0]",
    "{f}({f}(v)) * 0.5",
    "jnp.where({f}(v) > {k}, v, {k})",
    "lax.cond(jnp.sum(v) > {k}, lambda y: y + {x}, lambda y: y * {g}, v)",
    "lax.fori_loop(0, 2, lambda i, y: y * 0.5 + {n}, v)",
    "lax.scan(lambda y, t: (y * 0.5 + t * {g}, y), v, jnp.arange(2.0))[0]",
    "jax.checkpoint(lambda y: y * BOX[0] + {x})(v)",
    "v.at[{i}].set({k})",
    "(lambda y, d={g}: y * d)(v)",
)

STATEMENTS = (
    # Arrays, and memory that changes below them.
    "{+x} = jnp.array({n})",
    "{+x} = {x}.at[{i}].add({k})",
    "{+x} = {f}({x}); seen({x})",
    "{+n} = np.array({x})",
    "{n}[{i}] = {k}",
    "{n}[:] *= 0.5",
    "a = jnp.array({n}); b = a * 2.0 + {x}; {n}[{i}] = {k}; seen(a, b)",
    "a = {x} * 0.5 + {x}; b = np.asarray(a); del a; gc.collect(); jnp.zeros(4) - 9; seen(b)",
    "a = {x} + 1.0; b = np.asarray(a); seen(jax.jit(lambda v: v * 2.0, donate_argnums=0)(a), b)",
    "seen(copy.deepcopy({x} * 2.0), pickle.loads(pickle.dumps({x} + {k})))",
    # What functions read.
    "{g} = {k}",
    "BOX[0] = {k}",
    "{+o} = Holder({k})",
    "{o}.k = {k}",
    "{o}.k = {x}",
    # Functions.
    "{+f} = lambda v: FUNCTION",
    "{+f} = lambda v: FUNCTION",
    "{+f} = functools.partial(lambda a, v, k: v * k + a, {n}, k={g})",
    "{+f} = {o}.scaled",
    "{+f} = jax.jit(lambda v: FUNCTION)",
    "rule = jax.custom_jvp(lambda v: FUNCTION); "
    "rule.defjvp(lambda p, t, rule=rule: (rule(p[0]), t[0] * {g} + {n} * t[0])); {+f} = rule",
    # Calls, of functions that are there and of functions made anew.
    "seen({f}({x}))",
    "seen(jax.jit({f})({x}), jax.jit(lambda v: {f}(v))({x}))",
    "seen(jax.grad(lambda v: jnp.sum({f}(v) * v))({x}))",
    "seen(jax.jit(jax.grad(lambda v: jnp.sum({f}(v))))({x}))",
    "seen(jax.vmap({f})(jnp.stack([{x}, {x}])))",
    "seen(jax.vmap(jax.jit({f}))(jnp.stack([{x}, {x}])))",
    "seen(jax.jvp({f}, ({x},), ({x},)))",
    "seen(jax.linearize({f}, {x})[1]({x}))",
    "seen(lax.map(lambda v: {f}(v), jnp.stack([{x}, {x}])))",
    "for i in (1, 1.0, True, {k}): seen(lax.scan(lambda c, t: (c + t * i, c * i), {x}, {x}))",
    "for s in ({k}, {k}, {g}): seen(jax.jit(lambda v: {f}(v) * s)({x}))",
    "s = jax.jit(lambda v, s: {f}(v) * s, static_argnums=1); seen(s({x}, {k}), s({x}, {k}))",
    # What comes between.
    "with jax.enable_x64(True): seen({f}({x}), jax.jit({f})({x}))",
    "with jax.disable_jit(): seen({f}({x}), jax.jit({f})({x}))",
    "with jax.debug_nans(True): seen({f}({x}))",
    "t = threading.Thread(target=lambda: seen({x} * 2.0 + {n})); t.start(); t.join()",
    "jax.jit(lambda v: {f}(v).no_such_attribute)({x})",
    "gc.collect()",
)

START = """
import copy, functools, gc, pickle, threading
import numpy as np
import morphax as jax
from morphax import lax, numpy as jnp

class Holder:
    def __init__(self, k): self.k = k
    def scaled(self, v): return v * self.k + 1.0

G, H, BOX = 2.0, -1.0, [1.0]
n, m = np.array([1.0, 2.0, 3.0, 4.0], np.float32), np.array([0.5, -1.0, 2.0, 0.0], np.float32)
x, y = jnp.array([1.0, -2.0, 0.5, 3.0]), jnp.arange(4.0)
o, f = Holder(0.5), lambda v: v * G
"""


def session(seed: int) -> list[str]:
    """The statements of a session, the same for the same number."""
    rng = random.Random(seed)
    names = {"x": ["x", "y"], "n": ["n", "m"], "o": ["o"], "f": ["f"], "g": ["G", "H"]}
    names |= {"k": NUMBERS, "i": ["0", "1", "2", "3"]}

    def drawn() -> str:
        text = rng.choice(STATEMENTS).replace("FUNCTION", rng.choice(FUNCTIONS))
        text = re.sub(r"\{(\w)\}", lambda kind: rng.choice(names[kind[1]]), text)
        made = re.search(r"\{\+(\w)\}", text)
        if made is None:
            return text
        names[made[1]].append(f"{made[1]}{len(names[made[1]])}")
        return text.replace(made[0], names[made[1]][-1])

    return [drawn() for _ in range(rng.randrange(30, 50))]


def run(statements: list[str]) -> list[Any]:
    """What a session sees: numbers with dtype and weak type, and which errors are raised."""
    log: list[Any] = []

    def seen(*values: Any) -> None:
        for x in jax.tree.leaves(values):
            log.append((str(x.dtype), getattr(x, "weak_type", None), np.array(x)))

    names: dict[str, Any] = {"seen": seen}
    exec(START, names)
    for statement in statements:
        try:
            exec(statement, names)
        except Exception as error:
            log.append((type(error).__name__, statement, np.zeros(0)))
    return log
