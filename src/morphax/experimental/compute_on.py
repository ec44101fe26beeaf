"""`jax.experimental.compute_on`: which unit of a device computes a part of a program."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import wraps
from typing import Any

from .. import tree
from ..core.attributes import with_attributes
from ..lax.ground.placing import device_put
from ..memory import Space
from ..util.messages import described, message

__all__ = ["compute_on", "compute_on2"]

_ATTRIBUTES = {
    "device_host": {"_xla_compute_type": "host"},
    "device": {"_xla_compute_type": "dense"},
    "tpu_sparsecore": {"_xla_compute_type": "sparseoffload"},
}


def compute_on(
    f: Callable[..., Any] | str | None = None,
    compute_type: Any = None,
    *,
    out_memory_spaces: Any = None,
    compiler_options: Mapping[str, Any] | None = None,
) -> Any:
    """A context, or decorator, for what a special unit of a device shall compute.

    Compiled programs say so by attributes of their operations; XLA does what the platform can do
    of it, and a CPU does nothing.  Eager operations are computed where they are.

    There are two forms.  That of JAX before 0.12 takes the unit alone, and is a context and a
    decorator.  That of JAX 0.12 takes memory spaces of results too, and is a decorator, or is given
    the function at once; it is `compute_on2`.

    Args:
        f: the function, in the second form; or the unit, in the first.
        compute_type: ``"device_host"`` for the host of the device, ``"device"`` for the device
            itself, ``"tpu_sparsecore"``, or ``"gpu_stream:n"`` for stream n of a GPU.
        out_memory_spaces: `jax.memory.Space` of the results, or a prefix of their tree.
        compiler_options: for that part of the program, in the second form.

    Raises:
        TypeError: if the unit is no string, or a memory space is none.
        ValueError: if the unit is none of these.

    Example:
        >>> import morphax as jax, morphax.numpy as jnp
        >>> from morphax.experimental.compute_on import compute_on
        >>> program = jax.jit(compute_on("device_host")(jnp.sin)).lower(1.0)
        >>> "_xla_compute_type" in program.as_text()
        True
    """
    if not callable(f) and out_memory_spaces is None:
        return with_attributes(_attributes("compute_on", compute_type if f is None else f))
    return _decorated("compute_on", f, compute_type, out_memory_spaces, compiler_options)


def compute_on2(
    f: Callable[..., Any] | None = None,
    *,
    compute_type: str,
    out_memory_spaces: Any,
    compiler_options: Mapping[str, Any] | None = None,
) -> Any:
    """`f`, computed by a special unit of a device, its results in given memory.

    Args:
        f: the function; a decorator is returned if it is left out.
        compute_type: as that of `compute_on`.
        out_memory_spaces: `jax.memory.Space` of the results, or a prefix of their tree.
        compiler_options: for that part of the program, as a dictionary.  They are attributes of its
            operations.

    Raises:
        TypeError, ValueError: as `compute_on`; or a memory space is none.
    """
    return _decorated("compute_on2", f, compute_type, out_memory_spaces, compiler_options)


def _decorated(
    where: str, f: Any, compute_type: Any, spaces: Any, options: Mapping[str, Any] | None
) -> Any:
    if f is None:
        return lambda f: _decorated(where, f, compute_type, spaces, options)
    attributes = _attributes(where, compute_type)
    for name, value in (options or {}).items():
        attributes |= {name: str(value)}

    @wraps(f)
    def computed(*args: Any, **kwargs: Any) -> Any:
        with with_attributes(attributes):
            results = f(*args, **kwargs)
        return in_spaces(f"{where}, argument out_memory_spaces", results, spaces)

    return computed


def in_spaces(where: str, results: Any, spaces: Any) -> Any:
    """The results, moved to memory spaces, of which there is a prefix of their tree."""

    def put(x: Any, space: Any) -> Any:
        if not isinstance(space, Space):
            raise TypeError(
                message(
                    where,
                    given=described(space),
                    expected="members of jax.memory.Space",
                    fix="Write jax.memory.Space.Device or jax.memory.Space.Host.",
                )
            )
        return device_put(x, space)

    return tree.map(put, results, tree.broadcast(spaces, results, lambda space: space is None))


def _attributes(where: str, compute_type: Any) -> dict[str, str]:
    if not isinstance(compute_type, str):
        raise TypeError(_wrong_type(where, described(compute_type)))
    kind, separator, stream = compute_type.partition(":")
    if kind == "gpu_stream" and separator:
        return {"_xla_stream_annotation": stream, "inlineable": "false"}
    if compute_type not in _ATTRIBUTES:
        raise ValueError(_wrong_type(where, repr(compute_type)))
    return dict(_ATTRIBUTES[compute_type])


def _wrong_type(where: str, given: str) -> str:
    return message(
        f"{where}, argument compute_type",
        given=given,
        expected="'device_host', 'device', 'tpu_sparsecore' or 'gpu_stream:n'",
        fix="Name the unit by one of these strings.",
    )
