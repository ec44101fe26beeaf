"""Sending and receiving as two operations: what GPUs are given, and where it is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import morphax as jax
import morphax.numpy as jnp
from morphax import lax

RING = [(0, 1), (1, 2), (2, 3), (3, 0)]
X = np.arange(8, dtype=np.float32)
MESH = jax.make_mesh((4,), ("i",))


def passed_on(x: Any) -> Any:
    token = lax.psend(x, "i", RING)
    return lax.precv(token, jax.ShapeDtypeStruct(x.shape, x.dtype), "i", RING)


def on_mesh(function: Any, **options: Any) -> Any:
    spec = jax.P("i")
    return jax.shard_map(function, mesh=MESH, in_specs=spec, out_specs=spec, **options)


def test_the_program_for_gpus() -> None:
    traced = jax.jit(on_mesh(passed_on)).trace(X)
    text = traced.lower(lowering_platforms=("cuda",)).as_text()
    send, receive = (line for line in text.splitlines() if "source_target_pairs" in line)
    pairs = "dense<[[0, 1], [1, 2], [2, 3], [3, 0]]> : tensor<4x2xi64>"
    channel = "#stablehlo.channel_handle<handle = 1, type = 1>"
    for line, name in ((send, "stablehlo.send"), (receive, "stablehlo.recv")):
        assert f'"{name}"' in line
        assert pairs in line
        assert channel in line
    assert send.split(" = ")[0].strip() in receive


def test_what_arrives_varies() -> None:
    text = str(jax.make_jaxpr(on_mesh(passed_on))(X))
    assert "Tok = psend[axis_name=('i',) perm=((0, 1), (1, 2), (2, 3), (3, 0))]" in text
    assert "f32[2]{V:i} = precv[" in text


def test_sending_is_no_dead_code() -> None:
    def only_sent(x: Any) -> Any:
        lax.psend((x, 2 * x), "i", RING)
        return x

    traced = jax.jit(on_mesh(only_sent)).trace(X)
    assert traced.lower(lowering_platforms=("cuda",)).as_text().count('"stablehlo.send"') == 2


@pytest.mark.parametrize(
    "function",
    [
        on_mesh(passed_on),
        jax.jit(on_mesh(passed_on, check_vma=False)),
        jax.grad(lambda x: on_mesh(passed_on)(x).sum()),
        lambda x: jax.vmap(passed_on, axis_name="i")(x.reshape(4, 2)),
        on_mesh(jax.vmap(passed_on)),
    ],
    ids=["CPU", "CPU, compiled", "gradient", "over a batch", "beside a batch"],
)
def test_only_gpus_send_and_only_as_they_are_told(function: Any) -> None:
    with pytest.raises(NotImplementedError, match=r"ppermute"):
        function(X)


def test_refusals() -> None:
    with pytest.raises(NameError, match="axis name 'j'"):
        lax.psend(X, "j", RING)
    with pytest.raises(ValueError, match="the sources"):
        on_mesh(lambda x: (lax.psend(x, "i", [(0, 1), (0, 2)]), x)[1])(X)
    with pytest.raises(TypeError, match=r"lax\.precv, argument token"):
        on_mesh(lambda x: lax.precv(x, jax.ShapeDtypeStruct((2,), jnp.float32), "i", RING))(X)
