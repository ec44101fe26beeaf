"""Check the values given to options, and read them from text."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import cache
from numbers import Integral, Real
from typing import Any, Final, Literal, get_args, get_origin, get_type_hints

import numpy as np

from ..util.messages import message, warn_user
from ..util.records import dataclass
from .options import FACTS, Config

_TRUE: Final = frozenset({"y", "yes", "t", "true", "on", "1"})
_FALSE: Final = frozenset({"n", "no", "f", "false", "off", "0"})


@dataclass(frozen=True, slots=True)
class Option:
    """What may be asked about one option; see `options.option` for the last five fields."""

    attribute: str
    kind: type
    choices: tuple[str, ...] | None
    nullable: bool
    default: Any
    meaning: str
    trace: bool
    also_sets: tuple[str, ...]
    check: Callable[[Any], bool] | None
    inert: bool | tuple[Any, ...]

    @property
    def name(self) -> str:
        """The public name."""
        return "jax_" + self.attribute

    @property
    def environment(self) -> tuple[str, str]:
        """The environment variables that set it; the last one that is set wins."""
        return "JAX_" + self.attribute.upper(), "MORPHAX_" + self.attribute.upper()

    @property
    def expected(self) -> str:
        """The acceptable values, in words."""
        if self.choices:
            words = "one of " + ", ".join(map(repr, self.choices))
        elif self.check:
            words = "a device or the name of a platform"
        else:
            words = f"a value of type {self.kind.__name__}"
        return words + (" or None" if self.nullable else "")


@cache
def describe(attribute: str) -> Option:
    """The option of the field `attribute` of `Config`."""
    # The hints of all fields together cost two milliseconds, which an import should not pay.
    alone = type(attribute, (), {"__annotations__": {attribute: FACTS[attribute]["annotation"]}})
    hint = get_type_hints(alone, vars(sys.modules[Config.__module__]))[attribute]
    nullable = type(None) in get_args(hint)
    if nullable:
        (hint,) = (part for part in get_args(hint) if part is not type(None))
    choices = get_args(hint) if get_origin(hint) is Literal else None
    facts = {key: value for key, value in FACTS[attribute].items() if key != "annotation"}
    return Option(attribute, str if choices else hint, choices, nullable, **facts)


def attribute_of(name: str, where: str) -> str:
    """The field for a public name such as ``jax_enable_x64``.

    Raises:
        AttributeError: if there is no such option; the message lists near names.
    """
    attribute = name.removeprefix("jax_") if isinstance(name, str) else ""
    if attribute in FACTS and name != attribute:
        return attribute
    raise AttributeError(message(
        where,
        given=f"the option {name!r}",
        expected="the name of an option of jax.config",
        fix=f"Use {_near(str(name), ['jax_' + known for known in FACTS])}.",
    ))  # fmt: skip


def _near(word: str, words: list[str]) -> str:
    from difflib import get_close_matches

    near = get_close_matches(word, words, n=3, cutoff=0.5)
    return " or ".join(near) if near else "a name listed in jax.config.values"


def checked(attribute: str, value: Any, where: str) -> Any:
    """`value`, converted to the option's type.

    ``None`` stands for the default where it is not a value of the option itself.

    Raises:
        TypeError: if `value` is no truth value, or no number, where the option is one.
        ValueError: if it is none of the choices, no whole number, no text or no device.
    """
    option = describe(attribute)
    if value is None:
        return None if option.nullable else option.default
    if option.choices is not None and isinstance(value, str):
        if value not in option.choices:
            raise ValueError(_bad_value(option, value, where))
        return value
    convert = _CONVERSIONS[option.kind]
    if option.choices is not None or not (option.check or convert.accepts)(value):
        kind = TypeError if option.kind in (bool, float) else ValueError
        raise kind(_bad_value(option, value, where))
    return convert.to(value)


@dataclass(frozen=True, slots=True)
class _Conversion:
    accepts: Callable[[Any], bool]
    to: Callable[[Any], Any]


def _is_truth(value: Any) -> bool:
    return isinstance(value, (bool, np.bool_)) or (
        isinstance(value, Integral) and int(value) in (0, 1)
    )


_CONVERSIONS: Final = {
    bool: _Conversion(_is_truth, bool),
    int: _Conversion(lambda v: isinstance(v, Integral) and not isinstance(v, bool), int),
    float: _Conversion(lambda v: isinstance(v, Real) and not isinstance(v, bool), float),
    str: _Conversion(lambda v: isinstance(v, str), str),
    object: _Conversion(lambda v: True, lambda v: v),
}


def _bad_value(option: Option, value: Any, where: str) -> str:
    return message(
        where,
        given=f"{value!r} of type {type(value).__name__} for {option.name}",
        expected=option.expected,
        fix=f"The default is {option.default!r}.",
    )


def from_text(attribute: str, text: str, where: str) -> Any:
    """The value that `text` denotes.

    Raises:
        ValueError: if it denotes none; the message begins with `where`.
    """
    option = describe(attribute)
    try:
        value = _PARSERS[option.kind](text)
    except ValueError:
        raise ValueError(_bad_value(option, text, where)) from None
    return checked(attribute, value, where)


def _truth(text: str) -> bool:
    word = text.strip().lower()
    if word not in _TRUE | _FALSE:
        raise ValueError(text)
    return word in _TRUE


_PARSERS: Final[dict[type, Callable[[str], Any]]] = {
    bool: _truth, int: int, float: float, str: str, object: str,
}  # fmt: skip


_told_to_be_inert: Final[set[str]] = set()


def warn_if_inert(attribute: str, value: Any, where: str) -> None:
    """Say, once for each option, that a value other than the default changes nothing."""
    option = describe(attribute)
    if not option.inert or attribute in _told_to_be_inert:
        return
    silent = option.inert if isinstance(option.inert, tuple) else ()
    if value in (option.default, *silent):
        return
    _told_to_be_inert.add(attribute)
    text = message(
        where,
        given=f"{option.name}={value!r}",
        expected=f"{option.default!r}, as this option has no effect yet",
        fix="Leave it out; the program runs as if the option had its default.",
    )
    warn_user(text)
