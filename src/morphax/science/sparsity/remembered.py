"""Patterns and colourings that are found once for a program.

Each eager call of `sparse_jacobian` traces its function anew, and what is traced is mostly the
program of before, with other numbers in it.  A pattern is a function of

- the program: its operations, their parameters, how results become operands, and all avals;
- which of its constants and literals are known, and the values of *those that the reader looks at*:
  indices, masks, the matrices of products.  A value is had from `Known.read` alone, which notes it.

The first is a key.  The second is compared: a reader that is given the same program and the same
values wherever it looked before looks at the same places and finds the same.  What it did not look
at, such as the last step of an equation that is solved again and again, may change.

A parameter without a key (see docs/design/memo-keys.md) means that nothing is remembered.
``jax_remember_sparsity=False`` switches this off.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any, NamedTuple, final

import numpy as np

from ...config import current as current_config
from ...core import Atom, Jaxpr
from ...core.jaxpr import make_template
from ...util.memo import BoundedTable
from ...util.parameter_keys import params_key
from .colouring import Reading, column_reading, symmetric_reading
from .flow import Known
from .patterns import Pattern, union
from .programs import checked, known_constants, pattern_from


@final
class Dependence:
    """A pattern, and ways to read its entries from products, each found when it is asked for.

    Args:
        pattern: which elements of a product depend on which of the vector.
    """

    def __init__(self, pattern: Pattern) -> None:
        self.pattern = pattern
        self._laid_out: dict[Any, Any] = {}

    @cached_property
    def by_columns(self) -> Reading:
        """Each entry from its own column."""
        return column_reading(self.pattern)

    @cached_property
    def by_rows(self) -> Reading:
        """Of the transposed matrix."""
        return column_reading(self.pattern.T.tocsr())

    @cached_property
    def by_mirror_images(self) -> Reading:
        """Each entry from its own column or its mirror image's."""
        return symmetric_reading(union([self.pattern, self.pattern.T.tocsr()]))

    def laid_out(self, name: Any, make: Callable[[], Any]) -> Any:
        """What follows from the pattern and this name alone."""
        found = self._laid_out.get(name)
        return self._laid_out.setdefault(name, make()) if found is None else found

    @property
    def weight(self) -> int:
        """How many numbers keeping it alive takes, about."""
        return _NUMBERS_OF_ENTRY * int(self.pattern.nnz) + sum(self.pattern.shape)


# Its pattern, and where it is read, for one or two readings.
_NUMBERS_OF_ENTRY = 16


class _Found(NamedTuple):
    """What was found for a program.

    Args:
        read: by the number of each constant that was looked at, its value's fingerprint.
        dependence: what follows.
    """

    read: dict[int, Any]
    dependence: Dependence


# About 250 MB at most.
_found: BoundedTable[tuple[_Found, ...]] = BoundedTable(max_entries=256, max_weight=32_000_000)
_MOST_OF_PROGRAM = 8


def dependence_of(jaxpr: Jaxpr, active: Sequence[bool]) -> Dependence:
    """Which elements of the active operands the results depend on; see `programs.pattern_of`."""
    program = checked(jaxpr)
    noted: set[int] = set()
    constants = known_constants(program, noted)
    values = list(constants.values())
    key = _key_of(program, active, values) if current_config().remember_sparsity else None
    if key is None:
        return Dependence(pattern_from(program, active, constants))
    known = _found.get(key) or ()
    for found in known:
        if all([_fingerprint(values[i]) == print_ for i, print_ in found.read.items()]):
            return found.dependence
    noted.clear()
    dependence = Dependence(pattern_from(program, active, constants))
    found = _Found({i: _fingerprint(values[i]) for i in noted}, dependence)
    kept = (found, *known[: _MOST_OF_PROGRAM - 1])
    _found.add(key, kept, sum([f.dependence.weight for f in kept]))
    return dependence


def _key_of(
    program: Jaxpr, active: Sequence[bool], constants: Sequence[Known | None]
) -> tuple[Any, ...] | None:
    """All that the reader can ask of a program but for its constants' values."""
    template = program.template or make_template(program)
    rows = []
    for eqn, numbers, avals in template.rows:
        params = params_key(eqn.params)
        if params is None:
            return None
        rows.append((eqn.primitive, params, numbers, avals))
    binders: list[Atom] = [*program.invars, *program.constvars, *template.literals]
    return (
        tuple([v.aval for v in binders]),
        (len(program.invars), len(program.constvars), tuple(active)),
        tuple([value is not None for value in constants]),
        tuple(rows),
        template.outs,
    )


def _fingerprint(value: Known | None) -> tuple[Any, ...]:
    assert value is not None, "what was looked at is known, and the key says what is"
    numbers = np.ascontiguousarray(value.read())
    return numbers.dtype, numbers.shape, hashlib.sha256(numbers.tobytes()).digest()
