"""Forms of equations: what equations that do the same with other operands have in common."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from typing import Any, Final

from ...core import Equation, Jaxpr, Literal, ShapedArray, jaxprs_in_params
from ...core.atoms import Atom
from ...util.memo import memoize
from ...util.parameter_keys import key_of, params_key

WINDOW: Final = "slice"
"""The primitive that takes a window of an array, which steps may move."""

PADDING: Final = "pad"
"""The primitive that puts an array among others of one number, in places that steps may move."""

LARGEST: Final = 4096
"""Of arrays of more elements, time is in these, and XLA has other ways."""

# Where the forms of so many equations come again, a step may begin.
_GRAM: Final = 4


def weight_of(eqn: Equation) -> int:
    """How many equations it is, those of programs in it among them."""
    return 1 + sum([len(x.eqns) for x in jaxprs_in_params(eqn.params)])


def forms_of(eqns: Sequence[Equation]) -> list[int]:
    """A number for the form of each equation."""
    known: dict[Hashable, int] = {}
    return [known.setdefault(_form(eqn) or (i,), i) for i, eqn in enumerate(eqns)]


def next_places(forms: Sequence[int]) -> list[int]:
    """For each equation where its form and those that follow it come again; negative if nowhere."""
    nearest: dict[tuple[int, ...], int] = {}
    found = [-1] * len(forms)
    for i in range(len(forms) - _GRAM, -1, -1):
        gram = tuple(forms[i : i + _GRAM])
        found[i] = nearest.get(gram, -1)
        nearest[gram] = i
    return found


def _form(eqn: Equation) -> Hashable | None:
    """What equations of steps have in common; `None` if it is none of a step."""
    if eqn.effects:
        return None
    outs = [v.aval for v in eqn.outvars]
    for aval in outs:
        if type(aval) is not ShapedArray or math.prod(aval.shape) > LARGEST:
            return None
    params: Hashable | None
    if eqn.primitive.name == WINDOW:
        params = (eqn.params["strides"],)
    elif axes := axes_of_padding(eqn):
        params = axes
    else:
        params = _params_form(eqn)
    if params is None:
        return None
    kinds = [(x.aval,) if type(x) is Literal else x.aval for x in eqn.invars]
    return (eqn.primitive, params, len(outs), *outs, *kinds)


def axes_of_padding(eqn: Equation) -> tuple[int, ...]:
    """The axes along which a single row or element is put among others, if it is that.

    `x[i]` is transposed to it.
    """
    if eqn.primitive.name != PADDING:
        return ()
    operand: Any = eqn.invars[0]
    config, shape = eqn.params["padding_config"], operand.aval.shape
    axes = tuple([axis for axis, padding in enumerate(config) if padding != (0, 0, 0)])
    are_single = all([shape[i] == 1 and min(config[i][:2]) >= 0 == config[i][2] for i in axes])
    return axes if are_single else ()


def _params_form(eqn: Equation) -> tuple[Any, ...] | None:
    """What parameters of operations that do the same have in common."""
    params = eqn.params
    if not params:
        return ()
    if (plain := eqn.primitive.plain_program) is not None:
        params = {plain: params[plain]}
    programs = {name: x for name, x in params.items() if type(x) is Jaxpr}
    if not programs:
        return params_key(params)
    forms = [_form_of_program(x) for x in programs.values()]
    rest = params_key({name: x for name, x in params.items() if name not in programs})
    return None if rest is None or None in forms else (*programs, *forms, *rest)


@memoize
def _form_of_program(jaxpr: Jaxpr) -> Hashable | None:
    """What programs that do the same have in common: equations and what these read."""
    if jaxpr.effects or jaxpr.consts:
        return None
    numbers: dict[Atom, int] = {v: i for i, v in enumerate(jaxpr.invars)}
    parts: list[Any] = []
    for eqn in jaxpr.eqns:
        params = _params_form(eqn)
        atoms = [_form_of_atom(x, numbers) for x in eqn.invars]
        if params is None or None in atoms:
            return None
        numbers |= {v: len(numbers) + o for o, v in enumerate(eqn.outvars)}
        parts.append((eqn.primitive, params, *[v.aval for v in eqn.outvars], *atoms))
    outs = [_form_of_atom(x, numbers) for x in jaxpr.outvars]
    return None if None in outs else (*jaxpr.in_avals, *parts, *outs)


def _form_of_atom(atom: Atom, numbers: dict[Atom, int]) -> Any:
    if type(atom) is not Literal:
        return numbers[atom]
    value = key_of(atom.val)
    return None if value is None else (atom.aval, value)
