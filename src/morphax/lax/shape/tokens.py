"""Tokens: values without numbers, by which a program says that one thing comes after others.

They are operands and results like arrays.  No transformation touches them: they have no tangents,
and the members of a batch share them.

Reference: the operations `create_token` and `after_all` of the StableHLO specification.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, final

import numpy as np

from ...core import (
    AbstractToken,
    AxisFlow,
    BatchAxes,
    Primitive,
    Zero,
    abstract_token,
    not_linear,
)
from ...engines.xla.stablehlo import Builder, Value
from ...util.messages import described, message


class TokenOperation(Primitive):
    """Base of operations on tokens: they have no numbers, and are done when they are asked for."""

    transpose = not_linear("a token has no tangent")

    def evaluate(self, *tokens: Any) -> Any:
        return np.zeros(0, bool)

    def axis_flow(self, *tokens: Any) -> AxisFlow:
        return AxisFlow(((),) * len(tokens), ((),))

    def jvp(self, primals: Sequence[Any], tangents: Sequence[Any]) -> Any:
        out = self.bind(*primals)
        return out, Zero(abstract_token.to_tangent_aval())

    def batch(self, axes: BatchAxes, tokens: Sequence[Any], dims: Sequence[Any]) -> Any:
        return self.bind(*tokens), None


@final
class CreateToken(TokenOperation):
    """A token that nothing comes before."""

    name = "create_token"

    def abstract_eval(self) -> AbstractToken:
        return abstract_token

    def lower(self, b: Builder, out: Any) -> Value:
        return b.op("stablehlo.create_token", out)


@final
class AfterAll(TokenOperation):
    """A token that comes after all operands."""

    name = "after_all"

    def abstract_eval(self, *tokens: Any) -> AbstractToken:
        if any([aval is not abstract_token for aval in tokens]):
            given = ", ".join([aval.str_short(short_dtypes=False) for aval in tokens])
            raise TypeError(_no_token(given))
        return abstract_token

    def lower(self, b: Builder, out: Any, *tokens: Value) -> Value:
        return b.op("stablehlo.after_all", out, *tokens)


create_token_p = CreateToken()
after_all_p = AfterAll()


def create_token(_: Any = None) -> Any:
    """A token that nothing comes before.

    Example:
        >>> import morphax as jax
        >>> jax.make_jaxpr(lambda: jax.lax.create_token())()
        { lambda ; . let a:Tok = create_token  in (a,) }
    """
    return create_token_p.bind()


def after_all(*operands: Any) -> Any:
    """A token that comes after all the tokens given.

    Args:
        *operands: tokens; without any, the result comes after nothing, as that of `create_token`.

    Raises:
        TypeError: if an operand is not a token.

    Example:
        >>> import morphax as jax
        >>> jax.make_jaxpr(jax.lax.after_all)(jax.lax.create_token(), jax.lax.create_token())
        { lambda ; a:Tok b:Tok. let c:Tok = after_all a b in (c,) }
    """
    for x in operands:
        if getattr(x, "aval", None) is not abstract_token:
            raise TypeError(_no_token(described(x)))
    return after_all_p.bind(*operands)


def _no_token(given: str) -> str:
    return message(
        "lax.after_all",
        given=given,
        expected="tokens",
        fix="Pass what lax.create_token, lax.after_all or an operation with a token returns.",
    )
