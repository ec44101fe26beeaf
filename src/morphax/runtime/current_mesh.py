"""The mesh in force: `set_mesh`, and what asks for it.

It is part of what traced programs depend on, as configuration is.
"""

from __future__ import annotations

from typing import Any, Final, final

from ..config import make_user_context
from ..core.aval import ShapedArray, install_shown_sharding
from ..core.mesh import AbstractMesh
from ..core.partition_spec import PartitionSpec
from ..core.shape_struct import install_meaning_of_specs
from ..util.messages import described, message
from .mesh import Mesh, mesh_of_block
from .named_sharding import NamedSharding, named
from .sharding import Sharding

_current: Final = make_user_context(None)
_current_abstract: Final = make_user_context(None)
_no_mesh: Final = AbstractMesh((), ())


@final
class set_mesh:
    """Make a mesh the current one: from now on, or for a block that is entered with the result.

    A `PartitionSpec` then means a sharding over that mesh, wherever a sharding may be given.

    Args:
        mesh: the mesh, or `None` for none.

    Raises:
        TypeError: if `mesh` is no mesh of devices.

    Example:
        >>> import morphax as jax
        >>> with jax.set_mesh(jax.make_mesh((1,), ("x",))):
        ...     jax.device_put(1.0, jax.P()).sharding.spec
        P()
    """

    __slots__ = ("_mesh", "_override")

    def __init__(self, mesh: Mesh | None) -> None:
        if mesh is not None and not isinstance(mesh, Mesh):
            raise ValueError(
                message(
                    "set_mesh, argument mesh",
                    given=described(mesh),
                    expected="a jax.sharding.Mesh, or None",
                    fix="Make one by jax.make_mesh.",
                )
            )
        self._mesh = mesh
        self._override = _current(mesh)
        self._override.__enter__()

    def __enter__(self) -> Mesh | None:
        return self._mesh

    def __exit__(self, *exc: Any) -> None:
        self._override.__exit__(*exc)


def get_mesh() -> Mesh:
    """The current mesh; one without axes if there is none.

    Example:
        >>> import morphax as jax
        >>> jax.sharding.get_mesh().empty
        True
    """
    mesh: Mesh | None = _current.value
    return Mesh((), ()) if mesh is None else mesh


def get_abstract_mesh() -> AbstractMesh:
    """The axes of the current mesh; none if there is no mesh.

    Example:
        >>> import morphax as jax
        >>> jax.sharding.get_abstract_mesh()
        AbstractMesh((), axis_types=())
    """
    chosen: AbstractMesh | None = _current_abstract.value
    if chosen is not None:
        return chosen
    mesh: Mesh | None = _current.value
    return _no_mesh if mesh is None else mesh.abstract_mesh


def mesh_with_axes(axes: AbstractMesh, near: Mesh | AbstractMesh | None = None) -> Mesh | None:
    """The mesh of devices that types mean which speak of these axes.

    Args:
        axes: their mesh.
        near: the mesh that an operand is on.

    Returns:
        That of the operand or the current one, if it has such axes; else the only one that has; and
        if there is none, the devices of the first of both along these axes.
    """
    meshes = [mesh for mesh in (near, _current.value) if isinstance(mesh, Mesh)]
    for mesh in meshes:
        if mesh.abstract_mesh.has_axes_of(axes):
            return mesh.along(axes)
    named = Mesh.with_axes_of(axes)
    return meshes[0].along(axes) if named is None and meshes else named


def with_devices(sharding: Any) -> Any:
    """A sharding over the axes of a mesh as one over the devices that these mean now, if any do."""
    if not isinstance(sharding, NamedSharding) or not isinstance(sharding.mesh, AbstractMesh):
        return sharding
    mesh = None if sharding.mesh.empty else mesh_with_axes(sharding.mesh)
    return sharding if mesh is None else sharding.update(mesh=mesh)


@final
class use_abstract_mesh:
    """Context in which `get_abstract_mesh` gives a mesh that has no devices.

    Args:
        mesh: its axes.

    Example:
        >>> import morphax as jax
        >>> with jax.sharding.use_abstract_mesh(jax.sharding.AbstractMesh((2,), ("x",))):
        ...     jax.sharding.get_abstract_mesh().size
        2
    """

    __slots__ = ("_mesh", "_override")

    def __init__(self, mesh: AbstractMesh) -> None:
        if not isinstance(mesh, AbstractMesh):
            raise ValueError(
                message(
                    "use_abstract_mesh, argument mesh",
                    given=described(mesh),
                    expected="a jax.sharding.AbstractMesh",
                    fix="Pass mesh.abstract_mesh, or call jax.set_mesh(mesh).",
                )
            )
        self._mesh = mesh

    def __enter__(self) -> AbstractMesh:
        self._override = _current_abstract(self._mesh)
        self._override.__enter__()
        return self._mesh

    def __exit__(self, *exc: Any) -> None:
        self._override.__exit__(*exc)


def sharding_of_spec(
    spec: PartitionSpec, where: str, missing: type[Exception] = ValueError
) -> Sharding:
    """The sharding that a spec means under the current mesh.

    Args:
        spec: over axes of the mesh.
        where: who was given it, for error text.
        missing: the error if there is no current mesh.

    Raises:
        ValueError: if the mesh has no such axes.
    """
    mesh: Mesh | None = _current.value
    if mesh is None and missing is not ValueError:
        mesh = mesh_of_block.value
    types: AbstractMesh | None = _current_abstract.value
    if types is not None and not types.empty:
        return NamedSharding(mesh_with_axes(types) or types, spec)
    if mesh is None or mesh.empty:
        raise missing(
            message(
                where,
                given=f"{spec!r} while there is no current mesh",
                expected="a mesh that it speaks of",
                fix="Call it under `with jax.set_mesh(mesh):`, or pass "
                "jax.NamedSharding(mesh, spec).",
            )
        )
    return NamedSharding(mesh, spec)


def _shown(aval: ShapedArray) -> NamedSharding:
    """What a type says for users; one that says nothing, that it is whole on the current mesh."""
    if aval.split is None:
        return NamedSharding(get_abstract_mesh(), PartitionSpec(*[None] * aval.ndim))
    return named(aval.split)


install_meaning_of_specs(sharding_of_spec)
install_shown_sharding(_shown)
