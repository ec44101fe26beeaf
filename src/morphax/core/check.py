"""The type checker of the IR.

A program is well typed if

- each variable is bound once, and before it is used;
- each constant and each literal agrees with the aval it is given;
- the results of each equation have the avals that its primitive infers, up to weak type, and its
  effects are those the primitive declares;
- the effects of the program are those of its equations, and none of its results is a reference;
- the programs inside equations are well typed.  That they agree with the equation's operands is the
  matter of the primitive's `abstract_eval`.

The cost is linear in the size of the program, each inner program being checked once.
"""

from __future__ import annotations

from collections.abc import Iterable
from textwrap import indent
from typing import Any, NoReturn, final

from .. import dtypes
from ..errors import JaxprTypeError
from ..util.messages import described, message
from .abstract_value import AbstractValue
from .atoms import Atom, Literal, Var
from .aval import ShapedArray
from .effects import Effects
from .jaxpr import Equation, Jaxpr, jaxprs_in_params, joined_effects
from .primitive import infer, operands_differ
from .printing import Listing
from .references import AbstractRef
from .values import aval_of


def check_jaxpr(jaxpr: Jaxpr) -> None:
    """Verify that a program is well typed, and those inside it.

    Raises:
        JaxprTypeError: with the equations around the first fault.

    Example:
        >>> import morphax as jax
        >>> from morphax.core import check_jaxpr
        >>> jaxpr = jax.make_jaxpr(jax.lax.sin)(1.0)
        >>> check_jaxpr(jaxpr)
        >>> check_jaxpr(jaxpr.replace(invars=()))
        Traceback (most recent call last):
        morphax.errors.JaxprTypeError: ...
    """
    pending, seen = [jaxpr], {jaxpr}
    while pending:
        program = pending.pop()
        _Checker(program).check()
        for eqn in program.eqns:
            inner = [p for p in jaxprs_in_params(eqn.params) if p not in seen]
            pending += inner
            seen.update(inner)


@final
class _Checker:
    """Checks one program, without those inside it."""

    __slots__ = ("_bound", "_jaxpr", "_line")

    def __init__(self, jaxpr: Jaxpr) -> None:
        self._jaxpr = jaxpr
        self._bound: set[Atom] = set()
        # Of the listing: 0 shows the binders, i + 1 equation i, the last one the results.
        self._line = 0

    def check(self) -> None:
        jaxpr = self._jaxpr
        self._check_constants()
        self._bind(jaxpr.constvars + jaxpr.invars)
        for eqn in jaxpr.eqns:
            self._line += 1
            self._check_operands(eqn.invars)
            self._check_equation(eqn)
            self._bind(eqn.outvars)
        self._line += 1
        self._check_operands(jaxpr.outvars)
        self._check_no_references(jaxpr.outvars)
        declared = joined_effects(jaxpr.eqns, jaxpr.invars + jaxpr.constvars)
        if jaxpr.effects != declared:
            self._refuse(
                given=f"the effects {_shown(jaxpr.effects)}",
                expected=f"those of the equations: {_shown(declared)}",
                fix="Give the program the union of its equations' effects.",
            )

    def _check_constants(self) -> None:
        constvars, consts = self._jaxpr.constvars, self._jaxpr.consts
        if len(constvars) != len(consts):
            self._refuse(
                given=f"{len(consts)} values for {len(constvars)} constant variables",
                expected="one value for each constant variable",
                fix="Close the program with its constants: close(jaxpr, consts).",
            )
        for var, value in zip(constvars, consts, strict=True):
            if not _agree(aval_of(value), var.aval):
                self._refuse(
                    given=f"a constant of type {aval_of(value)} for {self._name(var)}",
                    expected=f"a value of type {var.aval}",
                    fix="Give the variable the aval of its value.",
                )

    def _bind(self, variables: tuple[Var, ...]) -> None:
        for var in variables:
            if not isinstance(var, Var):
                self._refuse(
                    given=f"{described(var)} among the binders",
                    expected="a variable",
                    fix="Bind a Var.",
                )
            if var in self._bound:
                self._refuse(
                    given=f"{self._name(var)}, bound a second time",
                    expected="one binding for each variable",
                    fix="Make a new Var for each result.",
                )
            self._bound.add(var)

    def _check_operands(self, atoms: tuple[Atom, ...]) -> None:
        for atom in atoms:
            if type(atom) is Literal:
                self._check_literal(atom)
            elif type(atom) is not Var:
                self._refuse(
                    given=f"{described(atom)} as an operand",
                    expected="a variable or a literal",
                    fix="Wrap a number in a Literal, an array in a constant variable.",
                )
            elif atom not in self._bound:
                self._refuse(
                    given=f"{self._name(atom)}, used but not bound before",
                    expected="a constant variable, an argument, or an earlier result",
                    fix="Move the equation that binds it to the front, or make it an argument.",
                )

    def _check_no_references(self, results: tuple[Atom, ...]) -> None:
        for atom in results:
            if type(atom.aval) is AbstractRef:
                self._refuse(
                    given=f"a reference, {atom.aval}, as a result",
                    expected="arrays: references are not returned",
                    fix="Return the value that the reference holds.",
                )

    def _check_literal(self, literal: Literal) -> None:
        value, aval = literal.val, literal.aval
        own: Any = aval_of(value)
        if not (own.shape == aval.shape == () and _kind(own) is _kind(aval)):
            self._refuse(
                given=f"the literal {value!r:.80} of type {own}, declared {aval}",
                expected="a scalar of the kind of its declared dtype",
                fix="Convert the value to the dtype before making it a literal.",
            )

    def _check_equation(self, eqn: Equation) -> None:
        avals = [a.aval for a in eqn.invars]
        try:
            out_avals, effects = infer(eqn.primitive, eqn.params, tuple(avals))
        except (TypeError, ValueError) as error:
            self._refuse(
                given=f"{eqn.primitive} of {_listed(avals)}",
                expected=f"what its rule accepts; it says\n{indent(str(error), ' ' * 12)}",
                fix="Rewrite the equation with operands that fit.",
                cause=error,
            )
        if out_avals is operands_differ:
            self._refuse(
                given=f"{eqn.primitive} of {_listed(avals)}",
                expected="operands that vary over the same axes of the mesh",
                fix="Cast them with core.varying.varying_alike.",
            )
        bound = [v.aval for v in eqn.outvars]
        if len(out_avals) != len(bound) or not all(map(_agree, out_avals, bound)):
            self._refuse(
                given=f"results of type {_listed(bound)}",
                expected=f"{_listed(out_avals)}, by the rule of {eqn.primitive}",
                fix="Bind results of the avals that the primitive infers.",
            )
        if eqn.effects != effects:
            self._refuse(
                given=f"the effects {_shown(eqn.effects)}",
                expected=f"those that {eqn.primitive} declares: {_shown(effects)}",
                fix="Give the equation the effects that the primitive infers.",
            )

    def _name(self, var: Var) -> str:
        return Listing(self._jaxpr).typed_name(var)

    def _refuse(
        self, *, given: str, expected: str, fix: str, cause: Exception | None = None
    ) -> NoReturn:
        info = self._jaxpr.debug_info
        where = f"check_jaxpr, program of {info.function_name} ({info.transform})"
        text = message(where, given=given, expected=expected, fix=fix)
        raise JaxprTypeError(f"{text}\n{Listing(self._jaxpr).around(self._line)}") from cause


def _agree(a: AbstractValue, b: AbstractValue) -> bool:
    return a.strip_weak_type() == b.strip_weak_type()


def _kind(aval: ShapedArray) -> type:
    return dtypes.scalar_type_of(aval.dtype)


def _listed(avals: Iterable[AbstractValue]) -> str:
    return ", ".join(map(str, avals)) or "nothing"


def _shown(effects: Effects) -> str:
    return "{" + ", ".join(sorted(map(str, effects))) + "}"
