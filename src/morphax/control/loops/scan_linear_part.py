"""The transpose of a scan needs a carry that is linear as a whole; here the rest is taken out.

A loop that counts its steps, say, is linear in a part of its carry only.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...core import is_undefined_primal
from ...transforms.known_parts import known_program
from ..bodies.body_primitive import HasBodies
from ..bodies.wiring import Parts


def scan_of_linear_carry(
    scan: HasBodies, values: Parts, linear: Sequence[bool], params: dict[str, Any]
) -> tuple[Parts, dict[str, Any]]:
    """The same scan with the part of its carry that is not linear among the scanned arrays.

    That part does not depend on the linear operands, so a scan of its own computes it for all steps
    before.

    Args:
        scan: the primitive.
        values: the operands.
        linear: which components of the carry are linear.
        params: of the scan.
    """
    jaxpr, wiring = params["jaxpr"], scan.wiring
    n = len(linear)
    is_known = [not on for on in linear]
    used = (*is_known, *[False] * (len(jaxpr.outvars) - n))
    mask = values.map(lambda x: not is_undefined_primal(x)).replaced(carry=is_known)
    known = values.where(mask)
    step = known_program(jaxpr, tuple([not on for on in mask.flat]), used).jaxpr
    before = known.cut(step.invars)["carry"]
    step = step.replace(outvars=(*step.outvars, *before))
    outs = scan.apply(known, params | {"jaxpr": step})
    stacks = outs[len(known["carry"]) :]
    invars = wiring.parts(jaxpr.invars, params)
    among_xs = [*invars.where(mask)["carry"], *invars["xs"]]
    carried = [v for v, on in zip(invars["carry"], linear, strict=True) if on]
    body = jaxpr.replace(
        invars=tuple(invars.replaced(carry=carried, xs=among_xs).flat),
        outvars=(
            *[v for v, on in zip(jaxpr.outvars, linear, strict=False) if on],
            *jaxpr.outvars[n:],
        ),
    )
    carry = [x for x, on in zip(values["carry"], linear, strict=True) if on]
    parts = values.replaced(carry=carry, xs=[*stacks, *values["xs"]])
    return parts, params | wiring.counts(parts) | {"jaxpr": body}
