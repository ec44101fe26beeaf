"""Wrong arguments are refused with an explanation, by every public function.

Each function is called with values of a wrong kind in all places, in the first and in the last;
with arrays whose shapes do not fit; and with wrong values of arguments that many functions share.
A call may succeed.  If it fails, the error says what was given and how to mend it.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import morphax as jax
import morphax.nn.initializers
import morphax.numpy as jnp
import morphax.scipy.fft
import morphax.scipy.linalg
import morphax.scipy.signal
import morphax.scipy.special
import morphax.scipy.stats
from morphax import lax

# Where functions are looked up, and where those that are public there may be defined.
MODULES: dict[str, tuple[Any, str]] = {
    "": (jax, "morphax"),
    "dlpack": (jax.dlpack, "morphax"),
    "lax": (lax, "morphax"),
    "lax.linalg": (lax.linalg, "morphax.lax.linalg"),
    "nn": (jax.nn, "morphax.nn"),
    "nn.initializers": (jax.nn.initializers, "morphax.nn.initializers"),
    "numpy": (jnp, "morphax"),
    "numpy.fft": (jnp.fft, "morphax.numpy.fft"),
    "numpy.linalg": (jnp.linalg, "morphax.numpy.linalg"),
    "random": (jax.random, "morphax.random"),
    "scipy.fft": (jax.scipy.fft, "morphax.scipy.fft"),
    "scipy.linalg": (jax.scipy.linalg, "morphax.scipy.linalg"),
    "scipy.signal": (jax.scipy.signal, "morphax.scipy.signal"),
    "scipy.special": (jax.scipy.special, "morphax.scipy.special"),
    "scipy.stats": (jax.scipy.stats, "morphax.scipy.stats"),
    "scipy.stats.norm": (jax.scipy.stats.norm, "morphax.scipy.stats.norm"),
}
# `name: reason`.
EXEMPT = {
    "host_count": "an old name, which warns before it looks at its argument",
    "host_id": "an old name, which warns before it looks at its argument",
    "host_ids": "an old name, which warns before it looks at its argument",
    "lax.conv_general_permutations": "takes specifications that other functions have checked",
    "lax.conv_general_shape_tuple": "takes specifications that other functions have checked",
    "lax.conv_shape_tuple": "takes specifications that other functions have checked",
    "lax.conv_transpose_shape_tuple": "takes specifications that other functions have checked",
    "lax.padtype_to_pads": "takes specifications that other functions have checked",
    "lax.reduce_window_shape_tuple": "takes specifications that other functions have checked",
    "numpy.apply_over_axes": "calls the function of the user, whose errors are the user's",
    "numpy.einsum_path": "opt_einsum reports its own errors",
    **dict.fromkeys(
        ("numpy.ndim", "numpy.shape", "numpy.size"),
        "tells, with a warning, what NumPy tells of what is no array",
    ),
    **dict.fromkeys(
        ("scipy.signal.csd", "scipy.signal.stft", "scipy.signal.welch"),
        "warns of short signals, as SciPy does, before it looks at all arguments",
    ),
    **dict.fromkeys(
        ("numpy.load", "numpy.save", "numpy.savez"),
        "opens or makes a file of any name; the system reports its own errors",
    ),
    **dict.fromkeys(
        ("numpy.array_repr", "numpy.array_str", "numpy.set_printoptions"),
        "NumPy keeps the options of printing, and reports its own errors",
    ),
    "numpy.fromfunction": "calls the function of the user, whose errors are the user's",
}
# What tells users of a wrong call; all but the first four where JAX and NumPy raise them.
REFUSALS = (
    TypeError,
    ValueError,
    IndexError,
    KeyError,
    OverflowError,
    NameError,  # an unbound name of an axis
    NotImplementedError,  # an argument that NumPy has and arrays that do not change cannot
    RuntimeError,  # an unknown platform
    jax.errors.UnexpectedTracerError,
)


class Thing:
    """Nothing that any function knows."""


def leaked_tracer() -> Any:
    leaked: list[Any] = []
    jax.jit(lambda x: leaked.append(x) or x)(np.ones((2, 3), np.float32))
    return leaked[0]


X, Y = np.ones((2, 3), np.float32), np.ones((4, 5), np.float32)
WRONG = {
    "string": "text",
    "object": Thing(),
    "list": [1.0, 2.0],
    "none": None,
    "dict": {"a": 1},
    "leaked tracer": leaked_tracer(),
}
SHARED = frozenset(
    "axis axes axis1 dimension shape k out initial precision num length in_axes out_axes argnums "
    "static_argnums mode side unroll where method".split()
)
BAD_VALUES = (9, "b", Thing(), 1.5, (0, 0))


def functions() -> Iterator[Any]:
    for label, (module, home) in MODULES.items():
        for name in dir(module):  # with those that load on demand
            value = getattr(module, name)
            if inspect.isfunction(value) and not name.startswith("_"):
                place = f"{label}.{name}".lstrip(".")
                if f"{value.__module__}.".startswith(f"{home}.") and place not in EXEMPT:
                    yield pytest.param(value, id=place)


def wrong_calls(
    function: Callable[..., Any],
) -> Iterator[tuple[str, tuple[Any, ...], dict[str, Any]]]:
    """A label, positional arguments, keyword arguments."""
    parameters = list(inspect.signature(function).parameters.values())
    by_position = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    required = [p for p in parameters if p.default is p.empty and p.kind in by_position]
    if not parameters:
        return
    count = max(1, len(required))
    for kind, value in WRONG.items():
        yield kind, (value,) * count, {}
        if count > 1:
            yield f"{kind} first", (value, *(X,) * (count - 1)), {}
            yield f"{kind} last", (*(X,) * (count - 1), value), {}
    if count == 2:
        yield "shapes", (X, Y), {}
    for position, parameter in enumerate(parameters):
        for value in BAD_VALUES if parameter.name in SHARED else ():
            label = f"{parameter.name}={value!r:.10}"
            if position < len(required) and parameter.kind in by_position:
                yield label, tuple(value if i == position else X for i in range(count)), {}
            elif parameter.kind is not inspect.Parameter.POSITIONAL_ONLY:
                yield label, (X,) * count, {parameter.name: value}


def is_explained(error: BaseException) -> bool:
    text = str(error)
    if isinstance(error, REFUSALS) and "given:" in text and "fix:" in text:
        return True
    # Python's own, of the call as such.
    return isinstance(error, TypeError) and "argument" in text and "missing" in text


@pytest.mark.parametrize("function", list(functions()))
def test_errors_are_explained(function: Callable[..., Any]) -> None:
    unexplained = []
    for label, args, kwargs in wrong_calls(function):
        try:
            function(*args, **kwargs)
        except Exception as error:
            if not is_explained(error):
                unexplained.append(f"{label}: {type(error).__name__}: {str(error)[:100]}")
    assert not unexplained


def test_exemptions_are_needed() -> None:
    known = {
        f"{label}.{name}".lstrip(".")
        for label, (module, _) in MODULES.items()
        for name in dir(module)
    }
    assert set(EXEMPT) <= known


@pytest.mark.parametrize(
    "call",
    [
        lambda: jax.tree.unflatten("no structure", [1]),
        lambda: jax.tree.transpose([0], None, [1]),
        lambda: jax.tree_util.treedef_children([0]),
        lambda: jax.flatten_util.ravel_pytree(["text"]),
        lambda: jax.flatten_util.ravel_pytree([1.0])[1](np.ones(2, np.float32)),
        lambda: jnp.zeros(3) + Thing(),
        lambda: jnp.zeros(3) @ jnp.zeros(4),
        lambda: jnp.zeros(3).reshape(2, 2),
        lambda: jnp.zeros(3)["a"],
        lambda: jnp.zeros(3).at["a"].set(1.0),
        lambda: jnp.zeros((2, 2))[0, 0, 0],
        lambda: jax.grad(lambda x: x)(jnp.zeros(3)),
        lambda: jax.grad(lambda x: x)(3),
        lambda: jax.vmap(lambda x, y: x)(jnp.zeros(3), jnp.zeros(4)),
        lambda: jax.jit(lambda x: x)("text"),
        lambda: jax.jit(lambda x: "text")(1.0),
    ],
)
def test_usual_mistakes_are_explained(call: Callable[[], Any]) -> None:
    with pytest.raises(REFUSALS) as caught:
        call()
    # Python's own, after both classes declined the operator.
    declined = "unsupported operand type" in str(caught.value)
    assert declined or is_explained(caught.value)
