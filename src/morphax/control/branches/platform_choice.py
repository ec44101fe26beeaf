"""Programs that depend on the platform they run on.

The choice is an integer that no operand decides: a primitive without operands gives it, where the
program is computed or compiled.  `cond` writes only the branch that a known integer chooses, so the
others may hold what this platform cannot compile.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, final

import numpy as np

from ...core import ShapedArray
from ...engines import loops
from ...engines.xla.stablehlo import Builder, Value
from ...lax.shape.filling import Nullary
from ...runtime.device import GPUS
from ...runtime.devices import default_platform
from ...util.messages import message
from .branching import check_functions, chosen_branch

Platforms = tuple[tuple[str, ...] | None, ...]
"""For each branch the platforms it is for; `None` stands for all."""


def _matches(names: tuple[str, ...] | None, platform: str) -> bool:
    kinds = ("gpu", platform) if platform in GPUS else (platform,)
    return names is None or not set(kinds).isdisjoint(names)


def _chosen(platforms: Platforms, platform: str) -> int:
    """The number of the first branch that is for `platform`."""
    for number, names in enumerate(platforms):
        if _matches(names, platform):
            return number
    raise NotImplementedError(
        message(
            "lax.platform_dependent",
            given=f"functions for {', '.join(n for names in platforms for n in names or ())}",
            expected=f"one for the platform {platform!r}, or for all",
            fix="Pass default=, the function for all other platforms.",
        )
    )


@final
class PlatformIndex(Nullary):
    """The number of the branch for the platform of the program.

    Params:
        platforms: what each branch is for.
    """

    name = "platform_index"

    def abstract_eval(self, *, platforms: Platforms) -> ShapedArray:
        return ShapedArray((), np.int32)

    def evaluate(self, *, platforms: Platforms) -> Any:
        return np.array(_chosen(platforms, default_platform()), np.int32)

    def lower(self, b: Builder, out: ShapedArray, *, platforms: Platforms) -> Value:
        return b.constant(_chosen(platforms, b.module.platform), out)

    def to_loops(self, b: loops.Builder, out: ShapedArray, *, platforms: Platforms) -> loops.Value:
        return b.uniform((), b.writer.number(_chosen(platforms, "cpu"), out.dtype))


platform_index_p = PlatformIndex()


def platform_dependent(
    *args: Any, default: Callable[..., Any] | None = None, **per_platform: Callable[..., Any]
) -> Any:
    """Apply the function for the platform on which the program runs.

    Args:
        *args: arrays or trees.
        default: the function for platforms that are not named.
        **per_platform: functions by platform, such as ``cpu=``, ``cuda=``, ``rocm=`` or ``tpu=``;
            all have results of one structure, shapes and dtypes.

    Raises:
        NotImplementedError: there is none for the platform, at its compilation.
        TypeError: the results of the functions differ.

    Example:
        >>> import morphax as jax, morphax.numpy as jnp
        >>> jax.lax.platform_dependent(1.0, cpu=lambda x: x + 1, default=jnp.negative)
        Array(2., dtype=float32, weak_type=True)
    """
    functions = {(name,): f for name, f in per_platform.items()}
    platforms: Platforms = (*functions, *(() if default is None else (None,)))
    branches = (*functions.values(), *(() if default is None else (default,)))
    if not branches:
        _chosen(platforms, default_platform())
    check_functions("lax.platform_dependent", branches)
    index = platform_index_p.bind(platforms=platforms)
    return chosen_branch("lax.platform_dependent", index, branches, args, always=True)
