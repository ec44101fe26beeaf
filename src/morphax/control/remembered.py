"""Programs traced from the user's functions, remembered by what identifies the functions.

`scan`, `cond`, `jit`, … trace functions that users like to write in place, new objects at every
call.  What such a function traced to is found again by its structural identity (see
`transforms.function_identity`), by what is known of its arguments, and by what else tracing depends
on.  Tracers that it closes over are operands of its program: they are found again by their place in
the identity.

Not remembered are functions without an identity, functions that change what they read (a list that
they append to, say), and programs that depend on numbers behind tracers.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from typing import Any, NamedTuple, TypeVar

import numpy as np

from ..array import Array
from ..config import current as current_config
from ..core import (
    Jaxpr,
    Tracer,
    axis_env,
    current_name_stack,
    times_concretised,
)
from ..transforms.function_identity import Identity, Same, Unidentified, identify
from ..util.memo import BoundedTable

T = TypeVar("T")

_MAX_PROGRAMS = 1024
_MAX_BYTES = 64 << 20
# A program, and what else is made of it, measured roughly.
_BYTES_PER_EQUATION = 512


class _Entry(NamedTuple):
    """What was traced, and the places of captured tracers among those of the identity."""

    program: Any
    places: tuple[int, ...]


_programs: BoundedTable[_Entry] = BoundedTable(_MAX_PROGRAMS, _MAX_BYTES)


def remembered(
    functions: Sequence[Callable[..., Any]],
    signature: Hashable,
    trace: Callable[[], tuple[T, list[Tracer]]],
) -> tuple[T, list[Tracer]]:
    """What `trace` gives, or gave for functions that are the same.

    Args:
        functions: what is traced.
        signature: what is known of their arguments, and who traces.
        trace: () → the program, and the tracers that it takes as operands.
    """
    identity = identify(functions)
    if isinstance(identity, Unidentified):
        return trace()
    context = (signature, current_config().trace_key, axis_env(), current_name_stack())
    key = (identity.key, context)
    known = _programs.get(key)
    if known is not None:
        return known.program, [identity.tracers[i] for i in known.places]
    reads = times_concretised()
    program, captured = trace()
    if reads == times_concretised() and _unchanged(identity, identify(functions)):
        places = _places(captured, identity)
        if places is not None:
            _programs.add(key, _Entry(program, places), _bytes_kept(identity, program))
    return program, captured


def _unchanged(before: Identity, after: Identity | Unidentified) -> bool:
    """Whether tracing has left alone what the functions read."""
    return (
        isinstance(after, Identity)
        and after.key == before.key
        and all(a is b for a, b in zip(before.tracers, after.tracers, strict=True))
    )


def _places(captured: Sequence[Tracer], identity: Identity) -> tuple[int, ...] | None:
    """Where the identity has these tracers, or `None` if it has not met one of them."""
    positions = {id(tracer): i for i, tracer in enumerate(identity.tracers)}
    places = [positions.get(id(tracer)) for tracer in captured]
    return None if None in places else tuple(places)  # type: ignore[arg-type]


def _bytes_kept(identity: Identity, program: Any) -> int:
    """Memory of the arrays and the programs that an entry keeps alive."""
    arrays = {id(p.value): p.value for p in identity.key if type(p) is Same}
    programs = {id(jaxpr): jaxpr for jaxpr in _jaxprs_in(program)}.values()
    arrays |= {id(c): c for jaxpr in programs for c in jaxpr.consts}
    size = sum([len(jaxpr.eqns) for jaxpr in programs]) * _BYTES_PER_EQUATION
    return size + sum([x.nbytes for x in arrays.values() if isinstance(x, (Array, np.ndarray))])


def _jaxprs_in(program: Any) -> Iterator[Jaxpr]:
    """The jaxprs of what was traced; those in them have entries of their own."""
    if isinstance(program, tuple):
        for part in program:
            yield from _jaxprs_in(part)
    elif hasattr(program, "jaxpr"):
        yield program.jaxpr
