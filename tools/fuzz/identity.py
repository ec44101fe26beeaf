"""Functions made anew in a loop, which read something that has changed since the last time.

Each state says how the number `k` reaches the function, each place what the function is given to.
A function that is wrongly recognised as one traced before gives the number of another round.
"""

from __future__ import annotations

from typing import Any

from .builder import Builder, kind_of

# How the function is made, and its text: `v` is its argument.
STATES = [
    ("pass", "lambda v: v * k"),
    ("pass", "lambda v, k=k: v * k"),
    ("box = [k]", "lambda v: v * box[0]"),
    ("table = {{'k': k}}", "lambda v: v * table['k']"),
    ("STATE.k = k", "lambda v: v * STATE.k"),
    ("Holder.shared = k", "lambda v: v * Holder.shared"),
    ("globals()['SCALE'] = k", "lambda v: v * SCALE"),
    ("own = Holder(k)", "own.times"),
    ("own = Holder(k)", "lambda v: own(v)"),
    ("own = Holder(k)", "lambda v: v * getattr(own, 'k')"),
    ("own = types.SimpleNamespace(k=k)", "lambda v: v * own.k"),
    ("helper = lambda v: v * k", "lambda v: helper(v)"),
    ("helper = lambda v: v * k", "functools.partial(lambda f, v: f(v), helper)"),
    ("pass", "functools.partial(lambda c, v: v * c, k)"),
    ("pass", "functools.partial(jnp.multiply, k)"),
    ("STATE.k = k", "lambda v: Layer(v, 0.0)(v)"),
    ("STATE.k = k", "Layer(jnp.ones(()), 0.0)"),
    ("pass", "Layer(jnp.ones(()), k)"),
    ("array = np.full((), k, np.float32)", "lambda v: v * array"),
    ("array = jnp.asarray(k)", "lambda v: v * array"),
    ("helper = jax.jit(lambda v: v * k)", "lambda v: helper(v)"),
    ("helpers = [lambda v: v * k, lambda v: v + k]", "lambda v: helpers[int(k) % 2](v)"),
    ("make = lambda: (lambda v: v * k)", "make()"),
    ("own = type('Local', (), {{'scale': k}})", "lambda v: v * own.scale"),
    ("numbers = (k, 0.0)", "lambda v: v * numbers[0] + numbers[1]"),
    ("counts = dict.fromkeys(range(int(k)))", "lambda v: v * len(counts)"),
    ("chosen = np.sin if k > 2 else np.cos", "lambda v: v * float(chosen(1.0))"),
    ("text = repr(k)", "lambda v: v * float(text)"),
    ("text = f'v * {{k}}'", "lambda v: eval(text, {{'v': v}})"),
    ("cell = iter([k])", "lambda v, c=cell, k=next(cell): v * k"),
    ("flag = k > 2", "lambda v: v * 2 if flag else -v"),
    ("zero = -0.0 if k > 2 else 0.0", "lambda v: v * jnp.arctan2(zero, -1.0)"),
    ("one = True if k > 2 else 1", "lambda v: v * (3 if one is True else 5)"),
    ("known = {{int(k)}}", "lambda v: v * sum(known)"),
]

PLACES = [
    "jax.jit(f)({0})",
    "jax.jit(lambda v, g: g(v), static_argnums=1)({0}, f)",
    "lax.scan(lambda c, v: (f(c), f(v)), {0}, {0}[None])[1][0]",
    "lax.fori_loop(0, 2, lambda i, c: f(c), {0})",
    "lax.while_loop(lambda s: s[0] < 2, lambda s: (s[0] + 1, f(s[1])), (0, {0}))[1]",
    "lax.cond({0}.size > 0, f, f, {0})",
    "lax.cond(jnp.sum({0}) > 0, f, lambda v: f(v) * 2, {0})",
    "lax.switch(jnp.asarray(1), [f, lambda v: f(v)], {0})",
    "lax.map(f, {0}[None])[0]",
    "jax.vmap(f)({0}[None])[0]",
    "jax.checkpoint(f)({0})",
    "jax.grad(lambda v: jnp.sum(f(v) * v))({0})",
    "jax.grad(jax.checkpoint(lambda v: jnp.sum(f(v) * v)))({0})",
    "jax.jvp(f, ({0},), ({0},))[1]",
    "jax.vjp(f, {0})[1]({0})[0]",
    "jax.linearize(f, {0})[1]({0})",
    "jax.custom_jvp(f)({0})",
    "jax.eval_shape(f, {0}).size + f({0})",
    "lax.associative_scan(lambda a, c: a + f(c), jnp.stack([{0}, {0}]))[1]",
    "jax.pure_callback(lambda v, k=k: v * np.float32(k), {0}, {0}, vmap_method='sequential')",
    "jax.jit(jax.vmap(f))({0}[None])[0]",
    "jax.make_jaxpr(f)({0}).jaxpr and f({0})",
    "jax.tree.map(f, {0})",
]


def _is_float(value: Any) -> bool:
    return kind_of(value) == "f" and hasattr(value, "at") and str(value.dtype) == "float32"


def fresh_functions(b: Builder) -> bool:
    """A loop of three rounds, with a function made anew in each."""
    x = b.pick(_is_float)
    if x is None:
        return False
    state, function = b.rng.choice(STATES)
    place = b.rng.choice(PLACES)
    numbers = b.rng.choice(["(1.0, 2.0, 3.0)", "(2.0, 3.0, 2.0)", "(3.0, 1.0, 1.0)"])
    text = (
        "{t0} = []\n"
        f"for k in {numbers}:\n"
        f"    {state}\n"
        f"    f = {function}\n"
        f"    {{t0}}.append({place})\n"
        "{t0} = jnp.stack({t0})"
    )
    return b.add(text, [x]) is not None
