"""How the elements of what a program takes and gives lie in memory, where not row by row."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...array import Array
from ...core import Jaxpr, Layout
from ...lax.shape.layout_constraint import layout_constraint_p
from ...lax.shape.sharding_constraint import sharding_constraint_p
from ...runtime.laid_out import Order
from ...runtime.places import Places
from ...runtime.sharding import SingleDeviceSharding

Orders = tuple[tuple[Order, ...], tuple[Order, ...]]
"""Of operands and results."""

_CONSTRAINTS = (layout_constraint_p, sharding_constraint_p)


def element_orders(jaxpr: Jaxpr, asked: Orders) -> Orders | None:
    """The orders of elements, `None` if all lie row by row.

    Args:
        jaxpr: the program.
        asked: by the options of `jit`, of the last operands and of results, as far as they say
            anything.  A result that is a constraint lies as that says.
    """
    constraints = {e.outvars[0]: e for e in jaxpr.eqns if e.primitive in _CONSTRAINTS}

    def said(var: Any) -> Order:
        while var in constraints:
            eqn = constraints[var]
            layout = eqn.params["layout"]
            if isinstance(layout, Layout):
                return layout.order("with_layout_constraint")
            var = eqn.invars[0]
        return None

    taken, given = asked
    operands = ((None,) * (len(jaxpr.invars) - len(taken))) + taken
    each = zip(jaxpr.outvars, given or (None,) * len(jaxpr.outvars), strict=True)
    results = tuple([said(var) if order is None else order for var, order in each])
    is_plain = all([order is None for order in (*operands, *results)])
    return None if is_plain else (operands, results)


def in_order(
    where: SingleDeviceSharding | Places,
    jaxpr: Jaxpr,
    orders: Orders | None,
    operands: Sequence[Any] = (),
) -> SingleDeviceSharding | Places:
    """The places of a program whose operands and results lie in these orders in memory.

    Operands that are committed lie as they do where nothing is said of them.
    """
    found = [x.place.element_order if type(x) is Array and x.committed else None for x in operands]
    if any([order is not None for order in found]):
        taken, given = orders or ((), (None,) * len(jaxpr.outvars))
        asked = taken or (None,) * len(found)
        orders = tuple([a or own for a, own in zip(asked, found, strict=True)]), given
    if orders is None:
        return where
    if type(where) is SingleDeviceSharding:
        where = Places.all_at(where, len(jaxpr.invars), len(jaxpr.outvars))
    return where.in_order(*orders)
