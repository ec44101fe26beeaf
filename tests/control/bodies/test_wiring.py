"""Wiring that is declared wrongly, and applications that do not fit it."""

from __future__ import annotations

import numpy as np
import pytest

import morphax as jax
from morphax import core, lax
from morphax.control.bodies.wiring import Body, Parts, Role, Wiring


def wired(**changes):
    declared = {
        "roles": (Role("consts", "num_consts"), Role("carry")),
        "bodies": (Body("jaxpr", takes=("consts", "carry"), gives=("carry",)),),
        "carried": "carry",
    }
    return Wiring(**declared | changes)


@pytest.mark.parametrize(
    ("changes", "given", "expected"),
    [
        (
            {"bodies": (Body("jaxpr", takes=("constants", "carry"), gives=("carry",)),)},
            r"the roles \['constants'\]",
            r"\['consts', 'carry'\]",
        ),
        (
            {"roles": (Role("consts"), Role("carry"))},
            r"\['consts', 'carry'\] without a count",
            "last",
        ),
        ({"bodies": (Body("jaxpr", takes=("carry",)),)}, r"\['jaxpr'\]", "one body that gives"),
        (
            {"bodies": (Body("jaxpr", takes=("carry",), gives=("ys", "carry")),)},
            r"jaxpr, which gives \['ys', 'carry'\]",
            "'carry' in front",
        ),
    ],
)
def test_a_wrong_declaration_is_refused(changes, given, expected):
    with pytest.raises(ValueError, match=given) as caught:
        wired(**changes)
    assert caught.match(expected)


def test_parts_by_role():
    wiring = wired()
    parts = wiring.parts("abcd", {"num_consts": 1})
    assert parts == {"consts": ["a"], "carry": ["b", "c", "d"]}
    assert wiring.counts(parts) == {"num_consts": 1}
    mask = Parts(consts=[False], carry=[True, False, True])
    assert parts.where(mask).flat == ["b", "d"]
    assert parts.beside(parts.where(mask)) == {"consts": ["a"], "carry": [*"bcdbd"]}


def scan_equation():
    def body(carry, x):
        return (carry[0] + x, carry[1]), x

    start = (np.float32(0), np.int32(0))
    xs = np.ones(3, np.float32)
    return jax.make_jaxpr(lambda xs: lax.scan(body, start, xs))(xs).eqns[-1]


def while_equation():
    jaxpr = jax.make_jaxpr(lambda n: lax.while_loop(lambda i: i < n, lambda i: i + 1, 0))(
        np.int32(3)
    )
    return jaxpr.eqns[-1]


def cond_equation():
    def choose(p, x):
        return lax.cond(p, lambda x: x, lambda x: 2 * x, x)

    return jax.make_jaxpr(choose)(True, np.float32(1)).eqns[-1]


@pytest.mark.parametrize(
    ("equation", "operands", "changes", "error", "expected"),
    [
        (
            scan_equation,
            (1, 0, 2),
            {},
            TypeError,
            r"scan, operand carry\[0\].*\n.*int32.*float32",
        ),
        (scan_equation, (0, 1), {}, ValueError, r"scan, operands of jaxpr.*\n.*3\n.*xs: 0"),
        (
            scan_equation,
            (0, 1, 2),
            {"length": 4},
            TypeError,
            r"operand xs\[0\].*\n.*each of 4 steps",
        ),
        (scan_equation, (0,), {}, ValueError, r"scan, operands .*\n.*1\n.*num_carry|carry: 2"),
        (
            scan_equation,
            (0, 1, 2),
            {"num_carry": 1, "num_consts": 1},
            TypeError,
            r"result carry\[0\]",
        ),
        (while_equation, (0,), {}, ValueError, r"while, operands of cond_jaxpr.*\n.*2\n.*carry: 0"),
        (while_equation, (0, 1, 1), {}, ValueError, r"while, operands of cond_jaxpr"),
        (cond_equation, (0,), {}, ValueError, r"cond, operands of branches.*\n.*1\n.*operands: 0"),
        (
            cond_equation,
            (0, 0),
            {},
            TypeError,
            r"cond, operand operands\[0\].*\n.*int32.*float32",
        ),
    ],
)
def test_an_application_that_does_not_fit_is_refused(equation, operands, changes, error, expected):
    eqn = equation()
    avals = tuple([eqn.invars[i].aval for i in operands])
    with pytest.raises(error, match=expected):
        core.infer(eqn.primitive, eqn.params | changes, avals)


def infer_with(equation, **changes):
    avals = tuple([v.aval for v in equation.invars])
    return core.infer(equation.primitive, equation.params | changes, avals)


def test_programs_that_give_the_wrong_thing_are_refused():
    loop, choice = while_equation(), cond_equation()
    condition, body = loop.params["cond_jaxpr"], loop.params["body_jaxpr"]
    first, second = choice.params["branches"]
    undecided = condition.replace(outvars=condition.invars[-1:])
    with pytest.raises(TypeError, match=r"while, result decision\[0\].*\n.*bool.*int32"):
        infer_with(loop, cond_jaxpr=undecided)
    twice = body.replace(outvars=body.outvars * 2)
    with pytest.raises(ValueError, match=r"results of body_jaxpr.*\n.*2\n.*carry: 1"):
        infer_with(loop, body_jaxpr=twice)
    nothing = second.replace(outvars=())
    with pytest.raises(ValueError, match=r"results of branches.*\n.*0\n.*results: 1"):
        infer_with(choice, branches=(first, nothing))
