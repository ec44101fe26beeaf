"""The tokens of ordered effects, as lowering rules that emit MLIR see them.

Whoever writes such a rule takes the token of each ordered effect of the primitive from the context
and gives the next one.  Here one token orders all effects (see docs/design/effects.md): a rule is
handed it for each of them, and what it gives back is joined.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, final

from ...core import Effect
from ...util.messages import message
from .mlir_context import bindings, dialect


@final
class TokenSet:
    """The token of each ordered effect.

    Args:
        tokens: MLIR values by effect, none if left out.
    """

    __slots__ = ("_tokens",)

    def __init__(self, tokens: Mapping[Effect, Any] | None = None) -> None:
        self._tokens = dict(tokens or {})

    @classmethod
    def create(cls, effects: Iterable[Effect]) -> TokenSet:
        """Fresh tokens, which nothing comes before."""
        return cls({effect: dialect("stablehlo").CreateTokenOp().result for effect in effects})

    def get(self, effect: Effect) -> Any:
        """The token of an effect; `KeyError` if there is none."""
        return self._tokens[effect]

    def effects(self) -> set[Effect]:
        """The effects that have a token."""
        return set(self._tokens)

    def items(self) -> Iterator[tuple[Effect, Any]]:
        """Pairs of effect and token."""
        return iter(self._tokens.items())

    def subset(self, effects: Iterable[Effect]) -> TokenSet:
        """The tokens of some effects."""
        return TokenSet({effect: self._tokens[effect] for effect in effects})

    def update_tokens(self, tokens: TokenSet) -> TokenSet:
        """The same with the tokens of `tokens` in place of these, for its effects."""
        return TokenSet(self._tokens | tokens._tokens)

    def __len__(self) -> int:
        return len(self._tokens)


def ordered(effects: Iterable[Effect]) -> list[Effect]:
    """The effects that have tokens, in a fixed order."""
    return sorted([effect for effect in effects if effect.ordered], key=str)


def joined(tokens: TokenSet, effects: Iterable[Effect], where: str) -> Any:
    """One token that comes after those of `effects`."""
    missing = [effect for effect in effects if effect not in tokens.effects()]
    if missing:
        raise ValueError(
            message(
                where,
                given=f"tokens of {', '.join(map(str, tokens.effects())) or 'no effects'}",
                expected=f"also those of {', '.join(map(str, missing))}, which are ordered",
                fix="Declare the effects of the primitive, and pass on ctx.tokens_in.",
            )
        )
    values: list[Any] = []
    for _, token in tokens.subset(effects).items():
        if token not in values:
            values.append(token)
    if len(values) == 1:
        return values[0]
    hlo = dialect("stablehlo")
    return hlo.AfterAllOp(values, results=[hlo.TokenType.get(bindings().Context.current)]).result
