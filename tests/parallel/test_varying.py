"""Casts between kinds of values along an axis."""

from __future__ import annotations

import numpy as np
import pytest

import morphax as jax
from morphax import lax


@pytest.mark.parametrize("to", ["reduced", "unreduced", "elsewhere"])
def test_vmap_knows_varying_values_only(to: str) -> None:
    with pytest.raises(ValueError, match=r"lax.pcast, argument to(.|\n)*'varying'"):
        jax.vmap(lambda x: lax.pcast(x, "i", to=to), axis_name="i")(np.ones(2))


def test_without_axes_nothing_is_cast() -> None:
    assert lax.pcast({"a": 1.0}, (), to="unreduced") == {"a": 1.0}
