"""Programs whose functions are made anew while what they read, or what runs later, changes.

A *case* starts from nothing and gives ``(change, make)``: ``change(value)`` changes what is read,
``make()`` makes the function anew, or the function with an `Observed` effect.  A *place* is where
the function is traced.  The tests run every case at every place, with structural identity on and
off.
"""

from __future__ import annotations

import abc
import builtins
import collections
import contextlib
import contextvars
import dataclasses
import enum
import functools
import importlib
import inspect
import itertools
import operator
import os
import sys
import types
import weakref
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import morphax as jax
from morphax import lax
from morphax import numpy as jnp

Function = Callable[[Any], Any]


class Observed(NamedTuple):
    """A function, and what its effects have come to."""

    function: Function
    observe: Callable[[], Any]


class Case(NamedTuple):
    """What changes the state that functions read, and what makes a function."""

    change: Callable[[Any], Any]
    make: Callable[[], Function | Observed]


CASES: dict[str, Callable[[], Case]] = {}


def case(start: Callable[[], Case]) -> Callable[[], Case]:
    """Enter a case under the name of its function."""
    CASES[start.__name__.replace("_", " ")] = start
    return start


# What is found at run time, or behind other names.


class Lazy(types.ModuleType):
    """A module whose attributes are properties."""

    held = 2.0

    @property
    def scale(self) -> Any:
        return type(self).held


current = 2.0
numbers = types.ModuleType("numbers_of_tests")
alias_of_eval, alias_of_exec, alias_of_import = eval, exec, builtins.__import__
alias_of_globals, alias_of_getattr, alias_of_open = globals, getattr, open
flags: Any = None
ambient: contextvars.ContextVar[float] = contextvars.ContextVar("ambient", default=2.0)


def set_current(value: Any) -> None:
    globals()["current"] = value


def set_number(value: Any) -> None:
    numbers.scale = value  # type: ignore[attr-defined]


def reads(make: Callable[[], Function], change: Callable[[Any], Any] = set_current) -> Any:
    """A case whose function reads what `change` sets."""
    return lambda: Case(change, make)


def helper(settings: Any, x: Any) -> Any:
    return x * settings.scale


def by_exec(x: Any) -> Any:
    space: dict[str, Any] = {}
    alias_of_exec("from tests.transforms.identity_cases import current as c", space)
    return x * space["c"]


def by_import(x: Any) -> Any:
    from tests.transforms import identity_cases

    return x * identity_cases.current


CASES |= {
    "alias of eval": reads(lambda: lambda x: x * alias_of_eval("current")),
    "eval in a cell": reads(lambda: (lambda e: lambda x: x * e("current"))(eval)),
    "alias of exec": reads(lambda: lambda x: by_exec(x)),
    "import": reads(lambda: lambda x: by_import(x)),
    "alias of import": reads(
        lambda: lambda x: x * alias_of_import(__name__, fromlist=["current"]).current
    ),
    "importlib": reads(lambda: lambda x: x * importlib.import_module(__name__).current),
    "sys.modules": reads(lambda: lambda x: x * sys.modules[__name__].current),
    "alias of globals": reads(lambda: lambda x: x * alias_of_globals()["current"]),
    "globals of a function": reads(lambda: lambda x: x * helper.__globals__["current"]),
    "getattr": reads(lambda: lambda x: x * numbers.scale, set_number),
    "alias of getattr": reads(
        lambda: lambda x: x * alias_of_getattr(numbers, "sca" + "le"), set_number
    ),
    "attrgetter": reads(lambda: lambda x: x * operator.attrgetter("scale")(numbers), set_number),
    "module as an argument": reads(lambda: lambda x: helper(numbers, x), set_number),
    "module in a list": reads(
        lambda: (lambda ms: lambda x: x * ms[0].scale)([numbers]), set_number
    ),
    "module in a default": reads(lambda: lambda x, m=numbers: x * m.scale, set_number),
    "module or another": reads(
        lambda: lambda x: x * (numbers if x.ndim >= 0 else np).scale, set_number
    ),
    "module in a local variable": reads(
        lambda: lambda x: (lambda m: x * m.scale)(numbers), set_number
    ),
    "dict of a module": reads(lambda: lambda x: x * numbers.__dict__["scale"], set_number),
    "frame": reads(lambda: lambda x: x * inspect.currentframe().f_globals["current"]),  # type: ignore[union-attr]
    "text format": reads(lambda: lambda x: x * float(f"{numbers.scale}"), set_number),
    "context variable": reads(lambda: lambda x: x * ambient.get(), lambda v: ambient.set(v)),
    "environment": reads(
        lambda: lambda x: x * float(os.environ["MORPHAX_TEST_SCALE"]),
        lambda v: os.environ.update(MORPHAX_TEST_SCALE=str(v)),
    ),
    "getenv": reads(
        lambda: lambda x: x * float(os.getenv("MORPHAX_TEST_SCALE", "1")),
        lambda v: os.environ.update(MORPHAX_TEST_SCALE=str(v)),
    ),
    "getenv in a cell": reads(
        lambda: (lambda g: lambda x: x * float(g("MORPHAX_TEST_SCALE")))(os.getenv),
        lambda v: os.environ.update(MORPHAX_TEST_SCALE=str(v)),
    ),
    "arguments of the process": reads(
        lambda: lambda x: x * len(sys.argv[-1]), lambda v: sys.argv.__setitem__(-1, "a" * int(v))
    ),
    "weak reference": reads(
        lambda: (lambda r: lambda x: x * r().current)(weakref.ref(sys.modules[__name__]))
    ),
}


@case
def file_by_path() -> Case:
    path = Path(os.environ["MORPHAX_TEST_FOLDER"]) / "scale.txt"
    return Case(lambda v: path.write_text(str(v)), lambda: lambda x: x * float(path.read_text()))


@case
def file_by_open() -> Case:
    path = os.environ["MORPHAX_TEST_FOLDER"] + "/scale.txt"

    def read(x: Any) -> Any:
        with alias_of_open(path) as file:
            return x * float(file.read())

    return Case(lambda v: Path(path).write_text(str(v)), lambda: lambda x: read(x))


@case
def file_by_numpy() -> Case:
    path = os.environ["MORPHAX_TEST_FOLDER"] + "/scale.npy"
    return Case(lambda v: np.save(path, v), lambda: lambda x: x * np.load(path))


@case
def module_with_getattr() -> Case:
    module, held = types.ModuleType("lazy"), [2.0]
    module.__getattr__ = lambda name: held[0]  # type: ignore[method-assign]
    return Case(lambda v: held.__setitem__(0, v), lambda: lambda x: x * module.scale)


@case
def module_with_properties() -> Case:
    module = Lazy("lazy")
    return Case(lambda v: setattr(Lazy, "held", v), lambda: lambda x: x * module.scale)


@case
def builtin_replaced() -> Case:
    original = builtins.abs

    def change(value: Any) -> None:
        builtins.abs = original if value == 2.0 else lambda x: 9.0  # type: ignore[assignment]

    def make() -> Observed:
        return Observed(lambda x: x * abs(-2.0), lambda: setattr(builtins, "abs", original))

    return Case(change, make)


@case
def builtin_shadowed() -> Case:
    space: dict[str, Any] = {}
    exec("f = lambda x: x * abs(-2.0)", space)
    return Case(
        lambda v: space.pop("abs", 0) if v == 2.0 else space.update(abs=lambda y: 9.0),
        lambda: lambda x: space["f"](x),
    )


@case
def cached_function() -> Case:
    held = [2.0]
    configuration = functools.cache(lambda: {"scale": held[0]})
    return Case(
        lambda v: configuration().update(scale=v), lambda: lambda x: x * configuration()["scale"]
    )


@case
def cached_function_cleared() -> Case:
    held = [2.0]
    scale = functools.lru_cache(lambda: held[0])

    def change(value: Any) -> None:
        held[0] = value
        scale.cache_clear()

    return Case(change, lambda: lambda x: x * scale())


@case
def cached_property() -> Case:
    class Owner:
        held = 2.0

        @functools.cached_property
        def scale(self) -> Any:
            return self.held

    owner = Owner()

    def change(value: Any) -> None:
        Owner.held = value
        vars(owner).pop("scale", None)

    return Case(change, lambda: lambda x: x * owner.scale)


@case
def single_dispatch() -> Case:
    @functools.singledispatch
    def scale(x: Any) -> Any:
        return 2.0

    return Case(lambda v: scale.register(object, lambda x: v), lambda: lambda x: x * scale(1))


@case
def numpy_function_of_users() -> Case:
    scale = np.frompyfunc(lambda: current, 0, 1)
    return Case(set_current, lambda: lambda x: x * float(scale()))


@case
def numpy_vectorize() -> Case:
    scale = np.vectorize(lambda y: y * current)
    return Case(set_current, lambda: lambda x: x * float(scale(1.0)))


@case
def flags_like_those_of_libraries() -> Case:
    class Flags:
        def __init__(self) -> None:
            object.__setattr__(self, "_held", {})

        def __getattr__(self, name: str) -> Any:
            return object.__getattribute__(self, "_held")[name]

        def __setattr__(self, name: str, value: Any) -> None:
            self._held[name] = value

    own = Flags()
    return Case(lambda v: setattr(own, "scale", v), lambda: lambda x: x * own.scale)


@case
def member_of_an_enumeration_with_attributes() -> Case:
    Mode = enum.Enum("Mode", ["A", "B"])
    return Case(lambda v: setattr(Mode.A, "scale", v), lambda: lambda x: x * Mode.A.scale)


@case
def flag_enumeration_with_methods() -> Case:
    class Mode(enum.IntFlag):
        A = 1
        B = 2

        def scale(self) -> Any:
            return current * int(self)

    return Case(set_current, lambda: lambda x: x * (Mode.A | Mode.B).scale())


@case
def order_of_a_set() -> Case:
    held: list[Any] = [{1, 9}]

    def change(value: Any) -> None:
        # Both hash to the same place of a small table: the first one in comes first.
        held[0] = {1, 9} if value == 2.0 else {9, 1}

    return Case(change, lambda: (lambda s: lambda x: x * next(iter(s)))(held[0]))


@case
def class_by_make_dataclass() -> Case:
    Made = dataclasses.make_dataclass("Made", [("scale", Any)])
    one = Made(2.0)
    return Case(lambda v: setattr(one, "scale", v), lambda: lambda x: x * one.scale)


@case
def class_attribute_by_make_dataclass() -> Case:
    Made = dataclasses.make_dataclass("Made", [("own", Any)], namespace={"scale": 2.0})
    one = Made(2.0)
    return Case(lambda v: setattr(Made, "scale", v), lambda: lambda x: x * one.scale)


@case
def class_by_new_class() -> Case:
    Made = types.new_class("Made", (), {}, lambda space: space.update(scale=2.0))
    return Case(lambda v: setattr(Made, "scale", v), lambda: lambda x: x * Made().scale)


@case
def class_by_type() -> Case:
    Made = type("Made", (), {"scale": property(lambda self: current), "__module__": "types"})
    return Case(set_current, lambda: lambda x: x * Made().scale)


@case
def class_that_claims_to_be_ours() -> Case:
    Made = type("sin", (), {"__call__": lambda self: current, "__module__": "morphax.numpy"})
    made = Made()
    return Case(set_current, lambda: lambda x: x * made())


@case
def abstract_class() -> Case:
    class Scaled(abc.ABC):  # noqa: B024
        pass

    class Thing:
        pass

    thing = Thing()

    def change(value: Any) -> None:
        if value != 2.0:
            Scaled.register(Thing)

    return Case(change, lambda: lambda x: x * (3.0 if isinstance(thing, Scaled) else 2.0))


@case
def method_of_an_abstract_class() -> Case:
    class Base(abc.ABC):
        @abc.abstractmethod
        def scale(self) -> Any: ...

    class Child(Base):
        def scale(self) -> Any:
            return current

    return Case(set_current, lambda: lambda x: x * Child().scale())


@case
def metaclass() -> Case:
    class Meta(type):
        def __call__(cls) -> Any:
            return current

    class Made(metaclass=Meta):
        pass

    return Case(set_current, lambda: lambda x: x * Made())


@case
def descriptor() -> Case:
    class Reader:
        def __init__(self) -> None:
            self.held = 2.0

        def __get__(self, owner: Any, kind: Any = None) -> Any:
            return self.held

    reader = Reader()
    Owner = type("Owner", (), {"scale": reader})
    return Case(lambda v: setattr(reader, "held", v), lambda: lambda x: x * Owner().scale)


@case
def context_manager() -> Case:
    @contextlib.contextmanager
    def manager() -> Iterator[Any]:
        yield current

    def function(x: Any) -> Any:
        with manager() as scale:
            return x * scale

    return Case(set_current, lambda: lambda x: function(x))


@case
def generator() -> Case:
    def scales() -> Iterator[Any]:
        yield current

    return Case(set_current, lambda: lambda x: x * next(scales()))


@case
def counter() -> Case:
    count = itertools.count(2)
    return Case(lambda v: None, lambda: Observed(lambda x: x * next(count), lambda: None))


@case
def dict_with_missing() -> Case:
    class Table(dict[str, Any]):
        def __missing__(self, key: str) -> Any:
            return current

    table = Table()
    return Case(set_current, lambda: lambda x: x * table["scale"])


@case
def named_tuple_with_a_method() -> Case:
    class Point(NamedTuple):
        x: Any

        def scale(self) -> Any:
            return self.x * current

    point = Point(1.0)
    return Case(set_current, lambda: lambda x: x * point.scale())


@case
def replaced_default() -> Case:
    def function(x: Any, scale: Any = 2.0) -> Any:
        return x * scale

    return Case(lambda v: setattr(function, "__defaults__", (v,)), lambda: lambda x: function(x))


@case
def replaced_method() -> Case:
    class Owner:
        def scale(self) -> Any:
            return 2.0

    return Case(
        lambda v: setattr(Owner, "scale", lambda self: v), lambda: lambda x: x * Owner().scale()
    )


@case
def pattern() -> Case:
    class Point:
        __match_args__ = ("a", "b")
        a, b = 2.0, 3.0

    def function(x: Any) -> Any:
        match Point():
            case Point(first):
                return x * first
        return x

    def change(value: Any) -> None:
        Point.__match_args__ = ("a", "b") if value == 2.0 else ("b", "a")

    return Case(change, lambda: lambda x: function(x))


@case
def nonlocal_variable() -> Case:
    scale = 2.0

    def change(value: Any) -> None:
        nonlocal scale
        scale = value

    return Case(change, lambda: lambda x: x * scale)


# Keys that must not run together.


def between(use: Callable[[Any, Any], Any], first: Any, second: Any) -> Callable[[], Case]:
    """A case whose function closes over the one value or the other."""

    def start() -> Case:
        held = [first]

        def change(value: Any) -> None:
            held[0] = first if value == 2.0 else second

        return Case(change, lambda: (lambda v: lambda x: use(v, x))(held[0]))

    return start


ONE_LIST = [1]
CASES |= {
    "signed zero in a tuple": between(lambda t, x: x / t[0][0], ((0.0,),), ((-0.0,),)),
    "signed zero as a key": between(lambda d, x: x / next(iter(d)), {0.0: 1}, {-0.0: 1}),
    "signed zero of a complex": between(lambda c, x: x / c.imag, complex(1, 0.0), complex(1, -0.0)),
    "truth or one in a tuple": between(lambda t, x: x * (5 if t[0] is True else 7), (True,), (1,)),
    "truth or one in a set": between(
        lambda s, x: x * (5 if next(iter(s)) is True else 7), frozenset([True]), frozenset([1])
    ),
    "int or float in a list": between(lambda t, x: x * 2 ** isinstance(t[0], int), [3], [3.0]),
    "ends of tuples": between(lambda t, x: x * len(t[0]), ((1, 2), (3,)), ((1,), (2, 3))),
    "ends of lists": between(lambda t, x: x * len(t), [[1, 2], [3]], [[1], [2], [3]]),
    "text or bytes": between(lambda t, x: x * len(str(t)), "ab", b"ab"),
    "list or tuple": between(lambda t, x: x * 2 ** isinstance(t, list), [1], (1,)),
    "range": between(lambda r, x: x * r.step, range(0, 1, 1), range(0, 1, 2)),
    "NaN": between(lambda n, x: x * np.copysign(2.0, n), float("nan"), -float("nan")),
    "queue": between(
        lambda q, x: x * q.maxlen, collections.deque([1], 2), collections.deque([1], 3)
    ),
    "one list or two": between(
        lambda t, x: x * (2.0 if t[0] is t[1] else 3.0), (ONE_LIST, ONE_LIST), (ONE_LIST, [1])
    ),
    "one number or two": between(
        lambda t, x: x * (2.0 if t[0] is t[1] else 3.0), (1.5, 1.5), (1.5, float("1.5"))
    ),
    "order of keys": between(
        lambda d, x: x * next(iter(d.values())), {"a": 2.0, "b": 3.0}, {"b": 3.0, "a": 2.0}
    ),
    "dtype of a scalar": between(lambda s, x: x * s, np.float32(2), np.int32(2)),
    "shape of an array": between(lambda a, x: x * a.ndim, np.ones((1, 1)), np.ones(1)),
}


# What runs later.


def logging_cases() -> None:
    """Callbacks that are found anew on an object made anew."""

    def through(call: Callable[[Any, Any], Any]) -> Callable[[], Case]:
        def make() -> Observed:
            log: list[Any] = []

            def function(x: Any) -> Any:
                call(log, x)
                return x * 2.0

            return Observed(function, lambda: len(log))

        return lambda: Case(lambda v: None, make)

    class Recorder:
        def __init__(self, log: list[Any]) -> None:
            self.log = log

        def __call__(self, *values: Any) -> None:
            self.log.append(values)

        def record(self, *values: Any) -> None:
            self.log.append(values)

    def branch(log: list[Any], x: Any) -> Any:
        return lax.cond(True, lambda: jax.debug.callback(log.append, x), lambda: None)

    CASES.update(
        {
            "callback: bound builtin": through(lambda log, x: jax.debug.callback(log.append, x)),
            "callback: lambda": through(
                lambda log, x: jax.debug.callback(lambda y: log.append(y), x)
            ),
            "callback: partial": through(
                lambda log, x: jax.debug.callback(functools.partial(list.append, log), x)
            ),
            "callback: object": through(lambda log, x: jax.debug.callback(Recorder(log), x)),
            "callback: method": through(lambda log, x: jax.debug.callback(Recorder(log).record, x)),
            "callback: static leaf": through(
                lambda log, x: jax.debug.callback(lambda kept, y: kept.append(y), log, x)
            ),
            "callback: in a jit": through(
                lambda log, x: jax.jit(lambda y: jax.debug.callback(log.append, y))(x)
            ),
            "callback: in a branch": through(branch),
        }
    )


logging_cases()


@case
def callback_of_an_environment() -> Case:
    class Environment:
        def __init__(self) -> None:
            self.state = 0.0

        def step(self, x: Any) -> Any:
            self.state += 1.0
            return np.float32(self.state)

    def make() -> Observed:
        environment = Environment()
        shape = jax.ShapeDtypeStruct((), jnp.float32)

        def function(x: Any) -> Any:
            return x + jax.pure_callback(lambda y: environment.step(y), shape, 1.0) * 0.0

        return Observed(function, lambda: environment.state > 0)

    return Case(lambda v: None, make)


@case
def callback_that_reads() -> Case:
    shape = jax.ShapeDtypeStruct((), jnp.float32)
    return Case(
        set_current,
        lambda: lambda x: x * jax.pure_callback(lambda: np.float32(current), shape),
    )


@case
def rule_that_reads_a_list() -> Case:
    weights = [2.0]
    function = jax.custom_jvp(lambda x: x * 1.0)
    function.defjvp(lambda primals, tangents: (primals[0], tangents[0] * weights[0]))
    return Case(
        lambda v: weights.__setitem__(0, v),
        lambda: lambda x: jax.jvp(lambda y: function(y), (x,), (x,))[1],
    )


@case
def pullback_that_reads_a_list() -> Case:
    weights = [2.0]
    function = jax.custom_vjp(lambda x: x * 1.0)
    function.defvjp(lambda x: (x, None), lambda _, ct: (ct * weights[0],))
    return Case(
        lambda v: weights.__setitem__(0, v),
        lambda: lambda x: x * jax.vjp(lambda y: function(y), x)[1](x)[0],
    )


@case
def rule_made_anew() -> Case:
    held = [2.0]

    def make() -> Function:
        scale = held[0]
        function = jax.custom_jvp(lambda x: x * 1.0)
        function.defjvp(lambda primals, tangents: (primals[0], tangents[0] * scale))
        return lambda x: jax.jvp(lambda y: function(y), (x,), (x,))[1]

    return Case(lambda v: held.__setitem__(0, v), make)


@case
def batching_rule() -> Case:
    function = jax.custom_batching.custom_vmap(lambda x: x * 1.0)

    @function.def_vmap
    def rule(size: int, batched: Any, x: Any) -> Any:
        return x * current, True

    return Case(set_current, lambda: lambda x: x * jax.vmap(function)(jnp.ones(2))[0])
