"""What is refused, by the class that programs catch, and in words of our own.

`test_bad_input` calls every function wrongly; here stand calls whose class of error matters,
because JAX or NumPy raise it, and arguments that must not be accepted and then forgotten.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import morphax as jax
import morphax.numpy as jnp
from morphax import lax

X, Y = jnp.ones((2, 3)), jnp.ones((4, 5))
V = jnp.arange(4.0)
KEY = jax.random.key(0)
PLACE = jax.sharding.SingleDeviceSharding(jax.devices("cpu")[0])


def delete_a_row() -> None:
    del X[0]


def step(carry: Any, x: Any) -> tuple[Any, Any]:
    return carry + x, carry


# Both what JAX and what NumPy raise.
SHAPES: dict[str, Callable[[], Any]] = {
    "operator": lambda: X + Y,
    "comparison": lambda: X == Y,
    "lax": lambda: lax.add(X, Y),
    "where": lambda: jnp.where(X > 0, X, Y),
    "matmul": lambda: X @ Y,
    "traced": lambda: jax.jit(jnp.add)(X, Y),
    "reshape": lambda: jnp.reshape(X, (-1, -1)),
    "transpose": lambda: jnp.transpose(X, (0,)),
    "broadcast": lambda: jnp.broadcast_to(X, (4, 5)),
    "negative": lambda: jnp.zeros((-1,)),
    "lax negative": lambda: lax.full((-1,), 0.0),
}
REFUSED: dict[str, tuple[type[Exception], Callable[[], Any]]] = {
    "key + 1": (TypeError, lambda: KEY + 1),
    "1 + key": (TypeError, lambda: jax.jit(lambda k: 1 + k)(KEY)),
    "x[2**70]": (OverflowError, lambda: X[2**70]),
    "at[2**70]": (OverflowError, lambda: X.at[-(2**70)].set(1)),
    "del x[0]": (TypeError, delete_a_row),
    "zeros(2**70)": (OverflowError, lambda: jnp.zeros(2**70)),
    "arange step": (ZeroDivisionError, lambda: jnp.arange(0, 1, 0)),
    "arange nan": (ValueError, lambda: jnp.arange(float("nan"))),
    "arange complex": (ValueError, lambda: jnp.arange(1j)),
    "iota without dtype": (ValueError, lambda: lax.iota(None, 3)),  # type: ignore[arg-type]
    "ceil of keys": (TypeError, lambda: jnp.ceil(KEY)),
    "truth of keys": (TypeError, lambda: jnp.logical_and(KEY, True)),
    "tile 2**70": (OverflowError, lambda: jnp.tile(V, 2**70)),
    "take": (ValueError, lambda: jnp.take(V, 0, mode=[])),  # type: ignore[arg-type]
    "var": (TypeError, lambda: jnp.var(V, correction="a")),  # type: ignore[arg-type]
    "bounds of a loop": (
        TypeError,
        lambda: lax.fori_loop(np.int8(0), np.int32(300), lambda i, x: x + i, 0),
    ),
    "linspace": (ValueError, lambda: jnp.linspace(0, 1, -1)),
    "shape of bytes": (TypeError, lambda: jnp.ones(b"x")),
    "lax shape of bytes": (TypeError, lambda: lax.full(b"x", 0.0)),  # type: ignore[arg-type]
    "axes of bytes": (TypeError, lambda: lax.transpose(X, b"01")),  # type: ignore[arg-type]
    "ediff1d": (TypeError, lambda: jnp.ediff1d(X > 0)),
    "dtype of cov": (ValueError, lambda: jnp.cov(X, dtype="int8")),
    "dtype of corrcoef": (ValueError, lambda: jnp.corrcoef(X, dtype=bool)),
    "type of a view": (NotImplementedError, lambda: V.view(type=np.ndarray)),  # type: ignore[arg-type]
    "weights of cov": (RuntimeError, lambda: jnp.cov(X, fweights=jnp.arange(4))),
    "range of a histogram": (ValueError, lambda: jnp.histogram_bin_edges(V, range=X)),
    "edges of a histogram": (ValueError, lambda: jnp.histogram(V, bins=V[:0])),
    "out of take": (NotImplementedError, lambda: V.take(0, out=V)),
    "out of stack": (NotImplementedError, lambda: jnp.stack([V], out=V)),  # type: ignore[arg-type]
    "out of isposinf": (NotImplementedError, lambda: jnp.isposinf(V, out=V)),  # type: ignore[arg-type]
    "nanvar": (TypeError, lambda: jnp.nanvar(X, where=X)),
    "slice": (TypeError, lambda: lax.slice(X, (0, 1), (1,))),
    "allow_negative_indices": (
        TypeError,
        lambda: lax.dynamic_slice(X, (0, 0), (1, 1), allow_negative_indices=[True]),
    ),
    "split": (ValueError, lambda: jnp.split(V, 0)),
    "pad": (ValueError, lambda: lax.pad(V, 0.0, ((1,),))),
    "concatenate": (TypeError, lambda: jnp.concatenate(np.float32(1.0))),
    "nonzero": (TypeError, lambda: jnp.nonzero(V, size="two")),
    "unique": (ValueError, lambda: jnp.unique(V, size=-1)),
    "bincount": (TypeError, lambda: jnp.bincount(jnp.array([1]), minlength=1.5)),
    "diagonal": (TypeError, lambda: jnp.diagonal(X, offset=None)),
    "choose": (ValueError, lambda: jnp.choose(jnp.array([0]), [V], mode="nearest")),
    "rollaxis": (ValueError, lambda: jnp.rollaxis(X, 0, 4)),
    "round": (TypeError, lambda: jnp.round(V, 1.5)),
    "quantile": (ValueError, lambda: jnp.quantile(V, 0.5, method=[])),
    "apply_along_axis": (TypeError, lambda: jnp.apply_along_axis(None, 0, X)),
    "jit(None)": (TypeError, lambda: jax.jit(None)),
    "jit(3)": (TypeError, lambda: jax.jit(3, static_argnums=0)),
    "compiler_options": (TypeError, lambda: jax.jit(jnp.sin, compiler_options="fast")),
    "static_argnums": (ValueError, lambda: jax.make_jaxpr(jnp.sin, static_argnums=3)(1.0)),
    "nondiff_argnums": (TypeError, lambda: jax.custom_jvp(jnp.sin, nondiff_argnums="x")),
    "scan unroll": (ValueError, lambda: lax.scan(step, 0.0, V, unroll=-1)),
    "scan unroll 1.5": (TypeError, lambda: lax.scan(step, 0.0, V, unroll=1.5)),
    "fori unroll": (ValueError, lambda: lax.fori_loop(0, 3, lambda i, c: c, 0, unroll=-1)),
    "fori body": (TypeError, lambda: lax.fori_loop(0, 3, None, 0)),
    "map": (ValueError, lambda: lax.map(jnp.sin, V, batch_size=-1)),
    "tree.map": (TypeError, lambda: jax.tree.map(None, [1])),
    "in_shardings": (TypeError, lambda: jax.jit(jnp.sin, in_shardings="nonsense")),
    "out_shardings": (TypeError, lambda: jax.jit(jnp.sin, out_shardings=(None, 3))),
    "abstracted_axes": (NotImplementedError, lambda: jax.make_jaxpr(len, abstracted_axes="n")),
    "ShapeDtypeStruct": (ValueError, lambda: jax.ShapeDtypeStruct((2,), "f4", sharding="all")),
    "accuracy": (NotImplementedError, lambda: lax.exp(V, accuracy="high")),
    "device of zeros": (ValueError, lambda: jnp.zeros(3, device="nonsense")),
    "device of linspace": (ValueError, lambda: jnp.linspace(0, 1, 3, device=3)),
    "device of astype": (ValueError, lambda: X.astype(int, device=3)),
}
LAID_OUT: dict[str, Callable[[Any], Any]] = {
    "zeros": lambda s: jnp.zeros(3, out_sharding=s),
    "full_like": lambda s: jnp.full_like(X, 1.0, out_sharding=s),
    "array": lambda s: jnp.array([1], out_sharding=s),
    "asarray": lambda s: jnp.asarray([1], out_sharding=s),
    "reshape": lambda s: jnp.reshape(X, (3, 2), out_sharding=s),
    "method": lambda s: X.reshape(3, 2, out_sharding=s),
    "matmul": lambda s: jnp.matmul(X, X.T, out_sharding=s),
    "einsum": lambda s: jnp.einsum("ij->i", X, out_sharding=s),
    "at.get": lambda s: X.at[0].get(out_sharding=s),
    "lax.dot": lambda s: lax.dot(X, X.T, out_sharding=s),
    "lax.full": lambda s: lax.full((3,), 1.0, sharding=s),
    "lax.broadcast": lambda s: lax.broadcast(X, (2,), out_sharding=s),
    "normal": lambda s: jax.random.normal(KEY, (3,), out_sharding=s),
}


def words_of(kind: type[Exception], call: Callable[[], Any]) -> None:
    with pytest.raises(kind) as caught:
        call()
    assert "given:" in str(caught.value)
    assert "fix:" in str(caught.value)


@pytest.mark.parametrize("kind", [TypeError, ValueError])
@pytest.mark.parametrize("name", SHAPES)
def test_shapes_that_do_not_fit_are_two_errors(name: str, kind: type[Exception]) -> None:
    words_of(kind, SHAPES[name])


@pytest.mark.parametrize("name", REFUSED)
def test_refusals(name: str) -> None:
    words_of(*REFUSED[name])


@pytest.mark.parametrize("name", LAID_OUT)
def test_layouts_are_not_ignored(name: str) -> None:
    words_of(TypeError, lambda: LAID_OUT[name]("nonsense"))
    if name != "lax.full":
        words_of(TypeError, lambda: LAID_OUT[name](PLACE))


def test_shardings_of_one_device_say_where_a_program_runs() -> None:
    for options in (
        {"in_shardings": PLACE},
        {"out_shardings": {"y": PLACE}},
        {"in_shardings": (PLACE, None), "out_shardings": PLACE},
    ):
        assert jax.jit(lambda x: {"y": 2.0 * x}, **options)(1.0)["y"].sharding == PLACE


def test_values_may_be_put_where_the_program_runs() -> None:
    x = jax.jit(lambda x: x + jnp.zeros(3, device=PLACE) + jax.device_put(x, PLACE))(V[:3])
    assert x.tolist() == [0.0, 2.0, 4.0]


def test_methods_are_attributes_of_the_class_users_see() -> None:
    for name in ("all", "sum", "at", "T", "__add__", "__getitem__", "astype"):
        assert hasattr(jax.Array, name)
    assert jax.Array.sum(V) == 6.0
