"""Checked programs: a jaxpr that computes, besides its results, which check failed first.

An interpreter walks a jaxpr once, equation by equation, and writes a new one.  A check becomes an
entry of a ledger; operations get checks of their own by the tables of `checkify_automatic`; those
with a body are applied to the checked body (`checkify_bodies`).  The cost is linear in the size of
the program.

A body is checked once for each jaxpr, wherever it is used, so what has been compiled for it stays
valid.  Codes number the sites of one program, and a program around adds an offset: the text of a
checked program is the same in every process, and the compile cache serves it.

Design: docs/design/checkify.md.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, final

from ...core import (
    Atom,
    Equation,
    Jaxpr,
    Literal,
    Operand,
    attributed_to,
    aval_of,
    close,
    constants_as_arguments,
    is_zero,
    stage,
)
from ...util.memo import memoize
from .check_ledger import Ledger
from .check_primitive import has_checks
from .check_sites import Site
from .checkify_automatic import Errors, automatic_sites
from .checkify_bodies import CheckedProgram, apply_unchanged, rule_of


def check_program(jaxpr: Jaxpr, errors: Errors, automatic: Errors) -> CheckedProgram:
    """Make the checked form of a program.

    Args:
        jaxpr: the program.
        errors: categories of its own checks to keep; the others are dropped.
        automatic: categories of checks to add.
    """
    sites: tuple[Site, ...] = ()

    # The ledger holds tracers, so nothing that outlives the trace may hold it.
    def function(*operands: Operand) -> list[Any]:
        nonlocal sites
        interpreter = Interpreter(errors, automatic)
        outs = interpreter.run(jaxpr, operands)
        sites = interpreter.ledger.sites
        return [*interpreter.ledger.packed(), *outs]

    checked, consts = stage(function, jaxpr.in_avals, jaxpr.debug_info)
    return CheckedProgram(close(checked, consts), sites, bool(sites) or has_checks(jaxpr.effects))


checked_program = memoize(check_program)
"""The checked form of a program that is used more than once, such as a body."""


@final
class Interpreter:
    """Evaluates a program in the current trace and enters its checks into a ledger."""

    def __init__(self, errors: Errors, automatic: Errors) -> None:
        self.errors = errors
        self._automatic = automatic
        self.ledger = Ledger()

    def program(self, jaxpr: Jaxpr) -> CheckedProgram:
        """The checked form of a body."""
        return checked_program(jaxpr, self.errors, self._automatic)

    def without_checks(
        self, function: Callable[[Sequence[Any]], Sequence[Any]], operands: Sequence[Operand]
    ) -> list[Any]:
        """Apply a function in the current trace, its checks dropped.

        Operands and results are values, `None` or `Zero`.
        """
        results: list[Any] = []

        def of_values(*values: Operand) -> list[Any]:
            given = iter(values)
            results.extend(function([x if _is_absent(x) else next(given) for x in operands]))
            return [x for x in results if not _is_absent(x)]

        values = [x for x in operands if not _is_absent(x)]
        jaxpr, consts = stage(of_values, [aval_of(x) for x in values])
        quiet = Interpreter(frozenset(), frozenset())
        computed = iter(quiet.run(constants_as_arguments(jaxpr), [*consts, *values]))
        return [x if _is_absent(x) else next(computed) for x in results]

    def run(self, jaxpr: Jaxpr, operands: Sequence[Operand]) -> list[Any]:
        """The results of the program."""
        env: dict[Atom, Any] = dict(zip(jaxpr.invars, operands, strict=True))
        env.update(zip(jaxpr.constvars, jaxpr.consts, strict=True))
        for eqn in jaxpr.eqns:
            inputs = [a.val if type(a) is Literal else env[a] for a in eqn.invars]
            with attributed_to(eqn.source):
                env.update(zip(eqn.outvars, self._apply(eqn, inputs), strict=True))
        return [a.val if type(a) is Literal else env[a] for a in jaxpr.outvars]

    def _apply(self, eqn: Equation, operands: Sequence[Operand]) -> list[Any]:
        rule = rule_of(eqn.primitive)
        if rule is not None:
            return rule(self, eqn, operands)
        outs = apply_unchanged(eqn, operands)
        for failed, site, values in automatic_sites(eqn, operands, outs, self._automatic):
            self.ledger.record(failed, site, values)
        return outs


def _is_absent(x: object) -> bool:
    return x is None or is_zero(x)
