"""`pmap`: one device for each member along an axis of the arguments.

It is `shard_map` over a mesh of one axis, compiled, whose shards are members: of size one along
the mapped axis, which functions do not see.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Any, final

from ... import tree
from ...control.jit.jit import jit
from ...core import aval_of, frames_hidden_in
from ...lax.ground.axes import canonical_axis, integer_tuple
from ...lax.shape.shape_operations import expand_dims, squeeze
from ...runtime.device import Device
from ...runtime.devices import local_devices
from ...runtime.mesh import Mesh
from ...transforms.flattening import check_callable, function_label
from ...util.messages import message
from .shard_map import shard_map
from .smap import specs_of_axes


def pmap(
    fun: Callable[..., Any],
    axis_name: Hashable | None = None,
    *,
    in_axes: Any = 0,
    out_axes: Any = 0,
    static_broadcasted_argnums: int | Iterable[int] = (),
    devices: Sequence[Device] | None = None,
    backend: str | None = None,
    axis_size: int | None = None,
    donate_argnums: int | Iterable[int] = (),
) -> Any:
    """Map `fun` over an axis of its arguments, each member on a device of its own.

    Prefer `jit` with shardings, or `shard_map`, in new programs.

    Args:
        fun: function of arrays or trees, written for one member.
        axis_name: by which collectives such as `lax.psum` refer to the mapped axis.
        in_axes: the mapped axis of each positional argument (a tree prefix of the tuple), `None`
            for one that all members share.  Keyword arguments are mapped over axis 0.
        out_axes: where the mapped axis of each result goes; `None` for a result of which the value
            of one member is taken.
        static_broadcasted_argnums: arguments that are Python values, shared by all members.
        devices: those of the members; the first of `jax.local_devices` if left out.
        backend: the platform whose devices these are.
        axis_size: the number of members, needed only if no argument is mapped.
        donate_argnums: arguments whose memory the results may take over.

    Returns:
        The mapped function, compiled; its attribute `lower` lowers it for arguments.

    Raises:
        ValueError: sizes of mapped axes differ, no argument is mapped, or there are fewer devices
            than members.

    Example:
        >>> import morphax as jax
        >>> import morphax.numpy as jnp
        >>> jax.pmap(lambda x: x / jax.lax.psum(x, "i"), axis_name="i")(jnp.array([2.0]))
        Array([1.], dtype=float32)
    """
    check_callable("pmap", fun)
    return _Mapped(
        fun,
        axis_name,
        tuple(in_axes) if isinstance(in_axes, list) else in_axes,
        out_axes,
        _numbers("static_broadcasted_argnums", static_broadcasted_argnums),
        None if devices is None else tuple(devices),
        backend,
        axis_size,
        _numbers("donate_argnums", donate_argnums),
    )


def _numbers(argument: str, given: int | Iterable[int]) -> tuple[int, ...]:
    return integer_tuple(f"pmap, argument {argument}", [given] if isinstance(given, int) else given)


@final
class _Mapped:
    """The function that `pmap` gives; it keeps a compiled one for each number of members."""

    def __init__(
        self,
        fun: Callable[..., Any],
        axis_name: Hashable | None,
        in_axes: Any,
        out_axes: Any,
        static: tuple[int, ...],
        devices: tuple[Device, ...] | None,
        backend: str | None,
        axis_size: int | None,
        donated: tuple[int, ...],
    ) -> None:
        functools.update_wrapper(self, fun)
        self._fun = fun
        # A name that nobody else has.
        self._name = f"<axis {id(self):#x}>" if axis_name is None else axis_name
        self._in_axes, self._out_axes = in_axes, out_axes
        self._static, self._donated = static, donated
        self._devices, self._backend, self._size = devices, backend, axis_size
        self._of_size: dict[int, Any] = {}
        self._call = frames_hidden_in(self._called)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._call(*args, **kwargs)

    def lower(self, *args: Any, **kwargs: Any) -> Any:
        """The program for these arguments, lowered: a `jax.stages.Lowered`."""
        return self._jitted(args, kwargs).lower(*args, **kwargs)

    def trace(self, *args: Any, **kwargs: Any) -> Any:
        """The program for these arguments, traced: a `jax.stages.Traced`."""
        return self._jitted(args, kwargs).trace(*args, **kwargs)

    def _called(self, *args: Any, **kwargs: Any) -> Any:
        return self._jitted(args, kwargs)(*args, **kwargs)

    def _jitted(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """The compiled function for as many members as the arguments have."""
        size = self._members(args, kwargs)
        known = self._of_size.get(size)
        if known is None:
            of_size = functools.partial(self._spread, self._mesh(size))
            functools.update_wrapper(of_size, self._fun)
            known = self._of_size[size] = jit(
                of_size, static_argnums=self._static, donate_argnums=self._donated
            )
        return known

    def _members(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> int:
        """How many members there are."""
        dynamic = self._dynamic(args)
        pairs = [*zip(tree.leaves(dynamic), self._axes(dynamic), strict=True)]
        pairs += [(leaf, 0) for leaf in tree.leaves(kwargs)]
        sizes = {
            aval_of(x).shape[canonical_axis("pmap, argument in_axes", d, aval_of(x).ndim)]
            for x, d in pairs
            if d is not None
        }
        if self._size is not None:
            sizes.add(self._size)
        if len(sizes) == 1:
            return int(sizes.pop())
        raise ValueError(
            message(
                f"pmap of {function_label(self._fun)}",
                given=f"mapped axes of the sizes {sorted(sizes)}"
                if sizes
                else "no mapped argument",
                expected="mapped axes of one size, or axis_size",
                fix="Give all mapped arguments as many members, or say axis_size.",
            )
        )

    def _dynamic(self, args: tuple[Any, ...]) -> tuple[Any, ...]:
        static = {n % len(args) for n in self._static if args}
        return tuple([x for i, x in enumerate(args) if i not in static])

    def _axes(self, dynamic: tuple[Any, ...]) -> list[Any]:
        """The mapped axis of each leaf."""
        axes = self._in_axes
        if isinstance(axes, tuple) and len(axes) > len(dynamic):
            # Static arguments have entries too.
            static = {n % len(axes) for n in self._static}
            axes = tuple([d for i, d in enumerate(axes) if i not in static])
        return tree.broadcast_prefix(
            axes,
            dynamic,
            lambda x: x is None,
            where="pmap",
            prefix_name="in_axes",
            full_name="args",
        )

    def _mesh(self, size: int) -> Mesh:
        devices = self._devices
        if devices is None:
            devices = tuple(local_devices(backend=self._backend))
        if 0 < size <= len(devices):
            return Mesh(devices[:size], (self._name,))
        raise ValueError(
            message(
                f"pmap of {function_label(self._fun)}",
                given=f"{size} members, and {len(devices)} devices",
                expected="at least one member, and at most as many members as devices",
                fix="Map further members with vmap inside, or, on a CPU, set jax_num_cpu_devices.",
            )
        )

    def _spread(self, mesh: Mesh, *args: Any, **kwargs: Any) -> Any:
        """The function of whole arrays."""
        static = {n % len(args) for n in self._static if args}
        fixed = {i: x for i, x in enumerate(args) if i in static}
        dynamic = self._dynamic(args)
        axes = self._axes(dynamic)
        leaves, structure = tree.flatten((dynamic, kwargs))
        dims = [*axes, *[0] * (len(leaves) - len(axes))]
        dims = [d if d is None else d % aval_of(x).ndim for x, d in zip(leaves, dims, strict=True)]

        def of_member(*shards: Any) -> Any:
            given = [
                x if d is None else squeeze(x, (d,)) for x, d in zip(shards, dims, strict=True)
            ]
            own, named = structure.unflatten(given)
            rest = iter(own)
            out = self._fun(
                *[fixed[i] if i in fixed else next(rest) for i in range(len(args))], **named
            )
            return self._joined(out)

        functools.update_wrapper(of_member, self._fun, updated=())
        return shard_map(
            of_member,
            mesh=mesh,
            in_specs=tuple(specs_of_axes("pmap", dims, self._name)),
            out_specs=specs_of_axes("pmap, argument out_axes", self._out_axes, self._name),
            check_vma=False,
        )(*leaves)

    def _joined(self, out: Any) -> Any:
        """The results of a member with the mapped axis, along which they are joined."""
        leaves, structure = tree.flatten(out)
        axes = tree.flatten_axes("pmap", structure, self._out_axes, "out_axes")
        return structure.unflatten(
            [x if d is None else expand_dims(x, (d,)) for x, d in zip(leaves, axes, strict=True)]
        )
