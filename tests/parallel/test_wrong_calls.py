"""Hundreds of generated wrong calls: each gives an error that explains itself, or a right result.

None may end the process or wait for ever, so those that the runtime would not survive are among
them: collectives in branches that members choose each for itself, groups that do not part the
members, permutations with two senders for one receiver, parts that are too small.
"""

from __future__ import annotations

import itertools
import zlib
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import morphax as jax
import morphax.numpy as jnp
from morphax import NamedSharding, P, lax
from morphax.experimental import mesh_utils
from morphax.experimental import multihost_utils as hosts
from morphax.sharding import AbstractMesh, AxisType, Mesh, SingleDeviceSharding

# A part of all calls, chosen by their texts.
SAMPLE = 5
DEVICES = jax.devices("cpu")[:4]
AUTO = AxisType.Auto
M = jax.make_mesh((2, 2), ("x", "y"), (AUTO, AUTO), devices=DEVICES)
E = jax.make_mesh((2, 2), ("x", "y"), devices=DEVICES)
REVERSED = Mesh(np.array(DEVICES[::-1]).reshape(2, 2), ("x", "y"))
ABSTRACT = AbstractMesh((2, 2), ("x", "y"))
ONES = np.ones((8, 4), np.float32)
X = jnp.ones((8, 4))
SPLIT = jax.device_put(ONES, NamedSharding(M, P("x")))
TYPED = jax.device_put(ONES, NamedSharding(E, P("x")))

SCOPE = {
    "np": np,
    "jax": jax,
    "jnp": jnp,
    "lax": lax,
    "P": P,
    "hosts": hosts,
    "mesh_utils": mesh_utils,
    "AbstractMesh": AbstractMesh,
    "Mesh": Mesh,
    "NamedSharding": NamedSharding,
    "SingleDeviceSharding": SingleDeviceSharding,
    "DEVICES": DEVICES,
    "M": M,
    "E": E,
    "REVERSED": REVERSED,
    "ABSTRACT": ABSTRACT,
    "ONES": ONES,
    "X": X,
    "SPLIT": SPLIT,
    "TYPED": TYPED,
}

NAMES = ["'z'", "('x', 'z')", "3", "('x', 'x')", "['x']", "object()", "''", "(('x',),)"]
TAKE_NAMES = [
    "NamedSharding(M, P({}))",
    "NamedSharding(E, P('x', {}))",
    "jax.make_mesh((2, 2), ({}, 'y'))",
    "AbstractMesh((2, 2), ({}, 'y'))",
    "jax.shard_map(lambda s: s, mesh=M, in_specs=P({}), out_specs=P('x'))(X)",
    "jax.shard_map(lambda s: s, mesh=M, in_specs=P('x'), out_specs={})(X)",
    "jax.jit(lambda x: x, in_shardings={})(X)",
    "jax.jit(lambda x: lax.with_sharding_constraint(x, {}))(X)",
    "jax.sharding.reshard(TYPED, P({}))",
    "jax.device_put(X, {})",
    "jax.set_mesh({})",
    "jax.make_array_from_callback((8, 4), {}, lambda i: ONES[i])",
    "jax.make_array_from_process_local_data({}, ONES)",
    "jax.shard_map(lambda s: lax.psum(s, {}), mesh=M, in_specs=P('x'), out_specs=P())(X)",
    "jax.vmap(lambda s: lax.pmax(s, {}), axis_name='x')(X)",
    "jax.smap(lambda s: s, in_axes=0, out_axes=0, axis_name={})(X)",
    "hosts.host_local_array_to_global_array(ONES, M, P({}))",
]
COLLECTIVES = [
    "lax.all_gather(s, 'x', axis=5)",
    "lax.psum_scatter(s, 'x')",
    "lax.psum_scatter(s, 'x', scatter_dimension=7)",
    "lax.all_to_all(s, 'x', 0, 9)",
    "lax.all_to_all(s, 'x', 0, 1)",
    "lax.ppermute(s, 'x', [(0, 1), (1, 1)])",
    "lax.ppermute(s, 'x', [(0, 9)])",
    "lax.ppermute(s, 'x', [(-1, 0)])",
    "lax.ppermute(s, 'x', 'ab')",
    "lax.pshuffle(s, 'x', [0, 0])",
    "lax.pbroadcast(s, 'x', 9)",
    "lax.pcast(s, 'x', to='nonsense')",
    "lax.psum(s, 'x', axis_index_groups=[[0], [0, 1]])",
    "lax.psum(s, 'x', axis_index_groups=3)",
    "lax.psum('q', 'x')",
    "lax.psum(jax.random.key(0), 'x')",
    "lax.cond(s.sum() > 0, lambda: lax.psum(s, 'x'), lambda: s)",
    "lax.while_loop(lambda c: c.sum() > 0, lambda c: lax.psum(c, 'x') - 100, s)",
    "s if s.sum() > 0 else -s",
]
CALLERS = [
    "jax.shard_map(lambda s: {}, mesh=M, in_specs=P('x'), out_specs=P('x'))(X)",
    "jax.shard_map(lambda s: {}, mesh=M, in_specs=P('x'), out_specs=P())(X)",
    "jax.shard_map(lambda s: {}, mesh=M, in_specs=P('x'), out_specs=P('x'), check_vma=False)(X)",
    "jax.vmap(lambda s: {}, axis_name='x')(X[:2])",
    "jax.pmap(lambda s: {}, axis_name='x')(X[:2])",
]
SHAPES = ["(7, 4)", "(8, 3)", "(0, 4)", "()", "(3,)", "(8, 4, 2)", "(1, 1)"]
SPECS = ["P('x')", "P('x', 'y')", "P(('x', 'y'))", "P(None, None, 'x')", "P(P.UNCONSTRAINED)"]
SPECS += ["P('x', unreduced={'y'})", "P(reduced={'x'})"]
TAKE_SPECS = [
    "jax.device_put(np.ones({}, np.float32), NamedSharding(M, {}))",
    "NamedSharding(M, {1}).devices_indices_map({0})",
    "jax.jit(lambda x: x * 2, out_shardings=NamedSharding(M, {1}))(np.ones({0}, np.float32))",
    "jax.jit(lambda x: x * 2, in_shardings=NamedSharding(M, {1}))(np.ones({0}, np.float32))",
    "jax.shard_map(lambda s: s, mesh=M, in_specs={1}, out_specs={1})(np.ones({0}, np.float32))",
    "jax.make_array_from_callback({0}, NamedSharding(M, {1}), lambda i: np.ones({0})[i])",
    "jnp.zeros({}, device=NamedSharding(E, {}))",
    "jax.jit(lambda x: x).lower(jax.ShapeDtypeStruct({}, 'f4', sharding=NamedSharding(M, {})))",
]
PLACES = {
    "one": "jax.device_put(ONES, DEVICES[0])",
    "another": "jax.device_put(ONES, DEVICES[1])",
    "split": "SPLIT",
    "reversed": "jax.device_put(ONES, NamedSharding(REVERSED, P('x')))",
}
TAKE_TWO = [
    "{} + {}",
    "jnp.concatenate([{}, {}])",
    "jax.jit(lambda a, b: a + b)({}, {})",
    "lax.scan(lambda c, v: (c + v[0], v), {}, {})",
    "jax.vmap(lambda a, b: a + b)({}, {})",
]
SINGLE = [
    "Mesh([], ('x', 'y'))",
    "Mesh(DEVICES, None)",
    "AbstractMesh(None, ('x',))",
    "jax.make_mesh((9,), ('x',))",
    "jax.make_mesh((2, -2), ('x', 'y'))",
    "mesh_utils.create_device_mesh((3,), devices=DEVICES)",
    "jax.shard_map(lambda s: s, mesh=M, in_specs=P('x'), out_specs=P('x'), axis_names=['x'])(X)",
    "jax.shard_map(lambda s: s, mesh=M, in_specs=P('x'), out_specs=P('x'), axis_names={'z'})(X)",
    "jax.pmap(lambda s: s)(np.ones((9, 2)))",
    "jax.pmap(lambda s: s, axis_size=3)(np.ones((2, 2)))",
    "jax.make_array_from_single_device_arrays((8, 4), NamedSharding(M, P('x')), None)",
    "jax.make_array_from_single_device_arrays((8, 4), NamedSharding(M, P('x')), [X] * 4)",
    "jax.make_array_from_callback((8, 4), NamedSharding(M, P('x')), lambda i: np.ones((1, 4)))",
    "jax.make_array_from_process_local_data(NamedSharding(M, P('x')), ONES, (7, 4))",
    "NamedSharding(M, P('x'), memory_kind='nonsense')",
    "jax.device_put(X, NamedSharding(ABSTRACT, P('x')))",
    "jax.sharding.use_abstract_mesh(M)",
    "jax.pmap(lambda s: s)(np.ones((0, 2)))",
    "P({'x'})",
    "jax.make_array_from_callback('a', NamedSharding(M, P('x')), lambda i: ONES[i])",
    "jax.make_array_from_single_device_arrays((8, -4), NamedSharding(M, P('x')), [X])",
    "mesh_utils.create_device_mesh(8)",
    "jax.make_mesh((2, 2), (None, 'y'))",
    "jax.make_mesh((2, 2), ('x', 'x'))",
    "SingleDeviceSharding('cpu')",
    "TYPED.T @ TYPED",
    "jnp.sort(TYPED, axis=0)",
]


def calls() -> Iterator[str]:
    yield from SINGLE
    for take, name in itertools.product(TAKE_NAMES, NAMES):
        yield take.format(name)
    for caller, collective in itertools.product(CALLERS, COLLECTIVES):
        yield caller.format(collective)
    for take, shape, spec in itertools.product(TAKE_SPECS, SHAPES, SPECS):
        yield take.format(shape, spec)
    for take, a, b in itertools.product(TAKE_TWO, PLACES, PLACES):
        if a != b:
            yield take.format(PLACES[a], PLACES[b])


CALLS = [text for text in calls() if text in SINGLE or zlib.crc32(text.encode()) % SAMPLE == 0]
EXPLAINED = (TypeError, ValueError, NameError, AssertionError, NotImplementedError)


@pytest.mark.parametrize("text", CALLS)
def test_explained_or_right(text: str) -> None:
    before = jax.sharding.get_mesh()
    try:
        result = eval(text, SCOPE)
        jax.block_until_ready([x for x in jax.tree.leaves(result) if isinstance(x, jax.Array)])
    except EXPLAINED as error:
        lines = str(error)
        for part in ("given:", "expected:", "fix:"):
            assert part in lines, error  # noqa: PT017
    else:
        assert text not in SINGLE
    finally:
        jax.set_mesh(None if before.empty else before)


def test_sums_still_to_be_taken_are_refused() -> None:
    unreduced: Any = NamedSharding(E, P("x", unreduced={"y"}))
    for call in (
        lambda: np.asarray(jax.device_put(ONES, unreduced) * 2.0),
        lambda: unreduced.devices_indices_map((8, 4)),
    ):
        with pytest.raises(NotImplementedError, match="still to be summed"):
            call()


def test_constraints_by_abstract_meshes() -> None:
    with jax.set_mesh(M):
        spec = NamedSharding(jax.sharding.get_abstract_mesh(), P("x"))
        out = jax.jit(lambda x: lax.with_sharding_constraint(x, spec))(ONES)
        assert out.sharding == NamedSharding(M, P("x"))
    again = jax.jit(lambda x: x * 2, in_shardings=[NamedSharding(M, P("y"))])(ONES)
    assert again.sharding.spec == P("y")


def test_no_axes_no_exchange() -> None:
    def f(x: Any) -> Any:
        return lax.all_gather(x, ()), lax.psum_scatter(x, ()), lax.psum(x > 0, ()), lax.pmax(x, ())

    for x in f(X)[:2]:
        assert x is X
    gathered, scattered, summed, _ = jax.vmap(f, axis_name="x")(X)
    assert gathered.shape == scattered.shape == X.shape
    assert summed.dtype == bool


def test_one_number_like_an_array_that_is_whole_everywhere() -> None:
    for spec in (P(None, None), P(None)):
        x = jax.device_put(np.ones((2, 2), np.float32), NamedSharding(E, spec))
        number = lax.full_like(x, 3, shape=())
        assert (number.shape, float(number)) == ((), 3)
        assert number.sharding.is_fully_replicated
        np.testing.assert_array_equal(jnp.diag(jnp.diag(x)), np.eye(2))
