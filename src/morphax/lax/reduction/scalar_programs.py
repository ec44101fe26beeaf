"""Programs of scalars, such as the ``computation`` of a reduction, applied to whole arrays.

The user's computation combines two scalars (or two tuples of them).  It is traced once; if it is
one of the known monoids it is recognised by what it does, and otherwise applied to many pairs at
once by the batching rules of the primitives in it, and to dual numbers by their derivative rules.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from ... import tree
from ...array import Array
from ...config import current as current_config
from ...core import (
    BatchAxes,
    Jaxpr,
    Literal,
    ShapedArray,
    Tracer,
    Zero,
    attributed_to,
    aval_of,
    close,
    is_zero,
    stage,
    stage_closed,
)
from ...dtypes.numbers import host_scalar
from ...util.frames import NOWHERE
from ...util.memo import MemoTable, memoize, missing
from ...util.messages import message
from ..elementwise.arithmetic import add, mul
from ..elementwise.bitwise import bitwise_and, bitwise_or, bitwise_xor
from ..elementwise.convert import converted
from ..elementwise.selection import max as largest
from ..elementwise.selection import min as smallest
from ..ground.axes import check_callable
from ..ground.linear_structure import batched_first, instantiate
from ..shape.shape_operations import reshape


def reduction_of_pairs(
    where: str,
    arguments: tuple[str, str],
    operands: Any,
    init_values: Any,
    computation: Callable[[Any, Any], Any],
) -> tuple[list[Any], list[Any], Jaxpr, Any]:
    """What a reduction by any computation is given, checked.

    Args:
        where: function, for messages.
        arguments: what it calls the operands and the initial values.
        operands, init_values: trees of one structure.
        computation: of two trees of scalars.

    Returns:
        The leaves of the operands, the initial values as scalars, the program that combines two
        tuples of scalars, and the structure of the trees.
    """
    leaves, structure = tree.flatten(operands)
    starts, start_structure = tree.flatten(init_values)
    of_operands, of_starts = arguments
    if not leaves or structure != start_structure:
        raise ValueError(
            message(
                f"{where}, argument {of_starts}",
                given=f"{start_structure} for operands {structure}",
                expected="one initial value for each operand, at least one",
                fix=f"Give {of_starts} the structure of {of_operands}.",
            )
        )
    kinds = [aval_of(x).dtype for x in leaves]
    scalars = [_initial_scalar(where, v, d) for v, d in zip(starts, kinds, strict=True)]
    program = _common_program if any([computation is f for f in _COMMON]) else _pair_program
    return leaves, scalars, program(where, computation, kinds, structure), structure


# Functions of ours whose program depends on the dtypes and the settings alone.
_COMMON = (add, mul, largest, smallest, bitwise_and, bitwise_or, bitwise_xor)
_common_programs: MemoTable[Jaxpr] = MemoTable()


def _common_program(
    where: str, computation: Callable[[Any, Any], Any], dtypes: Sequence[Any], structure: Any
) -> Jaxpr:
    """`_pair_program` of one of the common functions, remembered."""
    key = computation, tuple(dtypes), structure, current_config().trace_key
    known = _common_programs[key]
    if known is missing:
        with attributed_to(NOWHERE):
            made = _pair_program(where, computation, dtypes, structure)
        known = _common_programs.add(key, made)
    return known


def _pair_program(
    where: str, computation: Callable[[Any, Any], Any], dtypes: Sequence[Any], structure: Any
) -> Jaxpr:
    """The program that combines two tuples of scalars.

    Args:
        where: function, for messages.
        computation: of two trees of scalars.
        dtypes: of the scalars of one tree.
        structure: of the trees.

    Raises:
        TypeError: if the result is not a tree of the same structure and dtypes, or depends on a
            value that is being traced.
    """
    check_callable(f"{where}, argument computation", computation)
    count = len(dtypes)

    def flat(*scalars: Any) -> list[Any]:
        left, right = (structure.unflatten(s) for s in (scalars[:count], scalars[count:]))
        leaves, out_structure = tree.flatten(computation(left, right))
        if out_structure != structure:
            raise TypeError(_wrong_result(where, str(out_structure), str(structure)))
        return leaves

    avals = [ShapedArray((), d) for d in dtypes]
    jaxpr, consts = stage(flat, avals * 2)
    if any([isinstance(c, Tracer) for c in consts]):
        raise TypeError(
            message(
                f"{where}, argument computation",
                given="a function that uses a value that is being traced",
                expected="a function of its two arguments and constants",
                fix="Combine that value with the operand or with the result instead.",
            )
        )
    given = [(a.shape, a.dtype) for a in jaxpr.out_avals]
    if given != [(a.shape, a.dtype) for a in avals]:
        text = ", ".join([a.str_short(short_dtypes=False) for a in jaxpr.out_avals])
        expected = ", ".join([a.str_short(short_dtypes=False) for a in avals])
        raise TypeError(_wrong_result(where, text, expected))
    return close(jaxpr, consts)


def _wrong_result(where: str, given: str, expected: str) -> str:
    return message(
        f"{where}, argument computation",
        given=f"a function that returns {given}",
        expected=f"{expected}, as its arguments",
        fix="Return the combination in the form of the first argument.",
    )


def single_operation(jaxpr: Jaxpr) -> str | None:
    """The name of the primitive if the program is just ``primitive(x, y)``, else `None`."""
    if len(jaxpr.eqns) != 1 or len(jaxpr.invars) != 2:
        return None
    (eqn,) = jaxpr.eqns
    applied = set(eqn.invars) == set(jaxpr.invars) and jaxpr.outvars == eqn.outvars
    return eqn.primitive.name if applied else None


def _initial_scalar(where: str, value: Any, dtype: Any) -> Any:
    """A starting value as a scalar of `dtype`: a NumPy scalar if it is known.

    Raises:
        TypeError: if it is not a scalar, or a traced one of another dtype.
    """
    aval = aval_of(value)
    if aval.shape or (isinstance(value, Tracer) and aval.dtype != dtype):
        raise TypeError(
            message(
                f"{where}, initial value",
                given=aval.str_short(short_dtypes=False),
                expected=f"a scalar of dtype {dtype}",
                fix="Give the identity of the computation in the dtype of the operand.",
            )
        )
    if isinstance(value, Tracer):
        return value
    if type(value) is complex:
        value = host_scalar(f"{where}, initial value", value, dtype)
    host = Array.from_host(value).to_host() if not isinstance(value, Array) else value.to_host()
    return converted(host, dtype)[()]


def on_elements(jaxpr: Jaxpr, operands: Sequence[Any]) -> list[Any]:
    """Apply a program of scalars to arrays of one shape, element by element."""
    shape = aval_of(operands[0]).shape
    flat = [reshape(x, (aval_of(x).size,)) for x in operands]
    axes = BatchAxes(aval_of(flat[0]).shape[0])
    env: dict[Any, tuple[Any, int | None]] = {
        v: (c, None) for v, c in zip(jaxpr.constvars, jaxpr.consts, strict=True)
    }
    env |= {v: (x, 0) for v, x in zip(jaxpr.invars, flat, strict=True)}

    def read(atom: Any) -> tuple[Any, int | None]:
        return (atom.val, None) if type(atom) is Literal else env[atom]

    for eqn in jaxpr.eqns:
        values, dims = zip(*map(read, eqn.invars), strict=True) if eqn.invars else ((), ())
        several = eqn.primitive.multiple_results
        if any([d is not None for d in dims]):
            outs, where = eqn.primitive.batch(axes, values, dims, **eqn.params)
        else:
            outs = eqn.primitive.bind(*values, **eqn.params)
            where = [None] * len(outs) if several else None
        results = zip(outs, where, strict=True) if several else [(outs, where)]
        env.update(zip(eqn.outvars, results, strict=True))
    return [reshape(batched_first(axes, *read(a)), shape) for a in jaxpr.outvars]


@memoize
def _array_program(jaxpr: Jaxpr, avals: tuple[Any, ...]) -> Jaxpr:
    """`on_elements` as a program of arrays."""
    return stage_closed(lambda *xs: on_elements(jaxpr, xs), avals)


def on_duals(
    jaxpr: Jaxpr, primals: Sequence[Any], tangents: Sequence[Any]
) -> tuple[list[Any], list[Any]]:
    """Apply a program of scalars to arrays and their tangents, element by element.

    A tangent may be `Zero`, of operands and of results.
    """
    program = _array_program(jaxpr, tuple([aval_of(x).strip_weak_type() for x in primals]))
    env: dict[Any, tuple[Any, Any]] = {
        v: (x, t) for v, x, t in zip(program.invars, primals, tangents, strict=True)
    }
    env |= {v: _constant(c) for v, c in zip(program.constvars, program.consts, strict=True)}

    def read(atom: Any) -> tuple[Any, Any]:
        return _constant(atom.val) if type(atom) is Literal else env[atom]

    for eqn in program.eqns:
        xs, ts = zip(*map(read, eqn.invars), strict=True) if eqn.invars else ((), ())
        pairs: Iterable[Any]
        if all([is_zero(t) for t in ts]):
            outs = eqn.primitive.bind(*xs, **eqn.params)
            pairs = map(_constant, outs if eqn.primitive.multiple_results else [outs])
        elif eqn.primitive.linear:
            duals = [eqn.primitive.bind(*v, **eqn.params) for v in (xs, map(instantiate, ts))]
            pairs = zip(*duals, strict=True) if eqn.primitive.multiple_results else [duals]
        else:
            duals = eqn.primitive.jvp(xs, ts, **eqn.params)
            pairs = zip(*duals, strict=True) if eqn.primitive.multiple_results else [duals]
        env.update(zip(eqn.outvars, map(tuple, pairs), strict=True))
    outs, out_tangents = zip(*map(read, program.outvars), strict=True)
    return list(outs), list(out_tangents)


def _constant(value: Any) -> tuple[Any, Any]:
    return value, Zero(aval_of(value).to_tangent_aval())
