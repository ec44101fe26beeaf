"""What the page of libraries says of a program that fails."""

from __future__ import annotations

import pytest

from tools import ecosystem

FILTERED = """\
Traceback (most recent call last):
  File "program.py", line 1, in <module>
morphax.errors.ShapeError: jnp.matmul (at program.py:1 (<module>))
  given:    operands of shapes (2, 3) and (2, 3)
  fix:      Transpose an operand.
--------------------
Frames of morphax are left out of this traceback; jax_traceback_filtering='off' shows them."""


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (FILTERED, "morphax.errors.ShapeError: jnp.matmul (at program.py:1 (<module>))"),
        ("KeyError: 'x'\n\nDuring handling:\n\nValueError: y", "ValueError: y"),
        ("killed", "killed"),
        ("", ""),
    ],
)
def test_the_line_that_names_the_error(error: str, expected: str) -> None:
    assert ecosystem.heart_of(error) == expected
