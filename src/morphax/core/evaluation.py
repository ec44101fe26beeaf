"""`jax.core.eval_jaxpr`: apply a program to values, equation by equation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..util.messages import described, message
from .abstract_value import Operand
from .atoms import Atom, Literal
from .jaxpr import Jaxpr
from .sources import attributed_to
from .trace import _current, set_name_stack


def eval_jaxpr(
    jaxpr: Jaxpr, consts: Sequence[Any], *args: Operand, propagate_source_info: bool = True
) -> list[Any]:
    """The results of `jaxpr`, each equation bound in the current trace.

    Args:
        jaxpr: the program.
        consts: the values of its `constvars`.
        *args: the values of its `invars`.
        propagate_source_info: whether what is staged belongs to the lines and scopes of the
            equations, instead of the line that calls this function.

    Raises:
        TypeError: if `consts` is no list or tuple.
        ValueError: if there are too many or too few values.

    Example:
        >>> import morphax as jax
        >>> closed = jax.make_jaxpr(lambda x: 2.0 * x)(1.0)
        >>> jax.core.eval_jaxpr(closed.jaxpr, closed.consts, 3.0)
        [Array(6., dtype=float32, weak_type=True)]
    """
    _check_values(jaxpr, consts, args)
    env: dict[Atom, Any] = dict(zip(jaxpr.invars, args, strict=True))
    env.update(zip(jaxpr.constvars, consts, strict=True))

    def read(atom: Atom) -> Any:
        return atom.val if type(atom) is Literal else env[atom]

    outer = _current.name_stack
    for eqn in jaxpr.eqns:
        params = eqn.primitive.get_bind_params(eqn.params)
        inputs = map(read, eqn.invars)
        if propagate_source_info:
            with attributed_to(eqn.source), set_name_stack((*outer, *eqn.name_stack)):
                result = eqn.primitive.bind(*inputs, **params)
        else:
            result = eqn.primitive.bind(*inputs, **params)
        if eqn.primitive.multiple_results:
            env.update(zip(eqn.outvars, result, strict=True))
        else:
            env[eqn.outvars[0]] = result
    return [read(atom) for atom in jaxpr.outvars]


def _check_values(jaxpr: Jaxpr, consts: object, args: Sequence[Any]) -> None:
    if not isinstance(consts, list | tuple):
        raise TypeError(
            message(
                "eval_jaxpr, argument consts",
                given=described(consts),
                expected="a list or tuple with the values of jaxpr.constvars",
                fix="Call eval_jaxpr(jaxpr, jaxpr.consts, *args), "
                "or apply_jaxpr(jaxpr, *args) for a closed program.",
            )
        )
    given = (len(consts), len(args))
    expected = (len(jaxpr.constvars), len(jaxpr.invars))
    if given != expected:
        raise ValueError(
            message(
                "eval_jaxpr",
                given=f"{given[0]} constants and {given[1]} arguments",
                expected=f"{expected[0]} constants and {expected[1]} arguments",
                fix="Pass one value for each of jaxpr.constvars and jaxpr.invars.",
            )
        )
