"""`ffi_call`: call a handler of XLA's foreign function interface."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ... import dtypes
from ...core import AbstractToken, Layout, ShapedArray, aval_of, frames_hidden
from ...engines.xla.custom_calls import TYPED_CALL
from ...transforms.flattening import check_avals
from ...util.messages import described, message
from ..vmap_methods import check_vmap_method
from .attributes import as_parameters
from .ffi_primitive import ffi_call_p

FfiLayout = Layout | Sequence[int] | None
"""The axes of an array from major to minor; `None` for row-major."""

_WHERE = "ffi.ffi_call"


def ffi_call(
    target_name: str,
    result_shape_dtypes: Any,
    *,
    has_side_effect: bool = False,
    vmap_method: str | None = None,
    input_layouts: Sequence[FfiLayout] | None = None,
    output_layouts: FfiLayout | Sequence[FfiLayout] = None,
    input_output_aliases: dict[int, int] | None = None,
    custom_call_api_version: int = TYPED_CALL,
    legacy_backend_config: str | None = None,
) -> Callable[..., Any]:
    """A function of arrays that a foreign function computes, registered by `register_ffi_target`.

    The foreign function is trusted: it is given the memory of operands and results, and one that
    writes elsewhere ends the process.

    Args:
        target_name: the name that it is registered under.
        result_shape_dtypes: shape and dtype of its result, as an object with the attributes `shape`
            and `dtype`; a sequence of them if it has several; `abstract_token` for a token.
        has_side_effect: whether it is called even if no result is used.
        vmap_method: what `vmap` makes of the call, as in `jax.pure_callback`.
        input_layouts: for each operand, how the function wants it to lie in memory: its axes from
            the one with the largest stride to that with the smallest, as a sequence or a `Layout`;
            `None` for row-major order.
        output_layouts: likewise for the result, or for each of them.
        input_output_aliases: operands whose memory results take over: number of the operand →
            number of the result.  Where an operand is still needed, XLA copies it before.
        custom_call_api_version: 4 for typed functions; less for older interfaces of XLA.
        legacy_backend_config: what functions of the older interfaces are given as a text.

    Returns:
        A function of positional arrays.  Arguments by name are attributes of the call: static
        numbers, texts, NumPy arrays, tuples and dicts.

    Raises:
        TypeError: an operand is no array, or an attribute of a kind that there is not.
        ValueError: results, layouts, aliases, `vmap_method` or the version do not fit; the call is
            differentiated.
        NotImplementedError: under `vmap`, if `vmap_method` is `None`.
        JaxRuntimeError: no such function is registered, it takes other operands or attributes, or
            it fails.

    Example:
        >>> import morphax as jax
        >>> import numpy as np
        >>> spec = jax.ShapeDtypeStruct((3,), np.float32)
        >>> def scale(x):
        ...     return jax.ffi.ffi_call("scale", spec, vmap_method="broadcast_all")(x, factor=2.0)
        >>> jax.make_jaxpr(scale)(np.ones(3, np.float32)).eqns[0].params["attributes"]
        (('factor', 2.0),)
    """
    _check_target(target_name)
    check_vmap_method(_WHERE, vmap_method)
    _check_version(custom_call_api_version, legacy_backend_config)
    several = isinstance(result_shape_dtypes, list | tuple)
    specs = list(result_shape_dtypes) if several else [result_shape_dtypes]
    result_avals = tuple([_promised(i, spec) for i, spec in enumerate(specs)])
    given_layouts = output_layouts if several or output_layouts is None else [output_layouts]
    results = _layouts("output_layouts", given_layouts, result_avals)

    @frames_hidden
    def wrapped(*args: Any, **attributes: Any) -> Any:
        check_avals(_WHERE, lambda: [f"number {i}" for i in range(len(args))], args)
        if attributes and custom_call_api_version < TYPED_CALL:
            raise ValueError(_attributes_refused(custom_call_api_version))
        avals = [aval_of(x) for x in args]
        outs = ffi_call_p.bind(
            *args,
            result_avals=result_avals,
            vmap_method=vmap_method,
            target_name=target_name,
            has_side_effect=bool(has_side_effect),
            input_layouts=_layouts("input_layouts", input_layouts, avals),
            output_layouts=results,
            input_output_aliases=_aliases(input_output_aliases or {}, avals, result_avals),
            custom_call_api_version=custom_call_api_version,
            legacy_backend_config=legacy_backend_config,
            attributes=as_parameters(f"{_WHERE} of {target_name!r}", attributes),
        )
        return type(result_shape_dtypes)(outs) if several else outs[0]

    return wrapped


def _check_target(name: object) -> None:
    if not isinstance(name, str):
        raise TypeError(
            message(
                f"{_WHERE}, argument target_name",
                given=described(name),
                expected="a text",
                fix="Pass the name that register_ffi_target was given.",
            )
        )


def _check_version(version: int, config: str | None) -> None:
    if version not in range(TYPED_CALL + 1):
        raise ValueError(
            message(
                f"{_WHERE}, argument custom_call_api_version",
                given=repr(version),
                expected=f"a number from 0 to {TYPED_CALL}",
                fix="Leave it out for typed functions.",
            )
        )
    if config is not None and version == TYPED_CALL:
        raise ValueError(
            message(
                f"{_WHERE}, argument legacy_backend_config",
                given=f"{config!r} for custom_call_api_version={version}",
                expected="None: typed functions take attributes",
                fix="Pass attributes by name when the function is called.",
            )
        )


def _attributes_refused(version: int) -> str:
    return message(
        f"{_WHERE}, arguments by name",
        given=f"attributes for custom_call_api_version={version}",
        expected="positional arrays alone: older interfaces have no attributes",
        fix="Pass a text as legacy_backend_config.",
    )


def _promised(position: int, spec: Any) -> Any:
    """The aval that an element of `result_shape_dtypes` promises."""
    if isinstance(spec, AbstractToken):
        return spec
    try:
        shape, dtype = spec.shape, dtypes.dtype(spec.dtype)
    except AttributeError:
        raise ValueError(
            message(
                f"{_WHERE}, argument result_shape_dtypes, number {position}",
                given=described(spec),
                expected="an object with a shape and a dtype, or a list or tuple of such objects",
                fix="Write jax.ShapeDtypeStruct(shape, dtype).",
            )
        ) from None
    return ShapedArray(tuple(shape), dtype, weak_type=bool(getattr(spec, "weak_type", False)))


def _layouts(argument: str, layouts: Any, avals: Sequence[Any]) -> tuple[tuple[int, ...], ...]:
    """The axes of each array from minor to major, as XLA counts them."""
    if layouts is None:
        layouts = [None] * len(avals)
    if not isinstance(layouts, Sequence) or len(layouts) != len(avals):
        raise ValueError(
            message(
                f"{_WHERE}, argument {argument}",
                given=described(layouts),
                expected=f"a sequence of {len(avals)} layouts, one for each array",
                fix="Write None for an array in row-major order.",
            )
        )
    return tuple([_minor_to_major(argument, *pair) for pair in zip(layouts, avals, strict=True)])


def _minor_to_major(argument: str, layout: FfiLayout, aval: Any) -> tuple[int, ...]:
    ndim = len(getattr(aval, "shape", ()))
    if layout is None:
        return tuple(range(ndim))[::-1]
    order = layout.major_to_minor if isinstance(layout, Layout) else layout
    try:
        axes = tuple([int(axis) for axis in order])
    except (TypeError, ValueError):
        axes = ()
    if sorted(axes) != list(range(ndim)):
        raise ValueError(
            message(
                f"{_WHERE}, argument {argument}",
                given=f"{layout!r} for an array {aval}",
                expected=f"None, or the axes 0 to {ndim - 1} in some order, the major one first",
                fix="Name each axis of the array once; (1, 0) is a matrix by columns.",
            )
        )
    return axes[::-1]


def _aliases(
    aliases: Mapping[int, int], avals: Sequence[Any], results: Sequence[Any]
) -> tuple[tuple[int, int], ...]:
    """Pairs of operand and result that exist, are alike and used once."""
    pairs = tuple(aliases.items())
    for source, target in pairs:
        given = f"{source!r}: {target!r}, for {len(avals)} operands and {len(results)} results"
        if source in range(len(avals)) and target in range(len(results)):
            operand, result = avals[source], results[target]
            same = operand.strip_weak_type() == getattr(result, "strip_weak_type", lambda: None)()
            if same and [t for _, t in pairs].count(target) == 1:
                continue
            given = f"{source}: {target}, that is {operand}: {result}"
        raise ValueError(
            message(
                f"{_WHERE}, argument input_output_aliases",
                given=given,
                expected="number of an operand: number of a result of the same shape and dtype, "
                "which no other operand becomes",
                fix="Count from 0, and leave out what differs.",
            )
        )
    return pairs
