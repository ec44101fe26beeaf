"""Accuracy requests: accepted where JAX accepts them, refused where they ask for nothing."""

from __future__ import annotations

import numpy as np
import pytest

from morphax import lax
from morphax.lax.ground.accuracy import AccuracyMode, Tolerance

FUNCTIONS = (
    "cbrt", "cos", "exp", "exp2", "expm1", "log", "log1p", "logistic", "rsqrt", "sin", "sqrt",
    "tan", "tanh",
)  # fmt: skip


@pytest.mark.parametrize("name", FUNCTIONS)
def test_accuracy_changes_nothing(name: str) -> None:
    function, x = getattr(lax, name), np.float32(0.5)
    for accuracy in (None, AccuracyMode.HIGHEST, Tolerance(ulps=2)):
        assert function(x, accuracy=accuracy).to_host() == function(x).to_host()


def test_accuracy_is_a_keyword() -> None:
    with pytest.raises(TypeError, match="positional"):
        lax.exp(np.float32(0), None)


@pytest.mark.parametrize("bounds", [(-1.0, 0.0, 0), (0.0, 0.0, 0), (1e-3, 0.0, -1)])
def test_bounds_that_ask_for_nothing_are_refused(bounds: tuple) -> None:
    with pytest.raises(ValueError, match=r"lax\.Tolerance[\s\S]*atol=[\s\S]*not negative"):
        Tolerance(*bounds)
