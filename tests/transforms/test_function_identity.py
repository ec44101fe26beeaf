"""When functions made anew are the same function, and above all: when they are not.

Each adversarial case makes a function, changes something that it can read, and makes it again.  The
two must never be taken for one another: `scan`, `jit` and `cond` of the second must give what a
fresh trace of it gives.
"""

from __future__ import annotations

import abc
import collections
import contextlib
import contextvars
import enum
import functools
import random
import sys
import threading
import types
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import pytest

import morphax as jax
from morphax import NamedSharding, P, lax
from morphax import numpy as jnp
from morphax.sharding import Mesh, SingleDeviceSharding
from morphax.transforms.function_identity import Identity, Unidentified, identify
from tests.tracing import calls_of

Function = Callable[[Any], Any]

# What the functions below read, and the cases change.
scale: Any = 2.0
table: dict[str, Any] = {"scale": 2.0}
settings = types.ModuleType("settings")
settings.scale = 2.0  # type: ignore[attr-defined]
settings.inner = types.ModuleType("inner")  # type: ignore[attr-defined]
settings.inner.scale = 2.0
settings.inner.other = 1.0


class Scale:
    shared: Any = 2.0

    def __init__(self, factor: Any) -> None:
        self.factor = factor

    def own(self, x: Any) -> Any:
        return x * self.factor

    def of_class(self, x: Any) -> Any:
        return x * self.shared

    def by_method(self, x: Any) -> Any:
        return self.own(x)

    @property
    def computed(self) -> Any:
        return self.factor * scale

    def by_property(self, x: Any) -> Any:
        return x * self.computed

    @classmethod
    def by_classmethod(cls, x: Any) -> Any:
        return x * cls.shared

    @staticmethod
    def by_staticmethod(x: Any) -> Any:
        return x * Scale.shared

    def __call__(self, x: Any) -> Any:
        return x * self.factor


class Slotted:
    __slots__ = ("factor",)

    def __init__(self, factor: Any) -> None:
        self.factor = factor


class Delegating:
    def __init__(self, inner: Any) -> None:
        self.inner = inner

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)


class Meta(type):
    @property
    def shared(cls) -> Any:
        return scale


class WithMeta(metaclass=Meta):
    pass


class Mode(enum.Enum):
    A = 2.0
    B = 3.0

    def factor(self) -> Any:
        return self.value * scale


class Pair(NamedTuple):
    first: Any
    second: Any


@dataclass(frozen=True)
class Frozen:
    factor: Any
    other: Any = field(default=0, compare=False)


@dataclass
class Hashable:
    """Claims that all of its objects are equal."""

    factor: Any

    def __eq__(self, other: object) -> bool:
        return True

    def __hash__(self) -> int:
        return 0


@dataclass(order=True, slots=True)
class Ordered:
    a: Any
    b: Any = field(default_factory=list)


class Abstract(abc.ABC):
    @abc.abstractmethod
    def factor(self) -> Any: ...


class Concrete(Abstract):
    def factor(self) -> Any:
        return super().__class__ and 2.0


@contextlib.contextmanager
def context() -> Any:
    yield 2.0


def in_context(x: Any) -> Any:
    with context() as factor:
        return x * factor


class MyList(list[Any]):
    pass


def read_global(x: Any) -> Any:
    return x * scale


def read_other(x: Any) -> Any:
    return x * settings.inner.other


def call_reader(x: Any) -> Any:
    return read_global(x)


derivative = jax.grad(lambda x: jnp.sum(read_global(x)))
batched = jax.vmap(read_global)


def with_attribute(x: Any) -> Any:
    return x * with_attribute.factor  # type: ignore[attr-defined]


def assign(owner: Any, name: str) -> Callable[[Any], None]:
    return lambda value: setattr(owner, name, value)


def assign_global(value: Any) -> None:
    globals()["scale"] = value


def assign_table(value: Any) -> None:
    table["scale"] = value


def decorated(function: Function) -> Function:
    @functools.wraps(function)
    def wrapper(x: Any) -> Any:
        return function(x) + 0

    return wrapper


def remade(make: Callable[[Any], Function]) -> Callable[[], tuple[Callable[[Any], None], Any]]:
    """A function made anew from each value."""

    def start() -> tuple[Callable[[Any], None], Any]:
        state = [2.0]
        return lambda value: state.__setitem__(0, value), lambda: make(state[0])

    return start


def changed(
    change: Callable[[Any], None], make: Callable[[], Function]
) -> Callable[[], tuple[Callable[[Any], None], Any]]:
    """A function made anew from what `change` changes in place."""
    return lambda: (change, make)


def with_object(
    new: Callable[[Any], Any],
    change: Callable[[Any, Any], None],
    make: Callable[[Any], Function],
) -> Callable[[], tuple[Callable[[Any], None], Any]]:
    """Functions of one object, which is changed in place."""

    def start() -> tuple[Callable[[Any], None], Any]:
        owner = new(2.0)
        return lambda value: change(owner, value), lambda: make(owner)

    return start


def set_factor(owner: Any, value: Any) -> None:
    owner.factor = value


def set_first(owner: Any, value: Any) -> None:
    owner[0] = value


def nested(value: Any) -> Function:
    def outer(x: Any) -> Any:
        def inner(y: Any) -> Any:
            return y * value

        return inner(x)

    return outer


def with_default(value: Any) -> Function:
    return lambda x, factor=value: x * factor


def with_keyword_default(value: Any) -> Function:
    def function(x: Any, *, factor: Any = value) -> Any:
        return x * factor

    return function


def by_generator(value: Any) -> Function:
    values = iter([value, value, value, value, value, value])
    return lambda x: x * next(values)


def by_random(value: Any) -> Function:
    generator = random.Random(int(value))
    return lambda x: x * generator.randint(2, 900)


def by_thread_local(value: Any) -> Function:
    local = threading.local()
    local.factor = value
    return lambda x: x * local.factor


def by_context(value: Any) -> Function:
    variable = contextvars.ContextVar("variable", default=value)
    return lambda x: x * variable.get()


def by_exec(value: Any) -> Function:
    namespace: dict[str, Any] = {}
    exec(f"def function(x): return x * {value}", namespace)
    return namespace["function"]  # type: ignore[no-any-return]


def replaced_code(value: Any) -> Function:
    def function(x: Any) -> Any:
        return x * 2.0

    if value != 2.0:
        function.__code__ = (lambda x: x * 3.0).__code__
    return function


def late_cell(value: Any) -> Function:
    def function(x: Any) -> Any:
        return x * later

    later = value
    return function


def by_super(value: Any) -> Function:
    class Child(Scale):
        def own(self, x: Any) -> Any:
            return super().own(x)

    return Child(value).own


def with_rule(value: Any) -> Function:
    function = jax.custom_jvp(lambda x: x * value)
    function.defjvps(lambda t, out, x: t)
    return lambda x: function(x)


def cyclic(value: Any) -> Function:
    holder: dict[str, Any] = {"factor": value}
    holder["self"] = holder
    return lambda x: x * holder["self"]["factor"]


def aliased(value: Any) -> Function:
    """Two lists of equal contents, or one list twice."""
    first = [1.0]
    second = first if value == 2.0 else [1.0]
    return lambda x: x * (2.0 if first is second else 3.0)


ADVERSARIAL: dict[str, Callable[[], tuple[Callable[[Any], None], Any]]] = {
    "closure": remade(lambda v: lambda x: x * v),
    "nested closure": remade(nested),
    "cell assigned later": remade(late_cell),
    "default": remade(with_default),
    "keyword default": remade(with_keyword_default),
    "partial": remade(lambda v: functools.partial(lambda v, x: x * v, v)),
    "partial keyword": remade(lambda v: functools.partial(lambda x, v: x * v, v=v)),
    "wraps": remade(lambda v: decorated(lambda x: x * v)),
    "function in closure": remade(lambda v: (lambda f: lambda x: f(x))(lambda x: x * v)),
    "code": remade(by_exec),
    "replaced code": remade(replaced_code),
    "int or float": remade(lambda v: lambda x: x * (2 if v == 2.0 else 2.0) * v),
    "bool or int": remade(lambda v: (lambda one: lambda x: x + one)(True if v == 2.0 else 1)),
    "signed zero": remade(lambda v: (lambda z: lambda x: x / z)(0.0 if v == 2.0 else -0.0)),
    "tuple": remade(lambda v: (lambda t: lambda x: x * t[0])((v, 1))),
    "list": with_object(lambda v: [v], set_first, lambda o: lambda x: x * o[0]),
    "list of lists": with_object(
        lambda v: [[v]], lambda o, v: set_first(o[0], v), lambda o: lambda x: x * o[0][0]
    ),
    "dict": with_object(
        lambda v: {"a": v}, lambda o, v: o.update(a=v), lambda o: lambda x: x * o["a"]
    ),
    "order of a dict": with_object(
        lambda v: {"a": 2.0, "b": 5.0},
        lambda o, v: o.update(a=o.pop("a")),
        lambda o: lambda x: x * next(iter(o.values())),
    ),
    "ordered dict": with_object(
        lambda v: collections.OrderedDict(a=2.0, b=5.0),
        lambda o, v: o.move_to_end("a"),
        lambda o: lambda x: x * next(iter(o.values())),
    ),
    "set": with_object(lambda v: {1}, lambda o, v: o.add(7), lambda o: lambda x: x * len(o)),
    "deque": with_object(lambda v: collections.deque([v]), set_first, lambda o: lambda x: x * o[0]),
    "default dict": with_object(
        lambda v: collections.defaultdict(lambda: 2.0, a=v),
        lambda o, v: o.update(a=v),
        lambda o: lambda x: x * o["a"],
    ),
    "subclass of list": with_object(lambda v: MyList([v]), set_first, lambda o: lambda x: x * o[0]),
    "bytearray": with_object(
        lambda v: bytearray([2]), lambda o, v: o.append(1), lambda o: lambda x: x * len(o)
    ),
    "numpy array": with_object(
        lambda v: np.full(3, v, np.float32), set_first, lambda o: lambda x: x * o[0]
    ),
    "numpy view": with_object(
        lambda v: np.full(3, v, np.float32),
        set_first,
        lambda o: (lambda view: lambda x: x * view[0])(o[:1]),
    ),
    "large numpy array": with_object(
        lambda v: np.full(30000, v, np.float32), set_first, lambda o: lambda x: x * o[0]
    ),
    "numpy scalar dtype": remade(
        lambda v: (lambda s: lambda x: x * s)(np.float32(2) if v == 2.0 else np.int32(2))
    ),
    "array": remade(lambda v: (lambda a: lambda x: x * a)(jnp.asarray(v))),
    "array in a dict": with_object(
        lambda v: {"a": jnp.asarray(v)},
        lambda o, v: o.update(a=jnp.asarray(v)),
        lambda o: lambda x: x * o["a"],
    ),
    "attribute": with_object(Scale, set_factor, lambda o: lambda x: x * o.factor),
    "slot": with_object(Slotted, set_factor, lambda o: lambda x: x * o.factor),
    "bound method": with_object(Scale, set_factor, lambda o: o.own),
    "method that calls another": with_object(Scale, set_factor, lambda o: o.by_method),
    "callable object": with_object(Scale, set_factor, lambda o: o),
    "attribute of an attribute": with_object(
        lambda v: Scale(Scale(v)),
        lambda o, v: set_factor(o.factor, v),
        lambda o: lambda x: x * o.factor.factor,
    ),
    "delegated attribute": with_object(
        lambda v: Delegating(Scale(v)),
        lambda o, v: set_factor(o.inner, v),
        lambda o: lambda x: x * o.factor,
    ),
    "method of an instance": with_object(
        Scale,
        lambda o, v: setattr(o, "own", lambda x: x * v),
        lambda o: lambda x: o.own(x),
    ),
    "object that claims equality": with_object(
        Hashable, set_factor, lambda o: lambda x: x * o.factor
    ),
    "frozen dataclass": remade(lambda v: (lambda o: lambda x: x * o.factor)(Frozen(v))),
    "field that is not compared": remade(lambda v: (lambda o: lambda x: x * o.other)(Frozen(1, v))),
    "named tuple": remade(lambda v: (lambda o: lambda x: x * o.second)(Pair(1, v))),
    "simple namespace": with_object(
        lambda v: types.SimpleNamespace(factor=v), set_factor, lambda o: lambda x: x * o.factor
    ),
    "class attribute": changed(assign(Scale, "shared"), lambda: Scale(1.0).of_class),
    "class in closure": changed(assign(Scale, "shared"), lambda: lambda x: x * Scale.shared),
    "class method": changed(assign(Scale, "shared"), lambda: lambda x: Scale.by_classmethod(x)),
    "static method": changed(assign(Scale, "shared"), lambda: lambda x: Scale.by_staticmethod(x)),
    "local class": remade(by_super),
    "property": changed(assign_global, lambda: Scale(1.0).by_property),
    "property of a metaclass": changed(assign_global, lambda: lambda x: x * WithMeta.shared),
    "method of an enumeration": changed(assign_global, lambda: lambda x: x * Mode.A.factor()),
    "member of an enumeration": remade(
        lambda v: (lambda m: lambda x: x * m.value)(Mode.A if v == 2.0 else Mode.B)
    ),
    "global": changed(assign_global, lambda: lambda x: x * scale),
    "global behind a function": changed(assign_global, lambda: lambda x: read_global(x)),
    "global behind a derivative": changed(assign_global, lambda: lambda x: derivative(x)),
    "global behind a batch": changed(assign_global, lambda: lambda x: batched(x[None])[0]),
    "global behind two functions": changed(assign_global, lambda: lambda x: call_reader(x)),
    "global in a nested function": changed(
        assign_global, lambda: lambda x: (lambda y: y * scale)(x)
    ),
    "global in a comprehension": changed(
        assign_global, lambda: lambda x: sum([x * scale for _ in range(2)])
    ),
    "global container": changed(assign_table, lambda: lambda x: x * table["scale"]),
    "replaced global function": changed(
        lambda v: globals().update(read_global=lambda x: x * v), lambda: lambda x: read_global(x)
    ),
    "attribute of a module": changed(
        assign(settings, "scale"), lambda: lambda x: x * settings.scale
    ),
    "attributes of a module in a module": changed(
        assign(settings.inner, "scale"), lambda: lambda x: read_other(x) * settings.inner.scale
    ),
    "attribute by name": changed(
        assign(settings, "scale"), lambda: lambda x: x * getattr(settings, "sca" + "le")
    ),
    "module as a value": changed(
        assign(settings, "scale"), lambda: (lambda m: lambda x: x * m.scale)(settings)
    ),
    "import inside": changed(
        lambda v: sys.modules.update(made_up=types.SimpleNamespace(scale=v)),  # type: ignore[arg-type]
        lambda: (lambda m: lambda x: x * m())(_import_made_up),
    ),
    "globals()": changed(assign_global, lambda: lambda x: x * globals()["scale"]),
    "eval": changed(assign_global, lambda: lambda x: x * eval("scale")),
    "attribute of a function": changed(
        assign(with_attribute, "factor"), lambda: lambda x: with_attribute(x)
    ),
    "generator": remade(by_generator),
    "random generator": remade(by_random),
    "thread local": remade(by_thread_local),
    "context variable": remade(by_context),
    "cycle": remade(cyclic),
    "aliases": remade(aliased),
    "jitted function": remade(lambda v: (lambda f: lambda x: f(x))(jax.jit(lambda x: x * v))),
    "custom derivative": remade(with_rule),
}


def _import_made_up() -> Any:
    import made_up  # type: ignore[import-not-found]

    return made_up.scale


@pytest.fixture(autouse=True)
def _restored() -> Any:
    original = read_global
    yield
    globals().update(scale=2.0, read_global=original)
    table["scale"] = settings.scale = settings.inner.scale = Scale.shared = 2.0  # type: ignore[attr-defined]
    with_attribute.factor = 2.0  # type: ignore[attr-defined]
    sys.modules.pop("made_up", None)


def by_scan(function: Function) -> Any:
    return lax.scan(lambda carry, x: (carry, function(x)), 0, jnp.arange(1.0, 3.0))[1]


def by_jit(function: Function) -> Any:
    return jax.jit(lambda x: function(x))(jnp.arange(1.0, 3.0))


def by_cond(function: Function) -> Any:
    return lax.cond(True, lambda x: function(x) * 1.0, lambda x: x * 1.0, jnp.arange(1.0, 3.0))


def by_while(function: Function) -> Any:
    return lax.while_loop(lambda x: x[0] < 1, lambda x: x + function(x) / x, jnp.zeros(1) + 0.5)


@pytest.mark.sampled(4)
@pytest.mark.parametrize("use", [by_scan, by_jit, by_cond, by_while])
@pytest.mark.parametrize("case", ADVERSARIAL)
def test_no_false_hit(case: str, use: Callable[[Function], Any]) -> None:
    change, make = ADVERSARIAL[case]()
    with_attribute.factor = 2.0  # type: ignore[attr-defined]
    sys.modules["made_up"] = types.SimpleNamespace(scale=2.0)  # type: ignore[assignment]
    for value in (2.0, 3.0):
        change(value)
        if "random" in case or "generator" in case:
            # Two calls in a row must differ from each other as two traces do.
            assert isinstance(identify([make()]), Unidentified)
            continue
        got = use(make())
        jax.clear_caches()
        np.testing.assert_array_equal(got, use(make()))


# What is the same function.

SAME: dict[str, Callable[[], Function]] = {
    "lambda": lambda: lambda x: x * 2.0,
    "closure": lambda: (lambda v: lambda x: x * v)(3.0),
    "nested function": lambda: nested(2.0),
    "default": lambda: with_default(2.0),
    "partial": lambda: functools.partial(lambda v, x: x * v, 2.0),
    "bound method": lambda: Scale(2.0).by_method,
    "callable object": lambda: Scale(2.0),
    "decorated": lambda: decorated(lambda x: x + 1),
    "global function": lambda: lambda x: call_reader(x),
    "containers": lambda: (lambda t: lambda x: x * t[0]["a"])([{"a": 2.0, "b": (1, "c")}]),
    "small numpy array": lambda: (lambda a: lambda x: x * a[0])(np.ones(3, np.float32)),
    "modules": lambda: lambda x: jnp.sin(x) + np.pi + lax.exp(x),
    "dtype": lambda: (lambda d: lambda x: x.astype(d))(np.dtype(np.float32)),
    "jitted function": lambda: (lambda f: lambda x: f(x))(jax.jit(lambda x: x * 2)),
    "library function": lambda: jnp.sin,
    "frozen dataclass": lambda: (lambda o: lambda x: x * o.factor)(Frozen(2.0)),
    "dataclass with order and slots": lambda: (lambda o: lambda x: x * o.a)(Ordered(2.0)),
    "named tuple": lambda: (lambda o: lambda x: x * o.first)(Pair(2.0, 1)),
    "enumeration": lambda: lambda x: x * Mode.A.factor(),
    "abstract class": lambda: lambda x: x * Concrete().factor(),
    "context manager": lambda: lambda x: in_context(x),
    "simple namespace": lambda: (lambda o: lambda x: x * o.a)(types.SimpleNamespace(a=2.0)),
    "custom derivative": lambda: lambda x: jax.nn.relu(x),
    "builtin functions": lambda: lambda x: sum(map(abs, [x, x])) + len(range(3)),
    "NumPy functions": lambda: lambda x: x + np.sqrt(2.0) * np.linalg.norm(np.ones(3)),
    "deque": lambda: (lambda q: lambda x: x * q[0])(collections.deque([2.0])),
    "loops": lambda: lambda x: lax.scan(lambda c, y: (c + y, None), x, None, 3),
    "random numbers": lambda: lambda x: x + jax.random.normal(jax.random.key(0)),
}


@pytest.mark.parametrize("case", SAME)
def test_functions_made_anew_are_the_same(case: str) -> None:
    first, second = identify([SAME[case]()]), identify([SAME[case]()])
    assert isinstance(first, Identity)
    assert first == second
    assert hash(first.key) == hash(second.key)


def test_arrays_count_by_themselves() -> None:
    array = jnp.ones(3)
    make = lambda a: lambda x: x + a  # noqa: E731
    assert identify([make(array)]) == identify([make(array)])
    assert identify([make(array)]) != identify([make(jnp.ones(3))])


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        (iter([]), "a list_iterator, whose state cannot be seen"),
        (np.zeros(9999), "a NumPy array of shape (9999,), which may change"),
        ({Frozen(1)}, "a set of objects"),
        (settings, "the module settings as a value"),
        (list(range(3000)), "too much to compare at each call"),
    ],
)
def test_the_reason_why_there_is_no_identity(value: Any, reason: str) -> None:
    assert identify([lambda x: (x, value)]) == Unidentified(reason)


# How often functions are traced.


def body(scale: Any) -> Function:
    def step(carry: Any, x: Any) -> Any:
        return carry + scale * x, carry

    return step  # type: ignore[return-value]


BODY = body(0).__code__


def sums(scale: Any) -> Any:
    return lax.scan(body(scale), 0.0, jnp.arange(4.0))[0]


def test_a_body_made_anew_is_traced_once() -> None:
    assert calls_of(BODY, lambda: [sums(7.0) for _ in range(4)]) == 1
    assert calls_of(BODY, lambda: [sums(8.0) for _ in range(4)]) == 1


def test_tracers_in_the_closure_are_operands() -> None:
    def derivatives() -> list[Any]:
        return [jax.grad(lambda s: sums(s) ** 2)(float(v)) for v in range(4)]

    results: list[Any] = []
    assert calls_of(BODY, lambda: results.extend(derivatives())) == 1
    np.testing.assert_allclose(results, [2 * 36.0 * v for v in range(4)])


def times(n: Any) -> Function:
    return lambda v: v * n


def once_around(f: Function) -> Function:
    return lambda x: lax.scan(lambda c, _: (f(c), None), x, None, length=1)[0]


def in_a_branch(f: Function) -> Function:
    return lambda x: lax.cond(x < 0, f, f, x)


def test_two_tracers_and_one_twice_differ() -> None:
    def f(a: Any, b: Any) -> Any:
        step = (lambda p, q: lambda c, x: (c + p * x, q))(a, b)
        return lax.scan(step, 0.0, jnp.ones(2))

    def both(a: Any, b: Any) -> Any:
        return f(a, a), f(a, b), f(b, a), f(b, b)

    out = jax.jit(both)(1.0, 2.0)
    assert [(float(c), float(ys[0])) for c, ys in out] == [(2, 1), (2, 2), (4, 1), (4, 2)]


@pytest.mark.parametrize("within", [jax.jit, once_around, in_a_branch])
def test_numbers_of_the_program_around_are_not_forgotten(within: Callable[[Function], Any]) -> None:
    def f(x: Any) -> Any:
        numbers = [jnp.asarray(v) for v in (2.0, 3.0, 0.0, -0.0)]
        return [within(times(n))(x) for n in (*numbers, x)]

    assert [str(v) for v in jax.jit(f)(-1.5)] == ["-3.0", "-4.5", "-0.0", "0.0", "2.25"]


def derivative_forwards(f: Function) -> Function:
    return lambda x: jax.jvp(f, (x,), (1.0,))[1]


@pytest.mark.parametrize("derivative", [jax.grad, derivative_forwards], ids=["grad", "jvp"])
@pytest.mark.parametrize(
    "is_negative",
    [
        lambda s: int(s) < 0,
        lambda s: "-" in str(s),
        lambda s: "-" in repr(s),
        lambda s: "-" in f"{s}",
        lambda s: "-" in "%s" % s,  # noqa: UP031
        lambda s: f"{s:.1f}" == "-1.0",
        lambda s: s.primal < 0,
        lambda s: s.get_referent() < 0,
        lambda s: s.to_concrete_value() < 0,
    ],
    ids="int str repr f-string percent format primal referent concrete".split(),
)
def test_numbers_behind_tracers_are_not_forgotten(
    is_negative: Callable[[Any], Any], derivative: Callable[[Function], Function]
) -> None:
    def f(s: Any) -> Any:
        step = lambda c, x: (c + (-x if is_negative(s) else x) * s, None)  # noqa: E731
        return lax.scan(step, 0.0, jnp.ones(2))[0]

    assert [float(derivative(f)(v)) for v in (1.0, -1.0, 1.0)] == [2.0, -2.0, 2.0]


def test_what_a_function_changes_is_changed_at_each_call() -> None:
    def run() -> list[Any]:
        seen: list[Any] = []

        def step(carry: Any, x: Any) -> Any:
            seen.append(x.shape)
            return carry, None

        lax.scan(step, 0.0, jnp.ones(2))
        return seen

    assert run() == run() == [()]


def test_contexts_count() -> None:
    with jax.named_scope("outer"):
        sums(5.0)
    with jax.enable_x64(True):
        assert lax.scan(body(5.0), 0.0, np.arange(3.0))[0].dtype == np.float64
    assert lax.scan(body(5.0), 0.0, np.arange(3.0))[0].dtype == np.float32


def test_threads_share_programs() -> None:
    errors: list[Any] = []

    def work() -> None:
        for value in range(20):
            if float(sums(float(value % 3))) != 6.0 * (value % 3):
                errors.append(value)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors


def test_compilation_is_shared_by_lambdas(caplog: pytest.LogCaptureFixture) -> None:
    # The first compilation, and the first report of one, import modules that register virtual
    # subclasses.
    with jax.log_compiles(True):
        jax.jit(jnp.sin)(jnp.ones(3))
    caplog.clear()
    with jax.log_compiles(True):
        for _ in range(3):
            jax.jit(lambda x: jnp.tanh(x) * 1.25)(jnp.ones(3))
    assert len([text for text in caplog.messages if text.startswith("compiled")]) == 1


def test_arguments_have_names_when_the_function_is_gone() -> None:
    def run(limit: Any) -> Any:
        step = lambda state, x: (state if state else x, limit)  # noqa: E731
        return lax.scan(step, 0.0, jnp.ones(2))

    for _ in range(2):
        with pytest.raises(jax.errors.TracerBoolConversionError, match="the argument state of"):
            run(1)


def test_meshes_and_shardings_count_by_themselves() -> None:
    devices = jax.devices("cpu")
    meshes = [Mesh(devices[:2], "x"), Mesh(devices[1::-1], "x"), Mesh(devices[:2], "y")]
    shardings = [
        *[NamedSharding(mesh, P(name)) for mesh, name in zip(meshes, "xxy", strict=True)],
        NamedSharding(meshes[0], P()),
        SingleDeviceSharding(devices[1]),
    ]
    places: list[Any] = [*meshes, *shardings]
    # Each twice, made anew.
    found = [identify([lambda x, p=place: (x, p)]) for place in (*places, *places)]
    keys = [i.key for i in found if isinstance(i, Identity)]
    assert [keys.index(key) for key in keys] == [*range(len(places)), *range(len(places))]


def test_functions_that_read_a_mesh_are_traced_once() -> None:
    mesh = Mesh(jax.devices("cpu")[:2], "x")

    def program() -> Any:
        return lambda x: jax.lax.with_sharding_constraint(
            x * mesh.shape["x"], NamedSharding(mesh, P("x"))
        )

    first, *others = [jax.jit(program()).trace(np.ones(4)).jaxpr for _ in range(3)]
    assert all([other is first for other in others])


def test_what_changes_behind_an_array_or_a_mesh() -> None:
    mesh = Mesh(jax.devices("cpu")[:1], "x")
    array = jnp.ones(2)
    for function in (
        lambda x: x * len(mesh.devices.flat[0].memory_stats() or ()),
        lambda x: x * len(array.device.client.live_arrays()),
    ):
        assert isinstance(identify([function]), Unidentified)
