"""Sending and receiving as two operations, between which a program may do something else.

`psend` gives a token, and `precv` takes one: by tokens a program says what comes after what, for
devices that do not send and receive in one order wait for ever.  Only GPUs have these operations;
`ppermute` does both at once, everywhere.

Reference: the operations `send` and `recv` of the StableHLO specification.
"""

from __future__ import annotations

from typing import Any, Final, final

import numpy as np

from .. import tree
from ..core import (
    AbstractToken,
    AxisFlow,
    NoRule,
    ShapedArray,
    abstract_token,
    axes_in_types,
)
from ..core.effects import Effects, IOEffect
from ..engines.xla.members import mesh_axes
from ..engines.xla.stablehlo import Builder, Value, i64_matrix
from ..runtime.device import GPUS
from ..util.messages import described, message
from .axis_names import joint_size, named_axes
from .collective import Collective, map_operands
from .permutation import Pairs, checked_pairs

_NOT_ALONE: Final = "sending and receiving are two operations; ppermute is one that has the rule"


class OneSided(Collective):
    """One side of an exchange.

    Params:
        axis_name: names of the axes.
        perm: pairs (source, destination).
    """

    linear = False
    jvp = NoRule("jvp", _NOT_ALONE, error=NotImplementedError)
    transpose = NoRule("transpose", _NOT_ALONE, error=NotImplementedError)
    batch = NoRule("batch", _NOT_ALONE, error=NotImplementedError)
    collect = NoRule("collect", _NOT_ALONE, error=NotImplementedError)

    def effects(self, **_: Any) -> Effects:
        """The other side waits for it, whether or not its result is used."""
        return frozenset([IOEffect()])

    def attributes(self, b: Builder, axis_name: Any, perm: Pairs) -> dict[str, Any]:
        """Between which devices; `NotImplementedError` for a platform that has no such thing."""
        if b.module.platform not in GPUS:
            raise NotImplementedError(
                message(
                    f"compiling {self.name}",
                    given=f"the platform {b.module.platform!r}",
                    expected="a program for GPUs: no other devices send and receive on their own",
                    fix="Use lax.ppermute, which does both.",
                )
            )
        groups = mesh_axes(b, self.name).groups(axis_name)
        pairs = [(group[source], group[to]) for group in groups for source, to in perm]
        return {
            "channel_handle": "#stablehlo.channel_handle<handle = 1, type = 1>",
            "source_target_pairs": i64_matrix(pairs) if pairs else "dense<> : tensor<0x2xi64>",
            "mhlo.sharding": '"{manual}"',
        }


@final
class PSend(OneSided):
    """A token that comes after the operand is sent."""

    name = "psend"

    def abstract_eval(self, x: Any, **_: Any) -> AbstractToken:
        return abstract_token

    def axis_flow(self, x: ShapedArray, **_: Any) -> AxisFlow:
        return AxisFlow(((None,) * x.ndim,), ((),))

    def lower(
        self, b: Builder, out: Any, x: Value, *, axis_name: Any, perm: Pairs, **_: Any
    ) -> Value:
        attributes = self.attributes(b, axis_name, perm)
        start = b.op("stablehlo.create_token", abstract_token)
        return b.op("stablehlo.send", out, x, start, **attributes)


@final
class PRecv(OneSided):
    """What arrives, an array like `out_shape`, after what the token stands for.

    Params:
        out_shape: an aval; besides those of `OneSided`.
    """

    name = "precv"

    def abstract_eval(self, token: Any, *, out_shape: ShapedArray, **_: Any) -> ShapedArray:
        return out_shape

    def axis_flow(self, token: Any, *, out_shape: ShapedArray, **_: Any) -> AxisFlow:
        return AxisFlow(((),), ((None,) * out_shape.ndim,))

    def lower(
        self, b: Builder, out: Any, token: Value, *, axis_name: Any, perm: Pairs, **_: Any
    ) -> Value:
        attributes = self.attributes(b, axis_name, perm)
        return b.ops("stablehlo.recv", (out, abstract_token), token, **attributes)[0]


psend_p = PSend()
precv_p = PRecv()


def psend(x: Any, axis_name: Any, perm: Any) -> Any:
    """Send `x` from member to member along an axis of a mesh of GPUs.

    Args:
        x: array, or tree.
        axis_name: name of the axis; of several, the first counts slowest.
        perm: pairs (source, destination); nobody sends twice or receives twice.

    Returns:
        A token for each array of `x`, which `precv` takes.

    Raises:
        NameError: no axis of that name is in scope.
        ValueError: a pair names no member, or a member sends or receives twice.
        NotImplementedError: when it is compiled for other devices, differentiated or batched.

    Example:
        >>> import morphax as jax
        >>> import morphax.numpy as jnp
        >>> def shift(x):
        ...     token = jax.lax.psend(x, "i", [(0, 0)])
        ...     return jax.lax.precv(token, jax.ShapeDtypeStruct((2,), "float32"), "i", [(0, 0)])
        >>> spec = jax.P("i")
        >>> mesh = jax.make_mesh((1,), ("i",))
        >>> split = jax.shard_map(shift, mesh=mesh, in_specs=spec, out_specs=spec)
        >>> jax.eval_shape(split, jnp.ones(2)).shape
        (2,)
    """
    where = "lax.psend"
    names = named_axes(where, axis_name)
    params = {"axis_name": names, "perm": checked_pairs(where, perm, joint_size(names))}
    return map_operands(where, lambda leaf: psend_p.bind(leaf, **params), x, names)


def precv(token: Any, out_shape: Any, axis_name: Any, perm: Any) -> Any:
    """Receive what members along an axis of a mesh of GPUs send.

    Args:
        token: of the `psend` whose pairs are the same, or of `create_token`.
        out_shape: a `ShapeDtypeStruct` of what is sent, or a tree of them.
        axis_name: name of the axis; of several, the first counts slowest.
        perm: pairs (source, destination); nobody sends twice or receives twice.

    Returns:
        What arrives: zeros for members that are no destination.

    Raises:
        NameError: no axis of that name is in scope.
        TypeError: `token` is none.
        ValueError: a pair names no member, or a member sends or receives twice.
        NotImplementedError: when it is compiled for other devices, differentiated or batched.
    """
    where = "lax.precv"
    names = named_axes(where, axis_name)
    pairs = checked_pairs(where, perm, joint_size(names))
    if getattr(token, "aval", None) is not abstract_token:
        raise TypeError(
            message(
                f"{where}, argument token",
                given=described(token),
                expected="a token",
                fix="Pass what lax.psend or lax.create_token returns.",
            )
        )
    varying = axes_in_types(names)

    def receive(leaf: Any) -> Any:
        aval = ShapedArray(leaf.shape, np.dtype(leaf.dtype), vma=varying)
        return precv_p.bind(token, out_shape=aval, axis_name=names, perm=pairs)

    return tree.map(receive, out_shape)
