"""The text of the error that `nan_checks` raises."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from ...core import Jaxpr, Primitive, carries_aval, equation_source, jaxprs_in_params
from ...util.messages import message

if TYPE_CHECKING:
    from .nan_checks import BadNumbers, Cause

_INDENT: Final = "\n            "
_SHOWN_ELEMENTS: Final = 8

# How such numbers come about, and what helps, by the operation that makes them.
_ADVICE: Final = {
    "log": "Keep the argument of log positive, for instance with jnp.maximum(x, tiny).",
    "log1p": "Keep the argument of log1p above -1.",
    "sqrt": "Keep the argument of sqrt from falling below zero, for instance with jnp.maximum.",
    "rsqrt": "Keep the argument of rsqrt positive, for instance by adding a small number.",
    "div": "Keep the divisor away from zero, for instance by adding a small number.",
    "rem": "Keep the divisor away from zero.",
    "pow": "Keep the base positive where the exponent is no integer.",
    "exp": "Bound the argument of exp, for instance by subtracting its maximum.",
    "mul": "Avoid 0 * infinity: bound the factor that grows without limit.",
    "sub": "Avoid infinity - infinity: use large finite numbers instead of infinities.",
    "add": "Avoid infinity - infinity: use large finite numbers instead of infinities.",
    "acos": "Keep the argument within [-1, 1], for instance with jnp.clip.",
    "asin": "Keep the argument within [-1, 1], for instance with jnp.clip.",
}
_BACKWARD_ADVICE: Final = (
    "The backward pass runs through both sides of jnp.where: make the argument safe before the "
    "operation, jnp.where(ok, f(jnp.where(ok, x, safe)), other)."
)


def bad_result_text(
    bad: BadNumbers,
    primitive: Primitive,
    params: Mapping[str, Any],
    position: int,
    result: Any,
    cause: Cause | None,
) -> str:
    """What came out bad, where it stems from, and what helps."""
    program = next(jaxprs_in_params(params), None)
    whose = f" of {program.debug_info.function}" if program is not None else ""
    which = f"result {position} of " if primitive.multiple_results else ""
    given, fix = _account(bad, program, primitive, result, cause)
    return message(
        f"{bad.option}: {which}{primitive.name}{whose}",
        given=given,
        expected=f"results without {bad.name}",
        fix=fix,
    )


def bad_value_text(bad: BadNumbers, name: str, result: Any) -> str:
    """What came out bad of a function whose steps are not told."""
    return message(
        f"{bad.option}: {name}",
        given=f"arguments that lead to {bad.name}: {_described(bad, result)}",
        expected=f"results without {bad.name}",
        fix=f"Check the arguments for values out of the domain of {name}.",
    )


def _account(
    bad: BadNumbers,
    program: Jaxpr | None,
    primitive: Primitive,
    result: Any,
    cause: Cause | None,
) -> tuple[str, str]:
    """What is told of the cause, and the advice."""
    if cause is None:
        return (
            f"{bad.name} from the compiled program: {_described(bad, result)};{_INDENT}"
            "the same operations one at a time give none",
            "Rounding or the fusion of operations makes the difference: look for numbers near "
            "overflow, or for a difference of nearly equal ones.",
        )
    if cause.operation is None and program is None:
        # A single operation is its own account; its operand was bad before.
        place = equation_source()
        return (
            f"{bad.name} that {primitive.name}{_at(place, ())} is given as operand "
            f"{cause.position}: {_described(bad, cause.result)}",
            "Find where the operand comes from; it was not computed while the option was on.",
        )
    if cause.operation is None:
        assert program is not None, "an argument belongs to a program"
        name = program.debug_info.argument_name(cause.position)
        return (
            f"{bad.name} that is already in the argument {name}: {_described(bad, cause.result)}",
            "Look for the cause where the argument is computed.",
        )
    lines = [f"{bad.name} made by {cause.operation.name}{_at(cause.source, cause.scopes)}"]
    lines += [f"operand {i}: {_described(bad, x)}" for i, x in enumerate(cause.operands)]
    lines.append(f"result: {_described(bad, cause.result)}")
    return _INDENT.join(lines), _advice(cause)


def _at(source: Any, scopes: tuple[str, ...]) -> str:
    line = f" at {source}" if source is not None else ""
    phase = ", in the backward pass of that line" if source is not None and source.backward else ""
    within = f", in {' / '.join(scopes)}" if scopes else ""
    return line + phase + within


def _advice(cause: Cause) -> str:
    assert cause.operation is not None, "an argument needs no advice"
    advice = _ADVICE.get(cause.operation.name, "Check the operands for values out of its domain.")
    backward = cause.source is not None and cause.source.backward
    return f"{advice} {_BACKWARD_ADVICE}" if backward else advice


def _described(bad: BadNumbers, x: Any) -> str:
    """Shape and dtype; the elements if they are few; how many are bad, and the first of them."""
    host = x.to_host() if hasattr(x, "to_host") else np.asarray(x)
    text = f"{x.aval.str_short()}" if carries_aval(x) else f"{x!r:.40}"
    if not carries_aval(x):
        return text
    if host.size <= _SHOWN_ELEMENTS:
        return f"{text} = {np.array2string(host, separator=', ')}".replace("\n", " ")
    mask = bad.among(x)
    if mask is None:
        return f"{text}{_range(host)}"
    first = [int(i) for i in np.unravel_index(int(np.argmax(mask)), mask.shape)]
    return f"{text}, {int(mask.sum())} of {host.size} elements are {bad.name}, the first at {first}"


def _range(host: np.ndarray[Any, Any]) -> str:
    if host.dtype.kind in "biu" or np.iscomplexobj(host) or host.dtype.kind not in "fV":
        return ""
    return f" between {host.min()} and {host.max()}"
