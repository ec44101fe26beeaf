"""Records are dataclasses: what they do is compared with what the standard library's do."""

from __future__ import annotations

import copy
import dataclasses
import inspect
import pickle
import subprocess
import sys
import weakref
from dataclasses import FrozenInstanceError, field
from itertools import product
from typing import Any, ClassVar

import pytest

from morphax.util.records import dataclass as ours

Decorator = Any
DECORATORS = (ours, dataclasses.dataclass)


@ours(frozen=True, slots=True)
class Pickled:
    """A record that pickle finds by its name."""

    x: int
    y: tuple[int, ...] = ()


def _point(dataclass: Decorator, **options: Any) -> Any:
    @dataclass(**options)
    class Point:
        """A point."""

        dimensions: ClassVar[int] = 2
        x: Any
        y: Any = 0.5
        name: str = field(default="p", compare=False)
        marks: list[int] = field(default_factory=list, repr=False)
        norm: float = field(default=-1.0, init=False)

        def doubled(self) -> Any:
            return dataclasses.replace(self, x=2 * self.x)

    return Point


_SWITCHES = ("frozen", "slots", "eq", "repr", "kw_only")
OPTIONS = [dict(zip(_SWITCHES, values, strict=True)) for values in product((False, True), repeat=5)]


def _told(action: Any) -> tuple[Any, ...]:
    """What an action returns, or the kind and text of the error it raises."""
    try:
        return ("returned", action())
    except Exception as error:
        return (type(error), str(error))


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_records_do_what_dataclasses_do(options: dict[str, bool]) -> None:
    kinds = [_point(decorator, **options) for decorator in DECORATORS]
    accounts = []
    for kind in kinds:
        a, b, c = kind(x=1), kind(x=1, name="q"), kind(x=float("nan"), y=[2], marks=[3])

        def assign(record: Any = a) -> None:
            record.y = 3

        def remove(record: Any = a) -> None:
            del record.x

        def add(record: Any = a) -> None:
            record.z = 3

        accounts.append(
            [
                a == b,
                a != b,
                c == c,
                c == a,
                a == 1,
                _told(lambda a=a, b=b: hash(a) == hash(b)) if not options["frozen"] else None,
                _told(lambda c=c: hash(c)) if options["eq"] else None,
                (repr(a), repr(c)) if options["repr"] else None,
                _told(lambda kind=kind: kind()),
                _told(lambda kind=kind: kind(1, 2, 3, 4, 5)),
                _told(lambda kind=kind: kind(x=1, norm=2)),
                _told(lambda kind=kind: kind(1).x),
                a.doubled().x,
                (a.x, a.y, a.name, a.marks, a.norm, a.dimensions),
                a.marks is b.marks,
                [
                    (f.name, f.type, f.default, f.init, f.repr, f.compare, f.kw_only)
                    for f in dataclasses.fields(kind)
                ],
                _told(lambda a=a: dataclasses.asdict(a)),
                (kind.__match_args__, kind.__doc__, kind.__init__.__qualname__),
                str(inspect.signature(kind)),
                hasattr(a, "__dict__"),
                copy.deepcopy(c).y,
                _told(assign),
                _told(remove),
                _told(add)[0] == "returned",
            ]
        )
    assert accounts[0] == accounts[1]


@pytest.mark.parametrize("dataclass", DECORATORS)
@pytest.mark.parametrize("slots", [False, True])
def test_methods_of_the_class_are_kept(dataclass: Decorator, slots: bool) -> None:
    @dataclass(frozen=True, slots=slots)
    class Own:
        x: int

        def __repr__(self) -> str:
            return "own"

        def __hash__(self) -> int:
            return 7

    @dataclass(frozen=True, slots=slots)
    class Equal:
        x: int
        y: int = dataclasses.field(default=0, compare=False)

        def __eq__(self, other: object) -> bool:
            return True

    assert (repr(Own(1)), hash(Own(1)), Own(1) == Own(1), Own(1) == Own(2)) == (
        "own",
        7,
        True,
        False,
    )
    assert Equal(1) == Equal(2)
    assert hash(Equal(1)) == hash(Equal(1, 5)) == hash((1,))


@pytest.mark.parametrize("dataclass", DECORATORS)
def test_what_follows_from_fields_is_computed_after_them(dataclass: Decorator) -> None:
    @dataclass(frozen=True, slots=True)
    class Circle:
        radius: float
        area: float = dataclasses.field(init=False)

        def __post_init__(self) -> None:
            object.__setattr__(self, "area", 3 * self.radius**2)

    assert Circle(2.0).area == 12.0
    assert dataclasses.replace(Circle(2.0), radius=1.0) == Circle(1.0)


@pytest.mark.parametrize("outer", DECORATORS)
@pytest.mark.parametrize("inner", DECORATORS)
def test_records_are_bases_of_dataclasses(outer: Decorator, inner: Decorator) -> None:
    base = _point(inner, frozen=True)

    @outer(frozen=True)
    class Named(base):  # type: ignore[misc,valid-type]
        colour: str = "red"

    assert Named(1, colour="blue") == Named(1, colour="blue") != Named(1)
    assert repr(Named(1)).endswith("norm=-1.0, colour='red')")
    with pytest.raises(FrozenInstanceError, match="cannot assign to field 'x'"):
        Named(1).x = 2
    with pytest.raises(TypeError, match="cannot inherit non-frozen dataclass from a frozen one"):
        outer(type("Loose", (base,), {"__annotations__": {"z": "int"}}))


def test_subclasses_have_attributes_of_their_own() -> None:
    class Cached(_point(ours, frozen=True, slots=True)):  # type: ignore[misc]
        pass

    record = Cached(1)
    record.seen = True
    assert record.seen
    assert record == Cached(1)
    assert record != _point(ours, frozen=True, slots=True)(1)
    with pytest.raises(FrozenInstanceError, match="cannot delete field 'x'"):
        del record.x


def test_pickles_and_copies_are_equal() -> None:
    record = Pickled(1, (2, 3))
    for protocol in range(2, pickle.HIGHEST_PROTOCOL + 1):
        assert pickle.loads(pickle.dumps(record, protocol)) == record
    assert copy.copy(record) == copy.deepcopy(record) == record


def test_a_class_without_a_docstring_has_its_name() -> None:
    @ours(frozen=True)
    class Bare:
        x: int

    assert Bare.__doc__ == "Bare"


def test_records_that_hold_themselves_print() -> None:
    record = _point(ours)(None)
    record.x = record
    assert "x=..." in repr(record)


def test_weak_references() -> None:
    record = _point(ours, slots=True, weakref_slot=True)(1)
    assert weakref.ref(record)() is record
    with pytest.raises(TypeError, match="weak reference"):
        weakref.ref(_point(ours, slots=True)(1))


def test_patterns_match_records() -> None:
    match Pickled(1, (2, 3)):
        case Pickled(x, (2, y)):
            assert (x, y) == (1, 3)
        case _:
            raise AssertionError("the pattern does not match")


def test_methods_are_compiled_once_when_they_are_looked_up() -> None:
    kind = _point(ours, frozen=True)
    assert not inspect.isfunction(vars(kind)["__init__"])
    made = kind.__init__
    assert inspect.isfunction(made)
    assert vars(kind)["__init__"] is made is kind.__init__
    assert not inspect.isfunction(vars(kind)["__eq__"])
    assert kind(1) == kind(1)
    assert inspect.isfunction(vars(kind)["__eq__"])


def test_an_import_compiles_few_methods() -> None:
    """What the decorator is for: the text of methods that nobody calls is never compiled."""
    program = (
        "import builtins; made = []; run = builtins.compile\n"
        "builtins.compile = lambda text, *a, **k: (made.append(text), run(text, *a, **k))[1]\n"
        "import morphax\nprint(sum(str(text).startswith('def __') for text in made))"
    )
    count = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True)
    assert 0 < int(count.stdout) < 40
