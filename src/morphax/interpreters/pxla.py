"""`jax.interpreters.pxla`: the mesh of a block ``with mesh:``, as older programs ask for it."""

from __future__ import annotations

import warnings
from typing import Any, NamedTuple, final

from ..runtime.mesh import Mesh, mesh_of_block


class ResourceEnv(NamedTuple):
    """What programs are laid out over.

    Args:
        physical_mesh: the mesh of the innermost block; one without axes if there is none.
    """

    physical_mesh: Mesh


@final
class _ThreadResources:
    @property
    def env(self) -> ResourceEnv:
        mesh: Mesh | None = mesh_of_block.value
        return ResourceEnv(Mesh((), ()) if mesh is None else mesh)


def __getattr__(name: str) -> Any:
    if name != "thread_resources":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}", name=name)
    text = "jax.interpreters.pxla.thread_resources is an old name; call jax.sharding.get_mesh"
    warnings.warn(text, DeprecationWarning, stacklevel=2)
    return _ThreadResources()
