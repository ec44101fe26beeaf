"""`jax.extend.xla`: transformations of programs that XLA applies while it compiles them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import Enum
from typing import final

from ..engines.xla import hlo_transformations
from ..runtime import devices
from ..util.messages import described, message

__all__ = [
    "PipelineStage",
    "clear_hlo_module_transformation",
    "register_hlo_module_transformation",
]


@final
class PipelineStage(Enum):
    """When XLA calls a transformation: before or after it orders the operations of a program."""

    PRE_SCHEDULER = 0
    POST_SCHEDULER = 1


def register_hlo_module_transformation(
    callback: Callable[[bytes], bytes | None],
    *,
    name: str,
    stage: PipelineStage = PipelineStage.PRE_SCHEDULER,
    platforms: Sequence[str] | str | None = None,
) -> None:
    """Have XLA call a function for each program that it compiles from now on.

    Several are called in the order of their registration.  Such programs are not kept in the
    compile cache.

    Args:
        callback: takes a serialised ``HloModuleProto``, and returns one to be compiled in its
            place, or `None` to leave it as it is.
        name: for `clear_hlo_module_transformation`.
        stage: when it is called.
        platforms: for which, by name; for the CPU and the default one if left out.

    Raises:
        TypeError: if `stage` is no `PipelineStage`.
        RuntimeError: if there is no such platform.
        NotImplementedError: if jaxlib is older than 0.10.2.
    """
    number = _number(stage)
    for platform in _platforms(platforms):
        hlo_transformations.register(platform, name, number, callback)


def clear_hlo_module_transformation(
    name: str,
    stage: PipelineStage = PipelineStage.PRE_SCHEDULER,
    platforms: Sequence[str] | str | None = None,
) -> bool:
    """Undo `register_hlo_module_transformation`, once.

    Args:
        name, stage, platforms: as there.

    Returns:
        Whether there was such a transformation.
    """
    number = _number(stage)
    cleared = [hlo_transformations.clear(p, name, number) for p in _platforms(platforms)]
    return any(cleared)


def _number(stage: PipelineStage) -> int:
    if isinstance(stage, PipelineStage):
        return stage.value
    raise TypeError(
        message(
            "HLO module transformation, argument stage",
            given=described(stage),
            expected="a PipelineStage",
            fix="Pass PipelineStage.PRE_SCHEDULER.",
        )
    )


def _platforms(chosen: Sequence[str] | str | None) -> list[str]:
    if chosen is None:
        return list(dict.fromkeys(["cpu", devices.default_platform()]))
    names = [chosen] if isinstance(chosen, str) else list(chosen)
    return [devices.platform_named(name, "HLO module transformation") for name in names]
