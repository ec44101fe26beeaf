"""Report keys that are used twice: ``jax_debug_key_reuse``.

Eager operations act on the identities of their operands (`key_identities`).  Of an operation that
holds programs, all uses are found before it runs, by one walk over its equations: `_Walk`.  It
numbers values, so that equal operations on equal operands have equal results; a key that is taken
from an array at a place that only the running program knows has an identity of its own, equal for
equal places.  Loops are walked for two steps: what uses a key in each of them uses it twice.

See docs/design/key-reuse.md.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, final

import numpy as np

from ...array import Array
from ...config import Config, override
from ...config import current as current_config
from ...core import (
    AbstractRef,
    Atom,
    Jaxpr,
    Literal,
    Primitive,
    aval_of,
    current_trace,
    equation_source,
    infer,
    jaxprs_in_params,
)
from ...errors import KeyReuseError
from ...util.frames import UserFrame
from ...util.memo import memoize
from ...util.parameter_keys import params_key
from .key_identities import (
    Identities,
    Journal,
    KeyIdentity,
    Use,
    identities_of,
    is_key,
    joined,
    moved,
    new_identities,
    note_joined,
    remember,
    use_keys,
)
from .nan_checks import called_program

if TYPE_CHECKING:
    from ...control.bodies.wiring import Parts, Wiring

Path = tuple[UserFrame | None, ...]


@memoize
def has_keys(jaxpr: Jaxpr) -> bool:
    """Whether any value of a program, or of the programs in it, is an array of typed keys."""
    variables = itertools.chain(jaxpr.invars, jaxpr.constvars, *[e.outvars for e in jaxpr.eqns])
    return any([is_key(v.aval) for v in variables]) or any(
        [has_keys(inner) for eqn in jaxpr.eqns for inner in jaxprs_in_params(eqn.params)]
    )


def observed(
    trace: Any,
    primitive: Primitive,
    operands: Sequence[Any],
    params: dict[str, Any],
    config: Config,
) -> Any:
    """Apply an operation in eager mode, once no key is found to be used twice.

    Raises:
        KeyReuseError: a key is used twice.
    """
    involved = any(map(is_key, operands)) or any(map(has_keys, jaxprs_in_params(params)))
    if primitive.process_eval is not None or not involved:
        return trace.compute(primitive, operands, params, config)
    avals = tuple(map(aval_of, operands))
    out_avals, _ = infer(primitive, params, avals)
    walk = _Walk()
    values = [walk.operand(x) for x in operands]
    try:
        found = walk.applied(primitive, values, avals, params, out_avals, (equation_source(),))
    except KeyReuseError:
        walk.journal.undo()
        raise
    with override(debug_key_reuse=False):
        computed = trace.compute(primitive, operands, params, config)
    results = computed if primitive.multiple_results else [computed]
    # A result that is an operand, chosen by a branch, stays the keys that it is.
    kept = set() if primitive.key_use in ("makes", "draws") else set(map(id, operands))
    for y, value in zip(results, found, strict=True):
        if type(y) is Array and value.keys is not None and id(y) not in kept:
            remember(y, value.keys)
    return computed


def check_program(jaxpr: Jaxpr) -> None:
    """Raise `KeyReuseError` if a program uses a key twice, whatever its operands.

    Nothing is checked unless ``jax_debug_key_reuse`` is on, nor what becomes part of a program that
    is checked itself.
    """
    if current_config().debug_key_reuse and not current_trace().stages and has_keys(jaxpr):
        walk = _Walk(imagined=True)
        walk.program(jaxpr, [walk.new_value(v.aval) for v in jaxpr.invars], ())


class _Value(NamedTuple):
    """What is known of a value: its number, its identities if it holds keys, itself."""

    number: object
    keys: Identities | None = None
    known: Any = None


@final
class _Walk:
    """One walk over the equations of a program, in their order.

    Args:
        imagined: whether nothing runs, so that keys which the program closes over stay unused.
    """

    def __init__(self, imagined: bool = False) -> None:
        self.journal = Journal()
        self._imagined = imagined
        self._steps: tuple[int, ...] = ()
        self._numbers: dict[Any, int] = {}
        self._places: dict[Any, Identities] = {}
        self._constants: dict[int, _Value] = {}

    def new_value(self, aval: Any) -> _Value:
        """A value of which nothing is known; keys that nobody has used."""
        return _Value(object(), new_identities(aval.shape) if is_key(aval) else None)

    def operand(self, x: Any) -> _Value:
        """A value outside the program."""
        found = self._constants.get(id(x))
        if found is None:
            known = x if isinstance(x, Array | np.ndarray | np.generic | int | float) else None
            found = _Value(object(), None, known)
            if is_key(x):
                there = type(x) is Array and not self._imagined
                found = _Value(object(), identities_of(x) if there else new_identities(x.shape))
            self._constants[id(x)] = found
        return found

    def program(self, jaxpr: Jaxpr, values: Sequence[_Value], path: Path) -> list[_Value]:
        """The results of a program."""
        if not has_keys(jaxpr):
            number = self._number((id(jaxpr), *[v.number for v in values]))
            return [_Value((number, i)) for i in range(len(jaxpr.outvars))]
        env: dict[Atom, _Value] = dict(zip(jaxpr.invars, values, strict=True))
        env.update(zip(jaxpr.constvars, map(self.operand, jaxpr.consts), strict=True))

        def read(atom: Atom) -> _Value:
            if type(atom) is not Literal:
                return env[atom]
            bits = str(atom.aval), np.asarray(atom.val).tobytes()
            return _Value(self._number(bits), None, atom.val)

        for eqn in jaxpr.eqns:
            avals = tuple([atom.aval for atom in eqn.invars])
            outs = [v.aval for v in eqn.outvars]
            place = (*path, eqn.source)
            inputs = list(map(read, eqn.invars))
            results = self.applied(eqn.primitive, inputs, avals, eqn.params, outs, place)
            env.update(zip(eqn.outvars, results, strict=True))
        return list(map(read, jaxpr.outvars))

    def applied(
        self,
        primitive: Primitive,
        values: Sequence[_Value],
        avals: tuple[Any, ...],
        params: dict[str, Any],
        out_avals: Sequence[Any],
        path: Path,
    ) -> list[_Value]:
        """The results of an operation, whose uses of keys are noted."""
        if primitive.key_use == "draws" and values[0].keys is not None:
            use_keys(values[0].keys, Use(primitive.name, path, self._steps), self.journal)
        if primitive.wiring is not None:
            return self._wired(primitive.wiring, values, params, out_avals, path)
        name = primitive.plain_program
        program = called_program(params, avals) if name is None else params[name]
        if program is not None:
            return self.program(program, values, path)
        key = params_key(params)
        number: object = object()
        if key is not None and not primitive.effects(**params):
            number = self._number((primitive, key, *[v.number for v in values]))
        if not any(map(is_key, out_avals)):
            return [_Value((number, i)) for i in range(len(out_avals))]
        if primitive.key_use in ("makes", "draws"):
            return list(map(self.new_value, out_avals))
        if primitive.key_use == "joins":
            parts = [v.keys for v in values if v.keys is not None]
            note_joined(parts, Use(primitive.name, path, self._steps), self.journal)
        keys = self._moved(primitive, values, avals, params, out_avals, number)
        return [_Value((number, i), k) for i, k in enumerate(keys)]

    def _moved(
        self,
        primitive: Primitive,
        values: Sequence[_Value],
        avals: tuple[Any, ...],
        params: dict[str, Any],
        out_avals: Sequence[Any],
        number: object,
    ) -> Sequence[Identities | None]:
        given = [v.keys for v in values if v.keys is not None]
        if primitive.execute is not None or AbstractRef in map(type, avals):
            # Whatever moves an array to another place leaves its elements where they are.
            in_place = len(given) == 1 and [given[0].shape] == [a.shape for a in out_avals]
            return given if in_place else [self.new_value(a).keys for a in out_avals]
        if all([v.keys is not None or v.known is not None for v in values]):
            inputs = [
                np.asarray(v.known, a.dtype) if v.keys is None else v.keys
                for v, a in zip(values, avals, strict=True)
            ]
            return moved(primitive, inputs, params, out_avals)
        pool = joined(given)
        return [
            self._taken_from(pool, a.shape, (number, i)) if is_key(a) else None
            for i, a in enumerate(out_avals)
        ]

    def _taken_from(self, pool: Identities, shape: tuple[int, ...], place: Any) -> Identities:
        """Keys that are taken from others, at a place that only the running program knows."""
        found = self._places.get(place)
        if found is None:
            found = new_identities(shape)
            if pool.size == 1:
                found[...] = pool[0]
            for identity in found.flat if pool.size > 1 else ():
                identity.among = pool
            self._places[place] = found
        return found

    def _number(self, key: Any) -> int:
        return self._numbers.setdefault(key, len(self._numbers))

    def _wired(
        self,
        wiring: Wiring,
        values: Sequence[_Value],
        params: dict[str, Any],
        out_avals: Sequence[Any],
        path: Path,
    ) -> list[_Value]:
        """The results of an operation that is made of programs."""
        parts = wiring.parts(values, params)
        taken, programs = wiring.giving.taken(parts), wiring.giving.programs(params)
        if wiring.chooses is not None:
            return self._branches(programs, taken, path)
        if wiring.carried is None:
            return self.program(programs[0], taken, path)
        return self._loop(wiring, wiring.carried, parts, params, out_avals, path)

    def _branches(
        self, programs: Sequence[Jaxpr], values: Sequence[_Value], path: Path
    ) -> list[_Value]:
        """What one of several programs gives; a key that any of them uses counts as used."""
        journal, noted, results = self.journal, [], []
        for program in programs:
            self.journal = Journal()
            try:
                results.append(self.program(program, values, path))
            finally:
                noted += self.journal.undo()
                self.journal = journal
        for identity, attribute, value in noted:
            journal.note(identity, attribute, value)
        return list(map(_one_of, zip(*results, strict=True)))

    def _loop(
        self,
        wiring: Wiring,
        carried: str,
        parts: Parts,
        params: dict[str, Any],
        out_avals: Sequence[Any],
        path: Path,
    ) -> list[_Value]:
        """Two steps of a loop, or as many as it has."""
        length: Any = params[wiring.length] if wiring.length else None
        is_counted = isinstance(length, int)
        outer, start, columns = self._steps, len(self.journal), []
        stacked = [name for name in wiring.stacked if name in parts]
        order = range(length)[:: -1 if params.get("reverse") else 1] if is_counted else None
        count = len(parts[carried])
        for step in range(min(length, 2) if is_counted else 2):
            self._steps = (*outer, step)
            slices = {
                name: [_slice(v, None if order is None else order[step]) for v in parts[name]]
                for name in stacked
            }
            now = parts.replaced(**slices)
            for body in wiring.deciding:
                self.program(body.programs(params)[0], body.taken(now), path)
            giving = wiring.giving
            results = self.program(giving.programs(params)[0], giving.taken(now), path)
            parts = parts.replaced(**{carried: results[:count]})
            columns.append(results[count:])
        self._steps = (*outer, 2)
        for body in wiring.deciding:
            self.program(body.programs(params)[0], body.taken(parts), path)
        used = {identity for identity, attribute, _ in self.journal[start:] if attribute == "use"}
        for v in [v for name in stacked for v in parts[name]]:
            if order is not None and len(order) > 2 and v.keys is not None:
                self._use_further_slices(v.keys, order, used)
        self._steps = outer
        stacks = zip(out_avals[count:], *columns, strict=True)
        return [*parts[carried], *[self._stack(aval, order, ys) for aval, *ys in stacks]]

    def _use_further_slices(
        self, keys: Identities, order: Sequence[int], used: set[KeyIdentity]
    ) -> None:
        """Use in further steps what the first step uses of its slice."""
        rows = keys.reshape(len(keys), -1)
        mask = np.array([identity in used for identity in rows[order[0]]], bool)
        if mask.any():
            use = rows[order[0], mask][0].use._replace(steps=self._steps)
            use_keys(rows[list(order[2:])][:, mask], use, self.journal)

    def _stack(self, aval: Any, order: Sequence[int] | None, ys: Sequence[_Value]) -> _Value:
        """The results of all steps: those of the first two are known."""
        stack = self.new_value(aval)
        if stack.keys is not None and order is not None and ys:
            for place, y in zip(order, ys, strict=False):
                stack.keys[place, ...] = y.keys
            if len(order) > 2:
                first, last = [np.asarray(y.keys) for y in ys]
                same = np.equal(first, last).astype(bool)
                stack.keys[:, same] = first[same]
        return stack


def _slice(value: _Value, index: int | None) -> _Value:
    if index is None or value.keys is None:
        return _Value((value.number, index) if index is not None else object())
    return _Value((value.number, index), np.asarray(value.keys[index], object))


def _one_of(values: Sequence[_Value]) -> _Value:
    """The value of a result that the branches give."""
    first = values[0]
    if first.keys is None:
        return _Value(object())
    keys = first.keys.copy()
    for index in np.ndindex(keys.shape):
        choices = {v.keys[index]: None for v in values if v.keys is not None}
        if len(choices) > 1:
            among = np.empty(len(choices), object)
            among[:] = list(choices)
            keys[index] = KeyIdentity(among)
    return _Value(object(), keys)
