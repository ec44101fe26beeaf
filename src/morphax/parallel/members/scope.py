"""Where the program of a member is traced and transformed: its axes have names there."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from contextlib import contextmanager, nullcontext

from ...core import NamedAxis, with_axes
from ...core.mesh import AxisType
from ...runtime.current_mesh import use_abstract_mesh
from ...runtime.mesh import Mesh, mesh_of_block
from .specs import AnyMesh


@contextmanager
def member_scope(mesh: AnyMesh, manual_axes: frozenset[Hashable], in_types: bool) -> Iterator[None]:
    """Context in which collectives may refer to the axes of a mesh.

    Args:
        mesh: the mesh.
        manual_axes: those of its axes along which there are members.
        in_types: whether types say what varies along them.
    """
    known = mesh_of_block(mesh) if isinstance(mesh, Mesh) else nullcontext()
    axes = [NamedAxis(n, size, in_types) for n, size in mesh.shape_tuple if n in manual_axes]
    types = dict.fromkeys(manual_axes, AxisType.Manual)
    within = mesh.abstract_mesh.update_axis_types(types)
    with known, use_abstract_mesh(within), with_axes(axes):
        yield
