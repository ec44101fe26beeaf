"""Parts of an axis."""

from __future__ import annotations

import numpy as np
import pytest

from morphax.parallel.parts import in_parts, part_size


def test_an_axis_is_parted_in_two() -> None:
    x = np.arange(12.0).reshape(2, 6)
    np.testing.assert_array_equal(in_parts(x, 1, 3), x.reshape(2, 3, 2))
    assert in_parts(np.zeros((2, 0)), 1, 0).shape == (2, 0, 1)


def test_sizes() -> None:
    assert part_size("f", (2, 6), 1, 3) == 2
    assert part_size("f", (2, 6), 1, 6, exactly_one=True) == 1
    with pytest.raises(ValueError, match="a multiple of 4"):
        part_size("f", (2, 6), 1, 4)
    with pytest.raises(ValueError, match="tiled=True"):
        part_size("f", (2, 6), 1, 3, exactly_one=True)
