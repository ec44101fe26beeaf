"""Groups of members: what is no partition is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import morphax as jax
from morphax import lax

X = np.ones((4, 4), np.float32)

CALLS: dict[str, Any] = {
    "lax.psum": lax.psum,
    "lax.pmean": lax.pmean,
    "lax.pmax": lax.pmax,
    "lax.pmin": lax.pmin,
    "lax.all_gather": lax.all_gather,
    "lax.psum_scatter": lax.psum_scatter,
    "lax.all_to_all": lambda x, i, **k: lax.all_to_all(x, i, 0, 0, **k),
}


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize(
    "groups",
    [[[0, 1], [2]], [[0, 1], [1, 2]], [[0, 1], [2, 4]], [[0, 1, 2], [3]], [], [[], [0, 1, 2, 3]]],
    ids=str,
)
def test_groups_that_do_not_part_the_members(name: str, groups: Any) -> None:
    with pytest.raises(ValueError, match=rf"{name}, argument axis_index_groups(.|\n)*size 4"):
        jax.vmap(lambda x: CALLS[name](x, "i", axis_index_groups=groups), axis_name="i")(X)


def test_positions_are_integers() -> None:
    with pytest.raises(TypeError, match="axis_index_groups"):
        jax.vmap(lambda x: lax.psum(x, "i", axis_index_groups=[["a"]]), axis_name="i")(X)
