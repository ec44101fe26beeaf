"""Programs traced from the user's functions, remembered by what identifies the functions.

`scan`, `cond`, `jit`, … trace functions that users like to write in place, new objects at every
call.  What such a function traced to is found again by its structural identity (see
`transforms.function_identity`), by what is known of its arguments, and by what else tracing depends
on.  Tracers that it closes over are operands of its program: they are found by their place in
the identity.

Not remembered are functions without an identity, functions that change what they read (a list that
they append to, say), and programs that depend on numbers behind tracers.  What a program keeps of
the user's and runs later (see `kept_objects`) counts by `is`: it must have been met in the walk,
and stand at the same place whenever the program is found again.

``jax_structural_identity=False`` switches all this off.
"""

from __future__ import annotations

from abc import get_cache_token
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from types import FunctionType
from typing import Any, NamedTuple, TypeVar, final

import numpy as np

from ..array import Array
from ..config import Config
from ..config import current as current_config
from ..core import (
    Jaxpr,
    Tracer,
    axis_env,
    current_name_stack,
    times_concretised,
)
from ..engines.reference.float_errors import variable_set_by
from ..transforms.function_identity import Identity, Unidentified, identify
from ..transforms.identity_walk import Same
from ..tree import number_of_registrations
from ..util.memo import BoundedTable
from ..util.parameter_keys import key_of
from .kept_objects import kept_objects

T = TypeVar("T")

_MAX_PROGRAMS = 1024
_MAX_BYTES = 64 << 20
# A program, and what else is made of it, measured roughly.
_BYTES_PER_EQUATION = 512


class _Entry(NamedTuple):
    """What was traced.

    Args:
        program: the program and what comes with it.
        places: of captured tracers among those of the identity.
        kept: the user's objects in it, with their places among those of the identity.
    """

    program: Any
    places: tuple[int, ...]
    kept: tuple[tuple[int, Any], ...]


_programs: BoundedTable[_Entry] = BoundedTable(_MAX_PROGRAMS, _MAX_BYTES)


def may_be_rebuilt(fun: object) -> bool:
    """Whether programs may meet the function again as another object.

    One that is defined in a module keeps its programs by itself.
    """
    return type(fun) is not FunctionType or "<" in fun.__qualname__


@final
class Recall:
    """A look for what functions were traced to, and the place for what they are traced to now.

    Whoever traces does so between the two, with no frame of ours in between: of functions within
    functions Python allows as many as there are frames to a level.

    Args:
        functions: what is traced.
        signature: what is known of their arguments, and who traces; equal only if it is the same.
        arguments: what else tracing hands to the functions, or users wrote: structures, static
            values.
    """

    __slots__ = ("_arguments", "_functions", "_identity", "_key", "_reads", "found")

    def __init__(
        self,
        functions: Sequence[Callable[..., Any]],
        signature: Hashable,
        arguments: Iterable[Any] = (),
    ) -> None:
        self.found: tuple[Any, list[Tracer]] | None = None
        """The program, and the tracers that it takes as operands."""
        self._key: Hashable = None
        config = current_config()
        if not config.structural_identity:
            return
        arguments = tuple(arguments)
        identity = identify(functions, arguments)
        surroundings = _surroundings(config)
        if isinstance(identity, Unidentified) or surroundings is None:
            return
        key = identity.key, signature, surroundings
        known = _programs.get(key)
        if known is not None and all([identity.objects[i] is x for i, x in known.kept]):
            self.found = known.program, [identity.tracers[i] for i in known.places]
            return
        self._key, self._identity = key, identity
        self._functions, self._arguments = functions, arguments
        self._reads = times_concretised()

    def keep(self, program: T, captured: list[Tracer]) -> tuple[T, list[Tracer]]:
        """The program, which is remembered if what the functions read identifies it."""
        if self._key is None or self._reads != times_concretised():
            return program, captured
        identity = self._identity
        if _unchanged(identity, identify(self._functions, self._arguments)):
            entry = _entry(program, captured, identity)
            if entry is not None:
                _programs.add(self._key, entry, _bytes_kept(identity, program))
        return program, captured


def remembered(
    functions: Sequence[Callable[..., Any]],
    signature: Hashable,
    trace: Callable[[], tuple[T, list[Tracer]]],
    arguments: Iterable[Any] = (),
) -> tuple[T, list[Tracer]]:
    """What `trace` gives, or gave for functions that are the same; see `Recall`.

    Args:
        functions: what is traced.
        signature: of their arguments.
        trace: () → the program, and the tracers that it takes as operands.
        arguments: what else tracing hands to the functions.
    """
    recall = Recall(functions, signature, arguments)
    return recall.found or recall.keep(*trace())


def _surroundings(config: Config) -> Hashable | None:
    """What tracing depends on besides functions and arguments, `None` if that has no key.

    Among it, which classes are nodes of trees, and of which abstract classes they are instances;
    and NumPy's settings, which what functions compute with it depends on.
    """
    axes, numpys = key_of(axis_env()), tuple([read() for read in _NUMPY_SETTINGS])
    if axes is None or None in numpys:
        return None
    places = config.trace_key, axes, current_name_stack()
    return *places, *numpys, number_of_registrations(), get_cache_token()


def _reader(
    context: AbstractContextManager[Any], read: Callable[[], Mapping[str, Any]]
) -> Callable[[], Hashable]:
    """What tells a setting of NumPy's, which `context` changes, from others.

    It stands in a context variable, as an object that never changes, or is gone through.
    """
    found = variable_set_by(context)
    if found is None:
        return lambda: key_of(tuple(read().values()))
    variable = found[0]
    return lambda: Same(variable.get(None))


# What becomes of floating-point errors in NumPy's operations, and how its arrays look as text.
_NUMPY_SETTINGS = (
    _reader(np.errstate(all="ignore"), np.geterr),
    _reader(np.printoptions(precision=1), np.get_printoptions),
)


def _entry(program: object, captured: Sequence[Tracer], identity: Identity) -> _Entry | None:
    """What to remember, or `None` if the identity does not account for all that the program has."""
    places = _places(captured, identity.tracers)
    kept = kept_objects(program)
    where = None if kept is None else _places(kept, identity.objects)
    if places is None or kept is None or where is None:
        return None
    return _Entry(program, places, tuple(zip(where, kept, strict=True)))


def _unchanged(before: Identity, after: Identity | Unidentified) -> bool:
    """Whether tracing has left alone what the functions read."""
    return (
        isinstance(after, Identity)
        and after.key == before.key
        and all(a is b for a, b in zip(before.tracers, after.tracers, strict=True))
    )


def _places(values: Sequence[Any], met: Sequence[Any]) -> tuple[int, ...] | None:
    """Where the objects stand among those that were met, or `None` if one does not."""
    positions = {id(value): i for i, value in enumerate(met)}
    places = [positions.get(id(value)) for value in values]
    return None if None in places else tuple(places)  # type: ignore[arg-type]


def _bytes_kept(identity: Identity, program: object) -> int:
    """Memory of the arrays and the programs that an entry keeps alive."""
    arrays = {id(p.value): p.value for p in identity.key if type(p) is Same}
    programs = {id(jaxpr): jaxpr for jaxpr in _jaxprs_in(program)}.values()
    arrays |= {id(c): c for jaxpr in programs for c in jaxpr.consts}
    size = sum([len(jaxpr.eqns) for jaxpr in programs]) * _BYTES_PER_EQUATION
    return size + sum([x.nbytes for x in arrays.values() if isinstance(x, (Array, np.ndarray))])


def _jaxprs_in(program: object) -> Iterator[Jaxpr]:
    """The jaxprs of what was traced; those in them have entries of their own."""
    if isinstance(program, tuple):
        for part in program:
            yield from _jaxprs_in(part)
    elif hasattr(program, "jaxpr"):
        yield program.jaxpr
