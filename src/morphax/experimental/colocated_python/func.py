"""Functions that are called where their arguments are."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, final

from ... import tree
from ...array import Array
from ...core import ShapeDtypeStruct, outside_transformations
from ...lax.ground.axes import check_callable
from ...lax.ground.placing import device_put
from ...runtime.device import Device
from ...transforms.flattening import function_label
from ...util.messages import described, message
from ...util.records import dataclass
from .serialization import DeviceList


def colocated_python(fun: Callable[..., Any]) -> Callable[..., Any]:
    """A function that is called where its arguments are.

    The result has a method ``specialize(in_specs=None, out_specs_fn=None, devices=None)``, which
    gives the same function with more said of it: the expected ``(args, kwargs)`` as a tree of
    `ShapeDtypeStruct`; a function from such arguments to the tree of the result, which is then
    laid out so; the devices, which a function without arguments needs.

    Args:
        fun: function of arrays or trees of them, to the like.

    Raises:
        ValueError: at a call, if an argument or result is no concrete array, arguments lie on
            different devices or other than was said; or there are no arguments and no devices.

    Example:
        >>> import morphax.numpy as jnp
        >>> from morphax.experimental.colocated_python import colocated_python
        >>> @colocated_python
        ... def sorted_by_python(x):
        ...     return jnp.asarray(sorted(x.tolist()))
        >>> sorted_by_python(jnp.array([2, 1]))
        Array([1, 2], dtype=int32)
    """
    check_callable("colocated_python, argument fun", fun)
    return _wrapped(fun, _Specialization())


@final
@dataclass(frozen=True, slots=True)
class _Specialization:
    """What is said of a function, see `colocated_python`; `None` where nothing is."""

    in_specs: Any = None
    out_specs_fn: Callable[..., Any] | None = None
    devices: DeviceList | None = None

    def and_also(self, **said: Any) -> _Specialization:
        for name, value in said.items():
            if value is not None and getattr(self, name) is not None:
                raise ValueError(
                    message(
                        f"specialize of a colocated_python function, argument {name}",
                        given="it, and it has been said before",
                        expected="what has not been said",
                        fix=f"Leave {name} out, or specialize the function itself.",
                    )
                )
        return replace(self, **{name: x for name, x in said.items() if x is not None})


def _wrapped(fun: Callable[..., Any], said: _Specialization) -> Callable[..., Any]:
    @functools.wraps(fun)
    def called(*args: Any, **kwargs: Any) -> Any:
        return _call(fun, said, args, kwargs)

    def specialize(
        in_specs: Any = None,
        out_specs_fn: Callable[..., Any] | None = None,
        devices: Sequence[Device] | None = None,
    ) -> Callable[..., Any]:
        """The same function, with more said of it."""
        chosen = None if devices is None else tuple(devices)
        more = {"in_specs": in_specs, "out_specs_fn": out_specs_fn, "devices": chosen}
        return _wrapped(fun, said.and_also(**more))

    called.specialize = specialize  # type: ignore[attr-defined]
    return called


def _call(fun: Callable[..., Any], said: _Specialization, args: Any, kwargs: Any) -> Any:
    where = f"colocated_python of {function_label(fun)}"
    leaves = tree.leaves((args, kwargs))
    _check_arrays(where, "arguments", leaves)
    lists = {x.sharding.device_assignment for x in leaves}
    if len(lists) > 1 or (not lists and said.devices is None):
        raise ValueError(
            message(
                f"{where}, arguments",
                given=f"arrays on different devices: {lists}" if lists else "no arrays",
                expected="arrays on the same devices, or devices for a function without arguments",
                fix="Move them by jax.device_put, or call fun.specialize(devices=...) first.",
            )
        )
    if said.in_specs is not None:
        _check_like(f"{where}, arguments", (args, kwargs), said.in_specs)
    with outside_transformations():
        result = fun(*args, **kwargs)
    _check_arrays(where, "results", tree.leaves(result))
    if said.out_specs_fn is None:
        return result
    specs = said.out_specs_fn(*tree.map(ShapeDtypeStruct.like, args), **_structs(kwargs))
    _check_like(f"{where}, results", result, specs)
    return tree.map(
        lambda x, spec: x if spec.sharding is None else device_put(x, spec.sharding), result, specs
    )


def _structs(kwargs: dict[str, Any]) -> dict[str, Any]:
    return {name: tree.map(ShapeDtypeStruct.like, value) for name, value in kwargs.items()}


def _check_arrays(where: str, what: str, leaves: Sequence[Any]) -> None:
    for x in leaves:
        if type(x) is not Array or not x.is_fully_addressable:
            raise ValueError(
                message(
                    f"{where}, {what}",
                    given=described(x),
                    expected="concrete arrays, all of whose parts are in this process",
                    fix="Convert numbers by jnp.asarray, and call it outside of transformations.",
                )
            )


def _check_like(where: str, values: Any, specs: Any) -> None:
    given, structure = tree.flatten(values)
    wanted, expected = tree.flatten(specs)
    pairs = [(x.shape, x.dtype) for x in given], [(x.shape, x.dtype) for x in wanted]
    if structure != expected or pairs[0] != pairs[1]:
        raise ValueError(
            message(
                where,
                given=f"{structure} with {pairs[0]}",
                expected=f"{expected} with {pairs[1]}, as was specialized",
                fix="Specialize the function for these, or call it with others.",
            )
        )
