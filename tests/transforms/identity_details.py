"""More programs of `identity_cases`: what is told apart besides the numbers that are seen.

How arrays of NumPy lie in memory, and in whose; attributes where none are expected; names; settings
of NumPy's that its operations and texts depend on.
"""

from __future__ import annotations

import collections
import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np

from morphax import numpy as jnp
from tests.transforms.identity_cases import Case, Observed, between


class Number(np.float64):
    """A scalar of NumPy with an attribute."""

    def __init__(self, scale: float) -> None:
        self.scale = scale

    def __new__(cls, scale: float) -> Any:
        return super().__new__(cls, 1.0)


def with_scale(value: Any, scale: float) -> Any:
    value.scale = scale
    return value


def written_and_read(written: Any, read: Any) -> float:
    """What stands in one array while something is written to another."""
    written += 1.0
    found = float(read.ravel()[0])
    written -= 1.0
    return found


def variable() -> tuple[Callable[[float], None], Callable[[], float]]:
    """What sets a variable, and what gets it."""
    held = 2.0

    def set_it(value: float) -> None:
        nonlocal held
        held = value

    return set_it, lambda: held


def set_and_got(set_it: Any, get: Any) -> float:
    """What a variable holds while one, the same or not, is set."""
    set_it(3.0)
    found = float(get())
    set_it(2.0)
    return found


FIRST, SECOND = variable(), variable()
ROWS, ZEROS = np.arange(6.0).reshape(2, 3), np.zeros(3)


def name_of_a_class() -> Case:
    class Owner:
        pass

    return Case(
        lambda v: setattr(Owner, "__name__", "a" * int(v)),
        lambda: lambda x: x * len(Owner.__name__),
    )


def attribute_between_double_underscores() -> Case:
    class Owner:
        __wrapped__ = 2.0

    return Case(lambda v: setattr(Owner, "__wrapped__", v), lambda: lambda x: x * Owner.__wrapped__)


def deleted_array() -> Case:
    array = jnp.ones(())

    def change(value: Any) -> None:
        if value != 2.0:
            array.delete()

    return Case(change, lambda: lambda x: x * (3.0 if array.is_deleted() else 2.0))


def type_of_a_field() -> Case:
    @dataclasses.dataclass
    class Point:
        x: int = 0

    (field,) = dataclasses.fields(Point)
    return Case(
        lambda v: setattr(field, "type", int if v == 2.0 else float),
        lambda: lambda x: x * field.type(2.5),
    )


def options_of_printing() -> Case:
    array = np.array([1.23456789])

    def make() -> Observed:
        return Observed(
            lambda x: x * len(f"{array}"),
            lambda: np.set_printoptions(precision=8),  # the default
        )

    return Case(lambda v: np.set_printoptions(precision=int(v)), make)


def reports_of_numpys_errors() -> Case:
    zero = np.zeros(1)

    def quotient(x: Any) -> Any:
        try:
            return x * (1.0 if np.divide(1.0, zero)[0] > 1.0 else 2.0)
        except FloatingPointError:
            return x * 3.0

    def make() -> Observed:
        return Observed(lambda x: quotient(x), lambda: np.seterr(divide="warn"))

    return Case(lambda v: np.seterr(divide="ignore" if v == 2.0 else "raise"), make)


DETAILS: dict[str, Callable[[], Case]] = {
    "order in memory": between(lambda a, x: x * a.ravel("K")[1], ROWS, np.asfortranarray(ROWS)),
    "whether it may change": between(
        lambda a, x: x * (2.0 if a.flags.writeable else 3.0),
        np.ones(1),
        np.frombuffer(np.ones(1).tobytes()),
    ),
    "memory of two arrays": between(
        lambda two, x: x * written_and_read(*two), (ROWS[:], ROWS[:]), (ROWS[:], ROWS.copy())
    ),
    "places in one memory": between(
        lambda two, x: x * written_and_read(*two), (ZEROS[1:2], ZEROS[1:]), (ZEROS[2:], ZEROS[1:])
    ),
    "letter of a dtype": between(
        lambda a, x: x * (2.0 if a.dtype.char == "l" else 3.0), np.ones(1, "l"), np.ones(1, "q")
    ),
    "metadata of a dtype": between(
        lambda dtype, x: x * dtype.metadata["scale"],
        *[np.dtype(np.float32, metadata={"scale": scale}) for scale in (2.0, 3.0)],
    ),
    "attributes of a scalar": between(lambda s, x: x * s.scale, Number(2.0), Number(3.0)),
    "attributes of an ordered mapping": between(
        lambda d, x: x * d.scale, *[with_scale(collections.OrderedDict(), s) for s in (2.0, 3.0)]
    ),
    "attributes of a static method": between(
        lambda f, x: x * f.scale, *[with_scale(staticmethod(len), s) for s in (2.0, 3.0)]
    ),
    "variables of two functions": between(
        lambda two, x: x * set_and_got(*two), FIRST, (FIRST[0], SECOND[1])
    ),
    "name of a class": name_of_a_class,
    "attribute between double underscores": attribute_between_double_underscores,
    "deleted array": deleted_array,
    "type of a field": type_of_a_field,
    "options of printing": options_of_printing,
    "reports of NumPy's errors": reports_of_numpys_errors,
}
