"""Sums of exponentials, and the logistic function."""

from __future__ import annotations

from typing import Any

from ... import lax, nn
from ...control.custom.custom_jvp import custom_jvp
from ...engines.reference.replay import replayed
from ...numpy.operands import settled
from ._operands import operands


def expit(x: Any) -> Any:
    """The logistic function 1 / (1 + e⁻ˣ)."""
    return lax.logistic(*operands("expit", x))


def logit(x: Any) -> Any:
    """log(x / (1 − x)), the inverse of `expit`."""
    return settled(_logit(*operands("logit", x)))


@custom_jvp
def _logit(x: Any) -> Any:
    return lax.log(x / (1 - x))


_logit.defjvps(lambda t, out, x: t / (x * (1 - x)))


def logsumexp(
    a: Any,
    axis: Any = None,
    b: Any = None,
    keepdims: bool = False,
    return_sign: bool = False,
    where: Any = None,
) -> Any:
    """log Σ b exp(a) over axes, without overflow in between; see `morphax.nn.logsumexp`."""
    return nn.logsumexp(a, axis, b, keepdims, return_sign, where)


def softmax(x: Any, /, *, axis: Any = None) -> Any:
    """exp(x) / Σ exp(x) along axes, all by default."""
    return nn.softmax(x, axis)


@replayed(1)
def log_softmax(x: Any, /, *, axis: Any = None) -> Any:
    """x − log Σ exp(x) along axes, all by default."""
    return nn.log_softmax(x, axis)
