"""Traces and tracers: how one application of a primitive is given its meaning.

`Primitive.bind` hands its operands to the *current trace*.  The root trace computes at once; a
staging trace writes an equation; the traces of differentiation and batching rewrite the operation
into operations of their *parent* trace, to which they hand them directly.  So transformations
nest in any order, and each knows only its parent.

A rewriting trace works by *fragments*: the rule of a primitive runs once for each signature
(avals, params, which operands are active or batched), is staged into a small jaxpr, and from then
on that jaxpr is spliced into the parent trace.  Splicing into a staging trace copies equations;
splicing into the root trace evaluates them.

References: the interface of traces follows the idea of "tagless final" interpreters (Carette,
Kiselyov & Shan, JFP 2009); current-trace dispatch is described in JAX's public design notes.
"""

from __future__ import annotations

import operator
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

import numpy as np

from .. import errors
from ..config import current as current_config
from ..util.contexts import replaced_attribute
from ..util.frames import NOWHERE, UserFrame
from ..util.messages import message
from .abstract_value import AbstractValue, HasAval, Operand, Param
from .atoms import Atom, Literal
from .jaxpr import Jaxpr
from .leaks import check_leaks

if TYPE_CHECKING:
    from .axes import AxisEnv
    from .call_with_rules import CallWithRules
    from .primitive import Primitive

T = TypeVar("T", bound="Trace")


class Trace:
    """An interpretation of primitives, on top of the interpretation `parent`."""

    __slots__ = ("__weakref__", "live", "parent")
    # Whether one value stands for many; whether operations become equations, and whether all do;
    # whether operations on numbers go on to another trace as they are, if they name no axis.
    maps: ClassVar[bool] = False
    stages: ClassVar[bool] = False
    writes_all: ClassVar[bool] = False
    passes_numbers: ClassVar[bool] = False

    def __init__(self, parent: Trace | None = None) -> None:
        self.parent = parent
        self.live = True

    def process(
        self, primitive: Primitive, operands: Sequence[Operand], params: dict[str, Param]
    ) -> Any:
        """Apply `primitive`; one result, or a list if the primitive has multiple results."""
        raise TypeError(f"{type(self).__name__} is abstract")

    def process_custom_call(
        self, call: CallWithRules, operands: Sequence[Operand]
    ) -> Sequence[Any]:
        """Apply a function that brings its own rules: the function, if nobody asks for them."""
        return call.run(self, operands)

    def splice(self, jaxpr: Jaxpr, operands: Sequence[Operand]) -> list[Any]:
        """Apply a whole jaxpr, equation by equation."""
        env: dict[Atom, Any] = dict(zip(jaxpr.invars, operands, strict=True))
        if jaxpr.constvars:
            env.update(zip(jaxpr.constvars, jaxpr.consts, strict=True))
        process, current, place = self.process, _current, _current.source
        try:
            for eqn in jaxpr.eqns:
                inputs = [env[a] if type(a) is not Literal else a.val for a in eqn.invars]
                # An equation that belongs to no line goes with the one before it.
                if eqn.source is not None:
                    current.source = eqn.source
                result = process(eqn.primitive, inputs, eqn.params)
                if eqn.primitive.multiple_results:
                    env.update(zip(eqn.outvars, result, strict=True))
                else:
                    env[eqn.outvars[0]] = result
        finally:
            current.source = place
        return [env[a] if type(a) is not Literal else self.constant(a.val) for a in jaxpr.outvars]

    def way_to_known(self) -> str:
        """How the user makes an argument known while the function is traced, for error text."""
        return "mark the argument static (static_argnums or static_argnames of jit)"

    def constant(self, value: Operand) -> Any:
        """A number as user code may see it: an array or a tracer."""
        below = root_trace() if self.parent is None else self.parent
        return below.constant(value)


class _Current(threading.local):
    """The trace and the scope names of this thread.  Threads start with the root trace."""

    trace: Trace
    name_stack: tuple[str, ...] = ()
    # The place that equations carry instead of the line that runs; see `core.sources`.
    source: UserFrame | None = None
    axis_env: AxisEnv = ()
    # How often Python code read the number behind a tracer; what it did then may depend on it.
    concretised: int = 0
    # Whether what is being written is kept already, as a part of something; see `recorded_calls`.
    is_recording: bool = False


_current = _Current()


def install_root_trace(trace: Trace) -> None:
    """Give every thread `trace` to start with; called once, by the engine of eager mode."""
    _Current.trace = trace


def root_trace() -> Trace:
    """The trace that computes at once."""
    return _Current.trace


def current_trace() -> Trace:
    """The trace that gives meaning to `bind` now."""
    return _current.trace


def note_concretised() -> None:
    """Count that Python code reads the number behind a tracer."""
    _current.concretised += 1


def times_concretised() -> int:
    """How often Python code has read the number behind a tracer on this thread."""
    return _current.concretised


def current_name_stack() -> tuple[str, ...]:
    """The scope names that equations carry now, outermost first."""
    return _current.name_stack


def set_name_stack(names: tuple[str, ...]) -> replaced_attribute[tuple[str, ...]]:
    """Context in which equations carry these scope names, outermost first."""
    return replaced_attribute(_current, "name_stack", names)


@contextmanager
def outside_transformations() -> Iterator[None]:
    """Context of code that belongs to no transformation, though it runs inside one: callbacks."""
    state = vars(_current)
    interrupted = state.copy()
    state.clear()
    try:
        yield
    finally:
        state.clear()
        state.update(interrupted)


def set_current_trace(
    trace: T, ended: Callable[[T, bool], object] | None = None
) -> replaced_attribute[T]:
    """Context in which `bind` is interpreted by `trace`; `ended` is told of its end."""
    return replaced_attribute(_current, "trace", trace, ended)


def new_trace(trace: T) -> replaced_attribute[T]:
    """Context for a fresh trace: current inside, and dead (its tracers unusable) afterwards."""
    return replaced_attribute(_current, "trace", trace, _end)


def _end(trace: Trace, failed: bool) -> None:
    trace.live = False
    if not failed and current_config().check_tracer_leaks and _current.source is not NOWHERE:
        check_leaks(trace)


@contextmanager
def extended_name_stack(name: str) -> Iterator[None]:
    """Context in which equations carry one more scope name; a decorator, too."""
    with set_name_stack((*_current.name_stack, name)):
        yield


def apply_jaxpr(jaxpr: Jaxpr, *operands: Operand) -> list[Any]:
    """Apply `jaxpr` to values, in the current trace."""
    return _current.trace.splice(jaxpr, operands)


class Tracer(HasAval):
    """A value that a trace follows instead of (or beside) numbers.

    Subclasses provide `aval`.  The operators and methods of arrays are installed on this class by
    `morphax.numpy`.
    """

    # Libraries remember values as long as these live.
    __slots__ = ("__weakref__", "_trace", "aval")
    __array_priority__ = 1000
    # A symbolic size has a method of this name; that a tracer is none can be read here.
    dimension_as_value: ClassVar[None] = None
    # Whether the value has a tangent, which what is computed from its numbers would not have.
    differentiated: ClassVar[bool] = False
    __hash__ = None  # type: ignore[assignment]

    _trace: Trace
    aval: Any

    def __init__(self, trace: Trace, aval: AbstractValue) -> None:
        self._trace = trace
        self.aval = aval

    @property
    def weak_type(self) -> bool:
        return self.aval.weak_type

    @property
    def sharding(self) -> Any:
        """Traced values have none: `AttributeError`."""
        raise AttributeError(
            message(
                "attribute sharding of a traced value",
                given=f"{self.aval}",
                expected="an array: how a traced value lies is for its type to say, if it says "
                "anything, and else for the compiler",
                fix="Use jax.typeof(x).sharding.",
            )
        )

    def __len__(self) -> int:
        return len(self.aval)

    def concrete(self) -> Any | None:
        """The number behind the tracer if there is one now, else `None`."""
        return None

    def number(self) -> Any | None:
        """`concrete`, or what is worked out because Python cannot go on without it."""
        return self.concrete()

    def to_concrete_value(self) -> Any | None:
        """`concrete` under JAX's name."""
        return self.concrete()

    def full_lower(self) -> Any:
        """The value in the lowest trace that it depends on: tracers are never higher."""
        return self

    def get_referent(self) -> Any:
        """What the tracer stands for, the same object for tracers of the same value."""
        return self

    def origin(self) -> str:
        """What the value depends on and where that was traced, for error text."""
        return f"a traced value of {type(self._trace).__name__}"

    def dependence(self) -> str:
        """The arguments of the traced function that the value depends on, as a clause."""
        return ""

    def _require(self, what: str, error: type[TypeError], fix: str) -> Any:
        value = self.number()
        if value is None:
            raise error(
                message(
                    what,
                    given=f"{self.origin()}{self.dependence()} "
                    f"with shape and dtype {self.aval.str_short()}",
                    expected="a concrete value, known while the function is traced",
                    fix=fix.format(known=self._trace.way_to_known()),
                )
            )
        return value

    def _require_constant(self, what: str, error: type[TypeError], fix: str) -> Any:
        """The number for Python or NumPy to compute with, which derivatives do not follow."""
        value = self._require(what, error, fix)
        if self.differentiated:
            raise error(
                message(
                    what,
                    given=f"{self.origin()} with shape and dtype {self.aval.str_short()}",
                    expected="a value without a tangent: the derivative would be lost, "
                    "for numbers of Python and NumPy have none",
                    fix="Use jnp functions instead, or read jax.lax.stop_gradient(x) where no "
                    "derivative is wanted.",
                )
            )
        return value

    def __bool__(self) -> bool:
        return bool(self._require("bool()", errors.TracerBoolConversionError, _FIX_BOOL))

    def __int__(self) -> int:
        return int(self._require("int()", errors.ConcretizationTypeError, _FIX_NUMBER))

    def __float__(self) -> float:
        return float(self._require_constant("float()", errors.ConcretizationTypeError, _FIX_NUMBER))

    def __complex__(self) -> complex:
        return complex(
            self._require_constant("complex()", errors.ConcretizationTypeError, _FIX_NUMBER)
        )

    def __index__(self) -> int:
        value = self._require(
            "use as a Python int", errors.TracerIntegerConversionError, _FIX_INDEX
        )
        return operator.index(value)

    def __array__(self, *args: Any, **kwargs: Any) -> Any:
        value = self._require_constant(
            "conversion to a NumPy array", errors.TracerArrayConversionError, _FIX_ARRAY
        )
        return value.__array__(*args, **kwargs)

    def item(self, *args: Any) -> Any:
        """The only element, or the one at an index, as a number of Python."""
        value = self._require("item()", errors.ConcretizationTypeError, _FIX_NUMBER)
        return np.asarray(value).item(*args)

    def tolist(self) -> Any:
        """The elements as lists of numbers of Python."""
        value = self._require_constant("tolist()", errors.ConcretizationTypeError, _FIX_NUMBER)
        return np.asarray(value).tolist()

    def __format__(self, spec: str) -> str:
        value = self.concrete() if spec else None
        return repr(self) if value is None else format(value, spec)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.aval})"

    def __reduce__(self) -> Any:
        raise TypeError(
            message(
                "pickle",
                given=f"{self.origin()}, {self.aval.str_short()}",
                expected="a concrete array",
                fix="Pickle arrays outside transformed functions.",
            )
        )

    def __setitem__(self, index: object, value: object) -> None:
        raise TypeError(immutable_message(self))

    def __delitem__(self, index: object) -> None:
        raise TypeError(immutable_message(self, "del x[index]"))


def is_concrete(x: Operand) -> bool:
    """Whether there is a number behind `x` now."""
    return not isinstance(x, Tracer) or x.concrete() is not None


def immutable_message(x: Operand, attempt: str = "x[index] = value") -> str:
    """Error text for in-place assignment and deletion."""
    fix = "Write x = x.at[index].set(value)."
    if attempt.startswith("del"):
        fix = "Write x = jnp.delete(x, index, axis)."
    return message(
        attempt,
        given=f"{x.aval.str_short()}, an immutable array",
        expected="a new array with the change",
        fix=fix,
    )


_FIX_BOOL = "Use jnp.where, lax.cond or lax.while_loop, or {known}."
_FIX_NUMBER = "Keep the computation in jnp (x.astype converts), or {known}."
_FIX_INDEX = (
    "Sizes, shapes and axes are Python ints: {known}; to take an item of a Python sequence, make "
    "that a jnp array."
)
_FIX_ARRAY = (
    "Use jnp functions instead of np ones inside transformed functions; if a size or a setting "
    "is asked for, {known}."
)


def check_live(tracer: Tracer) -> None:
    """Raise `UnexpectedTracerError` if the trace of `tracer` is over: the value has leaked."""
    if not tracer._trace.live:
        raise errors.UnexpectedTracerError(
            message(
                "leaked tracer",
                given=f"{tracer.origin()}, {tracer.aval.str_short()}, used after its trace ended",
                expected="values that were returned from the transformed function",
                fix="Return the value from the function instead of storing it in a global, "
                "an attribute or a list.",
            )
        )
