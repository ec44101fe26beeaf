"""`Exported`: a function as a StableHLO module, with all that is needed to call it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import field
from typing import Any, final

from .. import tree
from ..core import AbstractMesh, ShapedArray
from ..core.effects import Effect
from ..engines.xla.portable import module_of
from ..runtime.mesh import Mesh
from ..runtime.named_sharding import NamedSharding
from ..tree import PyTreeDef
from ..util.messages import message
from ..util.records import dataclass
from ._calls import Signature, call_flat, signature_of
from ._checks import DisabledSafetyCheck
from ._format import serialized


@final
@dataclass(frozen=True, eq=False, repr=False)
class Exported:
    """A function lowered to a StableHLO module, ready to be called, or kept for later.

    Args:
        fun_name: the name of the function.
        in_tree: the structure of ``(args, kwargs)``.
        in_avals: of the leaves of the arguments; sizes may be symbolic.
        out_tree, out_avals: of the result, likewise; its symbols are among those of `in_avals`.
        in_shardings_hlo, out_shardings_hlo: `None` for each leaf, as in JAX since it keeps named
            shardings; see `in_shardings_jax`.
        nr_devices: on how many devices the module runs.
        platforms: those it is for.  If they are several, ``main`` takes the position of the one
            on which it runs among them first, an int32.
        ordered_effects, unordered_effects: of which there are none yet.
        disabled_safety_checks: that were left out.
        mlir_module_serialized: the module as a portable artifact of StableHLO.
        calling_convention_version: of how ``main`` is to be called.
        module_kept_var_idx: which leaves of the arguments ``main`` takes, in order.
        uses_global_constants: whether the module must be refined before it is compiled, because
            sizes are symbolic or platforms several.

    Example:
        >>> import morphax as jax
        >>> from morphax import export
        >>> exported = export.export(jax.jit(lambda x: 2.0 * x))(jax.ShapeDtypeStruct((3,), "f4"))
        >>> exported.in_avals, exported.platforms == (export.default_export_platform(),)
        ((ShapedArray(float32[3]),), True)
        >>> exported.call(jax.numpy.arange(3.0))
        Array([0., 2., 4.], dtype=float32)
    """

    fun_name: str
    in_tree: PyTreeDef
    in_avals: tuple[ShapedArray, ...]
    out_tree: PyTreeDef
    out_avals: tuple[ShapedArray, ...]
    _has_named_shardings: bool
    _in_named_shardings: tuple[NamedSharding | None, ...]
    _out_named_shardings: tuple[NamedSharding | None, ...]
    in_shardings_hlo: tuple[None, ...]
    out_shardings_hlo: tuple[None, ...]
    nr_devices: int
    platforms: tuple[str, ...]
    ordered_effects: tuple[Effect, ...]
    unordered_effects: tuple[Effect, ...]
    disabled_safety_checks: Sequence[DisabledSafetyCheck]
    mlir_module_serialized: bytes = field(repr=False)
    calling_convention_version: int
    module_kept_var_idx: tuple[int, ...]
    uses_global_constants: bool
    _get_vjp: Callable[[Exported], Exported] | None

    @property
    def signature(self) -> Signature:
        """What calls of it share."""
        known = self.__dict__.get("_signature")
        if known is None:
            known = self.__dict__["_signature"] = signature_of(self, argument_names(self.in_tree))
        return known

    def _pullback(self) -> Exported:
        if self._get_vjp is None:
            raise ValueError(
                message(
                    f"vjp of {self.fun_name}",
                    given="a program that was exported without its derivative",
                    expected="one that was serialized with vjp_order of 1 or more",
                    fix="Serialize it with exported.serialize(vjp_order=1).",
                )
            )
        return self._get_vjp(self)

    def call(self, *args: Any, **kwargs: Any) -> Any:
        """Call the function; in programs too, which may be differentiated in reverse and batched.

        Args:
            *args: arguments of the structure, shapes and dtypes for which it was exported.
            **kwargs: the same, by name.

        Raises:
            ValueError: if they are not, if a constraint on sizes does not hold, or the program is
                for other platforms or another number of devices.

        Example:
            >>> import morphax as jax
            >>> from morphax import export
            >>> (n,) = export.symbolic_shape("n")
            >>> exported = export.export(jax.jit(lambda x: x.sum()))(
            ...     jax.ShapeDtypeStruct((n,), "f4")
            ... )
            >>> jax.grad(exported.call)(jax.numpy.arange(3.0))
            Array([1., 1., 1.], dtype=float32)
        """
        return call_flat(self, args, kwargs)

    def mlir_module(self, serialized: bool = True) -> Any:
        """The StableHLO module: its text, or, unless `serialized`, an object of MLIR."""
        module = module_of(self.mlir_module_serialized, f"mlir_module of {self.fun_name}")
        return str(module) if serialized else module

    def has_vjp(self) -> bool:
        """Whether `vjp` is there."""
        return self._get_vjp is not None

    def vjp(self) -> Exported:
        """The pullback: of the leaves of arguments and cotangents of results, cotangents of all.

        Example:
            >>> import morphax as jax
            >>> from morphax import export
            >>> exported = export.export(jax.jit(lambda x: x**2))(jax.ShapeDtypeStruct((), "f4"))
            >>> exported.vjp().call(3.0, 1.0)
            (Array(6., dtype=float32),)
        """
        known = self.__dict__.get("_known_vjp")
        if known is None:
            known = self.__dict__["_known_vjp"] = self._pullback()
        return known

    def serialize(self, vjp_order: int = 0) -> bytearray:
        """The function as bytes, which `deserialize` reads, in another process or version too.

        Args:
            vjp_order: up to which order its pullbacks are among them.

        Raises:
            ValueError: if the order is negative, or the arguments or results contain classes that
                `register_pytree_node_serialization` does not know.
        """
        return serialized(self, vjp_order)

    def in_shardings_jax(self, mesh: Mesh | AbstractMesh) -> Sequence[NamedSharding | None]:
        """How the arguments lie, over a mesh like the one for which the function was exported.

        Args:
            mesh: of devices; its axes have the same names and sizes.
        """
        return _over(mesh, self._in_named_shardings, "in_shardings_jax")

    def out_shardings_jax(self, mesh: Mesh | AbstractMesh) -> Sequence[NamedSharding | None]:
        """How the results lie; see `in_shardings_jax`."""
        return _over(mesh, self._out_named_shardings, "out_shardings_jax")

    def __repr__(self) -> str:
        return f"Exported(fun_name={self.fun_name}, ...)"


def _over(
    mesh: Mesh | AbstractMesh, shardings: Sequence[NamedSharding | None], where: str
) -> tuple[NamedSharding | None, ...]:
    for sharding in shardings:
        if sharding is not None and sharding.mesh.shape_tuple != mesh.shape_tuple:
            raise ValueError(
                message(
                    f"{where}, argument mesh",
                    given=f"a mesh with the axes {dict(mesh.shape_tuple)}",
                    expected=f"the axes {dict(sharding.mesh.shape_tuple)} of the exported program",
                    fix="Make a mesh with axes of these names and sizes.",
                )
            )
    return tuple([s if s is None else NamedSharding(mesh, s.spec) for s in shardings])


def argument_names(in_tree: PyTreeDef) -> list[str]:
    """``args[0]``, ``args[1]['w']``, ``kwargs['x']``, … for all leaves."""
    stand_ins = in_tree.unflatten(range(in_tree.num_leaves))
    parts = zip(("args", "kwargs"), stand_ins, strict=True)
    return [
        part + tree.keystr(path) for part, x in parts for path, _ in tree.flatten_with_path(x)[0]
    ]
