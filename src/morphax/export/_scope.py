"""`SymbolicScope`: symbols for sizes, and what is known of them."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import Final, final

from ..core.dims import Dim, SymbolicDim, symbol
from ..core.polynomials import Polynomial, Product, Quotient, Scope, Symbol, constant, minus, times
from ..util.messages import described, message
from ._parsing import Reader

_RELATION: Final = re.compile(r"(>=|<=|==)")
_WHERE: Final = "export.SymbolicScope, argument constraints_str"
Rule = tuple[Product, int, Polynomial]


@final
class SymbolicScope(Scope):
    """Symbols that stand for sizes, and constraints that hold of them.

    Symbols of one program are of one scope.  A symbol is at least 1, unless a constraint says
    otherwise.  Inequalities decide comparisons of sizes while a program is traced; an equation
    ``k * product == size`` replaces its left side wherever that occurs.  All of them are checked
    where the program is called.

    Args:
        constraints_str: ``"a >= b"``, ``"a <= 16"``, ``"a == 2*b"``, ``"mod(a, 4) == 0"``.

    Raises:
        ValueError: if a text is no constraint, or none of the sizes fulfils it.

    Example:
        >>> from morphax import export
        >>> scope = export.SymbolicScope(("a >= b", "b >= 16"))
        >>> a, b = export.symbolic_shape("a, b", scope=scope)
        >>> a >= 16
        True
    """

    def __init__(self, constraints_str: Sequence[str] = ()) -> None:
        if isinstance(constraints_str, str) or not all(
            [isinstance(text, str) for text in constraints_str]
        ):
            raise ValueError(
                message(
                    _WHERE,
                    given=described(constraints_str),
                    expected="a sequence of strings",
                    fix="Write ('a >= b',) for one constraint.",
                )
            )
        self.constraints = tuple(constraints_str)
        self._ranges: dict[str, tuple[int, float]] = {}
        read = [(text, *_parts(text)) for text in self.constraints]
        equations = [(text, sides) for text, relation, sides in read if relation == "=="]
        # What symbols are comes first, so that other equations speak of what there is then.
        equations.sort(key=lambda equation: not equation[1][0].strip().isidentifier())
        others = [
            (text, sides if relation == ">=" else sides[::-1])
            for text, relation, sides in read
            if relation != "=="
        ]
        # Ranges are part of a symbol; so all are known before the symbols are made for good.
        self._add_rules(equations)
        for text, sides in others:
            self._narrow(text, self._difference(*sides))
        self.rules = ()
        stated = self._add_rules(equations)
        self._stated_rules = [(rule, text) for rule, text in stated if not _is_definition(rule)]
        differences = [(self._difference(*sides), text) for text, sides in others]
        self._stated_facts = [
            (size.terms, text)
            for size, text in differences
            if type(size) is SymbolicDim and _one_symbol(size.terms) is None
        ]
        facts = [terms for terms, _ in self._stated_facts]
        for (product, k, equal), _ in self._stated_rules:
            here = minus(times(((product, 1),), constant(k)), equal)
            facts += [here, times(here, constant(-1))]
        self.facts = tuple(dict.fromkeys(facts))

    def size(self, name: str) -> Dim:
        """The size called `name`, of this scope."""
        # A rule may say what it is.
        return symbol(name, *self._ranges.get(name, (1, math.inf)), scope=self) + 0

    def read(self, where: str, text: str) -> Dim:
        """The size that a text is."""
        reader = Reader(where, text, self.size)
        size = reader.expression()
        reader.end()
        return size

    def stated_facts(self) -> list[tuple[Polynomial, str]]:
        return self._stated_facts

    def stated_rules(self) -> list[tuple[Rule, str]]:
        return self._stated_rules

    def _difference(self, left: str, right: str) -> Dim:
        return self.read(_WHERE, left) - self.read(_WHERE, right)

    def _narrow(self, text: str, difference: Dim) -> None:
        """Take from ranges what an inequality excludes."""
        if type(difference) is int:
            if difference < 0:
                raise _unsatisfiable(text)
            return
        found = _one_symbol(difference.terms)
        if found is None:
            return
        name, k, rest = found
        least, most = self._ranges.get(name, (1, math.inf))
        # k s + rest >= 0
        if k > 0:
            least = max(least, -(rest // k)) if least != 1 or -(rest // k) > 1 else -(rest // k)
        else:
            most = min(most, rest // -k)
        if least > most:
            raise _unsatisfiable(text)
        self._ranges[name] = least, most

    def _add_rules(
        self, equations: Sequence[tuple[str, tuple[str, str]]]
    ) -> list[tuple[Rule, str]]:
        stated = []
        for text, sides in equations:
            rule = self._rule(text, *[self.read(_WHERE, side) for side in sides])
            if rule is not None:
                self.rules = (*self.rules, rule)
                stated.append((rule, text))
        return stated

    def _rule(self, text: str, left: Dim, right: Dim) -> Rule | None:
        """What an equation lets us replace: the one term on its left, or that with a quotient."""
        difference = left - right
        if type(difference) is int or type(left) is int:
            if difference == 0:
                return None
            raise _unsatisfiable(text) if type(difference) is int else _no_rule(text)
        terms = left.terms
        if len(terms) > 1:
            terms = tuple([term for term in terms if any([type(a) is Quotient for a in term[0]])])
        if len(terms) != 1:
            raise _no_rule(text)
        ((product, n),) = terms
        equal = minus(((product, n),), difference.terms)
        if n < 0:
            n, equal = -n, times(equal, constant(-1))
        if any([all([atom in other for atom in product]) for other, _ in equal]):
            raise _no_rule(text)
        return product, n, equal

    def __repr__(self) -> str:
        given = f"{self.constraints}" if self.constraints else ""
        return f"SymbolicScope({given})"

    def __str__(self) -> str:
        if not self.constraints:
            return "scope of no constraints"
        return f"scope of the constraints {', '.join(self.constraints)}"


def _parts(text: str) -> tuple[str, tuple[str, str]]:
    """The relation of a constraint, and its sides."""
    parts = _RELATION.split(text)
    if len(parts) != 3:
        raise ValueError(
            message(
                _WHERE,
                given=f"{text!r}",
                expected="a constraint with one of '>=', '<=' and '=='",
                fix="Write 'a >= b + 1' for a > b.",
            )
        )
    return parts[1], (parts[0], parts[2])


def _one_symbol(p: Polynomial) -> tuple[str, int, int] | None:
    """Name, coefficient and constant of ``k s + c``; `None` if it is something else."""
    terms = [term for term in p if term[0]]
    if len(terms) != 1 or len(terms[0][0]) != 1:
        return None
    (((atom,), k),) = terms
    return (atom.name, k, dict(p).get((), 0)) if type(atom) is Symbol else None


def _is_definition(rule: Rule) -> bool:
    """Whether it says what a symbol is, which is in no size then."""
    product, k, _ = rule
    return k == 1 and len(product) == 1 and type(product[0]) is Symbol


def _unsatisfiable(text: str) -> ValueError:
    return ValueError(
        message(
            _WHERE,
            given=f"{text!r}, which no sizes fulfil",
            expected="constraints that hold for some sizes",
            fix="Remove it, or the constraint that contradicts it.",
        )
    )


def _no_rule(text: str) -> ValueError:
    return ValueError(
        message(
            _WHERE,
            given=f"{text!r}",
            expected="an equation with one product on the left, which is not on the right",
            fix="Write 'a == b - 1' for 'a + 1 == b', for instance.",
        )
    )
