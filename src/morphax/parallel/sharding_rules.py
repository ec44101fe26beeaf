"""Rules by which the splits of operands become those of results: Einstein sums of *factors*.

Each axis of an operand or result is called by a factor, or by several that it is the product of.
Axes of one factor are split alike.  A rule is written ``"i j, j k -> i k"``: a space between axes,
a comma between arrays, brackets around the factors of one axis, ``...`` for all leading axes.

Reference: Shardy, "Sharding representation" and `OpShardingRuleAttr`,
https://openxla.org/shardy/sharding_representation; the notation is that of einops (Rogozhnikov,
Einops: clear and reliable tensor manipulations with Einstein-like notation, ICLR 2022).
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, NoReturn, final

from ..util.messages import described, message

BATCHING: Final = "…"
"""In front of an `ArrayMapping`: all axes that the others leave over."""

_WHERE = "custom_partitioning, sharding rule"
_FACTOR = re.compile(r"[A-Za-z][A-Za-z0-9_]*")
# A factor, leading axes with or without a number, or a bracket.
_TOKEN = re.compile(r"\s*(?:\.\.\.(\d*)|([A-Za-z][A-Za-z0-9_]*)|([()]))")
_LETTERS = "ijklmnopqrstuvwxyz"


@final
class CompoundFactor(tuple[str, ...]):
    """The factors of one axis, of which the first counts slowest.

    Args:
        *factors: their names, two at least.

    Raises:
        ValueError: if there are fewer, or one is no name.

    Example:
        >>> from morphax.experimental.custom_partitioning import CompoundFactor
        >>> CompoundFactor("b", "c")
        ('b', 'c')
    """

    __slots__ = ()

    def __new__(cls, *factors: str) -> CompoundFactor:
        if len(factors) < 2:
            _refuse(f"the factors {factors} of one axis", "two or more", "Write the factor alone.")
        for factor in factors:
            _check_factor(factor)
        return super().__new__(cls, factors)


Axis = str | CompoundFactor


@final
class ArrayMapping(tuple[Axis, ...]):
    """The factors of the axes of an operand or result.

    Args:
        *dim_mappings: for each axis a factor or a `CompoundFactor`; `BATCHING`, with a number
            behind it or none, may stand in front.

    Raises:
        ValueError: if one is something else.

    Example:
        >>> from morphax.experimental.custom_partitioning import ArrayMapping, BATCHING
        >>> ArrayMapping(BATCHING, "i")
        ('…', 'i')
    """

    __slots__ = ()

    def __new__(cls, *dim_mappings: Axis) -> ArrayMapping:
        for position, axis in enumerate(dim_mappings):
            if isinstance(axis, CompoundFactor) or (position == 0 and _is_batching(axis)):
                continue
            _check_factor(axis)
        return super().__new__(cls, dim_mappings)


@final
class SdyShardingRule:
    """A rule by which the splits of operands become those of results, and the other way round.

    A factor that none of the keywords names is passed through.

    Args:
        operand_mappings, result_mappings: an `ArrayMapping`, or a tuple like one, for each.
        reduction_factors: of axes that are summed over: parts of the sum are added.
        need_replication_factors: of axes that must be whole.
        permutation_factors: of axes along which parts are exchanged.
        **factor_sizes: of factors that are no axis anywhere.

    Raises:
        ValueError: if a factor is not used, named in two of the tuples, or its size is missing.

    Example:
        >>> from morphax.experimental.custom_partitioning import ArrayMapping, SdyShardingRule
        >>> x, y, out = ArrayMapping("i", "j"), ArrayMapping("j", "k"), ArrayMapping("i", "k")
        >>> print(SdyShardingRule((x, y), (out,), reduction_factors=("j",)))
        SdyShardingRule((('i', 'j'), ('j', 'k')), (('i', 'k'),), {} reduction_factors=('j',))
    """

    def __init__(
        self,
        operand_mappings: tuple[ArrayMapping, ...],
        result_mappings: tuple[ArrayMapping, ...],
        *,
        reduction_factors: tuple[str, ...] = (),
        need_replication_factors: tuple[str, ...] = (),
        permutation_factors: tuple[str, ...] = (),
        **factor_sizes: int,
    ) -> None:
        self.operand_mappings = tuple([ArrayMapping(*axes) for axes in operand_mappings])
        self.result_mappings = tuple([ArrayMapping(*axes) for axes in result_mappings])
        self.factor_sizes = factor_sizes
        self.reduction_factors = reduction_factors
        self.need_replication_factors = need_replication_factors
        self.permutation_factors = permutation_factors
        whole, in_compounds = _used((*self.operand_mappings, *self.result_mappings))
        _check_special(self.special_factors(), {*whole, *in_compounds})
        _check_sizes(factor_sizes, whole, in_compounds)

    def special_factors(self) -> dict[str, tuple[str, ...]]:
        """Factors that are not just passed through, by the argument that names them."""
        return {
            "reduction_factors": self.reduction_factors,
            "need_replication_factors": self.need_replication_factors,
            "permutation_factors": self.permutation_factors,
        }

    def __str__(self) -> str:
        told = {name: named for name, named in self.special_factors().items() if named}
        special = "".join([f" {name}={named}" for name, named in told.items()])
        return (
            f"SdyShardingRule({self.operand_mappings}, {self.result_mappings}, "
            f"{self.factor_sizes}{special})"
        )


def parsed_rule(
    text: Any,
    special: Mapping[str, tuple[str, ...]],
    factor_sizes: Mapping[str, int],
) -> SdyShardingRule:
    """The rule that a text like ``"i j, j k -> i k"`` means.

    Args:
        text: the rule.
        special: keyword arguments of `SdyShardingRule`.
        factor_sizes: likewise.

    Raises:
        TypeError: if it is no text.
        ValueError: if it is no rule.
    """
    if not isinstance(text, str):
        raise TypeError(
            message(
                _WHERE,
                given=described(text),
                expected="a string, an SdyShardingRule or a function that returns one",
                fix="Write 'i j, j k -> i k', for instance.",
            )
        )
    sides = text.split("->")
    if len(sides) != 2:
        _refuse(f"{text!r}, with {len(sides) - 1} arrows", "one ->", "Write 'i j -> j i'.")
    operands, results = [
        tuple([ArrayMapping(*_axes(array, text)) for array in side.split(",")]) for side in sides
    ]
    named: dict[str, Any] = {**special, **factor_sizes}
    return SdyShardingRule(operands, results, **named)


def _axes(array: str, text: str) -> Iterator[Axis]:
    """The axes of one array of a rule."""
    end = len(array.rstrip())
    position = 0
    bracket: list[str] | None = None
    while position < end:
        found = _TOKEN.match(array, position, end)
        if found is None:
            left = array[position:end].strip()
            _refuse(
                f"{left!r} in {text!r}",
                "factors (a letter, then letters, digits and _), spaces, brackets and '...'",
                "Put spaces between factors, and commas between arrays.",
            )
        position = found.end()
        number, factor, sign = found.groups()
        axis = factor or f"{BATCHING}{number}"
        if sign is None and bracket is None:
            yield axis
        elif sign is None:
            bracket.append(axis)  # type: ignore[union-attr]
        elif (sign == "(") is (bracket is None):
            if bracket is not None:
                yield CompoundFactor(*bracket)
            bracket = [] if bracket is None else None
        else:
            _refuse_brackets(text)
    if bracket is not None:
        _refuse_brackets(text)


def _refuse_brackets(text: str) -> NoReturn:
    _refuse(f"{text!r}", "each '(' with its ')', none within others", "Mend the brackets.")


def _is_batching(axis: Any) -> bool:
    return (
        isinstance(axis, str) and axis[:1] == BATCHING and axis[1:].isdigit() | (axis == BATCHING)
    )


def _check_factor(factor: Any) -> None:
    if isinstance(factor, str) and _FACTOR.fullmatch(factor):
        return
    given = repr(factor) if isinstance(factor, str) else described(factor)
    _refuse(
        f"{given} as a factor",
        "a letter, then letters, digits and _; BATCHING only in front of all axes",
        "Name the factor 'i', for instance.",
    )


def _used(mappings: Sequence[ArrayMapping]) -> tuple[set[str], set[str]]:
    """The factors that are axes of their own somewhere, and those in compounds."""
    axes = [axis for mapping in mappings for axis in mapping]
    compounds = [axis for axis in axes if isinstance(axis, CompoundFactor)]
    alone = {axis for axis in axes if isinstance(axis, str) and not _is_batching(axis)}
    return alone, {factor for compound in compounds for factor in compound}


def _check_special(special: Mapping[str, Any], used: set[str]) -> None:
    seen: dict[str, str] = {}
    for argument, factors in special.items():
        if not isinstance(factors, tuple):
            fix = f"Write {argument}=('i',)."
            _refuse(f"{argument}={factors!r}", "a tuple of factors", fix)
        for factor in factors:
            if factor not in used:
                expected = f"factors of the rule: {', '.join(sorted(used))}"
                _refuse(f"{argument}={factors!r}", expected, "Name factors of the rule.")
            if factor in seen:
                given = f"the factor {factor!r} in {seen[factor]} and {argument}"
                _refuse(given, "each factor in one of them at most", "Name it in one.")
            seen[factor] = argument


def _check_sizes(sizes: Mapping[str, int], whole: set[str], in_compounds: set[str]) -> None:
    for factor in sizes:
        if factor in whole:
            given = f"a size for {factor!r}, which is an axis of its own"
            _refuse(given, "sizes of factors in brackets only", "Leave it out.")
        if factor not in in_compounds:
            _refuse(f"a size for {factor!r}", "a factor of the rule", "Leave it out.")
    for factor in sorted(in_compounds - whole):
        size = sizes.get(factor)
        if not isinstance(size, int) or size < 1:
            given = f"{factor}={size!r}" if factor in sizes else f"no size of {factor!r}"
            expected = "a positive int: the factor stands in brackets only"
            _refuse(given, expected, f"Pass {factor}=2, for instance.")


def rule_text(
    rule: SdyShardingRule,
    operands: Sequence[Sequence[int]],
    results: Sequence[Sequence[int]],
) -> str:
    """The rule as an attribute of Shardy, for operands and results of these shapes.

    Raises:
        ValueError: if the rule is for other numbers of operands, results or axes, or sizes of
            factors do not make those of axes.
    """
    arrays = [
        *_expanded(rule.operand_mappings, operands, "operand"),
        *_expanded(rule.result_mappings, results, "result"),
    ]
    _check_leading(arrays)
    sizes = _factor_sizes(rule.factor_sizes, arrays, [*operands, *results])
    order = list(dict.fromkeys([f for axes in arrays for factors in axes for f in factors]))
    names = dict(zip(order, _names(len(order)), strict=True))
    texts = [f"[{', '.join([''.join([names[f] for f in axis]) for axis in a])}]" for a in arrays]
    count = len(operands)
    text = f"({', '.join(texts[:count])})->({', '.join(texts[count:])})"
    if order:
        text += f" {{{', '.join([f'{names[f]}={sizes[f]}' for f in order])}}}"
    for argument, factors in rule.special_factors().items():
        if factors:
            named = ", ".join([names[f] for f in order if f in factors])
            text += f" {argument.removesuffix('_factors')}={{{named}}}"
    return f"#sdy.op_sharding_rule<{text}, custom>"


def _expanded(
    mappings: Sequence[ArrayMapping], shapes: Sequence[Sequence[int]], what: str
) -> list[list[tuple[str, ...]]]:
    """The factors of each axis, with those of leading axes written out."""
    if len(mappings) != len(shapes):
        _refuse(
            f"a rule for {len(mappings)} {what}s, and {len(shapes)} of them",
            f"a mapping for each {what}",
            "Put commas between arrays, or leave out what is none.",
        )
    return [
        _axis_factors(mapping, len(shape), f"{what} {number}")
        for number, (mapping, shape) in enumerate(zip(mappings, shapes, strict=True))
    ]


def _axis_factors(mapping: ArrayMapping, ndim: int, what: str) -> list[tuple[str, ...]]:
    batching = [axis for axis in mapping[:1] if _is_batching(axis)]
    rest = [tuple(axis) if isinstance(axis, CompoundFactor) else (axis,) for axis in mapping]
    leading = ndim - len(rest) + 1
    if batching and leading >= 0:
        rest[:1] = [(f"{batching[0]} {axis}",) for axis in range(leading)]
    if len(rest) != ndim:
        given = f"{tuple(mapping)} for {what}, which has {ndim} axes"
        _refuse(given, "a factor for each axis", "Begin with '...' for all leading axes.")
    return rest


def _factor_sizes(
    given: Mapping[str, int],
    arrays: Sequence[Sequence[tuple[str, ...]]],
    shapes: Sequence[Sequence[int]],
) -> dict[str, int]:
    """The sizes of all factors, which make up those of the axes."""
    sizes = dict(given)
    for axes, shape in zip(arrays, shapes, strict=True):
        for factors, size in zip(axes, shape, strict=True):
            if len(factors) == 1:
                # What is stretched is split as far as the smaller size goes.
                sizes[factors[0]] = min(size, sizes.get(factors[0], size))
    for number, (axes, shape) in enumerate(zip(arrays, shapes, strict=True)):
        for factors, size in zip(axes, shape, strict=True):
            if len(factors) > 1 and math.prod([sizes[f] for f in factors]) != size:
                product = " · ".join([f"{f}={sizes[f]}" for f in factors])
                _refuse(
                    f"an axis of size {size} with the factors {product}",
                    f"factors that make up the axis, in array {number} of the rule",
                    "Pass other sizes of the factors.",
                )
        seen = [f for factors in axes for f in factors]
        if len(seen) > len(set(seen)):
            named = f"the factors {', '.join(seen)} in array {number} of the rule"
            _refuse(named, "each factor once in an array", "Name each axis by its own factor.")
    return sizes


def _check_leading(arrays: Sequence[Sequence[tuple[str, ...]]]) -> None:
    """Raise unless all arrays have equally many leading axes under one name."""
    counts: dict[str, int] = {}
    for axes in arrays:
        named = [axis[0].split()[0] for axis in axes if axis[0][:1] == BATCHING]
        for name in named[:1]:
            if counts.setdefault(name, len(named)) != len(named):
                given = f"arrays with {counts[name]} and {len(named)} leading axes"
                fix = "Number them: '...0 i, ...1 j -> ...0 i'."
                _refuse(given, "equally many axes for each '...'", fix)


def _names(count: int) -> list[str]:
    """Shardy's names of factors: letters from i on, then numbered z."""
    later = [f"z_{n + 1}" for n in range(count - len(_LETTERS))]
    return [*_LETTERS, *later][:count]


def _refuse(given: str, expected: str, fix: str) -> NoReturn:
    raise ValueError(message(_WHERE, given=given, expected=expected, fix=fix))
