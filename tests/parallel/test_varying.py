"""Casts between kinds of values along an axis."""

from __future__ import annotations

from typing import Any

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


def test_casts_that_nobody_has_asked_for_may_be_forbidden() -> None:
    mesh = jax.make_mesh((2,), ("i",))

    def sums(cast: bool) -> str:
        def f(x: Any, y: Any) -> Any:
            return x + (lax.pcast(y, "i", to="varying") if cast else y)

        specs = (jax.P("i"), jax.P())
        mapped = jax.shard_map(f, mesh=mesh, in_specs=specs, out_specs=jax.P("i"))
        return str(jax.make_jaxpr(mapped)(np.ones(2), np.ones(1)))

    assert sums(cast=True) == sums(cast=False)
    with jax.auto_pcast(False):
        assert "pvary" in sums(cast=True)
        with pytest.raises(ValueError, match=r"auto_pcast\(False\)(.|\n)*float32\[1\]{V:i}"):
            sums(cast=False)
    assert "pvary" in sums(cast=False)
