"""How values are on the axes of a mesh along which members run a program."""

from __future__ import annotations

from typing import Any

import pytest

from morphax.sharding import AbstractMesh, AxisType, ManualAxisType


def test_sets_of_axes() -> None:
    kind = ManualAxisType(varying={"x"}, unreduced={"y"}, reduced={"z"})
    assert kind.vur == {"x", "y", "z"}
    assert kind.to_ct_mat() == ManualAxisType(varying={"x"}, unreduced={"z"}, reduced={"y"})
    assert kind.update(varying=set()) == ManualAxisType(unreduced={"y"}, reduced={"z"})
    assert ManualAxisType().empty
    assert not kind.empty
    assert hash(kind) == hash(kind.update())
    assert repr(ManualAxisType(varying={"x"})) == (
        "ManualAxisType(varying=frozenset({'x'}), unreduced=frozenset(), reduced=frozenset())"
    )
    mesh = AbstractMesh((2, 2), ("x", "w"), AxisType.Manual)
    assert kind.invarying(mesh) == {"w"}


@pytest.mark.parametrize(
    ("given", "error"),
    [
        ({"varying": "x"}, TypeError),
        ({"reduced": ["x"]}, TypeError),
        ({"varying": {"x"}, "unreduced": {"x"}}, ValueError),
        ({"varying": {"x"}, "reduced": {"x"}}, ValueError),
    ],
)
def test_wrong_sets_are_refused(given: dict[str, Any], error: type[Exception]) -> None:
    with pytest.raises(error, match=r"(?s)ManualAxisType.*given:.*fix:"):
        ManualAxisType(**given)
