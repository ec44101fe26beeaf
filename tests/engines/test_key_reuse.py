"""``jax_debug_key_reuse``: which programs use a key twice, and what the error tells of it."""

from __future__ import annotations

import gc

import numpy as np
import pytest

import morphax as jax
import morphax.numpy as jnp
from morphax import lax, random
from morphax.engines.reference import key_identities
from morphax.errors import KeyReuseError


def draw(key):
    return random.normal(key, (2,))


def both(*results):
    return results


def step(key, _):
    key, subkey = random.split(key)
    return key, draw(subkey)


def loss(w, key):
    first, second = random.split(key)
    hidden = jnp.tanh(jnp.where(random.bernoulli(first, 0.5, w.shape), w, 0))
    return jnp.sum(jnp.where(random.bernoulli(second, 0.5, w.shape), hidden, 0))


def refused(key):
    with pytest.raises(ValueError, match="argument dtype"):
        random.normal(key, (), int)


def branch_of(key):
    return lax.cond(True, draw, lambda k: jnp.ones(2), key)


W = jnp.ones(3)
KEYS = {
    "one": lambda: random.key(0),
    "many": lambda: random.split(random.key(0), 4),
    "square": lambda: random.split(random.key(0), (2, 2)),
    "rbg": lambda: random.key(0, impl="rbg"),
}

# Of one key, or of arrays of keys: programs that use a key twice.
REUSES = {
    "one": {
        "drawn twice": lambda k: both(draw(k), draw(k)),
        "drawn twice, chosen by a branch in between": lambda k: both(
            draw(k), lax.cond(True, lambda a, b: a, lambda a, b: b, k, random.key(9)), draw(k)
        ),
        "split, then drawn from": lambda k: both(random.split(k), draw(k)),
        "result of fold_in": lambda k: (lambda a: both(draw(a), draw(a)))(random.fold_in(k, 1)),
        "clone": lambda k: (lambda a: both(draw(a), draw(a)))(random.clone(k)),
        "copy": lambda k: both(draw(jnp.copy(k)), draw(k)),
        "device_put": lambda k: both(draw(jax.device_put(k)), draw(k)),
        "jit called twice": lambda k: both(jax.jit(draw)(k), jax.jit(draw)(k)),
        "inside jit": lambda k: jax.jit(lambda k: draw(k) + draw(k))(k),
        "at one line": lambda k: jax.jit(lambda k: sum(draw(k) for _ in range(2)))(k),
        "jit in jit": lambda k: jax.jit(lambda k: jax.jit(draw)(k) + jax.jit(draw)(k))(k),
        "closed over": lambda k: (lambda f: both(f(), f()))(jax.jit(lambda: draw(k))),
        "returned by jit": lambda k: both(draw(k), draw(jax.jit(lambda k: k)(k))),
        "compiled": lambda k: (lambda f: both(f(k), f(k)))(jax.jit(draw).lower(k).compile()),
        "two arguments": lambda k: jax.jit(lambda a, b: draw(a) + draw(b))(k, k),
        "make_jaxpr": jax.make_jaxpr(lambda k: draw(k) + draw(k)),
        "eval_shape": lambda k: jax.eval_shape(lambda k: draw(k) + draw(k), k),
        "a branch, then again": lambda k: both(branch_of(k), draw(k)),
        "inside a branch": lambda k: lax.cond(True, lambda k: draw(k) + draw(k), draw, k),
        "result of a branch": lambda k: both(
            draw(lax.cond(True, lambda k: k, jnp.copy, k)), draw(k)
        ),
        "every step of scan": lambda k: lax.scan(lambda c, _: (c + draw(k), None), W[:2], length=3),
        "carried unchanged": lambda k: lax.scan(lambda k, _: (k, draw(k)), k, length=2),
        "carried key, again": lambda k: both(lax.scan(step, k, length=3), draw(k)),
        "every step of while": lambda k: lax.fori_loop(0, 3, lambda i, c: c + draw(k), W[:2]),
        "condition": lambda k: lax.while_loop(lambda c: draw(k)[0] > c, lambda c: c + 1, 0.0),
        "in a derivative": lambda k: jax.grad(lambda x: jnp.sum((draw(k) + draw(k)) * x))(1.0),
        "derivative, again": lambda k: both(jax.grad(loss)(W, k), draw(k)),
        "stacked twice": lambda k: jax.vmap(draw)(jnp.stack([k, k])),
        "reference": lambda k: (lambda ref: both(draw(ref[...]), draw(ref[...])))(jax.new_ref(k)),
        "rounds": lambda k: both(random.permutation(k, 3), random.permutation(k, 3)),
    },
    "many": {
        "vmap twice": lambda ks: both(jax.vmap(draw)(ks), jax.vmap(draw)(ks)),
        "in vmap": jax.vmap(lambda k: draw(k) + draw(k)),
        "whole and part": lambda ks: both(jax.vmap(draw)(ks), draw(ks[1])),
        "overlap": lambda ks: both(jax.vmap(draw)(ks[:3]), jax.vmap(draw)(ks[2:])),
        "gathered twice": lambda ks: both(*[jax.vmap(draw)(ks[np.array([1, 3])]) for _ in "ab"]),
        "reversed": lambda ks: both(draw(ks[::-1][0]), draw(ks[3])),
        "same place in jit": lambda ks: jax.jit(lambda ks, i: draw(ks[i]) + draw(ks[i]))(ks, 1),
        "place, then all": lambda ks: jax.jit(
            lambda ks, i: draw(ks[i]) + jnp.sum(jax.vmap(draw)(ks))
        )(ks, 1),
        "all, then a place": lambda ks: jax.jit(
            lambda ks, i: jnp.sum(jax.vmap(draw)(ks)) + draw(ks[i])
        )(ks, 1),
        "same place in a loop": lambda ks: lax.fori_loop(0, 3, lambda i, c: c + draw(ks[1]), W[:2]),
        "scanned": lambda ks: both(lax.scan(lambda c, k: (c, draw(k)), 0, ks), draw(ks[3])),
        "scanned, twice": lambda ks: lax.scan(lambda c, k: (c, draw(k) + draw(k)), 0, ks),
        "shuffled": lambda ks: jax.jit(
            lambda ks, k: jax.vmap(draw)(random.permutation(k, ks)) + jax.vmap(draw)(ks)
        )(ks, random.key(9)),
    },
    "square": {
        "reshaped": lambda ks: both(jax.vmap(draw)(ks.reshape(4)), draw(ks[1, 0])),
        "transposed": lambda ks: jax.jit(lambda ks: draw(ks.T[0, 1]) + draw(ks[1, 0]))(ks),
    },
    "rbg": {
        "drawn twice": lambda k: both(draw(k), draw(k)),
        "drawn from, then split": lambda k: both(draw(k), random.split(k)),
        "inside jit": lambda k: jax.jit(lambda k: draw(k) + draw(k))(k),
    },
}

# Programs that use each key once.
FINE = {
    "one": {
        "once": draw,
        "parts": lambda k: [draw(part) for part in random.split(k, 3)],
        "fold_in": lambda k: both(random.fold_in(k, 1), random.fold_in(k, 1), draw(k)),
        "clone": lambda k: both(draw(k), draw(random.clone(k))),
        "words": lambda k: both(random.key_data(k), draw(k), random.key_data(k)),
        "same seed": lambda k: both(draw(random.key(0)), draw(random.key(0))),
        "raw words": lambda k: both(*[draw(random.PRNGKey(0))] * 2, draw(random.PRNGKey(0))),
        "not used by jit": lambda k: both(jax.jit(lambda k: 1)(k), draw(k)),
        "traced only": lambda k: both(jax.jit(draw).lower(k), jax.make_jaxpr(draw)(k), draw(k)),
        "one of the branches": lambda k: lax.cond(True, draw, lambda k: 2 * draw(k), k),
        "scan": lambda k: draw(lax.scan(step, k, length=3)[0]),
        "one step": lambda k: lax.scan(lambda c, _: (c + draw(k), None), W[:2], length=1),
        "stacked by scan": lambda k: jax.vmap(draw)(
            lax.scan(lambda k, _: tuple(random.split(k)), k, length=4)[1]
        ),
        "fold_in in a loop": lambda k: lax.fori_loop(
            0, 3, lambda i, c: c + draw(random.fold_in(k, i)), W[:2]
        ),
        "vmap over others": lambda k: jax.vmap(lambda x: draw(k) * x)(W),
        "second derivative": lambda k: jax.hessian(loss)(W, k),
        "recomputed": lambda k: jax.grad(jax.checkpoint(loss))(W, k),
        "recomputed, closed over": lambda k: jax.grad(jax.checkpoint(lambda w: loss(w, k)))(W),
        "recomputed in jit": lambda k: jax.jit(jax.grad(jax.checkpoint(loss)))(W, k),
        "recomputed call": lambda k: jax.grad(jax.checkpoint(jax.jit(loss)))(W, k),
        "known part": lambda k: jax.jvp(jax.jit(lambda x: jnp.sin(draw(k) * x)), (1.0,), (1.0,)),
        "derivative of gamma": lambda k: jax.grad(lambda a: random.gamma(k, a))(2.0),
        "two methods": lambda k: random.poisson(k, 3.0),
        "a failed draw": lambda k: both(refused(k), draw(k)),
    },
    "many": {
        "vmap": jax.vmap(draw),
        "scan": lambda ks: lax.scan(lambda c, k: (c, draw(k)), 0, ks, reverse=True),
        "disjoint": lambda ks: both(jax.vmap(draw)(ks[:2]), jax.vmap(draw)(ks[2:])),
        "masked": lambda ks: both(
            jax.vmap(draw)(ks[np.array([True, False, True, False])]), draw(ks[1])
        ),
        "places in jit": lambda ks: jax.jit(lambda ks, i: draw(ks[i]) + draw(ks[i + 1]))(ks, 0),
        "places in a loop": lambda ks: lax.fori_loop(0, 4, lambda i, c: c + draw(ks[i]), W[:2]),
        "shuffled": lambda ks: jax.jit(lambda ks, k: jax.vmap(draw)(random.permutation(k, ks)))(
            ks, random.key(9)
        ),
        "training": lambda ks: lax.scan(lambda w, k: (w - jax.grad(loss)(w, k), None), W, ks),
    },
    "square": {
        "transposed": lambda ks: jax.jit(lambda ks: draw(ks.T[0, 1]) + draw(ks[0, 1]))(ks),
    },
    "rbg": {"parts": lambda k: [draw(part) for part in random.split(k)]},
}


def flat(table):
    return [(keys, name) for keys, programs in table.items() for name in programs]


@pytest.mark.parametrize(("keys", "name"), flat(REUSES))
def test_reuse_is_reported(keys, name):
    with jax.debug_key_reuse(True), pytest.raises(KeyReuseError, match="expected: each key used"):
        REUSES[keys][name](KEYS[keys]())


@pytest.mark.parametrize(("keys", "name"), flat(FINE))
def test_keys_that_are_used_once_pass(keys, name):
    with jax.debug_key_reuse(True):
        FINE[keys][name](KEYS[keys]())


@pytest.mark.parametrize(("keys", "name"), flat(REUSES))
def test_nothing_is_reported_when_off(keys, name):
    if name != "condition":
        REUSES[keys][name](KEYS[keys]())


def test_both_lines_are_told():
    def consumer(key):
        return random.uniform(key)

    with jax.debug_key_reuse(True):
        key = random.key(0)
        random.split(key)
        with pytest.raises(KeyReuseError) as caught:
            jax.jit(consumer)(key)
    text = str(caught.value)
    start = test_both_lines_are_told.__code__.co_firstlineno
    assert f"first random_split at {__file__}:{start + 6} " in text
    assert f"then random_bits at {__file__}:{start + 2} " in text
    assert f"called at {__file__}:{start + 8} " in text


def test_a_refused_call_leaves_no_marks():
    with jax.debug_key_reuse(True):
        first, second = random.split(random.key(0))
        draw(second)
        with pytest.raises(KeyReuseError):
            jax.jit(lambda a, b: draw(a) + draw(b))(first, second)
        draw(first)


def test_results_are_those_without_checks():
    key = random.key(3)
    expected = lax.scan(step, key, length=3)
    with jax.debug_key_reuse(True):
        found = lax.scan(step, random.key(3), length=3)
    np.testing.assert_array_equal(found[1], expected[1])


def test_identities_live_as_long_as_arrays():
    with jax.debug_key_reuse(True):
        before = len(key_identities._of_arrays)
        keys = random.split(random.key(0), 10)
        parts = list(keys)
        assert len(key_identities._of_arrays) > before
        del keys, parts
    gc.collect()
    assert len(key_identities._of_arrays) <= before
