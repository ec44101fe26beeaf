"""Gathering whose result has a type that is the same for all members of a mesh."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any, final

from ..core import NoRule
from ..core.varying import varying_over
from ..lax.indexing.dynamic_slicing import dynamic_slice_in_dim
from ..lax.shape.shape_operations import squeeze
from .all_gathering import AllGathering
from .collective import NO_MEMBERS
from .positions import axis_index


@final
class AllGatherInvariant(AllGathering):
    """The operands of all members along mesh axes, together: the same for all of them.

    Each member reads the cotangent of its own part, for the cotangent is the same for all too.
    """

    name = "all_gather_invariant"
    collect = NoRule("collect", NO_MEMBERS)

    def varies_over(
        self, names: frozenset[Hashable], *, axis_name: tuple[Any, ...], **_: Any
    ) -> frozenset[Hashable]:
        return names - frozenset(axis_name)

    def transpose(
        self,
        ct: Any,
        x: Any,
        *,
        axis_name: tuple[Any, ...],
        all_gather_dimension: int,
        tiled: bool,
        **_: Any,
    ) -> list[Any]:
        size = x.aval.shape[all_gather_dimension] if tiled else 1
        start = axis_index(axis_name) * size
        part = dynamic_slice_in_dim(varying_over(ct, axis_name), start, size, all_gather_dimension)
        return [part if tiled else squeeze(part, (all_gather_dimension,))]


all_gather_invariant_p = AllGatherInvariant()
