"""Keys of parameters: `key_of`, and its twin in Python."""

from __future__ import annotations

import dataclasses
import datetime
import decimal
import enum
import fractions
import re
import struct
from collections.abc import Callable
from typing import Any, NamedTuple

import ml_dtypes
import numpy as np
import pytest

import morphax as jax
import morphax.numpy as jnp
from morphax import core, lax
from morphax.util import parameter_keys
from morphax.util.parameter_keys import key_of, params_key


class Level(enum.IntEnum):
    LOW = 1


class Colour(enum.Enum):
    RED = 1


class Flags(enum.IntFlag):
    A = 1
    B = 2


class Point(NamedTuple):
    x: Any
    y: Any = 0


class Other(NamedTuple):
    x: Any
    y: Any = 0


@dataclasses.dataclass(frozen=True)
class Config:
    scale: Any
    name: Any = dataclasses.field(default=None, compare=False)


@dataclasses.dataclass(frozen=True, slots=True)
class Slotted:
    scale: Any


@dataclasses.dataclass(frozen=True)
class Empty:
    pass


@dataclasses.dataclass(frozen=True)
class OwnEquality:
    scale: Any
    comment: str

    def __eq__(self, other: object) -> bool:
        return type(other) is OwnEquality and other.scale == self.scale

    def __hash__(self) -> int:
        return hash(self.scale)


class Frozen(dict[str, Any]):
    def __hash__(self) -> int:  # type: ignore[override]
        return hash(frozenset(self))


class MyInt(int):
    @classmethod
    def of(cls, attribute: Any) -> MyInt:
        self = cls(1)
        self.attribute = attribute
        return self


class MyTuple(tuple[Any, ...]):
    pass


class Sloppy(float):
    __slots__ = ("attribute",)


class MySlim(int):
    __slots__ = ()


class MyFloat(float):
    __slots__ = ()


class MyStr(str):
    __slots__ = ()


class Like:
    """Equal to everything of its hash."""

    def __eq__(self, other: object) -> bool:
        return True

    def __hash__(self) -> int:
        return hash(1)


class Mutable:
    __hash__ = None  # type: ignore[assignment]

    def __eq__(self, other: object) -> bool:
        return True


@dataclasses.dataclass
class MutableConfig:
    scale: float


def _nan(bits: int) -> float:
    return struct.unpack("d", struct.pack("Q", bits))[0]  # type: ignore[no-any-return]


NUMBERS = [
    0,
    1,
    -1,
    False,
    True,
    0.0,
    -0.0,
    1.0,
    0j,
    complex(0.0, -0.0),
    complex(-0.0, 0.0),
    1 + 0j,
    float("nan"),
    _nan(0x7FF8000000000001),
    float("inf"),
    2**70,
    float(2**70),
    np.int32(0),
    np.int32(1),
    np.int64(1),
    np.uint8(1),
    np.bool_(True),
    np.bool_(False),
    np.float32(0.0),
    np.float32(-0.0),
    np.float64(0.0),
    np.float64(-0.0),
    np.float16(1),
    np.complex64(1),
    np.str_("a"),
    np.bytes_(b"a"),
    np.datetime64(1, "s"),
    np.datetime64(1, "ms"),
    ml_dtypes.bfloat16(1.0),
    ml_dtypes.bfloat16(-0.0),
    ml_dtypes.bfloat16(0.0),
    MyInt(1),
    MyInt.of(1),
    MyInt.of(True),
    Level.LOW,
    Colour.RED,
    Flags.A,
    Flags.A | Flags.B,
    Flags(0),
    MySlim(1),
    MyFloat(0.0),
    MyFloat(-0.0),
    fractions.Fraction(1),
    decimal.Decimal(1),
    decimal.Decimal("1.0"),
    decimal.Decimal("-0"),
    decimal.Decimal("0"),
]
OTHERS = [
    None,
    ...,
    NotImplemented,
    "a",
    "None",
    b"a",
    MyStr("a"),
    int,
    float,
    bool,
    np.float32,
    np.dtype("float32"),
    np.dtype("int32"),
    np.dtype(ml_dtypes.bfloat16),
    jnp.float32,
    jax.dtypes.float0,
    print,
    len,
    key_of,
    lax.sin_p,
    Config,
    Colour,
    Empty(),
    slice(0, 1),
    slice(0, True),
    slice(0.0, 1),
    range(3),
    range(0, 3, 2),
    range(0, 4, 2),
    range(0),
    range(1, 1),
    core.ShapedArray((2,), np.float32),
    core.BatchAxes(2),
    core.BatchAxes(2, True),
    core.BatchAxes(2, 1),
    datetime.timedelta(1),
    datetime.timedelta(2),
    datetime.date(2000, 1, 1),
    re.compile("a"),
    re.compile("a", re.I),
    (),
    frozenset(),
    frozenset({1}),
    frozenset({True}),
    frozenset({1.0}),
    jax.tree.structure([1]),
    jax.tree.structure({1: 0}),
    jax.tree.structure({True: 0}),
    jax.tree.structure({1.0: 0}),
    lax.Precision.HIGH,
    lax.GatherScatterMode.CLIP,
    Like(),
]
WRAPPERS: list[Callable[[Any], Any]] = [
    lambda x: (x,),
    lambda x: ((x,),),
    lambda x: (x, 2),
    lambda x: ((x, 2), "tail"),
    lambda x: Point(x),
    lambda x: Other(x),
    lambda x: Point((x, 1), x),
    lambda x: Config(x),
    lambda x: Slotted(x),
    lambda x: MyTuple((x,)),
    lambda x: Config((x, 3)),
]
VALUES = [*NUMBERS, *OTHERS, *[wrap(x) for wrap in WRAPPERS for x in (*NUMBERS, None, "a")]]
WITHOUT_KEY = [
    [1],
    {1: 2},
    {1},
    np.ones(2),
    jnp.ones(2),
    Mutable(),
    MutableConfig(1.0),
    MyInt.of([]),
    Sloppy(),
    bytearray(b"a"),
    memoryview(b"a"),
    datetime.datetime(2000, 1, 1),
    parameter_keys.Mark("forged"),
    parameter_keys._TRUE,
]


@pytest.fixture(params=["chosen", "twin"])
def find_key(request: pytest.FixtureRequest) -> Callable[[Any], Any]:
    if request.param == "chosen":
        return key_of
    return lambda value: parameter_keys._key(value, 0)


def test_no_two_values_have_one_key(find_key: Callable[[Any], Any]) -> None:
    keys = [find_key(value) for value in VALUES]
    assert None not in keys
    seen: dict[Any, Any] = {}
    for value, key in zip(VALUES, keys, strict=True):
        assert key not in seen, (seen[key], value)
        seen[key] = value


def test_the_same_value_has_the_same_key(find_key: Callable[[Any], Any]) -> None:
    for value in VALUES:
        assert find_key(value) == find_key(value)
        assert hash(find_key(value)) == hash(find_key(value))
    rebuilt = [
        (lambda: float("nan")),
        (lambda: np.float32("nan")),
        (lambda: (1.5, "a", None)),
        (lambda: Point(-0.0)),
        (lambda: Config(np.int8(3))),
        (lambda: Frozen(a=0.0)),
        (lambda: MyInt.of("a")),
        (lambda: MyTuple([1])),
        (lambda: jax.tree.structure({1.5: 0})),
        (lambda: "ab" * 40),
        (lambda: 2**80),
        (lambda: slice(1, None)),
    ]
    for make in rebuilt:
        assert find_key(make()) == find_key(make())


def test_both_cores_agree_on_what_is_a_key() -> None:
    for value in [*VALUES, *WITHOUT_KEY]:
        assert (key_of(value) is None) == (parameter_keys._key(value, 0) is None)


@pytest.mark.parametrize("value", WITHOUT_KEY, ids=lambda value: type(value).__name__)
def test_values_of_other_kinds_have_no_key(find_key: Callable[[Any], Any], value: Any) -> None:
    for holder in (value, (value,), (1, (2, value)), Point(value), Config(value), slice(value)):
        assert find_key(holder) is None


def test_what_authors_say_of_equality_counts() -> None:
    assert key_of(OwnEquality(1, "a")) == key_of(OwnEquality(1, "b"))
    assert key_of(Config(1, "a")) == key_of(Config(1, "b"))  # not compared, says the field
    assert key_of(Like()) == key_of(Like())
    assert key_of(Like()) != key_of(1)
    assert key_of(Frozen(a=0.0)) != key_of(Frozen(a=-0.0))
    assert key_of(Frozen(a=[])) is None


def test_order_counts_where_it_can_be_seen() -> None:
    # Two small sets whose elements collide keep them in the order of insertion.
    one, two = frozenset([0, 8]), frozenset([8, 0])
    assert (key_of(one) == key_of(two)) == (list(one) == list(two))


def test_methods_count_by_object_and_function() -> None:
    class Owner:
        def method(self) -> None: ...

    a, b = Owner(), Owner()
    assert key_of(a.method) == key_of(a.method)
    assert key_of(a.method) != key_of(b.method)
    log: list[int] = []
    assert key_of(log.append) == key_of(log.append)
    assert key_of(log.append) != key_of([].append)


def test_deep_values_have_no_key(find_key: Callable[[Any], Any]) -> None:
    deep: Any = ()
    for _ in range(10_000):
        deep = (deep,)
    assert find_key(deep) is None
    nested: Any = frozenset()
    for _ in range(5_000):
        nested = frozenset([nested])
    assert find_key(nested) is None


def test_a_value_that_lacks_a_field_has_no_key(find_key: Callable[[Any], Any]) -> None:
    assert find_key(object.__new__(Slotted)) is None


def test_errors_of_hash_pass() -> None:
    class Broken:
        def __hash__(self) -> int:
            raise RuntimeError("broken")

    with pytest.raises(RuntimeError, match="broken"):
        key_of((Broken(),))


def test_classes_made_at_run_time_do_not_pile_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parameter_keys, "_MAX_RULES", len(parameter_keys._rules) + 10)
    for i in range(50):
        kind = dataclasses.make_dataclass(f"Made{i}", ["x"], frozen=True)
        assert key_of(kind(0.0)) != key_of(kind(-0.0))
    assert len(parameter_keys._rules) <= parameter_keys._MAX_RULES
    assert key_of(0.0) != key_of(-0.0)


def test_parameters() -> None:
    assert params_key({}) == ()
    assert params_key({"a": 0.0}) != params_key({"a": -0.0})
    assert params_key({"a": 1}) != params_key({"b": 1})
    assert params_key({"a": 1, "b": 2}) != params_key({"b": 2, "a": 1})
    assert params_key({"a": 1, "b": [2]}) is None
    assert params_key({"a": "b"}) != params_key({"a": None})
