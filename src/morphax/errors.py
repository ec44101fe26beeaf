"""The package's own exceptions, each with a program that raises it and the program mended.

They stand apart from Python's own classes because programs catch them, or because their cause is
peculiar to traced programs: Python asks a value for something that only its run will tell.  All
other mistakes raise `TypeError`, `ValueError` and `IndexError`.

Classes that concern one tracer take either finished text or the tracer at fault, from which they
make the text.
"""

from __future__ import annotations

from typing import ClassVar, Final

import numpy as np

from .util.messages import message

_STATIC: Final = "or mark the argument static (static_argnums or static_argnames of jit)."


class JAXTypeError(TypeError):
    """The common base of errors about the kind of a traced value."""


class JAXIndexError(IndexError):
    """The common base of errors about indexing with a traced value."""


class _TracerFault(Exception):
    """Makes the text from a tracer; a mixin, so that Python's `except` clauses see real bases."""

    _attempt: ClassVar[str]
    _expected: ClassVar[str] = "a concrete value, known while the function is traced"
    _fix: ClassVar[str]

    def __init__(self, tracer: object, context: str = "") -> None:
        """Take the finished text, or the tracer at fault and what was attempted with it."""
        if isinstance(tracer, str):
            super().__init__(tracer)
            return
        where, given = context or self._attempt, f"the traced value {tracer!r}"
        super().__init__(message(where, given=given, expected=self._expected, fix=self._fix))


class ConcretizationTypeError(_TracerFault, JAXTypeError):
    """A traced value was used where Python needs its number.

    Under `jit` an argument has a shape and a dtype but no number yet.  What Python needs to know
    while tracing must be static; what may depend on the numbers must stay in ``jnp``.

    Example:
        >>> import morphax as jax
        >>> def scale(x, power):
        ...     return x ** float(power)
        >>> jax.jit(scale)(2.0, 3)
        Traceback (most recent call last):
        morphax.errors.ConcretizationTypeError: ...
        >>> jax.jit(scale, static_argnums=1)(2.0, 3)
        Array(8., dtype=float32, weak_type=True)
    """

    _attempt = "conversion to a Python number"
    _fix = f"Keep the computation in jnp, {_STATIC}"


class TracerBoolConversionError(ConcretizationTypeError):
    """Python's control flow asked for the truth of a traced value.

    Example:
        >>> import morphax as jax, morphax.numpy as jnp
        >>> @jax.jit
        ... def relu(x):
        ...     return x if x > 0 else 0.0
        >>> relu(-1.0)
        Traceback (most recent call last):
        morphax.errors.TracerBoolConversionError: ...
        >>> jax.jit(lambda x: jnp.where(x > 0, x, 0.0))(-1.0)
        Array(0., dtype=float32, weak_type=True)
    """

    _attempt = "bool()"
    _fix = f"Use jnp.where, lax.cond or lax.while_loop, {_STATIC}"


class TracerIntegerConversionError(_TracerFault, JAXTypeError):
    """A traced value was used as a Python integer: an index of a list, the bound of a range.

    Example:
        >>> import morphax as jax, morphax.numpy as jnp
        >>> table = [10, 20, 30]
        >>> jax.jit(lambda i: table[i])(1)
        Traceback (most recent call last):
        morphax.errors.TracerIntegerConversionError: ...
        >>> jax.jit(lambda i: jnp.array(table)[i])(1)
        Array(20, dtype=int32)
    """

    _attempt = "use as a Python int"
    _fix = f"Index a jnp array instead of a Python sequence, {_STATIC}"


class TracerArrayConversionError(_TracerFault, JAXTypeError):
    """A NumPy function was applied to a traced value.

    Example:
        >>> import numpy as np
        >>> import morphax as jax, morphax.numpy as jnp
        >>> jax.jit(lambda x: np.sin(x))(0.0)
        Traceback (most recent call last):
        morphax.errors.TracerArrayConversionError: ...
        >>> jax.jit(lambda x: jnp.sin(x))(0.0)
        Array(0., dtype=float32, weak_type=True)
    """

    _attempt = "conversion to a NumPy array"
    _fix = f"Use the function of that name in jnp, {_STATIC}"


class NonConcreteBooleanIndexError(_TracerFault, JAXIndexError):
    """An array was indexed with a traced mask, so the size of the result is unknown.

    Example:
        >>> import morphax as jax, morphax.numpy as jnp
        >>> x = jnp.array([1.0, -2.0, 3.0])
        >>> jax.jit(lambda x: x[x > 0].sum())(x)
        Traceback (most recent call last):
        morphax.errors.NonConcreteBooleanIndexError: ...
        >>> jax.jit(lambda x: jnp.where(x > 0, x, 0.0).sum())(x)
        Array(4., dtype=float32)
    """

    _attempt = "x[mask]"
    _expected = "a mask known while the function is traced, which fixes the result's shape"
    _fix = "Use jnp.where(mask, x, other), or jnp.nonzero(mask, size=...) for a bounded result."


class UnexpectedTracerError(JAXTypeError):
    """A traced value was used after its trace had ended: a side effect let it escape.

    Example:
        >>> import morphax as jax
        >>> kept = []
        >>> doubled = jax.jit(lambda x: kept.append(2 * x))
        >>> doubled(1.0)
        >>> kept[0] + 1
        Traceback (most recent call last):
        morphax.errors.UnexpectedTracerError: ...
        >>> jax.jit(lambda x: 2 * x)(1.0) + 1
        Array(3., dtype=float32, weak_type=True)
    """

    def __init__(self, msg: str) -> None:
        super().__init__(msg)


class LeakCheckError(RuntimeError):
    """A traced value outlived its trace, while ``jax.checking_leaks()`` watched."""


class KeyReuseError(JAXTypeError):
    """A random key was consumed twice, while ``jax_debug_key_reuse`` was on."""


class ShapeError(TypeError, ValueError):
    """Shapes or sizes do not fit: a TypeError to some programs, a ValueError to others.

    JAX raises the one and NumPy the other for the same mistake, and programs written for either
    catch what they know.

    Example:
        >>> import morphax.numpy as jnp
        >>> jnp.ones((2, 3)) + jnp.ones((4, 5))
        Traceback (most recent call last):
        morphax.errors.ShapeError: ...
        >>> jnp.ones((2, 1)) + jnp.ones((1, 5))
        Array([[2., 2., 2., 2., 2.],
               [2., 2., 2., 2., 2.]], dtype=float32)
    """


class AxisError(np.exceptions.AxisError):
    """An array has no such axis: a ValueError to some programs, an IndexError to others.

    Example:
        >>> import morphax.numpy as jnp
        >>> jnp.swapaxes(jnp.ones((2, 3)), 0, 5)
        Traceback (most recent call last):
        morphax.errors.AxisError: ...
    """


class JaxprTypeError(TypeError):
    """A jaxpr breaks the typing rules of its equations; the fault of whoever built it.

    Programs traced from Python functions are well typed.  A jaxpr built or edited by hand may not
    be, for instance when an equation's operand is replaced by one of another shape.
    """


class InconclusiveDimensionOperation(Exception):
    """A question about a symbolic dimension has no one answer for all its sizes."""


class UnexpectedDimVar(Exception):
    """A symbolic dimension has a symbol that is in the shape of no argument."""


class JaxRuntimeError(RuntimeError):
    """The compiler or the runtime of a device reported a failure.

    Args:
        msg: its report; it usually begins with the name of a status, such as
            ``RESOURCE_EXHAUSTED`` (the device's memory is full).
        code: the number of the status; read from `msg` if left out.

    Example:
        >>> from morphax.errors import JaxRuntimeError
        >>> JaxRuntimeError("RESOURCE_EXHAUSTED: out of memory").error_code_string
        'RESOURCE_EXHAUSTED'
    """

    _STATUSES: ClassVar = (
        "OK", "CANCELLED", "UNKNOWN", "INVALID_ARGUMENT", "DEADLINE_EXCEEDED", "NOT_FOUND",
        "ALREADY_EXISTS", "PERMISSION_DENIED", "RESOURCE_EXHAUSTED", "FAILED_PRECONDITION",
        "ABORTED", "OUT_OF_RANGE", "UNIMPLEMENTED", "INTERNAL", "UNAVAILABLE", "DATA_LOSS",
        "UNAUTHENTICATED",
    )  # fmt: skip

    def __init__(self, msg: str | None = None, code: int | None = None) -> None:
        self.error_message: str = msg or ""
        super().__init__(self.error_message)
        status = self.error_message.partition(":")[0]
        named = status if status in self._STATUSES else "UNKNOWN"
        self.error_code: int = self._STATUSES.index(named) if code is None else code

    @property
    def error_code_string(self) -> str:
        """The name of the status."""
        known = 0 <= self.error_code < len(self._STATUSES)
        return self._STATUSES[self.error_code] if known else str(self.error_code)
