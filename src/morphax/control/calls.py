"""What the operations with a body share: tangents in pairs, and eager execution."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from typing import Any

from ..array import Array
from ..array.colocation import placement_of
from ..core import (
    Jaxpr,
    Param,
    Primitive,
    ShapedArray,
    Zero,
    call_program,
    jaxprs_in_params,
)
from ..engines.choice import engine_for
from ..engines.engine import Options
from ..engines.reference.eager import as_array
from ..engines.reference.engine import MOST_INTERPRETED, REFERENCE
from ..engines.reference.kernel_program import has_kernels
from ..runtime.places import whole_on_devices_of
from ..runtime.sharding import Sharding
from ..util.memo import memoize
from .checks.check_primitive import has_checks
from .plans import plan_of, where_of


def split_tangents(
    results: Sequence[Any], out_active: Sequence[bool], out_avals: Sequence[Any]
) -> tuple[list[Any], list[Any]]:
    """Results of a program with tangents as a pair of lists, `Zero` where there is no tangent."""
    count = len(out_active)
    tangents = iter(results[count:])
    return list(results[:count]), [
        next(tangents) if on else Zero(aval.to_tangent_aval())
        for on, aval in zip(out_active, out_avals, strict=True)
    ]


_nothing = nullcontext()
# Operations of a loop whose steps are rows of kernels: to apply one costs 1 µs, to call a compiled
# loop 60, and to load a compiler and to compile it 30 ms.
_MOST_OF_KERNELS = 96


def no_scope(step: int) -> AbstractContextManager[Any]:
    """The context in which a step runs that nobody looks at."""
    return _nothing


@partial(memoize, maxsize=1024)
def program_of(
    primitive: Primitive, params: tuple[tuple[str, Param], ...], avals: tuple[ShapedArray, ...]
) -> Jaxpr:
    """One operation as a program, the same one for the same signature, which has its plans."""
    return call_program(primitive, avals, dict(params))


def applied_at(
    primitive: Primitive, operands: Sequence[Array], params: Mapping[str, Param]
) -> tuple[Sharding, bool]:
    """Where an eager operation runs, and whether its results are committed to that place.

    Arrays that its programs close over bind it as operands do.
    """
    closed_over = [x for body in jaxprs_in_params(params) for x in _committed_constants(body)]
    return placement_of([*operands, *closed_over] if closed_over else operands, primitive.name)


@partial(memoize, maxsize=1024)
def _committed_constants(jaxpr: Jaxpr) -> tuple[Array, ...]:
    """The committed arrays among the constants of a program, and of those inside it."""
    found = [x for x in jaxpr.consts if type(x) is Array and x._committed]
    for eqn in jaxpr.eqns:
        for body in jaxprs_in_params(eqn.params):
            found += _committed_constants(body)
    return tuple(found)


def run_compiled(
    primitive: Primitive, operands: Sequence[Array], params: dict[str, Param]
) -> list[Array]:
    """Apply one operation as a whole, however many it is made of, as `jit` would."""
    place, committed = applied_at(primitive, operands, params)
    program = program_of(primitive, tuple(params.items()), tuple([x.aval for x in operands]))
    options = Options.chosen(primitive.name, (), False, ())
    where = where_of(place, operands, len(program.outvars))
    return plan_of(program, options, where).run(operands, committed)


@partial(memoize, maxsize=1024)
def interpreted_operations(place: Sharding, *bodies: Jaxpr) -> int:
    """How many operations of an eager loop at a place are interpreted, before it is compiled.

    None of a loop with checks, so that it does not begin to refuse them when it grows.
    """
    interpreted = [
        not has_checks(body.effects) and engine_for(body, place, MOST_INTERPRETED) is REFERENCE
        for body in bodies
    ]
    if not all(interpreted):
        return 0
    return _MOST_OF_KERNELS if all(map(has_kernels, bodies)) else MOST_INTERPRETED


def bound(results: Sequence[Any], place: Sharding, committed: bool) -> list[Array]:
    """Results of an operation that was interpreted, at its place if they are committed to it.

    Those that came of no operand in parts are whole on each of its devices.
    """
    arrays = [as_array(x) for x in results]
    if not committed:
        return arrays
    whole = whole_on_devices_of(place)
    return [x if x._committed else x.placed(whole, committed=True) for x in arrays]
