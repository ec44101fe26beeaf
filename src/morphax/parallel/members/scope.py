"""Where the program of a member is traced and transformed: its axes have names there."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext

from ...core import NamedAxis, with_axes
from ...runtime.current_mesh import use_abstract_mesh
from ...runtime.mesh import Mesh, mesh_of_block
from .specs import Members


@contextmanager
def member_scope(members: Members) -> Iterator[None]:
    """Context in which collectives may refer to the axes along which there are members."""
    mesh, manual_axes, check_vma = members
    known = mesh_of_block(mesh) if isinstance(mesh, Mesh) else nullcontext()
    typed = mesh.in_types(manual_axes) if check_vma else ()
    axes = [NamedAxis(n, size, n in typed) for n, size in mesh.shape_tuple if n in manual_axes]
    with known, use_abstract_mesh(members.inner_mesh), with_axes(axes):
        yield
