"""The transpose of a scan needs a carry that is linear as a whole; here the rest is taken out.

A loop that counts its steps, say, is linear in a part of its carry only.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...core import Primitive, is_undefined_primal
from ...transforms.known_parts import known_program
from .scan_parts import ScanParts


def scan_of_linear_carry(
    scan: Primitive, values: ScanParts, linear: Sequence[bool], params: dict[str, Any]
) -> tuple[ScanParts, dict[str, Any]]:
    """The same scan with the part of its carry that is not linear among the scanned arrays.

    That part does not depend on the linear operands, so a scan of its own computes it for all steps
    before.

    Args:
        scan: the primitive.
        values: the operands.
        linear: which components of the carry are linear.
        params: of the scan.
    """
    jaxpr = params["jaxpr"]
    n = len(linear)
    is_known = [not on for on in linear]
    used = (*is_known, *[False] * (len(jaxpr.outvars) - n))
    mask = ScanParts(
        *[[not is_undefined_primal(x) for x in role] for role in values._replace(carry=[])]
    )._replace(carry=is_known)
    known = values.where(mask)
    step = known_program(jaxpr, tuple([not on for on in mask.flat]), used).jaxpr
    before = ScanParts.of(step.invars, **known.sizes()).carry
    step = step.replace(outvars=(*step.outvars, *before))
    invars = ScanParts.of(jaxpr.invars, **params)
    outs = scan.bind(*known.flat, **params | known.sizes() | {"jaxpr": step})
    stacks = outs[len(known.carry) :]
    carried = [v for v, on in zip(jaxpr.outvars, linear, strict=False) if on]
    body = jaxpr.replace(
        invars=(
            *invars.consts,
            *[v for v, on in zip(invars.carry, linear, strict=True) if on],
            *invars.where(mask).carry,
            *invars.xs,
        ),
        outvars=(*carried, *jaxpr.outvars[n:]),
    )
    carry = [x for x, on in zip(values.carry, linear, strict=True) if on]
    parts = ScanParts(values.consts, carry, [*stacks, *values.xs])
    return parts, params | parts.sizes() | {"jaxpr": body}
