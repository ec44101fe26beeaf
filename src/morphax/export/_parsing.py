"""Sizes read from text: ``"a, 2*b, mod(a, 3)"``.

The grammar is that of printed sizes::

    shape      = [ "(" ] [ size { "," size } [ "," ] ] [ ")" ]
    size       = "_" | "..." | expression
    expression = [ "-" ] term { ( "+" | "-" ) term }
    term       = factor { "*" factor }
    factor     = atom [ "^" number ]
    atom       = number | symbol | function "(" expression "," expression ")"
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any, Final, NoReturn, final

from ..core.dims import Dim, max_dim, min_dim
from ..util.messages import message

_TOKEN: Final = re.compile(r"\s*(?:(\.\.\.|\d+(?:\.\d*)?|[^\W\d]\w*|[-+*^(),])|(\S))")
_FUNCTIONS: Final[dict[str, Callable[[Dim, Dim], Dim]]] = {
    "floordiv": lambda a, b: a // b,
    "mod": lambda a, b: a % b,
    "max": max_dim,
    "min": min_dim,
}
# Larger ones would be no sizes, and take long.
_LARGEST_POWER = 64
PLACEHOLDERS: Final = ("_", "...")


@final
class Reader:
    """Reads a text from left to right.

    Args:
        where: whose text it is, for errors.
        text: the text.
        symbol: makes the size of a name.
    """

    def __init__(self, where: str, text: str, symbol: Callable[[str], Dim]) -> None:
        self._where = where
        self._text = text
        self._symbol = symbol
        self._tokens: list[tuple[str, int]] = []
        self._next = 0
        for match in _TOKEN.finditer(text):
            if match[2]:
                self._refuse(f"{match[2]!r} at position {match.start(2)}", "sizes")
            self._tokens.append((match[1], match.start(1)))

    def shape(self) -> list[Any]:
        """A whole text as sizes and placeholders, which are strings."""
        has_parentheses = self._taken("(")
        sizes = []
        while not self._is_at(")" if has_parentheses else ""):
            token = self._peek()
            sizes.append(self._take() if token in PLACEHOLDERS else self.expression())
            if not self._taken(","):
                break
        if has_parentheses:
            self._expect(")")
        self.end()
        return sizes

    def end(self) -> None:
        """Refuse what is left of the text."""
        self._expect("")

    def expression(self) -> Dim:
        """A sum of terms."""
        total = -self._term() if self._taken("-") else self._term()
        while self._peek() in ("+", "-"):
            sign = 1 if self._take() == "+" else -1
            total = total + sign * self._term()
        return total

    def _term(self) -> Dim:
        product = self._factor()
        while self._taken("*"):
            product = product * self._factor()
        return product

    def _factor(self) -> Dim:
        base = self._atom()
        if not self._taken("^"):
            return base
        exponent = self._atom()
        if type(exponent) is not int or exponent > _LARGEST_POWER:
            self._refuse(f"the power {exponent}", f"a number up to {_LARGEST_POWER}")
        return base**exponent

    def _atom(self) -> Dim:
        token = self._peek()
        if token.isdecimal():
            return int(self._take())
        if not token.isidentifier() or token == "_":
            self._refuse(self._here(), "a number, a symbol, or a function of sizes")
        name = self._take()
        if not self._taken("("):
            return self._symbol(name)
        if name not in _FUNCTIONS:
            self._refuse(f"the function {name}", f"one of {', '.join(_FUNCTIONS)}")
        first = self.expression()
        self._expect(",")
        second = self.expression()
        self._expect(")")
        try:
            return _FUNCTIONS[name](first, second)
        except ZeroDivisionError:
            self._refuse(f"{name}({first}, {second})", "a divisor other than 0")

    def _peek(self) -> str:
        return self._tokens[self._next][0] if self._next < len(self._tokens) else ""

    def _take(self) -> str:
        token = self._peek()
        self._next += 1
        return token

    def _taken(self, token: str) -> bool:
        """Whether that was the next token; then it is behind."""
        found = self._peek() == token
        self._next += found
        return found

    def _is_at(self, token: str) -> bool:
        return self._peek() == token

    def _expect(self, token: str) -> None:
        if self._next < len(self._tokens) or token:
            if self._peek() != token:
                self._refuse(self._here(), repr(token) if token else "the end, or a comma")
            self._next += 1

    def _here(self) -> str:
        if self._next >= len(self._tokens):
            return "the end"
        token, position = self._tokens[self._next]
        return f"{token!r} at position {position}"

    def _refuse(self, given: str, expected: str) -> NoReturn:
        raise ValueError(
            message(
                self._where,
                given=f"{self._text!r}, with {given}",
                expected=f"{expected} there",
                fix="Write sizes as in 'a, 2*b + 1, floordiv(a, 2), mod(a, 3), max(a, b), 4'.",
            )
        )


def filled(where: str, sizes: Sequence[Any], like: Sequence[Any] | None) -> tuple[Dim, ...]:
    """A shape with the sizes of another one in the place of placeholders.

    Args:
        where: whose it is, for errors.
        sizes: those that were read.
        like: the other shape, if there is one; unknown sizes are `None`.
    """
    if like is None:
        if any([size in PLACEHOLDERS for size in sizes if isinstance(size, str)]):
            _refuse(where, sizes, "no other shape", "sizes, for there is no argument like")
        return tuple(sizes)
    known = list(sizes)
    if "..." in known:
        i = known.index("...")
        known[i : i + 1] = ["_"] * (len(like) - len(known) + 1)
    if "..." in known or len(known) != len(like):
        _refuse(where, sizes, f"the shape {tuple(like)}", "as many sizes")
    for i, (size, other) in enumerate(zip(known, like, strict=True)):
        if size == "_":
            if other is None:
                _refuse(where, sizes, f"the shape {tuple(like)}", "a known size for each '_'")
            known[i] = other
        elif type(size) is int and type(other) is int and size != other:
            _refuse(where, sizes, f"the shape {tuple(like)}", "the same numbers")
    return tuple(known)


def _refuse(where: str, sizes: Sequence[Any], given: str, expected: str) -> NoReturn:
    text = ", ".join(map(str, sizes))
    raise ValueError(
        message(
            where,
            given=f"'{text}' for {given}",
            expected=expected,
            fix="Write a size for each axis, '_' for one and '...' for some that are known.",
        )
    )
