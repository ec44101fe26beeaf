"""Rules of a `VJPHiPrimitive` that follow from its other rules.

Each name stands for the methods it defines, to be unpacked in the body of a class:

`lin, linearized = linearize_from_jvp`    linearize the rule `jvp` once, keep its residuals
`vjp_fwd, vjp_bwd_retval = vjp_from_lin`  transpose `linearized`
`vjp_fwd, vjp_bwd_retval = vjp_from_jvp`  keep the arguments, and linearize `jvp` on the way back
`jvp = jvp_from_lin`                      apply `linearized` at once

Rules of a class go in no circle: one of `jvp` and `lin` is written by hand.
"""

from __future__ import annotations

from typing import Any

from ... import tree
from ...core import Zero, is_zero
from ...lax.ground.linear_structure import instantiate
from ...transforms.derivatives import linear_transpose, linearize
from ...util.messages import message


def _instantiated(t: Any) -> Any:
    return tree.map(lambda x: instantiate(x) if is_zero(x) else x, t, is_leaf=is_zero)


def _zeros(prim: Any) -> tuple[Any, ...]:
    leaves = [instantiate(Zero(aval.to_tangent_aval())) for aval in prim.in_avals_flat]
    return tuple(prim.in_tree.unflatten(leaves))


def _lin(self: Any, nzs_in: Any, *primals: Any) -> Any:
    if type(self).jvp is jvp_from_lin:
        raise TypeError(
            message(
                f"{type(self).__name__}, jvp_from_lin",
                given="`jvp` derived from `lin`, and `lin` from `jvp`",
                expected="one of both written by hand",
                fix="Define `jvp`, or `lin` and `linearized`.",
            )
        )
    zeros = _zeros(self)
    out, _ = self.jvp(primals, zeros)
    _, push = linearize(lambda *ts: _instantiated(self.jvp(primals, ts)[1]), *zeros)
    return out, push


def _linearized(self: Any, push: Any, *tangents: Any) -> Any:
    return push(*_instantiated(tangents))


def _fwd_from_lin(self: Any, nzs_in: Any, /, *args: Any) -> Any:
    return self.lin(nzs_in, *args)


def _bwd_from_lin(self: Any, res: Any, outgrad: Any, /) -> Any:
    def push(*tangents: Any) -> Any:
        return _instantiated(self.linearized(res, *tangents))

    return linear_transpose(push, *_zeros(self))(_instantiated(outgrad))


def _fwd_from_jvp(self: Any, nzs_in: Any, /, *args: Any) -> Any:
    return self(*args), args


def _bwd_from_jvp(self: Any, args: Any, outgrad: Any, /) -> Any:
    zeros = _zeros(self)
    _, push = linearize(lambda *ts: _instantiated(self.jvp(args, ts)[1]), *zeros)
    return linear_transpose(push, *zeros)(_instantiated(outgrad))


def follows(rule: Any) -> bool:
    """Whether a method `vjp_fwd` follows from other rules."""
    return rule in (_fwd_from_lin, _fwd_from_jvp)


def jvp_from_lin(self: Any, primals: Any, tangents: Any) -> Any:
    """The rule of tangents that the methods `lin` and `linearized` make up."""
    flat = self.in_tree.flatten_up_to(tangents)
    active = self.in_tree.unflatten([not is_zero(t) for t in flat])
    out, residuals = self.lin(active, *primals)
    return out, self.linearized(residuals, *tangents)


linearize_from_jvp = _lin, _linearized
vjp_from_lin = _fwd_from_lin, _bwd_from_lin
vjp_from_jvp = _fwd_from_jvp, _bwd_from_jvp
